"""The likelihood of supervised independent components, and its gradient, from one pass.

The densities of the sources have log p(u) = -u²/2 - k log cosh u - log Z_k: k = 1 has heavier tails
than a Gaussian (super-Gaussian), k = -1 lighter ones (sub-Gaussian, half of N(1, 1) and half of
N(-1, 1)).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from depmax.extraction._unmixing.sphering import HeldRows, Residuals, Totals, WhiteRows

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


def log_normaliser(states: np.ndarray) -> float:
    """Sum of log Z over sources."""
    return float(sum(LOG_NORMALISERS[int(state)] for state in states))


@dataclass(frozen=True)
class Evidence:
    """E[sech²u]E[u²] - E[u tanh u] of every source, zero for a Gaussian one of any variance.

    It is positive for super-Gaussian sources: then k = 1 is where the likelihood has a maximum.
    """

    value: np.ndarray  # shape (N,)
    error: np.ndarray  # standard errors, shape (N,)
    curvature: np.ndarray  # E[sech²u], shape (N,)

    @property
    def is_clear(self) -> bool:
        """Whether no source could be Gaussian."""
        return bool((np.abs(self.value) > CLEAR * self.error).all())

    @classmethod
    def of_moments(cls, sums: np.ndarray, products: np.ndarray, n_samples: int) -> Evidence:
        """From sums (3, N) and sums of products (3, 3, N) of sech²u, u² and u tanh u."""
        means = sums / n_samples
        curvature, power, pull = means
        slopes = np.stack([power, curvature, -np.ones_like(pull)])  # of the value, by each mean
        covariance = products / n_samples - means[:, None] * means[None, :]
        variance = np.einsum("ai,abi,bi->i", slopes, covariance, slopes)
        error = np.sqrt(np.maximum(variance, 0.0) / n_samples)
        return cls(curvature * power - pull, error, curvature)


def signed_states(evidence: Evidence) -> np.ndarray:
    """Heavy or light tails, whichever is nearer; none Gaussian."""
    return np.where(evidence.value >= 0, SUPER, SUB)


def next_states(states: np.ndarray, evidence: Evidence) -> np.ndarray:
    """States after looking at the evidence; ``states`` are those before."""
    value, error = evidence.value, evidence.error
    clear = np.abs(value) > ENTER * error
    stays = states * value > LEAVE * error
    kept = np.where(stays, states, GAUSSIAN)
    return np.where(clear, np.sign(value), kept).astype(np.int64)


def turned_states(states: np.ndarray, evidence: Evidence) -> np.ndarray:
    """States after looking at the evidence, where none may be Gaussian."""
    against = states * evidence.value < -LEAVE * evidence.error
    return np.where(against, -states, states)


@dataclass(frozen=True)
class Unmixing:
    """u = Cx + Dr: weights of the white inputs and of the white residuals of the targets."""

    inputs: np.ndarray  # C, shape (N, N)
    targets: np.ndarray  # D, shape (N, q); rows from n_components on are zero


class Likelihood:
    """-log|det W| - mean Σ log p(u) + α‖W‖²/2 of u = Wx + Vt, for white x and t.

    The weights are sought in other coordinates: with r = (t - ρx/(1+α))/σ, the standardised
    residual of t given x, u = Cx + Dr and W = C - D(ρ/((1+α)σ)). Since (x, r) is white, the data
    term has curvature near one in all directions, also where t is almost a function of x and W, V
    are large and nearly cancel.

    Parameters
    ----------
    rows : WhiteRows
        (x, r), in memory or read a block at a time.
    residuals : Residuals
        How r follows from x and t.
    n_components : int
        Rows of W that belong to V.
    alpha : float
        Variance of a noise that every white input is taken to carry. Without it the likelihood of
        a target that is a linear function of the inputs is unbounded.
    """

    def __init__(
        self, rows: WhiteRows, residuals: Residuals, n_components: int, alpha: float
    ) -> None:
        self.rows = rows
        self.n_samples = rows.n_samples
        self.n_targets = len(residuals.slope)
        self.n_inputs = len(rows.second_moments) - self.n_targets
        self.n_components = n_components
        self.alpha = alpha
        self.scale, self.slope = residuals.scale, residuals.slope  # shape (q,)
        #: W = C - D·back, shape (q, N)
        self.back = np.zeros((self.n_targets, self.n_inputs))
        np.fill_diagonal(self.back, self.slope / self.scale)
        self.second_moments, self.dtype = rows.second_moments, rows.dtype

    @classmethod
    def of_arrays(
        cls,
        inputs: np.ndarray,
        targets: np.ndarray,
        correlations: np.ndarray,
        n_components: int,
        alpha: float,
        n_jobs: int | None,
    ) -> Likelihood:
        """Of white inputs (m, N) and white targets (m, q) with their correlations ρ."""
        residuals = Residuals.of(correlations, targets.shape[1], alpha)
        rows = HeldRows(residuals.beside(inputs, targets), n_jobs)
        return cls(rows, residuals, n_components, alpha)

    def with_components(self, n_components: int) -> Likelihood:
        """The same samples, with another number of rows of W that belong to V."""
        other = copy.copy(self)
        other.n_components = n_components
        return other

    # --- coordinates ----------------------------------------------------------------------------
    @property
    def n_weights(self) -> int:
        """Length of the vector of free weights."""
        return self.n_inputs**2 + self.n_components * self.n_targets

    def pack(self, unmixing: Unmixing) -> np.ndarray:
        """Free weights as one vector."""
        return np.concatenate(
            [unmixing.inputs.ravel(), unmixing.targets[: self.n_components].ravel()]
        )

    def unpack(self, weights: np.ndarray) -> Unmixing:
        """The inverse of ``pack``."""
        size = self.n_inputs**2
        inputs = weights[:size].reshape(self.n_inputs, self.n_inputs)
        targets = np.zeros((self.n_inputs, self.n_targets))
        targets[: self.n_components] = weights[size:].reshape(self.n_components, self.n_targets)
        return Unmixing(inputs, targets)

    def published(self, unmixing: Unmixing) -> tuple[np.ndarray, np.ndarray]:
        """W and V of the paper."""
        weights = unmixing.inputs - unmixing.targets @ self.back
        return weights, unmixing.targets / self.scale

    def of_published(self, weights: np.ndarray, target_weights: np.ndarray) -> Unmixing:
        """The inverse of ``published``."""
        targets = target_weights * self.scale
        return Unmixing(weights + targets @ self.back, targets)

    # --- values ---------------------------------------------------------------------------------
    def loss(self, weights: np.ndarray, states: np.ndarray) -> tuple[float, np.ndarray]:
        """Penalised mean of -log p(x | t) and its gradient, by free weights."""
        unmixing = self.unpack(weights)
        matrix, _ = self.published(unmixing)
        sign, log_determinant = np.linalg.slogdet(matrix)
        if sign == 0 or not np.isfinite(log_determinant):
            return np.inf, np.zeros_like(weights)
        value, slopes = self.data_term(unmixing, states)
        value += 0.5 * self.alpha * float((matrix**2).sum()) - float(log_determinant)
        by_matrix = self.alpha * matrix - linalg.inv(matrix).T
        count = self.n_components
        by_inputs = slopes[:, : self.n_inputs] + by_matrix
        by_targets = slopes[:count, self.n_inputs :] - by_matrix[:count] @ self.back.T
        return value, np.concatenate([by_inputs.ravel(), by_targets.ravel()])

    def log_likelihood(self, unmixing: Unmixing, states: np.ndarray) -> float:
        """Mean of log p(x | t) over samples, without penalty."""
        matrix, _ = self.published(unmixing)
        return float(np.linalg.slogdet(matrix)[1]) - self.data_term(unmixing, states)[0]

    def data_term(self, unmixing: Unmixing, states: np.ndarray) -> tuple[float, np.ndarray]:
        """Mean of -Σ log p(u), and its gradient by (C, D), of shape (N, N + q)."""
        both = np.hstack([unmixing.inputs, unmixing.targets])
        slopes = both @ self.second_moments
        value = 0.5 * float(np.einsum("ij,ij->", slopes, both)) + log_normaliser(states)
        # Sources with light tails after those with heavy ones; Gaussian ones need no pass.
        order = np.concatenate([np.flatnonzero(states == kind) for kind in (SUPER, SUB)])
        if len(order):
            n_super = int((states == SUPER).sum())
            curves, curved = self.rows.total(Curves(both[order].astype(self.dtype), n_super))
            value += curves / self.n_samples
            slopes[order] += curved / self.n_samples * states[order, np.newaxis]
        return value, slopes

    def bends(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E[tanh(u)(x, r)ᵀ] of shape (n_rows, N + q) and E[sech²u], for u = rows·(x, r)."""
        pull, squares = self.rows.total(Bends(rows.astype(self.dtype)))
        return pull / self.n_samples, 1.0 - squares / self.n_samples

    def evidence(self, unmixing: Unmixing) -> Evidence:
        """What the samples say about the tails of every source."""
        rows = np.hstack([unmixing.inputs, unmixing.targets]).astype(self.dtype)
        (sums, products), count = self.rows.some(Tails(rows))
        return Evidence.of_moments(sums, products, count)


