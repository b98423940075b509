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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from depmax._text import counted
from depmax.data import Table, read_table, read_target
from depmax.data.sample import (
    Sample,
    read_sample,
    read_target_sample,
    reads_objects,
    sample_of_table,
    target_sample,
)
from depmax.data.table import SMALLEST
from depmax.dependence._given.confounders import Confounders, RowUnits
from depmax.dependence._given.regression import ROUNDING, Regressions, RidgeBasis, Smoother
from depmax.dependence._nulls.law import (
    SKEWEST,
    SKEWNESS_ROWS,
    PermutationLaw,
    leading_eigenvalues,
    tail_weights,
)
from depmax.dependence._nulls.screening import FOUND, Asked
from depmax.dependence._terms import coordinates_to
from depmax.dependence.exchange import warn_of_neighbours
from depmax.dependence.independence_test import GivenFit
from depmax.dependence.resolve import refuse_to_choose
from depmax.kernels import KernelLike, as_kernel
from depmax.kernels.kernel import Choose, Kernel, is_precomputed

#: Columns with at most so many values are not numbers with noise, and keep their values.
FEW_VALUES = 20
#: Coordinates of a side, at most, and the part of its variation that they may leave out.
MOST_COORDINATES, LEFT_OUT = 40, 1e-3
#: Coordinates whose residuals are looked at where no column was regressed, and the level.
CHECKED, MISSED = 3, 0.01


# --- columns --------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Left:
    """Columns without what confounders explain of them."""

    values: np.ndarray  # shape (n_samples, n_columns)
    explained: tuple[float, ...]  # share of the variance of each column that was regressed
    dofs: tuple[float, ...]  # parameters of each of these regressions
    winners: tuple[RidgeBasis, ...]  # features of the kernels that were best for each
    positions: tuple[int, ...] = ()  # of the columns that were regressed


NOTHING = Left(np.empty((0, 0)), (), (), ())


def left_of_columns(
    values: np.ndarray,
    numeric: Sequence[int],
    regressions: Regressions,
    also: Sequence[RidgeBasis] = (),
    directions: bool = True,
) -> Left:
    """Residuals of the columns that are numbers with noise, in place of them.

    Kernels compete beside ``also`` and those of directions found for the columns, if looked for.
    """
    values = np.array(values, dtype=np.float64)
    noisy = [j for j in numeric if len(np.unique(values[:, j])) > FEW_VALUES]
    if not noisy:
        return Left(values, (), (), ())
    columns, sizes = _standardised(values[:, noisy])
    also = [*also, *regressions.directions(columns)] if directions else also
    explained, dofs, winners = [], [], []
    for place, (smoother, winner) in enumerate(regressions.best_of_each(columns, also)):
        position, column = noisy[place], columns[:, [place]]
        left = smoother.studentised(column)[:, 0] if smoother.error > ROUNDING else 0.0
        values[:, position] = left * sizes[place]
        explained.append(1.0 - smoother.error)
        dofs.append(smoother.dof)
        winners.append(winner)
    return Left(values, tuple(explained), tuple(dofs), tuple(winners), tuple(noisy))


