"""Missing values filled: the first step of a model fitted with ``--impute``."""

from __future__ import annotations

from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

_WAYS = ("median", "mean", "frequent")


class FillGaps(TransformerMixin, BaseEstimator):
    """Fill the gaps of a data frame whose columns are numbers, booleans and categories.

    Unlike scikit-learn's imputers it keeps categories categories, and order and names as they are,
    so that a kernel per column still works after it.

    Parameters
    ----------
    how : {"median", "mean", "frequent"}, default="median"
        What fills columns of numbers; the most frequent value fills all others.

    Attributes
    ----------
    feature_names_in_ : ndarray of shape (n_features_in_,)
    fills_ : dict from name to value
        Of every column.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"size": [1.0, None, 3.0], "smoker": [True, True, None]})
    >>> FillGaps("median").fit_transform(frame).rows()
    [(1.0, True), (2.0, True), (3.0, True)]
    """

    def __init__(self, how: str = "median") -> None:
        self.how = how

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what fills every column of a frame."""
        if self.how not in _WAYS:
            raise ValueError(f"how must be one of {', '.join(_WAYS)}, got {self.how!r}.")
        frame = nw.from_native(X, eager_only=True)
        self.feature_names_in_ = np.array(frame.columns, dtype=object)
        self.n_features_in_ = len(frame.columns)
        self.fills_ = _fills(frame, self.how)
        return self

    def transform(self, X: Any) -> Any:
        """The same frame without gaps."""
        check_is_fitted(self)
        frame = nw.from_native(X, eager_only=True)
        if frame.columns != list(self.feature_names_in_):
            raise ValueError(
                "The columns differ from those the model was fitted on: pass "
                f"{', '.join(map(str, self.feature_names_in_[:8]))}, in this order."
            )
        gaps = [name for name in frame.columns if _has_gaps(frame[name])]
        filled = [_filled(frame[name], self.fills_[name]) for name in gaps]
        return (frame.with_columns(*filled) if filled else frame).to_native()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns, which stay as they are."""
        check_is_fitted(self)
        return self.feature_names_in_


def _fills(frame: Any, how: str) -> dict[str, Any]:
    """What fills the gaps of every column."""
    numeric = [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
    values = np.empty((len(frame), 0))
    if numeric:
        values = np.array(frame.select(numeric).to_numpy(), dtype=np.float64)  # gaps are NaN
    for name, column in zip(numeric, values.T, strict=True):
        if np.isnan(column).all():
            raise ValueError(f"Column {name!r} has no value at all: leave it out.")
    if how == "frequent":
        middles = np.array([_most_frequent(column[~np.isnan(column)]) for column in values.T])
    else:
        middles = np.nanmedian(values, axis=0) if how == "median" else np.nanmean(values, axis=0)
    fills: dict[str, Any] = dict(zip(numeric, middles.tolist(), strict=True))
    for name in frame.columns:
        if name not in fills:
            fills[name] = _most_frequent(np.asarray(frame[name].drop_nulls().to_list()))
    return fills


def _most_frequent(values: np.ndarray) -> Any:
    levels, counts = np.unique(values, return_counts=True)
    return levels[np.argmax(counts)].item()


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
    # categories go round by strings, since a batch may lack the level that fills it
    return series.cast(nw.String).fill_null(value).cast(dtype)
