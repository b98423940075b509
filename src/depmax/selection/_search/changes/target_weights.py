"""Weights that a target gives to pairs of rows: HSIC is their sum over the kernel's values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from depmax._threads import slices
from depmax.data.sample import Sample

#: Rows of a strip of pairs.
STRIP = 128


@dataclass(frozen=True)
class TargetWeights:
    """Tiles of M = Ã/(m(m-3)) (unbiased, Ã the U-centred L) or HLH/(m-1)² (biased).

    Where rows stand for several each, M is added up over their copies; without bias a row is
    compared with its other copies, but not with itself.
    """

    side: Sample
    means: np.ndarray  # what each row and column of L loses, shape (n_samples,)
    constant: float  # what every entry of L gains
    scale: float
    unbiased: bool

    @classmethod
    def of(cls, target: Sample, unbiased: bool) -> TargetWeights:
        """Weights of a target; one visit to the rows of its kernel matrix."""
        side = target.near_origin()
        m, sums = side.total, _row_sums(side, unbiased)
        total = float(sums.sum() if side.weight is None else side.weight @ sums)
        if unbiased:
            constant = total / ((m - 1) * (m - 2))
            return cls(side, sums / (m - 2), constant, 1.0 / (m * (m - 3)), unbiased)
        return cls(side, sums / m, total / m**2, 1.0 / (m - 1) ** 2, unbiased)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.side.n_samples

    @cached_property
    def _products(self) -> tuple[np.ndarray, np.ndarray] | None:
        """A and B with ABᵀ the centred L, if the target is seen through coordinates."""
        if not _has_coordinates(self.side):
            return None
        phi, ones = self.side.rows, np.ones(self.n_samples)
        first = np.column_stack([phi, -self.means, ones])
        return first, np.column_stack([phi, ones, self.constant - self.means])

    def _centred(self, rows: slice, later: slice) -> np.ndarray:
        """Centred L of some rows against later ones, in memory of its own."""
        if self._products is not None:
            first, second = self._products
            return np.asarray(first[rows] @ second[later].T)
        values = _values(self.side, rows, self.unbiased and self.side.weight is None)
        values -= self.means[rows, np.newaxis]
        values -= self.means[np.newaxis, later]
        values += self.constant
        return values

    def strip(self, rows: slice) -> np.ndarray:
        """Weights of some rows against themselves and all later rows, each pair counted once.

        Pairs a < b carry twice their weight, so that sums over strips are sums over all pairs.
        """
        later, weight = slice(rows.start, None), self.side.weight
        weights = self._centred(rows, later)
        square = weights[:, : len(weights)]
        if weight is not None:
            weights *= weight[rows, np.newaxis] * weight[later]
            if self.unbiased:
                own = np.arange(len(square))
                square[own, own] *= (weight[rows] - 1.0) / weight[rows]
        elif self.unbiased:
            np.fill_diagonal(square, 0.0)
        weights *= 2.0 * self.scale
        square *= 0.5  # both orders of a pair are inside the square
        return weights

    def strips(self) -> list[slice]:
        """Slices of rows whose strips cover all pairs."""
        return list(slices(self.n_samples, STRIP))

    def dot(self, kernel_values: np.ndarray, rows: slice) -> float:
        """Part of Σ M∘K that a strip of kernel values contributes."""
        return float(np.vdot(self.strip(rows), kernel_values))


def _row_sums(side: Sample, unbiased: bool) -> np.ndarray:
    """L̃1 (unbiased) or L1, over all copies of rows that stand for several."""
    weight, sums = side.weight, np.zeros(side.n_samples)
    if _has_coordinates(side):
        phi = side.rows
        sums = phi @ (phi.sum(axis=0) if weight is None else weight @ phi)
        return sums - side.diag() if unbiased else sums
    for rows in slices(side.n_samples, STRIP):
        values = _values(side, rows, unbiased and weight is None)
        later = values[:, len(values) :]  # L is symmetric
        sums[rows] += values.sum(axis=1) if weight is None else values @ weight[rows.start :]
        sums[rows.stop :] += later.sum(axis=0) if weight is None else weight[rows] @ later
    return sums - side.diag() if unbiased and weight is not None else sums


def _has_coordinates(side: Sample) -> bool:
    """Whether kernel values are products of coordinates, dense and about their mean."""
    plain = side.origin is None and isinstance(side.rows, np.ndarray)
    return plain and side.kernel.capabilities.is_linear


def _values(side: Sample, rows: slice, unbiased: bool) -> np.ndarray:
    """L̃ (unbiased) or L of some rows against themselves and all later rows.

    The diagonal is set here and nowhere else: zero, or what the kernel declares it to be.
    """
    values = side.tile(rows, slice(rows.start, None))
    own = np.arange(values.shape[0])
    values[own, own] = 0.0 if unbiased else side.take(own + rows.start).diag()
    return values
