"""Graphs: who is whose neighbour, with what weight, and the Laplacian that follows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.base import BaseEstimator

from depmax._parameters import FLAG, check_parameters, integer, number
from depmax._resources import cached_property, slices, warn_if_long
from depmax.algebra.points import SECONDS_PER_PAIR, Pairs, Points, median_distance

#: Weights of edges: all equal, or by distance.
BANDWIDTH = number(0, ends="(]", also=["median", None])


# --- the Laplacian -------------------------------------------------------------------------------
class DrawnEdges(NamedTuple):
    """Edges drawn at random: Σ W_ij q_ij over all edges is estimated by the mean of weights·q."""

    first: np.ndarray  # one node of every edge, shape (n_drawn,)
    second: np.ndarray  # the other
    weights: np.ndarray


@dataclass(frozen=True)
class EdgeWeights:
    """Weights of a list of edges."""

    n_samples: int
    first: np.ndarray  # one node of every edge, shape (n_edges,)
    second: np.ndarray  # the other
    values: np.ndarray  # positive
    squares: np.ndarray  # squared distance of both

    @cached_property
    def _matrix(self) -> sparse.csr_matrix:
        nodes = np.concatenate([self.first, self.second])
        others = np.concatenate([self.second, self.first])
        values = np.concatenate([self.values, self.values])
        return sparse.csr_matrix((values, (nodes, others)), shape=(self.n_samples,) * 2)

    @property
    def degrees(self) -> np.ndarray:
        """Sum of each node's weights."""
        return np.asarray(self._matrix.sum(axis=1)).ravel()

    @property
    def n_components(self) -> int:
        """Number of connected components."""
        return int(csgraph.connected_components(self._matrix, directed=False)[0])

    def times(self, values: np.ndarray) -> np.ndarray:
        """W times columns of values."""
        product: np.ndarray = self._matrix @ values
        return product

    def energy(self, scales: np.ndarray) -> float:
        """½ Σ_ij s_i s_j W_ij d_ij²: every edge once."""
        return float(scales[self.first] * scales[self.second] * self.values @ self.squares)

    def matrix(self) -> sparse.csr_matrix:
        """W, sparse."""
        return self._matrix

    def draw(self, count: int, rng: np.random.RandomState) -> DrawnEdges:
        """Edges drawn with probabilities in proportion to their weights."""
        sums = self._sums
        drawn = np.searchsorted(sums, rng.uniform(0.0, sums[-1], size=count), side="right")
        drawn = np.minimum(drawn, len(sums) - 1)  # where rounding reaches the last sum
        return DrawnEdges(self.first[drawn], self.second[drawn], np.full(count, sums[-1]))

    @cached_property
    def _sums(self) -> np.ndarray:
        return np.cumsum(self.values)


