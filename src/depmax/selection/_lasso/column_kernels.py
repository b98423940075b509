"""One kernel matrix per column: standardised numbers under one kernel, categories under Delta.

Matrices of many samples are kept by their factors, K̄ = VᵀV with few rows, linear in m. A smooth
kernel of one number has a fast falling spectrum, whatever the number of samples: at the precision
kept here, some 15 eigenvectors for normal columns and a standard Gaussian kernel, one for a column
of two values. A pair of columns then costs m r² operations instead of m².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from depmax._threads import map_threads
from depmax.data.columns import Categories
from depmax.data.sample import Sample, require_semidefinite
from depmax.kernels import Delta
from depmax.kernels._parts import Choose
from depmax.kernels.kernel import Kernel
from depmax.maps.incomplete_cholesky import factor_to

#: A column whose standard deviation is below so many roundings of its largest value is constant.
NOISE = 16


@dataclass(frozen=True)
class KernelColumns:
    """Columns that share a kernel, or a single column with a kernel of its own."""

    columns: np.ndarray  # positions among all columns
    values: np.ndarray  # of shape (n_samples, len(columns)), as the kernel reads them
    kernel: Kernel  # resolved
    invariant: bool  # k(x, z) is a function of x - z: many columns in one call

    def take(self, positions: np.ndarray | slice) -> KernelColumns:
        """Some of the columns, by position in this part."""
        values = np.ascontiguousarray(self.values[:, positions])
        return KernelColumns(self.columns[positions], values, self.kernel, self.invariant)

    def chunks(self, size: int) -> list[KernelColumns]:
        """Parts of at most ``size`` columns."""
        starts = range(0, len(self.columns), size)
        return [self.take(slice(start, start + size)) for start in starts]

    def of_differences(self, differences: np.ndarray) -> np.ndarray:
        """Kernel as a function of x - z, of the same shape, if the part is invariant.

        The differences are overwritten.
        """
        if self.kernel.capabilities.radial:
            return self.kernel.of_squares(np.square(differences, out=differences))
        values = self.kernel(differences.reshape(-1, 1), np.zeros((1, 1)))
        return values.reshape(differences.shape)

    def diag(self, row: int) -> np.ndarray:
        """k(x, x) of one row, a value per column."""
        if self.invariant:
            return self.of_differences(np.zeros(len(self.columns)))
        return self.kernel.diag(self.values[[row]]).astype(np.float64, copy=False)

    def against(self, pivots: np.ndarray) -> np.ndarray:
        """k(x_i, x_p) of all rows i, with one pivot p per column: shape (len(columns), m)."""
        if self.invariant:
            at = self.values[pivots, np.arange(len(self.columns))]
            return self.of_differences(self.values.T - at[:, np.newaxis])
        return self.kernel(self.values[pivots], self.values).astype(np.float64, copy=False)

    def diagonals(self) -> np.ndarray:
        """k(x, x) of all rows, of shape (len(columns), m)."""
        if self.invariant:
            m = self.values.shape[0]
            return np.repeat(self.diag(0)[:, np.newaxis], m, axis=1)
        return self.kernel.diag(self.values).astype(np.float64)[np.newaxis, :]


@dataclass(frozen=True)
class ColumnKernels:
    """A kernel for each of n_features columns, over the same rows."""

    parts: tuple[KernelColumns, ...]
    n_samples: int
    n_features: int
    weight: np.ndarray | None = None  # how many rows each stands for

    def take(self, columns: np.ndarray) -> tuple[KernelColumns, ...]:
        """Parts that hold these columns only; their ``columns`` are positions in the selection."""
        position = np.full(self.n_features, -1)
        position[columns] = np.arange(len(columns))
        chosen = []
        for part in self.parts:
            inside = np.flatnonzero(position[part.columns] >= 0)
            if len(inside):
                some = part.take(inside)
                chosen.append(
                    KernelColumns(position[some.columns], some.values, some.kernel, part.invariant)
                )
        return tuple(chosen)


def column_kernels(
    X: np.ndarray,
    categories: Categories,
    recipe: Kernel,
    choose: Choose | None = None,
    weight: np.ndarray | None = None,
) -> ColumnKernels:
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
    >>> column_kernels(np.array([[1.0, 5.0], [3.0, 5.0]]), {}, Gaussian(1.0)).parts[0].values
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    m, d = X.shape
    named = np.array(sorted(categories), dtype=np.intp)
    numeric = np.setdiff1d(np.arange(d), named)
    parts: list[KernelColumns] = []
    if len(numeric):
        parts += _numeric_parts(
            numeric, standardised(X[:, numeric], weight), recipe, choose, weight
        )
    if len(named):
        codes = X[:, named].astype(np.float64)
        parts.append(KernelColumns(named, codes, Delta(), invariant=True))  # codes are equal or not
    return ColumnKernels(tuple(parts), m, d, weight)


def _numeric_parts(
    columns: np.ndarray,
    values: np.ndarray,
    recipe: Kernel,
    choose: Choose | None,
    weight: np.ndarray | None,
) -> list[KernelColumns]:
    invariant = recipe.capabilities.stationary
    if invariant and recipe.is_resolved:
        return [KernelColumns(columns, values, recipe, True)]
    resolved = [recipe.resolve(values[:, [j]], choose, weight) for j in range(len(columns))]
    if invariant and "bandwidth" in recipe.get_params(deep=False):
        # A bandwidth is a length scale: dividing the column by it is the same, up to a factor
        # that the normalisation of each kernel matrix removes.
        widths = np.array([_bandwidth(kernel) for kernel in resolved])
        unit = clone(recipe).set_params(bandwidth=1.0)
        return [KernelColumns(columns, values / widths, unit, True)]
    return [
        KernelColumns(columns[[j]], values[:, [j]], kernel, False)
        for j, kernel in enumerate(resolved)
    ]


def _bandwidth(kernel: Any) -> float:
    return kernel._width()


def standardised(X: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Columns in float64 with mean 0 and standard deviation 1; constants become 0.

    A row counts as often as its weight says.

    Examples
    --------
    >>> standardised(np.array([[0.0, 1e300], [2.0, -1e300]]))
    array([[-1.,  1.],
           [ 1., -1.]])
    """
    values = X.astype(np.float64)
    largest = np.abs(values).max(axis=0)
    values /= np.where(largest > 0, largest, 1.0)  # so that no square overflows
    values -= np.average(values, axis=0, weights=weight)
    spread = np.sqrt(np.average(values**2, axis=0, weights=weight))
    constant = spread <= NOISE * np.finfo(X.dtype).eps
    values /= np.where(constant, 1.0, spread)
    values[:, constant] = 0.0
    return values


