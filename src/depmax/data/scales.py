"""Columns on very different scales, of which a kernel would see only some."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from depmax._threads import slices
from depmax._warnings import warn_caller
from depmax.data.table import SAMPLE_ROWS, called, sample_positions

#: Spreads that differ by more than this factor are warned about.
FAR_APART = 100.0


#: Cells of the sample that are looked at together.
CELLS = 10**6


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
    large, small = called(wide, names), called(narrow, names)
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
