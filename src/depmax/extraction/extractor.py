"""What all extractors share: reading data, kernels, projections, and fitted attributes."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from depmax._parameters import check_parameters
from depmax._threads import small_problems
from depmax.algebra import Basis, Directions, Gram, Space
from depmax.algebra.coordinates import (
    Coordinates,
    FeatureCoordinates,
    coordinates_of,
    pairs_held,
    stays_single,
)
from depmax.algebra.projection import Fitted, Projection, n_repeated
from depmax.data import Target, read_target
from depmax.data.reading import (
    Labels,
    aligned,
    read_target_sample,
    read_training,
    reads_chunks,
    require_coordinates,
    warn_of_units,
    warn_of_unlabeled,
)
from depmax.data.sample import Sample, is_precomputed, require_equal_length
from depmax.data.scales import require_varying
from depmax.data.table import is_streamed
from depmax.data.weights import Weighed, weigh
from depmax.dependence.resolve import most_dependent
from depmax.extraction._fitting.number_of_components import (
    ComponentCount,
    Possible,
    most_possible,
    predicted_count,
    read_component_count,
)
from depmax.extraction._fitting.reconstruction import FeatureSpaceViews
from depmax.kernels import KernelLike
from depmax.maps.feature_map import coordinate_names, is_linear, loadings_of, signs

#: Skewness of a feature, relative to its largest possible value, below which it is symmetric.
EVEN = 1e-8
#: Up to this many coordinates, threads of BLAS cost an eigenproblem more than they gain.
FEW = 256


class DependenceExtractor(FeatureSpaceViews):
    """Base of the extractors: a subclass implements ``_extract``.

    A subclass stores ``n_components`` and, if it offers them, ``kernel``, ``target_kernel``,
    ``estimator`` and ``scoring``; otherwise these are the class attributes below. This class reads
    X as the kernel needs it (arrays, memory maps, sparse matrices, frames with categorical columns,
    objects, row sources, or with ``kernel="precomputed"`` the kernel matrix itself), resolves the
    kernels, passes the samples to ``_extract`` in whichever coordinates are fewer, and determines
    the number of components: an int, a float share of the dependence, or ``"auto"``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Weights of the columns of X, one direction per row; only with ``kernel="linear"``.
        Categorical columns are encoded, see ``coordinate_names_``.
    loadings_ : ndarray of shape (n_components, n_features)
        Coefficients of the least squares regression of every column on the features; linear only.
    mean_ : ndarray of shape (n_features,)
        Mean of every column; linear only.
    coordinate_names_ : ndarray of shape (n_features,)
        Names of the columns that ``components_`` refers to; linear only.
    dependence_ : ndarray of shape (n_components,)
        Dependence on the target that each feature reaches.
    n_components_ : int
        Number of features.
    kernel_, target_kernel_ : Kernel
        With every recipe replaced by numbers.
    """

    n_components: Any
    kernel: KernelLike = "linear"
    target_kernel: Any = "auto"
    #: What predicts the target from features, and how it is scored, for ``n_components="auto"``.
    estimator: Any = None
    scoring: Any = None
    #: Whether labels that are whole numbers are numbers.
    _regresses: ClassVar[bool] = False
    #: Whether a target is needed.
    _supervised: ClassVar[bool] = True
    #: Whether fewer components are the first of more.
    _nested: ClassVar[bool] = True
    #: Why there may be fewer features than requested.
    _why_fewer: ClassVar[str] = "no other direction varies by more than rounding errors"
    #: Whether sums over rows that are read a chunk at a time are all that ``_extract`` needs.
    _streams: ClassVar[bool] = False
    _n_features_out: int
    _projection: Projection

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features), or objects
            With ``kernel="precomputed"`` the kernel matrix of shape (n_samples, n_samples). Methods
            that are sums over rows also take a Dask collection and the result of
            :func:`depmax.scan`.
        y : target of any type
            For a Dask collection, another one; a scan has its own.

        Returns
        -------
        self
        """
        self._learn(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Find the directions and return the features of the training rows.

        Parameters
        ----------
        X, y : as in ``fit``

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        fitted = self._learn(X, y)
        return fitted.features if fitted.complete else self._apply(X)

    def __sklearn_tags__(self) -> Any:
        """Any target; inputs as the kernel reads them."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._supervised
        tags.target_tags.one_d_labels = self._supervised
        tags.target_tags.two_d_labels = self._supervised
        tags.target_tags.multi_output = self._supervised
        return tags

    # --- what a subclass implements --------------------------------------------------------------
    def _extract(self, space: Space, target: Any, n_components: int) -> Directions:
        """Directions in the coordinates of ``space``; at most ``n_components``, at least one.

        The directions of fewer components must be the first of those of more, or ``_nested`` must
        be False. ``target`` is what ``_prepare`` made: the ``Sample`` of the target, or None.
        """
        raise NotImplementedError

    def _span(self, gram: Gram, target: Any, n_components: int) -> Basis | None:
        """Basis of the part of the samples' span that holds the directions; None: all of it.

        Called only if a kernel matrix is large, to avoid an eigenproblem of its size, and only for
        methods that may need less (``_grows``).
        """
        return None

    def _grows(self) -> bool:
        """Whether ``_span`` may find that a part of the samples' span is enough."""
        return False

    def _pairs_held(self, side: Sample) -> float:
        """Values of pairs of rows that a fit holds at its peak, counted in float64."""
        return pairs_held(side, whole_span=not self._grows())

    def _read_target(self, y: Any, mass: np.ndarray | None = None) -> Any:
        """The target as this method sees it: by default as ``target_kernel`` does."""
        return read_target_sample(y, self.target_kernel, mass=mass)

    def _prepare(self, side: Sample, labels: Labels | None) -> Any:
        """What ``_extract`` and ``_span`` learn about the target."""
        return None if labels is None else labels.side

    def _read_labels(self, y: Any, mass: np.ndarray | None = None) -> Labels | None:
        """The target, and which rows have one."""
        return Labels(self._read_target(y, mass)) if self._supervised else None

    def _read_answers(self, y: Any) -> Target:
        """The target that ``n_components="auto"`` predicts."""
        return read_target(y)

    def _uses_unlabeled(self) -> bool:
        """Whether rows without a label stay among the training rows."""
        return False

    def _carriers(self, side: Sample, target: Any) -> int:
        """Number of components that may carry dependence, of which a share may be asked for."""
        return most_possible(side)

    def _leaves_the_span(self) -> bool:
        """Whether directions on which all samples are equal may be among those sought."""
        return False

    def _component_count(self) -> ComponentCount:
        """How many components were asked for."""
        return read_component_count(self.n_components, type(self).__name__)

    def _ignores_units(self, side: Sample, target: Any, n_components: int) -> bool:
        """Whether multiplying a column of X by a number changes none of this many features."""
        return False

    def _check_parameters(self) -> None:
        """Refuse parameters that contradict each other; allowed values of each are declared."""

    # --- what it inherits ------------------------------------------------------------------------
    def _learn(
        self,
        X: Any,
        y: Any,
        requested: ComponentCount | None = None,
        weighed: Weighed | None = None,
    ) -> Fitted:
        """Fit, with another number of components than ``n_components`` if one is given."""
        check_parameters(self)
        self._check_parameters()
        self._forget()
        by_user, requested = requested is None, requested or self._component_count()
        X, y = self._aligned(X, y)
        labels = self._read_labels(y, None if weighed is None else weighed.mass)
        training = read_training(self, X, self.kernel)
        require_varying(training.rows)
        training = training if weighed is None else weighed.counted(training)
        if labels is not None:
            require_equal_length(training.n_samples, labels.n_rows)
            if by_user and not self._uses_unlabeled():  # once, not for every fit to folds
                warn_of_unlabeled(labels.n_unlabeled, labels.n_rows, type(self).__name__, 3)
            self.target_kernel_ = labels.side.kernel
        side, labels, complete = self._side(training, labels)
        require_coordinates(side, type(self).__name__)
        self._keep_kernel(side)
        self._require_memory(side)
        target = self._prepare(side, labels)
        count = requested.count(
            Possible(
                type(self).__name__,
                side,
                lambda: self._carriers(side, target),
                lambda: self._choose_count(X, y, side),
                beyond_rows=self._leaves_the_span(),
            )
        )
        if not self._ignores_units(side, target, count):
            warn_of_units(self, training)
        grow = partial(self._span, target=target, n_components=count) if self._grows() else None
        coordinates = coordinates_of(side, grow, n_beyond=count if self._leaves_the_span() else 0)
        space = coordinates.space
        with small_problems(space.dimension <= FEW):
            found = self._find(coordinates, side, target, count, exact=requested.is_exact)
            found = found.first(requested.kept(found.dependence))
            directions = self._keep(coordinates, found)
        return Fitted(lambda: space.features(directions), training.dtype, complete)

    def _aligned(self, X: Any, y: Any) -> tuple[Any, Any]:
        """X and y, of one surveyed table where they are read a chunk at a time."""
        if not self._streams and reads_chunks(X) and not is_streamed(X):
            return X.block(slice(0, X.shape[0])), y  # all rows of a source of the user's own
        why = self._why_not_streamed() if reads_chunks(X) else None
        if why is not None:
            raise TypeError(
                f"{type(self).__name__} does not take a table that is read a chunk at a time: "
                f"{why}."
            )
        return aligned(X, y, supervised=self._supervised)

    def _why_not_streamed(self) -> str | None:
        """Why rows must be in memory, and what to do instead; None if they need not be."""
        if not self._streams:
            return (
                "it needs all rows in memory. Pass rows that fit, such as a random part of them, "
                "or use HBFE, HSCA, KernelPLS, KernelLDA, SIR, PHD, LinearRegressionFeature, SMA, "
                "SMC or ICAFX"
            )
        if isinstance(self.n_components, str):
            return (
                "n_components='auto' compares fits to parts of the rows. Give a number, or a share"
            )
        return None

    def _side(self, training: Sample, labels: Labels | None) -> tuple[Sample, Labels | None, bool]:
        """Training rows with the kernel resolved on them; whether these are all rows."""
        known, complete = None, not training.is_streamed
        if labels is not None and labels.labelled is not None:
            known = np.flatnonzero(labels.labelled)
            if not self._uses_unlabeled():
                training, known, complete = training.take(known), None, False
                labels = Labels(labels.side)
        choose = None if labels is None else partial(most_dependent, labels.side, known=known)
        side = training.resolved(choose)
        return side if stays_single(side) else side.in_double(), labels, complete

    def _find(
        self, coordinates: Coordinates, side: Sample, target: Any, count: int, *, exact: bool
    ) -> Directions:
        """Directions; fewer than ``count`` where no other makes features beyond rounding errors."""
        space, nothing = coordinates.space, Directions(np.empty((0, 0)), np.empty(0))
        with warnings.catch_warnings():
            if not exact:  # fewer are expected where no number was requested
                warnings.simplefilter("ignore", ConvergenceWarning)
            most = min(count, space.dimension)
            found = self._extract(space, target, most) if most else nothing
        if found.count == 0:
            raise ValueError(
                f"All rows of X are equal (n_samples = {space.n_samples}): nothing can depend on "
                "them."
            )
        in_products = is_linear(self) or side.is_streamed or stays_single(side)
        if not (in_products or self._leaves_the_span()):
            features = space.features(found.vectors)
            projection = coordinates.project(found.vectors)
            found = found.first(max(1, n_repeated(projection, side, features)))
        if exact and found.count < count:
            warnings.warn(
                f"{type(self).__name__} found {found.count} of n_components={count} features: "
                f"{self._why_fewer}.",
                ConvergenceWarning,
                stacklevel=4,  # where fit is called
            )
        return found

    def _choose_count(self, X: Any, y: Any, side: Sample) -> int:
        """Number of components for ``n_components="auto"``."""
        return predicted_count(self, X, y, side)

    def _keep(self, coordinates: Coordinates, found: Directions) -> np.ndarray:
        """Remember the projection, signs decided; the directions with these signs."""
        projection = coordinates.project(found.vectors)
        turns = self._turns(coordinates, found.vectors, projection)
        directions: np.ndarray = found.vectors * turns
        self._projection = projection.times(turns)
        self.dependence_ = found.dependence
        self._n_features_out = self.n_components_ = directions.shape[1]
        if is_linear(self):
            self.components_ = self._projection.weights.T
            of_features = cast(FeatureCoordinates, coordinates)
            pulled = of_features.covariances(directions)
            self.loadings_ = loadings_of(pulled, self._projection.weights).T
            self.mean_ = of_features.mean
            self.coordinate_names_ = coordinate_names(self)
        return directions

    def _turns(
        self, coordinates: Coordinates, vectors: np.ndarray, projection: Projection
    ) -> np.ndarray:
        """Signs with which features are larger, on average, far from the mean than near it.

        That is a property of features, not of the coordinates in which they were found. Where
        there is no difference, the first of the largest weights is positive, or without features
        of the kernel the first of the largest values.
        """
        space = coordinates.space
        leaning = self._leaning(coordinates, vectors, projection)
        size = np.sqrt(np.square(vectors).sum(axis=0) * space.variance**3 / space.total)
        own = projection.weights if self.kernel_.has_features else space.features(vectors)
        is_even = np.abs(leaning) <= EVEN * size
        return np.where(is_even, signs(own), np.where(leaning < 0, -1.0, 1.0))

    def _leaning(
        self, coordinates: Coordinates, vectors: np.ndarray, projection: Projection
    ) -> np.ndarray:
        """Σ ‖φ‖²f of each feature f, of shape (k,)."""
        return coordinates.lean @ vectors

    def _keep_kernel(self, sample: Sample) -> None:
        super()._keep_kernel(sample)
        self._n_training, self._mass = sample.n_samples, sample.mass

    def _map(self, rows: Any) -> np.ndarray:
        return self._projection(rows)

    def _width(self) -> int:
        return self._projection.width


class WeightedExtractor(DependenceExtractor):
    """Base of the extractors that are sums over rows, to which a row may contribute many times."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features), or objects
            With ``kernel="precomputed"`` the kernel matrix of shape (n_samples, n_samples). Methods
            that are sums over rows also take a Dask collection and the result of
            :func:`depmax.scan`.
        y : target of any type
            For a Dask collection, another one; a scan has its own.
        sample_weight : array-like of shape (n_samples,), optional
            How many rows each row stands for: a weight of 3 counts the row three times, a weight of
            0 ignores it. Only for rows in memory, and with a number (or share) of components.

        Returns
        -------
        self
        """
        self._learn(*self._weighed(X, y, sample_weight))
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Find the directions and return the features of the training rows.

        Parameters
        ----------
        X, y, sample_weight : as in ``fit``

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Features of all rows passed, whatever their weights.
        """
        fitted = self._learn(*self._weighed(X, y, sample_weight))
        complete = fitted.complete and sample_weight is None  # else rows may have been left out
        return fitted.features if complete else self._apply(X)

    def _weighed(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, Any, ComponentCount | None, Weighed | None]:
        """What ``_learn`` takes: of X and y the rows that have a positive weight, and these.

        A kernel matrix keeps its rows, since new rows will be compared with all of them.
        """
        self.__dict__.pop("_batches", None)  # of earlier calls of partial_fit
        if sample_weight is None:
            return X, y, None, None
        if isinstance(self.n_components, str):
            raise ValueError(
                f"n_components={self.n_components!r} of {type(self).__name__} compares fits to "
                "parts of the rows and does not take sample_weight: give a number, or a share."
            )
        weighed = weigh(sample_weight, X, y)
        rows = X if is_precomputed(self.kernel) else weighed.of(X)
        return rows, weighed.of(y, getattr(self, "target_kernel", None)), None, weighed
