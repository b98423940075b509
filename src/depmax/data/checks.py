"""What is checked before anything is computed: parameters, and the scales of columns.

What a parameter of an estimator may be is declared once per class and checked when ``fit`` begins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from depmax.data.levels import Missing, warn_caller
from depmax.data.table import constant_columns


@dataclass(frozen=True)
class Rule:
    """What a parameter accepts, and how to say so."""

    accepts: Callable[[Any], bool]
    text: str  # completes "alpha of HSCA must be …"
    hint: str = ""  # why, or what to do instead

    def require(self, value: Any, name: str, owner: str) -> None:
        """Refuse a value by the name of the parameter and of its owner."""
        if not self.accepts(value):
            hint = f": {self.hint}" if self.hint else ""
            raise ValueError(f"{name} of {owner} must be {self.text}, got {value!r}{hint}.")


def is_number(value: Any) -> bool:
    """Whether a value is a finite number; True and False are not numbers."""
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def is_whole(value: Any) -> bool:
    """Whether a value is an integer; True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def number(
    low: float, high: float = inf, *, ends: str = "[]", also: Sequence[Any] = (), hint: str = ""
) -> Rule:
    """A finite number in an interval, "[)" without its upper end, or one of a few other values."""
    above, below = ends[0] == "(", ends[1] == ")"
    more, less = ">" if above else ">=", "<" if below else "<="
    if high < inf:
        closed = not above and not below
        span = f"from {low:g} to {high:g}" if closed else f"{more} {low:g} and {less} {high:g}"
        text = f"a number {span}"
    else:
        text = "a positive number" if above and low == 0 else f"a number {more} {low:g}"

    def inside(value: Any) -> bool:
        if not is_number(value) or value < low or value > high:
            return False
        return not (above and value == low) and not (below and value == high)

    return _or_one_of(inside, text, also, hint)


def integer(low: int, *, also: Sequence[Any] = (), hint: str = "") -> Rule:
    """A whole number from ``low`` on, or one of a few other values."""

    def inside(value: Any) -> bool:
        return is_whole(value) and value >= low

    return _or_one_of(inside, f"an integer >= {low}", also, hint)


def one_of(*values: Any) -> Rule:
    """One of a few names, or of None, True and False."""
    return _or_one_of(lambda value: False, "", values)


def _or_one_of(
    accepts: Callable[[Any], bool], text: str, also: Sequence[Any], hint: str = ""
) -> Rule:
    def accepts_either(value: Any) -> bool:
        if isinstance(value, np.bool_):
            value = bool(value)
        named = isinstance(value, str) and value in [v for v in also if isinstance(v, str)]
        return named or any(value is option for option in also) or accepts(value)

    texts = [*([text] if text else []), *(repr(value) for value in also)]
    first = ", ".join(texts[:-1])
    return Rule(accepts_either, f"{first} or {texts[-1]}" if first else texts[-1], hint)


#: True or False, and nothing that merely counts as such.
FLAG = one_of(True, False)

#: Parameters that mean the same in every estimator.
COMMON = {
    "unbiased": FLAG,
    "center": FLAG,
    "missing": one_of("neutral", "level", "refuse"),
    "n_jobs": Rule(
        lambda value: value is None or (is_whole(value) and value != 0),
        "an integer other than 0 (-1 for all processors) or None",
    ),
    "verbose": Rule(
        lambda value: isinstance(value, Integral | np.bool_) and int(value) >= 0, "an integer >= 0"
    ),
    "random_state": Rule(
        lambda value: (
            value is None
            or value is np.random
            or isinstance(value, np.random.RandomState)
            or (is_whole(value) and 0 <= value < 2**32)
        ),
        "None, an integer from 0 to 2**32 - 1 or a numpy.random.RandomState",
    ),
}


@cache
def rules_of(estimator: type) -> dict[str, Rule]:
    """Rules by parameter: the common ones, then ``_declared`` of the class and its bases."""
    rules = dict(COMMON)
    for cls in reversed(estimator.__mro__):
        rules.update(vars(cls).get("_declared", {}))
    return rules


def check_parameters(estimator: Any) -> None:
    """Refuse parameters of an estimator or a dataclass that are not what its class declares.

    Examples
    --------
    >>> from depmax import DependenceFilter
    >>> check_parameters(DependenceFilter(fdr=-1))
    Traceback (most recent call last):
    ...
    ValueError: fdr of DependenceFilter must be a number from 0 to 1, got -1.
    """
    kind: Any = type(estimator)
    rules = rules_of(kind)
    for name in _parameters_of(kind):
        if name in rules:
            rules[name].require(getattr(estimator, name), name, kind.__name__)


