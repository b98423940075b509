"""Which row, added to a basis, improves the mean normalised projection of all rows most."""

from __future__ import annotations

import numpy as np

from depmax.maps._pivots import PartialFactor

#: Relative error of a gain, at which the residual Gram matrix is computed afresh.
PRECISION = 1e-9
#: Steps after which it is anyway.
BLOCK = 32


def weights(partial: PartialFactor) -> np.ndarray:
    """1 / k(x_i, x_i), and zero for rows that are zero in feature space."""
    inverse = np.zeros_like(partial.diagonal)
    return np.divide(1.0, partial.diagonal, out=inverse, where=partial.diagonal > 0)


def candidates(partial: PartialFactor) -> np.ndarray:
    """Positions of the rows that are outside of the span of the pivots, numerically."""
    return np.flatnonzero(partial.residual > partial.noise * partial.diagonal)


class SampledGains:
    """The best of some random candidates, drawn anew in each step. Memory is linear in m."""

    def __init__(self, n_candidates: int, rng: np.random.RandomState) -> None:
        self._n_candidates = n_candidates
        self._rng = rng

    def __call__(self, partial: PartialFactor) -> int | None:
        """Next pivot."""
        open_rows = candidates(partial)
        if not open_rows.size:
            return None
        if open_rows.size > self._n_candidates:
            open_rows = np.sort(self._rng.choice(open_rows, self._n_candidates, replace=False))
        columns = partial.residual_columns(open_rows)
        sums = weights(partial) @ np.square(columns, dtype=np.float64)
        return int(open_rows[np.argmax(sums / partial.residual[open_rows])])


class AllGains:
    """The best of all candidates, from the residual Gram matrix R = K - GGᵀ.

    The gain of candidate c is s_c / R_cc with s_c = Σ_i R_ic² / k_ii. A pivot with factor column g
    changes s_c by g_c² Σ_i g_i² / k_ii - 2 g_c Σ_i R_ic g_i / k_ii: one product of R with a vector.
    R itself is brought up to date in blocks of pivots, or earlier when rounding errors of s, which
    are relative to its value at the last block, could tip the choice.
    """

    def __init__(self) -> None:
        self._gram: np.ndarray | None = None  # R at the last block, shape (m, m)
        self._known = 0  # pivots that _gram and _sums have seen, respectively
        self._summed = 0

    def __call__(self, partial: PartialFactor) -> int | None:
        """Next pivot."""
        open_rows = candidates(partial)
        if not open_rows.size:
            return None
        self._weights = weights(partial)
        if self._gram is None:
            self._gram = np.array(partial.sample.gram())
            self._sum_afresh()
        self._follow(partial)
        gains = self._sums[open_rows] / partial.residual[open_rows]
        errors = np.finfo(np.float64).eps * self._scale[open_rows] / partial.residual[open_rows]
        if partial.rank - self._known >= BLOCK or errors.max() > PRECISION * gains.max():
            self._catch_up(partial)
            gains = self._sums[open_rows] / partial.residual[open_rows]
        return int(open_rows[np.argmax(gains)])

    def _follow(self, partial: PartialFactor) -> None:
        """Change the sums by the pivots that were added since."""
        assert self._gram is not None
        while self._summed < partial.rank:
            earlier = partial.factor[:, self._known : self._summed]
            column = partial.factor[:, self._summed].astype(np.float64)  # g
            weighted = self._weights * column
            products = self._gram @ weighted - earlier @ (earlier.T @ weighted)
            self._sums += column * (column * (weighted @ column) - 2 * products)
            self._summed += 1

    def _catch_up(self, partial: PartialFactor) -> None:
        """Bring R up to date, and the sums with it."""
        assert self._gram is not None
        if partial.rank > self._known:
            recent = partial.factor[:, self._known :].astype(np.float64)
            self._gram -= recent @ recent.T
            self._known = partial.rank
            self._sum_afresh()

    def _sum_afresh(self) -> None:
        assert self._gram is not None
        self._sums = np.einsum("ij,ij,i->j", self._gram, self._gram, self._weights)
        self._scale = self._sums.copy()
