"""Definitions computed the slow way: m × m matrices as the thesis writes them."""

from __future__ import annotations

import numpy as np
from scipy import linalg


def biased_form(L: np.ndarray) -> np.ndarray:
    """M₀ = HLH, over (m-1)² so that tr(KM₀) is HSIC₀."""
    m = len(L)
    H = np.eye(m) - 1.0 / m
    return H @ L @ H / (m - 1) ** 2


def unbiased_form(L: np.ndarray) -> np.ndarray:
    """M₁ of (4.9), over m(m-3) so that tr(KM₁) is HSIC₁."""
    m = len(L)
    A = np.ones((m, m))
    Lt = L - np.diag(np.diag(L))
    total = Lt.sum()
    M = Lt + (A @ Lt @ A - total * np.eye(m)) / ((m - 1) * (m - 2))
    M -= (Lt @ A + A @ Lt - 2 * np.diag(Lt.sum(axis=1))) / (m - 2)
    return M / (m * (m - 3))


def form(L: np.ndarray, unbiased: bool) -> np.ndarray:
    return unbiased_form(L) if unbiased else biased_form(L)


def same_up_to_signs(P: np.ndarray, Q: np.ndarray, atol: float = 1e-8) -> None:
    """Rows agree but for their signs."""
    signs = np.sign(np.sum(P * Q, axis=1, keepdims=True))
    np.testing.assert_allclose(P * signs, Q, atol=atol * np.abs(Q).max())


def top_eigenvector(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Unit vector with the largest pᵀAp / pᵀBp."""
    vector = linalg.eigh(A, B)[1][:, -1]
    return vector / linalg.norm(vector)


def positive_part(B: np.ndarray) -> np.ndarray:
    values, vectors = linalg.eigh(B)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T
