"""A search over units of columns under HSIC: the dependence of sets of units, and its changes.

Every unit that may leave or join is scored at once. ``FORMS`` lists the ways to do so, fastest
first; the first that takes a unit scores it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import comb
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from depmax._resources import cached_property, map_threads, slices
from depmax.data.sample import Sample
from depmax.dependence._terms import cosine, self_and_cross_terms, terms
from depmax.dependence.resolve import most_dependent
from depmax.kernels import Linear
from depmax.kernels.inner_products import Polynomial
from depmax.kernels.kernel import Kernel
from depmax.kernels.neutral import Gaps, Neutral, drawn
from depmax.maps.incomplete_cholesky import factor_to
from depmax.selection._search.data import KEPT, Change, Outcome, SearchData, Units
from depmax.selection._search.squares import gapped_changes, square_changes, takes_squares

# --- kernels that add over columns ----------------------------------------------------------------


def column_shares(data: SearchData) -> np.ndarray:
    """x_jᵀ M x_j of every column; sparse columns are kept sparse."""
    X, target = data.X, data.target
    if target.is_narrow and target.weight is None:
        return _from_coordinates(X, target.centred_coordinates(), data.unbiased)
    dense = None if sparse.issparse(X) else _centred(X)  # rows of M sum to 0
    shares = np.zeros(X.shape[1])
    for rows in data.strips():
        strip = data.strip(rows)
        if dense is None:
            products = X[rows.start :].T @ strip.T  # (n_features, rows of the strip)
            shares += np.asarray(X[rows].multiply(products.T).sum(axis=0)).ravel()
        else:
            shares += np.einsum("ij,ij->j", strip @ dense[rows.start :], dense[rows])
    return shares


def _from_coordinates(X: Any, psi: np.ndarray, unbiased: bool) -> np.ndarray:
    """Shares in O(m d r): squared covariances, less the diagonal for the unbiased estimate."""
    m = X.shape[0]
    squares = np.einsum("ij,ij->i", psi, psi)  # diagonal of L
    centred = None if sparse.issparse(X) else _centred(X)
    cross = X.T @ psi if centred is None else centred.T @ psi  # Ψ is centred
    inner = np.einsum("ij,ij->i", cross, cross)
    if not unbiased:
        return inner / (m - 1) ** 2
    if centred is None:
        means = np.asarray(X.mean(axis=0)).ravel()
        quadratic = X.multiply(X).T
        total = np.asarray(quadratic.sum(axis=1)).ravel() - m * means**2
        weighted = quadratic @ squares - 2 * means * (X.T @ squares) + means**2 * squares.sum()
    else:
        total = np.einsum("ij,ij->j", centred, centred)
        weighted = squares @ (centred * centred)
    # terms of centred coordinates: inner - Σkl, middle Σkl, outer Σk Σl
    value = inner - weighted * (1.0 + 2.0 / (m - 2)) + total * squares.sum() / ((m - 1) * (m - 2))
    return value / (m * (m - 3))


def _centred(X: np.ndarray) -> np.ndarray:
    """Columns less their means, which no share depends on, but its digits would."""
    return np.subtract(X, X.mean(axis=0, dtype=np.float64), dtype=np.float64)


def linear_changes(data: SearchData, kernel: Kernel, change: Change) -> Outcome:
    """Scores of every unit for the linear kernel."""
    shares = column_shares(data)
    value = float(shares[change.base].sum())
    changes = np.array([shares[unit].sum() for unit in change.units])
    return Outcome(value, value - change.sign * changes)


def polynomial_changes(data: SearchData, kernel: Any, change: Change) -> Outcome:
    """Scores of single columns for a polynomial kernel, exactly, with one product per degree.

    (G + c ∓ ab)^b is Σ_k C(b, k) (∓ab)^k (G + c)^{b-k}, so that a score is Σ_k C(b, k) (∓1)^k
    (x^k)ᵀ W_k x^k with W_k = M∘(G + c)^{b-k}.
    """
    degree, offset = int(kernel.degree), float(kernel.offset)
    base = np.asarray(data.X[:, change.base], dtype=np.float64)
    columns = np.asarray(data.X[:, np.concatenate(change.units)], dtype=np.float64)
    powers = [columns**k for k in range(1, degree + 1)]

    def work(rows: slice) -> np.ndarray:
        weights = data.strip(rows)
        products = base[rows] @ base[rows.start :].T + offset
        sums = np.full(1 + columns.shape[1], float(np.vdot(weights, products**degree)))
        for k, power in enumerate(powers, start=1):
            strip = weights * products ** (degree - k)
            squares = np.einsum("ij,ij->j", strip @ power[rows.start :], power[rows])
            sums[1:] += comb(degree, k) * (-change.sign) ** k * squares
        return sums

    return data.added(work)


# --- entry by entry -------------------------------------------------------------------------------

#: Columns of a tile of pairs, and pairs times units that are handled at once (half a megabyte).
TILE, BATCH = 512, 2**16
#: Squares below this share of the rows' squared lengths have lost too many digits.
CANCELLED = 1e-6
#: Part of the pairs of a tile from which on all are recomputed at once.
MANY_DOUBTFUL = 0.1
#: Numbers that a recomputation may gather at once.
GATHERED = 10**6


@dataclass(frozen=True)
class _Columns:
    """Columns about their medians, and the squared lengths of their rows."""

    values: np.ndarray  # shape (n_samples, n_columns)
    norms: np.ndarray  # shape (n_samples,)

    @classmethod
    def of(cls, values: np.ndarray) -> _Columns:
        """Centred by medians, so that one far row leaves the others' lengths alone."""
        if values.shape[1]:
            values = values - np.median(values, axis=0)
        return cls(values, np.einsum("ij,ij->i", values, values))

    def squares(self, rows: slice, others: slice) -> np.ndarray:
        """Squared distances of a tile by a matrix product; zero for equal rows."""
        squares = self.values[rows] @ self.values[others].T
        squares *= -2.0
        lengths = self.lengths(rows, others)
        squares += lengths
        _renew(squares, squares <= CANCELLED * lengths, self.values[rows], self.values[others])
        return squares

    def lengths(self, rows: slice, others: slice) -> np.ndarray:
        """Squared lengths of both rows of every pair, added."""
        return self.norms[rows, np.newaxis] + self.norms[np.newaxis, others]


