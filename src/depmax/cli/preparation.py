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
        self.fills_: dict[str, Any] = {}
        self.means_: dict[str, float] = {}
        self.scales_: dict[str, float] = {}
        for series in frame.iter_columns():
            name, numeric = series.name, series.dtype.is_numeric()
            known = _present(series)
            if self.impute is not None:
                self.fills_[name] = _fill(known, self.impute if numeric else "frequent")
                known = _filled(series, self.fills_[name])
            if self.scale and numeric:
                values = known.to_numpy().astype(np.float64)
                spread = float(values.std())
                self.means_[name] = float(values.mean())
                constant = spread <= 1e-14 * max(1.0, abs(self.means_[name]))
                self.scales_[name] = 1.0 if constant else spread
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
        columns = []
        for series in frame.iter_columns():
            name = series.name
            if name in self.fills_:
                series = _filled(series, self.fills_[name])
            if name in self.means_:
                series = ((series - self.means_[name]) / self.scales_[name]).alias(name)
            columns.append(series)
        return frame.with_columns(*columns).to_native()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns, which stay as they are."""
        check_is_fitted(self)
        return self.feature_names_in_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "feature_names_in_")


def _present(series: Any) -> Any:
    series = series.drop_nulls()
    return series.filter(~series.is_nan()) if series.dtype.is_float() else series


def _fill(known: Any, how: str) -> Any:
    if not len(known):
        raise ValueError(f"Column {known.name!r} has no value at all: leave it out.")
    if how == "frequent":
        values, counts = np.unique(np.asarray(known.to_list()), return_counts=True)
        return values[np.argmax(counts)].item()
    return float(known.median() if how == "median" else known.mean())


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
