"""A kernel given by its matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from depmax.kernels._parts import Facts, as_objects
from depmax.kernels.kernel import Capabilities, Kernel


@dataclass(eq=False, repr=False)
class Precomputed(Kernel):
    """Kernel values from a matrix; the rows X are row numbers of that matrix.

    Cross-validation splits the row numbers, not the matrix, so it stays correct.

    Parameters
    ----------
    matrix : array of shape (n_objects, n_objects), optional
        Symmetric. Without it there is nothing to look up, and a call raises an error.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.kernels import Precomputed
    >>> kernel = Precomputed(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> kernel([1, 0])
    array([[3., 1.],
           [1., 2.]])
    """

    matrix: Any = None

    _capabilities: ClassVar[Capabilities] = Capabilities(vector_input=False)

    def _estimated(self, facts: Facts) -> Kernel:
        """Itself, after a check that the matrix is square, finite and symmetric."""
        matrix = self._matrix()
        if not np.isfinite(matrix).all():
            raise ValueError("The matrix of Precomputed contains NaN or infinity.")
        precision = np.sqrt(np.finfo(np.result_type(matrix, np.float32)).eps)
        if np.abs(matrix - matrix.T).max(initial=0) > precision * np.abs(matrix).max(initial=0):
            raise ValueError(
                "The matrix of Precomputed is not symmetric: a kernel matrix holds "
                "k(x_i, x_j) = k(x_j, x_i). Pass (K + K.T) / 2 if the difference is noise."
            )
        self._read(facts.rows)
        return self

    def _read(self, X: Any) -> np.ndarray:
        rows = as_objects(X)
        size = self._matrix().shape[0]
        try:
            with np.errstate(invalid="ignore"):  # NaN is refused below
                numbers = rows.astype(np.intp)
        except (TypeError, ValueError):
            numbers = None
        if rows.ndim != 1 or numbers is None or (numbers != rows).any():
            raise ValueError(
                "X for Precomputed must be a list of row numbers of its matrix, e.g. "
                "np.arange(len(matrix)), not the matrix itself."
            )
        if numbers.size and (numbers.min() < 0 or numbers.max() >= size):
            raise ValueError(
                f"Row numbers for Precomputed must lie in 0..{size - 1}, the rows of its matrix; "
                f"got {numbers.min()}..{numbers.max()}."
            )
        return numbers

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        return self._matrix()[np.ix_(X, Z)]

    def _diag(self, X: Any) -> np.ndarray:
        return self._matrix()[X, X]

    def _matrix(self) -> np.ndarray:
        if self.matrix is None:
            raise ValueError("Precomputed has no matrix: pass Precomputed(matrix).")
        matrix = np.asarray(self.matrix)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"The matrix of Precomputed must be square, got {matrix.shape}.")
        return matrix
