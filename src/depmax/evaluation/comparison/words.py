"""Findings of a comparison in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from depmax._text import html_table, short_pvalue
from depmax.evaluation.comparison.metrics import CorrectedMean
from depmax.evaluation.comparison.setting import clock
from depmax.evaluation.comparison.tables import leaderboard_columns, significance_columns

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
    """The verdict, then the leaderboard as text."""
    problem, outcomes = comparison.setting.problem, comparison.outcomes
    head = (
        f"Comparison of {len(outcomes.names)} methods on {len(comparison.y):,} rows × "
        f"{problem.n_features:,} columns, {_finished(comparison, 'split')}, "
        f"{clock(comparison.seconds)}; target {comparison.target_name!r}: {problem.about_target}"
    )
    verdict = comparison.verdict
    lines = [head, verdict.headline, *verdict.reasons, *leaderboard_lines(comparison)]
    lines += [*limits(comparison)]
    if not comparison.complete:
        lines.append(interruption(comparison))
    lines += [f"{name} failed: {reason}" for name, reason in comparison.failures.items()]
    return "\n".join(lines)


def leaderboard_lines(comparison: Comparison) -> list[str]:
    """The leaderboard in aligned columns, the recommended method marked."""
    outcomes = comparison.outcomes
    columns = leaderboard_columns(outcomes, significance_columns(outcomes))
    metric = outcomes.metrics[0]
    width = max(len("method"), *(len(name) for name in outcomes.names))
    title = max(len(metric.label), 6)
    header = f"{'':>4}  {'method':<{width}}  {metric.label:>{title}}  {'95 % interval':>15}  "
    lines = [header + f"{'features':>8}  {'p (Holm)':>8}"]
    for row, name in enumerate(outcomes.names):
        low, high = columns["low"][row], columns["high"][row]
        size, pvalue = columns["dimension"][row], columns["pvalue_adjusted"][row]
        score = columns[metric.name][row]
        mark = "→" if name == comparison.recommended else " "
        lines.append(
            f"{mark}{row + 1:>3}  {name:<{width}}  {score:>{title}.3f}  {_ends(low, high):>15}  "
            f"{'all' if np.isnan(size) else f'{size:.0f}':>8}  {short_pvalue(pvalue):>8}".rstrip()
        )
    return lines


def html_summary(comparison: Comparison) -> str:
    """The same for notebooks."""
    outcomes = comparison.outcomes
    columns = leaderboard_columns(outcomes, significance_columns(outcomes))
    metric = outcomes.metrics[0]
    rows = [
        (
            f"{'→ ' if name == comparison.recommended else ''}{name}",
            f"{columns[metric.name][row]:.3f}",
            _ends(columns["low"][row], columns["high"][row]),
            "all" if np.isnan(columns["dimension"][row]) else f"{columns['dimension'][row]:.0f}",
            short_pvalue(columns["pvalue_adjusted"][row]),
        )
        for row, name in enumerate(outcomes.names)
    ]
    head = ("method", metric.label, "95 % interval", "features", "p vs best")
    verdict = comparison.verdict
    texts = "".join(f"<p>{escape(text)}</p>" for text in (*verdict.reasons, *limits(comparison)))
    return f"<p><strong>{escape(verdict.headline)}</strong></p>{texts}{html_table(head, rows)}"


def limits(comparison: Comparison) -> list[str]:
    """What was not tried, and how to try it: a sample of the rows, stopped methods, screening."""
    lines = []
    given, used = comparison.n_rows_given, len(comparison.y)
    if given is not None and given > used:
        lines.append(
            f"{used:,} of {given:,} rows were used, drawn at random (max_rows=None or --rows all "
            "uses all)."
        )
    race = comparison.race
    if race is not None and race.stopped:
        lines.append(
            f"Stopped after a first round on {len(race.rows):,} rows: "
            f"{listed(list(race.stopped), 20)}. Try all on all splits with thorough=True or "
            "--thorough."
        )
    screened = comparison.setting.n_screened
    if screened is not None:
        lines.append(
            f"Selectors searched the {screened:,} of "
            f"{comparison.setting.problem.n_features:,} columns that depend most on the target by "
            "themselves; thorough=True or --thorough searches all, which also finds columns that "
            "matter only together."
        )
    return lines


def _ends(low: float, high: float) -> str:
    return "" if np.isnan(low) else f"{low:6.3f} –{high:6.3f}"


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
    ending = "" if count == 1 else "es" if thing.endswith("s") else "s"
    return f"{count:,} {thing}{ending}"


def listed(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are.

    >>> listed(["a", "b"], 3), listed(["a", "b", "c", "d"], 2)
    ('a, b', 'a, b and 2 more')
    """
    more = len(names) - most
    text = ", ".join(str(name) for name in names[:most])
    return f"{text} and {more} more" if more > 0 else text


def class_balance(comparison: Comparison) -> str:
    """Classes with their shares, most frequent first; empty for other targets."""
    if comparison.setting.problem.kind != "classes":
        return ""
    classes, counts = np.unique(comparison.y, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    shares = [f"{classes[j]} ({share(counts[j], counts.sum())})" for j in order]
    return f"{counted(len(classes), 'class')}: {listed(shares, 5)}"


def share(part: float, whole: float) -> str:
    """A share in per cent.

    >>> share(1, 3), share(1, 1000), share(0, 5)
    ('33 %', '0.1 %', '0 %')
    """
    percent = 100.0 * part / whole
    return f"{percent:.1f} %" if 0 < percent < 1 else f"{percent:.0f} %"


def ties_with_best(comparison: Comparison) -> list[str]:
    """Methods that the data cannot tell from the best."""
    columns = leaderboard_columns(comparison.outcomes, significance_columns(comparison.outcomes))
    return [
        name
        for name, pvalue in zip(columns["method"][1:], columns["pvalue_adjusted"][1:], strict=True)
        if not pvalue <= LEVEL
    ]
