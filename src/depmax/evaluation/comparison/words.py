"""Findings of a comparison in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from depmax.evaluation.comparison.progress import clock
from depmax.evaluation.comparison.significance import CorrectedMean
from depmax.evaluation.comparison.tables import leaderboard_columns, significance_columns

if TYPE_CHECKING:
    from depmax.evaluation.comparison.comparison import Comparison

#: Level at which a difference is called one.
LEVEL = 0.05


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
            f"{row + 1:>2}  {name:<{width}}  {score:>17.3f}  {low:>7.3f} – {high:<6.3f}  "
            f"{'all' if np.isnan(size) else f'{size:g}':>8}  "
            f"{'' if np.isnan(pvalue) else f'{pvalue:.2g}':>8}"
        )
    honest = comparison.winner_score
    lines.append(f"The best of these, chosen without the test rows: {interval(honest)}.")
    if not comparison.complete:
        done = len({trial.split for trial in comparison.trials})
        lines.append(f"Interrupted: {done} of {len(comparison.splits)} splits were begun.")
    lines += [f"{name} failed: {reason}" for name, reason in comparison.failures.items()]
    problem = comparison.setting.problem
    n_rows = len(comparison.y)
    head = (
        f"Comparison of {len(outcomes.names)} methods on {n_rows} rows × {problem.n_features} "
        f"columns, {len(comparison.splits)} splits, {clock(comparison.seconds)}"
    )
    return "\n".join([head, *lines])


def interval(found: CorrectedMean) -> str:
    """Mean with its interval, as text."""
    if np.isnan(found.error):
        return f"{found.mean:.3f}"
    return f"{found.mean:.3f} ({found.low:.3f} to {found.high:.3f})"


def ties_with_best(comparison: Comparison) -> list[str]:
    """Methods that the data cannot tell from the best."""
    columns = leaderboard_columns(comparison.outcomes, significance_columns(comparison.outcomes))
    return [
        name
        for name, pvalue in zip(columns["method"][1:], columns["pvalue_adjusted"][1:], strict=True)
        if not pvalue <= LEVEL
    ]
