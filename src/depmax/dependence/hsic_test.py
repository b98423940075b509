"""Tests of independence with HSIC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.utils import check_random_state

from depmax import _resources
from depmax._extras import make_frame
from depmax.data import Table, read_table, read_target
from depmax.data.sample import (
    Sample,
    aligned,
    read_sample,
    read_target_sample,
    refuse_streamed_target,
    require_finite_values,
    require_samples,
    sample_of_table,
    table_of_stream,
    target_sample,
    warn_of_outputs,
)
from depmax.data.stream import refuse_with_streams
from depmax.data.table import (
    is_streamed,
    require_equal_length,
    warn_of_scales,
    without_groups,
)
from depmax.data.weights import weigh
from depmax.dependence._given.conditional import read_conditional
from depmax.dependence._nulls.law import (
    SKEWNESS_ROWS,
    Levels,
    Spread,
    counted_pvalue,
    is_out_of_range,
    permutation_law,
    spread,
    spread_of_levels,
)
from depmax.dependence._nulls.permutation import (
    DOUBLE_ROWS,
    SINGLE_SLACK,
    SLACK,
    count_at_least,
    permuted_statistics,
    permuted_table,
    slack_of,
)
from depmax.dependence._nulls.weighted import weighted_sides
from depmax.dependence._terms import self_and_cross_terms, terms
from depmax.dependence.exchange import PermutationScheme, scheme_of, warn_of_neighbours
from depmax.dependence.independence_test import AggregateTest, IndependenceTest
from depmax.dependence.resolve import read_pair, refuse_to_choose
from depmax.kernels import Gaussian, KernelLike, Laplace, Linear, as_kernel
from depmax.kernels.kernel import Kernel

#: Rows of a table that is read a chunk at a time that permutations are made of, drawn with a fixed
#: seed where there are more.
SAMPLED_ROWS = {"aggregate": 4_000, "permutation": 20_000}
#: Rows up to which many kernels are compared where whole matrices of them are held: with groups,
#: and with weights.
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
    groups : array-like of shape (n_samples,), str, WholeGroups, WithinGroups or Shifts, optional
        For rows that are not independent. Labels (of patients, litters, …), or the name of a column
        of X that holds them and is then no feature, keep the rows of a group
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
    if method not in ("aggregate", "permutation", "gamma"):
        raise ValueError(f"method must be 'aggregate', 'permutation' or 'gamma', got {method!r}.")
    if sample_weight is not None:
        for name, value in (("groups", groups), ("given", given)):
            if value is not None:
                raise ValueError(f"hsic_test takes sample_weight or {name}, not both.")
        if method == "gamma":
            raise ValueError(
                "With sample_weight, method must be 'aggregate' or 'permutation', got 'gamma'."
            )
    how = _How(
        kernel, target_kernel, method, n_permutations, random_state, effective_n_jobs(n_jobs)
    )
    if sample_weight is None and is_streamed(X):
        refuse_with_streams("hsic_test", groups=groups, given=given)
        return how.of_stream(X, y)
    if sample_weight is None:
        refuse_streamed_target(X, y)
    X, groups = without_groups(X, groups)
    if given is not None:
        return how.of_residuals(X, y, given, groups)
    return how.of_rows(X, y, groups, sample_weight)


@dataclass(frozen=True)
class _How:
    """How a test is made: kernels, the method, and random draws."""

    kernel: Any
    target_kernel: Any
    method: str
    n_permutations: int
    random_state: Any
    n_jobs: int

    def generator(self) -> np.random.Generator:
        """The source of all permutations of a test."""
        if self.n_permutations < 1:
            raise ValueError(f"n_permutations must be at least 1, got {self.n_permutations}.")
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return np.random.default_rng(seed)

    def of_rows(
        self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None
    ) -> IndependenceTest:
        """The test of rows in memory: read, weighted, and permuted as their groups allow."""
        weighed = None if sample_weight is None else weigh(sample_weight, X, y)
        if weighed is not None:
            X, y = weighed.of(X, self.kernel), weighed.of(y, self.target_kernel)
        of_y = family_of(y, self.target_kernel, self.method, is_target=True)
        x = family_of(X, self.kernel, self.method)
        m = x.n_samples
        require_equal_length(m, of_y.n_samples)
        require_samples(m, unbiased=True)
        scheme = scheme_of(groups, m, of_y.sides[0].rows, x.sides[0].rows)
        m, held_for = len(scheme.rows), None if scheme.is_free else "groups"
        if scheme.is_free:
            warn_of_neighbours(x.sides[0].rows, of_y.sides[0].rows)
        elif self.method == "gamma":
            raise ValueError(
                "method='gamma' assumes that rows are independent: with groups, omit method or "
                "pass method='permutation'."
            )
        several = len(x.sides) > 1 or len(of_y.sides) > 1
        held_for = "sample_weight" if weighed is not None and len(x.sides) > 1 else held_for
        if several and held_for is not None and m > GROUPED_ROWS:
            raise ValueError(
                f"method='aggregate' with {held_for} holds whole matrices of many kernels and "
                f"takes up to {GROUPED_ROWS} rows, got {m}. Pass method='permutation'."
            )
        if weighed is not None:
            of_x, counted = weighted_sides(x.sides, of_y.sides, weighed.weight)
            x, of_y = replace(x, sides=of_x), replace(of_y, sides=counted)
        if not scheme.is_whole:
            x, of_y = x.take(scheme.rows), of_y.take(scheme.rows)
        if several:
            return self._many(x, of_y, scheme)
        pair = x.sides[0], of_y.sides[0]
        found = _by_law(*pair, self.n_jobs) if self.method == "gamma" else None
        return found or self._one(*pair, scheme)

    def _many(self, x: Family, y: Family, scheme: PermutationScheme) -> AggregateTest:
        """Many kernels, each permuted alike."""
        if not all(side.is_narrow for side in (*x.sides, *y.sides)):
            share = (len(x.sides) + len(y.sides)) / 16
            what = (
                f"method='aggregate' on all pairs of {x.n_samples:,} rows, with {len(x.sides)} "
                f"kernels of X and {len(y.sides)} of y,"
            )
            _resources.warn_if_long(what, share * SECONDS_PER_PAIR * x.n_samples**2)
        found = combine(x, y, self.n_permutations, self.generator(), scheme, self.n_jobs)
        reached = count_at_least(found.observed, found.permuted, found.slack)
        return AggregateTest(
            statistic=found.observed,
            pvalue=(1 + reached) / (1 + self.n_permutations),
            method="aggregate",
            n_samples=x.n_samples,
            permuted=found.permuted,
            exchangeable=scheme.reliable,
            kernels=x.names,
            target_kernels=y.names,
            standardized=found.z,
        )

    def _one(self, x: Sample, y: Sample, scheme: PermutationScheme) -> IndependenceTest:
        """One kernel each."""
        rng = self.generator()
        if not (x.is_narrow and y.is_narrow):
            what = f"Permuting kernel values of all pairs of {x.n_samples:,} rows"
            _resources.warn_if_long(what, SECONDS_PER_PERMUTED_PAIR * x.n_samples**2)
        observed, permuted = permuted_statistics(
            x, y, self.n_permutations, rng, scheme, self.n_jobs
        )
        slack = slack_of(x, y)
        reached = count_at_least(observed, permuted, slack)
        if slack > SLACK:  # the comparison needs single precision only, the reported value more
            observed = terms(x, y, unbiased=True, n_jobs=self.n_jobs).hsic()
        return IndependenceTest(
            statistic=observed,
            pvalue=(1 + reached) / (1 + self.n_permutations),
            method="permutation",
            n_samples=x.n_samples,
            permuted=permuted,
            exchangeable=scheme.reliable,
        )

    def of_residuals(self, X: Any, y: Any, given: Any, groups: Any) -> IndependenceTest:
        """By random signs of what confounders leave, or by the law of these."""
        kernel, target_kernel, method = self.kernel, self.target_kernel, self.method
        found, fit = read_conditional(
            X,
            y,
            given,
            only_kernel(kernel, "kernel", "given"),
            only_kernel(target_kernel, "target_kernel", "given", auto="auto"),
            partial(refuse_to_choose, "hsic_test"),
            method == "aggregate" and is_auto(kernel) and is_auto(target_kernel),
            groups,
        )
        fit.warn()
        value, m = found.hsic(), found.n_samples
        if method == "gamma":
            return IndependenceTest(value, found.law_pvalue(), "gamma", m, fit)
        pvalue = found.signed_pvalue(self.n_permutations, self.generator())
        return IndependenceTest(value, pvalue, "wild bootstrap", m, fit)

    def of_stream(self, X: Any, y: Any) -> IndependenceTest:
        """Of rows that are read a chunk at a time: the law of all, or permutations of some."""
        inputs, target = aligned(X, y)
        if target is None:
            raise ValueError("hsic_test requires y: pass target= to depmax.scan.")
        how = self
        if self.method == "gamma":
            one = only_kernel(self.kernel, "kernel", "method='gamma'")
            by_law = _law_of_stream(inputs, target, one, self.target_kernel)
            if by_law is not None:
                return by_law
            how = replace(self, method="permutation")
        found = how.of_rows(*_some_rows(inputs, how.method))
        if found.n_samples == inputs.shape[0]:
            return found
        said = f"{found.method} ({found.n_samples:,} of {inputs.shape[0]:,} rows)"
        return replace(found, method=said)


def _by_law(x: Sample, y: Sample, n_jobs: int = 1) -> IndependenceTest | None:
    """By counts or the law of permutations; None if that is not reliable."""
    m = x.n_samples
    of_x, of_y, cross = (each.hsic() for each in self_and_cross_terms(x, y, n_jobs))
    levels_x, levels_y = Levels.of(x), Levels.of(y)
    spread_x = spread(x, m * (m - 3) * of_x, levels_x)
    spread_y = _spread_of_values(y) or spread(y, m * (m - 3) * of_y, levels_y)
    law = permutation_law(spread_x, spread_y, n_samples=m)
    counted = counted_pvalue(levels_x, levels_y)
    if counted is not None:
        return IndependenceTest(cross, counted, "counts", m)
    counts = [None if each is None else each.counts for each in (levels_x, levels_y)]
    if is_out_of_range(law, m, *counts):
        return None
    return IndependenceTest(cross, law.sf(cross), "gamma", m)


def _spread_of_values(y: Sample) -> Spread | None:
    """Spread of a streamed target with few values, from these; None of others."""
    distinct = y.rows.distinct if y.is_streamed else None
    if distinct is None or distinct[1] is None:
        return None
    values, counts = distinct
    if not len(values) <= SKEWNESS_ROWS < y.n_samples:
        return None
    return spread_of_levels(Sample(y.kernel, values).near_origin().gram(), counts)


def _law_of_stream(
    inputs: Any, target: Any, kernel: Any, target_kernel: Any
) -> IndependenceTest | None:
    """The test of all rows by the law of permutations; None if that is not reliable.

    Of one column by its counted values, with any kernel.
    """
    if inputs.shape[1] > 1:
        x, y = read_pair(inputs, target, kernel, target_kernel)
        require_samples(x.n_samples, unbiased=True)
        return _by_law(x, y)
    from depmax.dependence._nulls.counted import CountedScreening, CountedTarget
    from depmax.dependence._nulls.screening import Asked

    side = read_target_sample(target, target_kernel)
    require_samples(side.n_samples, unbiased=True)
    recipe = as_kernel(kernel)
    resolved = sample_of_table(table_of_stream(inputs, recipe), recipe, scale_free=True).kernel
    counted = CountedScreening(Table(inputs), CountedTarget.of(side, 1e-12))
    (score, pvalue, *_), method = counted.judged(Asked(resolved), 0)
    return IndependenceTest(score, pvalue, method, side.n_samples)


def _some_rows(inputs: Any, method: str) -> tuple[Any, Any]:
    """Rows of X and y in memory, as many as a method permutes."""
    x, y = inputs.some(SAMPLED_ROWS[method])
    decoder = inputs.stream.decoder
    if decoder.categories:
        levels = {place: np.array(found) for place, found in decoder.categories.items()}
        columns = enumerate(x.T)
        x = make_frame(
            {
                name: levels[place][codes.astype(int)] if place in levels else codes
                for name, (place, codes) in zip(decoder.names, columns, strict=True)
            }
        )
    return x, y


# --- many kernels in one test: standardised HSIC over all their combinations ----------------------
# Let z_kl(π) be HSIC₁ of kernel k of x and kernel l of y after the permutation π, in standard
# deviations of its law over all permutations. Over these the covariance is a Kronecker product,
# cov(z_kl, z_k'l') = G_kk' H_ll' with G and H the cosines between the U-centred kernel matrices of
# each side. So over all combinations Σ a_k K_k and Σ b_l L_l the largest standardised HSIC is the
# largest singular value of G^{-1/2} Z H^{-1/2}, and the other singular values belong to
# combinations that are uncorrelated with it. The statistic is a soft maximum of them, (Σ σ⁴)^{1/4}:
# dependence that several combinations share is not lost. It is taken anew for every permutation.

#: Added to the cosines between kernels, so that their small differences are not blown up.
RIDGE = 0.01
#: Part of a kernel's mean square below which U-centring has left rounding only.
NOTHING = 1e-12
#: By how much combining kernels may amplify rounding.
AMPLIFIED = 1.0 / RIDGE


#: Kernels of numbers: name, recipe, multiples of its bandwidth (the median distance between rows),
#: and whether it compares the ranks of every column instead of its values. Chosen on ten of hyppo's
#: twenty simulations and four shapes of our own; see docs/mathematics.
MEMBERS: tuple[tuple[str, Kernel, tuple[float, ...], bool], ...] = (
    ("Linear", Linear(), (), False),
    ("Gaussian", Gaussian(), (1 / 32, 1 / 8, 1 / 2, 2.0), False),
    ("Laplace", Laplace(), (), False),
    ("Gaussian of ranks", Gaussian(), (1 / 8, 1 / 2), True),
)


@dataclass(frozen=True)
class Family:
    """Kernels on the rows of one side."""

    names: tuple[str, ...]
    sides: tuple[Sample, ...]

    @classmethod
    def given(cls, sides: Sequence[Sample]) -> Family:
        """Kernels that the caller chose."""
        return cls(tuple(repr(side.kernel) for side in sides), tuple(sides))

    @classmethod
    def of_table(cls, table: Table) -> Family:
        """Kernels of many widths for a table of numbers, and categories beside them."""
        found: list[tuple[str, Sample]] = []
        for name, recipe, multiples, of_ranks in MEMBERS:
            rows = table.ranked() if of_ranks else table
            if rows is None:  # categories only
                continue
            side = sample_of_table(rows, recipe, scale_free=True)
            kernel: Any = side.kernel
            found += (
                [(name, side)]
                if not multiples
                else [
                    (f"{name}, {Fraction(each)} median", replace(side, kernel=kernel.widened(each)))
                    for each in multiples
                ]
            )
        names, sides = zip(*found, strict=True)
        return cls(names, sides)

    @property
    def n_samples(self) -> int:
        """Number of rows m."""
        return self.sides[0].n_samples

    def take(self, rows: np.ndarray) -> Family:
        """These kernels on some of the rows."""
        return replace(self, sides=tuple(side.take(rows) for side in self.sides))

    def is_informative(self, squares: np.ndarray) -> np.ndarray:
        """Which kernels tell rows apart, from the squares ΣÃ² of their U-centred matrices."""
        means = np.array([np.abs(side.near_origin().diag()).mean() for side in self.sides])
        return np.asarray(squares > NOTHING * (means * self.n_samples) ** 2)


@dataclass(frozen=True)
class Combined:
    """Standardised statistics of all pairs of kernels, and the soft maximum of combinations."""

    z: np.ndarray  # as observed, zero where a kernel tells no rows apart; shape (n_x, n_y)
    observed: float
    permuted: np.ndarray  # the same of every permutation
    slack: float  # standard deviations within which two of them are ties, but for rounding


def combine(
    x: Family,
    y: Family,
    n_permutations: int,
    rng: np.random.Generator,
    scheme: PermutationScheme | None = None,
    n_jobs: int = 1,
) -> Combined:
    """Standardised HSIC over combinations of kernels, observed and permuted."""
    m = x.n_samples
    table = permuted_table(x.sides, y.sides, n_permutations, rng, scheme, n_jobs)
    require_finite_values(table.values)
    slack = AMPLIFIED * (SLACK if m <= DOUBLE_ROWS else SINGLE_SLACK)
    squares_x = np.diag(table.gram_x)
    squares_y = np.diagonal(table.gram_y, axis1=1, axis2=2)  # shape (1 or 1 + n, n_y)
    kept_x, kept_y = x.is_informative(squares_x), y.is_informative(squares_y[0])
    z = np.zeros((len(x.sides), len(y.sides)))
    if not kept_x.any() or not kept_y.any():
        return Combined(z, 0.0, np.zeros(n_permutations), slack)
    scales_x = np.sqrt(squares_x[kept_x])
    floor = np.sqrt(NOTHING * squares_y[0, kept_y])  # of orders that repeat one value
    scales_y = np.maximum(np.sqrt(squares_y[:, kept_y]), floor)
    # ΣÃB̃ has mean 0 and variance 2 ΣÃ² ΣB̃² / (m (m - 3)) over all permutations
    values = table.values[:, kept_x][:, :, kept_y] * np.sqrt(m * (m - 3) / 2)
    values /= scales_x[:, np.newaxis] * scales_y[:, np.newaxis, :]
    z[np.ix_(kept_x, kept_y)] = values[0]
    cosines_x = table.gram_x[np.ix_(kept_x, kept_x)] / np.outer(scales_x, scales_x)
    products_y = scales_y[:, :, np.newaxis] * scales_y[:, np.newaxis, :]
    cosines_y = table.gram_y[:, kept_y][:, :, kept_y] / products_y
    whitened = _inverse_root(cosines_x) @ values @ _inverse_root(cosines_y)
    if whitened.shape[1:] == (1, 1):  # one kernel each: nothing to combine, and a sign
        combined = whitened[:, 0, 0]
    else:
        squares = whitened @ whitened.mT  # whose squares add up to Σ σ⁴
        combined = np.sum(squares**2, axis=(1, 2)) ** 0.25
    return Combined(z, float(combined[0]), combined[1:], slack)


def _inverse_root(cosines: np.ndarray) -> np.ndarray:
    """G^{-1/2} of every matrix, with a ridge that leaves a single kernel as it is."""
    values, vectors = np.linalg.eigh((cosines + RIDGE * np.eye(cosines.shape[-1])) / (1.0 + RIDGE))
    root: np.ndarray = (vectors / np.sqrt(values)[..., np.newaxis, :]) @ vectors.mT
    return root


# --- which kernels --------------------------------------------------------------------------------
def is_auto(kernel: Any) -> bool:
    """Whether kernels are chosen by the type of the rows."""
    return isinstance(kernel, str) and kernel == "auto"


def only_kernel(kernel: Any, name: str, who: str, auto: str = "gaussian") -> Any:
    """The kernel of a test that has one on each side."""
    if isinstance(kernel, list | tuple):
        raise ValueError(
            f"{name} has {len(kernel)} kernels, and {who} compares one on each side: pass one, "
            "or use method='aggregate' without given."
        )
    return auto if is_auto(kernel) else kernel


def family_of(rows: Any, kernel: Any, method: str, *, is_target: bool = False) -> Family:
    """Kernels of X or y: those given, those of numbers, or the one of classes or labels."""
    name = "target_kernel" if is_target else "kernel"
    if method != "aggregate":
        auto = "auto" if is_target else "gaussian"
        kernel = [only_kernel(kernel, name, f"method={method!r}", auto)]
    elif is_auto(kernel):
        return _family_of_target(rows) if is_target else _family_of_table(rows)
    kernels = kernel if isinstance(kernel, list | tuple) else [kernel]
    if not kernels:
        raise ValueError(f"{name} is empty: pass at least one kernel, or 'auto'.")
    choose = partial(refuse_to_choose, "hsic_test")
    if is_target:
        return Family.given([read_target_sample(rows, each) for each in kernels])
    return Family.given([read_sample(rows, each, choose=choose) for each in kernels])


def _family_of_table(X: Any) -> Family:
    table = read_table(X)
    warn_of_scales(Gaussian(), table.values, table.names, table.categories)
    if sparse.issparse(table.values):  # ranks and differences of rows are dense
        shape = table.values.shape
        _resources.require_memory(
            8 * shape[0] * shape[1],
            _resources.max_memory(),
            "hsic_test: sparse X",
            "dense rows, which some of the kernels of 'auto' compare (pass kernel='gaussian', or "
            "the output of sklearn.decomposition.TruncatedSVD)",
        )
        table = replace(table, values=table.values.toarray())
    return Family.of_table(table)


def _family_of_target(y: Any) -> Family:
    target = read_target(y)
    if target.kind in ("classes", "multilabel", "censored"):
        return Family.given([target_sample(target, "auto")])
    warn_of_outputs(target, Gaussian())
    return Family.of_table(Table(target.vectors))
