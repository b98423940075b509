"""The first step of a model fitted from the command line: gaps filled, columns on one scale."""

from __future__ import annotations

from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

_FILLS = ("median", "mean", "frequent")


class Preparation(TransformerMixin, BaseEstimator):
    """Fill gaps and standardise the numeric columns of a data frame, categories as they are.

    Unlike ``ColumnTransformer`` it keeps the order of the columns, their names and the types of
    categorical ones, so that a kernel per column still works after it.

    Parameters
    ----------
    impute : {"median", "mean", "frequent"} or None, default=None
        What fills gaps in columns of numbers; the most frequent value fills those of categories.
        None leaves gaps.
    scale : bool, default=True
        Whether columns of numbers get mean 0 and variance 1.

    Attributes
    ----------
    feature_names_in_ : ndarray of shape (n_features_in_,)
    fills_ : dict from name to value
        Of every column, where ``impute`` is set.
    means_, scales_ : dict from name to number
        Of every column of numbers, where ``scale`` is set.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"size": [1.0, None, 3.0], "colour": ["r", "g", "g"]})
    >>> Preparation(impute="median", scale=False).fit_transform(frame)["size"].to_list()
    [1.0, 2.0, 3.0]
    """

    def __init__(
        self,
        impute: str | None = None,
        scale: bool = True,
    ) -> None:
        self.impute = impute
        self.scale = scale

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn fills, means and scales from a frame."""
        if self.impute is not None and self.impute not in _FILLS:
            raise ValueError(f"impute must be one of {', '.join(_FILLS)}, got {self.impute!r}.")
        frame = nw.from_native(X, eager_only=True)
        self.feature_names_in_ = np.array(frame.columns, dtype=object)
        self.n_features_in_ = len(frame.columns)
        numeric = _numeric(frame)
        values = _matrix(frame, numeric)
        self.fills_: dict[str, Any] = {}
        if self.impute is not None:
            self.fills_ = _fills(frame, numeric, values, self.impute)
            _fill_matrix(values, numeric, self.fills_)
        self.means_: dict[str, float] = {}
        self.scales_: dict[str, float] = {}
        if self.scale:
            means, spreads = values.mean(axis=0), values.std(axis=0)
            spreads[spreads <= 1e-14 * np.maximum(1.0, np.abs(means))] = 1.0  # constant columns
            self.means_ = dict(zip(numeric, means.tolist(), strict=True))
            self.scales_ = dict(zip(numeric, spreads.tolist(), strict=True))
        return self

    def transform(self, X: Any) -> Any:
        """The same frame with gaps filled and numbers scaled."""
        check_is_fitted(self)
        frame = nw.from_native(X, eager_only=True)
        if frame.columns != list(self.feature_names_in_):
            raise ValueError(
                "The columns differ from those the model was fitted on: pass "
                f"{', '.join(map(str, self.feature_names_in_[:8]))}, in this order."
            )
        if self.fills_:
            gaps = [name for name in frame.columns if _has_gaps(frame[name])]
            filled = [_filled(frame[name], self.fills_[name]) for name in gaps]
            frame = frame.with_columns(*filled) if filled else frame
        if self.means_:
            numeric = list(self.means_)
            values = _matrix(frame, numeric)
            values -= np.array([self.means_[name] for name in numeric])
            values /= np.array([self.scales_[name] for name in numeric])
            scaled = dict(zip(numeric, values.T, strict=True))
            columns = {name: scaled.get(name, frame[name]) for name in frame.columns}
            native = frame.to_native()
            frame = nw.from_dict(columns, backend=frame.implementation)
            if hasattr(native, "set_axis"):  # a pandas frame has an index
                return frame.to_native().set_axis(native.index)
        return frame.to_native()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns, which stay as they are."""
        check_is_fitted(self)
        return self.feature_names_in_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "feature_names_in_")


def _numeric(frame: Any) -> list[str]:
    return [name for name, dtype in frame.schema.items() if dtype.is_numeric()]


def _matrix(frame: Any, names: list[str]) -> np.ndarray:
    """Columns of numbers, gaps as NaN; a copy that may be written to."""
    if not names:
        return np.empty((len(frame), 0))
    return np.array(frame.select(names).to_numpy(), dtype=np.float64)


def _fills(frame: Any, numeric: list[str], values: np.ndarray, how: str) -> dict[str, Any]:
    """What fills the gaps of every column."""
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


def _fill_matrix(values: np.ndarray, names: list[str], fills: dict[str, Any]) -> None:
    rows, columns = np.nonzero(np.isnan(values))
    values[rows, columns] = np.array([fills[name] for name in names])[columns]


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
    if not series.null_count():
        return series
    if dtype.is_integer():
        whole = float(value).is_integer()
        return series.fill_null(int(value)) if whole else series.cast(nw.Float64).fill_null(value)
    if isinstance(dtype, nw.Boolean):
        return series.fill_null(value)
    # text goes round by strings, since a level unseen by this batch cannot be filled in
    return series.cast(nw.String).fill_null(value).cast(dtype)
