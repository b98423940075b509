"""A nonlinear dependence score of every column, with p-values."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.stats import false_discovery_control

from depmax._parameters import COMMON, one_of
from depmax._resources import warn_if_long
from depmax.data import Table, read_table
from depmax.data.columns import Missing
from depmax.data.sample import aligned, read_target_sample, refuse_streamed_target, require_samples
from depmax.data.stream import refuse_with_streams
from depmax.data.table import (
    has_missing,
    is_streamed,
    library_of,
    numbered_columns,
    refuse_missing,
    require_equal_length,
    warn_of_scales,
    without_groups,
)
from depmax.data.weights import weigh
from depmax.dependence._nulls.screening import Asked, RowScreening, screening_of
from depmax.dependence.exchange import exchange_of, scheme_of, warn_of_neighbours
from depmax.dependence.independence_test import GivenFit, Screening
from depmax.kernels import KernelLike, as_kernel
from depmax.kernels.kernel import Kernel

#: Seconds for a cell where confounders are given.
SECONDS_PER_CELL = 4.2e-5


def screen(
    X: Any,
    y: Any = None,
    *,
    method: Literal["omnibus", "hsic"] = "omnibus",
    kernel: KernelLike = "laplace",
    target_kernel: KernelLike | Literal["auto"] = "auto",
    unbiased: bool = True,
    tol: float = 1e-6,
    groups: Any = None,
    n_jobs: int | None = None,
    given: Any = None,
    sample_weight: Any = None,
    missing: Missing = "neutral",
    full: bool = False,
) -> Screening:
    """Score every column of X by its nonlinear dependence on y, with p-values.

    Columns are ranked by their effect, which can be compared between columns. With the Laplace
    kernel each column takes O(m log m) time, without approximation and including the null moments
    behind its p-value; a million rows take about a second per column.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, scan or Dask collection, (n_samples, n_features)
        Categorical columns are compared by equality. A table that is read a chunk at a time
        (:func:`depmax.scan`, Dask) is read twice; see the notes. Cells of tables in memory
        may be missing (NaN, None, null), except in sparse matrices.
    y : target of any type
        Omit it if X is a scan that has a target.
    method : {"omnibus", "hsic"}, default="omnibus"
        What p-values test. ``"hsic"``: HSIC alone, which sees every shape. ``"omnibus"``: HSIC and
        the linear part of the dependence at one level, which finds straight lines and shifted
        classes nearly as often as a t-test. Scores and effects are the same with both. The linear
        part takes the Laplace kernel and a target of one column, numbers or classes; without
        these, with ``given`` and for categorical columns, p-values are those of HSIC
        (``result.method`` says so).
    kernel : kernel or name, default="laplace"
        Kernel of a single column; its bandwidth is estimated for each column. Kernels other than
        Laplace and linear take O(m²) time per column.
    target_kernel : kernel, name or "auto", default="auto"
    unbiased : bool, default=True
        Whether the scores are unbiased HSIC. The p-values always belong to the unbiased one.
    tol : float, default=1e-6
        Share of the trace of the target kernel that its low-rank coordinates may omit; not used for
        classes and linear kernels, whose coordinates are exact.
    groups : array-like of shape (n_samples,), str, WholeGroups, WithinGroups or Shifts, optional
        For rows that are not independent, as in :func:`depmax.hsic_test`: labels, or the name of a
        column of X that holds them and is not scored, exchange whole groups. All p-values then come
        from permutations, at most 9,999 of them.
    n_jobs : int, optional
        Number of threads, each working on some of the columns.
    given : array-like, series or data frame, optional
        Confounders Z, numbers and categories: score each column by what it shares with y beyond
        what Z explains of both, as ``hsic_test(..., given=Z)`` does. A column then takes some
        hundred regressions in closed form, about 0.1 s, linear in the rows, with any kernel.
        Missing cells are then refused, and ``groups`` are labels of at least 20 groups.
    sample_weight : array-like of shape (n_samples,), optional
        How many rows each row stands for, as in :func:`depmax.hsic`: scores are those of the rows
        repeated. P-values come from at most 9,999 permutations of y against the rows of X with
        their weights, and are exact if y is independent of both; with one weight for each value of
        y (class weights) columns are permuted against y with its weights. They are not valid for
        other weights derived from y, nor for counts of equal rows: repeat those rows instead.
        ``effects`` are NaN, and missing cells are refused. Not with ``groups`` or ``given``.
    missing : {"neutral", "level", "refuse"}, default="neutral"
        What a missing cell means. ``"neutral"``: nothing; the mean embedding of its column stands
        in for it. ``"level"``: being missing is a value of its own; use it if the reason for a gap
        may be related to y. ``"refuse"``: missing cells are an error.
    full : bool, default=False
        Whether every p-value of a table with more than 1,000 columns is computed in full; see the
        notes.

    Returns
    -------
    Screening
        ``effects`` with ``effects_low`` and ``effects_high``, ``ranking`` (by effect, or where
        there is none by score), ``pvalues``, ``pvalues_adjusted`` (Benjamini-Hochberg),
        ``scores``, ``method``, ``to_frame()``. Printed, the ten best columns.

    Notes
    -----
    The linear part is the share of the normal scores of a column (of its ranks, so that outliers
    do not matter) that classes, or the normal scores of a numeric target, explain. Its p-value
    comes from a beta law with its exact mean and variance under permutations, and is combined with
    that of HSIC by Cauchy's rule (Liu and Xie 2020), weights 0.4 and 0.6. Where rows are permuted,
    both statistics are, and what they show together is compared.

    A p-value of HSIC comes from its distribution under permutations of the target: its
    exact mean and variance, its skewness (the part of the target from 768 rows if there are more
    with as many values), a gamma distribution for the body and a chi-square mixture for the tail.
    If column and target have two values each, it is exact, from counts. If there are fewer than ten
    rows, rare values of the column meet rare values of the target, or the distribution is more
    skewed than any such mixture, the target is permuted, with a fixed seed, until 30 permuted
    scores have reached the observed one, at most 9,999 times: no p-value below 0.0001 is then
    reported. A constant column scores 0 with p-value 1. With ``bandwidth="maximize"`` the p-value
    is that of the chosen bandwidth times the number of candidates (Bonferroni).

    Of more than 1,000 columns without missing cells, p-values are computed in full where the
    adjusted p-value may be at most 0.25. Elsewhere they are rougher, and valid: the tail is that of
    the most skewed mixture, which is the larger one, and where the target is permuted, it is so 333
    times. ``full=True`` computes all.

    A column with neutral gaps is judged by its rows with a value, a share s of all: its score is s²
    times theirs, its effect s times theirs, and its p-value theirs. The p-value is valid if the
    column is independent of y among these rows, which gaps that depend on y alone, or on the column
    alone, do not change. Fewer than four values score 0 with p-value 1. With ``missing="level"``
    the score of the gaps (as two categories) is added for numbers, and the p-value is that of both
    (Fisher's combination); a category has one more level.

    If a table is read a chunk at a time, the values of every column are counted: a column with at
    most 512 distinct values has the same score, p-value and effect as in memory, with any kernel. A
    column with more is rounded to about 512, evenly spaced in the inverse hyperbolic sine of the
    distance to its median, which changes scores by some 1e-4 of their value (by a few per cent if
    most rows share one value, so that the bandwidth is tiny). If rows must be permuted and the
    target has more than 768 values, 10,000 of its rows, drawn with a fixed seed, stand for all.
    ``groups`` and ``given`` need rows in memory, and so do the intervals of effects, which are NaN.

    An effect is HSIC(x, y) / √(HSIC(x, x) HSIC(y, y)), all unbiased, cut to [0, 1]: a squared
    correlation of kernels, which does not depend on the units of a column or on its type. It is 0
    under independence and 1 if both kernels tell the same rows apart to the same degree; for linear
    kernels it is the squared correlation itself. Its 95% interval holds for one column at a time;
    with ``groups`` it is as wide as independent groups, not rows, make it, and begins at 0 unless
    the p-value is at most 0.025.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import screen
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> screen(X, X[:, 1] ** 2).ranking.tolist()
    [2, 1, 3]
    >>> screen(X, X[:, 1] + np.random.default_rng(1).normal(size=200))
    1 of 3 columns depends on the target (false discovery rate 5%)
    rank  column  score            effect  p (adjusted)
       1  x1      0.021  0.34 (0.26–0.43)        <0.001
       2  x0          0  0.00 (0.00–0.04)          0.95
       3  x2          0  0.00 (0.00–0.04)          0.95
    """
    COMMON["missing"].require(missing, "missing", "screen")
    one_of("omnibus", "hsic").require(method, "method", "screen")
    weight, known = None, X
    if sample_weight is not None:
        if groups is not None or given is not None:
            other = "groups" if groups is not None else "given"
            raise ValueError(f"screen takes sample_weight or {other}, not both.")
        weighed = weigh(sample_weight, X, y)
        X, y, weight = weighed.of(X), weighed.of(y, target_kernel), weighed.weight
    recipe = _kernel_of_columns(kernel)
    scheme, missing_counts, fit = None, None, None
    if is_streamed(X):
        refuse_with_streams("screen", groups=groups, given=given)
        rows, y = aligned(X, y)
        table = Table(rows, rows.stream.decoder.names, rows.stream.decoder.categories)
    else:
        X, groups = without_groups(X, groups)
    if given is not None:
        screening: Any = _screening_given(X, y, given, groups, target_kernel)
        table, answers = screening.table, screening.target.rows
    else:
        if not is_streamed(X):
            refuse_streamed_target(X, y)
            table = read_table(X, missing=missing if weight is None else "neutral")
        side = read_target_sample(y, target_kernel, weight=weight)
        answers = side.rows
        require_equal_length(table.n_samples, side.n_samples)
        require_samples(side.total, unbiased=True)
        if not side.is_streamed:
            scheme = scheme_of(groups, table.n_samples, answers, table.values)
            if has_missing(table.values):
                if weight is not None:
                    refuse_missing(table.values, "screen", table.names)
                missing_counts = np.isnan(table.values).sum(axis=0)
        warn_of_scales(recipe, table.values, table.names, table.categories, one_by_one=True)
        screening = screening_of(
            table,
            side,
            tol,
            lambda: read_target_sample(y, target_kernel, is_part=True),
            exchange=exchange_of(groups),
            scheme=scheme,
            omnibus=method == "omnibus" and recipe.capabilities.telescopes,
            missing=missing,
        )
    if groups is None:
        warn_of_neighbours(table.values, answers, table.categories)
    found = screening.found(Asked(recipe, unbiased, full=full), n_jobs)
    if given is not None:
        explained, doubts, missed = found[:, 7:].T  # as FOUND names them
        of_y = screening.target.side.explained
        fit = GivenFit(explained, of_y, float(doubts.max()), bool(missed.any()))
        fit.warn()
    scores, pvalues, widths, shares, low, high, *_ = found.T
    return Screening(
        names=table.names or numbered_columns(len(found)),
        scores=scores,
        pvalues=pvalues,
        pvalues_adjusted=false_discovery_control(pvalues),
        bandwidths=widths,
        target_error=screening.target.error,
        effects=shares,
        effects_low=low,
        effects_high=high,
        method="omnibus" if screening.has_linear else "hsic",
        given=fit,
        missing=missing_counts,
        _library=library_of(known),
    )


def _kernel_of_columns(kernel: KernelLike) -> Kernel:
    recipe = as_kernel(kernel)
    if not recipe.requires_vector_input:
        raise TypeError(f"screen compares columns of numbers; {recipe!r} compares objects.")
    return recipe


def _screening_given(
    X: Any, y: Any, given: Any, groups: Any, target_kernel: KernelLike | Literal["auto"]
) -> RowScreening:
    """Columns against a target that lost once what the confounders explain."""
    from depmax.dependence._given.conditional import GivenTarget, read_dense

    target = GivenTarget.of(y, given, target_kernel, groups)
    table = read_dense(X, target.regressions)
    warn_if_long(
        f"Taking out of {table.values.shape[1]:,} columns what given explains",
        SECONDS_PER_CELL * table.values.size,
        "Screen without given first, and with it the columns that remain.",
    )
    return RowScreening(table, target, "refuse")
