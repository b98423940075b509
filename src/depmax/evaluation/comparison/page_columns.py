"""The part of a report about columns: those kept, their redundancy, pairs and bands."""

from __future__ import annotations

import numpy as np

from depmax.evaluation.comparison.findings import MATRIX_COLUMNS, Findings
from depmax.evaluation.comparison.positions import positions_of, unit_of
from depmax.evaluation.comparison.words import LEVEL, counted, listed
from depmax.plotting import HeatMapDisplay, RankingDisplay
from depmax.report import Column, Picture, Section, Table

#: Rows of the table of columns.
LISTED = 50
#: Edges of the bands in the heat map.
EDGES = 13


def columns_section(findings: Findings) -> Section | None:
    """The columns that the best selector keeps, and the screening of all."""
    if findings.selector is None:
        return None
    name = findings.selector.name
    text = (
        f"Kept by {name} when it is fitted on all rows. The p-value belongs to the screening of "
        "each column alone, adjusted over all columns (false discovery rate); it is no test of the "
        "kept columns as a set, which rows that chose them could only confirm.",
    )
    return Section("Which columns?", text, (_kept_table(findings),), (_ranking_picture(findings),))


def _kept_table(findings: Findings) -> Table:
    kept = findings.kept[:LISTED]
    screening, frequencies = findings.screening, findings.frequencies
    scores = getattr(findings.selected, "scores_", None)
    rows = tuple(
        (
            position + 1,
            findings.names[column],
            None if scores is None else float(scores[column]),
            None if frequencies is None else float(frequencies[column]),
            float(screening.scores[column]),
            float(screening.pvalues_adjusted[column]),
            listed(findings.replaced_by(column), 4) or None,
        )
        for position, column in enumerate(kept)
    )
    count = counted(len(findings.kept), "column")
    caption = f"{count} kept" + (
        f", the best {LISTED} of them shown." if len(findings.kept) > LISTED else "."
    )
    return Table(
        caption,
        (
            Column("rank", "d"),
            Column("column"),
            Column("score", ".3g", "the selector's own; comparable within a round of its search"),
            Column("chosen on splits", "bar", "share of the training parts on which it was kept"),
            Column("HSIC alone", ".4f", "dependence of this column alone on the target"),
            Column("p (adjusted)", "p", "of this column alone, adjusted over all columns"),
            Column(
                "stands in for",
                "",
                "dropped columns that share at least a quarter of their variation with it, and "
                "more than with any other column kept",
            ),
        ),
        rows,
    )


def _ranking_picture(findings: Findings) -> Picture:
    screening = findings.screening
    kept = np.zeros(len(findings.names), dtype=bool)
    kept[findings.kept] = True
    display = RankingDisplay.from_predictions(
        screening.scores,
        names=findings.names,
        pvalues_adjusted=screening.pvalues_adjusted,
        kept=kept,
        label="HSIC of the column alone with the target",
        n_shown=15,
    )
    order = np.argsort(screening.ranking)
    shown = min(15, len(order))
    significant = int((screening.pvalues_adjusted <= LEVEL).sum())
    caption = (
        f"The {shown} columns that depend most on the target when looked at alone, with adjusted "
        f"p-values; those that {findings.selector.name if findings.selector else ''} keeps are in "
        "colour. A column may matter only together with others and still be kept."
    )
    alternative = (
        f"Bar chart. {significant} of {len(order)} columns have an adjusted p-value of at most "
        f"{LEVEL:g}; the strongest are {listed([findings.names[j] for j in order[:5]], 5)}."
    )
    return Picture(display, caption, alternative, height=0.9 + 0.24 * shown)


def matrices_section(findings: Findings) -> Section | None:
    """Dependence of pairs or bands, and redundancy among the kept columns."""
    pictures = [_bands_picture(findings) or _pairs_picture(findings), _redundancy(findings)]
    drawn = tuple(picture for picture in pictures if picture is not None)
    if not drawn:
        return None
    n_rows = len(findings.comparison.y)
    part = len(findings.sample)
    text = () if part == n_rows else (f"From {part} of {n_rows} rows, drawn at random.",)
    return Section("What do columns share?", text, pictures=drawn)


def _bands_picture(findings: Findings) -> Picture | None:
    positions = positions_of(findings.names)
    if positions is None:
        return None
    places = np.unique(np.linspace(0, len(positions), EDGES).round().astype(int))
    step = positions[-1] - positions[-2]
    at = {
        int(p): float(positions[p] if p < len(positions) else positions[-1] + step) for p in places
    }
    back = {edge: place for place, edge in at.items()}
    display = HeatMapDisplay.from_bands(
        lambda low, high: findings.band_dependence(back[low], back[high]),
        list(at.values()),
        unit=unit_of(findings.names),
    )
    row, column = np.unravel_index(np.nanargmax(display.values), display.values.shape)
    best = f"{display.column_names[int(column)]} to {display.row_names[int(row)]}"
    caption = f"Dependence of bands of neighbouring columns on the target; the best is {best}."
    return Picture(display, caption, f"Heat map over lower and upper edges. {caption}", height=4.2)


def _pairs_picture(findings: Findings) -> Picture | None:
    if findings.selector is not None:
        ranking = getattr(findings.selected, "ranking_", findings.screening.ranking)
    else:
        ranking = findings.screening.ranking
    which = np.argsort(ranking)[:MATRIX_COLUMNS]
    if len(which) < 2:
        return None
    values = findings.joint_dependence(which)
    names = [findings.names[column] for column in which]
    display = HeatMapDisplay.from_predictions(values, names=names, label="HSIC with the target")
    pairs = np.tril(values, -1)
    pairs[np.triu_indices(len(which))] = -np.inf
    one, other = np.unravel_index(np.argmax(pairs), pairs.shape)
    best = f"{names[other]} and {names[one]}"
    caption = (
        f"Dependence of pairs of columns on the target, for the {len(which)} columns ranked best; "
        f"the diagonal is a column alone. The strongest pair is {best}."
    )
    return Picture(display, caption, f"Heat map. {caption}", height=4.4)


def _redundancy(findings: Findings) -> Picture | None:
    if findings.selector is None or len(findings.kept) < 2:
        return None
    which = findings.kept[:MATRIX_COLUMNS]
    values = findings.redundancy(which)
    names = [findings.names[column] for column in which]
    display = HeatMapDisplay.from_predictions(values, names=names, label="alignment")
    lower = np.tril(values, -1)
    one, other = np.unravel_index(np.argmax(lower), lower.shape)
    caption = (
        f"Redundancy among the {len(which)} best columns kept: 1 if one column repeats another "
        f"(centred kernel alignment). The most alike are {names[other]} and {names[one]} "
        f"({lower[one, other]:.2f})."
    )
    return Picture(display, caption, f"Heat map. {caption}", height=4.4)
