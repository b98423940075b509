"""HSIC of one column with the Laplace kernel, and the law of its permutations, in O(m log m)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock

import numpy as np

from depmax._threads import slices
from depmax.dependence._nulls.law import (
    NOTHING,
    Spread,
    leading_eigenvalues,
    u_centred,
)
from depmax.dependence._nulls.rare import CHUNK, Levels
from depmax.dependence._terms import Terms
from depmax.dependence.exchange import Plan

#: Order statistics that the median distance of a column is taken from.
MEDIAN_POINTS = 1000
#: Order statistics that the leading eigenvalues of a column's kernel are taken from.
SPECTRUM_POINTS = 120
#: Places of permuted rows that are held at once.
ORDERED = 2**20
#: Rare rows are permuted alone if their pairs are at most so many times the rows.
RARE_PAIRS = 10


@dataclass(frozen=True)
class TargetCoordinates:
    """A target as centred coordinates Ψ with L = ΨΨᵀ."""

    psi: np.ndarray  # shape (n_samples, rank), columns sum to zero
    squares: np.ndarray  # ‖ψ_i‖²
    #: HSIC₁ of permutations with one rare value of so many rows, alike for all such columns
    drawn: dict[int, Drawn] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, coordinates: np.ndarray, tol: float = 1e-12) -> TargetCoordinates:
        """Centred coordinates, rotated to their principal axes and cut at ``tol`` of the trace."""
        centred = np.asarray(coordinates, dtype=np.float64)
        centred = centred - centred.mean(axis=0)
        values, vectors = np.linalg.eigh(centred.T @ centred)
        trailing = np.cumsum(np.maximum(values, 0.0))  # trace lost by cutting this far
        kept = trailing > tol * trailing[-1]
        psi = np.ascontiguousarray(centred @ vectors[:, kept][:, ::-1])
        return cls(psi, np.einsum("ij,ij->i", psi, psi))

    def take(self, order: np.ndarray) -> TargetCoordinates:
        """The same rows in another order."""
        return TargetCoordinates(self.psi.take(order, axis=0), self.squares[order])


@dataclass(frozen=True)
class LaplaceColumn:
    """One column, sorted, with its bandwidth."""

    order: np.ndarray  # positions of the sorted values
    values: np.ndarray  # sorted
    decays: np.ndarray  # e^{-(x_i - x_{i-1})/bandwidth} of sorted neighbours
    bandwidth: float

    @classmethod
    def of(cls, column: np.ndarray, bandwidth: float | None = None) -> LaplaceColumn:
        """Sort a column; without a bandwidth take the median distance."""
        from depmax.dependence._nulls._laplace_loop import median_gap

        values = np.ascontiguousarray(column, dtype=np.float64)
        order = np.argsort(values)
        ordered = values[order]
        width = bandwidth
        if width is None:
            width = float(median_gap(evenly_spaced(ordered, MEDIAN_POINTS)))
        decays = np.empty_like(ordered)
        decays[0] = 0.0
        np.subtract(ordered[:-1], ordered[1:], out=decays[1:])
        decays[1:] /= width
        np.exp(decays[1:], out=decays[1:])
        return cls(order, ordered, decays, width)

    @cached_property
    def is_constant(self) -> bool:
        """Whether all values are equal, so that nothing can depend on them."""
        return bool((self.decays[1:] == 1.0).all())

    @cached_property
    def _own_sums(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """K̃1, (K̃∘K̃)1 and K̃(K̃1), each of shape (m,); 1ᵀ(K̃∘K̃∘K̃)1 and tr K̃³."""
        from depmax.dependence._nulls._laplace_loop import own_sums

        m = len(self.order)
        found = np.empty(m), np.empty(m), np.empty(m), np.empty(2)
        own_sums(self.decays, *found)
        return found

    @cached_property
    def _own_shares(self) -> np.ndarray:
        """(Ã ∘ Ã)1 in sorted order, from the row sums of K̃ and K̃∘K̃, and from K̃(K̃1)."""
        m, (r, q, image, _) = len(self.order), self._own_sums
        u, n_u = r / (m - 2), image / (m - 2)  # n_u = K̃u
        a = u - u.sum() / (m - 1)
        shares: np.ndarray = (
            q - 2.0 * n_u - 2.0 * a * r + (u @ u - u**2) + 2.0 * a * (u.sum() - u) + (m - 1) * a**2
        )
        return shares

    def terms(
        self,
        target: TargetCoordinates,
        row_sums_total: float,
        unbiased: bool,
        sorted_target: TargetCoordinates | None = None,
    ) -> Terms:
        """Terms with a target, of K̃ and L̃ or of K and L; faster if it is sorted already."""
        from depmax.dependence._nulls._laplace_loop import target_sums

        sums = np.empty(2)
        rows = sorted_target or target.take(self.order)
        target_sums(self.decays, rows.psi, rows.squares, sums)
        inner, weighted = float(sums[0]), float(sums[1])  # Σ ψᵀK̃ψ and Σ (K̃1)_i ‖ψ_i‖²
        total = float(target.squares.sum())
        m = len(self.order)
        if unbiased:  # L̃1 = -‖ψ_i‖² since Ψ is centred
            return Terms(m, inner, -weighted, -row_sums_total * total, zero_diagonal=True)
        return Terms(m, inner + total, 0.0, 0.0, zero_diagonal=False)

    def leading(self) -> tuple[float, ...]:
        """Leading eigenvalues of the U-centred kernel matrix, from evenly spaced rows."""
        m = len(self.order)
        places = evenly_spaced(self.values, SPECTRUM_POINTS)
        size = len(places)
        places = (places - places[0]) / self.bandwidth
        gram = np.exp(-np.abs(places[:, np.newaxis] - places[np.newaxis, :]))
        return tuple(m / size * leading_eigenvalues(u_centred(gram)))

    def levels(self) -> Levels | None:
        """Which rows are equal; None if no value is that of half of them: none is rare then."""
        m = len(self.values)
        ends = np.flatnonzero(self.values[1:] != self.values[:-1]) + 1
        if len(ends) == m - 1:  # all differ
            return None
        bounds = np.concatenate([[0], ends, [m]])
        counts = np.diff(bounds)
        if 2 * counts.max() < m:
            return None
        codes = np.empty(m, dtype=np.intp)
        codes[self.order] = np.repeat(np.arange(len(counts)), counts)
        return Levels(codes, counts, self.order[bounds[:-1]])

    def permuted(self, target: TargetCoordinates, row_sums_total: float) -> Iterator[np.ndarray]:
        """HSIC₁ of random permutations of the target, with a fixed seed, in chunks."""
        rng, m = np.random.default_rng(0), len(self.order)
        rare = RareValues.of(self)
        if len(rare.places) ** 2 > RARE_PAIRS * m:
            yield from self._in_orders(target, row_sums_total, lambda: rng.permutation(m))
            return
        count = len(rare.places)

        def chunks(of: RareValues) -> Iterator[np.ndarray]:
            while True:
                draws = [rng.choice(m, count, replace=False) for _ in range(CHUNK)]
                yield of.hsic(target, np.array(draws))

        height = rare.height
        if height is None:
            yield from chunks(rare)
        one_value = RareValues(rare.places, np.ones((count, count)) - np.eye(count))
        for values in target.drawn.setdefault(count, Drawn(chunks(one_value))):
            yield height * values

    def shares(self, sorted_target: TargetCoordinates) -> tuple[np.ndarray, np.ndarray]:
        """(Ã ∘ B̃)1 with a target and (Ã ∘ Ã)1, what every row contributes, in sorted order."""
        from depmax.dependence._nulls._laplace_loop import cross_shares

        found = np.empty((3, len(self.order)))
        target = sorted_target.psi, sorted_target.squares
        cross_shares(self.decays, *target, self._own_sums[0], found)
        return found[0], self._own_shares

    def exchanged(
        self, target: TargetCoordinates, row_sums_total: float, plan: Plan
    ) -> Iterator[np.ndarray]:
        """HSIC₁ of random orders of a plan, with a fixed seed, in chunks."""
        rng = np.random.default_rng(0)
        return self._in_orders(target, row_sums_total, lambda: plan.draw(rng))

    def _in_orders(
        self, target: TargetCoordinates, row_sums_total: float, draw: Callable[[], np.ndarray]
    ) -> Iterator[np.ndarray]:
        """HSIC₁ with the rows of the target in orders that are drawn, in chunks without end.

        An order may repeat rows and leave out others.
        """
        from depmax.dependence._nulls._laplace_loop import exchanged_sums

        m = len(self.order)
        at_once = max(1, min(CHUNK, ORDERED // m))
        while True:
            chunk: list[float] = []
            for part in slices(CHUNK, at_once):
                orders = np.array([draw()[self.order] for _ in range(part.start, part.stop)])
                sums = np.empty((len(orders), 3))
                exchanged_sums(self.decays, target.psi, orders.astype(np.int64, copy=False), sums)
                for inner, weighted, total in sums.tolist():
                    outer = -row_sums_total * total
                    terms = Terms(m, inner, -weighted, outer, zero_diagonal=True)
                    chunk.append(terms.hsic())
            yield np.array(chunk)

    def spread(self) -> tuple[Spread, float]:
        """Spread of the U-centred kernel matrix, and 1ᵀK̃1, all exact in O(m)."""
        m = len(self.order)
        if self.is_constant:
            return NOTHING, float(m * (m - 1))
        r, q, image, (cubes, triangles) = self._own_sums
        # Ã_ij = K_ij - u_i - u_j + c off the diagonal; B is the same on it too, with diagonal δ
        u, n_u, rows = r / (m - 2), image / (m - 2), self._own_shares  # n_u = K̃u
        total = float(r.sum())
        c = total / ((m - 1) * (m - 2))
        delta = c - 2.0 * u
        z = u - 0.5 * c
        shifts = (2 * m - 8) * _cubes(z) + 6 * (z @ z) * z.sum()  # Σ_{i≠j} (z_i + z_j)³
        sum_cubes = (
            cubes
            - 3.0 * (2.0 * (q @ u) - c * q.sum())
            + 3.0 * (2.0 * ((r * u) @ u) + 2.0 * (u @ n_u) - 4.0 * c * (r @ u) + c**2 * total)
            - shifts
        )
        # tr B³ with B = K̃ - VMVᵀ, V = [u, 1]
        middle = np.array([[0.0, 1.0], [1.0, -c]])
        v, n_v = np.ones((m, 2)), np.empty((m, 2))
        v[:, 0], n_v[:, 0], n_v[:, 1] = u, n_u, r
        gram = middle @ (v.T @ v)
        trace = (
            triangles
            - 3.0 * np.trace(middle @ (n_v.T @ n_v))
            + 3.0 * np.trace(gram @ middle @ (v.T @ n_v))
            - np.trace(gram @ gram @ gram)
        )
        trace += -3.0 * (delta @ rows) - _cubes(delta)
        return Spread(float(rows.sum()), float(sum_cubes), float(trace)), total


@dataclass(frozen=True)
class RareValues:
    """A column as its rows without the most frequent value x₀, which alone say anything.

    K_ij - K_i0 - K_0j + K_00 has the same U-centred matrix as K and is zero for all other rows.
    """

    places: np.ndarray  # the rare rows among those of the column
    gram: np.ndarray  # that matrix of the rare rows, with zero diagonal

    @classmethod
    def of(cls, column: LaplaceColumn) -> RareValues:
        """The rare rows; kernel values only if these are few."""
        values = column.values
        starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
        most = values[starts[np.argmax(np.diff(np.append(starts, len(values))))]]
        rare = values != most
        places = column.order[rare]
        if len(places) ** 2 > RARE_PAIRS * len(values):
            return cls(places, np.empty((0, 0)))
        x = (values[rare] - most) / column.bandwidth
        away = np.exp(-np.abs(x))
        gram = np.exp(-np.abs(x[:, np.newaxis] - x[np.newaxis, :])) + 1.0
        gram -= away[:, np.newaxis] + away[np.newaxis, :]
        np.fill_diagonal(gram, 0.0)
        return cls(places, gram)

    @property
    def height(self) -> float | None:
        """The only kernel value of different rare rows; None if there are several, or one row."""
        values = self.gram[~np.eye(len(self.gram), dtype=bool)]
        return float(values[0]) if len(values) and (values == values[0]).all() else None

    def hsic(self, target: TargetCoordinates, rows: np.ndarray) -> np.ndarray:
        """HSIC₁ if rows of the target belonged to the rare rows of the column: one per line."""
        psi, squares, m = target.psi[rows], target.squares, len(target.squares)
        inner = np.sum((self.gram @ psi) * psi, axis=(1, 2))
        sums = self.gram.sum(axis=1)
        middle, outer = -(squares[rows] @ sums), -float(sums.sum() * squares.sum())
        return (inner + outer / ((m - 1) * (m - 2)) - 2 * middle / (m - 2)) / (m * (m - 3))


class Drawn:
    """Chunks of random values that are drawn once and read by several threads from the start."""

    def __init__(self, source: Iterator[np.ndarray]) -> None:
        self.source, self.chunks, self.lock = source, list[np.ndarray](), Lock()

    def __iter__(self) -> Iterator[np.ndarray]:
        place = 0
        while True:
            with self.lock:
                if place == len(self.chunks):
                    self.chunks.append(next(self.source))
            yield self.chunks[place]
            place += 1


def evenly_spaced(ordered: np.ndarray, size: int) -> np.ndarray:
    """At most ``size`` of the sorted values, evenly spaced by rank, the ends included."""
    m = len(ordered)
    return ordered if m <= size else ordered[np.arange(size) * (m - 1) // (size - 1)]


def _cubes(vector: np.ndarray) -> float:
    """Σ v_i³ without the power function."""
    return float((vector * vector) @ vector)