@dataclass(frozen=True)
class Curves:
    """Σ ±log cosh u over sources and samples, and Σ tanh(u)sᵀ of shape (n_rows, N + q).

    log cosh u = |u| - log(1 + tanh|u|): one hyperbolic tangent per number, and one logarithm per
    sample, of a product of factors between 1 and 2.
    """

    rows: np.ndarray  # weights of the sources, those with heavy tails first
    n_super: int

    def __call__(self, blocks: list[np.ndarray]) -> Totals:
        """Of the samples of some blocks."""
        rows, count = self.rows, len(self.rows)
        group = 100 if rows.dtype == np.float32 else 1000  # 2^group must not overflow
        signs = [(slice(0, self.n_super), 1.0), (slice(self.n_super, count), -1.0)]
        value = 0.0
        slopes = np.zeros((count, blocks[0].shape[0]))
        sources = np.empty((count, blocks[0].shape[1]), dtype=rows.dtype)
        scratch = np.empty_like(sources)
        for block in blocks:
            n_columns = block.shape[1]
            u, bend = sources[:, :n_columns], scratch[:, :n_columns]
            np.matmul(rows, block, out=u)
            np.tanh(u, out=bend)
            slopes += bend @ block.T
            np.abs(u, out=u)
            np.abs(bend, out=bend)
            bend += 1.0
            for part, sign in signs:
                value += sign * float(u[part].sum(dtype=np.float64))
                for first in range(part.start, part.stop, group):
                    factors = bend[first : min(first + group, part.stop)]
                    product = np.multiply.reduce(factors, axis=0)
                    value -= sign * float(np.log(product).sum(dtype=np.float64))
        return Totals((value, slopes))


