"""Unbiased HSIC of many permutations at once, by three routes with one answer each.

A permutation changes two of its terms, tr(K̃ L̃_π) and 1ᵀK̃ L̃_π 1. Where rows are not independent, the
orders come from a plan of exchange, and may repeat rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from scipy import fft

from depmax._threads import map_threads, slices
from depmax.data.checks import require_finite_values
from depmax.data.sample import Sample
from depmax.dependence._nulls.law import u_centred
from depmax.dependence.exchange import Plan
from depmax.maps.incomplete_cholesky import factor_to

#: Up to so many rows orbits are summed in float64; beyond, in float32 with half the memory.
DOUBLE_ROWS = 2048
#: Ties: standard deviations that two equal values may differ by, in float64 and in float32.
SLACK, SINGLE_SLACK = 1e-10, 1e-5
#: From so many rows on a narrow side is streamed against tiles instead of storing matrices.
STREAM_ROWS = 8192
#: Diagonals per Fourier transform, and rows per strip of a streamed Gram matrix.
BATCH = 128
#: Kernel values on the diagonals of one band, of all kernels together: a quarter of a gigabyte.
BAND_VALUES = 2**25
#: Up to so many rows several kernels are permuted one order after another, without orbits.
FEW_ROWS = 48
#: Permutations of one chunk; an orbit of shifts has as many as there are rows.
CHUNK = 999
#: Orders of a plan: part of the trace of y's kernel that its coordinates may leave out, and their
#: number from which kernel values are gathered instead.
FACTOR_TOL, GATHER_FROM = 1e-4, 40
#: Rows per block of a Gram matrix that is cut into diagonals: the block stays in the cache.
BLOCK = 32


def permuted_statistics(
    x: Sample,
    y: Sample,
    n_permutations: int,
    rng: np.random.Generator,
    n_jobs: int = 1,
    plan: Plan | None = None,
) -> tuple[float, np.ndarray]:
    """HSIC₁ as observed and for ``n_permutations`` random permutations of one side.

    With a plan the rows are those that take part in it, and y is reordered by it.
    """
    if plan is not None:
        return _of_plan(x, y, plan.orders(n_permutations, rng))
    if x.is_narrow and y.is_narrow:
        return _of_coordinates(x, y, n_permutations, rng)
    if x.n_samples > STREAM_ROWS and (x.is_narrow or y.is_narrow):
        gram, narrow = (x, y) if y.is_narrow else (y, x)
        return _of_stream(_measured(gram), _measured(narrow), n_permutations, rng)
    table = permuted_table([x], [y], n_permutations, rng, n_jobs, with_grams=False)
    values = table.values[:, 0, 0] / (x.n_samples * (x.n_samples - 3))
    return float(values[0]), values[1:]


def permutation_chunks(x: Sample, y: Sample, plan: Plan | None = None) -> Iterator[np.ndarray]:
    """HSIC₁ of ever more random permutations of one side, with a fixed seed."""
    rng = np.random.default_rng(0)
    while True:
        yield permuted_statistics(x, y, CHUNK, rng, plan=plan)[1]


def _assemble(
    inner: np.ndarray, middle: np.ndarray, outer: float | np.ndarray, m: int
) -> np.ndarray:
    """HSIC₁ from tr K̃L̃_π, 1ᵀK̃L̃_π1 and the product of totals, which no permutation changes."""
    return (inner - 2.0 * middle / (m - 2) + outer / ((m - 1) * (m - 2))) / (m * (m - 3))


def random_orders(n_samples: int, count: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """The identity, then ``count`` random permutations: the only source of random orders here."""
    yield np.arange(n_samples)
    for _ in range(count):
        yield rng.permutation(n_samples)


# --- both sides have coordinates: ‖ΦᵀΨ_π‖², a batch of permutations as one product
def _of_coordinates(
    x: Sample, y: Sample, n_permutations: int, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    phi, psi = x.centred_coordinates(), y.centred_coordinates()
    squares_x = np.einsum("ij,ij->i", phi, phi)
    squares_y = np.einsum("ij,ij->i", psi, psi)
    inner, middle = np.empty(n_permutations + 1), np.empty(n_permutations + 1)
    width = psi.shape[1]
    batch = max(1, int(2**22 / (phi.shape[0] * width)))
    stacked: list[np.ndarray] = []
    done = 0
    for number, order in enumerate(random_orders(len(phi), n_permutations, rng)):
        stacked.append(psi[order])
        middle[number] = squares_x @ squares_y[order]
        if len(stacked) == batch or number == n_permutations:
            cross = phi.T @ np.concatenate(stacked, axis=1)
            norms = np.einsum("ij,ij->j", cross, cross).reshape(-1, width).sum(axis=1)
            inner[done : done + len(stacked)] = norms
            done, stacked = done + len(stacked), []
    values = _assemble(inner - middle, middle, squares_x.sum() * squares_y.sum(), len(phi))
    return float(values[0]), values[1:]


# --- one side has coordinates: Σ ψ_πᵀ K̃ ψ_π, blocks of K̃ against all permutations
def _of_stream(
    gram: Sample, narrow: Sample, n_permutations: int, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    psi = narrow.centred_coordinates()
    m, width = psi.shape
    squares = np.einsum("ij,ij->i", psi, psi)
    inner, middle = np.zeros(n_permutations + 1), np.zeros(n_permutations + 1)
    total = 0.0
    orders = random_orders(m, n_permutations, rng)
    batch = max(1, int(2**28 / (8 * m * width)))  # permutations of Ψ in a quarter of a gigabyte
    for part in slices(n_permutations + 1, batch):
        chosen = list(islice(orders, part.stop - part.start))
        stacked = np.concatenate([psi[order] for order in chosen], axis=1)
        for rows in slices(m, BATCH):
            block = gram.tile(rows, slice(None))
            block[np.arange(len(block)), np.arange(rows.start, rows.stop)] = 0.0
            products = np.einsum("ij,ij->j", block @ stacked, stacked[rows])
            inner[part] += products.reshape(-1, width).sum(axis=1)
            sums = block.sum(axis=1)
            total += sums.sum() if part.start == 0 else 0.0
            middle[part] -= [sums @ squares[order[rows]] for order in chosen]
    values = _assemble(inner, middle, -total * squares.sum(), m)  # L̃1 = -‖ψ_i‖²
    return float(values[0]), values[1:]


# --- Gram matrices of any kernels: orbits of cyclic shifts, one Fourier transform per diagonal
@dataclass(frozen=True)
class PermutedTable:
    """ΣÃB̃_π = m(m-3) HSIC₁ of every kernel of x with every kernel of y, permuted alike."""

    values: np.ndarray  # as observed, then permuted; shape (1 + n_permutations, n_x, n_y)
    gram_x: np.ndarray  # ⟨Ã_k, Ã_l⟩ of the kernels of x, which no permutation changes, if asked for
    gram_y: np.ndarray  # the same of y, once, or for every order if rows are repeated: 3 axes


def permuted_table(
    xs: Sequence[Sample],
    ys: Sequence[Sample],
    n_permutations: int,
    rng: np.random.Generator,
    n_jobs: int = 1,
    *,
    with_grams: bool = True,
    plan: Plan | None = None,
) -> PermutedTable:
    """HSIC₁ of several kernels on the same rows, observed and under the same permutations.

    All cyclic shifts of a random relabelling, then of random cosets of that group: Σ_ij K_ij
    L_{i+s,j+s} for every shift s is a circular correlation along the diagonals of K and L, so m
    permutations cost O(m² log m) together. The shifts form a group, and the cosets make the set
    of permutations invariant under its own elements: a test stays exact. Diagonals are made a
    band at a time, so that memory stays linear in the rows. With a plan, y is reordered by it and
    whole matrices are held.
    """
    xs, ys = [_measured(x) for x in xs], [_measured(y) for y in ys]
    m = xs[0].n_samples
    if plan is not None:
        orders = np.concatenate([np.arange(m)[np.newaxis], plan.orders(n_permutations, rng)])
        repeats_rows = (np.sort(orders, axis=1) != np.arange(m)).any()
        return (_table_of_plan if repeats_rows else _table_of_orders)(xs, ys, orders)
    if m <= FEW_ROWS and with_grams:
        return _table_of_orders(xs, ys, random_orders(m, n_permutations, rng))
    n_orbits = -(-(n_permutations + 1) // m)
    labels = list(islice(random_orders(m, n_orbits, rng), 1, None))
    relabelled = [x.take(labels[0]) for x in xs]
    of_x, of_y = _OwnSums.empty(m, len(xs)), [_OwnSums.empty(m, len(ys)) for _ in labels]
    spectra = np.zeros((n_orbits, len(xs), len(ys), m // 2 + 1), dtype=np.complex128)
    for band in slices(m // 2, max(BLOCK, BAND_VALUES // (m * (len(xs) + len(ys))))):
        weights = np.full(band.stop - band.start, 2.0)  # of (i, i+d) and (i+d, i)
        if m % 2 == 0 and band.stop == m // 2:
            weights[-1] = 1.0  # the diagonal m/2 meets itself
        left = [circular_diagonals(x, n_jobs, band) for x in relabelled]
        of_x.add(left, weights if with_grams else None)
        for number, order in enumerate(labels):
            right = [circular_diagonals(y.take(order), n_jobs, band) for y in ys]
            of_y[number].add(right, weights if with_grams and number == 0 else None)
            _correlate(spectra[number], left, right, weights, n_jobs)
    orbits = [_statistics(each, of_x, rows) for each, rows in zip(spectra, of_y, strict=True)]
    values = np.concatenate(orbits, axis=-1)
    chosen = rng.choice(np.arange(1, values.shape[-1]), n_permutations, replace=False)
    values = np.moveaxis(values[..., np.append(0, chosen)], -1, 0)
    return PermutedTable(values, of_x.gram(), of_y[0].gram()[np.newaxis])


def _table_of_orders(
    xs: Sequence[Sample], ys: Sequence[Sample], orders: Iterable[np.ndarray]
) -> PermutedTable:
    """The same for any permutations, from all pairs of rows of the U-centred matrices."""
    m = xs[0].n_samples
    first, second = np.triu_indices(m, 1)
    of_x = np.stack([u_centred(x.gram())[first, second] for x in xs])  # (n_x, pairs)
    of_y = np.stack([u_centred(y.gram()).ravel() for y in ys], axis=1)  # (m², n_y)
    values = [2.0 * of_x @ of_y[order[first] * m + order[second]] for order in orders]
    pairs_y = of_y[first * m + second]
    gram_y = 2.0 * pairs_y.T @ pairs_y
    return PermutedTable(np.array(values), 2.0 * of_x @ of_x.T, gram_y[np.newaxis])


def _table_of_plan(xs: Sequence[Sample], ys: Sequence[Sample], orders: np.ndarray) -> PermutedTable:
    """The same for orders that may repeat rows: every one is centred and measured anew."""
    first, second = np.triu_indices(xs[0].n_samples, 1)
    of_x = np.stack([u_centred(x.gram())[first, second] for x in xs])  # (n_x, pairs)
    grams = [y.gram() for y in ys]
    values, grams_y = [], []
    for order in orders:
        of_y = np.stack([u_centred(gram[order][:, order])[first, second] for gram in grams])
        values.append(2.0 * of_x @ of_y.T)
        grams_y.append(2.0 * of_y @ of_y.T)
    return PermutedTable(np.array(values), 2.0 * of_x @ of_x.T, np.array(grams_y))


# --- orders of a plan, which may repeat rows: coordinates of y, or its values gathered
def _of_plan(x: Sample, y: Sample, orders: np.ndarray) -> tuple[float, np.ndarray]:
    """HSIC₁ as observed and for the orders of a plan."""
    every = np.concatenate([np.arange(y.n_samples)[np.newaxis], orders])
    x, y = _measured(x), _measured(y)
    psi = y.centred_coordinates() if y.is_narrow else np.asarray(factor_to(y, FACTOR_TOL).factor)
    if psi.shape[1] > GATHER_FROM and y.n_samples <= STREAM_ROWS:
        values = _of_gathered(x, y.gram(), every)
    else:
        values = _of_coordinates_in_orders(x, psi, every)
    return float(values[0]), values[1:]


def _of_coordinates_in_orders(x: Sample, psi: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """HSIC₁ of blocks of K̃ against coordinates Ψ of y in every order, centred anew."""
    m, width = psi.shape
    result = np.empty(len(orders))
    batch = max(1, int(2**26 / (8 * m * width)))
    for part in slices(len(orders), batch):
        moved = psi[orders[part]]  # shape (n_orders, m, width)
        moved -= moved.mean(axis=1, keepdims=True)
        squares = np.einsum("kij,kij->ki", moved, moved)
        stacked = np.ascontiguousarray(moved.transpose(1, 0, 2)).reshape(m, -1)
        inner, middle, total = np.zeros(len(squares)), np.zeros(len(squares)), 0.0
        for rows in slices(m, BATCH):
            block = np.array(x.tile(rows, slice(None)), dtype=np.float64)
            block[np.arange(len(block)), np.arange(rows.start, rows.stop)] = 0.0
            products = np.einsum("ij,ij->j", block @ stacked, stacked[rows])
            inner += products.reshape(-1, width).sum(axis=1)
            sums = block.sum(axis=1)
            total += float(sums.sum())
            middle -= squares[:, rows] @ sums  # L̃1 = -‖ψ_i‖²
        outer = -total * squares.sum(axis=1)
        result[part] = _assemble(inner, middle, outer, m)
    return result


def _of_gathered(x: Sample, gram: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """HSIC₁ of two Gram matrices, that of y gathered in every order."""
    m = len(gram)
    left = x.gram()
    diagonal, every = np.diag(gram), np.arange(m)
    left[every, every] = 0.0
    sums = left.sum(axis=1)
    result = np.empty(len(orders))
    for number, order in enumerate(orders):
        right = gram[order][:, order]
        of_right = right.sum(axis=1) - diagonal[order]
        inner = np.array(np.vdot(left, right))
        middle, outer = np.array(sums @ of_right), float(sums.sum() * of_right.sum())
        result[number] = _assemble(inner, middle, outer, m)
    return result


def _measured(side: Sample) -> Sample:
    """The same sample measured from where its sums do not cancel."""
    if side.n_samples <= DOUBLE_ROWS:
        return side.near_origin()
    return side.about_mean()  # in float32 nothing may cancel


#: Diagonals of a Gram matrix, shape (n_diagonals, m), and their part of its row sums.
Diagonals = tuple[np.ndarray, np.ndarray]


@dataclass
class _OwnSums:
    """Sums over the Gram matrices of one side, without their diagonals."""

    inner: np.ndarray  # Σ K_ij K'_ij of every two kernels
    rows: np.ndarray  # row sums of every kernel, shape (n_kernels, m)

    @classmethod
    def empty(cls, m: int, n_kernels: int) -> _OwnSums:
        """Nothing yet, of m rows."""
        return cls(np.zeros((n_kernels, n_kernels)), np.zeros((n_kernels, m)))

    def add(self, bands: list[Diagonals], weights: np.ndarray | None) -> None:
        """Add one band of diagonals of every kernel; without weights to the row sums only."""
        self.rows += [sums for _, sums in bands]
        if weights is None:
            return
        for part in slices(len(weights), BATCH):
            stacked = np.stack([diagonals[part] for diagonals, _ in bands], axis=1)
            products = np.matmul(stacked, stacked.mT)  # of every diagonal: (n_kernels, n_kernels)
            self.inner += np.tensordot(weights[part], products, axes=1)

    def gram(self) -> np.ndarray:
        """⟨Ã_k, Ã_l⟩ of the U-centred kernel matrices."""
        m, totals = self.rows.shape[1], self.rows.sum(axis=1)
        outer = np.outer(totals, totals)
        return m * (m - 3) * _assemble(self.inner, self.rows @ self.rows.T, outer, m)


def _correlate(
    spectra: np.ndarray,
    left: list[Diagonals],
    right: list[Diagonals],
    weights: np.ndarray,
    n_jobs: int,
) -> None:
    """Add Σ_{i≠j} K_ij L_{i+s,j+s} over one band to its spectrum, for every pair of kernels.

    At every frequency it is one product of the kernels of x with those of y, over the diagonals.
    """
    for batch in slices(len(weights), BATCH):
        of_x = _spectra(left, batch, n_jobs).conj()  # shape (n_frequencies, n_x, n_diagonals)
        of_x *= weights[batch].astype(of_x.real.dtype)
        products = np.matmul(of_x, _spectra(right, batch, n_jobs).mT)
        spectra += np.moveaxis(products, 0, -1)


def _spectra(bands: list[Diagonals], batch: slice, n_jobs: int) -> np.ndarray:
    """Fourier transforms of some diagonals of every kernel: (frequencies, kernels, diagonals)."""
    found = [fft.rfft(diagonals[batch], axis=1, workers=n_jobs).T for diagonals, _ in bands]
    return np.ascontiguousarray(np.stack(found, axis=1))


def _statistics(spectra: np.ndarray, of_x: _OwnSums, of_y: _OwnSums) -> np.ndarray:
    """m(m-3) HSIC₁ of every pair of kernels and every shift, shape (n_x, n_y, m)."""
    m = of_x.rows.shape[1]
    rows_x, rows_y = np.conj(fft.rfft(of_x.rows)), fft.rfft(of_y.rows)
    middle = fft.irfft(rows_x[:, np.newaxis] * rows_y, n=m)
    outer = np.outer(of_x.rows.sum(axis=1), of_y.rows.sum(axis=1))[..., np.newaxis]
    return m * (m - 3) * _assemble(fft.irfft(spectra, n=m), middle, outer, m)


def circular_diagonals(side: Sample, n_jobs: int = 1, band: slice | None = None) -> Diagonals:
    """Diagonals d = 1..⌊m/2⌋ of the Gram matrix, K[i, i + d mod m], and its row sums less K_ii.

    These diagonals hold every pair of rows once (twice for d = m/2), so each kernel value is
    computed once. With a ``band``, only diagonals 1 + start to stop, and their part of the sums.
    """
    m = side.n_samples
    half = m // 2
    band = band or slice(0, half)
    first, width = band.start, band.stop - band.start
    diagonals = np.empty((width, m), dtype=np.float64 if m <= DOUBLE_ROWS else np.float32)
    twice = side.take(np.arange(m + half + BLOCK) % m)  # the columns after i, without wrapping

    def work(rows: slice) -> tuple[slice, np.ndarray, np.ndarray]:
        count = rows.stop - rows.start
        block = twice.tile(rows, slice(rows.start + first + 1, rows.stop + band.stop))
        step, item = block.strides
        # view[r, d - 1] = K[i, i + first + d], i = start + r: each row begins one entry further on
        view = np.lib.stride_tricks.as_strided(
            block, (count, width), (step + item, item), writeable=False
        )
        diagonals[:, rows] = view.T
        sums = view.sum(axis=1)
        # entries of the block that belong to no diagonal 1..width of its rows: two corners
        before = np.tri(count, count - 1, -1, dtype=bool)
        block[:, : count - 1][before] = 0.0
        block[:, width:][~before] = 0.0
        if m % 2 == 0 and band.stop == half:  # pairs of the diagonal m/2 come up from both ends
            block[np.arange(count), np.arange(count) + width - 1] = 0.0
        return rows, sums, block.sum(axis=0)

    sums = np.zeros(m + half + BLOCK)
    for rows, of_rows, of_columns in map_threads(work, list(slices(m, BLOCK)), n_jobs):
        sums[rows] += of_rows
        sums[rows.start + first + 1 : rows.stop + band.stop] += of_columns
    sums[: half + BLOCK] += sums[m:]
    return diagonals, sums[:m]


def slack_of(x: Sample, y: Sample) -> float:
    """Standard deviations within which two permuted values are ties, but for rounding."""
    double = x.n_samples <= DOUBLE_ROWS or (x.is_narrow and y.is_narrow)
    return SLACK if double else SINGLE_SLACK


def count_at_least(observed: float, permuted: np.ndarray, slack: float) -> int:
    """How many permuted values reach the observed one, ties within rounding included."""
    require_finite_values(observed)  # a comparison with NaN would count none
    require_finite_values(permuted)
    return int(np.sum(permuted >= observed - slack * float(np.std(permuted))))
