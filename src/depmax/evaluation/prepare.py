"""Preparing columns: gaps filled, numbers on one scale, categories kept or turned into numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from depmax.algebra.row_sums import target_sums
from depmax.data import read_fit, read_new, read_table
from depmax.data.columns import Categories, UnseenCategoryWarning, is_frame
from depmax.data.sample import Sample, aligned, read_training
from depmax.data.scan import by_chunks
from depmax.data.table import as_requested, has_missing, is_streamed


class Prepare(TransformerMixin, BaseEstimator):
    """Fill gaps, standardise columns of numbers, and keep categories or turn them into indicators.

    The first step of a pipeline. A data frame comes out as a frame of the same library with its
    names in their order, so names and categories reach the selector behind it; text with few levels
    comes out as declared categories. An array stays an array, and float32 stays float32. A sparse
    matrix has no gaps and is scaled, but not centred.

    Parameters
    ----------
    fill : {"median", "mean", "frequent"} or None, default="median"
        What fills the gaps in columns of numbers: a value of the training rows. The most frequent
        level fills those of categories. A column without any value in the training rows is filled
        as well: with zero, false or a level of its own. With None, gaps stay.
    scale : bool, default=True
        Whether columns of numbers are standardised. Without it they keep their units, and in a data
        frame their types.
    encode : bool, default=False
        Whether a categorical column becomes one column of zeros and ones per level. Levels that
        ``fit`` did not see are zero everywhere, with an ``UnseenCategoryWarning``.

    Attributes
    ----------
    fills_ : ndarray of shape (n_features,)
        What fills each column; of a categorical one the position among its levels. NaN where gaps
        stay: without ``fill``, and after a ``fit`` to a sparse matrix or to rows that are read a
        chunk at a time, which must have no gaps.
    mean_, scale_ : ndarray of shape (n_features,)
        Of the columns of numbers without gaps; constant columns have scale one. Categorical
        columns, and all without ``scale``, have mean zero and scale one.
    categories_ : dict
        Levels of each categorical column, by position.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of a data frame, if all are text.

    Examples
    --------
    >>> import pandas as pd
    >>> from depmax import Prepare
    >>> table = pd.DataFrame({"size": [1.0, 3.0, None], "colour": ["red", "blue", "red"]})
    >>> Prepare(scale=False).fit_transform(table)
       size colour
    0   1.0    red
    1   3.0   blue
    2   2.0    red
    >>> Prepare(encode=True).fit_transform(table).round(2)
       size  colour=blue  colour=red
    0 -1.22          0.0         1.0
    1  1.22          1.0         0.0
    2  0.00          0.0         1.0
    """

    def __init__(
        self, fill: str | None = "median", *, scale: bool = True, encode: bool = False
    ) -> None:
        self.fill = fill
        self.scale = scale
        self.encode = encode

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what fills gaps, means, scales and levels.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), or a scan
        y : ignored

        Returns
        -------
        self
        """
        if self.fill is not None and self.fill not in WAYS:
            raise ValueError(f"fill must be None or one of {', '.join(WAYS)}, got {self.fill!r}.")
        if is_streamed(X):
            sample = read_training(self, aligned(X, supervised=False)[0], "linear")
            dtype = sample.dtype
            self.fills_ = np.full(self.n_features_in_, np.nan)
            self.mean_, variance = _streamed_moments(sample)
        else:
            values, categories = read_fit(self, X, accept_sparse=True, missing="fill")
            dtype = values.dtype
            self.categories_ = dict(categories)
            self.fills_ = _fills(values, categories, self.fill)
            self.mean_, variance = _moments(self._filled(values))
        self.scale_ = np.sqrt(variance)
        # rounding leaves a constant column with a scale of its last digits
        size = np.maximum(np.abs(self.mean_), self.scale_)
        self.scale_[self.scale_ <= 10 * np.finfo(dtype).eps * size] = 1.0
        unscaled = list(self.categories_) if self.scale else slice(None)
        self.mean_[unscaled], self.scale_[unscaled] = 0.0, 1.0
        return self

    def transform(self, X: Any) -> Any:
        """Prepared columns of X.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Or a table that is read a chunk at a time.

        Returns
        -------
        array, sparse matrix or data frame, as X is; as lazy as X
        """
        check_is_fitted(self)
        if hasattr(X, "map_partitions"):  # a Dask data frame
            with warnings.catch_warnings():  # its example has levels of its own
                warnings.simplefilter("ignore", UnseenCategoryWarning)
                meta = self.transform(X._meta_nonempty)
            return X.map_partitions(self.transform, meta=meta)
        if is_streamed(X):
            return by_chunks(self.transform, X, len(self.get_feature_names_out()))
        values = read_new(self, X, categories=self.categories_, accept_sparse=True, missing="fill")
        scale = self.scale_.astype(values.dtype)
        if sparse.issparse(values):
            return values.multiply(1.0 / scale).tocsr()
        prepared = (self._filled(values) - self.mean_.astype(values.dtype)) / scale
        if not is_frame(X):
            return prepared
        frame = nw.from_native(X, eager_only=True)
        types = enumerate(frame.schema.values())
        if {dtype for at, dtype in types if at not in self.categories_} == {nw.Float32()}:
            prepared = prepared.astype(np.float32)  # codes and polars are read as float64
        if self.encode and self.categories_:
            names = self._names_out(frame.columns)
            return as_requested(self, _as_frame(self._encoded(prepared), frame, names))
        return as_requested(self, self._kept_and(prepared, np.isnan(values).any(axis=0), frame))

    def _filled(self, values: Any) -> Any:
        if not has_missing(values):
            return values
        return np.where(np.isnan(values), self.fills_.astype(values.dtype), values)

    def _encoded(self, values: np.ndarray) -> np.ndarray:
        """Columns of zeros and ones in the place of codes."""
        parts = []
        for position, column in enumerate(values.T[:, :, np.newaxis]):
            levels = self.categories_.get(position)
            if levels is not None:
                column = np.where(np.isnan(column), column, column == np.arange(len(levels)))
            parts.append(column.astype(values.dtype))
        return np.hstack(parts)

    def _kept_and(self, prepared: np.ndarray, gaps: np.ndarray, frame: Any) -> Any:
        """Frame of the columns that keep their type, filled, and of the prepared numbers."""
        kept = sorted(self.categories_)
        if not self.scale:
            types = enumerate(frame.schema.values())
            kept = [at for at, dtype in types if at in self.categories_ or dtype.is_numeric()]
        if not kept:
            return _as_frame(prepared, frame)
        made = sorted({*range(self.n_features_in_)}.difference(kept))
        changed = [
            self._kept(frame[:, at], at, gaps[at])
            for at in kept
            if gaps[at] or at in self.categories_
        ]
        others = frame[:, kept].with_columns(*changed)
        numbers = [_as_frame(prepared[:, made], frame[:, made])] if made else []
        whole = nw.concat([*numbers, others], how="horizontal")
        return whole[:, np.argsort([*made, *kept]).tolist()]

    def _kept(self, series: Any, position: int, has_gaps: bool) -> Any:
        """A column that keeps its type, with its gaps filled; text becomes categories."""
        fill, levels = self.fills_[position], self.categories_.get(position)
        value = fill if levels is None or np.isnan(fill) else levels[int(fill)]
        declared = isinstance(series.dtype, nw.Categorical | nw.Enum | nw.Boolean)
        if levels is not None and not declared and series.null_count() == len(series):
            # what is all missing has lost its type
            cells = [None if np.isnan(fill) else value] * len(series)
            kind = nw.Boolean if isinstance(value, bool | np.bool_) else nw.String
            series = nw.new_series(series.name, cells, kind, backend=series.implementation)
        if has_gaps and not np.isnan(fill):
            series = _fill_gaps(series, float(fill) if levels is None else value)
        return series.cast(nw.Categorical) if series.dtype == nw.String else series

    def _names_out(self, names: Iterable[Any]) -> list[str]:
        out: list[str] = []
        for position, name in enumerate(names):
            levels = self.categories_.get(position) if self.encode else None
            out += [str(name)] if levels is None else [f"{name}={level}" for level in levels]
        return out

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the prepared columns.

        Parameters
        ----------
        input_features : sequence of str, optional
            Used if X had no names.
        """
        check_is_fitted(self)
        names = self._names_out(_check_feature_names_in(self, input_features))
        return np.asarray(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Sparse input and missing values are accepted, and float32 stays."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def has_gaps(X: Any) -> bool:
    """Whether a table has missing values; rows of another kind, such as strings, have none."""
    try:
        return has_missing(read_table(X, missing="fill").values)
    except (TypeError, ValueError):
        return False


def without_gaps(X: Any, fill: str | None) -> Any:
    """All rows with gaps filled, if there is a value in each column; None leaves them."""
    if fill is None:
        return X
    table = read_table(X, missing="fill")
    empty = np.flatnonzero(np.isnan(table.values).all(axis=0))
    if len(empty):
        name = table.names[empty[0]] if table.names else int(empty[0])
        raise ValueError(f"Column {name!r} of X has no value in any row: drop it.")
    return Prepare(fill, scale=False).fit_transform(X)


def _most_frequent(values: np.ndarray) -> Any:
    """The most frequent value; of several, the smallest."""
    distinct, counts = np.unique(values, return_counts=True)
    return distinct[np.argmax(counts)]


_MIDDLE: dict[str, Callable[..., Any]] = {
    "median": np.median,
    "mean": partial(np.mean, dtype=np.float64),
    "frequent": _most_frequent,
}
#: What may fill columns of numbers.
WAYS = tuple(_MIDDLE)


def _fills(values: Any, categories: Categories, fill: str | None) -> np.ndarray:
    """What fills the gaps of every column."""
    fills = np.full(values.shape[1], np.nan)
    if fill is None or sparse.issparse(values):
        return fills
    if fill != "frequent":
        fills[:] = _MIDDLE[fill](values, axis=0)  # NaN where there are gaps
        fills[list(categories)] = np.nan
    for place in np.flatnonzero(np.isnan(fills)):
        present = values[~np.isnan(values[:, place]), place]
        middle = _MIDDLE["frequent" if place in categories else fill]
        fills[place] = middle(present) if len(present) else 0.0
    return fills


def _moments(values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of every column in double precision; of a sparse one about zero."""
    if sparse.issparse(values):
        second = np.asarray(values.multiply(values).mean(axis=0)).ravel().astype(np.float64)
        return np.zeros(values.shape[1]), second
    if has_missing(values):
        known = [column[~np.isnan(column)].astype(np.float64) for column in values.T]
        some = [column if len(column) else np.zeros(1) for column in known]
        return np.array([each.mean() for each in some]), np.array([each.var() for each in some])
    return values.mean(axis=0, dtype=np.float64), values.var(axis=0, dtype=np.float64)


