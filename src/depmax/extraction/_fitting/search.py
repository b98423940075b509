"""What a search for directions is given and returns: the target, a count, and what was found."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from depmax._resources import cached_property
from depmax.algebra.deflation import Examples, OrthogonalFeatures, images_of, roots_of
from depmax.algebra.directions import Directions
from depmax.algebra.space import Projection, SampleProjection, Space
from depmax.algebra.targets import square_of, target_factor
from depmax.data.sample import Labels, Sample
from depmax.maps.feature_map import is_linear, loadings_of, signs

if TYPE_CHECKING:
    from depmax.extraction._fitting.coded_target import CodedTarget

#: The limit of methods all of whose components may carry dependence.
EVERY = sys.maxsize
#: Features of the first run for a share of the variance; later runs are twice as long.
FIRST_RUN = 8
#: Why methods that deflate find fewer features than requested, or none.
FEWER = "none of the rest depends on the target by its criterion, beyond rounding errors"
NONE = (
    "{name} found no feature that depends on the target: X is constant, or uncorrelated with y "
    "under this kernel."
)
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


def deflated(
    model: Any,
    data: Sample,
    answer: Answer | None,
    projection: Projection,
    features: np.ndarray | Callable[[], np.ndarray],
    **known: Any,
) -> Found:
    """Orthogonal features, with their dependence on the target and what they explain of it.

    Parameters
    ----------
    model : DependenceExtractor
    data : Sample
    answer : Answer or None
        With a coded target.
    projection : Projection
    features : ndarray of shape (m, k)
        T; or what makes it, if ``squares``, ``with_target`` and ``pull`` are known.
    **known : fields of Found
    """
    center = bool(getattr(model, "center", True))
    coded = None if answer is None else answer.coded
    supervised = coded is not None and model._supervised
    values: Any = None if coded is None else coded.seen(center)
    make = (lambda: features) if isinstance(features, np.ndarray) else features
    if isinstance(features, np.ndarray):
        weights = np.ones(len(features)) if data.weight is None else data.weight
        known.setdefault("squares", weights @ np.square(features))
        known.setdefault("pull", lambda: _pulled(data, features, center))
        if values is not None:
            known.setdefault("with_target", (values * weights[:, np.newaxis]).T @ features)

    def of_inputs(features: np.ndarray) -> tuple[np.ndarray, float]:
        """‖Φᵀτ_j‖² of every feature, and Σ‖φ‖²."""
        images = images_of(data, center=center)
        return np.diagonal(images.inner(images.pull(features))), images.variance

    def explained(found: Found) -> np.ndarray:
        """Shares of the target's variance; without a target, of that of the inputs."""
        assert found.squares is not None
        if not supervised:
            own, total = of_inputs(found.features)
            return own / found.squares / total
        assert coded is not None
        assert found.with_target is not None
        shares = np.square(found.with_target).sum(axis=0) / found.squares
        return np.asarray(shares / square_of(values, coded.weight))

    pulled = known.get("with_target")
    reached = of_inputs(make())[0] if pulled is None else np.square(pulled).sum(axis=0)
    known.setdefault("explained", explained)
    dependence = reached / float(data.total - 1) ** 2
    found = Found(projection, dependence, make, turns=np.ones(len(reached)), **known)
    if found.count == 0:
        return found
    if isinstance(features, np.ndarray):
        found = found.repeated(data)
    known_by = found.with_target if supervised else found.projection.weights
    assert known_by is not None
    return found.turned(signs(known_by))


def of_examples(
    model: Any,
    data: Sample,
    answer: Answer,
    examples: Examples,
    indices: np.ndarray,
    weights: np.ndarray,
    found: OrthogonalFeatures,
) -> Found:
    """Features along directions with weights of a few samples."""
    weights, offset = found.conjugate(weights)
    projection = examples.project(indices, weights, offset)
    features = found.features / roots_of(data)
    return deflated(model, data, answer, projection, features, basis=(indices, weights))


def _pulled(data: Sample, features: np.ndarray, center: bool) -> tuple[np.ndarray, np.ndarray]:
    """ΦᵀT and the mean, in the features of the kernel."""
    space = Space.held(data, center=center)
    return space.cross(features), space.mean
