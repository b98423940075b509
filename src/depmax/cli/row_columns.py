"""What is known of the rows: groups and weights from columns that are not features, and doubts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from depmax._text import counted
from depmax.cli.errors import DataError
from depmax.cli.output import Output
from depmax.data.weights import read_weights

if TYPE_CHECKING:
    from depmax.cli.table import Table


def groups_of_rows(frame: pl.DataFrame, name: str, notes: list[str]) -> np.ndarray:
    """The group of every row as a number; the column is not a feature."""
    column = frame.get_column(name)
    missing = column.null_count()
    if column.dtype.is_float():
        missing += int(column.is_nan().sum() or 0)
    if missing:
        raise DataError(
            f"--groups: column {name!r} has no value in {missing} of {column.len()} rows. Drop "
            "these rows, or give each its own group."
        )
    codes = np.unique(np.asarray(column.cast(pl.String).to_list()), return_inverse=True)[1]
    n_groups = int(codes.max()) + 1
    groups = counted(n_groups, "group")
    notes.append(f"{groups} of rows by {name!r}, which is not used as a column.")
    return np.asarray(codes)


def weights_of_rows(frame: pl.DataFrame, name: str, notes: list[str]) -> np.ndarray:
    """How many rows each row stands for; the column is not a feature."""
    column = frame.get_column(name)
    if not column.dtype.is_numeric():
        raise DataError(f"--weight: column {name!r} holds {column.dtype}, not numbers.")
    values = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
    missing = int(np.isnan(values).sum())
    if missing:
        raise DataError(
            f"--weight: column {name!r} has no value in {missing} of {len(values)} rows. Drop "
            "these rows, or give them a weight of 0."
        )
    try:
        weights = read_weights(values, len(values))
    except ValueError as error:
        raise DataError(f"--weight: column {name!r}: {error}") from error
    left_out = int((weights == 0).sum())
    without = f"; {left_out} have a weight of 0 and are ignored" if left_out else ""
    notes.append(f"Rows are weighted by {name!r}, which is not used as a column{without}.")
    return weights


def mention_doubts(out: Output, table: Table) -> None:
    """Say so where rows may be copies of each other, or alike because they belong together."""
    from depmax.evaluation.comparison.cautions import cautions_about_rows

    found = cautions_about_rows(table.X, table.target.values, table.target.kind, table.groups)
    table.notes.extend(found)
    out.note(found)


def mention_searched_rows(out: Output, table: Table, method: str, estimator: Any) -> None:
    """Say so where a selector searches only some of the rows."""
    searched = getattr(getattr(estimator, "selector", estimator), "subsample", None)
    if searched is None or table.X.height <= searched:
        return
    found = [
        f"{method} searches {searched:,} of {table.X.height:,} rows, drawn with a fixed seed: "
        "scores, effects and p-values are theirs (--set subsample=none searches all)."
    ]
    table.notes.extend(found)
    out.note(found)
