"""Cells that are not numbers: missing ones, text, dates and objects, and how they are refused."""

from __future__ import annotations

from datetime import date, time, timedelta
from numbers import Real
from typing import Any, Literal, NoReturn

import narwhals.stable.v2 as nw
import numpy as np

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


# --- targets --------------------------------------------------------------------------------------
#: Rows below which labels are not looked at: no unbiased measure is defined on fewer.
FEWEST_ROWS = 4
#: Levels that a message names.
SHOWN_ORDER = 4

NO_DATES = (
    "y holds dates or durations: turn them into meaningful numbers, such as days since an event, "
    "or into classes, such as the month as text."
)
_COMPARE_OBJECTS = (
    "pass target_kernel=, a kernel that compares them, such as a function wrapped in "
    "depmax.kernels.FromFunction(function, vector_input=False), depmax.maps.SubtreeCounts() "
    "for graphs, or 'precomputed' with the matrix of their kernel values as y"
)


def refuse_unknown_types(array: np.ndarray) -> None:
    """Refuse dates, complex numbers, records, and objects that are neither labels nor numbers."""
    kind = array.dtype.kind
    if kind in "mM":
        raise TypeError(NO_DATES)
    if kind == "c":
        raise ValueError("Complex data not supported: y holds complex numbers.")
    if kind == "V":
        _refuse_records(array.dtype.names or ())
    if kind == "O":
        for item in array.flat:
            _refuse_object(item)


def refuse_nested(series: Any) -> None:
    """Refuse a series of dates, records or lists."""
    if isinstance(series.dtype, DATES):
        raise TypeError(NO_DATES)
    if isinstance(series.dtype, nw.Struct):
        _refuse_records(tuple(field.name for field in series.dtype.fields))
    if isinstance(series.dtype, nw.List | nw.Array):
        raise TypeError(
            f"y holds {series.dtype} values: pass an array of shape (n_samples, n_outputs) or a "
            "data frame with a column per output."
        )


def refuse_ragged(reason: object) -> NoReturn:
    """Refuse rows that do not make a table."""
    raise ValueError(
        f"y is not a table: its rows hold different numbers of values ({reason}). If they are "
        f"objects, such as graphs, {_COMPARE_OBJECTS}."
    ) from None


def _refuse_records(names: tuple[str, ...]) -> NoReturn:
    fields = ", ".join(map(repr, names))
    raise TypeError(
        f"y is a structured array with the fields {fields}, as for survival times: depmax has no "
        f"measure of censored times. Pass one field, such as y[{names[-1]!r}], or several as the "
        "columns of a data frame, which are then several outputs, each compared as it is."
    )


def _refuse_object(item: Any) -> None:
    if isinstance(item, str | bytes | Real | np.bool_) or _is_scalar(item):
        return
    if isinstance(item, date | time | timedelta | np.datetime64 | np.timedelta64):
        raise TypeError(NO_DATES)
    raise TypeError(
        f"y holds objects of type {type(item).__name__}, which are neither numbers nor labels: "
        f"{_COMPARE_OBJECTS}."
    )


def _is_scalar(item: Any) -> bool:
    """Whether it is missing or, like a Decimal, has the value of a number."""
    if item is None or type(item).__name__ == "NAType":
        return True
    return hasattr(item, "__float__") and np.ndim(item) == 0


def refuse_mixed(labels: np.ndarray) -> None:
    """Refuse a mixture of text and other values, which cannot be sorted."""
    texts = [isinstance(label, str) for label in labels] if labels.dtype.kind == "O" else []
    if any(texts) and not all(texts):
        other = labels[texts.index(False)]
        raise TypeError(
            f"y mixes text with other values, such as {other!r}: make all labels text, e.g. with "
            "[str(label) for label in y]."
        )


def refuse_identifiers(labels: np.ndarray, n_rows: int, *, declared: bool) -> None:
    """Refuse categories of one row each, and text that is no class by the rule for columns of X.

    Parameters
    ----------
    labels : those of the labelled rows
    n_rows : number of rows, labelled or not
    declared : whether y is categorical, so that many different labels are still classes
    """
    if declared or labels.dtype.kind not in "biuf":
        distinct = dict.fromkeys(labels.tolist())
        example = next(iter(distinct), "")
        refuse_roles(len(distinct), len(labels), n_rows, example, declared=declared)


def refuse_roles(
    n_levels: int, n_labelled: int, n_rows: int, example: Any, *, declared: bool
) -> None:
    """Refuse as many different labels, of which one is given, in as many rows."""
    role = role_of_text(n_levels, n_labelled, n_rows)
    if role == "category" or (role == "free text" and declared) or n_rows < FEWEST_ROWS:
        return
    found = "in every row" if n_levels == n_labelled else f"in {n_levels} of {n_labelled} rows"
    remedies = ["pass numbers as floats, y.astype(float)"]
    if isinstance(example, str | bytes):
        remedies.append(
            "compare strings with target_kernel=depmax.kernels.Spectrum() or Subsequence()"
        )
        remedies = remedies if _is_number(example) else remedies[1:]
    if role == "free text":
        remedies.append("declare classes (pandas: .astype('category'))")
    raise TypeError(
        f"y has another label {found}, such as {example!r}, and a class needs several rows: "
        f"{', or '.join(remedies)}."
    )


def _is_number(label: Any) -> bool:
    try:
        return bool(np.isfinite(float(label)))
    except (TypeError, ValueError):
        return False


def warn_of_order(series: Any) -> None:
    """Say that the order of ordered categories (pandas), or of an Enum (polars), is not used."""
    if not isinstance(series.dtype, nw.Enum):  # narwhals' name for both
        return
    levels = [str(level) for level in series.cat.get_categories().to_list()]
    if len(levels) < 3:
        return
    pandas = series.implementation.is_pandas_like()
    codes = "y.cat.codes.astype(float)" if pandas else "y.to_physical().cast(pl.Float64)"
    classes = "y.cat.as_unordered()" if pandas else "y.cast(pl.Categorical)"
    shown = " < ".join(levels[:SHOWN_ORDER]) + (" < …" if len(levels) > SHOWN_ORDER else "")
    warn_caller(
        f"y is an ordered category, and its order ({shown}) is ignored: two classes are equal or "
        f"different, and nothing between. To use the order pass its positions, {codes}; if the "
        f"order has no meaning, {classes}.",
        UserWarning,
    )


def warn_of_survival(frame: Any) -> None:
    """Say that a time and whether an event was seen are two outputs, if y looks like that."""
    columns = list(frame.iter_columns())
    if len(columns) != 2:
        return
    event, times = sorted(columns, key=lambda column: not _is_binary(column))
    if _is_binary(event) and _is_duration(times):
        warn_caller(
            f"y has two columns and so two outputs, {event.name!r} and {times.name!r}, each "
            f"compared as it is. If {event.name!r} says whether {times.name!r} was observed to its "
            "end, censoring is not taken into account: drop censored rows, or pass "
            f"{times.name!r} alone.",
            UserWarning,
        )


def _is_binary(column: Any) -> bool:
    known = column.dtype == nw.Boolean or column.dtype.is_numeric()
    return known and set(column.drop_nulls().unique().to_list()) == {0, 1}


def _is_duration(column: Any) -> bool:
    """Whether there are several numbers, none of them negative."""
    known = column.drop_nulls()
    return column.dtype.is_numeric() and known.n_unique() > 2 and known.min() >= 0
