"""Inputs X as a matrix: arrays, sparse matrices, and data frames with categorical columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from scipy import sparse
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.sparsefuncs import min_max_axis
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_array,
    check_is_fitted,
)

from depmax._resources import slices
from depmax._text import counted
from depmax._warnings import warn_caller
from depmax.data.chunks import RowsInChunks, Scan
from depmax.data.columns import (
    Categories,
    ColumnFacts,
    Columns,
    Missing,
    array_of,
    column_names,
    in_narwhals,
    is_frame,
)
from depmax.kernels.kernel import object_array

#: Largest number whose eighth power (a variance of squared kernel values), summed over rows and
#: columns, is finite in float64.
LARGEST = 1e35
#: Largest number whose fourth power is finite in float32; beyond, it is read as float64.
LARGEST_SINGLE = 1e8
#: If no number of a table is larger, their fourth powers vanish, and all rows look equal.
SMALLEST = 1e-75
#: Rows that spreads and bandwidths are read off; more are sampled with a fixed seed.
SAMPLE_ROWS = 1000
#: Spreads that differ by more than this factor are warned about.
FAR_APART = 100.0
#: Cells of the sample that are looked at together.
CELLS = 10**6


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

    @property
    def labels(self) -> Sequence[str]:
        """Names of the columns, or their positions."""
        width = 1 if self.values.ndim == 1 else self.values.shape[1]
        return numbered_columns(width, "") if self.names is None else self.names

    def ranked(self) -> Table | None:
        """Ranks of every numeric column, from 0 to 1; None if there is none, or rows are sparse."""
        from scipy import stats  # takes longer to import than most calls take

        n_columns = self.values.shape[1]
        numeric = [column for column in range(n_columns) if column not in self.categories]
        if not numeric or sparse.issparse(self.values):
            return None
        ranks = np.array(self.values, dtype=np.float64)
        ranks[:, numeric] = stats.rankdata(ranks[:, numeric], axis=0) / len(ranks)
        return replace(self, values=ranks)


def take_columns(X: Any, positions: Iterable[Any]) -> Any:
    """Some columns of a data frame, by position: the names of pandas may be no text."""
    places = [int(position) for position in positions]
    return nw.from_native(X, eager_only=True)[:, places].to_native()


def library_of(X: Any) -> str | None:
    """Name of the data frame library of X, if it is a frame."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame.implementation.value if isinstance(frame, nw.DataFrame) else None


def without_groups(X: Any, groups: Any) -> tuple[Any, Any]:
    """X and the groups of its rows; a name as groups is a column of X, which X then loses.

    >>> import polars as pl
    >>> X, patients = without_groups(pl.DataFrame({"age": [1, 2], "patient": [7, 7]}), "patient")
    >>> X.columns, patients.to_list()
    (['age'], [7, 7])
    """
    if not isinstance(groups, str):
        return X, groups
    if not is_frame(X) or groups not in list(X.columns):
        raise ValueError(
            f"groups={groups!r} names a column, but X is not a data frame that has it: pass the "
            "group of every row."
        )
    column = nw.from_native(X, eager_only=True)[groups].to_native()
    return without_column(X, groups), column


def without_column(X: Any, name: str | None) -> Any:
    """A data frame without one of its columns, if it has that; anything else as it is."""
    if name is None or not is_frame(X):
        return X
    names = list(X.columns)
    return take_columns(X, [place for place, other in enumerate(names) if other != name])


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
    return isinstance(X, Scan | RowsInChunks) or is_dask(X)


def refuse_unreadable(X: Any, name: str, owner: str | None = None) -> None:
    """Refuse collections that would be loaded silently, masks, names, and repeated columns."""
    if isinstance(X, str) and name != "X":
        raise TypeError(f"{name} is the text {X!r}: pass the values, such as table[{X!r}].")
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
    if isinstance(X, np.ndarray):
        return
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
    X: Any,
    *,
    categories: Categories | None = None,
    name: str = "X",
    missing: Missing = "refuse",
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
    table = _read(X, categories, name, missing)
    return replace(table, values=require_finite(table.values, table.names, name, missing))


