"""The target of a neural extractor: a factor of its kernel matrix, and which rows have one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from depmax._inputs import Target, read_target
from depmax.kernels import KernelLike, as_kernel
from depmax.kernels.kernel import Kernel
from depmax.maps._pivots import factor_to
from depmax.samples import Sample, kernel_of_target

#: Trace of L - ΨΨᵀ, relative to that of L, at which pivots suffice.
PRECISION = 1e-6


@dataclass(frozen=True)
class LabelledTarget:
    """Coordinates Ψ of the targets, L = ΨΨᵀ, of the rows that have one."""

    rows: np.ndarray  # positions of the labelled rows, shape (n_labelled,)
    factor: np.ndarray  # Ψ, shape (n_labelled, r)
    kernel: Kernel
    n_samples: int

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a label."""
        return self.n_samples - len(self.rows)


def read_labelled(
    y: Any,
    target_kernel: KernelLike | Literal["auto"],
    *,
    minus_one: bool,
) -> LabelledTarget:
    """Target of the rows that are not NaN or None, nor -1 among classes if ``minus_one``."""
    target = read_target(y, semi=True, minus_one=minus_one)
    rows = np.flatnonzero(target.labelled)
    if len(rows) == 0:
        raise ValueError("y labels no row: at least four labelled rows are needed.")
    known = Target(target.kind, target.values[rows], np.ones(len(rows), dtype=bool))
    _require_two_values(known)
    auto = isinstance(target_kernel, str) and target_kernel == "auto"
    recipe = kernel_of_target(known) if auto else as_kernel(target_kernel)
    values = known.labels if recipe.capabilities.labels else known.vectors
    kernel = recipe.resolve(values)
    return LabelledTarget(rows, _factor(Sample(kernel, values)), kernel, target.n_samples)


def _factor(side: Sample) -> np.ndarray:
    width = side.n_coordinates
    if width is not None and width <= side.n_samples:
        return side.centred_coordinates()
    factor = np.asarray(factor_to(side, PRECISION).factor)
    centred: np.ndarray = factor - factor.mean(axis=0)
    return centred


def _require_two_values(target: Target) -> None:
    if (target.values == target.values[0]).all():
        raise ValueError(
            f"y has one class only or is constant ({target.values[0]!r}): nothing can depend on a "
            "constant. At least two values are needed."
        )
