"""What the deflation methods share: a coded target, orthogonal features, and how they end."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from depmax.dependence.resolve import maximizer
from depmax.extraction.base import DependenceExtractor, Fitted
from depmax.extraction.deflation.images import FeatureImages, Images
from depmax.extraction.deflation.orthogonal import OrthogonalFeatures
from depmax.extraction.deflation.target import CodedTarget, coded_target
from depmax.extraction.loadings import coordinate_names
from depmax.extraction.projection import Projection, SampleProjection
from depmax.extraction.wanted import Exactly, Wanted, read_number, require_possible
from depmax.kernels import Precomputed, as_kernel
from depmax.kernels.base import Kernel
from depmax.pencils import Space, signs
from depmax.samples import (
    Sample,
    is_precomputed,
    read_training,
    require_equal_length,
    warn_of_units,
)


@dataclass(frozen=True)
class Summary:
    """What sums over the rows tell about features that are not made yet."""

    covariances: np.ndarray  # YᵀT, shape (r, k)
    squares: np.ndarray  # ‖τ_j‖², shape (k,)
    loadings: np.ndarray  # P, shape (D, k)
    mean: np.ndarray  # of the features of the kernel, shape (D,)
    space: Space  # the rows, from which T can be made
    mixing: np.ndarray | None = None  # from the coordinates of space to features of the kernel

    def features(self, weights: np.ndarray) -> np.ndarray:
        """T of shape (m, k) for the weights of the features of the kernel."""
        return self.space.features(weights if self.mixing is None else self.mixing @ weights)

    def times(self, factors: np.ndarray) -> Summary:
        """Every feature multiplied by a number."""
        return replace(
            self,
            covariances=self.covariances * factors,
            squares=self.squares * factors**2,
            loadings=self.loadings / factors,
        )


@dataclass(frozen=True)
class Extracted:
    """The projection that makes features, and those of the training rows or their summary."""

    projection: Projection
    made: np.ndarray | None  # T, shape (m, k)
    summary: Summary | None = None

    @classmethod
    def of(cls, images: Images, directions: np.ndarray, found: OrthogonalFeatures) -> Extracted:
        """From the end of the deflation loop."""
        if found.count == 0:
            return cls(images.project(directions, np.zeros(0)), found.features)
        projection = images.project(found.conjugate(directions), found.offset)
        return cls(projection, found.features)

    @classmethod
    def of_rows(
        cls, kernel: Kernel | None, rows: Any, weights: np.ndarray, found: OrthogonalFeatures
    ) -> Extracted:
        """From directions with weights of a few rows; without a kernel these are positions."""
        offset = np.zeros(0)
        if found.count:
            weights, offset = found.conjugate(weights), found.offset
        return cls(SampleProjection(kernel, rows, weights, offset), found.features)

    @property
    def count(self) -> int:
        """Number of features k."""
        return int(self.projection.weights.shape[1])

    @property
    def features(self) -> np.ndarray:
        """T of shape (m, k)."""
        if self.made is not None:
            return self.made
        assert self.summary is not None
        return self.summary.features(self.projection.weights)

    @property
    def squares(self) -> np.ndarray:
        """‖τ_j‖², of shape (k,)."""
        if self.summary is not None:
            return self.summary.squares
        return np.square(self.features).sum(axis=0)

    def covariances(self, target: np.ndarray) -> np.ndarray:
        """YᵀT of shape (r, k)."""
        return target.T @ self.features if self.summary is None else self.summary.covariances

    def times(self, factors: np.ndarray) -> Extracted:
        """Every feature multiplied by a number."""
        if (factors == 1).all():
            return self
        projection = replace(
            self.projection,
            weights=self.projection.weights * factors,
            offset=self.projection.offset * factors,
        )
        made = None if self.made is None else self.made * factors
        summary = None if self.summary is None else self.summary.times(factors)
        return Extracted(projection, made, summary)


class DeflationExtractor(DependenceExtractor):
    """Base of the deflation methods: a subclass implements ``_features``.

    Attributes
    ----------
    dependence_ : ndarray of shape (n_components,)
        HSIC₀ of each feature and the target with linear kernels, ‖Yᵀτ_j‖²/(m - 1)²; without a
        target, of each feature and the inputs.
    """

    center: bool = True
    #: Whether labels that are whole numbers are numbers.
    _regresses = False

    # --- what a subclass implements --------------------------------------------------------------
    def _features(self, side: Sample, target: CodedTarget | None, n_components: int) -> Extracted:
        """At most ``n_components`` features; none where nothing depends on the target."""
        raise NotImplementedError

    def _keep_more(self, found: Extracted, target: CodedTarget | None) -> None:
        """Remember what this method offers beside the features."""

    # --- what it inherits ------------------------------------------------------------------------
    def _wanted(self) -> Exactly:
        """Only a number: features are made one after another, whatever they turn out to reach."""
        return read_number(self.n_components, type(self).__name__)

    def _learn(self, X: Any, y: Any, wanted: Wanted | None = None) -> Fitted:
        self._check_parameters()
        count = self._wanted().number
        needs_target = self._supervised or y is not None
        target = self._read_coded(y) if needs_target else None
        training = read_training(self, X, self.kernel, check_finite=not self._sums_show_gaps)
        warn_of_units(self, training)
        choose = None
        if target is not None:
            require_equal_length(training.n_samples, target.n_samples)
            choose = maximizer(Sample(as_kernel("linear"), target.values, target.n_samples))
        side = Sample(
            training.recipe.resolve(training.rows, choose), training.rows, training.n_samples
        )
        # A kernel matrix that was passed as X is not kept.
        self.kernel_ = Precomputed() if self._precomputed else side.kernel
        require_possible(side, count, type(self).__name__)
        found = self._features(side, target, count)
        self._warn_if_fewer(found.count)
        if self._is_linear:
            found = replace(found, projection=found.projection.in_features())
        found = found.times(self._signs(found, target))
        self._projection = found.projection
        self._n_features_out = found.count
        self._keep_views(side, found, target)
        self._keep_more(found, target)
        return Fitted(lambda: found.features, training.dtype, complete=True)

    def _read_coded(self, y: Any) -> CodedTarget:
        return coded_target(y, whole_numbers_are_numbers=self._regresses)

    @property
    def _sums_show_gaps(self) -> bool:
        """Whether ``_features`` refuses NaN and infinity, which sums over the rows show."""
        return False

    @property
    def _is_linear(self) -> bool:
        """Whether features are linear in the columns of X."""
        return self._abilities().changes_by == "shares"

    @property
    def _precomputed(self) -> bool:
        return is_precomputed(self.kernel)

    def _signs(self, found: Extracted, target: CodedTarget | None) -> np.ndarray:
        """Signs that make the largest covariance with a column of the target positive."""
        if target is None or not self._supervised:
            return signs(found.projection.weights)
        return signs(found.covariances(target.values))

    def _keep_views(self, side: Sample, found: Extracted, target: CodedTarget | None) -> None:
        scale = float(side.n_samples - 1) ** 2
        if target is not None:
            covariances = found.covariances(target.values)
            self.dependence_ = np.square(covariances).sum(axis=0) / scale
        else:
            self.dependence_ = self._own_dependence(side, found.features) / scale
        if not self._is_linear:
            return
        if found.summary is not None:
            loadings, mean = found.summary.loadings, found.summary.mean
        else:
            images = FeatureImages(side, center=bool(self.center))
            loadings, mean = images.pull(found.features) / found.squares, images.mean
        self.components_ = found.projection.weights.T
        self.loadings_ = loadings.T
        self.mean_ = mean
        self.coordinate_names_ = coordinate_names(self)

    def _own_dependence(self, side: Sample, features: np.ndarray) -> np.ndarray:
        """‖Φᵀτ_j‖² of every feature."""
        if side.kernel.has_features:
            pulled = FeatureImages(side, center=bool(self.center)).pull(features)
            return np.square(pulled).sum(axis=0)
        return np.einsum("ij,ij->j", features, side.gram() @ features)

    def _warn_if_fewer(self, count: int) -> None:
        if count == 0:
            raise ValueError(
                f"{type(self).__name__} found no feature that depends on the target: X is "
                "constant, or uncorrelated with y under this kernel."
            )
        if count < self.n_components:
            warnings.warn(
                f"{type(self).__name__} found {count} of n_components={self.n_components} "
                "features: nothing that the criterion seeks is left.",
                ConvergenceWarning,
                stacklevel=4,
            )
