"""The tables of the ICA-FX paper on docs/reproduction.md, from their rows of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reproduction.pages.markdown import DASH, markdown_head, markdown_line

Row = dict[str, Any]


def regressions(rows: Sequence[Row]) -> list[str]:
    """A line per number of features, a column per method: mean (best) of five regressors."""
    done = [row for row in rows if row["ours"] is not None]
    methods = list(dict.fromkeys(row["method"] for row in done))
    lines = markdown_head(["features", *methods])
    for count in sorted({row["n_features"] for row in done}):
        found = {row["method"]: row for row in done if row["n_features"] == count}
        cells = [_cell(found[name]) if name in found else DASH for name in methods]
        lines.append(markdown_line([f"{count:.0f}", *cells]))
    return lines


def _cell(row: Row) -> str:
    ours = f"{row['ours']:.2f} ({row['best']:.2f})"
    if row["published"] is None:
        return ours
    return f"{row['published']:.2f} ({row['published_best']:.2f}) → {ours}"
