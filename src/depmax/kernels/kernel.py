"""The contract of a kernel: values, diagonal, estimated parameters, sums and products."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from depmax._arrays import count_integers, object_array
from depmax._text import counted

if TYPE_CHECKING:
    from depmax.kernels.composite import Product, Scaled, Sum

#: Picks one of several resolved candidates for the rows X (``bandwidth="maximize"``), or learns the
#: weights of a single one.
Choose = Callable[[Sequence["Kernel"], Any], "Kernel"]


@dataclass(frozen=True)
class Capabilities:
    """What a kernel can do, declared once so that no caller inspects its type."""

    #: Rows are numeric vectors; without it they are objects such as strings or graphs.
    vector_input: bool = True
    #: Rows are class labels of any type (the target kernels of classification).
    labels: bool = False
    #: k(x, z) depends on x - z only.
    stationary: bool = False
    #: k(x, z) is a function of ||x - z||² alone, which ``of_squares`` computes.
    radial: bool = False
    #: k(x, z) is a product of kernels of single features.
    factors_over_features: bool = False
    #: k(x, z) is a sum of kernels of single features.
    additive_over_features: bool = False
    #: Sums over sorted scalars telescope: k(a, c) = k(a, b) k(b, c) for a <= b <= c.
    telescopes: bool = False
    #: Kernels of single columns multiply, as exp(-sum/decay), or their rows are coordinates: the
    #: mean embedding of a column can stand in for a missing cell (``Neutral``).
    embeds_missing: bool = False
    #: NaN in a row is a missing cell.
    reads_missing: bool = False
    #: Sparse rows are used without making them dense.
    sparse: bool = False
    #: What ``resolve`` reads off rows belongs to their columns: other columns need another one.
    fits_columns: bool = False
    #: How categorical columns of a frame join in: a mismatch adds to the distance between two rows,
    #: or a match to the kernel; None refuses them.
    joins_categories: Literal["distance", "add"] | None = None
    #: Multiplying a column by a number changes nothing, or is the business of a part of the kernel.
    scale_free: bool = False
    #: Weights of its parts are learned from the target, which ``Choose`` asks ``learned`` for.
    learns_weights: bool = False
    #: k(x, z) = <x, z>: its features are the columns themselves.
    is_linear: bool = False

    def common(self, other: Capabilities) -> Capabilities:
        """What two kernels can both do."""
        joins = self.joins_categories if self.joins_categories == other.joins_categories else None
        return Capabilities(
            vector_input=self.vector_input and other.vector_input,
            labels=self.labels and other.labels,
            stationary=self.stationary and other.stationary,
            radial=self.radial and other.radial,
            factors_over_features=self.factors_over_features and other.factors_over_features,
            additive_over_features=self.additive_over_features and other.additive_over_features,
            telescopes=self.telescopes and other.telescopes,
            sparse=self.sparse and other.sparse,
            joins_categories=joins,
            fits_columns=self.fits_columns or other.fits_columns,
            scale_free=self.scale_free and other.scale_free,
            learns_weights=self.learns_weights or other.learns_weights,
        )


class Kernel(BaseEstimator):
    """A positive semidefinite similarity k(x, z) between two samples.

    A subclass implements ``_gram`` and ``_diag`` on validated rows, and declares what it can do in
    ``_capabilities``. Parameters that are estimated from data (a bandwidth named by a policy, class
    weights) make a kernel a *recipe*: ``resolve`` turns it into numbers.
    """

    _capabilities: ClassVar[Capabilities] = Capabilities()

    @property
    def capabilities(self) -> Capabilities:
        """What this kernel can do."""
        return self._capabilities

    @property
    def requires_vector_input(self) -> bool:
        """Whether rows are numeric vectors (the name scikit-learn's own kernels use)."""
        return self.capabilities.vector_input

    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        """Matrix of k(x, z) for the rows x of X and z of Z.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_features) or sequence of objects
        Z : the same, optional
            Defaults to X.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples_Z)
        """
        if not self.is_resolved:
            if Z is not None:
                raise ValueError(
                    f"{self!r} is a recipe: its numbers are estimated from data, so it cannot "
                    "compare two sets of rows. Call depmax.resolve(kernel, X) and use the result."
                )
            return self.resolve(X)(X)
        rows = self._read(X)
        others = rows if Z is None else self._read(Z)
        widths = np.shape(rows)[1:2], np.shape(others)[1:2]
        if self.requires_vector_input and widths[0] != widths[1]:
            raise ValueError(
                f"X has {counted(widths[0][0], 'column')} but Z has {widths[1][0]}: "
                f"{type(self).__name__} compares rows with the same columns."
            )
        return self._gram(rows, others)

    def diag(self, X: Any) -> np.ndarray:
        """Vector of k(x, x) for the rows x of X, of shape (n_samples,)."""
        if not self.is_resolved:
            return self.resolve(X).diag(X)
        return self._diag(self._read(X))

    @property
    def is_resolved(self) -> bool:
        """Whether every parameter is a number, so that any two sets of rows can be compared."""
        return True

    def resolve(
        self, X: Any, choose: Choose | None = None, mass: np.ndarray | None = None
    ) -> Kernel:
        """Copy of this kernel with every recipe replaced by numbers estimated from the rows X.

        Parameters
        ----------
        X : rows
        choose : callable, optional
            How ``bandwidth="maximize"`` chooses among candidates.
        mass : ndarray of shape (n_samples,), optional
            How many rows each row stands for: the result is that of X with its rows repeated.
        """
        return self

    def resolve_streamed(self, rows: Any) -> Kernel:
        """Copy with every recipe replaced by numbers, for rows that are read a chunk at a time.

        Bandwidths are estimated from a sample of the rows, the same one as for an array in memory.

        Parameters
        ----------
        rows : rows of a stream
            With ``example`` (a row like the others), ``sample()`` and, for labels, ``distinct``.
        """
        if self.is_resolved:
            return self.resolve(rows.example)
        if self.capabilities.fits_columns:
            raise TypeError(
                f"{type(self).__name__} keeps all rows it is resolved on, which is not possible "
                "for a table that is read a chunk at a time: resolve it on some rows in memory "
                "first, with depmax.resolve(kernel, X)."
            )
        return self.with_parts(
            lambda part: (
                part.resolve(rows.sample()) if part is self else part.resolve_streamed(rows)
            )
        )

    @property
    def follows_scale(self) -> bool:
        """Whether rescaled rows give the same kernel, because a policy adapts to their scale."""
        return self.capabilities.scale_free

    def columns_on_one_scale(self, columns: Sequence[int]) -> list[list[int]]:
        """Groups of numeric columns that are compared in one unit, of those at these positions."""
        return [] if self.capabilities.scale_free else [list(columns)]

    @property
    def has_features(self) -> bool:
        """Whether ``features`` gives exact coordinates with k(x, z) = <phi(x), phi(z)>."""
        return False

    def features(self, X: Any) -> Any:
        """Exact coordinates phi(x) of the rows of X (dense or sparse), if ``has_features``."""
        raise NotImplementedError(f"{type(self).__name__} has no finite exact feature map.")

    def n_coordinates(self, X: Any) -> int | None:
        """Number of exact coordinates of rows like X; None without any, or with far too many.

        Found without computing them if they multiply.
        """
        return int(self.features(X[:1]).shape[1]) if self.has_features else None

    @property
    def approximated(self) -> Kernel:
        """The kernel that this one stands in for: itself, unless it is a map's."""
        return self

    @property
    def mixing(self) -> np.ndarray | None:
        """W with ``features(X) = unmixed(X) @ W``, where features end in a product; else None."""
        return None

    def unmixed(self, X: Any) -> np.ndarray:
        """Features before their last product, where ``mixing`` is not None."""
        raise NotImplementedError(f"{type(self).__name__} has no features that end in a product.")

    def of_squares(self, squares: np.ndarray) -> np.ndarray:
        """Kernel values from squared distances of any shape, which may be overwritten."""
        raise NotImplementedError(f"{type(self).__name__} is not a function of the distance.")

    def bind(self, names: Sequence[str]) -> Kernel:
        """Copy that addresses columns by position instead of by name."""
        return self

    def with_parts(self, change: Callable[[Kernel], Kernel]) -> Kernel:
        """Copy in which ``change`` replaces every simple kernel that this one is made of."""
        return change(self)

    def counting(self, n_columns: int) -> Kernel:
        """Copy whose bandwidth is a number, if its policy needs only the number of columns.

        For rows that hold a column of the table as several numbers.
        """
        return self

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        raise NotImplementedError

    def _diag(self, X: Any) -> np.ndarray:
        raise NotImplementedError

    def _read(self, X: Any) -> Any:
        """Rows as the kernel computes on them: a float matrix, sparse rows, labels or objects."""
        if self.capabilities.labels or not self.requires_vector_input:
            rows = as_objects(X)
            if self.capabilities.labels and rows.ndim != 1:
                raise ValueError(
                    f"{type(self).__name__} compares single labels, but got {rows.shape[1]} "
                    "columns: use Columns with a part for each."
                )
            return rows
        if sparse.issparse(X):
            if not self.capabilities.sparse:
                raise TypeError(
                    f"{type(self).__name__} is not a function of inner products and needs dense "
                    "rows: pass X.toarray()."
                )
            return X.tocsr()
        return as_matrix(X, type(self).__name__)

    # --- algebra
    def __add__(self, other: Any) -> Sum:
        from depmax.kernels.composite import Sum
        from depmax.kernels.names import as_kernel

        if np.isscalar(other) and not isinstance(other, str):
            raise TypeError(
                "A constant added to a kernel changes no dependence measure: omit it. "
                "Polynomial(offset=...) has an offset that matters."
            )
        return Sum(self, as_kernel(other))

    def __radd__(self, other: Any) -> Sum:
        return self + other

    def __mul__(self, other: Any) -> Product | Scaled:
        from depmax.kernels.composite import Product, Scaled
        from depmax.kernels.names import as_kernel

        if np.isscalar(other) and not isinstance(other, str):
            return Scaled(self, float(other))  # type: ignore[arg-type]  # its type was looked at above
        return Product(self, as_kernel(other))

    def __rmul__(self, other: Any) -> Product | Scaled:
        return self * other

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Names of the parameters, looked up once: a search copies kernels in every round."""
        return super()._get_param_names()

    def _copy_with(self, **params: Any) -> Self:
        """Copy with some parameters replaced; nothing is validated or cloned."""
        return type(self)(**{**self.get_params(deep=False), **params})


def as_matrix(X: Any, owner: str) -> np.ndarray:
    """Two-dimensional float array; float32 is kept, a single column may be one-dimensional."""
    array = np.asarray(X)
    if array.dtype.kind not in "fiub":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{owner} compares numeric vectors, but X holds {array.dtype} values: encode them "
                "as numbers, or use a kernel for labels (Delta) or strings (Subsequence, Spectrum)."
            ) from error
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2:
        raise ValueError(f"{owner} needs rows and columns, but X has shape {array.shape}.")
    return array


def as_objects(X: Any) -> np.ndarray:
    """One-dimensional array of objects or labels from a list, an array or a one-column frame."""
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    if not isinstance(X, np.ndarray):
        items = list(X)
        plain = all(np.isscalar(item) for item in items)
        X = np.asarray(items) if plain else object_array(items)
    if X.ndim == 2 and X.shape[1] == 1:
        X = X[:, 0]
    return X


def resolved_on(
    kernel: Kernel, X: Any, choose: Choose | None = None, mass: np.ndarray | None = None
) -> Kernel:
    """The kernel resolved on rows X; masses are passed on only if there are any.

    So a user's own kernel whose ``resolve`` does not know about them works as long as there are
    none.
    """
    return kernel.resolve(X, choose) if mass is None else kernel.resolve(X, choose, mass)


#: Weights of classes by label.
ClassWeights = Mapping[Hashable, float]


def frequencies(labels: np.ndarray, mass: np.ndarray | None = None) -> dict[Hashable, float]:
    """Share of each label, in sorted order of the labels; a row counts as often as its mass says.

    Examples
    --------
    >>> frequencies(np.array(["b", "a", "b", "b"]))
    {'a': 0.25, 'b': 0.75}
    """
    if mass is None:
        values, counts = count_integers(labels) or np.unique(labels, return_counts=True)
    else:
        values, positions = np.unique(labels, return_inverse=True)
        counts = np.bincount(positions, weights=mass)
    return dict(zip(values.tolist(), (counts / counts.sum()).tolist(), strict=True))


def shares_of(rows: Any, kernel: Kernel) -> dict[Hashable, float]:
    """Share of each label of rows that are read a chunk at a time, in sorted order."""
    if rows.distinct is None:
        raise TypeError(
            f"{type(kernel).__name__} compares labels, but there are too many different ones to "
            "count in a table that is read a chunk at a time: merge rare ones."
        )
    values, counts = rows.distinct
    if counts is None:
        if not kernel.capabilities.labels or getattr(kernel, "weights", None) is not None:
            raise TypeError(
                f"{kernel!r} weights the levels of a column by how often they occur, which are not "
                "counted in a table that is read a chunk at a time: use Delta()."
            )
        counts = np.ones(len(values))
    return dict(zip(values.tolist(), (counts / counts.sum()).tolist(), strict=True))


#: Numbers of labels up to which comparing with each costs less than sorting the rows.
FEW_LABELS = 4


def lookup(labels: np.ndarray, weights: ClassWeights) -> np.ndarray:
    """Weight of each label; a label without a weight gets zero."""
    if len(weights) <= FEW_LABELS and labels.dtype.kind in "biuf":
        found = np.zeros(labels.shape)
        for label, weight in weights.items():
            found[labels == label] = weight
        return found
    values, positions = np.unique(labels, return_inverse=True)
    return np.array([weights.get(value, 0.0) for value in values.tolist()])[positions]
