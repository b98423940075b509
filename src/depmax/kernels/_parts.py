"""What a kernel is made of, and the rows that its numbers are estimated from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

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
