"""Filling missing values with what the training rows hold: the first step of a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import (
    _check_feature_names,
    _check_feature_names_in,
    _check_n_features,
    check_is_fitted,
)

from depmax._inputs.levels import as_nan, is_nominal, require_numbers, why_not_numeric
from depmax._inputs.table import is_frame, refuse_unreadable

#: What may fill columns of numbers.
WAYS = ("median", "mean", "frequent")


class FillGaps(TransformerMixin, BaseEstimator):
    """Fill the gaps of an array, or a data frame of numbers, booleans and categories.

    Unlike scikit-learn's imputers it keeps categories and the order and names of columns, so a
    kernel per column still works after it.

    Parameters
    ----------
    how : {"median", "mean", "frequent"}, default="median"
        What fills columns of numbers; the most frequent value fills all others.
    keep_empty : bool, default=False
        Whether a column without any value is filled (with zero, false or its own level) instead of
        refused: a small part of the rows may lack the few values that a column has.

    Attributes
    ----------
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of a data frame, if all are text.
    n_features_in_ : int
        Number of columns.
    fills_ : dict from name to value
        The value that fills each column; by position if X is an array.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"size": [1.0, None, 3.0], "smoker": [True, True, None]})
    >>> FillGaps("median").fit_transform(frame).rows()
    [(1.0, True), (2.0, True), (3.0, True)]
    """

    def __init__(self, how: str = "median", *, keep_empty: bool = False) -> None:
        self.how = how
        self.keep_empty = keep_empty

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what fills every column.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        if self.how not in WAYS:
            raise ValueError(f"how must be one of {', '.join(WAYS)}, got {self.how!r}.")
        refuse_unreadable(X, "X", type(self).__name__)
        if not is_frame(X):
            values = _as_numbers(X)
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = values.shape[1]
            self.fills_ = _middles(range(self.n_features_in_), values, self.how, self.keep_empty)
            return self
        _check_feature_names(self, X, reset=True)
        frame = nw.from_native(X, eager_only=True)
        self.n_features_in_ = len(frame.columns)
        fills = _fills(frame, self.how, self.keep_empty)
        self.fills_ = {name: fills[name] for name in frame.columns}
        return self

    def transform(self, X: Any) -> Any:
        """The same rows without gaps.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)

        Returns
        -------
        array or data frame, as X is
        """
        check_is_fitted(self)
        refuse_unreadable(X, "X", type(self).__name__)
        if not is_frame(X):
            values = _as_numbers(X)
            _check_n_features(self, values, reset=False)
            fills = np.array([self._number(name) for name in self.fills_], dtype=values.dtype)
            return np.where(np.isnan(values), fills, values)
        frame = nw.from_native(X, eager_only=True)
        if frame.columns != list(self.fills_):
            names = list(map(str, self.fills_))[:8]
            raise ValueError(
                "The columns differ from those the model was fitted on: pass "
                f"{', '.join(names)}, in this order."
            )
        gaps = [series for series in frame.iter_columns() if _has_gaps(series)]
        filled = [_filled(series, self.fills_[series.name]) for series in gaps]
        return (frame.with_columns(*filled) if filled else frame).to_native()

    def _number(self, name: Any) -> float:
        """What fills a column of an array; levels of categories are of no use there."""
        fill = self.fills_[name]
        if not isinstance(fill, Real):
            raise TypeError(
                f"FillGaps was fitted on a data frame whose column {name!r} is categorical: pass a "
                "frame with the same columns."
            )
        return float(fill)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns, which do not change.

        Parameters
        ----------
        input_features : sequence of str, optional
            Used if X had no names.
        """
        check_is_fitted(self)
        return _check_feature_names_in(self, input_features)

    def __sklearn_tags__(self) -> Any:
        """Gaps are what it is for."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def has_gaps(X: Any) -> bool:
    """Whether a frame, or an array of numbers, has missing values."""
    if is_frame(X):
        frame = nw.from_native(X, eager_only=True)
        return any(map(_has_gaps, frame.iter_columns()))
    if sparse.issparse(X):
        return False
    try:
        values = _as_numbers(X)
    except (TypeError, ValueError):  # rows of another kind, such as strings
        return False
    return bool(np.isnan(values).any())


def without_gaps(X: Any, how: str | None) -> Any:
    """All rows with gaps filled; None leaves them."""
    return X if how is None else FillGaps(how).fit_transform(X)


def _as_numbers(X: Any) -> np.ndarray:
    if sparse.issparse(X):
        raise TypeError("Missing values in a sparse matrix cannot be filled: pass a dense array.")
    values = np.asarray(X)
    if values.ndim not in (1, 2):
        raise ValueError(f"X must have one or two dimensions, got shape {values.shape}.")
    if values.dtype.kind != "f":
        values = as_nan(require_numbers(values, "X")).astype(np.float64)
    return values[:, np.newaxis] if values.ndim == 1 else values


def _fills(frame: Any, how: str, keep_empty: bool) -> dict[str, Any]:
    """What fills the gaps of every column of a frame."""
    numeric = [place for place, dtype in enumerate(frame.schema.values()) if dtype.is_numeric()]
    values = np.empty((len(frame), 0))
    if numeric:
        values = np.array(frame[:, numeric].to_numpy(), dtype=np.float64)  # gaps are NaN
    fills = _middles([frame.columns[place] for place in numeric], values, how, keep_empty)
    for name, series in zip(frame.columns, frame.iter_columns(), strict=True):
        if name not in fills:
            present = series.drop_nulls().to_list()
            if not present:
                _require_allowed(name, keep_empty)
            elif not is_nominal(series.dtype):
                raise TypeError(why_not_numeric(series, "X"))
            fills[name] = _most_frequent(present) if present else _any_value(series.dtype)
    return fills


def _middles(
    names: Iterable[Any], values: np.ndarray, how: str, keep_empty: bool
) -> dict[Any, Any]:
    """What fills the gaps of every column of numbers."""
    fills = {}
    for name, column in zip(names, values.T, strict=True):
        present = column[~np.isnan(column)]
        if not len(present):
            _require_allowed(name, keep_empty)
            fills[name] = 0.0
        else:
            fills[name] = _MIDDLE[how](present)
    return fills


def _require_allowed(name: Any, keep_empty: bool) -> None:
    if not keep_empty:
        raise ValueError(f"Column {name!r} has no value at all: drop it.")


def _any_value(dtype: Any) -> Any:
    """A value that a column of this type may hold."""
    if isinstance(dtype, nw.Boolean):
        return False
    return dtype.categories[0] if isinstance(dtype, nw.Enum) else "missing"


def _most_frequent(values: Iterable[Any]) -> Any:
    """The most frequent value; of several, the first in order."""
    counts = Counter(values)
    tied = [value for value, count in counts.items() if count == max(counts.values())]
    return min(tied, key=str) if len(set(map(type, tied))) > 1 else min(tied)


_MIDDLE: dict[str, Callable[[np.ndarray], Any]] = {
    "median": lambda values: float(np.median(values)),
    "mean": lambda values: float(np.mean(values)),
    "frequent": lambda values: _most_frequent(values.tolist()),
}


def _has_gaps(series: Any) -> bool:
    return bool(series.null_count() or (series.dtype.is_float() and series.is_nan().any()))


def _filled(series: Any, value: Any) -> Any:
    """Gaps and NaN replaced; whole numbers become floats where the fill is none."""
    dtype = series.dtype
    if dtype.is_float():
        return series.fill_nan(None).fill_null(value)
    if dtype.is_integer():
        whole = float(value).is_integer()
        return series.fill_null(int(value)) if whole else series.cast(nw.Float64).fill_null(value)
    if isinstance(dtype, nw.Boolean):
        return series.fill_null(value)
    # a batch may lack the level that fills it
    native = series.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "add_categories"):  # pandas: levels stay
        known = native if value in native.cat.categories else native.cat.add_categories([value])
        return nw.from_native(known.fillna(value), series_only=True)
    if isinstance(dtype, nw.Categorical) and hasattr(native, "dictionary_encode"):  # Arrow
        whole = native.cast(native.type.value_type).fill_null(value)
        return nw.from_native(whole.dictionary_encode(), series_only=True).alias(series.name)
    return series.cast(nw.String).fill_null(value).cast(dtype)
