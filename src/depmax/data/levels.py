"""Cells that are not numbers: objects, missing ones, and the levels of categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np

from depmax._warnings import warn_caller

#: Levels of each categorical column, by position of the column.
Categories = Mapping[int, tuple[Any, ...]]


#: Text with more distinct values than this, and than half the rows, is not a category.
MANY_LEVELS = 20
#: Unseen levels that a warning names.
SHOWN_LEVELS = 3

DATES = (nw.Date, nw.Datetime, nw.Duration, nw.Time)
#: Whole numbers of 128 bits, which no array has.
WIDE = (nw.Int128, nw.UInt128)
_DECLARED = (nw.Categorical, nw.Enum, nw.Boolean)

#: What a missing cell of X says: nothing, nothing since the reader fills it, that it is missing, or
#: it is refused.
Missing = Literal["neutral", "fill", "level", "refuse"]

TextRole = Literal["category", "identifier", "free text"]


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


def as_nan(X: np.ndarray) -> np.ndarray:
    """The same with NaN for None and pandas' NA, which an array of objects may hold."""
    if X.dtype.kind != "O" or not any(is_missing(item) for item in X.flat):
        return X
    return np.array([np.nan if is_missing(item) else item for item in X.flat]).reshape(X.shape)


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


def is_nominal(dtype: Any) -> bool:
    """Whether a column of this type is categories: declared ones, truth values and text."""
    return isinstance(dtype, _DECLARED) or dtype == nw.String


def find_levels(series: Any, name: str, missing: Missing = "refuse") -> tuple[Any, ...]:
    """Levels of a categorical column, in an order that the data library does not set.

    Text is a category if it has few levels (see ``role_of_text``) and is refused otherwise; a
    column that is declared categorical is one, however many levels it has. A missing cell that
    is a level of its own is None; it is the only level of a column without any value.
    """
    levels = tuple(sorted(set(series.drop_nulls().to_list()), key=str))
    if series.dtype == nw.String:
        role = role_of_text(len(levels), len(series) - series.null_count(), len(series))
        if role != "category":
            raise TypeError(why_not_category(series.name, name, len(levels), len(series)))
    if not levels or (missing == "level" and series.null_count()):
        levels = (*levels, None)
    return levels


def encode_levels(series: Any, levels: Sequence[Any], name: str) -> np.ndarray:
    """Position of each value among the levels; -1, with a warning, for an unknown value.

    NaN where there is no value, unless None is one of several levels.
    """
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
            f"Column {series.name!r} of {name} has levels that fit did not see, in "
            f"{unseen.total()} of {len(values)} rows: {', '.join(examples)}{more} (known: "
            f"{len(levels)} levels). They match no training row in this column.",
            UnseenCategoryWarning,
        )
    return encoded


def refuse_gaps(series: Any, name: str) -> None:
    """Refuse missing values of a categorical column."""
    if series.null_count():
        raise ValueError(
            f"Column {series.name!r} of {name} has missing values ({series.null_count()} of "
            f"{len(series)} rows): impute them, e.g. with depmax.Prepare()."
        )


def why_not_category(column: str, name: str, n_levels: int, n_rows: int) -> str:
    """Message about text that is no category, with what can be made of it."""
    if n_levels == n_rows:
        found = "holds text that differs in every row, as free text or an identifier does"
    else:
        found = (
            f"holds text with {n_levels} different values in {n_rows} rows: free text or an "
            "identifier"
        )
    return (
        f"Column {column!r} of {name} {found}. Drop it, turn it into numbers (such as "
        "sklearn.feature_extraction.text.TfidfVectorizer), or compare strings with a kernel, "
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
        return f"{column} holds {found}: turn it into meaningful numbers, such as {such}."
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
            f"{name}.convert_dtypes(), which finds numbers and truth values among gaps, "
            "declare it a category (.astype('category')), or drop it."
        )
    return (
        f"{column} holds {dtype} values, neither numbers nor categories: turn it into numbers, "
        "declare it a category (pandas: .astype('category'), polars: .cast(pl.Categorical)), or "
        "drop it."
    )


def encode_frame(
    X: Any, categories: Categories | None, name: str, missing: Missing = "refuse"
) -> tuple[Any, Categories]:
    """The same frame with categorical columns as codes, and their levels.

    Categories, truth values and text with few levels are categorical; without ``categories`` the
    levels are found, with them they are those of ``fit``.
    """
    frame = nw.from_native(X, eager_only=True)
    found: dict[int, tuple[Any, ...]] = {}
    changed: list[Any] = []
    for position, (column, dtype) in enumerate(frame.schema.items()):
        nominal = is_nominal(dtype)
        if categories is not None and nominal != (position in categories):
            now, then = ("categorical", "numeric") if nominal else ("numeric", "categorical")
            raise TypeError(
                f"Column {column!r} of {name} is {now}, but column {position} was {then} when "
                "the model was fitted: pass the same columns in the same order and of the same "
                "types."
            )
        if dtype.is_numeric() and not isinstance(dtype, WIDE):
            continue  # read by its own library; one by one is slow for many columns
        series = frame[:, position]
        if nominal:
            if missing == "refuse":
                refuse_gaps(series, name)
            known = None if categories is None else categories[position]
            found[position] = find_levels(series, name, missing) if known is None else known
            values = encode_levels(series, found[position], name)
        elif missing != "refuse" and series.null_count() == len(series):
            values = np.full(len(series), np.nan)  # of no type in some libraries
        elif isinstance(dtype, WIDE):
            values = series.cast(nw.Float64).to_numpy()
        else:
            raise TypeError(why_not_numeric(series, name))
        changed.append(nw.new_series(column, values, backend=frame.implementation))
    return (frame.with_columns(*changed).to_native() if changed else X), found