def _streamed_moments(sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of every column of rows that are read a chunk at a time."""
    sums = target_sums(sample.rows, lambda rows: rows)
    squares = sums.centred().scatter
    assert squares is not None
    return sums.mean_x, np.diagonal(squares) / sums.weight


def _as_frame(values: np.ndarray, like: Any, names: list[str] | None = None) -> Any:
    """An array as a frame of the same library and index, with its names or others."""
    native = like.to_native()
    if nw.maybe_get_index(like) is None:
        return nw.from_numpy(values, names or like.columns, backend=like.implementation)
    columns = native.columns if names is None else names  # of pandas, whatever names are
    return nw.from_native(type(native)(values, index=native.index, columns=columns))


def _fill_gaps(series: Any, value: Any) -> Any:
    """A column of a frame without gaps, of the same type; whole numbers may become floats."""
    dtype = series.dtype
    if dtype.is_float():
        return series.fill_nan(None).fill_null(value)
    if dtype.is_numeric():
        whole = dtype.is_integer() and value.is_integer()
        return series.fill_null(int(value)) if whole else series.cast(nw.Float64).fill_null(value)
    if isinstance(dtype, nw.Boolean):
        return series.fill_null(bool(value))
    if value is None:  # no row of the training part had a value
        value = dtype.categories[0] if isinstance(dtype, nw.Enum) else "missing"
    # a batch may lack the level that fills it
    native = series.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "add_categories"):  # pandas: levels stay
        known = native if value in native.cat.categories else native.cat.add_categories([value])
        return nw.from_native(known.fillna(value), series_only=True)
    if isinstance(dtype, nw.Categorical) and hasattr(native, "dictionary_encode"):  # Arrow
        whole = native.cast(native.type.value_type).fill_null(value)
        return nw.from_native(whole.dictionary_encode(), series_only=True).alias(series.name)
    return series.cast(nw.String).fill_null(value).cast(dtype)
