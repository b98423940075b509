"""What all trials of a comparison share."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)

from depmax._inputs import TargetKind, Task, read_table, read_target
from depmax._inputs.table import numbered_columns
from depmax._text import counted
from depmax.dependence.exchange import as_exchange
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
        Whether X is a table of numbers and categories; if not, it only has to support indexing by
        rows.
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
            f"y has only one class, {target.classes.tolist()[0]!r}: there is nothing to predict."
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
    names = read.names or numbered_columns(n_features)
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
        rows = counted(n_rows, "row")
        raise ValueError(f"X has {rows} and y has {n_targets}: pass one target per row.")


#: From this many rows on, one repetition and one inner split are enough.
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
    #: The group of every row of the data, where rows of a group must not be split.
    groups: np.ndarray | None = field(default=None, repr=False, compare=False)
    grows: bool = False  # whether larger dimensions are tried where the largest does best
    n_screened: int | None = None  # columns that searches are left with, if there are more

    def inner_splits(
        self, X: Any, y: np.ndarray, rows: np.ndarray | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Splits of a training part, on which the dimension is chosen.

        ``rows`` are the positions of the training part in the data, whose groups are not split.
        """
        n_rows = len(y)
        stratify = self.problem.kind == "classes" and least_class(y) >= 2
        cv = self.inner_cv
        if self.groups is not None and rows is not None:
            labels = self.groups[rows]
            if cv is None or isinstance(cv, int):
                cv = _grouped_folds(cv or 3, labels, stratify, self.seed)
            return list(check_cv(cv).split(np.zeros((n_rows, 1)), y, labels))
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


def read_groups(groups: Any, n_samples: int) -> np.ndarray | None:
    """The group of every row as a number; None where rows are independent."""
    exchange = as_exchange(groups)
    return None if exchange is None else exchange.units(n_samples)


def _grouped_folds(folds: int, groups: np.ndarray, stratify: bool, seed: int) -> Any:
    """Folds that split no group, as many as there are groups at most."""
    n_groups = len(np.unique(groups))
    if n_groups < 2:
        raise ValueError(
            "All rows of a part belong to one group, so none can be held out: pass more groups."
        )
    split = StratifiedGroupKFold if stratify else GroupKFold
    return split(min(folds, n_groups), shuffle=True, random_state=seed)


