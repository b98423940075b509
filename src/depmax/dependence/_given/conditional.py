"""HSIC of what confounders do not explain of X and y, and its law under independence.

X ⊥ y | Z holds for x - f(z) and y - g(z) if and only if it holds for x and y, whatever f and g are.
So numbers first lose their regression on Z; if the noise is additive nothing is left to be
explained. Then the images φ and ψ of what is left (of classes, categories, strings: of themselves)
lose theirs, φ̃ = φ - E[φ|z]. With features ζ of the confounders,

    HSIC(X, y | Z) = ‖E[φ̃ ⊗ ψ̃ ⊗ ζ]‖²,

zero if and only if X ⊥ y | Z for characteristic kernels (Daudin 1980; Zhang et al. 2011). An error
of the regressions counts only by the product of both sides' errors. With H_x, H_y the two
regressions the sum over the rows is linear in the noise of φ, Σ_i ε_i ⊗ [(I - H_x)(ψ̃ ⊗ ζ)]_i,
so that its law follows by random signs of ε, estimated by φ̃ over the root of its variance. Numbers
lose two regressions, of which H_x is the second only: residuals of first ones that share k
parameters vary together, their sum of products has 1/(1 - k/m) times the variance that signs give,
and signs are given that and once more, for what the choice among regressions adds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from depmax._text import counted
from depmax.data import Table, read_table, read_target
from depmax.data.sample import (
    Sample,
    is_precomputed,
    read_sample,
    read_target_sample,
    reads_objects,
    sample_of_table,
    target_sample,
)
from depmax.data.table import SMALLEST
from depmax.dependence._given.confounders import Confounders
from depmax.dependence._given.regression import Regressions, RidgeBasis
from depmax.dependence._given.side import (
    NOTHING,
    GivenSide,
    Left,
    fit_of,
    left_of_columns,
    shared_dof,
)
from depmax.dependence._given.units import RowUnits
from depmax.dependence._nulls.law import (
    SKEWNESS_ROWS,
    PermutationLaw,
    leading_eigenvalues,
    tail_weights,
)
from depmax.dependence._nulls.neighbours import warn_of_neighbours
from depmax.dependence._nulls.rare import SKEWEST
from depmax.dependence.independence_test import GivenFit
from depmax.kernels import KernelLike, as_kernel
from depmax.kernels._parts import Choose
from depmax.kernels.kernel import Kernel

#: Rows that the null law is read off; beyond, a random subset with a fixed seed.
NULL_ROWS = 1000
#: Products of coordinates up to which signs act on these instead of on pairs of rows.
FEW_PRODUCTS = 64
#: Rows, or groups of rows, that a test given confounders needs.
FEWEST_UNITS = 20


# --- both sides -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Conditional:
    """The statistic and what its null law is made of."""

    total: float  # ‖Σ φ̃ ⊗ ψ̃ ⊗ ζ‖², in a unit in which no power of it overflows or vanishes
    noise: np.ndarray  # ε, shape (n_samples, p), for the parameters that both regressions share
    others: np.ndarray  # (I - H_x)(ψ̃ ⊗ ζ), shape (n_samples, q)
    units: RowUnits  # rows with a sign of their own, or groups of rows with one
    unit: float = 1.0  # of the total
    also: tuple[Conditional, ...] = ()  # the same of other images or ζ, in the same test

    @classmethod
    def of(cls, x: GivenSide, y: GivenSide, zeta: np.ndarray) -> Conditional:
        """From both sides and the features of the confounders."""
        m = len(zeta)
        left = x.left
        product = (y.left[:, :, np.newaxis] * zeta[:, np.newaxis, :]).reshape(m, -1)
        noise = x.smoother.studentised(x.images)
        noise /= 1.0 - min(shared_dof(x, y) / x.units.count, 0.5)
        others = x.smoother.residual(product)
        of_x, of_y = (float(np.abs(each).max(initial=0.0)) or 1.0 for each in (noise, others))
        total = float(np.sum(((left / of_x).T @ (product / of_y)) ** 2))
        return cls(total, noise / of_x, others / of_y, x.units, (of_x * of_y) ** 2)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.noise)

    @property
    def expected(self) -> float:
        """Mean of the total under the null."""
        return self.units.squares(self.noise, self.others)

    def hsic(self, unbiased: bool = True) -> float:
        """The squared norm of a mean of m terms, without what chance adds if unbiased."""
        m = self.n_samples
        if not unbiased:
            return self.unit * self.total / m**2
        return self.unit * (self.total - self.expected) / (m * (m - 1))

    def signed_pvalue(self, n_repetitions: int, rng: np.random.Generator) -> float:
        """Share of random signs of the noise that reach the statistic.

        Of several statistics the largest counts, in standard deviations of its own law; the signs
        are the same for all, so that what is chosen is chosen anew for every draw of them.
        """
        n_signs = self._some(NULL_ROWS)[0].units.count
        signs = rng.integers(0, 2, size=(n_repetitions, n_signs), dtype=np.int8)
        signed = 2.0 * signs.astype(np.float32) - 1.0
        found = [each._standardised(signed) for each in (self, *self.also)]
        above = max(observed for observed, _ in found)
        reached = int(np.sum(np.max([values for _, values in found], axis=0) >= above))
        return (1 + reached) / (1 + n_repetitions)

    def _standardised(self, signed: np.ndarray) -> tuple[float, np.ndarray]:
        """The total about its mean, observed and for signs, in standard deviations under these."""
        some, ratio = self._some(NULL_ROWS)
        noise, others = some.noise, some.others
        if noise.shape[1] * others.shape[1] <= FEW_PRODUCTS:
            products = (noise[:, :, np.newaxis] * others[:, np.newaxis, :]).reshape(len(noise), -1)
            products = some.units.totals(products)
            norms = np.sum(products**2, axis=1)
            squares = float(np.sum((products.T @ products) ** 2) - np.sum(norms**2))
            values = np.sum((signed @ products) ** 2, axis=1) - norms.sum()
        else:
            form = some.form()
            squares = float(np.sum(form**2))
            values = np.sum((signed @ form.astype(np.float32)) * signed, axis=1)
        if squares <= 0.0:  # the confounders explain all
            return 0.0, np.zeros(len(signed))
        scale = float(np.sqrt(2.0 * squares))
        return (self.total - self.expected) * (1.0 - 1e-10) / (scale * ratio), values / scale

    def law(self, n_rows: int) -> PermutationLaw:
        """The law of the total about its mean under random signs: three exact moments."""
        some, ratio = self._some(n_rows)
        form = some.form()
        squares = float(np.sum(form**2))
        if not squares > 0.0:
            return PermutationLaw(0.0, 0.0)
        scale = float(np.sqrt(2.0 * squares))
        skewness = 8.0 * float(np.sum((form @ form) * form)) / scale**3
        weights = tail_weights(leading_eigenvalues(form) / scale, skewness)
        return PermutationLaw(scale * ratio, skewness, weights)

    def law_pvalue(self) -> float:
        """By the law of random signs, or by 9,999 of them where it is out of its range."""
        law = self.law(SKEWNESS_ROWS)
        if law.skewness > SKEWEST:
            return self.signed_pvalue(9999, np.random.default_rng(0))
        return law.sf(self.total - self.expected)

    def _some(self, n_rows: int) -> tuple[Conditional, float]:
        """The same for units with about this many rows, and how many times more rows there are."""
        if self.n_samples <= n_rows:
            return self, 1.0
        rows = self.units.some(n_rows)
        noise, others, units = self.noise[rows], self.others[rows], self.units.take(rows)
        part = replace(self, noise=noise, others=others, units=units)
        return part, self.units.count / units.count

    def form(self) -> np.ndarray:
        """G with wᵀGw the total about its mean for signs w of the units."""
        rows = (self.noise @ self.noise.T) * (self.others @ self.others.T)
        form = self.units.totals(self.units.totals(rows).T)
        np.fill_diagonal(form, 0.0)
        return form


# --- reading --------------------------------------------------------------------------------------
def read_given(given: Any, groups: Any = None) -> Regressions:
    """Confounders from an array, a series or a frame with numbers and categories."""
    table = read_table(given, name="given")
    units = RowUnits.of(groups, table.n_samples)
    if units.count < FEWEST_UNITS:
        rows = f"rows, got n_samples = {units.count}"
        many = rows if groups is None else f"independent groups, got {units.count}"
        raise ValueError(f"Regressions on confounders need at least {FEWEST_UNITS} {many}.")
    return Regressions(Confounders.of(table), units)


def read_conditional(
    X: Any,
    y: Any,
    given: Any,
    kernel: KernelLike,
    target_kernel: KernelLike | Literal["auto"],
    choose: Choose,
    linear: bool = False,
    groups: Any = None,
) -> tuple[Conditional, GivenFit]:
    """Both sides without what the confounders explain of them.

    With ``linear`` products of the residuals themselves are tested too, alone and with ζ.
    """
    regressions = read_given(given, groups)
    y_sample, y_left = read_left_target(y, target_kernel, regressions)
    x_sample, x_left = _read_left(X, kernel, regressions, choose)
    if groups is None:
        warn_of_neighbours(x_sample.rows, y_sample.rows)
    winners = [*x_left.winners, *y_left.winners]
    x = GivenSide.of(x_sample, x_left, regressions, winners)
    y_side = GivenSide.of(y_sample, y_left, regressions, winners)
    fit = fit_of(x, y_side)
    zeta = regressions.weights
    found = Conditional.of(x, y_side, zeta)
    if linear:
        sides = x.linear(x_left), y_side.linear(y_left)
        also = [Conditional.of(*sides, part) for part in (zeta[:, :1], zeta[:, 1:])]
        found = replace(found, also=tuple(also))
    return found, fit


@dataclass(frozen=True)
class GivenTarget:
    """A target without what confounders explain of it, for one column after the other."""

    regressions: Regressions
    side: GivenSide
    winners: tuple[RidgeBasis, ...]
    rows: Any  # of the target, residuals in place of numbers

    @classmethod
    def of(
        cls, y: Any, given: Any, target_kernel: KernelLike | Literal["auto"], groups: Any = None
    ) -> GivenTarget:
        """The target's regressions, once for all columns."""
        regressions = read_given(given, groups)
        sample, left = read_left_target(y, target_kernel, regressions)
        side = GivenSide.of(sample, left, regressions, left.winners)
        return cls(regressions, side, left.winners, sample.rows)

    def against(
        self, values: np.ndarray, recipe: Kernel, choose: Choose
    ) -> tuple[Conditional, float, GivenFit]:
        """The dependence on a column of numbers, or of codes if the kernel compares labels.

        Also the bandwidth of the column and what the confounders explain.

        Kernels that won for the target compete for the column too, so that directions of the
        confounders are looked for once.
        """
        numeric, unit = [] if recipe.capabilities.labels else [0], 1.0
        largest = float(np.abs(values).max())
        if numeric and 0.0 < largest < SMALLEST and not _has_width(recipe):
            unit, values = largest, values / largest  # differences of tiny numbers would vanish
        left = left_of_columns(
            values[:, np.newaxis], numeric, self.regressions, self.winners, directions=False
        )
        kernel = recipe.resolve(left.values, choose)
        also = [*self.winners, *left.winners]
        x = GivenSide.of(
            Sample(kernel, left.values), left, self.regressions, also, directions=False
        )
        bandwidth = unit * float(getattr(kernel, "bandwidth", np.nan))
        found = Conditional.of(x, self.side, self.regressions.weights)
        return found, bandwidth, fit_of(x, self.side)


