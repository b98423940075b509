"""What a first visit to a table tells: its length, its columns, and facts about its target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from depmax._inputs import role_of_text
from depmax._inputs.levels import is_nominal, refuse_gaps
from depmax._inputs.table import (
    Categories,
    column_names,
    is_frame,
    why_not_numeric,
)
from depmax.samples.pieces import Chunk
from depmax.samples.target_facts import TargetFacts

#: Levels of a column beyond which it is not a category.
MOST_LEVELS = 10_000


@dataclass(frozen=True)
class Survey:
    """What one visit to a table tells: rows, levels of categories, facts about the target."""

    lengths: Mapping[int, int]  # rows of each piece, those without a target not counted
    levels: Mapping[int, frozenset[Any] | None]  # None: too many
    target: TargetFacts | None

    def __add__(self, other: Survey) -> Survey:
        levels = {
            column: _joined(found, other.levels[column]) for column, found in self.levels.items()
        }
        target = self.target
        if target is not None and other.target is not None:
            target = target + other.target
        return Survey({**self.lengths, **other.lengths}, levels, target)


def _joined(left: frozenset[Any] | None, right: frozenset[Any] | None) -> frozenset[Any] | None:
    if left is None or right is None or len(left | right) > MOST_LEVELS:
        return None
    return left | right


@dataclass(frozen=True)
class SurveyWork:
    """A look at a piece: its length, levels of its categories, its target."""

    nominal: tuple[int, ...]  # positions of the categorical columns
    names: tuple[str, ...]

    def __call__(self, number: int, chunks: Iterator[Chunk]) -> Survey:
        """Survey of one piece."""
        count, facts = 0, None
        levels: dict[int, frozenset[Any] | None] = dict.fromkeys(self.nominal, frozenset())
        for chunk in chunks:
            n_known = chunk.n_rows
            if chunk.y is not None:
                more = TargetFacts.of(chunk.y)
                facts = more if facts is None else facts + more
                n_known = more.n_rows
            count += n_known
            for position in self.nominal:
                found = self._levels(chunk.x, self.names[position])
                levels[position] = _joined(levels[position], found)
        return Survey({number: count}, levels, facts)

    def _levels(self, x: Any, name: str) -> frozenset[Any]:
        series = nw.from_native(x, eager_only=True).get_column(name)
        refuse_gaps(series, "X")
        return frozenset(series.unique().to_list())


def columns_of(empty: Any) -> tuple[tuple[str, ...] | None, int, tuple[int, ...], np.dtype]:
    """Names, number, categorical positions and common precision of the columns of X."""
    if not is_frame(empty):
        dtype = np.dtype(np.float32 if empty.dtype == np.float32 else np.float64)
        return None, 1 if empty.ndim == 1 else int(empty.shape[1]), (), dtype
    frame = nw.from_native(empty, eager_only=True)
    names, nominal, types = column_names(empty), [], set()
    for position, series in enumerate(frame.iter_columns()):
        if is_nominal(series.dtype):
            nominal.append(position)
        elif not series.dtype.is_numeric():
            raise TypeError(why_not_numeric(series.name, series.dtype, "X"))
        else:
            types.add(series.dtype)
    single = not nominal and types == {nw.Float32()}
    return names, len(names), tuple(nominal), np.dtype(np.float32 if single else np.float64)


def categories_of(survey: Survey, names: tuple[str, ...] | None, empty: Any) -> Categories:
    """Levels of each categorical column, in the order that arrays in memory have."""
    categories = {}
    count = sum(survey.lengths.values())
    for position, found in survey.levels.items():
        assert names is not None
        name = names[position]
        text = nw.from_native(empty, eager_only=True).get_column(name).dtype == nw.String
        role = "free text" if found is None else role_of_text(len(found), count, count)
        if found is None or (text and role != "category"):
            size = f"more than {MOST_LEVELS}" if found is None else str(len(found))
            raise TypeError(
                f"Column {name!r} of X holds text with {size} different values in {count} rows: "
                f"free text or an identifier. Leave it out with columns=, or encode it."
            )
        categories[position] = tuple(sorted(found, key=str))
    return categories
