"""Pictures of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from depmax.evaluation.comparison.tables import curve_columns
from depmax.plotting import Curve, DimensionCurveDisplay

if TYPE_CHECKING:
    from depmax.evaluation.comparison.comparison import Comparison


def curves_display(comparison: Comparison, most: int | None = None) -> DimensionCurveDisplay:
    """Score against dimension, best methods first, those without a dimension as lines."""
    columns = curve_columns(comparison.outcomes)
    names = list(dict.fromkeys(columns["method"]))
    curves = {}
    for name in names[:most]:
        rows = [row for row, method in enumerate(columns["method"]) if method == name]

        def column(title: str, rows: list[int] = rows) -> np.ndarray:
            return np.array([columns[title][row] for row in rows], dtype=float)

        curves[name] = Curve(column("dimension"), column("score"), column("low"), column("high"))
    flat = [name for name in comparison.outcomes.names if name not in names]
    levels = {name: comparison.outcomes.score(name).mean for name in flat}
    metric = comparison.outcomes.metrics[0].label
    return DimensionCurveDisplay(curves, metric, levels)
