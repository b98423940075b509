"""A model from a table: gaps filled, columns on one scale, then the method."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from depmax.cli.methods import Known
from depmax.cli.table import Table
from depmax.evaluation import FillGaps, PrepareColumns


def fit_model(
    table: Table, method: Known, estimator: Any, *, scale: bool, impute: str | None
) -> Pipeline:
    """Fit a method; the pipeline takes a frame with the table's columns and gives one of features.

    The columns are prepared as in a comparison: what won there is what is fitted here. A selector
    searches on standardised columns and keeps them as they are: its columns come out in their own
    units.
    """
    steps: list[tuple[str, Any]] = []
    X = table.X
    if impute is not None:
        steps.append(("fill", FillGaps(impute)))
        X = steps[-1][1].fit_transform(X)
    encode = not method.takes_categories and "category" in table.types.values()
    if scale or encode:
        prepare = PrepareColumns(encode=encode, scale=scale)
        X = prepare.fit_transform(X)
        if method.role != "selector":
            steps.append(("prepare", prepare))
    estimator.fit(X, table.y)
    estimator.set_output(transform="polars")
    return Pipeline([*steps, ("method", estimator)])


def model_notes(table: Table, method: str, data: str) -> dict[str, Any]:
    """What ``transform`` needs to know of the table that a model was fitted on."""
    return {
        "columns": [{"name": name, "type": kind} for name, kind in table.types.items()],
        "target": list(table.target_names),
        "target_type": table.target.kind,
        "rows": table.X.height,
        "method": method,
        "data": data,
        "written": table.written,
    }
