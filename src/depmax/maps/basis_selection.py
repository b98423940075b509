"""Feature vector selection: training rows that span the others best."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from sklearn.utils import check_random_state

from depmax._parameters import integer, number
from depmax._resources import require_pairs
from depmax.data.sample import Sample
from depmax.kernels import KernelLike
from depmax.maps.incomplete_cholesky import (
    PartialFactor,
    PivotRule,
    _PivotMap,
    pivot_steps,
    warn_of_pivots,
)

#: Time of one core for a step over all pairs, and for a candidate and pivot of a step over some.
SECONDS_PER_PAIR, SECONDS_PER_CANDIDATE = 8e-10, 4e-11
#: Relative error of a gain, at which the residual Gram matrix is computed afresh.
PRECISION = 1e-9
#: Steps after which it is anyway.
BLOCK = 32
#: Arrays of all pairs of rows at the peak, without ``n_candidates``: K, and a copy or a product.
MATRICES = 2.0
#: What to do where they are too large.
INSTEAD = "Pass n_candidates=500 and a number of n_components: memory is then linear in the rows."


def weights(partial: PartialFactor) -> np.ndarray:
    """1 / k(x_i, x_i), and zero for rows that are zero in feature space."""
    inverse = np.zeros_like(partial.diagonal)
    return np.divide(1.0, partial.diagonal, out=inverse, where=partial.diagonal > 0)


def candidates(partial: PartialFactor) -> np.ndarray:
    """Positions of the rows that are numerically outside the span of the pivots."""
    return np.flatnonzero(partial.residual > partial.noise * partial.diagonal)


def best_of_some(
    partial: PartialFactor, n_candidates: int, rng: np.random.RandomState
) -> int | None:
    """The best of some random candidates, drawn again in each step. Memory is linear in m."""
    open_rows = candidates(partial)
    if not open_rows.size:
        return None
    if open_rows.size > n_candidates:
        open_rows = np.sort(rng.choice(open_rows, n_candidates, replace=False))
    columns = partial.residual_columns(open_rows)
    sums = weights(partial) @ np.square(columns, dtype=np.float64)
    return int(open_rows[np.argmax(sums / partial.residual[open_rows])])


class AllGains:
    """The best of all candidates, from the residual Gram matrix R = K - GGᵀ.

    The gain of candidate c is s_c / R_cc with s_c = Σ_i R_ic² / k_ii. A pivot with factor column g
    changes s_c by g_c² Σ_i g_i² / k_ii - 2 g_c Σ_i R_ic g_i / k_ii: one product of R with a vector.
    R itself is updated in blocks of pivots, or earlier when rounding errors of s, which are
    relative to its value at the last block, could change the choice.
    """

    def __init__(self) -> None:
        self._gram = np.empty((0, 0))  # R at the last block, shape (m, m)
        self._known = 0  # pivots that _gram and _sums have seen, respectively
        self._summed = 0

    def __call__(self, partial: PartialFactor) -> int | None:
        """Next pivot."""
        open_rows = candidates(partial)
        if not open_rows.size:
            return None
        if not self._gram.size:
            self._weights = weights(partial)
            self._gram = np.array(partial.sample.gram())
            self._catch_up(partial)
        self._follow(partial)
        gains = self._sums[open_rows] / partial.residual[open_rows]
        errors = np.finfo(np.float64).eps * self._scale[open_rows] / partial.residual[open_rows]
        recent = partial.rank - self._known
        if recent >= BLOCK or (recent and errors.max() > PRECISION * gains.max()):
            self._catch_up(partial)
            gains = self._sums[open_rows] / partial.residual[open_rows]
        return int(open_rows[np.argmax(gains)])

    def _follow(self, partial: PartialFactor) -> None:
        """Change the sums by the pivots that were added since."""
        while self._summed < partial.rank:
            earlier = partial.factor[:, self._known : self._summed]
            column = partial.factor[:, self._summed].astype(np.float64)  # g
            weighted = self._weights * column
            products = self._gram @ weighted - earlier @ (earlier.T @ weighted)
            self._sums += column * (column * (weighted @ column) - 2 * products)
            self._summed += 1

    def _catch_up(self, partial: PartialFactor) -> None:
        """Bring R up to date, and the sums with it."""
        recent = partial.factor[:, self._known :].astype(np.float64)
        if recent.shape[1]:
            self._gram -= recent @ recent.T
        self._known = self._summed = partial.rank
        self._sums = np.einsum("ij,ij,i->j", self._gram, self._gram, self._weights)
        self._scale = self._sums.copy()


@dataclass(eq=False, repr=False)
class BasisSelection(_PivotMap):
    """Coordinates in the span of the training rows that represent all rows best.

    The fitness of a basis S is the mean over the training rows of k_iᵀ K_SS⁻¹ k_i / k_ii, the
    squared length of the projection of a row onto the span of S divided by its own squared length,
    with k_i = k(X_S, x_i). Each step adds the row that raises it most. It stops at
    ``n_components``, when the fitness reaches 1 - ``tol``, or when K_SS would become numerically
    singular. The features are coordinates in the span: ΦΦᵀ = K[:, S] K_SS⁻¹ K[S, :].

    For m rows, the search over all of them costs m² kernel values and m² numbers of memory once and
    O(m²) operations per step, which is practical up to ten thousand rows. ``n_candidates`` random
    rows per step cost m · n_candidates kernel values per step and memory linear in m.

    Parameters
    ----------
    n_components : int or None, default=None
        Largest number of basis rows; None leaves the choice to ``tol``. Fewer are chosen if they
        reach ``tol`` or span all rows.
    kernel : kernel, name, callable, transformer or "precomputed", default="gaussian"
    tol : float, default=1e-8
        Stop when the fitness is at least 1 minus this.
    n_candidates : int or None, default=None
        Number of random rows from which each step chooses; None tries all.
    random_state : int, RandomState instance or None, default=None
        Seed for drawing the candidates; without ``n_candidates`` nothing is random.

    Attributes
    ----------
    basis_indices_ : ndarray of shape (n_features_out,)
        Positions of the chosen rows among the training rows, in order.
    fitness_ : ndarray of shape (n_features_out,)
        Fitness after each step.
    kernel_ : Kernel
        The kernel with every recipe replaced by numbers.

    See Also
    --------
    IncompleteCholesky : Takes the row that is represented worst, for a fraction of the cost.

    References
    ----------
    Baudat, G. and Anouar, F. (2003). Feature vector selection and projection using kernels.
    Neurocomputing 55.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.maps import BasisSelection
    >>> X = np.linspace(0.0, 1.0, 101)[:, np.newaxis] ** 2
    >>> basis = BasisSelection(3).fit(X)
    >>> basis.basis_indices_
    array([39, 81, 54])
    >>> basis.fitness_.round(3)
    array([0.573, 0.839, 0.929])
    """

    n_components: int | None = None
    _: KW_ONLY
    kernel: KernelLike = "gaussian"
    tol: float = 1e-8
    n_candidates: int | None = None
    random_state: int | np.random.RandomState | None = None

    _declared: ClassVar = {
        "n_components": integer(1, also=[None]),
        "tol": number(0, 1, ends="[)"),
        "n_candidates": integer(1, also=[None]),
    }

    def _fit(self, sample: Sample) -> np.ndarray:
        m = sample.n_samples
        holds = self.n_candidates is None and not sample.precomputed
        require_pairs(type(self).__name__, m, MATRICES * m**2 if holds else 0.0, INSTEAD)
        warn_of_pivots(sample, self.tol, self.n_components, partial(self._seconds, m))
        fitness: list[float] = []
        rule: PivotRule = AllGains()
        if self.n_candidates is not None:
            rng = check_random_state(self.random_state)
            rule = partial(best_of_some, n_candidates=int(self.n_candidates), rng=rng)
        for grown in pivot_steps(sample, rule, self.n_components):
            # mean share of the squared length of a row that lies in the span of the pivots
            fitness.append(float(1.0 - (grown.residual * weights(grown)).mean()))
            if fitness[-1] >= 1.0 - self.tol:
                break
        self.basis_indices_ = np.array(grown.pivots)
        self.fitness_ = np.array(fitness[1:])  # the first is that of no basis
        return self._keep(grown)

    def _seconds(self, n_rows: int, n_pivots: int) -> float:
        """Time of one core for all steps: products of residuals, of all pairs or of candidates."""
        if self.n_candidates is None:
            return SECONDS_PER_PAIR * n_rows**2 * n_pivots
        return SECONDS_PER_CANDIDATE * n_rows * self.n_candidates * n_pivots**2
