"""The contract of a kernel: values, diagonal, coordinates, and numbers estimated from rows.

Also here: how its rows are read, and which kernel an argument ``kernel=`` stands for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache, reduce
from inspect import Parameter, isclass, signature
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.extmath import safe_sparse_dot

from depmax._parameters import check_parameters
from depmax._text import counted

if TYPE_CHECKING:
    from depmax.kernels.composite import Product, Scaled, Sum

#: Whole numbers that lie within this are counted without sorting.
NEAR = 1000


@dataclass(frozen=True)
class Capabilities:
    """What a kernel can do, declared once so that no caller inspects its type."""

    #: Rows are numeric vectors; without it they are objects such as strings or graphs.
    vector_input: bool = True
    #: Rows are class labels of any type (the target kernels of classification).
    labels: bool = False
    #: Rows are (event, time): survival times, some of them censored.
    survival: bool = False
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
    "survival",
    "stationary",
    "radial",
    "factors_over_features",
    "additive_over_features",
    "reads_missing",
    "sparse",
    "scale_free",
)


@dataclass(frozen=True)
class Facts:
    """Rows that recipes are estimated from: in memory, or read a chunk at a time."""

    rows: Any
    choose: Choose | None = None
    weight: np.ndarray | None = None  # how many rows each row stands for; None: one
    n_columns: int | None = None  # of the table, where rows hold a column as several numbers
    distances: Callable[[Any], np.ndarray] | None = None  # of all pairs i < j of rows, if special

    @property
    def is_streamed(self) -> bool:
        """Whether rows are read a chunk at a time."""
        return bool(getattr(self.rows, "is_streamed", False))

    @property
    def sample(self) -> Any:
        """Rows that bandwidths are read off: of a stream some, the same as for an array."""
        return self.rows.sample() if self.is_streamed else self.rows

    def in_memory(self, kernel: Kernel) -> Any:
        """All rows, which a stream cannot give."""
        if self.is_streamed:
            raise TypeError(
                f"{type(kernel).__name__} keeps all rows it is resolved on, which is not possible "
                "for a table that is read a chunk at a time: resolve it on some rows in memory "
                "first, with depmax.resolve(kernel, X)."
            )
        return self.rows

    def resolve(self, part: Part) -> Kernel:
        """The kernel of a part, its recipe replaced by numbers read off its columns."""
        if part.columns is None:
            return part.kernel.resolve(self.rows, self.choose, self.weight, self.n_columns)
        if self.is_streamed:
            return part.kernel.resolve(self.rows.column(as_list(part.columns)), self.choose)
        return part.kernel.resolve(part.of(self.rows), self.choose, self.weight)


#: One column or several, by name or by position.
Positions = str | int | Sequence[str] | Sequence[int]
#: Levels by position of a column of codes.
Categories = Mapping[int, Sequence[Any]]
#: Picks one of several resolved candidates for the rows X (``bandwidth="maximize"``), or learns the
#: weights of a single one.
Choose = Callable[[Sequence["Kernel"], Any], "Kernel"]
#: Products of coordinates that are written down, at most; beyond, a kernel has none.
MOST_PRODUCTS = 4096


@dataclass(frozen=True)
class Part:
    """A kernel within another one."""

    kernel: Kernel
    columns: Positions | None = None  # that it compares; None: all
    weight: float = 1.0
    name: str = ""

    def of(self, X: Any) -> Any:
        """The columns of X that it compares."""
        return X if self.columns is None else take(X, self.columns)

    def gram(self, X: Any, Z: Any) -> np.ndarray:
        """Its values."""
        return self.kernel(self.of(X)) if X is Z else self.kernel(self.of(X), self.of(Z))

    def bound(self, names: Sequence[str], categories: Categories) -> Part:
        """With its columns by position, and the categories among them; labels stay as they are."""
        if self.columns is None:
            return replace(self, kernel=self.kernel.bind(names, categories))
        where = positions(self.columns, names, f"Part {self.name!r} of Columns")
        if self.kernel.capabilities.labels:
            return replace(self, columns=where)
        own = {place: categories[c] for place, c in enumerate(where) if c in categories}
        kernel = self.kernel.bind([names[column] for column in where], own)
        return replace(self, kernel=kernel, columns=where)


@dataclass(frozen=True)
class Parts:
    """The kernels that one is made of, how their values combine, and how to make it of others."""

    items: Sequence[Part]
    rebuild: Callable[[Sequence[Part]], Kernel]
    combine: Literal["add", "multiply"] | None = None  # None: its values are another function
    take_categories: bool = True  # whether parts may become kernels of tables with categories

    @classmethod
    def inner(cls, owner: Any, part: Part, **how: Any) -> Parts:
        """A single one, the parameter ``kernel`` of its owner."""
        return cls([part], lambda parts: owner._copy_with(kernel=parts[0].kernel), **how)

    def with_kernels(self, change: Callable[[Part], Kernel]) -> Kernel:
        """The whole with other kernels."""
        return self.rebuild([replace(part, kernel=change(part)) for part in self.items])

    def combined(self, values: Callable[[Part], np.ndarray]) -> np.ndarray:
        """Weighted sum, or product, of values of all parts."""
        if self.combine == "multiply":
            return reduce(np.multiply, map(values, self.items))
        weighted = (
            values(part) if part.weight == 1.0 else part.weight * values(part)
            for part in self.counting
        )
        return reduce(np.add, weighted)

    def n_coordinates(self, X: Any) -> int | None:
        """Coordinates of all parts together, None if there are more than can be kept."""
        widths = [part.kernel.n_coordinates(part.of(X[:1])) for part in self.counting]
        known = [width for width in widths if width is not None]
        total = sum(known) if self.combine == "add" else prod(known)  # whole numbers of any size
        few = self.combine == "add" or total <= MOST_PRODUCTS
        return total if few and len(known) == len(widths) else None

    def features(self, X: Any) -> Any:
        """Coordinates of all parts, side by side, or all products of one of each."""
        blocks = [part.kernel.features(part.of(X)) for part in self.counting]
        if self.combine == "multiply":
            dense = [block.toarray() if sparse.issparse(block) else block for block in blocks]
            return reduce(
                lambda a, b: (a[:, :, np.newaxis] * b[:, np.newaxis, :]).reshape(len(a), -1), dense
            )
        blocks = [
            block if part.weight == 1.0 else block * np.sqrt(part.weight)
            for block, part in zip(blocks, self.counting, strict=True)
        ]
        if any(sparse.issparse(block) for block in blocks):
            return sparse.hstack(blocks, format="csr")
        return np.hstack(blocks)

    @property
    def counting(self) -> list[Part]:
        """Parts whose weight is not zero."""
        return [part for part in self.items if part.weight > 0]


def as_list(columns: Positions) -> list[Any]:
    """One column or several, as a list."""
    return [columns] if isinstance(columns, str | int | np.integer) else list(columns)


def positions(columns: Positions, names: Sequence[str], owner: str = "Columns") -> list[int]:
    """Where columns are among those of these names."""
    selected, known = as_list(columns), {name: place for place, name in enumerate(names)}
    missing = [column for column in selected if isinstance(column, str) and column not in known]
    if missing:
        raise ValueError(
            f"{owner} names the columns {missing}, which X does not have: its columns are "
            f"{list(names)}."
        )
    return _existing([known.get(column, column) for column in selected], len(names))


def take(X: Any, columns: Positions) -> Any:
    """Columns of a frame (by name or position), an array or a sparse matrix (by position)."""
    if hasattr(X, "columns"):
        import narwhals.stable.v2 as nw

        frame = nw.from_native(X, eager_only=True)
        where = positions(columns, frame.columns)
        if len(where) == 1:
            return frame[:, where[0]].to_numpy()[:, np.newaxis]
        return frame[:, where].to_numpy()
    selected = as_list(columns)
    if any(isinstance(column, str) for column in selected):
        raise ValueError(
            f"The columns {selected} are named, but X is an array without names: "
            "pass a data frame, or positions."
        )
    if sparse.issparse(X):
        return X.tocsc()[:, _existing(selected, X.shape[1])].tocsr()
    X = np.asarray(X)
    return X[:, _existing(selected, X.shape[1])]


def _existing(where: list[int], n_columns: int) -> list[int]:
    beyond = [column for column in where if column >= n_columns]
    if beyond:
        raise ValueError(
            f"Columns names the positions {beyond}, but X has {counted(n_columns, 'column')}."
        )
    return where


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

        if np.isscalar(other) and not isinstance(other, str):
            raise TypeError(
                "A constant added to a kernel changes no dependence measure: omit it. "
                "Polynomial(offset=...) has an offset that matters."
            )
        return Sum(self, as_kernel(other))

    def __mul__(self, other: Any) -> Product | Scaled:
        from depmax.kernels.composite import Product, Scaled

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


# --- rows as kernels compute on them --------------------------------------------------------------
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


def object_array(items: list[Any]) -> np.ndarray:
    """One-dimensional array whose entries are the items, even if these are sequences.

    Examples
    --------
    >>> object_array([[1, 2], [3, 4]]).shape
    (2,)
    """
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def count_distinct(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values, sorted, and the rows of each; of whole numbers in one pass."""
    if values.dtype.kind != "i" or not values.size:
        return np.unique(values, return_counts=True)
    low, high = int(values.min()), int(values.max())
    if high - low >= NEAR:
        return np.unique(values, return_counts=True)
    found = np.flatnonzero(counts := np.bincount(np.subtract(values, low, dtype=np.intp)))
    return (found + low).astype(values.dtype), counts[found]


