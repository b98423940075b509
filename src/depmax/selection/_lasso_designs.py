"""Kernel matrices of single columns, centred and normalised, and their inner products.

Standardised numbers share one kernel, categories have Delta.

*Factors.* Matrices of many samples are kept by their factors, K̄ = VᵀV with few rows, linear in m.
A smooth kernel of one number has a fast falling spectrum, whatever the number of samples: at the
precision kept here, some 15 eigenvectors for normal columns and a standard Gaussian kernel, one for
a column of two values. A pair of columns then costs m r² operations instead of m².

*Entries.* Where that takes too large a rank, and for blocks of samples, a pass over the data
computes the kernel values of a tile of pairs and a chunk of columns, and multiplies them at once
with those of the columns that are asked for: memory is that of a tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from depmax._resources import cached_property, map_threads, slices
from depmax.data.columns import Categories
from depmax.data.sample import Sample, require_semidefinite
from depmax.kernels import Delta
from depmax.kernels.kernel import Choose, Kernel
from depmax.maps.incomplete_cholesky import factor_to
from depmax.selection._scores import standardized


@dataclass(frozen=True)
class SharedKernel:
    """Columns that share a kernel, or a single column with a kernel of its own."""

    columns: np.ndarray  # positions among all columns
    values: np.ndarray  # of shape (n_samples, len(columns)), as the kernel reads them
    kernel: Kernel  # resolved
    invariant: bool  # k(x, z) is a function of x - z: many columns in one call

    def take(self, positions: np.ndarray | slice) -> SharedKernel:
        """Some of the columns, by position in this part."""
        values = np.ascontiguousarray(self.values[:, positions])
        return SharedKernel(self.columns[positions], values, self.kernel, self.invariant)

    def chunks(self, size: int) -> list[SharedKernel]:
        """Parts of at most ``size`` columns."""
        return [self.take(part) for part in slices(len(self.columns), size)]

    def of_differences(self, differences: np.ndarray) -> np.ndarray:
        """Kernel as a function of x - z, of the same shape, if the part is invariant.

        The differences are overwritten.
        """
        if self.kernel.capabilities.radial:
            return self.kernel.of_squares(np.square(differences, out=differences))
        values = self.kernel(differences.reshape(-1, 1), np.zeros((1, 1)))
        return values.reshape(differences.shape)

    def diagonals(self, rows: slice = slice(None)) -> np.ndarray:
        """k(x, x) of some rows, of shape (len(columns), n_rows)."""
        values = self.values[rows]
        if self.invariant:
            same = self.of_differences(np.zeros(len(self.columns)))
            return np.repeat(same[:, np.newaxis], len(values), axis=1)
        return self.kernel.diag(values).astype(np.float64)[np.newaxis, :]

    def against(self, pivots: np.ndarray) -> np.ndarray:
        """k(x_i, x_p) of all rows i, with one pivot p per column: shape (len(columns), m)."""
        if self.invariant:
            at = self.values[pivots, np.arange(len(self.columns))]
            return self.of_differences(self.values.T - at[:, np.newaxis])
        return self.kernel(self.values[pivots], self.values).astype(np.float64, copy=False)

    def between(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """k(x_i, x_j) of some rows and some others: shape (n_rows, n_others, len(columns))."""
        left, right = self.values[rows], self.values[others]
        if self.invariant:
            return self.of_differences(left[:, np.newaxis] - right)
        return self.kernel(left, right)[:, :, np.newaxis].astype(np.float64)


def column_kernels(
    X: np.ndarray,
    categories: Categories,
    recipe: Kernel,
    choose: Choose | None = None,
    weight: np.ndarray | None = None,
) -> list[SharedKernel]:
    """Standardise the numbers in X and give every column its kernel.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Categorical columns hold codes.
    categories : mapping
        Keyed by the positions of the categorical columns, which get ``Delta``.
    recipe : Kernel
        Of one standardised column. A policy such as "median" is resolved for each.
    choose : callable, optional
        What the policy "maximize" asks.
    weight : ndarray of shape (n_samples,), optional
        How many rows each stands for.

    Examples
    --------
    >>> from depmax.kernels import Gaussian
    >>> column_kernels(np.array([[1.0, 5.0], [3.0, 5.0]]), {}, Gaussian(1.0))[0].values
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    named = np.array(sorted(categories), dtype=np.intp)
    columns = np.setdiff1d(np.arange(X.shape[1]), named)
    values = standardized(X[:, columns], weight)
    parts: list[SharedKernel] = []
    if len(named):
        codes = X[:, named].astype(np.float64)
        parts.append(SharedKernel(named, codes, Delta(), invariant=True))  # equal or not
    invariant = recipe.capabilities.stationary
    if not len(columns):
        return parts
    if invariant and recipe.is_resolved:
        return [SharedKernel(columns, values, recipe, True), *parts]
    resolved = [recipe.resolve(values[:, [j]], choose, weight) for j in range(len(columns))]
    if invariant and "bandwidth" in recipe.get_params(deep=False):
        # A bandwidth is a length scale: dividing the column by it is the same, up to a factor
        # that the normalisation of each kernel matrix removes.
        widths = np.array([kernel._width() for kernel in resolved])
        unit = clone(recipe).set_params(bandwidth=1.0)
        return [SharedKernel(columns, values / widths, unit, True), *parts]
    own = [
        SharedKernel(columns[[j]], values[:, [j]], kernel, False)
        for j, kernel in enumerate(resolved)
    ]
    return [*own, *parts]


