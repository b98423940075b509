"""Orthogonal features of the samples, one added after another."""

from __future__ import annotations

import numpy as np
from scipy import linalg

#: What is left of a vector outside the span of earlier features, relative to it, to be more than
#: rounding errors.
INDEPENDENT = 1e-10


class OrthogonalFeatures:
    """T with orthogonal columns τ_j = (I - Π_T)Φu_j, and what leads from U to them.

    Parameters
    ----------
    n_samples, capacity : int
        m, and the largest number of features.
    center : bool
        Whether features have mean zero: deflation by the constant τ_0 = 1.

    Notes
    -----
    With M = (TᵀT)⁻¹TᵀΦU, unit upper triangular, the features are ΦUM⁻¹ minus their means. For
    Φ = X this is U(PᵀU)⁻¹, for U = XᵀB it is B((TᵀT)⁻¹TᵀKB)⁻¹.
    """

    def __init__(self, n_samples: int, capacity: int, *, center: bool) -> None:
        self._first = int(center)  # columns before those of the features
        self._basis = np.empty((n_samples, capacity + self._first), order="F")  # orthonormal
        if center:
            self._basis[:, 0] = 1.0 / np.sqrt(n_samples)
        self._products = np.zeros((capacity + self._first, capacity))  # basis against Φu_j
        self._lengths: list[float] = []  # ‖τ_j‖

    @property
    def count(self) -> int:
        """Number of features j."""
        return len(self._lengths)

    @property
    def basis(self) -> np.ndarray:
        """Orthonormal basis of the features so far and, with centring, the constant."""
        return self._basis[:, : self._first + self.count]

    @property
    def features(self) -> np.ndarray:
        """T of shape (m, j)."""
        scaled: np.ndarray = self.basis[:, self._first :] * self.lengths
        return scaled

    @property
    def lengths(self) -> np.ndarray:
        """‖τ_j‖ of every feature."""
        return np.array(self._lengths)

    def residual(self, values: np.ndarray) -> np.ndarray:
        """(I - Π_T)V of vectors over samples."""
        basis = self.basis
        rest = values - basis @ (basis.T @ values)
        rest -= basis @ (basis.T @ rest)  # once more: the first time leaves rounding errors
        return rest

    def add(self, image: np.ndarray, noise: float = 0.0) -> bool:
        """One more feature from Φu, of shape (m,); False if earlier features span it already.

        ``noise`` is the length below which Φu itself is nothing but rounding errors.
        """
        rest = self.residual(image)
        length = float(linalg.norm(rest))
        start = image - image.mean() if self._first else image
        if not length > max(INDEPENDENT * float(linalg.norm(start)), noise):
            return False
        position = self._first + self.count
        self._basis[:, position] = rest / length
        self._products[: position + 1, self.count] = self._basis[:, : position + 1].T @ image
        self._products[position, self.count] = length
        self._lengths.append(length)
        return True

    def rescale(self, factor: float) -> None:
        """Multiply u_j and τ_j of the last feature."""
        self._products[:, self.count - 1] *= factor
        self._lengths[-1] *= factor

    def conjugate(self, directions: np.ndarray) -> np.ndarray:
        """UM⁻¹ for U of shape (width, j)."""
        count = self.count
        products = self._products[self._first : self._first + count, :count]
        triangle = products / self.lengths[:, np.newaxis]  # M
        solved: np.ndarray = linalg.solve_triangular(
            triangle, directions.T, trans="T", unit_diagonal=True
        ).T
        return solved

    @property
    def offset(self) -> np.ndarray:
        """Means of ΦUM⁻¹, of shape (j,), zero without centring."""
        if not self._first:
            return np.zeros(self.count)
        means = self._products[:1, : self.count] / np.sqrt(len(self._basis))
        return self.conjugate(means)[0]
