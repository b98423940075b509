"""The target as extractors see it: rows with a kernel, and which rows of X have one."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from depmax.algebra.form import target_factor
from depmax.data.reading import Labels
from depmax.data.sample import Sample

if TYPE_CHECKING:
    from depmax.extraction._fitting.targets import CodedTarget

#: The limit of methods all of whose components may carry dependence.
EVERY = sys.maxsize


@dataclass(frozen=True)
class Answer:
    """The target of the labelled rows, with its kernel resolved."""

    sample: Sample
    labelled: np.ndarray | None = None  # which rows of X these are, shape (n_rows,); None: all
    n_skipped: int = 0  # rows without a label that a stream does not visit
    #: Largest number of components that carry dependence; None: as many as Ψ has columns.
    limit: int | None = None
    coded: CodedTarget | None = None  # as numbers, for methods that regress it
    more: Any = None  # what a reader wants its method to know

    @classmethod
    def of(cls, labels: Labels, **more: Any) -> Answer:
        """That of labels."""
        return cls(labels.side, labels.labelled, labels.n_skipped, **more)

    @property
    def n_rows(self) -> int:
        """Number of rows, labelled or not, that are visited."""
        return self.sample.n_samples if self.labelled is None else len(self.labelled)

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a label."""
        return self.n_rows - self.sample.n_samples + self.n_skipped

    @cached_property
    def factor(self) -> Any:
        """Ψ with ΨΨᵀ = HLH, of the labelled rows: an array, or what makes it part by part."""
        return target_factor(self.sample)

    @property
    def carriers(self) -> int:
        """Number of components that may carry dependence."""
        return int(self.factor.shape[1]) if self.limit is None else self.limit

    def of_labelled_rows(self) -> Answer:
        """The same for a table of the labelled rows alone."""
        return replace(self, labelled=None)
