"""Interaction scores of every pair of two blocks of columns, from matrix products.

For the columns i and j with bases p, q (``pair_columns``) the interaction is z = p_i p_j, and z̃ is
what (1, p_i, q_i, p_j, q_j) leave of it. Each column's own basis is orthonormal, so only the 2 by 2
matrix C of the averages of p_i, q_i with p_j, q_j couples them and z̃ needs a 2 by 2 inverse. Since
p² = 1 + a p + b q, powers up to the third of a column (r = p q) give all averages of z̃², plain and
weighted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from depmax.dependence._pairs.target import ColumnBases, PairTarget

#: Keeps the 2 by 2 inverse finite where two columns determine each other.
RIDGE = 1e-10
#: Part of z that must be left for a pair to have an interaction at all.
LEFT = 1e-8
#: Part of a limit that products in single precision must reach.
CAREFUL = 0.98


@dataclass(frozen=True)
class Margins:
    """Averages of single columns with one direction t of the target; weights are w = t²."""

    tp: np.ndarray  # of t p; shape (n_features,) like all below
    tq: np.ndarray
    wp: np.ndarray  # of w p
    wq: np.ndarray
    wpp: np.ndarray  # of w p²
    wpq: np.ndarray
    wqq: np.ndarray

    @classmethod
    def of(cls, bases: ColumnBases, t: np.ndarray) -> Margins:
        """Averages over all rows."""
        m, w = len(t), t * t
        p, q = bases.linear, bases.square
        wp, wq = p @ w / m, q @ w / m
        wpp = w.mean() + bases.skew * wp + bases.curve * wq
        wpq = np.einsum("ij,ij,j->i", p, q, w) / m
        wqq = np.einsum("ij,ij,j->i", q, q, w) / m
        return cls(p @ t / m, q @ t / m, wp, wq, wpp, wpq, wqq)


@dataclass(frozen=True)
class Products:
    """Averages of products of a function of column i (first letter) and one of column j."""

    pp: np.ndarray
    pq: np.ndarray
    qp: np.ndarray
    qq: np.ndarray
    rp: np.ndarray
    pr: np.ndarray

    @classmethod
    def of(cls, left: np.ndarray, right: np.ndarray, weights: np.ndarray | None) -> Products:
        """Averages from the stacked rows p, q, r of both blocks."""
        n_left, n_right = len(left) // 3, len(right) // 3
        scaled = right / right.shape[1] if weights is None else right * (weights / len(weights))
        first = left @ scaled[:n_right].T
        second = left[: 2 * n_left] @ scaled[n_right : 2 * n_right].T
        third = left[:n_left] @ scaled[2 * n_right :].T
        pp, qp, rp = np.split(first, 3)
        pq, qq = np.split(second, 2)
        return cls(pp, pq, qp, qq, rp, third)


@dataclass(frozen=True)
class Interaction:
    """z̃ = z - mean - β₁ p_i - β₂ q_i - β₃ p_j - β₄ q_j of every pair of a tile."""

    mean: np.ndarray
    beta: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    square: np.ndarray  # average of z̃²
    empty: np.ndarray  # whether nothing is left of z


class PairScores:
    """Scores of all pairs of columns, tile by tile."""

    def __init__(
        self, bases: ColumnBases, target: PairTarget, units: Sequence[np.ndarray] = ()
    ) -> None:
        self._bases = bases
        self._directions = target.directions
        self._units = units  # rows of every independent unit, where rows are not independent
        self._margins = [Margins.of(bases, t) for t in target.directions]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._bases.n_features

    @cached_property
    def _single(self) -> tuple[np.ndarray, ...]:
        """p, q, r; a and b; averages of t p and t q of every column, in single precision."""
        p, q = self._bases.linear, self._bases.square
        stacked = np.stack([p, q, p * q]).astype(np.float32)
        powers = np.stack([self._bases.skew, self._bases.curve]).astype(np.float32)
        margins = np.array([row for each in self._margins for row in (each.tp, each.tq)])
        return stacked, powers, margins.astype(np.float32)

    def promising(self, rows: slice, columns: slice, limit: float) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of columns (i < j) whose scores reach a limit, and these scores.

        A score is at most the squared covariance over the variance of independent rows: products
        in single precision leave few pairs, whose scores are then found one by one.
        """
        from depmax.dependence._pairs._pair_loop import promising, scores_of_pairs

        stacked, powers, margins = self._single
        m, n = stacked.shape[2], rows.stop - rows.start
        left, right = stacked[:, rows].reshape(-1, m), stacked[:, columns] / np.float32(m)
        products = np.empty((6 + len(self._directions), n, right.shape[1]), dtype=np.float32)
        for part, upto in ((0, 3), (1, 2), (2, 1)):
            start = (0, 3, 5)[part]
            into = products[start : start + upto].reshape(upto * n, -1)
            np.matmul(left[: upto * n], right[part].T, out=into)
        for place, t in enumerate(self._directions.astype(np.float32), start=6):
            np.matmul(left[:n], (right[0] * t).T, out=products[place])
        found = np.empty((products[0].size, 2), dtype=np.int32)
        of_columns = [
            np.ascontiguousarray(of[:, part])
            for of in (powers, margins)
            for part in (rows, columns)
        ]
        is_diagonal = rows.start == columns.start
        count = promising(products, *of_columns, np.float32(CAREFUL * limit), is_diagonal, found)
        pairs = found[:count] + np.array([rows.start, columns.start])
        pairs = pairs[~self._bases.constant[pairs].any(axis=1)]
        scores, bases = np.empty(len(pairs)), self._bases
        rows_of = bases.linear, bases.square, bases.skew, bases.curve
        scores_of_pairs(*rows_of, self._directions, pairs, scores)
        reached = scores >= limit
        return pairs[reached], scores[reached]

    def tile(self, rows: slice, columns: slice) -> np.ndarray:
        """Scores of the columns ``rows`` against the columns ``columns``."""
        left, right = self._stack(rows), self._stack(columns)
        n_left, n_right = len(left) // 3, len(right) // 3
        a, b = self._bases.skew, self._bases.curve
        ai, bi = a[rows, np.newaxis], b[rows, np.newaxis]
        aj, bj = a[columns], b[columns]
        z = _interaction(Products.of(left, right, None), ai, bi, aj, bj)
        total = np.zeros((n_left, n_right))
        for t, margins in zip(self._directions, self._margins, strict=True):
            weighted = Products.of(left, right, t * t)
            covariance = left[:n_left] @ (right[:n_right] * (t / len(t))).T
            beta = z.beta
            covariance -= beta[0] * margins.tp[rows, np.newaxis]
            covariance -= beta[1] * margins.tq[rows, np.newaxis]
            covariance -= beta[2] * margins.tp[columns]
            covariance -= beta[3] * margins.tq[columns]
            own = float(t @ t) / len(t)
            robust = _weighted_square(z, weighted, margins, own, (rows, columns), (ai, bi, aj, bj))
            variance = np.maximum(robust, own * z.square)
            if self._units:
                variance = np.maximum(variance, self._between_units(z, t, rows, columns))
            variance[z.empty] = 1.0
            covariance[z.empty] = 0.0
            total += covariance**2 / variance
        constant = self._bases.constant
        total[constant[rows]] = 0.0
        total[:, constant[columns]] = 0.0
        return total

    def _between_units(
        self, z: Interaction, t: np.ndarray, rows: slice, columns: slice
    ) -> np.ndarray:
        """Average over rows of the squared sums of z̃t in every unit."""
        p, q = self._bases.linear, self._bases.square
        total = np.zeros(z.mean.shape)
        for unit in self._units:
            weights = t[unit]
            left, right = p[rows][:, unit], p[columns][:, unit] * weights
            sums = left @ right.T - z.mean * weights.sum()
            sums -= z.beta[0] * (left @ weights)[:, np.newaxis]
            sums -= z.beta[1] * (q[rows][:, unit] @ weights)[:, np.newaxis]
            sums -= z.beta[2] * right.sum(axis=1)
            sums -= z.beta[3] * (q[columns][:, unit] @ weights)
            total += sums**2
        return total / len(t)

    def _stack(self, columns: slice) -> np.ndarray:
        """Rows p, q, r of some columns, stacked."""
        p, q = self._bases.linear[columns], self._bases.square[columns]
        return np.concatenate([p, q, p * q])


