"""Inputs X as a matrix: arrays, sparse matrices, and data frames with categorical columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from scipy import sparse
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.sparsefuncs import min_max_axis
from sklearn.utils.validation import (
    _check_feature_names,
    check_array,
    check_is_fitted,
    validate_data,
)

from depmax._arrays import object_array
from depmax._warnings import warn_caller
from depmax.data.levels import Categories, Missing, as_nan, encode_frame, require_numbers

#: Largest number whose eighth power (a variance of squared kernel values), summed over rows and
#: columns, is finite in float64.
LARGEST = 1e35
#: Largest number whose fourth power is finite in float32; beyond, it is read as float64.
LARGEST_SINGLE = 1e8
#: If no number of a table is larger, their fourth powers vanish, and all rows look equal.
SMALLEST = 1e-75


@dataclass(frozen=True)
class Table:
    """Rows as numbers; a categorical column holds the position of each value among its levels."""

    values: Any  # ndarray or CSR matrix of shape (n_samples, n_features)
    names: tuple[str, ...] | None = None
    categories: Categories = field(default_factory=dict)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.values.shape[0])


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


def take_columns(X: Any, positions: Iterable[Any]) -> Any:
    """Some columns of a data frame, by position: the names of pandas may be no text."""
    places = [int(position) for position in positions]
    return nw.from_native(X, eager_only=True)[:, places].to_native()


def as_requested(estimator: Any, frame: nw.DataFrame[Any]) -> Any:
    """A frame in the library that ``set_output`` of the estimator asks for, or in its own."""
    library = _get_output_config("transform", estimator)["dense"]
    if library in ("default", frame.implementation.value):
        return frame.to_native()
    return frame.to_pandas() if library == "pandas" else frame.to_polars()


@lru_cache(maxsize=8)
def numbered_columns(count: int, prefix: str = "x") -> tuple[str, ...]:
    """Names "x0", "x1" … of columns without one; made once for fits to tables of one width."""
    return tuple([f"{prefix}{position}" for position in range(count)])


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection, without importing Dask."""
    return type(X).__module__.split(".")[0] == "dask"


def is_streamed(X: Any) -> bool:
    """Whether rows are read a chunk at a time: a scan, a Dask collection, or rows of one."""
    return bool(getattr(X, "is_streamed", False)) or is_dask(X)