#: Trace of K - GGᵀ, relative to that of K, at which pivots suffice.
PIVOT_TOLERANCE = 1e-11


def pivoted_factors(part: KernelColumns, limit: int) -> list[np.ndarray] | None:
    """Factors G of shape (r, m) with GᵀG ≈ K, for every column of a part.

    Each step takes, in every column that needs one, the sample that the pivots so far explain
    worst. Steps of all columns are made together.

    Parameters
    ----------
    part : KernelColumns
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


def rank_limit(n_samples: int) -> int:
    """Rank beyond which m r² operations for a pair of columns are more than m² entries cost."""
    return min(n_samples, max(32, int(3 * np.sqrt(n_samples))))


@dataclass(frozen=True)
class FactorChunk:
    """Factors of some columns, one below the other."""

    columns: np.ndarray  # positions among all columns
    rows: np.ndarray  # V of shape (Σ r, m), with VᵀV normalised for each column
    starts: np.ndarray  # first row of each column

    def factor(self, position: int) -> np.ndarray:
        """V of one column, by position in this chunk."""
        ends = [*self.starts[1:], len(self.rows)]
        return self.rows[self.starts[position] : ends[position]]

    def against(self, factors: list[np.ndarray]) -> np.ndarray:
        """Inner products of every V₀ᵀV₀ with the matrix of each column: ‖V₀Vᵀ‖²."""
        product = np.concatenate(factors) @ self.rows.T
        np.square(product, out=product)
        ends = np.cumsum([0, *(len(factor) for factor in factors[:-1])])
        return np.add.reduceat(np.add.reduceat(product, ends, axis=0), self.starts, axis=1)


class FactorDesign:
    """Inner products of centred, normalised kernel matrices from their factors."""

    target_square = 1.0

    def __init__(
        self, chunks: list[FactorChunk], target: np.ndarray, n_features: int, n_jobs: int | None
    ) -> None:
        self._chunks = chunks
        self._n_features = n_features
        self._n_jobs = n_jobs
        self._home = {  # where the factor of each column is
            int(column): (chunk, position)
            for chunk in chunks
            for position, column in enumerate(chunk.columns)
        }
        self.correlations = self._against([target])[0]
        self.squares = np.empty(n_features)  # one, or zero for constants
        for chunk in chunks:
            self.squares[chunk.columns] = np.logical_or.reduceat(chunk.rows.any(1), chunk.starts)

    @property
    def n_rows(self) -> int:
        """Rows of all factors together: the sum of the ranks."""
        return sum(len(chunk.rows) for chunk in self._chunks)

    def ahead(self, n_known: int) -> int:
        """One after the other at first: a guess costs as much as a column that is needed."""
        return 1 + n_known // 8

    def products(self, columns: np.ndarray) -> np.ndarray:
        """Inner products of these columns' matrices with all, of shape (len(columns), d)."""
        homes = [self._home[int(column)] for column in columns]
        return self._against([chunk.factor(position) for chunk, position in homes])

    def _against(self, factors: list[np.ndarray]) -> np.ndarray:
        values = np.empty((len(factors), self._n_features))
        found = map_threads(lambda chunk: chunk.against(factors), self._chunks, self._n_jobs)
        for chunk, products in zip(self._chunks, found, strict=True):
            values[:, chunk.columns] = products
        return values