def _interaction(
    c: Products, ai: np.ndarray, bi: np.ndarray, aj: np.ndarray, bj: np.ndarray
) -> Interaction:
    """Project z on the bases of both columns."""
    # averages of z with p_i, q_i, p_j, q_j
    v1, v2 = ai * c.pp + bi * c.qp, c.rp
    v3, v4 = aj * c.pp + bj * c.pq, c.pr
    # (I - CᵀC) (β₃, β₄) = (v₃, v₄) - Cᵀ (v₁, v₂)
    d11 = (1.0 + RIDGE) - c.pp**2 - c.qp**2
    d12 = -(c.pp * c.pq + c.qp * c.qq)
    d22 = (1.0 + RIDGE) - c.pq**2 - c.qq**2
    h1 = v3 - c.pp * v1 - c.qp * v2
    h2 = v4 - c.pq * v1 - c.qq * v2
    determinant = d11 * d22 - d12**2
    b3 = (d22 * h1 - d12 * h2) / determinant
    b4 = (d11 * h2 - d12 * h1) / determinant
    b1 = v1 - c.pp * b3 - c.pq * b4
    b2 = v2 - c.qp * b3 - c.qq * b4
    whole = 1.0 + ai * (aj * c.pp + bj * c.pq) + bi * (aj * c.qp + bj * c.qq)  # of z²
    square = whole - c.pp**2 - (v1 * b1 + v2 * b2 + v3 * b3 + v4 * b4)
    return Interaction(c.pp, (b1, b2, b3, b4), square, square <= LEFT * whole)


