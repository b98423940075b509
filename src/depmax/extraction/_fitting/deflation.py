"""What the deflation methods share: a coded target, orthogonal features, and how they end."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from depmax._parameters import check_parameters
from depmax._threads import chunk_rows, slices
from depmax.algebra.deflation.steps import OrthogonalFeatures
from depmax.algebra.examples import Examples
from depmax.algebra.form import square_of
from depmax.algebra.images import FeatureImages, Images, images_of
from depmax.algebra.projection import Fitted, Projection, n_repeated
from depmax.data.reading import read_training, require_coordinates, warn_of_units
from depmax.data.sample import Sample, require_equal_length
from depmax.data.scales import require_varying
from depmax.data.weights import Weighed
from depmax.dependence.resolve import most_dependent
from depmax.extraction._fitting.number_of_components import ComponentCount, Possible
from depmax.extraction._fitting.targets import CodedTarget, coded_target
from depmax.extraction.extractor import DependenceExtractor
from depmax.kernels import as_kernel
from depmax.maps.feature_map import coordinate_names, signs

#: Features of the first run for a share of the variance; later runs are twice as long.
FIRST_RUN = 8


@dataclass(frozen=True)
class Basis:
    """The samples that span the directions, and the weights by which features are made of them."""

    examples: Examples
    indices: np.ndarray  # shape (b,)
    weights: np.ndarray  # shape (b, k)
    offset: np.ndarray  # shape (k,)

    def first(self, count: int) -> Basis:
        """The samples that the first features need."""
        weights = self.weights[:, :count]
        used = weights.any(axis=1)
        return Basis(self.examples, self.indices[used], weights[used], self.offset[:count])

    @property
    def projection(self) -> Projection:
        """Features of new rows."""
        return self.examples.project(self.indices, self.weights, self.offset)


@dataclass(frozen=True)
class Extracted:
    """The projection that makes features, and those of the training rows."""

    projection: Projection
    made: np.ndarray | None = None  # T, shape (m, k); None where a subclass makes it on demand
    basis: Basis | None = None
    images: Images | None = None  # the samples, where the deflation loop has seen them through it
    mass: np.ndarray | None = None  # how many samples each stands for, shape (m,)

    @classmethod
    def of(cls, images: Images, directions: np.ndarray, found: OrthogonalFeatures) -> Extracted:
        """From the end of the deflation loop."""
        if found.count == 0:
            return cls(images.project(directions, np.zeros(0)), found.features)
        projection = images.project(found.conjugate(directions), found.offset)
        return cls(projection, found.features, images=images)

    @classmethod
    def of_examples(
        cls,
        examples: Examples,
        indices: np.ndarray,
        weights: np.ndarray,
        found: OrthogonalFeatures,
    ) -> Extracted:
        """From directions with weights of a few samples."""
        offset = np.zeros(0)
        if found.count:
            weights, offset = found.conjugate(weights), found.offset
        basis = Basis(examples, indices, weights, offset)
        return cls(basis.projection, found.features, basis=basis)

    @property
    def count(self) -> int:
        """Number of features k."""
        return int(self.projection.weights.shape[1])

    @property
    def features(self) -> np.ndarray:
        """T of shape (m, k)."""
        assert self.made is not None
        return self.made

    @property
    def squares(self) -> np.ndarray:
        """‖τ_j‖², of shape (k,)."""
        squares = np.square(self.features)
        return squares.sum(axis=0) if self.mass is None else self.mass @ squares

    def covariances(self, target: np.ndarray) -> np.ndarray:
        """YᵀT of shape (r, k)."""
        if self.mass is not None:
            target = target * self.mass[:, np.newaxis]
        return target.T @ self.features

    def loadings(self, samples: Callable[[], FeatureImages]) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients P of the kernel's features on these, of shape (D, k), and their mean."""
        at_hand = self.images
        primal = samples() if at_hand is None or at_hand.dual else cast(FeatureImages, at_hand)
        return primal.pull(self.features) / self.squares, primal.mean

    def first(self, count: int) -> Extracted:
        """The first features: those that a shorter run makes."""
        made = self.features[:, :count]
        if self.basis is not None:
            basis = self.basis.first(count)
            return Extracted(basis.projection, made, basis)
        return replace(self, projection=self.projection.first(count), made=made)

    def times(self, factors: np.ndarray) -> Extracted:
        """Every feature multiplied by a number."""
        return replace(
            self, projection=self.projection.times(factors), made=self.features * factors
        )


