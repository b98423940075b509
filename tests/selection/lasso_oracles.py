"""HSIC-Lasso the slow way: every centred, normalised kernel matrix as one long vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class ExplicitDesign:
    """Columns φ and a target ψ as they are."""

    columns: np.ndarray  # of shape (length, n_features)
    target: np.ndarray  # of shape (length,)

    @property
    def correlations(self) -> np.ndarray:
        return self.columns.T @ self.target

    @property
    def squares(self) -> np.ndarray:
        return np.sum(self.columns**2, axis=0)

    @property
    def target_square(self) -> float:
        return float(self.target @ self.target)

    def products(self, columns: np.ndarray) -> np.ndarray:
        return self.columns[:, columns].T @ self.columns

    def ahead(self, n_known: int) -> int:
        return 3


def normalised(gram: np.ndarray) -> np.ndarray:
    """HKH / ‖HKH‖ as a vector, zero for a constant."""
    H = np.eye(len(gram)) - 1.0 / len(gram)
    centred = H @ gram @ H
    norm = np.linalg.norm(centred)
    return (centred / norm if norm > 1e-12 else np.zeros_like(gram)).ravel()


def explicit(
    grams: list[np.ndarray], target: np.ndarray, blocks: list[np.ndarray]
) -> ExplicitDesign:
    """Vectors over all blocks, scaled so that inner products are means over blocks."""

    def vector(gram: np.ndarray) -> np.ndarray:
        pieces = [normalised(gram[np.ix_(block, block)]) for block in blocks]
        return np.concatenate(pieces) / np.sqrt(len(blocks))

    return ExplicitDesign(np.column_stack([vector(gram) for gram in grams]), vector(target))


def gaussian_grams(X: np.ndarray, bandwidth: float = 1.0) -> list[np.ndarray]:
    """Gaussian kernel matrix of each standardised column; of zeros where it is constant."""
    grams = []
    for column in X.T:
        x = (column - column.mean()) / (column.std() or 1.0)
        grams.append(np.exp(-((x[:, None] - x[None, :]) ** 2) / (2 * bandwidth**2)))
    return grams
