"""Columns of X: numbers and categories, learned from facts that add up, read alike everywhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from depmax._text import counted
from depmax._warnings import warn_caller

#: Text with more distinct values than this, and than half the rows, is not a category.
MANY_LEVELS = 20
DATES = (nw.Date, nw.Datetime, nw.Duration, nw.Time)
#: Whole numbers of 128 bits, which no array has.
WIDE = (nw.Int128, nw.UInt128)
#: What a missing cell of X says: nothing, nothing since the reader fills it, that it is missing, or
#: it is refused.
Missing = Literal["neutral", "fill", "level", "refuse"]
TextRole = Literal["category", "identifier", "free text"]
#: Levels of each categorical column, by position of the column.
Categories = Mapping[int, tuple[Any, ...]]


#: Levels of a column of several chunks beyond which it is not a category.
MOST_LEVELS = 10_000
#: Unseen levels that a warning names.
SHOWN_LEVELS = 3

#: Types of all columns of a frame of pandas that one array may hold.
_FLOATS = ({np.dtype(np.float32)}, {np.dtype(np.float64)})
#: Names such as id, ID, customer_id and customerId.
_NAMED_ID = re.compile(r"(?:^|[ _-])(?:id|Id|ID)$|[a-z]I[dD]$")
#: Names of years in English, German, French, Spanish and Italian.
_NAMED_YEAR = re.compile(r"year|jahr|ann[ée]e|año|anno|(?:^|[ _-])yr", re.IGNORECASE)
#: A number with a decimal point or comma.
_NUMBER = re.compile(r"\s*[+-]?\d*[.,]?\d+(?:[eE][+-]?\d+)?\s*")
_DECLARED = (nw.Categorical, nw.Enum, nw.Boolean)


class UnseenCategoryWarning(UserWarning):
    """A categorical column has levels that ``fit`` did not see.

    Such a value equals no value of the training rows: kernels compare it with all of them as
    different, and indicators of its column are all zero. The row still gets features, from its
    other columns. Where kernels multiply over columns (Gaussian and Laplace) it is unlike every
    training row.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> from depmax.maps import KernelMap
    >>> colours = pd.DataFrame({"colour": ["red", "blue", "red", "blue"]})
    >>> model = KernelMap(1, kernel="linear").fit(colours)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     features = model.transform(pd.DataFrame({"colour": ["red", "teal"]}))
    >>> print(str(caught[0].message).partition(" (")[0])
    Column 'colour' of X has levels that fit did not see, in 1 of 2 rows: 'teal'
    """


def is_missing(item: Any) -> bool:
    """Whether an item is None, NaN, not a time, or the NA of pandas.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    return item is None or type(item).__name__ == "NAType" or bool(item != item)


def require_numbers(X: np.ndarray, name: str) -> np.ndarray:
    """The array; an array of text is refused before anything tries to parse it."""
    text = X.dtype.kind in "US"
    if text or (X.dtype.kind == "O" and any(isinstance(item, str) for item in X.flat)):
        raise TypeError(
            f"{name} holds text where numbers are needed: pass a data frame, whose text columns "
            "with few levels are categories, encode it, or use a kernel for strings "
            "(depmax.kernels.Subsequence, Spectrum) or labels (Delta)."
        )
    if X.dtype.kind in "mM":
        raise TypeError(f"{name} holds dates or durations where numbers are needed.")
    if X.dtype.names:
        raise TypeError(
            f"{name} is a structured array with the fields {', '.join(map(repr, X.dtype.names))}: "
            f"pass a data frame, e.g. pandas.DataFrame({name})."
        )
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} holds complex numbers.")
    return X


def array_of(X: Any, name: str) -> Any:
    """What is no frame as an array or a CSR matrix; NaN for None and pandas' NA among objects."""
    if sparse.issparse(X):
        return X.tocsr()
    series = in_narwhals(X, series_only=True)
    values = np.asarray(series.to_numpy() if isinstance(series, nw.Series) else X)
    values = require_numbers(values, name)
    if values.dtype.kind != "O" or not any(is_missing(item) for item in values.flat):
        return values
    cells = [np.nan if is_missing(item) else item for item in values.flat]
    return np.array(cells).reshape(values.shape)


def role_of_text(n_levels: int, n_values: int, n_rows: int) -> TextRole:
    """What a text column is, by its number of different values; all code uses this rule.

    Parameters
    ----------
    n_levels : int
        Different values.
    n_values : int
        Rows that have a value.
    n_rows : int
        All rows.

    Examples
    --------
    >>> role_of_text(3, 100, 100), role_of_text(100, 100, 100), role_of_text(80, 100, 100)
    ('category', 'identifier', 'free text')
    """
    if n_levels == n_rows:
        return "identifier"
    return "free text" if n_levels > max(MANY_LEVELS, n_values / 2) else "category"


