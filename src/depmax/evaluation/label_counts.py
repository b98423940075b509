"""How often the neighbours of a row have a label, and what that says about the row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class LabelCounts:
    """Posterior probabilities of labels given the number of neighbours that have them.

    Attributes
    ----------
    prior : ndarray of shape (n_labels,)
        P(H₁) of every label.
    present, absent : ndarray of shape (n_labels, n_neighbors + 1)
        P(E_j | H₁) and P(E_j | H₀): probability that j neighbours have the label if the row has
        it, and if it has not.
    """

    prior: np.ndarray
    present: np.ndarray
    absent: np.ndarray

    @classmethod
    def learn(cls, Y: np.ndarray, neighbours: np.ndarray, smoothing: float) -> LabelCounts:
        """Frequencies among the training rows, each with its neighbours among the others.

        Parameters
        ----------
        Y : ndarray of shape (n_samples, n_labels)
            Zeros and ones.
        neighbours : ndarray of shape (n_samples, n_neighbors)
            Row numbers.
        smoothing : float
            Added to every count, s in the publication.
        """
        n_samples, n_labels = Y.shape
        size = neighbours.shape[1] + 1
        counts = votes(Y, neighbours)
        # cells (label, has it, number of neighbours that have it), counted all at once
        cells = (np.arange(n_labels) * 2 + Y) * size + counts
        table = np.bincount(cells.ravel(), minlength=n_labels * 2 * size)
        smoothed = table.reshape(n_labels, 2, size) + smoothing
        shares = smoothed / smoothed.sum(axis=2, keepdims=True)
        prior = (smoothing + Y.sum(axis=0)) / (2.0 * smoothing + n_samples)
        return cls(prior, shares[:, 1], shares[:, 0])

    def posterior(self, counts: np.ndarray) -> np.ndarray:
        """P(H₁ | E_j) for the numbers of neighbours ``counts``, (n_rows, n_labels)."""
        labels = np.arange(len(self.prior))
        yes = self.prior * self.present[labels, counts]
        no = (1.0 - self.prior) * self.absent[labels, counts]
        return yes / (yes + no)


def votes(Y: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
    """How many of the neighbours of every row have each label, (n_rows, n_labels)."""
    counts = np.zeros((len(neighbours), Y.shape[1]), dtype=np.intp)
    for column in neighbours.T:
        counts += Y[column]
    return counts
