"""What is compared on: sizes and types of the data, folds, and progress."""

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
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)

from depmax._text import counted
from depmax.data import TargetKind, Task, read_table, read_target
from depmax.data.table import numbered_columns
from depmax.dependence.exchange import exchange_of


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
    if target.kind == "censored":
        raise TypeError(
            "y holds survival times, and compare knows no predictor that takes censored ones: use "
            "screen, hsic_test or a selector such as BAHSIC (depmax screen, depmax select), which "
            "do, or judge their columns with a predictor of a survival library."
        )
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


#: Sizes that are tried.
GRID = (1, 2, 3, 5, 8, 12, 20, 32, 50, 80)
#: Folds up to so many rows, and beyond.
MANY_ROWS, FOLDS, FEWER_FOLDS = 1000, 10, 5
#: Up to this many rows folds are repeated.
FEW_ROWS = 150


def read_groups(groups: Any, n_samples: int) -> np.ndarray | None:
    """The group of every row as a number; None where rows are independent."""
    return None if groups is None else exchange_of(groups).units(n_samples)


def folds_of(
    cv: Any, problem: Problem, y: np.ndarray, seed: int, groups: np.ndarray | None = None
) -> list[list[tuple[np.ndarray, np.ndarray]]]:
    """Repeats of folds, as (train, test): in a repeat every row is in one test part at most.

    None is ten folds, twice where rows are few, five where they are many; a number is as many.
    Folds are stratified by class and never split a group. The splits of a splitter or an iterable
    are put into as few repeats as their test parts need.
    """
    if cv is None or isinstance(cv, int | np.integer):
        n_folds = _number_of_folds(None if cv is None else int(cv), problem, y, groups)
        repeats = 2 if cv is None and len(y) <= FEW_ROWS else 1
        return [_folds(n_folds, problem, y, groups, seed + number) for number in range(repeats)]
    with warnings.catch_warnings():  # a splitter that parts groups is refused below
        warnings.filterwarnings("ignore", message="The groups parameter is ignored")
        splits = list(check_cv(cv).split(np.zeros((len(y), 1)), y, groups))
    if not splits:
        raise ValueError("cv produced no splits.")
    for train, test in splits:
        shared = np.intersect1d(groups[train], groups[test]) if groups is not None else ()
        if len(shared):
            raise ValueError(
                f"cv puts rows of {len(shared)} groups into both the training and the test part: "
                "pass a splitter of groups, such as GroupKFold."
            )
    return _packed(splits, len(y))


def _packed(
    splits: list[tuple[np.ndarray, np.ndarray]], n_rows: int
) -> list[list[tuple[np.ndarray, np.ndarray]]]:
    repeats: list[list[tuple[np.ndarray, np.ndarray]]] = []
    taken: list[np.ndarray] = []
    for train, test in splits:
        place = next((i for i, rows in enumerate(taken) if not rows[test].any()), len(repeats))
        if place == len(repeats):
            repeats.append([])
            taken.append(np.zeros(n_rows, dtype=bool))
        repeats[place].append((np.asarray(train), np.asarray(test)))
        taken[place][test] = True
    return repeats


def _number_of_folds(
    cv: int | None, problem: Problem, y: np.ndarray, groups: np.ndarray | None
) -> int:
    usual = FOLDS if len(y) <= MANY_ROWS else FEWER_FOLDS
    n_folds = usual if cv is None else int(cv)
    if n_folds < 2:
        raise ValueError(f"cv must be at least 2 folds, a splitter or None, got {cv!r}.")
    if groups is not None:
        n_groups = len(np.unique(groups))
        if n_groups < 2:
            raise ValueError("All rows belong to one group, so none can be held out: pass more.")
        if n_groups < n_folds and cv is not None:
            raise ValueError(
                f"cv={n_folds} folds are more than {counted(n_groups, 'group')} of rows."
            )
        return min(n_folds, n_groups)
    if problem.kind == "classes":
        rarest = _size_of_rarest_class(y)
        if cv is not None and n_folds > rarest:
            raise ValueError(
                f"cv={n_folds} folds are more than the {rarest} rows of the rarest class: pass at "
                f"most {rarest}, or None for a suitable number."
            )
        return min(n_folds, rarest)
    most = len(y) // 2  # R² needs two rows
    if cv is None:
        n_folds = max(3, min(n_folds, most))
    if n_folds > most:
        raise ValueError(f"{n_folds} folds need at least {2 * n_folds} rows, got {len(y)}.")
    return n_folds


def _folds(
    n_folds: int, problem: Problem, y: np.ndarray, groups: np.ndarray | None, seed: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    stratify = problem.kind == "classes"
    if groups is None:
        splitter: Any = StratifiedKFold if stratify else KFold
    else:
        splitter = StratifiedGroupKFold if stratify else GroupKFold
    folds = splitter(n_folds, shuffle=True, random_state=seed)
    splits = list(folds.split(np.zeros((len(y), 1)), y, groups))
    for train, _ in splits if stratify else ():
        missing = np.setdiff1d(y, y[train])
        if len(missing):
            raise ValueError(
                f"Class {missing.tolist()[0]!r} of y is in too few groups of rows to be in every "
                "training part: merge it with another class, or pass fewer folds."
            )
    return splits


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


def sizes_of(sizes: Any, problem: Problem) -> tuple[int, ...]:
    """Numbers of features to try: 1, 2, 3, 5, 8, 12, …, 80, below the number of columns."""
    if sizes is None:
        return tuple(size for size in GRID if size < problem.n_features) or (1,)
    given = [sizes] if isinstance(sizes, int | np.integer) else list(sizes)
    whole = all(isinstance(size, int | np.integer) and size >= 1 for size in given)
    if not given or not whole:
        raise ValueError(f"dimensions must be whole numbers >= 1, got {sizes!r}.")
    return tuple(sorted({int(size) for size in given}))


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
    plain = labels.dtype.kind not in "fc"
    plain = plain and read_target(labels, is_part=True).kind == "classes"
    return labels if plain else labels.astype(str)


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
        return self.elapsed / max(1, self.done) * (self.total - self.done)


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
    line = line if state.done else state.step
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