def _each(
    work: Callable[[Any], np.ndarray], chunks: Sequence[Any], shape: tuple[int, ...], n_jobs: Any
) -> np.ndarray:
    """What ``work`` finds for every chunk of columns, in the places of these columns."""
    result = np.empty(shape)
    for chunk, found in zip(chunks, map_threads(work, chunks, n_jobs), strict=True):
        result[..., chunk.columns] = found
    return result


def _n_features(parts: Sequence[SharedKernel]) -> int:
    return sum(len(part.columns) for part in parts)


def _refuse_constant(blocks: str) -> None:
    raise ValueError(
        f"y is constant as its kernel sees it{blocks}: nothing can depend on it. Check y, or pass "
        "another target_kernel."
    )


# --- factors --------------------------------------------------------------------------------------

#: Trace of K - GGᵀ, relative to that of K, at which pivots suffice.
PIVOT_TOLERANCE = 1e-11


def pivoted_factors(part: SharedKernel, limit: int) -> list[np.ndarray] | None:
    """Factors G of shape (r, m) with GᵀG ≈ K, for every column of a part.

    Each step takes, in every column that needs one, the sample that the pivots so far explain
    worst. Steps of all columns are made together.

    Parameters
    ----------
    part : SharedKernel
    limit : int
        Largest rank r.

    Returns
    -------
    list of ndarray, or None
        None if a column needs a larger rank.
    """
    residual = part.diagonals()  # diagonal of K - GᵀG, of shape (n_columns, m)
    tolerances = PIVOT_TOLERANCE * residual.sum(axis=1)
    largest = float(residual.max())
    count, m = residual.shape
    store = np.empty((count, min(8, limit), m))
    ranks = np.zeros(count, dtype=np.intp)
    live = np.arange(count)
    for rank in range(limit + 1):
        live = live[residual[live].sum(axis=1) > tolerances[live]]
        if not len(live):
            return [store[j, : ranks[j]] for j in range(count)]
        if rank == limit:
            break
        if rank == store.shape[1]:
            store = np.concatenate([store, np.empty_like(store)], axis=1)
        some = part if len(live) == count else part.take(live)
        pivots = residual[live].argmax(axis=1)
        rows = some.against(pivots)
        if rank:
            before = store[:, :rank] if len(live) == count else store[live, :rank]
            at = before[np.arange(len(live)), :, pivots]
            rows = rows - np.matmul(at[:, np.newaxis], before)[:, 0]
        rows /= np.sqrt(residual[live, pivots])[:, np.newaxis]
        left = residual[live] - rows**2
        left[np.arange(len(live)), pivots] = 0.0
        require_semidefinite(left.min(), largest)
        residual[live] = np.maximum(left, 0.0)
        store[live, rank] = rows
        ranks[live] += 1
    return None


#: Frobenius norm of what is left out, relative to the centred kernel matrix. An inner product of
#: two normalised matrices is therefore off by at most twice as much.
PRECISION = 5e-7
#: A centred kernel matrix this small, relative to the trace, belongs to a constant.
CONSTANT = 1e-12
#: Numbers in the kernel columns of one chunk of features: they and their factors stay in cache.
CHUNK = 2**14


