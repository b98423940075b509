"""What the deflation methods share: a coded target, orthogonal features, and how they end."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from depmax.dependence.resolve import maximizer
from depmax.dependence.sides import Side, require_equal_length
from depmax.extraction.base import DependenceExtractor
from depmax.extraction.deflation.images import FeatureImages, Images
from depmax.extraction.deflation.orthogonal import OrthogonalFeatures
from depmax.extraction.deflation.target import CodedTarget, coded_target
from depmax.extraction.loadings import coordinate_names
from depmax.extraction.projection import Projection
from depmax.extraction.reading import is_precomputed, read_training
from depmax.kernels import Precomputed, as_kernel
from depmax.pencils import signs


@dataclass(frozen=True)
class Extracted:
    """Features of the training rows, and the projection that makes those of new rows."""

    features: np.ndarray  # T, shape (m, k)
    projection: Projection
    loadings: np.ndarray | None = None  # P, shape (D, k), where it is known already
    mean: np.ndarray | None = None  # of the features of the kernel, shape (D,), likewise

    @classmethod
    def of(cls, images: Images, directions: np.ndarray, found: OrthogonalFeatures) -> Extracted:
        """From the end of the deflation loop."""
        if found.count == 0:
            return cls(found.features, images.project(directions, np.zeros(0)))
        projection = images.project(found.conjugate(directions), found.offset)
        return cls(found.features, projection)

    def times(self, factors: np.ndarray) -> Extracted:
        """Every feature multiplied by a number."""
        projection = replace(
            self.projection,
            weights=self.projection.weights * factors,
            offset=self.projection.offset * factors,
        )
        loadings = None if self.loadings is None else self.loadings / factors
        return replace(
            self, features=self.features * factors, projection=projection, loadings=loadings
        )


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

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the features.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features), or objects
            With ``kernel="precomputed"`` the kernel matrix of shape (n_samples, n_samples).
        y : target of any type

        Returns
        -------
        self
        """
        self._fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Find the features and return those of the training rows.

        Parameters
        ----------
        X, y : as in ``fit``

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self._fit(X, y)

    # --- what a subclass implements --------------------------------------------------------------
    def _features(self, side: Side, target: CodedTarget | None, n_components: int) -> Extracted:
        """At most ``n_components`` features; none where nothing depends on the target."""
        raise NotImplementedError

    def _keep_more(self, found: Extracted, target: CodedTarget | None) -> None:
        """Remember what this method offers beside the features."""

    # --- what it inherits ------------------------------------------------------------------------
    def _fit(self, X: Any, y: Any) -> np.ndarray:
        self._check_parameters()
        self._check_n_components()
        needs_target = self._supervised or y is not None
        target = self._read_target(y) if needs_target else None
        training = read_training(self, X, self.kernel)
        choose = None
        if target is not None:
            require_equal_length(training.n_samples, target.n_samples)
            choose = maximizer(Side(as_kernel("linear"), target.values, target.n_samples))
        side = Side(
            training.recipe.resolve(training.rows, choose), training.rows, training.n_samples
        )
        # A kernel matrix that was passed as X is not kept.
        self.kernel_ = Precomputed() if self._precomputed else side.kernel
        self._check_n_components(side)
        found = self._features(side, target, int(self.n_components))
        self._warn_if_fewer(found.features.shape[1])
        if self._is_linear:
            found = replace(found, projection=found.projection.in_features())
        found = found.times(self._signs(found, target))
        self._projection = found.projection
        self._n_features_out = found.features.shape[1]
        self._keep_views(side, found, target)
        self._keep_more(found, target)
        return found.features.astype(training.dtype, copy=False)

    def _read_target(self, y: Any) -> CodedTarget:
        return coded_target(y, whole_numbers_are_numbers=self._regresses)

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
        return signs(target.values.T @ found.features)

    def _keep_views(self, side: Side, found: Extracted, target: CodedTarget | None) -> None:
        features = found.features
        scale = float(side.n_samples - 1) ** 2
        if target is not None:
            self.dependence_ = np.square(target.values.T @ features).sum(axis=0) / scale
        else:
            self.dependence_ = self._own_dependence(side, features) / scale
        if not self._is_linear:
            return
        loadings, mean = found.loadings, found.mean
        if loadings is None or mean is None:
            images = FeatureImages(side, center=bool(self.center))
            loadings = images.pull(features) / np.square(features).sum(axis=0)
            mean = images.mean
        self.components_ = found.projection.weights.T
        self.loadings_ = loadings.T
        self.mean_ = mean
        self.coordinate_names_ = coordinate_names(self)

    def _own_dependence(self, side: Side, features: np.ndarray) -> np.ndarray:
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
