"""Terms → numbers: the three sums behind HSIC, and the two estimators made of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Terms:
    """The sums over two kernel matrices from which HSIC follows.

    Whether they come from Gram matrices, from tiles of them or from moments of maps, the measure
    cannot tell.
    """

    n_samples: int
    inner: float  # tr KL
    middle: float  # 1ᵀKL1
    outer: float  # 1ᵀK1 · 1ᵀL1
    zero_diagonal: bool  # whether the diagonals of K and L count as zero (K̃, L̃)

    def hsic(self) -> float:
        """HSIC₁ from terms without diagonals, HSIC₀ from terms with them."""
        m = self.n_samples
        if self.zero_diagonal:
            total = self.inner + self.outer / ((m - 1) * (m - 2)) - 2 * self.middle / (m - 2)
            return total / (m * (m - 3))
        return (self.inner - 2 * self.middle / m + self.outer / m**2) / (m - 1) ** 2


#: Fewest samples for which each estimator is defined.
MINIMUM = {True: 4, False: 2}


def require_samples(n_samples: int, unbiased: bool) -> None:
    """Refuse samples too few for the estimator."""
    if n_samples < MINIMUM[unbiased]:
        which = "unbiased" if unbiased else "biased"
        raise ValueError(
            f"The {which} estimator needs at least {MINIMUM[unbiased]} samples, got n_samples = "
            f"{n_samples}."
        )
