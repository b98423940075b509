"""Differences of scores over overlapping splits: the corrected t-test, and Holm's correction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit  # Student's law, without the cost of scipy.stats


@dataclass(frozen=True)
class CorrectedMean:
    """A mean over overlapping splits, with its standard error and interval."""

    mean: float
    error: float  # standard error, corrected for the overlap of the training parts
    low: float
    high: float
    pvalue: float  # two-sided, that the true mean is zero
    n_splits: int


def corrected_mean(
    values: np.ndarray, test_per_train: float, *, confidence_level: float = 0.95
) -> CorrectedMean:
    """Mean of scores, or of differences of scores, over overlapping splits of the same rows.

    Training parts share rows, so the scores are correlated and the variance of their mean does not
    fall as 1/n. The correction adds n_test/n_train to 1/n.

    Parameters
    ----------
    values : array of shape (n_splits,)
    test_per_train : float
        Number of test rows divided by that of training rows.
    confidence_level : float, default=0.95
        Probability of the interval.

    Returns
    -------
    CorrectedMean
        With one split, error, interval and p-value are NaN.

    References
    ----------
    C. Nadeau, Y. Bengio (2003), Inference for the generalization error.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.evaluation import corrected_mean
    >>> found = corrected_mean(np.array([0.1, 0.2, 0.3, 0.2, 0.2]), 0.25)
    >>> round(found.mean, 3), round(found.error, 3), round(found.pvalue, 3)
    (0.2, 0.047, 0.014)
    """
    values = np.asarray(values, dtype=np.float64)
    n_splits = len(values)
    mean = float(values.mean())
    if n_splits < 2:
        missing = float("nan")
        return CorrectedMean(mean, missing, missing, missing, missing, n_splits)
    spread = float(values.std(ddof=1))
    # a spread of the last digits is none
    if spread <= 8 * np.finfo(np.float64).eps * float(np.abs(values).max()):
        spread = 0.0
    error = spread * float(np.sqrt(1.0 / n_splits + test_per_train))
    margin = float(stdtrit(n_splits - 1, 0.5 + confidence_level / 2.0)) * error
    if error == 0.0:
        pvalue = 1.0 if mean == 0.0 else 0.0
    else:
        pvalue = float(2.0 * stdtr(n_splits - 1, -abs(mean) / error))
    return CorrectedMean(mean, error, mean - margin, mean + margin, pvalue, n_splits)


def holm(pvalues: np.ndarray) -> np.ndarray:
    """P-values adjusted by Holm's step-down procedure; NaN stays and does not count.

    Parameters
    ----------
    pvalues : array of shape (n_tests,)

    Returns
    -------
    ndarray
        Rejecting those at most α keeps the probability of any false rejection at most α.

    Examples
    --------
    >>> from depmax.evaluation import holm
    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(pvalues, dtype=np.float64)
    adjusted = np.full(len(values), np.nan)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    steps = values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps)) if len(order) else steps
    return adjusted