def _read(
    X: Any, categories: Categories | None, name: str, missing: Missing, estimator: Any = None
) -> Table:
    """Rows as numbers, and levels: those found, if there are no ``categories`` yet.

    One dimension is one column, except for an estimator.
    """
    names: tuple[str, ...] | None = None
    is_plain = isinstance(X, np.ndarray) and X.dtype.kind in "biuf"
    if not is_plain and is_frame(X):
        frame, names = nw.from_native(X, eager_only=True), column_names(X)
        if categories is None:
            categories = ColumnFacts.of(frame).categories(frame, name, missing)
        X = Columns(categories, names, name, missing).numbers(frame)
    elif not is_plain:
        X = array_of(X, name)
    values = check_array(
        X[:, np.newaxis] if X.ndim == 1 and estimator is None else X,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        estimator=estimator,
        input_name=name,
    )
    return Table(values, names, categories or {})


def read_objects(X: Any, name: str = "X", owner: str | None = None) -> np.ndarray:
    """Rows that are not vectors: a list, a 1-D array, a one-column frame or a mixed frame.

    A frame with several columns (for ``Columns`` with a string part) becomes a matrix of objects.
    """
    refuse_unreadable(X, name, owner)
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


# --- rows of an estimator -------------------------------------------------------------------------
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
    if not vector_input:
        rows = _read_objects(estimator, X)
        estimator.n_features_in_ = 1 if rows.ndim == 1 else rows.shape[1]
        _check_feature_names(estimator, X, reset=True)
        return rows, {}
    table = _read_vectors(estimator, X, None, accept_sparse, missing)
    values = table.values
    if check_finite or values.dtype == np.float32:
        values = require_finite_rows(estimator, values, missing)
    return values, table.categories


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
    if not vector_input:
        return _read_objects(estimator, X)
    table = _read_vectors(estimator, X, categories, accept_sparse, missing)
    return require_finite_rows(estimator, table.values, missing, is_part=True)


def read_batch(estimator: Any, X: Any) -> Any:
    """Rows of a batch as numbers; the first batch sets the estimator's attributes about columns.

    Of batches an estimator keeps only sums, in ``_batches``.
    """
    name = type(estimator).__name__
    if is_streamed(X):
        raise TypeError(
            f"partial_fit of {name} takes batches in memory: fit reads a Dask collection or a "
            "scan a chunk at a time by itself."
        )
    if hasattr(estimator, "_batches") and estimator.__sklearn_is_fitted__():
        return read_new(estimator, X, categories={}, accept_sparse=True)
    known = getattr(estimator, "n_features_in_", None)
    rows, categories = read_fit(estimator, X, accept_sparse=True)
    if known is not None and known != rows.shape[1]:
        raise ValueError(f"X has {rows.shape[1]} features, but {name} expects {known}.")
    if categories:
        called = getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))
        names = [str(called[column]) for column in categories]
        estimator.__dict__.pop("n_features_in_")
        raise TypeError(
            f"partial_fit of {name} takes numbers, but X has categorical columns "
            f"({', '.join(names)}): encode them, e.g. with sklearn.preprocessing.OneHotEncoder."
        )
    return rows


def keeps_sums(estimator: Any) -> bool:
    """Refuse to continue after ``fit``, which does not keep the sums that batches are added to."""
    if hasattr(estimator, "n_features_in_") and not hasattr(estimator, "_batches"):
        raise AttributeError(
            f"{type(estimator).__name__} was fitted by fit, which keeps no sums to continue from: "
            "pass all batches to partial_fit of a clone."
        )
    return True


def require_finite_rows(
    estimator: Any, rows: Any, missing: Missing = "refuse", *, is_part: bool = False
) -> Any:
    """Rows that ``fit`` has read, without NaN, infinity or numbers whose products overflow."""
    names = getattr(estimator, "feature_names_in_", None)
    return require_finite(rows, names, "X", missing, is_part=is_part)


def _read_objects(estimator: Any, X: Any) -> np.ndarray:
    rows = read_objects(X, owner=type(estimator).__name__)
    if rows.shape[0] == 0:
        raise ValueError("X is empty: found 0 sample(s), at least 1 is needed.")
    return rows


def _read_vectors(
    estimator: Any, X: Any, categories: Categories | None, accept_sparse: bool, missing: Missing
) -> Table:
    """Rows as numbers; for ``fit`` if there are no ``categories`` yet."""
    name, is_new = type(estimator).__name__, categories is not None
    refuse_unreadable(X, "X", name)
    if categories and not is_frame(X):
        raise TypeError(
            f"{name} was fitted on a data frame with categorical columns: pass "
            "a frame with the same columns, since the numbers of an array do not name categories."
        )
    if sparse.issparse(X) and not accept_sparse:
        linear = ', or kernel="linear", with which X stays sparse' * hasattr(estimator, "kernel")
        raise TypeError(f"{name} needs dense rows, but X is sparse: pass X.toarray(){linear}.")
    table = _read(X, categories, "X", missing, estimator)
    _check_feature_names(estimator, X, reset=not is_new)
    _check_n_features(estimator, table.values, reset=not is_new)
    return table


