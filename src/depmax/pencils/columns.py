"""Columns that are added in blocks, in the order in which products with them are fastest."""

from __future__ import annotations

import numpy as np


class Columns:
    """A matrix in the order of columns that grows to the right.

    Parameters
    ----------
    n_rows : int

    Attributes
    ----------
    lengths : ndarray of shape (size,)
        Length of each column.

    Examples
    --------
    >>> columns = Columns(2)
    >>> columns.append(np.array([[3.0, 0.0], [4.0, 1.0]]))
    >>> columns.lengths
    array([5., 1.])
    """

    def __init__(self, n_rows: int) -> None:
        self._store = np.empty((n_rows, 0), order="F")
        self.lengths = np.empty(0)

    @property
    def size(self) -> int:
        """Number of columns."""
        return len(self.lengths)

    @property
    def array(self) -> np.ndarray:
        """All columns, of shape (n_rows, size)."""
        return self._store[:, : self.size]

    def append(self, block: np.ndarray) -> None:
        """Add columns."""
        size = self.size + block.shape[1]
        if size > self._store.shape[1]:
            larger = np.empty((len(block), max(size, 2 * self.size)), order="F")
            larger[:, : self.size] = self.array
            self._store = larger
        self._store[:, self.size : size] = block
        self.lengths = np.append(self.lengths, lengths(block))


def lengths(columns: np.ndarray) -> np.ndarray:
    """Length of each column.

    Examples
    --------
    >>> lengths(np.array([[3.0, 0.0], [4.0, 1.0]]))
    array([5., 1.])
    """
    return np.sqrt(np.einsum("ij,ij->j", columns, columns))
