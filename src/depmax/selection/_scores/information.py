"""Expected mutual information of discrete columns and targets, given their counts."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma

from depmax._resources import each_column
from depmax.selection._scores.outputs import class_codes
from depmax.selection._scores.score import Question, Scored

#: Bins of a column of numbers at most, and rows for each cell of two such columns.
BINS, ROWS = 10, 5


def mutual_information(question: Question) -> Scored:
    """E[I(x; y) | counts] of every column, in nats, summed over the outputs of the target."""
    target = question.target
    if target.kind == "classes":
        outputs = [class_codes(target)]
    else:
        outputs = [binned(column) for column in target.values.T]

    def scored(column: np.ndarray, position: int) -> float:
        is_category = position in question.categories
        codes = np.unique(column, return_inverse=True)[1] if is_category else binned(column)
        return sum(expected_information(_table(codes, output)) for output in outputs)

    return Scored(each_column(question.X, scored, question.options.n_jobs))


def expected_information(counts: np.ndarray) -> float:
    """Posterior mean of the mutual information of two discrete variables, in nats.

    The probabilities of the cells have a Dirichlet law with parameters a = counts + prior, the
    prior being one row spread over all cells (Perks). With E[p log p] = a/n (ψ(a + 1) - ψ(n + 1))
    for cells and margins, the mean is Σ a_ij/n (ψ(a_ij + 1) - ψ(a_i + 1) - ψ(a_j + 1) + ψ(n + 1)).

    Parameters
    ----------
    counts : ndarray of shape (n_levels, n_other_levels)

    Examples
    --------
    >>> round(expected_information(np.array([[50, 0], [0, 50]])), 2)
    0.66
    """
    if 1 in counts.shape:  # a constant tells nothing, not even rounding errors
        return 0.0
    a = counts + 1.0 / counts.size
    n = float(a.sum())
    cells, rows, columns = (part @ digamma(part + 1.0) for part in (a.ravel(), a.sum(1), a.sum(0)))
    return max(0.0, float(cells - rows - columns) / n + float(digamma(n + 1.0)))


def binned(column: np.ndarray) -> np.ndarray:
    """Codes of the values where these are few, else of bins with about equally many rows.

    Examples
    --------
    >>> binned(np.array([0.5, 0.1, 9.0, 0.3])).tolist()
    [1, 0, 1, 0]
    """
    most = min(BINS, max(2, int(np.sqrt(len(column) / ROWS))))
    values, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    if len(values) <= most:
        return codes
    middle = np.cumsum(counts) - counts / 2.0  # rank of each value, equal ones in one bin
    bins = (middle * most / len(column)).astype(int)
    return np.unique(bins, return_inverse=True)[1][codes]


def _table(codes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """How many rows have each pair of codes."""
    shape = int(codes.max()) + 1, int(others.max()) + 1
    return np.bincount(codes * shape[1] + others, minlength=shape[0] * shape[1]).reshape(shape)
