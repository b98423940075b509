"""Maximisation of the likelihood: quasi-Newton, or natural gradient steps as published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar

import numpy as np
from scipy import linalg, optimize

from depmax._parameters import check_parameters, integer, number
from depmax.extraction._ica_likelihood import Likelihood, Peakedness


@dataclass(frozen=True)
class Solution:
    """Weights at which a solver stopped."""

    weights: np.ndarray  # (C, D), shape (N, N + q)
    states: np.ndarray  # 1, 0 or -1 of every source
    log_likelihood: float  # mean over samples of log p(x | t)
    n_iter: int
    n_passes: int  # visits to all samples
    problem: str | None  # why it is not a maximum; None if it is


#: Mean log-likelihoods that differ by less than this, relative to their size, are equal.
ROUNDING = 1e-15


def best_of(solutions: Iterable[Solution]) -> Solution:
    """The first with the largest likelihood, but for rounding errors.

    Of Gaussian sources all rotations are equally likely: the choice must not be that of rounding.
    """
    tried = list(solutions)
    most = max(solution.log_likelihood for solution in tried)
    enough = most - ROUNDING * (1 + abs(most))
    return next((each for each in tried if each.log_likelihood >= enough), tried[0])


# --- where to start -------------------------------------------------------------------------------
def starts(
    likelihood: Likelihood, n_init: int, rng: np.random.RandomState, *, regression: bool = True
) -> Iterator[np.ndarray]:
    """Canonical directions first where ``regression`` says so, then random rotations.

    Canonical directions are where the likelihood of Gaussian sources is largest: the first features
    are the directions of regression of the targets on the inputs, each with its own target, and the
    others uncorrelated with all targets.
    """
    size, width = likelihood.n_inputs, likelihood.n_targets
    if regression:
        pairs = np.arange(min(likelihood.n_components, size, width))
        noisy = 1.0 + likelihood.alpha  # variance of an input with its noise
        W, V = np.eye(size) / np.sqrt(noisy), np.zeros((size, width))
        W[pairs, pairs] /= likelihood.scale[pairs]  # 1/√(1+α-ρ²)
        V[pairs, pairs] = -noisy * likelihood.slope[pairs] * W[pairs, pairs]
        yield likelihood.of_published(W, V)
    for _ in range(n_init - regression):
        rotation, _ = linalg.qr(rng.standard_normal((size, size)))
        yield likelihood.of_published(rotation, np.zeros((size, width)))


def one_more(likelihood: Likelihood, found: Solution) -> Solution:
    """Weights with one more feature: the discarded source that the target moves most.

    That is the one whose weights of the targets, zero so far, have the largest gradient. The
    likelihood has the number of features of ``found``.
    """
    n_kept, size = likelihood.n_components, likelihood.n_inputs
    _, slopes = likelihood.data_term(found.weights, found.states)
    pull = likelihood.by_targets(slopes[n_kept:])
    chosen = n_kept + int(np.argmax(np.sum(pull**2, axis=1)))
    order = np.r_[np.arange(n_kept), chosen, np.delete(np.arange(n_kept, size), chosen - n_kept)]
    return replace(found, weights=found.weights[order], states=found.states[order])


def the_most_moved(likelihood: Likelihood, found: Solution) -> np.ndarray:
    """A start with fewer features: the sources that the target moves most, of more or all.

    The likelihood has the number of features to start with, fewer than ``found`` has.
    """
    W, V = likelihood.published(found.weights)
    order = np.argsort(-np.sum(V**2, axis=1), kind="stable")  # sources have variances near one
    W, V = W[order], V[order]
    V[likelihood.n_components :] = 0.0
    return likelihood.of_published(W, V)


# --- the published rule ---------------------------------------------------------------------------
#: Weights of white inputs and targets that no data call for.
TOO_LARGE = 1e8


@dataclass(frozen=True)
class NaturalGradient:
    """W ← W + μ(I - E[φ(u)fᵀ])W with f = Wx, and V ← V - μE[φ(u)tᵀ], as published.

    Parameters
    ----------
    learning_rate, target_learning_rate : float, default=0.02
        μ for W and for V.
    max_iter : int, default=500
    tol : float, default=1e-6
        Change of the log likelihood, summed over samples, at which it stops.

    Examples
    --------
    >>> from depmax.extraction import NaturalGradient
    >>> NaturalGradient().learning_rate
    0.02
    """

    learning_rate: float = 0.02
    target_learning_rate: float = 0.02
    max_iter: int = 500
    tol: float = 1e-6

    _declared: ClassVar = {
        "learning_rate": number(0, ends="()"),
        "target_learning_rate": number(0, ends="()"),
        "max_iter": integer(1),
        "tol": number(0),
    }

    def __post_init__(self) -> None:
        check_parameters(self)

    def maximize(self, likelihood: Likelihood, start: np.ndarray, verbose: int = 0) -> Solution:
        """Go uphill from ``start``; as published, no source is taken to be Gaussian."""
        weights, states = start, likelihood.evidence(start).nearest
        n_kept = likelihood.n_components
        best: tuple[float, np.ndarray, np.ndarray] = (-np.inf, start, states)
        before, problem, step = -np.inf, None, 0
        for step in range(1, self.max_iter + 1):
            W, V = likelihood.published(weights)
            if not max(np.abs(W).max(), np.abs(V).max(initial=0.0)) < TOO_LARGE:
                problem = (
                    f"it diverged after {step} steps: lower the learning_rate of NaturalGradient, "
                    f"{self.learning_rate}, or take solver='quasi-newton'"
                )
                break
            if step > 1:
                states = likelihood.evidence(weights).turned(states)
            value, slopes = likelihood.data_term(weights, states)
            likely = float(np.linalg.slogdet(W)[1]) - value
            if likely > best[0]:
                best = (likely, weights, states)
            if verbose and step % 50 == 0:
                print(f"ICA-FX: {step} steps, mean log likelihood {likely:.8f}")
            if abs(likely - before) * likelihood.rows.n_samples < self.tol:
                break
            before = likely
            pull = slopes[:, : likelihood.n_inputs] @ W.T + likelihood.alpha * W @ W.T
            V[:n_kept] -= self.target_learning_rate * likelihood.by_targets(slopes[:n_kept])
            weights = likelihood.of_published(W + self.learning_rate * (W - pull @ W), V)
        else:
            problem = (
                f"it stopped after max_iter={self.max_iter} steps of learning_rate="
                f"{self.learning_rate}: take solver='quasi-newton', or raise max_iter"
            )
        value, weights, states = best
        n_passes = step if likelihood.rows.is_streamed else 2 * step
        return Solution(weights, states, value, step, n_passes, problem)


# --- quasi-Newton ---------------------------------------------------------------------------------
#: Steps at most, and the cosine between rows before and after a step at which they are found.
STEPS, FOUND = 40, 1.0 - 1e-4


def separate(likelihood: Likelihood, start: np.ndarray) -> tuple[np.ndarray, int]:
    """Rows of ``start`` rotated to sources that are not Gaussian, and the steps taken.

    These are the discarded rows, within the inputs that neither correlate with the target nor with
    the features; where none is discarded all rows, within what the target leaves of the inputs.
    Mixtures of sources look Gaussian; from here on it can be seen which sources are.
    """
    size, width = likelihood.n_inputs, likelihood.n_targets
    free = slice(likelihood.n_components % size, size)  # all where none is discarded
    # Orthonormal rows of the white inputs that the rows of the start span
    rows = linalg.qr(start[free, :size].T, mode="economic")[0].T
    within = np.eye(size, size + width)
    if likelihood.n_components == size:
        # In the plane of x_j and r_j the target is t_j = slope·x_j + σr_j; orthogonal to it is what
        # remains of x_j.
        pairs = np.arange(min(size, width))
        slope, scale = likelihood.slope[pairs], likelihood.scale[pairs]
        within[pairs, pairs] = scale / np.hypot(slope, scale)
        within[pairs, size + pairs] = -slope / np.hypot(slope, scale)
    rows = rows @ within
    # Symmetric fixed point steps of FastICA with the hyperbolic tangent, within the span of rows
    rotation, closeness, step = rows, 0.0, 0
    while step < STEPS and closeness < FOUND:
        step += 1
        pull, bend = likelihood.bends(rotation)
        left, _, right = linalg.svd(
            (pull - bend[:, np.newaxis] * rotation) @ rows.T @ rows, full_matrices=False
        )
        turned = left @ right  # the nearest matrix with orthonormal rows
        closeness = float(np.abs(np.einsum("ij,ij->i", turned, rotation)).min())
        rotation = turned
    separated = start.copy()
    separated[free] = rotation
    separated[likelihood.n_components :, size:] = 0.0  # but for rounding errors
    return separated, step


#: Curvatures below this are taken for it: those of sources that are nearly Gaussian are near zero.
FLAT = 0.05


class ScaledLoss:
    """The loss by z, for weights = centre + P z with P Pᵀ near the inverse second derivatives.

    z has as many numbers as the weights. Rows of features are scaled; discarded rows change
    relative to W, where the second derivatives couple the pairs (i, j) and (j, i) alone.
    """

    def __init__(
        self, likelihood: Likelihood, weights: np.ndarray, states: np.ndarray, evidence: Peakedness
    ) -> None:
        self._likelihood, self._centre, self._states = likelihood, weights, states
        self._n_kept = kept = likelihood.n_components
        bend = np.maximum(1.0 + states * evidence.curvature, FLAT)  # E[φ'(u)], shape (N,)
        self._row_scale = 1.0 / np.sqrt(bend[:kept, np.newaxis])
        self._basis, _ = likelihood.published(weights)  # W, shape (N, N)
        power = np.einsum("ij,ij->i", self._basis, self._basis)  # E[f²] of f = Wx
        self._other_scale = 1.0 / np.sqrt(np.maximum(np.outer(bend[kept:], power[:kept]), FLAT))
        own = np.outer(bend[kept:], power[kept:])  # h_ij
        # Inverse root of [[a, 1], [1, b]]: (M + √det I)/√(trace + 2√det), inverted.
        trace, product = own + own.T, own * own.T
        root = np.sqrt(np.maximum(product - 1.0, FLAT * np.maximum(trace, 1.0) / 2.0))
        norm = np.sqrt(trace + 2.0 * root) * root
        self._same = (own.T + root) / norm
        self._cross = -1.0 / norm
        np.fill_diagonal(self._same, 1.0 / np.sqrt(np.diag(own) + 1.0))
        np.fill_diagonal(self._cross, 0.0)

    def weights(self, z: np.ndarray) -> np.ndarray:
        """Weights at z."""
        z, kept, size = z.reshape(self._centre.shape), self._n_kept, len(self._basis)
        change = np.zeros_like(z)
        change[:kept] = z[:kept] * self._row_scale
        change[kept:, :size] = self._relative(z[kept:, :size]) @ self._basis
        return self._centre + change

    def __call__(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss at z and its gradient, Pᵀ of that by the weights."""
        kept, size = self._n_kept, len(self._basis)
        value, slopes = self._likelihood.loss(self.weights(z), self._states)
        slopes[:kept] *= self._row_scale
        slopes[kept:, :size] = self._relative(slopes[kept:, :size] @ self._basis.T)
        return value, slopes.ravel()

    def _relative(self, change: np.ndarray) -> np.ndarray:
        """The scale of entries beside features, and the symmetric root on other pairs."""
        others, own = np.split(change, [self._n_kept], axis=1)
        return np.hstack([others * self._other_scale, self._same * own + self._cross * own.T])


