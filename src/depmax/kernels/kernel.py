"""The contract of a kernel: values, diagonal, coordinates, and numbers estimated from rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.extmath import safe_sparse_dot

from depmax._parameters import check_parameters
from depmax._text import counted
from depmax.kernels._parts import Categories, Choose, Facts, Parts, as_list, as_matrix, as_objects

if TYPE_CHECKING:
    from depmax.kernels.composite import Product, Scaled, Sum


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
    #: or a match to the kernel; "own": the kernel says itself which they are; None refuses them.
    joins_categories: Literal["distance", "add", "own"] | None = None
    #: Multiplying a column by a number changes nothing, or is the business of a part of the kernel.
    scale_free: bool = False
    #: Weights of its parts are learned from the target, which ``Choose`` asks ``learned`` for.
    learns_weights: bool = False
    #: k(x, z) = <x, z>: its features are the columns themselves.
    is_linear: bool = False

    def common(self, other: Capabilities) -> Capabilities:
        """What two kernels can both do, but for what any combination spoils."""
        joins = self.joins_categories if self.joins_categories == other.joins_categories else None
        return Capabilities(
            **{name: getattr(self, name) and getattr(other, name) for name in SHARED},
            joins_categories=joins,
            fits_columns=self.fits_columns or other.fits_columns,
            learns_weights=self.learns_weights or other.learns_weights,
        )


#: What a combination of kernels can do if all of them can.
SHARED = (
    "vector_input",
    "labels",
    "stationary",
    "radial",
    "factors_over_features",
    "additive_over_features",
    "reads_missing",
    "sparse",
    "scale_free",
)


class Kernel(BaseEstimator):
    """A positive semidefinite similarity k(x, z) between two samples.

    A subclass implements ``_gram`` and ``_diag`` on rows as ``_read`` returns them, or if it has
    exact coordinates only ``features``; it declares what it can do in ``_capabilities``, and what
    its parameters may be in ``_declared``. Parameters that are estimated from data (a bandwidth
    named by a policy, class weights) make a kernel a *recipe*, which ``_estimated`` turns into
    numbers; ``_recipe`` names them. A kernel that is made of others lists them in ``_parts``.
    """

    _capabilities: ClassVar[Capabilities] = Capabilities()
    #: Parameters that are None, or a name, until ``_estimated`` finds numbers for them.
    _recipe: ClassVar[tuple[str, ...]] = ()

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
        check_parameters(self)
        rows = self._read(X)
        others = rows if Z is None else self._read(Z)
        widths = np.shape(rows)[1:2], np.shape(others)[1:2]
        if widths[0] != widths[1] and self.requires_vector_input:
            raise ValueError(
                f"X has {counted(widths[0][0], 'column')} but Z has {widths[1][0]}: "
                f"{type(self).__name__} compares rows with the same columns."
            )
        return self._gram(rows, others)

    def diag(self, X: Any) -> np.ndarray:
        """Vector of k(x, x) for the rows x of X, of shape (n_samples,)."""
        if not self.is_resolved:
            return self.resolve(X).diag(X)
        check_parameters(self)
        return self._diag(self._read(X))

    # --- numbers from data -----------------------------------------------------------------------
    @property
    def is_resolved(self) -> bool:
        """Whether every parameter is a number, so that any two sets of rows can be compared."""
        values = [getattr(self, name) for name in self._recipe]
        if any(value is None or isinstance(value, str) for value in values):
            return False
        return all(part.kernel.is_resolved for part in self._parts.items)

    def resolve(
        self,
        X: Any,
        choose: Choose | None = None,
        sample_weight: np.ndarray | None = None,
        n_columns: int | None = None,
    ) -> Kernel:
        """Copy of this kernel with every recipe replaced by numbers estimated from the rows X.

        Parameters
        ----------
        X : rows in memory, or rows that are read a chunk at a time
            Of these, bandwidths are estimated from a sample, the same one as for an array.
        choose : callable, optional
            How ``bandwidth="maximize"`` chooses among candidates.
        sample_weight : ndarray of shape (n_samples,), optional
            How many rows each row stands for: the result is that of X with its rows repeated.
        n_columns : int, optional
            Columns of the table, if X holds some of them as several numbers.
        """
        check_parameters(self)
        return self._estimated(Facts(X, choose, sample_weight, n_columns))

    def bind(self, names: Sequence[str], categories: Categories | None = None) -> Kernel:
        """Copy for a table: columns by position instead of by name, and categories compared.

        Every simple kernel that it is made of joins categories in its own way: kernels of distances
        become ``Mixed``, kernels that add over features add ``Delta`` (the inner product of
        indicators); a kernel that does neither raises an error that names it.

        Parameters
        ----------
        names : sequence of str
            Names of all columns.
        categories : mapping from position of a column to its levels, optional
            Columns that hold codes of levels.
        """
        if self.capabilities.joins_categories == "own":
            return self
        if self._parts.items and (self._parts.take_categories or not categories):
            bound = [part.bound(names, categories or {}) for part in self._parts.items]
            return self._parts.rebuild(bound)
        if not categories:
            return self
        from depmax.kernels.mixed import join_categories

        return join_categories(self, categories, names)

    # --- scales of columns -----------------------------------------------------------------------
    @property
    def follows_scale(self) -> bool:
        """Whether rescaled rows give the same kernel, because a policy adapts to their scale."""
        parts = self._parts.items
        inner = bool(parts) and all(part.kernel.follows_scale for part in parts)
        return inner or self.capabilities.scale_free

    def columns_on_one_scale(self, columns: Sequence[int]) -> list[list[int]]:
        """Groups of numeric columns that are compared in one unit, of those at these positions.

        Those of every part, and added columns whose part has no length scale of its own.
        """
        if self.capabilities.scale_free:
            return []
        if not self._parts.items:
            return [list(columns)]
        groups: list[list[int]] = []
        added: list[int] = []
        for part in self._parts.items:
            own = columns
            if part.columns is not None:
                own = [column for column in as_list(part.columns) if column in columns]
            able = part.kernel.capabilities
            if part.columns is None or len(own) > 1:
                groups += part.kernel.columns_on_one_scale(own)
            elif self._parts.combine == "add" and not (able.stationary or able.labels):
                added += own
        return [*groups, added] if added else groups

    # --- coordinates -----------------------------------------------------------------------------
    @property
    def has_features(self) -> bool:
        """Whether ``features`` gives exact coordinates with k(x, z) = <phi(x), phi(z)>."""
        return type(self).features is not Kernel.features and self.is_resolved

    def features(self, X: Any) -> Any:
        """Exact coordinates phi(x) of the rows of X (dense or sparse), if ``has_features``."""
        raise NotImplementedError(f"{type(self).__name__} has no finite exact feature map.")

    def n_coordinates(self, X: Any) -> int | None:
        """Number of exact coordinates of rows like X; None without any, or with far too many.

        Found without computing them if they multiply.
        """
        if not self.has_features:
            return None
        if self._parts.combine is not None:
            return self._parts.n_coordinates(X)
        return self._known_width or int(self.features(X[:1]).shape[1])

    @property
    def _known_width(self) -> int | None:
        """Number of coordinates, where no row is needed to tell."""
        return None

    @property
    def approximated(self) -> Kernel:
        """The kernel that this one stands in for: itself, unless maps are part of it."""
        if all(part.kernel.approximated is part.kernel for part in self._parts.items):
            return self
        return self._parts.with_kernels(lambda part: part.kernel.approximated)

    @property
    def mixing(self) -> np.ndarray | None:
        """W with ``features(X) = unmixed(X) @ W``, where features end in a product; else None."""
        return None

    @property
    def unmixed(self) -> Callable[[Any], np.ndarray]:
        """Features before their last product, where ``mixing`` is not None."""
        return self.features

    def of_squares(self, squares: np.ndarray) -> np.ndarray:
        """Kernel values from squared distances of any shape, which may be overwritten."""
        raise NotImplementedError(f"{type(self).__name__} is not a function of the distance.")

    # --- what a subclass says --------------------------------------------------------------------
    @property
    def _parts(self) -> Parts:
        """The kernels that this one is made of."""
        return Parts((), lambda parts: self)

    def _estimated(self, facts: Facts) -> Kernel:
        """Copy with every recipe replaced by numbers."""
        return self._parts.with_kernels(facts.resolve) if self._parts.items else self

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        """Values k(x, z) of rows as ``_read`` returns them: inner products of features."""
        left = self.features(X)
        right = left if X is Z else self.features(Z)
        return safe_sparse_dot(left, right.T, dense_output=True)

    def _diag(self, X: Any) -> np.ndarray:
        """Values k(x, x) of such rows."""
        rows = self.features(X)
        squares = rows.multiply(rows) if sparse.issparse(rows) else rows**2
        return np.asarray(squares.sum(axis=1)).ravel()

    def _read(self, X: Any) -> Any:
        """Rows as the kernel computes on them: a float matrix, sparse rows, labels or objects."""
        able = self.capabilities
        if able.labels or not able.vector_input:
            rows = as_objects(X)
            if able.labels and rows.ndim != 1:
                raise ValueError(
                    f"{type(self).__name__} compares single labels, but got {rows.shape[1]} "
                    "columns: use Columns with a part for each."
                )
            return rows
        if sparse.issparse(X):
            if not able.sparse:
                raise TypeError(
                    f"{type(self).__name__} is not a function of inner products and needs dense "
                    "rows: pass X.toarray()."
                )
            return X.tocsr()
        return as_matrix(X, type(self).__name__)

    # --- algebra ---------------------------------------------------------------------------------
    def __add__(self, other: Any) -> Sum:
        from depmax.kernels.composite import Sum
        from depmax.kernels.names import as_kernel

        if np.isscalar(other) and not isinstance(other, str):
            raise TypeError(
                "A constant added to a kernel changes no dependence measure: omit it. "
                "Polynomial(offset=...) has an offset that matters."
            )
        return Sum(self, as_kernel(other))

    def __mul__(self, other: Any) -> Product | Scaled:
        from depmax.kernels.composite import Product, Scaled
        from depmax.kernels.names import as_kernel

        if np.isscalar(other) and not isinstance(other, str):
            return Scaled(self, float(other))  # type: ignore[arg-type]  # its type was looked at above
        return Product(self, as_kernel(other))

    __radd__, __rmul__ = __add__, __mul__

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Names of the parameters, looked up once: a search copies kernels in every round."""
        return super()._get_param_names()

    def _copy_with(self, **params: Any) -> Self:
        """Copy with some parameters replaced; nothing is validated or cloned."""
        return type(self)(**{**self.get_params(deep=False), **params})
