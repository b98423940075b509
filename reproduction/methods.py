"""The selectors that the BAHSIC paper compares, each as a function of (X, y, count).

Every function returns columns, best first, of which at least the first ``count`` are in order of
merit. X is standardised; classes are 0, 1, 2, …
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression, r_regression
from sklearn.svm import LinearSVC

from depmax.kernels import Gaussian, InverseDistance, Kernel
from depmax.selection.bahsic import BAHSIC
from depmax.selection.dependence_filter import DependenceFilter
from depmax.selection.fohsic import FOHSIC
from depmax.selection.relief import Relief
from reproduction.r2w2 import R2W2
from reproduction.zero_norm_svm import ZeroNormSVM

Order = Callable[[np.ndarray, np.ndarray, int], np.ndarray]

#: Small constant of the kernel "dis"; the paper gives no value.
EPSILON = 1e-3


def bahsic(
    X: np.ndarray, y: np.ndarray, count: int, kernel: Kernel | str | None = None, step: float = 0.1
) -> np.ndarray:
    """The published algorithm: HSIC₁, a tenth of the columns a round, σ re-set to 1/(2d)."""
    kernel = kernel or Gaussian(bandwidth="dimension")
    selector = BAHSIC(count, kernel=kernel, step=step, interactions=None, pvalues=False)
    return _best_first(selector.fit(X, y))


def bahsic_one_round(X: np.ndarray, y: np.ndarray, count: int) -> np.ndarray:
    """The order that the first round of BAHSIC alone gives."""
    return bahsic(X, y, count, step=X.shape[1])


def fohsic(X: np.ndarray, y: np.ndarray, count: int) -> np.ndarray:
    """Forward selection, a column a round, with the same kernels as ``bahsic``."""
    selector = FOHSIC(count, kernel=Gaussian(bandwidth="dimension"), pvalues=False)
    return _best_first(selector.fit(X, y))


def pearson(X: np.ndarray, y: np.ndarray, count: int) -> np.ndarray:
    """Absolute correlation with the target; classes are the numbers 0, 1, 2, … as in the paper."""
    return _largest_first(np.abs(r_regression(X, y.astype(float))))


def mutual_information(X: np.ndarray, y: np.ndarray, count: int) -> np.ndarray:
    """scikit-learn's estimate from nearest neighbours; the paper's is another one."""
    estimate = mutual_info_regression if y.dtype.kind == "f" else mutual_info_classif
    return _largest_first(estimate(X, y, random_state=0))


def rfe(X: np.ndarray, y: np.ndarray, count: int, C: float = 1.0, part: int = 10) -> np.ndarray:
    """Recursive elimination with a linear SVM, a tenth of the columns left a round.

    The rounds of scikit-learn's ``RFE``, whose ``step`` is a share of all columns instead.
    """
    left = np.arange(X.shape[1])
    gone: list[np.ndarray] = []  # the first to leave last
    while len(left) > count:
        keep = max(count, len(left) - max(1, len(left) // part))
        machine = LinearSVC(C=C, dual="auto", max_iter=20_000, random_state=0).fit(X[:, left], y)
        least_first = np.argsort(np.square(machine.coef_).sum(axis=0), kind="stable")
        gone.insert(0, left[least_first[:-keep][::-1]])
        left = left[np.sort(least_first[-keep:])]
    return np.concatenate([left, *gone])


def fitted(kind: type, X: np.ndarray, y: np.ndarray, count: int, **parameters: Any) -> np.ndarray:
    """Any selector of ours."""
    return _best_first(kind(count, **parameters).fit(X, y))


relief = partial(fitted, Relief)
zero_norm = partial(fitted, ZeroNormSVM)
r2w2 = partial(fitted, R2W2)
linear = partial(bahsic, kernel="linear")
inverse_distance = partial(bahsic, kernel=InverseDistance(bandwidth=EPSILON))


def filtered(score: str) -> Order:
    """``DependenceFilter`` with a score."""
    return partial(fitted, DependenceFilter, score_func=score)


def _best_first(selector: Any) -> np.ndarray:
    return np.argsort(selector.ranking_, kind="stable")


def _largest_first(scores: np.ndarray) -> np.ndarray:
    """Columns by their scores; a constant column, whose score is NaN, comes last."""
    return np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")
