"""Backward elimination with HSIC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from depmax._parameters import one_of
from depmax._resources import warn_if_long
from depmax.selection._search.protection import Observed, Protection
from depmax.selection._search.search import Search
from depmax.selection._search.selectors import HSICSelector
from depmax.selection.selector import Ranking

#: Seconds for a pair of rows of a block, and for it in every trial of a column: HSIC without it is
#: computed.
SECONDS_PER_PAIR, SECONDS_PER_TRIAL = 5.5e-7, 2.5e-10


@dataclass(eq=False, repr=False, kw_only=True)
class BAHSIC(HSICSelector):
    """Backward elimination: drop, round by round, the columns whose loss costs little dependence.

    Columns are judged together, so columns that matter only jointly (XOR) are found. They should be
    on comparable scales: put a ``StandardScaler`` before the selector in the pipeline.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default=None
        A number, a share, half (None), or "auto": the fewest columns with which a kernel ridge
        regression of the target loses at most 2% of its largest gain over predicting the mean, on
        rows that the search did not see. If no set of columns predicts significantly better than
        the mean, the best column is kept, with a :class:`depmax.NoDependenceWarning`.
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
    block_size : int, "auto" or None, default="auto"
        Average HSIC over random blocks of about this many rows, in time linear in the rows. None
        uses all rows at once, in quadratic time; "auto" is None up to 5,000 rows and 1,000 beyond,
        of at most 100,000 rows: of more, as many (whole ``groups``) are drawn with a fixed seed,
        for p-values too, with a :class:`depmax.SampledRowsWarning` (not with a linear kernel).
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
    interactions : {"auto", None}, default="auto"
        With hundreds of columns a Gaussian kernel is almost linear: it would lose interactions, and
        columns that matter by their distance to the middle. "auto" therefore looks for columns with
        a significant dependence of their own (see :func:`depmax.screen`) and for pairs with a
        significant interaction (see :func:`depmax.screen_pairs`), of the columns or of their
        distances to the median. If these are at most ten columns, pairs are also looked for in what
        a kernel ridge regression on them leaves of the target. All other columns leave first, the
        best of the pairs that are not significant last of all if its adjusted p-value is below
        0.25. Then a pair, and the groups it is in, stays as long as there are columns that alone
        contribute less than the pair adds. Pairs are searched for in at most 10,000 rows, drawn
        with a fixed seed. None is the published algorithm.

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

    interactions: Literal["auto"] | None = "auto"

    _declared: ClassVar = {"interactions": one_of("auto", None)}

    def _search(self, search: Search, candidates: np.ndarray, observed: Observed) -> Ranking:
        """Round by round, drop the units whose loss leaves most dependence, of those that may."""
        if not search.recipe.capabilities.is_linear:
            self._tell_time(search, len(candidates))
        may_leave: Callable[[list[int]], list[int]] = list
        if self.interactions == "auto" and not self._is_unsupervised():
            may_leave = Protection.of(search, candidates, observed).may_leave
        scores, path = np.zeros(len(search.units.columns)), []
        worst_first: list[int] = []
        while len(candidates) > 1:
            value, left = search.without_each(candidates)
            path.append((search.n_inputs(search.columns(candidates)), value))
            self._report(*path[-1])
            scores[candidates] = left
            free = np.array(may_leave(candidates.tolist()))
            count = min(self._n_decided(len(candidates)), len(candidates) - 1)
            leaving = free[np.lexsort((-free, -scores[free]))[:count]]  # of equals, the later one
            scores[leaving] = value - scores[leaving]
            worst_first += leaving.tolist()
            candidates = candidates[~np.isin(candidates, leaving)]
        scores[candidates] = value = search.value(candidates)
        path.append((search.n_inputs(search.columns(candidates)), value))
        order = np.array([*worst_first, *candidates.tolist()])[::-1]
        return Ranking(order, scores, tuple(path))

    def _tell_time(self, search: Search, n_candidates: int) -> None:
        """Say before a long search that it is one: all pairs of rows of a block in every round."""
        m = search.target.n_samples
        pairs = m * m / len(search.blocks)
        tried = n_candidates / self.step if self.step < 1 else n_candidates**2 / (2 * self.step)
        warn_if_long(
            f"BAHSIC of {m:,} rows and {n_candidates:,} columns",
            pairs * (SECONDS_PER_PAIR + SECONDS_PER_TRIAL * tried),
            "Pass block_size=1000, or a larger step, or screen the columns first.",
        )
