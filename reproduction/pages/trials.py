"""Tables of docs/reproduction.md with other readings of what a publication leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reproduction.pages.markdown import DASH, markdown_head, markdown_line

Row = dict[str, Any]


def readings(rows: Sequence[Row]) -> list[str]:
    """A table per method: a line per data set, a column per reading, that of the text first."""
    lines: list[str] = []
    for method in dict.fromkeys(row["method"].partition(", ")[0] for row in rows):
        mine = [row for row in rows if row["method"].partition(", ")[0] == method]
        names = list(dict.fromkeys(row["method"].partition(", ")[2] for row in mine))
        titles = [name or "as in the table" for name in names]
        lines += ["", *markdown_head([f"{method}: data", "published", *titles])]
        for data in dict.fromkeys(row["dataset"] for row in mine):
            found = {
                row["method"].partition(", ")[2]: row for row in mine if row["dataset"] == data
            }
            published = next(iter(found.values()))["published"]
            cells = [_figure(found[name]) if name in found else DASH for name in names]
            lines.append(markdown_line([data, f"{published:.1f}", *cells]))
    return lines[1:]


def _figure(row: Row) -> str:
    return f"{row['ours']:.1f}±{row['standard_error']:.1f}"


def accuracies_of_readings(rows: Sequence[Row]) -> list[str]:
    """A line per data set and reading, the numbers of neighbours beside each other."""
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["dataset"], row["method"], f"{row['n_splits']:.0f}"), []).append(row)
    lines = markdown_head(["table and set", "method and reading", "splits", "published", "ours"])
    for key, mine in found.items():
        figures = [
            " / ".join(DASH if row[name] is None else f"{row[name]:.3f}" for row in mine)
            for name in ("published", "ours")
        ]
        lines.append(markdown_line([*key, *figures]))
    return lines