# --- finite numbers, and columns that vary --------------------------------------------------------
def require_finite(
    values: Any,
    names: Sequence[str] | None,
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
    has_gaps = missing != "refuse" and np.isnan(size) and not sparse.issparse(values)
    if has_gaps:
        absent = np.isnan(values)
        if missing != "fill":
            _warn_of_empty(absent, names, name)
        size = float(np.abs(values[~absent]).max(initial=0.0))
    if 0 < size < SMALLEST and not is_part:
        raise ValueError(
            f"The largest number that {name} holds is {size:.3g}: products of numbers below "
            f"{SMALLEST:g} vanish. Multiply its columns by a constant."
        )
    if not size <= LARGEST:
        dense = values.toarray() if sparse.issparse(values) else values
        _refuse_numbers(np.where(np.isnan(dense), 0.0, dense) if has_gaps else dense, names, name)
    single = data.dtype == np.float32 and size > LARGEST_SINGLE
    return values.astype(np.float64) if single else values


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


def _refuse_numbers(dense: np.ndarray, names: Sequence[str] | None, name: str) -> None:
    """Refuse the first column with NaN or infinity, or else with a number that is too large."""
    bad = ~np.isfinite(dense)
    if bad.any():
        column = int(bad.any(axis=0).argmax())
        found, remedy = "infinity", "clip or drop it"
        if np.isnan(dense[:, column]).any():
            found, remedy = "NaN", "impute or drop it, e.g. with depmax.Prepare()"
        raise ValueError(
            f"{name} contains {found} in {called(column, names)} "
            f"({int(bad[:, column].sum())} of {len(dense)} rows): {remedy}."
        )
    sizes = np.abs(dense).max(axis=0)
    column = int((sizes > LARGEST).argmax())
    raise ValueError(
        f"{name} holds {sizes[column]:.3g} in {called(column, names)}: products of numbers beyond "
        f"{LARGEST:g} overflow. If it stands for a missing value, impute or drop it; otherwise "
        "divide the column by a constant."
    )


def _warn_of_empty(absent: np.ndarray, names: Sequence[str] | None, name: str) -> None:
    empty = np.flatnonzero(absent.all(axis=0))
    if len(empty) and len(absent):
        more = f" (nor do {len(empty) - 1} others)" if len(empty) > 1 else ""
        where = f"C{called(int(empty[0]), names)[1:]} of {name}"
        warn_caller(
            f"{where} has no value in any row{more}: nothing can depend on it.", UserWarning
        )


def called(column: int, names: Sequence[str] | None) -> str:
    """What messages call a column: by its name, or its position."""
    return f"column {column}" if names is None else f"column {str(names[column])!r}"


def has_missing(X: Any) -> bool:
    """Whether some cell of rows that were read is missing; only dense ones in memory may be."""
    return isinstance(X, np.ndarray) and bool(np.isnan(np.sum(X)))


def refuse_missing(rows: Any, owner: str, names: Sequence[Any] | None = None) -> None:
    """Refuse missing cells of rows with weights, by name."""
    if has_missing(rows):
        column = int(np.flatnonzero(np.isnan(rows).any(axis=0))[0])
        raise ValueError(
            f"{owner} does not take missing values together with sample_weight, but X has NaN in "
            f"{called(column, names)}: impute first, e.g. with depmax.Prepare()."
        )


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


def require_varying(X: Any, missing: Missing = "neutral") -> None:
    """Refuse rows in memory that are all equal."""
    if not (sparse.issparse(X) or isinstance(X, np.ndarray)) or X.shape[0] < 2:
        return
    if X.dtype.kind != "f" or (isinstance(X, np.ndarray) and (X[0] < X[-1]).any()):
        return
    if constant_columns(X, missing).all():
        raise ValueError(
            f"X is constant: all {X.shape[0]} rows are equal, and nothing can depend on a constant."
        )


def sample_positions(n_rows: int) -> np.ndarray:
    """Positions of all rows, or of 1000 drawn with a fixed seed: those that kernels draw, too."""
    if n_rows <= SAMPLE_ROWS:
        return np.arange(n_rows)
    return np.random.default_rng(0).choice(n_rows, SAMPLE_ROWS, replace=False)


def require_equal_length(n_x: int, n_y: int) -> None:
    """Refuse X and y with different numbers of rows."""
    if n_x != n_y:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: {counted(n_x, 'row')} against {n_y}."
        )


