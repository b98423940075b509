"""A search over units of columns under HSIC: the dependence of sets of columns, and its changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from depmax._resources import cached_property, map_threads
from depmax.data.sample import Sample
from depmax.dependence._terms import cosine, self_and_cross_terms, terms
from depmax.dependence.resolve import most_dependent
from depmax.kernels import Linear
from depmax.kernels.kernel import Kernel
from depmax.kernels.neutral import Gaps, Neutral, drawn
from depmax.maps.incomplete_cholesky import factor_to
from depmax.selection._search.changes import changes
from depmax.selection._search.data import KEPT, Change, Outcome, SearchData
from depmax.selection._search.units import Units

Result = TypeVar("Result")

#: Numbers of units.
Numbers = Sequence[int] | np.ndarray

#: Share of its trace that a factor of the target's kernel may lack, and its columns at most.
FACTOR_TOL, FACTOR_RANK = 1e-9, 64
#: Rows that a bandwidth is read off in every round, seeded.
RESOLVE_ROWS = 500
#: Candidates whose bandwidths are averaged in a forward round.
FORWARD_WIDTHS = 9


@dataclass(frozen=True)
class Search:
    """What a greedy search asks: HSIC of sets of units, on seeded random blocks of rows.

    One block is kept with all that was read off its pairs. Several keep what was read off their
    columns while that is little, and nothing of their pairs.
    """

    X: Any  # rows with the columns of the units
    units: Units
    target: Sample
    recipe: Kernel  # resolved for every set of columns
    blocks: Sequence[Any]  # row numbers of every block; of a single one slice(None)
    unbiased: bool
    dtype: np.dtype[Any]
    n_jobs: int | None

    # --- one set of columns

    def resolve(self, columns: np.ndarray, recipe: Kernel | None = None) -> Kernel:
        """The kernel for a set of columns, its bandwidth read off at most 500 rows."""
        recipe = self.recipe if recipe is None else recipe
        if recipe.is_resolved:
            return recipe.resolve(self.X[:1, columns])
        rows, sample = self._sample
        choose = partial(most_dependent, self.target.take(rows), warn=False)
        weight = None if self.target.weight is None else self.target.weight[rows]
        if len(rows) < self.X.shape[0] and recipe.capabilities.fits_columns:
            weight = np.ones(len(rows)) if weight is None else weight  # they stand for all rows
            weight = weight * (self.target.total / weight.sum())
        return recipe.resolve(sample[:, columns], choose, weight, self.n_inputs(columns))

    @cached_property
    def _sample(self) -> tuple[np.ndarray, Any]:
        """Numbers and values of the rows that bandwidths are read off."""
        m = self.X.shape[0]
        X = drawn(self.X) if len(self.units.cells) else self.X
        if m <= RESOLVE_ROWS:
            return np.arange(m), X
        rows = np.random.default_rng(0).choice(m, RESOLVE_ROWS, replace=False)
        return rows, X[rows]

    def n_inputs(self, columns: np.ndarray) -> int:
        """How many columns of the table some columns are made of."""
        return len(np.unique(self.units.owners[columns]))

    def columns(self, units: Numbers) -> np.ndarray:
        """All columns of some units."""
        return self.units.columns_of(units)

    def try_kernel(self, columns: np.ndarray) -> None:
        """Compare a few rows over these columns, so that what does not work fails at once."""
        self.resolve(columns)(self.X[:2][:, columns])

    def side(
        self,
        columns: np.ndarray,
        rows: np.ndarray,
        weight: np.ndarray | None = None,
        kernel: Kernel | None = None,
    ) -> Sample:
        """Some columns of rows with the kernel that is resolved for these columns."""
        kernel = kernel or self.resolve(columns)
        if len(self.units.cells):
            kernel = Neutral(kernel, Gaps.of(self.X, self.units.cells).among(columns))
        return Sample(kernel, rows[:, columns], weight=weight)

    def alignment(self, columns: np.ndarray, kernel: Kernel) -> float:
        """Centred alignment of some columns with the target: unbiased HSIC, at most 1.

        By at most 500 rows, which is enough to compare amounts.
        """
        numbers, _ = self._sample
        target = self.target.take(numbers)
        side = self.side(columns, self.X[numbers], target.weight, kernel)
        own, of_target, cross = self_and_cross_terms(side, target)
        return cosine(cross.hsic(), own.hsic(), of_target.hsic())

    # --- changes of a set of units

    def value(self, units: Numbers) -> float:
        """Dependence of a set of units."""
        return self._outcome(Change(self.columns(units), [], joins=False)).value

    def without_each(self, units: Numbers) -> tuple[float, np.ndarray]:
        """Dependence of a set of units, and of what is left without each of them."""
        columns = [self.units.columns[unit] for unit in units]
        outcome = self._outcome(Change(self.columns(units), columns, joins=False))
        return outcome.value, outcome.scores

    def with_each(self, units: Numbers, others: Numbers) -> np.ndarray:
        """Dependence of a set of units with each of some others."""
        columns = [self.units.columns[unit] for unit in others]
        return self._outcome(Change(self.columns(units), columns, joins=True)).scores

    def _outcome(self, change: Change) -> Outcome:
        """Dependence after every change, averaged over the blocks of rows."""
        if self.recipe.capabilities.fits_columns:  # a kernel of its own for each set of columns
            sets = [change.base, *(change.after(unit) for unit in change.units)]
            value, *scores = map_threads(self._with_own_kernel, sets, self.n_jobs)
            return Outcome(value, np.array(scores))
        kernel = self._kernel_of_candidates(change) if change.joins else self.resolve(change.base)
        columns = None
        if len(self.blocks) > 1 and not self._kept:
            columns = np.unique(np.concatenate([change.base, *change.units]))
            change = change.among(columns)
        parts = self.visit(lambda data: changes(data, kernel, change), columns)
        return Outcome(
            float(self.weights @ [part.value for part in parts]),
            self.weights @ np.array([part.scores for part in parts]),
            max(part.error for part in parts),
        )

    def _with_own_kernel(self, columns: np.ndarray) -> float:
        """Dependence of a set of columns, 0 of none."""
        if not len(columns):
            return 0.0
        side = Sample(self.resolve(columns), self.X[:, columns], weight=self.target.weight)
        if len(self.blocks) == 1:
            return terms(side, self.target, unbiased=self.unbiased).hsic()
        values = [
            terms(side.take(rows), self.target.take(rows), unbiased=self.unbiased).hsic()
            for rows in self.blocks
        ]
        return float(self.weights @ values)

    def _kernel_of_candidates(self, change: Change) -> Kernel:
        """One kernel for all units that may join: the middle one of those that a few give."""
        if self.recipe.is_resolved:
            return self.recipe
        count = len(change.units)
        places = np.linspace(0, count - 1, min(count, FORWARD_WIDTHS)).astype(int)
        kernels = [self.resolve(change.after(change.units[place])) for place in places]
        widths = [getattr(kernel, "bandwidth", 0.0) for kernel in kernels]
        return kernels[int(np.argsort(widths)[len(widths) // 2])]

    # --- blocks of rows

    @cached_property
    def weights(self) -> np.ndarray:
        """Share of every block in an average over rows."""
        weight = self.target.weight
        every = np.ones(self.target.n_samples) if weight is None else weight
        sizes = np.array([every[rows].sum() for rows in self.blocks])
        return sizes / sizes.sum()

    def visit(
        self, work: Callable[[SearchData], Result], columns: np.ndarray | None = None
    ) -> list[Result]:
        """Results of every block, in order; several blocks are shared out among threads.

        Several blocks are made of some ``columns`` only.
        """
        if len(self.blocks) == 1:
            return [work(self._kept[0])]

        def visit(place: int) -> Result:
            data = self._kept[place] if self._kept else self._data(self.blocks[place], columns)
            try:
                return work(data)
            finally:
                data.forget()

        _ = self._factored  # once, not in every thread
        return map_threads(visit, range(len(self.blocks)), self.n_jobs)

    @cached_property
    def _kept(self) -> list[SearchData]:
        """The whole, or all blocks with all columns while these are few."""
        if len(self.blocks) == 1:
            common = self.unbiased, self.dtype, self.n_jobs
            return [SearchData.of(self.X, self.target, *common, self.units.cells)]
        if np.prod(self.X.shape) > KEPT:
            return []
        return [self._data(rows, None) for rows in self.blocks]

    @cached_property
    def _factored(self) -> Sample:
        """The target through few coordinates if there are any, exact ones or a factor.

        Weights of pairs of rows are then products, made anew at each visit.
        """
        target = self.target
        if target.is_narrow or not (target.is_array and target.kernel.capabilities.radial):
            return target
        partial = factor_to(target, FACTOR_TOL, FACTOR_RANK)
        if partial.residual.sum() > FACTOR_TOL * partial.diagonal.sum():
            return target
        return Sample(Linear(), np.ascontiguousarray(partial.factor), weight=target.weight)

    def _data(self, rows: Any, columns: np.ndarray | None) -> SearchData:
        if columns is None:
            columns = np.arange(self.X.shape[1])
        whole = len(columns) == self.X.shape[1]
        X = self.X[rows] if whole else self.X[np.ix_(rows, columns)]
        cells = self.units.cells
        kept = [np.searchsorted(columns, c) for c in cells if np.isin(c, columns).all()]
        missing = [cell for cell in kept if np.isnan(X[:, cell[0]]).any()]  # here, not in some row
        return SearchData.of(X, self._factored.take(rows), self.unbiased, self.dtype, 1, missing)
