"""Means and variances of columns within classes, dense or sparse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from depmax._inputs.table import constant_columns


@dataclass(frozen=True)
class ClassMoments:
    """Number of rows, mean and sum of squared deviations of every column in every class."""

    counts: np.ndarray  # shape (n_classes,)
    means: np.ndarray  # shape (n_classes, n_features)
    squares: np.ndarray  # Σ (x - mean)², shape (n_classes, n_features)

    @classmethod
    def of(cls, X: Any, codes: np.ndarray) -> ClassMoments:
        """Moments of each class; a constant column counts as zero, free of rounding."""
        constant = constant_columns(X)
        counts = np.bincount(codes)
        parts = [_mean_and_squares(X[codes == code]) for code in range(len(counts))]
        means, squares = (np.array(part) for part in zip(*parts, strict=True))
        means[:, constant] = 0.0
        squares[:, constant] = 0.0
        return cls(counts, means, squares)

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


def products(
    X: Any, outputs: np.ndarray, mass: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Sums Σ(x - x̄)y of every column with centred outputs, and Σ(x - x̄)².

    Their shapes are (n_features, n_outputs) and (n_features,); a constant column has exact zeros.
    A row counts as often as its mass says.
    """
    counted = outputs if mass is None else mass[:, np.newaxis] * outputs
    if sparse.issparse(X):
        cross = X.T @ counted
        squares = _mean_and_squares(X, mass)[1]
    else:
        centred = X - np.average(np.asarray(X, dtype=np.float64), axis=0, weights=mass)
        cross = centred.T @ counted
        weights = np.ones(len(centred)) if mass is None else mass
        squares = weights @ (centred * centred)
    constant = constant_columns(X)
    cross[constant] = 0.0
    squares[constant] = 0.0
    return cross, squares


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