def refuse_unreadable(X: Any, name: str, owner: str | None = None) -> None:
    """Refuse collections that would be loaded silently, masks, and frames with duplicate names."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(
            f"{name} is a masked array with {np.ma.count_masked(X)} of {X.size} values masked, "
            f"which depmax would read: pass {name}.filled(np.nan) and impute it, or drop the rows."
        )
    if is_streamed(X):
        what = "Dask collection" if is_dask(X) else "scan of a table"
        raise TypeError(
            f"{name} is a {what}, and {owner or 'this method'} needs all rows in memory: pass "
            f"{name}.compute() if it fits, or a random part of its rows. HBFE, HSCA, KernelPLS, "
            "KernelLDA, SIR, PHD, SMA, SMC, ICAFX, LinearRegressionFeature, NystroemMap, hsic, "
            "RandomFourier, hsic_test, screen, DependenceFilter, BAHSIC, FOHSIC and "
            "KernelRidgeElimination read a table a chunk at a time."
        )
    try:
        frame = in_narwhals(X)
    except DuplicateError:
        counts = Counter(map(str, X.columns))
        repeated = [column for column, count in counts.items() if count > 1]
        raise ValueError(
            f"{name} has several columns named {', '.join(map(repr, repeated))}: rename or drop "
            f"them, e.g. {name}.loc[:, ~{name}.columns.duplicated()]."
        ) from None
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"{name} is a lazy frame: pass {name}.collect().")


def read_table(
    X: Any, *, categories: Categories | None = None, name: str = "X", missing: Missing = "refuse"
) -> Table:
    """Rows and columns as float values; errors say why an input is refused.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        One-dimensional input is one column.
    categories : mapping, optional
        Levels found when the model was fitted; values outside them get the code -1, with an
        ``UnseenCategoryWarning``.
    name : str
        What messages call the input.
    missing : {"neutral", "fill", "level", "refuse"}
        Whether cells without a value are NaN "neutral", also in categorical columns, the same and
        filled by the caller, who knows of empty columns, NaN among numbers and a level of their
        own among categories, or refused.
    """
    refuse_unreadable(X, name)
    names: tuple[str, ...] | None = None
    found: Categories = {}
    if is_frame(X):
        names = column_names(X)
        X, found = encode_frame(X, categories, name, missing)
        X = nw.from_native(X, eager_only=True).to_numpy()
    elif not sparse.issparse(X):
        series = in_narwhals(X, series_only=True)
        X = np.asarray(series.to_numpy() if isinstance(series, nw.Series) else X)
        X = _numbers(X[:, np.newaxis] if X.ndim == 1 else X, name)
    values = check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False
    )
    return Table(require_finite(values, names, name, missing), names, found)


def _numbers(X: np.ndarray, name: str) -> np.ndarray:
    """An array of numbers, or of what can become numbers."""
    return X if X.dtype.kind in "fiu" else as_nan(require_numbers(X, name))


def read_objects(X: Any, name: str = "X") -> np.ndarray:
    """Rows that are not vectors: a list, a 1-D array, a one-column frame or a mixed frame.

    A frame with several columns (for ``Columns`` with a string part) becomes a matrix of objects.
    """
    refuse_unreadable(X, name)
    native = in_narwhals(X, eager_only=True, allow_series=True)
    if isinstance(native, nw.DataFrame):
        columns = [object_array(series.to_list()) for series in native.iter_columns()]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)
    if isinstance(native, nw.Series):
        return object_array(native.to_list())
    if isinstance(X, np.ndarray):
        return X[:, 0] if X.ndim == 2 and X.shape[1] == 1 else X
    if isinstance(X, str) or not hasattr(X, "__len__"):
        raise TypeError(f"{name} must be a sequence of objects, one per sample, got {type(X)}.")
    return object_array(list(X))


def _is_moderate(data: np.ndarray, smallest: float, largest: float) -> bool:
    """Whether Σx² proves that no number is NaN, infinite or too large, and not all are too small.

    One pass over the numbers instead of two. If it proves nothing, the caller looks at their range.

    Examples
    --------
    >>> _is_moderate(np.array([1.0, -2.0]), 1e-9, 1e9), _is_moderate(np.array([np.nan]), 1e-9, 1e9)
    (True, False)
    """
    if not data.size or data.dtype.kind != "f" or data.ndim > 2:
        return False
    with np.errstate(all="ignore"):
        if data.flags.forc:
            flat = data.ravel(order="K")
            squares = float(np.dot(flat, flat))
        else:  # columns of a larger table
            columns = np.atleast_2d(data)
            squares = float(np.einsum("ij,ij->", columns, columns))
    return data.size * smallest**2 <= squares <= largest**2


def require_finite(
    values: Any,
    names: tuple[str, ...] | None,
    name: str,
    missing: Missing = "refuse",
    *,
    is_part: bool = False,
) -> Any:
    """The values, in a precision in which their products do not overflow.

    NaN, infinity and numbers beyond ``LARGEST`` are refused, with the first column that has them
    and the remedy; float32 becomes float64 beyond ``LARGEST_SINGLE``. So is a table whose numbers
    are all below ``SMALLEST`` but not all 0, unless it ``is_part`` of the rows or follows a fit.
    NaN is allowed where cells may be missing, except in sparse matrices.
    """
    data = values.data if sparse.issparse(values) else values
    if _is_moderate(data, SMALLEST, LARGEST_SINGLE if data.dtype == np.float32 else LARGEST):
        return values
    size = max(float(data.max()), -float(data.min())) if data.size else 0.0  # NaN if one is
    if 0 < size < SMALLEST and not is_part:
        raise ValueError(
            f"The largest number that {name} holds is {size:.3g}: products of numbers below "
            f"{SMALLEST:g} vanish. Multiply its columns by a constant."
        )
    if size <= LARGEST:
        single = data.dtype == np.float32 and size > LARGEST_SINGLE
        return values.astype(np.float64) if single else values
    dense = np.asarray(values.todense()) if sparse.issparse(values) else values
    absent = np.isnan(dense)
    if missing != "refuse" and not sparse.issparse(values) and absent.any():
        if missing != "fill":
            _warn_of_empty(absent, names, name)
        numbers = np.where(absent, values.dtype.type(0), values)
        known = require_finite(numbers, names, name, is_part=is_part)
        return values.astype(known.dtype, copy=False)
    finite = np.isfinite(dense)
    if not finite.all():
        _refuse_gaps_in_numbers(dense, ~finite, names, name)
    sizes = np.abs(dense).max(axis=0)
    column = int(np.flatnonzero(sizes > LARGEST)[0])
    raise ValueError(
        f"{name} holds {sizes[column]:.3g} in {_called(column, names)}: products of numbers beyond "
        f"{LARGEST:g} overflow. If it stands for a missing value, impute or drop it; otherwise "
        "divide the column by a constant."
    )


def _refuse_gaps_in_numbers(
    dense: np.ndarray, bad: np.ndarray, names: tuple[str, ...] | None, name: str
) -> NoReturn:
    column = int(np.flatnonzero(bad.any(axis=0))[0])
    where = _called(column, names)
    rows = int(bad[:, column].sum())
    if np.isnan(dense[:, column]).any():
        raise ValueError(
            f"{name} contains NaN in {where} ({rows} of {len(dense)} rows): impute or drop it, "
            "e.g. with depmax.Prepare()."
        )
    raise ValueError(
        f"{name} contains infinity in {where} ({rows} of {len(dense)} rows): clip or drop it."
    )


def _warn_of_empty(absent: np.ndarray, names: tuple[str, ...] | None, name: str) -> None:
    empty = np.flatnonzero(absent.all(axis=0))
    if len(empty) and len(absent):
        more = f" (nor do {len(empty) - 1} others)" if len(empty) > 1 else ""
        where = f"C{_called(int(empty[0]), names)[1:]} of {name}"
        warn_caller(
            f"{where} has no value in any row{more}: nothing can depend on it.", UserWarning
        )


def _called(column: int, names: tuple[str, ...] | None) -> str:
    return f"column {names[column]!r}" if names else f"column {column}"


def read_fit(
    estimator: Any,
    X: Any,
    *,
    vector_input: bool = True,
    accept_sparse: bool = False,
    check_finite: bool = True,
    missing: Missing = "refuse",
) -> tuple[Any, Categories]:
    """Rows for ``fit`` and the levels of categorical columns; sets ``n_features_in_``.

    Without ``check_finite`` the estimator calls ``require_finite_rows`` where its sums over rows
    in float64 are too large or NaN. ``missing`` is that of ``read_table``.
    """
    return _read(estimator, X, None, vector_input, accept_sparse, check_finite, missing, reset=True)


def require_finite_rows(
    estimator: Any, rows: Any, missing: Missing = "refuse", *, is_part: bool = False
) -> Any:
    """Rows that ``fit`` has read, without NaN, infinity or numbers whose products overflow."""
    names = getattr(estimator, "feature_names_in_", None)
    names = None if names is None else tuple(names)
    return require_finite(rows, names, "X", missing, is_part=is_part)


def read_new(
    estimator: Any,
    X: Any,
    *,
    categories: Categories,
    vector_input: bool = True,
    accept_sparse: bool = False,
    missing: Missing = "refuse",
) -> Any:
    """Rows for ``transform``, checked against what ``fit`` saw."""
    check_is_fitted(estimator)
    return _read(estimator, X, categories, vector_input, accept_sparse, True, missing, reset=False)[
        0
    ]


def _read(
    estimator: Any,
    X: Any,
    categories: Categories | None,
    vector_input: bool,
    accept_sparse: bool,
    check_finite: bool,
    missing: Missing,
    reset: bool,
) -> tuple[Any, Categories]:
    refuse_unreadable(X, "X", type(estimator).__name__)
    if not vector_input:
        rows = read_objects(X)
        if rows.shape[0] == 0:
            raise ValueError("X is empty: found 0 sample(s), at least 1 is needed.")
        if reset:
            estimator.n_features_in_ = 1 if rows.ndim == 1 else rows.shape[1]
            _check_feature_names(estimator, X, reset=True)
        return rows, {}
    found: Categories = {}
    if is_frame(X):
        X, found = encode_frame(X, categories, "X", missing)
    elif categories:
        raise TypeError(
            f"{type(estimator).__name__} was fitted on a data frame with categorical columns: pass "
            "a frame with the same columns, since the numbers of an array do not name categories."
        )
    elif isinstance(X, np.ndarray):
        X = _numbers(X, "X")
    elif isinstance(X, list | tuple):
        require_numbers(np.asarray(X[:1]), "X")  # the first row tells
    if sparse.issparse(X) and not accept_sparse:
        linear = ', or kernel="linear", with which X stays sparse' * hasattr(estimator, "kernel")
        raise TypeError(
            f"{type(estimator).__name__} needs dense rows, but X is sparse: pass "
            f"X.toarray(){linear}."
        )
    values = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr" if accept_sparse else False,
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
    )
    if check_finite or values.dtype == np.float32:
        values = require_finite_rows(estimator, values, missing, is_part=not reset)
    return values, found


def has_missing(X: Any) -> bool:
    """Whether some cell of rows that were read is missing; only dense ones in memory may be."""
    return isinstance(X, np.ndarray) and bool(np.isnan(np.sum(X)))


def constant_columns(X: Any, missing: Missing = "neutral") -> np.ndarray:
    """Whether all values of a column are equal, exactly; a missing cell has none, or its own.

    Examples
    --------
    >>> constant_columns(np.array([[0.1, 1.0], [0.1, 2.0]]))
    array([ True, False])
    """
    if sparse.issparse(X):
        low, high = min_max_axis(X, axis=0)
    else:
        low, high = X.min(axis=0), X.max(axis=0)
        gaps = np.flatnonzero(np.isnan(low))
        if len(gaps) and missing == "level":
            return np.asarray((low == high) | np.isnan(X).all(axis=0))
        if len(gaps):  # the smallest and the largest value of those there are, if there are any
            low[gaps] = np.fmin.reduce(X[:, gaps], axis=0)
            high[gaps] = np.fmax.reduce(X[:, gaps], axis=0)
            return np.asarray((low == high) | np.isnan(low))
    return np.asarray(low == high)