@dataclass(frozen=True)
class Bends:
    """Σ tanh(u)sᵀ and Σ tanh²u of every row of weights."""

    rows: np.ndarray

    def __call__(self, blocks: list[np.ndarray]) -> Totals:
        """Of the samples of some blocks."""
        rows = self.rows
        pull = np.zeros((len(rows), blocks[0].shape[0]))
        squares = np.zeros(len(rows))
        sources = np.empty((len(rows), blocks[0].shape[1]), dtype=rows.dtype)
        for block in blocks:
            u = sources[:, : block.shape[1]]
            np.matmul(rows, block, out=u)
            np.tanh(u, out=u)
            pull += u @ block.T
            squares += np.einsum("ij,ij->i", u, u)
        return Totals((pull, squares))


@dataclass(frozen=True)
class Tails:
    """Sums (3, N) and sums of products (3, 3, N) of sech²u, u² and u tanh u."""

    rows: np.ndarray

    def __call__(self, blocks: list[np.ndarray]) -> Totals:
        """Of the samples of some blocks."""
        sums = np.zeros((3, len(self.rows)))
        products = np.zeros((3, 3, len(self.rows)))
        for block in blocks:
            u = self.rows @ block
            bend = np.tanh(u)
            parts = np.stack([1.0 - bend**2, u**2, u * bend])
            sums += parts.sum(axis=2, dtype=np.float64)
            products += np.einsum("ain,bin->abi", parts, parts)
        return Totals((sums, products))


