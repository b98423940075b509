"""The sentences of a verdict: the same in the terminal, a notebook, the report and JSON."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from depmax._text import counted, html_table, listed, share
from depmax.evaluation.comparison.problem import clock

if TYPE_CHECKING:
    from depmax.evaluation.comparison.comparison import Comparison
    from depmax.evaluation.comparison.verdict import ScoreInterval, Verdict

#: Names of columns that a sentence lists.
LISTED = 6
#: Said where there was no time, or no wish, for other candidates.
NOTHING_LESS = "nothing less was tried"


def headline(verdict: Verdict) -> str:
    """The answer in one sentence."""
    v = verdict
    few = f"{len(v.columns):,} of {counted(v.n_columns, 'column')}"
    names = f": {listed(v.columns, LISTED)}" if v.columns else ""
    one = len(v.columns) == 1
    only_all = v.n_methods == 1 and v.n_columns > 1 and not v.fewer_tried
    if v.outcome == "nothing" and only_all:
        return (
            f"All {v.n_columns:,} columns together predict {v.target} no better than guessing "
            f"({v.guess:.2f}); {NOTHING_LESS}."
        )
    if v.outcome == "nothing":
        return (
            f"Nothing here predicts {v.target}: none of {counted(v.n_methods, 'method')} is better "
            f"than guessing ({v.guess:.2f})."
        )
    if v.outcome == "too few rows":
        what = f"anything here predicts {v.target}"
        if only_all:
            what = f"all {v.n_columns:,} columns together predict {v.target}; {NOTHING_LESS}"
        return f"{counted(v.n_rows, 'row')} are too few to tell whether {what}."
    if v.outcome == "all columns" and v.n_columns == 1:
        return f"The only column predicts {v.target}."
    if v.outcome == "all columns":
        why = f"fewer predict {v.target} less well" if v.fewer_tried else NOTHING_LESS
        return f"Use all {counted(v.n_columns, 'column')}: {why}."
    if v.outcome == "few columns suffice":
        return f"{few} {'suffices' if one else 'suffice'}{names}."
    if v.outcome == "better than all":
        return f"{few} {'predicts' if one else 'predict'} better than all {v.n_columns:,}{names}."
    if v.outcome == "few columns at a price":
        return f"{few} {'reaches' if one else 'reach'} {v.score.value:.2f}{_price(v)}{names}."
    if v.outcome == "features":
        features = counted(v.size or 0, "feature")
        return (
            f"New features help: {v.method} turns {counted(v.n_columns, 'column')} into {features}."
        )
    return f"Use {v.method}."


def _price(v: Verdict) -> str:
    """What all columns reach, and what may be lost."""
    if v.all_columns is None or v.loss is None:
        return ""
    worst = max(v.loss.high, 0.0)
    return (
        f", all {v.n_columns:,} reach {v.all_columns:.2f}; a loss of up to {worst:.2f} cannot be "
        "ruled out"
    )


def reasons(verdict: Verdict) -> tuple[str, ...]:
    """Scores, what to expect, and what guessing would give."""
    v = verdict
    guess = f"Guessing reaches {v.guess:.3f}."
    if v.outcome in ("nothing", "too few rows"):
        found = f"The best candidate reaches {v.metric} {interval(v.score)} (p = {v.pvalue:.2g})."
        return (found, guess, *_dependent(v))
    subject = "All columns reach" if v.outcome == "all columns" else f"{v.method} reaches"
    text = f"{subject} {v.metric} {v.score.value:.3f} on held-out rows, judged by {v.judge}"
    if v.all_columns is not None and v.outcome != "all columns":
        text += f"; all columns reach {v.all_columns:.3f}"
    if v.outcome == "few columns suffice":
        text += f" (with 90% confidence no more than {v.margin:.3f} is lost)"
    if v.alternative is not None:
        method, size, score = v.alternative
        reach = "reaches" if size == 1 else "reach"
        text += f"; {counted(size, 'column')} ({method}) {reach} {score:.3f}"
    told = (
        "On new data expect" if not v.cautions else "Without the doubts below, new data would give"
    )
    return (f"{text}.", f"{told} {interval(v.expected)}.", guess)


def _dependent(v: Verdict) -> tuple[str, ...]:
    if not v.n_dependent:
        return ()
    verb = "depends" if v.n_dependent == 1 else "depend"
    of = f"{v.n_dependent:,} of {counted(v.n_columns, 'column')} {verb}"
    return (f"{of} on {v.target} when tested alone.",)


def interval(found: ScoreInterval) -> str:
    """A value with its interval."""
    if not found.low < found.high:
        return f"{found.value:.3f}"
    return f"{found.value:.3f} (95% interval {found.low:.3f} to {found.high:.3f})"


def summary(comparison: Comparison) -> str:
    """The verdict, then the leaderboard as text."""
    problem, verdict = comparison.setting.problem, comparison.verdict
    head = (
        f"Comparison of {counted(verdict.n_methods, 'method')} on {verdict.n_rows:,} rows × "
        f"{counted(problem.n_features, 'column')}, {judged_on(comparison)}, "
        f"{clock(comparison.seconds)}; target {comparison.target_name!r}: {problem.about_target}"
    )
    lines = [head, verdict.headline, *verdict.reasons, *map(str, verdict.cautions)]
    return "\n".join([*lines, *_leaderboard_lines(comparison), *_remarks(comparison)])


def _remarks(comparison: Comparison) -> list[str]:
    """What is said after the leaderboard."""
    failed = [f"{name} failed: {reason}" for name, reason in comparison.failures.items()]
    planted = [] if comparison.planted is None else [str(comparison.planted)]
    return [*planted, *limits(comparison), *failed]


def _leaderboard_lines(comparison: Comparison) -> list[str]:
    """The leaderboard in aligned columns, the recommended method marked."""
    cells = _leaderboard_cells(comparison)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        f"{row[0]:>1} {row[1]:<{widths[1]}}  "
        + "  ".join(f"{cell:>{width}}" for cell, width in zip(row[2:], widths[2:], strict=True))
        for row in cells
    ]


def _leaderboard_cells(comparison: Comparison) -> list[tuple[str, ...]]:
    metric = comparison.metrics[0]
    cells: list[tuple[str, ...]] = [("", "method", metric.label, "95% interval", "features")]
    for row in comparison.rows():
        size = "all" if row["features"] != row["features"] else f"{row['features']:.0f}"
        ends = f"{row['low']:.3f} – {row['high']:.3f}"
        mark = "→" if row["method"] == comparison.recommended else ""
        cells.append((mark, row["method"], f"{row[metric.name]:.3f}", ends, size))
    return cells


def html_summary(comparison: Comparison) -> str:
    """A comparison as HTML, for notebooks."""
    (_, *head), *rows = _leaderboard_cells(comparison)
    verdict = comparison.verdict
    cells = [(f"{mark} {name}".strip(), *rest) for mark, name, *rest in rows]
    before, after = (
        "".join(f"<p>{escape(text)}</p>" for text in texts)
        for texts in ((*verdict.reasons, *map(str, verdict.cautions)), _remarks(comparison))
    )
    table = html_table(head, cells)
    return f"<p><strong>{escape(verdict.headline)}</strong></p>{before}{table}{after}"


def judged_on(comparison: Comparison) -> str:
    """The folds behind the scores: all, or as many as an interruption left."""
    done = len(comparison.candidates.done)
    planned = sum(map(len, comparison.candidates.folds))
    return counted(planned, "fold") if done == planned else f"{done} of {counted(planned, 'fold')}"


def limits(comparison: Comparison) -> list[str]:
    """What was not tried, and how to try it: a sample of the rows, time, screening."""
    lines = []
    given, used = comparison.n_rows_given, len(comparison.y)
    if given is not None and given > used:
        lines.append(
            f"{used:,} of {given:,} rows were used, drawn at random (max_rows=None or --rows all "
            "uses all)."
        )
    if comparison.left_out:
        lines.append(
            f"There was no time for {listed(comparison.left_out, 20)}: give more with time= or "
            "--time."
        )
    screened = comparison.setting.n_screened
    if screened is not None:
        lines.append(
            f"Selectors searched the {screened:,} of {comparison.setting.problem.n_features:,} "
            "columns that each depend most on the target: columns that matter only together may "
            "be missed."
        )
    if not comparison.complete:
        lines.append(f"Interrupted: scores come from {judged_on(comparison)}.")
    return lines


def class_balance(comparison: Comparison) -> str:
    """How many rows the classes have, in words; empty for other targets."""
    if comparison.setting.problem.kind != "classes":
        return ""
    labels, counts = np.unique(comparison.y, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    shown = [f"{labels[k]} {share(int(counts[k]), len(comparison.y))}" for k in order]
    return f"{counted(len(labels), 'class')}: {listed(shown, 4)}"
