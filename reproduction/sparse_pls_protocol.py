"""Nested cross-validation of features and what follows them, as in the sparse PLS paper.

Features of a deflation method are nested: the first k of many are those of a fit with k. So one fit
per setting serves all numbers of features.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from reproduction.kept_splits import KeptSplits, Key
from reproduction.sparse_pls_learners import Learner, Split
from reproduction.sparse_pls_methods import Candidate, Method

FOLDS = 5
#: Of the file with one value per fold.
PAIRED = ("dataset", "method", "errors")
#: Stands for all features, however many there are.
ALL = 0


@dataclass(frozen=True)
class Plan:
    """How often and how deep the cross-validation goes."""

    repeats: int = 1
    folds: int = FOLDS
    inner_folds: int = FOLDS

    @property
    def n_splits(self) -> int:
        """Number of outer folds."""
        return self.repeats * self.folds


def outer_errors(
    X: np.ndarray,
    y: np.ndarray,
    method: Method,
    learner: Learner,
    plan: Plan,
    kept: KeptSplits,
    dataset: str,
    n_jobs: int | None = None,
    n_splits: int | None = None,
) -> list[float]:
    """Error on every outer fold, all settings chosen inside its training part.

    ``n_splits`` asks for the first of the folds only; those that are kept are not run again.
    """
    key = (dataset, method.name)
    rows = X * np.sqrt(len(X)) if method.unit_variance else X
    job = partial(_outer_fold, rows, y, method, learner, plan)
    kept.complete([key], min(plan.n_splits, n_splits or plan.n_splits), job, n_jobs)
    return kept.values(key, n_splits)[0] if kept.count(key) else []


def numbers_of_features(most: int) -> list[int]:
    """1 to 8, then steps of about a quarter, up to the most."""
    counts, count = [], 1
    while count < most:
        counts.append(count)
        count += max(1, count // 4)
    return [*counts, most]


def _outer_fold(
    X: np.ndarray,
    y: np.ndarray,
    method: Method,
    learner: Learner,
    plan: Plan,
    split_number: int,
    keys: Sequence[Key],
) -> dict[Key, tuple[float]]:
    repeat, place = divmod(split_number, plan.folds)
    seed = method.first_seed + repeat
    train, test = next(islice(folds_of(y, plan.folds, seed), place, None))
    rows, target = X[train], y[train]
    inner_folds = plan.inner_folds
    smallest = len(rows) - -(-len(rows) // inner_folds)  # rows of the smallest inner training part
    best: tuple[float, Any, Any, int] = (np.inf, None, None, 0)
    for candidate in method.candidates(smallest, X.shape[1]):
        tables = []
        for inner, held in folds_of(target, inner_folds, 0):
            split = _featured(method, candidate, rows, target, inner, held)
            counts = _counts(method, split)
            errors = learner.errors(split, counts, learner.settings)
            tables.append(([ALL] if method.all_features else counts, errors))
        common = sorted(set.intersection(*(set(counts) for counts, _ in tables)))
        mean = np.mean(
            [table[:, [counts.index(c) for c in common]] for counts, table in tables], axis=0
        )
        row, column = divmod(int(mean.argmin()), mean.shape[1])
        if mean[row, column] < best[0]:
            best = (mean[row, column], candidate, learner.settings[row], common[column])
    _, candidate, setting, count = best
    split = _featured(method, candidate, X, y, train, test)
    available = split.train.shape[1]
    count = available if count == ALL else min(count, available)
    error = float(learner.errors(split, [count], [setting])[0, 0])
    return dict.fromkeys(keys, (error,))


def _counts(method: Method, split: Split) -> list[int]:
    """Numbers of features to try."""
    most = split.train.shape[1]
    return [most] if method.all_features else numbers_of_features(most)


def _featured(
    method: Method,
    candidate: Candidate,
    X: np.ndarray,
    y: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
) -> Split:
    """Features of both parts, multiplied by one number so that penalties mean the same to all.

    Columns get unit variance instead of unit norm, and so does the first of extracted features;
    the Gaussian feature space stays as it is.
    """
    first, second = candidate.features(X[train], y[train], X[test])
    if not method.all_features:
        scale = 1.0 / float(first[:, 0].std())
    else:
        scale = 1.0 if method.gaussian else float(np.sqrt(len(X)))
    return Split(first * scale, second * scale, y[train], y[test])


def folds_of(y: np.ndarray, n_folds: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows of every fold, in equal shares of two classes."""
    classes = len(np.unique(y)) == 2
    splitter = StratifiedKFold if classes else KFold
    yield from splitter(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)


def wanted_sets(known: Iterable[str], datasets: Sequence[str] | None) -> tuple[str, ...]:
    """The data sets to run, all that are known by default; others are refused."""
    wanted = tuple(datasets or known)
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        raise ValueError(f"The table has no set named {unknown[0]!r}: one of {sorted(known)}.")
    return wanted


def normalised(X: np.ndarray) -> np.ndarray:
    """Columns of mean zero and unit norm; constant ones are left out."""
    centred = X - X.mean(axis=0)
    norms = np.linalg.norm(centred, axis=0)
    kept = norms > 1e-12 * np.abs(X).max(axis=0, initial=1e-300)
    columns: np.ndarray = centred[:, kept] / norms[kept]
    return columns


def chosen_methods(methods: Sequence[Method], quick: bool) -> list[Method]:
    """All methods, or for a quick look those with linear kernels and few settings."""
    slow = ("Sp. KPLS", "LAD BLF", "Exp KB", "Log KB")
    return [m for m in methods if not quick or not (m.gaussian or m.name.partition(",")[0] in slow)]