# --- kernels by other names -----------------------------------------------------------------------
#: Names that scikit-learn and others use for kernels of ours.
ELSEWHERE = {
    "rbf": "gaussian",
    "squared_exponential": "gaussian",
    "poly": "polynomial",
    "laplacian": "laplace",
    "energy": "distance",
}
#: A kernel, a short name, one of scikit-learn's kernels, a function, or a transformer.
KernelLike = Kernel | str | Callable[..., Any]
#: Bases, and kernels that compare nothing until they are given a matrix or columns.
WITHOUT_NAME = {"Kernel", "BandwidthKernel", "Mixed", "Precomputed"}


@cache
def short_names() -> dict[str, type[Kernel]]:
    """Every kernel of the package that constructs without arguments, by its short name.

    Examples
    --------
    >>> short_names()["inverse_multiquadric"].__name__, short_names()["ridge"].__name__
    ('InverseMultiquadric', 'RidgeKernel')
    """
    from depmax import kernels as package

    found: dict[str, type[Kernel]] = {}
    for name in sorted(set(package.__all__) - WITHOUT_NAME):
        part = getattr(package, name)
        if isclass(part) and issubclass(part, Kernel):
            defaults = [each.default for each in signature(part).parameters.values()]
            words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
            if Parameter.empty not in defaults:
                found[words.removesuffix("_kernel")] = part
    return found


