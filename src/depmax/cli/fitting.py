"""A model from a table: prepared columns, then the method."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from depmax.cli.methods import role_of
from depmax.cli.preparation import Preparation
from depmax.cli.table import Table


def fit_model(
    table: Table,
    method: Any,
    *,
    scale: bool,
    impute: str | None,
) -> Pipeline:
    """Fit a method; the pipeline takes a frame with the table's columns and gives one of features.

    A selector searches on standardised columns and keeps them as they are: its columns come out
    in their own units.
    """
    prepared = Preparation(impute=impute, scale=scale).fit(table.X)
    method.fit(prepared.transform(table.X), table.y)
    if role_of(type(method)) == "selector" and scale:
        prepared = Preparation(impute=impute, scale=False).fit(table.X)
    method.set_output(transform="polars")
    return Pipeline([("prepare", prepared), ("method", method)])


def model_notes(table: Table, method: str, data: str) -> dict[str, Any]:
    """What ``transform`` needs to know of the table that a model was fitted on."""
    return {
        "columns": [{"name": name, "type": kind} for name, kind in table.types.items()],
        "target": list(table.target_names),
        "target_type": table.target.kind,
        "rows": table.X.height,
        "method": method,
        "data": data,
    }
