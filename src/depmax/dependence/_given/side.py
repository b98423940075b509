"""One side of a test given confounders: columns and images, and what confounders leave of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from depmax.data.sample import Sample
from depmax.dependence._given.regression import ROUNDING, Regressions, RidgeBasis, Smoother
from depmax.dependence._given.units import RowUnits
from depmax.dependence.independence_test import GivenFit
from depmax.maps.incomplete_cholesky import factor_to

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
    if sample.is_narrow:
        phi = sample.centred_coordinates()
    else:
        phi = np.asarray(factor_to(sample, 0.1 * LEFT_OUT, 3 * MOST_COORDINATES).factor)
        phi = np.asarray(phi - phi.mean(axis=0), dtype=np.float64)
    return leading_coordinates(phi)


def leading_coordinates(phi: np.ndarray) -> np.ndarray:
    """Centred coordinates turned so that the largest come first, the smallest left out."""
    values, vectors = np.linalg.eigh(phi.T @ phi)
    shares = np.cumsum(values[::-1]) / max(float(values.sum()), np.finfo(float).tiny)
    count = min(int(np.searchsorted(shares, 1.0 - LEFT_OUT)) + 1, MOST_COORDINATES)
    return phi @ vectors[:, ::-1][:, :count]
