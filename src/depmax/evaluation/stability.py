"""Whether a selector finds the same columns on other samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import norm
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, resample

from depmax.data import read_target


@dataclass(frozen=True)
class Stability:
    """Agreement of several selections, with an interval, and how often each column was chosen."""

    value: float  # 1 for equal sets, about 0 for sets chosen by chance
    low: float
    high: float
    frequencies: np.ndarray  # share of the selections that hold each column
    confidence_level: float = 0.95  # of the interval


def stability(
    selector: Any,
    X: Any,
    y: Any,
    *,
    n_resamples: int = 20,
    fraction: float = 0.8,
    confidence_level: float = 0.95,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> Stability:
    """How much the columns that a selector chooses vary over samples of the rows.

    Parameters
    ----------
    selector : scikit-learn selector, or a pipeline that ends with one
        Anything with ``fit`` and ``get_support``; it is cloned, not changed. Of a pipeline the
        columns are those that its last step gets.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    y : target of any type
        Rows of each class are drawn in proportion.
    n_resamples : int, default=20
        Number of samples.
    fraction : float, default=0.8
        Share of the rows in each sample, drawn without replacement: kernels and neighbours would
        mistake repeated rows for dependence. Two samples share about this part of their rows; a
        smaller share says more about new data and less about a sample of this size.
    confidence_level : float, default=0.95
        Probability of the interval.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int, optional
        Number of processes, each working on one sample.

    Returns
    -------
    Stability
        As returned by :func:`stability_of`. The interval reflects the drawing of samples from these
        rows, not other data.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.evaluation import stability
    >>> from depmax.selection.dependence_filter import DependenceFilter
    >>> X = np.random.default_rng(0).normal(size=(80, 6))
    >>> found = stability(DependenceFilter(1), X, X[:, 2], random_state=0)
    >>> found.value, found.frequencies
    (1.0, array([0., 0., 1., 0., 0., 0.]))
    """
    if not 0 < fraction < 1:
        raise ValueError(f"fraction must be above 0 and below 1, got {fraction!r}.")
    if not (isinstance(n_resamples, int | np.integer) and n_resamples >= 2):
        raise ValueError(f"n_resamples must be a whole number >= 2, got {n_resamples!r}.")
    target = read_target(y)
    classes = target.values if target.kind == "classes" else None
    count = max(1, int(fraction * target.n_samples))
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_resamples)

    def chosen(seed: int) -> np.ndarray:
        rows, labels = resample(
            X, y, replace=False, n_samples=count, stratify=classes, random_state=seed
        )
        fitted = clone(selector).fit(rows, labels)
        return (fitted[-1] if isinstance(fitted, Pipeline) else fitted).get_support()

    masks = Parallel(n_jobs=n_jobs)(delayed(chosen)(int(seed)) for seed in seeds)
    return stability_of(np.array(masks), confidence_level=confidence_level)


def stability_of(masks: Any, *, confidence_level: float = 0.95) -> Stability:
    """Agreement of selections of columns, corrected for chance.

    One minus the average variance of whether a column is selected, divided by that variance when as
    many columns are drawn at random. It is 1 if all selections are equal, 0 on average if they are
    drawn at random, and the average pairwise overlap corrected for chance (Kuncheva's index) if all
    have the same size.

    Parameters
    ----------
    masks : array-like of bool of shape (n_selections, n_features)
        Which columns each selection holds.
    confidence_level : float, default=0.95
        Probability of the normal interval, which is accurate for many selections.

    Returns
    -------
    Stability
        ``value``, ``low``, ``high``, ``frequencies``.

    References
    ----------
    S. Nogueira, K. Sechidis, G. Brown (2018), On the stability of feature selection algorithms.

    Examples
    --------
    >>> from depmax.evaluation import stability_of
    >>> stability_of([[1, 1, 0, 0], [1, 0, 1, 0]]).value
    0.0
    """
    chosen = np.asarray(masks)
    _require_masks(chosen)
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level must be above 0 and below 1, got {confidence_level!r}.")
    chosen = chosen.astype(np.float64)
    n_runs, n_features = chosen.shape
    frequencies = chosen.mean(axis=0)
    share = frequencies.mean()  # k̄/d
    by_chance = share * (1.0 - share)
    if by_chance == 0.0:
        raise ValueError(
            "Stability is not defined when every selection holds all columns, or none: select "
            "fewer."
        )
    variances = frequencies * (1.0 - frequencies) * n_runs / (n_runs - 1)
    value = 1.0 - variances.mean() / by_chance
    # influence of each run on the value (the φ̂_i of the publication)
    sizes = chosen.mean(axis=1)
    influence = chosen @ frequencies / n_features - sizes * share
    influence += value / 2.0 * (2.0 * sizes * share - sizes - share + 1.0)
    influence /= by_chance
    error = 2.0 / n_runs * np.sqrt(np.sum((influence - influence.mean()) ** 2))
    margin = float(norm.ppf(0.5 + confidence_level / 2.0) * error)
    return Stability(
        float(value), float(value) - margin, float(value) + margin, frequencies, confidence_level
    )


def _require_masks(masks: np.ndarray) -> None:
    if masks.ndim != 2 or masks.shape[0] < 2 or masks.shape[1] < 1:
        raise ValueError(
            "Pass one row per selection (at least two) and one column per feature, got shape "
            f"{masks.shape}."
        )
    if not np.isin(masks, (0, 1)).all():
        raise ValueError("A selection is marked by 0 and 1, or False and True, per column.")
