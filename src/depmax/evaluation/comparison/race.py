"""Which methods go on: a race on rows that every training part holds.

A method that loses early need not be tried on every split, but stopping it because of its scores on
test rows would flatter those that go on. So the race has its own rows, the pilot. They are in every
training part and in no test part: the race decides within the training rows, like everything else,
and the scores on the test parts stay honest even though the race has chosen.

A pilot is small, and methods that need more rows look poor on it. So methods race against their own
kind: filters of single columns, searches over columns, linear features, nonlinear features. The
best of each kind goes on, and the best two searches, which differ most in how many rows they need.
The selector that depmax recommends always goes on: its users want to know how it does on their
rows, and a noisy pilot does not tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from depmax.evaluation.comparison.methods import Method
from depmax.evaluation.comparison.setting import Listener, Problem, Progress, Setting, outer_splits
from depmax.evaluation.comparison.trial import choose_dimension, in_parallel, quiet_warnings

#: How many methods of each kind go on (see Method.complexity), besides those that stay and all
#: columns.
PLACES = {1: 1, 2: 2, 3: 1, 4: 1}
FINALISTS = sum(PLACES.values())
#: Fewer rows are all needed on the splits,
FEWEST_ROWS = 200
#: of more, this share is the pilot,
SHARE = 0.25
#: and at most this many rows.
MOST_ROWS = 400


@dataclass(frozen=True)
class Race:
    """How the methods did on the pilot, and which went on."""

    rows: np.ndarray  # of the pilot
    scores: Mapping[str, float]  # mean inner score by method, best first; NaN where it failed
    finalists: tuple[str, ...]

    @property
    def stopped(self) -> dict[str, float]:
        """Pilot scores of the methods that did not go on, best first."""
        return {name: score for name, score in self.scores.items() if name not in self.finalists}


def sample_rows(
    y: np.ndarray, count: int, seed: int, *, classes: bool, at_least: int = 0
) -> np.ndarray:
    """Rows drawn at random, in their order; each class in proportion, but with a minimum.

    Examples
    --------
    >>> y = np.repeat(["a", "b"], [90, 10])
    >>> rows = sample_rows(y, 20, seed=0, classes=True)
    >>> np.unique(y[rows], return_counts=True)[1].tolist()
    [18, 2]
    """
    order = np.random.default_rng(seed).permutation(len(y))
    if not classes:
        return np.sort(order[:count])
    codes = np.unique(y, return_inverse=True)[1].ravel()[order]
    shares = [max(at_least, round(count * size / len(y))) for size in np.bincount(codes)]
    parts = [order[codes == code][:share] for code, share in enumerate(shares)]
    return np.sort(np.concatenate(parts))


def sample_groups(groups: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Rows of whole groups drawn at random, in their order: at most this many, at least one group.

    Examples
    --------
    >>> sample_groups(np.repeat([0, 1, 2], 4), 9, seed=0).size
    8
    """
    sizes = np.bincount(groups)
    order = np.random.default_rng(seed).permutation(len(sizes))
    taken = max(1, int(np.searchsorted(np.cumsum(sizes[order]), count, side="right")))
    return np.flatnonzero(np.isin(groups, order[:taken]))


def pilot_rows(y: np.ndarray, problem: Problem, seed: int) -> np.ndarray | None:
    """Rows of the pilot; None if there are too few to spare."""
    if len(y) < FEWEST_ROWS:
        return None
    count = min(MOST_ROWS, round(SHARE * len(y)))
    return sample_rows(y, count, seed, classes=problem.kind == "classes")


def splits_beside(
    pilot: np.ndarray, cv: int | None, problem: Problem, y: np.ndarray, seed: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Outer splits of the other rows, with the pilot in every training part."""
    others = np.setdiff1d(np.arange(len(y)), pilot)
    return [
        (np.sort(np.concatenate([pilot, others[train]])), others[test])
        for train, test in outer_splits(cv, problem, y[others], seed)
    ]


def run_race(
    methods: Sequence[Method],
    X: Any,
    y: np.ndarray,
    pilot: np.ndarray,
    setting: Setting,
    *,
    n_jobs: int | None,
    listener: Listener,
) -> Race:
    """Score every method on the pilot; the best of each kind go on, and all columns.

    A method that fails on so few rows goes on, and is judged on the splits.
    """
    problem = replace(setting.problem, n_samples=max(2, len(pilot) * 2 // 3))
    alone = replace(setting, problem=problem, grows=False)
    tasks = ((method, X, y, pilot, alone) for method in methods)
    started = perf_counter()
    scores: dict[str, float] = {}
    for name, score in in_parallel(_score, tasks, n_jobs=n_jobs, shared=(X, y)):
        scores[name] = score
        elapsed = perf_counter() - started
        listener(Progress(len(scores), len(methods), elapsed, name, "first round"))
    stopped = set(beaten(methods, scores))
    order = sorted(scores, key=lambda name: -np.nan_to_num(scores[name], nan=-np.inf))
    return Race(
        pilot,
        {name: scores[name] for name in order},
        tuple(method.name for method in methods if method.name not in stopped),
    )


def beaten(methods: Sequence[Method], scores: Mapping[str, float]) -> list[str]:
    """Methods that enough others of their kind beat, except those that always go on."""
    names: list[str] = []
    for kind, places in PLACES.items():
        runners = [m for m in methods if m.complexity == kind and not np.isnan(scores[m.name])]
        runners.sort(key=lambda method: -scores[method.name])
        names += [method.name for method in runners[places:] if not method.stays]
    return names


def _score(
    method: Method, X: Any, y: np.ndarray, pilot: np.ndarray, setting: Setting
) -> tuple[str, float]:
    with quiet_warnings():
        try:
            rows = _safe_indexing(X, pilot)
            return method.name, choose_dimension(method, rows, y[pilot], setting).score
        except Exception:  # what fails here is tried on the splits, where its reason is kept
            return method.name, float("nan")
