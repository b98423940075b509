"""A sample: rows with a kernel, seen as kernel values or as coordinates, whole or in parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, _num_samples

from depmax._limits import map_instead, require_pairs
from depmax._threads import chunk_rows, slices
from depmax.data.checks import require_equal_length, require_finite_values
from depmax.data.stream import StreamRows
from depmax.data.table import is_streamed, refuse_unreadable
from depmax.kernels import Linear, Precomputed
from depmax.kernels._parts import Choose
from depmax.kernels.kernel import Kernel

#: Rows up to which the kernel matrix is made as a whole: 2 MB, in the time of a few dozen calls.
SMALL = 512
#: Rows whose kernel matrix any limit of memory allows: half a megabyte.
FREE_ROWS = 256
#: Rows whose mean image is the new origin of a sample without narrow coordinates.
PILOT_ROWS = 16

#: What all rows together must at least stand for, and at most: sums of squares of more are rounded.
FEWEST, MOST = 2.0, 1e12

#: Some of the rows.
Rows = slice | np.ndarray


@dataclass(frozen=True)
class Origin:
    """A point μ of the feature space from which a sample is measured."""

    products: np.ndarray  # ⟨φ(x), μ⟩ of every row, shape (n_samples,)
    square: float  # ‖μ‖²

    def take(self, indices: np.ndarray) -> Origin:
        """The same point, seen from some of the rows."""
        return Origin(self.products[indices], self.square)

    def about(self, values: np.ndarray, rows: Rows, columns: Rows) -> np.ndarray:
        """⟨φ(x) - μ, φ(z) - μ⟩ from the values ⟨φ(x), φ(z)⟩ of some rows and others."""
        moved = values - self.products[rows, np.newaxis]
        moved -= self.products[np.newaxis, columns]
        moved += self.square
        return moved


@dataclass(frozen=True)
class Sample:
    """Rows and the kernel on them, of inputs or of targets.

    The kernel is a recipe until ``resolved``; only then can rows be compared. Kernel values come
    in tiles and exact coordinates, where the kernel has them, in chunks of rows, so that nothing
    of the size of the sample need be held. Kernel values (``tile``, ``gram``, ``columns``,
    ``diag``) are those about the ``origin``, if there is one; coordinates are those of the kernel
    itself, for callers who centre them.
    """

    kernel: Kernel
    rows: Any  # matrix, CSR matrix, labels, objects, or row numbers of a given kernel matrix
    precomputed: bool = False  # whether X was the kernel matrix itself
    origin: Origin | None = None
    weight: np.ndarray | None = None  # how many rows each stands for, shape (m,); None: one

    @property
    def n_samples(self) -> int:
        """Number of rows m."""
        return int(self.rows.shape[0])

    @property
    def total(self) -> float:
        """Number of rows that these stand for: m, or the sum of their weights."""
        return self.n_samples if self.weight is None else float(self.weight.sum())

    @property
    def dtype(self) -> np.dtype:
        """float32 for rows or a kernel matrix in float32, float64 for all others."""
        values = self.kernel.matrix if self.precomputed else self.rows
        return precision(values)

    @property
    def eps(self) -> float:
        """Relative rounding error of one kernel value."""
        return float(np.finfo(self.dtype).eps)

    @property
    def is_array(self) -> bool:
        """Whether rows are numbers in memory, which threads may read at the same time."""
        return isinstance(self.rows, np.ndarray) and self.rows.dtype.kind == "f"

    @property
    def is_streamed(self) -> bool:
        """Whether rows are read a block at a time, and visits are the stream's."""
        return isinstance(self.rows, StreamRows)

    @property
    def is_in_memory(self) -> bool:
        """Whether rows of any type are in memory, which threads may read at the same time."""
        return isinstance(self.rows, np.ndarray) or sparse.issparse(self.rows)

    def resolved(self, choose: Choose | None = None) -> Sample:
        """The same rows with every recipe of the kernel replaced by numbers."""
        return replace(self, kernel=self.kernel.resolve(self.rows, choose, self.weight))

    def in_double(self) -> Sample:
        """The same rows in float64, for kernels that compare them in memory."""
        is_single = self.is_array and not self.has_features
        return replace(self, rows=in_double(self.rows)) if is_single else self

    def take(self, indices: np.ndarray) -> Sample:
        """The same kernel and origin on some of the rows."""
        origin = None if self.origin is None else self.origin.take(indices)
        weight = None if self.weight is None else self.weight[indices]
        return replace(self, rows=self.rows[indices], origin=origin, weight=weight)

    # --- coordinates -----------------------------------------------------------------------------
    @property
    def n_coordinates(self) -> int | None:
        """Columns D of the exact map Φ with K = ΦΦᵀ; None if there is none, or D is too large."""
        return self.kernel.n_coordinates(self.rows.example if self.is_streamed else self.rows)

    @property
    def has_features(self) -> bool:
        """Whether samples can be seen through coordinates (the primal), not only kernel values."""
        return self.n_coordinates is not None

    @property
    def is_narrow(self) -> bool:
        """Whether coordinates are cheaper than the Gram matrix."""
        width = self.n_coordinates
        return width is not None and width <= max(1, self.n_samples // 2)

    def coordinates(self, rows: Rows) -> Any:
        """Exact coordinates of some rows, dense or sparse.

        Rows lie one after the other, however X lies in memory: products round differently, and a
        search that has several optima could end in another one.
        """
        own = self.rows[rows]
        linear = self.kernel.capabilities.is_linear  # whose sums are in float64 anyway
        phi = self.kernel.features(own if linear else in_double(own))
        return np.ascontiguousarray(phi) if isinstance(phi, np.ndarray) else phi

    def centred_coordinates(self) -> np.ndarray:
        """Exact coordinates of all rows, dense, in float64, with mean zero."""
        phi = self.coordinates(slice(None))
        phi = phi.toarray() if sparse.issparse(phi) else phi
        phi = np.asarray(phi, dtype=np.float64)
        return phi - self.mean_of(phi)

    def mean_of(self, values: np.ndarray) -> np.ndarray:
        """Mean of values at the rows, of shape (m, k) or (m,), over all rows these stand for."""
        mean = values.mean(axis=0) if self.weight is None else self.weight @ values / self.total
        return np.asarray(mean)

    def chunks(self) -> list[slice]:
        """Slices of rows whose coordinates fit in one chunk."""
        return list(slices(self.n_samples, chunk_rows(self.n_coordinates or 1)))

    # --- kernel values ---------------------------------------------------------------------------
    def tile(self, rows: Rows, columns: Rows) -> np.ndarray:
        """Kernel values of some rows against others, in float64."""
        if rows is columns:
            values = self.kernel(self.rows[rows])
        else:
            values = self.kernel(self.rows[rows], self.rows[columns])
        values = values.astype(np.float64, copy=False)
        return values if self.origin is None else self.origin.about(values, rows, columns)

    def gram(self) -> np.ndarray:
        """The kernel matrix K of shape (m, m), in float64; refused above the limit of memory."""
        if not self.precomputed and self.n_samples > FREE_ROWS:
            require_pairs(
                repr(self.kernel), self.n_samples, self.n_samples**2, map_instead(self.kernel)
            )
        everything = slice(None)
        return require_finite_values(self.tile(everything, everything))

    def columns(self, indices: np.ndarray) -> np.ndarray:
        """Columns K[:, indices] of shape (m, len(indices)), in the precision of the rows."""
        if self.is_small:
            return self._matrix[:, indices]
        values = self.kernel(self.rows, self.rows[indices])
        if self.origin is not None:
            values = self.origin.about(values, slice(None), indices)
        return require_finite_values(values).astype(self.dtype, copy=False)

    def diag(self) -> np.ndarray:
        """The diagonal of ``gram``, of shape (m,), in float64."""
        values = require_finite_values(self.kernel.diag(self.rows)).astype(np.float64, copy=False)
        if self.origin is None:
            return values
        return values - 2.0 * self.origin.products + self.origin.square

    @property
    def is_small(self) -> bool:
        """Whether all columns at once, by one matrix product, cost less than some in turn."""
        return self.n_samples <= SMALL and self.kernel.capabilities.radial

    @cached_property
    def _matrix(self) -> np.ndarray:
        return self.gram().astype(self.dtype, copy=False)

    # --- views -----------------------------------------------------------------------------------
    def near_origin(self) -> Sample:
        """The same sample measured from about its mean, unless its kernel is bounded anyway."""
        if self.is_narrow or not self.kernel.capabilities.stationary:
            return self.about_mean()
        return self

    def about_mean(self) -> Sample:
        """The same sample measured from about its mean: the same centred kernel matrix.

        Sums over its kernel values do not cancel, however far the rows lie from the origin of the
        feature space and however wide the kernel is.
        """
        if self.origin is not None:
            return self
        if self.is_narrow and not sparse.issparse(self.coordinates(slice(0, 1))):
            return Sample(Linear(), self.centred_coordinates(), weight=self.weight)
        count = min(self.n_samples, PILOT_ROWS)
        pilot = np.linspace(0, self.n_samples - 1, count).astype(np.intp)
        products = self.tile(slice(None), pilot).mean(axis=1)
        return replace(self, origin=Origin(products, float(products[pilot].mean())))

    def reference(self) -> Reference:
        """These rows as what new rows are compared with."""
        return Reference(None if self.precomputed else self.kernel, self.rows)


@dataclass(frozen=True)
class Reference:
    """Rows that new rows are compared with."""

    kernel: Kernel | None  # None: new rows are kernel values with every training row
    rows: Any  # the reference rows, or without a kernel their positions among the training rows

    @property
    def n_rows(self) -> int:
        """Number of reference rows."""
        return int(self.rows.shape[0])

    def against(self, rows: Any) -> np.ndarray:
        """Kernel values of new rows with the reference rows, of shape (n_new, n_rows).

        In float64, whatever the rows are: weights may be large, and multiply rounding errors.
        """
        if self.kernel is None:
            return in_double(rows[:, self.rows])
        return self.kernel(in_double(rows), in_double(self.rows))


def is_precomputed(kernel: Any) -> bool:
    """Whether X is the kernel matrix itself."""
    return isinstance(kernel, str) and kernel == "precomputed"


def sample_of_matrix(
    matrix: np.ndarray, name: str = "X", weight: np.ndarray | None = None
) -> Sample:
    """The training rows of a given kernel matrix, not resolved yet."""
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"With a precomputed kernel {name} is the square kernel matrix of the training rows in "
            f"fit, and of new rows against these in transform; got shape {matrix.shape} in fit."
        )
    return Sample(Precomputed(matrix), np.arange(matrix.shape[0]), precomputed=True, weight=weight)


