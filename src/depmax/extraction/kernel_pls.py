"""Kernel partial least squares: features and regression."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import linalg, sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from depmax._parameters import integer
from depmax._resources import small_problems
from depmax.algebra.deflation import Residual, deflate
from depmax.algebra.space import FeatureProjection, Form, Moments, Space
from depmax.data import read_target, require_finite_rows
from depmax.data.sample import Sample
from depmax.data.scan import by_chunks
from depmax.data.table import LARGEST, is_streamed
from depmax.extraction._fitting import latent_model
from depmax.extraction._fitting.cross_validation import (
    SMALL,
    WeightsOf,
    cross_validate,
    permutation_test,
)
from depmax.extraction._fitting.latent_model import residual_law
from depmax.extraction._fitting.prediction import (
    FeaturePredictor,
    coded_answer,
    coded_classes,
    deflated,
)
from depmax.extraction.deflation_features import pls
from depmax.extraction.extractor import Answer, Found, SumsExtractor
from depmax.kernels import KernelLike
from depmax.maps.feature_map import is_linear, leading, signs

#: Features per component up to which one product XᵀX costs less than visits for each component.
FEATURES_PER_COMPONENT = 64
#: Training rows, evenly spread, from which the law of Q is learnt.
LAW_ROWS = 2000
#: Ratio of the squared columns of a mixing matrix up to which sums over rows lose few digits.
LARGEST_RATIO = 1e6


@dataclass(eq=False, repr=False)
class KernelPLS(FeaturePredictor, SumsExtractor):
    """Orthogonal features with the largest covariance with the target, and least squares on them.

    With ``kernel="linear"`` this is partial least squares (PLS2); columns are centred, not scaled.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and the number of columns. A float is a share
        of the variance of the target: the fewest features that explain it on the training rows are
        kept. ``"auto"`` keeps the fewest whose predictions of held-out rows, in ten folds, have an
        error within one standard error of the smallest: see ``cv_errors_``.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output: with ``NystroemMap(500)``,
        time is linear in the rows.
    n_orthogonal : int, default=0
        Number of features that are taken off X first (orthogonal PLS): they vary, but not with the
        target. ``transform`` gives them after the ``n_components`` others.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Rows of (U(PᵀU)⁻¹)ᵀ: weights of the columns; only with ``kernel="linear"``.
    coef_ : ndarray of shape (n_targets, n_features)
        Regression coefficients of the columns; linear only.
    intercept_ : ndarray of shape (n_targets,)
        The prediction if every feature is zero: the mean of the target.
    target_loadings_ : ndarray of shape (n_components, n_targets)
        Regression coefficients of the features.
    dependence_ : ndarray of shape (n_components,)
        HSIC₀ of each feature and the target with linear kernels, ‖Yᵀτ_j‖²/(m - 1)².
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted; only if the target has classes.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    cv_errors_ : ndarray of shape (n_counts,)
        Error of held-out rows with 1, 2, … features: root mean square, or share of wrong classes or
        labels; only with ``n_components="auto"``.
    cv_choices_ : dict of str to int
        Number of features by ``"least error"``, ``"one standard error"`` (which ``"auto"`` keeps)
        and ``"randomisation"``, the fewest whose errors are not significantly larger than the
        least (van der Voet, 1994); only with ``n_components="auto"``.
    score_variance_ : ndarray of shape (n_components,)
        Variance of each feature over the training rows.
    vip_ : ndarray of shape (n_features,)
        Variable importance in the projection; linear only.
    kernel_ : Kernel
        With every recipe replaced by numbers.

    Warns
    -----
    ConvergenceWarning
        If there are fewer features than requested: the rest of X does not covary with y.

    See Also
    --------
    KernelPLSClassifier : For classes, however they are coded.

    Notes
    -----
    This is a regressor: numbers are treated as numbers, even whole ones that other estimators take
    for classes, and scikit-learn's searches split the rows accordingly. If the target can only be
    classes (text, booleans, categories), it is coded by -1 and +1 or by indicators; ``predict``
    then returns the class whose mean prediction is nearest, and ``score`` is the accuracy.
    :class:`KernelPLSClassifier` does this for every target, and scikit-learn treats it as a
    classifier.

    If there are few columns (or features of a map), everything follows from XᵀX and XᵀY, with one
    pass over the rows. Otherwise rows are visited twice per component; sparse ones stay sparse.

    References
    ----------
    R. Rosipal, L. Trejo (2001), Kernel partial least squares regression in reproducing kernel
    Hilbert space. C. Dhanjal, S. Gunn, J. Shawe-Taylor (2009), section 3.2.2. J. Trygg, S. Wold
    (2002), Orthogonal projections to latent structures. H. van der Voet (1994), Comparing the
    predictive accuracy of models using a simple randomization test.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import KernelPLS
    >>> X = np.linspace(-3, 3, 50)[:, np.newaxis]
    >>> model = KernelPLS(5, kernel="gaussian").fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    kernel: KernelLike = "linear"
    n_orthogonal: int = 0

    _streams: ClassVar[bool] = True
    _keeps_coef: ClassVar[bool] = True
    _predicts: ClassVar[Literal["regressor", "classifier"] | None] = "regressor"
    _reads_labels: ClassVar[bool] = False
    _declared: ClassVar = {"n_orthogonal": integer(0)}

    predict, predict_path = latent_model.predict, latent_model.predict_path
    cross_validate, permutation_test = cross_validate, permutation_test
    vip_, selectivity_ratio = latent_model.vip_, latent_model.selectivity_ratio
    coef_intervals = latent_model.coef_intervals
    t2, t2_limit = latent_model.t2, latent_model.t2_limit
    q, q_limit = latent_model.q, latent_model.q_limit
    leverage, y_residuals = latent_model.leverage, latent_model.y_residuals
    _held_out = latent_model.held_out

    @property
    def _sums_show_gaps(self) -> bool:  # type: ignore[override]  # depends on the kernel
        return is_linear(self)

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        found = most_covariant_features(self, data, answer, count)
        return replace(found, more=law_rows(self, data))

    def _keep_more(self, found: Found, answer: Answer) -> None:
        """The prediction, and what diagnostics of new rows need."""
        FeaturePredictor._keep_more(self, found, answer)
        assert found.squares is not None
        target = answer.numbers
        self._n_rows = float(self._n_training if self._weight is None else self._weight.sum())
        self.score_variance_ = found.squares / (self._n_rows - 1)
        self._error_squares = None
        if target.classes is None:
            if is_streamed(target.values):
                total = np.diagonal(target.centred.gram)
            else:
                values, weight = target.centred, target.weight
                weighted = values if weight is None else values * weight[:, np.newaxis]
                total = np.einsum("ij,ij->j", weighted, values)
            explained = found.squares @ np.square(self.target_loadings_)
            self._error_squares = np.maximum(total - explained, 0.0)
        own = self._lean is None  # the few rows that stand for batches have another Q
        self._residual_law = residual_law(self, *found.more) if own and found.more else None

    def _check_parameters(self) -> None:
        """Refuse a share of components beside orthogonal ones."""
        if self.n_orthogonal and isinstance(self.n_components, float):
            raise ValueError(
                f"n_orthogonal={self.n_orthogonal} of {type(self).__name__} goes with a whole "
                f"number of components or 'auto', got n_components={self.n_components!r}."
            )

    def _weights_of(self, count: int) -> WeightsOf:
        """R of features XR from sums over rows."""
        return partial(conjugate_directions, count=count, n_orthogonal=self.n_orthogonal)


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
    n_orthogonal : int, default=0
        Number of features that are taken off X first (orthogonal PLS): they vary, but not with the
        target. ``transform`` gives them after the ``n_components`` others.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    components_, coef_, intercept_, target_loadings_, cv_errors_, dependence_, kernel_
        As in :class:`KernelPLS`, for the coded target: one column for two classes, otherwise one
        per class.
    cv_choices_, score_variance_, vip_
        As in :class:`KernelPLS`.
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
    n_orthogonal: int = 0

    _streams: ClassVar[bool] = True
    _keeps_coef: ClassVar[bool] = True
    _predicts: ClassVar[Literal["regressor", "classifier"] | None] = "classifier"
    _one_label: ClassVar[bool] = True
    _declared: ClassVar = KernelPLS._declared

    predict, predict_path = KernelPLS.predict, KernelPLS.predict_path
    cross_validate, permutation_test = KernelPLS.cross_validate, KernelPLS.permutation_test
    vip_, selectivity_ratio = KernelPLS.vip_, KernelPLS.selectivity_ratio
    coef_intervals = KernelPLS.coef_intervals
    t2, t2_limit, q, q_limit = KernelPLS.t2, KernelPLS.t2_limit, KernelPLS.q, KernelPLS.q_limit
    leverage, y_residuals = KernelPLS.leverage, KernelPLS.y_residuals
    _check_parameters, _keep_more = KernelPLS._check_parameters, KernelPLS._keep_more
    _held_out, _sums_show_gaps = KernelPLS._held_out, KernelPLS._sums_show_gaps
    _find, _weights_of = KernelPLS._find, KernelPLS._weights_of

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