def _renew(squares: np.ndarray, doubtful: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """Replace the squared distances of doubtful pairs by sums of squared differences."""
    if np.count_nonzero(doubtful) > MANY_DOUBTFUL * doubtful.size:  # rows that differ in one column
        np.copyto(squares, cdist(left, right, "sqeuclidean"), where=doubtful)
        return
    first, second = np.nonzero(doubtful)
    for part in slices(len(first), max(1, GATHERED // max(1, left.shape[1]))):
        differences = left[first[part]] - right[second[part]]
        squares[first[part], second[part]] = np.einsum("ij,ij->i", differences, differences)


def distance_changes(data: SearchData, kernel: Any, change: Change) -> Outcome:
    """Σ M k(D ∓ D_unit) for every unit, with k the kernel as a function of squared distances.

    The squared distances of the set are made once, a tile of pairs at a time; those of every
    changed set are found by taking a unit's squares away, or adding them. Where the difference of
    two nearly equal numbers would lose digits, the few pairs concerned are summed anew.
    """
    X = np.asarray(data.X, dtype=np.float64)
    base, n_units = _Columns.of(X[:, change.base]), len(change.units)
    single = bool(change.singles().all())
    if single:
        columns = np.ascontiguousarray(X[:, [int(unit[0]) for unit in change.units]].T)
    else:
        groups = [_Columns.of(X[:, unit]) for unit in change.units]

    def of_units(batch: slice, rows: slice, others: slice) -> np.ndarray:
        """Squared distances by some units, of shape (n_units, n_rows, n_others)."""
        if not single:
            return groups[batch.start].squares(rows, others)[np.newaxis]
        differences = columns[batch, rows, np.newaxis] - columns[batch, np.newaxis, others]
        return np.square(differences, out=differences)

    def work(rows: slice) -> np.ndarray:
        weights = data.strip(rows)
        sums = np.zeros(1 + n_units)
        for part in slices(weights.shape[1], TILE):
            others = slice(rows.start + part.start, rows.start + part.stop)
            flat = np.ascontiguousarray(weights[:, part]).ravel()
            squares = base.squares(rows, others)
            # equal rows stay equal without a unit, and a sum of squares loses no digits
            careful = (squares > 0) & (not change.joins)
            floor = np.where(careful, CANCELLED * base.lengths(rows, others), 0.0)
            sums[0] += flat @ kernel.of_squares(squares.copy()).ravel()
            for batch in slices(n_units, max(1, BATCH // squares.size) if single else 1):
                changed = of_units(batch, rows, others)
                changed *= -change.sign
                changed += squares
                for place in np.flatnonzero((changed < floor).any(axis=(1, 2))):
                    left = X[:, change.after(change.units[batch.start + place])]
                    _renew(changed[place], changed[place] < floor, left[rows], left[others])
                values = kernel.of_squares(changed)
                sums[1 + batch.start : 1 + batch.stop] += values.reshape(len(values), -1) @ flat
        return sums

    return data.added(work)


def plain_changes(data: SearchData, kernel: Kernel, change: Change) -> Outcome:
    """Scores of every unit from a kernel matrix of its own, in strips."""

    def dependence(columns: np.ndarray) -> float:
        if not len(columns):
            return 0.0
        rows_of, total = data.X[:, columns], 0.0
        for rows in data.strips():
            block = kernel(rows_of[rows], rows_of[rows.start :])
            np.fill_diagonal(block, kernel.diag(rows_of[rows]))  # free of rounding in distances
            total += float(np.vdot(data.strip(rows), block))
        return total

    sets = [change.base, *(change.after(unit) for unit in change.units)]
    value, *scores = data.over(dependence, sets)
    return Outcome(value, np.array(scores))


# --- all of them ----------------------------------------------------------------------------------


def _takes_all(data: SearchData, kernel: Kernel, change: Change) -> np.ndarray:
    return np.ones(len(change.units), dtype=bool)


def _takes_singles(data: SearchData, kernel: Kernel, change: Change) -> np.ndarray:
    return change.singles()


#: (suits, takes, score): whether a form is one of a kernel of these abilities, which units of a
#: change it takes, and their scores. Those of rows with missing cells are the ones that factor over
#: columns.
FORMS: list[tuple[Callable[..., bool], Callable[..., np.ndarray], Callable[..., Outcome]]] = [
    (lambda kernel, can: can.is_linear, _takes_all, linear_changes),
    (lambda kernel, can: type(kernel) is Polynomial, _takes_singles, polynomial_changes),
    (lambda kernel, can: can.factors_over_features, takes_squares, square_changes),
    (lambda kernel, can: can.radial, _takes_all, distance_changes),
]


def has_fast_form(kernel: Kernel) -> bool:
    """Whether some units are scored without a kernel matrix of their own."""
    return any(suits(kernel, kernel.capabilities) for suits, _, _ in FORMS)


def changes(data: SearchData, kernel: Kernel, change: Change) -> Outcome:
    """Dependence after each change, every unit by the first form that takes it."""
    can = kernel.capabilities
    forms = [(takes, score) for suits, takes, score in FORMS if suits(kernel, can)]
    forms.append((_takes_all, plain_changes))
    if len(data.cells):
        forms = [(takes_squares, square_changes), (_takes_all, gapped_changes)]
    if not len(change.units):  # the value alone
        forms = forms[-1:]
    scores, error, value = np.empty(len(change.units)), 0.0, None
    left = np.arange(len(change.units))
    for takes, score in forms:
        taken = takes(data, kernel, change.of(left))
        if taken.any() or score is forms[-1][1]:
            outcome = score(data, kernel, change.of(left[taken]))
            scores[left[taken]] = outcome.scores
            error = max(error, outcome.error)
            value = outcome.value if value is None else value
            left = left[~taken]
        if value is not None and not len(left):
            break
    assert value is not None
    return Outcome(value, scores, error)


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
