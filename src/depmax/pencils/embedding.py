"""Values at the nodes of a graph that change least between neighbours."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from depmax.pencils.directions import leading
from depmax.pencils.graphs import Laplacian

#: Up to so many nodes the eigenproblem is solved by a dense matrix.
DENSE_NODES = 1000


def smoothest(laplacian: Laplacian, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Values F on the nodes with least fᵀΔf, and their λ, without the one that is the same for all.

    Plain: Δ₀f = λDf, with FᵀDF = I and orthogonal to D1. Normalised: Δ₁f = λf, with FᵀF = I and
    orthogonal to D^½1. The second are the first times D^½.

    Parameters
    ----------
    laplacian : Laplacian
    n_columns : int
        Less than the number of nodes.

    Returns
    -------
    values : ndarray of shape (n_columns,)
        λ, rising.
    columns : ndarray of shape (m, n_columns)
    """
    degrees = laplacian.degrees
    roots = np.sqrt(degrees)
    inverse = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)[:, np.newaxis]
    trivial = (roots / np.sqrt(max(degrees.sum(), np.finfo(float).tiny)))[:, np.newaxis]

    def apply(columns: np.ndarray) -> np.ndarray:
        """D^(-½)WD^(-½) = I - Δ₁, less what it does to the trivial vector."""
        columns = columns.reshape(len(degrees), -1)
        images: np.ndarray = inverse * laplacian.weights.times(inverse * columns)
        return images - trivial @ (trivial.T @ columns)

    size = len(degrees)
    if size <= DENSE_NODES or n_columns > size // 4:
        matrix = apply(np.eye(size))
        values, vectors = leading((matrix + matrix.T) / 2.0, n_columns)
    else:
        operator = LinearOperator((size, size), matvec=apply, matmat=apply, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(size)
        values, vectors = eigsh(operator, n_columns, which="LA", v0=start, maxiter=100 * size)
        order = np.argsort(-values)
        values, vectors = values[order], vectors[:, order]
    return 1.0 - values, vectors if laplacian.normalized else inverse * vectors
