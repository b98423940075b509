"""One way to get few features from many, as a comparison sees it; and screening of wide tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import fdtrc
from sklearn.base import clone

from depmax._parameters import check_parameters, integer
from depmax.data import read_target
from depmax.data.columns import Categories, is_frame
from depmax.data.table import require_equal_length, take_columns
from depmax.evaluation.comparison.problem import Problem
from depmax.selection.selector import DependenceSelector, Ranking


def all_columns(problem: Problem) -> int:
    """As many features as there are columns, or training rows less one if these are fewer."""
    return max(1, min(problem.n_features, problem.n_samples - 1))


def as_many_as_rows(problem: Problem) -> int:
    """As many features as training rows less one, however few columns there are."""
    return max(1, problem.n_samples - 1)


def any_problem(problem: Problem) -> bool:
    """Suits every problem."""
    return True


@dataclass(frozen=True)
class Sized:
    """Makes copies of an estimator with a number of features, for ``make`` of a :class:`Method`.

    Unlike a lambda it can be pickled, and its repr shows what it makes.

    Parameters
    ----------
    estimator : unfitted transformer or predictor, or a class or ``partial`` of one
    parameter : str, optional
        The parameter that takes the number; without one the number is ignored.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from depmax.evaluation import Sized
    >>> Sized(PCA(whiten=True), "n_components")(3)
    PCA(n_components=3, whiten=True)
    """

    estimator: Any
    parameter: str | None = None

    def make(self) -> Any:
        """An unfitted copy with the estimator's own number of features."""
        made = self.estimator
        return made() if isinstance(made, type | partial) else clone(made)

    def __call__(self, count: int) -> Any:
        """An unfitted copy with this number of features."""
        copy = self.make()
        return copy if self.parameter is None else copy.set_params(**{self.parameter: count})


@dataclass(frozen=True)
class Method:
    """How a method is made for a number of features, and what it can do.

    Parameters
    ----------
    name : str
    make : callable
        Takes the number of features and returns an unfitted transformer, or a predictor if
        ``predicts``. Methods without a choice of dimension ignore the number. A :class:`Sized`
        estimator, or a function of a module, lets the comparison be pickled; a lambda does not.
    nested : callable, optional
        ``nested(fitted, rows)`` returns a function from k to the first k features of rows, from a
        transformer fitted with more of them. Declared by methods that are nested in dimension,
        which are then fitted once instead of once per dimension: :func:`by_ranking` for selectors
        with ``ranking_``, :func:`leading` for extractors whose first features do not depend on
        their number.
    has_dimension : bool, default=True
    selects : bool, default=False
        Whether it keeps original columns (``get_support``).
    predicts : bool, default=False
        Whether it predicts itself and needs no predictor after it.
    takes_categories, takes_sparse : bool, default=False
        Otherwise categories are passed as indicators, and sparse data are not passed at all.
    largest : callable, optional
        Largest number of features for a problem.
    suits : callable, optional
        Whether the method is tried by default on a problem.
    description : str
        One sentence for reports.
    complexity : int, default=3
        Of candidates with as many columns, the one with the lowest value is preferred: 0 for no
        method at all, 1 for columns judged one at a time, 2 for columns searched together, 3 for
        linear features, 4 for nonlinear features.
    by_default : bool, default=True
        Whether it is tried where the user names no methods.
    """

    name: str
    make: Callable[[int], Any]
    nested: Callable[[Any, Any], Callable[[int], Any]] | None = None
    has_dimension: bool = True
    selects: bool = False
    predicts: bool = False
    takes_categories: bool = False
    takes_sparse: bool = False
    largest: Callable[[Problem], int] = all_columns
    suits: Callable[[Problem], bool] = any_problem
    description: str = ""
    complexity: int = 3
    by_default: bool = True


