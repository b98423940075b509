"""Outcomes of tests of independence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from depmax._inputs.levels import warn_caller
from depmax._text import html_table, short_pvalue

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


@dataclass(frozen=True)
class IndependenceTest:
    """Outcome of a test of independence."""

    statistic: float  # HSIC₁ as observed; of many kernels, over all combinations, standardised
    pvalue: float
    method: str
    n_samples: int
    given: GivenFit | None = None  # what the confounders explain
    #: The statistic after random permutations, where there were any: what chance alone gives.
    permuted: np.ndarray | None = field(default=None, repr=False, compare=False)
    #: What ``statistic`` is.
    statistic_name: ClassVar[str] = "HSIC"

    @property
    def reliable(self) -> bool:
        """Whether the level can be relied on; only a test given confounders can say no.

        False where the regressions on the confounders need too many parameters for the rows, or
        their residuals still depend on the confounders: the p-value may be too small then.
        """
        return self.given is None or self.given.reliable

    def plot(self, ax: Any = None) -> Any:
        """Draw the statistic beside its values under permutations; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        NullDisplay

        Raises
        ------
        ValueError
            If the test made no permutations (``method="gamma"``).
        """
        from depmax.plotting import NullDisplay

        if self.permuted is None:
            raise ValueError(
                f"The p-value came from method={self.method!r}, without permutations to draw: use "
                'hsic_test(..., method="permutation").'
            )
        display = NullDisplay(self.statistic, self.permuted, self.pvalue, self.statistic_name)
        return display.plot(ax=ax)

    def _repr_html_(self) -> str:
        """The outcome as a table, for notebooks."""
        row = (
            f"{self.statistic:.3g}",
            short_pvalue(self.pvalue),
            self.method,
            f"{self.n_samples:,}",
        )
        return html_table(
            (self.statistic_name, "p", "method", "rows"), [row], "Test of independence"
        )


@dataclass(frozen=True, kw_only=True)
class AggregateTest(IndependenceTest):
    """Outcome of a test with many kernels, with an account of which of them spoke.

    Attributes
    ----------
    kernels, target_kernels : tuple of str
        The kernels of X and of y.
    standardized : ndarray of shape (n_kernels, n_target_kernels)
        HSIC of every pair of kernels alone, in standard deviations of its law over permutations.
    """

    kernels: tuple[str, ...]
    target_kernels: tuple[str, ...]
    standardized: np.ndarray = field(repr=False, compare=False)
    statistic_name: ClassVar[str] = "standardized HSIC"

    @property
    def contributions(self) -> np.ndarray:
        """Share of each pair of kernels in what was seen: the squares of positive ``standardized``.

        They add up to 1, or are 0 where no pair saw anything.
        """
        squares = np.maximum(self.standardized, 0.0) ** 2
        total = float(squares.sum())
        return squares / total if total > 0 else squares
