"""Kernels over named columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from depmax._text import counted
from depmax.kernels.composite import multiplied_width, total_width
from depmax.kernels.kernel import Capabilities, Choose, Kernel, as_objects, resolved_on
from depmax.kernels.names import KernelLike, as_kernel

Positions = str | int | Sequence[str] | Sequence[int]
Part = tuple[str, KernelLike, Positions]


class Columns(Kernel):
    """A kernel per group of columns, multiplied or added.

    Parameters
    ----------
    parts : list of (name, kernel, columns)
        ``columns`` is one column or a list of them, by name (data frames) or by position.
        Columns that no part names are not compared.
    combine : {"multiply", "add"}, default="multiply"
        Multiplied, two rows are similar if they are similar in every part; added, if in some part.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.kernels import Columns, Delta, Gaussian
    >>> table = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0]])
    >>> kernel = Columns([("size", Gaussian(1.0), [0]), ("colour", Delta(), 1)])
    >>> kernel(table).round(3)
    array([[1.   , 0.   , 0.607],
           [0.   , 1.   , 0.   ],
           [0.607, 0.   , 1.   ]])
    """

    def __init__(
        self, parts: Sequence[Part], combine: Literal["multiply", "add"] = "multiply"
    ) -> None:
        self.parts = parts
        self.combine = combine

    # Nested parameters such as size__bandwidth, as in scikit-learn's composite estimators.
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this kernel and, if deep, of its parts under ``name__parameter``."""
        params: dict[str, Any] = {"parts": self.parts, "combine": self.combine}
        if deep:
            for name, kernel, _ in self.parts:
                if hasattr(kernel, "get_params"):
                    nested = kernel.get_params(deep=True)
                    params |= {f"{name}__{key}": value for key, value in nested.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this kernel or of its parts."""
        self.parts = params.pop("parts", self.parts)
        self.combine = params.pop("combine", self.combine)
        kernels = {name: kernel for name, kernel, _ in self.parts}
        for key, value in params.items():
            name, _, parameter = key.partition("__")
            if not parameter or not hasattr(kernels.get(name), "set_params"):
                raise ValueError(
                    f"Invalid parameter {key!r} for Columns: its parts are {sorted(kernels)}."
                )
            kernels[name].set_params(**{parameter: value})  # type: ignore[union-attr]  # names of kernels are resolved before
        return self

    @property
    def capabilities(self) -> Capabilities:
        """Vectors unless a part compares objects; sparse rows if every part keeps them."""
        parts = [kernel.capabilities for kernel, _ in self._kernels()]
        return Capabilities(
            vector_input=all(part.vector_input or part.labels for part in parts),
            sparse=all(part.sparse for part in parts),
        )

    @property
    def is_resolved(self) -> bool:
        """Whether every part is."""
        return all(kernel.is_resolved for kernel, _ in self._kernels())

    def resolve(
        self, X: Any, choose: Choose | None = None, mass: np.ndarray | None = None
    ) -> Kernel:
        """Copy with each part resolved on its own columns."""
        rows = self._read(X)
        resolved = [
            resolved_on(kernel, take(rows, where), choose, mass)
            for kernel, where in self._kernels()
        ]
        return self._with_kernels(resolved)

    def resolve_streamed(self, rows: Any) -> Kernel:
        """Copy with each part resolved on its own columns, which are read a chunk at a time."""
        resolved = [
            kernel.resolve_streamed(rows.column(as_list(where)))
            for kernel, where in self._kernels()
        ]
        return self._with_kernels(resolved)

    def bind(self, names: Sequence[str]) -> Kernel:
        """Copy that addresses its columns by position in ``names``."""
        known = {name: position for position, name in enumerate(names)}
        parts = []
        for name, kernel, columns in self.parts:
            selected = as_list(columns)
            missing = [
                column for column in selected if isinstance(column, str) and column not in known
            ]
            if missing:
                raise ValueError(
                    f"Part {name!r} of Columns names the columns {missing}, which X does not have: "
                    f"its columns are {list(names)}."
                )
            parts.append((name, kernel, [known.get(column, column) for column in selected]))
        return self._copy_with(parts=parts)

    def with_each(self, change: Callable[[Kernel, list[Any]], Kernel]) -> Kernel:
        """Copy in which ``change`` replaces the kernel of every part, given its columns."""
        return self._with_kernels([change(part, as_list(where)) for part, where in self._kernels()])

    def columns_on_one_scale(self, columns: Sequence[int]) -> list[list[int]]:
        """Groups of every part, and added columns whose part has no length scale of its own."""
        groups, added = [], []
        for kernel, where in self._kernels():
            own = [column for column in as_list(where) if column in columns]
            if len(own) > 1:
                groups += kernel.columns_on_one_scale(own)
            elif self.combine == "add" and not (
                kernel.capabilities.stationary or kernel.capabilities.labels
            ):
                added += own
        return [*groups, added] if added else groups

    @property
    def has_features(self) -> bool:
        """Whether every part has exact coordinates."""
        return all(kernel.has_features for kernel, _ in self._kernels())

    def n_coordinates(self, X: Any) -> int | None:
        """Coordinates of the parts, side by side or multiplied out if these are not too many."""
        if not self.has_features:
            return None
        row = self._read(X[:1])
        widths = [kernel.n_coordinates(take(row, where)) for kernel, where in self._kernels()]
        return total_width(widths) if self.combine == "add" else multiplied_width(widths)

    def features(self, X: Any) -> Any:
        """Coordinates of the parts, side by side (add) or multiplied out (multiply)."""
        rows = self._read(X)
        blocks = [kernel.features(take(rows, where)) for kernel, where in self._kernels()]
        if self.combine == "add":
            if any(sparse.issparse(block) for block in blocks):
                return sparse.hstack(blocks, format="csr")
            return np.hstack(blocks)
        dense = [block.toarray() if sparse.issparse(block) else block for block in blocks]
        return reduce(
            lambda left, right: (left[:, :, None] * right[:, None, :]).reshape(len(left), -1), dense
        )

    def _read(self, X: Any) -> Any:
        if hasattr(X, "columns"):
            return X
        return X.tocsc() if sparse.issparse(X) else np.asarray(X)

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        if X is Z:
            matrices = [kernel(take(X, where)) for kernel, where in self._kernels()]
        else:
            matrices = [kernel(take(X, where), take(Z, where)) for kernel, where in self._kernels()]
        return reduce(self._operation(), matrices)

    def _diag(self, X: Any) -> np.ndarray:
        diagonals = [kernel.diag(take(X, where)) for kernel, where in self._kernels()]
        return reduce(self._operation(), diagonals)

    def _operation(self) -> Any:
        if self.combine not in ("multiply", "add"):
            raise ValueError(
                f"combine of Columns must be 'multiply' or 'add', got {self.combine!r}."
            )
        return np.multiply if self.combine == "multiply" else np.add

    def _kernels(self) -> list[tuple[Kernel, Positions]]:
        if not self.parts or any(len(part) != 3 for part in self.parts):
            raise ValueError("Columns needs at least one part, each (name, kernel, columns).")
        names = [name for name, _, _ in self.parts]
        if len(set(names)) < len(names):
            raise ValueError(f"The parts of Columns need different names, got {names}.")
        return [(as_kernel(kernel), columns) for _, kernel, columns in self.parts]

    def _with_kernels(self, kernels: Sequence[Kernel]) -> Kernel:
        parts = [
            (name, kernel, columns)
            for (name, _, columns), kernel in zip(self.parts, kernels, strict=True)
        ]
        return self._copy_with(parts=parts)


def as_list(columns: Positions) -> list[Any]:
    """One column or several, as a list."""
    return [columns] if isinstance(columns, str | int | np.integer) else list(columns)


def take(X: Any, columns: Positions) -> Any:
    """Columns of a frame (by name or position), an array or a sparse matrix (by position)."""
    selected = as_list(columns)
    beyond = [column for column in selected if not isinstance(column, str) and column >= X.shape[1]]
    if beyond:
        raise ValueError(
            f"Columns names the positions {beyond}, but X has {counted(X.shape[1], 'column')}."
        )
    if not hasattr(X, "columns"):
        if any(isinstance(column, str) for column in selected):
            raise ValueError(
                f"The columns {selected} are named, but X is an array without names: "
                "pass a data frame, or positions."
            )
        return X[:, selected].tocsr() if sparse.issparse(X) else X[:, selected]
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True)
    missing = [
        column for column in selected if isinstance(column, str) and column not in frame.columns
    ]
    if missing:
        raise ValueError(
            f"Columns names {missing}, which X does not have: its columns are {frame.columns}."
        )
    positions = [
        frame.columns.index(column) if isinstance(column, str) else column for column in selected
    ]
    if len(positions) == 1:
        return as_objects(frame[:, positions[0]].to_numpy())[:, np.newaxis]
    return frame[:, positions].to_numpy()
