"""Unbiased HSIC of many permutations at once.

With Ã the U-centred kernel matrix of one side, whose rows sum to zero without a diagonal,
m(m-3)·HSIC₁ = Σ Ã_ij L_ij for any kernel matrix L of the other. So one side is centred, once, and
an order π of the rows of the other, which may repeat rows, is L_{π(i) π(j)} in place of L_ij.

- Coordinates Ψ of the other side: permutations are columns of one product (``permuted_hsic``).
- Kernel values of all pairs, gathered in every order (``gathered_table``): any order, any kernels.
- Plain permutations of kernel values of many rows come in orbits of cyclic shifts, which one
  Fourier transform of the diagonals gives together (``permuted_table``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from scipy import fft

from depmax._resources import map_threads, slices
from depmax.data.sample import Sample, require_finite_values
from depmax.dependence._nulls.law import u_centred
from depmax.dependence._terms import coordinates_to
from depmax.dependence.exchange import FREE, PermutationScheme

#: Up to so many rows orbits are summed in float64; beyond, in float32 with half the memory.
DOUBLE_ROWS = 2048
#: Ties: standard deviations that two equal values may differ by, in float64 and in float32.
SLACK, SINGLE_SLACK = 1e-10, 1e-5
#: From so many rows on coordinates of one side are permuted instead of orbits of kernel values.
STREAM_ROWS = 8192
#: Diagonals per Fourier transform, and rows per strip of a Gram matrix that is not held.
BATCH = 128
#: Permuted coordinates of one batch: in the cache, or where kernel values have to be computed
#: anew for every batch, a quarter of a gigabyte.
BATCH_VALUES, STREAMED_VALUES = 2**18, 2**25
#: Kernel values on the diagonals of one band, of all kernels together: a quarter of a gigabyte.
BAND_VALUES = 2**25
#: Up to so many rows several kernels are permuted one order after another, without orbits.
FEW_ROWS = 48
#: Permutations of one chunk; an orbit of shifts has as many as there are rows.
CHUNK = 999
#: Orders of a scheme: part of the trace of y's kernel that its coordinates may leave out, and their
#: number from which kernel values are gathered instead.
FACTOR_TOL, GATHER_FROM = 1e-4, 40
#: Rows per block of a Gram matrix that is cut into diagonals: the block stays in the cache.
BLOCK = 32


def permuted_statistics(
    x: Sample,
    y: Sample,
    n_permutations: int,
    rng: np.random.Generator,
    scheme: PermutationScheme | None = None,
    n_jobs: int = 1,
) -> tuple[float, np.ndarray]:
    """HSIC₁ as observed and for ``n_permutations`` random permutations of one side.

    The rows are those that take part in the scheme, by default all and free. Unless they are free,
    y is reordered by it.
    """
    m = x.n_samples
    scheme = scheme or FREE.plan(m)
    if not scheme.is_free:
        orders = scheme.with_identity(n_permutations, rng)
        x, y = _measured(x), _measured(y)
        psi, _ = coordinates_to(y, FACTOR_TOL)
        if psi.shape[1] <= GATHER_FROM or m > STREAM_ROWS:
            values = permuted_hsic(x, psi, orders, len(orders), repeats=_repeat_rows(orders))
            return float(values[0]), values[1:]
        table = gathered_table([x], [y], orders)
    elif (x.is_narrow and y.is_narrow) or (m > STREAM_ROWS and (x.is_narrow or y.is_narrow)):
        fixed, moved = (x, y) if y.is_narrow else (y, x)
        fixed = fixed if fixed.is_narrow else _measured(fixed)
        every = random_orders(m, n_permutations, rng)
        values = permuted_hsic(fixed, moved.centred_coordinates(), every, n_permutations + 1)
        return float(values[0]), values[1:]
    else:
        table = permuted_table([x], [y], n_permutations, rng, scheme, n_jobs, with_grams=False)
    values = table.values[:, 0, 0] / (m * (m - 3))
    return float(values[0]), values[1:]


def permutation_chunks(
    x: Sample, y: Sample, scheme: PermutationScheme | None = None
) -> Iterator[np.ndarray]:
    """HSIC₁ of ever more random permutations of one side, with a fixed seed."""
    rng = np.random.default_rng(0)
    while True:
        yield permuted_statistics(x, y, CHUNK, rng, scheme)[1]


def random_orders(n_samples: int, count: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """The identity, then ``count`` random permutations: the only source of random orders here."""
    yield np.arange(n_samples)
    for _ in range(count):
        yield rng.permutation(n_samples)


def _repeat_rows(orders: np.ndarray) -> bool:
    """Whether some order has a row twice."""
    seen = np.zeros(orders.shape, dtype=bool)
    np.put_along_axis(seen, orders, True, axis=1)
    return not seen.all()


def _hsic(inner: np.ndarray, middle: np.ndarray, outer: np.ndarray, m: int) -> np.ndarray:
    """m(m-3) HSIC₁ from tr K̃L̃, 1ᵀK̃L̃1 and the product of totals."""
    return inner - 2.0 * middle / (m - 2) + outer / ((m - 1) * (m - 2))


def _measured(side: Sample) -> Sample:
    """A sample measured from where its sums do not cancel."""
    if side.n_samples <= DOUBLE_ROWS:
        return side.near_origin()
    return side.about_mean()  # in float32 nothing may cancel


# --- coordinates of the side that is permuted -----------------------------------------------------
def permuted_hsic(
    x: Sample,
    psi: np.ndarray,
    orders: Iterable[np.ndarray],
    n_orders: int,
    *,
    repeats: bool = False,
) -> np.ndarray:
    """HSIC₁ of x with coordinates of y in every order: a batch of orders is one product.

    Parameters
    ----------
    x : Sample
        Its coordinates where they are narrow, else strips of its kernel matrix.
    psi : ndarray of shape (n_samples, n_coordinates)
        Ψ of y, about its mean.
    orders : positions of the rows of y, one array per order
    n_orders : int
        How many of them.
    repeats : bool
        Whether orders may repeat rows: then Ψ is centred anew in each.
    """
    m, width = psi.shape
    phi = x.centred_coordinates() if x.is_narrow else None
    held = STREAMED_VALUES if phi is None else BATCH_VALUES
    orders, values = iter(orders), np.empty(n_orders)
    columns, own = np.ascontiguousarray(psi.T), np.einsum("ij,ij->i", psi, psi)
    for part in slices(n_orders, max(1, held // (m * width))):
        places = np.array(list(islice(orders, part.stop - part.start)))  # (n, m)
        moved = np.take(columns, places, axis=1)  # (width, n, m)
        if repeats:
            moved -= moved.mean(axis=2, keepdims=True)
        squares = np.einsum("kij,kij->ij", moved, moved) if repeats else np.take(own, places)
        inner, sums = _quadratic_forms(x, phi, moved.reshape(-1, m))
        inner, middle = inner.reshape(width, -1).sum(axis=0), -(squares @ sums)  # L̃1 = -‖ψ_i‖²
        if phi is not None:
            inner -= middle  # what the diagonal adds, as K̃1 is minus the diagonal of K
        values[part] = _hsic(inner, middle, -sums.sum() * squares.sum(axis=1), m)
    return values / (m * (m - 3))


def _quadratic_forms(
    x: Sample, phi: np.ndarray | None, vectors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """vᵀKv of every row v of ``vectors``, and K̃1: from Φ with the diagonal, else without."""
    if phi is not None:
        products = vectors @ phi
        return np.einsum("ij,ij->i", products, products), -np.einsum("ij,ij->i", phi, phi)
    inner, sums = np.zeros(len(vectors)), np.empty(x.n_samples)
    for rows in slices(x.n_samples, BATCH):
        block = x.tile(rows, slice(None))
        block[np.arange(len(block)), np.arange(rows.start, rows.stop)] = 0.0
        inner += np.einsum("ij,ij->i", vectors @ block.T, vectors[:, rows])
        sums[rows] = block.sum(axis=1)
    return inner, sums


# --- kernel values --------------------------------------------------------------------------------
@dataclass(frozen=True)
class PermutedTable:
    """ΣÃB̃_π = m(m-3) HSIC₁ of every kernel of x with every kernel of y, permuted alike."""

    values: np.ndarray  # as observed, then permuted; shape (1 + n_permutations, n_x, n_y)
    gram_x: np.ndarray  # ⟨Ã_k, Ã_l⟩ of the kernels of x, which no permutation changes, if asked for
    gram_y: np.ndarray  # the same of y, once, or for every order if rows are repeated: 3 axes


def gathered_table(
    xs: Sequence[Sample], ys: Sequence[Sample], orders: Iterable[np.ndarray]
) -> PermutedTable:
    """HSIC₁ of several kernels on the same rows in any orders, from all pairs of rows."""
    orders = np.array(list(orders))
    repeats = _repeat_rows(orders)
    m = xs[0].n_samples
    first, second = np.triu_indices(m, 1)
    of_x = np.stack([u_centred(x.gram())[first, second] for x in xs])  # (n_x, pairs)
    of_y = np.stack([y.gram().ravel() for y in ys], axis=1)  # (m², n_y)
    values, grams = [], list[np.ndarray]()
    for order in orders:
        pairs = of_y[order[first] * m + order[second]]  # (pairs, n_y)
        values.append(2.0 * of_x @ pairs)
        if repeats or not grams:
            counts = np.bincount(order, minlength=m).astype(np.float64)
            rows = (counts @ of_y.reshape(m, -1)).reshape(m, -1) - of_y[:: m + 1]
            grams.append(_own_products(2.0 * pairs.T @ pairs, rows[order].T))
    return PermutedTable(np.array(values), 2.0 * of_x @ of_x.T, np.array(grams))


def _own_products(inner: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """⟨Ã_k, Ã_l⟩ of U-centred matrices from Σ K_ij K'_ij and the row sums of every kernel."""
    totals = rows.sum(axis=1)
    return _hsic(inner, rows @ rows.T, np.outer(totals, totals), rows.shape[1])


