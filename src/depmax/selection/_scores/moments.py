"""Moments of columns by class, and the scores that compare means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from depmax._inputs import Target
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


def pearson(X: Any, target: Target, mass: np.ndarray | None = None) -> np.ndarray:
    """Sum over the outputs of the squared correlation with each column.

    HSIC₀ of a standardised column and a standardised output, both with the linear kernel, is
    m²/(m-1)² times it. Two classes are one output, more are an indicator each. A row counts as
    often as its mass says.

    Examples
    --------
    >>> from depmax._inputs import read_target
    >>> X = np.array([[1.0, 1.0], [2.0, -1.0], [3.0, -1.0], [4.0, 1.0]])
    >>> pearson(X, read_target([2.0, 4.0, 6.0, 8.0])).round(12)
    array([1., 0.])
    """
    sums = Products.of(X, target, mass)
    cross = np.where(sums.outputs == 0.0, 0.0, sums.cross)
    return ratio(cross**2, np.outer(sums.squares, sums.outputs)).sum(axis=1)


def centroid(X: Any, target: Target) -> np.ndarray:
    """Absolute difference of the two class means.

    HSIC₀ of a column with the linear kernel and ``ClassBalanced`` is m²/(m-1)² times its square.
    """
    return np.abs(ClassMoments.of(X, target).difference)


def t(X: Any, target: Target) -> np.ndarray:
    """Absolute t statistic with a variance for each class (Welch).

    The ``centroid`` of the column divided by √(s₊²/m₊ + s₋²/m₋).
    """
    moments = ClassMoments.of(X, target)
    error = np.sqrt(np.sum(moments.variances / moments.counts[:, np.newaxis], axis=0))
    return ratio(np.abs(moments.difference), error)


def snr(X: Any, target: Target) -> np.ndarray:
    """Absolute signal-to-noise ratio: the difference of means over s₊ + s₋ (Golub et al., 1999).

    The ``centroid`` of the column divided by the sum of the two standard deviations.
    """
    moments = ClassMoments.of(X, target)
    return ratio(np.abs(moments.difference), np.sqrt(moments.variances).sum(axis=0))


def pam(X: Any, target: Target) -> np.ndarray:
    """Sum over the classes of the squared distance of their mean to the mean of all rows.

    HSIC₀ of a column with the linear kernel and ``Delta`` with weights 1/p², p the shares of the
    classes, is m²/(m-1)² times it. Unlike the classifier of Tibshirani et al. (2002), whose
    information this is, it neither standardises nor shrinks.
    """
    moments = ClassMoments.of(X, target)
    overall = moments.counts @ moments.means / moments.counts.sum()
    return np.sum((moments.means - overall) ** 2, axis=0)


def ridge(X: Any, target: Target, alpha: float = 1.0) -> np.ndarray:
    """What ridge regression on a column alone lowers the regularised risk by.

    With column and outputs centred, the smallest ‖y - wx‖² + αw² is ‖y‖² - (xᵀy)²/(xᵀx + α). The
    last term, summed over the outputs, is (m-1)² times HSIC₀ of ``RidgeKernel("linear", alpha)``
    and the linear kernel of y. ``BAHSIC`` with the ridge kernel weighs all columns together.

    Examples
    --------
    >>> from depmax._inputs import read_target
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]])
    >>> ridge(X, read_target([0.0, 1.0, 6.0, 7.0]), alpha=1.0)
    array([32.4,  0.5])
    """
    sums = Products.of(X, target)
    return np.sum(sums.cross**2, axis=1) / (sums.squares + alpha)
