"""What a score is: a function of columns and target, and the targets it can be asked about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from depmax._inputs import Target, TargetKind, read_target
from depmax._inputs.table import Categories
from depmax.kernels import Kernel, KernelLike, Linear
from depmax.samples import Sample, read_target_sample

#: Kinds of target that are, or can be written as, columns of numbers.
EVERY_KIND: frozenset[TargetKind] = frozenset({"classes", "numbers", "multilabel", "multioutput"})
CLASSES: frozenset[TargetKind] = frozenset({"classes"})

_WORDS: dict[TargetKind, str] = {
    "classes": "classes",
    "numbers": "numbers",
    "multilabel": "several labels per row",
    "multioutput": "several columns of numbers",
}


@dataclass(frozen=True)
class Question:
    """Columns, the target, and the options of the filter."""

    X: Any  # ndarray or CSR matrix
    y: Any  # as the user gave it
    categories: Categories = field(default_factory=dict)
    kernel: KernelLike = "laplace"
    target_kernel: KernelLike = "auto"
    alpha: float = 1.0
    n_jobs: int | None = None
    names: Sequence[str] | None = None  # of the columns, if they have any

    def label(self, column: int) -> str:
        """A column as messages call it."""
        return str(column) if self.names is None else repr(str(self.names[column]))

    @cached_property
    def target(self) -> Target:
        """The target by its type."""
        return read_target(self.y)

    @cached_property
    def side(self) -> Sample:
        """The target with its kernel, which may read y in its own way."""
        return read_target_sample(self.y, self.target_kernel)


@dataclass(frozen=True)
class Scored:
    """One score per column, larger is better, and p-values where the score has them."""

    scores: np.ndarray
    pvalues: np.ndarray | None = None


@dataclass(frozen=True)
class Score:
    """A score by name, and what it can be asked about."""

    name: str
    answer: Callable[[Question], Scored]
    kinds: frozenset[TargetKind] = EVERY_KIND
    two_classes: bool = False  # no more than two
    categories: bool = False  # categorical columns are compared by equality
    target_kernel: bool = False  # y is read by its kernel, which decides what it takes
    in_units: bool = False  # scores are in units of the columns
    kernel: bool = False  # a kernel of a column decides whether they are
    normalised: bool = False  # a factor of the kernel makes no difference

    def accepts(self, target: Target) -> bool:
        """Whether the score has a meaning for this type of target."""
        if target.kind not in self.kinds:
            return False
        return not self.two_classes or len(target.classes) == 2

    def compared_by(self, kernel: Kernel) -> Kernel | None:
        """Kernel through which columns in different units are compared; None if they are not."""
        if self.in_units:
            return Linear()
        factor_only = self.normalised and kernel.capabilities.additive_over_features
        return kernel if self.kernel and not factor_only else None

    def describe(self) -> str:
        """What the target must be."""
        if self.two_classes:
            return "two classes"
        return "classes" if self.kinds == CLASSES else "any target"


def describe(target: Target) -> str:
    """What a target is, in words."""
    if target.kind == "classes":
        return f"{len(target.classes)} classes"
    return _WORDS[target.kind]
