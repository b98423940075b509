"""The contract of a feature map: a transformer whose output has the kernel as inner product."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from depmax._inputs import read_fit, read_new
from depmax.kernels import Capabilities, KernelLike, Precomputed, as_kernel
from depmax.kernels.mixed import join_categories
from depmax.kernels.scales import warn_of_scales
from depmax.samples import Sample, chunk_rows, sample_of_matrix, slices


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer Φ with ΦΦᵀ ≈ K for a kernel k.

    A subclass stores ``n_components`` and ``kernel`` and implements ``_fit``, which learns from a
    ``Sample`` and sets ``_n_features_out``, and ``_map``, the features of some new rows. This class
    reads X as the kernel needs it (arrays, sparse matrices, frames with categorical columns,
    objects, or with ``kernel="precomputed"`` the kernel matrix itself) and resolves the kernel.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with every recipe replaced by numbers.
    categories_ : mapping from position of a column to its levels
        Of the categorical columns of a frame.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X, where it has names.
    """

    n_components: int | None
    kernel: KernelLike
    _n_features_out: int
    #: Whether ``n_components=None`` has a meaning.
    _unlimited: ClassVar[bool] = False
    #: Whether there may be no more components than training rows.
    _limited_by_rows: ClassVar[bool] = True

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the map.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features), or objects
            With ``kernel="precomputed"`` the kernel matrix of shape (n_samples, n_samples).
        y : ignored

        Returns
        -------
        self
        """
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn the map and return the features of the training rows.

        Parameters
        ----------
        X : as in ``fit``
        y : ignored

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        features = self._learn(X)
        return self._apply(X) if features is None else features

    def transform(self, X: Any) -> np.ndarray:
        """Features of new rows.

        Parameters
        ----------
        X : as in ``fit``
            With ``kernel="precomputed"`` the kernel values of the new rows with all training rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        return self._apply(X)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of a kernel object too, as in ``kernel__bandwidth``."""
        kernel = params.get("kernel", self.kernel)
        nested = [key for key in params if key.startswith("kernel__")]
        if nested and isinstance(kernel, str):
            raise ValueError(
                f"{nested[0]!r} cannot be set, since kernel={kernel!r} is a name: pass the kernel "
                "as an object, e.g. kernel=Gaussian() from depmax.kernels."
            )
        return super().set_params(**params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        abilities = self._abilities()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = abilities.sparse
        tags.input_tags.string = not abilities.vector_input
        tags.input_tags.one_d_array = not abilities.vector_input
        tags.input_tags.two_d_array = abilities.vector_input
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def mixing(self) -> np.ndarray | None:
        """W with ``transform(X) = unmixed(X) @ W``, where a fitted map ends in a product."""
        return None

    def unmixed(self, rows: Any) -> np.ndarray:
        """Features of rows before the last product, where ``mixing`` is not None.

        Rows are as ``fit`` reads them, and not checked again.
        """
        return self._unmixed(rows)

    # --- what a subclass implements --------------------------------------------------------------
    def _fit(self, sample: Sample) -> np.ndarray | None:
        """Learn from the training rows; their features, if they come for free."""
        raise NotImplementedError

    def _map(self, rows: Any) -> np.ndarray:
        """Features of a block of new rows."""
        raise NotImplementedError

    def _unmixed(self, rows: Any) -> np.ndarray:
        """Features of a block of new rows before the product with ``mixing``."""
        raise NotImplementedError

    def _width(self) -> int:
        """Columns of the widest matrix that ``_map`` makes."""
        return self._n_features_out

    # --- what it inherits ------------------------------------------------------------------------
    def _learn(self, X: Any) -> np.ndarray | None:
        self._check_n_components()
        sample = self._read(X)
        self._check_n_components(sample.n_samples)
        features = self._fit(sample)
        return None if features is None else features.astype(sample.dtype, copy=False)

    def _apply(self, X: Any) -> np.ndarray:
        rows = self._read_new(X)
        features = np.empty((rows.shape[0], self._n_features_out), dtype=_precision(rows))
        for block in slices(rows.shape[0], chunk_rows(self._width())):
            features[block] = self._map(rows[block])
        return features

    def _read(self, X: Any) -> Sample:
        """The training rows, with the kernel resolved on them."""
        if self._is_precomputed():
            matrix, self.categories_ = read_fit(self, X)
            self.kernel_ = Precomputed()  # the matrix itself is not kept
            return sample_of_matrix(matrix)
        kernel = as_kernel(self.kernel)
        rows, self.categories_ = read_fit(
            self,
            X,
            vector_input=kernel.requires_vector_input,
            accept_sparse=kernel.capabilities.sparse,
        )
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        names = [str(name) for name in names]
        if kernel.requires_vector_input:
            known = getattr(self, "feature_names_in_", None)
            owner = type(self).__name__
            warn_of_scales(kernel.bind(names), rows, known, self.categories_, owner=owner)
        kernel = join_categories(kernel.bind(names), self.categories_, len(names), names)
        self.kernel_ = kernel.resolve(rows)
        return Sample(self.kernel_, rows, _precision(rows))

    def _read_new(self, X: Any) -> Any:
        abilities = self._abilities()
        return read_new(
            self,
            X,
            categories=getattr(self, "categories_", {}),
            vector_input=abilities.vector_input,
            accept_sparse=abilities.sparse,
        )

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _abilities(self) -> Capabilities:
        """What the kernel declares; ``fit`` is where a wrong one is refused."""
        if self._is_precomputed():
            return Capabilities()
        try:
            return as_kernel(self.kernel).capabilities
        except (TypeError, ValueError):
            return Capabilities()

    def _check_n_components(self, n_samples: int | None = None) -> None:
        value = self.n_components
        if value is None and self._unlimited:
            return
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise ValueError(
                f"n_components of {type(self).__name__} must be an integer >= 1"
                f"{' or None' if self._unlimited else ''}, got {value!r}."
            )
        if self._limited_by_rows and n_samples is not None and value > n_samples:
            raise ValueError(
                f"n_components={value} of {type(self).__name__} is more than the number of "
                f"training rows, n_samples = {n_samples}."
            )


def _precision(rows: Any) -> np.dtype:
    """float32 for rows in float32, float64 for all others."""
    return np.dtype(np.float32 if rows.dtype == np.float32 else np.float64)
