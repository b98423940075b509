"""What a first visit to a table tells, and blocks of rows that are decoded by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from depmax._text import counted
from depmax.data import role_of_text
from depmax.data.labels import warn_of_order
from depmax.data.levels import (
    encode_levels,
    is_nominal,
    refuse_gaps,
    why_not_category,
    why_not_numeric,
)
from depmax.data.pieces import Block, Chunk, column_major, numbers_of
from depmax.data.table import (
    Categories,
    column_names,
    is_frame,
    require_finite,
    require_numbers,
)
from depmax.data.target import declared_categories, missing_rows, settle, target_array

#: Different values of a target that are counted; with more it can only be numbers.
MOST_CLASSES = 1000
#: Outputs up to which the first visit takes their mean and scatter.
FEW_OUTPUTS = 16
#: Rows that are looked at first.
GLANCE = 2000


@dataclass(frozen=True)
class PresentTarget:
    """The rows of a chunk that have a target."""

    values: np.ndarray
    missing: np.ndarray | None  # which rows have none; None: all have one


def present_target(y: Any) -> PresentTarget:
    """The target of a chunk, without the rows that have none."""
    is_double = str(getattr(y, "type", "")) == "double"  # a column of an Arrow table
    array = y.to_numpy() if is_double else target_array(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    missing = missing_rows(array)
    if not missing.any():
        return PresentTarget(array, None)
    return PresentTarget(settle(array[~missing]), missing)


@dataclass(frozen=True)
class TargetFacts:
    """What decides the type of a target, and what class weights are made of."""

    n_rows: int  # with a target
    n_missing: int
    kinds: frozenset[str]  # of numpy's dtypes: b, i, u, f, U, O, …
    width: int | None  # None: one dimension
    counts: dict[Any, int] | None  # of different values; None if there are too many
    some: tuple[Any, ...]  # some of the different values
    is_binary: bool  # only zeros and ones
    largest: np.ndarray | None  # largest size of each column of numbers
    categorical: bool
    mean: np.ndarray | None  # of few columns of numbers, shape (q,)
    scatter: np.ndarray | None  # about it, shape (q, q)

    @classmethod
    def of(cls, y: Any) -> TargetFacts:
        """Facts about one chunk."""
        known, declared = present_target(y), declared_categories(y)
        values = known.values
        if declared is not None:
            warn_of_order(declared)
        n_missing = 0 if known.missing is None else int(known.missing.sum())
        width = None if values.ndim == 1 else int(values.shape[1])
        numeric = values.dtype.kind in "biuf"
        largest, binary, mean, scatter = None, False, None, None
        if numeric and len(values):
            mean, scatter = _moments(values)
            sizes = np.abs(values.astype(np.float64, copy=False))
            largest = np.atleast_1d(sizes.max(axis=0))
            binary = bool(np.isin(values, (0, 1)).all())
        counts = _counted(values) if width is None else None
        some = tuple(values[:GLANCE].ravel().tolist()) if counts is None else tuple(counts)
        kinds = frozenset(values.dtype.kind) if len(values) else frozenset()
        return cls(
            len(values),
            n_missing,
            kinds,
            width,
            counts,
            tuple(dict.fromkeys(some)),
            binary,
            largest,
            declared is not None,
            mean,
            scatter,
        )

    def __add__(self, other: TargetFacts) -> TargetFacts:
        """Facts about the rows of both."""
        if not other.n_rows or not self.n_rows:
            full, rest = (self, other) if self.n_rows else (other, self)
            return _with_missing(full, full.n_missing + rest.n_missing)
        if self.width != other.width:
            raise ValueError("y has a different number of columns in one part of the table.")
        counts = None
        if self.counts is not None and other.counts is not None:
            counts = dict(self.counts)
            for value, count in other.counts.items():
                counts[value] = counts.get(value, 0) + count
            counts = counts if len(counts) <= MOST_CLASSES else None
        largest = None
        if self.largest is not None and other.largest is not None:
            largest = np.maximum(self.largest, other.largest)
        return TargetFacts(
            self.n_rows + other.n_rows,
            self.n_missing + other.n_missing,
            self.kinds | other.kinds,
            self.width,
            counts,
            tuple(dict.fromkeys((*self.some, *other.some)))[: 2 * MOST_CLASSES],
            self.is_binary and other.is_binary,
            largest,
            self.categorical or other.categorical,
            *self._moments_of_both(other),
        )

    def _moments_of_both(self, other: TargetFacts) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Mean and scatter about it, each part measured from its own mean."""
        if self.mean is None or other.mean is None:
            return None, None
        assert self.scatter is not None
        assert other.scatter is not None
        share, apart = other.n_rows / (self.n_rows + other.n_rows), other.mean - self.mean
        between = self.n_rows * share * np.outer(apart, apart)
        return self.mean + share * apart, self.scatter + other.scatter + between

    def representative(self) -> np.ndarray:
        """A small target of the same type: its different values, or many of them."""
        if self.width is not None:
            return np.array([[0.0, 1.0]] if self.is_binary else [[0.0, 2.0]])
        numeric = self.kinds <= frozenset("biuf")
        if not numeric and len({kind in "biuf" for kind in self.kinds}) > 1:
            raise TypeError("y holds numbers in one part of the table and text in another.")
        some = list(self.some if self.counts is None else self.counts)
        if numeric and "f" in self.kinds:
            return np.array(some, dtype=np.float64)
        return settle(np.array(some, dtype=None if numeric or self.kinds == {"U"} else object))


