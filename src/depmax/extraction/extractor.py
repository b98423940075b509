"""What all extractors share: one fit, from data to a projection and fitted attributes.

``_find`` is given an ``Answer``, the target, and returns a ``Found``; ``ComponentCount`` says how
many components there are to be.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from depmax._extras import make_frame
from depmax._parameters import check_parameters
from depmax._resources import cached_property, one_thread_for_few_rows
from depmax._warnings import warn_caller
from depmax.algebra.row_sums import target_factor
from depmax.algebra.space import Directions, Projection, SampleProjection, Space
from depmax.algebra.span import pairs_held
from depmax.data import read_target
from depmax.data.sample import (
    Labels,
    Sample,
    aligned,
    read_target_sample,
    read_training,
    require_coordinates,
    warn_of_units,
    warn_of_unlabeled,
)
from depmax.data.table import is_streamed, require_equal_length, require_varying
from depmax.data.weights import Weighed, weigh
from depmax.dependence.resolve import most_dependent
from depmax.extraction._fitting.batches import has_batches, partial_fit
from depmax.extraction._fitting.reconstruction import (
    has_preimages,
    inverse_transform,
    reconstruction_error,
)
from depmax.kernels import KernelLike
from depmax.kernels.kernel import is_precomputed
from depmax.maps.feature_map import (
    KernelTransformer,
    coordinate_names,
    is_linear,
    loadings_of,
    signs,
)

if TYPE_CHECKING:
    from depmax.extraction._fitting.prediction import CodedTarget

#: Rows up to which a fit keeps to one thread.
SMALL_ROWS = 1000


#: The limit of methods all of whose components may carry dependence.
EVERY = sys.maxsize
#: Rounding error of a share.
ROUNDING = 1e-12
#: Rows whose features are made twice, and the difference, relative to the largest, that is allowed.
PROBE_ROWS, REPEATED = 256, 1e-6
#: Skewness of a feature, relative to its largest possible value, below which it is symmetric.
EVEN = 1e-8


@dataclass(frozen=True)
class Answer:
    """The target of the labelled rows, with its kernel resolved."""

    sample: Sample
    labelled: np.ndarray | None = None  # which rows of X these are, shape (n_rows,); None: all
    n_skipped: int = 0  # rows without a label that a stream does not visit
    #: Largest number of components that carry dependence; None: as many as Ψ has columns.
    limit: int | None = None
    coded: CodedTarget | None = None  # as numbers, for methods that regress it
    more: Any = None  # what a reader wants its method to know

    @classmethod
    def of(cls, labels: Labels, **more: Any) -> Answer:
        """An answer from labels."""
        return cls(labels.sample, labels.labelled, labels.n_skipped, **more)

    @property
    def n_rows(self) -> int:
        """Number of rows, labelled or not, that are visited."""
        return self.sample.n_samples if self.labelled is None else len(self.labelled)

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a label."""
        return self.n_rows - self.sample.n_samples + self.n_skipped

    @cached_property
    def factor(self) -> Any:
        """Ψ with ΨΨᵀ = HLH, of the labelled rows: an array, or what makes it part by part."""
        return target_factor(self.sample)

    @property
    def carriers(self) -> int:
        """Number of components that may carry dependence."""
        return int(self.factor.shape[1]) if self.limit is None else self.limit

    @property
    def numbers(self) -> CodedTarget:
        """The target as numbers, of methods that have read it so."""
        assert self.coded is not None
        return self.coded


