"""Rows of a search in one piece, or in random blocks whose estimates are averaged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from depmax._threads import map_threads
from depmax.dependence._terms import terms
from depmax.samples import Sample
from depmax.selection._search.changes import Problem
from depmax.selection._search.weights import TargetWeights

Result = TypeVar("Result")


@dataclass(frozen=True)
class Blocks:
    """Problems of a search, one per block of rows, made when they are visited.

    One block is kept with all it has read off its rows; several are made anew at each visit, so
    that memory does not grow with the number of rows.
    """

    X: Any
    target: Sample
    rows: Sequence[Any]  # row numbers of every block; of a single one slice(None)
    unbiased: bool
    dtype: np.dtype[Any]
    n_jobs: int | None

    @classmethod
    def of(
        cls,
        X: Any,
        target: Sample,
        block_size: int | None,
        unbiased: bool,
        precision: Callable[[int], np.dtype[Any]],
        n_jobs: int | None,
    ) -> Blocks:
        """Seeded random blocks of about ``block_size`` rows; None is one block of all rows."""
        m = target.n_samples
        rows: Sequence[Any] = [slice(None)]
        if block_size is not None and block_size < m:
            order = np.random.default_rng(0).permutation(m)
            rows = np.array_split(order, m // block_size)
        entries = m * min(m, block_size or m)
        return cls(X, target, rows, unbiased, precision(entries), n_jobs)

    def visit(self, work: Callable[[Problem], Result]) -> list[Result]:
        """Results of every block, in order; several blocks are shared out among threads."""
        if len(self.rows) == 1:
            return [work(self._whole)]
        return map_threads(lambda rows: self._visit(work, rows), self.rows, self.n_jobs)

    def _visit(self, work: Callable[[Problem], Result], rows: Any) -> Result:
        problem = self._problem(rows)
        try:
            return work(problem)
        finally:
            problem.forget()

    def dependence(self, side: Sample) -> float:
        """HSIC of a side of its own with the target, averaged over the blocks."""
        if len(self.rows) == 1:
            return terms(side, self.target, unbiased=self.unbiased).hsic()
        values = [
            terms(side.take(rows), self.target.take(rows), unbiased=self.unbiased).hsic()
            for rows in self.rows
        ]
        return float(self.weights @ values)

    @property
    def weights(self) -> np.ndarray:
        """Share of every block in an average over rows."""
        every = np.arange(self.target.n_samples)
        sizes = np.array([len(every[rows]) for rows in self.rows], dtype=np.float64)
        return sizes / sizes.sum()

    @cached_property
    def _whole(self) -> Problem:
        weights = TargetWeights.of(self.target, self.unbiased)
        return Problem(self.X, weights, self.dtype, self.n_jobs)

    def _problem(self, rows: Any) -> Problem:
        weights = TargetWeights.of(self.target.take(rows), self.unbiased)
        return Problem(self.X[rows], weights, self.dtype, 1)
