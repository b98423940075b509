"""Rows in memory and rows in chunks are read, and refused, by the same rules."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from depmax import scan
from depmax.data import read_table, read_target
from depmax.data.sample import aligned

NUMBERS = np.random.default_rng(0).normal(size=12)
COLUMNS: dict[str, Any] = {
    "numbers": NUMBERS,
    "single": NUMBERS.astype(np.float32),
    "whole": np.arange(12, dtype=np.int16),
    "truth": NUMBERS > 0,
    "text": np.where(NUMBERS > 0, "up", "down"),
    "category": pd.Categorical(np.where(NUMBERS > 0, "b", "a"), categories=["b", "a", "never"]),
    "codes": pd.Categorical(np.where(NUMBERS > 0, 10, 9)),
}
REFUSED: dict[str, Any] = {
    "identifier": [f"row {number}" for number in range(12)],
    "gap": [None, *["up", "down"] * 5, "up"],
    "date": [datetime.datetime(2020, 1, 1)] * 12,
    "infinite": np.where(NUMBERS[7] == NUMBERS, np.inf, NUMBERS),
    "missing": np.where(NUMBERS[7] == NUMBERS, np.nan, NUMBERS),
    "large": np.where(NUMBERS[7] == NUMBERS, 1e40, NUMBERS),
}
LIBRARIES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("names", [[name] for name in COLUMNS] + [["numbers", "text", "single"]])
def test_columns_become_the_same_numbers(library: str, names: list[str]) -> None:
    frame = LIBRARIES[library](pd.DataFrame({name: COLUMNS[name] for name in names}))
    table, (rows, _) = read_table(frame), aligned(scan(frame, rows_per_chunk=5))
    assert_array_equal(rows[np.arange(12)], table.values)
    assert rows.dtype == table.values.dtype
    assert (rows.columns.names, rows.columns.categories) == (table.names, table.categories)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", REFUSED)
def test_columns_are_refused_alike(library: str, name: str) -> None:
    frame = LIBRARIES[library](pd.DataFrame({"numbers": NUMBERS, name: REFUSED[name]}))
    refused = []
    for read in (
        read_table,
        lambda frame: aligned(scan(frame, rows_per_chunk=5))[0][np.arange(12)],
    ):
        with pytest.raises((TypeError, ValueError), match=f"'{name}'") as found:
            read(frame)
        refused.append(found.type)
    assert refused[0] is refused[1]


TARGETS: dict[str, Any] = {
    "numbers": NUMBERS,
    "two floats": np.where(NUMBERS > 0, 2.0, 1.0),
    "whole": np.arange(12) // 3,
    "many whole": np.arange(12) * 1000 + np.arange(12) ** 2,
    "truth": NUMBERS > 0,
    "text": np.where(NUMBERS > 0, "up", "down"),
    "objects": np.where(NUMBERS > 0, "up", "down").astype(object),
    "category": pd.Series(COLUMNS["category"]),
    "labels": (np.column_stack([NUMBERS, NUMBERS[::-1]]) > 0).astype(int),
    "outputs": np.column_stack([NUMBERS, NUMBERS[::-1]]),
    "series": pl.Series("y", np.arange(12) % 3),
    "column": NUMBERS[:, np.newaxis],
}


@pytest.mark.parametrize("rules", [{}, {"whole_classes": True}, {"task": "regression"}])
@pytest.mark.parametrize("name", TARGETS)
def test_targets_have_one_type(name: str, rules: dict[str, Any]) -> None:
    y = TARGETS[name]
    _, streamed = aligned(scan(NUMBERS, y, rows_per_chunk=5))
    if rules.get("task") == "regression" and name in ("text", "objects", "category"):
        for given in (y, streamed):
            with pytest.raises(ValueError, match="needs numbers"):
                read_target(given, **rules)
        return
    whole, found = read_target(y, **rules), read_target(streamed, **rules)
    assert found.kind == whole.kind
    assert_array_equal(found.vectors[np.arange(12)], whole.vectors)
    if whole.kind == "classes":
        assert_array_equal(found.classes, whole.classes)


@pytest.mark.parametrize(
    "y",
    [
        [f"row {number}" for number in range(12)],
        [datetime.datetime(2020, 1, number + 1) for number in range(12)],
        np.where(NUMBERS[7] == NUMBERS, np.inf, NUMBERS),
        np.where(NUMBERS[7] == NUMBERS, np.nan, NUMBERS),
        np.where(NUMBERS[7] == NUMBERS, 1e40, NUMBERS),
        [1.0, "two"] * 6,
        NUMBERS * 1j,
        pd.DataFrame({"a": ["u", "v"] * 6, "b": ["p", "q"] * 6}),
    ],
    ids=["identifier", "dates", "infinite", "missing", "large", "mixed", "complex", "two texts"],
)
def test_targets_are_refused_alike(y: Any) -> None:
    y = y if isinstance(y, pd.DataFrame) else pd.Series(y, dtype=None)
    with pytest.raises((TypeError, ValueError)) as whole:
        read_target(y)
    with pytest.raises((TypeError, ValueError)) as found:
        read_target(aligned(scan(NUMBERS, y, rows_per_chunk=5))[1])
    assert found.type is whole.type
