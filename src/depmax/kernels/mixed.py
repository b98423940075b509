"""Rows of numbers and categories under one kernel: a mismatch of categories is a distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from depmax.kernels.bandwidth import MEDIAN_ROWS, middle_distance
from depmax.kernels.columns import Columns
from depmax.kernels.delta import Delta
from depmax.kernels.kernel import Capabilities, Choose, Kernel, frequencies
from depmax.kernels.names import KernelLike, as_kernel

#: Combinations of levels up to which a table without numbers has exact coordinates.
MOST_CELLS = 128
#: Pairs of rows that are compared at a time, so that they stay in the cache.
PAIRS = 2**16


class Mixed(Kernel):
    """A kernel of the distance between rows with numbers and categories.

    A categorical column counts as the indicators of its levels would, one per level, multiplied by
    a scale: two rows that differ in it are √2 scales apart (two scales in the L1 norm). By default
    that scale is one over the standard deviation of all indicators of the column together, so two
    random rows are as far apart in a categorical column as in a standardised numeric one. The
    bandwidth is that of the distance over all columns. Indicators are never formed: memory does not
    depend on the number of levels.

    For data frames with categorical columns, this kernel is built automatically wherever a kernel
    of distances is requested.

    Parameters
    ----------
    kernel : kernel or name, default="gaussian"
        A kernel of distances: Gaussian, Laplace, InverseMultiquadric or InverseDistance.
    numeric : sequence of int, default=()
        Positions of the numeric columns.
    categorical : sequence of int, default=()
        Positions of the categorical columns, whose numbers are codes of levels. Columns that are
        in neither sequence are not compared.
    n_levels : sequence of int, optional
        For each categorical column the number of levels, if its codes are 0, 1, … and -1 for any
        other value. A table with few combinations of levels then has exact coordinates.
    scales : sequence of float, optional
        For each categorical column the scale of its indicators; ``resolve`` estimates them from the
        rows. They are in the unit of the numeric columns: their median standard deviation.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.kernels import Gaussian, Mixed
    >>> table = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0]])
    >>> kernel = Mixed(Gaussian(1.0), numeric=[0], categorical=[1], scales=[1.0])
    >>> kernel(table).round(3)
    array([[1.   , 0.368, 0.607],
           [0.368, 1.   , 0.223],
           [0.607, 0.223, 1.   ]])
    """

    def __init__(
        self,
        kernel: KernelLike = "gaussian",
        numeric: Sequence[int] = (),
        categorical: Sequence[int] = (),
        n_levels: Sequence[int] | None = None,
        scales: Sequence[float] | None = None,
    ) -> None:
        self.kernel = kernel
        self.numeric = numeric
        self.categorical = categorical
        self.n_levels = n_levels
        self.scales = scales

    @property
    def capabilities(self) -> Capabilities:
        """A function of differences, as the inner kernel is."""
        return Capabilities(stationary=True)

    @property
    def is_resolved(self) -> bool:
        """Whether scales and bandwidth are numbers."""
        return self.scales is not None and self._kernel().is_resolved

    def resolve(
        self, X: Any, choose: Choose | None = None, mass: np.ndarray | None = None
    ) -> Kernel:
        """Copy with scales and a bandwidth of the whole distance estimated from the rows X."""
        rows = self._read(X)
        scales = self.scales
        if scales is None:
            scales = indicator_scales(rows, self.numeric, self.categorical, mass).tolist()
        scaled = self._copy_with(scales=tuple(scales))
        if self._kernel().is_resolved:
            return scaled._copy_with(kernel=self._kernel().resolve(rows))

        def chosen(candidates: Sequence[Kernel]) -> Kernel:
            assert choose is not None
            mixed = [scaled._copy_with(kernel=candidate) for candidate in candidates]
            return as_kernel(choose(mixed, rows).kernel)

        inner = self._kernel().settle(
            len(self.numeric) + len(self.categorical),
            lambda: scaled._median_distance(rows, mass),
            None if choose is None else chosen,
        )
        return scaled._copy_with(kernel=inner)

    def columns_on_one_scale(self, columns: Sequence[int]) -> list[list[int]]:
        """The numeric columns: categories have a scale of their own."""
        return self._kernel().columns_on_one_scale([c for c in self.numeric if c in columns])

    def widened(self, factor: float) -> Kernel:
        """Copy with the bandwidth of the whole distance multiplied by ``factor``."""
        return self._copy_with(kernel=self._kernel().widened(factor))

    def resolve_streamed(self, rows: Any) -> Kernel:
        """Refused: the weight of a category is estimated from all rows."""
        if self.is_resolved:
            return self
        raise TypeError(
            "Distances between rows with categorical columns are scaled by all rows, which is not "
            "possible for a table that is read a chunk at a time: use kernel='linear', or omit "
            "the categorical columns with depmax.scan(…, columns=…)."
        )

    @property
    def has_features(self) -> bool:
        """Whether there are no numbers, and few combinations of levels."""
        if len(self.numeric) or self.n_levels is None or not self.is_resolved:
            return False
        return self._n_cells() <= MOST_CELLS

    def n_coordinates(self, X: Any) -> int | None:
        """One coordinate per combination of levels."""
        return self._n_cells() if self.has_features else None

    def features(self, X: Any) -> np.ndarray:
        """Rows of the root of the kernel matrix of all combinations of levels."""
        sizes = self._sizes()
        cells = np.indices(sizes, dtype=np.float64).reshape(len(sizes), -1).T - 1.0
        table = np.empty((len(cells), 1 + max(self.categorical)))
        table[:, list(self.categorical)] = cells
        values, vectors = np.linalg.eigh(self._gram(table, table))
        roots = vectors * np.sqrt(np.maximum(values, 0.0))
        codes = self._read(X)[:, list(self.categorical)].astype(np.intp) + 1
        return roots[np.ravel_multi_index(codes.T, sizes)]

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        return self._kernel().of_sums(self._sums(X, Z))

    def _diag(self, X: Any) -> np.ndarray:
        return self._kernel().diag(X)

    def _kernel(self) -> Any:
        kernel = as_kernel(self.kernel)
        if not hasattr(kernel, "of_sums"):
            raise TypeError(
                f"Mixed needs a kernel of distances, such as Gaussian or Laplace, "
                f"not {type(kernel).__name__}."
            )
        return kernel

    def _sizes(self) -> tuple[int, ...]:
        """Levels of every categorical column, and one for all that are unknown."""
        assert self.n_levels is not None
        return tuple(int(count) + 1 for count in self.n_levels)

    def _n_cells(self) -> int:
        return prod(self._sizes())

    def _sums(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Sums of the (squared) differences of rows over all columns, indicators included."""
        kernel = self._kernel()
        if len(self.numeric):
            left = X[:, list(self.numeric)]
            right = left if X is Z else Z[:, list(self.numeric)]
            sums: np.ndarray = kernel.difference_sums(left, right)
        else:
            sums = np.zeros((len(X), len(Z)), dtype=np.result_type(X, Z))
        assert self.scales is not None
        mismatches = 2.0 * np.asarray(self.scales) ** kernel.norm_
        categorical = list(self.categorical)
        _add_mismatches(sums, X[:, categorical], Z[:, categorical], mismatches)
        return sums

    def _median_distance(self, X: np.ndarray, mass: np.ndarray | None) -> float:
        if len(X) > MEDIAN_ROWS:
            some = np.random.default_rng(0).choice(len(X), MEDIAN_ROWS, replace=False)
            X, mass = X[some], None if mass is None else mass[some]
        sums = self._sums(X, X)[np.triu_indices(len(X), 1)]
        return middle_distance(sums ** (1 / self._kernel().norm_), mass) if len(sums) else 1.0


