"""The tables of the sparse PLS paper on docs/reproduction.md, from their rows of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from reproduction.pages.markdown import DASH, markdown_head, markdown_line

Row = dict[str, Any]


def errors(places: int) -> Callable[[Sequence[Row]], list[str]]:
    """A line per method, a column per data set: published → ours, and how many folds if fewer."""

    def lines_of(rows: Sequence[Row]) -> list[str]:
        rows = [row for row in rows if "," not in row["method"]]  # variants have a table below
        splits: dict[str, float] = {}
        for row in rows:
            splits[row["dataset"]] = max(row["n_splits"], splits.get(row["dataset"], 0))
        heads = [f"{name} ({count:.0f} folds)" for name, count in splits.items()]
        lines = markdown_head(["method", *heads])
        for method in dict.fromkeys(row["method"] for row in rows):
            found = {row["dataset"]: row for row in rows if row["method"] == method}
            cells = [
                _cell(found[name], places, splits[name]) if name in found else DASH
                for name in splits
            ]
            lines.append(markdown_line([method, *cells]))
        return lines

    return lines_of


def precisions(rows: Sequence[Row]) -> list[str]:
    """A line per collection and method: average precision and number of features."""
    lines = markdown_head(["collection", "method", "average precision", "features"])
    for row in rows:
        value = f"{row['ours']:.3f} ± {row['standard_error']:.3f}"
        count = f"{row['n_features']:.0f}"
        lines.append(markdown_line([row["dataset"], row["method"], value, count]))
    return lines


def areas(rows: Sequence[Row]) -> list[str]:
    """A line per method: what is missing to an area of one, and the number of features."""
    lines = markdown_head(["method", "1 - area", "false positives at 0.9", "features"])
    for row in rows:
        missing, false = f"{row['missing_area']:.1e}", f"{row['false_positives']:.1e}"
        count = DASH if row["n_features"] is None else f"{row['n_features']:.0f}"
        if row["published_n_features"] is not None:
            count = f"{row['published_n_features']:.0f} → {count}"
        lines.append(markdown_line([row["method"], missing, false, count]))
    return lines


def _cell(row: Row, places: int, n_splits: float) -> str:
    ours = f"{row['ours']:.{places}f} ± {row['standard_error']:.{places}f}"
    if row["n_splits"] < n_splits:
        ours += f" ({row['n_splits']:.0f} folds)"
    return ours if row["published"] is None else f"{row['published']:.{places}f} → {ours}"
