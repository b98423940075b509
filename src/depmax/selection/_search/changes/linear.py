"""Changes of a kernel that adds over columns: each column has its own share, found in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from depmax.selection._search.changes.problem import Change, FastForm, Outcome, Problem, declares


def column_shares(problem: Problem) -> np.ndarray:
    """x_jᵀ M x_j of every column; sparse columns are kept sparse."""
    weights = problem.weights
    X = problem.X
    psi = _coordinates(problem)
    if psi is not None:
        return _from_coordinates(X, psi, weights.unbiased)
    dense = None if sparse.issparse(X) else _centred(X)  # rows of M sum to 0
    shares = np.zeros(X.shape[1])
    for rows in weights.strips():
        strip = weights.strip(rows)
        if dense is None:
            products = X[rows.start :].T @ strip.T  # (n_features, rows of the strip)
            shares += np.asarray(X[rows].multiply(products.T).sum(axis=0)).ravel()
        else:
            shares += np.einsum("ij,ij->j", strip @ dense[rows.start :], dense[rows])
    return shares


def _coordinates(problem: Problem) -> np.ndarray | None:
    """Centred coordinates of the target, if it has few and every row counts once."""
    side = problem.weights.side
    return side.centred_coordinates() if side.is_narrow and side.weight is None else None


def _from_coordinates(X: Any, psi: np.ndarray, unbiased: bool) -> np.ndarray:
    """Shares in O(m d r): squared covariances, less the diagonal for the unbiased estimate."""
    m = X.shape[0]
    squares = np.einsum("ij,ij->i", psi, psi)  # diagonal of L
    centred = None if sparse.issparse(X) else _centred(X)
    cross = X.T @ psi if centred is None else centred.T @ psi  # Ψ is centred
    inner = np.einsum("ij,ij->i", cross, cross)
    if not unbiased:
        return inner / (m - 1) ** 2
    if centred is None:
        means = np.asarray(X.mean(axis=0)).ravel()
        quadratic = X.multiply(X).T
        total = np.asarray(quadratic.sum(axis=1)).ravel() - m * means**2
        weighted = quadratic @ squares - 2 * means * (X.T @ squares) + means**2 * squares.sum()
    else:
        total = np.einsum("ij,ij->j", centred, centred)
        weighted = squares @ (centred * centred)
    # terms of centred coordinates: inner - Σkl, middle Σkl, outer Σk Σl
    value = inner - weighted * (1.0 + 2.0 / (m - 2)) + total * squares.sum() / ((m - 1) * (m - 2))
    return value / (m * (m - 3))


def _centred(X: np.ndarray) -> np.ndarray:
    """Columns less their means, which no share depends on, but its digits would."""
    return np.subtract(X, X.mean(axis=0, dtype=np.float64), dtype=np.float64)


def linear_changes(problem: Problem, kernel: object, change: Change) -> Outcome:
    """Scores of every unit for the linear kernel."""
    shares = column_shares(problem)
    value = float(shares[change.base].sum())
    changes = np.array([shares[unit].sum() for unit in change.units])
    return Outcome(value, value - change.sign * changes)


LINEAR = FastForm(declares("is_linear"), linear_changes)
