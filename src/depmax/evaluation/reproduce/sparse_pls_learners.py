"""What follows the features in the sparse PLS paper: least squares, neighbours, machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC

NEIGHBOURS = (1, 3, 5, 7, 9)
PENALTIES = tuple(2.0**power for power in range(-3, 8))


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
        """One least squares problem per number of features."""
        found = []
        for count in counts:
            design = np.column_stack([np.ones(len(split.train)), split.train[:, :count]])
            weights = np.linalg.lstsq(design, split.y_train, rcond=None)[0]
            rest = split.y_test - weights[0] - split.test[:, :count] @ weights[1:]
            found.append(float(np.sqrt(np.mean(np.square(rest)))))
        return np.array([found])


class Neighbours:
    """Error rate of the majority of the nearest neighbours; classes are -1 and +1."""

    settings: Sequence[Any] = NEIGHBOURS

    def errors(self, split: Split, counts: Sequence[int], settings: Sequence[Any]) -> np.ndarray:
        """One search for the most neighbours serves all settings."""
        found = np.empty((len(settings), len(counts)))
        for column, count in enumerate(counts):
            search = NearestNeighbors(n_neighbors=max(settings)).fit(split.train[:, :count])
            near = search.kneighbors(split.test[:, :count], return_distance=False)
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
                machine = SVC(C=penalty, kernel="precomputed").fit(inner, split.y_train)
                found[row, column] = np.mean(machine.predict(outer) != split.y_test)
        return found
