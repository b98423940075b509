"""What predictions of held-out rows say about candidates, and how sure one can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from depmax.evidence.choice import choose
from depmax.evidence.metrics import Metric, Predicted, Truth

#: Errors of a bootstrap of rows, times this, hold for new data: rows are drawn again, but the
#: models were fitted to one sample. Chosen on half of the sets of benchmarks/verdicts.py.
WIDENING = 1.25
#: The same for the best of all gains over guessing: models of folds share rows, so their errors on
#: noise agree by chance more than a bootstrap of rows shows.
WIDENING_ON_NOISE = 1.5
#: Draws that are computed at a time, to bound memory.
AT_A_TIME = 250


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error for new data."""

    value: float
    error: float

    def ends(self, confidence: float = 0.95) -> tuple[float, float]:
        """Ends of the two-sided normal interval.

        >>> low, high = Estimate(0.8, 0.05).ends()
        >>> round(low, 3), round(high, 3)
        (0.702, 0.898)
        """
        reach = float(ndtri(0.5 + confidence / 2.0)) * self.error
        return self.value - reach, self.value + reach

    def at_least(self, confidence: float) -> float:
        """Value that is exceeded with this confidence (one-sided)."""
        return self.value - float(ndtri(confidence)) * self.error


@dataclass(frozen=True)
class Evidence:
    """Scores of candidates on rows that their models did not see; larger is better.

    Candidate 0 is guessing: the best constant prediction of every training part.

    Attributes
    ----------
    scores : array of shape (n_candidates,)
    draws : array of shape (n_draws, n_candidates)
        Scores on rows drawn again with replacement, whole groups where rows come in groups.
    least_error : float
        Error of a score that is the same on every draw: where no row is predicted wrongly, three
        in a hundred may still be wrong among other hundred rows.
    """

    scores: np.ndarray
    draws: np.ndarray
    least_error: float = 0.0

    def score(self, candidate: int) -> Estimate:
        """Score of a candidate that was not chosen by its score."""
        error = _error(self.draws[:, candidate]) or self.least_error
        return Estimate(float(self.scores[candidate]), error)

    def difference(self, one: int, other: int) -> Estimate:
        """How much better one candidate is than another, on the same rows."""
        value = float(self.scores[one] - self.scores[other])
        return Estimate(value, _error(self.draws[:, one] - self.draws[:, other]))

    def of_choice(
        self, costs: np.ndarray, margin: float, beside: int | None = None
    ) -> tuple[int, Estimate]:
        """The chosen candidate, and its score without the optimism of the choice.

        The choice is repeated on every draw of the rows: how much better the chosen one looks on
        the draw than on all rows is what the choice adds to a score by chance (Efron's optimism).
        Guessing is never chosen.

        Parameters
        ----------
        costs : array of shape (n_candidates,)
        margin : float
            As in :func:`choose`.
        beside : int, optional
            A candidate that was not chosen: the difference from it is estimated.
        """
        own = 1 + int(choose(self.scores[1:], costs[1:], self.scores[0], margin=margin))
        picked = 1 + choose(self.draws[:, 1:], costs[1:], self.draws[:, 0], margin=margin)
        scores, draws = self.scores, self.draws
        if beside is not None:
            scores, draws = scores - scores[beside], draws - draws[:, [beside]]
        looks = np.take_along_axis(draws, picked[:, np.newaxis], axis=1)[:, 0]
        optimism = max(0.0, float(np.nanmean(looks - scores[picked])))
        error = _error(draws[:, own]) or (self.least_error if beside is None else 0.0)
        return own, Estimate(float(scores[own]) - optimism, error)

    def pvalue_of_guessing(self) -> float:
        """P-value that no candidate is better than guessing (the largest of all gains)."""
        gains = self.scores[1:] - self.scores[0]
        drawn = self.draws[:, 1:] - self.draws[:, :1]
        errors = np.nanstd(drawn, axis=0)
        usable = np.isfinite(gains) & (errors > 0.0)
        if (gains[errors == 0.0] > 0.0).any():  # better on every draw
            return 1.0 / (1 + len(drawn))
        if not usable.any():
            return 1.0
        largest = (gains[usable] / errors[usable]).max() / WIDENING_ON_NOISE
        spread = np.nanmax((drawn[:, usable] - gains[usable]) / errors[usable], axis=1)
        return float((1 + (spread >= largest).sum()) / (1 + len(spread)))


def _error(values: np.ndarray) -> float:
    return WIDENING * float(np.nanstd(values))


def gather(
    truth: Truth,
    metric: Metric,
    candidates: Sequence[Sequence[Predicted]],
    *,
    sample_weight: np.ndarray | None = None,
    units: np.ndarray | None = None,
    seed: int = 0,
) -> Evidence:
    """Evidence from predictions of every candidate, one array per repeat of the folds.

    Parameters
    ----------
    truth : Truth
    metric : Metric
    candidates : sequence of sequences of Predicted
        Guessing first.
    sample_weight : array of shape (n_rows,), optional
    units : array of int of shape (n_rows,), optional
        The group of every row: groups are drawn whole.
    seed : int

    Returns
    -------
    Evidence
    """
    tested = np.any([run.tested for run in candidates[0]], axis=0)
    weight = tested * (1.0 if sample_weight is None else sample_weight)
    judges = [metric.judge(truth, runs) for runs in candidates]
    counts = _drawn_counts(truth, tested, units, metric.n_draws, np.random.default_rng(seed))
    draws = np.empty((len(counts), len(judges)))
    for low in range(0, len(counts), AT_A_TIME):
        part = counts[low : low + AT_A_TIME] * weight
        for place, judge in enumerate(judges):
            draws[low : low + AT_A_TIME, place] = judge(part)
    scores = np.array([judge(weight[np.newaxis])[0] for judge in judges])
    return Evidence(scores, draws, _least_error(truth, tested))


def _least_error(truth: Truth, tested: np.ndarray) -> float:
    """Half of the rule of three (3/n at 95%) for the rarest class, by its share of the score."""
    if truth.kind != "classes":
        return 0.0
    counts = np.bincount(truth.values[tested], minlength=truth.n_classes)
    return 1.5 / float(max(1, counts[counts > 0].min()) * max(1, truth.n_classes))


def _drawn_counts(
    truth: Truth,
    tested: np.ndarray,
    units: np.ndarray | None,
    n_draws: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """How often each row is drawn, of shape (n_draws, n_rows); classes keep their numbers."""
    counts = np.zeros((n_draws, len(tested)))
    if units is not None:
        names, codes = np.unique(units[tested], return_inverse=True)
        drawn = rng.multinomial(len(names), np.full(len(names), 1.0 / len(names)), size=n_draws)
        counts[:, tested] = drawn[:, codes]
        return counts
    strata = truth.values if truth.kind == "classes" else np.zeros(len(tested), dtype=int)
    for stratum in np.unique(strata[tested]):
        rows = np.flatnonzero(tested & (strata == stratum))
        counts[:, rows] = rng.multinomial(
            len(rows), np.full(len(rows), 1 / len(rows)), size=n_draws
        )
    return counts
