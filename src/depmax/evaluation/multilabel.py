"""How well scores rank the labels of rows that have several.

``Y`` holds zeros and ones, one row per sample and one column per label; ``scores`` are larger for
labels that are more likely. The rank of a label is the number of labels whose score is not below
its own, so that tied labels share the worst of their ranks. The Hamming loss is scikit-learn's
``hamming_loss``; the ranking loss and the average precision are its ``label_ranking_loss`` and
``label_ranking_average_precision_score`` on the rows that have a label.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import label_ranking_average_precision_score, label_ranking_loss
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

    scikit-learn's ``coverage_error`` counts one more.

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
    lowest = np.where(Y, scores, np.inf).min(axis=1, keepdims=True)
    steps = (scores >= lowest).sum(axis=1) - 1
    return float(np.mean(np.maximum(steps, 0)))


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
    return float(label_ranking_loss(Y, scores))


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
    return float(label_ranking_average_precision_score(Y[rows], scores[rows]))


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
