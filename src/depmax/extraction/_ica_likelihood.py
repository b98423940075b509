"""The likelihood of independent components, with or without a target, and its gradient.

The densities of the sources have log p(u) = -u²/2 - k log cosh u - log Z_k: k = 1 has heavier tails
than a Gaussian (super-Gaussian), k = -1 lighter ones (sub-Gaussian, half of N(1, 1) and half of
N(-1, 1)). Everything is computed from visits to white rows (x, r): inputs, and what the targets
have beyond them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from depmax._resources import map_threads
from depmax.algebra.directions import complete_axes
from depmax.maps.feature_map import signs

SUPER, GAUSSIAN, SUB = 1, 0, -1
#: What a user calls them.
NAMES = {SUPER: "super-gaussian", GAUSSIAN: "gaussian", SUB: "sub-gaussian"}

_HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)
#: log Z_k, the logarithm of ∫ exp(-u²/2) cosh(u)^(-k) du.
LOG_NORMALISERS = {SUPER: 0.6195404611792522, GAUSSIAN: _HALF_LOG_2PI, SUB: _HALF_LOG_2PI + 0.5}

#: A Gaussian source becomes another when the evidence exceeds this many standard errors, and
#: another one becomes Gaussian again when it falls below the second: they do not alternate.
ENTER, LEAVE = 2.5, 1.0
#: More than the sources of Gaussian samples reach, whichever rotation is chosen.
CLEAR = 6.0
#: Variances below this, relative to the largest, are rounding errors.
NO_VARIANCE = 1e-12


# --- white coordinates ----------------------------------------------------------------------------
class Sphering(NamedTuple):
    """White inputs x and white targets t, with E[x_j t_j] = ρ_j and all other products zero."""

    inputs: np.ndarray  # x = inputsᵀφ, shape (s, N)
    targets: np.ndarray  # t = targetsᵀ(code of y), shape (n_codes, q)
    correlations: np.ndarray  # ρ, canonical correlations in falling order, shape (min(N, q),)


def sphere(scatter: np.ndarray, cross: np.ndarray, own: np.ndarray) -> Sphering:
    """White coordinates from the second moments E[φφᵀ], E[φψᵀ] and E[ψψᵀ] of inputs and codes."""
    inputs, targets = _whitener(scatter), _whitener(own)
    # numpy's, since older ones of scipy fail where X is constant and the matrix empty
    left, correlations, right = np.linalg.svd(inputs.T @ cross @ targets, full_matrices=False)
    inputs = inputs @ complete_axes(left, inputs.shape[1])
    targets = targets @ complete_axes(right.T, targets.shape[1])
    return Sphering(inputs, targets, np.minimum(correlations, 1.0))


def _whitener(covariance: np.ndarray) -> np.ndarray:
    """B with BᵀΣB = I: the symmetric root of Σ⁻¹, or without null space its eigenvectors."""
    values, vectors = linalg.eigh(covariance)
    kept = values > NO_VARIANCE * max(values[-1], 0.0)
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    if kept.all():
        return (vectors / np.sqrt(values)) @ vectors.T
    return vectors * signs(vectors) / np.sqrt(values)


class Residuals(NamedTuple):
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


# --- visits to white rows -------------------------------------------------------------------------
#: Samples of a block: with fifty columns in float32 a block and its sources fit in the cache.
BLOCK = 2048
#: Parts that threads may take; their sums are added in order, so threads change no digit.
PARTS = 8
#: Numbers from which a visit runs in single precision. Its rounding errors, 1e-7 each, average out
#: over the rows, and second moments are always in double precision.
MANY = 1_000_000
#: Blocks, evenly spread, from which the tails of sources are estimated: 65,536 rows.
TAIL_BLOCKS = 32

#: Sums over a block of rows, of shape (N + q, n).
Work = Callable[[np.ndarray], np.ndarray]


class HeldRows:
    """White rows in memory, of shape (m, N + q)."""

    is_streamed = False

    def __init__(self, samples: np.ndarray, n_jobs: int | None) -> None:
        self.n_samples, self._n_jobs = len(samples), n_jobs
        self.second_moments = samples.T @ samples / self.n_samples  # shape (N + q, N + q)
        self.dtype = _precision(samples.size)
        self._blocks = _blocks(samples, self.dtype)
        #: Evenly spread blocks.
        self.some = [self._blocks[start // BLOCK] for start in _spread(self.n_samples)]

    def total(self, work: Work) -> np.ndarray:
        """Sums over all rows."""
        size = -(-len(self._blocks) // PARTS)
        parts = [self._blocks[n : n + size] for n in range(0, len(self._blocks), size)]
        return reduce(add, map_threads(partial(_total, work), parts, self._n_jobs))


def _total(work: Work, blocks: list[np.ndarray]) -> np.ndarray:
    return reduce(add, map(work, blocks))


class StreamedRows:
    """White rows that are read a part at a time: every sum is a visit.

    Parameters
    ----------
    space : Space
        Visits the rows and takes some of them.
    white : callable
        (x, r), of shape (n, N + q), from what ``space`` gives of a part of the rows.
    """

    is_streamed = True

    def __init__(self, space: Any, white: Callable[..., np.ndarray]) -> None:
        self.n_samples, self._space, self._white = space.n_samples, space, white
        self.dtype = np.dtype(np.float64)
        self.second_moments = self.total(_products) / self.n_samples
        self.dtype = _precision(self.n_samples * len(self.second_moments))
        starts = _spread(self.n_samples)
        rows = [np.arange(start, min(start + BLOCK, self.n_samples)) for start in starts]
        self.some = _blocks(white(*space.taken(np.concatenate(rows))), self.dtype)

    def total(self, work: Work) -> np.ndarray:
        """Sums over all rows, from one visit."""
        found: np.ndarray = self._space.summed(partial(_on_white, work, self._white, self.dtype))
        return found


def _on_white(work: Work, white: Callable[..., np.ndarray], dtype: Any, *part: Any) -> np.ndarray:
    return _total(work, _blocks(white(*part), dtype))


def _precision(size: int) -> np.dtype:
    return np.dtype(np.float32 if size >= MANY else np.float64)


def _blocks(samples: np.ndarray, dtype: Any) -> list[np.ndarray]:
    """Rows in blocks, each transposed."""
    starts = range(0, len(samples), BLOCK)
    return [np.ascontiguousarray(samples[start : start + BLOCK].T, dtype=dtype) for start in starts]


def _spread(n_rows: int) -> np.ndarray:
    """First rows of the blocks from which tails are estimated."""
    last = -(-n_rows // BLOCK) - 1
    return BLOCK * np.unique(np.linspace(0, last, TAIL_BLOCKS).astype(int))


def _products(block: np.ndarray) -> np.ndarray:
    """Σ ssᵀ of rows s."""
    return block @ block.T


def _curves(weights: np.ndarray, n_super: int, block: np.ndarray) -> np.ndarray:
    """Σ tanh(u)sᵀ by rows of weights, in one vector with Σ ±log cosh u over sources and samples.

    log cosh u = |u| - log(1 + tanh|u|): one hyperbolic tangent per number, and one logarithm per
    sample, of a product of factors between 1 and 2. The first ``n_super`` sources have heavy tails.
    """
    u = weights @ block
    bend = np.tanh(u)
    slopes = (bend @ block.T).astype(np.float64)
    np.abs(u, out=u)
    np.abs(bend, out=bend)
    bend += 1.0
    value = 0.0
    group = 100 if bend.dtype == np.float32 else 1000  # 2^group must not overflow
    for start, stop, sign in ((0, n_super, 1.0), (n_super, len(u), -1.0)):
        value += sign * float(u[start:stop].sum(dtype=np.float64))
        for first in range(start, stop, group):
            product = np.multiply.reduce(bend[first : min(first + group, stop)], axis=0)
            value -= sign * float(np.log(product).sum(dtype=np.float64))
    return np.append(slopes, value)


def _bends(weights: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Σ tanh(u)sᵀ by rows of weights, and in the last column Σ tanh²u."""
    bend = np.tanh(weights @ block)
    squares = np.einsum("ij,ij->i", bend, bend)
    return np.column_stack([bend @ block.T, squares]).astype(np.float64)