@dataclass(frozen=True)
class Laplacian:
    """Δ₀ = D - W, or normalised Δ₁ = I - D^(-½) W D^(-½), with D the degrees.

    For values f at the nodes fᵀΔ₀f = ½ Σ W_ij (f_i - f_j)²; the normalised one compares f_i/√D_ii.
    A node without edges has nothing to be like: its row is zero in both.
    """

    weights: Any  # EdgeWeights or GaussianWeights
    normalized: bool
    degrees: np.ndarray  # diagonal of D, shape (m,)

    @classmethod
    def of(cls, weights: Any, *, normalized: bool) -> Laplacian:
        """Laplacian of a graph with these weights."""
        return cls(weights, normalized, weights.degrees)

    @property
    def n_samples(self) -> int:
        """Number of nodes m."""
        return len(self.degrees)

    @property
    def n_components(self) -> int:
        """Number of connected components of the graph."""
        return self.weights.n_components

    @property
    def diagonal(self) -> np.ndarray:
        """Diagonal of Δ, of shape (m,)."""
        return (self.degrees > 0).astype(np.float64) if self.normalized else self.degrees

    @property
    def scales(self) -> np.ndarray:
        """D^(-½) for the normalised Laplacian, else ones, of shape (m,)."""
        if not self.normalized:
            return np.ones(self.n_samples)
        alone = self.degrees <= 0
        return np.where(alone, 0.0, 1.0 / np.sqrt(np.where(alone, 1.0, self.degrees)))

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Δ times columns of values at the nodes, of shape (m, k)."""
        scales = self.scales[:, np.newaxis]
        product: np.ndarray = self.diagonal[:, np.newaxis] * values
        product -= scales * self.weights.times(scales * values)
        return product

    def trace(self, points: Points) -> float:
        """tr(ΦᵀΔΦ) for the images Φ of the nodes, measured from their mean.

        With n_i = ‖φ_i‖² and φ_iᵀφ_j = (n_i + n_j - d_ij²)/2 this is a sum over edges, and another
        over nodes that is zero for Δ₀, whose rows sum to zero.
        """
        trace = self.weights.energy(self.scales)
        if self.normalized:
            trace += float(points.norms() @ self.apply(np.ones((self.n_samples, 1)))[:, 0])
        return trace

    def matrix(self) -> sparse.csr_matrix | np.ndarray:
        """Δ itself, sparse where the graph is."""
        weights, scales = self.weights.matrix(), self.scales
        if sparse.issparse(weights):
            scaled = sparse.diags(scales)
            return (sparse.diags(self.diagonal) - scaled @ weights @ scaled).tocsr()
        dense: np.ndarray = -(scales[:, np.newaxis] * weights * scales)
        dense[np.diag_indices(self.n_samples)] += self.diagonal
        return dense


# --- graphs --------------------------------------------------------------------------------------


class Graph(BaseEstimator):
    """A rule by which samples are neighbours: a subclass implements ``weights``.

    Distances are those of the kernel's feature space: Euclidean distances for the linear kernel.
    """

    normalized: bool
    _declared: ClassVar = {"normalized": FLAG}

    def laplacian(self, points: Points) -> Laplacian:
        """Laplacian of the graph of some points.

        Parameters
        ----------
        points : Points

        Warns
        -----
        UserWarning
            If the graph falls into several parts: values may then differ freely between them.
        """
        check_parameters(self)
        laplacian = Laplacian.of(self.weights(points), normalized=bool(self.normalized))
        count = laplacian.n_components
        if count > 1:
            warnings.warn(
                f"{self!r} falls into {count} parts that no edge connects, so it says nothing "
                f"about how they relate. {self._remedy}",
                UserWarning,
                stacklevel=2,
            )
        return laplacian

    def weights(self, points: Points) -> Any:
        """Weights of the edges between points."""
        raise NotImplementedError

    #: What makes more samples neighbours.
    _remedy = ""


#: A graph, its name, a function of the rows that returns weights, or (Any) a matrix of weights.
GraphLike = Literal["neighbors", "radius", "gaussian"] | Graph | Callable[[Any], Any] | Any


def edge_weights(points: Points, pairs: Pairs, bandwidth: Any) -> EdgeWeights:
    """Weights 1 of the pairs, or with a bandwidth exp(-d²/2σ²)."""
    values = np.ones(len(pairs.squares))
    if bandwidth is not None:
        values = np.exp(pairs.squares / (-2.0 * width(points, bandwidth) ** 2))
    return EdgeWeights(points.n_samples, pairs.first, pairs.second, values, pairs.squares)


def width(points: Points, bandwidth: Any) -> float:
    """A bandwidth as a number: itself, or the median distance of the points."""
    return median_distance(points) if isinstance(bandwidth, str) else float(bandwidth)


@dataclass(eq=False, repr=False)
class NeighborGraph(Graph):
    """Each sample is connected to its nearest others.

    Parameters
    ----------
    n_neighbors : int, default=5
    mutual : bool, default=False
        Whether two samples are connected only if each is among the nearest of the other; otherwise
        one of the two is enough.
    bandwidth : float, "median" or None, default=None
        Weights exp(-d²/2σ²) of the edges; None gives all the weight 1.
    normalized : bool, default=False
        Whether the Laplacian is I - D^(-½) W D^(-½) rather than D - W.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import HBFE, NeighborGraph
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> y = np.where(np.arange(60) < 20, X[:, 0] > 0, np.nan)
    >>> HBFE(1, beta=0.2, graph=NeighborGraph(8)).fit(X, y).n_unlabeled_
    40
    """

    n_neighbors: int = 5
    _: KW_ONLY
    mutual: bool = False
    bandwidth: float | Literal["median"] | None = None
    normalized: bool = False

    _declared: ClassVar = {"n_neighbors": integer(1), "mutual": FLAG, "bandwidth": BANDWIDTH}
    _remedy = "Raise n_neighbors to connect them."

    def weights(self, points: Points) -> Any:
        """Weights of the edges, sparse."""
        count = int(self.n_neighbors)
        if count >= points.n_samples:
            raise ValueError(
                f"n_neighbors={count} of NeighborGraph needs more than {count} rows, got "
                f"n_samples = {points.n_samples}: lower n_neighbors."
            )
        numbers, squares = points.nearest(count)
        rows = np.repeat(np.arange(points.n_samples), count)
        pairs = Pairs.of(rows, numbers.ravel(), squares.ravel(), mutual=bool(self.mutual))
        return edge_weights(points, pairs, self.bandwidth)


@dataclass(eq=False, repr=False)
class RadiusGraph(Graph):
    """Samples are connected if they are no farther apart than a radius.

    Parameters
    ----------
    radius : float or None, default=None
        In units of the kernel's feature space. None takes the smallest radius at which every
        sample has a neighbour.
    bandwidth : float, "median" or None, default=None
        Weights exp(-d²/2σ²) of the edges; None gives all the weight 1.
    normalized : bool, default=False
        Whether the Laplacian is I - D^(-½) W D^(-½) rather than D - W.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.algebra.graphs import RadiusGraph
    >>> from depmax.algebra.points import VectorPoints
    >>> points = VectorPoints.of([[0.0], [1.0], [2.5]])
    >>> RadiusGraph(1.5).laplacian(points).degrees
    array([1., 2., 1.])
    """

    radius: float | None = None
    _: KW_ONLY
    bandwidth: float | Literal["median"] | None = None
    normalized: bool = False

    _declared: ClassVar = {"radius": number(0, ends="(]", also=[None]), "bandwidth": BANDWIDTH}
    _remedy = "Raise radius to connect them."

    def weights(self, points: Points) -> Any:
        """Weights of the edges, sparse."""
        if self.radius is None:
            if points.n_samples < 2:
                raise ValueError("RadiusGraph needs at least two rows, got n_samples = 1.")
            radius = float(np.sqrt(points.nearest(1)[1].max()))
            radius *= 1.0 + 1e-6  # so that rounding does not part the two farthest neighbours
        else:
            radius = float(self.radius)
        return edge_weights(points, points.within(radius), self.bandwidth)


#: Rows and columns of a tile.
TILE = 512
#: Up to so many samples the weights are kept; of more they are computed at every product.
STORED_ROWS = 4096


@dataclass(frozen=True)
class GaussianWeights:
    """exp(-d²/2σ²) between all pairs, in tiles."""

    points: Points
    bandwidth: float

    #: Every pair of samples has an edge.
    n_components = 1

    @cached_property
    def degrees(self) -> np.ndarray:
        """Sum of each node's weights."""
        return self.times(np.ones((self.points.n_samples, 1)))[:, 0]

    def times(self, values: np.ndarray) -> np.ndarray:
        """W times columns of values."""
        if self.points.n_samples <= STORED_ROWS:
            stored: np.ndarray = self.matrix() @ values
            return stored
        product = np.zeros(values.shape)
        for rows, columns, weights, _ in self._tiles():
            product[rows] += weights @ values[columns]
            if rows is not columns:
                product[columns] += weights.T @ values[rows]
        return product

    def energy(self, scales: np.ndarray) -> float:
        """½ Σ_ij s_i s_j W_ij d_ij²."""
        total = 0.0
        for rows, columns, weights, squares in self._tiles():
            share = float(scales[rows] @ (weights * squares) @ scales[columns])
            total += share / 2.0 if rows is columns else share
        return total

    def matrix(self) -> np.ndarray:
        """W, dense."""
        return self._matrix

    def draw(self, count: int, rng: np.random.RandomState) -> DrawnEdges:
        """Pairs drawn with equal probabilities."""
        m = self.points.n_samples
        first = rng.randint(m, size=count)
        second = (first + rng.randint(1, m, size=count)) % m
        squares = self.points.squares(first, second).diagonal()  # a batch is small
        weights = np.exp(squares / (-2.0 * self.bandwidth**2)) * (m * (m - 1) / 2.0)
        return DrawnEdges(first, second, weights)

    @cached_property
    def _matrix(self) -> np.ndarray:
        matrix = np.empty((self.points.n_samples,) * 2)
        for rows, columns, weights, _ in self._tiles():
            matrix[rows, columns] = weights
            matrix[columns, rows] = weights.T
        return matrix

    def _tiles(self) -> Iterator[tuple[slice, slice, np.ndarray, np.ndarray]]:
        """Weights and squared distances of the upper tiles."""
        warn_if_long(
            f"A graph of all pairs of {self.points.n_samples:,} rows",
            SECONDS_PER_PAIR * self.points.n_samples**2,
            "NeighborGraph(10) connects near rows only; or fit to a random part of the rows.",
        )
        parts = list(slices(self.points.n_samples, TILE))
        for place, rows in enumerate(parts):
            for columns in parts[place:]:
                squares = self.points.squares(rows, columns)
                weights = np.exp(squares / (-2.0 * self.bandwidth**2))
                if rows is columns:
                    np.fill_diagonal(weights, 0.0)
                yield rows, columns, weights, squares


