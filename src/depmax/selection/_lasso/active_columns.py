"""Columns known by their inner products: those asked for, and those that are active."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy import linalg

#: Part of a column that the active ones leave unexplained, in squares; less is a copy of them.
COPY = 1e-8


class Design(Protocol):
    """Columns φ_j and a target ψ that are known by their inner products only."""

    @property
    def correlations(self) -> np.ndarray:
        """<φ_j, ψ>, of shape (n_features,)."""

    @property
    def squares(self) -> np.ndarray:
        """<φ_j, φ_j>; zero for a column that says nothing."""

    @property
    def target_square(self) -> float:
        """<ψ, ψ>."""

    def products(self, columns: np.ndarray) -> np.ndarray:
        """<φ_j, φ_k> of these columns j with all k, of shape (len(columns), n_features)."""

    def ahead(self, n_known: int) -> int:
        """How many columns to ask for at once, of which all but one are guesses."""


class KnownProducts:
    """Inner products with the columns asked for so far; a few likely ones are asked for ahead."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self._slots: dict[int, int] = {}  # where the products of a column are kept
        self._store = np.empty((0, len(design.squares)))

    def get(self, column: int, distance: np.ndarray) -> np.ndarray:
        """Products of one column with all, and those of the nearest others on the way.

        Parameters
        ----------
        column : int
        distance : ndarray of shape (n_features,)
            How far each column is from being asked for; infinite if it will not be soon.
        """
        if column not in self._slots:
            distance = distance.copy()
            distance[[column, *self._slots]] = np.inf
            guesses = np.argsort(distance, kind="stable")
            count = max(0, self._design.ahead(len(self._slots)) - 1)
            guesses = guesses[:count][distance[guesses[:count]] < np.inf]
            self._add([column, *guesses.tolist()])
        return self._store[self._slots[column]]

    def combine(self, columns: list[int], weights: np.ndarray) -> np.ndarray:
        """Σ_j w_j <φ_j, φ_k> over these columns j, for rows of weights and all k."""
        spread = np.zeros((len(weights), len(self._slots)))
        spread[:, [self._slots[column] for column in columns]] = weights
        return spread @ self._store[: len(self._slots)]

    def _add(self, columns: list[int]) -> None:
        first = len(self._slots)
        needed = first + len(columns)
        if needed > len(self._store):
            store = np.empty((max(needed, 2 * first), self._store.shape[1]))
            store[:first] = self._store[:first]
            self._store = store
        self._store[first:needed] = self._design.products(np.array(columns))
        self._slots.update({column: first + i for i, column in enumerate(columns)})


class ActiveColumns:
    """The active columns, in order, and the Cholesky factor of their inner products."""

    def __init__(self) -> None:
        self.columns: list[int] = []
        self._factor = np.zeros((0, 0))  # lower triangular

    def add(self, column: int, products: np.ndarray, square: float) -> bool:
        """Append a column, unless the active ones reproduce it.

        Parameters
        ----------
        column : int
        products : ndarray
            Its inner products with the active columns.
        square : float
            Its inner product with itself.
        """
        k = len(self.columns)
        row = linalg.solve_triangular(self._factor, products, lower=True) if k else products
        left = square - float(row @ row)
        if left <= COPY * square:
            return False
        factor = np.zeros((k + 1, k + 1))
        factor[:k, :k] = self._factor
        factor[k, :k], factor[k, k] = row, np.sqrt(left)
        self._factor = factor
        self.columns = [*self.columns, column]
        return True

    def drop(self, position: int) -> None:
        """Take a column out; the rows left of the factor are made triangular again."""
        self.columns = self.columns[:position] + self.columns[position + 1 :]
        rows = np.delete(self._factor, position, axis=0)
        factor = linalg.qr(rows.T, mode="r")[0][: len(rows)].T
        self._factor = factor * np.where(np.diag(factor) < 0, -1.0, 1.0)

    def direction(self) -> np.ndarray:
        """Coefficients along which the correlations of all active columns fall alike."""
        return linalg.cho_solve((self._factor, True), np.ones(len(self.columns)))