def by_ranking(selector: Any, rows: Any) -> Callable[[int], Any]:
    """The best columns by ``ranking_``, in the order of the table.

    Parameters
    ----------
    selector : a fitted selector
    rows : array or data frame of shape (n_samples, n_features)

    Returns
    -------
    callable
        From a number of columns to the rows of these columns.
    """
    ranking = np.asarray(selector.ranking_)

    def best(count: int) -> Any:
        kept = np.flatnonzero(ranking <= count)
        if is_frame(rows):
            return take_columns(rows, kept)
        return rows[:, kept]

    return best


def leading(extractor: Any, rows: Any) -> Callable[[int], Any]:
    """The first extracted features.

    Parameters
    ----------
    extractor : a fitted extractor
    rows : array or data frame of shape (n_samples, n_features)

    Returns
    -------
    callable
        From a number of features to the features of the rows.
    """
    features = np.asarray(extractor.transform(rows))
    return lambda count: features[:, :count]


#: Parameters that say how many features come out.
DIMENSION_PARAMETERS = ("n_components", "n_features_to_select", "k")


def method_of(estimator: Any) -> Method:
    """A scikit-learn estimator as a method.

    A transformer whose parameters (or those of the last step of a pipeline) include
    ``n_components``, ``n_features_to_select`` or ``k`` has its dimension chosen; a predictor is
    used as it is.
    """
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise TypeError(
            f"A method is a name, an unfitted estimator or a Method, got {estimator!r}."
        )
    name = _name_of(estimator)
    if not hasattr(estimator, "transform"):
        if not hasattr(estimator, "predict"):
            raise TypeError(f"{name} can neither transform nor predict.")
        return Method(name, Sized(clone(estimator)), has_dimension=False, predicts=True)
    parameter = _dimension_parameter(estimator)
    selects = hasattr(estimator, "get_support")
    categories = type(estimator).__module__.startswith("depmax.") and selects
    return Method(
        name,
        Sized(clone(estimator), parameter),
        has_dimension=parameter is not None,
        selects=selects,
        takes_categories=categories,
        takes_sparse=True,
        complexity=2 if selects else 3,
        largest=all_columns if selects or not _has_kernel(estimator) else as_many_as_rows,
    )


def _has_kernel(estimator: Any) -> bool:
    """Whether features may outnumber columns, as those of a kernel do."""
    while getattr(estimator, "steps", None):
        estimator = estimator.steps[-1][1]
    return "kernel" in estimator.get_params(deep=False)


def _name_of(estimator: Any) -> str:
    steps = getattr(estimator, "steps", None)
    return " + ".join(_name_of(step) for _, step in steps) if steps else type(estimator).__name__


def _dimension_parameter(estimator: Any) -> str | None:
    prefix = ""
    while getattr(estimator, "steps", None):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    parameters = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    found = next((name for name in DIMENSION_PARAMETERS if name in parameters), None)
    return None if found is None else prefix + found


#: Groups of equally many rows by which a column of numbers is compared with the target.
GROUPS = 5
#: Columns that are compared at a time.
COLUMNS = 512


class ScreenFirst(DependenceSelector):
    """Let a selector search only the columns that each depend most on the target.

    Searches over thousands of columns take minutes; sure independence screening (Fan and Lv)
    reduces them to a few hundred. A column is judged by the smaller p-value of two quick tests: its
    correlation with the target, and the means of the target in five groups of rows with similar
    values of the column, which also detects nonlinear dependence. Columns that matter only together
    with others (XOR) may be lost.

    Parameters
    ----------
    selector : selector of depmax
    n_screened : int, default=500
        Columns that are searched.
    n_features_to_select : int, optional
        As in the selector; its own number is the default.

    Attributes
    ----------
    ranking_ : ndarray of shape (n_features,)
        That of the search, then the other columns as ranked by the screening.
    scores_ : ndarray of shape (n_features,)
        Those of the search; NaN for columns that were not searched.
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
        require_equal_length(X.shape[0], read_target(y).n_samples)
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
