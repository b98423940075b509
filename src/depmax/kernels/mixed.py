"""A kernel for a table with categorical columns, from a kernel for its numeric ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from depmax.kernels.base import Kernel
from depmax.kernels.columns import Columns
from depmax.kernels.delta import Delta


def join_categories(
    kernel: Kernel, categorical: Collection[int], n_features: int, names: Sequence[str]
) -> Kernel:
    """``kernel`` on the numeric columns joined with ``Delta`` on each categorical one.

    Kernels that factor over features multiply, kernels that add over features add; a kernel that
    does neither is refused by name. ``Columns`` already says which column goes where.
    """
    if not categorical or not names_needed(kernel):
        return kernel
    joins = kernel.capabilities.joins_categories
    if joins is None:
        raise TypeError(
            f"{type(kernel).__name__} cannot compare the categorical column "
            f"{names[min(categorical)]!r}: use Gaussian or Laplace (multiplied by Delta), Linear "
            "(one-hot), Columns with a kernel for each column, or encode the column as numbers."
        )
    numeric = [column for column in range(n_features) if column not in categorical]
    parts: list[tuple[str, Kernel, list[int]]] = [
        (str(names[column]), Delta(), [column]) for column in sorted(categorical)
    ]
    if numeric:
        parts.insert(0, ("numeric", kernel, numeric))
    return Columns(parts, combine=joins)


def names_needed(kernel: Kernel) -> bool:
    """Whether the kernel treats all columns alike, so that categorical ones need a kernel."""
    return not hasattr(kernel, "parts")
