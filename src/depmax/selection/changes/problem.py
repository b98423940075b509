"""What a search looks at: columns, weights of pairs of rows, and one change of the columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from depmax._threads import map_threads
from depmax.selection.weights import TargetWeights

Part = TypeVar("Part")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Problem:
    """Rows to search over and the weights that the target gives to pairs of them."""

    X: Any  # (n_samples, n_features), dense or sparse
    weights: TargetWeights
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))
    n_jobs: int | None = None

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        """Some columns as a dense contiguous matrix in the precision of the search."""
        return np.ascontiguousarray(self.X[:, chosen], dtype=self.dtype)

    def over(self, work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
        """Results of independent parts, in order."""
        return map_threads(work, parts, self.n_jobs)


@dataclass(frozen=True)
class Change:
    """Units (single columns or groups) that leave a set of columns, or join it, one at a time."""

    base: np.ndarray  # columns of the set before the change
    units: Sequence[np.ndarray]  # columns of each candidate
    joins: bool  # whether a unit joins the set (forward) or leaves it (backward)

    @property
    def sign(self) -> int:
        """Sign of a unit's squared distances in the exponent of a kernel that factors."""
        return -1 if self.joins else 1

    @property
    def is_single(self) -> bool:
        """Whether every unit is one column."""
        return all(len(unit) == 1 for unit in self.units)

    def after(self, unit: np.ndarray) -> np.ndarray:
        """The set after the change."""
        if self.joins:
            return np.concatenate([self.base, unit])
        return self.base[~np.isin(self.base, unit)]


@dataclass(frozen=True)
class Outcome:
    """Dependence before any change, after each one, and a bound on the error of the latter."""

    value: float
    scores: np.ndarray
    error: float = 0.0
