"""Scores of columns that are read a chunk at a time: moments in one visit, kernels by levels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from depmax._threads import map_threads, one_blas_thread
from depmax.data import TargetKind, read_target
from depmax.data.checks import require_equal_length
from depmax.data.chunks import Chunk
from depmax.data.columns import Categories
from depmax.data.labels import as_columns
from depmax.data.sample import Sample
from depmax.dependence._nulls.counted_columns import dense_columns
from depmax.dependence._nulls.counted_screening import CountedScreening, CountedTarget
from depmax.dependence._terms import cosine
from depmax.kernels import Delta
from depmax.kernels.kernel import Kernel


@dataclass(frozen=True)
class ColumnSums:
    """Means and squares of every column in every group of rows, and products with numbers.

    Each about its own mean, so that sums of parts far from zero keep their digits when added.
    """

    counts: np.ndarray  # rows of each group, shape (n_groups,)
    means: np.ndarray  # shape (n_groups, n_columns)
    squares: np.ndarray  # Σ (x - mean)² within each group
    low: np.ndarray  # shape (n_columns,)
    high: np.ndarray
    outputs: np.ndarray  # means of the numbers, shape (n_outputs,)
    output_squares: np.ndarray
    cross: np.ndarray  # Σ (x - x̄)(y - ȳ) over all rows, shape (n_columns, n_outputs)

    def __add__(self, other: ColumnSums) -> ColumnSums:
        counts = self.counts + other.counts
        share = (other.counts / np.maximum(counts, 1))[:, np.newaxis]
        apart = other.means - self.means
        between = (self.counts * other.counts / np.maximum(counts, 1))[:, np.newaxis] * apart**2
        total, n = self.counts.sum(), other.counts.sum()
        weight = total * n / max(total + n, 1)
        y_apart = other.outputs - self.outputs
        return ColumnSums(
            counts,
            self.means + share * apart,
            self.squares + other.squares + between,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.outputs + n / max(total + n, 1) * y_apart,
            self.output_squares + other.output_squares + weight * y_apart**2,
            self.cross + other.cross + weight * np.outer(other.overall - self.overall, y_apart),
        )

    @property
    def overall(self) -> np.ndarray:
        """Mean of every column over all rows."""
        mean: np.ndarray = self.counts @ self.means / max(self.counts.sum(), 1)
        return mean

    @property
    def constant(self) -> np.ndarray:
        """Which columns have one value only."""
        return np.asarray(self.low == self.high)

    @classmethod
    def of_rows(cls, x: np.ndarray, codes: np.ndarray, n_groups: int, y: np.ndarray) -> ColumnSums:
        """Sums over some rows; x has shape (n_columns, n)."""
        counts = np.bincount(codes, minlength=n_groups)
        means, squares = np.zeros((2, n_groups, len(x)))
        for group in np.flatnonzero(counts):
            part = x[:, codes == group] if n_groups > 1 else x
            means[group] = part.mean(axis=1)
            squares[group] = np.sum((part - means[group][:, np.newaxis]) ** 2, axis=1)
        centred = y - y.mean(axis=0)
        overall = counts @ means / counts.sum()
        return cls(
            counts,
            means,
            squares,
            x.min(axis=1),
            x.max(axis=1),
            y.mean(axis=0),
            np.sum(centred**2, axis=0),
            (x - overall[:, np.newaxis]) @ centred,
        )


@dataclass(frozen=True)
class SumColumns:
    """Sum columns over the classes of a target, or beside its numbers."""

    classes: np.ndarray | None  # sorted; None for numbers

    def __call__(self, blocks: Iterator[Chunk]) -> ColumnSums | None:
        """Sums of one piece."""
        found = None
        for block in blocks:
            x = dense_columns(block.x)
            if self.classes is None:
                codes, count, y = np.zeros(block.n_rows, np.intp), 1, as_columns(block.y)
            else:
                codes, count = np.searchsorted(self.classes, block.y), len(self.classes)
                y = np.zeros((block.n_rows, 0))
            more = ColumnSums.of_rows(x, codes, count, y)
            found = more if found is None else found + more
        return found


@dataclass(frozen=True)
class SummedColumns:
    """What stands for X in scores that are made of sums over its rows."""

    sums: ColumnSums
    of_classes: bool

    @classmethod
    def of(cls, rows: Any, target: Any) -> SummedColumns:
        """From one visit to all rows of a stream."""
        of_classes = target.kind == "classes"
        return cls(
            rows.stream.total(SumColumns(target.classes if of_classes else None)), of_classes
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return int(self.sums.counts.sum()), len(self.sums.low)

    def products(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Σ(x - x̄)y with centred outputs, Σ(x - x̄)² and Σy²."""
        sums = self.sums
        if not self.of_classes:
            return sums.cross.copy(), sums.squares[0].copy(), sums.output_squares
        counts, m = sums.counts, sums.counts.sum()
        apart = sums.means - sums.overall
        squares = sums.squares.sum(axis=0) + counts @ apart**2
        cross = (counts[:, np.newaxis] * apart).T
        spread = counts * (1.0 - counts / m)
        if len(counts) == 2:  # one output of -1 and +1
            cross, spread = 2.0 * cross[:, 1:], 4.0 * spread[1:]
        return cross, squares, spread