@dataclass(frozen=True)
class FactorChunk:
    """Factors of some columns, one below the other."""

    columns: np.ndarray  # positions among all columns
    rows: np.ndarray  # V of shape (Σ r, m), with VᵀV normalised for each column
    starts: np.ndarray  # first row of each column

    @classmethod
    def of(
        cls, part: SharedKernel, limit: int, weight: np.ndarray | None = None
    ) -> FactorChunk | None:
        """None if a column needs a larger rank than the limit."""
        pivoted = pivoted_factors(part, limit)
        if pivoted is None:
            return None
        traces = part.diagonals().sum(axis=1)
        factors = [
            normalised_factor(each, weight, float(trace))
            for each, trace in zip(pivoted, traces, strict=True)
        ]
        starts = np.cumsum([0, *(len(factor) for factor in factors[:-1])])
        return cls(part.columns, np.concatenate(factors), starts)


class FactorDesign:
    """Inner products from factors."""

    target_square = 1.0

    def __init__(
        self, chunks: list[FactorChunk], target: np.ndarray, n_features: int, n_jobs: int | None
    ) -> None:
        self._chunks, self._n_jobs = chunks, n_jobs
        self.squares = np.empty(n_features)  # one, or zero for constants
        self.factors: dict[int, np.ndarray] = {}  # V of each column
        for chunk in chunks:
            self.squares[chunk.columns] = np.logical_or.reduceat(chunk.rows.any(1), chunk.starts)
            factors = np.split(chunk.rows, chunk.starts[1:])
            self.factors.update(zip(chunk.columns.tolist(), factors, strict=True))
        self.correlations = self._against([target])[0]

    def ahead(self, n_known: int) -> int:
        """One after the other at first: a guess costs as much as a column that is needed."""
        return 1 + n_known // 8

    def products(self, columns: np.ndarray) -> np.ndarray:
        """Inner products of these columns' matrices with all, of shape (len(columns), d)."""
        return self._against([self.factors[int(column)] for column in columns])

    def _against(self, factors: list[np.ndarray]) -> np.ndarray:
        """‖V₀Vᵀ‖², the inner product of V₀ᵀV₀ with the matrix of each column."""
        stacked = np.concatenate(factors)
        starts = np.cumsum([0, *(len(factor) for factor in factors[:-1])])

        def products(chunk: FactorChunk) -> np.ndarray:
            product = stacked @ chunk.rows.T
            np.square(product, out=product)
            return np.add.reduceat(np.add.reduceat(product, starts, axis=0), chunk.starts, axis=1)

        shape = len(factors), len(self.squares)
        return _each(products, self._chunks, shape, self._n_jobs)


