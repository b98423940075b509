"""A model from a table: gaps filled, columns on one scale, then the method."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from depmax.cli.methods import role_of
from depmax.cli.table import Table
from depmax.evaluation import FillGaps, PrepareColumns


def fit_model(table: Table, method: Any, *, scale: bool, impute: str | None) -> Pipeline:
    """Fit a method; the pipeline takes a frame with the table's columns and gives one of features.

    A selector searches on standardised columns and keeps them as they are: its columns come out
    in their own units.
    """
    steps: list[tuple[str, Any]] = []
    X = table.X
    if impute is not None:
        steps.append(("fill", FillGaps(impute)))
        X = steps[-1][1].fit_transform(X)
    if scale:
        prepare = PrepareColumns()
        X = prepare.fit_transform(X)
        if role_of(type(method)) != "selector":
            steps.append(("prepare", prepare))
    method.fit(X, table.y)
    method.set_output(transform="polars")
    return Pipeline([*steps, ("method", method)])


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
