"""Boosted latent features: partial least squares for any loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from depmax._parameters import one_of
from depmax.algebra.deflation import deflate
from depmax.algebra.losses import LOSSES
from depmax.data.sample import Sample
from depmax.extraction._fitting.prediction import CodedTarget, FeaturePredictor, Readout, deflated
from depmax.extraction.deflation_features import boosted
from depmax.extraction.extractor import Answer, Found
from depmax.kernels import KernelLike


class LossExtractor(FeaturePredictor):
    """Base of the methods that predict by the fit of a loss on their features and a constant.

    The loss tells scikit-learn what they are: with one of margins a classifier, otherwise a
    regressor, for which whole numbers are numbers.
    """

    loss: Any

    @property
    def _classifies(self) -> bool:
        return self.loss in LOSSES and LOSSES[self.loss].margins

    @property
    def _predicts(self) -> Literal["regressor", "classifier"]:  # type: ignore[override]  # the same
        return "classifier" if self._classifies else "regressor"

    @property
    def _power(self) -> float:  # type: ignore[override]  # depends on the loss here
        return 1.0 if self.loss == "absolute" else 2.0

    def _has_margins(self) -> bool:
        if not self._classifies:
            raise AttributeError(
                f"decision_function of {type(self).__name__} needs loss='logistic' or "
                f"'exponential', got {self.loss!r}."
            )
        return True

    @available_if(_has_margins)
    def decision_function(self, X: Any) -> np.ndarray:
        """Fitted values: how much new rows belong to each class.

        Parameters
        ----------
        X : as in ``fit``

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive for the second.
        """
        check_is_fitted(self)
        return self._readout.decision(self._apply(X))

    def _read_answer(self, y: Any, weight: np.ndarray | None) -> Answer:
        if self._classifies and getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
            column_or_1d(np.asarray(y), warn=True)
        return super()._read_answer(y, weight)

    def _seen(self, target: CodedTarget) -> np.ndarray:
        """The target as the loss reads it: -1 and +1 for those of margins, which need classes."""
        if not self._classifies:
            return np.asarray(target.values - target.shift)
        if target.kind not in ("classes", "multilabel"):
            raise ValueError(
                f"loss={self.loss!r} of {type(self).__name__} needs classes, but y holds numbers "
                "(Unknown label type: continuous): use 'least_squares' or 'absolute', or cut y "
                "into classes."
            )
        return target.signs

    def _read_out(
        self,
        target: CodedTarget,
        make_features: Callable[[], np.ndarray],
        squares: np.ndarray,
        covariances: np.ndarray,
    ) -> Readout:
        """The best fit of the loss on the features and a constant."""
        if self.loss == "least_squares":
            return super()._read_out(target, make_features, squares, covariances)
        loss, features, roots = LOSSES[self.loss], make_features(), np.sqrt(squares)
        values, root = self._seen(target), np.sqrt(len(features))
        basis = np.column_stack([np.full(len(features), 1.0 / root), features / roots])
        scale = 1.0 if loss.margins else target.scale
        fits = np.column_stack([loss.fit(column, basis) for column in (values * scale).T])
        intercept = fits[0] / root + (0.0 if loss.margins else target.shift)
        threshold = (0.0 if loss.margins else 0.5) if self._has_labels(target) else None
        return Readout(
            fits[1:] / roots[:, np.newaxis],
            intercept,
            target.classes,
            threshold=threshold,
            flat=target.flat,
        )


@dataclass(eq=False, repr=False)
class BoostedLatentFeatures(LossExtractor):
    """Orthogonal features that reduce a loss of the target the most.

    Each direction has the largest covariance with the negative gradient of the loss, at the best
    fit of the target on the features so far. With least squares this is partial least squares.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and the number of columns. A float is a share
        of the variance of the target: the fewest features that explain it on the training rows are
        kept. ``"auto"`` keeps the fewest whose predictions of held-out rows, in ten folds, have an
        error within one standard error of the smallest: see ``cv_errors_``.
    loss : {"least_squares", "absolute", "exponential", "logistic"}, default="least_squares"
        ``(y - f)²/2``, ``|y - f|``, ``exp(-yf)`` or ``log(1 + exp(-yf))``; the last two need
        classes or labels.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Weights of the columns; only with ``kernel="linear"``.
    dependence_ : ndarray of shape (n_components,)
        HSIC₀ of each feature and the target with linear kernels, ‖Yᵀτ_j‖²/(m - 1)².
    target_loadings_ : ndarray of shape (n_components, n_targets)
        Coefficients of the features in the best fit of the target by the loss: one target for two
        classes, else one per class, label or output.
    intercept_ : ndarray of shape (n_targets,)
        Its constant.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted; only if the target has classes.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    cv_errors_ : ndarray of shape (n_counts,)
        Error of held-out rows with 1, 2, … features: root mean square (mean absolute value with
        that loss), or share of wrong classes or labels; only with ``n_components="auto"``.
    kernel_ : Kernel
        With every recipe replaced by numbers.

    Warns
    -----
    ConvergenceWarning
        If there are fewer features than requested: the gradient no longer covaries with X.

    Notes
    -----
    The loss tells scikit-learn what this is, so that searches stratify their splits: with
    ``"exponential"`` or ``"logistic"`` a classifier, otherwise a regressor, for which numbers are
    numbers, even whole ones. A regressor that is given classes (text, booleans, categories)
    predicts classes, and ``score`` is the accuracy. To regress classes use
    :class:`KernelPLSClassifier`, which is a classifier.

    Features have unit length on the training rows. Each of several outputs has its own gradient;
    the direction is the first left singular vector of X_jᵀ times these, as for PLS. Each of several
    classes is one output, against the rest.

    References
    ----------
    M. Momma, K. Bennett (2006), Constructing orthogonal latent features for arbitrary loss.
    C. Dhanjal, S. Gunn, J. Shawe-Taylor (2009), sections 3.1.3 and 3.2.3.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import BoostedLatentFeatures
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 4))
    >>> model = BoostedLatentFeatures(1, loss="logistic").fit(X, X[:, 2] > 0.5)
    >>> abs(model.components_).argmax(axis=1)
    array([2])

    Medians are predicted with the absolute loss, which outliers do not move:

    >>> y = X[:, 0] + np.where(np.arange(100) < 5, 1000.0, 0.0)
    >>> model = BoostedLatentFeatures(4, loss="absolute").fit(X, y)
    >>> bool(np.abs(model.predict(X) - X[:, 0]).max() < 1e-6)
    True
    """

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    loss: Literal["least_squares", "absolute", "exponential", "logistic"] = "least_squares"
    kernel: KernelLike = "linear"

    _declared: ClassVar = {"loss": one_of(*LOSSES)}

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        values = self._seen(answer.numbers)
        criterion = partial(boosted, loss=LOSSES[self.loss])
        return deflated(
            self, data, answer, *deflate(data, values, criterion, count, scale="feature")
        )
