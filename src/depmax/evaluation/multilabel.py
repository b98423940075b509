"""Rows with several labels: how well scores rank the labels, and a classifier by neighbours.

``y`` holds zeros and ones, one row per sample and one column per label; ``scores`` are larger for
labels that are more likely. The rank of a label is the number of labels whose score is not below
its own, so tied labels share the worst of their ranks. All measures follow from the ranks among all
labels and among the row's own; scikit-learn's ``label_ranking_loss`` and
``label_ranking_average_precision_score`` agree with them (its ``coverage_error`` counts one more)
but visit the rows one by one. The Hamming loss is scikit-learn's ``hamming_loss``.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array
from sklearn.utils.multiclass import type_of_target, unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data

from depmax._files import held_by_models


def one_error(y: Any, scores: Any) -> float:
    """Share of the rows whose top-scoring label is not one of their own.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (n_samples, n_labels)
        Zeros and ones. A row without labels counts as an error.
    scores : array-like of shape (n_samples, n_labels)
        Larger is more likely. If several labels share the largest score, the row counts the share
        of them that are wrong.

    Returns
    -------
    float
        0 is best.

    Examples
    --------
    >>> from depmax.evaluation import one_error
    >>> one_error([[1, 0, 0], [0, 1, 1]], [[0.9, 0.2, 0.1], [0.8, 0.7, 0.1]])
    0.5
    """
    y, scores = _read(y, scores)
    top = scores == scores.max(axis=1, keepdims=True)
    return float(np.mean((top & ~y).sum(axis=1) / top.sum(axis=1)))


def coverage(y: Any, scores: Any) -> float:
    """How far down the ranking to go, on average, to reach all labels of a row.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (n_samples, n_labels)
        Zeros and ones. A row without labels counts 0.
    scores : array-like of shape (n_samples, n_labels)
        Larger is more likely.

    Returns
    -------
    float
        The largest rank of a label of the row, minus one; 0 is best with one label per row.

    Examples
    --------
    >>> from depmax.evaluation import coverage
    >>> coverage([[1, 0, 0], [0, 0, 1]], [[0.9, 0.2, 0.1], [0.8, 0.7, 0.1]])
    1.0
    """
    y, scores = _read(y, scores)
    last = np.where(y, _ranks(scores), 1).max(axis=1)
    return float(np.mean(last - 1))


def ranking_loss(y: Any, scores: Any) -> float:
    """Share of wrongly ordered pairs of a label that a row has and one that it does not have.

    A tie counts as wrong. The mean is over all rows; a row with no label, or with all of them, has
    no such pair and counts 0.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (n_samples, n_labels)
    scores : array-like of shape (n_samples, n_labels)

    Returns
    -------
    float
        0 is best.

    Examples
    --------
    >>> from depmax.evaluation import ranking_loss
    >>> ranking_loss([[1, 0, 0], [0, 0, 1]], [[0.9, 0.2, 0.1], [0.8, 0.7, 0.7]])
    0.5
    """
    y, scores = _read(y, scores)
    # labels not of the row that rank above each label, or as high
    ahead = _ranks(scores) - _ranks_among_own(y, scores)
    own = y.sum(axis=1)
    pairs = own * (y.shape[1] - own)
    return float(np.mean(np.where(y, ahead, 0).sum(axis=1) / np.maximum(pairs, 1)))


def average_precision(y: Any, scores: Any) -> float:
    """Average share of a row's own labels among the labels ranked as high as one of them.

    The mean is over the labels of a row, then over rows.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (n_samples, n_labels)
        Zeros and ones. Rows without labels, for which there is nothing to average, are ignored.
    scores : array-like of shape (n_samples, n_labels)
        Larger is more likely.

    Returns
    -------
    float
        1 is best.

    Examples
    --------
    >>> from depmax.evaluation import average_precision
    >>> average_precision([[1, 0, 0], [0, 0, 1]], [[0.9, 0.2, 0.1], [0.8, 0.7, 0.1]]).__round__(3)
    0.667
    """
    y, scores = _read(y, scores)
    rows = y.any(axis=1)
    if not rows.any():
        raise ValueError("y holds no label at all: the average precision is not defined.")
    y, scores = y[rows], scores[rows]
    precisions = np.where(y, _ranks_among_own(y, scores) / _ranks(scores), 0.0)
    return float(np.mean(precisions.sum(axis=1) / y.sum(axis=1)))


def _ranks(scores: np.ndarray) -> np.ndarray:
    """1 for the largest score of a row."""
    return rankdata(-scores, method="max", axis=1)


def _ranks_among_own(y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Ranks among the labels of the row; no meaning for other labels."""
    return rankdata(np.where(y, -scores, np.inf), method="max", axis=1)


def _read(y: Any, scores: Any) -> tuple[np.ndarray, np.ndarray]:
    y = y.toarray() if sparse.issparse(y) else np.asarray(y)
    scores = check_array(scores, input_name="scores")
    if y.shape != scores.shape:
        raise ValueError(
            f"y and scores need one entry per row and label, got shapes {y.shape} and "
            f"{scores.shape}."
        )
    if not np.isin(y, (0, 1)).all():
        raise ValueError("y must hold 0 and 1, one column per label.")
    return y.astype(bool), scores


@held_by_models
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
        With no more rows than this, every row has all others as neighbours.
    smoothing : float, default=1.0
        Added to every count so that no probability is 0: s in the publication.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's ``NearestNeighbors``, including "precomputed".
    n_jobs : int, optional
        Threads or processes of the neighbour search.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Column numbers of a multi-label target; the classes of a one-dimensional one.
    counts_ : LabelCounts
        The learnt probabilities.
    n_neighbors_ : int
        Number of neighbours used.
    neighbors_ : NearestNeighbors
        The fitted search.

    Notes
    -----
    A one-dimensional target is read as one label per class; a row is assigned the most probable
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
            n_neighbors=self.n_neighbors_,
            algorithm="brute",  # model files hold no tree
            metric=self.metric,
            n_jobs=self.n_jobs,
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
            In the form of the target.
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
                    "other classes with sklearn.preprocessing.MultiLabelBinarizer."
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
            only = self.classes_.tolist()[0]
            raise ValueError(f"y has only one class, {only!r}: two are needed.")
        return (y[:, np.newaxis] == self.classes_).astype(np.intp)

    def _check_parameters(self, n_samples: int) -> None:
        k = self.n_neighbors
        if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
            raise ValueError(f"n_neighbors of MLkNN must be an integer >= 1, got {k!r}.")
        if n_samples < 2:
            raise ValueError(f"MLkNN needs two rows or more, got n_samples = {n_samples}.")
        if not isinstance(self.smoothing, Real) or not 0 < self.smoothing < np.inf:
            raise ValueError(
                f"smoothing of MLkNN must be a number above 0, got {self.smoothing!r}: with 0, a "
                "count of neighbours that never occurred would have no probability."
            )

    def __sklearn_tags__(self) -> Any:
        """Sparse rows, several labels, and distances instead of rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags
