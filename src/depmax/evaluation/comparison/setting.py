"""What all trials of a comparison share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import (
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)

from depmax.evaluation.comparison.metrics import Metric
from depmax.evaluation.comparison.problem import Problem

#: From so many rows on, one repetition and one inner split are enough.
MANY_ROWS = 2000
#: Largest dimension of the default grid.
LARGEST_DIMENSION = 32
GRID = (1, 2, 3, 5, 8, 12, 20, LARGEST_DIMENSION)


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
    cv: Any, problem: Problem, y: np.ndarray, seed: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The splits on which methods are judged.

    None is five folds twice, once from 2,000 rows on; a number is so many folds once; a splitter
    or an iterable of (train, test) is taken as it is. Folds are stratified by class.
    """
    if cv is None or isinstance(cv, int | np.integer):
        folds = 5 if cv is None else int(cv)
        if folds < 2:
            raise ValueError(f"cv must be at least 2 folds, a splitter or None, got {cv!r}.")
        repeats = 2 if cv is None and len(y) < MANY_ROWS else 1
        if problem.kind == "classes":
            rarest = _enough(y)
            if cv is not None and folds > rarest:
                raise ValueError(
                    f"cv={folds} folds are more than the {rarest} rows of the rarest class: pass "
                    f"at most {rarest}, or None for a number that suits."
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
