"""Backward elimination under kernel ridge regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.stats import false_discovery_control
from sklearn.utils import _safe_indexing

from depmax._inputs import read_target
from depmax._inputs.checks import FLAG, integer, number, one_of
from depmax._inputs.levels import Missing
from depmax._inputs.table import Categories
from depmax._text import counted
from depmax._threads import one_blas_thread
from depmax.dependence.exchange import Exchange, as_exchange, plan_of
from depmax.kernels import Gaussian, Kernel
from depmax.samples import (
    is_streamed,
    read_target_sample,
    repeated_rows,
    require_equal_length,
    require_samples,
    some_rows,
)
from depmax.selection._ridge.elimination import EXACT_FROM, Elimination
from depmax.selection._ridge.problem import RidgeProblem
from depmax.selection._scores.kernel import hsic as column_scores
from depmax.selection._scores.outputs import standardized, target_images
from depmax.selection._search.hsic_selector import STEP, ranking_of
from depmax.selection._search.protection import interacting_pairs
from depmax.selection._search.rounds import SearchResult
from depmax.selection._search.significance import (
    first_sufficient,
    sizes_to_compare,
    split_rows,
    units_of_rows,
)
from depmax.selection._search.units import Units, columns_of_units, make_units, n_leading
from depmax.selection.selector import DependenceSelector, Ranking, WeightedRows

#: Folds on which n_features_to_select="auto" compares numbers of columns,
FOLDS = 5
#: and the rows that it uses at most.
ROWS_FOR_NUMBER = 2000


class KernelRidgeElimination(WeightedRows, DependenceSelector):
    """Backward elimination: drop the columns that kernel ridge regression can do without.

    HSIC rewards five copies of one good column; a regression does not. Each round asks what the
    remaining columns say about the target *together*: a column that others can replace is dropped,
    one that matters only jointly with others (XOR) stays. The penalised error of the regression,
    which is the conditional covariance of the target given the columns, is kept small. While there
    are many columns, a round drops those whose loss costs least to first order; the last 24 are
    dropped one by one, after the exact cost of each loss has been computed.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default=None
        A number, a share, half (None), or "auto": the fewest columns that lose at most 2% of
        the largest gain over predicting the mean, on held-out rows (five folds). If none predicts
        significantly better than the mean, the best column is kept, with a
        :class:`depmax.NoDependenceWarning`.
    alpha : float or "auto", default="auto"
        Penalty ε of the regression per row. "auto": the search averages over 0.0001, 0.001 and
        0.01, and ``path_`` and ``error_`` use the smallest leave-one-out error for each set.
    step : float or int, default=0.1
        Share of the remaining columns (or groups), or their number, to drop in a round while more
        than 24 are left.
    column_groups : sequence of n_features labels, optional
        Columns that are kept or dropped together, as in :class:`BAHSIC`.
    interactions : {"auto", None}, default="auto"
        With "auto", pairs of columns whose interaction is significant (see
        :func:`depmax.screen_pairs`) may come back before the last 24 are thinned out, if that
        lowers the error. With hundreds of columns the kernel is almost linear and would lose them.
        Pairs are searched for in at most 10,000 rows.
    scale : bool, default=True
        Whether to divide each column by its standard deviation first, so that units do not matter.
        Otherwise columns are weighted by their variances.
    n_landmarks : int, "auto" or None, default="auto"
        Number of rows used as a basis of the regression, drawn with a fixed seed; None uses all.
        "auto": all if there are at most 1,500 rows (600 for the last 24 columns); beyond, twice the
        number of columns, at least 300 and at most 1,000. Time and memory are then linear in the
        rows.
    subsample : int or None, default=20_000
        Number of rows to search, drawn with a fixed seed if there are more; None uses all.
    missing : {"neutral", "level", "refuse"}, default="neutral"
        What a missing cell of X means: nothing (the mean embedding of its column stands in for it),
        that it is missing (a category has one more level, a column of numbers an indicator that is
        dropped with it), or an error. Columns are scaled by their observed values.
    pvalues : bool, default=True
        Whether to screen every column alone as well, for ``to_frame``.
    n_jobs : int, optional
        Number of threads for dropping the last 24 columns.
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
    columns, which is their number if they are scaled. The regression predicts indicators of
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

    path_quantity = "leave-one-out error (share of the variance)"
    _decides_how_many = True
    _streams: ClassVar[bool] = True
    _declared: ClassVar = {
        "alpha": number(0, ends="()", also=["auto"]),
        "step": STEP,
        "interactions": one_of("auto", None),
        "scale": FLAG,
        "n_landmarks": integer(2, also=["auto", None]),
        "subsample": integer(100, also=[None]),
        "pvalues": FLAG,
    }

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] | None = None,
        *,
        alpha: float | Literal["auto"] = "auto",
        step: float = 0.1,
        column_groups: Any = None,
        interactions: Literal["auto"] | None = "auto",
        scale: bool = True,
        n_landmarks: int | Literal["auto"] | None = "auto",
        subsample: int | None = 20_000,
        missing: Missing = "neutral",
        pvalues: bool = True,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.alpha = alpha
        self.step = step
        self.column_groups = column_groups
        self.interactions = interactions
        self.scale = scale
        self.n_landmarks = n_landmarks
        self.subsample = subsample
        self.missing = missing
        self.pvalues = pvalues
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _compared_by(self) -> Kernel | None:
        return None if self.scale else Gaussian()

    def _read(self, X: Any, y: Any) -> tuple[Any, Any]:
        if is_streamed(X) and self.subsample is None:
            raise TypeError(
                "KernelRidgeElimination with subsample=None needs all rows in memory, but X is "
                "read a chunk at a time: pass a number of rows, such as subsample=20_000."
            )
        return super()._read(X, y)

    def _most_rows(self, n_features: int) -> int | None:
        return self.subsample

    def _some_rows(self, inputs: Any, most: int) -> tuple[Any, Any]:
        rows: tuple[Any, Any] = inputs.some(most)  # as many as of an array: no warning
        return rows

    def _rank(
        self,
        X: Any,
        y: Any,
        categories: Categories,
        groups: Any = None,
        mass: np.ndarray | None = None,
    ) -> Ranking:
        target = read_target(y)
        if target.kind == "multioutput":  # every output counts the same, in any unit
            y = standardized(target.values, mass)
            target = read_target(y)
        require_equal_length(X.shape[0], target.n_samples)
        require_samples(X.shape[0], unbiased=True)
        exchange = as_exchange(groups)
        plan_of(exchange, X.shape[0], target.values, X)  # refuses what cannot be, at once
        if self.subsample is not None and len(X) > self.subsample:
            rows = some_rows(len(X), self.subsample)
            X, y = X[rows], _safe_indexing(y, rows)
            target = target.take(rows)
            exchange = None if exchange is None else exchange.take(rows)
            mass = None if mass is None else mass[rows]
        units = make_units(X, self.column_groups, categories, Gaussian(), self.missing, mass)
        columns = _columns(units, self.scale, mass)
        problem = self._problem(columns, target_images(target, mass), units.cells, mass)
        with one_blas_thread(self.n_jobs):
            searched = self._search(problem, units, X, y, exchange)
            n_sufficient = None
            if isinstance(self.n_features_to_select, str):
                kept = self._sufficient(problem, units, X, y, exchange)
                n_sufficient = units.n_inputs(searched.order[:kept])
            self._describe(problem, units, searched.order, n_sufficient)
        self.pvalues_adjusted_ = self.effects_ = None
        side = read_target_sample(y, "auto", mass=mass)
        if self.pvalues and mass is None:
            _, pvalues, self.effects_ = column_scores(
                X,
                side,
                categories=categories,
                groups=exchange,
                n_jobs=self.n_jobs,
                missing=self.missing,
                with_effects=True,
            )
            self.pvalues_adjusted_ = false_discovery_control(pvalues)
        return ranking_of(searched, units, X, side, self, n_sufficient)

    def _problem(
        self,
        X: np.ndarray,
        images: np.ndarray,
        cells: Sequence[np.ndarray],
        mass: np.ndarray | None,
    ) -> RidgeProblem:
        penalty = None if isinstance(self.alpha, str) else float(self.alpha)
        landmarks = self.n_landmarks
        if landmarks is None:
            landmarks = len(X)
        n_landmarks = None if isinstance(landmarks, str) else landmarks
        if not len(cells):
            return RidgeProblem(X, images, penalty, n_landmarks, mass)
        from depmax.selection._ridge.gapped import GappedRidgeProblem

        return GappedRidgeProblem(X, images, penalty, n_landmarks, cells=cells)

    def _search(
        self, problem: RidgeProblem, units: Units, X: Any, y: Any, exchange: Exchange | None
    ) -> SearchResult:
        """Order all units, those that say nothing new last."""
        uninformative = units.uninformative()
        candidates = np.flatnonzero(~uninformative)
        if not len(candidates):
            return SearchResult(np.arange(len(uninformative)), np.zeros(len(uninformative)), ())
        pairs: list[tuple[int, int]] = []
        if self.interactions == "auto" and len(candidates) > EXACT_FROM:
            rows = slice(None) if problem.mass is None else repeated_rows(problem.mass)
            pairs = self._pairs(units, X[rows], _safe_indexing(y, rows), exchange)
        search = Elimination(problem, units, self.step, pairs, self.n_jobs, self._report)
        searched = search.run(candidates.tolist())
        order = np.concatenate([searched.order, np.flatnonzero(uninformative)])
        return SearchResult(order, searched.scores, searched.path)

    def _pairs(
        self, units: Units, X: Any, y: Any, exchange: Exchange | None
    ) -> list[tuple[int, int]]:
        """Pairs of units with a significant interaction, the most significant first."""
        found = interacting_pairs(X, y, units.categories, n_jobs=self.n_jobs, exchange=exchange)
        pairs = units.unit_of_inputs()[found]
        return [(int(a), int(b)) for a, b in pairs if a != b]

    def _sufficient(
        self, problem: RidgeProblem, units: Units, X: Any, y: Any, exchange: Exchange | None
    ) -> int:
        """Smallest number of units that loses next to nothing on held-out rows."""
        m = problem.n_samples
        if m < 4 * FOLDS:
            raise ValueError(
                f'n_features_to_select="auto" needs at least {4 * FOLDS} rows, got {m}: pass a '
                "number of columns."
            )
        of_rows = units_of_rows(exchange, m)
        share = max(1, ROWS_FOR_NUMBER // FOLDS)
        folds = [fold[:share] for fold in split_rows(of_rows, FOLDS)]
        rows = np.concatenate(folds)
        sizes = sizes_to_compare(len(units.columns))
        losses, judged = [], []
        for held_out in folds:
            train = np.setdiff1d(rows, held_out)
            part = problem.take(train)
            if not np.any(part.images):
                continue
            of_part = None if exchange is None else exchange.take(train)
            order = self._search(part, units, X[train], _safe_indexing(y, train), of_part).order
            judged.append(of_rows[held_out])
            losses.append(_held_out(problem, part, units, order, sizes, train, held_out))
        return int(sizes[first_sufficient(np.hstack(losses), np.concatenate(judged))])

    def _describe(
        self, problem: RidgeProblem, units: Units, order: np.ndarray, n_sufficient: int | None
    ) -> None:
        """Set the error and the penalty of the kept columns."""
        count = self._n_requested(units.n_inputs(order)) or n_sufficient or 1
        kept = order[: n_leading([len(units.members[unit]) for unit in order], count)]
        fit = problem.fit(columns_of_units(units.columns, kept))
        self.error_, self.alpha_ = fit.error, fit.penalty

    def _report(self, count: int, error: float) -> None:
        if self.verbose:
            name = type(self).__name__
            print(
                f"[{name}] {counted(count, 'column')}, leave-one-out error {error:.6g}", flush=True
            )


def _columns(units: Units, scale: bool, mass: np.ndarray | None = None) -> np.ndarray:
    """Columns of the search, centred; scaled to total variance 1 for each input column."""
    X = np.asarray(units.X, dtype=np.float64)
    X = X - _means(X, units, mass)
    if not scale:
        return X
    largest = np.fmax.reduce(np.abs(X), axis=0)  # squares of very large numbers would overflow
    widths = np.bincount(units.owners)
    starts = np.cumsum(widths) - widths
    largest = np.repeat(np.fmax.reduceat(largest, starts), widths)
    X /= np.where(largest > 0.0, largest, 1.0)
    variances = np.add.reduceat(_means(X**2, units, mass), starts)
    return X / np.repeat(np.sqrt(np.where(variances > 0.0, variances, 1.0)), widths)


def _means(X: np.ndarray, units: Units, mass: np.ndarray | None) -> np.ndarray:
    """Of the columns, over the rows that have a value; 0 for those without any."""
    means = np.average(X, axis=0, weights=mass)
    for column in np.concatenate(units.cells) if len(units.cells) else ():
        known = X[~np.isnan(X[:, column]), column]
        means[column] = known.mean() if len(known) else 0.0
    return means


def _held_out(
    problem: RidgeProblem,
    part: RidgeProblem,
    units: Units,
    order: np.ndarray,
    sizes: np.ndarray,
    train: np.ndarray,
    held_out: np.ndarray,
) -> np.ndarray:
    """Squared errors of held-out rows, predicted by each number of columns: (n_sizes, n_rows)."""
    centre = problem.images[train].mean(axis=0)
    spread = np.sqrt(np.sum((problem.images[train] - centre) ** 2) / len(train))
    truth = (problem.images[held_out] - centre) / spread
    losses = []
    for size in sizes:
        if not size:  # no column predicts the mean
            losses.append(np.sum(truth**2, axis=1))
            continue
        fit = part.fit(columns_of_units(units.columns, order[:size]))
        losses.append(np.sum((truth - fit.predict(problem.X[held_out])) ** 2, axis=1))
    return np.array(losses)