def most_covariant_features(model: Any, data: Sample, answer: Answer, count: int) -> Found:
    """Features with the largest covariance with the target: from sums, or by deflation."""
    width = data.n_coordinates
    narrow = width is not None and width <= min(data.n_samples, FEATURES_PER_COMPONENT * count)
    narrow = narrow and not sparse.issparse(data.coordinates(slice(0, 1)))
    if data.is_streamed or narrow:  # of a stream, each visit reads the rows again
        return _of_sums(model, data, answer, count)
    if is_linear(model):
        require_finite_rows(model, data.rows)
    if not model.n_orthogonal:
        return deflated(model, data, answer, *deflate(data, answer.numbers.centred, pls, count))
    return _orthogonal_first(model, data, answer, count)


def _orthogonal_first(model: Any, data: Sample, answer: Answer, count: int) -> Found:
    """Features that are orthogonal to the target are deflated first and stand last."""
    n_orthogonal, target = model.n_orthogonal, answer.numbers
    criterion = partial(_orthogonal, n_orthogonal=n_orthogonal)
    projection, features = deflate(data, target.centred, criterion, count + n_orthogonal)
    order = np.roll(np.arange(features.shape[1]), -n_orthogonal)
    features, weight = features[:, order], target.weight
    values = target.centred if weight is None else target.centred * weight[:, np.newaxis]
    with_target = _of_predictive(values.T @ features, n_orthogonal)
    return deflated(model, data, answer, projection.taken(order), features, with_target=with_target)


