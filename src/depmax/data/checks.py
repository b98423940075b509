"""What rows and kernel values must be: finite, enough, varying, on scales that can be compared."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import min_max_axis

from depmax._text import counted
from depmax._threads import slices
from depmax._warnings import warn_caller

#: What a missing cell of X says: nothing, nothing since the reader fills it, that it is missing, or
#: it is refused.
Missing = Literal["neutral", "fill", "level", "refuse"]
#: Largest number whose eighth power (a variance of squared kernel values), summed over rows and
#: columns, is finite in float64.
LARGEST = 1e35
#: Largest number whose fourth power is finite in float32; beyond, it is read as float64.
LARGEST_SINGLE = 1e8
#: If no number of a table is larger, their fourth powers vanish, and all rows look equal.
SMALLEST = 1e-75
#: Spreads that differ by more than this factor are warned about.
FAR_APART = 100.0
#: Rows that spreads and bandwidths are read off; more are sampled with a fixed seed.
SAMPLE_ROWS = 1000
#: Cells of the sample that are looked at together.
CELLS = 10**6


# --- finite numbers -------------------------------------------------------------------------------
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
            f"{name} contains {found} in {_called(column, names)} "
            f"({int(bad[:, column].sum())} of {len(dense)} rows): {remedy}."
        )
    sizes = np.abs(dense).max(axis=0)
    column = int((sizes > LARGEST).argmax())
    raise ValueError(
        f"{name} holds {sizes[column]:.3g} in {_called(column, names)}: products of numbers beyond "
        f"{LARGEST:g} overflow. If it stands for a missing value, impute or drop it; otherwise "
        "divide the column by a constant."
    )


def _warn_of_empty(absent: np.ndarray, names: Sequence[str] | None, name: str) -> None:
    empty = np.flatnonzero(absent.all(axis=0))
    if len(empty) and len(absent):
        more = f" (nor do {len(empty) - 1} others)" if len(empty) > 1 else ""
        where = f"C{_called(int(empty[0]), names)[1:]} of {name}"
        warn_caller(
            f"{where} has no value in any row{more}: nothing can depend on it.", UserWarning
        )


def _called(column: int, names: Sequence[str] | None) -> str:
    return f"column {column}" if names is None else f"column {str(names[column])!r}"


# --- values that vary -----------------------------------------------------------------------------
def has_missing(X: Any) -> bool:
    """Whether some cell of rows that were read is missing; only dense ones in memory may be."""
    return isinstance(X, np.ndarray) and bool(np.isnan(np.sum(X)))


def refuse_missing(rows: Any, owner: str, names: Sequence[Any] | None = None) -> None:
    """Refuse missing cells of rows with weights, by name."""
    if has_missing(rows):
        column = int(np.flatnonzero(np.isnan(rows).any(axis=0))[0])
        raise ValueError(
            f"{owner} does not take missing values together with sample_weight, but X has NaN in "
            f"{_called(column, names)}: impute first, e.g. with depmax.Prepare()."
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


# --- scales ---------------------------------------------------------------------------------------
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


def _message(
    wide: int,
    narrow: int,
    deviations: np.ndarray,
    names: Sequence[str] | None,
    owner: str | None,
    name: str,
) -> str:
    large, small = _called(wide, names), _called(narrow, names)
    scaler = "depmax.Prepare()" if name == "X" else "StandardScaler()"
    remedy = f"{scaler}.fit_transform({name})"
    if owner is not None:
        remedy = f"make_pipeline(depmax.Prepare(), {owner}(...))"
    ratio = deviations[wide] / deviations[narrow]
    parameter = "kernel" if name == "X" else "target_kernel"
    return (
        f"C{large[1:]} of {name} has {ratio:,.0f} times the spread of {small}: it "
        "dominates distances and inner products, and columns with a small spread are nearly "
        f"ignored (standard deviations {deviations[wide]:.3g} and {deviations[narrow]:.3g}). Put "
        f"the columns on one scale with {remedy}, or give each its own with "
        f"{parameter}=depmax.kernels.Columns(...)."
    )


# --- samples and kernel values --------------------------------------------------------------------
def require_equal_length(n_x: int, n_y: int) -> None:
    """Refuse X and y with different numbers of rows."""
    if n_x != n_y:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: {counted(n_x, 'row')} against {n_y}."
        )


#: Fewest samples for which each estimator is defined.
MINIMUM = {True: 4, False: 2}


def require_samples(n_samples: float, unbiased: bool) -> None:
    """Refuse samples too few for the estimator."""
    if n_samples < MINIMUM[unbiased]:
        which = "unbiased" if unbiased else "biased"
        raise ValueError(
            f"The {which} estimator needs at least {MINIMUM[unbiased]} samples, got n_samples = "
            f"{n_samples}."
        )


def require_positive(largest: float) -> None:
    """Refuse a kernel that is zero everywhere."""
    if not largest > 0:
        raise ValueError(
            "The kernel is zero on every row, so there is nothing to map: check that X is not all "
            "zero (or all strings too short for the kernel), or choose another kernel."
        )


def require_semidefinite(smallest: float, largest: float) -> None:
    """Refuse what is no inner product, beyond rounding."""
    if smallest < -1e-4 * largest:
        raise ValueError(
            "The kernel is not positive semidefinite on these rows (a value that must not be "
            f"negative is {smallest:.3g}, against {largest:.3g} for the largest), so no feature "
            "map has it as inner product."
        )


def require_finite_values(values: Any) -> Any:
    """Refuse kernel values, or what was made of them, that overflowed."""
    if not np.isfinite(values).all():
        raise ValueError(
            "The kernel gives NaN or infinity on these rows: scale the columns of X, e.g. with "
            "sklearn.preprocessing.StandardScaler, or choose another kernel."
        )
    return values
