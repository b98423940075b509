"""Backward elimination with HSIC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import _safe_indexing

from depmax._inputs import read_target
from depmax._inputs.checks import one_of
from depmax._inputs.levels import Missing
from depmax._inputs.table import Categories, Table, has_missing
from depmax.dependence.exchange import Exchange, TooFewWays
from depmax.dependence.screen_pairs import screen_table
from depmax.kernels import KernelLike
from depmax.kernels.neutral import drawn
from depmax.selection._search.hsic_selector import HSICSelector, Observed
from depmax.selection._search.rounds import SearchResult, Setting, backward
from depmax.selection._search.units import Units, columns_of_units

#: Up to so many units a kernel sees what two columns do together, or a column by its square; with
#: more it is so wide that it is almost linear.
FAR_SIGHTED = 10
#: Adjusted p-value below which a pair of columns interacts.
LEVEL = 0.05
#: Rows, drawn with a fixed seed, that pairs are looked for in: an interaction that explains a few
#: thousandths of the target is found in so many, and memory stays bounded.
ROWS = 10_000


class BAHSIC(HSICSelector):
    """Backward elimination: drop, round by round, the columns whose loss costs little dependence.

    Columns are judged together, so columns that matter only jointly (XOR) are found. They should be
    on comparable scales: put a ``StandardScaler`` before the selector in the pipeline.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default=None
        A number, a share, half (None), or "auto": as many as significantly improve a kernel ridge
        regression of the target, judged on rows that the search did not see. If no set of columns
        predicts better than the mean, the best column is kept, with a
        :class:`depmax.NoDependenceWarning`.
    kernel : kernel or name, default="gaussian"
        Kernel of a row. A bandwidth policy (``"median"``, ``"dimension"``, ``"maximize"``) is
        applied again in every round. Gaussian, polynomial and linear kernels are scored by matrix
        products, Laplace by a compiled loop, other kernels of the distance (inverse distance,
        inverse multiquadric, sums of Gaussians) from its changes, the rest by their definition.
        The ridge kernel and maps are refitted to every set of columns that is compared, on at
        most 500 rows, which stand for all rows: a fit per column and round.
    target_kernel : kernel, name, "auto" or "inputs", default="auto"
        "auto" depends on the type of y; "inputs" is unsupervised: the kernel of all columns is the
        target, and y is not needed.
    unbiased : bool, default=True
        Whether unbiased or biased HSIC is maximised.
    step : float or int, default=0.1
        Share of the remaining columns (or groups), or their number, to drop in a round.
    column_groups : sequence of n_features labels, optional
        Columns with the same label are kept or dropped together: the best groups while all their
        columns are at most ``n_features_to_select``, with a warning if the best one alone has more.
        Inside a group columns are ranked by the dependence of each alone, as in
        :class:`DependenceFilter`. (Groups of rows are passed to ``fit``.)
    interactions : {"auto", None}, default="auto"
        With hundreds of columns a Gaussian kernel is almost linear and would lose interactions in
        its early rounds. "auto" protects pairs of columns whose interaction is significant (see
        :func:`depmax.screen_pairs`), and the groups they are in, as long as there are columns that
        alone contribute less than the pair adds; and, while more than ten columns are left, columns
        with a significant dependence of their own (see :func:`depmax.screen`). Pairs are searched
        for in at most 10,000 rows, drawn with a fixed seed. None is the published algorithm.
    block_size : int, "auto" or None, default="auto"
        Average HSIC over random blocks of about this many rows, in time linear in the rows. None
        uses all rows at once, in quadratic time; "auto" is None up to 5,000 rows and 1,000 beyond.
    precision : {"auto", "single", "double"}, default="auto"
        Precision of the matrix products; "auto" is single for large problems and for float32 data.
    missing : {"neutral", "level", "refuse"}, default="neutral"
        What a missing cell of X means. ``"neutral"``: nothing; the mean embedding of its column
        stands in for it, for kernels that are products (Gaussian, Laplace) or sums (linear) over
        columns. ``"level"``: that it is missing; a category has one more level, and a column of
        numbers an indicator that is dropped with it. ``"refuse"``: missing cells are an error.
    pvalues : bool, default=True
        Whether to screen every column alone as well, for ``to_frame``.
    n_jobs : int, optional
        Number of threads.
    verbose : int, default=0
        Print a line per round.

    Attributes
    ----------
    ranking_ : ndarray of shape (n_features,)
        1 is best, all distinct; constant columns and exact copies come last.
    scores_ : ndarray of shape (n_features,)
        Dependence lost when the column, or its group, was dropped: comparable within a round.
    support_ : ndarray of shape (n_features,)
        Whether each column is kept.
    path_ : tuple of (n_columns, hsic)
        Dependence of the remaining columns before each round.
    n_significant_ : int
        With "auto": how many columns were worth keeping, 0 if none was.
    substitutes_ : ndarray of shape (n_features,)
        For every dropped column the kept one that can replace it, -1 if none can: the one that
        shares most of its variation (by rank correlation; by levels for categories), named only
        if that is at least a quarter and significant.

    References
    ----------
    Song, Smola, Gretton, Bedo, Borgwardt (2012). Feature selection via dependence maximization.
    Journal of Machine Learning Research 13.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import BAHSIC
    >>> X = np.random.default_rng(0).normal(size=(150, 8))
    >>> y = (X[:, 2] * X[:, 5] > 0).astype(int)
    >>> np.flatnonzero(BAHSIC(2).fit(X, y).support_)
    array([2, 5])
    """

    _declared: ClassVar = {"interactions": one_of("auto", None)}

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] | None = None,
        *,
        kernel: KernelLike = "gaussian",
        target_kernel: KernelLike | Literal["auto", "inputs"] = "auto",
        unbiased: bool = True,
        step: float = 0.1,
        column_groups: Any = None,
        interactions: Literal["auto"] | None = "auto",
        block_size: int | Literal["auto"] | None = "auto",
        precision: Literal["auto", "single", "double"] = "auto",
        missing: Missing = "neutral",
        pvalues: bool = True,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.kernel = kernel
        self.target_kernel = target_kernel
        self.unbiased = unbiased
        self.step = step
        self.column_groups = column_groups
        self.interactions = interactions
        self.block_size = block_size
        self.precision = precision
        self.missing = missing
        self.pvalues = pvalues
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _search(
        self, setting: Setting, units: Units, candidates: np.ndarray, observed: Observed
    ) -> SearchResult:
        if self.interactions is None or self._is_unsupervised():
            return backward(setting, candidates.tolist())
        protection = self._protection(setting, units, candidates, observed)
        return backward(setting, candidates.tolist(), protection.may_leave)

    def _protection(
        self, setting: Setting, units: Units, candidates: np.ndarray, observed: Observed
    ) -> Protection:
        """What stays while others may leave: significant pairs and significant single columns."""
        owners = units.unit_of_inputs()
        found = interacting_pairs(
            observed.X,
            observed.y,
            observed.categories,
            observed.target_kernel,
            self.n_jobs,
            observed.exchange,
        )
        pairs = owners[found]
        pairs = pairs[np.isin(pairs, candidates).all(axis=1)]
        alone = np.zeros(len(units.columns), dtype=bool)
        if len(candidates) > FAR_SIGHTED or len(pairs):
            alone[owners[observed.pvalues_adjusted < LEVEL]] = True
        return Protection.of(setting, pairs, alone)


@dataclass(frozen=True)
class Protection:
    """Units that stay while others may leave.

    Significance says what is more than noise, and the amount of dependence decides what is dropped
    first: a pair stays as long as there is a unit that alone contributes less than the pair adds.
    Amounts are centred alignments with the target (normalised unbiased HSIC), so one column and two
    can be compared.
    """

    pairs: tuple[tuple[int, int], ...]  # units that interact, the pair that adds most first
    added: tuple[float, ...]  # by each pair, beyond the better of its units
    alone: np.ndarray  # whether a unit has a significant dependence of its own
    amounts: np.ndarray  # of this dependence, 0 where it is not significant

    @classmethod
    def of(cls, setting: Setting, pairs: np.ndarray, alone: np.ndarray) -> Protection:
        """Measure significant pairs (the best of every unit) and, if there are any, units alone."""
        best, seen = [], set[int]()
        for first, second in pairs.tolist():
            if first not in seen or second not in seen:
                best.append((first, second))
                seen |= {first, second}
        amounts = np.zeros(len(alone))
        measured = [unit for unit in range(len(alone)) if unit in seen or (alone[unit] and best)]
        for unit in measured:
            amounts[unit] = setting.alignment(setting.columns[unit])
        added = [
            setting.alignment(columns_of_units(setting.columns, sorted({*pair})))
            - max(amounts[pair[0]], amounts[pair[1]])
            for pair in best
        ]
        order = sorted(range(len(best)), key=lambda place: -added[place])
        return cls(
            tuple(best[place] for place in order),
            tuple(max(0.0, float(added[place])) for place in order),
            alone,
            np.where(alone, amounts, 0.0),
        )

    def may_leave(self, active: Sequence[int]) -> list[int]:
        """Those of the active units that may leave in this round."""
        whole = [place for place, pair in enumerate(self.pairs) if {*pair} <= {*active}]
        paired = {unit for place in whole for unit in self.pairs[place]}
        if len(active) > FAR_SIGHTED:  # the kernel is too wide to see what they do
            noise = [unit for unit in active if unit not in paired and not self.alone[unit]]
            if noise:
                return noise
        while whole:
            least = self.added[whole[-1]]
            lesser = [u for u in active if u not in paired and self.amounts[u] <= least]
            if lesser:
                return lesser
            whole.pop()  # everybody else does more than this pair adds
            paired = {unit for place in whole for unit in self.pairs[place]}
        return list(active)


def interacting_pairs(
    X: np.ndarray,
    y: Any,
    categories: Categories,
    target_kernel: Any = "auto",
    n_jobs: int | None = None,
    exchange: Exchange | None = None,
) -> np.ndarray:
    """Pairs of columns with a significant interaction over all pairs, best first: (n_pairs, 2)."""
    nothing = np.empty((0, 2), dtype=np.intp)
    if X.shape[1] < 2:
        return nothing
    if has_missing(X):  # values that have nothing to do with the target cannot interact
        X = drawn(X)
    if X.shape[0] > ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:ROWS])
        X, y = X[rows], _safe_indexing(y, rows)
        exchange = None if exchange is None else exchange.take(rows)
    automatic = isinstance(target_kernel, str) and target_kernel == "auto"
    if automatic and read_target(y).is_constant:  # a rare class may not be among these rows
        return nothing
    try:
        found = screen_table(
            Table(X, categories=categories),
            y,
            target_kernel=target_kernel,
            groups=exchange,
            random_state=0,
            n_jobs=n_jobs,
        )
    except TooFewWays:  # a part of the rows that shows nothing by itself
        return nothing
    return found.pairs[found.pvalues_adjusted < LEVEL]
