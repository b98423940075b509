"""Tests of independence with HSIC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from depmax._text import html_table, short_pvalue
from depmax.dependence._nulls.law import permutation_law
from depmax.dependence._nulls.permutation import (
    SLACK,
    count_at_least,
    permuted_statistics,
    slack_of,
)
from depmax.dependence._nulls.rare import Levels, counted_pvalue, is_out_of_range, spread_of
from depmax.dependence._terms import self_and_cross_terms, terms
from depmax.kernels import KernelLike
from depmax.kernels.kernel import Kernel
from depmax.samples import (
    Sample,
    read_sample,
    read_target_sample,
    require_equal_length,
    require_samples,
)


@dataclass(frozen=True)
class IndependenceTest:
    """Outcome of a test of independence."""

    statistic: float  # HSIC₁ as observed
    pvalue: float
    method: str
    n_samples: int
    #: The statistic after random permutations, where there were any: what chance alone gives.
    permuted: np.ndarray | None = field(default=None, repr=False, compare=False)

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
        return NullDisplay(self.statistic, self.permuted, self.pvalue).plot(ax=ax)

    def _repr_html_(self) -> str:
        """The outcome as a table, for notebooks."""
        row = (
            f"{self.statistic:.3g}",
            short_pvalue(self.pvalue),
            self.method,
            f"{self.n_samples:,}",
        )
        return html_table(("HSIC", "p", "method", "rows"), [row], "Test of independence")


def hsic_test(
    X: Any,
    y: Any,
    *,
    kernel: KernelLike = "gaussian",
    target_kernel: KernelLike | Literal["auto"] = "auto",
    method: Literal["permutation", "gamma"] = "permutation",
    n_permutations: int = 1000,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> IndependenceTest:
    """Test whether X and y are independent.

    Parameters
    ----------
    X, y, kernel, target_kernel
        As in :func:`depmax.hsic`, except ``bandwidth="maximize"``, which would choose a kernel by
        the very dependence that is tested: choose it on other rows with :func:`depmax.resolve`.
    method : {"permutation", "gamma"}, default="permutation"
        ``"permutation"`` compares unbiased HSIC with its values after random permutations of y;
        the p-value (1 + b)/(1 + B) is exact for any sample size and any kernel that was not chosen
        by the pairing of X and y.
        ``"gamma"`` takes the gamma law (Pearson's type III) with the exact mean, variance and
        skewness of all permutations, and beyond one standard deviation a chi-square mixture with
        the same moments: no repetition, any number of digits. Beyond 768 samples with as many
        values skewness and mixture come from a random subset of rows. Where the law is out of its
        range the outcome's ``method`` says what was done instead: ``"counts"`` (X and y have two
        values each: exact, hypergeometric) or ``"permutation"`` (rare values on both sides, or a
        skewness above 3).
    n_permutations : int, default=1000
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads; the p-value does not depend on it.

    Returns
    -------
    IndependenceTest
        With ``statistic`` (unbiased HSIC), ``pvalue``, ``method`` (the one that gave the p-value)
        and ``n_samples``.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import hsic_test
    >>> x = np.random.default_rng(0).normal(size=100)
    >>> hsic_test(x, x**2, random_state=0).pvalue < 0.01
    True
    """
    y_sample = read_target_sample(y, target_kernel)
    x_sample = read_sample(X, kernel, choose=_refuse_to_choose)
    require_equal_length(x_sample.n_samples, y_sample.n_samples)
    require_samples(x_sample.n_samples, unbiased=True)
    if method == "permutation":
        return _permutation_test(x_sample, y_sample, n_permutations, random_state, n_jobs)
    if method == "gamma":
        return _gamma_test(x_sample, y_sample, n_permutations, random_state, n_jobs)
    raise ValueError(f"method must be 'permutation' or 'gamma', got {method!r}.")


def _refuse_to_choose(candidates: Sequence[Kernel], X: Any) -> Kernel:
    """What ``bandwidth="maximize"`` comes to: a choice that the null law knows nothing of."""
    raise ValueError(
        f'hsic_test does not take bandwidth="maximize" of {type(candidates[0]).__name__}: a kernel '
        "chosen for its dependence on the rows that are tested rejects too often. Choose it on "
        "other rows, kernel=depmax.resolve(kernel, X[:half], y[:half]), and test on X[half:], "
        "y[half:]; or use bandwidth='median'."
    )


def _permutation_test(
    x: Sample, y: Sample, n_permutations: int, random_state: Any, n_jobs: int | None
) -> IndependenceTest:
    if n_permutations < 1:
        raise ValueError(f"n_permutations must be at least 1, got {n_permutations}.")
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    observed, permuted = permuted_statistics(
        x, y, n_permutations, np.random.default_rng(seed), effective_n_jobs(n_jobs)
    )
    slack = slack_of(x, y)
    reached = count_at_least(observed, permuted, slack)
    if slack > SLACK:  # the comparison needs single precision only, the reported value more
        observed = terms(x, y, unbiased=True, n_jobs=effective_n_jobs(n_jobs)).hsic()
    return IndependenceTest(
        statistic=observed,
        pvalue=(1 + reached) / (1 + n_permutations),
        method="permutation",
        n_samples=x.n_samples,
        permuted=permuted,
    )


def _gamma_test(
    x: Sample, y: Sample, n_permutations: int, random_state: Any, n_jobs: int | None
) -> IndependenceTest:
    m, threads = x.n_samples, effective_n_jobs(n_jobs)
    of_x, of_y, cross = self_and_cross_terms(x, y, threads)
    scale = m * (m - 3)
    levels_x, levels_y = Levels.of(x), Levels.of(y)
    law = permutation_law(
        spread_of(x, levels_x, scale * of_x.hsic()),
        spread_of(y, levels_y, scale * of_y.hsic()),
        n_samples=m,
    )
    statistic = cross.hsic()
    counted = counted_pvalue(levels_x, levels_y)
    if counted is not None:
        return IndependenceTest(statistic, counted, "counts", m)
    if is_out_of_range(law, levels_x, levels_y):
        return _permutation_test(x, y, n_permutations, random_state, n_jobs)
    return IndependenceTest(statistic, law.sf(statistic), "gamma", m)
