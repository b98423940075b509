"""``depmax reproduce``: published figures beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from depmax.cli import options as o
from depmax.cli.guard import guarded
from depmax.cli.output import Output


@guarded
def reproduce(
    table: o.PublishedTable = None,
    *,
    show: Annotated[bool, typer.Option("--list", help="List the tables and stop.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer sets and repetitions.")] = False,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME", help="Only this data set; may be given again."),
    ] = None,
    splits: Annotated[
        int | None,
        typer.Option("--splits", metavar="N", help="Only the first N of the repeated splits."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE.csv", help="Keep the figures, set by set, in a file."
        ),
    ] = None,
    n_jobs: o.Jobs = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Compute a published table and show its figures beside ours.

    Sets that do not come with depmax are read from the folder that the environment variable
    DEPMAX_DATA names. With -o, the rows of every data set are kept as soon as they are complete,
    and a later run replaces the sets that it computes.

    [bold]Examples[/]

      depmax reproduce --list

      depmax reproduce bahsic_table1 --quick

      depmax reproduce bahsic_table1 --set sonar --n-jobs 2 -o table1.csv

      depmax reproduce thesis_linear --set heart --splits 10
    """
    from depmax.cli.errors import UserError, nearest
    from depmax.cli.writing.formats import require_place
    from depmax.evaluation.reproduce import Results, tables

    out = Output(as_json=as_json, quiet=quiet)
    known = tables()
    if show or table is None:
        if not show:
            raise UserError(f"Which table? {', '.join(known)}; or --list.")
        listed = [{"table": t.name, "title": t.title, "source": t.source} for t in known.values()]
        out.table("tables", listed)
        out.finish()
        return
    if table not in known:
        raise UserError(f"No table is named {table!r}.{nearest(table, known)}")
    place = None if output is None else require_place(output)
    chosen = known[table]
    results = None if place is None else Results(chosen, Path(place))

    def report(row: dict[str, Any]) -> None:
        if results is not None:
            results.add(row)
        ours = "-" if row["ours"] is None else f"{row['ours']:.3g}"
        out.say(f"{row['dataset']}, {row['method']}: {ours}")

    with out.working(f"{chosen.title}"):
        rows = chosen.run(quick, n_jobs, sets, report, splits)
    if results is not None:
        results.save()
    out.table("figures", rows, title=f"{chosen.title} ({chosen.source})")
    if place is not None:
        out.result("output", str(place), f"Written: {place}")
    out.finish()