@dataclass(eq=False, repr=False)
class GaussianGraph(Graph):
    """All samples are connected, with weights exp(-d²/2σ²).

    Costs the number of samples squared, in time; up to 4,096 samples the weights are stored.

    Parameters
    ----------
    bandwidth : float or "median", default="median"
        σ, in units of the kernel's feature space.
    normalized : bool, default=False
        Whether the Laplacian is I - D^(-½) W D^(-½) rather than D - W.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.algebra.graphs import GaussianGraph
    >>> from depmax.algebra.points import VectorPoints
    >>> laplacian = GaussianGraph(1.0).laplacian(VectorPoints.of([[0.0], [1.0]]))
    >>> laplacian.matrix().round(2)
    array([[ 0.61, -0.61],
           [-0.61,  0.61]])
    """

    bandwidth: float | Literal["median"] = "median"
    _: KW_ONLY
    normalized: bool = False

    _declared: ClassVar = {"bandwidth": number(0, ends="(]", also=["median"])}

    def weights(self, points: Points) -> Any:
        """Weights of all pairs, in tiles."""
        return GaussianWeights(points, width(points, self.bandwidth))


#: Differences of W_ij and W_ji up to this share of the largest weight are rounding errors.
SYMMETRIC = 1e-8


@dataclass(eq=False, repr=False)
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

    matrix: Any
    _: KW_ONLY
    normalized: bool = False

    _remedy = "Add edges that connect them."

    def weights(self, points: Points) -> Any:
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


def as_graph(graph: Any) -> Graph:
    """Graph from its name, "neighbors", "radius" or "gaussian", from weights, or the graph itself.

    Weights are a matrix, dense or sparse, or a function of the rows that returns one.

    Examples
    --------
    >>> as_graph("neighbors")
    NeighborGraph()
    """
    names = {"neighbors": NeighborGraph, "radius": RadiusGraph, "gaussian": GaussianGraph}
    if isinstance(graph, str) and graph in names:
        return names[graph]()
    if isinstance(graph, Graph):
        return graph
    given = sparse.issparse(graph) or hasattr(graph, "__array__") or callable(graph)
    if given and not isinstance(graph, type):
        return GivenGraph(graph)
    raise ValueError(
        f"graph must be 'neighbors', 'radius', 'gaussian', a graph such as "
        f"NeighborGraph(n_neighbors=10), a matrix of weights or a function of the rows that "
        f"returns one, got {graph!r}."
    )
