"""Kernel partial least squares: features, regression and classification."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from depmax._inputs import read_target, require_finite_rows
from depmax.extraction._fitting.deflation import DeflationExtractor, Extracted
from depmax.extraction._fitting.narrow import is_narrow, pls_of_moments
from depmax.extraction._fitting.targets import CodedTarget, coded_classes, streamed_classes
from depmax.kernels import KernelLike
from depmax.pencils.deflation.criteria import pls
from depmax.pencils.deflation.steps import deflate
from depmax.pencils.images import images_of
from depmax.samples import Sample


class PLSExtractor(DeflationExtractor):
    """Features of largest covariance with the target, and its regression on them."""

    _streams: ClassVar[bool] = True
    target_loadings_: np.ndarray
    intercept_: np.ndarray

    def __init__(
        self, n_components: int | float | Literal["auto"] = 2, *, kernel: KernelLike = "linear"
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel

    @property
    def _sums_show_gaps(self) -> bool:
        return self._is_linear

    def _features(self, side: Sample, target: CodedTarget | None, n_components: int) -> Extracted:
        assert target is not None
        if is_narrow(side, n_components):
            refuse = partial(require_finite_rows, self, side.rows)
            return pls_of_moments(side, target, n_components, refuse)
        if self._sums_show_gaps:
            require_finite_rows(self, side.rows)
        images = images_of(side, center=True)
        directions, found = deflate(images, target.values, pls, n_components, center=True)
        return Extracted.of(images, directions, found)

    def _keep_more(self, found: Extracted, target: CodedTarget | None) -> None:
        assert target is not None
        scale = np.ones(target.values.shape[1])
        if target.classes is not None and len(scale) > 1:  # back to indicators 0 and 1
            scale = np.sqrt(target.counts)
        covariances = found.covariances(target.values)  # YᵀT, shape (r, k)
        self.target_loadings_ = (covariances / found.squares).T * scale
        self.intercept_ = target.mean * scale
        if hasattr(self, "components_"):
            self.coef_ = self.target_loadings_.T @ self.components_
        self.__dict__.pop("classes_", None)  # of an earlier fit
        if target.classes is not None:
            self.classes_ = target.classes
            self._centres = self._class_means(covariances, target) @ self.target_loadings_

    def _class_means(self, covariances: np.ndarray, target: CodedTarget) -> np.ndarray:
        """Mean features of every class, of shape (n_classes, k), from covariances alone."""
        counts = target.counts[:, np.newaxis]
        if len(counts) == 2:  # sums over the two classes are s and -s, since features have mean 0
            return np.vstack([-covariances, covariances]) / (2 * counts)
        return covariances / np.sqrt(counts)

    def _codes(self, X: Any) -> np.ndarray:
        """Predicted target as it was coded, minus its mean, of shape (n_samples, r)."""
        check_is_fitted(self)
        return self.transform(X) @ self.target_loadings_

    def _nearness(self, X: Any) -> np.ndarray:
        """Nearness to the centre c of each class, ŷᵀc - ‖c‖²/2, of shape (n_samples, n_classes)."""
        return self._codes(X) @ self._centres.T - np.square(self._centres).sum(axis=1) / 2

    def _nearest_class(self, X: Any) -> np.ndarray:
        labels: np.ndarray = self.classes_[self._nearness(X).argmax(axis=1)]
        return labels


class KernelPLS(RegressorMixin, PLSExtractor):
    """Orthogonal features of largest covariance with the target, and least squares on them.

    With ``kernel="linear"`` this is partial least squares (PLS2); columns are centred, not scaled.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and of columns. A float is a share of the
        variance of the target: the fewest features are kept that explain it on the training rows.
        ``"auto"`` keeps the fewest whose prediction of held-out rows, by five nearest neighbours,
        is within one standard error of the best.
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
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted; only where the target has classes.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_ : Kernel
        With every recipe replaced by numbers.

    Warns
    -----
    ConvergenceWarning
        Where there are fewer features than requested: the rest of X does not covary with y.

    Notes
    -----
    This is a regressor: numbers are numbers, also whole ones that other estimators take for
    classes, and scikit-learn's searches split the rows accordingly. Where the target can only be
    classes (text, booleans, categories) it is coded by -1 and +1 or by indicators; ``predict`` then
    gives the class whose mean prediction is nearest and ``score`` is the accuracy.
    :class:`KernelPLSClassifier` does so for every target, and is a classifier to scikit-learn.

    Where columns (or features of a map) are few, everything follows from XᵀX and XᵀY, one visit to
    the rows. Otherwise rows are visited twice per component; sparse ones stay sparse.

    Four million kernel values with the landmarks of a map, and more, are computed in single
    precision and summed in double precision, if that changes features of a sample of rows by less
    than 1e-5 of their length.

    References
    ----------
    R. Rosipal, L. Trejo (2001), Kernel partial least squares regression in reproducing kernel
    Hilbert space. C. Dhanjal, S. Gunn, J. Shawe-Taylor (2009), section 3.2.2.

    See Also
    --------
    KernelPLSClassifier : For classes, however they are coded.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import KernelPLS
    >>> X = np.linspace(-3, 3, 50)[:, np.newaxis]
    >>> model = KernelPLS(5, kernel="gaussian").fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    _regresses: ClassVar[bool] = True

    def predict(self, X: Any) -> np.ndarray:
        """Targets of new rows.

        Parameters
        ----------
        X : as in ``fit``

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            One column where y had one dimension; classes where y had classes.
        """
        check_is_fitted(self)
        if hasattr(self, "classes_"):
            return self._nearest_class(X)
        values = self._codes(X) + self.intercept_
        return values[:, 0] if self._flat else values

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions, or their accuracy where ``fit`` saw classes.

        Parameters
        ----------
        X, y : as in ``fit``
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        check_is_fitted(self)
        if not hasattr(self, "classes_"):
            return float(super().score(X, y, sample_weight))
        labels = read_target(y).labels
        return float(accuracy_score(labels, self.predict(X), sample_weight=sample_weight))

    def _read_coded(self, y: Any) -> CodedTarget:
        target = super()._read_coded(y)
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
        self._flat = len(shape) == 1
        return target

    def _choose_count(self, X: Any, y: Any, side: Sample) -> int:
        whole = getattr(y, "dtype", np.asarray(y).dtype)
        numeric = isinstance(whole, np.dtype) and whole.kind in "iu"
        return super()._choose_count(X, np.asarray(y, dtype=np.float64) if numeric else y, side)