def factor_design(
    columns: ColumnKernels, target: Sample, n_jobs: int | None = None
) -> FactorDesign | None:
    """Design from factors, or None if a column's kernel matrix has no small rank."""
    psi = target_factor(target)
    m, weight = columns.n_samples, columns.weight
    parts = [chunk for part in columns.parts for chunk in part.chunks(max(1, CHUNK // m))]
    first = _factor_chunk(parts[0], rank_limit(m), weight)
    if first is None:
        return None
    rest = map_threads(lambda part: _factor_chunk(part, rank_limit(m), weight), parts[1:], n_jobs)
    chunks = [chunk for chunk in [first, *rest] if chunk is not None]
    if len(chunks) < len(parts):
        return None
    return FactorDesign(chunks, psi, columns.n_features, n_jobs)


def target_factor(target: Sample) -> np.ndarray:
    """Ψ of shape (r, m) with ΨᵀΨ the centred target matrix of Frobenius norm one."""
    if target.is_narrow:
        psi = target.centred_coordinates()
    else:
        psi = np.asarray(factor_to(target, PIVOT_TOLERANCE).factor, dtype=np.float64)
    trace = target.n_samples * float(np.average(target.diag(), weights=target.weight))
    factor = normalised_factor(_counted(psi.T, target.weight), trace)
    if not factor.any():
        raise ValueError(
            "y is constant as its kernel sees it: nothing can depend on it. Check y, or pass "
            "another target_kernel."
        )
    return factor


def normalised_factor(factor: np.ndarray, trace: float) -> np.ndarray:
    """Rows V with VᵀV ≈ FᵀF / ‖FᵀF‖ and as few as ``PRECISION`` allows; F has centred rows.

    Examples
    --------
    >>> V = normalised_factor(np.array([[2.0, -2.0], [1e-9, -1e-9]]), 8.0)
    >>> (V.T @ V).round(3)
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    values, vectors = np.linalg.eigh(factor @ factor.T)
    norm = float(np.sqrt(np.sum(values**2)))
    if norm <= CONSTANT * trace:
        return np.zeros((1, factor.shape[1]))
    left_out = np.sqrt(np.cumsum(values**2))  # if the smallest, the two smallest, … go
    kept = left_out > PRECISION * norm
    return (vectors[:, kept].T @ factor) / np.sqrt(norm)


def _counted(factor: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """A factor of shape (r, m), centred; with weights w, its columns times √w."""
    if weight is None:
        return factor - factor.mean(axis=1, keepdims=True)
    return (factor - (factor @ weight / weight.sum())[:, np.newaxis]) * np.sqrt(weight)


def _factor_chunk(part: KernelColumns, limit: int, weight: np.ndarray | None) -> FactorChunk | None:
    pivoted = pivoted_factors(part, limit)
    if pivoted is None:
        return None
    traces = part.diagonals().sum(axis=1)
    factors = []
    for factor, trace in zip(pivoted, traces, strict=True):
        factors.append(normalised_factor(_counted(factor, weight), float(trace)))
    sizes = [len(factor) for factor in factors]
    return FactorChunk(part.columns, np.concatenate(factors), np.cumsum([0, *sizes[:-1]]))
