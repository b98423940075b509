"""How many figures of a table agree with the published ones, and what its variants give."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from reproduction.pages.markdown import DASH, markdown_head, markdown_line

Row = dict[str, Any]

#: Notes of sets whose rows are not those of the publication.
OTHER_ROWS = ("stand-in", "another sample", "rows where the paper has", "published: RCV1")
#: Rows beside those of the publication that the tables show themselves.
SHOWN = ("default", "graph", "published rule")


@dataclass(frozen=True)
class Scale:
    """What is near in a table.

    Attributes
    ----------
    floor : float
        A difference up to this agrees, whatever the standard errors.
    folds : int or None
        Number of folds of which the published error is the deviation; None: it is a standard
        error. Where nothing is published, it is taken to be ours.
    """

    floor: float = 0.0
    folds: int | None = None


SCALES = {
    "bahsic_table1": Scale(1.5),
    "bahsic_microarrays": Scale(1.5),
    "ica_linear": Scale(folds=10),
    "ica_nonlinear": Scale(folds=10),
    "ica_housing": Scale(folds=10),
    "sparse_pls_regression": Scale(folds=5),
    "sparse_pls_neighbors": Scale(0.015, folds=15),
    "sparse_pls_machines": Scale(0.015, folds=15),
    "thesis_linear": Scale(0.015),
    "thesis_gaussian": Scale(0.015),
    "thesis_semisupervised": Scale(0.015),
    "thesis_promoters": Scale(0.015),
}


def agrees(row: Row, scale: Scale) -> bool:
    """Whether a figure is within two standard errors of the difference, or within the floor."""
    own = row["standard_error"] or 0.0
    theirs = row.get("published_error")
    if theirs is None:
        theirs = own
    elif scale.folds is not None:
        theirs = theirs / math.sqrt(scale.folds)
    allowed = max(scale.floor, 2.0 * math.hypot(own, theirs))
    return bool(abs(row["ours"] - row["published"]) <= allowed)


def comparable(rows: Iterable[Row]) -> list[Row]:
    """Rows with both figures, of the publication's own rows, that follow its words."""
    return [
        row
        for row in rows
        if row["ours"] is not None
        and row.get("published") is not None
        and "," not in f"{row['dataset']}{row['method']}"
        and not any(words in (row.get("note") or "") for words in OTHER_ROWS)
    ]


def agreement(name: str, rows: Sequence[Row]) -> list[str]:
    """The share that agrees, and a table of the variants; nothing for tables without a scale."""
    if name not in SCALES:
        return []
    scale, found = SCALES[name], comparable(rows)
    near = sum(agrees(row, scale) for row in found)
    unit = " points" if name.startswith("bahsic") else ""
    floor = f" or {scale.floor:g}{unit}" if scale.floor else ""
    share = round(100 * near / len(found))
    return [
        "",
        f"**{near} of {len(found)} comparable figures ({share} %) are within two standard errors "
        f"of the difference{floor}.**",
        *_variants(rows, scale),
    ]


def _variants(rows: Sequence[Row], scale: Scale) -> list[str]:
    """A line per data set, method and variant: published, by the words, by the variant."""
    done = [row for row in rows if row["ours"] is not None]
    plain = {_key(row["dataset"], row["method"], row): row for row in done}
    digits = 1 if scale.floor > 1 else (4 if scale.floor == 0 else 3)
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in done:
        data, _, other_data = row["dataset"].partition(", ")
        method, _, other_method = row["method"].partition(", ")
        words = plain.get(_key(data, method, row))
        what = other_data or other_method
        if not what or what in SHOWN or words is None or words["published"] is None:
            continue
        figures = [f"{row_of[name]:.{digits}f}" for row_of, name in _three(words, row)]
        splits = DASH if row.get("n_splits") is None else f"{row['n_splits']:.0f}"
        line = found.setdefault((f"{data}, {method}", what, splits), ["", "", ""])
        for place, figure in enumerate(figures):  # numbers of neighbours beside each other
            line[place] += f" / {figure}" if line[place] else figure
    head = markdown_head(["figure", "variant", "splits", "published", "by the words", "variant"])
    lines = [markdown_line([*key, *figures]) for key, figures in found.items()]
    return ["", *head, *lines] if lines else []


def _three(words: Row, variant: Row) -> list[tuple[Row, str]]:
    """Where the figures of a line are: published, by the words of the text, by the variant."""
    return [(words, "published"), (words, "ours"), (variant, "ours")]


def _key(dataset: str, method: str, row: Row) -> tuple[Any, ...]:
    return dataset, method, row.get("neighbors")
