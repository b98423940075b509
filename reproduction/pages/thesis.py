"""The tables of the thesis on docs/reproduction.md, from their rows of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reproduction.pages.markdown import DASH, markdown_head, markdown_line

Row = dict[str, Any]

METHODS = ("Full", "HBFE1", "HBFE0", "HSCA1", "HSCA0", "PCA", "LDA", "HBFE1, default")
GRAPH = ", graph"
#: Decimals of the measures of web pages; 3 of the others.
DECIMALS = {"coverage": 2, "Hamming loss": 4}


def accuracies(rows: Sequence[Row]) -> list[str]:
    """A line per data set and number of neighbours, a column per method, and the marks."""
    lines, methods = _head(rows, "k", "marks")
    for key, found in _groups(rows, "neighbors"):
        cells = [_cell(found[name]) if name in found else DASH for name in methods]
        first = next(iter(found.values()))
        marks = f"{first['published_set_marks'] or DASH} → {first['set_marks'] or DASH}"
        lines.append(markdown_line([*key, *cells, marks]))
    return lines


def with_graph(rows: Sequence[Row]) -> list[str]:
    """The same, and in brackets what a graph changes, in percentage points."""
    lines, methods = _head(rows, "k")
    for key, found in _groups(rows, "neighbors"):
        cells = []
        for name in methods:
            cell = _cell(found[name], missing=DASH)
            if name + GRAPH in found:
                cell += f" ({_change(found[name + GRAPH])})"
            cells.append(cell)
        lines.append(markdown_line([*key, *cells]))
    return lines


def web_pages(rows: Sequence[Row]) -> list[str]:
    """A line per data set and measure, and the best number of features of HBFE1."""
    lines, methods = _head(rows, "measure", "best published", "best HBFE1")
    for key, found in _groups(rows, "measure"):
        best, places = found["HBFE1"], DECIMALS.get(found["HBFE1"]["measure"], 3)
        # of the marks of methods the thesis has the underlined here, not the bold
        cells = [_cell(found[name], places, bold=False) for name in methods]
        own = f"{best['best']:.{places}f} ({best['best_n_features']:.0f})"
        lines.append(markdown_line([*key, *cells, best["published_best"] or DASH, own]))
    return lines


def neural_features(rows: Sequence[Row]) -> list[str]:
    """A line per data set and number of neighbours: mean accuracies and their standard errors."""
    done = [row for row in rows if row["ours"] is not None]
    methods = list(dict.fromkeys(row["method"] for row in done))
    splits = ["splits"] if _counts_differ(rows) else []
    lines = markdown_head(["data", *splits, "k", *methods])
    for key, found in _groups(rows, "neighbors"):
        cells = [
            f"{found[name]['ours']:.3f}±{found[name]['standard_error']:.3f}" for name in methods
        ]
        lines.append(markdown_line([*key, *cells]))
    return lines


def _head(rows: Sequence[Row], title: str, *last: str) -> tuple[list[str], tuple[str, ...]]:
    """First lines of a table, and the methods that have a column."""
    present = {row["method"] for row in rows if row["ours"] is not None}
    methods = tuple(name for name in METHODS if name in present)
    splits = ["splits"] if _counts_differ(rows) else []
    return markdown_head(["data", *splits, title, *methods, *last]), methods


def _groups(rows: Sequence[Row], part: str) -> list[tuple[list[str], dict[str, Row]]]:
    """First cells of a line, and its rows by method; sets that were run only."""
    groups: dict[tuple[str, Any], dict[str, Row]] = {}
    for row in rows:
        if row["ours"] is not None:
            groups.setdefault((row["dataset"], row[part]), {})[row["method"]] = row
    found = []
    for (dataset, value), by_method in groups.items():
        splits = [_splits(by_method)] if _counts_differ(rows) else []
        title = value if isinstance(value, str) else f"{value:.0f}"
        found.append(([dataset, *splits, title], by_method))
    return found


def _splits(found: dict[str, Row]) -> str:
    """Number of splits; if methods differ, the smallest and the largest. Variants do not count."""
    counts = [row["n_splits"] for name, row in found.items() if name in METHODS or GRAPH in name]
    counts = counts or [row["n_splits"] for row in found.values()]
    ends = dict.fromkeys([min(counts), max(counts)])
    return "–".join(f"{count:.0f}" for count in ends)


def _counts_differ(rows: Sequence[Row]) -> bool:
    """Whether the number of splits is not the same for all sets."""
    return len({row["n_splits"] for row in rows if row["ours"] is not None}) > 1


def _cell(row: Row, places: int = 3, missing: str = "", bold: bool = True) -> str:
    """Published → ours, ours with its marks."""
    marks = (row.get("marks") or "").split()
    ours = f"{row['ours']:.{places}f}"
    if "underlined" in marks:
        ours = f"<u>{ours}</u>"
    if "bold" in marks and bold:
        ours = f"**{ours}**"
    known = missing if row["published"] is None else f"{row['published']:.{places}f}"
    return f"{known} → {ours}" if known else ours


def _with_error(row: Row) -> str:
    return f"{row['ours']:.3f}±{row['standard_error']:.3f}"


def _change(row: Row) -> str:
    known = "·" if row["published_change"] is None else f"{row['published_change']:+.1f}"
    return f"{known} → {row['change']:+.1f}{'*' if row['significant'] else ''}"