def permuted_table(
    xs: Sequence[Sample],
    ys: Sequence[Sample],
    n_permutations: int,
    rng: np.random.Generator,
    scheme: PermutationScheme | None = None,
    n_jobs: int = 1,
    *,
    with_grams: bool = True,
) -> PermutedTable:
    """HSIC₁ of several kernels on the same rows, observed and under the same permutations.

    All cyclic shifts of a random relabelling, then of random cosets of that group: Σ_ij K_ij
    L_{i+s,j+s} for every shift s is a circular correlation along the diagonals of K and L, so m
    permutations cost O(m² log m) together. The shifts form a group, and the cosets make the set
    of permutations invariant under its own elements: a test stays exact. Diagonals are made a
    band at a time, so that memory stays linear in the rows. Unless rows are free, y is
    reordered by the scheme and whole matrices are held.
    """
    xs, ys = [_measured(x) for x in xs], [_measured(y) for y in ys]
    m = xs[0].n_samples
    scheme = scheme or FREE.plan(m)
    if not scheme.is_free:
        return gathered_table(xs, ys, scheme.with_identity(n_permutations, rng))
    if m <= FEW_ROWS and with_grams:
        return gathered_table(xs, ys, random_orders(m, n_permutations, rng))
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
        return _own_products(self.inner, self.rows)


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
    return _hsic(fft.irfft(spectra, n=m), middle, outer, m)