class DeflationExtractor(DependenceExtractor):
    """Base of the deflation methods: a subclass implements ``_features``.

    Attributes
    ----------
    dependence_ : ndarray of shape (n_components,)
        HSIC₀ of each feature and the target with linear kernels, ‖Yᵀτ_j‖²/(m - 1)²; without a
        target, of each feature and the inputs.
    n_components_ : int
        Number of features.

    Notes
    -----
    ``n_components`` is a number, a share or ``"auto"``. Features are made one after another, and
    each takes what it explains off the target; so a share is one of the variance of the target,
    known before they are made, and the fewest features are kept that explain it on the training
    rows. (Without a target it is the variance of the inputs in feature space.)
    """

    center: bool = True
    #: Whether rows that are read a chunk at a time need a kernel with coordinates.
    _needs_coordinates: ClassVar[bool] = True
    #: Whether features are orthogonal, so that there are no more than rows and columns.
    _orthogonal: ClassVar[bool] = True

    # --- what a subclass implements --------------------------------------------------------------
    def _features(self, side: Sample, target: CodedTarget | None, n_components: int) -> Extracted:
        """At most ``n_components`` features; none where nothing depends on the target.

        Those of a shorter run are the first of those of a longer one.
        """
        raise NotImplementedError

    def _pairs_held(self, side: Sample) -> float:
        """The kernel matrix, for methods that see the samples through ``images_of``."""
        return gram_values(side)

    def _keep_more(self, found: Extracted, target: CodedTarget | None) -> None:
        """Remember what this method offers beside the features."""

    # --- what it inherits ------------------------------------------------------------------------
    def _learn(
        self,
        X: Any,
        y: Any,
        requested: ComponentCount | None = None,
        weighed: Weighed | None = None,
    ) -> Fitted:
        check_parameters(self)
        self._check_parameters()
        self._forget()
        requested = requested or self._component_count()
        X, y = self._aligned(X, y)
        needs_target = self._supervised or y is not None
        mass = None if weighed is None else weighed.mass
        target = self._read_coded(y, mass) if needs_target else None
        training = read_training(self, X, self.kernel, check_finite=not self._sums_show_gaps)
        require_varying(training.rows)
        training = training if weighed is None else weighed.counted(training)
        warn_of_units(self, training)
        choose = None
        if target is not None:
            require_equal_length(training.n_samples, target.n_samples)
            choose = partial(most_dependent, Sample(as_kernel("linear"), target.values, mass=mass))
        side = training.resolved(choose).in_double()
        if self._needs_coordinates:
            require_coordinates(side, type(self).__name__)
        self._keep_kernel(side)
        self._require_memory(side)
        possible = Possible(
            type(self).__name__,
            side,
            lambda: FIRST_RUN,
            lambda: self._choose_count(X, y, side),
            limited=self._orthogonal,
        )
        found = self._found(side, target, requested, possible)
        if found.basis is not None:
            self.basis_indices_ = found.basis.indices
        if self._is_linear:
            found = replace(found, projection=found.projection.in_features())
        turns = self._signs(found, target)
        found = found if (turns == 1).all() else found.times(turns)
        self._projection = found.projection
        self._n_features_out = self.n_components_ = found.count
        self._keep_views(side, found, target)
        self._keep_more(found, target)
        complete = not training.is_streamed
        return Fitted(lambda: found.features, training.dtype, complete)

    def _found(
        self,
        side: Sample,
        target: CodedTarget | None,
        requested: ComponentCount,
        possible: Possible,
    ) -> Extracted:
        """As many features as were requested; for a share, in runs of twice the length."""
        count = requested.count(possible)
        while True:
            found = self._features(side, target, count)
            if found.made is not None and found.count:  # not of a stream
                found = found.first(max(1, n_repeated(found.projection, side, found.features)))
            if found.count == 0:
                raise ValueError(
                    f"{type(self).__name__} found no feature that depends on the target: X is "
                    "constant, or uncorrelated with y under this kernel."
                )
            if requested.is_exact:
                self._warn_if_fewer(found.count, count)
            if requested.is_reached(0.0):  # a number
                return found
            shares = self._explained(side, found, target)
            reached = requested.is_reached(float(shares.sum()))
            if reached or found.count < count or count >= possible.most:
                break
            count = min(2 * count, possible.most)
        if not reached:
            self._warn_of_share(found.count, float(shares.sum()))
        rest = max(1.0 - float(shares.sum()), 0.0)
        kept = requested.kept(np.append(shares, rest))
        return found.first(kept) if kept < found.count else found

    def _explained(self, side: Sample, found: Extracted, target: CodedTarget | None) -> np.ndarray:
        """Share of the variance of the target that each feature explains, of shape (k,).

        Without a target, or where the criterion does not see it: of the inputs in feature space.
        """
        center = bool(self.center)
        if target is None or not self._supervised:
            explained = self._own_dependence(side, found.features) / found.squares
            images = images_of(side, center=center)
            return explained / images.variance
        values = self._seen(target)
        total = square_of(values, target.mass)
        shares: np.ndarray = self._explained_of(found, values) / total
        return shares

    def _seen(self, target: CodedTarget) -> Any:
        """The target as features see it: less its mean if they have mean zero."""
        return target.centred if self.center else target.about_zero

    def _explained_of(self, found: Extracted, values: np.ndarray) -> np.ndarray:
        """‖Yᵀτ_j‖²/‖τ_j‖², of shape (k,)."""
        covariances = found.covariances(values)
        explained: np.ndarray = np.square(covariances).sum(axis=0) / found.squares
        return explained

    def _read_coded(self, y: Any, mass: np.ndarray | None = None) -> CodedTarget:
        return coded_target(y, whole_numbers_are_numbers=self._regresses, mass=mass)

    @property
    def _sums_show_gaps(self) -> bool:
        """Whether ``_features`` refuses NaN and infinity, which sums over the rows show."""
        return False

    @property
    def _is_linear(self) -> bool:
        """Whether features are linear in the columns of X."""
        return self._abilities().is_linear

    def _signs(self, found: Extracted, target: CodedTarget | None) -> np.ndarray:
        """Signs that make the largest covariance with a column of the target positive."""
        if target is None or not self._supervised:
            return signs(found.projection.weights)
        return signs(found.covariances(self._seen(target)))

    def _keep_views(self, side: Sample, found: Extracted, target: CodedTarget | None) -> None:
        scale = float(side.total - 1) ** 2
        if target is not None:
            covariances = found.covariances(self._seen(target))
            self.dependence_ = np.square(covariances).sum(axis=0) / scale
        else:
            self.dependence_ = self._own_dependence(side, found.features) / scale
        if not self._is_linear:
            return
        loadings, mean = found.loadings(lambda: self._primal(side))
        self.components_ = found.projection.weights.T
        self.loadings_ = loadings.T
        self.mean_ = mean
        self.coordinate_names_ = coordinate_names(self)

    def _primal(self, side: Sample) -> FeatureImages:
        """The samples in the features of the kernel."""
        return FeatureImages(side, center=bool(self.center), hold=True)

    def _own_dependence(self, side: Sample, features: np.ndarray) -> np.ndarray:
        """‖Φᵀτ_j‖² of every feature."""
        if side.n_coordinates is not None:
            pulled = self._primal(side).pull(features)
            return np.square(pulled).sum(axis=0)
        total = np.zeros(features.shape[1])
        for rows in slices(side.n_samples, chunk_rows(side.n_samples)):
            images = side.tile(rows, slice(None)) @ features
            total += np.einsum("ij,ij->j", features[rows], images)
        return total

    def _warn_if_fewer(self, count: int, requested: int) -> None:
        if count < requested:
            warnings.warn(
                f"{type(self).__name__} found {count} of n_components={requested} features: none "
                "of the rest depends on the target by its criterion, beyond rounding errors.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _warn_of_share(self, count: int, share: float) -> None:
        of = "inputs" if not self._supervised else "target"
        warnings.warn(
            f"{type(self).__name__} keeps all {count} available features: they explain "
            f"{share:.3g} of the variance of the {of}, less than "
            f"n_components={self.n_components!r}.",
            ConvergenceWarning,
            stacklevel=5,
        )


def gram_values(side: Sample, *, dual: bool | None = None) -> float:
    """Values of pairs of samples that ``images_of`` holds, in float64, but for a given matrix."""
    in_features = side.has_features if dual is None else not dual
    return 0.0 if in_features or side.precomputed else float(side.n_samples) ** 2
