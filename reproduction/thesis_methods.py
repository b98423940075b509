"""The feature extractors that the thesis compares, as it ran them.

The target of two classes is -1 and +1 with the linear kernel; the directions of HBFE beyond the
rank of its criterion are the next eigenvectors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning

from depmax import ScaleWarning
from depmax.extraction import HBFE, HSCA
from reproduction.dimension_choice import Method
from reproduction.plain_eigenvectors import PlainEigenvectors

Transform = Callable[[np.ndarray], np.ndarray]

#: Share of the identity in the scatter within classes, so that LDA exists with few rows.
LDA_SHRINKAGE = 1e-6
HSIC_METHODS = ("HBFE1", "HBFE0", "HSCA1", "HSCA0")


def hbfe(
    rows: np.ndarray,
    y: np.ndarray,
    count: int,
    unbiased: bool,
    make: type[HBFE] = PlainEigenvectors,
    **more: Any,
) -> Transform:
    """HBFE with eigenvectors of any sign, as published."""
    model = make(count, target_kernel="linear", unbiased=unbiased, **more)
    with warnings.catch_warnings():  # inputs are standardised; coordinates of a kernel need not be
        warnings.simplefilter("ignore", ScaleWarning)
        return model.fit(rows, y).transform


def hsca(rows: np.ndarray, y: np.ndarray, count: int, unbiased: bool, **more: Any) -> Transform:
    """HSCA; it may end with fewer features than asked for."""
    model = HSCA(count, target_kernel="linear", unbiased=unbiased, **more)
    with warnings.catch_warnings():
        # fewer features are an outcome of the table, not a surprise; scales: as for HBFE
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", ScaleWarning)
        try:
            return model.fit(rows, y).transform
        except ValueError:
            # no dependence above chance in few rows: the published first step takes the
            # principal eigenvector all the same
            return hbfe(rows, y, 1, unbiased)


def pca(rows: np.ndarray, y: np.ndarray, count: int) -> Transform:
    """scikit-learn's PCA."""
    return PCA(count, svd_solver="full").fit(rows).transform


def lda(rows: np.ndarray, y: np.ndarray, count: int) -> Transform:
    """scikit-learn's LDA: one direction for two classes."""
    model = LinearDiscriminantAnalysis(solver="eigen", shrinkage=LDA_SHRINKAGE, n_components=1)
    return model.fit(rows, y).transform


def unchanged(rows: np.ndarray, y: np.ndarray, count: int) -> Transform:
    """All columns, whatever the count."""
    return _itself


def _itself(rows: np.ndarray) -> np.ndarray:
    return rows


FULL = Method("Full", unchanged, nested=False, most=1)
LINEAR = (
    FULL,
    Method("HBFE1", partial(hbfe, unbiased=True)),
    Method("HBFE0", partial(hbfe, unbiased=False)),
    Method("HSCA1", partial(hsca, unbiased=True)),
    Method("HSCA0", partial(hsca, unbiased=False)),
    Method("PCA", pca),
    Method("LDA", lda, most=1),
    # not in the thesis: our default, which goes on with the largest variance
    Method("HBFE1, default", partial(hbfe, unbiased=True, make=HBFE)),
)
#: On the coordinates of a Gaussian kernel, with a Gaussian kernel of the features for HSCA.
KERNEL = (
    *(method for method in LINEAR if method.name in ("HBFE1", "HBFE0", "PCA", "LDA")),
    Method("HSCA1", partial(hsca, unbiased=True, feature_kernel="gaussian")),
    Method("HSCA0", partial(hsca, unbiased=False, feature_kernel="gaussian")),
)