def some_rows(n_rows: int, size: int) -> np.ndarray:
    """Positions of all rows, or of some drawn with a fixed seed, in order.

    Examples
    --------
    >>> some_rows(1_000_000_000, 3)
    array([511136479, 636961686, 850624224])
    """
    if n_rows <= size:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, size, replace=False))


# --- columns on scales that can be compared -------------------------------------------------------
class ScaleWarning(UserWarning):
    """Numeric columns of X, or outputs in y, are on very different scales, and are compared.

    Raised by every measure and estimator whose result depends on the units of the columns, if one
    column has more than 100 times the spread (standard deviation and range) of another. The wide
    column then determines all distances and inner products, and the narrow one is nearly ignored.
    Put a ``StandardScaler`` before the estimator, or standardise X before calling a measure. If the
    scales are intended, ``warnings.simplefilter("ignore", depmax.ScaleWarning)`` silences it.

    Outputs in y follow the same rule: they are compared as they are, so that a measure is symmetric
    in X and y, and warned of where a method does not put them on one scale itself.

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
    kernel: Any,
    rows: Any,
    names: Sequence[str] | None,
    categorical: Collection[int] = (),
    *,
    owner: str | None = None,
    one_by_one: bool = False,
    name: str = "X",
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
    name : str
        What messages call the rows: X, or y for outputs.
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
    ranges, deviations = _spreads(_sample(rows), groups)
    for group in groups if deviations.any() else ():
        found = _farthest(deviations[group], ranges[group])
        if found is not None:
            wide, narrow = group[found[0]], group[found[1]]
            text = _message(wide, narrow, deviations, names, owner, name)
            warn_caller(text, ScaleWarning)
            return


def _spreads(sample: np.ndarray, groups: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Range and standard deviation of every column, of its known cells.

    Both are zero for a column that is constant or not finite; deviations are not computed, and
    zero, where the ranges of no group are far apart.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = np.fmin.reduce(sample, axis=0), np.fmax.reduce(sample, axis=0)
        eps = np.finfo(low.dtype).eps
        low, high = low.astype(np.float64), high.astype(np.float64)
        ranges = high - low
        # what rounding leaves of a constant column is not a spread
        rounding = 10 * eps * np.maximum(np.abs(low), np.abs(high))
        ranges = np.where((ranges > rounding) & np.isfinite(ranges), ranges, 0.0)
        deviations = np.zeros(len(ranges))
        # indexing by all columns would take longer than looking at them
        parts = (ranges if len(group) == len(ranges) else ranges[group] for group in groups)
        varying = [part[part > 0.0] for part in parts]
        if not any(len(part) > 1 and part.max() > FAR_APART * part.min() for part in varying):
            return ranges, deviations
        for part in slices(len(ranges), max(1, CELLS // len(sample))):
            cells = sample[:, part]
            if np.isnan(cells).any():
                cells = np.ma.masked_invalid(cells)
            deviations[part] = np.ma.filled(np.std(cells, axis=0, dtype=np.float64), 0.0)
    return ranges, np.where((ranges > 0.0) & np.isfinite(deviations), deviations, 0.0)


def _sample(rows: Any) -> np.ndarray:
    """Some rows of an array, drawn at random; of a table that is read, those easily reached."""
    if isinstance(rows, np.ndarray):
        few = len(rows) <= SAMPLE_ROWS
        return rows if few else rows[sample_positions(len(rows))]
    found = rows.glance(SAMPLE_ROWS)
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


def _large(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio < 1e9 else f"{ratio:.0e}"


def _message(
    wide: int,
    narrow: int,
    deviations: np.ndarray,
    names: Sequence[str] | None,
    owner: str | None,
    name: str,
) -> str:
    large, small = called(wide, names), called(narrow, names)
    scaler = "depmax.Prepare()" if name == "X" else "StandardScaler()"
    remedy = f"{scaler}.fit_transform({name})"
    if owner is not None:
        remedy = f"make_pipeline(depmax.Prepare(), {owner}(...))"
    ratio = deviations[wide] / deviations[narrow]
    parameter = "kernel" if name == "X" else "target_kernel"
    return (
        f"C{large[1:]} of {name} has {_large(ratio)} times the spread of {small}: it "
        "dominates distances and inner products, and columns with a small spread are nearly "
        f"ignored (standard deviations {deviations[wide]:.3g} and {deviations[narrow]:.3g}). Put "
        f"the columns on one scale with {remedy}, or give each its own with "
        f"{parameter}=depmax.kernels.Columns(...)."
    )