def _weighted_square(
    z: Interaction,
    c: Products,
    margins: Margins,
    own: float,
    where: tuple[slice, slice],
    powers: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> np.ndarray:
    """Average of w z̃², from weighted products; ``own`` is the average of w."""
    rows, columns = where
    ai, bi, aj, bj = powers
    mean, (b1, b2, b3, b4) = z.mean, z.beta
    wp_i, wq_i = margins.wp[rows, np.newaxis], margins.wq[rows, np.newaxis]
    wp_j, wq_j = margins.wp[columns], margins.wq[columns]
    # w z²
    total = (own + ai * wp_i + bi * wq_i) + (aj * wp_j + bj * wq_j)
    total += ai * (aj * c.pp + bj * c.pq) + bi * (aj * c.qp + bj * c.qq)
    # -2 w z (mean + β·n)
    cross = mean * c.pp + b2 * c.rp + b4 * c.pr
    cross += b1 * (wp_j + ai * c.pp + bi * c.qp) + b3 * (wp_i + aj * c.pp + bj * c.pq)
    total -= 2.0 * cross
    # w (mean + β·n)²
    mixed = b1 * (b3 * c.pp + b4 * c.pq) + b2 * (b3 * c.qp + b4 * c.qq)
    mixed += mean * (b1 * wp_i + b2 * wq_i + b3 * wp_j + b4 * wq_j)
    mixed += b1 * b2 * margins.wpq[rows, np.newaxis] + b3 * b4 * margins.wpq[columns]
    total += 2.0 * mixed + own * mean**2
    total += b1**2 * margins.wpp[rows, np.newaxis] + b2**2 * margins.wqq[rows, np.newaxis]
    total += b3**2 * margins.wpp[columns] + b4**2 * margins.wqq[columns]
    return total
