"""Rows that an elimination has not seen, predicted by the sets on its path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from depmax.selection._ridge.problem import Regression, RidgeProblem


@dataclass(frozen=True)
class HeldOut:
    """Rows that a search has not seen, and how well each of its sets predicts them."""

    X: np.ndarray
    truth: np.ndarray  # images, about the mean and in units of the spread of the other rows
    losses: dict[frozenset[int], np.ndarray]  # units of a set: squared error of every row

    @classmethod
    def of(cls, problem: RidgeProblem, train: np.ndarray, held_out: np.ndarray) -> HeldOut:
        """No unit at all predicts the mean."""
        centre = problem.images[train].mean(axis=0)
        spread = np.sqrt(np.sum((problem.images[train] - centre) ** 2) / len(train))
        truth = (problem.images[held_out] - centre) / spread
        return cls(problem.X[held_out], truth, {frozenset(): np.sum(truth**2, axis=1)})

    def judge(self, active: Sequence[int], regression: Regression, errors: np.ndarray) -> None:
        """Predict by a set, with the penalty of its least leave-one-out error."""
        penalty = float(regression.problem.penalties[errors.argmin()])
        left = self.truth - regression.predict(self.X, penalty)
        self.losses[frozenset(active)] = np.sum(left**2, axis=1)

    def along(self, order: np.ndarray) -> dict[int, np.ndarray]:
        """Errors of the sets that an order begins with, by their number of units."""
        sets = {count: frozenset(order[:count].tolist()) for count in range(len(order) + 1)}
        return {count: self.losses[each] for count, each in sets.items() if each in self.losses}
