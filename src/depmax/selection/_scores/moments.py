"""Means and variances of columns within classes, dense or sparse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from depmax._inputs.table import constant_columns
from depmax.selection._scores.outputs import centred_outputs, class_codes

#: A target in memory, or one that is read a chunk at a time.
AnyTarget = Any


@dataclass(frozen=True)
class ClassMoments:
    """Number of rows, mean and sum of squared deviations of every column in every class."""

    counts: np.ndarray  # shape (n_classes,)
    means: np.ndarray  # shape (n_classes, n_features)
    squares: np.ndarray  # Σ (x - mean)², shape (n_classes, n_features)
    constant: np.ndarray  # which columns have one value only

    @classmethod
    def of(cls, X: Any, target: AnyTarget) -> ClassMoments:
        """Moments of each class; a constant column counts as zero, free of rounding."""
        if target.is_streamed:
            sums = X.sums
            counts, means, squares = sums.counts, sums.means.copy(), sums.squares.copy()
            constant = sums.constant
        else:
            codes, constant = class_codes(target), constant_columns(X)
            counts = np.bincount(codes)
            parts = [_mean_and_squares(X[codes == code]) for code in range(len(counts))]
            means, squares = (np.array(part) for part in zip(*parts, strict=True))
        means[:, constant] = 0.0
        squares[:, constant] = 0.0
        return cls(counts, means, squares, constant)

    @property
    def variances(self) -> np.ndarray:
        """Unbiased variance of every column in every class."""
        if self.counts.min() < 2:
            raise ValueError(
                "The variance within a class needs at least 2 rows of each class, but the smallest "
                f"class has {self.counts.min()}: use score_func='centroid', 'pam' or 'hsic'."
            )
        return self.squares / (self.counts[:, np.newaxis] - 1)

    @property
    def difference(self) -> np.ndarray:
        """Mean of the second class less that of the first."""
        return self.means[1] - self.means[0]


@dataclass(frozen=True)
class Products:
    """Sums over rows of every column with centred outputs; a constant column has exact zeros."""

    cross: np.ndarray  # Σ(x - x̄)y, shape (n_features, n_outputs)
    squares: np.ndarray  # Σ(x - x̄)², shape (n_features,)
    outputs: np.ndarray  # Σy², shape (n_outputs,)

    @classmethod
    def of(cls, X: Any, target: AnyTarget, mass: np.ndarray | None = None) -> Products:
        """Two classes are one output, more are an indicator each; a row counts by its mass."""
        if target.is_streamed:
            cross, squares, spread = X.products()
            constant = X.sums.constant
        else:
            outputs, constant = centred_outputs(target, mass), constant_columns(X)
            weights = np.ones(len(outputs)) if mass is None else mass
            counted = weights[:, np.newaxis] * outputs
            spread = np.einsum("ij,ij->j", outputs, counted)
            if sparse.issparse(X):
                cross = X.T @ counted
                squares = _mean_and_squares(X, mass)[1]
            else:
                centred = X - np.average(np.asarray(X, dtype=np.float64), axis=0, weights=mass)
                cross = centred.T @ counted
                squares = weights @ (centred * centred)
        cross[constant] = 0.0
        squares[constant] = 0.0
        return cls(cross, squares, spread)


def _mean_and_squares(rows: Any, mass: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    if sparse.issparse(rows):
        mean, variance = mean_variance_axis(rows.astype(np.float64), axis=0, weights=mass)
        return mean, variance * (rows.shape[0] if mass is None else mass.sum())
    values = np.asarray(rows, dtype=np.float64)
    mean = values.mean(axis=0)
    values = values - mean
    return mean, np.einsum("ij,ij->j", values, values)


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Quotient with 0/0 = 0: nothing differs. A difference without any spread is infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(numerator == 0.0, 0.0, numerator / denominator)
