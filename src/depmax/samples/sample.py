"""One side of a dependence measure: rows with a resolved kernel, as tiles or as coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from depmax._inputs import Target, column_names, read_objects, read_table, read_target
from depmax.kernels import KernelLike, Precomputed, as_kernel
from depmax.kernels.base import Choose, Kernel
from depmax.kernels.mixed import join_categories
from depmax.kernels.scales import warn_of_scales
from depmax.samples import chunk_rows, slices


@dataclass(frozen=True)
class Sample:
    """Rows and a resolved kernel, with exact coordinates where the kernel has them."""

    kernel: Kernel
    rows: Any  # matrix, CSR matrix, labels or objects: whatever the kernel reads
    n_samples: int

    @property
    def n_coordinates(self) -> int | None:
        """Columns D of the exact map Φ with K = ΦΦᵀ, or None if the kernel has no such map."""
        if not self.kernel.has_features:
            return None
        return int(self.kernel.features(self.rows[:1]).shape[1])

    @property
    def is_array(self) -> bool:
        """Whether rows are numbers in memory, which threads may read at the same time."""
        return isinstance(self.rows, np.ndarray) and self.rows.dtype.kind == "f"

    @property
    def is_narrow(self) -> bool:
        """Whether coordinates are cheaper than the Gram matrix."""
        width = self.n_coordinates
        return width is not None and width <= max(1, self.n_samples // 2)

    def coordinates(self, rows: slice | np.ndarray) -> Any:
        """Exact coordinates of some rows, dense or sparse."""
        return self.kernel.features(self.rows[rows])

    def centred_coordinates(self) -> np.ndarray:
        """Exact coordinates of all rows, dense, in float64, with mean zero."""
        phi = self.coordinates(slice(None))
        phi = phi.toarray() if sparse.issparse(phi) else phi
        phi = np.asarray(phi, dtype=np.float64)
        return phi - phi.mean(axis=0)

    def tile(self, rows: slice | np.ndarray, columns: slice | np.ndarray) -> np.ndarray:
        """Kernel values of some rows against others, in float64."""
        if rows is columns:
            return self.kernel(self.rows[rows]).astype(np.float64, copy=False)
        return self.kernel(self.rows[rows], self.rows[columns]).astype(np.float64, copy=False)

    def gram(self) -> np.ndarray:
        """The whole kernel matrix."""
        everything = slice(None)
        return self.tile(everything, everything)

    def diag(self) -> np.ndarray:
        """k(x, x) of every row."""
        return self.kernel.diag(self.rows).astype(np.float64, copy=False)

    def take(self, indices: np.ndarray) -> Sample:
        """The same kernel on some of the rows."""
        return Sample(self.kernel, self.rows[indices], len(indices))

    def blocks(self) -> list[slice]:
        """Slices of rows whose coordinates fit in one chunk."""
        return list(slices(self.n_samples, chunk_rows(self.n_coordinates or 1)))


def read_side(
    X: Any,
    kernel: KernelLike,
    *,
    choose: Choose | None = None,
    name: str = "X",
    scale_free: bool = False,
) -> Sample:
    """Rows X read as the kernel needs them, and the kernel resolved on them.

    ``scale_free`` says that the columns' units do not matter to what is made of the side.
    """
    if isinstance(kernel, str) and kernel == "precomputed":
        return _precomputed_side(X, name)
    recipe = as_kernel(kernel)
    if not recipe.requires_vector_input:
        rows = read_objects(X, name)
        recipe = recipe.bind(column_names(X))
    else:
        table = read_table(X, name=name)
        rows = table.values
        names = table.names or tuple(str(column) for column in range(rows.shape[1]))
        if not scale_free:
            warn_of_scales(recipe.bind(names), rows, table.names, table.categories)
        recipe = join_categories(recipe.bind(names), table.categories, rows.shape[1], names)
    return Sample(recipe.resolve(rows, choose), rows, rows.shape[0])


def read_target_side(
    y: Any, target_kernel: KernelLike | Literal["auto"], *, choose: Choose | None = None
) -> Sample:
    """Target y read by its type, with the kernel that suits it or the one given."""
    if isinstance(target_kernel, str) and target_kernel == "precomputed":
        return _precomputed_side(y, "y")
    recipe = None if _is_auto(target_kernel) else as_kernel(target_kernel)
    if recipe is not None and reads_objects(recipe):
        rows = read_objects(y, "y")
        return Sample(recipe.resolve(rows, choose), rows, rows.shape[0])
    return side_of_target(read_target(y), target_kernel, choose=choose)


def side_of_target(
    target: Target, target_kernel: KernelLike | Literal["auto"], *, choose: Choose | None = None
) -> Sample:
    """Sample of a target that is read already, for a kernel of labels or of vectors."""
    recipe = kernel_of_target(target) if _is_auto(target_kernel) else as_kernel(target_kernel)
    rows = target.labels if recipe.capabilities.labels else target.vectors
    return Sample(recipe.resolve(rows, choose), rows, rows.shape[0])


def reads_objects(kernel: Kernel) -> bool:
    """Whether a kernel of targets reads neither labels nor vectors, but strings or row numbers."""
    return not kernel.requires_vector_input and not kernel.capabilities.labels


def _is_auto(target_kernel: KernelLike) -> bool:
    return isinstance(target_kernel, str) and target_kernel == "auto"


def kernel_of_target(target: Target) -> Kernel:
    """The kernel that ``target_kernel="auto"`` chooses for the type of a target."""
    if target.kind == "classes":
        n_classes = len(target.classes)
        if n_classes < 2:
            raise ValueError(
                f"y has one class only ({target.classes.tolist()[0]!r}): nothing can depend on a "
                "constant. At least two classes are needed."
            )
        return as_kernel("class_balanced") if n_classes == 2 else _balanced_delta()
    return as_kernel("linear" if target.kind == "multilabel" else "gaussian")


def _balanced_delta() -> Kernel:
    from depmax.kernels import Delta

    return Delta(weights="balanced")


def _precomputed_side(matrix: Any, name: str) -> Sample:
    values = read_table(matrix, name=name).values
    if values.shape[0] != values.shape[1]:
        raise ValueError(
            f"With a precomputed kernel {name} is the square kernel matrix, got {values.shape}."
        )
    numbers = np.arange(values.shape[0])
    return Sample(Precomputed(values).resolve(numbers), numbers, len(numbers))


def read_pair(
    X: Any, Y: Any, kernel: KernelLike, target_kernel: KernelLike | Literal["auto"]
) -> tuple[Sample, Sample]:
    """Both sides of a measure, of equal length, with ``"maximize"`` resolved on the target."""
    from depmax.dependence.resolve import maximizer

    y_side = read_target_side(Y, target_kernel, choose=None)
    x_side = read_side(X, kernel, choose=maximizer(y_side))
    require_equal_length(x_side.n_samples, y_side.n_samples)
    return x_side, y_side


def require_equal_length(n_x: int, n_y: int) -> None:
    """Refuse X and y with different numbers of rows."""
    if n_x != n_y:
        raise ValueError(f"X and y have inconsistent numbers of samples: {n_x} rows against {n_y}.")
