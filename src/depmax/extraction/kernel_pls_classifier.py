"""Discriminant analysis by kernel partial least squares."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from depmax.data import read_target
from depmax.data.sample import Sample
from depmax.data.scan import by_chunks
from depmax.data.table import is_streamed
from depmax.extraction._fitting.answer import Answer, coded_classes
from depmax.extraction._fitting.deflation import coded_answer
from depmax.extraction._fitting.found import Found
from depmax.extraction._fitting.prediction import FeaturePredictor, as_classifier
from depmax.extraction._fitting.sums import SumsExtractor
from depmax.extraction.kernel_pls import most_covariant_features
from depmax.kernels import KernelLike
from depmax.maps.feature_map import is_linear


@dataclass(eq=False, repr=False)
class KernelPLSClassifier(FeaturePredictor, SumsExtractor):
    """Discriminant analysis by partial least squares (PLS-DA), linear or with any kernel.

    Classes are coded, two by -1 and +1 and more by indicators, and regressed on the features of
    :class:`KernelPLS`. A new row belongs to the class whose mean prediction is nearest. Unlike the
    largest prediction, this does not favour large classes.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, a share of the variance of the coded target, or ``"auto"``, as in
        :class:`KernelPLS`.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    components_, coef_, intercept_, target_loadings_, cv_errors_, dependence_, kernel_
        As in :class:`KernelPLS`, for the coded target: one column for two classes, otherwise one
        per class.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.

    Warns
    -----
    ConvergenceWarning
        If there are fewer features than requested: the rest of X does not covary with y.

    See Also
    --------
    KernelPLS : For numbers.

    Notes
    -----
    It is a separate class because an estimator must tell scikit-learn whether it is a classifier
    before it has seen a target: searches stratify their splits and choose scorers accordingly. Here
    every target is treated as classes, including whole numbers with any number of values.

    References
    ----------
    M. Barker, W. Rayens (2003), Partial least squares for discrimination.

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

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    kernel: KernelLike = "linear"

    _streams: ClassVar[bool] = True
    _keeps_coef: ClassVar[bool] = True

    @property
    def _sums_show_gaps(self) -> bool:  # type: ignore[override]  # depends on the kernel
        return is_linear(self)

    def _find(self, data: Sample, answer: Answer | None, count: int) -> Found:
        return most_covariant_features(self, data, answer, count)

    def decision_function(self, X: Any) -> np.ndarray:
        """How near new rows are to the mean prediction of each class.

        Parameters
        ----------
        X : as in ``fit``

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive if the second is nearer; otherwise largest for the nearest
            class.
        """
        check_is_fitted(self)
        if is_streamed(X):
            n_classes = len(self.classes_)
            return by_chunks(self.decision_function, X, n_classes if n_classes > 2 else None)
        return self._readout.decision(self._apply(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class; the predicted class has the largest.

        Predictions of a class are taken to be normal about their mean, with one variance for all
        classes and coordinates, that of the training rows, and classes to be equally frequent. With
        so many features that training rows are fitted exactly, probabilities are too certain.

        Parameters
        ----------
        X : as in ``fit``

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        if is_streamed(X):
            return by_chunks(self.predict_proba, X, len(self.classes_))
        return self._readout.probabilities(self._apply(X))

    def __sklearn_tags__(self) -> Any:
        """One class per row."""
        return as_classifier(super().__sklearn_tags__(), multi_label=False)

    def _read_answer(self, y: Any, weight: np.ndarray | None) -> Answer:
        target = read_target(y)
        if target.is_streamed:
            return coded_answer(coded_classes(target))
        return coded_answer(coded_classes(self._batch_labels(y), weight, like=y))

    def _batch_labels(self, y: Any) -> np.ndarray:
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
        with np.errstate(invalid="ignore"):  # numbers too large to be whole ones
            check_classification_targets(labels)
        return labels
