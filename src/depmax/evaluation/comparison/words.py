"""Findings of a comparison in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from depmax.evaluation.comparison.significance import CorrectedMean
from depmax.evaluation.comparison.tables import leaderboard_columns, significance_columns
from depmax.evaluation.comparison.trial import clock

if TYPE_CHECKING:
    from depmax.evaluation.comparison.comparison import Comparison

#: Types of target in words.
KINDS = {
    "classes": "classes",
    "numbers": "numbers",
    "multilabel": "several labels per row",
    "multioutput": "several numbers per row",
}
#: Level at which a difference is called one.
LEVEL = 0.05
PERCENT = f"{100 * LEVEL:g} %"


def summary(comparison: Comparison) -> str:
    """Leaderboard as text, with what it means."""
    outcomes = comparison.outcomes
    columns = leaderboard_columns(outcomes, significance_columns(outcomes))
    metric = outcomes.metrics[0]
    width = max(len("method"), *(len(name) for name in outcomes.names))
    header = f"{'':>2}  {'method':<{width}}  {metric.label:>17}  {'95 % interval':>16}  "
    lines = [header + f"{'features':>8}  {'p (Holm)':>8}"]
    for row, name in enumerate(outcomes.names):
        low, high = columns["low"][row], columns["high"][row]
        size, pvalue = columns["dimension"][row], columns["pvalue_adjusted"][row]
        score = columns[metric.name][row]
        lines.append(
            f"{row + 1:>2}  {name:<{width}}  {score:>17.3f}  {_ends(low, high):>16}  "
            f"{'all' if np.isnan(size) else f'{size:g}':>8}  "
            f"{'' if np.isnan(pvalue) else f'{pvalue:.2g}':>8}"
        )
    honest = comparison.winner_score
    lines.append(f"Choosing the method without test data gives {interval(honest)}.")
    if not comparison.complete:
        lines.append(interruption(comparison))
    lines += [f"{name} failed: {reason}" for name, reason in comparison.failures.items()]
    problem = comparison.setting.problem
    n_rows = len(comparison.y)
    head = (
        f"Comparison of {len(outcomes.names)} methods on {n_rows} rows × {problem.n_features} "
        f"columns, {_finished(comparison, 'split')}, {clock(comparison.seconds)}; target "
        f"{comparison.target_name!r}: {problem.about_target}"
    )
    return "\n".join([head, *lines])


def _ends(low: float, high: float) -> str:
    return "" if np.isnan(low) else f"{low:.3f} – {high:.3f}"


def interval(found: CorrectedMean) -> str:
    """Mean with its interval, as text."""
    if np.isnan(found.error):
        return f"{found.mean:.3f}"
    return f"{found.mean:.3f} (95 % interval {found.low:.3f} to {found.high:.3f})"


def judged_on(comparison: Comparison) -> str:
    """The test parts behind the scores: all, or as many as an interruption left."""
    return _finished(comparison, "test part")


def _finished(comparison: Comparison, thing: str) -> str:
    done, planned = len(comparison.outcomes.splits), len(comparison.splits)
    return counted(planned, thing) if done == planned else f"{done} of {counted(planned, thing)}"


def interruption(comparison: Comparison) -> str:
    """How far an interrupted comparison came, and what counts therefore."""
    outcomes = comparison.outcomes
    finished = sum(trial.finished for trial in comparison.trials)
    shown = sum(len(trials) for trials in outcomes.by_method.values())
    missing = [
        method.name
        for method in comparison.methods
        if method.name not in outcomes.names and method.name not in comparison.failures
    ]
    before = f", before {listed(missing, 6)}" if missing else ""
    if not outcomes.is_paired:
        return (
            f"Interrupted before the methods had finished one split in common{before}: their "
            "scores come from different splits and cannot be compared."
        )
    done, planned = len(outcomes.splits), counted(len(comparison.splits), "split")
    text = f"Interrupted after {done} of {planned}{before}."
    if shown < finished:
        text += " Splits that not every method finished do not count."
    return text


def counted(count: int, thing: str) -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def listed(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are.

    >>> listed(["a", "b"], 3), listed(["a", "b", "c", "d"], 2)
    ('a, b', 'a, b and 2 more')
    """
    more = len(names) - most
    text = ", ".join(str(name) for name in names[:most])
    return f"{text} and {more} more" if more > 0 else text


def no_better_than_chance(comparison: Comparison) -> bool:
    """Whether the interval of the winner's score holds the score of a constant prediction."""
    problem = comparison.setting.problem
    constant = {"balanced_accuracy": 1.0 / problem.n_outputs, "r2": 0.0}
    score = constant.get(comparison.outcomes.metrics[0].name)
    honest = comparison.winner_score
    return score is not None and not np.isnan(honest.low) and honest.low <= score


def ties_with_best(comparison: Comparison) -> list[str]:
    """Methods that the data cannot tell from the best."""
    columns = leaderboard_columns(comparison.outcomes, significance_columns(comparison.outcomes))
    return [
        name
        for name, pvalue in zip(columns["method"][1:], columns["pvalue_adjusted"][1:], strict=True)
        if not pvalue <= LEVEL
    ]
