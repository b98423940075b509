"""The answer of a comparison as facts; the sentences made of them are in ``words``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from depmax.evaluation.comparison.cautions import Caution
from depmax.evidence import Estimate

if TYPE_CHECKING:
    from depmax.evaluation.comparison.comparison import Comparison

Outcome = Literal[
    "nothing",
    "too few rows",
    "all columns",
    "few columns suffice",
    "few columns at a price",
    "better than all",
    "features",
    "method",
]

#: Level of the test that anything predicts, and of the claim that few columns are better than all.
LEVEL = 0.05
#: Confidence that no more than the margin is lost where few columns are said to suffice.
CONFIDENCE = 0.9
#: Share of the largest possible gain: a smaller one is ruled out where nothing is said to predict.
WORTHWHILE = 0.1
#: Share of the gain over guessing that an alternative with fewer columns has to keep.
MOST_OF_IT = 0.9


@dataclass(frozen=True)
class ScoreInterval:
    """A value with the ends of its interval, as shown."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Verdict:
    """What to do, and why.

    Parameters
    ----------
    outcome : str
        "nothing" predicts; "too few rows" to tell; "all columns" are needed; "few columns suffice"
        (no more than the margin is lost, with 90% confidence); "few columns at a price" (more may
        be lost); "better than all"; "features": new ones made from all columns; "method": one that
        predicts by itself.
    method : str
        The method to use.
    size : int or None
        Its number of columns or features; None if it has none to choose.
    columns : tuple of str
        The columns that it keeps when fitted on all rows, best first; empty if it keeps all.
    score : ScoreInterval
        Of this method with this size, on held-out rows; 95% interval.
    expected : ScoreInterval
        What to expect on new data: the score without the optimism of the choice; 95% interval.
    guess : float
        Score of the best constant prediction.
    all_columns : float or None
        Score of all columns, if they were compared.
    loss : ScoreInterval or None
        How much worse than all columns, negative if better; the ends are each exceeded with a
        probability of 10%.
    margin : float
        Loss that a person would not care about, in units of the score.
    alternative : tuple of (str, int, float) or None
        Where all columns or features of them are best: method, number and score of the fewest
        columns that keep nine tenths of the gain over guessing.
    pvalue : float
        That no candidate is better than guessing and no column depends on the target.
    n_dependent : int or None
        Columns that each depend on the target (adjusted p at most 0.05); None where not tested.
    metric, judge, target : str
        In words: the score, the predictor it holds for, and what is predicted.
    n_rows, n_columns, n_methods : int
    cautions : tuple of Caution
        Reasons to doubt the scores: copies of rows, a column that gives the target away, and such.
    fewer_tried : bool, default=True
        Whether anything with fewer columns than all was compared.
    """

    outcome: Outcome
    method: str
    size: int | None
    columns: tuple[str, ...]
    score: ScoreInterval
    expected: ScoreInterval
    guess: float
    all_columns: float | None
    loss: ScoreInterval | None
    margin: float
    alternative: tuple[str, int, float] | None
    pvalue: float
    n_dependent: int | None
    metric: str
    judge: str
    target: str
    n_rows: int
    n_columns: int
    n_methods: int
    cautions: tuple[Caution, ...] = ()
    fewer_tried: bool = True

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        from depmax.evaluation.comparison.words import headline

        return headline(self)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Scores, what to expect, and what guessing would give, in sentences."""
        from depmax.evaluation.comparison.words import reasons

        return reasons(self)

    def __repr__(self) -> str:
        return " ".join([self.headline, *self.reasons, *map(str, self.cautions)])


def decide(comparison: Comparison) -> Verdict:
    """The verdict of a comparison."""
    candidates, margin = comparison.candidates, comparison.margin
    evidence, costs = candidates.evidence, candidates.costs
    metric, problem = comparison.metrics[0], comparison.setting.problem
    place = comparison.place
    chosen = candidates.all[place]
    method = comparison.method(chosen.method)
    guess = float(evidence.scores[0])
    gain = float(np.nanmax(evidence.scores)) - guess
    allowed = margin * max(gain, 0.0)
    whole = comparison.all_columns
    expected = evidence.of_choice(costs, margin)[1]
    difference = None
    if whole is not None and whole != place:
        difference = evidence.of_choice(costs, margin, beside=whole)[1]
    n_dependent, alone = comparison.dependent_columns
    # Bonferroni with unequal shares: predictions of all candidates, and single columns
    pvalue = min(1.0, evidence.pvalue_of_guessing() / 0.8, alone / 0.2)
    columns = comparison.kept_names(place)
    outcome: Outcome
    # A prediction by the mean of all rows has R² = 0: what stays below it is of no use.
    useless = max(guess, 0.0) if metric.name == "r2" else guess
    if pvalue > LEVEL or evidence.scores[place] <= useless:
        outcome = _no_signal(comparison, guess, bool(n_dependent))
    elif not method.has_dimension or chosen.size is None:
        outcome = "all columns" if method.complexity == 0 else "method"
    elif not method.selects:
        outcome = "features"
    elif difference is None:
        outcome = "few columns at a price"
    elif _is_better(difference, len(candidates.by_method)):
        outcome = "better than all"
    elif difference.at_least(CONFIDENCE) >= -allowed:
        outcome = "few columns suffice"
    else:
        outcome = "few columns at a price"
    return Verdict(
        outcome,
        chosen.method,
        chosen.size,
        columns if outcome not in ("nothing", "too few rows") else (),
        _shown(evidence.score(place), metric),
        _shown(expected, metric),
        metric.sign * guess,
        None if whole is None else float(metric.sign * evidence.scores[whole]),
        None if difference is None else _loss(difference),
        allowed,
        _alternative(comparison, place),
        pvalue,
        n_dependent,
        metric.label,
        comparison.judge_name,
        comparison.target_name,
        len(comparison.y),
        problem.n_features,
        len(candidates.by_method),
        comparison.cautions_about(columns),
        any(one.n_columns < problem.n_features for one in candidates.all[1:]),
    )


def _no_signal(comparison: Comparison, guess: float, dependent: bool) -> Outcome:
    """Nothing, if a gain worth having can be ruled out for every candidate; else too few rows."""
    metric, evidence = comparison.metrics[0], comparison.candidates.evidence
    low, high = metric.bounds
    perfect = high if metric.sign > 0 else -low
    if dependent or not np.isfinite(perfect):
        return "too few rows"
    worthwhile = guess + WORTHWHILE * (perfect - guess)
    reach = max(evidence.score(place).ends()[1] for place in range(1, len(evidence.scores)))
    return "nothing" if reach < worthwhile else "too few rows"


def _is_better(difference: Estimate, n_methods: int) -> bool:
    """Whether few columns beat all, counting the methods they were chosen from (Bonferroni)."""
    return difference.at_least(1.0 - LEVEL / max(1, n_methods - 1)) > 0.0


def _loss(difference: Estimate) -> ScoreInterval:
    low, high = difference.at_least(CONFIDENCE), difference.at_least(1.0 - CONFIDENCE)
    return ScoreInterval(-difference.value, -high, -low)


def _shown(estimate: Estimate, metric: object) -> ScoreInterval:
    """An estimate in the units of the metric, without values that no score can have."""
    sign, (least, most) = metric.sign, metric.bounds  # type: ignore[attr-defined]  # see Metric
    ends = sorted(sign * end for end in estimate.ends())
    low, high = (float(np.clip(end, least, most)) for end in ends)
    return ScoreInterval(float(sign * estimate.value), low, high)


def _alternative(comparison: Comparison, place: int) -> tuple[str, int, float] | None:
    """The fewest columns that keep most of the gain, where all columns are needed for the best."""
    candidates, metric = comparison.candidates, comparison.metrics[0]
    if candidates.all[place].n_columns < comparison.setting.problem.n_features:
        return None
    scores = candidates.evidence.scores
    least = scores[0] + MOST_OF_IT * (scores[place] - scores[0])
    few = [
        number
        for number, one in enumerate(candidates.all)
        if number
        and one.n_columns < comparison.setting.problem.n_features
        and scores[number] >= least
    ]
    if not few or scores[place] <= scores[0]:
        return None
    best = min(few, key=lambda number: (candidates.costs[number], -scores[number]))
    found = candidates.all[best]
    return found.method, found.n_columns, float(metric.sign * scores[best])
