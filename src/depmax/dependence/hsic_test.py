"""Tests of independence with HSIC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from depmax import _limits
from depmax.data.checks import require_equal_length, require_samples
from depmax.data.reading import read_sample, read_target_sample, refuse_streamed_target
from depmax.data.sample import Sample, weigh
from depmax.data.stream import refuse_with_streams
from depmax.data.table import is_streamed
from depmax.dependence._given.conditional import Conditional, read_conditional
from depmax.dependence._nulls.aggregate import (
    Family,
    combine,
    family_of,
    family_of_target,
    is_auto,
    is_several,
)
from depmax.dependence._nulls.law import permutation_law
from depmax.dependence._nulls.neighbours import warn_of_neighbours
from depmax.dependence._nulls.permutation import (
    SLACK,
    count_at_least,
    permuted_statistics,
    slack_of,
)
from depmax.dependence._nulls.rare import Levels, counted_pvalue, is_out_of_range, spread_of
from depmax.dependence._nulls.weighted import refuse_with_weights, weighted_sides
from depmax.dependence._terms import self_and_cross_terms, terms
from depmax.dependence.exchange import Plan, plan_of
from depmax.dependence.independence_test import (
    AggregateTest,
    GivenFit,
    IndependenceTest,
)
from depmax.dependence.resolve import refuse_to_choose
from depmax.kernels import KernelLike

#: Rows up to which many kernels are compared under ``groups=``, where whole matrices are held.
GROUPED_ROWS = 2000
#: Seconds for a pair of rows with eight kernels on either side, on one core, as measured with
#: 10,000 rows.
SECONDS_PER_PAIR = 2.5e-7
#: The same with one kernel on either side.
SECONDS_PER_PERMUTED_PAIR = 2.2e-8


def hsic_test(
    X: Any,
    y: Any = None,
    *,
    kernel: KernelLike | Sequence[KernelLike] | Literal["auto"] = "auto",
    target_kernel: KernelLike | Sequence[KernelLike] | Literal["auto"] = "auto",
    method: Literal["aggregate", "permutation", "gamma"] = "aggregate",
    n_permutations: int = 1000,
    groups: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    given: Any = None,
    sample_weight: Any = None,
) -> IndependenceTest:
    """Test whether X and y are independent.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, objects the kernel compares, or a scan
        For a scan or a Dask collection, see the notes.
    y : target: labels, numbers, several columns, or objects
    kernel, target_kernel : kernel, name, sequence of these, or "auto", default="auto"
        ``"auto"`` for numbers: with ``method="aggregate"`` eight kernels (linear, Gaussian with
        1/32 to 2 times the median distance as bandwidth, Laplace, Gaussian of ranks), otherwise the
        Gaussian one; classes and labels have their own kernel. A kernel that you pass is used
        alone, several are used together. ``bandwidth="maximize"`` is refused, because it would
        choose a kernel by the very dependence that is tested.
    method : {"aggregate", "permutation", "gamma"}, default="aggregate"
        ``"aggregate"`` looks for the combinations of kernels of X and of y with the largest HSIC,
        in standard deviations of its distribution under permutations, and does the same after every
        permutation, so the p-value (1 + b)/(1 + B) is exact for any sample size. With one kernel on
        each side it is the same as ``"permutation"``. ``"permutation"`` compares unbiased HSIC of
        one kernel each with its values after random permutations of y: exact as well, for any
        kernel that was not chosen by the pairing of X and y, and several times as fast. ``"gamma"``
        uses the gamma distribution (Pearson's type III) with the exact mean, variance and skewness
        over all permutations, and beyond one standard deviation a chi-square mixture with the same
        moments: it needs no permutations, and p-values can be arbitrarily small. With more than 768
        distinct values, skewness and mixture come from a random subset of rows. If this
        approximation is not reliable, the ``method`` of the result says what was done instead:
        ``"counts"`` (X and y have two values each: exact, hypergeometric) or ``"permutation"``
        (rare values or outliers decide on both sides, or a skewness above 3).
    n_permutations : int, default=1000
    groups : array-like of shape (n_samples,), WholeGroups, WithinGroups or Shifts, optional
        For rows that are not independent. Labels (of patients, litters, …) keep the rows of a group
        together and exchange whole groups; :class:`depmax.WithinGroups` exchanges the rows of each
        group, and :class:`depmax.Shifts` shifts a time series. Not with ``method="gamma"``; many
        kernels are compared for up to 2,000 rows, beyond that one on each side.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads; the p-value does not depend on it.
    given : array-like, series or data frame, optional
        Confounders Z, numbers and categories: test whether X and y are independent *given* Z. What
        Z explains of X and of y is removed by regressions, chosen by leave-one-out error; the
        p-value comes from random signs of the residuals of X (reported as ``"wild bootstrap"``) or,
        for ``"gamma"``, from the distribution of the statistic over these signs. One kernel on each
        side (``"auto"`` is Gaussian) gives the ``statistic``; with ``"aggregate"`` and kernels left
        at ``"auto"``, the p-value is that of the largest of three standardised statistics: of these
        kernels, of products of the residuals themselves, and of such products that vary with Z. It
        is only as good as the regressions: ``given`` of the result says what they explain; if they
        need more rows, or if their residuals still depend on Z, a warning appears and ``reliable``
        of the result is False. Time is linear in the rows. With labels of ``groups``, at least 20
        of them, regressions are chosen by leaving out whole groups, and the rows of a group have
        one sign; :class:`depmax.WithinGroups` and :class:`depmax.Shifts` are refused.
    sample_weight : array-like of shape (n_samples,), optional
        Weights that belong to the rows of X, such as those of a survey or of a shift in X: y is
        permuted against rows and weights together, which is exact if y is independent of both.
        Weights that each value of y has one of (class weights) belong to y, and X is permuted. Not
        valid for other weights derived from y (of numbers: exchange X and y), nor for counts of
        equal rows: repeat these. Not with ``groups``, ``given`` or ``method="gamma"``.

    Returns
    -------
    IndependenceTest
        With ``statistic`` (unbiased HSIC), ``pvalue``, ``method`` (the one behind the p-value) and
        ``n_samples``. For ``"aggregate"`` an :class:`AggregateTest`: ``statistic`` is the
        standardised HSIC of the best combinations of kernels (a soft maximum), and ``kernels``,
        ``target_kernels``, ``standardized`` and ``contributions`` say which kernels detected the
        dependence. With confounders also ``given`` (``explained_x``, ``explained_y``, ``doubt``,
        ``missed``) and ``reliable``.

    Notes
    -----
    Memory is linear in the rows, time quadratic: numbers with numbers took 0.2 s for 500 rows, 1.3
    s for 2,000 and 3.5 s for 4,000 on one core with ``"aggregate"``, a tenth of it with
    ``"permutation"``. For hundreds of thousands of rows, use kernels with coordinates, such as
    ``kernel=NystroemMap()`` on both sides, whose permutations take time linear in the rows.

    All rows of a table that is read a chunk at a time (:func:`depmax.scan`, Dask) are tested by
    ``method="gamma"``, with a map or the linear kernel on X, or any kernel if X has one column.
    Permutations need rows in memory: ``"aggregate"`` uses 4,000 rows, drawn with a fixed seed, and
    ``"permutation"`` 20,000; ``method`` and ``n_samples`` of the result say so.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import hsic_test
    >>> x = np.random.default_rng(0).normal(size=100)
    >>> test = hsic_test(x, x**2, random_state=0)
    >>> test.pvalue < 0.01
    True
    >>> test.contributions.shape == (len(test.kernels), len(test.target_kernels))
    True

    Two effects of one cause, and the cause given:

    >>> z, a, b = np.random.default_rng(0).normal(size=(3, 200))
    >>> x, y = np.sin(2 * z) + 0.5 * a, np.sin(2 * z) + z + 0.5 * b
    >>> hsic_test(x, y, random_state=0).pvalue < 0.01
    True
    >>> hsic_test(x, y, given=z, random_state=0).pvalue > 0.05
    True
    """
    if sample_weight is not None:
        refuse_with_weights(groups, given, method)
        x, y_family = _weighed_families(X, y, kernel, target_kernel, sample_weight, method)
        if len(x.sides) > 1 or len(y_family.sides) > 1:
            return _aggregate_test(x, y_family, n_permutations, random_state, n_jobs, None)
        return _permutation_test(
            x.sides[0], y_family.sides[0], n_permutations, random_state, n_jobs
        )
    if is_streamed(X):
        from depmax.dependence._nulls.streamed_test import streamed_test

        refuse_with_streams("hsic_test", groups=groups, given=given)
        options = {"n_permutations": n_permutations, "random_state": random_state, "n_jobs": n_jobs}
        return streamed_test(hsic_test, X, y, kernel, target_kernel, method, options)
    refuse_streamed_target(X, y)
    if given is not None:
        one, of_y = (
            _one_kernel(each, name, "given")
            for each, name in (
                (_gaussian_if_auto(kernel), "kernel"),
                (target_kernel, "target_kernel"),
            )
        )
        linear = method == "aggregate" and is_auto(kernel) and is_auto(target_kernel)
        conditional, fit = read_conditional(
            X, y, given, one, of_y, _refuse_to_choose, linear, groups
        )
        return _conditional_test(conditional, fit, method, n_permutations, random_state)
    if method == "aggregate":
        x, y_family = family_of(X, kernel), family_of_target(y, target_kernel)
        _require_rows(x.n_samples, y_family.n_samples)
        plan = _plan(groups, x.sides[0], y_family.sides[0])
        if len(x.sides) > 1 or len(y_family.sides) > 1:
            return _aggregate_test(x, y_family, n_permutations, random_state, n_jobs, plan)
        return _permutation_test(
            x.sides[0], y_family.sides[0], n_permutations, random_state, n_jobs, plan
        )
    y_sample = read_target_sample(
        y, _one_kernel(target_kernel, "target_kernel", f"method={method!r}")
    )
    one = _one_kernel(_gaussian_if_auto(kernel), "kernel", f"method={method!r}")
    x_sample = read_sample(X, one, choose=_refuse_to_choose)
    _require_rows(x_sample.n_samples, y_sample.n_samples)
    plan = _plan(groups, x_sample, y_sample)
    if method == "permutation":
        return _permutation_test(x_sample, y_sample, n_permutations, random_state, n_jobs, plan)
    if method == "gamma" and plan is not None:
        raise ValueError(
            "method='gamma' assumes that rows are independent: with groups, omit method or pass "
            "method='permutation'."
        )
    if method == "gamma":
        return _gamma_test(x_sample, y_sample, n_permutations, random_state, n_jobs)
    raise ValueError(f"method must be 'aggregate', 'permutation' or 'gamma', got {method!r}.")


# --- which kernels --------------------------------------------------------------------------------
def _gaussian_if_auto(kernel: Any) -> Any:
    return "gaussian" if is_auto(kernel) else kernel


def _one_kernel(kernel: Any, name: str, method: str) -> Any:
    """The kernel of a test that has one on each side."""
    if is_several(kernel):
        raise ValueError(
            f"{name} has {len(kernel)} kernels, and {method} compares one on each side: pass one, "
            "or use method='aggregate' without given."
        )
    return kernel


def _require_rows(n_x: int, n_y: int) -> None:
    require_equal_length(n_x, n_y)
    require_samples(n_x, unbiased=True)


def _plan(groups: Any, x: Sample, y: Sample) -> Plan | None:
    """What may be exchanged; of rows that count as independent, a warning if they hardly are."""
    if groups is None:
        warn_of_neighbours(x.rows, y.rows)
        return None
    return plan_of(groups, x.n_samples, y.rows, x.rows)


def _weighed_families(
    X: Any, y: Any, kernel: Any, target_kernel: Any, sample_weight: Any, method: str
) -> tuple[Family, Family]:
    """Weighted images of X, kernel by kernel, and y, of the rows that have a weight."""
    weighed = weigh(sample_weight, X, y)
    if method == "permutation":
        kernel = _one_kernel(_gaussian_if_auto(kernel), "kernel", f"method={method!r}")
        one = _one_kernel(target_kernel, "target_kernel", f"method={method!r}")
        of_y = Family.given([read_target_sample(weighed.of(y, one), one)])
    else:
        of_y = family_of_target(weighed.of(y, target_kernel), target_kernel)
    x = family_of(weighed.of(X, kernel), kernel)
    _require_rows(x.n_samples, of_y.n_samples)
    _plan(None, x.sides[0], of_y.sides[0])
    if len(x.sides) > 1 and x.n_samples > GROUPED_ROWS:
        raise ValueError(
            "method='aggregate' with sample_weight holds whole matrices of many kernels and takes "
            f"up to {GROUPED_ROWS} rows, got {x.n_samples}. Pass method='permutation'."
        )
    of_x, counted = weighted_sides(x.sides, of_y.sides, weighed.weight)
    return replace(x, sides=of_x), replace(of_y, sides=counted)


#: What ``bandwidth="maximize"`` comes to: a choice that the null law knows nothing of.
_refuse_to_choose = partial(refuse_to_choose, "hsic_test")


# --- the tests ------------------------------------------------------------------------------------
def _random(n_permutations: int, random_state: Any) -> np.random.Generator:
    if n_permutations < 1:
        raise ValueError(f"n_permutations must be at least 1, got {n_permutations}.")
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _aggregate_test(
    x: Family,
    y: Family,
    n_permutations: int,
    random_state: Any,
    n_jobs: int | None,
    plan: Plan | None,
) -> AggregateTest:
    if plan is not None:
        if len(plan.rows) > GROUPED_ROWS:
            raise ValueError(
                "method='aggregate' with groups holds whole matrices of many kernels and takes up "
                f"to {GROUPED_ROWS} rows, got {len(plan.rows)}. Pass method='permutation'."
            )
        x, y = x.take(plan.rows), y.take(plan.rows)
    _warn_of_time(x, y)
    rng = _random(n_permutations, random_state)
    found = combine(x, y, n_permutations, rng, effective_n_jobs(n_jobs), plan)
    reached = count_at_least(found.observed, found.permuted, found.slack)
    return AggregateTest(
        statistic=found.observed,
        pvalue=(1 + reached) / (1 + n_permutations),
        method="aggregate",
        n_samples=x.n_samples,
        permuted=found.permuted,
        exchangeable=plan is None or plan.reliable,
        kernels=x.names,
        target_kernels=y.names,
        standardized=found.z,
    )


def _warn_of_time(x: Family, y: Family) -> None:
    """Warn how long many kernels of many rows take, before they are computed."""
    share = (len(x.sides) + len(y.sides)) / 16
    seconds = share * SECONDS_PER_PAIR * x.n_samples**2
    if seconds > _limits.LONG and not all(side.is_narrow for side in (*x.sides, *y.sides)):
        _limits.warn_if_long(
            f"method='aggregate' on all pairs of {x.n_samples:,} rows, with {len(x.sides)} kernels "
            f"of X and {len(y.sides)} of y,",
            seconds,
        )


def _permutation_test(
    x: Sample,
    y: Sample,
    n_permutations: int,
    random_state: Any,
    n_jobs: int | None,
    plan: Plan | None = None,
) -> IndependenceTest:
    if plan is not None and not plan.is_whole:
        x, y = x.take(plan.rows), y.take(plan.rows)
    rng = _random(n_permutations, random_state)
    seconds = SECONDS_PER_PERMUTED_PAIR * x.n_samples**2
    if seconds > _limits.LONG and not (x.is_narrow and y.is_narrow):
        what = f"Permuting kernel values of all pairs of {x.n_samples:,} rows"
        _limits.warn_if_long(what, seconds)
    observed, permuted = permuted_statistics(
        x, y, n_permutations, rng, effective_n_jobs(n_jobs), plan
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
        exchangeable=plan is None or plan.reliable,
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
    if is_out_of_range(law, levels_x, levels_y, m):
        return _permutation_test(x, y, n_permutations, random_state, n_jobs)
    return IndependenceTest(statistic, law.sf(statistic), "gamma", m)


def _conditional_test(
    conditional: Conditional,
    fit: GivenFit,
    method: str,
    n_permutations: int,
    random_state: Any,
) -> IndependenceTest:
    """By random signs of residuals, or by the law of these."""
    fit.warn()
    if method in ("aggregate", "permutation"):
        if n_permutations < 1:
            raise ValueError(f"n_permutations must be at least 1, got {n_permutations}.")
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        pvalue = conditional.signed_pvalue(n_permutations, np.random.default_rng(seed))
        name = "wild bootstrap"
    elif method == "gamma":
        pvalue, name = conditional.law_pvalue(), "gamma"
    else:
        raise ValueError(f"With given, method must be 'permutation' or 'gamma', got {method!r}.")
    return IndependenceTest(conditional.hsic(), pvalue, name, conditional.n_samples, fit)
