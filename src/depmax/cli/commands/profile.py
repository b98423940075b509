"""``depmax profile``: what is in a table, before there is a target."""

from __future__ import annotations

import shlex
from typing import Any

from depmax.cli import options as o
from depmax.cli.output import Output

#: Groups that a terminal shows.
GROUPS = 5


@o.command
def profile(
    data: o.Data,
    *,
    report: str = o.option(
        "Path of the report.", "--report", "-o", default="profile.html", metavar="FILE"
    ),
    top: int = o.option(
        "Columns to show on a terminal; 0 shows all.", default=20, min=0, metavar="N"
    ),
    drop: list[str] | None = o.option("Ignore a column; may be repeated.", metavar="COLUMN"),
    reading: o.Reading,
    out: Output,
) -> None:
    """What is in this table? Kinds, gaps, copies, columns that say the same; no target needed.

    Prints what is worth knowing and writes a page. Columns say the same if one predicts at least
    80% of the variation of the other, along a straight line or a curve.

    [bold]Examples[/]

      depmax profile patients.csv

      depmax profile genes.parquet --report genes.html

      depmax profile bundled:tecator --json
    """
    from depmax._text import listed
    from depmax.cli.table import read_rows, require_columns
    from depmax.cli.writing import require_page, writing_to
    from depmax.evaluation import profile as profile_of
    from depmax.report import require_report

    require_report()
    place = require_page(report, reads=(data,))
    source = reading.open(data)
    with out.working(f"reading {source.name}"):
        require_columns(drop or (), list(source.schema()), "--drop", source.name)
        notes = source.assumptions()
        frame = read_rows(source, [name for name in source.schema() if name not in (drop or ())],
                          notes)  # fmt: skip
    out.note(notes)
    with out.counting() as count:
        found = profile_of(frame, progress=lambda s: count(s.step, s.done, s.total))
    facts = found.to_dict()
    for key, value in facts.items():
        out.result(key, value)
    out.result("notes", notes)
    for number, line in enumerate(found.findings):
        out.result("findings", found.findings, line, style="" if number else "bold")
    for caution in found.cautions:
        out.result("cautions", facts["cautions"], f"Caution {caution}", style="yellow")
    rows: list[dict[str, Any]] = found.to_frame("polars").to_dicts()
    if out.on_terminal:
        out.line()
        shown = ("column", "kind", "missing", "distinct", "note", "values")
        rows = [{key: row[key] for key in shown} for row in rows]
    out.table("columns", rows, shown=top)
    if out.on_terminal:
        out.line()
        for group in found.groups[:GROUPS]:
            line = f"{group.first} predicts at least 80% of {listed(group.others, 6)}."
            out.result("groups", facts["groups"], line)
        out.line()
        out.table("pairs", facts["pairs"], title="Strongest pairs", shown=8)
    with writing_to(place):
        found.to_html(place, command=shlex.join(["depmax", "profile", data]))
    out.command("report", str(place), "Report:", shown=str(place.resolve()))
    out.finish()
