"""Values of a target as an array of one type: what is refused by name, and what is said of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from depmax._warnings import warn_caller
from depmax.data.columns import DATES, WIDE, in_narwhals, is_missing, role_of_text
from depmax.kernels.kernel import object_array
from depmax.kernels.labels import count_distinct

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


def target_array(y: Any) -> np.ndarray:
    """Target as an array of one or two dimensions, of one type where its values have one."""
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: these methods are supervised."
        )
    array = y if type(y) is np.ndarray and y.dtype.kind != "O" else _as_array(y)
    refuse_unknown_types(array)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _as_array(y: Any) -> np.ndarray:
    if sparse.issparse(y):
        return y.toarray()
    native = in_narwhals(y, eager_only=True, allow_series=True)
    if isinstance(native, nw.Series):
        return _of_series(native)
    if isinstance(native, nw.DataFrame):
        columns = [_of_series(series) for series in native.iter_columns()]
        warn_of_survival(native)
        return columns[0] if len(columns) == 1 else np.column_stack(columns)
    try:
        array = np.asarray(y)  # not a subclass such as np.matrix
    except ValueError as error:
        refuse_ragged(error)
    if array.dtype.kind == "O" and array.ndim == 1:
        return settle(array)
    return array


def _of_series(series: Any) -> np.ndarray:
    """Numbers as they are; text, categories and whole numbers with gaps as settled objects."""
    refuse_nested(series)
    gaps = series.dtype.is_integer() and series.null_count() > 0
    if series.dtype.is_numeric() and not gaps and not isinstance(series.dtype, WIDE):
        return series.to_numpy()
    if series.null_count() == 0 and series.dtype == nw.Boolean:
        return series.to_numpy().astype(bool, copy=False)
    if series.null_count() == 0 and series.dtype == nw.String:
        return np.array(series.to_list(), dtype=str)
    return settle(object_array(series.to_list()))


def declared_categories(y: Any) -> nw.Series[Any] | None:
    """A series of categories, whose levels may be numbers, as narwhals'; None for any other y."""
    if isinstance(y, np.ndarray):
        return None
    native = in_narwhals(y, eager_only=True, allow_series=True)
    if isinstance(native, nw.DataFrame) and len(native.columns) == 1:
        native = next(native.iter_columns())
    declared = isinstance(native, nw.Series) and isinstance(native.dtype, nw.Categorical | nw.Enum)
    return native if declared else None


def settle(array: np.ndarray) -> np.ndarray:
    """Objects of one type as an array of that type; whole numbers with gaps stay objects."""
    if array.dtype.kind != "O" or array.ndim != 1:
        return array
    present = [item for item in array if not is_missing(item)]
    types = {_type_of(item) for item in present}
    complete = len(present) == len(array)
    if types <= {int, float} and float in types:
        return np.array([np.nan if is_missing(item) else item for item in array], dtype=np.float64)
    if complete and len(types) == 1 and types <= {bool, int, str}:
        try:
            return array.astype(types.pop())
        except OverflowError:
            raise ValueError(
                f"The whole number {max(present, key=abs)} takes more than 64 bits: pass labels as "
                "text, and numbers as floats."
            ) from None
    return array


def _type_of(item: Any) -> type:
    """The built-in type that numpy's and Python's own objects share."""
    families = (
        (bool, bool | np.bool_),
        (int, int | np.integer),
        (float, float | np.floating | Decimal | Fraction),
    )
    return next((kind for kind, family in families if isinstance(item, family)), type(item))


def missing_rows(array: np.ndarray) -> np.ndarray:
    """Which rows have no value: NaN or None."""
    if array.dtype.kind == "f":
        absent = np.isnan(array)
    elif array.dtype.kind == "O":
        absent = np.array([is_missing(item) for item in array.flat]).reshape(array.shape)
    else:
        absent = np.zeros(array.shape, dtype=bool)
    return absent.any(axis=1) if absent.ndim == 2 else absent


def present_target(y: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """The target of a chunk on the rows that have one, and which have none; None if all have."""
    is_double = str(getattr(y, "type", "")) == "double"  # a column of an Arrow table
    array = y.to_numpy() if is_double else target_array(y)
    missing = missing_rows(array)
    return (settle(array[~missing]), missing) if missing.any() else (array, None)


def as_columns(y: np.ndarray) -> np.ndarray:
    """Numbers as columns of floats."""
    values = np.asarray(y, dtype=np.float64)
    return values[:, np.newaxis] if values.ndim == 1 else values


def column_of(number: int, y: np.ndarray) -> np.ndarray:
    """One column of a target, of shape (n,)."""
    return as_columns(y)[:, number]


def as_numbers(array: np.ndarray) -> np.ndarray:
    """Columns of floats, NaN where a value is missing."""
    if array.dtype.kind == "O":
        array = np.where(np.vectorize(is_missing, otypes=[bool])(array), np.nan, array)
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "A target with several columns must be numeric: encode its text columns first."
        ) from error
    return numbers[:, np.newaxis] if numbers.ndim == 1 else numbers


@dataclass(frozen=True)
class Indicators:
    """One column of zeros and ones per class; with ``signs``, of two classes -1 and +1."""

    classes: np.ndarray  # sorted
    signs: bool = False

    def __call__(self, y: np.ndarray) -> np.ndarray:
        """Of shape (n, n_classes) or (n, 1)."""
        codes = np.searchsorted(self.classes, y)
        if self.signs:
            return np.where(codes == 1, 1.0, -1.0)[:, np.newaxis]
        return np.eye(len(self.classes))[codes]


def count_values(values: np.ndarray, most: float) -> dict[Any, int]:
    """How often each value occurs, or each of some of them, more than so many."""
    if values.dtype.kind in "OU":
        return dict(Counter(values.tolist()))
    if len(values) > most:  # some rows often show that there are many
        some = np.unique(values[:: 1 + int(len(values) // (2 * most))])
        if len(some) > most:
            return dict.fromkeys(some[: int(most) + 1].tolist(), 1)
    found = count_distinct(values)
    return dict(zip(found[0].tolist(), found[1].tolist(), strict=True))


def is_mark(value: Any) -> bool:
    """Whether a label is -1, which may mark an unlabelled row."""
    return isinstance(value, Real) and value == -1


# --- what is refused, and what is said ------------------------------------------------------------
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


def refuse_gaps(n_missing: int, n_rows: int) -> None:
    """Refuse rows without a target."""
    if n_missing:
        raise ValueError(
            f"y is missing (NaN or None) in {n_missing} of {n_rows} rows: drop these rows, or use "
            "an estimator with a beta parameter, which learns from unlabelled rows."
        )


def require_labelled(n_labelled: int, n_rows: int) -> None:
    """Refuse a target that is missing in all rows."""
    if not n_labelled:
        raise ValueError(
            f"y has no labelled rows: all {n_rows} are missing. Label some rows, or use an "
            "unsupervised method such as PCA."
        )


def require_classes(classes: np.ndarray) -> None:
    """Refuse a single class."""
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only ({classes.tolist()[0]!r}): nothing can depend on a constant. At "
            "least two classes are needed."
        )


def refuse_mixed(labels: np.ndarray) -> None:
    """Refuse a mixture of text and other values, which cannot be sorted."""
    texts = [isinstance(label, str) for label in labels] if labels.dtype.kind == "O" else []
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
