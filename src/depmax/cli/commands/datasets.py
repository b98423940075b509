"""``depmax datasets``: the sets that come with depmax."""

from __future__ import annotations

from typing import Annotated

import typer

from depmax.cli import options as o
from depmax.cli.guard import guarded
from depmax.cli.output import Output


@guarded
def datasets(
    name: o.DatasetName = None,
    *,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the set to a file."),
    ] = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """List the data sets that come with depmax, describe one, or write it to a file.

    [bold]Examples[/]

      depmax datasets

      depmax datasets sonar -o sonar.csv

      depmax screen bundled:sonar
    """
    from depmax.cli.errors import UserError, nearest
    from depmax.cli.writing import open_writer, require_format
    from depmax.datasets import available, load

    out = Output(as_json=as_json, quiet=quiet)
    known = available()
    if name is None:
        if output is not None:
            raise UserError("Which data set is to be written? Name one of depmax datasets.")
        sets = [load(entry) for entry in known]
        out.table(
            "datasets",
            [
                {
                    "name": entry.name,
                    "rows": len(entry.y),
                    "columns": len(entry.feature_names),
                    "target": str(entry.target_name),
                    "title": entry.title,
                }
                for entry in sets
            ],
        )
        out.finish()
        return
    if name not in known:
        raise UserError(f"No data set named {name!r} is bundled.{nearest(name, known)}")
    chosen = load(name)
    facts = {
        "name": chosen.name,
        "title": chosen.title,
        "rows": len(chosen.y),
        "columns": len(chosen.feature_names),
        "target": chosen.target_name,
        "licence": chosen.licence,
        "source": chosen.source,
        "citation": chosen.citation,
        "notes": chosen.notes,
    }
    if output is None:
        out.table("about", [{"": key, "value": str(value)} for key, value in facts.items()])
    else:
        place = require_format(output)
        with open_writer(place) as writer:
            writer.add(chosen.to_frame("polars"))
        out.result("output", str(place), f"Written: {place}")
        out.say(f"{chosen.title}. {chosen.licence}.")
    out.finish()
