"""New rows through a model, a batch at a time, checked against what the model was fitted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from depmax._text import counted, listed
from depmax.cli.errors import DataError, ModelError, nearest
from depmax.cli.options import Columns, TaskName
from depmax.cli.reading.source import Expected, ReadOptions, Source, kind_of
from depmax.cli.table import TYPES, ColumnType, Table, as_features, missing_counts
from depmax.data.files import FORMATS
from depmax.data.scan import scan
from depmax.evaluation import Prepare

#: Cells of a batch: a few tens of megabytes.
BATCH_CELLS = 4_000_000


def as_fitted(options: ReadOptions, notes: Mapping[str, Any]) -> ReadOptions:
    """How to read a file for a model: categories as text, what is open as in the model's file.

    So are the marks of missing values, unless they are given.
    """
    columns = notes.get("columns", ())
    if not columns:
        return options
    text = frozenset(str(column["name"]) for column in columns if column["type"] == "category")
    names = tuple(str(column["name"]) for column in columns)
    written = dict(notes.get("written", {}))
    missing = tuple(written.pop("missing", ReadOptions.missing))
    numbers = tuple(written.pop("missing_numbers", ReadOptions.missing_numbers))
    if options.missing == ReadOptions.missing:
        options = replace(options, missing=missing, missing_numbers=numbers)
    return replace(options, text=text, expected=Expected(names, **written))


def model_columns(model: Any, notes: Mapping[str, Any], source: Source) -> dict[str, Any]:
    """Columns that the model takes, with their type where it is known."""
    if "columns" in notes:
        return {str(column["name"]): column["type"] for column in notes["columns"]}
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return dict.fromkeys(map(str, names))
    width = getattr(model, "n_features_in_", None)
    columns = list(source.schema())
    if width is None or width != len(columns):
        raise ModelError(
            f"The model takes {counted(width or 0, 'column')} without names, but {source.name} has "
            f"{len(columns)}."
        )
    return dict.fromkeys(columns)


def check_columns(source: Source, columns: Mapping[str, ColumnType | None]) -> None:
    """Refuse a file in which a column of the model is missing or has another type."""
    schema = source.schema()
    absent = [name for name in columns if name not in schema]
    if absent:
        more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        raise ModelError(
            f"{source.name} lacks the column {absent[0]!r}{more} that the model was fitted on."
            f"{nearest(absent[0], schema)}"
        )
    for name, expected in columns.items():
        if expected is None:
            continue
        found = TYPES.get(kind_of(schema[name]))
        if kind_of(schema[name]) == "empty" or found == expected:
            continue
        if {found, expected} == {"boolean", "number"} and found == "number":
            continue  # 0 and 1 of a file without booleans
        if expected in ("category", "text") and found in ("category", "number", "boolean"):
            continue  # sentences, and levels that look like numbers
        if source.types_are_guesses and found == "category":
            continue  # padded numbers: conform looks at every cell
        raise _other_type(source.name, name, _in_words(schema[name]), expected)


def conform(
    rows: pl.DataFrame, columns: Mapping[str, ColumnType | None], *, gaps: bool, where: str
) -> pl.DataFrame:
    """Columns of a batch with the types of the model, and no gaps unless it fills them."""
    types: dict[str, Any] = {"number": pl.Float64, "boolean": pl.Boolean, "category": pl.String}
    types |= {"text": pl.String, "date": pl.Date}
    sentences = [name for name, expected in columns.items() if expected == "text"]
    cast = {}
    for name, expected in columns.items():
        kind = kind_of(rows.schema[name])
        if expected is None or TYPES.get(kind) == expected != "category":
            continue
        try:
            cast[name] = rows.get_column(name).cast(types[expected])
        except pl.exceptions.PolarsError:
            raise _other_type(where, name, _in_words(rows.schema[name]), expected) from None
    rows = as_features(rows.select(list(columns)).with_columns(cast.values()), sentences)
    missing = {} if gaps else missing_counts(rows.drop(sentences))
    if missing:
        name, count = next(iter(missing.items()))
        raise DataError(
            f"{where} has missing values in {listed([repr(n) for n in missing])} ({count} in "
            f"{name!r}): fit it behind depmax.Prepare(), or with depmax fit, which fills them."
        )
    return rows


def takes_gaps(model: Any) -> bool:
    """Whether new rows may have gaps: the model fills them, or its method takes them."""
    steps = dict(model.steps) if isinstance(model, Pipeline) else {"method": model}
    if "prepare" in steps and steps["prepare"].fill is not None:
        return True
    return bool(get_tags(steps.get("method", model)).input_tags.allow_nan)


def apply(model: Any, rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Features of a batch as a frame."""
    features = model.transform(rows)
    if isinstance(features, pl.DataFrame):
        return features
    if hasattr(features, "toarray"):
        features = features.toarray()
    return pl.DataFrame(np.asarray(features), schema=list(names))


def can_stream(source: Source, estimator: Any, columns: Columns) -> bool:
    """Whether a method can be fitted to all rows of a large table in parts."""
    is_table = source.path.is_dir() or source.path.suffix.lower() in FORMATS
    is_plain = columns.task == TaskName.auto and columns.impute is None and columns.weight is None
    return is_table and is_plain and getattr(estimator, "_streams", False)


def fit_streamed(source: Source, table: Table, estimator: Any, *, scale: bool) -> Pipeline:
    """Fit a method to all rows of a large table; the columns are those found in some of them.

    Columns are prepared as those of a table in memory, by means and scales of all rows.
    """
    names = table.target_names
    rows = scan(
        source.path,
        target=names[0] if len(names) == 1 else list(names),
        columns=list(table.types),
    )
    steps: list[tuple[str, Any]] = []
    if table.expand is not None:
        rows = rows.map(table.expand.transform)
        steps.append(("expand", table.expand))
    encode = "category" in table.types.values()
    if scale or encode:
        prepare = Prepare(None, scale=scale, encode=encode).fit(rows)
        rows = rows.map(prepare.transform)
        steps.append(("prepare", prepare))
    estimator.fit(rows)
    estimator.set_output(transform="polars")
    return Pipeline([*steps, ("method", estimator)])


def batch_rows(n_columns: int) -> int:
    """Number of rows in a batch with that many columns."""
    return max(256, BATCH_CELLS // max(1, n_columns))


_WORDS = {
    "number": "numbers",
    "boolean": "true or false",
    "text": "text",
    "date": "dates",
    "category": "categories",
}


def _other_type(where: str, name: str, found: str, expected: ColumnType) -> ModelError:
    return ModelError(
        f"Column {name!r} of {where} holds {found}, but held {_WORDS[expected]} when the "
        "model was fitted."
    )


def _in_words(dtype: pl.DataType) -> str:
    return _WORDS.get(kind_of(dtype), f"{dtype} values")