@cache
def _parameters_of(kind: type) -> tuple[str, ...]:
    """Parameters of an estimator in alphabetical order, or fields of a dataclass."""
    if is_dataclass(kind):
        return tuple(field.name for field in fields(kind))
    return tuple(kind._get_param_names())  # type: ignore[attr-defined]  # scikit-learn's


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


#: Spreads that differ by more than this factor are warned about.
FAR_APART = 100.0
#: Rows that spreads are read off; more are sampled with a fixed seed.
SAMPLE_ROWS = 1000
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
    sample = _sample(rows)
    low, high = _ends(sample)
    ranges = _ranges(low, high)
    every = len(ranges)  # indexing by all columns would take longer than looking at them
    groups = [g for g in groups if _are_far_apart(ranges if len(g) == every else ranges[g])]
    if not groups:
        return
    deviations = np.where(ranges > 0.0, _deviations(sample), 0.0)
    for group in groups:
        found = _farthest(deviations[group], ranges[group])
        if found is not None:
            wide, narrow = group[found[0]], group[found[1]]
            text = _message(wide, narrow, deviations, names, owner, name)
            warn_caller(text, ScaleWarning)
            return


def _ends(sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest value of every column; missing cells do not count."""
    with np.errstate(invalid="ignore"):
        return np.fmin.reduce(sample, axis=0), np.fmax.reduce(sample, axis=0)


def _ranges(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Range of every column; zero for one that is constant or not finite."""
    eps = np.finfo(low.dtype).eps
    low, high = low.astype(np.float64), high.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        reach = high - low
        # What rounding leaves of a constant column is not a spread.
        rounding = 10 * eps * np.maximum(np.abs(low), np.abs(high))
        return np.where((reach > rounding) & np.isfinite(reach), reach, 0.0)


def _are_far_apart(spreads: np.ndarray) -> bool:
    varying = spreads[spreads > 0.0]
    return len(varying) > 1 and bool(varying.max() > FAR_APART * varying.min())


def _deviations(sample: np.ndarray) -> np.ndarray:
    """Standard deviation of the known cells of every column; zero where it is not finite."""
    width = max(1, CELLS // len(sample))
    deviations = np.zeros(sample.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, sample.shape[1], width):
            part = slice(start, start + width)
            cells = sample[:, part]
            if np.isnan(cells).any():
                cells = np.ma.masked_invalid(cells)
            deviations[part] = np.ma.filled(np.std(cells, axis=0, dtype=np.float64), 0.0)
    return np.where(np.isfinite(deviations), deviations, 0.0)


def _sample(rows: Any) -> np.ndarray:
    """All rows of an array, or as many random ones; of other rows the first, middle and last.

    Rows that are read a block at a time (files) are read in three places only.
    """
    n_rows = rows.shape[0]
    if isinstance(rows, np.ndarray):
        if n_rows <= SAMPLE_ROWS:
            return rows
        return rows[np.random.default_rng(0).choice(n_rows, SAMPLE_ROWS, replace=False)]
    if hasattr(rows, "glance"):
        found = rows.glance(SAMPLE_ROWS)
    else:
        length = min(n_rows, SAMPLE_ROWS // 3)
        starts = sorted({0, (n_rows - length) // 2, n_rows - length})
        found = rows[np.concatenate([np.arange(start, start + length) for start in starts])]
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
    def label(column: int) -> str:
        return f"column {column}" if names is None else repr(str(names[column]))

    large, small = label(wide), label(narrow)
    scaler = "depmax.Prepare()" if name == "X" else "StandardScaler()"
    remedy = f"{scaler}.fit_transform({name})"
    if owner is not None:
        remedy = f"make_pipeline(depmax.Prepare(), {owner}(...))"
    ratio = deviations[wide] / deviations[narrow]
    start = f"{large} of {name}" if names is None else f"Column {large} of {name}"
    parameter = "kernel" if name == "X" else "target_kernel"
    return (
        f"{start[0].upper()}{start[1:]} has {ratio:,.0f} times the spread of {small}: it "
        "dominates distances and inner products, and columns with a small spread are nearly "
        f"ignored (standard deviations {deviations[wide]:.3g} and {deviations[narrow]:.3g}). Put "
        f"the columns on one scale with {remedy}, or give each its own with "
        f"{parameter}=depmax.kernels.Columns(...)."
    )