def _standardised(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns that vary with mean 0 and variance 1, and their standard deviations.

    The largest number of a column is made 1 first, since squares of tiny ones would vanish.
    """
    largest = np.abs(columns).max(axis=0)
    columns = columns / largest
    columns -= columns.mean(axis=0)
    sizes = columns.std(axis=0)
    return columns / sizes, largest * sizes


# --- images ---------------------------------------------------------------------------------------
@dataclass(frozen=True)
class GivenSide:
    """Images of X or y, and what confounders explain of them."""

    images: np.ndarray  # φ, centred principal coordinates, shape (n_samples, n_coordinates)
    smoother: Smoother
    explained: float  # share that confounders explain: of the columns, or if none, of the images
    dof: float  # parameters of the larger of both regressions
    missed: float  # p-value of waves of the confounders that residuals still follow

    @classmethod
    def of(
        cls,
        sample: Sample,
        columns: Left,
        regressions: Regressions,
        also: Sequence[RidgeBasis],
        directions: bool = True,
    ) -> GivenSide:
        """Coordinates of a sample, whose columns were regressed first, and their regression.

        With ``directions`` these are looked for where no regression of columns has done so.
        """
        images = principal_coordinates(sample)
        if directions and not columns.winners:
            also = [*also, *regressions.directions(images)]
        smoother = regressions.best(images, also)
        share = np.mean(columns.explained) if columns.explained else 1.0 - smoother.error
        dof = max([smoother.dof, *columns.dofs])
        left = smoother.residual(images)[:, :CHECKED]
        if columns.positions:
            left = columns.values[:, list(columns.positions)]
        missed = 1.0 if smoother.error <= ROUNDING else regressions.missed(left)
        return cls(images, smoother, float(np.clip(share, 0.0, 1.0)), dof, missed)

    def linear(self, columns: Left) -> GivenSide:
        """The columns that were regressed, of variance 1, as images with the same regression.

        The side itself where there are none: classes, categories, few values.
        """
        spread = columns.values.std(axis=0) if columns.positions else np.zeros(0)
        kept = [j for j in columns.positions if spread[j] > 0.0]
        if not kept:
            return self
        values = columns.values[:, kept] / spread[kept]
        return replace(self, images=leading_coordinates(values - values.mean(axis=0)))

    @property
    def units(self) -> RowUnits:
        """Units of rows that are independent of each other."""
        return self.smoother.basis.units

    @property
    def left(self) -> np.ndarray:
        """φ̃, in the sample; zero where confounders explain all."""
        if self.smoother.error <= ROUNDING:
            return np.zeros_like(self.images)
        return self.smoother.residual(self.images)


def shared_dof(x: GivenSide, y: GivenSide) -> float:
    """Parameters that the regressions of both sides may have in common."""
    return float(np.sqrt(x.dof * y.dof))


def fit_of(x: GivenSide, y: GivenSide) -> GivenFit:
    """What the confounders explain of both sides, and what both regressions may have missed."""
    doubt = shared_dof(x, y) / float(np.sqrt(x.units.count))
    return GivenFit(x.explained, y.explained, doubt, max(x.missed, y.missed) <= MISSED)


def principal_coordinates(sample: Sample) -> np.ndarray:
    """Centred coordinates of a kernel, the largest first, to a small part of its variation."""
    return leading_coordinates(coordinates_to(sample, 0.1 * LEFT_OUT, 3 * MOST_COORDINATES)[0])


def leading_coordinates(phi: np.ndarray) -> np.ndarray:
    """Centred coordinates turned so that the largest come first, the smallest left out."""
    values, vectors = np.linalg.eigh(phi.T @ phi)
    shares = np.cumsum(values[::-1]) / max(float(values.sum()), np.finfo(float).tiny)
    count = min(int(np.searchsorted(shares, 1.0 - LEFT_OUT)) + 1, MOST_COORDINATES)
    return phi @ vectors[:, ::-1][:, :count]


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
        """Units with about this many rows, and how many times more rows there are."""
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
    if isinstance(given, list) and given and all(isinstance(name, str) for name in given):
        raise TypeError(f"given holds text: pass the values, such as table[{given!r}].")
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
    error: ClassVar[float] = 0.0
    linear: ClassVar[None] = None
    is_free: ClassVar[bool] = True
    sorts: ClassVar[bool] = False

    @classmethod
    def of(
        cls, y: Any, given: Any, target_kernel: KernelLike | Literal["auto"], groups: Any = None
    ) -> GivenTarget:
        """The target's regressions, once for all columns."""
        regressions = read_given(given, groups)
        sample, left = read_left_target(y, target_kernel, regressions)
        side = GivenSide.of(sample, left, regressions, left.winners)
        return cls(regressions, side, left.winners, sample.rows)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.side.images)

    def prepare(self) -> None:
        """What threads would ask for at once."""
        _ = self.regressions.weights

    def alone(self, asked: Asked, column: np.ndarray) -> np.ndarray:
        """What is found out about a column of numbers, or of codes if the kernel compares labels.

        Kernels that won for the target compete for the column too, so that directions of the
        confounders are looked for once.
        """
        recipe, unit, found = asked.recipe, 1.0, np.full(len(FOUND), np.nan)
        if column.min() == column.max():
            found[:2], found[7:] = (0.0, 1.0), 0.0
            return found
        numeric, largest = [] if recipe.capabilities.labels else [0], float(np.abs(column).max())
        if numeric and 0.0 < largest < SMALLEST and not _has_width(recipe):
            unit, column = largest, column / largest  # differences of tiny numbers would vanish
        left = left_of_columns(
            column[:, np.newaxis], numeric, self.regressions, self.winners, directions=False
        )
        kernel = recipe.resolve(left.values, partial(refuse_to_choose, "screen with given"))
        also = [*self.winners, *left.winners]
        x = GivenSide.of(
            Sample(kernel, left.values), left, self.regressions, also, directions=False
        )
        both, fit = Conditional.of(x, self.side, self.regressions.weights), fit_of(x, self.side)
        found[:2] = both.hsic(asked.unbiased), both.law_pvalue()
        found[2] = unit * getattr(kernel, "bandwidth", np.nan)
        found[7:] = fit.explained_x, fit.doubt, fit.missed
        return found


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
    return target_sample(replace(target, values=left.values, times=None), target_kernel), left


def _require_rows(name: str, n_rows: int, regressions: Regressions) -> None:
    n_given = len(regressions.given.values)
    if n_rows != n_given:
        raise ValueError(f"{name} has {counted(n_rows, 'row')}, but given has {n_given}.")
