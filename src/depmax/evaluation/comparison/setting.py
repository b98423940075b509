"""What all trials of a comparison share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import (
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)
from sklearn.utils.metaestimators import available_if

from depmax._inputs import TargetKind, Task, read_table, read_target
from depmax.evaluation.comparison.metrics import Metric


@dataclass(frozen=True)
class Problem:
    """Sizes and types; ``n_samples`` counts the rows that a method is trained on."""

    kind: TargetKind
    n_samples: int
    n_features: int
    n_outputs: int  # classes, or columns of the target
    sparse: bool = False
    categorical: bool = False
    names: tuple[str, ...] = field(default=(), repr=False)
    n_indicators: int = 0  # columns of numbers that levels of categories add for extractors
    #: Classes as they were given, where methods get them as text since they look like numbers.
    labels: np.ndarray | None = field(default=None, repr=False, compare=False)

    @property
    def about_target(self) -> str:
        """Type of the target in words.

        >>> Problem("classes", 100, 5, 26).about_target
        '26 classes'
        """
        return {
            "classes": f"{self.n_outputs} classes",
            "numbers": "numbers",
            "multilabel": f"{self.n_outputs} labels, several per row",
            "multioutput": f"{self.n_outputs} numbers per row",
        }[self.kind]

    @property
    def width(self) -> int:
        """Columns of numbers that extractors see."""
        return self.n_features + self.n_indicators


def read_problem(X: Any, y: Any, *, table: bool, task: Task = "auto") -> tuple[Problem, np.ndarray]:
    """Sizes and types of the data, and the target as scikit-learn's predictors want it.

    Parameters
    ----------
    X : rows
    y : target
    table : bool
        Whether X is a table of numbers and categories; if not, it is indexed by rows and no more
        is asked of it.
    task : {"auto", "classification", "regression"}
        Whether the target is classes or numbers; by default guessed.
    """
    target = read_target(y, task=task)
    values = target.values
    if target.kind == "numbers":
        values = values[:, 0]
    elif target.kind == "multilabel":
        values = values.astype(np.int64)
    classes = target.kind == "classes"
    n_outputs = len(target.classes) if classes else target.values.shape[1]
    if classes and n_outputs < 2:
        raise ValueError(
            f"y has one class only, {target.classes.tolist()[0]!r}: there is nothing to predict."
        )
    given = None
    if classes and (text := as_classes(values)) is not values:
        given, values = target.classes, text
    if not table:
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        _require_equal(n_rows, target.n_samples)
        n_features = X.shape[1] if len(getattr(X, "shape", ())) == 2 else 1
        return Problem(target.kind, n_rows, n_features, n_outputs, labels=given), values
    read = read_table(X)
    _require_equal(read.n_samples, target.n_samples)
    n_features = read.values.shape[1]
    names = read.names or tuple(f"x{position}" for position in range(n_features))
    problem = Problem(
        target.kind,
        read.n_samples,
        n_features,
        n_outputs,
        sparse.issparse(read.values),
        bool(read.categories),
        names,
        sum(len(levels) - 1 for levels in read.categories.values()),
        given,
    )
    return problem, values


def _require_equal(n_rows: int, n_targets: int) -> None:
    if n_rows != n_targets:
        raise ValueError(f"X has {n_rows} rows and y has {n_targets}: pass one target per row.")


#: From so many rows on, one repetition and one inner split are enough.
MANY_ROWS = 2000
#: Sizes of the default grid; where the last does best, larger ones follow.
GRID = (1, 2, 3, 5, 8, 12, 20, 32)
#: Each of these is so many times the one before.
GROWTH = 1.6


@dataclass(frozen=True)
class Setting:
    """Predictor, metrics, dimensions and inner splits."""

    problem: Problem
    predictor: Any
    metrics: tuple[Metric, ...]
    dimensions: tuple[int, ...]
    inner_cv: Any  # None: chosen by the data; a number of folds; a splitter
    tolerance: float  # standard errors that a smaller dimension may score below the best
    prepare: bool
    seed: int
    impute: str | None = None  # what fills gaps, learnt from the training rows
    grows: bool = False  # whether larger dimensions are tried where the largest does best
    n_screened: int | None = None  # columns that searches are left with, if there are more

    def inner_splits(self, X: Any, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Splits of a training part, on which the dimension is chosen."""
        n_rows = len(y)
        stratify = self.problem.kind == "classes" and least_class(y) >= 2
        cv = self.inner_cv
        if cv is None and n_rows >= MANY_ROWS:
            split = StratifiedShuffleSplit if stratify else ShuffleSplit
            cv = split(1, test_size=0.25, random_state=self.seed)
        elif cv is None or isinstance(cv, int):
            folds = min(cv or 3, n_rows)
            if stratify:
                folds = min(folds, least_class(y))
                cv = StratifiedKFold(folds, shuffle=True, random_state=self.seed)
            else:
                cv = KFold(folds, shuffle=True, random_state=self.seed)
        places = np.zeros((n_rows, 1))
        return list(check_cv(cv).split(places, y))