# --- how many components --------------------------------------------------------------------------
@dataclass(frozen=True)
class ComponentCount:
    """How many components to find, and how many of those found to keep."""

    number: int | None = None  # so many; None: as many as there are
    is_exact: bool = False  # whether fewer are an error or a warning
    share: float | None = None  # of the dependence, or of the variance that features explain
    predicts: bool = False  # as many as predict about as well as the best number does

    @classmethod
    def of(cls, model: Any) -> ComponentCount:
        """What ``n_components`` of an extractor asks for."""
        value = model.n_components
        if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1:
            return cls(int(value), is_exact=True)
        if isinstance(value, Real) and not isinstance(value, Integral) and 0 < float(value) <= 1:
            return cls(share=float(value))
        if isinstance(value, str) and value == "auto":
            return cls(predicts=True)
        raise ValueError(
            f"n_components of {type(model).__name__} must be an integer >= 1, a share of the "
            f"dependence (a float up to 1.0) or 'auto', got {value!r}."
        )

    def count(self, model: Any, data: Sample, answer: Answer | None) -> int:
        """Number of components to find, unless predictions decide."""
        most = most_possible(data)
        if self.is_exact:
            assert self.number is not None
            if model._orthogonal:
                require_possible(data, self.number, type(model).__name__)
            return self.number
        if self.share is not None:  # all that may carry it, or the first of several runs
            carriers = model._first_run or (most if answer is None else answer.carriers)
            return int(max(1, min(carriers, most)))
        return most if self.number is None else min(self.number, most)

    def kept(self, shares: np.ndarray) -> int:
        """Number of components to keep, given what each reaches: the fewest that reach the share.

        Examples
        --------
        >>> ComponentCount(share=0.8).kept(np.array([5.0, 3.0, 1.0, 1.0]))
        2
        """
        if self.share is None:
            return len(shares)
        reached = np.cumsum(np.maximum(shares, 0.0))
        return int(np.argmax(reached >= (self.share - ROUNDING) * reached[-1])) + 1

    def is_reached(self, share: float) -> bool:
        """Whether components that reach this share are enough."""
        return self.share is None or share >= self.share - ROUNDING


def most_possible(data: Sample) -> int:
    """Largest number of components that rows with a kernel can have."""
    width = data.n_coordinates
    return int(data.total) if width is None else min(width, int(data.total))


def require_possible(data: Sample, count: int, owner: str) -> None:
    """Refuse more components than rows or columns."""
    if count > data.total:
        raise ValueError(
            f"n_components={count} of {owner} is more than the number of training rows, "
            f"n_samples = {data.total:g}."
        )
    width = data.n_coordinates
    if width is not None and count > width:
        linear = data.kernel.capabilities.is_linear
        what = (
            "columns, n_features" if linear else "coordinates of its map or kernel, n_coordinates"
        )
        raise ValueError(
            f"n_components={count} of {owner} is more than the number of {what} = {width}."
        )


