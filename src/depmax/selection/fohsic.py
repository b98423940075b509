"""Forward selection with HSIC."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from depmax.selection._search.protection import Observed
from depmax.selection._search.search import Search
from depmax.selection._search.selectors import HSICSelector
from depmax.selection.selector import Ranking


@dataclass(eq=False, repr=False, kw_only=True)
class FOHSIC(HSICSelector):
    """Forward selection of the columns that add the most dependence on the target.

    It is faster than :class:`BAHSIC` if few columns are wanted, but it does not find columns that
    matter only jointly. Columns that are not selected are ranked by what they would have added in
    the last round.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default=None
        As in :class:`BAHSIC`.
    kernel : kernel or name, default="gaussian"
        As in :class:`BAHSIC`. All candidates of a round share one bandwidth: the median of those
        that a few candidates would give.
    target_kernel : kernel, name, "auto" or "inputs", default="auto"
        As in :class:`BAHSIC`.
    unbiased : bool, default=True
        As in :class:`BAHSIC`.
    step : float or int, default=1
        Number of columns, or share of the remaining ones, to add in a round.
    column_groups : sequence of n_features labels, optional
        As in :class:`BAHSIC`.
    block_size : int, "auto" or None, default="auto"
        As in :class:`BAHSIC`.
    precision : {"auto", "single", "double"}, default="auto"
        As in :class:`BAHSIC`.
    missing : {"neutral", "level", "refuse"}, default="neutral"
        As in :class:`BAHSIC`.
    pvalues : bool, default=True
        As in :class:`BAHSIC`.
    n_jobs : int, optional
        As in :class:`BAHSIC`.
    verbose : int, default=0
        As in :class:`BAHSIC`.

    Attributes
    ----------
    ranking_, support_, substitutes_
        As in :class:`BAHSIC`.
    scores_ : ndarray of shape (n_features,)
        Dependence with the column, or its group, added, in the last round in which it was a
        candidate.
    path_ : tuple of (n_columns, hsic)
        Dependence of the columns that are chosen after each round.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import FOHSIC
    >>> X = np.random.default_rng(0).normal(size=(150, 8))
    >>> y = X[:, 2] ** 2 + X[:, 5]
    >>> np.flatnonzero(FOHSIC(2).fit(X, y).support_)
    array([2, 5])
    """

    step: float = 1

    def _search(self, search: Search, candidates: np.ndarray, observed: Observed) -> Ranking:
        """Add the units that make most dependence while at most as many columns as requested.

        The best unit is chosen even if it alone has more columns. The rest is ranked as it was
        left.
        """
        n_features = observed.X.shape[1]
        n_requested = self._n_requested(n_features) or n_features
        sizes = [search.n_inputs(columns) for columns in search.units.columns]
        scores, path = np.zeros(len(sizes)), []
        chosen: list[int] = []
        rest, n_chosen = candidates.tolist(), 0
        while rest and n_chosen < n_requested:
            tried = np.sort(rest)
            found = scores[tried] = search.with_each(chosen, tried)
            rest = tried[np.lexsort((tried, -found))].tolist()  # best first
            n_before = len(chosen)
            while rest and len(chosen) < n_before + self._n_decided(len(tried)):
                if chosen and n_chosen + sizes[rest[0]] > n_requested:
                    break
                n_chosen += sizes[rest[0]]
                chosen.append(rest.pop(0))
            if len(chosen) == n_before:  # the next best unit is too large
                break
            path.append((n_chosen, search.value(chosen)))
            self._report(*path[-1])
        return Ranking(np.array(chosen + rest), scores, tuple(path))
