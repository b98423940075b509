"""Classifiers that answer with the labels of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if


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
    >>> from depmax.evaluation.comparison.own_labels import OwnLabels
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
