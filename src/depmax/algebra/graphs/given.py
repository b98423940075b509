"""A graph of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from depmax.algebra.graphs.graph import Graph
from depmax.algebra.graphs.laplacian import EdgeWeights, Weights
from depmax.algebra.graphs.points import Points

#: Differences of W_ij and W_ji up to this share of the largest weight are rounding errors.
SYMMETRIC = 1e-8


class GivenGraph(Graph):
    """Weights of the edges as a matrix, or as a function of the rows.

    Parameters
    ----------
    matrix : array-like, sparse matrix or callable
        W of shape (n_samples, n_samples): symmetric, not negative, in the order of the rows of X.
        A function takes the rows that are fitted to, as an array (categories as codes, objects as
        they are, with ``kernel="precomputed"`` the numbers of the rows), and returns such a matrix:
        it also serves where a part of the rows is fitted to, as in cross-validation. The diagonal
        is ignored.
    normalized : bool, default=False
        Whether the Laplacian is I - D^(-½) W D^(-½) rather than D - W.

    Examples
    --------
    Neighbours by two columns only, whatever kernel the features have:

    >>> import numpy as np
    >>> from depmax import HBFE
    >>> from sklearn.neighbors import kneighbors_graph
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> y = np.where(np.arange(60) < 20, X[:, 0] > 0, np.nan)
    >>> def near(rows):
    ...     edges = kneighbors_graph(rows[:, :2], 5)
    ...     return edges.maximum(edges.T)
    >>> HBFE(1, kernel="gaussian", beta=0.2, graph=near).fit(X, y).n_unlabeled_
    40
    """

    _remedy = "Add edges that connect them."

    def __init__(self, matrix: Any | Callable[[Any], Any], *, normalized: bool = False) -> None:
        self.matrix = matrix
        self.normalized = normalized

    def weights(self, points: Points) -> Weights:
        """Weights of the edges; of a dense matrix those of all pairs that are not zero."""
        matrix = self.matrix(points.rows) if callable(self.matrix) else self.matrix
        edges = _upper_edges(matrix, points.n_samples)
        squares = points.between(edges.row, edges.col)
        return EdgeWeights(points.n_samples, edges.row, edges.col, edges.data, squares)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if callable(self.matrix):
            return str(super().__repr__(N_CHAR_MAX))
        size = " x ".join(map(str, np.shape(self.matrix)))
        return f"GivenGraph(matrix of {size}, normalized={self.normalized})"


def _upper_edges(matrix: Any, n_samples: int) -> sparse.coo_matrix:
    """Entries above the diagonal that are not zero, of a matrix that is one of weights."""
    if not sparse.issparse(matrix):
        matrix = np.asarray(matrix, dtype=np.float64)
    if matrix.shape != (n_samples, n_samples):
        raise ValueError(
            f"graph has the shape {matrix.shape}, but X has {n_samples} rows: a matrix of weights "
            "has a row and a column for each of them. Where a part of the rows is fitted to, as in "
            "cross-validation or for n_components='auto', give a function of the rows that returns "
            "the matrix."
        )
    matrix = sparse.csr_matrix(matrix, dtype=np.float64)
    if not np.isfinite(matrix.data).all() or matrix.data.min(initial=0.0) < 0:
        raise ValueError("graph has weights that are negative, infinite or NaN: all must be >= 0.")
    largest = matrix.data.max(initial=0.0)
    if abs(matrix - matrix.T).max() > SYMMETRIC * largest:
        raise ValueError(
            "graph is not symmetric: give W.maximum(W.T) for edges that either end names, or "
            "(W + W.T)/2."
        )
    upper = sparse.triu(matrix, 1).tocoo()
    upper.eliminate_zeros()
    if upper.nnz == 0:
        raise ValueError("graph has no edge: at least one weight must be positive.")
    return upper