class KernelPLSClassifier(ClassifierMixin, PLSExtractor):
    """Discriminant analysis by partial least squares (PLS-DA), linear or with any kernel.

    Classes are coded, two by -1 and +1 and more by indicators, and regressed on the features of
    :class:`KernelPLS`. A new row belongs to the class whose mean prediction is nearest. Unlike the
    largest prediction, this does not favour large classes.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and of columns. A float is a share of the
        variance of the target: the fewest features are kept that explain it on the training rows.
        ``"auto"`` keeps the fewest whose prediction of held-out rows, by five nearest neighbours,
        is within one standard error of the best.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    components_ : ndarray of shape (n_components, n_features)
        Weights of the columns; with ``kernel="linear"`` only.
    coef_ : ndarray of shape (n_targets, n_features)
        Regression coefficients of the columns; linear only.
    intercept_ : ndarray of shape (n_targets,)
        Mean of the coded target.
    target_loadings_ : ndarray of shape (n_components, n_targets)
        Regression coefficients of the features: one target for two classes, else one per class.
    dependence_ : ndarray of shape (n_components,)
        HSIC₀ of each feature and the target with linear kernels, ‖Yᵀτ_j‖²/(m - 1)².
    n_components_ : int
        Number of features.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_ : Kernel
        With every recipe replaced by numbers.

    Warns
    -----
    ConvergenceWarning
        Where there are fewer features than requested: the rest of X does not covary with y.

    Notes
    -----
    It is a class of its own since an estimator tells scikit-learn whether it classifies before it
    has seen a target: by this, searches stratify their splits and choose scorers. Every target is
    one of classes here, whole numbers of any number of values too.

    References
    ----------
    M. Barker, W. Rayens (2003), Partial least squares for discrimination.

    See Also
    --------
    KernelPLS : For numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import KernelPLSClassifier
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> y = np.where(X[:, 0] > X[:, 1], "left", "right")
    >>> model = KernelPLSClassifier(2).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.predict(X[:2]).tolist() == y[:2].tolist()
    (True, True)
    """

    def predict(self, X: Any) -> np.ndarray:
        """Classes of new rows.

        Parameters
        ----------
        X : as in ``fit``

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._nearest_class(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """How near new rows are to the mean prediction of each class.

        Parameters
        ----------
        X : as in ``fit``

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes positive where the second is nearer; else largest for the nearest.
        """
        nearness = self._nearness(X)
        return nearness[:, 1] - nearness[:, 0] if nearness.shape[1] == 2 else nearness

    def __sklearn_tags__(self) -> Any:
        """One class per row."""
        tags = super().__sklearn_tags__()
        tags.target_tags.two_d_labels = False
        tags.target_tags.multi_output = False
        return tags

    def _read_coded(self, y: Any) -> CodedTarget:
        target = read_target(y)
        if target.is_streamed:
            return streamed_classes(target)
        return coded_classes(self._labels(y))

    def _choose_count(self, X: Any, y: Any, side: Sample) -> int:
        return super()._choose_count(X, self._labels(y).astype(str), side)

    def _labels(self, y: Any) -> np.ndarray:
        """One label per row, of any type."""
        target = read_target(y)
        if target.values.ndim == 2 and target.values.shape[1] > 1:
            raise ValueError(
                "KernelPLSClassifier needs one class per row, but y has "
                f"{target.values.shape[1]} columns: use KernelPLS, which regresses several targets."
            )
        if getattr(y, "ndim", 1) == 2:
            column_or_1d(np.asarray(y), warn=True)
        labels = target.values.ravel()
        check_classification_targets(labels)
        return labels