def indicator_scales(
    X: np.ndarray,
    numeric: Sequence[int],
    categorical: Sequence[int],
    mass: np.ndarray | None = None,
) -> np.ndarray:
    """Scale of the indicators of each categorical column that gives it the weight of a numeric one.

    The variances of the indicators of a column with shares p of its levels add up to 1 - Σp²; their
    scale makes that 1 in the unit of the numeric columns, the median of their standard deviations
    (1 without any that vary).

    Examples
    --------
    >>> codes = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    >>> indicator_scales(codes, [], [0, 1]) ** -2
    array([0.5 , 0.75])
    """
    unit = _median_deviation(X[:, list(numeric)], mass)
    scales = np.empty(len(categorical))
    for place, column in enumerate(categorical):
        codes = X[:, column]
        known = ~np.isnan(codes)
        of_known = None if mass is None else mass[known]
        shares = np.array(list(frequencies(codes[known], of_known).values()))
        variance = 1.0 - float(shares @ shares)
        scales[place] = unit / np.sqrt(variance) if len(shares) > 1 else unit
    return scales


def _median_deviation(values: np.ndarray, mass: np.ndarray | None) -> float:
    """Median standard deviation of the columns that vary; 1.0 without any."""
    if np.isnan(np.sum(values)):  # of the cells that are not missing
        known = [column[~np.isnan(column)] for column in values.T]
        deviations = np.array([column.std() if len(column) else 0.0 for column in known])
        sizes = np.array([np.abs(column).max(initial=0.0) for column in known])
    else:
        deviations = values.std(axis=0, dtype=np.float64)
        sizes = np.abs(values).max(axis=0, initial=0.0)
    if mass is not None:
        squares = (values - np.average(values, axis=0, weights=mass)) ** 2
        deviations = np.sqrt(np.average(squares, axis=0, weights=mass))
    varying = deviations[deviations > 10 * np.finfo(values.dtype).eps * sizes]
    return float(np.median(varying)) if len(varying) else 1.0


