"""Fill the tables of docs/reproduction.md from reproduction/results/*.csv.

A table stands between the lines ``<!-- NAME -->`` and ``<!-- end of NAME -->``, NAME being that of
its file of results; what lies between is replaced, the text around it is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from reproduction import read_csv
from reproduction.pages.agreement import agreement
from reproduction.pages.ica import regressions
from reproduction.pages.markdown import DASH, markdown_head, markdown_line
from reproduction.pages.sparse_pls import areas, errors, precisions
from reproduction.pages.thesis import accuracies, neural_features, web_pages, with_graph
from reproduction.pages.trials import accuracies_of_readings, readings

Row = dict[str, Any]

#: Numbers of samples that the page shows; the picture has all.
SIZES = (40, 80, 160, 400)
PROBLEMS = {"xor": "XOR", "classes": "four classes", "regression": "regression"}


def fill_page(page: Path, results: Path) -> None:
    """Replace every table of the page by what the files of results hold."""
    text = page.read_text(encoding="utf-8")
    for name, make in TABLES.items():
        rows = read_csv(results / f"{name}.csv")
        if not rows:  # not run
            continue
        lines = [*make(rows), *agreement(name, rows)]
        table = "\n".join([f"<!-- {name} -->", *lines, f"<!-- end of {name} -->"])
        marked = re.compile(f"<!-- {name} -->\n.*?<!-- end of {name} -->", re.DOTALL)
        if len(marked.findall(text)) != 1:
            raise ValueError(f"{page} needs one pair of lines <!-- {name} --> … for its table.")
        text = marked.sub(lambda _, table=table: table, text)  # type: ignore[misc]  # the default binds the loop's table
    page.write_text(text, encoding="utf-8")


def artificial(rows: Sequence[Row]) -> list[str]:
    """A line per problem and method, a column per number of samples."""
    lines = markdown_head(["problem", "method", "the paper", *(f"m = {size}" for size in SIZES)])
    for problem, title in PROBLEMS.items():
        mine = [row for row in rows if row["dataset"] == problem]
        for method in dict.fromkeys(row["method"] for row in mine):
            found = {row["n_samples"]: row for row in mine if row["method"] == method}
            figures = [_ours(found[size]) if size in found else DASH for size in SIZES]
            claim = next(iter(found.values()))["claim"]
            lines.append(markdown_line([title, method, claim, *figures]))
    return lines


def side_by_side(rows: Sequence[Row]) -> list[str]:
    """A line per data set, a column per method: published → ours."""
    rows = [row for row in rows if "," not in row["dataset"]]  # variants have a table below
    methods = list(dict.fromkeys(row["method"] for row in rows))
    lines = markdown_head(["data", *methods])
    for data in dict.fromkeys(row["dataset"] for row in rows):
        found = {row["method"]: row for row in rows if row["dataset"] == data}
        if any(row["ours"] is not None for row in found.values()):
            cells = [_cell(found[m]) if m in found else DASH for m in methods]
            lines.append(markdown_line([data, *cells]))
    return lines


def curves(rows: Sequence[Row]) -> list[str]:
    """A line per data set and method, a column per number of features; all of them last."""
    done = [row for row in rows if row["ours"] is not None]
    most_of: dict[str, float] = {}
    for row in done:
        most_of[row["dataset"]] = max(row["n_features"], most_of.get(row["dataset"], 0))
    shown = sorted({r["n_features"] for r in done if r["n_features"] < most_of[r["dataset"]]})
    lines = markdown_head(["data (folds)", "method", *(f"{size:.0f}" for size in shown), "all"])
    for data, method in dict.fromkeys((row["dataset"], row["method"]) for row in done):
        mine = [row for row in done if (row["dataset"], row["method"]) == (data, method)]
        found = {row["n_features"]: row for row in mine}
        most = most_of[data]
        cells = [_ours(found[n]) if n in found and n < most else DASH for n in shown]
        title = f"{data} ({found[most]['n_splits']:.0f})"
        lines.append(markdown_line([title, method, *cells, _ours(found[most])]))
    return lines


def plain(*columns: tuple[str, str, str]) -> Callable[[Sequence[Row]], list[str]]:
    """A line per row that was run; for each column its title, its name and the format."""

    def make(rows: Sequence[Row]) -> list[str]:
        lines = markdown_head([title for title, _, _ in columns])
        for row in rows:
            if row["ours"] is not None:
                cells = [
                    DASH if row[name] is None else format(row[name], how)
                    for _, name, how in columns
                ]
                lines.append(markdown_line(cells))
        return lines

    return make


def growth(rows: Sequence[Row]) -> list[str]:
    """A line per method and setting, a column per number of features."""
    counts = list(dict.fromkeys(row["n_features"] for row in rows))
    lines = markdown_head(["method", *(f"k = {count:.0f}" for count in counts)])
    for method in dict.fromkeys(row["method"] for row in rows):
        found = {row["n_features"]: row for row in rows if row["method"] == method}
        lines.append(markdown_line([method, *(f"{found[count]['ours']:.3g}" for count in counts)]))
    return lines


def _cell(row: Row) -> str:
    parts = [part for part in (_published(row), _ours(row)) if part]
    if row["ours"] is None and parts:
        parts.append(DASH)
    return " → ".join(parts) or DASH


def _published(row: Row) -> str:
    return _figure(row, "published", "published_error", "published_overlap")


def _ours(row: Row) -> str:
    return _figure(row, "ours", "standard_error", "overlap")


def _figure(row: Row, value: str, error: str, common: str) -> str:
    """Value±error and, where the table has it, the number of columns common to all folds."""
    if row[value] is None:
        return ""
    spread = "" if row.get(error) is None else f"±{row[error]:.1f}"
    genes = "" if row.get(common) is None else f", {row[common]:.0f}"
    return f"{row[value]:.1f}{spread}{genes}"


TABLES: dict[str, Callable[[Sequence[Row]], list[str]]] = {
    "bahsic_figure1": plain(
        ("width", "method", ""),
        ("largest covariance", "coco", ".3f"),
        ("correlation, same rows", "same_rows", ".3f"),
        ("correlation, new rows", "ours", ".3f"),
    ),
    "bahsic_artificial": artificial,
    "bahsic_table1": side_by_side,
    "bahsic_trials": readings,
    "bahsic_figure3": curves,
    "bahsic_eeg": plain(
        ("task", "dataset", ""),
        ("method", "method", ""),
        ("error (%)", "ours", ".1f"),
        ("±", "standard_error", ".1f"),
        ("splits", "n_splits", ".0f"),
    ),
    "bahsic_microarrays": side_by_side,
    "bahsic_figure5": plain(
        ("kernel", "method", ""),
        ("first gene", "first_gene", ".0f"),
        ("second gene", "second_gene", ".0f"),
        ("correlation", "correlation", ".2f"),
        ("error (%)", "ours", ".1f"),
        ("error in the two subtypes (%)", "subtype_error", ".1f"),
    ),
    "sparse_pls_figure2": growth,
    "sparse_pls_figure3": growth,
    "ica_linear": regressions,
    "ica_nonlinear": regressions,
    "ica_housing": regressions,
    "ica_orange_juice": regressions,
    "sparse_pls_regression": errors(4),
    "sparse_pls_neighbors": errors(3),
    "sparse_pls_machines": errors(3),
    "sparse_pls_trials": plain(
        ("data", "dataset", ""),
        ("method and reading", "method", ""),
        ("published", "published", ".3f"),
        ("ours", "ours", ".3f"),
        ("±", "standard_error", ".3f"),
        ("folds", "n_splits", ".0f"),
    ),
    "sparse_pls_text": precisions,
    "sparse_pls_faces": areas,
    "thesis_linear": accuracies,
    "thesis_gaussian": accuracies,
    "thesis_semisupervised": with_graph,
    "thesis_yahoo": web_pages,
    "thesis_promoters": accuracies,
    "thesis_trials": accuracies_of_readings,
    "thesis_neural": neural_features,
}
