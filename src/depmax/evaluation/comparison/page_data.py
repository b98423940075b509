"""The part of a report about the data: an overview, the target by each column, scores by class."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from depmax._inputs.table import is_frame, read_table
from depmax._text import counted, listed, share
from depmax.evaluation.comparison.findings import Findings
from depmax.evaluation.comparison.verdict import class_balance
from depmax.plotting import TargetByColumnDisplay
from depmax.report import Column, Picture, Section, Table

#: Columns that are drawn against the target.
DRAWN = 9
#: Cells up to which equal rows and columns are looked for.
MOST_CELLS = 20_000_000


def data_section(findings: Findings) -> Section:
    """Rows, types, missing values, constant columns, duplicates, and the target."""
    comparison = findings.comparison
    given, used = comparison.n_rows_given or len(comparison.y), len(comparison.y)
    points = [
        counted(given, "row")
        + (f", of which {used:,} were drawn at random" if given > used else "")
    ]
    points += _about_columns(findings)
    kind = comparison.setting.problem.about_target
    balance = class_balance(comparison)
    points.append(f"Target: {comparison.target_name}, {balance or kind + _range(findings)}")
    return Section("The data", points=tuple(f"{point}." for point in points))


def _about_columns(findings: Findings) -> list[str]:
    """Types, missing values, constant columns and duplicates, if there are any."""
    X = findings.comparison.X
    read = read_table(findings.comparison.filled)
    n_columns, categories = len(findings.names), len(read.categories)
    types = [
        text
        for text, count in (
            (f"{n_columns - categories:,} numeric", n_columns - categories),
            (f"{categories:,} categorical", categories),
        )
        if count
    ]
    points = [f"{counted(n_columns, 'column')}: {', '.join(types)}"]
    missing = _missing(X)
    cells = len(findings.comparison.y) * n_columns
    if missing.sum():
        where = [findings.names[j] for j in np.argsort(-missing, kind="stable") if missing[j]]
        points.append(
            f"{counted(int(missing.sum()), 'missing value')} ({share(int(missing.sum()), cells)} "
            f"of the cells) in {listed(where, 5)}, filled with the {_fill(findings)}"
        )
    else:
        points.append("No missing values")
    if sparse.issparse(read.values):
        return [*points, f"{share(read.values.nnz, max(1, cells))} of the cells are not zero"]
    values = np.asarray(read.values)
    constant = np.flatnonzero((values == values[:1]).all(axis=0))
    if len(constant):
        names = listed([findings.names[j] for j in constant], 5)
        points.append(f"{counted(len(constant), 'constant column')}: {names}")
    if values.size <= MOST_CELLS:
        points += _duplicates(values, findings.names)
    return points


def _fill(findings: Findings) -> str:
    """What fills gaps, in words; the most frequent value fills those of categories."""
    how = findings.comparison.setting.impute
    if how == "frequent":
        return "most frequent value of the column"
    return f"{how} of the column, in categories with the most frequent value"


def _missing(X: Any) -> np.ndarray:
    """Missing values of every column."""
    if sparse.issparse(X):
        return np.zeros(X.shape[1], dtype=int)
    if not is_frame(X):
        values = np.asarray(X)
        numbers = values if values.dtype.kind == "f" else np.zeros(values.shape)
        return np.asarray(np.isnan(numbers).sum(axis=0))
    frame = nw.from_native(X, eager_only=True)
    counts = []
    for name in frame.columns:
        column = frame.get_column(name)
        gaps = column.is_null()
        if frame.schema[name].is_float():
            gaps = gaps | column.is_nan()
        counts.append(int(gaps.sum()))
    return np.array(counts)


def _duplicates(values: np.ndarray, names: tuple[str, ...]) -> list[str]:
    """Rows and columns that occur more than once."""
    points = []
    again = len(values) - len({row.tobytes() for row in np.ascontiguousarray(values)})
    if again:
        points.append(
            f"{counted(again, 'row')} {'repeats' if again == 1 else 'repeat'} another row in every "
            "column"
        )
    seen: dict[bytes, int] = {}
    copies = []
    for place, column in enumerate(np.ascontiguousarray(values.T)):
        first = seen.setdefault(column.tobytes(), place)
        if first != place:
            copies.append(f"{names[place]} (of {names[first]})")
    if copies:
        points.append(f"{counted(len(copies), 'duplicate column')}: {listed(copies, 4)}")
    return points


def _range(findings: Findings) -> str:
    y = findings.comparison.y
    if findings.comparison.setting.problem.kind != "numbers":
        return ""
    return f" from {y.min():.4g} to {y.max():.4g}, median {np.median(y):.4g}"


def target_section(findings: Findings) -> Section | None:
    """The target by the values of each column that matters most."""
    comparison = findings.comparison
    kind = comparison.setting.problem.kind
    if kind not in ("classes", "numbers"):
        return None
    which = findings.shown_columns[:DRAWN]
    if not len(which):
        return None
    pictures = tuple(_target_picture(findings, int(column)) for column in which)
    drawn = (
        "Bars show the share of each class among rows with similar values"
        if kind == "classes"
        else (
            "Points are rows; the line joins medians of rows with similar values. For a "
            "category, the dot is the median and the bar spans the middle half"
        )
    )
    left = len(findings.shown_columns) - len(which)
    more = f" The best {len(which)} of {len(findings.shown_columns)} are drawn." if left else ""
    text = f"{findings.why_shown} {drawn}.{more}"
    title = f"How {comparison.target_name} depends on single columns"
    return Section(title, (text,), pictures=pictures)


def _target_picture(findings: Findings, column: int) -> Picture:
    comparison = findings.comparison
    values, categorical = findings.raw_column(column)
    display = TargetByColumnDisplay(
        values,
        comparison.y,
        findings.names[column],
        target_name=comparison.target_name,
        classes=comparison.setting.problem.kind == "classes",
        categorical=categorical,
    )
    effect = float(findings.screening.pvalues_adjusted[column])
    alone = "p < 0.001" if effect < 1e-3 else f"p = {effect:.2g}"
    caption = f"{comparison.target_name} by {findings.names[column]} (alone: adjusted {alone})"
    return Picture(display, caption, f"Plot of {caption}.", width=3.4, height=2.5)


def classes_section(findings: Findings) -> Section | None:
    """Precision, recall and ROC-AUC of every class, on held-out rows."""
    if findings.comparison.setting.problem.kind != "classes":
        return None
    held_out = findings.held_out
    if held_out is None:
        return None
    from sklearn.metrics import precision_recall_fscore_support, roc_auc_score

    classes = np.unique(findings.comparison.y)
    precision, recall, f1, support = precision_recall_fscore_support(
        held_out.truth, held_out.predicted, labels=classes, zero_division=0.0
    )
    areas: list[float | None] = [None] * len(classes)
    if held_out.scores is not None:
        for place, label in enumerate(classes):
            inside = held_out.truth == label
            if 0 < inside.sum() < len(inside):
                areas[place] = float(roc_auc_score(inside, held_out.scores[:, place]))
    rows = tuple(
        (str(label), int(support[j]), float(precision[j]), float(recall[j]), float(f1[j]), areas[j])
        for j, label in enumerate(classes)
    )
    name = findings.comparison.recommended
    text = (
        f"Predictions with {name} for {counted(len(held_out.truth), 'row')} that the model was not "
        "fitted on. Precision: the share of the rows predicted as this class that belong to it. "
        "Recall: the share of its rows that are found. ROC-AUC: how often a row of the class gets "
        "a higher score than a row of another class; 0.5 is guessing.",
    )
    table = Table(
        f"Each class with {name}, on held-out rows.",
        (
            Column("class"),
            Column("rows", "d"),
            Column("precision", ".3f"),
            Column("recall", ".3f"),
            Column("F1", ".3f"),
            Column("ROC-AUC", ".3f", "one class against all others"),
        ),
        rows,
    )
    return Section("How well is each class predicted?", text, (table,))
