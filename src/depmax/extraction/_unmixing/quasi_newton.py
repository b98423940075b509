"""Quasi-Newton maximisation of the likelihood, with sources that may change their density."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from scipy import optimize

from depmax.extraction._unmixing.likelihood import Likelihood, Unmixing
from depmax.extraction._unmixing.solution import Solution
from depmax.extraction._unmixing.sources import (
    GAUSSIAN,
    next_states,
    signed_states,
    turned_states,
)

#: Iterations before the densities are looked at for the first time; doubled every time.
FIRST_ROUND = 10
#: Rounds after which densities stay as they are.
ROUNDS = 10
#: Iterations in which sources that look Gaussian are taken for others.
EAGER = 50
#: Gradients that single precision cannot tell from zero.
SINGLE = 1e-5


@dataclass(frozen=True)
class QuasiNewton:
    """L-BFGS on all weights, in rounds between which sources may change their density.

    Parameters
    ----------
    max_iter : int, default=1000
        Iterations of each of at most two climbs, all rounds of it together.
    tol : float, default=1e-7
        Largest gradient of the mean log likelihood at which it stops; at least 1e-5 for the many
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
        """Go uphill from ``start``, and once more from where too many sources look Gaussian.

        Mixtures of sources look Gaussian, and a source that is taken to be Gaussian stays mixed
        with others of this kind. So if several are left, they are taken for heavy- or light-tailed
        ones for some iterations; the larger likelihood decides whether that was right.
        """
        mixed = np.zeros(likelihood.n_inputs, dtype=np.int64)
        states = next_states(mixed, likelihood.evidence(start))
        first = self._climb(likelihood, start, states, 0, verbose)
        if (first.states == GAUSSIAN).sum() < 2:
            return first
        signed = signed_states(likelihood.evidence(first.unmixing))
        states = np.where(first.states == GAUSSIAN, signed, first.states)
        second = self._climb(likelihood, first.unmixing, states, EAGER, verbose)
        best = max(first, second, key=lambda solution: solution.log_likelihood)
        return replace(
            best,
            n_iter=first.n_iter + second.n_iter,
            n_passes=first.n_passes + second.n_passes + 2,
        )

    def _climb(
        self,
        likelihood: Likelihood,
        start: Unmixing,
        states: np.ndarray,
        n_eager: int,
        verbose: int,
    ) -> Solution:
        """Rounds of L-BFGS; before ``n_eager`` iterations no source becomes Gaussian."""
        weights = likelihood.pack(start)
        tol = self.tol if likelihood.dtype == np.float64 else max(self.tol, SINGLE)
        n_iter, n_passes, problem = 0, 0, None
        for number in count():
            found = optimize.minimize(
                likelihood.loss,
                weights,
                args=(states,),
                jac=True,
                method="L-BFGS-B",
                options={
                    "maxiter": min(self.max_iter - n_iter, FIRST_ROUND * 2**number),
                    "maxfun": 20 * self.max_iter,
                    "maxcor": 20,
                    "gtol": tol,
                    "ftol": 0.0,
                },
            )
            weights = found.x
            n_iter, n_passes = n_iter + int(found.nit), n_passes + int(found.nfev) + 1
            steepest = float(np.abs(found.jac).max())
            if verbose:
                print(f"ICA-FX: {n_iter} iterations, loss {found.fun:.8f}, slope {steepest:.1e}")
            # An abnormal end of the line search means that rounding errors hide further progress.
            level = steepest <= tol or found.status == 2
            if number < ROUNDS and n_iter < self.max_iter:
                eager = n_iter < n_eager and not level
                look = turned_states if eager else next_states
                seen = look(states, likelihood.evidence(likelihood.unpack(weights)))
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
        unmixing = likelihood.unpack(weights)
        value = likelihood.log_likelihood(unmixing, states)
        return Solution(unmixing, states, value, n_iter, n_passes + 1, problem)
