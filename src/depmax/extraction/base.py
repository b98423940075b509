"""What every extractor shares: reading, kernels, projections, and what it tells afterwards."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted

from depmax._frames import make_frame
from depmax.dependence.resolve import maximizer
from depmax.dependence.sides import Side, read_target_side, require_equal_length
from depmax.extraction.coordinates import Coordinates, coordinates_of
from depmax.extraction.loadings import coordinate_names, loadings
from depmax.extraction.projection import Projection
from depmax.extraction.reading import (
    abilities_of,
    is_precomputed,
    precision,
    read_rows,
    read_training,
)
from depmax.kernels import Capabilities, KernelLike, Precomputed
from depmax.pencils import Basis, Directions, Gram, Space, signs
from depmax.rows import chunk_rows, slices


def _is_linear(extractor: DependenceExtractor) -> bool:
    """Whether features are linear in the columns of X, so that they have weights."""
    return extractor._abilities().changes_by == "shares"


class DependenceExtractor(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the extractors: a subclass implements ``_extract``.

    A subclass stores ``n_components`` and, where it has the choice, ``kernel`` and
    ``target_kernel``; otherwise these stay the class attributes below. This class reads X as the
    kernel needs it (arrays, memory maps, sparse matrices, frames with categorical columns, objects,
    row sources, or with ``kernel="precomputed"`` the kernel matrix itself), resolves the kernels,
    and gives ``_extract`` the samples in whichever coordinates are fewer.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Weights of the columns of X, one direction per row; with ``kernel="linear"`` only.
        Categorical columns are encoded, see ``coordinate_names_``.
    loadings_ : ndarray of shape (n_components, n_features)
        Coefficients of the least squares regression of every column on the features; linear only.
    mean_ : ndarray of shape (n_features,)
        Mean of every column; linear only.
    coordinate_names_ : ndarray of shape (n_features,)
        Names of the columns that ``components_`` refers to; linear only.
    dependence_ : ndarray of shape (n_components,)
        Dependence on the target that each feature reaches.
    kernel_, target_kernel_ : Kernel
        With every recipe replaced by numbers.
    """

    n_components: Any
    kernel: KernelLike = "linear"
    target_kernel: Any = "auto"
    #: Whether a target is needed.
    _supervised: ClassVar[bool] = True
    _n_features_out: int
    _projection: Projection

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features), or objects
            With ``kernel="precomputed"`` the kernel matrix of shape (n_samples, n_samples).
        y : target of any type

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
        space, directions, dtype = self._learn(X, y)
        return space.features(directions).astype(dtype, copy=False)

    def transform(self, X: Any) -> np.ndarray:
        """Features of new rows.

        Parameters
        ----------
        X : as in ``fit``
            With ``kernel="precomputed"`` the kernel values of the new rows with all training rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        rows = read_rows(self, X, self._abilities())
        features = np.empty((rows.shape[0], self._n_features_out), dtype=precision(rows))
        for block in slices(rows.shape[0], chunk_rows(self._projection.width)):
            features[block] = self._projection(rows[block])
        return features

    @available_if(_is_linear)
    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows with given features, as the least squares regression on the features has them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            In the columns that ``coordinate_names_`` names.
        """
        check_is_fitted(self)
        features = check_array(X, dtype=[np.float64, np.float32])
        if features.shape[1] != self._n_features_out:
            raise ValueError(
                f"X has {features.shape[1]} columns, but {type(self).__name__} has "
                f"{self._n_features_out} components."
            )
        rows: np.ndarray = features @ self.loadings_ + self.mean_
        return rows.astype(features.dtype, copy=False)

    @available_if(_is_linear)
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

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of kernel objects too, as in ``kernel__bandwidth``."""
        for key in params:
            owner, _, nested = key.partition("__")
            kernel = params.get(owner, getattr(self, owner, None))
            if nested and owner.endswith("kernel") and isinstance(kernel, str):
                raise ValueError(
                    f"{key!r} cannot be set, since {owner}={kernel!r} is a name: pass the kernel "
                    "as an object, e.g. Gaussian() from depmax.kernels."
                )
        return super().set_params(**params)

    def __sklearn_tags__(self) -> Any:
        """Any target; inputs as the kernel reads them."""
        tags = super().__sklearn_tags__()
        abilities = self._abilities()
        tags.target_tags.required = self._supervised
        tags.target_tags.one_d_labels = self._supervised
        tags.target_tags.two_d_labels = self._supervised
        tags.target_tags.multi_output = self._supervised
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = abilities.sparse
        tags.input_tags.string = not abilities.vector_input
        tags.input_tags.one_d_array = not abilities.vector_input
        tags.input_tags.two_d_array = abilities.vector_input
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # --- what a subclass implements --------------------------------------------------------------
    def _extract(self, space: Space, target: Side | None, n_components: int) -> Directions:
        """Directions in the coordinates of ``space``; at most ``n_components``, at least one."""
        raise NotImplementedError

    def _span(self, gram: Gram, target: Side | None, n_components: int) -> Basis | None:
        """Basis of the part of the samples' span that holds the directions; None: all of it.

        Asked only where a kernel matrix is large, to spare the eigenproblem of its size.
        """
        return None

    def _read_target(self, y: Any) -> Side:
        """The target as this method sees it: by default as ``target_kernel`` does."""
        return read_target_side(y, self.target_kernel)

    def _check_parameters(self) -> None:
        """Refuse parameters that do not depend on the data."""

    # --- what it inherits ------------------------------------------------------------------------
    def _learn(self, X: Any, y: Any) -> tuple[Space, np.ndarray, np.dtype]:
        """Fit; the space, the directions in it, and the precision of the features."""
        self._check_parameters()
        self._check_n_components()
        target = self._read_target(y) if self._supervised else None
        training = read_training(self, X, self.kernel)
        if target is not None:
            require_equal_length(training.n_samples, target.n_samples)
            self.target_kernel_ = target.kernel
        choose = None if target is None else maximizer(target)
        side = Side(
            training.recipe.resolve(training.rows, choose), training.rows, training.n_samples
        )
        precomputed = is_precomputed(self.kernel)
        # A kernel matrix that was passed as X is not kept.
        self.kernel_ = Precomputed() if precomputed else side.kernel
        self._check_n_components(side)
        count = int(self.n_components)
        coordinates = coordinates_of(
            side, lambda gram: self._span(gram, target, count), precomputed=precomputed
        )
        space = coordinates.space
        if count > space.dimension:
            raise ValueError(
                f"n_components={count} of {type(self).__name__} is more than the rank "
                f"of the centred kernel matrix, {space.dimension}: equal rows add nothing."
            )
        found = self._extract(space, target, count)
        directions = self._keep(coordinates, found)
        return space, directions, training.dtype

    def _keep(self, coordinates: Coordinates, found: Directions) -> np.ndarray:
        """Remember the projection, signs decided; the directions with these signs."""
        lifted = coordinates.lift(found.vectors)
        directions: np.ndarray = found.vectors * signs(lifted)
        self._projection = coordinates.project(directions)
        self.dependence_ = found.dependence
        self._n_features_out = directions.shape[1]
        if _is_linear(self):
            self.components_ = self._projection.weights.T
            self.loadings_ = loadings(coordinates.pull(directions), self._projection.weights).T
            self.mean_ = coordinates.mean
            self.coordinate_names_ = coordinate_names(self)
        return directions

    def _abilities(self) -> Capabilities:
        return abilities_of(self.kernel)

    def _check_n_components(self, side: Side | None = None) -> None:
        value = self.n_components
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise ValueError(
                f"n_components of {type(self).__name__} must be an integer >= 1, got {value!r}."
            )
        if side is None:
            return
        width = side.n_coordinates
        value = int(value)
        if value > side.n_samples:
            raise ValueError(
                f"n_components={value} of {type(self).__name__} is more than the number of "
                f"training rows, n_samples = {side.n_samples}."
            )
        if width is not None and value > width:
            raise ValueError(
                f"n_components={value} of {type(self).__name__} is more than the number of "
                f"columns, n_features = {width}."
            )
