"""Paths of partial least squares by sums over rows, from which those of a fold are taken off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from depmax._resources import small_problems
from depmax.algebra.directions import leading
from depmax.algebra.space import Moments
from depmax.maps.feature_map import signs

#: What is left of XᵀY, relative to √tr(XᵀX)‖Y‖, to be more than rounding errors.
EXHAUSTED = 1e-13
#: The same for squares: ‖Y_j‖² relative to ‖Y‖², and ‖Xr‖² relative to tr(XᵀX)‖r‖².
EXHAUSTED_SQUARE = 1e-14
#: Roundings of sums that count as nothing, where these exceed the above.
NOISE = 8.0
#: Features up to which products with S are left to one thread.
SMALL = 1000


def conjugate_directions(
    moments: Moments, square: float, count: int, n_orthogonal: int = 0
) -> np.ndarray:
    """R = U(PᵀU)⁻¹ of shape (D, k), fewer columns where nothing is left.

    The direction is the leading left singular vector u of C. Its weights r = u - R(Pᵀu), with the
    loadings P = SR/‖τ‖² of earlier features, are those of a feature τ = Xr that is orthogonal to
    earlier ones; C loses what τ explains. Before these, ``n_orthogonal`` directions are what is
    orthogonal to C of XᵀXu; they explain nothing of Y and stand last in the result.

    Parameters
    ----------
    moments : Moments
        S = XᵀX of shape (D, D) and C = XᵀY of shape (D, r).
    square : float
        ‖Y‖².
    count : int
    n_orthogonal : int
    """
    scatter, cross, eps = moments.scatter, moments.cross, moments.eps
    nothing, no_square = max(EXHAUSTED, NOISE * eps), max(EXHAUSTED_SQUARE, NOISE * eps)
    total = count + n_orthogonal
    conjugate, loadings = np.empty((2, len(scatter), total))  # R and P
    variance, left = max(float(np.trace(scatter)), 0.0), square
    relevant = linalg.orth(cross) if n_orthogonal else cross
    for j in range(total):
        reached = float(linalg.norm(cross))
        if left <= no_square * square or not reached > nothing * np.sqrt(variance * square):
            return np.roll(conjugate[:, :j], -n_orthogonal, axis=1)
        R, P = conjugate[:, :j], loadings[:, :j]
        direction = cross[:, 0]
        if cross.shape[1] > 1:
            direction = cross @ leading(cross.T @ cross, 1)[1][:, 0]
        if j < n_orthogonal:
            sign = signs(cross.T @ direction[:, np.newaxis])
            image = scatter @ (direction - R @ (P.T @ direction))
            direction = sign * (image - P @ (R.T @ image))  # ±X_jᵀX_ju
            direction -= relevant @ (relevant.T @ direction)
        direction = direction / linalg.norm(direction)
        vector = direction - R @ (P.T @ direction)
        image = scatter @ vector
        length = float(vector @ image)  # ‖τ_j‖²
        if not length > no_square * variance * float(vector @ vector):
            return np.roll(conjugate[:, :j], -n_orthogonal, axis=1)
        conjugate[:, j], loadings[:, j] = vector, image / length
        if j >= n_orthogonal:
            covariance = vector @ cross  # τ_jᵀY
            cross = cross - np.outer(loadings[:, j], covariance)
            left = max(left - float(covariance @ covariance) / length, 0.0)
    return np.roll(conjugate, -n_orthogonal, axis=1)


class FoldPath(NamedTuple):
    """Partial least squares of the rows outside a fold."""

    features: np.ndarray  # of the fold's rows, shape (n_test, k)
    squares: np.ndarray  # ‖τ_j‖² on the other rows, shape (k,)
    covariances: np.ndarray  # YᵀT there, shape (r, k)


@dataclass(frozen=True)
class FoldSums:
    """Rows in the smaller of their dimensions, fold after fold, and sums over those of each.

    Sums over the rows outside a fold are those of all rows less its own, about their own mean, as
    in Engstrøm and Jensen (2025), Fast partition-based cross-validation with centering and scaling
    for XᵀX and XᵀY.
    """

    tests: tuple[np.ndarray, ...]  # the rows of every fold; together all rows, each once
    rows: tuple[np.ndarray, ...]  # those of every fold, about the mean of all, shape (n_test, s)
    scatters: tuple[np.ndarray, ...]  # Σxxᵀ of each fold, shape (s, s)
    whole: np.ndarray  # Σxxᵀ of all, shape (s, s)

    def solving(self) -> AbstractContextManager[Any]:
        """Threads of BLAS as suits many small products: more would cost more than they gain."""
        return small_problems(len(self.whole) <= SMALL)

    @classmethod
    def of(cls, X: np.ndarray, tests: Sequence[np.ndarray]) -> FoldSums:
        """Sums of rows in memory."""
        ends = np.cumsum([len(test) for test in tests])[:-1]
        rows = X[np.concatenate(tests)].astype(np.float64)
        rows -= rows.mean(axis=0)
        if rows.shape[1] > rows.shape[0]:  # X = LQᵀ: products of rows are those of L
            rows = linalg.qr(rows.T, mode="r", overwrite_a=True)[0][: len(rows)].T
        parts = tuple(np.split(np.ascontiguousarray(rows), ends))
        scatters = tuple(part.T @ part for part in parts)
        return cls(tuple(tests), parts, scatters, np.sum(scatters, axis=0))

    def paths(
        self, values: np.ndarray, factors: Sequence[np.ndarray], limit: int, n_orthogonal: int = 0
    ) -> Iterator[FoldPath]:
        """Features of the rows of each fold by the other rows.

        Parameters
        ----------
        values : ndarray of shape (m, r)
            Y of all rows, of which the others' mean is taken off.
        factors : sequence of ndarray of shape (r,)
            What columns of Y are multiplied by, in each fold.
        limit, n_orthogonal : int
        """
        values = values - values.mean(axis=0)
        parts = [values[test] for test in self.tests]
        crosses = [rows.T @ own for rows, own in zip(self.rows, parts, strict=True)]
        all_cross, all_square = np.sum(crosses, axis=0), np.square(values).sum(axis=0)
        for fold, (rows, own, factor) in enumerate(zip(self.rows, parts, factors, strict=True)):
            n_others = len(values) - len(rows)
            mean, centre = -rows.sum(axis=0) / n_others, -own.sum(axis=0) / n_others
            cross = all_cross - crosses[fold] - n_others * np.outer(mean, centre)
            scatter = self.whole - self.scatters[fold] - n_others * np.outer(mean, mean)
            squares = all_square - np.square(own).sum(axis=0) - n_others * centre**2
            moments = Moments(cross * factor, scatter, None)
            weights = conjugate_directions(moments, float(squares @ factor**2), limit, n_orthogonal)
            yield FoldPath(
                (rows - mean) @ weights,
                np.einsum("ij,ij->j", weights, scatter @ weights),
                moments.cross.T @ weights,
            )

    def explained(self, values: np.ndarray, limit: int, n_orthogonal: int = 0) -> float:
        """Σ of squares of Y, centred, that features of all rows explain."""
        parts = zip(self.rows, self.tests, strict=True)
        cross = np.sum([rows.T @ values[test] for rows, test in parts], axis=0)
        moments = Moments(cross, self.whole, None)
        weights = conjugate_directions(moments, float(np.square(values).sum()), limit, n_orthogonal)
        lengths = np.einsum("ij,ij->j", weights, self.whole @ weights)
        return float((np.square(cross.T @ weights).sum(axis=0) / lengths).sum())
