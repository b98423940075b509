"""The contract of a feature map: a transformer whose output has the kernel as its inner product.

Also here: what all transformers that use a kernel share, and eigenvectors that are unique.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from depmax._parameters import check_parameters, integer
from depmax._resources import chunk_rows, map_instead, require_pairs, slices, small_problems
from depmax.data.sample import (
    FREE_ROWS,
    Sample,
    aligned,
    precision,
    read_rows,
    read_training,
    require_positive,
    require_semidefinite,
    warn_of_units,
)
from depmax.data.scan import by_chunks
from depmax.data.table import is_streamed, numbered_columns
from depmax.kernels import Capabilities, Kernel, KernelLike, Precomputed, as_kernel
from depmax.kernels.kernel import abilities_of, is_precomputed, refuse_parameters_of_names

#: Rows of a matrix whose eigenvectors one thread finds about as fast as two.
SMALL = 600
#: Entries that differ by less, relative to the largest, are equal.
EQUAL = 1e-6


class KernelTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of maps and extractors: computes features through a kernel, a block of rows at a time.

    A subclass stores ``kernel`` and implements ``_map``.
    """

    kernel: KernelLike
    _n_features_out: int

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of kernel objects too, as in ``kernel__bandwidth``."""
        refuse_parameters_of_names(self, params)
        super().set_params(**params)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Features of new rows.

        Parameters
        ----------
        X : as in ``fit``
            With ``kernel="precomputed"`` the kernel values of the new rows with all training rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            For a Dask collection a lazy Dask array, for a scan a scan.
        """
        return self._apply(X)

    def __sklearn_tags__(self) -> Any:
        """Inputs as the kernel reads them."""
        tags = super().__sklearn_tags__()
        abilities = self._abilities()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = abilities.sparse
        tags.input_tags.string = not abilities.vector_input
        tags.input_tags.one_d_array = not abilities.vector_input
        tags.input_tags.two_d_array = abilities.vector_input
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _apply(self, X: Any) -> np.ndarray:
        """Features of new rows as an array, whatever ``set_output`` asks for."""
        check_is_fitted(self)
        if is_streamed(X):
            return by_chunks(self.transform, X, self._n_features_out)
        rows = read_rows(self, X, self._abilities())
        features = np.empty((rows.shape[0], self._n_features_out), dtype=precision(rows))
        for block in slices(rows.shape[0], chunk_rows(self._width())):
            features[block] = self._map(rows[block])
        return features

    def _forget(self) -> None:
        """Drop what an earlier fit has found: with other parameters it may have found more."""
        for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
            delattr(self, name)

    def _pairs_held(self, data: Sample) -> float:
        """Values of pairs of rows that a fit holds at its peak, counted in float64."""
        raise NotImplementedError

    def _instead(self) -> str:
        """What to do where these are too many."""
        return map_instead(self.kernel)

    def _require_memory(self, data: Sample) -> None:
        """Refuse, before anything is computed, what would take more memory than the limit."""
        if data.n_samples > FREE_ROWS:
            held = self._pairs_held(data)
            require_pairs(type(self).__name__, data.n_samples, held, self._instead())

    def _map(self, rows: Any) -> np.ndarray:
        """Features of a block of new rows."""
        raise NotImplementedError

    def _width(self) -> int:
        """Columns of the widest matrix that ``_map`` makes."""
        return self._n_features_out

    def _abilities(self) -> Capabilities:
        return abilities_of(self.kernel)

    def _keep_kernel(self, sample: Sample) -> None:
        """Remember the resolved kernel; a kernel matrix that was passed as X is not kept."""
        self.kernel_ = Precomputed() if sample.precomputed else sample.kernel


def is_linear(transformer: KernelTransformer) -> bool:
    """Whether features are linear in the columns of X, so that they have weights."""
    return transformer._abilities().is_linear


class FeatureMap(KernelTransformer):
    """A transformer Φ with ΦΦᵀ ≈ K for a kernel k.

    A map can stand in for its kernel wherever a kernel is expected, so its default number of
    components is chosen for that purpose.

    A subclass stores ``n_components`` and ``kernel`` and implements ``_fit``, which learns from a
    ``Sample`` and sets ``_n_features_out``, and ``_map``, the features of some new rows. This class
    reads X as the kernel needs it (arrays, sparse matrices, frames with categorical columns,
    objects, or with ``kernel="precomputed"`` the kernel matrix itself) and resolves the kernel.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with every recipe replaced by numbers.
    categories_ : mapping from position of a column to its levels
        For the categorical columns of a data frame.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of X, if it has names.
    """

    n_components: int | None
    _declared: ClassVar = {"n_components": integer(1)}
    #: Whether a sample of the rows is all that ``_fit`` needs.
    _streams: ClassVar[bool] = False

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

    @property
    def recipe(self) -> Kernel | None:
        """The kernel as an object, not resolved; None if X is its matrix."""
        return None if is_precomputed(self.kernel) else as_kernel(self.kernel)

    @property
    def approximated(self) -> Kernel | None:
        """The kernel k with ΦΦᵀ ≈ K of a fitted map; None if only its matrix is known."""
        return None if is_precomputed(self.kernel) else self.kernel_

    # --- what a subclass implements --------------------------------------------------------------
    def _fit(self, sample: Sample) -> np.ndarray | None:
        """Learn from the training rows; return their features if these cost nothing extra."""
        raise NotImplementedError

    def _prepare(self, training: Sample) -> None:
        """Request the rows that will be needed, if every visit reads a table again."""

    # --- what it inherits ------------------------------------------------------------------------
    def _learn(self, X: Any) -> np.ndarray | None:
        """Read the training rows, resolve the kernel on them, and fit."""
        check_parameters(self)
        self._forget()
        if is_streamed(X) and not self._streams:
            raise TypeError(
                f"{type(self).__name__} needs all rows in memory: for a table that is read a chunk "
                "at a time use NystroemMap or RandomFourier."
            )
        training = read_training(self, aligned(X, supervised=False)[0], self.kernel)
        if training.is_streamed:
            self._prepare(training)
        sample = training.resolved()
        warn_of_units(self, training)
        self._keep_kernel(sample)
        features = self._fit(sample)
        return None if features is None else features.astype(sample.dtype, copy=False)


