"""Scores from means and variances: correlation, differences of means, distances of centroids."""

from __future__ import annotations

from typing import Any

import numpy as np

from depmax._inputs import Target
from depmax.selection._scores.moments import ClassMoments, Products, ratio


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
