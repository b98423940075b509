"""What most commands do first: read the file and say what it holds."""

from __future__ import annotations

from depmax.cli.options import Impute, TaskName
from depmax.cli.output import Output
from depmax.cli.reading import open_source
from depmax.cli.reading.source import ReadOptions
from depmax.cli.table import Asked, Table, make_table


def ask(
    out: Output,
    data: str,
    reading: ReadOptions,
    target: list[str] | None,
    task: TaskName,
    drop: list[str] | None,
    keep: list[str] | None,
    impute: Impute | None,
) -> Table:
    """The table and its target, with a line about each and notes on what was left out."""
    source = open_source(data, reading)
    with out.working(f"reading {source.name}"):
        table = make_table(
            source,
            Asked(
                tuple(target or ()),
                tuple(drop or ()),
                tuple(keep or ()),
                impute and str(impute),
                task.value,
            ),
        )
    out.say(f"{source.name}: {table.about}")
    out.note(table.notes)
    out.result("rows", table.X.height)
    out.result("target", {"columns": list(table.target_names), "type": table.target.kind})
    out.result("notes", table.notes)
    return table
