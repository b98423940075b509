"""Missing cells that carry no information: the mean embedding of their column stands in for them.

A kernel of a single column is an inner product of images φ(x). A missing cell gets the mean image μ
of the observed values, so it is zero once images are centred:

    k(?, z) = mean_o k(o, z),    k(?, ?) = mean_o mean_o' k(o, o').

Kernel matrices stay positive semidefinite, since they still are inner products. Over several
columns the kernels of the columns multiply (Gaussian, Laplace) or add (linear). With
k = exp(-s/c) and s the (squared) difference, the product is the kernel of a sum over columns in
which a missing cell is t(z) = -c log k(?, z) away from z, and u = -c log k(?, ?) away from another
missing cell; where the kernel is wide, these are the expected differences. The sums over columns
are those of filled rows, corrected by three matrix products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from depmax._files import held_by_models
from depmax._resources import cached_property
from depmax.kernels.distances import differences
from depmax.kernels.kernel import Capabilities, Facts, Kernel, KernelLike, Part, Parts, as_kernel

#: Values of a column whose images are averaged at most: order statistics at equal distances.
MOST_VALUES = 1000
#: Largest x²/c of a power series that stands for exponentials, and its terms: exact to rounding.
SERIES_REACH, SERIES_TERMS = 1.5, 32
#: Pairs of a row and a value that are compared at a time.
PAIRS = 2**20


@held_by_models
@dataclass(frozen=True)
class CellColumns:
    """Columns of a matrix that hold one value of a table together, and the values observed."""

    columns: np.ndarray  # their positions
    values: np.ndarray  # distinct observed values, shape (n_values, n_columns)
    shares: np.ndarray  # of the observed rows that have each, shape (n_values,)

    @classmethod
    def of(cls, X: np.ndarray, columns: np.ndarray) -> CellColumns:
        """The values of some columns in the rows that have one."""
        rows = np.asarray(X[:, columns], dtype=np.float64)
        rows = rows[~np.isnan(rows).any(axis=1)]
        if rows.shape[1] == 1 and len(rows) > MOST_VALUES:
            ordered = np.sort(rows[:, 0])
            places = np.arange(MOST_VALUES) * (len(ordered) - 1) // (MOST_VALUES - 1)
            rows = ordered[places, np.newaxis]
        values, counts = np.unique(rows, axis=0, return_counts=True)
        return cls(columns, values, counts / max(1, len(rows)))

    @cached_property
    def mean(self) -> np.ndarray:
        """Of the observed values; zeros without any."""
        mean: np.ndarray = self.shares @ self.values
        return mean

    def away(self, rows: np.ndarray, norm: int, decay: float) -> np.ndarray:
        """T of every row: what stands for its (squared) difference from a missing cell."""
        result = np.zeros(len(rows))
        if not len(self.values):  # nothing observed: the column is the same for all rows
            return result
        if norm == 2 and rows.shape[1] == 1 and len(rows):
            middle = 0.5 * (self.values[0, 0] + self.values[-1, 0])
            reach = max(np.abs(rows - middle).max(), self.values[-1, 0] - middle) ** 2 / decay
            if reach <= SERIES_REACH:
                return self._away_by_series(rows[:, 0] - middle, middle, reach, decay)
        step = max(1, PAIRS // len(self.values))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            sums = differences(part, self.values, norm)
            nearest = sums.min(axis=1, keepdims=True)
            images = np.exp((nearest - sums) / decay) @ self.shares
            result[start : start + step] = nearest[:, 0] - decay * np.log(images)
        return result

    def _away_by_series(
        self, x: np.ndarray, middle: float, reach: float, decay: float
    ) -> np.ndarray:
        """By e^{-(x-o)²/c} = e^{-x²/c} e^{-o²/c} Σ_k (2xo/c)^k/k!, in O(n_values)."""
        largest = np.sqrt(reach * decay) or 1.0
        orders = np.arange(1, SERIES_TERMS)
        factors = np.cumprod(np.append(1.0, 2.0 * reach / orders))
        o = self.values[:, 0] - middle
        weights = self.shares * np.exp(-(o**2) / decay)
        moments = weights @ np.vander(o / largest, SERIES_TERMS, increasing=True)
        series = np.polynomial.polynomial.polyval(x / largest, factors * moments)
        away: np.ndarray = x**2 - decay * np.log(series)
        return away

    def apart(self, norm: int, decay: float) -> float:
        """u: what stands for the (squared) difference of two missing cells."""
        if not len(self.values):
            return 0.0
        embedded = np.exp(-self.away(self.values, norm, decay) / decay)
        return float(-decay * np.log(self.shares @ embedded))


@held_by_models
@dataclass(frozen=True)
class Gaps:
    """The cells of a matrix that may be missing."""

    cells: tuple[CellColumns, ...] = ()

    @classmethod
    def of(cls, X: np.ndarray, columns: Sequence[np.ndarray]) -> Gaps:
        """Cells of these columns, each with the values that the rows X have."""
        return cls(tuple(CellColumns.of(X, each) for each in columns))

    def among(self, columns: np.ndarray) -> Gaps:
        """Gaps of some columns, by their places among them."""
        places = {int(column): place for place, column in enumerate(columns)}
        return Gaps(
            tuple(
                CellColumns(
                    np.array([places[int(c)] for c in cell.columns]), cell.values, cell.shares
                )
                for cell in self.cells
                if int(cell.columns[0]) in places
            )
        )

    def missing_in(self, *matrices: np.ndarray) -> Gaps:
        """Gaps of the cells that are missing in some row of these matrices."""
        missing = np.any([np.isnan(X).any(axis=0) for X in matrices], axis=0)
        return Gaps(tuple(cell for cell in self.cells if missing[cell.columns[0]]))

    def filled(self, X: np.ndarray) -> np.ndarray:
        """Rows with the mean of the observed values in missing cells."""
        result = np.array(X)
        for cell in self.cells:
            result[np.ix_(np.isnan(X[:, cell.columns[0]]), cell.columns)] = cell.mean
        return result

    def see(self, X: np.ndarray, norm: int, decay: float) -> GappedRows:
        """Rows with everything that their differences need, for the kernel exp(-sum/decay)."""
        filled = self.filled(np.asarray(X, dtype=np.float64))
        absent = np.zeros((len(X), len(self.cells)))
        beyond = np.zeros((len(X), len(self.cells)))
        for place, cell in enumerate(self.cells):
            missing = np.isnan(X[:, cell.columns[0]])
            absent[missing, place] = 1.0
            known = filled[np.ix_(~missing, cell.columns)]
            as_filled = differences(known, cell.mean[np.newaxis], norm)[:, 0]
            beyond[~missing, place] = cell.away(known, norm, decay) - as_filled
        apart = np.array([cell.apart(norm, decay) for cell in self.cells])
        first = np.array([cell.columns[0] for cell in self.cells], dtype=np.intp)
        return GappedRows(filled, absent, beyond, apart, first)


@held_by_models
@dataclass(frozen=True)
class GappedRows:
    """Rows with missing cells, ready to be compared."""

    filled: np.ndarray  # means in missing cells, shape (n_samples, n_columns)
    absent: np.ndarray  # 1.0 where a cell is missing, shape (n_samples, n_cells)
    beyond: np.ndarray  # t of a cell less its difference from the mean; 0 where it is missing
    apart: np.ndarray  # u of every cell
    first: np.ndarray  # the first column of every cell

    def take(self, rows: Any) -> GappedRows:
        """Some of the rows."""
        parts = (self.filled[rows], self.absent[rows], self.beyond[rows])
        return GappedRows(*parts, self.apart, self.first)

    def among(self, columns: np.ndarray) -> GappedRows:
        """Some of the columns, with all columns of a cell or none."""
        cells = np.flatnonzero(np.isin(self.first, columns))
        order = np.argsort(columns)
        places = order[np.searchsorted(columns, self.first[cells], sorter=order)]
        parts = (self.filled[:, columns], self.absent[:, cells], self.beyond[:, cells])
        return GappedRows(*parts, self.apart[cells], places)

    def sums(
        self, other: GappedRows, difference_sums: Callable[[np.ndarray, np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """Sums over columns of differences; ``difference_sums`` gives those of filled rows."""
        sums = difference_sums(self.filled, self.filled if other is self else other.filled)
        if len(self.apart):  # what the sums of filled rows lack
            left = np.hstack([self.absent, self.beyond, self.absent * self.apart])
            right = np.hstack([other.beyond, other.absent, other.absent])
            sums = sums + left @ right.T
        return np.maximum(sums, 0.0, out=sums)

    def weighted_corrections(self, weights: np.ndarray, other: GappedRows) -> np.ndarray:
        """Σ_il M_il of what the difference of every cell lacks, for weights M of pairs of rows."""
        right = weights @ np.hstack([other.beyond, other.absent])
        of_beyond, of_absent = np.hsplit(right, 2)
        found: np.ndarray = np.sum(
            self.absent * (of_beyond + of_absent * self.apart) + self.beyond * of_absent, axis=0
        )
        return found


def drawn(X: np.ndarray) -> np.ndarray:
    """Rows in which missing cells hold random values of their column, drawn with a fixed seed.

    Distances between them are those of complete rows if cells are missing at random: bandwidths are
    estimated from them.
    """
    rng = np.random.default_rng(0)
    result = np.array(X)
    for column in np.flatnonzero(np.isnan(np.sum(X, axis=0))):
        missing = np.isnan(X[:, column])
        known = X[~missing, column]
        result[missing, column] = rng.choice(known, missing.sum()) if len(known) else 0.0
    return result


def require_embedding(kernel: Kernel, owner: str, where: str) -> None:
    """Refuse a kernel that is neither a product nor a sum over columns, and name it."""
    if not kernel.capabilities.embeds_missing:
        raise ValueError(
            f"X has missing values (NaN) in {where}, which {owner} cannot use with "
            f"{type(kernel).__name__}: missing cells can only be ignored in kernels that are "
            "products over columns (Gaussian, Laplace with norm=1) or sums (Linear). Use one of "
            "these, or impute first, e.g. with depmax.Prepare()."
        )


@dataclass(eq=False, repr=False)
class Neutral(Kernel):
    """A kernel of rows with missing cells, which carry no information.

    The mean embedding of its column stands in for a missing cell: the average of the kernel over
    the observed values (over 1,000 order statistics if there are more). After centring it is zero
    in a kernel that adds over columns, and the kernel stays positive semidefinite. With this
    kernel, measures accept NaN, None and null in X, which they otherwise refuse; the selectors with
    a parameter ``missing`` use it automatically.

    Parameters
    ----------
    kernel : kernel or name, default="gaussian"
        Gaussian or Laplace (L1), whose factors are averaged column by column, or Linear, where a
        missing cell is the mean.
    gaps : Gaps, optional
        The observed values of every column; ``resolve`` takes them from the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.kernels import Gaussian, Neutral
    >>> x = np.array([0.0, 1.0, np.nan])
    >>> Neutral(Gaussian(1.0))(x).round(3)
    array([[1.   , 0.607, 0.803],
           [0.607, 1.   , 0.803],
           [0.803, 0.803, 0.803]])
    """

    kernel: KernelLike = "gaussian"
    gaps: Gaps | None = None

    _capabilities: ClassVar[Capabilities] = Capabilities(reads_missing=True, fits_columns=True)
    _recipe: ClassVar[tuple[str, ...]] = ("gaps",)

    @property
    def _parts(self) -> Parts:
        return Parts.inner(self, Part(self._kernel()), take_categories=False)

    def _estimated(self, facts: Facts) -> Kernel:
        """Copy with the bandwidth and the observed values of the rows."""
        if self.is_resolved and facts.is_streamed:
            return self
        rows = self._read(facts.in_memory(self))
        if facts.weight is not None and np.isnan(rows).any():
            raise ValueError(
                "Neutral averages over the observed values of a column, counting every row once, "
                "and does not take sample_weight where X has missing values (NaN): impute first, "
                "e.g. with depmax.Prepare()."
            )
        gaps = self.gaps
        if gaps is None:
            gaps = Gaps.of(rows, [np.array([column]) for column in range(rows.shape[1])])
        inner = replace(facts, rows=drawn(rows)).resolve(self._parts.items[0])
        return self._copy_with(kernel=inner, gaps=gaps)

    @property
    def has_features(self) -> bool:
        """Whether the inner kernel has: filled rows are then coordinates."""
        return self.is_resolved and self._kernel().has_features

    def features(self, X: Any) -> Any:
        """Coordinates of the filled rows."""
        assert self.gaps is not None
        return self._kernel().features(self.gaps.filled(self._read(X)))

    def _kernel(self) -> Any:
        kernel = as_kernel(self.kernel)
        if not kernel.capabilities.embeds_missing:
            raise TypeError(
                "Neutral needs a kernel that is a product over columns (Gaussian, Laplace with "
                f"norm=1) or a sum over them (Linear), not {type(kernel).__name__}."
            )
        return kernel

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        assert self.gaps is not None
        kernel = self._kernel()
        if kernel.has_features:
            return super()._gram(X, Z)
        gaps = self.gaps.missing_in(X, Z)
        rows = gaps.see(X, kernel.norm_, kernel.decay)
        others = rows if X is Z else gaps.see(Z, kernel.norm_, kernel.decay)
        of_sums: np.ndarray = kernel.of_squares(rows.sums(others, kernel.difference_sums))
        return of_sums

    def _diag(self, X: Any) -> np.ndarray:
        assert self.gaps is not None
        kernel = self._kernel()
        if kernel.has_features:
            return super()._diag(X)
        gaps = self.gaps.missing_in(X)
        apart = np.array([cell.apart(kernel.norm_, kernel.decay) for cell in gaps.cells])
        absent = [np.isnan(X[:, cell.columns[0]]) for cell in gaps.cells]
        sums = apart @ np.array(absent, dtype=np.float64) if absent else np.zeros(len(X))
        of_sums: np.ndarray = kernel.of_squares(np.asarray(sums))
        return of_sums
