"""How well scores rank the labels of rows that have several.

``y`` holds zeros and ones, one row per sample and one column per label; ``scores`` are larger for
labels that are more likely. The rank of a label is the number of labels whose score is not below
its own, so that tied labels share the worst of their ranks. All measures follow from the ranks
among all labels and among the row's own; scikit-learn's ``label_ranking_loss`` and
``label_ranking_average_precision_score`` agree with them (its ``coverage_error`` counts one more)
but visit the rows one by one. The Hamming loss is scikit-learn's ``hamming_loss``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import rankdata
from sklearn.utils import check_array


def one_error(y: Any, scores: Any) -> float:
    """Share of the rows whose label with the largest score is none of theirs.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (n_samples, n_labels)
        Zeros and ones. A row without labels counts as an error.
    scores : array-like of shape (n_samples, n_labels)
        Larger is more likely. Where several labels share the largest score, the row counts the
        share of them that are wrong.

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
    """How far to go down the ranking, on average, to meet all labels of a row.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (n_samples, n_labels)
        Zeros and ones. A row without labels counts 0.
    scores : array-like of shape (n_samples, n_labels)
        Larger is more likely.

    Returns
    -------
    float
        The largest rank of a label of the row, less one; 0 is best for one label per row.

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

    A tie is not in order. The mean is over all rows; one with no label, or with all, has no such
    pair and counts 0.

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
    """Mean over the labels of a row of the share of its own among those ranked as high.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (n_samples, n_labels)
        Zeros and ones. Rows without labels, whose average is over nothing, are left out.
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
    """The same among the labels of the row; no meaning for the others."""
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
