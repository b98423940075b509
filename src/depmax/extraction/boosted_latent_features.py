"""Boosted latent features: partial least squares for any loss."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import ClassVar, Literal

from depmax._parameters import one_of
from depmax.algebra.deflation import boosted, deflate
from depmax.algebra.losses import LOSSES
from depmax.data.sample import Sample
from depmax.extraction._fitting.answer import Answer
from depmax.extraction._fitting.deflation import deflated
from depmax.extraction._fitting.found import Found
from depmax.extraction._fitting.prediction import LossPredictor
from depmax.kernels import KernelLike


@dataclass(eq=False, repr=False)
class BoostedLatentFeatures(LossPredictor):
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

    def _find(self, data: Sample, answer: Answer | None, count: int) -> Found:
        assert answer is not None
        criterion, values = partial(boosted, loss=LOSSES[self.loss]), self._seen(answer.coded)
        return deflated(
            self, data, answer, *deflate(data, values, criterion, count, scale="feature")
        )