def counts_rows(name: str, low: int, high: int, n_rows: int) -> bool:
    """Whether whole numbers that all differ count the rows, in any order, or are named id.

    >>> counts_rows("row", 1, 100, 100), counts_rows("year", 1901, 2000, 100)
    (True, False)
    """
    years = low >= 1000 and high < 3000 and _NAMED_YEAR.search(name)
    return (high - low == n_rows - 1 and not years) or _NAMED_ID.search(name) is not None


def in_narwhals(X: Any, **kinds: Any) -> Any:
    """A frame or series of any library as narwhals', anything else as it is; arrays at once."""
    return X if isinstance(X, np.ndarray) else nw.from_native(X, pass_through=True, **kinds)


def is_frame(X: Any) -> bool:
    """Whether X is an eager data frame of any library that narwhals knows."""
    return isinstance(in_narwhals(X, eager_only=True), nw.DataFrame)


def column_names(X: Any) -> tuple[str, ...]:
    """Names of the columns of a frame, none for anything else."""
    frame = in_narwhals(X, eager_only=True)
    return tuple(map(str, frame.columns)) if isinstance(frame, nw.DataFrame) else ()


def is_nominal(dtype: Any) -> bool:
    """Whether a column of this type is categories: declared ones, truth values and text."""
    return isinstance(dtype, _DECLARED) or dtype == nw.String


@dataclass(frozen=True)
class ColumnFacts:
    """What decides how columns are read: levels of the categorical ones, in some of the rows."""

    n_rows: int
    levels: Mapping[Any, frozenset[Any] | None]  # by name of the column; None: too many
    n_missing: Mapping[Any, int]

    @classmethod
    def of(cls, frame: nw.DataFrame[Any]) -> ColumnFacts:
        """Facts about a frame."""
        types = enumerate(frame.schema.values())
        columns = [frame[:, place] for place, dtype in types if is_nominal(dtype)]
        return cls(
            len(frame),
            {column.name: frozenset(column.drop_nulls().unique().to_list()) for column in columns},
            {column.name: column.null_count() for column in columns},
        )

    def __add__(self, other: ColumnFacts) -> ColumnFacts:
        levels: dict[Any, frozenset[Any] | None] = {}
        for name, found in self.levels.items():
            more = other.levels[name]
            both = None if found is None or more is None else found | more
            levels[name] = None if both is None or len(both) > MOST_LEVELS else both
        n_missing = {name: count + other.n_missing[name] for name, count in self.n_missing.items()}
        return ColumnFacts(self.n_rows + other.n_rows, levels, n_missing)

    def categories(self, like: nw.DataFrame[Any], name: str, missing: Missing) -> Categories:
        """Levels of the categorical columns of frames with the types of this one."""
        return {
            place: self._levels(column, name, missing, is_text=dtype == nw.String)
            for place, (column, dtype) in enumerate(like.schema.items())
            if is_nominal(dtype)
        }

    def _levels(
        self, column: Any, name: str, missing: Missing, *, is_text: bool
    ) -> tuple[Any, ...]:
        """Levels of a column, in an order that the data library does not set.

        Text is a category if it has few levels (see ``role_of_text``) and is refused otherwise; a
        column that is declared categorical is one, however many levels it has. A missing cell that
        is a level of its own is None; it is the only level of a column without any value.
        """
        found, n_missing = self.levels[column], self.n_missing[column]
        if missing == "refuse":
            _refuse_gaps(column, name, n_missing, self.n_rows)
        if found is None:
            raise TypeError(
                f"Column {column!r} of {name} holds text with more than {MOST_LEVELS} different "
                f"values in {self.n_rows} rows: free text or an identifier. Omit it from columns=, "
                "or encode it."
            )
        if is_text and role_of_text(len(found), self.n_rows - n_missing, self.n_rows) != "category":
            raise TypeError(why_not_category(column, name, found, self.n_rows))
        levels = tuple(sorted(found, key=str))
        return (*levels, None) if not levels or (missing == "level" and n_missing) else levels


