"""What a score of columns is asked, what it answers, and what it can be asked about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from depmax._resources import cached_property
from depmax.data import Target, read_target
from depmax.data.columns import Categories
from depmax.data.sample import Sample, read_target_sample
from depmax.data.table import is_streamed
from depmax.kernels import Kernel, Linear
from depmax.selection._scores.moments import ColumnMoments, column_moments


@dataclass(frozen=True)
class Question:
    """Columns, the target, and the filter with its options."""

    X: Any  # ndarray, CSR matrix, or rows that are read a chunk at a time
    y: Any  # as the user gave it
    categories: Categories
    options: Any  # the filter: kernel, target_kernel, alpha, missing, n_jobs
    groups: Any = None  # of rows that are not independent
    weight: np.ndarray | None = None  # how many rows each stands for

    @property
    def is_streamed(self) -> bool:
        """Whether rows are read a chunk at a time."""
        return is_streamed(self.X)

    def label(self, column: int) -> str:
        """A column as messages call it."""
        names = getattr(self.options, "feature_names_in_", None)
        return str(column) if names is None else repr(str(names[column]))

    @cached_property
    def target(self) -> Target:
        """The target by its type."""
        return read_target(self.y).weighed(self.weight)

    @cached_property
    def side(self) -> Sample:
        """The target with its kernel, which may read y in its own way."""
        return read_target_sample(self.y, self.options.target_kernel, weight=self.weight)

    @cached_property
    def moments(self) -> ColumnMoments:
        """Moments of the columns beside the target."""
        return column_moments(self.X, self.target, self.weight)


@dataclass(frozen=True)
class Scored:
    """One score per column, larger is better, and what else is known of columns."""

    scores: np.ndarray
    pvalues: np.ndarray | None = None
    effects: np.ndarray | None = None  # shares with their intervals, of shape (n_features, 3)
    constant: np.ndarray | None = None  # which columns are, where the score has looked


@dataclass(frozen=True)
class Score:
    """A score by name, and what it can be asked about."""

    name: str
    answer: Callable[[Question], Scored]
    target: Literal["any target", "classes", "two classes"] = "any target"
    categories: bool = False  # categorical columns are compared by equality
    missing: bool = False  # missing cells are used
    target_kernel: bool = False  # y is read by its kernel, which decides what it takes
    in_units: bool = False  # scores are in units of the columns
    kernel: bool = False  # a kernel of a column decides whether they are
    outputs_in_units: bool = False  # several outputs are compared as they are
    normalised: bool = False  # a factor of the kernel makes no difference
    weights: bool = False  # takes weights of rows
    pairs: bool = False  # all pairs or ranks of rows are needed, or the whole table is passed on

    def accepts(self, target: Target) -> bool:
        """Whether the score has a meaning for this type of target."""
        if self.target == "any target":
            return True
        any_number = self.target == "classes"
        return target.kind == "classes" and (any_number or len(target.classes) == 2)

    def compared_by(self, kernel: Kernel) -> Kernel | None:
        """Kernel through which columns in different units are compared; None if they are not."""
        if self.in_units:
            return Linear()
        factor_only = self.normalised and kernel.capabilities.additive_over_features
        return kernel if self.kernel and not factor_only else None