@dataclass(frozen=True)
class Solution:
    """Weights at which a solver stopped."""

    unmixing: Unmixing
    states: np.ndarray  # 1, 0 or -1 of every source
    log_likelihood: float  # mean over samples of log p(x | t)
    n_iter: int
    n_passes: int  # visits to all samples
    problem: str | None  # why it is not a maximum; None if it is


def best_of(solutions: Iterable[Solution]) -> Solution:
    """The first with the largest likelihood."""
    return max(solutions, key=lambda solution: solution.log_likelihood)


def starts(
    likelihood: Likelihood, n_init: int, rng: np.random.RandomState, *, regression: bool = True
) -> Iterator[Unmixing]:
    """Canonical directions first where ``regression`` says so, then random rotations.

    Canonical directions are where the likelihood of Gaussian sources is largest: the first features
    are the directions of regression of the targets on the inputs, each with its own target, and the
    others uncorrelated with all targets.
    """
    size, width = likelihood.n_inputs, likelihood.n_targets
    if regression:
        yield _canonical(likelihood)
    for _ in range(n_init - regression):
        rotation, _ = linalg.qr(rng.standard_normal((size, size)))
        yield likelihood.of_published(rotation, np.zeros((size, width)))


def _canonical(likelihood: Likelihood) -> Unmixing:
    size, width = likelihood.n_inputs, likelihood.n_targets
    paired = min(likelihood.n_components, size, width)
    noisy = 1.0 + likelihood.alpha  # variance of an input with its noise
    W = np.eye(size) / np.sqrt(noisy)
    V = np.zeros((size, width))
    pairs = np.arange(paired)
    W[pairs, pairs] /= likelihood.scale[:paired]  # 1/√(1+α-ρ²)
    V[pairs, pairs] = -noisy * likelihood.slope[:paired] * W[pairs, pairs]
    return likelihood.of_published(W, V)


def one_more(likelihood: Likelihood, found: Solution) -> Solution:
    """The same weights with one more feature: the discarded source that the target moves most.

    That is the one whose weights of the targets, zero so far, have the largest gradient.

    Parameters
    ----------
    likelihood : Likelihood
        With the number of features of ``found``.
    """
    count, size = likelihood.n_components, likelihood.n_inputs
    _, slopes = likelihood.data_term(found.unmixing, found.states)
    by_targets = slopes[count:, size:] * likelihood.scale
    by_targets += slopes[count:, :size] @ (likelihood.back.T * likelihood.scale)  # E[φ(u)tᵀ]
    chosen = count + int(np.argmax(np.sum(by_targets**2, axis=1)))
    order = np.r_[np.arange(count), chosen, np.delete(np.arange(count, size), chosen - count)]
    weights = found.unmixing
    return replace(
        found,
        unmixing=Unmixing(weights.inputs[order], weights.targets[order]),
        states=found.states[order],
    )


def the_most_moved(likelihood: Likelihood, found: Solution) -> Unmixing:
    """A start with fewer features: the sources that the target moves most, of more or all.

    Parameters
    ----------
    likelihood : Likelihood
        With the number of features to start with, fewer than ``found`` has.
    """
    W, V = likelihood.published(found.unmixing)
    order = np.argsort(-np.sum(V**2, axis=1), kind="stable")  # sources have variances near one
    W, V = W[order], V[order]
    V[likelihood.n_components :] = 0.0
    return likelihood.of_published(W, V)
