"""Bandwidths, policies that estimate them from data, and columns on different scales."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from depmax._inputs.levels import warn_caller
from depmax.kernels.distance import city_block, squared_distances
from depmax.kernels.kernel import Choose, Kernel

Bandwidth = float | Literal["median", "dimension", "maximize"]

#: Up to this many rows the median distance is that of all pairs; beyond, that of the pairs among so
#: many random rows, drawn with a fixed seed.
MEDIAN_ROWS = 1000
#: Multiples of the median among which ``"maximize"`` chooses.
GRID = tuple(2.0 ** np.arange(-4, 5))


class BandwidthKernel(Kernel):
    """A stationary kernel with one length scale, ``bandwidth``."""

    bandwidth: Bandwidth
    #: Order of the norm that the kernel's distance uses.
    _norm: ClassVar[int] = 2

    @property
    def norm_(self) -> int:
        """Order of the norm of x - z that the kernel depends on."""
        return self._norm

    @property
    def is_resolved(self) -> bool:
        """Whether the bandwidth is a number."""
        return not isinstance(self.bandwidth, str)

    @property
    def follows_scale(self) -> bool:
        """Whether the bandwidth is estimated from distances between rows."""
        return self.bandwidth in ("median", "maximize")

    def resolve(
        self, X: Any, choose: Choose | None = None, mass: np.ndarray | None = None
    ) -> Kernel:
        """Copy with the bandwidth that its policy estimates from the rows X."""
        if not isinstance(self.bandwidth, str):
            self._width()
            return self
        rows = self._read(X)
        return self.settle(
            rows.shape[1],
            lambda: median_distance(rows, self.norm_, mass),
            None if choose is None else lambda candidates: choose(candidates, X),
        )

    def settle(
        self,
        n_columns: int,
        median: Callable[[], float],
        choose: Callable[[Sequence[Kernel]], Kernel] | None,
    ) -> Kernel:
        """Copy with the bandwidth that its policy derives from these facts about the rows."""
        if self.bandwidth == "dimension":
            return self.counting(n_columns)
        if self.bandwidth == "median":
            return self._copy_with(bandwidth=median())
        if self.bandwidth == "maximize":
            if choose is None:
                raise ValueError(
                    f'bandwidth="maximize" of {type(self).__name__} needs a target to depend on: '
                    "use depmax.resolve(kernel, X, y), or a number, 'median' or 'dimension' here."
                )
            middle = median()
            widths = [factor * middle for factor in GRID]
            return choose([self._copy_with(bandwidth=width) for width in widths])
        raise ValueError(
            f"Unknown bandwidth {self.bandwidth!r} of {type(self).__name__}: pass a positive "
            "number, 'median', 'dimension' or 'maximize'."
        )

    def counting(self, n_columns: int) -> Kernel:
        """Copy with the bandwidth of ``"dimension"`` as a number."""
        if not isinstance(self.bandwidth, str) or self.bandwidth != "dimension":
            return self
        return self._copy_with(bandwidth=float(n_columns ** (1 / self.norm_)))

    def widened(self, factor: float) -> Kernel:
        """Copy with the bandwidth, a number, multiplied by ``factor``."""
        return self._copy_with(bandwidth=factor * self._width())

    def difference_sums(self, X: Any, Z: Any) -> np.ndarray:
        """Sums over columns of squared (or for the L1 norm absolute) differences of rows."""
        return squared_distances(X, Z) if self.norm_ == 2 else city_block(X, Z)

    def of_sums(self, sums: np.ndarray) -> np.ndarray:
        """Kernel values from such sums, in place."""
        return self.of_squares(sums)

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        return self.of_sums(self.difference_sums(X, Z))

    def _width(self) -> float:
        """The bandwidth as a positive number."""
        width = self.bandwidth
        if not isinstance(width, Real) or not np.isfinite(width) or width <= 0:
            raise ValueError(
                f"bandwidth of {type(self).__name__} must be a positive number, got {width!r}."
            )
        return float(width)


def median_distance(X: Any, norm: int = 2, mass: np.ndarray | None = None) -> float:
    """Median distance between two rows of X, each of which counts as often as its mass says.

    With more than ``MEDIAN_ROWS`` rows, a random subset with a fixed seed stands for all. If more
    than half of the pairs coincide, the median of the positive distances is used; if all rows are
    equal, 1.0, since every bandwidth then gives the same kernel.

    Examples
    --------
    >>> median_distance(np.array([[0.0], [1.0], [3.0]]))
    2.0
    """
    if X.shape[0] > MEDIAN_ROWS:
        some = np.random.default_rng(0).choice(X.shape[0], MEDIAN_ROWS, replace=False)
        X, mass = X[some], None if mass is None else mass[some]
    if X.shape[0] < 2:
        return 1.0
    return middle_distance(_pairwise(X, norm), mass)


def middle_distance(distances: np.ndarray, mass: np.ndarray | None = None) -> float:
    """Median of some distances, of the positive ones if most are zero; 1.0 if all are.

    With a mass of every row, distances are those of all pairs i < j of them, and a row that stands
    for several is at distance 0 from its own copies.
    """
    if mass is None:
        median = float(np.median(distances))
        if median > 0:
            return median
        positive = distances[distances > 0]
        return float(np.median(positive)) if positive.size else 1.0
    first, second = np.triu_indices(len(mass), 1)
    counts = mass[first] * mass[second]
    copies = float(mass @ np.maximum(mass - 1.0, 0.0)) / 2
    median = _weighted_median(np.append(distances, 0.0), np.append(counts, copies))
    if median > 0:
        return median
    positive = distances > 0
    return _weighted_median(distances[positive], counts[positive]) if positive.any() else 1.0


def _weighted_median(values: np.ndarray, counts: np.ndarray) -> float:
    """Median of values that each occur a given number of times."""
    order = np.argsort(values)
    reached = np.cumsum(counts[order])
    half = reached[-1] / 2
    last = len(values) - 1
    middle = [int(np.searchsorted(reached, half, side=side)) for side in ("left", "right")]
    low, high = (values[order[min(place, last)]] for place in middle)
    return float((low + high) / 2)


def _pairwise(X: Any, norm: int) -> np.ndarray:
    """Distances of all pairs i < j, as one vector."""
    if sparse.issparse(X):
        return np.sqrt(squared_distances(X, X)[np.triu_indices(X.shape[0], 1)])
    from scipy.spatial.distance import pdist

    return pdist(X, "cityblock" if norm == 1 else "euclidean")


#: Spreads that differ by more than this factor are warned about.
FAR_APART = 100.0
#: Rows that spreads are read off; more are sampled with a fixed seed.
SAMPLE_ROWS = 1000
#: Cells of the sample that are looked at together.
CELLS = 10**6


class ScaleWarning(UserWarning):
    """Numeric columns of X are on very different scales, and the method compares them.

    Raised by every measure and estimator whose result depends on the units of the columns, if one
    column has more than 100 times the spread (standard deviation and range) of another. The wide
    column then determines all distances and inner products, and the narrow one is nearly ignored.
    Put a ``StandardScaler`` before the estimator, or standardise X before calling a measure. If the
    scales are intended, ``warnings.simplefilter("ignore", depmax.ScaleWarning)`` silences it.

    Methods that do not depend on the columns' units (``screen``, ``DependenceFilter`` with its
    defaults, ``SIR`` and others), sparse matrices, precomputed kernel matrices and kernels of
    objects never raise it; neither do ``compare`` and the command line, which standardise.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import depmax
    >>> X = np.random.default_rng(0).normal(size=(50, 2)) * [1.0, 10_000.0]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     value = depmax.hsic(X, X[:, 0])
    >>> [str(warning.message).split(":")[0] for warning in caught]
    ['Column 1 of X has 10,646 times the spread of column 0']
    """


def warn_of_scales(
    kernel: Kernel,
    rows: Any,
    names: Sequence[str] | None,
    categorical: Collection[int] = (),
    *,
    owner: str | None = None,
    one_by_one: bool = False,
) -> None:
    """Warn if the kernel compares columns with very different spreads.

    Parameters
    ----------
    kernel : Kernel
        Bound to column positions, not resolved yet.
    rows : array, sparse matrix, or anything that gives an array when it is sliced
    names : names of the columns, if they have any
    categorical : positions of categorical columns, which have no scale
    owner : name of the estimator that reads the rows, if it is not a measure
    one_by_one : bool
        Whether the kernel is applied to every column alone and the values are then compared.
    """
    if sparse.issparse(rows) or rows.shape[0] < 2:
        return
    if one_by_one and kernel.follows_scale:
        return
    numeric: Sequence[int] = range(rows.shape[1])
    if categorical:
        numeric = [column for column in numeric if column not in categorical]
    groups = [group for group in kernel.columns_on_one_scale(numeric) if len(group) > 1]
    if not groups:
        return
    sample = _sample(rows)
    low, high = _ends(sample)
    if np.isnan(low).any():  # the rows may have missing cells
        from depmax.kernels.neutral import drawn

        sample = drawn(sample)
        low, high = _ends(sample)
    ranges = _ranges(low, high)
    every = len(ranges)  # indexing by all columns would take longer than looking at them
    groups = [g for g in groups if _are_far_apart(ranges if len(g) == every else ranges[g])]
    if not groups:
        return
    deviations = np.where(ranges > 0.0, _deviations(sample), 0.0)
    for group in groups:
        found = _farthest(deviations[group], ranges[group])
        if found is not None:
            wide, narrow = group[found[0]], group[found[1]]
            text = _message(wide, narrow, deviations, names, bool(categorical), owner)
            warn_caller(text, ScaleWarning)
            return


def _ends(sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest value of every column; NaN where a cell is missing."""
    with np.errstate(invalid="ignore"):
        return sample.min(axis=0), sample.max(axis=0)