def leading_eigenpairs(
    matrix: np.ndarray, n_components: int | None, cutoff: float
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues above ``cutoff`` times the largest, in falling order, and their eigenvectors.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Symmetric and positive semidefinite.
    n_components : int or None
        At most this many.
    cutoff : float
        Eigenvalues below this, relative to the largest, are rounding noise.

    Returns
    -------
    values : ndarray of shape (r,)
    vectors : ndarray of shape (n, r)

    Examples
    --------
    >>> leading_eigenpairs(np.diag([1.0, 0.0, 4.0]), None, 1e-12)[0]
    array([4., 1.])
    """
    size = matrix.shape[0]
    # threads gain little here, and those of BLAS stay busy for a while after their work
    with small_problems(size <= SMALL):
        if n_components is None or n_components >= size:
            values, vectors = linalg.eigh(matrix, driver="evd")  # the fastest for all of them
        else:
            values, vectors = linalg.eigh(matrix, subset_by_index=[size - n_components, size - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    require_positive(values[0])
    unseen = np.trace(matrix) - values.sum()  # sum of the eigenvalues that were not computed
    require_semidefinite(min(values[-1], unseen), values[0])
    kept = values > cutoff * values[0]
    return values[kept], vectors[:, kept]


def signs(columns: np.ndarray) -> np.ndarray:
    """+1 or -1 for each column, so that the first of its largest entries becomes positive.

    Examples
    --------
    >>> signs(np.array([[-1.0, 2.0], [1.0, 1.0]]))
    array([-1.,  1.])
    """
    sizes = np.abs(columns)
    first = (sizes >= (1.0 - EQUAL) * sizes.max(axis=0)).argmax(axis=0)
    return np.where(columns[first, np.arange(columns.shape[1])] < 0, -1.0, 1.0)


def loadings_of(pulled: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Regression coefficients of the columns on the features, of shape (width, k).

    Parameters
    ----------
    pulled : ndarray of shape (width, k)
        ΦᵀF, with F = ΦW the features.
    weights : ndarray of shape (width, k)
        W, so that FᵀF = WᵀΦᵀF.
    """
    inner = weights.T @ pulled
    return pulled @ linalg.pinvh((inner + inner.T) / 2)


def coordinate_names(estimator: Any) -> np.ndarray:
    """Names of the columns of ``components_``: numeric columns, then a column per level.

    Columns keep their names (x0, x1, … without names); a level is named "colour=red".
    """
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = numbered_columns(estimator.n_features_in_)
    names, categories = np.array(names, dtype=object), estimator.categories_
    if not categories:
        return names
    levels = [
        f"{names[column]}={level}" for column in sorted(categories) for level in categories[column]
    ]
    return np.append(np.delete(names, list(categories)), np.array(levels, dtype=object))


#: Eigenvalues that differ by less, relative to the largest, are equal.
TIE = 1e-9


def leading(matrix: np.ndarray, n_vectors: int) -> tuple[np.ndarray, np.ndarray]:
    """Largest eigenvalues of a symmetric matrix, in falling order, and their eigenvectors.

    Equal eigenvalues have no eigenvectors of their own, only a common space; its basis is chosen
    by the order of the coordinates, so that rounding errors do not choose it.

    Examples
    --------
    >>> leading(np.diag([1.0, 3.0, 2.0]), 2)[0]
    array([3., 2.])
    """
    size = matrix.shape[0]
    count = min(n_vectors, size)
    if count == 0:
        return np.empty(0), np.empty((size, 0))
    extra = min(count + 1, size)  # shows whether the last one wanted is one of equals
    values, vectors = linalg.eigh(matrix, subset_by_index=[size - extra, size - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    scale = max(abs(values[0]), abs(values[-1]))
    if extra > count and values[count - 1] - values[count] <= TIE * scale:
        values, vectors = linalg.eigh(matrix)
        values, vectors = values[::-1], vectors[:, ::-1]
        scale = max(abs(values[0]), abs(values[-1]))
    vectors = settle_ties(values, vectors, TIE * scale)
    return values[:count], vectors[:, :count]


def settle_ties(values: np.ndarray, vectors: np.ndarray, tolerance: float) -> np.ndarray:
    """Eigenvectors with the basis of every space of equal eigenvalues chosen by a fixed rule.

    Within such a space the basis is that of the eigenvectors of diag(s, …, 2, 1)/s, which gives
    earlier coordinates to earlier vectors.

    Parameters
    ----------
    values : ndarray of shape (n,)
        In falling order.
    vectors : ndarray of shape (s, n)
    tolerance : float
        Neighbours that differ by at most this are equal.
    """
    starts = np.flatnonzero(np.append(True, -np.diff(values) > tolerance))
    stops = np.append(starts[1:], len(values))
    if len(starts) == len(values):
        return vectors
    settled = vectors.copy()
    order = np.linspace(1.0, 0.0, vectors.shape[0], endpoint=False)[:, np.newaxis]
    for start, stop in zip(starts, stops, strict=True):
        if stop - start > 1:
            basis = vectors[:, start:stop]
            _, rotation = linalg.eigh(basis.T @ (order * basis))
            settled[:, start:stop] = basis @ rotation[:, ::-1]
    return settled
