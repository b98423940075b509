"""Maximisation of the likelihood: quasi-Newton, or natural gradient steps as published."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar

import numpy as np
from scipy import linalg, optimize

from depmax._parameters import check_parameters, integer, number
from depmax.extraction._unmixing.likelihood import (
    Evidence,
    Likelihood,
    Solution,
    Unmixing,
    next_states,
    signed_states,
    turned_states,
)

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

    def maximize(self, likelihood: Likelihood, start: Unmixing, verbose: int = 0) -> Solution:
        """Go uphill from ``start``; as published, no source is taken to be Gaussian."""
        unmixing = start
        states = signed_states(likelihood.evidence(start))
        size, count = likelihood.n_inputs, likelihood.n_components
        best: tuple[float, Unmixing, np.ndarray] = (-np.inf, start, states)
        before, problem, step = -np.inf, None, 0
        for step in range(1, self.max_iter + 1):
            W, V = likelihood.published(unmixing)
            if not max(np.abs(W).max(), np.abs(V).max(initial=0.0)) < TOO_LARGE:
                problem = (
                    f"it diverged after {step} steps: lower the learning_rate of NaturalGradient, "
                    f"{self.learning_rate}, or take solver='quasi-newton'"
                )
                break
            if step > 1:
                states = turned_states(states, likelihood.evidence(unmixing))
            value, slopes = likelihood.data_term(unmixing, states)
            likely = float(np.linalg.slogdet(W)[1]) - value
            if likely > best[0]:
                best = (likely, unmixing, states)
            if verbose and step % 50 == 0:
                print(f"ICA-FX: {step} steps, mean log likelihood {likely:.8f}")
            if abs(likely - before) * likelihood.n_samples < self.tol:
                break
            before = likely
            # E[φ(u)xᵀ] and E[φ(u)tᵀ] from E[φ(u)(x, r)ᵀ]
            by_inputs = slopes[:, :size]
            by_targets = slopes[:count, size:] * likelihood.scale
            by_targets += by_inputs[:count] @ (likelihood.back.T * likelihood.scale)
            pull = by_inputs @ W.T + likelihood.alpha * W @ W.T
            V = V.copy()
            V[:count] -= self.target_learning_rate * by_targets
            W = W + self.learning_rate * (W - pull @ W)
            unmixing = likelihood.of_published(W, V)
        else:
            problem = (
                f"it stopped after max_iter={self.max_iter} steps of learning_rate="
                f"{self.learning_rate}: take solver='quasi-newton', or raise max_iter"
            )
        value, unmixing, states = best
        n_passes = step if likelihood.rows.is_streamed else 2 * step
        return Solution(unmixing, states, value, step, n_passes, problem)


#: Steps at most, and the cosine between rows before and after a step at which they are found.
STEPS, FOUND = 40, 1.0 - 1e-4


def separate(likelihood: Likelihood, start: Unmixing) -> tuple[Unmixing, int]:
    """Rows of ``start`` rotated to sources that are not Gaussian, and the steps taken.

    These are the discarded rows, within the inputs that neither correlate with the target nor with
    the features; where none is discarded all rows, within what the target leaves of the inputs.
    Mixtures of sources look Gaussian; from here on it can be seen which sources are.
    """
    count, size = likelihood.n_components, likelihood.n_inputs
    free = slice(count % size, size)  # all where count = size
    # Orthonormal rows of the white inputs that the rows of the start span
    rows = linalg.qr(start.inputs[free].T, mode="economic")[0].T
    rows = np.pad(rows, ((0, 0), (0, likelihood.n_targets)))
    if count == size:
        rows = rows[:, :size] @ _unexplained(likelihood)
    rotation, steps = _rotate(likelihood, rows)
    inputs, targets = start.inputs.copy(), start.targets.copy()
    inputs[free] = rotation[:, :size]
    if count == size:
        targets = rotation[:, size:]
    return Unmixing(inputs, targets), steps


def _unexplained(likelihood: Likelihood) -> np.ndarray:
    """Orthonormal weights of (x, r), shape (N, N + q), that give what no target correlates with.

    In the plane of x_j and r_j the target is t_j = slope·x_j + σr_j; orthogonal to it is what
    remains of x_j.
    """
    size, width = likelihood.n_inputs, min(likelihood.n_inputs, likelihood.n_targets)
    weights = np.eye(size, size + likelihood.n_targets)
    pairs = np.arange(width)
    slope, scale = likelihood.slope[:width], likelihood.scale[:width]
    norm = np.hypot(slope, scale)
    weights[pairs, pairs] = scale / norm
    weights[pairs, size + pairs] = -slope / norm
    return weights


def _rotate(likelihood: Likelihood, rows: np.ndarray) -> tuple[np.ndarray, int]:
    """Symmetric fixed point steps of FastICA with the hyperbolic tangent, within a span of rows."""
    rotation, closeness, step = rows, 0.0, 0
    while step < STEPS and closeness < FOUND:
        step += 1
        pull, bend = likelihood.bends(rotation)
        update = (pull - bend[:, np.newaxis] * rotation) @ rows.T @ rows
        left, _, right = linalg.svd(update, full_matrices=False)
        turned = left @ right  # the nearest matrix with orthonormal rows
        closeness = float(np.abs(np.einsum("ij,ij->i", turned, rotation)).min())
        rotation = turned
    return rotation, step


#: Curvatures below this are taken for it: those of sources that are nearly Gaussian are near zero.
FLAT = 0.05


class Preconditioner:
    """weights(z) = weights(0) + P z with P Pᵀ close to the inverse of the second derivatives."""

    def __init__(
        self, likelihood: Likelihood, unmixing: Unmixing, states: np.ndarray, evidence: Evidence
    ) -> None:
        self._likelihood = likelihood
        self._centre = likelihood.pack(unmixing)
        self._count = likelihood.n_components
        count = self._count
        bend = np.maximum(1.0 + states * evidence.curvature, FLAT)  # E[φ'(u)], shape (N,)
        self._row_scale = 1.0 / np.sqrt(bend[:count, np.newaxis])
        self._basis, _ = likelihood.published(unmixing)  # W, shape (N, N)
        power = np.einsum("ij,ij->i", self._basis, self._basis)  # E[f²] of f = Wx
        self._other_scale = 1.0 / np.sqrt(np.maximum(np.outer(bend[count:], power[:count]), FLAT))
        own = np.outer(bend[count:], power[count:])  # h_ij
        # Inverse root of [[a, 1], [1, b]]: (M + √det I)/√(trace + 2√det), inverted.
        trace, product = own + own.T, own * own.T
        root = np.sqrt(np.maximum(product - 1.0, FLAT * np.maximum(trace, 1.0) / 2.0))
        norm = np.sqrt(trace + 2.0 * root) * root
        self._same = (own.T + root) / norm
        self._cross = -1.0 / norm
        np.fill_diagonal(self._same, 1.0 / np.sqrt(np.diag(own) + 1.0))
        np.fill_diagonal(self._cross, 0.0)

    def weights(self, z: np.ndarray) -> np.ndarray:
        """Free weights at z."""
        rows, targets, others, own = self._parts(z)
        change = np.empty((len(self._basis),) * 2)
        change[: self._count] = rows * self._row_scale
        relative = np.hstack([others * self._other_scale, self._pairs(own)])
        change[self._count :] = relative @ self._basis
        moved = np.concatenate([change.ravel(), (targets * self._row_scale).ravel()])
        return self._centre + moved

    def slopes(self, gradient: np.ndarray) -> np.ndarray:
        """Gradient by z from the gradient by weights."""
        size, count = len(self._basis), self._count
        by_inputs = gradient[: size**2].reshape(size, size)
        by_targets = gradient[size**2 :].reshape(count, self._likelihood.n_targets)
        relative = by_inputs[count:] @ self._basis.T
        return np.concatenate(
            [
                (by_inputs[:count] * self._row_scale).ravel(),
                (by_targets * self._row_scale).ravel(),
                (relative[:, :count] * self._other_scale).ravel(),
                self._pairs(relative[:, count:]).ravel(),
            ]
        )

    def _pairs(self, own: np.ndarray) -> np.ndarray:
        """The symmetric root on every pair (E_ij, E_ji)."""
        return self._same * own + self._cross * own.T

    def _parts(self, z: np.ndarray) -> list[np.ndarray]:
        size, count = len(self._basis), self._count
        rest = size - count
        shapes = [
            (count, size),
            (count, self._likelihood.n_targets),
            (rest, count),
            (rest, rest),
        ]
        ends = np.cumsum([rows * columns for rows, columns in shapes])
        pieces = np.split(z, ends[:-1])
        return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]


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

    def maximize(self, likelihood: Likelihood, start: Unmixing, verbose: int = 0) -> Solution:
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
        best = max(first, second, key=lambda solution: solution.log_likelihood)
        return replace(
            best, n_iter=first.n_iter + second.n_iter, n_passes=first.n_passes + second.n_passes
        )

    def _climb(
        self, likelihood: Likelihood, start: Unmixing, verbose: int
    ) -> tuple[Solution, Evidence]:
        """Rounds of L-BFGS; where it ends, and what the samples say there."""
        unmixing, evidence = start, likelihood.evidence(start)
        states = next_states(np.zeros(likelihood.n_inputs, dtype=np.int64), evidence)
        double = likelihood.dtype == np.float64
        tol = self.tol if double else max(self.tol, SINGLE)
        n_iter, n_passes, problem = 0, 1, None
        most = (2 if likelihood.rows.is_streamed else 20) * self.max_iter  # evaluations
        for attempt in count():
            scaled = Preconditioner(likelihood, unmixing, states, evidence)
            found = optimize.minimize(
                _loss,
                np.zeros(likelihood.n_weights),
                args=(likelihood, scaled, states),
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
            unmixing = likelihood.unpack(scaled.weights(found.x))
            evidence = likelihood.evidence(unmixing)
            n_iter, n_passes = n_iter + int(found.nit), n_passes + int(found.nfev) + 1
            steepest = float(np.abs(found.jac).max())
            if verbose:
                print(f"ICA-FX: {n_iter} iterations, loss {found.fun:.8f}, slope {steepest:.1e}")
            # Without further progress, or with a line search that rounding errors end, it is found.
            converged = found.status != 1
            is_spent = n_iter >= self.max_iter or n_passes >= most
            if attempt < ROUNDS and not is_spent:
                seen = next_states(states, evidence)
                if (seen != states).any():
                    states = seen
                    continue
            if converged:
                break
            if is_spent:
                problem = (
                    f"it stopped after max_iter={self.max_iter} iterations with a gradient of "
                    f"{steepest:.1e}: raise max_iter or tol of QuasiNewton"
                )
                break
        matrix, _ = likelihood.published(unmixing)
        value = 0.5 * likelihood.alpha * float((matrix**2).sum()) - float(found.fun)
        return Solution(unmixing, states, value, n_iter, n_passes, problem), evidence


def _loss(
    z: np.ndarray, likelihood: Likelihood, scaled: Preconditioner, states: np.ndarray
) -> tuple[float, np.ndarray]:
    value, gradient = likelihood.loss(scaled.weights(z), states)
    return value, scaled.slopes(gradient)


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
