"""What compared methods receive and return: columns on one scale, labels of the data."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from depmax._inputs import read_fit, read_new
from depmax._inputs.table import has_missing, is_frame, take_columns
from depmax.pencils.streamed import target_sums
from depmax.samples import Sample, aligned, is_streamed, read_training


class PrepareColumns(TransformerMixin, BaseEstimator):
    """Standardise numeric columns; keep categorical ones, or turn them into indicators.

    Text columns with few levels come out as declared categories.

    A data frame comes out as a frame of the same library, so names and categories reach the
    selector; an array stays an array; a sparse matrix is scaled but not centred. Missing values
    stay missing.

    Parameters
    ----------
    encode : bool, default=False
        Whether a categorical column becomes one column of zeros and ones per level. Levels that
        ``fit`` did not see are zero everywhere, with an ``UnseenCategoryWarning``.
    scale : bool, default=True
        Whether numeric columns are standardised.

    Attributes
    ----------
    mean_, scale_ : ndarray of shape (n_features,)
        Of the numeric columns; constant columns have scale one. Without ``scale``, zeros and ones.
    categories_ : dict
        Levels of each categorical column, by position.

    Examples
    --------
    >>> import pandas as pd
    >>> from depmax.evaluation import PrepareColumns
    >>> table = pd.DataFrame({"size": [1.0, 3.0], "colour": pd.Categorical(["red", "blue"])})
    >>> PrepareColumns(encode=True).fit_transform(table)
       size  colour=blue  colour=red
    0  -1.0          0.0         1.0
    1   1.0          1.0         0.0
    """

    def __init__(self, encode: bool = False, scale: bool = True) -> None:
        self.encode = encode
        self.scale = scale

    def fit(self, X: Any, y: Any = None) -> PrepareColumns:
        """Learn means, scales and levels.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), or a scan
        y : ignored

        Returns
        -------
        self
        """
        if is_streamed(X):
            sample = read_training(self, aligned(X, supervised=False)[0], "linear")
            self.mean_, variance, dtype = *_streamed_moments(sample), sample.dtype
        else:
            values, categories = read_fit(self, X, accept_sparse=True, missing="neutral")
            self.categories_ = dict(categories)
            self.mean_, variance = _moments(values)
            dtype = values.dtype
        self.scale_ = np.sqrt(variance)
        # rounding leaves a constant column with a scale of its last digits
        size = np.maximum(np.abs(self.mean_), self.scale_)
        self.scale_[self.scale_ <= 10 * np.finfo(dtype).eps * size] = 1.0
        for position in self.categories_ if self.scale else range(len(self.mean_)):
            self.mean_[position], self.scale_[position] = 0.0, 1.0
        return self

    def transform(self, X: Any) -> Any:
        """Prepared columns of X.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        array, sparse matrix or data frame, as X is
        """
        check_is_fitted(self)
        values = read_new(
            self, X, categories=self.categories_, accept_sparse=True, missing="neutral"
        )
        if sparse.issparse(values):
            return values.multiply(1.0 / self.scale_.astype(values.dtype)).tocsr()
        scaled = (values - self.mean_.astype(values.dtype)) / self.scale_.astype(values.dtype)
        if not is_frame(X):
            return scaled
        frame = nw.from_native(X, eager_only=True)
        if not self.categories_ and nw.maybe_get_index(frame) is None:
            # without an index to keep, a wide frame of numbers is made in one step
            return nw.from_numpy(scaled, frame.columns, backend=frame.implementation).to_native()
        columns: dict[Any, Any] = {}
        text = []
        for position, (name, own) in enumerate(zip(self._names(frame), frame.columns, strict=True)):
            levels = self.categories_.get(position)
            if levels is None:
                columns[name] = scaled[:, position]
            elif self.encode:
                codes = values[:, position]
                unknown = np.isnan(codes)
                columns |= {
                    f"{name}={level}": np.where(unknown, np.nan, codes == code).astype(values.dtype)
                    for code, level in enumerate(levels)
                }
            else:
                columns[name] = None  # stays as it is, text declared to be categories
                if frame.schema[own] == nw.String:
                    text.append(frame.get_column(own).cast(nw.Categorical))
        series = [
            nw.new_series(name, numbers, backend=frame.implementation)
            for name, numbers in columns.items()
            if numbers is not None
        ]
        made = frame.with_columns(*text).with_columns(*series)
        return take_columns(made.to_native(), map(made.columns.index, columns))

    def _names(self, frame: nw.DataFrame[Any]) -> list[Any]:
        """Names of the columns, all text where names of indicators join them."""
        return list(map(str, frame.columns)) if self.encode and self.categories_ else frame.columns

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the prepared columns.

        Parameters
        ----------
        input_features : sequence of str, optional
            Used if X had no names.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        out: list[str] = []
        for position, name in enumerate(names):
            levels = self.categories_.get(position) if self.encode else None
            out += [str(name)] if levels is None else [f"{name}={level}" for level in levels]
        return np.asarray(out, dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Sparse input and missing values are accepted, and float32 stays."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _streamed_moments(sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of every column of rows that are read a chunk at a time."""
    sums = target_sums(sample.rows, lambda rows: rows)
    squares = sums.centred().scatter
    assert squares is not None
    return sums.mean_x, np.diagonal(squares) / sums.weight


