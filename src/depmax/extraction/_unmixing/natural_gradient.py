"""The published rule: natural gradient steps of fixed length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from depmax._inputs.parameters import check_parameters, integer, number
from depmax.extraction._unmixing.likelihood import Likelihood, Solution, Unmixing
from depmax.extraction._unmixing.sources import signed_states, turned_states

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
            if not (np.abs(W).max() < TOO_LARGE and np.abs(V).max() < TOO_LARGE):
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
        return Solution(unmixing, states, value, step, 2 * step, problem)