def factor_design(
    parts: Sequence[SharedKernel], target: Sample, n_jobs: int | None = None
) -> FactorDesign | None:
    """Design from factors, or None if a column's kernel matrix has no small rank."""
    m, weight = target.n_samples, target.weight
    if target.is_narrow:
        psi = target.centred_coordinates().T
    else:
        psi = np.asarray(factor_to(target, PIVOT_TOLERANCE).factor, dtype=np.float64).T
    own = normalised_factor(psi, weight, m * float(np.average(target.diag(), weights=weight)))
    if not own.any():
        _refuse_constant("")
    # beyond this rank m r² operations for a pair of columns are more than m² entries cost
    limit = min(m, max(32, int(3 * np.sqrt(m))))
    some = [chunk for part in parts for chunk in part.chunks(max(1, CHUNK // m))]
    first = FactorChunk.of(some[0], limit, weight)
    if first is None:
        return None
    rest = map_threads(lambda part: FactorChunk.of(part, limit, weight), some[1:], n_jobs)
    chunks = [chunk for chunk in [first, *rest] if chunk is not None]
    if len(chunks) < len(some):
        return None
    return FactorDesign(chunks, own, _n_features(parts), n_jobs)


def normalised_factor(factor: np.ndarray, weight: np.ndarray | None, trace: float) -> np.ndarray:
    """Rows V with VᵀV ≈ K̄/‖K̄‖, K̄ = FᵀF centred, and as few as ``PRECISION`` allows.

    Rows that stand for w each have their columns of V times √w.

    Examples
    --------
    >>> V = normalised_factor(np.array([[2.0, -2.0], [1e-9, -1e-9]]), None, 8.0)
    >>> (V.T @ V).round(3)
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    counts = np.ones(factor.shape[1]) if weight is None else weight
    factor = (factor - (factor @ counts / counts.sum())[:, np.newaxis]) * np.sqrt(counts)
    values, vectors = np.linalg.eigh(factor @ factor.T)
    norm = float(np.sqrt(np.sum(values**2)))
    if norm <= CONSTANT * trace:
        return np.zeros((1, factor.shape[1]))
    left_out = np.sqrt(np.cumsum(values**2))  # if the smallest, the two smallest, … go
    kept = left_out > PRECISION * norm
    return (vectors[:, kept].T @ factor) / np.sqrt(norm)


# --- entries --------------------------------------------------------------------------------------

#: Rows of a tile's sides at most, and of a block that is one tile.
SIDE, SMALL = 32, 24
#: Kernel values of one tile and one chunk of columns: they stay in the cache.
CACHE = 2**17
#: Columns that a pass asks for at least: a pass costs hardly more for several than for one.
AHEAD = 24
#: A centred matrix this small, relative to the kernel itself, is a constant with rounding errors.
ROUNDING = 1e-13


@dataclass(frozen=True)
class Block:
    """Samples whose kernel matrices are centred and normalised on their own."""

    samples: np.ndarray  # their numbers
    counts: np.ndarray  # how many each stands for
    target: np.ndarray  # centred matrix of the target, of Frobenius norm one; zeros if constant

    @classmethod
    def of(cls, target: Sample, samples: np.ndarray) -> Block:
        """With the matrix of the target."""
        part = target.take(samples)
        counts = np.ones(len(samples)) if part.weight is None else part.weight
        gram, pairs = part.gram(), np.outer(counts, counts)
        raw = np.sqrt(np.vdot(pairs, gram**2))
        gram = gram - counts @ gram / counts.sum()
        gram -= (gram @ counts / counts.sum())[:, np.newaxis]
        norm = np.sqrt(np.vdot(pairs, gram**2))
        return cls(samples, counts, gram / norm if norm > ROUNDING * raw else np.zeros_like(gram))

    @cached_property
    def tiles(self) -> list[tuple[slice, slice, np.ndarray]]:
        """Runs of rows with themselves and with each later run, and the weights of these pairs."""
        runs = list(slices(len(self.samples), self.side(len(self.samples))))
        return [
            (left, right, (2.0 - (left == right)) * np.outer(self.counts[left], self.counts[right]))
            for place, left in enumerate(runs)
            for right in runs[place:]
        ]

    @staticmethod
    def side(size: int) -> int:
        """Rows of a tile's sides, of few rows a third: a run needs its pairs in both orders."""
        return size if size <= SMALL else min(SIDE, -(-size // 3))

    def values(self, part: SharedKernel, left: slice, right: slice) -> np.ndarray:
        """Kernel values of the pairs of a tile, of shape (n_left, n_right, n_columns).

        k(x, x) of the block's first sample is subtracted, which centring ignores: where a column
        hardly varies in a block, no digits are lost.
        """
        values = part.between(self.samples[left], self.samples[right])
        values -= part.diagonals(self.first)[:, 0]
        return values

    @property
    def first(self) -> slice:
        """The first sample."""
        return slice(self.samples[0], self.samples[0] + 1)

    def add_sums(self, values: np.ndarray, left: slice, right: slice, sums: np.ndarray) -> None:
        """Add what a tile contributes to the row sums of a matrix."""
        sums[left] += self.counts[right] @ values
        if left != right:
            sums[right] += np.tensordot(self.counts[left], values, 1)

    def measured(self, part: SharedKernel) -> tuple[np.ndarray, np.ndarray]:
        """1/‖HKH‖ of each column, 0 for constants, and its inner product with the target."""
        count, total = len(part.columns), float(self.counts.sum())
        sums, squares, cross = (
            np.zeros((len(self.samples), count)),
            np.zeros(count),
            np.zeros(count),
        )
        for left, right, pairs in self.tiles:
            values = self.values(part, left, right)
            self.add_sums(values, left, right, sums)
            values = values.reshape(-1, count)
            cross += (pairs * self.target[left, right]).ravel() @ values
            squares += np.einsum("i,ij,ij->j", pairs.ravel(), values, values)
        # ‖HKH‖² from ‖K‖², the row sums and their total
        norms = squares - 2.0 / total * (self.counts @ sums**2) + (self.counts @ sums / total) ** 2
        least = (ROUNDING * total * part.diagonals(self.first)[:, 0]) ** 2
        varies = norms > np.maximum(least, ROUNDING * squares)
        scales = np.where(varies, 1.0 / np.sqrt(np.where(varies, norms, 1.0)), 0.0)
        return scales, cross * scales

    def centred(self, parts: Sequence[SharedKernel]) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Entries of HKH times the weights of the pairs, tile by tile: (n_pairs, n_columns)."""

        def values_of(left: slice, right: slice) -> np.ndarray:
            return np.concatenate([self.values(part, left, right) for part in parts], axis=2)

        means = np.zeros((len(self.samples), _n_features(parts)))
        for left, right, _ in self.tiles:
            values = values_of(left, right)
            self.add_sums(values, left, right, means)
        means /= self.counts.sum()
        mean = self.counts @ means / self.counts.sum()
        for left, right, pairs in self.tiles:
            values = values if len(self.tiles) == 1 else values_of(left, right)
            values -= means[left, np.newaxis] + (means[right] - mean)
            values *= pairs[:, :, np.newaxis]
            yield left, right, values.reshape(-1, len(mean))


class TileDesign:
    """Inner products entry by entry, as means over blocks of samples.

    Parameters
    ----------
    parts : sequence of SharedKernel
    target : Sample
    blocks : sequence of ndarray
        The samples of each block.
    n_jobs : int, optional
        Threads, each of which takes chunks of columns.
    """

    def __init__(
        self,
        parts: Sequence[SharedKernel],
        target: Sample,
        blocks: Sequence[np.ndarray],
        n_jobs: int | None = None,
    ) -> None:
        self._parts, self._n_jobs = parts, n_jobs
        size = max(1, CACHE // Block.side(max(map(len, blocks))) ** 2)
        self._chunks = [chunk for part in parts for chunk in part.chunks(size)]
        self._blocks = [Block.of(target, samples) for samples in blocks]
        self.target_square = float(np.mean([block.target.any() for block in self._blocks]))
        if self.target_square == 0.0:
            _refuse_constant(", in every block")
        shape = 2, len(blocks), _n_features(parts)
        found = _each(self._measured, self._chunks, shape, n_jobs)
        self._scales = found[0]  # 1/‖HKH‖, 0 for constants
        self.correlations = found[1].mean(axis=0)
        self.squares = (self._scales > 0.0).mean(axis=0)

    def _measured(self, chunk: SharedKernel) -> np.ndarray:
        each = [block.measured(chunk) for block in self._blocks]
        return np.array(each).transpose(1, 0, 2)

    def ahead(self, n_known: int) -> int:
        """As many as are known already, so that there are few passes over the data."""
        return max(AHEAD, n_known)

    def products(self, columns: np.ndarray) -> np.ndarray:
        """Inner products of these columns' matrices with all, of shape (len(columns), d)."""
        requested = [
            part.take(np.flatnonzero(inside))
            for part in self._parts
            if (inside := np.isin(part.columns, columns)).any()
        ]
        found = np.concatenate([part.columns for part in requested])

        def one_chunk(chunk: SharedKernel) -> np.ndarray:
            total = np.zeros((len(found), len(chunk.columns)))
            for block, scales in zip(self._blocks, self._scales, strict=True):
                cross = np.zeros_like(total)
                for left, right, entries in block.centred(requested):
                    values = block.values(chunk, left, right)
                    cross += entries.T @ values.reshape(len(entries), -1)
                total += cross * scales[found, np.newaxis] * scales[chunk.columns]
            return total / len(self._blocks)

        shape = len(found), self._scales.shape[1]
        products = _each(one_chunk, self._chunks, shape, self._n_jobs)
        order = np.argsort(found)
        return products[order[np.searchsorted(found[order], columns)]]


#: Columns φ_j and a target ψ, known by inner products only: ``correlations`` <φ_j, ψ>,
#: ``squares`` <φ_j, φ_j>, ``target_square`` <ψ, ψ>, and ``products`` of some columns with all.
Design = FactorDesign | TileDesign
