"""Criteria by name: how the next direction is chosen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from depmax.pencils import leading
from depmax.pencils.deflation.losses import Loss
from depmax.pencils.deflation.steps import EXHAUSTED, Criterion, Residual
from depmax.samples import slices

#: Largest matrix whose leading eigenvector is found by a dense solver.
DENSE = 512
#: Kernel columns that are scored at once.
COLUMNS = 256
#: A kernel column that features span, up to this share of its square length, adds nothing.
SPANNED = 1e-20


def most_covariant(residual: Residual, values: np.ndarray) -> np.ndarray | None:
    """Leading left singular vector of X_jᵀV, up to its length; None if the product is zero."""
    directions = residual.pull(values)
    if not residual.covaries(values, directions):
        return None
    if directions.shape[1] == 1:
        return directions[:, 0]
    weights = leading(residual.images.inner(directions), 1)[1]
    return (directions @ weights)[:, 0]


def pls(residual: Residual) -> np.ndarray | None:
    """Largest covariance with the target: u_j is the first left singular vector of X_jᵀY_j."""
    left = residual.left_target
    assert residual.target is not None
    if linalg.norm(left) <= EXHAUSTED * linalg.norm(residual.target):
        return None
    return most_covariant(residual, left)


def pca(residual: Residual) -> np.ndarray | None:
    """Largest variance: u_j is the first eigenvector of X_jᵀX_j."""
    size = residual.images.width

    def product(vector: np.ndarray) -> np.ndarray:
        column = vector.reshape(-1, 1)
        if residual.dual:  # (I - Π)K(I - Π): its eigenvectors are those of K_j
            return residual.push(residual.pull(column)).ravel()
        return residual.pull(residual.push(column)).ravel()

    if size <= DENSE:
        eye = np.eye(size)
        square = residual.push(residual.pull(eye)) if residual.dual else None
        square = residual.pull(residual.push(eye)) if square is None else square
        values, vectors = leading((square + square.T) / 2, 1)
    else:
        start = np.random.default_rng(0).normal(size=size)
        operator = LinearOperator((size, size), matvec=product, dtype=np.float64)
        values, vectors = eigsh(operator, k=1, which="LA", v0=start)
    if values[0] <= EXHAUSTED * residual.images.variance:
        return None
    return vectors[:, 0]


def smc(residual: Residual) -> np.ndarray | None:
    """One sample: the largest covariance, Σ(k_iᵀY_j)²/k_ii."""
    return _best_example(residual, lambda diagonal, rest: diagonal)


def sma(residual: Residual) -> np.ndarray | None:
    """One sample: the largest alignment, Σ(k_iᵀY_j)²/‖(I - Π)k_i‖²."""
    return _best_example(residual, lambda diagonal, rest: rest)


def boosted(loss: Loss) -> Criterion:
    """Largest covariance with the negative gradient of a loss at its best fit on the features."""

    def criterion(residual: Residual) -> np.ndarray | None:
        assert residual.target is not None
        basis = residual.found.basis
        gradients = [loss.descent(column, basis) for column in residual.target.T]
        values = residual.found.residual(np.column_stack(gradients))
        start = loss.descent(residual.target[:, 0], basis[:, :0])
        if linalg.norm(values) <= EXHAUSTED * linalg.norm(start):
            return None
        return most_covariant(residual, values)

    return criterion


def _best_example(
    residual: Residual, sizes: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray | None:
    """Sample with the largest score among those outside the span of earlier features."""
    left = residual.left_target
    assert residual.target is not None
    if linalg.norm(left) <= EXHAUSTED * linalg.norm(residual.target):
        return None
    scores = np.full(residual.n_samples, -np.inf)
    everything = np.arange(residual.n_samples)
    for block in slices(residual.n_samples, COLUMNS):
        columns = residual.images.columns(everything[block])
        diagonal = columns[everything[block], np.arange(columns.shape[1])]
        outside = residual.found.residual(columns)  # (I - Π)k_i
        rest = np.square(outside).sum(axis=0)
        fresh = rest > SPANNED * np.square(columns).sum(axis=0)
        covariances = np.square(left.T @ outside).sum(axis=0)
        size = sizes(diagonal, rest)
        np.divide(covariances, size, out=scores[block], where=fresh & (size > 0))
    best = int(scores.argmax())
    return residual.images.example(best) if scores[best] > 0 else None