def _moments(values: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Mean and scatter of columns of finite numbers, if they are few."""
    columns = values.reshape(len(values), -1).astype(np.float64)
    if columns.shape[1] > FEW_OUTPUTS:
        return None, None
    with np.errstate(over="ignore", invalid="ignore"):
        mean = columns.mean(axis=0)
        centred = columns - mean
        return mean, centred.T @ centred


def _with_missing(facts: TargetFacts, n_missing: int) -> TargetFacts:
    return replace(facts, n_missing=n_missing)


def _counted(values: np.ndarray) -> dict[Any, int] | None:
    """How often each value occurs, if few do."""
    plain = values.dtype.kind != "O"
    if plain and len(values) > GLANCE and len(np.unique(values[:GLANCE])) > MOST_CLASSES:
        return None
    if values.dtype.kind == "O":
        found: dict[Any, int] = {}
        for value in values.tolist():
            found[value] = found.get(value, 0) + 1
            if len(found) > MOST_CLASSES:
                return None
        return found
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) > MOST_CLASSES:
        return None
    return dict(zip(distinct.tolist(), counts.tolist(), strict=True))


#: Levels of a column beyond which it is not a category.
MOST_LEVELS = 10_000


@dataclass(frozen=True)
class Survey:
    """What one visit to a table tells: rows, levels of categories, facts about the target."""

    lengths: Mapping[int, int]  # rows of each piece, those without a target not counted
    levels: Mapping[int, frozenset[Any] | None]  # None: too many
    target: TargetFacts | None

    @property
    def n_rows(self) -> int:
        """All rows, those without a target too: levels are looked for in all of them."""
        n_missing = 0 if self.target is None else self.target.n_missing
        return sum(self.lengths.values()) + n_missing

    def __add__(self, other: Survey) -> Survey:
        levels = {
            column: _joined(found, other.levels[column]) for column, found in self.levels.items()
        }
        target = self.target
        if target is not None and other.target is not None:
            target = target + other.target
        return Survey({**self.lengths, **other.lengths}, levels, target)


def _joined(left: frozenset[Any] | None, right: frozenset[Any] | None) -> frozenset[Any] | None:
    if left is None or right is None or len(left | right) > MOST_LEVELS:
        return None
    return left | right


@dataclass(frozen=True)
class SurveyWork:
    """A look at a piece: its length, levels of its categories, its target."""

    nominal: tuple[int, ...]  # positions of the categorical columns
    names: tuple[str, ...]

    def __call__(self, number: int, chunks: Iterator[Chunk]) -> Survey:
        """Survey of one piece."""
        count, facts = 0, None
        levels: dict[int, frozenset[Any] | None] = dict.fromkeys(self.nominal, frozenset())
        for chunk in chunks:
            n_known = chunk.n_rows
            if chunk.y is not None:
                more = TargetFacts.of(chunk.y)
                facts = more if facts is None else facts + more
                n_known = more.n_rows
            count += n_known
            for position in self.nominal:
                found = self._levels(chunk.x, self.names[position])
                levels[position] = _joined(levels[position], found)
        return Survey({number: count}, levels, facts)

    def _levels(self, x: Any, name: str) -> frozenset[Any]:
        series = nw.from_native(x, eager_only=True).get_column(name)
        refuse_gaps(series, "X")
        return frozenset(series.unique().to_list())


def columns_of(empty: Any) -> tuple[tuple[str, ...] | None, int, tuple[int, ...], np.dtype]:
    """Names, number, categorical positions and common precision of the columns of X."""
    if not is_frame(empty):
        dtype = np.dtype(np.float32 if empty.dtype == np.float32 else np.float64)
        return None, 1 if empty.ndim == 1 else int(empty.shape[1]), (), dtype
    frame = nw.from_native(empty, eager_only=True)
    names, nominal, types = column_names(empty), [], set()
    for position, series in enumerate(frame.iter_columns()):
        if is_nominal(series.dtype):
            nominal.append(position)
        elif not series.dtype.is_numeric():
            raise TypeError(why_not_numeric(series, "X"))
        else:
            types.add(series.dtype)
    single = not nominal and types == {nw.Float32()}
    return names, len(names), tuple(nominal), np.dtype(np.float32 if single else np.float64)


def categories_of(survey: Survey, names: tuple[str, ...] | None, empty: Any) -> Categories:
    """Levels of each categorical column, in the order that arrays in memory have."""
    categories = {}
    count = survey.n_rows
    for position, found in survey.levels.items():
        assert names is not None
        name = names[position]
        text = nw.from_native(empty, eager_only=True).get_column(name).dtype == nw.String
        if found is None:
            raise TypeError(
                f"Column {name!r} of X holds text with more than {MOST_LEVELS} different values in "
                f"{count} rows: free text or an identifier. Omit it from columns=, or encode it."
            )
        if text and role_of_text(len(found), count, count) != "category":
            raise TypeError(why_not_category(name, "X", len(found), count))
        categories[position] = tuple(sorted(found, key=str))
    return categories


@dataclass(frozen=True)
class Decoder:
    """From chunks as they are stored to blocks of numbers."""

    names: tuple[str, ...] | None
    n_columns: int
    categories: Categories
    dtype: np.dtype
    drop_unlabelled: bool = False
    doubles: Any = None  # the schema of chunks that are Arrow tables of float64 alone

    def block(self, chunk: Chunk, start: int, *, inputs: bool) -> Block:
        """A chunk as numbers, without the rows that have no target."""
        y = None if chunk.y is None else present_target(chunk.y)
        x = self.matrix(chunk.x) if inputs else None
        if y is not None and y.missing is not None and self.drop_unlabelled:
            x = x if x is None else x[~y.missing]
        return Block(x, None if y is None else y.values, start)

    def matrix(self, x: Any) -> Any:
        """Inputs as an array of floats or a CSR matrix; categories as codes."""
        if self._is_doubles(x):  # told without a look at every column
            values = column_major(x)
        elif is_frame(x):
            values = self._of_frame(nw.from_native(x, eager_only=True))
        elif sparse.issparse(x):
            values = x.tocsr()
        else:
            values = np.asarray(x)
            require_numbers(values, "X")
            values = values[:, np.newaxis] if values.ndim == 1 else values
        if values.shape[1] != self.n_columns:
            raise ValueError(
                f"A chunk of X has {counted(values.shape[1], 'column')}, but others have "
                f"{self.n_columns}."
            )
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        return require_finite(values, self.names, "X", is_part=True)

    def _is_doubles(self, x: Any) -> bool:
        if self.doubles is None or not hasattr(x, "num_rows"):
            return False
        return bool(x.num_rows and x.schema.equals(self.doubles))

    def _of_frame(self, frame: Any) -> np.ndarray:
        if tuple(map(str, frame.columns)) != self.names:
            raise ValueError(
                f"A chunk of X has the columns {list(frame.columns)}, but others have "
                f"{list(self.names or ())}."
            )
        numbers = None if self.categories else numbers_of(frame)
        if numbers is not None:
            return numbers
        # column after column, as frames hold them
        values = np.empty((self.n_columns, len(frame)), self.dtype)
        for position, series in enumerate(frame.iter_columns()):
            nominal = is_nominal(series.dtype)
            if nominal != (position in self.categories):
                now, then = ("categorical", "numeric") if nominal else ("numeric", "categorical")
                raise TypeError(
                    f"Column {series.name!r} of X is {now} in one part of the table and {then} in "
                    "others: write it with one type everywhere."
                )
            if nominal:
                refuse_gaps(series, "X")
                values[position] = encode_levels(series, self.categories[position], "X")
            else:
                values[position] = series.to_numpy()
        return values.T
