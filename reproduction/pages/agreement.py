"""How many figures of a table agree with the published ones, and what its variants give."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproduction.pages.markdown import DASH, markdown_head, markdown_line

Row = dict[str, Any]

#: Notes of sets whose rows are not those of the publication.
OTHER_ROWS = ("stand-in", "another sample", "rows where the paper has", "published: RCV1")
#: Share of the comparable figures that should agree.
BAR = 0.85
BAR_TEXT = f"{100 * BAR:g} %"
#: Why figures differ, by table; the first entry whose data and methods fit a figure counts.
REASONS = Path(__file__).with_name("reasons.json")
#: What an entry is, and how the page says it.
KINDS = {
    "cause": "a trial supports the cause",
    "tried": "explanations were tried without success",
    "open": "nothing was tried",
}
#: Methods that the publication does not have and that the tables show in columns of their own.
SHOWN = ("default", "graph", "published rule", "random start")


@dataclass(frozen=True)
class Scale:
    """Which differences count as agreement in a table.

    Attributes
    ----------
    floor : float
        A difference up to this agrees, whatever the standard errors.
    folds : int or None
        Number of folds, if the published error is a standard deviation over folds; None: it is a
        standard error. If none is published, ours is used for it.
    repetitions : int or None
        Folds or splits of the publication, None if every run has all of them.
    """

    floor: float = 0.0
    folds: int | None = None
    repetitions: int | None = None


SCALES = {
    "bahsic_table1": Scale(1.5),
    "bahsic_microarrays": Scale(1.5),
    "ica_linear": Scale(folds=10, repetitions=10),
    "ica_nonlinear": Scale(folds=10, repetitions=10),
    "ica_housing": Scale(folds=10, repetitions=10),
    "sparse_pls_regression": Scale(folds=5, repetitions=5),
    "sparse_pls_neighbors": Scale(0.015, folds=15, repetitions=15),
    "sparse_pls_machines": Scale(0.015, folds=15, repetitions=15),
    "thesis_linear": Scale(0.015, repetitions=50),
    "thesis_gaussian": Scale(0.015, repetitions=50),
    "thesis_semisupervised": Scale(0.015, repetitions=50),
    "thesis_promoters": Scale(0.015, repetitions=30),
}
#: Rows that the sparse PLS paper has ten folds of instead of fifteen.
TEN_FOLDS = ("LAD BLF", "Exp KB", "Log KB", "RBF", "Sp. RBF")


def agrees(row: Row, scale: Scale) -> bool:
    """Whether a figure is within two standard errors of the difference, or within the floor."""
    own = row["standard_error"] or 0.0
    theirs = row.get("published_error")
    if theirs is None:
        theirs = own
    elif scale.folds is not None:
        theirs = theirs / math.sqrt(scale.folds)
    # a figure of one draw of the rows is off by as much as draws differ
    theirs = max(theirs, row.get("draw_error") or 0.0)
    allowed = max(scale.floor, 2.0 * math.hypot(own, theirs))
    return bool(abs(row["ours"] - row["published"]) <= allowed)


def comparable(rows: Iterable[Row]) -> list[Row]:
    """Rows with both figures, on the publication's own data and computed as its text says."""
    return [
        row
        for row in rows
        if row["ours"] is not None
        and row.get("published") is not None
        and "," not in f"{row['dataset']}{row['method']}"
        and not any(words in (row.get("note") or "") for words in OTHER_ROWS)
    ]


def agreement(name: str, rows: Sequence[Row]) -> list[str]:
    """The share that agrees, why others differ, and the variants; nothing without a scale."""
    if name not in SCALES:
        return []
    scale, found = SCALES[name], comparable(rows)
    others = [row for row in found if not agrees(row, scale)]
    near = len(found) - len(others)
    unit = " points" if name.startswith("bahsic") else ""
    floor = f" or {scale.floor:g}{unit}" if scale.floor else ""
    verdict = "met" if near >= BAR * len(found) else "missed"
    return [
        "",
        f"**{near} of {len(found)} comparable figures ({100 * near / len(found):.3g} %) are within "
        f"two standard errors of the difference{floor}; the bar of {BAR_TEXT} is {verdict}.**"
        + _repeated(found, scale),
        *_explained(name, others, scale),
        *_variants(rows, scale),
    ]


def _repeated(found: Sequence[Row], scale: Scale) -> str:
    """How many figures have as many folds or splits as the publication."""
    if scale.repetitions is None:
        return ""
    whole = sum(row["n_splits"] >= wanted_repetitions(row, scale) for row in found)
    return f" {whole} of {len(found)} have as many folds or splits as the publication."


def wanted_repetitions(row: Row, scale: Scale) -> int:
    """Folds or splits that the publication has for a figure."""
    assert scale.repetitions is not None
    if scale.repetitions == 15 and row["method"].startswith(TEN_FOLDS):
        return 10
    return scale.repetitions


def reason_of(name: str, row: Row) -> tuple[str, str] | None:
    """Kind and text of the entry that fits a figure of a table; None: there is none."""
    for entry in json.loads(REASONS.read_text(encoding="utf-8")).get(name, []):
        if all(
            wanted == "*" or value in wanted
            for wanted, value in (
                (entry["data"], row["dataset"]),
                (entry["methods"], row["method"]),
            )
        ):
            return entry["kind"], entry["text"]
    return None


def _explained(name: str, others: Sequence[Row], scale: Scale) -> list[str]:
    """The figures that differ, grouped by the reason that is known for them."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in others:
        reason = reason_of(name, row) or ("open", "No reason is known.")
        groups.setdefault(reason, []).append(row)
    if not groups:
        return []
    counts = [
        f"{sum(len(rows) for (kind, _), rows in groups.items() if kind == known)} where {words}"
        for known, words in KINDS.items()
        if any(kind == known for kind, _ in groups)
    ]
    those = "The one that differs" if len(others) == 1 else f"The {len(others)} that differ"
    lines = ["", f"{those}: {', '.join(counts)}.", ""]
    order = list(KINDS)
    for (kind, text), rows in sorted(groups.items(), key=lambda item: order.index(item[0][0])):
        lines.append(f"- **{kind.capitalize()}** · {_figures(rows, scale)}: {text}")
    return lines


def _figures(rows: Sequence[Row], scale: Scale) -> str:
    """Data sets with their methods, and the range of the differences."""
    by_data: dict[str, dict[str, None]] = {}
    for row in rows:
        by_data.setdefault(row["dataset"], {})[row["method"]] = None
    names = "; ".join(f"*{data}* {', '.join(methods)}" for data, methods in by_data.items())
    digits = 1 if scale.floor > 1 else (4 if max(abs(r["ours"]) for r in rows) < 0.1 else 3)
    ends = sorted(row["ours"] - row["published"] for row in rows)
    span = [f"{end:+.{digits}f}" for end in dict.fromkeys([ends[0], ends[-1]])]
    return f"{names} ({' to '.join(span)})"


def _variants(rows: Sequence[Row], scale: Scale) -> list[str]:
    """A line per data set, method and variant: published, as the text says, and the variant."""
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
    head = markdown_head(
        ["figure", "variant", "splits", "published", "as the text says", "by the variant"]
    )
    lines = [markdown_line([*key, *figures]) for key, figures in found.items()]
    return ["", *head, *lines] if lines else []


def _three(words: Row, variant: Row) -> list[tuple[Row, str]]:
    """Where the figures of a line are: published, as the text says, by the variant."""
    return [(words, "published"), (words, "ours"), (variant, "ours")]


def _key(dataset: str, method: str, row: Row) -> tuple[Any, ...]:
    return dataset, method, row.get("neighbors")
