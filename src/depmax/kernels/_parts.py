"""What a kernel is made of, and the rows that its numbers are estimated from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from depmax._arrays import object_array
from depmax._text import counted

if TYPE_CHECKING:
    from depmax.kernels.kernel import Kernel

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
            return as_objects(frame[:, where[0]].to_numpy())[:, np.newaxis]
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
