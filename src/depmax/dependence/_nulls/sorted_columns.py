"""Columns with the Laplace kernel, sorted: all sums behind HSIC and its null law in O(m log m)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock

import numpy as np
from scipy import special

from depmax._resources import cached_property
from depmax.dependence._nulls.law import CHUNK, LEADING, leading_eigenvalues, u_centred
from depmax.dependence._nulls.linear_part import LinearPart, normal_scores
from depmax.dependence._terms import unbiased_hsic
from depmax.dependence.variance import shares_of_coordinates

#: Order statistics that the median distance of a column is taken from.
MEDIAN_POINTS = 1000
#: Order statistics that the leading eigenvalues of a column's kernel are taken from.
SPECTRUM_POINTS = 120
#: Rows from which on columns are sorted by digits.
LONG = 1500
#: Numbers of random orders that are held at once, and that are kept for other columns.
ORDERED, KEPT = 2**20, 2**23
#: Rare rows are permuted alone if their pairs are at most so many times the rows.
RARE_PAIRS = 10


@dataclass(frozen=True)
class TargetCoordinates:
    """A target as centred coordinates Ψ with L = ΨΨᵀ."""

    psi: np.ndarray  # shape (n_samples, rank), columns sum to zero
    squares: np.ndarray  # ‖ψ_i‖²
    #: Random rows of the target for so many rows of a column
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

    @cached_property
    def own_shares(self) -> np.ndarray:
        """(B̃ ∘ B̃)1: what every row contributes to m(m-3) HSIC₁ of the target with itself."""
        return shares_of_coordinates(self.psi, self.psi)

    def draws(self, count: int) -> Drawn:
        """Random rows of the target for ``count`` rows of a column."""
        m = len(self.squares)

        def draw(rng: np.random.Generator) -> np.ndarray:
            return rng.permutation(m) if count == m else rng.choice(m, count, replace=False)

        return self.drawn.setdefault(count, Drawn(draw, count))

    def hsic(self, inner: np.ndarray, middle: np.ndarray, total: np.ndarray | float) -> np.ndarray:
        """HSIC₁ from Σ ψᵀK̃ψ, Σ (K̃1)_i ‖ψ_i‖² and 1ᵀK̃1 · Σ ‖ψ_i‖², since L̃1 = -‖ψ_i‖²."""
        found: np.ndarray = unbiased_hsic(len(self.squares), inner, -middle, -total)
        return found


class Drawn:
    """Random rows in chunks without end, with a fixed seed: the same for every column.

    The first ones are kept, and read by several threads from the start.
    """

    def __init__(self, draw: Callable[[np.random.Generator], np.ndarray], size: int) -> None:
        self.rng, self.draw, self.lock = np.random.default_rng(0), draw, Lock()
        self.at_once = max(1, min(CHUNK, ORDERED // max(1, size)))
        self.chunks, self.most = list[np.ndarray](), KEPT // max(1, size * self.at_once)

    def __iter__(self) -> Iterator[np.ndarray]:
        place, own = 0, None
        while True:
            with self.lock:
                if place == len(self.chunks) < self.most:
                    self.chunks.append(self._chunk(self.rng))
                elif own is None and place >= self.most:
                    own = deepcopy(self.rng)
            yield self.chunks[place] if own is None else self._chunk(own)
            place += 1

    def _chunk(self, rng: np.random.Generator) -> np.ndarray:
        return np.array([self.draw(rng) for _ in range(self.at_once)], dtype=np.int64)


#: HSIC₁ of permutations, and shares that the linear part explains, 0 if that is not asked for.
Permuted = tuple[np.ndarray, np.ndarray]


@lru_cache(maxsize=4)
def _scores_reached(m: int) -> np.ndarray:
    """Sums of the first normal scores of m different values, from 0."""
    return np.concatenate([[0.0], np.cumsum(normal_scores(np.ones(m)))])


@dataclass(frozen=True)
class SortedColumns:
    """Some columns, each sorted, with their bandwidths; shapes (n_columns, n_samples)."""

    orders: np.ndarray  # positions of the sorted values
    values: np.ndarray  # sorted
    decays: np.ndarray  # e^{-(x_i - x_{i-1})/bandwidth} of sorted neighbours, 0 at first
    widths: np.ndarray  # shape (n_columns,)

    @classmethod
    def of(cls, columns: np.ndarray, widths: np.ndarray | None = None) -> SortedColumns:
        """Sort columns, one per line; without bandwidths take the median distances."""
        from depmax.dependence._nulls._laplace_loop import median_gaps, sort_columns

        columns = np.ascontiguousarray(columns, dtype=np.float64)
        if columns.shape[1] < LONG:
            orders = np.argsort(columns, axis=1)
            values = np.take_along_axis(columns, orders, axis=1)
        else:
            orders, values = np.empty(columns.shape, dtype=np.int64), np.empty_like(columns)
            sort_columns(columns, orders, values)
        if widths is None:
            widths = np.empty(len(columns))
            median_gaps(np.ascontiguousarray(evenly_spaced(values, MEDIAN_POINTS)), widths)
        decays = np.empty_like(values)
        decays[:, 0] = 0.0
        np.subtract(values[:, :-1], values[:, 1:], out=decays[:, 1:])
        decays[:, 1:] /= widths[:, np.newaxis]
        np.exp(decays[:, 1:], out=decays[:, 1:])
        return cls(orders, values, decays, widths)

    def column(self, position: int) -> SortedColumns:
        """One of the columns."""
        part = slice(position, position + 1)
        return SortedColumns(
            self.orders[part], self.values[part], self.decays[part], self.widths[part]
        )

    def sums(
        self,
        target: TargetCoordinates,
        own_y: np.ndarray | None = None,
        codes: np.ndarray | None = None,
        units: np.ndarray | None = None,
        room: np.ndarray | None = None,
    ) -> dict[str, np.ndarray]:
        """Sums of every column with a target, by name (``_laplace_loop.SUMS``).

        Effects need (B̃ ∘ B̃)1 of the target, ``own_y``; ``codes`` are its levels, if these matter,
        ``units`` the independent units of rows. ``room`` is memory of the size of Ψ, if at hand.
        """
        from depmax.dependence._nulls._laplace_loop import SUMS, column_sums

        found, none = np.empty((len(self.widths), len(SUMS))), np.empty(0, dtype=np.int64)
        column_sums(
            self.values,
            self.decays,
            self.orders,
            target.psi,
            target.squares,
            np.zeros(len(target.squares)) if own_y is None else own_y,
            none if codes is None else codes.astype(np.int64),
            none if units is None else np.unique(units, return_inverse=True)[1].astype(np.int64),
            own_y is not None,
            np.empty_like(target.psi) if room is None else room,
            found,
        )
        return dict(zip(SUMS, found.T, strict=True))

    def score_sums(self, axes: np.ndarray) -> np.ndarray:
        """Σa², Σa³, Σa⁴ and ‖Uᵀa‖² of the normal scores a of every column and U of a target."""
        from depmax.dependence._nulls._laplace_loop import score_sums

        found = np.empty((len(self.widths), 4))
        score_sums(self.values, self.orders, _scores_reached(len(axes)), axes, found)
        return found

    def scores(self, weight: np.ndarray | None = None) -> np.ndarray:
        """Normal scores of the first column, sorted, perhaps of rows with weights."""
        weight = np.ones(self.values.shape[1]) if weight is None else weight[self.orders[0]]
        starts = np.flatnonzero(np.append(True, self.values[0, 1:] != self.values[0, :-1]))
        sizes = np.diff(np.append(starts, len(weight)))
        return np.repeat(normal_scores(np.add.reduceat(weight, starts)), sizes)

    def leading(self) -> tuple[float, ...]:
        """Leading eigenvalues of the first column's U-centred matrix, from evenly spaced rows."""
        from depmax.dependence._nulls._laplace_loop import FIRST_LOOK, leading_of_places

        places = evenly_spaced(self.values[0], SPECTRUM_POINTS)
        places = (places - places[0]) / self.widths[0]
        m, size = self.values.shape[1], len(places)
        found = np.empty(0)
        if size > 2 * FIRST_LOOK and (places[1:] > places[:-1]).all():
            found = leading_of_places(places, LEADING)
        if not len(found):
            gram = np.exp(-np.abs(places[:, np.newaxis] - places[np.newaxis, :]))
            found = leading_eigenvalues(u_centred(gram))
        return tuple(m / size * found)

    def permuted(
        self, target: TargetCoordinates, linear: LinearPart | None = None
    ) -> Iterator[Permuted]:
        """HSIC₁ of the first column with random permutations of the target, in chunks.

        With a linear part also the shares that it explains, in units of the scores' squares.

        A column with few rare rows is these alone: K_ij - K_i0 - K_0j + K_00, x₀ the most frequent
        value, has the same U-centred matrix as K and is zero for all other rows.
        """
        values, m = self.values[0], self.values.shape[1]
        starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
        most = values[starts[np.argmax(np.diff(np.append(starts, m)))]]
        rare = values != most
        count = int(rare.sum())
        if count**2 > RARE_PAIRS * m:
            yield from self.in_orders(target.psi, target.draws(m), linear)
            return
        scores = self.scores()
        scores = (scores - scores[starts[np.argmax(np.diff(np.append(starts, m)))]])[rare]
        x = (values[rare] - most) / self.widths[0]
        away = np.exp(-np.abs(x))
        gram = np.exp(-np.abs(x[:, np.newaxis] - x[np.newaxis, :])) + 1.0
        gram -= away[:, np.newaxis] + away[np.newaxis, :]
        np.fill_diagonal(gram, 0.0)
        sums, rank = gram.sum(axis=1), target.psi.shape[1]
        outer = float(sums.sum() * target.squares.sum())
        for rows in target.draws(count):
            psi = target.psi[rows.T].reshape(count, -1)
            inner = ((gram @ psi) * psi).sum(axis=0).reshape(-1, rank).sum(axis=1)
            shares = np.zeros(len(rows)) if linear is None else linear.shares(scores, rows)
            yield target.hsic(inner, target.squares[rows] @ sums, outer), shares

    def in_orders(
        self,
        psi: np.ndarray,
        orders: Iterable[np.ndarray],
        linear: LinearPart | None = None,
        weight: np.ndarray | None = None,
    ) -> Iterator[Permuted]:
        """HSIC₁ of the first column with Ψ in random orders, in chunks; HSIC₀ of rows with weights.

        An order may repeat rows and leave out others. With a linear part also shares, as above.
        """
        places, scores = self.orders[0], self.scores(weight)
        counts = np.ones(len(places)) if weight is None else weight
        for chunk in orders:
            sums, shares = self.sums_in_orders(counts, psi, chunk), np.zeros(len(chunk))
            if linear is not None:
                shares = linear.shares(scores * counts[places], chunk.take(places, axis=1))
            yield hsic_of_sums(sums, counts, unbiased=weight is None), shares

    def sums_in_orders(
        self, weight: np.ndarray, psi: np.ndarray, orders: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Sums of the first column, its rows weighted, with Ψ in orders (``exchanged_sums``)."""
        from depmax.dependence._nulls._laplace_loop import exchanged_sums

        sums, places = np.empty((len(orders), 5)), self.orders[0]
        exchanged_sums(self.decays[0], weight[places], psi, orders.take(places, axis=1), sums)
        return tuple(sums.T)


def hsic_of_sums(sums: tuple[np.ndarray, ...], weight: np.ndarray, *, unbiased: bool) -> np.ndarray:
    """HSIC from ``sums_in_orders``, where a row of both sides stands for several."""
    inner, middle, squares, own, pairs = sums
    total = float(weight.sum())
    found: np.ndarray = (inner + own) / (total - 1.0) ** 2
    if unbiased:
        copies = own - squares  # Σ w(w - 1)‖ψ‖²: of a row with its other copies, at distance 0
        outer = (pairs + weight @ weight - total) * squares  # L̃1 = -‖ψ‖² since Ψ is centred
        found = unbiased_hsic(total, inner + copies, -(middle + copies), -outer)
    return found


def places_by_rank(counts: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Values, in sorted order, of at most ``size`` evenly spaced rows, and the ranks of these.

    ``counts`` says how many rows have each value; the ends are included.
    """
    reached = np.cumsum(counts)
    m = int(reached[-1])
    ranks = np.arange(min(m, size)) * (m - 1) // max(1, min(m, size) - 1)
    return np.minimum(np.searchsorted(reached, ranks, side="right"), len(counts) - 1), ranks


def evenly_spaced(ordered: np.ndarray, size: int) -> np.ndarray:
    """At most ``size`` of the sorted values, evenly spaced by rank, the ends included."""
    m = ordered.shape[-1]
    return ordered if m <= size else ordered[..., np.arange(size) * (m - 1) // (size - 1)]


def heaviest_sf(z: np.ndarray, skewness: np.ndarray) -> np.ndarray:
    """Tails beyond z > 0 of w(x² - 1) + R, x and R normal, with variance 1: the longest there are.

    No mixture of chi-squares with this skewness has a larger weight than w. The saddlepoint s of
    ``ChiSquareMixture.sf`` solves a quadratic equation here.
    """
    w = np.clip(np.cbrt(skewness / 8.0), 1e-3, math.sqrt(0.5))
    variance = 1.0 - 2.0 * w**2  # of R
    b = 1.0 + 2.0 * w * z
    s = 2.0 * z / (b + np.sqrt(np.maximum(b**2 - 8.0 * w * variance * z, 0.0)))
    t = 2.0 * w * s
    cumulant = 0.5 * (-np.log1p(-t) - t) + 0.5 * variance * s**2
    r = np.sqrt(np.maximum(2.0 * (s * z - cumulant), 0.0))
    q = s * np.sqrt(2.0 * w**2 / (1.0 - t) ** 2 + variance)
    density = np.exp(-0.5 * r**2) / math.sqrt(2.0 * math.pi)
    found: np.ndarray = np.clip(special.ndtr(-r) + density * (1.0 / q - 1.0 / r), 0.0, 1.0)
    return found
