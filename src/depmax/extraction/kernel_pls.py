"""Kernel partial least squares, features and regression."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from depmax._inputs import require_finite_rows
from depmax.extraction.deflation import (
    CodedTarget,
    DeflationExtractor,
    Extracted,
    deflate,
    images_of,
    pls,
)
from depmax.extraction.deflation.narrow import is_narrow, pls_of_moments
from depmax.kernels import KernelLike
from depmax.samples import Sample


class KernelPLS(RegressorMixin, DeflationExtractor):
    """Orthogonal features of largest covariance with the target, and least squares on them.

    With ``kernel="linear"`` this is partial least squares (PLS2); columns are centred, not scaled.

    Parameters
    ----------
    n_components : int, default=2
        Number of features, at most the number of rows and of columns.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output: with
        ``NystroemMap(500)`` many rows take linear time.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Rows of (U(PᵀU)⁻¹)ᵀ: weights of the columns; with ``kernel="linear"`` only.
    coef_ : ndarray of shape (n_targets, n_features)
        Regression coefficients of the columns; linear only.
    intercept_ : ndarray of shape (n_targets,)
        What is predicted where every feature is zero: the mean of the target.
    target_loadings_ : ndarray of shape (n_components, n_targets)
        Regression coefficients of the features.
    dependence_ : ndarray of shape (n_components,)
        HSIC₀ of each feature and the target with linear kernels, ‖Yᵀτ_j‖²/(m - 1)².
    target_labels_ : ndarray or None
        Classes, if the target has any.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_ : Kernel
        With every recipe replaced by numbers.

    Warns
    -----
    ConvergenceWarning
        Where there are fewer features than asked for: the rest of X does not covary with y.

    Notes
    -----
    As a regressor it takes numbers as numbers, also whole ones that other estimators take for
    classes. Text, booleans and categories are classes: two are coded -1 and +1, more by
    indicators, and ``predict`` gives the class whose code is predicted best.

    Where columns (or features of a map) are few, everything follows from XᵀX and XᵀY, one visit to
    the rows. Otherwise rows are visited twice per component; sparse ones stay sparse.

    Four million kernel values with the landmarks of a map, and more, are computed in single
    precision and summed in double precision, if that changes features of a sample of rows by less
    than 1e-5 of their length.

    References
    ----------
    R. Rosipal, L. Trejo (2001), Kernel partial least squares regression in reproducing kernel
    Hilbert space. C. Dhanjal, S. Gunn, J. Shawe-Taylor (2009), section 3.2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import KernelPLS
    >>> X = np.linspace(-3, 3, 50)[:, np.newaxis]
    >>> model = KernelPLS(5, kernel="gaussian").fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    _regresses = True

    def __init__(self, n_components: int = 2, *, kernel: KernelLike = "linear") -> None:
        self.n_components = n_components
        self.kernel = kernel

    def predict(self, X: Any) -> np.ndarray:
        """Targets of new rows.

        Parameters
        ----------
        X : as in ``fit``

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            One column where y had one dimension; labels where y had labels.
        """
        check_is_fitted(self)
        values = self.transform(X) @ self.target_loadings_ + self.intercept_
        if self.target_labels_ is None:
            return values[:, 0] if self._flat else values
        if values.shape[1] == 1:
            return self.target_labels_[(values[:, 0] > 0).astype(int)]
        return self.target_labels_[values.argmax(axis=1)]

    def _read_coded(self, y: Any) -> CodedTarget:
        target = super()._read_coded(y)
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
        self._flat = len(shape) == 1
        return target

    @property
    def _sums_show_gaps(self) -> bool:
        return self._is_linear

    def _features(self, side: Sample, target: CodedTarget | None, n_components: int) -> Extracted:
        assert target is not None
        if is_narrow(side, n_components):
            refuse = partial(require_finite_rows, self, side.rows)
            return pls_of_moments(side, target.values, n_components, refuse)
        if self._sums_show_gaps:
            require_finite_rows(self, side.rows)
        images = images_of(side, center=True)
        directions, found = deflate(images, target.values, pls, n_components, center=True)
        return Extracted.of(images, directions, found)

    def _keep_more(self, found: Extracted, target: CodedTarget | None) -> None:
        assert target is not None
        scale = np.ones(target.values.shape[1])
        if target.classes is not None and len(scale) > 1:  # back to indicators 0 and 1
            scale = 1.0 / target.values.max(axis=0)
        covariances = found.covariances(target.values)
        self.target_loadings_ = (covariances / found.squares).T * scale
        self.intercept_ = target.values.mean(axis=0) * scale
        self.target_labels_ = target.classes
        if hasattr(self, "components_"):
            self.coef_ = self.target_loadings_.T @ self.components_
