"""Inputs and targets in coordinates whose second moments are diagonal, and visits to such rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any, Protocol

import numpy as np
from scipy import linalg

from depmax._threads import map_threads
from depmax.algebra import Form, Space, complete_axes
from depmax.algebra.form import CentredValues, Factor, gram_of
from depmax.maps.feature_map import signs

#: Variances below this, relative to the largest, are rounding errors.
NO_VARIANCE = 1e-12


@dataclass(frozen=True)
class Sphering:
    """White inputs x and white targets t, with E[x_j t_j] = ρ_j and all other products zero."""

    inputs: np.ndarray  # x = inputsᵀφ, shape (s, N)
    targets: np.ndarray  # t = targetsᵀ(code of y), shape (n_codes, q)
    correlations: np.ndarray  # ρ, canonical correlations in falling order, shape (min(N, q),)
    products: np.ndarray  # second moments of (x, t), shape (N + q, N + q)

    @property
    def n_inputs(self) -> int:
        """N, the rank of the inputs."""
        return int(self.inputs.shape[1])

    @property
    def n_targets(self) -> int:
        """q, the rank of the coded targets."""
        return int(self.targets.shape[1])


def sphere(space: Space, codes: Factor) -> Sphering:
    """Coordinates in which inputs and targets are white and correlated in pairs.

    Parameters
    ----------
    space : Space
        The inputs.
    codes : values of shape (m, n_codes)
        The targets as numbers, columns of mean zero; not all zero.
    """
    moments, own = space.moments(Form(codes)), gram_of(codes)
    inputs = _whitener(moments.scatter / space.n_samples)
    targets = _whitener(own / space.n_samples)
    cross = inputs.T @ (moments.cross / space.n_samples) @ targets
    # numpy's, since older ones of scipy fail where X is constant and the matrix empty
    left, correlations, right = np.linalg.svd(cross, full_matrices=False)
    inputs = inputs @ complete_axes(left, inputs.shape[1])
    targets = targets @ complete_axes(right.T, targets.shape[1])
    across = inputs.T @ moments.cross @ targets
    products = np.block(
        [[inputs.T @ moments.scatter @ inputs, across], [across.T, targets.T @ own @ targets]]
    )
    return Sphering(inputs, targets, np.minimum(correlations, 1.0), products / space.n_samples)


def _whitener(covariance: np.ndarray) -> np.ndarray:
    """B with BᵀΣB = I: the symmetric root of Σ⁻¹, or without null space its eigenvectors."""
    values, vectors = linalg.eigh(covariance)
    kept = values > NO_VARIANCE * max(values[-1], 0.0)
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    if kept.all():
        return (vectors / np.sqrt(values)) @ vectors.T
    return vectors * signs(vectors) / np.sqrt(values)


@dataclass(frozen=True)
class Residuals:
    """r = (t - slope·x)/scale: what white targets have beyond their inputs, of variance 1."""

    slope: np.ndarray  # ρ/(1+α), shape (q,)
    scale: np.ndarray  # σ, shape (q,)

    @classmethod
    def of(cls, correlations: np.ndarray, n_targets: int, alpha: float) -> Residuals:
        """For inputs that carry noise of variance α."""
        paired = np.zeros(n_targets)
        paired[: len(correlations)] = correlations
        return cls(paired / (1.0 + alpha), np.sqrt(1.0 - paired**2 / (1.0 + alpha)))

    def beside(self, inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """(x, r) of shape (n, N + q)."""
        residuals = targets.copy()
        width = min(targets.shape[1], inputs.shape[1])
        residuals[:, :width] -= self.slope[:width] * inputs[:, :width]
        return np.hstack([inputs, residuals / self.scale])

    def second_moments(self, products: np.ndarray) -> np.ndarray:
        """Those of (x, r) from those of (x, t)."""
        size = len(products) - len(self.slope)
        change = np.eye(len(products))
        width = min(size, len(self.slope))
        pairs = np.arange(width)
        change[size + pairs, pairs] = -self.slope[:width] / self.scale[:width]
        change[size:, size:] = np.diag(1.0 / self.scale)
        return change @ products @ change.T


#: Seconds of a visit to the rows from which on the number of visits is a matter to be told.
LONG = 2.0


def warn_if_long(n_rows: int, seconds: float) -> None:
    """Warn how long visits to all rows of a stream take, if a few dozen take minutes."""
    if seconds > LONG:
        warnings.warn(
            f"ICAFX visits all {n_rows:,} rows at every step, and one visit takes about "
            f"{seconds:.0f} s; some hundreds are usual (see n_passes_). "
            "solver=QuasiNewton(max_iter=20) allows fewer; a random part of the rows in memory "
            "takes seconds.",
            UserWarning,
            stacklevel=6,
        )


# --- visits to white rows -------------------------------------------------------------------------
#: Samples of a block: with fifty columns in float32 a block and its sources fit in the cache.
BLOCK = 2048
#: Parts that threads may take; their sums are added in order, so threads change no digit.
PARTS = 8
#: Numbers from which a pass runs in single precision. Its rounding errors, 1e-7 each, average out
#: over the rows, and second moments are always in double precision.
MANY = 1_000_000
#: Blocks, evenly spread, from which the tails of sources are estimated: 65,536 rows.
TAIL_BLOCKS = 32


@dataclass(frozen=True)
class Totals:
    """Several sums over rows."""

    sums: tuple[Any, ...]

    def __add__(self, other: Totals) -> Totals:
        return Totals(tuple(a + b for a, b in zip(self.sums, other.sums, strict=True)))


#: Sums over blocks of rows, each of shape (N + q, n).
Work = Callable[[list[np.ndarray]], Totals]


class WhiteRows(Protocol):
    """Rows (x, r) that can be visited."""

    n_samples: int
    dtype: np.dtype
    second_moments: np.ndarray  # shape (N + q, N + q)
    is_streamed: bool

    def total(self, work: Work) -> tuple[Any, ...]:
        """Sums over all rows."""

    def some(self, work: Work) -> tuple[tuple[Any, ...], int]:
        """Sums over evenly spread rows, and how many these are."""


class HeldRows:
    """Rows in memory, of shape (m, N + q)."""

    is_streamed = False

    def __init__(self, samples: np.ndarray, n_jobs: int | None) -> None:
        self.n_samples = len(samples)
        self._n_jobs = n_jobs
        self.second_moments = samples.T @ samples / self.n_samples
        self.dtype = precision_of(samples.size)
        self._blocks = blocks_of(samples, self.dtype)

    def total(self, work: Work) -> tuple[Any, ...]:
        """Sums over all rows, by threads."""
        size = -(-len(self._blocks) // PARTS)
        starts = range(0, len(self._blocks), size)
        parts = [self._blocks[first : first + size] for first in starts]
        return reduce(add, map_threads(work, parts, self._n_jobs)).sums

    def some(self, work: Work) -> tuple[tuple[Any, ...], int]:
        """Sums over evenly spread blocks, and how many rows these have."""
        chosen = [self._blocks[number] for number in spread_blocks(len(self._blocks))]
        found = map_threads(work, [[block] for block in chosen], self._n_jobs)
        return reduce(add, found).sums, sum(block.shape[1] for block in chosen)


class StreamedRows:
    """Rows that are read a block at a time: every sum is a visit.

    Parameters
    ----------
    space : Space
        The inputs.
    codes : CentredValues
        The targets.
    sphering : Sphering
    residuals : Residuals
    """

    is_streamed = True

    def __init__(
        self, space: Space, codes: CentredValues, sphering: Sphering, residuals: Residuals
    ) -> None:
        self.n_samples = space.n_samples
        self.second_moments = residuals.second_moments(sphering.products)
        self.dtype = precision_of(self.n_samples * len(self.second_moments))
        self._space = space
        self._white = White(
            space.values(sphering.inputs), codes, sphering.targets, residuals, self.dtype
        )

    def total(self, work: Work) -> tuple[Any, ...]:
        """Sums over all rows, from one visit."""
        found: Totals = self._space.summed(OnWhite(work, self._white))
        return found.sums

    def some(self, work: Work) -> tuple[tuple[Any, ...], int]:
        """Sums over the rows that are in memory, and how many these are."""
        return work(self._held).sums, sum(block.shape[1] for block in self._held)

    @cached_property
    def _held(self) -> list[np.ndarray]:
        """The rows that ``HeldRows`` would take, read once."""
        n_blocks = -(-self.n_samples // BLOCK)
        starts = BLOCK * spread_blocks(n_blocks)
        rows = [np.arange(start, min(start + BLOCK, self.n_samples)) for start in starts]
        return self._white(*self._space.taken(np.concatenate(rows)))


@dataclass(frozen=True)
class White:
    """Blocks (x, r) from coordinates and the part of the rows that they are of."""

    inputs: CentredValues
    codes: CentredValues
    targets: np.ndarray
    residuals: Residuals
    dtype: np.dtype

    def __call__(self, phi: Any, part: Any) -> list[np.ndarray]:
        """Of shape (N + q, n) each."""
        codes = self.codes.beside(phi, part) @ self.targets
        return blocks_of(self.residuals.beside(self.inputs.beside(phi, part), codes), self.dtype)


@dataclass(frozen=True)
class OnWhite:
    """Sums over white rows, from coordinates."""

    work: Work
    white: White

    def __call__(self, phi: Any, part: Any) -> Totals:
        return self.work(self.white(phi, part))


def precision_of(size: int) -> np.dtype:
    """That of passes over this many numbers."""
    return np.dtype(np.float32 if size >= MANY else np.float64)


def blocks_of(samples: np.ndarray, dtype: np.dtype) -> list[np.ndarray]:
    """Rows in blocks, each transposed."""
    starts = range(0, len(samples), BLOCK)
    return [np.ascontiguousarray(samples[start : start + BLOCK].T, dtype=dtype) for start in starts]


def spread_blocks(n_blocks: int) -> np.ndarray:
    """Numbers of the blocks from which tails are estimated."""
    return np.unique(np.linspace(0, n_blocks - 1, TAIL_BLOCKS).astype(int))
