"""What most commands do first: read the file and say what it holds."""

from __future__ import annotations

from depmax.cli.options import Impute, TargetType, read_options
from depmax.cli.output import Output
from depmax.cli.reading import open_source
from depmax.cli.table import Asked, Table, make_table


def ask(
    out: Output,
    data: str,
    target: list[str] | None,
    target_type: TargetType | None,
    drop: list[str] | None,
    keep: list[str] | None,
    impute: Impute | None,
    delimiter: str | None,
    missing: list[str] | None,
) -> Table:
    """The table and its target, with a line about each and notes on what was left out."""
    source = open_source(data, read_options(delimiter, missing))
    with out.working(f"reading {source.name}"):
        table = make_table(
            source,
            Asked(
                tuple(target or ()),
                tuple(drop or ()),
                tuple(keep or ()),
                impute and str(impute),
                target_type and str(target_type),
            ),
        )
    out.say(f"{source.name}: {table.about}")
    out.note(table.notes)
    out.result("rows", table.X.height)
    out.result("target", {"columns": list(table.target_names), "type": table.target.kind})
    out.result("notes", table.notes)
    return table