def _grouped_outer(
    cv: int | None,
    problem: Problem,
    y: np.ndarray,
    groups: np.ndarray,
    seed: int,
    *,
    thorough: bool,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds of whole groups, repeated as without groups."""
    n_groups = len(np.unique(groups))
    folds = 5 if cv is None else cv
    if n_groups < folds and cv is not None:
        raise ValueError(f"cv={folds} folds are more than {counted(n_groups, 'group')} of rows.")
    repeats = 2 if cv is None and thorough and len(y) < MANY_ROWS else 1
    stratify = problem.kind == "classes"
    places = np.zeros((len(y), 1))
    splits = []
    for repeat in range(repeats):
        splitter = _grouped_folds(folds, groups, stratify, seed + repeat)
        splits += list(splitter.split(places, y, groups))
    if stratify:
        for train, _ in splits:
            missing = np.setdiff1d(y, y[train])
            if len(missing):
                raise ValueError(
                    f"Class {missing.tolist()[0]!r} of y is in too few groups of rows to be in "
                    "every training part: merge it with another class, or pass fewer folds."
                )
    return splits


def outer_splits(
    cv: Any,
    problem: Problem,
    y: np.ndarray,
    seed: int,
    groups: np.ndarray | None = None,
    *,
    thorough: bool = False,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The splits on which methods are judged.

    None is five folds, twice if thorough and below 2,000 rows; a number is this many folds once; a
    splitter or an iterable of (train, test) is used as it is. Folds are stratified by class, and
    never split a group.
    """
    if groups is not None and (cv is None or (isinstance(cv, int | np.integer) and cv >= 2)):
        folds = None if cv is None else int(cv)
        return _grouped_outer(folds, problem, y, groups, seed, thorough=thorough)
    if cv is None or isinstance(cv, int | np.integer):
        folds = 5 if cv is None else int(cv)
        if folds < 2:
            raise ValueError(f"cv must be at least 2 folds, a splitter or None, got {cv!r}.")
        repeats = 2 if cv is None and thorough and len(y) < MANY_ROWS else 1
        if problem.kind == "classes":
            rarest = _size_of_rarest_class(y)
            if cv is not None and folds > rarest:
                raise ValueError(
                    f"cv={folds} folds are more than the {rarest} rows of the rarest class: pass "
                    f"at most {rarest}, or None for a suitable number."
                )
            folds = min(folds, rarest)
            cv = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
        else:
            if len(y) < 2 * folds:
                raise ValueError(f"{folds} folds need at least {2 * folds} rows, got {len(y)}.")
            cv = RepeatedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
    with warnings.catch_warnings():  # a splitter that parts groups is refused below
        warnings.filterwarnings("ignore", message="The groups parameter is ignored")
        splits = list(check_cv(cv).split(np.zeros((len(y), 1)), y, groups))
    if not splits:
        raise ValueError("cv produced no splits.")
    if groups is not None:
        for train, test in splits:
            shared = np.intersect1d(groups[train], groups[test])
            if len(shared):
                raise ValueError(
                    f"cv puts rows of {len(shared)} groups into both the training and the test "
                    "part: pass a splitter of groups, such as GroupKFold."
                )
    return splits


def least_class(y: np.ndarray) -> int:
    """Number of rows of the rarest class."""
    return int(np.unique(y, return_counts=True)[1].min())


def _size_of_rarest_class(y: np.ndarray) -> int:
    """Number of rows of the rarest class, refused if a training part could miss it."""
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        rare = classes.tolist()[counts.argmin()]
        raise ValueError(
            f"Class {rare!r} of y has only one row, so no part can be held out: merge it with "
            "another class, or drop the row."
        )
    return int(counts.min())


def dimension_grid(dimensions: Any, problem: Problem) -> tuple[int, ...]:
    """Numbers of features to try: 1, 2, 3, 5, 8, 12, 20, 32, up to the number of columns."""
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
    """Labels that every method reads as classes: text if they would otherwise be read as numbers.

    Examples
    --------
    >>> import numpy as np
    >>> as_classes(np.array([1, 2, 1]))
    array([1, 2, 1])
    >>> as_classes(np.array([0.5, 1.5, 2.5])).tolist()
    ['0.5', '1.5', '2.5']
    """
    return labels if read_target(labels, is_part=True).kind == "classes" else labels.astype(str)


@dataclass(frozen=True)
class Progress:
    """State after a finished part of a step."""

    done: int
    total: int
    elapsed: float  # seconds since the step began
    method: str  # of the trial that has just finished, or what else has
    step: str = "comparing"

    @property
    def remaining(self) -> float:
        """Seconds until the step is done, if its other parts take as long on average."""
        return self.elapsed / self.done * (self.total - self.done)


Listener = Callable[[Progress], None]


def read_listener(progress: bool | Listener) -> Listener:
    """A function to call after every trial."""
    if callable(progress):
        return progress
    return print_progress if progress else quiet


def quiet(state: Progress) -> None:
    """Say nothing."""


def print_progress(state: Progress) -> None:
    """One line on standard error: rewritten on a terminal, a line per tenth elsewhere."""
    line = (
        f"{state.step}: {state.done}/{state.total} done, {clock(state.elapsed)} elapsed, about "
        f"{clock(state.remaining)} left"
    )
    if sys.stderr.isatty():
        end = "\n" if state.done == state.total else ""
        print(f"\r{line}\033[K", end=end, file=sys.stderr, flush=True)
    elif state.done * 10 // state.total != (state.done - 1) * 10 // state.total:
        print(line, file=sys.stderr, flush=True)


def clock(seconds: float) -> str:
    """Seconds as a person says them.

    >>> clock(4.2), clock(75), clock(4000)
    ('4 s', '1 min 15 s', '1 h 06 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