def _orthogonal(residual: Residual, n_orthogonal: int) -> np.ndarray | None:
    """PLS direction; at first what of the loading XᵀXu is orthogonal to XᵀY (Trygg and Wold)."""
    direction = pls(residual)
    if direction is None or residual.found.count >= n_orthogonal:
        return direction
    target = residual.left_target
    relevant, direction = residual.pull(target), direction[:, np.newaxis]
    loading = residual.square(direction) * signs(target.T @ residual.push(direction))
    for _ in range(2):  # once more: the first time leaves rounding errors
        inner = residual.images.inner(np.hstack([relevant, loading]))
        loading = loading - relevant @ (linalg.pinvh(inner[:-1, :-1]) @ inner[:-1, -1:])
    return loading[:, 0]


def _of_predictive(with_target: np.ndarray, n_orthogonal: int) -> np.ndarray:
    """YᵀT, of which the part of orthogonal features is rounding errors."""
    n_predictive = with_target.shape[1] - n_orthogonal
    return np.where(np.arange(with_target.shape[1]) < n_predictive, with_target, 0.0)


def _of_sums(model: Any, data: Sample, answer: Answer, count: int) -> Found:
    """Partial least squares from S = XᵀX and C = XᵀY, one visit to the rows; T is not made."""
    target = answer.numbers
    mixing = data.kernel.mixing  # the last product of the features
    if mixing is not None:  # follows the sums over rows, if it can without loss
        squares = np.square(mixing).sum(axis=0)
        mixing = mixing if squares.max() <= LARGEST_RATIO * squares.min() else None
    space = Space.of_sample(data, unmixed=mixing is not None)
    moments, mean = space.moments(Form(target.centred)), space.mean
    if mixing is not None:
        mean, scatter = mean @ mixing, mixing.T @ moments.scatter @ mixing
        moments = replace(moments, cross=mixing.T @ moments.cross, scatter=scatter)
    scatter, cross = moments.scatter, moments.cross
    if not (np.isfinite(cross).all() and np.diagonal(scatter).max() <= LARGEST**2):
        require_finite_rows(model, data.rows)
    # many small products: threads would cost more than they gain
    with small_problems(len(scatter) <= SMALL):
        weights = model._weights_of(count)(moments, target.square)
        image = scatter @ weights
    lift = weights if mixing is None else mixing @ weights
    return deflated(
        model,
        data,
        answer,
        FeatureProjection(data.kernel, weights, np.zeros(weights.shape[1]), mean),
        lambda: space.features(lift),
        squares=np.einsum("ij,ij->j", weights, image),
        with_target=_of_predictive(cross.T @ weights, model.n_orthogonal),
        pull=lambda: (image, mean),
    )


