"""One column of any type as numbers, with what a person wants to know of it at a glance."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from depmax._text import printable, share
from depmax.data.columns import (
    DATES,
    array_of,
    counts_rows,
    is_frame,
    is_missing,
    is_nominal,
    role_of_text,
)
from depmax.data.table import numbered_columns, refuse_unreadable

Kind = Literal[
    "number", "boolean", "category", "date", "identifier", "free text", "constant", "empty", "other"
]
#: Whole numbers beyond this are not exact as floats.
EXACT = 2**53
#: Levels of a category that are mentioned, and letters of one.
SHOWN, LETTERS = 3, 24
#: Text of fewer words on average is an identifier if so many of its cells differ.
WORDS, MOSTLY = 4, 0.9


@dataclass(frozen=True)
class ColumnProfile:
    """What is known of a column by itself.

    Parameters
    ----------
    name : str
    kind : str
        Number, boolean, category, date, identifier, free text, constant, empty or other.
    missing, infinite : int
        Cells without a value (NaN counts), and those that are infinite.
    distinct : int
        Different values.
    values : str
        Range and median, or the most frequent levels, in words.
    """

    name: str
    kind: Kind
    missing: int
    infinite: int
    distinct: int
    values: str


@dataclass(frozen=True)
class ColumnRead:
    """Cells as float64, NaN where there is no value; levels are codes in order of appearance."""

    about: ColumnProfile
    cells: np.ndarray
    levels: tuple[Any, ...] | None  # of text and categories
    coincidence: float  # probability that two rows have the same value

    @property
    def is_compared(self) -> bool:
        """Whether it can say something about other columns."""
        return self.about.kind in ("number", "boolean", "category", "date")

    def values(self, rows: np.ndarray) -> np.ndarray:
        """Numbers or levels in some rows that have a value."""
        if self.levels is None:
            return self.cells[rows]
        return np.array([str(self.levels[int(code)]) for code in self.cells[rows]], dtype=object)


def columns_of(X: Any) -> Iterator[ColumnRead]:
    """All columns of a frame or an array, one at a time."""
    refuse_unreadable(X, "X", "profile")
    if sparse.issparse(X):
        raise TypeError("profile reads a table of columns, but X is sparse: pass X.toarray().")
    if is_frame(X):
        frame = nw.from_native(X, eager_only=True)
        for name, series in zip(frame.columns, frame.iter_columns(), strict=True):
            yield read_column(str(name), series)
        return
    values = array_of(X, "X")
    values = values[:, np.newaxis] if values.ndim == 1 else values
    if values.ndim != 2:
        raise ValueError(f"X must have rows and columns, got {values.ndim} dimensions.")
    for name, column in zip(numbered_columns(values.shape[1]), values.T, strict=True):
        kind: Kind = "boolean" if column.dtype == bool else "number"
        yield _of_numbers(name, column.astype(np.float64), kind, column.dtype.kind in "iu")


def read_column(name: str, series: Any) -> ColumnRead:
    """A column of a frame."""
    dtype = series.dtype
    if isinstance(dtype, nw.Boolean) or (dtype.is_numeric() and not dtype.is_decimal()):
        cells = series.cast(nw.Float64).to_numpy().astype(np.float64)
        whole = dtype.is_integer()
        if not (whole and len(cells) and np.nanmax(np.abs(cells), initial=0.0) > EXACT):
            kind: Kind = "number" if dtype.is_numeric() else "boolean"
            return _of_numbers(name, cells, kind, whole)
    return _of_objects(name, series.to_list(), dtype)


def _of_numbers(name: str, cells: np.ndarray, kind: Kind, whole: bool) -> ColumnRead:
    cells = np.where(np.isnan(cells), np.nan, cells + 0.0)  # one NaN, one zero
    known = cells[~np.isnan(cells)]
    distinct, counts = np.unique(known, return_counts=True)
    text = _frequent([f"{value:.6g}" for value in distinct[:2]], counts[:2], len(known))
    if len(distinct) > 2:
        middle = np.quantile(known, 0.5, method="lower")
        text = f"{distinct[0]:.6g} to {distinct[-1]:.6g}, median {middle:.6g}"
    return _read(name, kind, cells, counts, None, text, distinct if whole else ())


def _of_objects(name: str, items: Sequence[Any], dtype: Any) -> ColumnRead:
    """Text, categories, dates, and whatever else can be compared by equality."""
    plain = dtype == nw.String or is_nominal(dtype)
    items = [None if is_missing(item) else item if plain else _hashable(item) for item in items]
    levels = tuple(dict.fromkeys(item for item in items if item is not None))
    dates = isinstance(dtype, DATES) or _all_of(levels, datetime.date)
    ordered = dates or dtype.is_numeric() or _all_of(levels, numbers.Real | Decimal)
    levels = tuple(sorted(levels)) if ordered else levels
    codes: dict[Any, float] = {level: float(code) for code, level in enumerate(levels)}
    codes[None] = np.nan
    cells = np.fromiter((codes[item] for item in items), dtype=np.float64, count=len(items))
    counts = np.bincount(cells[~np.isnan(cells)].astype(np.int64), minlength=len(levels))
    if ordered:
        text = f"{levels[0]} to {levels[-1]}" if levels else ""
        whole = levels if dtype.is_integer() else ()
        return _read(name, "date" if dates else "number", cells, counts, None, text, whole)
    kind: Kind = "category" if plain else "other"
    n_known = int(counts.sum())
    if dtype == nw.String and role_of_text(len(levels), n_known, len(items)) != "category":
        words = sum(len(str(level).split()) for level in levels) / len(levels)
        few = len(levels) > 1 and words < WORDS and len(levels) >= MOSTLY * n_known
        kind = "identifier" if few else "free text" if len(levels) > 1 else kind
    text = _frequent(levels, counts, len(items)) if kind == "category" else ""
    return _read(name, kind, cells, counts, levels, text)


def _frequent(levels: Sequence[Any], counts: np.ndarray, n_rows: int) -> str:
    text = ", ".join(
        f"{printable(str(levels[place]))[:LETTERS]} {share(int(counts[place]), n_rows)}"
        for place in np.argsort(-counts, kind="stable")[:SHOWN]
    )
    more = len(levels) - SHOWN
    return text + (f", {more:,} more" if more > 0 else "")


def _all_of(levels: Sequence[Any], kind: Any) -> bool:
    return len({type(level) for level in levels}) == 1 and isinstance(levels[0], kind)


def _hashable(item: Any) -> Any:
    try:
        hash(item)
    except TypeError:
        return repr(item)
    return item


def _read(
    name: str,
    kind: Kind,
    cells: np.ndarray,
    counts: np.ndarray,
    levels: tuple[Any, ...] | None,
    text: str,
    whole: Sequence[Any] | np.ndarray = (),  # the different values of whole numbers, in order
) -> ColumnRead:
    n_rows, missing = len(cells), int(len(cells) - counts.sum())
    if not len(counts):
        kind = "empty"
    elif len(counts) == 1 and not missing and n_rows > 1:
        kind = "constant"
    elif kind == "number" and 2 <= len(whole) == n_rows:
        rows = counts_rows(name, int(whole[0]), int(whole[-1]), n_rows)
        kind = "identifier" if rows else kind
    shares = np.array([*counts, missing]) / max(1, n_rows)
    about = ColumnProfile(name, kind, missing, int(np.isinf(cells).sum()), len(counts), text)
    return ColumnRead(about, cells, levels, float(shares @ shares))