def as_kernel(kernel: Any) -> Kernel:
    """Kernel from a kernel, a short name, a scikit-learn kernel, a function or a transformer.

    Parameters
    ----------
    kernel : Kernel, str, Gaussian-process kernel of scikit-learn, callable or transformer
        A callable takes two sets of rows and returns a matrix. A transformer (any map) stands for
        the inner product of its output.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> from depmax.kernels import as_kernel
    >>> as_kernel("gaussian")
    Gaussian()
    """
    if isinstance(kernel, str):
        known = short_names()
        if kernel not in known:
            alias = ELSEWHERE.get(kernel.lower())
            near = [alias] if alias else get_close_matches(kernel, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"Unknown kernel {kernel!r}.{hint} Known names: {', '.join(sorted(known))}; "
                "or pass a kernel object from depmax.kernels."
            )
        return known[kernel]()
    if isinstance(kernel, type):
        raise TypeError(f"Pass a kernel object, {kernel.__name__}(), not the class.")
    if hasattr(kernel, "resolve") and hasattr(kernel, "diag"):
        return kernel
    from depmax.kernels.adapters import FromFunction, FromMap, FromScikitLearn

    if hasattr(kernel, "transform") and hasattr(kernel, "fit"):
        return FromMap(kernel)
    if hasattr(kernel, "is_stationary") and hasattr(kernel, "diag"):
        return FromScikitLearn(kernel)
    if callable(kernel):
        return FromFunction(kernel)
    raise TypeError(
        f"A kernel is a name, an object from depmax.kernels, a scikit-learn kernel, a function or "
        f"a transformer, not {kernel!r}."
    )


def refuse_parameters_of_names(estimator: Any, params: Mapping[str, Any]) -> None:
    """Refuse ``kernel__bandwidth`` where the kernel is a name, which has no parameters."""
    for key in params:
        owner, _, nested = key.partition("__")
        kernel = params.get(owner, getattr(estimator, owner, None))
        if nested and owner.endswith("kernel") and isinstance(kernel, str):
            raise ValueError(
                f"{key!r} cannot be set, since {owner}={kernel!r} is a name: pass the kernel as an "
                f"object, e.g. {owner}=Gaussian() from depmax.kernels."
            )


def is_precomputed(kernel: Any) -> bool:
    """Whether X is the kernel matrix itself."""
    return isinstance(kernel, str) and kernel == "precomputed"


def abilities_of(kernel: KernelLike) -> Capabilities:
    """What the kernel declares; ``fit`` is where a wrong one is refused."""
    if is_precomputed(kernel):
        return Capabilities()
    try:
        return as_kernel(kernel).capabilities
    except (TypeError, ValueError):
        return Capabilities()
