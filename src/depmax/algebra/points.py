"""Samples as points of a kernel's feature space: distances by vectors or by kernel values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import row_norms

from depmax._resources import slices, warn_if_long
from depmax.data.sample import Sample
from depmax.kernels.distances import MEDIAN_ROWS, squared_distances

#: Distances of one block of rows to all others.
BLOCK = 2**21


@dataclass(frozen=True)
class Pairs:
    """Pairs of different samples, each once, and their squared distances."""

    first: np.ndarray  # shape (n_pairs,)
    second: np.ndarray  # larger than the first
    squares: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, columns: np.ndarray, squares: np.ndarray, mutual: bool) -> Pairs:
        """Pairs from directed ones, taken if either direction is there, or both (``mutual``)."""
        first, second = np.minimum(rows, columns), np.maximum(rows, columns)
        order = np.lexsort((second, first))
        first, second, squares = first[order], second[order], squares[order]
        repeated = np.zeros(len(first), dtype=bool)
        repeated[1:] = (first[1:] == first[:-1]) & (second[1:] == second[:-1])
        kept = repeated if mutual else ~repeated
        return cls(first[kept], second[kept], squares[kept])


#: Columns from which on a tree of the rows saves little, and the time of one core for a pair.
WIDE, SECONDS_PER_PAIR = 8, 9e-9


class Points(ABC):
    """m samples and the squared distances between their images.

    A subclass gives the distances of some samples to others, a block at a time.
    """

    rows: Any  # the samples themselves, as they were before a kernel saw them

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """Number of samples m."""

    @abstractmethod
    def squares(self, rows: slice | np.ndarray, columns: slice | np.ndarray) -> np.ndarray:
        """Squared distances of some samples to others."""

    @abstractmethod
    def norms(self) -> np.ndarray:
        """Squared distance of each sample to the mean of all, of shape (m,)."""

    @abstractmethod
    def size(self, factor: np.ndarray) -> float:
        """tr(ΨᵀΦΦᵀΨ) = ‖ΦᵀΨ‖² for a factor of shape (m, r) whose columns have mean zero."""

    def between(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Squared distances of samples to one other each, of shape (n_pairs,)."""
        squares = np.empty(len(first))
        order = np.argsort(first, kind="stable")
        ends = np.searchsorted(first[order], np.arange(self.n_samples + 1))
        for rows in self._blocks():
            pairs = order[ends[rows.start] : ends[rows.stop]]
            own, place = np.unique(first[pairs], return_inverse=True)
            others, partner = np.unique(second[pairs], return_inverse=True)
            squares[pairs] = self.squares(own, others)[place, partner]
        return squares

    def nearest(self, n_neighbors: int) -> tuple[np.ndarray, np.ndarray]:
        """Numbers and squared distances of each sample's nearest others, two of shape (m, p)."""
        numbers = np.empty((self.n_samples, n_neighbors), dtype=np.intp)
        distances = np.empty((self.n_samples, n_neighbors))
        for rows in self._blocks():
            squares = self.squares(rows, slice(0, self.n_samples))
            places = np.arange(len(squares))
            squares[places, places + rows.start] = np.inf
            near = np.argpartition(squares, n_neighbors - 1, axis=1)[:, :n_neighbors]
            numbers[rows] = near
            distances[rows] = np.take_along_axis(squares, near, axis=1)
        return numbers, distances

    def within(self, radius: float) -> Pairs:
        """Pairs no farther apart than a radius."""
        parts = []
        for rows in self._blocks():
            squares = self.squares(rows, slice(0, self.n_samples))
            first, second = np.nonzero(squares <= radius**2)
            upper = first + rows.start < second
            first, second = first[upper], second[upper]
            parts.append((first + rows.start, second, squares[first, second]))
        return Pairs(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _blocks(self) -> list[slice]:
        return list(slices(self.n_samples, max(1, BLOCK // self.n_samples)))


@dataclass(frozen=True)
class VectorPoints(Points):
    """Points that are vectors, dense or sparse; neighbours are searched by scikit-learn."""

    vectors: Any  # of shape (m, D)
    rows: Any = None  # what they are the images of

    @classmethod
    def of(cls, vectors: Any, rows: Any = None) -> VectorPoints:
        """Points from coordinates; dense ones are measured from their mean, for accuracy."""
        rows = vectors if rows is None else rows
        if sparse.issparse(vectors):
            return cls(vectors.tocsr().astype(np.float64), rows)
        vectors = np.asarray(vectors, dtype=np.float64)
        return cls(vectors - vectors.mean(axis=0), rows)

    @property
    def n_samples(self) -> int:
        """Number of samples m."""
        return int(self.vectors.shape[0])

    def squares(self, rows: slice | np.ndarray, columns: slice | np.ndarray) -> np.ndarray:
        """Squared distances of some samples to others."""
        left = self.vectors[rows]
        return squared_distances(left, left if rows is columns else self.vectors[columns])

    def between(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Squared distances of pairs, a block of them at a time."""
        squares = np.empty(len(first))
        for part in slices(len(first), max(1, BLOCK // max(1, self.vectors.shape[1]))):
            apart = self.vectors[first[part]] - self.vectors[second[part]]
            squares[part] = row_norms(apart, squared=True)
        return squares

    def nearest(self, n_neighbors: int) -> tuple[np.ndarray, np.ndarray]:
        """Numbers and squared distances of each sample's nearest others."""
        if self.vectors.shape[1] >= WIDE:
            warn_if_long(
                f"Finding neighbours among {self.n_samples:,} rows",
                SECONDS_PER_PAIR * self.n_samples**2,
                "Fit to a random part of the rows.",
            )
        search = NearestNeighbors(n_neighbors=n_neighbors).fit(self.vectors)
        distances, numbers = search.kneighbors()
        return numbers, distances**2

    def within(self, radius: float) -> Pairs:
        """Pairs no farther apart than a radius."""
        search = NearestNeighbors(radius=radius).fit(self.vectors)
        found = search.radius_neighbors_graph(mode="distance").tocoo()
        return Pairs.of(found.row, found.col, found.data**2, mutual=False)

    def norms(self) -> np.ndarray:
        """Squared distance of each sample to the mean of all."""
        vectors = self.vectors
        mean = np.asarray(vectors.mean(axis=0)).ravel()
        products = np.asarray(vectors @ mean).ravel()
        norms: np.ndarray = row_norms(vectors, squared=True) - 2.0 * products + mean @ mean
        return norms

    def size(self, factor: np.ndarray) -> float:
        """‖ΦᵀΨ‖²."""
        return float(np.sum(np.asarray(self.vectors.T @ factor) ** 2))


@dataclass(frozen=True)
class KernelPoints(Points):
    """Points of which only kernel values are known: ‖φ-φ'‖² = k(x, x) + k(x', x') - 2k(x, x')."""

    tile: Callable[[Any, Any], np.ndarray]  # kernel values of some samples with others
    diagonal: np.ndarray  # k(x, x), shape (m,)
    rows: Any = None  # what they are the images of

    @property
    def n_samples(self) -> int:
        """Number of samples m."""
        return len(self.diagonal)

    def squares(self, rows: slice | np.ndarray, columns: slice | np.ndarray) -> np.ndarray:
        """Squared distances of some samples to others."""
        squares = -2.0 * self.tile(rows, columns)
        squares += self.diagonal[rows][:, np.newaxis]
        squares += self.diagonal[columns]
        return np.maximum(squares, 0.0, out=squares)

    def norms(self) -> np.ndarray:
        """Squared distance of each sample to the mean of all."""
        everything = slice(0, self.n_samples)
        means = np.concatenate(
            [self.tile(rows, everything).mean(axis=1) for rows in self._blocks()]
        )
        norms: np.ndarray = self.diagonal - 2.0 * means + means.mean()
        return norms

    def size(self, factor: np.ndarray) -> float:
        """tr(ΨᵀKΨ), over the rows where Ψ is not zero."""
        known = np.flatnonzero(factor.any(axis=1))
        factor = factor[known]
        return sum(
            float(np.sum(factor[rows] * (self.tile(known[rows], known) @ factor)))
            for rows in slices(len(known), max(1, BLOCK // max(1, len(known))))
        )


def median_distance(points: Points) -> float:
    """Median distance of two points; of many points, that of the pairs among some.

    Where more than half of the pairs coincide, the median of the positive distances.
    """
    m = points.n_samples
    some = np.arange(m)
    if m > MEDIAN_ROWS:
        some = np.sort(np.random.default_rng(0).choice(m, MEDIAN_ROWS, replace=False))
    squares = points.squares(some, some)[np.triu_indices(len(some), 1)]
    if not squares.size or not squares.any():
        return 1.0
    median = np.median(squares)
    return float(np.sqrt(median if median > 0 else np.median(squares[squares > 0])))


def points_of(data: Sample) -> Points:
    """Points of the kernel's feature space: its features where it has them, else kernel values."""
    if data.n_coordinates is not None:
        return VectorPoints.of(data.coordinates(slice(None)), data.rows)
    return KernelPoints(data.tile, data.diag(), data.rows)
