"""Random halves of the rows, and folds inside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold


@dataclass(frozen=True)
class HalfSplit:
    """Row numbers of one random split: the training half, part of it labelled, and the rest."""

    labelled: np.ndarray
    unlabelled: np.ndarray  # training rows whose label is not used
    test: np.ndarray
    seed: int

    @property
    def train(self) -> np.ndarray:
        """Training rows, the labelled ones first."""
        return np.concatenate([self.labelled, self.unlabelled])

    def folds(self, y: np.ndarray, n_folds: int = 3) -> list[HalfSplit]:
        """Splits of the training half: each fold of the labelled rows is a test part once.

        Classes have about the same share in every fold (a target with several columns is not
        stratified); the unlabelled rows stay with every training part.
        """
        labels = y[self.labelled]
        kind = KFold if labels.ndim == 2 else StratifiedKFold
        parts = kind(n_folds, shuffle=True, random_state=self.seed).split(labels, labels)
        return [
            HalfSplit(self.labelled[kept], self.unlabelled, self.labelled[left], self.seed)
            for kept, left in parts
        ]


def half_splits(
    y: np.ndarray,
    n_splits: int = 50,
    *,
    labelled: float = 1.0,
    by_class: bool = True,
    first_seed: int = 0,
) -> Iterator[HalfSplit]:
    """Random partitions of the rows into two halves, seeds counted from ``first_seed``.

    Parameters
    ----------
    y : ndarray of shape (n_samples,) or (n_samples, n_labels)
        Classes, or labels. It matters only if ``labelled`` is below 1.
    n_splits : int, default=50
    labelled : float, default=1.0
        Share of the training half whose label is known.
    by_class : bool, default=True
        Whether each class has this share; otherwise rows are drawn whatever their class. Either
        way two rows of each class at least are labelled.
    first_seed : int, default=0

    Yields
    ------
    HalfSplit
        Of an odd number of rows, the test half has one more.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.half_splits import half_splits
    >>> [split] = half_splits(np.array([0, 0, 1, 1, 1, 0]), 1)
    >>> sorted([*split.train, *split.test]) == list(range(6))
    True
    """
    if not 0 < labelled <= 1:
        raise ValueError(f"labelled must be above 0 and at most 1, got {labelled!r}.")
    for seed in range(first_seed, first_seed + n_splits):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[: len(y) // 2], order[len(y) // 2 :]
        share = _share if by_class else _share_of_all
        known = np.ones(len(train), dtype=bool) if labelled == 1 else share(y[train], labelled)
        yield HalfSplit(train[known], train[~known], test, seed)


def _share(classes: np.ndarray, share: float) -> np.ndarray:
    """Marks the first rows of every class; the rows are in random order already."""
    known = np.zeros(len(classes), dtype=bool)
    for label in np.unique(classes):
        places = np.flatnonzero(classes == label)
        known[places[: max(2, round(share * len(places)))]] = True
    return known


def _share_of_all(classes: np.ndarray, share: float) -> np.ndarray:
    """Marks the first rows, and the first two of every class; the rows are in random order."""
    known = np.arange(len(classes)) < round(share * len(classes))
    for label in np.unique(classes):
        known[np.flatnonzero(classes == label)[:2]] = True
    return known
