"""What a search looks at: units of columns, rows, and the weights that the target gives to pairs.

A unit is a single column or a group of columns, which is kept or dropped as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from depmax._resources import cached_property, map_threads, slices
from depmax.data.columns import Categories, Missing, is_missing
from depmax.data.sample import Sample
from depmax.data.table import constant_columns, has_missing
from depmax.kernels.distances import with_far_values
from depmax.kernels.kernel import Kernel
from depmax.kernels.mixed import indicator_scales
from depmax.kernels.neutral import Gaps

#: Rows that two columns must share before they are compared as a whole.
BEGINNING = 16


@dataclass(frozen=True)
class Units:
    """Columns of the expanded matrix that belong together, and the input columns they stand for."""

    X: Any  # input columns, categorical ones replaced by scaled indicators of their levels
    owners: np.ndarray  # per column of X: the column of the input that it stands for
    columns: Sequence[np.ndarray]  # per unit: columns of X
    members: Sequence[np.ndarray]  # per unit: columns of the input
    categories: Categories  # levels of the categorical columns of the input
    cells: Sequence[np.ndarray] = ()  # columns of X that are missing together in some rows

    def unit_of_inputs(self) -> np.ndarray:
        """The unit that each input column belongs to."""
        result = np.empty(sum(len(members) for members in self.members), dtype=np.intp)
        for unit, members in enumerate(self.members):
            result[members] = unit
        return result

    def columns_of(self, units: Sequence[int] | np.ndarray) -> np.ndarray:
        """All columns of X that some units have."""
        return np.concatenate([np.empty(0, dtype=np.intp), *(self.columns[u] for u in units)])

    def n_inputs(self, units: Sequence[int] | np.ndarray) -> int:
        """How many input columns some units have."""
        return sum(len(self.members[unit]) for unit in units)

    def uninformative(self) -> np.ndarray:
        """Units that say nothing new: constant, or an exact copy of an earlier one."""
        if sparse.issparse(self.X):
            return np.zeros(len(self.columns), dtype=bool)
        constant = constant_columns(self.X)
        result = np.array([bool(constant[columns].all()) for columns in self.columns])
        beginnings = [self.X[:BEGINNING, columns].tobytes() for columns in self.columns]
        alike = Counter(beginnings)  # missing cells are alike, too
        seen: set[bytes] = set()
        for number, columns in enumerate(self.columns):
            if alike[beginnings[number]] > 1:
                key = blake2b(self.X[:, columns].tobytes(), digest_size=16).digest()
                result[number] |= key in seen
                seen.add(key)
        return result


def n_leading(sizes: Sequence[int] | np.ndarray, n_requested: int) -> int:
    """How many of the first units have at most ``n_requested`` columns together, at least one.

    Examples
    --------
    >>> n_leading([2, 3, 1], 4), n_leading([2, 3, 1], 5), n_leading([2, 3, 1], 1)
    (1, 2, 1)
    """
    return max(1, int(np.searchsorted(np.cumsum(sizes), n_requested, side="right")))


def make_units(
    X: Any,
    column_groups: Any,
    categories: Categories,
    kernel: Kernel,
    missing: Missing = "refuse",
    weight: np.ndarray | None = None,
) -> Units:
    """Units of a matrix with optional groups (one label per column) and categorical columns.

    With kernels of distances the indicators of categories are scaled as ``Mixed`` scales them, so
    that the kernel of the expanded matrix is the kernel of the table. A column of numbers whose
    missing cells are a level of their own has one more column, which tells where they are.
    """
    n_features = X.shape[1]
    scaled = kernel.capabilities.joins_categories == "distance"
    tells_gaps = missing == "level" and has_missing(X)
    expanded, places = _expand(X, categories, scaled, tells_gaps, weight)
    if column_groups is None:
        members = [np.array([column]) for column in range(n_features)]
    else:
        members = _groups(column_groups, n_features)
    columns = [np.concatenate([places[member] for member in unit]) for unit in members]
    owners = np.repeat(np.arange(n_features), [len(place) for place in places])
    cells: list[np.ndarray] = []
    if has_missing(expanded):
        incomplete = np.isnan(expanded).any(axis=0)
        cells = [place[incomplete[place]] for place in places if incomplete[place].any()]
        if kernel.capabilities.is_linear:  # the mean embedding is the mean
            expanded, cells = Gaps.of(expanded, cells).filled(expanded), []
    return Units(expanded, owners, columns, members, categories, cells)


def _groups(column_groups: Any, n_features: int) -> list[np.ndarray]:
    """Columns of each group, groups in the order of their first column."""
    is_list = isinstance(column_groups, Iterable) and getattr(column_groups, "ndim", 1) == 1
    if not is_list or isinstance(column_groups, str | Mapping | Set):
        raise ValueError(
            f"column_groups must be a list of labels, one per column of X ({n_features}), got "
            f"{column_groups!r}."
        )
    labels = list(column_groups)
    if len(labels) != n_features or not all(isinstance(label, Hashable) for label in labels):
        raise ValueError(
            f"column_groups must hold one label per column of X ({n_features}), such as a number "
            f"or a name, got {len(labels)}: {labels!r}."
        )
    members: dict[Any, list[int]] = {}
    for column, label in enumerate(labels):
        if is_missing(label):
            raise ValueError(
                f"column_groups has no label for column {column} ({label!r}): give a column that "
                "belongs to no group a label of its own."
            )
        members.setdefault(label, []).append(column)
    return [np.array(group) for group in members.values()]


def _expand(
    X: Any, categories: Categories, scaled: bool, tells_gaps: bool, weight: np.ndarray | None
) -> tuple[Any, list[np.ndarray]]:
    """Replace categorical columns by indicators, and say where each input column went."""
    if not categories and not tells_gaps:
        return X, [np.array([column]) for column in range(X.shape[1])]
    scales = dict.fromkeys(categories, 1.0)
    numeric = [column for column in range(X.shape[1]) if column not in categories]
    if scaled:
        found = indicator_scales(X, numeric, list(categories), weight)
        scales = dict(zip(categories, found.tolist(), strict=True))
    blocks, places, start = [], [], 0
    for column in range(X.shape[1]):
        values = X[:, [column]]
        absent = np.isnan(values)
        if column in categories:
            indicators = values == np.arange(len(categories[column]))
            values = indicators.astype(X.dtype) * X.dtype.type(scales[column])
            values[absent[:, 0]] = np.nan
        elif tells_gaps and absent.any() and not absent.all():
            codes = np.column_stack([X, absent]) if scaled else None
            scale = 1.0 if codes is None else indicator_scales(codes, numeric, [X.shape[1]])[0]
            # as the two indicators of a category with two levels
            values = np.hstack([values, absent * X.dtype.type(np.sqrt(2.0) * scale)])
        blocks.append(values)
        places.append(np.arange(start, start + values.shape[1]))
        start += values.shape[1]
    return np.hstack(blocks), places


# --- rows, and weights of pairs of rows -----------------------------------------------------------

#: Rows of a strip of pairs.
STRIP = 128
#: Numbers that are kept from round to round at most (a constant 64 MB in single precision).
KEPT = 2**24
#: Multiplications and additions that take longer than waking threads does.
WORTH_THREADS = 10**8
#: Rows that are turned into columns at a time.
ROWS = 256
#: Even powers whose means are known; those of higher powers are smaller.
POWERS = 6
#: Columns whose powers are made at a time.
COLUMNS = 64

Part = TypeVar("Part")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Ranges:
    """Where the values of each column lie; of missing cells, in the middle."""

    middle: np.ndarray  # half-way between the smallest and the largest value, if none is far
    half_width: np.ndarray  # largest distance from the middle
    variance: np.ndarray
    gap: np.ndarray  # between the values of a column that has two of them, 0 of all others


@dataclass(frozen=True)
class Outcome:
    """Dependence before any change and after each one, and how exact the kernel after it is."""

    value: float
    scores: np.ndarray
    error: float = 0.0  # bound on the root mean square, over pairs, of what a kernel value lacks


@dataclass(frozen=True)
class SearchData:
    """Rows to search, and the weights M of pairs of them: HSIC is Σ M∘K.

    M = Ã/(m(m-3)) (unbiased, Ã the U-centred L) or HLH/(m-1)² (biased). Where rows stand for
    several each, M is added up over their copies; without bias a row is compared with its other
    copies, but not with itself.
    """

    X: Any  # (n_samples, n_features), dense or sparse
    target: Sample  # with the kernel L, near its origin
    means: np.ndarray  # what each row and column of L loses, shape (n_samples,)
    constant: float  # what every entry of L gains
    scale: float
    unbiased: bool
    dtype: np.dtype[Any]  # of matrix products
    n_jobs: int | None
    cells: Sequence[np.ndarray]  # columns that are missing together in some rows
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)  # of pairs, for later rounds

    @classmethod
    def of(
        cls,
        X: Any,
        target: Sample,
        unbiased: bool,
        dtype: Any = np.float64,
        n_jobs: int | None = None,
        cells: Sequence[np.ndarray] = (),
    ) -> SearchData:
        """One visit to the rows of the target's kernel matrix."""
        side = target.near_origin()
        m, sums = side.total, _row_sums(side, unbiased)
        total = float(sums.sum() if side.weight is None else side.weight @ sums)
        if unbiased:
            parts = sums / (m - 2), total / ((m - 1) * (m - 2)), 1.0 / (m * (m - 3))
        else:
            parts = sums / m, total / m**2, 1.0 / (m - 1) ** 2
        if len(cells):
            dtype = np.float64
        return cls(X, side, *parts, unbiased, np.dtype(dtype), n_jobs, cells)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @cached_property
    def filled(self) -> Any:
        """X with the middle of its column in every missing cell."""
        if not len(self.cells):
            return self.X
        X = np.asarray(self.X, dtype=np.float64)
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
        return np.where(np.isnan(X), np.nan_to_num(0.5 * (low + high)), X)

    @cached_property
    def gaps(self) -> Gaps:
        """What stands for missing cells."""
        return Gaps.of(self.X, self.cells)

    @cached_property
    def ranges(self) -> Ranges:
        """Ranges of all columns, read once for all rounds of a search."""
        X = self.filled
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        variance, middle = X.var(axis=0, dtype=np.float64), 0.5 * (low + high)
        median, is_far = with_far_values(X, 0.5 * (high - low))
        middle = np.where(is_far, median, middle)
        gap = np.where(_only(X, low, high), high - low, 0.0)
        return Ranges(middle, np.maximum(high - middle, middle - low), variance, gap)

    @cached_property
    def centred(self) -> np.ndarray:
        """Columns about the middles of their ranges, one per row: (n_features, n_samples)."""
        moved = np.empty(self.X.shape[::-1], dtype=self.dtype)
        for part in slices(self.n_samples, ROWS):
            moved[:, part] = (self.filled[part] - self.ranges.middle).T
        return moved

    @cached_property
    def mean_powers(self) -> np.ndarray:
        """Means of (x/h)², (x/h)⁴, … of the centred columns, h half their range: (POWERS, d)."""
        widths = self.ranges.half_width
        factors = np.divide(1.0, widths, out=np.zeros_like(widths), where=widths > 0)
        means = np.empty((POWERS, len(widths)))

        def fill(part: slice) -> None:
            squares = self.centred[part] * factors[part, np.newaxis].astype(self.dtype)
            squares *= squares
            power = squares.copy()
            for mean in means:
                mean[part] = power.mean(axis=1)
                power *= squares

        self.over(fill, list(slices(len(widths), COLUMNS)), float(POWERS * self.centred.size))
        return means

    def strips(self) -> list[slice]:
        """Slices of rows whose strips cover all pairs."""
        return list(slices(self.n_samples, STRIP))

    def strip(self, rows: slice) -> np.ndarray:
        """Weights of some rows against themselves and all later rows, each pair counted once.

        Pairs a < b carry twice their weight, so that sums over strips are sums over all pairs.
        """
        later, weight = slice(rows.start, None), self.target.weight
        weights = self._centred_values(rows, later)
        square = weights[:, : len(weights)]
        if weight is not None:
            weights *= weight[rows, np.newaxis] * weight[later]
            if self.unbiased:
                own = np.arange(len(square))
                square[own, own] *= (weight[rows] - 1.0) / weight[rows]
        elif self.unbiased:
            np.fill_diagonal(square, 0.0)
        weights *= 2.0 * self.scale
        square *= 0.5  # both orders of a pair are inside the square
        return weights

    def weights_between(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Weights of some rows with others that are none of these, both orders of a pair added."""
        if self._products is not None:
            first, second = self._products
            weights = np.asarray(first[rows] @ second[others].T)
        else:
            both = self.target.take(np.concatenate([rows, others]))
            weights = both.tile(slice(0, len(rows)), slice(len(rows), None))
            weights -= self.means[rows, np.newaxis]
            weights += self.constant - self.means[others]
        if self.target.weight is not None:
            weights *= self.target.weight[rows, np.newaxis] * self.target.weight[others]
        weights *= 2.0 * self.scale
        return weights

    def kept_strip(self, rows: slice) -> tuple[np.ndarray, float]:
        """A strip of weights in the precision of products, and what its sum has gained by rounding.

        Not to be written to; kept while there are few pairs.
        """
        found: tuple[np.ndarray, float] | None = self.kept.get(rows.start)
        if found is None:
            strip = self.strip(rows)
            rounded = strip.astype(self.dtype, copy=False)
            found = rounded, float(rounded.sum(dtype=np.float64) - strip.sum())
            if self.n_samples**2 <= KEPT:
                self.kept[rows.start] = found
        return found

    def space(self, n_rows: int, n_columns: int, dtype: Any) -> np.ndarray:
        """An array to write into, the same one at every call: fresh memory costs page faults."""
        size, kept = n_rows * n_columns, self.kept.get("space")
        if kept is None or kept.size < size or kept.dtype != dtype:
            kept = self.kept["space"] = np.empty(size, dtype=dtype)
        found: np.ndarray = kept[:size].reshape(n_rows, n_columns)
        return found

    def forget(self) -> None:
        """Drop what was kept of pairs of rows."""
        for key in [key for key in self.kept if isinstance(key, int | str)]:
            del self.kept[key]

    def over(
        self, work: Callable[[Part], Result], parts: Sequence[Part], effort: float = np.inf
    ) -> list[Result]:
        """Results of independent parts, in order; in threads where the ``effort`` is worth it.

        The effort is a number of multiplications and additions.
        """
        return map_threads(work, parts, self.n_jobs if effort >= WORTH_THREADS else 1)

    def added(self, work: Callable[[slice], np.ndarray]) -> Outcome:
        """Sums over strips of what they contribute to the value and to the scores."""
        total = np.sum(self.over(work, self.strips()), axis=0)
        return Outcome(float(total[0]), total[1:])

    @cached_property
    def _products(self) -> tuple[np.ndarray, np.ndarray] | None:
        """A and B with ABᵀ the centred L, if the target is seen through coordinates."""
        if not _has_coordinates(self.target):
            return None
        phi, ones = self.target.rows, np.ones(self.n_samples)
        first = np.column_stack([phi, -self.means, ones])
        return first, np.column_stack([phi, ones, self.constant - self.means])

    def _centred_values(self, rows: slice, later: slice) -> np.ndarray:
        """Centred L of some rows against later ones, in memory of its own."""
        if self._products is not None:
            first, second = self._products
            return np.asarray(first[rows] @ second[later].T)
        values = _values(self.target, rows, self.unbiased and self.target.weight is None)
        values -= self.means[rows, np.newaxis]
        values -= self.means[np.newaxis, later]
        values += self.constant
        return values


def _row_sums(side: Sample, unbiased: bool) -> np.ndarray:
    """L̃1 (unbiased) or L1, over all copies of rows with weights."""
    weight, sums = side.weight, np.zeros(side.n_samples)
    if _has_coordinates(side):
        phi = side.rows
        sums = phi @ (phi.sum(axis=0) if weight is None else weight @ phi)
        return sums - side.diag() if unbiased else sums
    for rows in slices(side.n_samples, STRIP):
        values = _values(side, rows, unbiased and weight is None)
        later = values[:, len(values) :]  # L is symmetric
        sums[rows] += values.sum(axis=1) if weight is None else values @ weight[rows.start :]
        sums[rows.stop :] += later.sum(axis=0) if weight is None else weight[rows] @ later
    return sums - side.diag() if unbiased and weight is not None else sums


def _has_coordinates(side: Sample) -> bool:
    """Whether kernel values are products of coordinates, dense and about their mean."""
    plain = side.origin is None and isinstance(side.rows, np.ndarray)
    return plain and side.kernel.capabilities.is_linear


def _values(side: Sample, rows: slice, unbiased: bool) -> np.ndarray:
    """L̃ (unbiased) or L of some rows against themselves and all later rows.

    The diagonal is set here and nowhere else: zero, or what the kernel declares it to be.
    """
    values = side.tile(rows, slice(rows.start, None))
    own = np.arange(values.shape[0])
    values[own, own] = 0.0 if unbiased else side.take(own + rows.start).diag()
    return values


def _only(X: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Which columns have these two values and no other."""
    few = X[:ROWS]
    only = ((few == low) | (few == high)).all(axis=0)
    some = np.flatnonzero(only)
    only[some] = [np.all((X[:, j] == low[j]) | (X[:, j] == high[j])) for j in some]
    return only


@dataclass(frozen=True)
class Change:
    """Units (single columns or groups) that leave a set of columns, or join it, one at a time."""

    base: np.ndarray  # columns of the set before the change
    units: Sequence[np.ndarray]  # columns of each candidate, none in two of them
    joins: bool  # whether a unit joins the set (forward) or leaves it (backward)

    @property
    def sign(self) -> int:
        """Sign of a unit's squared distances in the exponent of a kernel that factors."""
        return -1 if self.joins else 1

    def singles(self) -> np.ndarray:
        """Which units are one column each."""
        return np.array([len(unit) == 1 for unit in self.units], dtype=bool)

    def of(self, places: np.ndarray) -> Change:
        """A change of some of the units."""
        return Change(self.base, [self.units[place] for place in places], self.joins)

    def among(self, columns: np.ndarray) -> Change:
        """A change where columns are numbered by their places among some, in order."""
        units = [np.searchsorted(columns, unit) for unit in self.units]
        return Change(np.searchsorted(columns, self.base), units, self.joins)

    def after(self, unit: np.ndarray) -> np.ndarray:
        """The set after the change."""
        if self.joins:
            return np.concatenate([self.base, unit])
        return self.base[~np.isin(self.base, unit)]
