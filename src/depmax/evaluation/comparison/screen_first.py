"""Wide tables: a search among the columns that depend most on the target by themselves."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import fdtrc
from sklearn.base import clone

from depmax._inputs import read_target
from depmax._inputs.parameters import check_parameters, integer
from depmax._inputs.table import Categories
from depmax.selection.selector import DependenceSelector, Ranking

#: Groups of equally many rows by which a column of numbers is compared with the target.
GROUPS = 5
#: Columns that are compared at a time.
COLUMNS = 512


class ScreenFirst(DependenceSelector):
    """Let a selector search only the columns that depend most on the target by themselves.

    Searches over thousands of columns take minutes; sure screening (Fan and Lv) leaves them a few
    hundred. A column is judged by the smaller p-value of two quick tests: its correlation with the
    target, and the target's means in five groups of rows by the column's values, which also shows
    dependence that is not linear. Columns that matter only together with others (XOR) may be lost.

    Parameters
    ----------
    selector : selector of depmax
    n_screened : int, default=500
        Columns that are searched.
    n_features_to_select : int, optional
        As in the selector, whose own number is the default.

    Attributes
    ----------
    ranking_ : ndarray of shape (n_features,)
        The search's own, then the other columns by the screening.
    scores_ : ndarray of shape (n_features,)
        The search's own; NaN for columns that were not searched.
    screened_ : ndarray of int of shape (n_screened,)
        Columns that were searched.

    References
    ----------
    J. Fan, J. Lv (2008). Sure independence screening for ultrahigh dimensional feature space.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import BAHSIC
    >>> from depmax.evaluation import ScreenFirst
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1000))
    >>> y = X[:, 3] + X[:, 7] ** 2
    >>> np.flatnonzero(ScreenFirst(BAHSIC(2), 100).fit(X, y).get_support()).tolist()
    [3, 7]
    """

    _declared: ClassVar = {"n_screened": integer(1)}

    def __init__(
        self, selector: Any, n_screened: int = 500, n_features_to_select: int | None = None
    ) -> None:
        self.selector = selector
        self.n_screened = n_screened
        self.n_features_to_select = n_features_to_select

    def _n_requested(self, n_features: int) -> int | None:
        """The number of the selector, unless there is one of its own."""
        own = self.n_features_to_select
        if own is not None:
            return super()._n_requested(n_features)
        count: int | None = self.selector._n_requested(n_features)
        return count

    def _compared_by(self) -> Any:
        return self.selector._compared_by()

    def _rank(self, X: Any, y: Any, categories: Categories) -> Ranking:
        first = np.argsort(screening_pvalues(X, y, categories), kind="stable")
        self.screened_ = np.sort(first[: self.n_screened])
        search = clone(self.selector)
        check_parameters(search)
        places = {int(column): place for place, column in enumerate(self.screened_)}
        part = {places[c]: levels for c, levels in categories.items() if c in places}
        search.categories_ = dict(part)
        found = search._rank(X[:, self.screened_], y, part)
        scores = np.full(X.shape[1], np.nan)
        scores[self.screened_] = found.scores
        rest = first[self.n_screened :]
        order = np.concatenate([self.screened_[found.order], rest])
        return Ranking(order, scores, found.path, found.n_significant)


def screening_pvalues(X: np.ndarray, y: Any, categories: Categories) -> np.ndarray:
    """For each column the smaller p-value of a linear and of a grouped dependence of the target.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Categories are codes of their levels.
    y : target of any type
    categories : mapping
        Levels of the categorical columns, by position.
    """
    target = read_target(y)
    values = target.values
    if target.kind == "classes":
        values = np.asarray(values).ravel()
        values = (values[:, None] == target.classes).astype(np.float64)
    Y = np.asarray(values, dtype=np.float64).reshape(len(X), -1)
    Y = Y - Y.mean(axis=0)
    Y /= np.where(Y.std(axis=0) > 0.0, Y.std(axis=0), 1.0)
    pvalues = np.ones(X.shape[1])
    for low in range(0, X.shape[1], COLUMNS):
        part = np.asarray(X[:, low : low + COLUMNS], dtype=np.float64)
        pvalues[low : low + COLUMNS] = np.minimum(_linear(part, Y), _grouped(part, Y))
    for column, levels in categories.items():
        codes = np.asarray(X[:, column]).astype(int)
        pvalues[column] = _between(codes[:, None], Y, len(levels))[0]
    return pvalues


def _linear(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    centred = X - X.mean(axis=0)
    lengths = np.sqrt((centred**2).sum(axis=0))
    centred /= np.where(lengths > 0.0, lengths, 1.0)
    return _pvalue(((centred.T @ Y) ** 2).sum(axis=1), Y, np.ones(X.shape[1]))


def _grouped(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Groups of neighbouring values, of about the same size; equal values share a group."""
    n_groups = min(GROUPS, len(X) // 4)
    if n_groups < 2:
        return np.ones(X.shape[1])
    cuts = np.quantile(X, np.arange(1, n_groups) / n_groups, axis=0)
    codes = (X[None, :, :] > cuts[:, None, :]).sum(axis=0)
    return _between(codes, Y, n_groups)


def _between(codes: np.ndarray, Y: np.ndarray, n_groups: int) -> np.ndarray:
    """P-value of equal means of Y in the groups that each column of codes tells."""
    explained = np.zeros(codes.shape[1])
    present = np.zeros(codes.shape[1])
    for group in range(n_groups):
        inside = (codes == group).astype(np.float64)
        sizes = inside.sum(axis=0)
        present += sizes > 0
        explained += ((inside.T @ Y) ** 2).sum(axis=1) / np.maximum(sizes, 1.0)
    return _pvalue(explained, Y, present - 1.0)


def _pvalue(explained: np.ndarray, Y: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """F-test of a share of the variation of Y, its columns taken together."""
    total = float((Y**2).sum())
    rest = len(Y) - 1.0 - freedom
    usable = (freedom > 0) & (rest > 0)
    freedom, rest = np.where(usable, freedom, 1.0), np.where(usable, rest, 1.0)
    share = np.clip(explained / max(total, 1e-300), 0.0, 1.0)
    ratio = (share / freedom) / (np.maximum(1.0 - share, 1e-12) / rest)
    return np.where(usable, fdtrc(freedom, rest, ratio), 1.0)