def _ranges(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Range of every column; zero for one that is constant or not finite."""
    eps = np.finfo(low.dtype).eps
    low, high = low.astype(np.float64), high.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        reach = high - low
        # What rounding leaves of a constant column is not a spread.
        rounding = 10 * eps * np.maximum(np.abs(low), np.abs(high))
        return np.where((reach > rounding) & np.isfinite(reach), reach, 0.0)


def _are_far_apart(spreads: np.ndarray) -> bool:
    varying = spreads[spreads > 0.0]
    return len(varying) > 1 and bool(varying.max() > FAR_APART * varying.min())


def _deviations(sample: np.ndarray) -> np.ndarray:
    """Standard deviation of every column; zero for one that is not finite."""
    width = max(1, CELLS // len(sample))
    deviations = np.zeros(sample.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, sample.shape[1], width):
            part = slice(start, start + width)
            deviations[part] = np.std(sample[:, part], axis=0, dtype=np.float64)
    return np.where(np.isfinite(deviations), deviations, 0.0)


def _sample(rows: Any) -> np.ndarray:
    """All rows of an array, or as many random ones; of other rows the first, middle and last.

    Rows that are read a block at a time (files) are read in three places only.
    """
    n_rows = rows.shape[0]
    if isinstance(rows, np.ndarray):
        if n_rows <= SAMPLE_ROWS:
            return rows
        return rows[np.random.default_rng(0).choice(n_rows, SAMPLE_ROWS, replace=False)]
    if hasattr(rows, "glance"):
        found = rows.glance(SAMPLE_ROWS)
    else:
        length = min(n_rows, SAMPLE_ROWS // 3)
        starts = sorted({0, (n_rows - length) // 2, n_rows - length})
        found = rows[np.concatenate([np.arange(start, start + length) for start in starts])]
    return found.toarray() if sparse.issparse(found) else found


def _farthest(deviations: np.ndarray, ranges: np.ndarray) -> tuple[int, int] | None:
    """The widest column and the narrowest, if their spreads are far apart.

    The ranges must be, too: a column of zeros with few ones has a small deviation, but counts as
    much as others in the rows where it is one.
    """
    varying = np.flatnonzero(deviations > 0.0)
    if len(varying) < 2:
        return None
    wide = varying[np.argmax(deviations[varying])]
    ratios = np.minimum(deviations[wide] / deviations[varying], ranges[wide] / ranges[varying])
    narrow = int(np.argmax(ratios))
    return (int(wide), int(varying[narrow])) if ratios[narrow] > FAR_APART else None


def _message(
    wide: int,
    narrow: int,
    deviations: np.ndarray,
    names: Sequence[str] | None,
    mixed: bool,
    owner: str | None,
) -> str:
    def label(column: int) -> str:
        return f"column {column}" if names is None else repr(str(names[column]))

    large, small = label(wide), label(narrow)
    scaler = "depmax.evaluation.PrepareColumns()" if mixed else "StandardScaler()"
    remedy = f"{scaler}.fit_transform(X)"
    if owner is not None:
        remedy = f"make_pipeline({scaler}, {owner}(...))"
    ratio = deviations[wide] / deviations[narrow]
    start = f"{large} of X" if names is None else f"Column {large} of X"
    return (
        f"{start[0].upper()}{start[1:]} has {ratio:,.0f} times the spread of {small}: it "
        "dominates distances and inner products, and columns with a small spread are nearly "
        f"ignored (standard deviations {deviations[wide]:.3g} and {deviations[narrow]:.3g}). Put "
        f"the columns on one scale with {remedy}, or give each its own with "
        "kernel=depmax.kernels.Columns(...)."
    )