def outer_splits(
    cv: Any, problem: Problem, y: np.ndarray, seed: int, *, thorough: bool = False
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The splits on which methods are judged.

    None is five folds, twice if thorough and below 2,000 rows; a number is this many folds once; a
    splitter or an iterable of (train, test) is taken as it is. Folds are stratified by class.
    """
    if cv is None or isinstance(cv, int | np.integer):
        folds = 5 if cv is None else int(cv)
        if folds < 2:
            raise ValueError(f"cv must be at least 2 folds, a splitter or None, got {cv!r}.")
        repeats = 2 if cv is None and thorough and len(y) < MANY_ROWS else 1
        if problem.kind == "classes":
            rarest = _enough(y)
            if cv is not None and folds > rarest:
                raise ValueError(
                    f"cv={folds} folds are more than the {rarest} rows of the rarest class: pass "
                    f"at most {rarest}, or None for a suitable number."
                )
            folds = min(folds, rarest)
            cv = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
        else:
            if len(y) < 2 * folds:
                raise ValueError(
                    f"{len(y)} rows are too few for {folds} folds: at least {2 * folds} are needed."
                )
            cv = RepeatedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
    splits = list(check_cv(cv).split(np.zeros((len(y), 1)), y))
    if not splits:
        raise ValueError("cv gave no splits.")
    return splits


def least_class(y: np.ndarray) -> int:
    """Number of rows of the rarest class."""
    return int(np.unique(y, return_counts=True)[1].min())


def _enough(y: np.ndarray) -> int:
    """Number of rows of the rarest class, refused if a training part could miss it."""
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        rare = classes.tolist()[counts.argmin()]
        raise ValueError(
            f"Class {rare!r} of y has one row only, so no part can be held out: merge it with "
            "another class, or drop the row."
        )
    return int(counts.min())


def dimension_grid(dimensions: Any, problem: Problem) -> tuple[int, ...]:
    """Numbers of features to try: 1, 2, 3, 5, 8, 12, 20, 32, as far as there are columns."""
    if dimensions is None:
        # half of a step before the number of columns adds nothing to "all columns"
        grid = [size for size in GRID if size < problem.n_features]
        return tuple(grid) or (1,)
    sizes = [dimensions] if isinstance(dimensions, int | np.integer) else list(dimensions)
    whole = all(isinstance(size, int | np.integer) and size >= 1 for size in sizes)
    if not sizes or not whole:
        raise ValueError(f"dimensions must be whole numbers >= 1, got {dimensions!r}.")
    return tuple(sorted({int(size) for size in sizes}))


def next_size(size: int) -> int:
    """The dimension that is tried after the largest of the grid.

    >>> next_size(32), next_size(51)
    (51, 82)
    """
    return round(size * GROWTH)


def as_classes(labels: np.ndarray) -> np.ndarray:
    """Labels that every method reads as classes: text, where they would be taken for numbers.

    Examples
    --------
    >>> import numpy as np
    >>> as_classes(np.array([1, 2, 1]))
    array([1, 2, 1])
    >>> as_classes(np.array([0.5, 1.5, 2.5])).tolist()
    ['0.5', '1.5', '2.5']
    """
    return labels if read_target(labels).kind == "classes" else labels.astype(str)


def _has(name: str) -> Any:
    return available_if(lambda model: hasattr(getattr(model, "estimator_", model.estimator), name))


class OwnLabels(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that is fitted on classes as text and predicts them as they were given.

    Parameters
    ----------
    estimator : classifier
    labels : array-like of shape (n_classes,)
        The classes as they were given.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from depmax.evaluation.comparison.setting import OwnLabels
    >>> model = OwnLabels(KNeighborsClassifier(1), [10, 20])
    >>> model.fit([[0.0], [1.0]], ["10", "20"]).predict([[0.9]]).tolist()
    [20]
    """

    def __init__(self, estimator: Any, labels: Any) -> None:
        self.estimator = estimator
        self.labels = labels

    def fit(self, X: Any, y: Any) -> OwnLabels:
        """Fit on the classes as text.

        Parameters
        ----------
        X : rows
        y : array-like of str of shape (n_samples,)

        Returns
        -------
        self
        """
        self.estimator_ = clone(self.estimator).fit(X, np.asarray(y).astype(str))
        self.classes_ = self._given(self.estimator_.classes_)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Class of every row.

        Parameters
        ----------
        X : rows
        """
        return self._given(self.estimator_.predict(X))

    def _given(self, text: np.ndarray) -> np.ndarray:
        """Classes as they were given, from their text."""
        labels = np.unique(np.asarray(self.labels))
        spelled = labels.astype(str)
        order = np.argsort(spelled)
        return np.asarray(labels[order[np.searchsorted(spelled[order], text)]])

    @_has("predict_proba")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class.

        Parameters
        ----------
        X : rows
        """
        return np.asarray(self.estimator_.predict_proba(X))

    @_has("decision_function")
    def decision_function(self, X: Any) -> np.ndarray:
        """Score of every class.

        Parameters
        ----------
        X : rows
        """
        return np.asarray(self.estimator_.decision_function(X))
