"""What is refused of a target, by name and with the remedy, and what users are warned of."""

from __future__ import annotations

from datetime import date, time, timedelta
from numbers import Real
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np

from depmax._warnings import warn_caller
from depmax.data.columns import DATES, role_of_text

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


def refuse_streamed_times() -> NoReturn:
    """Refuse survival times of which only a chunk is there."""
    raise TypeError(
        "y holds survival times: who is still at risk is "
        "known of all rows only, so pass a table in memory, such as X.compute() and y.compute()."
    )


def _refuse_records(names: tuple[str, ...]) -> NoReturn:
    fields = ", ".join(map(repr, names))
    raise TypeError(
        f"y is a structured array with the fields {fields}. Survival times are read from two "
        "fields, one of booleans (whether the event was seen) and one of numbers (the time); for "
        f"anything else pass one field, such as y[{names[-1]!r}], or a data frame with a column "
        "per output."
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


def refuse_gaps(n_missing: int, n_rows: int) -> NoReturn:
    """Refuse rows without a target."""
    raise ValueError(
        f"y is missing (NaN or None) in {n_missing} of {n_rows} rows: drop these rows, or use "
        "an estimator with a beta parameter, which learns from unlabelled rows."
    )


def refuse_unlabelled(n_rows: int) -> NoReturn:
    """Refuse a target that is missing in all rows."""
    raise ValueError(
        f"y has no labelled rows: all {n_rows} are missing. Label some rows, or use an "
        "unsupervised method such as PCA."
    )


def refuse_mixed(labels: np.ndarray) -> None:
    """Refuse a mixture of text and other values, which cannot be sorted."""
    texts = [isinstance(label, str) for label in labels]
    if any(texts) and not all(texts):
        other = labels[texts.index(False)]
        raise TypeError(
            f"y mixes text with other values, such as {other!r}: make all labels text, e.g. with "
            "[str(label) for label in y]."
        )


def refuse_identifiers(
    n_levels: int, n_labelled: int, n_rows: int, example: Any, *, declared: bool
) -> None:
    """Refuse categories of one row each, and text that is no class by the rule for columns of X.

    Parameters
    ----------
    n_levels : number of different labels, of which ``example`` is one
    n_labelled, n_rows : numbers of labelled rows, and of all rows
    declared : whether y is categorical, so that many different labels are still classes
    """
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
    """Say that a time and whether an event was seen are two outputs, if two columns look so."""
    event, times = sorted(frame.iter_columns(), key=lambda column: not _is_binary(column))
    if _is_binary(event) and _is_duration(times):
        warn_caller(
            f"y has two columns and so two outputs, {event.name!r} and {times.name!r}, each "
            f"compared as it is. If {event.name!r} says whether {times.name!r} was observed to its "
            "end, name the columns 'event' and 'time': they are then read as survival times.",
            UserWarning,
        )


def _is_binary(column: Any) -> bool:
    known = column.dtype == nw.Boolean or column.dtype.is_numeric()
    return known and set(column.drop_nulls().unique().to_list()) == {0, 1}


def _is_duration(column: Any) -> bool:
    """Whether there are several numbers, none of them negative."""
    known = column.drop_nulls()
    return column.dtype.is_numeric() and known.n_unique() > 2 and known.min() >= 0


def refuse_one_class(name: str) -> None:
    """Refuse a target that is the same for all rows."""
    raise ValueError(
        f"y of {name} has one class or value only: nothing can depend on a constant. At least two "
        "classes are needed."
    )
