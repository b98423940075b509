"""Scores of single columns by kernels: HSIC, MMD, alignment, quadratic mutual information."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from depmax._threads import each_column
from depmax.data import Target
from depmax.data.checks import Missing, constant_columns, has_missing
from depmax.data.columns import Categories
from depmax.data.reading import read_target_sample
from depmax.data.sample import Sample
from depmax.dependence._nulls.laplace_column import LaplaceColumn
from depmax.dependence._nulls.screening_target import ScreeningTarget
from depmax.dependence._terms import cosine, terms
from depmax.dependence.exchange import Exchange, as_exchange
from depmax.dependence.quadratic_mutual_information import quadratic_mutual_information
from depmax.dependence.resolve import most_dependent
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
    prepared = _seen_by(X, ScreeningTarget.of(target, TOLERANCE, plan), missing, exchange, target)
    recipe = column_kernel(kernel)
    score = prepared.score_and_effect if with_effects else prepared.score

    def scored(column: np.ndarray, position: int) -> tuple[float, ...]:
        return tuple(score(_kernel_of(position, recipe, categories), column, True))

    found = each_column(X, scored, n_jobs)
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
    biased_of = _biased_by(X, prepared, missing)
    recipe = column_kernel(kernel)
    m = target.n_samples

    def scored(column: np.ndarray, position: int) -> float:
        cross = biased_of(_kernel_of(position, recipe, categories), column).cross
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
    biased_of = _biased_by(X, prepared, missing)
    recipe = column_kernel(kernel)
    psi = prepared.coordinates.psi
    own = float(np.sum((psi.T @ psi) ** 2)) / (len(psi) - 1) ** 2  # HSIC₀ of y with itself

    def scored(column: np.ndarray, position: int) -> float:
        found = biased_of(_kernel_of(position, recipe, categories), column)
        return cosine(found.cross, found.own(), own)

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


@dataclass(frozen=True)
class _Biased:
    """HSIC₀ of one column with the target, and (on demand) with itself."""

    cross: float
    own: Callable[[], float]


def _seen_by(
    X: Any,
    target: ScreeningTarget,
    missing: Missing,
    exchange: Exchange | None = None,
    side: Sample | None = None,
) -> Any:
    """The target for the columns of X, of which some may have missing cells."""
    if not has_missing(X):
        return target
    from depmax.dependence._nulls.screening_target import GappedTarget

    return GappedTarget(target, missing == "level", exchange, None if side is None else side.rows)


def _biased_by(
    X: Any, target: ScreeningTarget, missing: Missing
) -> Callable[[Any, np.ndarray], _Biased]:
    """HSIC₀ of a column of X, as a function of its kernel and its values."""
    of_column = _column_with_gaps if has_missing(X) else _column
    return partial(of_column, target=_seen_by(X, target, missing))


def _column(recipe: Any, column: np.ndarray, target: ScreeningTarget) -> _Biased:
    """By the recursion over the sorted column where its kernel has one, else by tiles."""
    rows = column[:, np.newaxis]
    if recipe.capabilities.telescopes:
        width = None
        if recipe.policy != "median":
            width = recipe.resolve(rows, partial(most_dependent, target.side, warn=False)).bandwidth
        ordered = LaplaceColumn.of(column, width)
        cross = ordered.terms(target.coordinates, 0.0, unbiased=False).hsic()
        return _Biased(cross, lambda: _own_hsic(ordered))
    side = Sample(recipe.resolve(rows, partial(most_dependent, target.side, warn=False)), rows)
    cross = terms(side, target.side, unbiased=False).hsic()
    return _Biased(cross, lambda: terms(side, side, unbiased=False).hsic())


def _column_with_gaps(recipe: Any, column: np.ndarray, target: Any) -> _Biased:
    """HSIC₀ of the rows with a value, shrunk, and of the gaps if they are values of their own."""
    from depmax.dependence._nulls.screening_target import shrinkage

    gaps = np.isnan(column)
    if not gaps.any():
        return _column(recipe, column, target.whole)
    part, nothing = target.beside(~gaps), _Biased(0.0, lambda: 0.0)
    found = nothing if part is None else _column(recipe, column[~gaps], part)
    less = shrinkage(int(np.sum(~gaps)), len(column), unbiased=False)
    more = _column(Delta(), gaps.astype(np.float64), target.whole) if target.level else nothing
    # the images of values and of gaps are orthogonal: what they share with the target adds up
    return _Biased(less * found.cross + more.cross, lambda: less * found.own() + more.own())


def _own_hsic(column: LaplaceColumn) -> float:
    """HSIC₀ of a column with itself, ‖HKH‖²/(m-1)², by the recursion."""
    from depmax.dependence._nulls._laplace_loop import own_sums

    m = len(column.order)
    rows, squares, image = np.empty(m), np.empty(m), np.empty(m)  # K̃1, (K̃∘K̃)1, K̃(K̃1)
    own_sums(column.decays, rows, squares, image, np.empty(2))
    sums = rows + 1.0  # K1
    norm = squares.sum() + m - 2.0 / m * (sums @ sums) + (sums.sum() / m) ** 2
    return float(norm) / (m - 1) ** 2


def _without_constants(X: Any, scores: np.ndarray, missing: Missing = "neutral") -> np.ndarray:
    """Scores with exact zeros for constant columns."""
    return np.where(constant_columns(X, missing), 0.0, scores)