@dataclass(frozen=True)
class Columns:
    """How columns become numbers: at fit, at transform, and for every chunk."""

    categories: Categories  # levels, by position of the column
    names: tuple[str, ...] | None = None
    name: str = "X"  # what messages call the table
    missing: Missing = "refuse"
    #: Of a table in chunks a row like the others: an array or a CSR matrix of shape (1, n_columns).
    example: Any = None

    @classmethod
    def of_chunks(cls, empty: Any, facts: ColumnFacts | None) -> Columns:
        """Columns of chunks like this one, which has no rows, by facts about all of them."""
        if not is_frame(empty):
            dtype = np.float32 if empty.dtype == np.float32 else np.float64
            example: Any = np.zeros((1, 1 if empty.ndim == 1 else empty.shape[1]), dtype)
            example = sparse.csr_matrix(example) if sparse.issparse(empty) else example
            return cls({}, example=example)
        frame, names = nw.from_native(empty, eager_only=True), column_names(empty)
        is_single = set(frame.schema.values()) == {nw.Float32()}
        example = np.zeros((1, len(names)), np.float32 if is_single else np.float64)
        levels = {} if facts is None else facts.categories(frame, "X", "refuse")
        return cls(levels, names, example=example)

    def numbers(self, frame: nw.DataFrame[Any]) -> np.ndarray:
        """A frame as an array of numbers; categories are codes, missing cells NaN."""
        values = None if self.categories else _numbers_of(frame)
        return self._encoded(frame).to_numpy() if values is None else values

    def matrix(self, x: Any) -> Any:
        """A chunk as an array of floats or a CSR matrix."""
        frame = in_narwhals(x, eager_only=True)
        if isinstance(frame, nw.DataFrame):
            if tuple(map(str, frame.columns)) != self.names:
                raise ValueError(
                    f"A chunk of X has the columns {list(frame.columns)}, but others have "
                    f"{list(self.names or ())}."
                )
            values = self.numbers(frame).astype(self.example.dtype, copy=False)
        else:
            values = array_of(x, "X")
            values = values[:, np.newaxis] if values.ndim == 1 else values
        if values.shape[1] != self.example.shape[1]:
            raise ValueError(
                f"A chunk of X has {counted(values.shape[1], 'column')}, but others have "
                f"{self.example.shape[1]}."
            )
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        return values

    def _encoded(self, frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
        """A frame with categorical columns as codes."""
        changed: list[Any] = []
        for place, (column, dtype) in enumerate(frame.schema.items()):
            nominal, known = is_nominal(dtype), place in self.categories
            # a few new rows may all lack a category, and with it its type
            nominal |= known and frame[:, place].null_count() == len(frame)
            if nominal != known:
                self._refuse_other_type(column, place, nominal)
            if dtype.is_numeric() and not isinstance(dtype, WIDE) and not known:
                continue  # read by its own library; one by one is slow for many columns
            series = frame[:, place]
            if nominal:
                values = self._codes(series, self.categories[place])
            elif self.missing != "refuse" and series.null_count() == len(series):
                values = np.full(len(series), np.nan)  # of no type in some libraries
            elif isinstance(dtype, WIDE):
                values = series.cast(nw.Float64).to_numpy()
            else:
                raise TypeError(why_not_numeric(series, self.name))
            changed.append(nw.new_series(column, values, backend=frame.implementation))
        return frame.with_columns(*changed) if changed else frame

    def _codes(self, series: Any, levels: Sequence[Any]) -> np.ndarray:
        """Position of each value among the levels; -1, with a warning, for an unknown value.

        NaN where there is no value, unless None is one of several levels.
        """
        if self.missing == "refuse":
            _refuse_gaps(series.name, self.name, series.null_count(), len(series))
        codes = {level: float(code) for code, level in enumerate(levels)}
        values = series.to_list()
        encoded = np.array([codes.get(value, -1.0) for value in values])
        if series.null_count():
            of_none = codes.get(None, np.nan) if len(levels) > 1 else np.nan
            encoded[[is_missing(value) for value in values]] = of_none
            values = [value for value in values if not is_missing(value)]
        unseen = Counter(value for value in values if value not in codes)
        if unseen:
            examples = [repr(str(value)) for value, _ in unseen.most_common(SHOWN_LEVELS)]
            more = f" and {len(unseen) - SHOWN_LEVELS} more" if len(unseen) > SHOWN_LEVELS else ""
            warn_caller(
                f"Column {series.name!r} of {self.name} has levels that fit did not see, in "
                f"{unseen.total()} of {len(values)} rows: {', '.join(examples)}{more} (known: "
                f"{len(levels)} levels). They match no training row in this column.",
                UnseenCategoryWarning,
            )
        return encoded

    def _refuse_other_type(self, column: Any, place: int, nominal: bool) -> None:
        now, then = ("categorical", "numeric") if nominal else ("numeric", "categorical")
        before = (
            "when the model was fitted" if self.example is None else "in other parts of the table"
        )
        raise TypeError(
            f"Column {column!r} of {self.name} is {now}, but column {place} was {then} {before}: "
            "pass the same columns in the same order and of the same types."
        )


def _refuse_gaps(column: Any, name: str, n_missing: int, n_rows: int) -> None:
    if n_missing:
        raise ValueError(
            f"Column {column!r} of {name} has missing values ({n_missing} of {n_rows} rows): "
            "impute them, e.g. with depmax.Prepare()."
        )


def _numbers_of(frame: nw.DataFrame[Any]) -> np.ndarray | None:
    """The matrix of a frame without a look at every column, where its library can do that.

    A hundred columns of some thousand rows are copied in less time than it takes to ask each of
    them for its type.
    """
    table: Any = frame.to_native()
    if frame.implementation.is_pyarrow() and has_numbers(table.schema):
        values = np.empty((table.num_columns, table.num_rows))
        for position, column in enumerate(table.columns):
            whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
            values[position] = whole.to_numpy(zero_copy_only=False)
        return values.T
    if frame.implementation.is_pandas() and {*table.dtypes} in _FLOATS:
        return table.to_numpy()  # a view where one array holds all columns
    return None


@lru_cache(maxsize=16)
def has_numbers(schema: Any) -> bool:
    """Whether all columns of an Arrow table are numbers, not all of them of single precision."""
    types = set(nw.from_native(schema.empty_table(), eager_only=True).schema.values())
    return all(dtype.is_numeric() for dtype in types) and types != {nw.Float32()}


def why_not_category(column: str, name: str, levels: Collection[Any], n_rows: int) -> str:
    """Message about text that is no category, with what can be made of it."""
    n_levels = len(levels)
    others = sorted(str(level) for level in levels if not _NUMBER.fullmatch(str(level)))
    if 2 * len(others) < n_levels:
        such = f" besides {', '.join(map(repr, others[:SHOWN_LEVELS]))}" if others else ""
        return (
            f"Column {column!r} of {name} holds numbers as text{such}. Turn it into numbers "
            "(pandas: pd.to_numeric(…, errors='coerce'), polars: .cast(pl.Float64, strict=False), "
            "with decimal points instead of commas), or drop it if they are codes."
        )
    if n_levels == n_rows:
        found = "holds text that differs in every row, as free text or an identifier does"
    else:
        found = (
            f"holds text with {n_levels} different values in {n_rows} rows: free text or an "
            "identifier"
        )
    return (
        f"Column {column!r} of {name} {found}. Drop it, turn sentences into numbers "
        "(depmax.Expand() does), or compare strings with a kernel, "
        f"Columns([('text', Spectrum(), {column!r}), …]) of depmax.kernels, where Subsequence() "
        "allows gaps; if it is a category, declare it (pandas: .astype('category'), polars: "
        ".cast(pl.Categorical))."
    )


def why_not_numeric(series: Any, name: str) -> str:
    """Message about a column that holds neither numbers nor categories."""
    column, dtype = f"Column {series.name!r} of {name}", series.dtype
    if isinstance(dtype, DATES):
        found, such = "dates", "the month or the days since an event"
        if isinstance(dtype, nw.Duration):
            found, such = "durations", "hours or days"
        return (
            f"{column} holds {found}: turn it into numbers such as {such}, as depmax.Expand() does."
        )
    if len(series) and series.null_count() == len(series):
        return f"{column} has no value in any row: drop it."
    if isinstance(dtype, nw.Unknown):
        native = series.to_native()
        dtype = getattr(native, "dtype", dtype)  # as its library calls it
    if str(dtype).startswith("Sparse"):
        return (
            f"{column} is a sparse column of pandas: pass {name}.sparse.to_dense() if all columns "
            f"are sparse, {name}.sparse.to_coo() for a sparse matrix, or make the column dense."
        )
    if isinstance(dtype, nw.Object) and hasattr(series.to_native(), "convert_dtypes"):
        return (
            f"{column} holds Object values, neither numbers nor categories: pass "
            f"{name}.convert_dtypes(), which finds numbers and truth values among gaps, or where "
            f"others are among them pd.to_numeric({name}[{series.name!r}], errors='coerce'); "
            "declare it a category (.astype('category')), or drop it."
        )
    return (
        f"{column} holds {dtype} values, neither numbers nor categories: turn it into numbers, "
        "declare it a category (pandas: .astype('category'), polars: .cast(pl.Categorical)), or "
        "drop it."
    )