#: Iterations before the densities are looked at for the first time; doubled every time.
FIRST_ROUND = 20
#: Rounds after which densities stay as they are.
ROUNDS = 10
#: In single precision: gradients indistinguishable from zero, and relative changes of the loss.
SINGLE, SINGLE_CHANGE = 1e-4, 1e-9


@dataclass(frozen=True)
class QuasiNewton:
    """L-BFGS on all weights, in rounds between which sources may change their density.

    Parameters
    ----------
    max_iter : int, default=1000
        Iterations of each of at most two climbs, all rounds of it together.
    tol : float, default=1e-7
        Largest gradient of the mean log likelihood at which it stops; at least 1e-4 for the many
        samples that are visited in single precision.

    Examples
    --------
    >>> from depmax.extraction import QuasiNewton
    >>> QuasiNewton(max_iter=200)
    QuasiNewton(max_iter=200, tol=1e-07)
    """

    max_iter: int = 1000
    tol: float = 1e-7

    _declared: ClassVar = {"max_iter": integer(1), "tol": number(0)}

    def __post_init__(self) -> None:
        check_parameters(self)

    def maximize(self, likelihood: Likelihood, start: np.ndarray, verbose: int = 0) -> Solution:
        """Go uphill from two places, unless the first leaves no doubt.

        From ``start`` with its discarded rows separated into sources that are not Gaussian; and,
        where some source might be Gaussian after all, from ``start`` itself, with sources Gaussian
        until the samples say otherwise. The larger likelihood decides.
        """
        separated, n_steps = separate(likelihood, start)
        first, evidence = self._climb(likelihood, separated, verbose)
        first = replace(first, n_passes=first.n_passes + n_steps)
        if evidence.is_clear:
            return first
        second, _ = self._climb(likelihood, start, verbose)
        return replace(
            best_of([first, second]),
            n_iter=first.n_iter + second.n_iter,
            n_passes=first.n_passes + second.n_passes,
        )

    def _climb(
        self, likelihood: Likelihood, start: np.ndarray, verbose: int
    ) -> tuple[Solution, Peakedness]:
        """Rounds of L-BFGS; where it ends, and what the samples say there."""
        weights, evidence = start, likelihood.evidence(start)
        states = evidence.after(np.zeros(likelihood.n_inputs, dtype=np.int64))
        double = likelihood.rows.dtype == np.float64
        tol = self.tol if double else max(self.tol, SINGLE)
        n_iter, n_passes, problem = 0, 1, None
        most = (2 if likelihood.rows.is_streamed else 20) * self.max_iter  # evaluations
        for attempt in count():
            loss = ScaledLoss(likelihood, weights, states, evidence)
            found = optimize.minimize(
                loss,
                np.zeros(weights.size),
                jac=True,
                method="L-BFGS-B",
                options={
                    "maxiter": min(self.max_iter - n_iter, FIRST_ROUND * 2**attempt),
                    "maxfun": most - n_passes,
                    "maxcor": 20,
                    "gtol": tol,
                    "ftol": 0.0 if double else SINGLE_CHANGE,
                },
            )
            weights = loss.weights(found.x)
            evidence = likelihood.evidence(weights)
            n_iter, n_passes = n_iter + int(found.nit), n_passes + int(found.nfev) + 1
            steepest = float(np.abs(found.jac).max())
            if verbose:
                print(f"ICA-FX: {n_iter} iterations, loss {found.fun:.8f}, slope {steepest:.1e}")
            is_spent = n_iter >= self.max_iter or n_passes >= most
            seen = evidence.after(states)
            if attempt < ROUNDS and not is_spent and (seen != states).any():
                states = seen
                continue
            # Without further progress, or with a line search that rounding errors end, it is found.
            if found.status != 1:
                break
            if is_spent:
                problem = (
                    f"it stopped after max_iter={self.max_iter} iterations with a gradient of "
                    f"{steepest:.1e}: raise max_iter or tol of QuasiNewton"
                )
                break
        matrix, _ = likelihood.published(weights)
        value = 0.5 * likelihood.alpha * float((matrix**2).sum()) - float(found.fun)
        return Solution(weights, states, value, n_iter, n_passes, problem), evidence


_SOLVERS = {"quasi-newton": QuasiNewton, "natural-gradient": NaturalGradient}


def as_solver(solver: Any, owner: str) -> Any:
    """A solver by its name, or an object that maximises."""
    if isinstance(solver, str) and solver in _SOLVERS:
        return _SOLVERS[solver]()
    if not isinstance(solver, str) and callable(getattr(solver, "maximize", None)):
        return solver
    raise (ValueError if isinstance(solver, str) else TypeError)(
        f"solver of {owner} must be one of {sorted(_SOLVERS)} or an object with "
        f"maximize(likelihood, start, verbose), got {solver!r}."
    )