def _has_width(recipe: Kernel) -> bool:
    """Whether a kernel compares differences with a number that the caller chose."""
    return isinstance(getattr(recipe, "bandwidth", None), int | float)


def _read_left(
    X: Any, kernel: KernelLike, regressions: Regressions, choose: Choose
) -> tuple[Sample, Left]:
    """X with residuals in place of numbers; objects and given kernel matrices as they are."""
    if is_precomputed(kernel) or not as_kernel(kernel).requires_vector_input:
        sample = read_sample(X, kernel, choose=choose)
        _require_rows("X", sample.n_samples, regressions)
        return sample, NOTHING
    table = read_dense(X, regressions)
    numeric = [j for j in range(table.values.shape[1]) if j not in table.categories]
    left = left_of_columns(table.values, numeric, regressions)
    table = replace(table, values=left.values)
    return sample_of_table(table, as_kernel(kernel), choose=choose), left


def read_dense(X: Any, regressions: Regressions) -> Table:
    """X as a table of as many rows as the confounders have."""
    table = read_table(X)
    if sparse.issparse(table.values):
        raise TypeError("X must be dense where given is: pass X.toarray().")
    _require_rows("X", table.n_samples, regressions)
    return table


def read_left_target(
    y: Any, target_kernel: KernelLike | Literal["auto"], regressions: Regressions
) -> tuple[Sample, Left]:
    """A target with residuals in place of numbers; classes, labels and objects as they are."""
    if not isinstance(target_kernel, str) or target_kernel == "precomputed":
        recipe = None if isinstance(target_kernel, str) else as_kernel(target_kernel)
        if recipe is None or reads_objects(recipe) or recipe.capabilities.labels:
            sample = read_target_sample(y, target_kernel)
            _require_rows("y", sample.n_samples, regressions)
            return sample, NOTHING
    target = read_target(y)
    _require_rows("y", target.n_samples, regressions)
    if target.kind in ("classes", "multilabel"):
        return target_sample(target, target_kernel), NOTHING
    left = left_of_columns(target.values, range(target.values.shape[1]), regressions)
    return target_sample(replace(target, values=left.values), target_kernel), left


def _require_rows(name: str, n_rows: int, regressions: Regressions) -> None:
    n_given = len(regressions.given.values)
    if n_rows != n_given:
        raise ValueError(f"{name} has {counted(n_rows, 'row')}, but given has {n_given}.")