def precision(rows: Any) -> np.dtype:
    """Type to compute in: float32 for rows in float32, float64 for all others."""
    return np.dtype(np.float32 if rows.dtype == np.float32 else np.float64)


def in_double(rows: Any) -> Any:
    """Rows of numbers in float32 as float64, all others as they are."""
    is_single = getattr(rows, "dtype", None) == np.float32
    return rows.astype(np.float64) if is_single else rows


# --- weights: how many rows each row of a table stands for --------------------------------------
def read_weights(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Weights of so many rows, of shape (n_rows,): none negative or missing, not all zero.

    Examples
    --------
    >>> read_weights([1, 0, 2], 3)
    array([1., 0., 2.])
    """
    if hasattr(sample_weight, "to_numpy"):  # series of any library
        sample_weight = sample_weight.to_numpy()
    refuse_unreadable(sample_weight, "sample_weight")
    rows = np.empty(n_rows)
    weights: np.ndarray = _check_sample_weight(
        sample_weight, rows, dtype=np.float64, ensure_non_negative=True
    )
    total = float(weights.sum())
    if total == 0:
        raise ValueError("sample_weight is zero for every row: at least two rows must count.")
    if not FEWEST <= total <= MOST:
        wrong = (
            f"fewer than {FEWEST:.0f} cannot show a dependence"
            if total < FEWEST
            else f"depmax counts up to {MOST:.0e}"
        )
        raise ValueError(
            f"sample_weight adds up to {total:.3g}, but a weight says how many rows a row stands "
            f"for, and {wrong}. If only the ratios of the weights are meaningful, scale them to "
            "add up to the number of rows: pass w * len(w) / w.sum()."
        )
    return weights


def repeated_rows(weight: np.ndarray, most: int = 20_000) -> np.ndarray:
    """Each row as often as its weight says if all weights are whole numbers, else once.

    Masses that stand for more than ``most`` rows (and more than there are) become so many in the
    same proportions.

    Examples
    --------
    >>> repeated_rows(np.array([1.0, 0.0, 3.0]))
    array([0, 2, 2, 2])
    >>> repeated_rows(np.array([1.0, 0.5]))
    array([0, 1])
    >>> repeated_rows(np.array([3e6, 1e6]), most=4)
    array([0, 0, 0, 1])
    """
    if (weight != np.rint(weight)).any():
        return np.arange(len(weight))
    total = float(weight.sum())
    count = int(min(total, max(most, len(weight))))
    places = (np.arange(count) + 0.5) * (total / count)  # the middles of equal parts
    return np.searchsorted(np.cumsum(weight), places)


@dataclass(frozen=True)
class Weighed:
    """The rows of some tables that have a positive weight."""

    weight: np.ndarray  # their weights, shape (n,)
    rows: np.ndarray | None  # which they are, shape (n,); None: all

    def of(self, table: Any, kernel: Any = None) -> Any:
        """These rows of a table; of a kernel matrix their columns, too. None stays None."""
        if table is not None and not hasattr(table, "__getitem__"):
            table = np.asarray(table)
        return table if table is None or self.rows is None else take_rows(table, self.rows, kernel)

    def counted(self, sample: Sample) -> Sample:
        """A sample of these rows, or of a kernel matrix of all rows, with what each stands for."""
        if sample.precomputed and self.rows is not None:
            sample = sample.take(self.rows)
        return replace(sample, weight=self.weight)


def take_rows(table: Any, rows: np.ndarray, kernel: Any = None) -> Any:
    """Some rows of a table that the kernel compares; of a kernel matrix their columns, too.

    Examples
    --------
    >>> take_rows(np.arange(9).reshape(3, 3), np.array([0, 2]), "precomputed")
    array([[0, 2],
           [6, 8]])
    """
    some = _safe_indexing(table, rows)
    return _safe_indexing(some, rows, axis=1) if is_precomputed(kernel) else some


def weigh(sample_weight: Any, *tables: Any) -> Weighed:
    """Weights of the rows of tables, which must have as many rows each; None is no table."""
    known = [table for table in tables if table is not None]
    for table in known:
        if is_streamed(table):
            raise TypeError(
                "sample_weight needs rows in memory: a table that is read a chunk at a time does "
                "not take weights. Pass rows that fit, such as a random part of them."
            )
    first, *others = [_num_samples(table) for table in known]
    for count in others:
        require_equal_length(first, count)
    weights = read_weights(sample_weight, first)
    if weights.all():
        return Weighed(weights, None)
    rows = np.flatnonzero(weights)
    return Weighed(weights[rows], rows)
