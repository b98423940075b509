"""Quasi-Newton maximisation of the likelihood, with sources that may change their density."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from scipy import optimize

from depmax.extraction._unmixing.fixed_point import separate
from depmax.extraction._unmixing.likelihood import Likelihood, Unmixing
from depmax.extraction._unmixing.preconditioner import Preconditioner
from depmax.extraction._unmixing.solution import Solution
from depmax.extraction._unmixing.sources import Evidence, next_states

#: Iterations before the densities are looked at for the first time; doubled every time.
FIRST_ROUND = 20
#: Rounds after which densities stay as they are.
ROUNDS = 10
#: In single precision: gradients that cannot be told from zero, and relative changes of the loss.
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
        for number in count():
            scaled = Preconditioner(likelihood, unmixing, states, evidence)
            found = optimize.minimize(
                _loss,
                np.zeros(likelihood.n_weights),
                args=(likelihood, scaled, states),
                jac=True,
                method="L-BFGS-B",
                options={
                    "maxiter": min(self.max_iter - n_iter, FIRST_ROUND * 2**number),
                    "maxfun": 20 * self.max_iter,
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
            level = found.status != 1
            if number < ROUNDS and n_iter < self.max_iter:
                seen = next_states(states, evidence)
                if (seen != states).any():
                    states = seen
                    continue
            if level:
                break
            if n_iter >= self.max_iter:
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
