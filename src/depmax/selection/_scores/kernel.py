"""Scores of single columns by kernels: HSIC, MMD, alignment, quadratic mutual information."""

from __future__ import annotations

from typing import Any

import numpy as np

from depmax._threads import each_column
from depmax.data import Target
from depmax.data.checks import Missing, constant_columns
from depmax.data.columns import Categories
from depmax.data.reading import read_target_sample
from depmax.data.sample import Sample
from depmax.dependence._nulls.screening_target import ScreeningTarget
from depmax.dependence._terms import cosine
from depmax.dependence.exchange import as_exchange
from depmax.dependence.quadratic_mutual_information import quadratic_mutual_information
from depmax.kernels import Delta, KernelLike, as_kernel
from depmax.kernels.kernel import Kernel
from depmax.selection._scores.outputs import one_dimensional, standardized

#: Part of the trace of the target kernel that its coordinates may leave out.
TOLERANCE = 1e-6


def hsic(
    X: Any,
    target: Sample,
    *,
    kernel: KernelLike = "laplace",
    categories: Categories | None = None,
    groups: Any = None,
    n_jobs: int | None = None,
    missing: Missing = "neutral",
    with_effects: bool = False,
) -> tuple[np.ndarray, ...]:
    """Unbiased HSIC of every column with a target, and p-values: those of :func:`depmax.screen`.

    Categorical columns, given as codes, are compared by equality. ``groups`` are those of rows.
    With effects there is a third array of shape (n_features, 3), found in the same visit of every
    column: normalised HSIC and the ends of its interval, each between 0 and 1.
    """
    exchange = None if groups is None else as_exchange(groups)
    plan = None if exchange is None else exchange.plan(target.n_samples, target.rows)
    prepared = ScreeningTarget.of(target, TOLERANCE, exchange, plan)
    recipe = column_kernel(kernel)
    found = prepared.screen(X, recipe, categories or {}, missing=missing, n_jobs=n_jobs)
    scores_and_pvalues = found[:, 0], found[:, 1]
    return (*scores_and_pvalues, found[:, 3:]) if with_effects else scores_and_pvalues


def weighted_hsic(
    X: Any,
    target: Sample,
    *,
    kernel: KernelLike = "laplace",
    categories: Categories | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Unbiased HSIC of every column with a target whose rows stand for several each."""
    from depmax.dependence._nulls.weighted import WeighedTarget

    prepared = WeighedTarget.of(target, target, TOLERANCE)
    recipe = column_kernel(kernel)

    def scored(column: np.ndarray, position: int) -> float:
        own = _kernel_of(position, recipe, categories)
        return prepared.score(own, column, True, test=False)[0]

    return each_column(X, scored, n_jobs)


def mmd(
    X: Any,
    target: Target,
    *,
    kernel: KernelLike = "laplace",
    categories: Categories | None = None,
    n_jobs: int | None = None,
    missing: Missing = "neutral",
) -> np.ndarray:
    """Squared maximum mean discrepancy of every column between two classes (V-statistic).

    HSIC₀ with ``ClassBalanced`` is m²/(m-1)² times it.
    """
    prepared = ScreeningTarget.of(read_target_sample(target.values, "class_balanced"), TOLERANCE)
    recipe, level = column_kernel(kernel), missing == "level"
    m = target.n_samples

    def scored(column: np.ndarray, position: int) -> float:
        cross, _ = prepared.biased(_kernel_of(position, recipe, categories), column, level)
        return max(0.0, cross) * ((m - 1) / m) ** 2

    return _without_constants(X, each_column(X, scored, n_jobs), missing)


def alignment(
    X: Any,
    target: Sample,
    *,
    kernel: KernelLike = "laplace",
    categories: Categories | None = None,
    n_jobs: int | None = None,
    missing: Missing = "neutral",
) -> np.ndarray:
    """Centred kernel target alignment of every column: that of :func:`depmax.alignment`.

    HSIC₀ divided by the roots of the HSIC₀ of the column and of the target with themselves. With
    the Laplace kernel a column costs O(m log m), as in ``hsic``.
    """
    prepared = ScreeningTarget.of(target, TOLERANCE)
    recipe, level = column_kernel(kernel), missing == "level"
    psi = prepared.coordinates.psi
    own = float(np.sum((psi.T @ psi) ** 2)) / (len(psi) - 1) ** 2  # HSIC₀ of y with itself

    def scored(column: np.ndarray, position: int) -> float:
        own_kernel = _kernel_of(position, recipe, categories)
        return cosine(*prepared.biased(own_kernel, column, level, with_own=True), own)

    return _without_constants(X, each_column(X, scored, n_jobs), missing)


def qmi(X: Any, target: Target, *, n_jobs: int | None = None) -> np.ndarray:
    """Quadratic mutual information of every column, in units of its standard deviation, with y.

    Mutual information in this form has the unit of a density, so that columns on small scales
    would lead; each column is divided by its standard deviation first, and so is each of several
    outputs. The windows are those of :func:`depmax.quadratic_mutual_information`; a column costs
    O(m²).
    """
    several = target.kind == "multioutput"
    y = standardized(target.values) if several else one_dimensional(target)

    def scored(column: np.ndarray, position: int) -> float:
        spread = float(np.std(column, ddof=1))
        return quadratic_mutual_information(column / spread, y) if spread > 0 else 0.0

    return _without_constants(X, each_column(X, scored, n_jobs))


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


def _without_constants(X: Any, scores: np.ndarray, missing: Missing = "neutral") -> np.ndarray:
    """Scores with exact zeros for constant columns."""
    return np.where(constant_columns(X, missing), 0.0, scores)
