"""The order of columns that a search finds, and how many of them are worth keeping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from depmax.selection._substitutes import LEVEL


@dataclass(frozen=True)
class Ranking:
    """Outcome of a search over columns."""

    order: np.ndarray  # columns from best to worst, all of them
    scores: np.ndarray  # one per column; larger is better within a round
    path: tuple[tuple[int, float], ...] = ()  # (columns left, dependence) per round
    n_significant: int | None = None  # how many columns "auto" found worth keeping; None: not asked
    sizes: np.ndarray | None = None  # of groups of columns, in order, that are kept as a whole
    why_none: str | None = None  # where "auto" may keep no column: what to say if it does


class NoDependenceWarning(UserWarning):
    """No column is worth keeping: ``n_features_to_select="auto"`` found no dependence on y.

    Of few rows it may not find what p-values of single columns show; the message then says both.
    The best column is kept all the same, since most estimators in a pipeline need one, and
    ``n_significant_`` is 0. Do not read anything into that column. (:class:`depmax.Knockoffs`,
    which bounds the share of false discoveries, keeps none.) To stop a script in this case, turn
    the warning into an error: ``warnings.simplefilter("error", depmax.NoDependenceWarning)``.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from depmax import DependenceFilter, NoDependenceWarning
    >>> rng = np.random.default_rng(0)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", NoDependenceWarning)
    ...     noise = DependenceFilter("auto").fit(rng.normal(size=(100, 5)), rng.normal(size=100))
    >>> noise.n_significant_, noise.n_features_
    (0, 1)
    """


def best_first(scores: np.ndarray, constant: np.ndarray) -> np.ndarray:
    """Columns by decreasing score; constant ones last, equal ones in their original order.

    Examples
    --------
    >>> best_first(np.array([-1.0, 0.0, 2.0]), np.array([False, True, False]))
    array([2, 0, 1])
    """
    return np.lexsort((-scores, constant))


def n_dependent(selector: Any) -> int:
    """Number of columns that each depend on the target; 0 where the selector has no p-values."""
    pvalues = getattr(selector, "pvalues_adjusted_", None)
    return 0 if pvalues is None else int((pvalues <= LEVEL).sum())


def why_only(selector: Any, best: int) -> str:
    """What to say where a number of columns was asked for and none is worth keeping."""
    names = getattr(selector, "feature_names_in_", None)
    name = f"x{best}" if names is None else names[best]
    maker = f"{type(selector).__name__} with n_features_to_select='auto'"
    alone = n_dependent(selector)
    if alone:
        depend = "column depends" if alone == 1 else "columns depend"
        return (
            f"{maker} could not show on held-out rows that columns predict the target, "
            f"although {alone:,} {depend} on it (adjusted p-values of each alone). The best "
            f"one, {name!r}, is kept."
        )
    return (
        f"{maker} found no column that depends on the target. The best one, {name!r}, is kept "
        "only so that a pipeline can continue: do not read anything into it."
    )
