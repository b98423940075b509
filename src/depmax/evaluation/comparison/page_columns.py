"""The part of a report about columns: those kept, their redundancy, pairs and bands."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from depmax._text import counted, listed, short_effect
from depmax.evaluation.comparison.findings import MATRIX_COLUMNS, Findings
from depmax.evaluation.comparison.verdict import LEVEL
from depmax.plotting import FeatureScatterDisplay, HeatMapDisplay, LoadingsDisplay, RankingDisplay
from depmax.report import Column, Picture, Section, Table

#: Numbers after these words count columns and say nothing about an order.
COUNTERS = frozenset(
    {"a", "att", "attr", "attribute", "c", "col", "column", "f", "feat", "feature", "field"}
    | {"ic", "n", "p", "pc", "pca", "v", "var", "variable", "x", "z"}
)
#: Fewer columns are clearer as bars.
FEWEST = 10


def positions_of(names: Sequence[str]) -> np.ndarray | None:
    """Positions of columns whose names differ in one increasing number, else None.

    >>> positions_of([f"{nm} nm" for nm in range(400, 500, 10)])[:3]
    array([400., 410., 420.])
    >>> positions_of([f"x{j}" for j in range(20)]) is None
    True
    """
    if len(names) < FEWEST:
        return None
    parts = [re.fullmatch(r"(\D*?)(-?\d+(?:[.]\d+)?)(\D*)", name) for name in names]
    found = [part for part in parts if part is not None]
    if len(found) < len(names) or len({(part[1], part[3]) for part in found}) != 1:
        return None
    word = re.sub(r"[^a-z]", "", found[0][1].lower())
    if word in COUNTERS and not found[0][3].strip():
        return None
    values = np.array([float(part[2]) for part in found])
    return values if bool((np.diff(values) > 0).all()) else None


def unit_of(names: Sequence[str]) -> str:
    """The words around the numbers of such names.

    >>> unit_of(["band_1", "band_2"]), unit_of(["400 nm", "410 nm"])
    ('band', 'nm')
    """
    return re.sub(r"[-_\d.\s]+", " ", names[0]).strip()


def features_section(findings: Findings) -> Section | None:
    """The first two features of the best extractor, and how they weigh the columns."""
    if findings.extractor is None:
        return None
    pictures = [_scatter(findings), _loadings(findings)]
    drawn = tuple(picture for picture in pictures if picture is not None)
    if not drawn:
        return None
    text = (
        f"{findings.extractor.name} makes the best new features. {findings.extractor.description}",
    )
    return Section("What do the new features show?", text, pictures=drawn)


def _scatter(findings: Findings) -> Picture | None:
    comparison = findings.comparison
    if comparison.y.ndim != 1:
        return None
    features, held_out = findings.extracted
    display = FeatureScatterDisplay.from_predictions(
        features, comparison.y, held_out=held_out, target_name=comparison.target_name
    )
    dimensions = "first two features" if features.shape[1] > 1 else "feature"
    caption = (
        f"The {dimensions}, found from one training part; {int(held_out.sum())} held-out rows are "
        "drawn in full colour, training rows faintly."
    )
    if display.n_merged:
        caption += f" The {display.n_merged} rarest classes are drawn as one, in grey."
    return Picture(display, caption, f"Scatter plot coloured by the target. {caption}", height=4.0)


def _loadings(findings: Findings) -> Picture | None:
    if not findings.comparison.setting.prepare:
        return None
    extractor, names = findings.directions
    positions = positions_of(names)
    try:
        display = LoadingsDisplay.from_estimator(extractor)
    except ValueError:  # no linear directions
        return None
    if display.weights.shape[1] != len(names):
        return None
    display.names, display.positions = names, positions
    if positions is not None:
        display.position_label = unit_of(names)
    largest = [
        f"feature {number + 1}: {listed([names[j] for j in np.argsort(-np.abs(row))[:3]], 3)}"
        for number, row in enumerate(display.weights)
    ]
    caption = (
        "Weights of the standardised columns in the directions, fitted on all rows. Largest in "
        f"{'; '.join(largest)}."
    )
    height = 3.4 if positions is not None else 1.0 + 0.24 * min(display.n_shown, len(names))
    kind = "Curves" if positions is not None else "Bar chart"
    return Picture(display, caption, f"{kind}. {caption}", height=height)


#: Rows of the table of columns.
LISTED = 50
#: Said where a column has a higher score than one ranked before it.
SCORES_OF_ROUNDS = (
    "Each score belongs to the round of the search that decided about the column, so scores need "
    "not fall with the rank: a column may explain little until another is known."
)
#: Edges of the bands in the heat map.
EDGES = 13


def columns_section(findings: Findings) -> Section | None:
    """The columns that the best selector keeps, and the screening of all."""
    if findings.selector is None:
        return None
    name = findings.selector.name
    text: tuple[str, ...] = (
        f"Kept by {name} when it is fitted on all rows. The p-value comes from screening each "
        "column alone, adjusted over all columns (false discovery rate); it does not test the "
        "kept columns as a set, since the rows that chose them cannot also test them.",
    )
    scores = np.asarray(getattr(findings.selected, "scores_", np.zeros(len(findings.names))))
    if (np.diff(scores[findings.kept]) > 0).any():
        text += (SCORES_OF_ROUNDS,)
    return Section("Which columns?", text, (_kept_table(findings),), (_ranking_picture(findings),))


def _kept_table(findings: Findings) -> Table:
    kept = findings.kept[:LISTED]
    screening, frequencies = findings.screening, findings.frequencies
    shares = (screening.effects, screening.effects_low, screening.effects_high)
    scores = getattr(findings.selected, "scores_", None)
    rows = tuple(
        (
            position + 1,
            findings.names[column],
            None if scores is None else float(scores[column]),
            None if frequencies is None else float(frequencies[column]),
            max(0.0, float(screening.scores[column])),  # an unbiased estimate may be negative
            short_effect(*(ends[column] for ends in shares)),
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
            Column("HSIC alone", ".3f", "dependence of this column alone on the target; 0 is none"),
            Column(
                "effect alone",
                "",
                "the same on a scale from 0 (independent) to 1, with a 95% interval: comparable "
                "between columns of different units and types",
            ),
            Column("p (adjusted)", "p", "of this column alone, adjusted over all columns"),
            Column(
                "substitute for",
                "",
                "dropped columns that share at least a quarter of their variation with it, and "
                "more than with any other kept column",
            ),
        ),
        rows,
    )


def _ranking_picture(findings: Findings) -> Picture:
    screening = findings.screening
    kept = np.zeros(len(findings.names), dtype=bool)
    kept[findings.kept] = True
    display = RankingDisplay.from_predictions(
        np.maximum(screening.scores, 0.0),
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
        f"The {shown} columns that each depend most on the target, with adjusted p-values; those "
        f"that {findings.selector.name if findings.selector else ''} keeps are in colour. A column "
        "that matters only together with others may still be kept."
    )
    alternative = (
        f"Bar chart. {significant} of {len(order)} columns have an adjusted p-value of at most "
        f"{LEVEL:g}; the strongest are {listed([findings.names[j] for j in order[:5]], 5)}."
    )
    return Picture(display, caption, alternative, height=0.9 + 0.24 * shown)


def redundancy_section(findings: Findings) -> Section | None:
    """The columns kept, together, and the dropped ones that say most of the same."""
    if findings.selector is None or not hasattr(findings.selected, "substitutes_"):
        return None
    replaced = {int(column): findings.replaced_by(column) for column in findings.kept}
    n_redundant = sum(map(len, replaced.values()))
    if not n_redundant:
        return None
    n_other = len(findings.names) - len(findings.kept) - n_redundant
    kept = listed([findings.names[column] for column in findings.kept], 8)
    text = [
        f"{findings.selector.name} keeps {kept}: they are meant to be used together. "
        f"{counted(n_redundant, 'dropped column')} shared at least a quarter of the variation of "
        "one of them (significantly): the first to try where that one is costly or missing."
    ]
    if n_other:
        text.append(
            f"{counted(n_other, 'other dropped column')} shared less with any single kept column."
        )
    return Section("Which columns are redundant?", tuple(text), (_redundant_table(findings),))


def _redundant_table(findings: Findings) -> Table:
    dependent = findings.screening.pvalues_adjusted <= LEVEL
    rows = []
    for column in findings.kept:
        dropped = findings.replaced_by(column)
        if dropped:
            count = int(dependent[findings.selected.substitutes_ == column].sum())
            rows.append((findings.names[column], len(dropped), count, listed(dropped, 8)))
    return Table(
        "Dropped columns, each with the kept column that shares most of its variation.",
        (
            Column("kept"),
            Column("substitute for", "d", "number of dropped columns"),
            Column("of them dependent", "d", "on the target when looked at alone (adjusted p)"),
            Column("redundant columns"),
        ),
        tuple(rows[:LISTED]),
    )


def matrices_section(findings: Findings) -> Section | None:
    """Dependence of pairs or bands, and redundancy among the kept columns."""
    pictures = [_bands_picture(findings) or _pairs_picture(findings), _redundancy(findings)]
    drawn = tuple(picture for picture in pictures if picture is not None)
    if not drawn:
        return None
    n_rows = len(findings.comparison.y)
    part = len(findings.sample)
    text = () if part == n_rows else (f"From {part} of {n_rows} rows, drawn at random.",)
    return Section("Redundancy and interactions", text, pictures=drawn)


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
