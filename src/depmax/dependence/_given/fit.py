"""What confounders explain, and what cannot be asked for beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from depmax._inputs.objects import warn_caller

#: Standard errors above which what both regressions may have missed is told.
DOUBTFUL = 1.5


@dataclass(frozen=True)
class GivenFit:
    """What the confounders explain, as shares of the variance of rows left out."""

    explained_x: Any  # a number; for a screening an array, one per column
    explained_y: float
    #: What both regressions may have missed alike, in standard errors of a dependence: √(k_x k_y/m)
    #: with k parameters each. The best penalty balances squared bias and variance k/m, so that
    #: a part of about k/m of each residual is bias, in the worst case the same on both sides.
    doubt: float
    #: Whether residuals of both sides still depend on the confounders: waves that no regression
    #: has removed from X, and from y, each at the level 0.01.
    missed: bool = False

    @property
    def reliable(self) -> bool:
        """Whether nothing speaks against the level of the test."""
        return self.doubt <= DOUBTFUL and not self.missed

    def warn(self) -> None:
        """Say where the regressions missed too much for the level to hold."""
        if self.missed:
            warn_caller(
                "The residuals of X and of y still depend on given: no regression found all of "
                "what it explains, the level of the test cannot be held, and the p-value may be "
                "too small. More rows, or confounders in which the relation is simpler, help.",
                UserWarning,
            )
        elif self.doubt > DOUBTFUL:
            warn_caller(
                "The regressions on given need many parameters for so few rows (doubt = "
                f"{self.doubt:.1f}, above {DOUBTFUL:g}): what they miss may be the same for X and "
                "y, and the p-value too small. More rows, fewer confounders or simpler ones "
                "(logarithms, merged levels) help.",
                UserWarning,
            )


def refuse_with_given(groups: Any) -> None:
    """Refuse groups beside confounders."""
    if groups is not None:
        raise ValueError(
            "groups and given cannot be combined: regressions on given are chosen by leaving out "
            "single rows, and rows of the same group would predict each other, so that neither the "
            "residuals nor their signs could be trusted. Test without given, or on one row (or the "
            "means) of each group."
        )
