"""Nearest neighbours for several labels per row."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.multiclass import type_of_target, unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data


@dataclass(frozen=True)
class LabelCounts:
    """Posterior probabilities of labels given the number of neighbours that have them.

    Attributes
    ----------
    prior : ndarray of shape (n_labels,)
        P(H₁) of every label.
    present, absent : ndarray of shape (n_labels, n_neighbors + 1)
        P(E_j | H₁) and P(E_j | H₀): probability that j neighbours have the label if the row has
        it, and if it does not have it.
    """

    prior: np.ndarray
    present: np.ndarray
    absent: np.ndarray

    @classmethod
    def learn(cls, y: np.ndarray, neighbours: np.ndarray, smoothing: float) -> LabelCounts:
        """Frequencies among the training rows, each with its neighbours among the others.

        Parameters
        ----------
        y : ndarray of shape (n_samples, n_labels)
            Zeros and ones.
        neighbours : ndarray of shape (n_samples, n_neighbors)
            Row numbers.
        smoothing : float
            Added to every count, s in the publication.
        """
        n_samples, n_labels = y.shape
        size = neighbours.shape[1] + 1
        counts = votes(y, neighbours)
        # cells (label, has it, number of neighbours that have it), counted all at once
        cells = (np.arange(n_labels) * 2 + y) * size + counts
        table = np.bincount(cells.ravel(), minlength=n_labels * 2 * size)
        smoothed = table.reshape(n_labels, 2, size) + smoothing
        shares = smoothed / smoothed.sum(axis=2, keepdims=True)
        prior = (smoothing + y.sum(axis=0)) / (2.0 * smoothing + n_samples)
        return cls(prior, shares[:, 1], shares[:, 0])

    def posterior(self, counts: np.ndarray) -> np.ndarray:
        """P(H₁ | E_j) for the numbers of neighbours ``counts``, (n_rows, n_labels)."""
        labels = np.arange(len(self.prior))
        yes = self.prior * self.present[labels, counts]
        no = (1.0 - self.prior) * self.absent[labels, counts]
        return yes / (yes + no)


def votes(y: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
    """How many of the neighbours of every row have each label, (n_rows, n_labels)."""
    counts = np.zeros((len(neighbours), y.shape[1]), dtype=np.intp)
    for column in neighbours.T:
        counts += y[column]
    return counts


class MLkNN(ClassifierMixin, BaseEstimator):
    """Multi-label k nearest neighbours (ML-kNN).

    For every label, the number of neighbours that have it is turned into the probability that the
    row has it, by Bayes' rule with frequencies from the training rows, each compared with its
    neighbours among the others.

    Parameters
    ----------
    n_neighbors : int, default=10
        Of fewer than this and one rows, every row has all others as neighbours.
    smoothing : float, default=1.0
        Added to every count, so that no probability is 0: s in the publication.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's ``NearestNeighbors``, "precomputed" included.
    n_jobs : int, optional
        Threads or processes of the neighbour search.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Column numbers of a multi-label target; the classes of a one-dimensional one.
    counts_ : LabelCounts
        The probabilities learnt.
    n_neighbors_ : int
        Number of neighbours used.
    neighbors_ : NearestNeighbors
        The fitted search.

    Notes
    -----
    A one-dimensional target is read as one label per class; the row is given the most probable
    class.

    References
    ----------
    M.-L. Zhang, Z.-H. Zhou (2007), ML-KNN: a lazy learning approach to multi-label learning,
    Pattern Recognition 40.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.evaluation import MLkNN
    >>> X = np.linspace(-1.0, 1.0, 40)[:, np.newaxis]
    >>> y = np.column_stack([X > 0, abs(X) > 0.5]).astype(int)
    >>> model = MLkNN(n_neighbors=3).fit(X, y)
    >>> model.predict([[-0.7], [0.2], [0.9]])
    array([[0, 1],
           [1, 0],
           [1, 1]])
    >>> model.predict_proba([[0.05]]).round(2)
    array([[0.67, 0.05]])
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        smoothing: float = 1.0,
        metric: Any = "euclidean",
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.metric = metric
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> MLkNN:
        """Learn from rows and their labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like or sparse matrix of shape (n_samples, n_labels), or of shape (n_samples,)
            Zeros and ones, one column per label; or one class per row.

        Returns
        -------
        MLkNN
            The fitted classifier.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", multi_output=True)
        indicators = self._indicators(y)
        self._check_parameters(len(indicators))
        self.n_neighbors_ = min(int(self.n_neighbors), len(indicators) - 1)
        self.neighbors_ = NearestNeighbors(
            n_neighbors=self.n_neighbors_, metric=self.metric, n_jobs=self.n_jobs
        ).fit(X)
        # without rows of their own, the training rows are not their own neighbours
        neighbours = self.neighbors_.kneighbors(return_distance=False)
        self.counts_ = LabelCounts.learn(indicators, neighbours, self.smoothing)
        self._labels = indicators
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every label.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_labels)
            Each entry between 0 and 1; the rows of a one-dimensional target sum to 1.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        neighbours = self.neighbors_.kneighbors(X, return_distance=False)
        probabilities = self.counts_.posterior(votes(self._labels, neighbours))
        if not self._multilabel:
            probabilities /= probabilities.sum(axis=1, keepdims=True)
        return probabilities

    def predict(self, X: Any) -> np.ndarray:
        """Labels with a probability above one half, or the most probable class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_labels) or (n_rows,)
            Of the form of the target.
        """
        probabilities = self.predict_proba(X)
        if self._multilabel:
            return (probabilities > 0.5).astype(int)
        return self.classes_[probabilities.argmax(axis=1)]

    def _indicators(self, y: Any) -> np.ndarray:
        """Zeros and ones with a column per label; sets ``classes_``."""
        if sparse.issparse(y):
            y = y.toarray()
        kind = type_of_target(y, raise_unknown=True)
        self._multilabel = y.ndim == 2 and y.shape[1] > 1
        if self._multilabel:
            if not np.isin(y, (0, 1)).all():
                raise ValueError(
                    "y with several columns must hold 0 and 1, one column per label; encode "
                    "other classes by sklearn.preprocessing.MultiLabelBinarizer."
                )
            self.classes_ = np.arange(y.shape[1])
            return y.astype(np.intp)
        y = y.ravel()
        if kind.startswith("continuous"):
            raise ValueError(
                "Unknown label type: y holds numbers, but MLkNN needs classes, or 0 and 1 in one "
                "column per label."
            )
        self.classes_ = unique_labels(y)
        if len(self.classes_) < 2:
            raise ValueError(f"y has only one class, {self.classes_[0]!r}: two are needed.")
        return (y[:, np.newaxis] == self.classes_).astype(np.intp)

    def _check_parameters(self, n_samples: int) -> None:
        k = self.n_neighbors
        if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
            raise ValueError(f"n_neighbors of MLkNN must be an integer >= 1, got {k!r}.")
        if n_samples < 2:
            raise ValueError(f"MLkNN needs two rows or more, got n_samples = {n_samples}.")
        if not isinstance(self.smoothing, Real) or not 0 < self.smoothing < np.inf:
            raise ValueError(
                f"smoothing of MLkNN must be a number above 0, got {self.smoothing!r}: with 0 a "
                "number of neighbours that did not occur has no probability."
            )

    def __sklearn_tags__(self) -> Any:
        """Sparse rows, several labels, and distances instead of rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags
