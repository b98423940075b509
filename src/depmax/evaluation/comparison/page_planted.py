"""The part of a report about planted targets: what selectors find where the truth is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from depmax._text import counted
from depmax.evaluation.comparison.planted import ALIKE
from depmax.plotting import RecoveryDisplay
from depmax.report import Column, Picture, Section, Table

if TYPE_CHECKING:
    from depmax.evaluation.comparison.comparison import Comparison
    from depmax.evaluation.comparison.planted import PlantedRecovery


def planted_section(comparison: Comparison) -> Section | None:
    """How many of the columns of planted targets each selector finds."""
    planted = comparison.planted
    if planted is None:
        return None
    title = "How far can these rows be trusted?"
    if planted.reason:
        return Section(title, (planted.reason,))
    how = (
        "A planted target has the values of the real one, and so much noise that its own columns "
        "predict it, through the same judge, as well as columns that were selected predict the "
        "real one; since they have to be found first, it is a little harder. Linear: a sum of "
        "columns; curved: of their squared distances from the middle; interaction: of products of "
        f"two. A kept column counts for a planted one if it shares {100 * ALIKE:.0f}% of its "
        "variation (a rank correlation of 0.9)."
    )
    order = [total.method for total in planted.total]
    rows = tuple(
        (row.method, row.shape, row.found, f"{row.low:.2f} to {row.high:.2f}", row.others)
        for row in sorted((*planted.rows, *planted.total), key=lambda row: order.index(row.method))
    )
    table = Table(
        f"{counted(planted.n_targets, 'planted target')} of {planted.n_planted} out of "
        f"{counted(planted.n_columns, 'column')}, each searched by every selector on all rows.",
        (
            Column("method"),
            Column("shape"),
            Column("found", "bar", "share of the planted columns that it keeps"),
            Column("95% interval"),
            Column("others", ".2f", "share of the columns it keeps that are like no planted one"),
        ),
        rows,
    )
    return Section(title, (str(planted), how), (table,), (_picture(planted),))


def recovery_display(planted: PlantedRecovery) -> RecoveryDisplay:
    """A bar for every selector and shape."""
    methods = [row.method for row in planted.total]
    shapes = list(planted.reached or {})
    cells = [(row.found, row.low, row.high, row.others) for row in planted.rows]  # by method
    found, low, high, others = np.reshape(cells, (len(methods), len(shapes), 4)).transpose(2, 0, 1)
    chance = planted.n_planted / planted.n_columns
    return RecoveryDisplay(methods, shapes, found, low, high, others, chance)


def _picture(planted: PlantedRecovery) -> Picture:
    display = recovery_display(planted)
    caption = (
        "Share of the planted columns that each selector keeps, with 95% intervals, and in grey "
        f"from the right the share of what it keeps that are others. Drawn at random, "
        f"{counted(planted.n_planted, 'column')} would hold {100 * display.chance:.0f}% of them."
    )
    best = [f"{row.method} {100 * row.found:.0f}%" for row in planted.total]
    alternative = f"Bar chart. {caption} Over all shapes: {', '.join(best)}."
    height = 1.1 + 0.2 * (len(display.shapes) + 1) * len(display.methods)
    return Picture(display, caption, alternative, width=3.8, height=height)
