"""Feature vector selection: training rows that span the others best."""

from __future__ import annotations

from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.utils import check_random_state

from depmax.kernels import KernelLike
from depmax.maps._gains import AllGains, SampledGains, weights
from depmax.maps._pivot_map import PivotMap
from depmax.maps._pivots import PartialFactor, PivotRule, pivot_steps
from depmax.samples import Sample


class BasisSelection(PivotMap):
    """Coordinates in the span of the training rows that represent all rows best.

    The fitness of a basis S is the mean over the training rows of k_iᵀ K_SS⁻¹ k_i / k_ii, the
    squared length of the projection of a row on the span of S over its own squared length, with
    k_i = k(X_S, x_i). Each step adds the row that raises it most. It stops at ``n_components``,
    when the fitness reaches 1 - ``tol``, or when K_SS would become numerically singular. The
    features are coordinates in the span: ΦΦᵀ = K[:, S] K_SS⁻¹ K[S, :].

    The search over all rows costs, for m rows, m² kernel values and m² numbers of memory once and
    O(m²) operations per step, which serves up to ten thousand rows. ``n_candidates`` random rows
    per step cost m · n_candidates kernel values per step and memory linear in m.

    Parameters
    ----------
    n_components : int or None, default=None
        Largest number of basis rows; None leaves the choice to ``tol``. There are fewer where
        fewer rows reach ``tol``, or span all rows.
    kernel : kernel, name, callable, transformer or "precomputed", default="gaussian"
    tol : float, default=1e-8
        Stop when the fitness lacks no more than this to 1.
    n_candidates : int or None, default=None
        Number of random rows among which each step chooses; None tries all.
    random_state : int, RandomState instance or None, default=None
        Draws the candidates; without ``n_candidates`` nothing is random.

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
    IncompleteCholesky : Takes the row that is represented worst, at a fraction of the cost.

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

    _unlimited: ClassVar[bool] = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: KernelLike = "gaussian",
        tol: float = 1e-8,
        n_candidates: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.tol = tol
        self.n_candidates = n_candidates
        self.random_state = random_state

    def _fit(self, sample: Sample) -> np.ndarray:
        if not 0 <= self.tol < 1:
            raise ValueError(f"tol of BasisSelection must lie in [0, 1), got {self.tol!r}.")
        fitness: list[float] = []
        for partial in pivot_steps(sample, self._rule(), self.n_components):
            fitness.append(_fitness(partial))
            if fitness[-1] >= 1.0 - self.tol:
                break
        self.basis_indices_ = np.array(partial.pivots)
        self.fitness_ = np.array(fitness[1:])  # the first is that of no basis
        return self._keep(partial)

    def _rule(self) -> PivotRule:
        value = self.n_candidates
        if value is None:
            return AllGains()
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise ValueError(
                f"n_candidates of BasisSelection must be an integer >= 1 or None, got {value!r}."
            )
        return SampledGains(int(value), check_random_state(self.random_state))


def _fitness(partial: PartialFactor) -> float:
    """Mean share of the squared length of a row that lies in the span of the pivots."""
    return float(1.0 - (partial.residual * weights(partial)).mean())
