"""A profile as a report: the findings in words first, then every column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from depmax._text import counted, listed, share
from depmax._version import __version__
from depmax.plotting import TargetByColumnDisplay
from depmax.report import Column, KeyFigure, Picture, Report, Section, Table

if TYPE_CHECKING:
    from depmax.evaluation.profiling.profile import Profile
    from depmax.evaluation.profiling.ties import ColumnPair

#: Rows of a table on the page, and of that of copied rows.
SHOWN, COPIES = 300, 20
#: Strongest pairs that are drawn, and names that a cell lists.
DRAWN, LISTED = 6, 12


def report_of(found: Profile, *, title: str = "", command: str = "") -> Report:
    """The page of a profile."""
    sections = [
        _groups(found),
        _pairs(found),
        _copies(found),
        _columns(found),
        _limits(found, command),
    ]
    cautions = [f"Caution {caution}" for caution in found.cautions]
    return Report(
        title or "What is in this table?",
        "Kinds of columns, gaps, copies, and which columns say the same.",
        (*found.findings, *cautions),
        _figures(found),
        tuple(section for section in sections if section is not None),
        f"Made by depmax {__version__}. This page needs no network.",
    )


def _figures(found: Profile) -> tuple[KeyFigure, ...]:
    n_columns = len(found.columns)
    gaps = sum(column.missing for column in found.columns)
    predicted = sum(len(group.others) for group in found.groups)
    return (
        KeyFigure("rows", f"{found.n_rows:,}", f"{len(found.copied_rows):,} repeat an earlier row"),
        KeyFigure("columns", f"{n_columns:,}", f"{len(found.copied_columns):,} copy another"),
        KeyFigure("empty cells", share(gaps, max(1, found.n_rows * n_columns)), f"{gaps:,}"),
        KeyFigure("columns that others predict", f"{predicted:,}", "at least 80% of each"),
    )


def _columns(found: Profile) -> Section:
    notes, n_rows = found.notes, max(1, found.n_rows)
    more = f" The first {SHOWN} of {len(found.columns):,}." if len(found.columns) > SHOWN else ""
    columns = (
        Column("place", "d"),
        Column("column"),
        Column("kind"),
        Column("missing", "bar", "share of the rows without a value"),
        Column("distinct", ",d", "different values"),
        Column("values"),
        Column("note", "", "which column it copies, or which predicts it"),
    )
    rows = tuple(
        (k, c.name, c.kind, c.missing / n_rows, c.distinct, c.values, notes.get(c.name))
        for k, c in enumerate(found.columns[:SHOWN], 1)
    )
    caption = f"Every column by itself.{more} Click a heading to sort."
    return Section("Columns", tables=(Table(caption, columns, rows),))


def _copies(found: Profile) -> Section | None:
    missing = {column.name: column.missing for column in found.columns}
    more = f"; the first {COPIES}" if len(found.copied_rows) > COPIES else ""
    parts: tuple[tuple[str, tuple[Column, ...], list[tuple[Any, ...]]], ...] = (
        (
            f"{counted(len(found.copied_rows), 'row')} like an earlier one, counted from 1{more}.",
            (Column("row", ",d"), Column("repeats row", ",d")),
            [(int(row), int(first)) for row, first in found.copied_rows[:COPIES] + 1],
        ),
        (
            f"{counted(len(found.copied_columns), 'column')} equal to an earlier one.",
            (Column("column"), Column("copies")),
            list(found.copied_columns.items()),
        ),
        (
            "Columns that lack values in exactly the same rows.",
            (Column("columns"), Column("rows", ",d")),
            [(listed(names, LISTED), missing[names[0]]) for names in found.gaps_together],
        ),
    )
    tables = tuple(Table(text, head, tuple(rows[:SHOWN])) for text, head, rows in parts if rows)
    return Section("What repeats", tables=tables) if tables else None


def _groups(found: Profile) -> Section | None:
    if not found.groups:
        return None
    text = (
        "The first column of a group predicts at least 80% of the variation of each of the others, "
        "by a straight line or a curve, or from category to category. Where it is kept, the others "
        "add little; where they differ is worth a look.",
    )
    rows = tuple(
        (
            group.first,
            len(group.others),
            listed(
                [f"{n} ({s:.2f})" for n, s in zip(group.others, group.shares, strict=True)], LISTED
            ),
        )
        for group in found.groups[:SHOWN]
    )
    columns = Column("column"), Column("predicts", ",d", "number of columns"), Column("which")
    caption = f"{counted(len(found.groups), 'group')}, with the share of each that is predicted."
    return Section("Columns that say the same", text, (Table(caption, columns, rows),))


def _pairs(found: Profile) -> Section | None:
    if not found.n_pairs:
        return None
    if not found.pairs:
        text = "No two columns" + " of different groups" * bool(found.groups)
        return Section("Strongest pairs", (f"{text} depend on each other beyond chance.",))
    table = Table(
        f"The strongest of {counted(found.n_dependent, 'pair')} that depend on each other beyond "
        "chance; a group stands for its first column.",
        (
            Column("column"),
            Column("predicts"),
            Column("share", "bar", "of its variation, less what chance gives"),
            Column("p (adjusted)", "p", "times all pairs of columns, in both directions"),
        ),
        tuple((p.predictor, p.column, p.share, p.pvalue_adjusted) for p in found.pairs),
    )
    drawn = [_picture(found, pair) for pair in found.pairs[:DRAWN]]
    pictures = tuple(picture for picture in drawn if picture is not None)
    return Section("Strongest pairs", tables=(table,), pictures=pictures)


def _picture(found: Profile, pair: ColumnPair) -> Picture | None:
    """The predicted column by the values of the other; none of dates."""
    x, y = found._drawn.get(pair.predictor), found._drawn.get(pair.column)
    if x is None or y is None:
        return None
    both = np.isfinite(x.cells) & np.isfinite(y.cells)
    values, target = (
        each.cells[both]
        if each.levels is None
        else np.array([str(each.levels[int(code)]) for code in each.cells[both]], dtype=object)
        for each in (x, y)
    )
    if min(len(np.unique(values)), len(np.unique(target))) < 2:
        return None
    display = TargetByColumnDisplay.from_predictions(
        values,
        target,
        name=pair.predictor,
        target_name=pair.column,
        categorical=x.levels is not None,
        classes=y.levels is not None,
    )
    caption = f"{pair.predictor} predicts {pair.share:.0%} of {pair.column}"
    return Picture(display, caption, f"Plot: {caption}.", width=3.4, height=2.5)


def _limits(found: Profile, command: str) -> Section:
    drawn = ", drawn with a fixed seed" if found.rows_compared < found.n_rows else ""
    points = [
        f"Columns were compared on {found.rows_compared:,} of {counted(found.n_rows, 'row')}"
        f"{drawn}.",
        f"{found.columns_compared:,} of {counted(len(found.columns), 'column')} were compared with "
        "each other: no copies, constants, identifiers and free text.",
        "A share counts only if its p-value, times all pairs, is at most 0.05. Relations that "
        "leave the mean as it is, such as points on a circle, are not seen.",
    ]
    call = "from depmax.evaluation import profile\n\nprint(profile(X))"
    return Section("How this was made", points=tuple(points), code=command or call)
