"""How well scores rank the labels of rows that have several.

``Y`` holds zeros and ones, one row per sample and one column per label; ``scores`` are larger for
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


def one_error(Y: Any, scores: Any) -> float:
    """Share of the rows whose label with the largest score is none of theirs.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
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
    Y, scores = _read(Y, scores)
    top = scores == scores.max(axis=1, keepdims=True)
    return float(np.mean((top & ~Y).sum(axis=1) / top.sum(axis=1)))


def coverage(Y: Any, scores: Any) -> float:
    """How far to go down the ranking, on average, to meet all labels of a row.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
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
    Y, scores = _read(Y, scores)
    last = np.where(Y, _ranks(scores), 1).max(axis=1)
    return float(np.mean(last - 1))


def ranking_loss(Y: Any, scores: Any) -> float:
    """Share of the pairs of a label that a row has and one it has not that are not in order.

    A tie is not in order. The mean is over all rows; one with no label, or with all, has no such
    pair and counts 0.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
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
    Y, scores = _read(Y, scores)
    # labels not of the row that rank above each label, or as high
    ahead = _ranks(scores) - _ranks_among_own(Y, scores)
    own = Y.sum(axis=1)
    pairs = own * (Y.shape[1] - own)
    return float(np.mean(np.where(Y, ahead, 0).sum(axis=1) / np.maximum(pairs, 1)))


def average_precision(Y: Any, scores: Any) -> float:
    """Mean over the labels of a row of the share of its own among those ranked as high.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
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
    Y, scores = _read(Y, scores)
    rows = Y.any(axis=1)
    if not rows.any():
        raise ValueError("Y holds no label at all: the average precision is not defined.")
    Y, scores = Y[rows], scores[rows]
    precisions = np.where(Y, _ranks_among_own(Y, scores) / _ranks(scores), 0.0)
    return float(np.mean(precisions.sum(axis=1) / Y.sum(axis=1)))


def _ranks(scores: np.ndarray) -> np.ndarray:
    """1 for the largest score of a row."""
    return rankdata(-scores, method="max", axis=1)


def _ranks_among_own(Y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The same among the labels of the row; no meaning for the others."""
    return rankdata(np.where(Y, -scores, np.inf), method="max", axis=1)


def _read(Y: Any, scores: Any) -> tuple[np.ndarray, np.ndarray]:
    Y = Y.toarray() if sparse.issparse(Y) else np.asarray(Y)
    scores = check_array(scores, input_name="scores")
    if Y.shape != scores.shape:
        raise ValueError(
            f"Y and scores need one entry per row and label, got shapes {Y.shape} and "
            f"{scores.shape}."
        )
    if not np.isin(Y, (0, 1)).all():
        raise ValueError("Y must hold 0 and 1, one column per label.")
    return Y.astype(bool), scores
