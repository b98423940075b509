"""The Laplacian of a graph as an operator on values at its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from depmax.algebra.graphs.points import Points


@dataclass(frozen=True)
class DrawnEdges:
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
