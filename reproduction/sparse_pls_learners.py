"""What follows the features in the sparse PLS paper: least squares, neighbours, machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import linalg
from sklearn.svm import _libsvm

from reproduction.nested_neighbors import nested_neighbors

NEIGHBOURS = (1, 3, 5, 7, 9)
#: Every second of the paper's powers of two.
PENALTIES = tuple(2.0**power for power in range(-3, 8, 2))
#: Steps of a machine at most; large penalties would take hundreds of times as many.
MOST_ITERATIONS = 10_000


@dataclass(frozen=True)
class Split:
    """Features and targets of a training and a test part."""

    train: np.ndarray
    test: np.ndarray
    y_train: np.ndarray
    y_test: np.ndarray


class Learner(Protocol):
    """Errors on the test part for every setting and every number of leading features."""

    settings: Sequence[Any]

    def errors(self, split: Split, counts: Sequence[int], settings: Sequence[Any]) -> np.ndarray:
        """Of shape (len(settings), len(counts))."""
        ...


class LeastSquares:
    """Root mean squared error of the regression on the first features."""

    settings: Sequence[Any] = (None,)

    def errors(self, split: Split, counts: Sequence[int], settings: Sequence[Any]) -> np.ndarray:
        """One problem of least norm, or one triangular factor for all numbers of features."""
        train, test = (
            np.column_stack([np.ones(len(rows)), rows[:, : max(counts)]])
            for rows in (split.train, split.test)
        )
        if len(counts) == 1:
            weights = np.linalg.lstsq(train, split.y_train, rcond=None)[0]
            return np.array([[_root_mean_square(test @ weights - split.y_test)]])
        orthogonal, triangle = np.linalg.qr(train)  # features are independent
        shares = linalg.solve_triangular(triangle, test.T, trans="T").T * (
            split.y_train @ orthogonal
        )
        predicted = np.cumsum(shares, axis=1)[:, np.asarray(counts)]
        rest = predicted - split.y_test[:, np.newaxis]
        return np.sqrt(np.square(rest).mean(axis=0))[np.newaxis]


class Neighbours:
    """Error rate of the majority of the nearest neighbours; classes are -1 and +1."""

    settings: Sequence[Any] = NEIGHBOURS

    def errors(self, split: Split, counts: Sequence[int], settings: Sequence[Any]) -> np.ndarray:
        """One growing matrix of distances; the most neighbours serve all settings."""
        found = np.empty((len(settings), len(counts)))
        nested = nested_neighbors(split.train, split.test, max(settings), counts)
        for column, near in enumerate(nested):
            votes = np.cumsum(split.y_train[near], axis=1)
            for row, setting in enumerate(settings):
                found[row, column] = np.mean(np.sign(votes[:, setting - 1]) != split.y_test)
        return found


class Machine:
    """Error rate of a support vector machine with a linear kernel."""

    settings: Sequence[Any] = PENALTIES

    def errors(self, split: Split, counts: Sequence[int], settings: Sequence[Any]) -> np.ndarray:
        """One machine per penalty and number of features."""
        found = np.empty((len(settings), len(counts)))
        for column, count in enumerate(counts):
            train, test = split.train[:, :count], split.test[:, :count]
            inner, outer = train @ train.T, test @ train.T
            for row, penalty in enumerate(settings):
                values = _decide(inner, outer, split.y_train, penalty)
                found[row, column] = np.mean(np.sign(values) != split.y_test)
        return found


def _decide(inner: np.ndarray, outer: np.ndarray, y: np.ndarray, penalty: float) -> np.ndarray:
    """Values of a machine at the test rows, from the kernel matrices of both parts.

    That of ``SVC(C=penalty, kernel="precomputed", max_iter=MOST_ITERATIONS)``, without its checks,
    which take six times as long as thousands of small machines.
    """
    _libsvm.set_verbosity_wrap(0)  # it prints what it does unless told otherwise
    places, _, _, dual, intercept, *_ = _libsvm.fit(
        inner,
        (y > 0).astype(np.float64),
        svm_type=0,  # C-SVC
        kernel="precomputed",
        C=penalty,
        tol=1e-3,
        max_iter=MOST_ITERATIONS,
    )
    values: np.ndarray = -(outer[:, places] @ dual[0]) - intercept[0]
    return values


def _root_mean_square(rest: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(rest))))