def circular_diagonals(side: Sample, n_jobs: int = 1, band: slice | None = None) -> Diagonals:
    """Diagonals d = 1..⌊m/2⌋ of the Gram matrix, K[i, i + d mod m], and its row sums less K_ii.

    These diagonals hold every pair of rows once (twice for d = m/2), so each kernel value is
    computed once. With a ``band``, only diagonals 1 + start to stop, and their part of the sums.
    """
    m, half = side.n_samples, side.n_samples // 2
    band = band or slice(0, half)
    first, width = band.start, band.stop - band.start
    diagonals = np.empty((width, m), dtype=np.float64 if m <= DOUBLE_ROWS else np.float32)
    twice = side.take(np.arange(m + half + BLOCK) % m)  # the columns after i, without wrapping

    def work(rows: slice) -> np.ndarray:
        block = twice.tile(rows, slice(rows.start + first + 1, rows.stop + band.stop))
        step, item = block.strides
        # view[r, d - 1] = K[i, i + first + d], i = start + r: each row begins one entry further on
        shape = rows.stop - rows.start, width
        view = np.lib.stride_tricks.as_strided(block, shape, (step + item, item), writeable=False)
        diagonals[:, rows] = view.T
        return np.asarray(view.sum(axis=1))

    sums = np.concatenate(map_threads(work, list(slices(m, BLOCK)), n_jobs))
    for part in slices(width, BATCH):  # the other half of each row, K[i - d, i]
        count = part.stop - part.start
        padded = np.zeros((count, m + count), dtype=diagonals.dtype)
        padded[:, :m] = diagonals[part]
        # rows that are one entry shorter: each diagonal begins one entry further on
        skewed = padded.ravel()[: count * (m + count - 1)].reshape(count, -1)
        ahead = skewed.sum(axis=0, dtype=np.float64)
        ahead[: count - 1] += ahead[m:]
        sums += np.roll(ahead[:m], first + part.start + 1)
    if m % 2 == 0 and band.stop == half:  # pairs of the diagonal m/2 come up from both ends
        sums -= diagonals[-1]
    return diagonals, sums


def slack_of(x: Sample, y: Sample) -> float:
    """Standard deviations within which two permuted values are ties, but for rounding."""
    double = x.n_samples <= DOUBLE_ROWS or (x.is_narrow and y.is_narrow)
    return SLACK if double else SINGLE_SLACK


def count_at_least(observed: float, permuted: np.ndarray, slack: float) -> int:
    """How many permuted values reach the observed one, ties within rounding included."""
    require_finite_values(observed)  # a comparison with NaN would count none
    require_finite_values(permuted)
    return int(np.sum(permuted >= observed - slack * float(np.std(permuted))))
