"""Kernel partial least squares: features and regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import linalg, sparse

from depmax._threads import small_problems
from depmax.algebra import Form, Space, leading
from depmax.algebra.deflation.criteria import pls
from depmax.algebra.deflation.steps import deflate
from depmax.algebra.images import CountedImages, FeatureImages, images_of
from depmax.algebra.projection import FeatureProjection
from depmax.data import require_finite_rows
from depmax.data.sample import Sample
from depmax.data.scales import LARGEST
from depmax.extraction._fitting.batches import BatchExtractor
from depmax.extraction._fitting.deflation import Extracted
from depmax.extraction._fitting.prediction import FeaturePredictor, as_regressor
from depmax.extraction._fitting.targets import CodedTarget
from depmax.kernels import KernelLike

#: Features per component up to which one product XᵀX costs less than visits for each component.
FEATURES_PER_COMPONENT = 64
#: What is left of XᵀY, relative to √tr(XᵀX)‖Y‖, to be more than rounding errors.
EXHAUSTED = 1e-13
#: The same for squares: ‖Y_j‖² relative to ‖Y‖², and ‖Xr‖² relative to tr(XᵀX)‖r‖².
EXHAUSTED_SQUARE = 1e-14
#: Roundings of sums in single precision that count as nothing, where these exceed the above.
NOISE = 8.0
#: Features up to which products with S are left to one thread.
SMALL = 1000
#: Ratio of the squared columns of a mixing matrix up to which sums over rows lose few digits.
LARGEST_RATIO = 1e6


class PLSExtractor(FeaturePredictor, BatchExtractor):
    """Features with the largest covariance with the target, and its regression on them."""

    _streams: ClassVar[bool] = True

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
        if _is_narrow(side, n_components):
            refuse = partial(require_finite_rows, self, side.rows)
            return _pls_of_moments(side, target, n_components, refuse)
        if self._sums_show_gaps:
            require_finite_rows(self, side.rows)
        if side.mass is not None:
            return self._of_counted(side, side.mass, target, n_components)
        images = images_of(side, center=True)
        directions, found = deflate(images, target.centred, pls, n_components, center=True)
        return Extracted.of(images, directions, found)

    def _of_counted(
        self, side: Sample, mass: np.ndarray, target: CodedTarget, n_components: int
    ) -> Extracted:
        """The same where a row stands for several: rows of X and Y times the root of how many."""
        roots = np.sqrt(mass)[:, np.newaxis]
        images = CountedImages(side, mass)
        directions, found = deflate(images, roots * target.centred, pls, n_components, center=False)
        extracted = Extracted.of(images, directions, found)
        return replace(extracted, made=extracted.features / roots, mass=mass)

    def _keep_more(self, found: Extracted, target: CodedTarget | None) -> None:
        super()._keep_more(found, target)
        if self._is_linear:
            self.coef_ = self.target_loadings_.T @ self.components_


class KernelPLS(PLSExtractor):
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

    If rows are in float32 and there are four million or more kernel values with the landmarks of a
    map, they are computed in single precision and summed in double precision, provided that this
    changes the features of a sample of rows by less than 1e-5 of their length.

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

    _regresses: ClassVar[bool] = True
    _reads_labels: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Any:
        """Numbers, unless y can only be classes."""
        return as_regressor(super().__sklearn_tags__())


@dataclass(frozen=True, kw_only=True)
class ExtractedByMoments(Extracted):
    """What sums over the rows tell about features; these are made when they are asked for."""

    with_target: np.ndarray  # YᵀT, shape (r, k)
    lengths: np.ndarray  # ‖τ_j‖², shape (k,)
    pulled: np.ndarray  # P, shape (D, k)
    mean: np.ndarray  # of the features of the kernel, shape (D,)
    space: Space  # the rows, from which T can be made
    mixing: np.ndarray | None  # from the coordinates of space to features of the kernel

    @property
    def features(self) -> np.ndarray:
        """T of shape (m, k)."""
        weights = self.projection.weights
        return self.space.features(weights if self.mixing is None else self.mixing @ weights)

    @property
    def squares(self) -> np.ndarray:
        """‖τ_j‖², of shape (k,)."""
        return self.lengths

    def covariances(self, target: np.ndarray) -> np.ndarray:
        """YᵀT of shape (r, k), for the target of the fit."""
        return self.with_target

    def loadings(self, samples: Callable[[], FeatureImages]) -> tuple[np.ndarray, np.ndarray]:
        """P and the mean."""
        return self.pulled, self.mean

    def first(self, count: int) -> Extracted:
        """The first features."""
        return replace(
            self,
            projection=self.projection.first(count),
            with_target=self.with_target[:, :count],
            lengths=self.lengths[:count],
            pulled=self.pulled[:, :count],
        )

    def times(self, factors: np.ndarray) -> Extracted:
        """Every feature multiplied by a number."""
        return replace(
            self,
            projection=self.projection.times(factors),
            with_target=self.with_target * factors,
            lengths=self.lengths * factors**2,
            pulled=self.pulled / factors,
        )


def _is_narrow(side: Sample, n_components: int) -> bool:
    """Whether the kernel has dense features, and few of them."""
    if side.is_streamed:  # each visit reads the rows again
        return True
    width = side.n_coordinates
    if width is None or sparse.issparse(side.coordinates(slice(0, 1))):
        return False
    return width <= min(side.n_samples, FEATURES_PER_COMPONENT * n_components)


def _pls_of_moments(
    side: Sample, target: CodedTarget, n_components: int, refuse: Callable[[], None]
) -> Extracted:
    """Partial least squares from one visit to the rows; T itself is not made.

    With S = XᵀX, C = XᵀY: u is the first left singular vector of C_j, r = u made conjugate to
    earlier ones, p = Sr/rᵀSr, and C_{j+1} = C_j - p rᵀC_j. ``refuse`` looks for what is not
    finite among the rows, if the sums are not.
    """
    centred = target.centred
    mixing = _stable_mixing(side)
    if mixing is None:
        space = Space.of_sample(side)
        moments = space.moments(Form(centred))
        scatter, cross, mean = moments.scatter, moments.cross, space.mean
    else:
        space = Space.before_mixing(side, mixing)
        moments = space.moments(Form(centred))
        scatter = mixing.T @ moments.scatter @ mixing
        cross, mean = mixing.T @ moments.cross, space.mean @ mixing
    if not (np.isfinite(cross).all() and np.diagonal(scatter).max() <= LARGEST**2):
        refuse()
    # many small products: threads would cost more than they gain
    with small_problems(len(scatter) <= SMALL):
        weights = _conjugate_directions(scatter, cross, target.square, n_components, moments.eps)
        image = scatter @ weights
    squares = np.einsum("ij,ij->j", weights, image)
    return ExtractedByMoments(
        FeatureProjection(side.kernel, weights, np.zeros(weights.shape[1]), mean),
        with_target=cross.T @ weights,
        lengths=squares,
        pulled=image / squares,
        mean=mean,
        space=space,
        mixing=mixing,
    )


def _stable_mixing(side: Sample) -> np.ndarray | None:
    """The last product of the features, if it can follow the sums over rows without loss."""
    mixing = side.kernel.mixing
    if mixing is None:
        return None
    squares = np.square(mixing).sum(axis=0)
    return mixing if squares.max() <= LARGEST_RATIO * squares.min() else None


def _conjugate_directions(
    scatter: np.ndarray,
    cross: np.ndarray,
    square: float,
    n_components: int,
    eps: float = float(np.finfo(np.float64).eps),
) -> np.ndarray:
    """R = U(PᵀU)⁻¹ of shape (D, k), fewer columns where nothing is left.

    Parameters
    ----------
    scatter : ndarray of shape (D, D)
        S = XᵀX.
    cross : ndarray of shape (D, r)
        C = XᵀY.
    square : float
        ‖Y‖².
    n_components : int
    eps : float
        Relative precision of the sums.
    """
    width = len(scatter)
    nothing, no_square = max(EXHAUSTED, NOISE * eps), max(EXHAUSTED_SQUARE, NOISE * eps)
    conjugate = np.empty((width, n_components))  # R
    loadings = np.empty((width, n_components))  # P
    size = np.sqrt(max(float(np.trace(scatter)), 0.0))
    left = square
    for j in range(n_components):
        reached = float(linalg.norm(cross))
        explained = left <= no_square * square
        if explained or not reached > nothing * size * np.sqrt(square):
            return conjugate[:, :j]
        direction = cross[:, 0]
        if cross.shape[1] > 1:
            direction = cross @ leading(cross.T @ cross, 1)[1][:, 0]
        direction = direction / linalg.norm(direction)
        vector = direction - conjugate[:, :j] @ (loadings[:, :j].T @ direction)
        image = scatter @ vector
        length = float(vector @ image)  # ‖τ_j‖²
        if not length > no_square * size**2 * float(vector @ vector):
            return conjugate[:, :j]
        conjugate[:, j], loadings[:, j] = vector, image / length
        covariance = vector @ cross  # τ_jᵀY
        cross = cross - np.outer(loadings[:, j], covariance)
        left = max(left - float(covariance @ covariance) / length, 0.0)
    return conjugate