def _add_mismatches(sums: np.ndarray, X: np.ndarray, Z: np.ndarray, mismatches: np.ndarray) -> None:
    """Add the mismatch of every column in which two rows differ, some rows at a time."""
    columns = np.ascontiguousarray(Z.T)
    step = max(1, PAIRS // max(1, len(Z)))
    for start in range(0, len(X), step):
        block = sums[start : start + step]
        for place, mismatch in enumerate(mismatches.astype(sums.dtype)):
            differ = X[start : start + step, place, np.newaxis] != columns[place]
            block += mismatch * differ


def join_categories(
    kernel: Kernel, categories: Mapping[int, Sequence[Any]], n_features: int, names: Sequence[str]
) -> Kernel:
    """``kernel`` on all columns of a table, ``categories`` holding the levels of some of them.

    Every simple kernel that it is made of joins them in its own way: kernels of distances become
    ``Mixed``, kernels that add over features add ``Delta`` (the inner product of indicators); a
    kernel that does neither raises an error that names it. ``Mixed`` already says which column goes
    where, and in ``Columns`` every part joins the categories among its own columns.

    Parameters
    ----------
    kernel : Kernel
        Bound to column positions.
    categories : mapping from position of a column to its levels
    n_features : int
        Number of columns.
    names : sequence of str
        Names of all columns.
    """
    if not categories:
        return kernel
    return kernel.with_parts(lambda part: _joined(part, categories, n_features, names))


def _joined(
    kernel: Kernel, categories: Mapping[int, Sequence[Any]], n_features: int, names: Sequence[str]
) -> Kernel:
    """A kernel that is not made of others, or ``Columns``, on a table with categories."""
    if hasattr(kernel, "categorical"):  # Mixed
        return kernel
    if hasattr(kernel, "parts"):  # Columns
        own: Kernel = kernel.with_each(lambda part, at: _of_part(part, at, categories, names))
        return own
    joins = kernel.capabilities.joins_categories
    if joins is None:
        name = type(getattr(kernel, "transformer", kernel)).__name__
        raise TypeError(
            f"{name} cannot compare the categorical column "
            f"{names[min(categories)]!r}: use a kernel of distances such as Gaussian or Laplace, "
            "Linear (one-hot), Columns with a kernel for each column, or encode the column as "
            "numbers."
        )
    categorical = sorted(categories)
    numeric = [column for column in range(n_features) if column not in categories]
    if joins == "distance":
        return Mixed(kernel, numeric, categorical, [len(categories[c]) for c in categorical])
    parts: list[tuple[str, Kernel, list[int]]] = [
        (str(names[column]), Delta(), [column]) for column in categorical
    ]
    return Columns([("numeric", kernel, numeric), *parts] if numeric else parts, "add")


def _of_part(
    kernel: Kernel,
    columns: list[int],
    categories: Mapping[int, Sequence[Any]],
    names: Sequence[str],
) -> Kernel:
    """A part of ``Columns`` with the categories among its columns; labels are compared as such."""
    own = {place: categories[c] for place, c in enumerate(columns) if c in categories}
    if kernel.capabilities.labels:
        return kernel
    return join_categories(kernel, own, len(columns), [names[column] for column in columns])
