"""Columns as orthonormal bases (1, p, q) of their first two powers, after a robust transform."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special, stats

#: What is done to a column before its powers are taken.
Transform = Literal["normal_scores", "clip"]
#: Where ``"clip"`` cuts, in robust standard deviations.
CLIP = 3.0
#: A square that its own column explains up to this (a column with two values) is left out.
FLAT = 1e-6
#: Columns transformed at once.
CHUNK = 512


@dataclass(frozen=True)
class ColumnBases:
    """Every column's orthonormal basis; averages over rows are the inner product.

    The rows of ``linear`` and ``square`` have mean 0 and mean square 1 and are orthogonal to each
    other; those of a constant column, and the square of a column with two values, are zero.
    """

    linear: np.ndarray  # p, of shape (n_features, n_samples): the standardised column
    square: np.ndarray  # q, what p² adds to 1 and p
    skew: np.ndarray  # a and
    curve: np.ndarray  # b of p² = 1 + a p + b q
    constant: np.ndarray  # whether the column has one value only

    @classmethod
    def of(cls, values: np.ndarray, transform: Transform) -> ColumnBases:
        """Bases of the columns of a matrix of shape (n_samples, n_features)."""
        m, d = values.shape
        linear, square = np.empty((d, m)), np.empty((d, m))
        skew, curve, constant = np.empty(d), np.empty(d), np.empty(d, dtype=bool)
        for start in range(0, d, CHUNK):
            part = slice(start, min(start + CHUNK, d))
            rows = np.ascontiguousarray(values[:, part].T, dtype=np.float64)
            p = normal_scores(rows) if transform == "normal_scores" else clipped(rows)
            constant[part] = _standardise(p)
            q = p * p
            skew[part] = np.einsum("ij,ij->i", q, p) / m
            q -= 1.0 + skew[part, np.newaxis] * p
            norm = np.sqrt(np.einsum("ij,ij->i", q, q) / m)
            flat = constant[part] | (norm < FLAT)
            curve[part] = np.where(flat, 0.0, norm)
            q[flat] = 0.0
            q[~flat] /= norm[~flat, np.newaxis]
            linear[part], square[part] = p, q
        return cls(linear, square, skew, curve, constant)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.linear.shape[0])

    @property
    def n_samples(self) -> int:
        """Number of rows of the data."""
        return int(self.linear.shape[1])

    def of_columns(self, positions: Sequence[int]) -> np.ndarray:
        """Both functions of some columns, of shape (2 n_columns, n_samples)."""
        return np.concatenate([self.linear[list(positions)], self.square[list(positions)]])


def normal_scores(rows: np.ndarray) -> np.ndarray:
    """Normal quantiles of the ranks in each row, ties at their average rank."""
    m = rows.shape[-1]
    order = np.argsort(rows, axis=-1)
    ordered = np.take_along_axis(rows, order, axis=-1)
    tied = (ordered[:, 1:] == ordered[:, :-1]).any(axis=-1)
    scores = np.empty(rows.shape)
    quantiles = special.ndtri(np.arange(1, m + 1) / (m + 1.0))
    np.put_along_axis(scores, order, np.broadcast_to(quantiles, rows.shape), axis=-1)
    if tied.any():
        scores[tied] = special.ndtri(stats.rankdata(rows[tied], axis=-1) / (m + 1.0))
    return scores


def clipped(rows: np.ndarray) -> np.ndarray:
    """Rows centred at the median, in robust standard deviations, cut at ``CLIP``."""
    low, middle, high = np.quantile(rows, [0.25, 0.5, 0.75], axis=-1, keepdims=True)
    spread = (high - low) / (2.0 * special.ndtri(0.75))
    spread = np.where(spread > 0.0, spread, rows.std(axis=-1, keepdims=True))
    spread = np.where(spread > 0.0, spread, 1.0)
    return np.clip((rows - middle) / spread, -CLIP, CLIP)


def _standardise(rows: np.ndarray) -> np.ndarray:
    """Give each row mean 0 and mean square 1 in place; constant rows become 0 and are marked."""
    constant = np.ptp(rows, axis=-1) == 0.0
    rows -= rows.mean(axis=-1, keepdims=True)
    spread = np.sqrt(np.einsum("ij,ij->i", rows, rows) / rows.shape[-1])
    rows[constant] = 0.0
    rows /= np.where(constant, 1.0, spread)[:, np.newaxis]
    return constant
