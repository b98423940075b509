"""Dates and texts of a data frame as columns of numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import (
    _check_feature_names,
    _check_feature_names_in,
    _check_n_features,
    check_is_fitted,
)

from depmax.data import read_fit, read_new, role_of_text
from depmax.data.columns import DATES, is_frame
from depmax.data.table import as_requested

#: A text column holds sentences if more than half of its cells have at least so many words.
FEWEST_WORDS = 4
#: Rows that must hold a word for it to become a column, if there are as many.
FEWEST_ROWS = 3
_DAY = 86_400_000.0  # milliseconds


class Expand(TransformerMixin, BaseEstimator):
    """Turn dates into numbers that a person would name, and texts into their telling words.

    The step before :class:`~depmax.Prepare`. A column ``sold`` of dates becomes ``sold: year``,
    ``sold: month``, ``sold: weekday`` (Monday is 1), ``sold: days`` since the first day of the
    training rows and, of times, ``sold: hour``; a part that is the same in all training rows is
    omitted. A column ``note`` of sentences becomes a column per word, such as ``note: refund``,
    which is 1 in the rows that hold the word and 0 in the others. Its words are those whose share
    of the text (tf-idf) varies most between the training rows. All other columns stay as they are.

    Parameters
    ----------
    dates : bool, default=True
        Whether dates, times and durations are expanded.
    n_words : int, default=500
        Largest number of words of a column of sentences; 0 leaves texts as they are.

    Attributes
    ----------
    dates_ : dict of str to list of str
        The parts of each column of dates.
    first_days_ : dict of str to int
        The first day of each column of dates, in days since 1970.
    words_ : dict of str to list of str
        The words of each column of sentences.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of a data frame, if all are text.

    Examples
    --------
    >>> import pandas as pd
    >>> from depmax import Expand
    >>> days = pd.to_datetime(["2024-01-31", "2024-02-29", "2024-02-05"])
    >>> Expand().fit_transform(pd.DataFrame({"sold": days, "size": [3, 1, 2]}))
       sold: month  sold: weekday  sold: days  size
    0          1.0            3.0         0.0     3
    1          2.0            4.0        29.0     1
    2          2.0            1.0         5.0     2
    """

    def __init__(self, dates: bool = True, *, n_words: int = 500) -> None:
        self.dates = dates
        self.n_words = n_words

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find dates and sentences, and the words that become columns.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
            What is no data frame has neither dates nor texts and passes unchanged.
        y : ignored

        Returns
        -------
        self
        """
        if not isinstance(self.n_words, int | np.integer) or self.n_words < 0:
            raise ValueError(f"n_words must be a whole number >= 0, got {self.n_words!r}.")
        self.dates_: dict[str, list[str]] = {}
        self.first_days_: dict[str, int] = {}
        self.words_: dict[str, list[str]] = {}
        if not is_frame(X):
            read_fit(self, X, accept_sparse=True, missing="fill")
            return self
        _check_feature_names(self, X, reset=True)
        _check_n_features(self, X, reset=True)
        frame = _named(X)
        self._columns = frame.columns
        for place, name in enumerate(frame.columns):
            column = frame[:, place]
            if self.dates and is_date(column.dtype):
                days = _days(column)
                self.first_days_[name] = 0 if np.isnan(days).all() else int(np.nanmin(days) // 1)
                parts = self._parts(name, column)
                self.dates_[name] = [part for part, values in parts.items() if _varies(values)]
            elif self.n_words and is_sentences(column):
                self.words_[name] = _telling_words(_texts(column), self.n_words)
        made = Counter(self.get_feature_names_out().tolist())
        if frame.columns and not made:
            raise ValueError(
                "X has only dates and texts that say the same in all rows: no column would be left."
            )
        twice = [name for name, count in made.items() if count > 1]
        if twice:
            raise ValueError(f"Rename column {twice[0]!r} of X: a part of another is called so.")
        return self

    def transform(self, X: Any) -> Any:
        """The columns, with numbers in the place of dates and sentences.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        data frame of the same library, array or sparse matrix
        """
        check_is_fitted(self)
        if not is_frame(X):
            return read_new(self, X, categories={}, accept_sparse=True, missing="fill")
        _check_feature_names(self, X, reset=False)
        _check_n_features(self, X, reset=False)
        if not (self.dates_ or self.words_):
            return X
        frame = _named(X)
        made = [
            column
            for name in (*self.dates_, *self.words_)
            for column in self._made(name, frame[name], frame.implementation)
        ]
        whole = frame.with_columns(*made)[self.get_feature_names_out().tolist()]
        return as_requested(self, whole)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that come out.

        Parameters
        ----------
        input_features : sequence of str, optional
            Used if X had no names.
        """
        check_is_fitted(self)
        parts: Mapping[str, list[str]] = {**self.dates_, **self.words_}
        named = _check_feature_names_in(self, input_features)
        if parts and input_features is None:
            named = self._columns
        names = [
            out
            for name in named
            for out in ([f"{name}: {part}" for part in parts[name]] if name in parts else [name])
        ]
        return np.asarray(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Arrays and sparse matrices pass as they are, with gaps; float32 stays."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _made(self, name: str, column: Any, library: Any) -> list[Any]:
        """Columns in the place of one of dates or of sentences."""
        if name in self.dates_:
            parts = self.dates_[name]
            values: Mapping[str, np.ndarray]
            if is_date(column.dtype):
                values = self._parts(name, column)
            elif column.is_null().all():  # a column of gaps has lost its type
                values = dict.fromkeys(parts, np.full(len(column), np.nan))
            else:
                raise TypeError(f"Column {name!r} of X held dates when Expand was fitted.")
        else:
            if column.dtype.is_numeric() and not column.is_null().all():
                raise TypeError(f"Column {name!r} of X held texts when Expand was fitted.")
            from sklearn.feature_extraction.text import CountVectorizer

            parts = self.words_[name]
            counter = CountVectorizer(vocabulary=parts, binary=True, dtype=np.int8)
            held = counter.transform(_texts(column)).toarray() if parts else np.empty((0, 0))
            values = dict(zip(parts, held.T, strict=True))
        made = [nw.new_series(f"{name}: {part}", values[part], backend=library) for part in parts]
        # What has no date is a gap as the library writes it, not NaN.
        return [each.fill_nan(None) if each.dtype.is_float() else each for each in made]

    def _parts(self, name: str, column: Any) -> dict[str, np.ndarray]:
        """Every part of a column of dates; NaN where there is none."""
        days = _days(column)
        if isinstance(column.dtype, nw.Time):
            return {"hour": days * 24.0}
        if isinstance(column.dtype, nw.Duration):
            return {"days": days}
        named = {part: getattr(column.dt, part)() for part in ("year", "month", "weekday")}
        parts = {part: values.cast(nw.Float64).to_numpy() for part, values in named.items()}
        hours = np.round(days % 1 * 24.0, 6)
        return parts | {"days": days // 1 - self.first_days_[name], "hour": hours}


def expanded(X: Any) -> tuple[Any, Expand | None]:
    """A frame without dates and sentences, and what made numbers of them, if there were any."""
    expand = Expand().fit(X)
    return (expand.transform(X), expand) if expand.dates_ or expand.words_ else (X, None)


def is_date(dtype: Any) -> bool:
    """Whether a column of this type holds dates, times or durations."""
    return isinstance(dtype, DATES)


def is_sentences(column: Any) -> bool:
    """Whether a column holds text of several words that is no category."""
    column = nw.from_native(column, series_only=True, pass_through=True)
    if column.dtype != nw.String:
        return False
    known = column.drop_nulls()
    if role_of_text(known.n_unique(), len(known), len(column)) == "category":
        return False
    spaces = known.str.strip_chars().str.replace_all(r"\S+", "").str.len_chars()
    return 2 * int((spaces >= FEWEST_WORDS - 1).sum()) > len(known)


def _named(X: Any) -> Any:
    """A frame whose columns are named by text, as pandas does not demand."""
    frame = nw.from_native(X, eager_only=True)
    if all(isinstance(name, str) for name in frame.columns):
        return frame
    names = [str(name) for name in frame.columns]
    return nw.from_native(frame.to_native().set_axis(names, axis=1), eager_only=True)


def _days(column: Any) -> np.ndarray:
    """Days since 1970 of dates, of the clock on the wall; the length of durations in days."""
    dtype = column.dtype
    if isinstance(dtype, nw.Duration):
        return column.dt.total_seconds().cast(nw.Float64).to_numpy() * 1000.0 / _DAY
    if isinstance(dtype, nw.Time):
        return column.cast(nw.Int64).cast(nw.Float64).to_numpy() / (_DAY * 1e6)
    if isinstance(dtype, nw.Date):
        column = column.cast(nw.Datetime("ms"))
    elif dtype.time_zone is not None:
        column = column.dt.replace_time_zone(None)
    return column.dt.timestamp("ms").cast(nw.Float64).to_numpy() / _DAY


def _varies(values: np.ndarray) -> bool:
    known = values[~np.isnan(values)]
    return len(known) > 0 and bool((known != known[0]).any())


def _texts(column: Any) -> list[str]:
    gaps = column.is_null().to_list()
    return ["" if gap else str(text) for text, gap in zip(column.to_list(), gaps, strict=True)]


def _telling_words(texts: list[str], most: int) -> list[str]:
    """Words whose tf-idf varies most between texts, in alphabetical order."""
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(min_df=min(FEWEST_ROWS, len(texts)), dtype=np.float64)
    try:
        counts = counter.fit_transform(texts)
    except ValueError:  # no word stands in so many rows
        return []
    words = counter.get_feature_names_out()
    n_rows = np.bincount(counts.indices, minlength=len(words))
    weights = 1.0 + np.log(len(texts) / n_rows)
    counts.data = (1.0 + np.log(counts.data)) * weights[counts.indices]
    shares = normalize(counts)
    mean = np.asarray(shares.mean(axis=0)).ravel()
    variance = np.asarray(shares.multiply(shares).mean(axis=0)).ravel() - mean**2
    variance[n_rows == len(texts)] = 0.0
    best = np.argsort(-variance, kind="stable")[:most]
    return [str(word) for word in words[np.sort(best[variance[best] > 0.0])]]
