"""Readings of the thesis other than its words, shown beside them: rows whose name has a comma.

Each was tried because a figure of ours differs; none replaces the row that follows the text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import linalg

from depmax.kernels import Gaussian
from reproduction.dimension_choice import Method, Setting
from reproduction.thesis_methods import LINEAR, Transform
from reproduction.thesis_spaces import SCALES, median_distance

#: The constant that the thesis adds against singular matrices.
RIDGE = 1e-5
DUAL = ", dual coefficients"
LARGEST = "HSCA1, largest eigenvalue"


@dataclass(frozen=True)
class KernelColumns:
    """Kernel values with all training rows: what is linear in them has dual coefficients q.

    A method that gives directions of unit norm here has ‖q‖ = 1 instead of qᵀKq = 1, and a
    penalty on directions is one on dual coefficients.
    """

    rows: np.ndarray
    settings: tuple[Setting, ...] = tuple({"scale": scale} for scale in SCALES)

    def coordinates(self, train: np.ndarray, setting: Setting) -> np.ndarray:
        """Kernel values of every row, σ a multiple of the median of the training rows."""
        rows = self.rows[train]
        return Gaussian(bandwidth=setting["scale"] * median_distance(rows))(self.rows, rows)


def ridge_discriminant(rows: np.ndarray, y: np.ndarray, count: int) -> Transform:
    """The direction (ZᵀHZ + 10⁻⁵ I)⁻¹ ZᵀHy; two classes have one."""
    centred = rows - rows.mean(axis=0)
    scatter = centred.T @ centred
    scatter[np.diag_indices(len(scatter))] += RIDGE
    direction = linalg.solve(scatter, centred.T @ (y - y.mean()), assume_a="pos")
    return lambda new: (new @ direction)[:, np.newaxis]


def unbiased_form(L: np.ndarray) -> np.ndarray:
    """M₁ with pᵀZᵀM₁Zp proportional to the unbiased HSIC of the feature Zp and a kernel matrix."""
    m = len(L)
    L = L.copy()
    np.fill_diagonal(L, 0.0)
    sums = L.sum(axis=1)
    M = L + sums.sum() / ((m - 1) * (m - 2)) - (sums[:, np.newaxis] + sums) / (m - 2)
    np.fill_diagonal(M, 0.0)
    return M


def largest_eigenvalue_hsca(
    rows: np.ndarray, y: np.ndarray, count: int, gaussian_features: bool = False
) -> Transform:
    """HSCA₁ by the published pencil, indefinite denominator and all.

    Each direction is the eigenvector of the largest real eigenvalue of (A₁, B₁ + 10⁻⁵ I); the first
    has B₁ = 0.
    """
    Z = rows - rows.mean(axis=0)
    A = Z.T @ unbiased_form(np.outer(y, y)) @ Z
    _, vectors = linalg.eigh(A, subset_by_index=(len(A) - 1, len(A) - 1))
    P = vectors
    while P.shape[1] < count:
        features = Z @ P
        if gaussian_features:
            L = Gaussian(bandwidth=median_distance(features))(features)
        else:
            L = features @ features.T
        B = Z.T @ unbiased_form(L) @ Z
        B[np.diag_indices(len(B))] += RIDGE
        values, vectors = linalg.eig(A, B)
        real = np.isfinite(values) & (np.abs(values.imag) <= 1e-9 * np.abs(values.real))
        if not real.any():
            break
        best = np.flatnonzero(real)[np.argmax(values.real[real])]
        direction = vectors[:, best].real
        P = np.column_stack([P, direction / np.linalg.norm(direction)])
    return lambda new: new @ P


def renamed(methods: tuple[Method, ...], suffix: str) -> tuple[Method, ...]:
    """The same methods as variants."""
    return tuple(replace(method, name=method.name + suffix) for method in methods)


#: On ``KernelColumns``.
DUAL_METHODS = (
    *renamed(tuple(m for m in LINEAR if m.name in ("HBFE1", "HBFE0")), DUAL),
    Method("LDA" + DUAL, ridge_discriminant, most=1),
)
LARGEST_LINEAR = Method(LARGEST, largest_eigenvalue_hsca)
LARGEST_GAUSSIAN = Method(LARGEST, partial(largest_eigenvalue_hsca, gaussian_features=True))