# --- batches --------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Batches:
    """Sums over the rows of all batches so far; stands for the target of their rows, too."""

    kind: TargetKind
    classes: np.ndarray  # sorted; none for numbers
    sums: ColumnSums
    is_streamed = True

    @classmethod
    def of(cls, rows: Any, y: Any, classes: Any, earlier: Batches | None) -> Batches:
        """Those of one more batch and of the earlier ones."""
        target = read_target(y)
        require_equal_length(rows.shape[0], target.n_samples)
        kind = _kind_of_first(target) if earlier is None else earlier.kind
        kind = kind if classes is None else "classes"
        if kind != "classes":
            more = ColumnSums.of_rows(
                dense_columns(rows), np.zeros(len(target.values), np.intp), 1, target.vectors
            )
            known = np.empty(0)
        else:
            labels = np.ravel(target.values)
            known = np.unique(labels if classes is None else np.asarray(classes))
            known = known if earlier is None else earlier.classes
            unseen = np.setdiff1d(labels, known)
            if len(unseen):
                raise ValueError(
                    f"y has the class {unseen.tolist()[0]!r}, which the first batch did not have: "
                    "pass all classes to the first call of partial_fit, classes=…."
                )
            codes, none = np.searchsorted(known, labels), np.zeros((len(labels), 0))
            more = ColumnSums.of_rows(dense_columns(rows), codes, len(known), none)
        return cls(kind, known, more if earlier is None else earlier.sums + more)

    @property
    def columns(self) -> SummedColumns:
        """What stands for X."""
        return SummedColumns(self.sums, self.kind == "classes")

    @property
    def n_samples(self) -> int:
        """Number of rows so far."""
        return int(self.sums.counts.sum())

    @property
    def is_constant(self) -> bool:
        """Whether all rows have one value, of every output."""
        if self.kind == "classes":
            return int((self.sums.counts > 0).sum()) < 2
        return not self.sums.output_squares.any()

    @property
    def is_enough(self) -> bool:
        """Whether columns can be scored so far."""
        few = self.kind == "classes" and int(self.sums.counts.min()) < 2
        return self.n_samples > 3 and not few and not self.is_constant


def _kind_of_first(target: Any) -> TargetKind:
    """The type of the target of all batches: fractions are numbers, even where they are few."""
    values = target.values
    if values.dtype.kind == "f" and (values != np.rint(values)).any():
        return "numbers" if values.ndim == 1 or values.shape[1] == 1 else "multioutput"
    kind: TargetKind = target.kind
    return kind


# --- scores with a kernel -------------------------------------------------------------------------
@dataclass(frozen=True)
class Counted:
    """Columns counted by their values against a target, and the score of each."""

    screening: CountedScreening
    recipe: Kernel
    categories: Categories

    @classmethod
    def of(
        cls, rows: Any, side: Sample, recipe: Kernel, categories: Categories, tol: float
    ) -> Counted:
        """Two visits to all rows."""
        return cls(CountedScreening(rows, CountedTarget.of(side, tol)), recipe, categories)

    @property
    def constant(self) -> np.ndarray:
        """Which columns have one value only."""
        return self.screening.values.constant

    def hsic(self, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Unbiased HSIC and p-values."""
        found = self._each(self.screening.score, n_jobs)
        return np.array([each.hsic for each in found]), np.array([each.pvalue for each in found])

    def mmd(self, n_jobs: int | None) -> np.ndarray:
        """Squared maximum mean discrepancy; the target has the kernel of two balanced classes."""
        m = self.screening.target.n_samples
        found = np.array(self._each(self._biased, n_jobs))[:, 0]
        return np.maximum(found, 0.0) * ((m - 1) / m) ** 2

    def alignment(self, n_jobs: int | None) -> np.ndarray:
        """Centred kernel target alignment."""
        target = self.screening.target
        assert target.psi.gram is not None
        own = float(np.sum(target.psi.gram**2)) / (target.n_samples - 1) ** 2
        found = self._each(self._biased, n_jobs)
        return np.array([cosine(cross, of_x, own) for cross, of_x in found])

    def _biased(self, recipe: Kernel, position: int) -> tuple[float, float]:
        """HSIC₀ of a column with the target and with itself."""
        if self.constant[position]:
            return 0.0, 0.0
        levels = self.screening.levels(recipe, position)
        column = levels.column
        own = column.counts @ levels.gram**2 @ column.counts / (column.n_samples - 1) ** 2
        return levels.hsic(column.psi, column.squares, unbiased=False), float(own)

    def _each(self, score: Callable[[Kernel, int], Any], n_jobs: int | None) -> list[Any]:
        def scored(position: int) -> Any:
            return score(Delta() if position in self.categories else self.recipe, position)

        with one_blas_thread(always=True):
            return map_threads(scored, range(len(self.screening.columns)), n_jobs)
