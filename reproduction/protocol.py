"""Cross-validation of a selector followed by a support vector machine, as in the BAHSIC paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from scipy.spatial.distance import pdist
from sklearn.impute import SimpleImputer
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from reproduction.methods import Order

Task = Literal["binary", "multiclass", "regression"]
Machine = Callable[[np.ndarray, np.ndarray], Any]


@dataclass(frozen=True)
class Fold:
    """What one fold gave: the columns chosen, and the score in per cent (smaller is better)."""

    columns: tuple[int, ...]
    score: float


def folds(
    X: np.ndarray,
    y: np.ndarray,
    task: Task,
    order: Order,
    count: int,
    machine: Machine,
    n_folds: int = 10,
    n_jobs: int | None = None,
) -> list[Fold]:
    """Select ``count`` columns on each training part, fit the machine, score the test part.

    Columns are standardised, and missing values filled with means, by the training part. The score
    of classes is the error rate, that of numbers the share of variance not explained.
    """
    parts = splits(y, task, n_folds)
    jobs = (delayed(_fold)(X, y, task, order, count, machine, *part) for part in parts)
    return list(Parallel(n_jobs=n_jobs)(jobs))


def overlap(results: Sequence[Fold]) -> int:
    """Number of columns that every fold chose."""
    return len(set.intersection(*(set(fold.columns) for fold in results)))


def gaussian_machine(X: np.ndarray, y: np.ndarray, C: float = 100.0) -> Any:
    """A fitted SVM with a Gaussian kernel, its σ the median distance of the rows.

    Classes beyond two are one against the rest; numbers are standardised first (ε = 0.1).
    """
    gamma = 1 / (2 * _median_distance(X) ** 2)
    if y.dtype.kind == "f":
        return SVR(C=C, gamma=gamma).fit(X, y)
    machine = SVC(C=C, gamma=gamma)
    return one_against_rest(machine, y).fit(X, y)


def one_against_rest(machine: Any, y: np.ndarray) -> Any:
    """The machine itself for two classes, one per class for more."""
    return machine if len(np.unique(y)) <= 2 else OneVsRestClassifier(machine)


@dataclass(frozen=True)
class Split:
    """A training part and a test part, filled and standardised by the training part."""

    rows: np.ndarray
    target: np.ndarray  # of the training part; numbers are standardised
    others: np.ndarray
    truth: np.ndarray  # of the test part, in the units of ``target``

    @classmethod
    def of(
        cls, X: np.ndarray, y: np.ndarray, task: Task, train: np.ndarray, test: np.ndarray
    ) -> Split:
        """Of some rows of a data set."""
        fill = SimpleImputer(keep_empty_features=True).fit(X[train])
        scale = StandardScaler().fit(fill.transform(X[train]))
        rows, others = (scale.transform(fill.transform(X[part])) for part in (train, test))
        target, truth = y[train], y[test]
        if task == "regression":
            centre, spread = target.mean(), target.std()
            target, truth = (target - centre) / spread, (truth - centre) / spread
        return cls(rows, target, others, truth)

    def predicted(self, machine: Machine, columns: np.ndarray) -> np.ndarray:
        """Predictions of the test part by a machine on some columns."""
        return machine(self.rows[:, columns], self.target).predict(self.others[:, columns])


def splits(y: np.ndarray, task: Task, n_folds: int = 10) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows of every fold, stratified by class."""
    splitter = KFold if task == "regression" else StratifiedKFold
    return list(splitter(n_folds, shuffle=True, random_state=0).split(y, y))


def _fold(
    X: np.ndarray,
    y: np.ndarray,
    task: Task,
    order: Order,
    count: int,
    machine: Machine,
    train: np.ndarray,
    test: np.ndarray,
) -> Fold:
    split = Split.of(X, y, task, train, test)
    columns = order(split.rows, split.target, count)[:count]
    predicted = split.predicted(machine, columns)
    if task == "regression":
        score = 1 - r2_score(split.truth, predicted)
    else:
        score = np.mean(predicted != split.truth)
    return Fold(tuple(int(column) for column in columns), 100 * float(score))


def _median_distance(X: np.ndarray) -> float:
    """Median distance of two rows; of different rows if most are equal."""
    distances = pdist(X)
    middle = float(np.median(distances))
    if middle == 0 and np.any(distances):
        middle = float(np.median(distances[distances > 0]))
    return middle or 1.0
