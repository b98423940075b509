"""Targets of which some rows may be unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from depmax._inputs import Target, read_objects, read_target
from depmax._inputs.objects import is_missing
from depmax.kernels import KernelLike, as_kernel
from depmax.samples.reading import is_precomputed, read_target_sample, reads_objects, target_sample
from depmax.samples.sample import Sample


@dataclass(frozen=True)
class Labels:
    """The target on the labelled rows, and which rows these are."""

    side: Sample
    labelled: np.ndarray | None = None  # shape (n_rows,); None: all
    n_skipped: int = 0  # rows without a label that a stream does not visit

    @property
    def n_rows(self) -> int:
        """Number of rows, labelled or not, that are visited."""
        return self.side.n_samples if self.labelled is None else len(self.labelled)

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a label."""
        return self.n_rows - self.side.n_samples + self.n_skipped


def read_labels(
    y: Any,
    target_kernel: KernelLike | Literal["auto"],
    *,
    minus_one: bool,
    mass: np.ndarray | None = None,
) -> Labels:
    """Target in which NaN and None mark unlabelled rows, and -1 among classes if ``minus_one``."""
    if is_precomputed(target_kernel):
        return Labels(read_target_sample(y, target_kernel, mass=mass))
    if not isinstance(target_kernel, str) and reads_objects(as_kernel(target_kernel)):
        return _read_objects(y, as_kernel(target_kernel), minus_one=minus_one, mass=mass)
    target = read_target(y, semi=True, minus_one=minus_one)
    if target.is_streamed:
        return Labels(target_sample(target, target_kernel), n_skipped=target.n_unlabeled)
    if target.n_unlabeled == 0:
        return Labels(target_sample(target, target_kernel, mass=mass))
    _require_some(target.labelled)
    values = target.values[target.labelled]
    known = Target(target.kind, values, np.ones(len(values), dtype=bool))
    if known.kind == "classes" and len(known.classes) < 2:
        raise ValueError(
            f"The labelled rows of y have one class only ({known.classes.tolist()[0]!r}): nothing "
            "can depend on a constant. At least two classes need a labelled row."
        )
    mass = None if mass is None else mass[target.labelled]
    return Labels(target_sample(known, target_kernel, mass=mass), target.labelled)


def _read_objects(y: Any, recipe: Any, *, minus_one: bool, mass: np.ndarray | None) -> Labels:
    """Targets that are strings, row numbers or other objects."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    rows = read_objects(y, "y")
    missing = np.array([is_missing(row) for row in rows], dtype=bool)
    if minus_one and rows.dtype.kind in "iuf" and not np.isin(rows[~missing], (-1, 1)).all():
        missing |= rows == -1
    if not missing.any():
        return Labels(Sample(recipe, rows, mass=mass).resolved())
    _require_some(~missing)
    known = rows[~missing]
    if known.dtype.kind == "f" and (known == np.rint(known)).all():
        known = known.astype(np.intp)  # row numbers, which gaps had made floats
    mass = None if mass is None else mass[~missing]
    return Labels(Sample(recipe, known, mass=mass).resolved(), ~missing)


def _require_some(labelled: np.ndarray) -> None:
    if not labelled.any():
        raise ValueError(
            f"y has no labelled rows: all {len(labelled)} are missing. Label some rows, or use an "
            "unsupervised method such as PCA."
        )