def law_rows(model: Any, data: Sample) -> tuple[Any, np.ndarray | None] | None:
    """Rows from which the law of Q is learnt, evenly spread, with their weights."""
    if data.is_streamed or not is_linear(model):
        return None
    rows = np.unique(np.linspace(0, data.n_samples - 1, LAW_ROWS).astype(np.intp))
    return data.rows[rows], None if data.weight is None else data.weight[rows]


# --- the path, from sums --------------------------------------------------------------------------
#: What is left of XᵀY, relative to √tr(XᵀX)‖Y‖, to be more than rounding errors.
EXHAUSTED = 1e-13
#: The same for squares: ‖Y_j‖² relative to ‖Y‖², and ‖Xr‖² relative to tr(XᵀX)‖r‖².
EXHAUSTED_SQUARE = 1e-14
#: Roundings of sums that count as nothing, where these exceed the above.
NOISE = 8.0


def conjugate_directions(
    moments: Moments, square: float, count: int, n_orthogonal: int = 0
) -> np.ndarray:
    """R = U(PᵀU)⁻¹ of shape (D, k), fewer columns where nothing is left.

    The direction is the leading left singular vector u of C. Its weights r = u - R(Pᵀu), with the
    loadings P = SR/‖τ‖² of earlier features, are those of a feature τ = Xr that is orthogonal to
    earlier ones; C loses what τ explains. Before these, ``n_orthogonal`` directions are what is
    orthogonal to C of XᵀXu; they explain nothing of Y and stand last in the result.

    Parameters
    ----------
    moments : Moments
        S = XᵀX of shape (D, D) and C = XᵀY of shape (D, r).
    square : float
        ‖Y‖².
    count : int
    n_orthogonal : int
    """
    scatter, cross, eps = moments.scatter, moments.cross, moments.eps
    nothing, no_square = max(EXHAUSTED, NOISE * eps), max(EXHAUSTED_SQUARE, NOISE * eps)
    total = count + n_orthogonal
    conjugate, loadings = np.empty((2, len(scatter), total))  # R and P
    variance, left = max(float(np.trace(scatter)), 0.0), square
    relevant = linalg.orth(cross) if n_orthogonal else cross
    for j in range(total):
        reached = float(linalg.norm(cross))
        if left <= no_square * square or not reached > nothing * np.sqrt(variance * square):
            return np.roll(conjugate[:, :j], -n_orthogonal, axis=1)
        R, P = conjugate[:, :j], loadings[:, :j]
        direction = cross[:, 0]
        if cross.shape[1] > 1:
            direction = cross @ leading(cross.T @ cross, 1)[1][:, 0]
        if j < n_orthogonal:
            sign = signs(cross.T @ direction[:, np.newaxis])
            image = scatter @ (direction - R @ (P.T @ direction))
            direction = sign * (image - P @ (R.T @ image))  # ±X_jᵀX_ju
            direction -= relevant @ (relevant.T @ direction)
        direction = direction / linalg.norm(direction)
        vector = direction - R @ (P.T @ direction)
        image = scatter @ vector
        length = float(vector @ image)  # ‖τ_j‖²
        if not length > no_square * variance * float(vector @ vector):
            return np.roll(conjugate[:, :j], -n_orthogonal, axis=1)
        conjugate[:, j], loadings[:, j] = vector, image / length
        if j >= n_orthogonal:
            covariance = vector @ cross  # τ_jᵀY
            cross = cross - np.outer(loadings[:, j], covariance)
            left = max(left - float(covariance @ covariance) / length, 0.0)
    return np.roll(conjugate, -n_orthogonal, axis=1)
