"""A profile as a report: the findings in words first, then every column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from depmax._text import counted, listed
from depmax._version import __version__
from depmax.plotting import TargetByColumnDisplay
from depmax.report import Column, Picture, Report, Section, Table

if TYPE_CHECKING:
    from depmax.evaluation.profiling.profile import Profile
    from depmax.evaluation.profiling.ties import ColumnGroup, ColumnPair

#: Rows of a table on the page, strongest pairs that are drawn, and names that a cell lists.
SHOWN, DRAWN, LISTED = 300, 6, 12


def report_of(found: Profile, *, title: str = "", command: str = "") -> Report:
    """The page of a profile."""
    missing = {column.name: column.missing for column in found.columns}
    cells = found.cells()
    cells["missing"] = [count / max(1, found.n_rows) for count in cells["missing"]]
    sections = (
        _section(
            "Columns that say the same",
            "The first predicts at least 80% of each of the others, by a line or a curve, or from "
            "category to category. Where they differ is worth a look.",
            {"column": "", "predicts": ",d", "which, and how much": ""},
            [(g.first, len(g.others), _with_shares(g)) for g in found.groups],
        ),
        _section(
            "Strongest pairs",
            f"The strongest of {counted(found.n_dependent, 'pair')} that depend on each other "
            "beyond chance; two groups are their first columns. Shares are of the variation of "
            "the second, less what chance gives; p-values are times all pairs in both directions.",
            {"column": "", "predicts": "", "share": "bar", "p (adjusted)": "p"},
            [(p.predictor, p.column, p.share, p.pvalue_adjusted) for p in found.pairs],
            *filter(None, (_picture(found, pair) for pair in found.pairs[:DRAWN])),
        ),
        _section(
            "Copied rows",
            "Rows like an earlier one, counted from 1.",
            {"row": ",d", "repeats row": ",d"},
            (found.copied_rows + 1).tolist(),
        ),
        _section(
            "Copied columns",
            "Columns equal to an earlier one.",
            {"column": "", "copies": ""},
            list(found.copied_columns.items()),
        ),
        _section(
            "Missing together",
            "Columns that lack values in exactly the same rows.",
            {"columns": "", "rows": ",d"},
            [(listed(names, LISTED), missing[names[0]]) for names in found.gaps_together],
        ),
        _section(
            "Columns",
            "Every column by itself, with the share of its rows that have no value and its number "
            "of different values. Click a heading to sort.",
            {"place": "d", **dict.fromkeys(cells, ""), "missing": "bar", "distinct": ",d"},
            list(zip(range(1, len(missing) + 1), *cells.values(), strict=False)),
        ),
        Section("How this was made", points=_limits(found), code=command or "print(profile(X))"),
    )
    return Report(
        title or "What is in this table?",
        "Kinds of columns, gaps, copies, and which columns say the same.",
        (*found.findings, *(f"Caution {caution}" for caution in found.cautions)),
        sections=tuple(section for section in sections if section is not None),
        footer=f"Made by depmax {__version__}. This page needs no network.",
    )


def _section(
    title: str, caption: str, formats: dict[str, str], rows: list[Any], *pictures: Picture
) -> Section | None:
    """A table of the first rows; nothing where there are none."""
    more = f" The first {SHOWN} of {len(rows):,}." if len(rows) > SHOWN else ""
    columns = tuple(Column(name, form) for name, form in formats.items())
    table = Table(caption + more, columns, tuple(map(tuple, rows[:SHOWN])))
    return Section(title, tables=(table,), pictures=pictures) if rows else None


def _with_shares(group: ColumnGroup) -> str:
    return listed(map("{} ({:.2f})".format, group.others, group.shares), LISTED)


def _picture(found: Profile, pair: ColumnPair) -> Picture | None:
    """The predicted column by the values of the other; none of dates."""
    x, y = found._drawn.get(pair.predictor), found._drawn.get(pair.column)
    if x is None or y is None:
        return None
    both = np.isfinite(x.cells) & np.isfinite(y.cells)
    values, target = x.values(both), y.values(both)
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


def _limits(found: Profile) -> tuple[str, ...]:
    drawn = ", drawn with a fixed seed" if found.rows_compared < found.n_rows else ""
    return (
        f"{found.columns_compared:,} of {counted(len(found.columns), 'column')} were compared with "
        "each other: no copies, constants, identifiers and free text, on "
        f"{found.rows_compared:,} of {counted(found.n_rows, 'row')}{drawn}.",
        "A share counts only if its p-value, times all pairs, is at most 0.05. Relations that "
        "leave the mean as it is, such as points on a circle, are not seen.",
    )
