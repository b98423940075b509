"""Rows of numbers and categories under one kernel: a mismatch of categories is a distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from depmax.kernels.composite import Columns
from depmax.kernels.kernel import (
    Capabilities,
    Categories,
    Facts,
    Kernel,
    KernelLike,
    Part,
    Parts,
    as_kernel,
)
from depmax.kernels.labels import Delta, frequencies

#: Combinations of levels up to which a table without numbers has exact coordinates.
MOST_CELLS = 128
#: Pairs of rows that are compared at a time, so that they stay in the cache.
PAIRS = 2**16


@dataclass(eq=False, repr=False)
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

    kernel: KernelLike = "gaussian"
    numeric: Sequence[int] = ()
    categorical: Sequence[int] = ()
    n_levels: Sequence[int] | None = None
    scales: Sequence[float] | None = None

    _capabilities: ClassVar[Capabilities] = Capabilities(stationary=True, joins_categories="own")
    _recipe: ClassVar[tuple[str, ...]] = ("scales",)

    @property
    def _parts(self) -> Parts:
        """The kernel of distances; of its columns only numbers have a unit."""
        return Parts.inner(self, Part(self._kernel(), self.numeric))

    def _estimated(self, facts: Facts) -> Kernel:
        """Copy with scales and a bandwidth of the whole distance."""
        if self.is_resolved:
            return self
        if facts.is_streamed:
            raise TypeError(
                "Distances between rows with categorical columns are scaled by all rows, which is "
                "not possible for a table that is read a chunk at a time: use kernel='linear', or "
                "omit the categorical columns with depmax.scan(…, columns=…)."
            )
        rows, scales = self._read(facts.rows), self.scales
        if scales is None:
            scales = indicator_scales(rows, self.numeric, self.categorical, facts.weight).tolist()
        scaled = self._copy_with(scales=tuple(scales))
        if self._kernel().is_resolved:
            return scaled

        def distances(some: np.ndarray) -> np.ndarray:
            sums = scaled._sums(some, some)[np.triu_indices(len(some), 1)]
            return sums ** (1 / self._kernel().norm_)

        def chosen(candidates: Sequence[Kernel], X: Any) -> Kernel:
            assert facts.choose is not None
            mixed: Any = facts.choose([scaled._copy_with(kernel=each) for each in candidates], X)
            return mixed.kernel

        choose = None if facts.choose is None else chosen
        n_columns = len(self.numeric) + len(self.categorical)
        inner = self._kernel()._estimated(Facts(rows, choose, facts.weight, n_columns, distances))
        return scaled._copy_with(kernel=inner)

    def widened(self, factor: float) -> Kernel:
        """Copy with the bandwidth of the whole distance multiplied by ``factor``."""
        return self._copy_with(kernel=self._kernel().widened(factor))

    @property
    def has_features(self) -> bool:
        """Whether there are no numbers, and few combinations of levels."""
        if len(self.numeric) or self.n_levels is None or not self.is_resolved:
            return False
        return self._known_width <= MOST_CELLS

    @property
    def _known_width(self) -> int:
        """One coordinate per combination of levels."""
        return prod(self._sizes())

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
        return self._kernel().of_squares(self._sums(X, Z))

    def _diag(self, X: Any) -> np.ndarray:
        return self._kernel().diag(X)

    def _kernel(self) -> Any:
        kernel = as_kernel(self.kernel)
        if kernel.capabilities.joins_categories != "distance":
            raise TypeError(
                f"Mixed needs a kernel of distances, such as Gaussian or Laplace, "
                f"not {type(kernel).__name__}."
            )
        return kernel

    def _sizes(self) -> tuple[int, ...]:
        """Levels of every categorical column, and one for all that are unknown."""
        assert self.n_levels is not None
        return tuple(int(count) + 1 for count in self.n_levels)

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


def indicator_scales(
    X: np.ndarray,
    numeric: Sequence[int],
    categorical: Sequence[int],
    weight: np.ndarray | None = None,
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
    unit = _median_deviation(X[:, list(numeric)], weight)
    scales = np.empty(len(categorical))
    for place, column in enumerate(categorical):
        codes = X[:, column]
        known = ~np.isnan(codes)
        of_known = None if weight is None else weight[known]
        shares = np.array(list(frequencies(codes[known], of_known).values()))
        variance = 1.0 - float(shares @ shares)
        scales[place] = unit / np.sqrt(variance) if len(shares) > 1 else unit
    return scales


def _median_deviation(values: np.ndarray, weight: np.ndarray | None) -> float:
    """Median standard deviation of the known cells of columns that vary; 1.0 without any."""
    known = ~np.isnan(values)
    cells = np.where(known, values, 0.0).astype(np.float64)
    counts = known.astype(np.float64) if weight is None else known * weight[:, np.newaxis]
    totals = np.maximum(counts.sum(axis=0), np.finfo(np.float64).tiny)
    means = np.einsum("ij,ij->j", counts, cells) / totals
    variances = np.einsum("ij,ij->j", counts, (cells - means) ** 2) / totals
    deviations, sizes = np.sqrt(variances), np.abs(cells).max(axis=0, initial=0.0)
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


def join_categories(kernel: Kernel, categories: Categories, names: Sequence[str]) -> Kernel:
    """A kernel that is not made of others, on a table some columns of which hold codes of levels.

    Parameters
    ----------
    kernel : Kernel
    categories : mapping from position of a column to its levels
    names : sequence of str
        Names of all columns.
    """
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
    numeric = [column for column in range(len(names)) if column not in categories]
    if joins == "distance":
        return Mixed(kernel, numeric, categorical, [len(categories[c]) for c in categorical])
    parts: list[tuple[str, Kernel, list[int]]] = [
        (str(names[column]), Delta(), [column]) for column in categorical
    ]
    return Columns([("numeric", kernel, numeric), *parts] if numeric else parts, "add")