def _tails(weights: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Sums of (a, b, c) = (sech²u, u², u tanh u), and of their products, of shape (4, 3, N)."""
    u = weights @ block
    bend = np.tanh(u)
    parts = np.stack([1.0 - bend**2, u**2, u * bend])
    sums = parts.sum(axis=2, dtype=np.float64)
    return np.concatenate([sums[np.newaxis], np.einsum("ain,bin->abi", parts, parts)])


# --- densities ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Peakedness:
    """E[sech²u]E[u²] - E[u tanh u] of every source, zero for a Gaussian one of any variance.

    It is positive for super-Gaussian sources: then k = 1 is where the likelihood has a maximum.
    """

    value: np.ndarray  # shape (N,)
    error: np.ndarray  # standard errors, shape (N,)
    curvature: np.ndarray  # E[sech²u], shape (N,)

    @classmethod
    def of(cls, weights: np.ndarray, blocks: list[np.ndarray]) -> Peakedness:
        """For sources u = weights·s, from some blocks of rows s."""
        n_samples = sum(block.shape[1] for block in blocks)
        means, *products = _total(partial(_tails, weights), blocks) / n_samples
        curvature, power, pull = means
        slopes = np.stack([power, curvature, -np.ones_like(pull)])  # of the value, by each mean
        covariance = np.array(products) - means[:, None] * means[None, :]
        variance = np.einsum("ai,abi,bi->i", slopes, covariance, slopes)
        error = np.sqrt(np.maximum(variance, 0.0) / n_samples)
        return cls(curvature * power - pull, error, curvature)

    @property
    def is_clear(self) -> bool:
        """Whether no source could be Gaussian."""
        return bool((np.abs(self.value) > CLEAR * self.error).all())

    @property
    def nearest(self) -> np.ndarray:
        """Heavy or light tails, whichever is nearer; none Gaussian."""
        return np.where(self.value >= 0, SUPER, SUB)

    def after(self, states: np.ndarray) -> np.ndarray:
        """States after looking at the evidence; ``states`` are those before."""
        stays = states * self.value > LEAVE * self.error
        clear = np.abs(self.value) > ENTER * self.error
        kept = np.where(stays, states, GAUSSIAN)
        return np.where(clear, np.sign(self.value), kept).astype(np.int64)

    def turned(self, states: np.ndarray) -> np.ndarray:
        """States after looking at the evidence, where none may be Gaussian."""
        against = states * self.value < -LEAVE * self.error
        return np.where(against, -states, states)


# --- likelihood -----------------------------------------------------------------------------------
class Likelihood:
    """-log|det W| - mean Σ log p(u) + α‖W‖²/2 of u = Wx + Vt, for white x and t.

    The weights are sought in other coordinates: with r = (t - ρx/(1+α))/σ, the standardised
    residual of t given x, u = Cx + Dr and W = C - D(ρ/((1+α)σ)). Since (x, r) is white, the data
    term has curvature near one in all directions, also where t is almost a function of x and W, V
    are large and nearly cancel. Weights are (C, D), of shape (N, N + q); rows of D from
    ``n_components`` on are zero.

    Parameters
    ----------
    rows : HeldRows or StreamedRows
        (x, r).
    residuals : Residuals
        How r follows from x and t.
    n_components : int
        Rows of W that belong to V.
    alpha : float
        Variance of a noise that every white input is taken to carry. Without it the likelihood of
        a target that is a linear function of the inputs is unbounded.
    """

    def __init__(
        self, rows: HeldRows | StreamedRows, residuals: Residuals, n_components: int, alpha: float
    ) -> None:
        self.rows, self.n_components, self.alpha = rows, n_components, alpha
        self.slope, self.scale = residuals  # shape (q,)
        self.n_targets = len(self.slope)
        self.n_inputs = len(rows.second_moments) - self.n_targets
        #: W = C - D·back, shape (q, N)
        self.back = np.zeros((self.n_targets, self.n_inputs))
        np.fill_diagonal(self.back, self.slope / self.scale)

    def with_components(self, n_components: int) -> Likelihood:
        """The likelihood of these samples with another number of rows of W that belong to V."""
        other = copy.copy(self)
        other.n_components = n_components
        return other

    def published(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """W and V of the paper."""
        inputs, targets = weights[:, : self.n_inputs], weights[:, self.n_inputs :]
        return inputs - targets @ self.back, targets / self.scale

    def of_published(self, W: np.ndarray, V: np.ndarray) -> np.ndarray:
        """The inverse of ``published``."""
        targets = V * self.scale
        return np.hstack([W + targets @ self.back, targets])

    def by_targets(self, slopes: np.ndarray) -> np.ndarray:
        """E[φ(u)tᵀ] from E[φ(u)(x, r)ᵀ]."""
        from_inputs = slopes[:, : self.n_inputs] @ (self.back.T * self.scale)
        moved: np.ndarray = slopes[:, self.n_inputs :] * self.scale + from_inputs
        return moved

    def loss(self, weights: np.ndarray, states: np.ndarray) -> tuple[float, np.ndarray]:
        """Penalised mean of -log p(x | t) and its gradient."""
        matrix, _ = self.published(weights)
        sign, log_determinant = np.linalg.slogdet(matrix)
        if sign == 0 or not np.isfinite(log_determinant):
            return np.inf, np.zeros_like(weights)
        value, slopes = self.data_term(weights, states)
        value += 0.5 * self.alpha * float((matrix**2).sum()) - float(log_determinant)
        by_matrix = self.alpha * matrix - linalg.inv(matrix).T
        slopes[:, : self.n_inputs] += by_matrix
        slopes[:, self.n_inputs :] -= by_matrix @ self.back.T
        slopes[self.n_components :, self.n_inputs :] = 0.0
        return value, slopes

    def data_term(self, weights: np.ndarray, states: np.ndarray) -> tuple[float, np.ndarray]:
        """Mean of -Σ log p(u), and its gradient E[φ(u)(x, r)ᵀ]."""
        slopes = weights @ self.rows.second_moments
        value = 0.5 * float(np.einsum("ij,ij->", slopes, weights))
        value += sum(LOG_NORMALISERS[int(state)] for state in states)
        # Sources with light tails after those with heavy ones; Gaussian ones need no visit.
        order = np.concatenate([np.flatnonzero(states == kind) for kind in (SUPER, SUB)])
        if len(order):
            n_super, chosen = int((states == SUPER).sum()), weights[order].astype(self.rows.dtype)
            found = self.rows.total(partial(_curves, chosen, n_super)) / self.rows.n_samples
            value += float(found[-1])
            slopes[order] += found[:-1].reshape(chosen.shape) * states[order, np.newaxis]
        return value, slopes

    def bends(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E[tanh(u)(x, r)ᵀ] of shape (n_rows, N + q) and E[sech²u], for u = weights·(x, r)."""
        found = self.rows.total(partial(_bends, weights.astype(self.rows.dtype)))
        found /= self.rows.n_samples
        return found[:, :-1], 1.0 - found[:, -1]

    def evidence(self, weights: np.ndarray) -> Peakedness:
        """What the samples say about the tails of every source."""
        return Peakedness.of(weights.astype(self.rows.dtype), self.rows.some)