# --- what was found -------------------------------------------------------------------------------
@dataclass(frozen=True)
class Found:
    """Directions, in order; every field that has a column or an entry of each is cut and turned."""

    projection: Projection  # features of new rows
    dependence: np.ndarray  # on the target, shape (k,)
    make_features: Callable[[], np.ndarray]  # of the training rows, before turns, shape (m, ≥ k)
    #: ΦᵀT before turns, of shape (D, ≥ k), and the mean of Φ, for kernels with coordinates.
    pull: Callable[[], tuple[np.ndarray, np.ndarray]]
    turns: np.ndarray  # what columns of ``make_features`` are multiplied by, shape (k,)
    #: ‖τ_j‖² of orthogonal features, shape (k,); None: others.
    squares: np.ndarray | None = None
    with_target: np.ndarray | None = None  # YᵀT, shape (r, k), where features regress the target
    #: Share of the target's variance that each feature explains; None: shares are of dependence.
    explained: Callable[[Found], np.ndarray] | None = None
    #: The few training rows that directions are made of, and their weights, shape (b, k).
    basis: tuple[np.ndarray, np.ndarray] | None = None
    unit_free: bool = False  # whether the units of columns do not matter
    more: Any = None  # what a method wants to remember

    @property
    def count(self) -> int:
        """Number of features k."""
        return len(self.dependence)

    @property
    def features(self) -> np.ndarray:
        """T of the training rows, of shape (m, k)."""
        made = self.make_features()
        if made.shape[1] != self.count:
            made = made[:, : self.count]
        return made if (self.turns == 1.0).all() else made * self.turns

    @property
    def loadings(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of every column on the features, of shape (k, D), and the mean, (D,)."""
        pulled, mean = self.pull()
        pulled = pulled[:, : self.count] * self.turns
        if self.squares is not None:
            return (pulled / self.squares).T, mean
        return loadings_of(pulled, self.projection.weights).T, mean

    def first(self, count: int) -> Found:
        """The first features: those that a shorter search finds."""
        if count >= self.count:
            return self
        projection, basis = self.projection.first(count), self.basis
        if basis is not None:
            used = np.asarray(basis[1][:, :count].any(axis=1))
            basis = basis[0][used], basis[1][used, :count]
            if isinstance(projection, SampleProjection):
                projection = projection.of_rows(used)
        return replace(
            self,
            projection=projection,
            basis=basis,
            dependence=self.dependence[:count],
            turns=self.turns[:count],
            squares=None if self.squares is None else self.squares[:count],
            with_target=None if self.with_target is None else self.with_target[:, :count],
        )

    def turned(self, factors: np.ndarray) -> Found:
        """Every feature multiplied by a number."""
        if (factors == 1.0).all():
            return self
        return replace(
            self,
            projection=self.projection.times(factors),
            turns=self.turns * factors,
            squares=None if self.squares is None else self.squares * factors**2,
            with_target=None if self.with_target is None else self.with_target * factors,
        )

    def repeated(self, data: Sample) -> Found:
        """The first features that the projection makes of the training rows once more.

        Those of a direction that is spanned by earlier ones up to rounding errors, or of no
        variance, have weights that blow rounding errors up.
        """
        probe = np.unique(np.linspace(0, data.n_samples - 1, PROBE_ROWS).astype(np.intp))
        rows = data.kernel.matrix[data.rows[probe]] if data.precomputed else data.rows[probe]
        features = self.features
        error = np.abs(self.projection(rows) - features[probe]).max(axis=0)
        differs = ~(error <= REPEATED * np.abs(features).max(axis=0))
        return self.first(max(1, int(differs.argmax()))) if differs.any() else self


def along(model: Any, space: Space, directions: Directions, **more: Any) -> Found:
    """Features along directions in some coordinates.

    Their signs are such that features are larger, on average, far from the mean than near it: a
    direction has the same sign in every basis of the feature space, and in every order of rows.
    Features that are symmetric about their mean have a largest weight, or value, that is positive.
    """
    vectors, data = directions.vectors, space.data
    assert data is not None
    projection = space.project(vectors)
    found = Found(
        projection,
        directions.dependence,
        lambda: space.features(vectors),
        lambda: space.pull(vectors),
        np.ones(directions.count),
        **more,
    )
    if not (is_linear(model) or data.is_streamed) and found.count:
        found = found.repeated(data)
        vectors, projection = vectors[:, : found.count], found.projection
    lean = model._lean
    leaning = space.lean @ vectors if lean is None else lean @ projection.weights
    size = np.sqrt(np.square(vectors).sum(axis=0) * space.variance**3 / space.total)
    own = projection.weights if model.kernel_.has_features else space.features(vectors)
    is_even = np.abs(leaning) <= EVEN * size
    return found.turned(np.where(is_even, signs(own), np.where(leaning < 0, -1.0, 1.0)))


class DependenceExtractor(KernelTransformer):
    """Base of the extractors: a subclass implements ``_find``.

    A subclass stores ``n_components`` and, if it offers them, ``kernel``, ``target_kernel``,
    ``estimator`` and ``scoring``; otherwise these are the class attributes below. ``fit`` reads X
    as the kernel needs it (arrays, memory maps, sparse matrices, frames with categorical columns,
    objects, tables that are read a chunk at a time, or with ``kernel="precomputed"`` the kernel
    matrix itself), reads the target, resolves the kernels, determines the number of components (an
    int, a float share of the dependence, or ``"auto"``), calls ``_find``, and keeps what it found.

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
    cv_errors_ : ndarray of shape (n_counts,)
        Error of the predictions of held-out rows from 1, 2, … features: root mean square, or share
        of wrong labels; with ``n_components="auto"`` and a target.
    cv_choices_ : dict of str to int
        Number of features by ``"least error"``, ``"one standard error"`` and ``"randomisation"``,
        as in :class:`KernelPLS`; with ``n_components="auto"`` and a target.
    kernel_, target_kernel_ : Kernel
        With every recipe replaced by numbers.
    """

    n_components: Any
    kernel: KernelLike = "linear"
    target_kernel: Any = "auto"
    #: What predicts the target from features, and how it is scored, for ``n_components="auto"``.
    estimator: Any = None
    scoring: Any = None
    #: Whether a target is needed.
    _supervised: ClassVar[bool] = True
    #: Whether rows have one label each.
    _one_label: ClassVar[bool] = False
    #: What the method is to scikit-learn beside a transformer; for a regressor, labels that are
    #: whole numbers are numbers.
    _predicts: ClassVar[Literal["regressor", "classifier"] | None] = None
    #: Whether fewer components are the first of more.
    _nested: ClassVar[bool] = True
    #: Whether features are orthogonal, so that there are no more than rows and columns.
    _orthogonal: ClassVar[bool] = True
    #: Whether rows without a label stay among the training rows.
    _uses_unlabeled: ClassVar[bool] = False
    #: Whether the method finds out by itself how many components there are.
    _decides_itself: ClassVar[bool] = False
    #: Components of the first run, for a share of the variance; None: all that carry dependence.
    _first_run: ClassVar[int | None] = None
    #: Whether ``n_components="auto"`` compares the method's own predictions.
    _predicts_itself: ClassVar[bool] = False
    #: How ``n_components="auto"`` reads the target that it predicts.
    _target_rules: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    #: Why there may be fewer features than requested, or none.
    _why_fewer: ClassVar[str] = "no other direction varies by more than rounding errors"
    _why_none: ClassVar[str] = (
        "All rows of X are equal (n_samples = {n_samples}): nothing can depend on them."
    )
    #: Whether sums over rows that are read a chunk at a time are all that ``_find`` needs.
    _streams: ClassVar[bool] = False
    #: Why, with these parameters, they are not, and what to do; None if they are.
    _why_not_streamed: ClassVar[str | None] = None
    #: Whether rows that are read a chunk at a time need a kernel with coordinates.
    _needs_coordinates: ClassVar[bool] = True
    #: Whether ``_find`` refuses NaN and infinity, which sums over the rows show.
    _sums_show_gaps: ClassVar[bool] = False
    _own_count: Callable[[Any, Any, Sample], int]
    _n_features_out: int
    _projection: Projection
    _n_training: int  # number of training rows
    _weight: np.ndarray | None  # how many rows each of them stands for; None: one
    #: Σ ‖x‖²x of all rows about their mean, where ``_find`` sees others with the same sums.
    _lean: np.ndarray | None = None

    # --- what a subclass implements --------------------------------------------------------------

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        """At most ``count`` directions; those of fewer are the first, or ``_nested`` is False.

        ``data`` are the training rows with their kernel resolved, ``answer`` is what
        ``_read_answer`` has made of the target: None for methods that have none.
        """
        raise NotImplementedError

    def _read_answer(self, y: Any, weight: np.ndarray | None) -> Answer | None:
        """The target as this method sees it: by default as ``target_kernel`` does."""
        if not self._supervised:
            return None
        return Answer(read_target_sample(y, self.target_kernel, weight=weight))

    def _pairs_held(self, data: Sample) -> float:
        """Values of pairs of rows that a fit holds at its peak, counted in float64."""
        return pairs_held(data, whole_span=True)

    def _keep_more(self, found: Found, answer: Answer) -> None:
        """Remember what this method offers beside the features."""

    def _check_parameters(self) -> None:
        """Refuse parameters that contradict each other; allowed values of each are declared."""

    # --- what users call -------------------------------------------------------------------------

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
        self._fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Find the directions and return the features of the training rows.

        Parameters
        ----------
        X, y, **fit_params : as in ``fit``

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        if fit_params:
            self.fit(X, y, **fit_params)
            return self._apply(X)
        features = self._fit(X, y)
        return self._apply(X) if features is None else features()

    reconstruction_error = reconstruction_error
    inverse_transform = available_if(has_preimages)(inverse_transform)

    @available_if(is_linear)
    def to_frame(self, library: str | None = None) -> Any:
        """Data frame with one row per column of X: weight and loading in every component.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            By default the first of these that is installed.
        """
        check_is_fitted(self)
        columns: dict[str, Any] = {"column": list(self.coordinate_names_)}
        for name, weights, loading in zip(
            self.get_feature_names_out(), self.components_, self.loadings_, strict=True
        ):
            columns[f"{name}_weight"] = weights
            columns[f"{name}_loading"] = loading
        return make_frame(columns, library)

    def __sklearn_tags__(self) -> Any:
        """Any target, or the one that this method predicts; inputs as the kernel reads them."""
        tags = super().__sklearn_tags__()
        tags.estimator_type, several = self._predicts, self._supervised and not self._one_label
        tags.target_tags.required = tags.target_tags.one_d_labels = self._supervised
        tags.target_tags.two_d_labels = several
        tags.target_tags.multi_output = several and self._predicts != "classifier"
        if self._predicts == "regressor":
            tags.regressor_tags = RegressorTags()
        elif self._predicts == "classifier":
            tags.classifier_tags = ClassifierTags(multi_label=several)
        return tags

    # --- how a fit goes --------------------------------------------------------------------------

    @one_thread_for_few_rows(SMALL_ROWS)
    def _fit(
        self,
        X: Any,
        y: Any,
        requested: ComponentCount | None = None,
        weighed: Weighed | None = None,
    ) -> Callable[[], np.ndarray] | None:
        """Fit, with another number of components than ``n_components`` if one is given.

        Returns what makes the features of all rows of X, in its precision; None: not at hand.
        """
        check_parameters(self)
        self._check_parameters()
        self._forget()
        self.__dict__.pop("_batches", None)  # sums of earlier calls of partial_fit
        name, by_user = type(self).__name__, requested is None
        if requested is None:  # a method that decides by itself is asked for all there are
            requested = ComponentCount() if self._decides_itself else ComponentCount.of(self)
        X, y = self._aligned(X, y)
        answer: Any = self._read_answer(y, None if weighed is None else weighed.weight)
        training = read_training(self, X, self.kernel, check_finite=not self._sums_show_gaps)
        require_varying(training.rows)
        training = training if weighed is None else weighed.counted(training)
        if answer is not None:
            require_equal_length(training.n_samples, answer.n_rows)
            if by_user and not self._uses_unlabeled:  # once, not for every fit to folds
                warn_of_unlabeled(answer.n_unlabeled, answer.n_rows, name)
            if answer.coded is None:
                self.target_kernel_ = answer.sample.kernel
        complete, known = not training.is_streamed, None
        if answer is not None and answer.labelled is not None:
            known = np.flatnonzero(answer.labelled)
            if not self._uses_unlabeled:
                training, known, complete = training.take(known), None, False
                answer = replace(answer, labelled=None)
        choose = None if answer is None else partial(most_dependent, answer.sample, known=known)
        data = training.resolved(choose).in_double()
        if self._needs_coordinates:
            require_coordinates(data, name)
        self._keep_kernel(data)
        self._require_memory(data)
        found = self._search(X, y, data, answer, requested)
        if not found.unit_free:
            warn_of_units(self, training)
        self._keep(found)
        self._keep_more(found, answer)
        return partial(_made, found, training.dtype) if complete else None

    def _search(
        self, X: Any, y: Any, data: Sample, answer: Any, requested: ComponentCount
    ) -> Found:
        """As many features as requested; for a share of variance, in runs of twice the length."""
        name = type(self).__name__
        most = most_possible(data)
        if requested.predicts:
            from depmax.extraction._fitting.number_of_components import by_neighbors

            choose = self._own_count if self._predicts_itself else partial(by_neighbors, self)
            count = min(choose(X, y, data), most)
        else:
            count = requested.count(self, data, answer)
        while True:
            with warnings.catch_warnings():
                if not requested.is_exact:  # fewer are expected where no number was requested
                    warnings.simplefilter("ignore", ConvergenceWarning)
                found = self._find(data, answer, count)
            if found.count == 0:
                raise ValueError(self._why_none.format(name=name, n_samples=data.n_samples))
            shares = found.dependence if found.explained is None else found.explained(found)
            enough = found.explained is None or requested.is_reached(float(shares.sum()))
            if enough or found.count < count or count >= most:
                break
            count = min(2 * count, most)
        if requested.is_exact and found.count < count:
            warn_caller(
                f"{name} found {found.count} of n_components={count} features: {self._why_fewer}.",
                ConvergenceWarning,
            )
        if not enough:
            warn_caller(
                f"{name} keeps all {found.count} available features: they explain "
                f"{shares.sum():.3g} of the variance of the "
                f"{'target' if self._supervised else 'inputs'}, less than "
                f"n_components={self.n_components!r}.",
                ConvergenceWarning,
            )
        if found.explained is not None:  # what no feature explains counts too
            shares = np.append(shares, max(1.0 - float(shares.sum()), 0.0))
        return found.first(min(requested.kept(shares), found.count))

    def _keep(self, found: Found) -> None:
        """The fitted attributes that all extractors have."""
        projection = found.projection
        if found.basis is not None:
            self.basis_indices_ = found.basis[0]
        if is_linear(self):
            projection = projection.in_features()
            self.components_ = projection.weights.T
            self.loadings_, self.mean_ = found.loadings
            self.coordinate_names_ = coordinate_names(self)
        self._projection = projection
        self.dependence_ = found.dependence
        self._n_features_out = self.n_components_ = found.count

    def _aligned(self, X: Any, y: Any) -> tuple[Any, Any]:
        """X and y, of one surveyed table where they are read a chunk at a time."""
        if is_streamed(X):
            why = self._why_not_streamed
            if not self._streams:
                why = (
                    "it needs all rows in memory. Pass rows that fit, such as a random part of "
                    "them, or use HBFE, HSCA, KernelPLS, KernelLDA, SIR, PHD, "
                    "LinearRegressionFeature, SMA, SMC or ICAFX"
                )
            elif why is None and self.n_components == "auto":
                why = (
                    "n_components='auto' compares fits to parts of the rows. Give a number, or a "
                    "share"
                )
            if why is not None:
                raise TypeError(
                    f"{type(self).__name__} does not take a table that is read a chunk at a time: "
                    f"{why}."
                )
        return aligned(X, y, supervised=self._supervised)

    def _keep_kernel(self, sample: Sample) -> None:
        super()._keep_kernel(sample)
        self._n_training, self._weight = sample.n_samples, sample.weight

    def _map(self, rows: Any) -> np.ndarray:
        return self._projection(rows)

    def _width(self) -> int:
        return self._projection.width


class SumsExtractor(DependenceExtractor):
    """Base of the extractors that are functions of sums over the rows, or over those of a class.

    A row may count many times, and rows may arrive in batches.
    """

    #: Whether rows may arrive in batches.
    _adds_up: ClassVar[bool] = True
    #: Why features are not a function of sums over the rows of a class; None: they are.
    _why_rows_do_not_add: ClassVar[str | None] = None
    #: Why features are not a function of sums over X and numbers; None: they are.
    _why_numbers_do_not_add: ClassVar[str | None] = None

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
        if sample_weight is None:
            self._fit(X, y)
            return self
        if isinstance(self.n_components, str):
            raise ValueError(
                f"n_components={self.n_components!r} of {type(self).__name__} compares fits to "
                "parts of the rows and does not take sample_weight: give a number, or a share."
            )
        weighed = weigh(sample_weight, X, y)
        # a kernel matrix keeps its rows, since new rows will be compared with all of them
        rows = X if is_precomputed(self.kernel) else weighed.of(X)
        self._fit(rows, weighed.of(y, getattr(self, "target_kernel", None)), weighed=weighed)
        return self

    partial_fit = available_if(has_batches)(partial_fit)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there are features: not as long as all rows of all batches have one class."""
        return hasattr(self, "_projection")

    def _batch_labels(self, y: Any) -> np.ndarray | None:
        """One label per row where the target has classes; None for numbers."""
        target = read_target(y, is_part=True)
        if target.kind != "classes":
            return None
        values = target.values
        is_number = self._predicts == "regressor" and values.dtype.kind in "iuf"
        if values.dtype.kind == "f":  # whole ones may be classes, but one alone tells nothing
            may_be_numbers = self._why_numbers_do_not_add is None
            is_number |= (values != np.rint(values)).any()
            is_number |= may_be_numbers and (values == values[0]).all()
        return None if is_number else values


def _made(found: Found, dtype: np.dtype) -> np.ndarray:
    """Features of the training rows, in the precision of X."""
    return found.features.astype(dtype, copy=False)