class NumericTarget(TransformerMixin, BaseEstimator):
    """Let a transformer that needs a numeric target, such as PLS, take classes: as indicators.

    Parameters
    ----------
    transformer : transformer with a numeric target

    Attributes
    ----------
    transformer_ : the fitted transformer

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cross_decomposition import PLSRegression
    >>> from depmax.evaluation import NumericTarget
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> NumericTarget(PLSRegression(1)).fit_transform(X, X[:, 0] > 0).shape
    (20, 1)
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, X: Any, y: Any) -> NumericTarget:
        """Fit on indicators of the classes of y; numbers stay unchanged.

        Parameters
        ----------
        X : rows
        y : target of any type

        Returns
        -------
        self
        """
        from sklearn.base import clone
        from sklearn.preprocessing import LabelBinarizer

        from depmax._inputs import read_target

        target = read_target(y)
        numbers = target.values
        if target.kind == "classes":
            numbers = LabelBinarizer().fit_transform(numbers).astype(np.float64)
        self.transformer_ = clone(self.transformer).fit(X, numbers)
        return self

    def transform(self, X: Any) -> Any:
        """Transform X with the fitted transformer.

        Parameters
        ----------
        X : rows
        """
        check_is_fitted(self)
        return self.transformer_.transform(X)

    @property
    def components_(self) -> np.ndarray:
        """Directions in the space of the columns, one per row."""
        check_is_fitted(self)
        return self.transformer_.x_rotations_.T

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the extracted features.

        Parameters
        ----------
        input_features : ignored
        """
        check_is_fitted(self)
        return self.transformer_.get_feature_names_out(input_features)


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


def _has(name: str) -> Any:
    return available_if(lambda model: hasattr(getattr(model, "estimator_", model.estimator), name))


class OwnLabels(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that is fitted on classes as text and predicts them as they were given.

    Parameters
    ----------
    estimator : classifier
    labels : array-like of shape (n_classes,)
        The classes as they were given.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from depmax.evaluation.comparison.preparing import OwnLabels
    >>> model = OwnLabels(KNeighborsClassifier(1), [10, 20])
    >>> model.fit([[0.0], [1.0]], ["10", "20"]).predict([[0.9]]).tolist()
    [20]
    """

    def __init__(self, estimator: Any, labels: Any) -> None:
        self.estimator = estimator
        self.labels = labels

    def fit(self, X: Any, y: Any) -> OwnLabels:
        """Fit on the classes as text.

        Parameters
        ----------
        X : rows
        y : array-like of str of shape (n_samples,)

        Returns
        -------
        self
        """
        self.estimator_ = clone(self.estimator).fit(X, np.asarray(y).astype(str))
        self.classes_ = self._given(self.estimator_.classes_)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Class of every row.

        Parameters
        ----------
        X : rows
        """
        return self._given(self.estimator_.predict(X))

    def _given(self, text: np.ndarray) -> np.ndarray:
        """Classes as they were given, from their text."""
        labels = np.unique(np.asarray(self.labels))
        spelled = labels.astype(str)
        order = np.argsort(spelled)
        return np.asarray(labels[order[np.searchsorted(spelled[order], text)]])

    @_has("predict_proba")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class.

        Parameters
        ----------
        X : rows
        """
        return np.asarray(self.estimator_.predict_proba(X))

    @_has("decision_function")
    def decision_function(self, X: Any) -> np.ndarray:
        """Score of every class.

        Parameters
        ----------
        X : rows
        """
        return np.asarray(self.estimator_.decision_function(X))
