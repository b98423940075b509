"""Backward elimination under kernel ridge regression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import _safe_indexing

from depmax import _resources
from depmax._parameters import FLAG, integer, number, one_of
from depmax._resources import map_threads, warn_if_long
from depmax.data import read_target
from depmax.data.columns import Categories, Missing
from depmax.data.sample import read_target_sample, require_samples
from depmax.data.table import require_equal_length, some_rows
from depmax.dependence.exchange import exchange_of, scheme_of
from depmax.kernels import Gaussian, Kernel
from depmax.selection._kernel_ridge import (
    LANDMARKS,
    Regression,
    RidgeProblem,
    all_columns,
    coordinates,
)
from depmax.selection._scores import images_of, standardized, target_images
from depmax.selection._search.data import Units, make_units, n_leading
from depmax.selection._search.how_many import split_rows, sufficient
from depmax.selection._search.protection import FAR_SIGHTED, LEVEL, Observed
from depmax.selection._search.selectors import UnitSelector, informative_first
from depmax.selection.selector import Ranking

#: From so many units on, one leaves at a time,
EXACT_FROM = 24
#: the best of so many whose loss costs least to first order, by the penalised error without each.
CANDIDATES = 4

#: Told of every set that is reached: its units, its regression and the leave-one-out errors.
Watch = Callable[[Sequence[int], Regression, np.ndarray], None]
#: Folds on which n_features_to_select="auto" compares numbers of columns,
FOLDS = 3
#: and the rows that it needs and uses at most.
LEAST_ROWS, ROWS_FOR_NUMBER = 20, 2000
#: Significant pairs that count at most.
PAIRS = 20
#: Time of one core for a row, a landmark, an output and a set of columns.
SECONDS_PER_VALUE = 2.5e-9
#: Seconds for a column, and for each of its cells, in all rounds.
SECONDS_PER_COLUMN, SECONDS_PER_CELL = 1.2e-3, 3e-6
#: Up to so many landmarks several threads of BLAS would only wait for each other.
SMALL = 500


@dataclass(eq=False, repr=False)
class KernelRidgeElimination(UnitSelector):
    """Backward elimination: drop the columns that kernel ridge regression can do without.

    HSIC rewards five copies of one good column; a regression does not. Each round asks what the
    remaining columns say about the target *together*: a column that others can replace is dropped,
    one that matters only jointly with others (XOR) stays. The penalised error of the regression,
    which is the conditional covariance of the target given the columns, is kept small. While there
    are many columns, a round drops those whose loss costs least to first order; the last 24 are
    dropped one by one: of the four whose loss costs least to first order, the one without which
    the error is least.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default=None
        A number, a share, half (None), or "auto": the fewest columns that lose at most 2% of
        the largest gain over predicting the mean, on held-out rows (three folds). If none predicts
        significantly better than the mean, the best column is kept, with a
        :class:`depmax.NoDependenceWarning`.
    target_kernel : {"auto", "inputs"}, default="auto"
        "auto" predicts y. "inputs" is unsupervised: the columns from which all columns are
        predicted best, each counting the same, are kept; y is not needed. Unlike
        ``BAHSIC(target_kernel="inputs")`` it keeps no copies.
    alpha : float or "auto", default="auto"
        Penalty ε of the regression per row. "auto": the search averages over 0.0001, 0.001 and
        0.01, and ``path_`` and ``error_`` use the smallest leave-one-out error for each set.
    step : float or int, default=0.1
        Share of the remaining columns (or groups), or their number, to drop in a round while more
        than 24 are left.
    column_groups : sequence of n_features labels, optional
        Columns that are kept or dropped together, as in :class:`BAHSIC`.
    interactions : {"auto", None}, default="auto"
        With more than ten columns the kernel is almost linear and may lose columns that matter in
        another way, or only together. "auto" tries a second search that begins with the columns
        whose dependence is significant, alone (:func:`depmax.screen`) or in a pair
        (:func:`depmax.screen_pairs`, at most 20 pairs, in at most 10,000 rows), and takes it if its
        sets have the lower leave-one-out errors. None searches once, among all columns.
    scale : bool, default=True
        Whether to divide each column by its standard deviation first, so that units do not matter.
        Otherwise columns are weighted by their variances.
    n_landmarks : int, "auto" or None, default="auto"
        Number of rows used as a basis of the regression, drawn with a fixed seed; "auto" is 150,
        None uses all, in cubic time. Time and memory are linear in the rows.
    subsample : int or None, default=20_000
        Number of rows to search, drawn with a fixed seed if there are more; None uses all.
    missing : {"neutral", "level", "refuse"}, default="neutral"
        What a missing cell of X means: nothing (the mean embedding of its column stands in for it),
        that it is missing (a category has one more level, a column of numbers an indicator that is
        dropped with it), or an error. Columns are scaled by their observed values.
    pvalues : bool, default=True
        Whether to screen every column alone as well, for ``to_frame``.
    n_jobs : int, optional
        Number of threads for dropping the last 24 columns, and for p-values.
    verbose : int, default=0
        Print a line per round.

    Attributes
    ----------
    ranking_ : ndarray of shape (n_features,)
        1 is best, all distinct; constant columns and exact copies come last.
    scores_ : ndarray of shape (n_features,)
        Growth of the penalised error (a share of the target's variance) when the column was
        dropped, to first order for all but the last 24: comparable within a round. The score of the
        last column is what it explains alone.
    support_ : ndarray of shape (n_features,)
        Whether each column is kept.
    path_ : tuple of (n_columns, error)
        Mean squared leave-one-out error with the remaining columns, as a share of the target's
        variance: 0 is a perfect prediction, 1 is as good as predicting the mean.
    substitutes_ : ndarray of shape (n_features,)
        As in :class:`BAHSIC`.
    alpha_ : float
        Penalty of the regression on the kept columns.
    error_ : float
        Its leave-one-out error. The columns were chosen to make it small: expect more on new rows.

    See Also
    --------
    BAHSIC : The same backward search with HSIC, for any kernel, also without a target.

    Notes
    -----
    The kernel is Gaussian, exp(-‖x - z‖²/2v), where v is the total variance of the remaining
    columns, which is their number if they are scaled. A column of numbers enters twice, as it is
    (four fifths of its variance) and by its squared rank, less what is linear in the column (one
    fifth): a wide kernel is almost linear and would not see how far a column is from its middle.
    The regression predicts indicators of
    classes, each with the same weight per row; several numbers in units of their standard
    deviations; labels as 0 and 1. A categorical column of a frame is represented by the indicators
    of its levels, with total variance 1. Of two columns whose loss costs the same, the later one is
    dropped.

    References
    ----------
    Song, Smola, Gretton, Bedo, Borgwardt (2012), section 6.6. Feature selection via dependence
    maximization. Journal of Machine Learning Research 13.
    Chen, Stern, Wainwright, Jordan (2017). Kernel feature selection via conditional covariance
    minimization. NeurIPS 30.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import KernelRidgeElimination
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 8))
    >>> X[:, 1:5] = X[:, [0]] + 0.1 * rng.normal(size=(200, 4))  # five columns say the same
    >>> y = 3 * X[:, 0] + X[:, 6]
    >>> selector = KernelRidgeElimination(2).fit(X, y)
    >>> bool(selector.support_[:5].sum() == 1 and selector.support_[6])
    True
    """

    n_features_to_select: int | float | Literal["auto"] | None = None
    _: KW_ONLY
    target_kernel: Literal["auto", "inputs"] = "auto"
    alpha: float | Literal["auto"] = "auto"
    step: float = 0.1
    column_groups: Any = None
    interactions: Literal["auto"] | None = "auto"
    scale: bool = True
    n_landmarks: int | Literal["auto"] | None = "auto"
    subsample: int | None = 20_000
    missing: Missing = "neutral"
    pvalues: bool = True
    n_jobs: int | None = None
    verbose: int = 0

    path_quantity = "leave-one-out error (share of the variance)"
    _declared: ClassVar = {
        "target_kernel": one_of("auto", "inputs"),
        "alpha": number(0, ends="()", also=["auto"]),
        "interactions": one_of("auto", None),
        "scale": FLAG,
        "n_landmarks": integer(2, also=["auto", None]),
        "subsample": integer(100, also=[None]),
    }

    def _compared_by(self) -> Kernel | None:
        return None if self.scale else Gaussian()

    def _some_rows(self, inputs: Any, target: Any) -> tuple[Any, Any]:
        """As many as of an array."""
        if self.subsample is None:
            raise TypeError(
                "KernelRidgeElimination with subsample=None needs all rows in memory, but X is "
                "read a chunk at a time: pass a number of rows, such as subsample=20_000."
            )
        rows: tuple[Any, Any] = inputs.some(self.subsample)
        return rows

    def _rank(
        self,
        X: Any,
        y: Any,
        categories: Categories,
        groups: Any = None,
        weight: np.ndarray | None = None,
    ) -> Ranking:
        unsupervised = self._is_unsupervised()
        if unsupervised:
            y = all_columns(make_units(X, None, categories, Gaussian(), "neutral", weight), weight)
        target = read_target(y).weighed(weight)
        if target.kind == "multioutput" and not unsupervised:  # outputs count alike, in any unit
            y = standardized(target.values, weight)
            target = read_target(y)
        require_equal_length(X.shape[0], target.n_samples)
        require_samples(X.shape[0], unbiased=True)
        exchange = exchange_of(groups)
        scheme_of(exchange, X.shape[0], target.values, X)  # refuses what cannot be, at once
        if self.subsample is not None and len(X) > self.subsample:
            rows = some_rows(len(X), self.subsample)
            X, y = X[rows], _safe_indexing(y, rows)
            target = target.take(rows)
            exchange = exchange.take(rows)
            weight = None if weight is None else weight[rows]
        units = make_units(X, self.column_groups, categories, Gaussian(), self.missing, weight)
        seen = coordinates(units, self.scale, weight)
        images = images_of(y, weight) if unsupervised else target_images(target, weight)
        problem = self._problem(seen, images, weight)
        n_values = images.size * len(problem.places) * min(len(units.columns), EXACT_FROM)
        if SECONDS_PER_VALUE * n_values < _resources.LONG:
            warn_if_long(
                f"KernelRidgeElimination of {len(X):,} rows and {X.shape[1]:,} columns",
                X.shape[1] * (SECONDS_PER_COLUMN + SECONDS_PER_CELL * len(X)),
                "Screen the columns first (ScreenFirst, --screen), or pass a smaller subsample.",
            )
        warn_if_long(
            f"KernelRidgeElimination with {images.shape[1]:,} outputs or classes of y",
            SECONDS_PER_VALUE * n_values,
            "Merge rare classes, or pass a smaller subsample or n_landmarks.",
        )
        target_of_y = read_target_sample(y, "auto", weight=weight)
        every = np.arange(X.shape[0])
        observed = Observed(
            X, y, "auto", target_of_y, units, every, self.n_jobs, exchange, self.missing
        )

        def order(observed: Observed) -> Ranking:
            found = self._search(problem, seen, observed, self._report)
            if isinstance(self.n_features_to_select, str):
                found = replace(found, n_significant=self._sufficient(problem, seen, observed))
            self._describe(problem, seen, found)
            return found

        return self._ranking(observed, order, small=len(problem.places) <= SMALL)

    def _problem(self, seen: Units, images: np.ndarray, weight: np.ndarray | None) -> RidgeProblem:
        penalty = None if isinstance(self.alpha, str) else float(self.alpha)
        landmarks = LANDMARKS if isinstance(self.n_landmarks, str) else self.n_landmarks
        landmarks = len(seen.X) if landmarks is None else landmarks
        return RidgeProblem(seen.X, images, penalty, landmarks, weight, seen.cells)

    def _search(
        self, problem: RidgeProblem, units: Units, observed: Observed, watch: Watch
    ) -> Ranking:
        """Order all units, those that say nothing new last."""
        search = Elimination(problem, units, self._n_decided, self.n_jobs, watch)

        def order(candidates: np.ndarray) -> Ranking:
            significant = np.empty(0, dtype=np.intp)
            if self.interactions and len(candidates) > FAR_SIGHTED and not self._is_unsupervised():
                # distances to the middle are coordinates of the regression already
                pairs, pvalues = observed.pairs(by_distances=False)
                significant = np.union1d(observed.units_alone(), pairs[pvalues < LEVEL][:PAIRS])
                significant = np.intersect1d(significant, candidates)
            return search.run(candidates.tolist(), significant.tolist())

        return informative_first(units, order)

    def _sufficient(self, problem: RidgeProblem, units: Units, observed: Observed) -> int:
        """Smallest number of units that loses next to nothing on held-out rows."""
        m = problem.n_samples
        if m < LEAST_ROWS:
            raise ValueError(
                f'n_features_to_select="auto" needs at least {LEAST_ROWS} rows, got {m}: pass a '
                "number of columns."
            )
        of_rows = observed.exchange.units(m)
        share = max(1, ROWS_FOR_NUMBER // FOLDS)
        folds = [fold[:share] for fold in split_rows(of_rows, FOLDS)]
        rows = np.concatenate(folds)

        def errors_of(train: np.ndarray, held_out: np.ndarray) -> dict[int, np.ndarray]:
            part = problem.take(train)
            if not np.any(part.images):
                return {}
            centre = problem.images[train].mean(axis=0)
            spread = np.sqrt(np.sum((problem.images[train] - centre) ** 2) / len(train))
            truth = (problem.images[held_out] - centre) / spread
            found = {frozenset[int](): np.sum(truth**2, axis=1)}  # no unit at all: the mean

            def judge(active: Sequence[int], regression: Regression, errors: np.ndarray) -> None:
                penalty = float(part.penalties[errors.argmin()])
                predicted = regression.predict(problem.X[held_out], penalty)
                found[frozenset(active)] = np.sum((truth - predicted) ** 2, axis=1)

            order = self._search(part, units, observed.take(train), judge).order.tolist()
            sets = {count: frozenset(order[:count]) for count in range(len(order) + 1)}
            return {count: found[each] for count, each in sets.items() if each in found}

        return sufficient(of_rows, [(np.setdiff1d(rows, each), each) for each in folds], errors_of)

    def _describe(self, problem: RidgeProblem, units: Units, found: Ranking) -> None:
        """Set the error and the penalty of the kept columns."""
        order, n_units = found.order, found.n_significant
        n_sufficient = units.n_inputs(order[:n_units]) if n_units else 1
        count = self._n_requested(units.n_inputs(order)) or n_sufficient
        kept = order[: n_leading([len(units.members[unit]) for unit in order], count)]
        errors = problem.regression(units.columns_of(kept)).left_out()
        self.error_ = float(errors.min())
        self.alpha_ = float(problem.penalties[errors.argmin()])

    def _report(self, active: Sequence[int], regression: Regression, errors: np.ndarray) -> None:
        self._say(len(active), f"leave-one-out error {errors.min():.6g}")


# --- the search -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class UnitsInOrder:
    """Units in the order of an elimination."""

    order: list[int]  # from best to worst
    scores: dict[int, float]  # what the loss of each cost
    errors: dict[int, float]  # leave-one-out error of the sets reached, by their number of units


@dataclass(frozen=True)
class Elimination:
    """A search among the columns without which the target is predicted as well.

    Two paths are compared. On the free one every unit may leave at any time. With many columns the
    kernel is almost linear, so this path may lose units that matter in another way, or only
    together. The other path begins with the units whose dependence is significant, alone or in a
    pair. Which one is taken is decided by the leave-one-out errors of their sets of equal size.
    """

    problem: RidgeProblem
    units: Units
    n_decided: Callable[[int], int]  # how many units leave in a round, of so many
    n_jobs: int | None
    watch: Watch
    reached: dict[frozenset[int], float] = field(default_factory=dict)  # sets and their errors

    def run(self, units: Sequence[int], significant: Sequence[int]) -> Ranking:
        """Order the units from best to worst; some of them are significant."""
        path = self._path(units)
        if 0 < len(significant) < len(units):
            path = self._better(path, self._path(significant))
        scores = np.zeros(len(self.units.columns))
        scores[list(path.scores)] = list(path.scores.values())
        errors = [
            (self.units.n_inputs(path.order[:count]), error)
            for count, error in sorted(path.errors.items(), reverse=True)
        ]
        return Ranking(np.array(path.order), scores, tuple(errors))

    def _better(self, free: UnitsInOrder, first: UnitsInOrder) -> UnitsInOrder:
        """The free path, or the one on which significant units leave last."""
        sizes = range(1, min(len(first.order), EXACT_FROM) + 1)
        if sum(first.errors[n] for n in sizes) >= sum(free.errors[n] for n in sizes):
            return free
        order = [*first.order, *_without(free.order, first.order)]
        errors = dict(first.errors)
        for count in (count for count in free.errors if count > len(first.order)):
            error = self.reached.get(frozenset(order[:count]))
            if error is None and count <= EXACT_FROM:  # of larger sets, those that were reached
                error = self._reach(order[:count])[1]
            if error is not None:
                errors[count] = error
        return UnitsInOrder(order, free.scores | first.scores, errors)

    def _path(self, units: Sequence[int]) -> UnitsInOrder:
        active = list(units)
        worst_first: list[int] = []
        scores: dict[int, float] = {}
        errors: dict[int, float] = {}
        while len(active) > 1:
            regression, errors[len(active)] = self._reach(active)
            slopes = self._slopes(active, regression)
            if len(active) > EXACT_FROM:
                leaving = self._by_slopes(slopes)
            else:
                leaving = [self._by_error(active, slopes, regression.penalised_error())]
            scores.update((unit, cost) for cost, unit in leaving)
            worst_first += [unit for _, unit in leaving]
            active = _without(active, worst_first)
        regression, errors[1] = self._reach(active)
        scores[active[0]] = 1.0 - regression.penalised_error()
        return UnitsInOrder([*active, *worst_first[::-1]], scores, errors)

    def _reach(self, active: Sequence[int]) -> tuple[Regression, float]:
        """The regression of a set on a path, and its leave-one-out error."""
        regression = self.problem.regression(self.units.columns_of(active))
        errors = regression.left_out()
        self.watch(active, regression, errors)
        self.reached[frozenset(active)] = float(errors.min())
        return regression, float(errors.min())

    def _slopes(self, active: list[int], regression: Regression) -> list[tuple[float, int]]:
        """What the loss of each unit costs to first order, and the unit, the least cost first."""
        widths = np.array([len(self.units.columns[unit]) for unit in active], dtype=np.intp)
        slopes = np.add.reduceat(regression.slopes(), np.cumsum(widths) - widths)
        costs = zip(slopes.tolist(), active, strict=True)
        return sorted(costs, key=lambda at: (at[0], -at[1]))  # among equals the later column

    def _by_slopes(self, slopes: list[tuple[float, int]]) -> list[tuple[float, int]]:
        """Costs and units that leave in a round, the worst first."""
        return slopes[: min(self.n_decided(len(slopes)), len(slopes) - EXACT_FROM)]

    def _by_error(
        self, active: list[int], slopes: list[tuple[float, int]], error: float
    ) -> tuple[float, int]:
        """What the loss of the unit costs that leaves, and the unit."""
        candidates = [unit for _, unit in slopes[:CANDIDATES]]
        sets = [_without(active, [unit]) for unit in candidates]
        errors = map_threads(self._error, sets, self.n_jobs)
        least, _, unit = min((e, -u, u) for e, u in zip(errors, candidates, strict=True))
        return least - error, unit

    def _error(self, units: Sequence[int]) -> float:
        return self.problem.penalised_error(self.units.columns_of(units))


def _without(units: Sequence[int], others: Sequence[int]) -> list[int]:
    gone = set(others)
    return [unit for unit in units if unit not in gone]
