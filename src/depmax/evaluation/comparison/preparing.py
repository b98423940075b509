"""What compared methods receive and return: targets as numbers, labels of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from depmax._files import held_by_models


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

        from depmax.data import read_target

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


def _has(name: str) -> Any:
    return available_if(lambda model: hasattr(getattr(model, "estimator_", model.estimator), name))


@held_by_models
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

    def fit(self, X: Any, y: Any, **options: Any) -> OwnLabels:
        """Fit on the classes as text.

        Parameters
        ----------
        X : rows
        y : array-like of str of shape (n_samples,)
        **options : passed on, such as sample_weight

        Returns
        -------
        self
        """
        self.estimator_ = clone(self.estimator).fit(X, np.asarray(y).astype(str), **options)
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
