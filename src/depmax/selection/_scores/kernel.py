"""Scores of single columns by kernels: HSIC, MMD, alignment, quadratic mutual information."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from depmax._resources import each_column, map_threads, one_blas_thread
from depmax.data.columns import Categories, Missing
from depmax.data.sample import Sample, read_target_sample
from depmax.data.table import constant_columns
from depmax.dependence._nulls.counted import CountedScreening, CountedTarget
from depmax.dependence._nulls.screening import ScreeningTarget, screen_columns
from depmax.dependence._nulls.weighted import WeighedTarget
from depmax.dependence._terms import cosine
from depmax.dependence.exchange import as_exchange
from depmax.dependence.quadratic_mutual_information import quadratic_mutual_information
from depmax.kernels import Delta, KernelLike, as_kernel
from depmax.kernels.kernel import Kernel
from depmax.selection._scores.outputs import one_dimensional, standardized
from depmax.selection._scores.score import Question, Scored

#: Part of the trace of the target kernel that its coordinates may leave out.
TOLERANCE = 1e-6


def column_hsic(
    X: Any,
    target: Sample,
    *,
    kernel: KernelLike = "laplace",
    categories: Categories | None = None,
    groups: Any = None,
    n_jobs: int | None = None,
    missing: Missing = "neutral",
    with_effects: bool = False,
    omnibus: bool = False,
) -> tuple[np.ndarray, ...]:
    """Unbiased HSIC of every column with a target, and p-values: those of :func:`depmax.screen`.

    With ``omnibus`` these see the linear part too, else they are those of ``method="hsic"``.

    Categorical columns, given as codes, are compared by equality. ``groups`` are those of rows.
    With effects there is a third array of shape (n_features, 3), found in the same visit of every
    column: normalised HSIC and the ends of its interval, each between 0 and 1. Where rows of the
    target have weights, there are scores only.
    """
    recipe = column_kernel(kernel)
    if target.weight is not None:
        weighed = WeighedTarget.of(target, target, TOLERANCE)

        def scored(column: np.ndarray, position: int) -> float:
            own = _kernel_of(position, recipe, categories)
            return weighed.score(own, column, True, test=False)[0]

        return (each_column(X, scored, n_jobs),)
    exchange = None if groups is None else as_exchange(groups)
    plan = None if exchange is None else exchange.plan(target.n_samples, target.rows)
    omnibus &= recipe.capabilities.telescopes
    prepared = ScreeningTarget.of(target, TOLERANCE, exchange, plan, omnibus=omnibus)
    found = screen_columns(prepared, X, recipe, categories or {}, missing=missing, n_jobs=n_jobs)
    scores_and_pvalues = found[:, 0], found[:, 1]
    return (*scores_and_pvalues, found[:, 3:]) if with_effects else scores_and_pvalues


def hsic(question: Question) -> Scored:
    """Unbiased HSIC of every column: with rows in memory that each count once, effects too."""
    options, side = question.options, question.side
    if question.is_streamed:
        screening = _counted(question, side, omnibus=True)
        counted = _each_counted(question, screening, screening.score)
        scores, pvalues = np.array([(each.hsic, each.pvalue) for each in counted]).T
        return Scored(scores, pvalues, constant=screening.values.constant)
    found = column_hsic(
        question.X,
        side,
        kernel=options.kernel,
        categories=question.categories,
        groups=question.groups,
        n_jobs=options.n_jobs,
        missing=options.missing,
        with_effects=True,
        omnibus=True,
    )
    return Scored(*found)


def mmd(question: Question) -> Scored:
    """Squared maximum mean discrepancy of every column between two classes (V-statistic).

    HSIC₀ with ``ClassBalanced`` is m²/(m-1)² times it.
    """
    m = question.target.n_samples
    found, constant, _ = _biased(question, read_target_sample(question.y, "class_balanced"), False)
    scores = np.maximum(found[:, 0], 0.0) * ((m - 1) / m) ** 2
    return Scored(np.where(constant, 0.0, scores), constant=constant)


def alignment(question: Question) -> Scored:
    """Centred kernel target alignment of every column: that of :func:`depmax.alignment`.

    HSIC₀ divided by the roots of the HSIC₀ of the column and of the target with themselves. With
    the Laplace kernel a column costs O(m log m), as in ``hsic``.
    """
    found, constant, of_target = _biased(question, question.side, True)
    scores = np.array([cosine(cross, own, of_target) for cross, own in found])
    return Scored(np.where(constant, 0.0, scores), constant=constant)


def qmi(question: Question) -> Scored:
    """Quadratic mutual information of every column, in units of its standard deviation, with y.

    Mutual information in this form has the unit of a density, so that columns on small scales
    would lead; each column is divided by its standard deviation first, and so is each of several
    outputs. The windows are those of :func:`depmax.quadratic_mutual_information`; a column costs
    O(m²).
    """
    target = question.target
    several = target.kind == "multioutput"
    y = standardized(target.values) if several else one_dimensional(target)
    constant = constant_columns(question.X)

    def scored(column: np.ndarray, position: int) -> float:
        if constant[position]:
            return 0.0
        return quadratic_mutual_information(column / float(np.std(column, ddof=1)), y)

    return Scored(each_column(question.X, scored, question.options.n_jobs), constant=constant)


# --- HSIC₀ ----------------------------------------------------------------------------------------
def _biased(
    question: Question, side: Sample, with_own: bool
) -> tuple[np.ndarray, np.ndarray, float]:
    """HSIC₀ of every column with the target and with itself; constant columns; that of the target.

    Without ``with_own`` zeros stand for that of a column with itself.
    """
    m, n_jobs, missing = side.n_samples, question.options.n_jobs, question.options.missing
    if question.is_streamed:
        screening = _counted(question, side)
        constant = screening.values.constant

        def of_levels(recipe: Kernel, position: int) -> tuple[float, float]:
            if constant[position]:
                return 0.0, 0.0
            levels = screening.levels(recipe, position)
            column = levels.column
            own = column.counts @ levels.gram**2 @ column.counts / (m - 1) ** 2
            return levels.hsic(column.psi, column.squares, unbiased=False), float(own)

        found = np.array(_each_counted(question, screening, of_levels))
        gram = screening.target.psi.gram
        assert gram is not None
    else:
        target = ScreeningTarget.of(side, TOLERANCE)
        constant = constant_columns(question.X, missing)
        recipe, level = column_kernel(question.options.kernel), missing == "level"

        def of_rows(column: np.ndarray, position: int) -> tuple[float, float]:
            own = _kernel_of(position, recipe, question.categories)
            return target.biased(own, column, level, with_own=with_own)

        found = each_column(question.X, of_rows, n_jobs)
        psi = target.coordinates.psi
        gram = psi.T @ psi
    return found, constant, float(np.sum(gram**2)) / (m - 1) ** 2


def _counted(question: Question, side: Sample, *, omnibus: bool = False) -> CountedScreening:
    """Columns of a table that is read a chunk at a time, counted by their values: two visits."""
    return CountedScreening(question.X, CountedTarget.of(side, TOLERANCE, omnibus=omnibus))


def _each_counted(
    question: Question, screening: CountedScreening, score: Callable[[Kernel, int], Any]
) -> list[Any]:
    recipe = column_kernel(question.options.kernel)

    def scored(position: int) -> Any:
        return score(_kernel_of(position, recipe, question.categories), position)

    with one_blas_thread(always=True):
        return map_threads(scored, range(len(screening.columns)), question.options.n_jobs)


def column_kernel(kernel: KernelLike) -> Kernel:
    """Recipe for the kernel of a single column of numbers."""
    recipe = as_kernel(kernel)
    if not recipe.requires_vector_input:
        raise TypeError(
            f"DependenceFilter compares columns of numbers, but {recipe!r} compares objects: use "
            "'laplace', 'gaussian' or another kernel of vectors."
        )
    return recipe


def _kernel_of(position: int, recipe: Kernel, categories: Categories | None) -> Kernel:
    return Delta() if position in (categories or {}) else recipe
