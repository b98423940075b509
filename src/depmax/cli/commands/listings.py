"""``depmax methods`` and ``depmax datasets``: lists of what can be chosen."""

from __future__ import annotations

from typing import Annotated

import typer

from depmax.cli import options as o
from depmax.cli.output import Output


@o.command
def methods(out: Output) -> None:
    """List the methods for select, fit and compare, with the parameters that --set can change.

    [bold]Examples[/]

      depmax methods

      depmax fit data.csv -t y --method FOHSIC --set step=1
    """
    from depmax.cli.methods import methods as known

    rows = [
        {
            "method": method.name,
            "role": method.role,
            "what it does": method.description,
            "parameters": ", ".join(method.estimator.get_params(deep=False)),
        }
        for method in known().values()
    ]
    out.table("methods", rows)
    out.finish()


@o.command
def datasets(
    name: o.DatasetName = None,
    *,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the set to a file."),
    ] = None,
    out: Output,
) -> None:
    """List the data sets of depmax, describe one, or write it to a file.

    Every command takes bundled:NAME instead of a file.

    [bold]Examples[/]

      depmax datasets

      depmax datasets sonar -o sonar.csv

      depmax screen bundled:sonar
    """
    from depmax.cli.errors import UserError, nearest
    from depmax.cli.writing import open_writer, require_format
    from depmax.datasets import available, load

    if name is None:
        if output is not None:
            raise UserError("Which data set should be written? depmax datasets lists them.")
        rows = [
            {
                "name": f"bundled:{entry.name}",
                "rows": len(entry.y),
                "columns": len(entry.feature_names),
                "target": str(entry.target_name),
                "title": entry.title,
            }
            for entry in map(load, available())
        ]
        out.table("datasets", rows)
        out.finish()
        return
    name = name.removeprefix("bundled:")
    if name not in available():
        raise UserError(f"There is no data set named {name!r}.{nearest(name, available())}")
    place = None if output is None else require_format(output)
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
    if place is None:
        out.table("about", [{"": key, "value": str(value)} for key, value in facts.items()])
    else:
        with open_writer(place) as writer:
            writer.add(chosen.to_frame("polars"))
        out.command("output", str(place), "Written:")
        out.say(f"{chosen.title}. {chosen.licence}.")
    out.finish()
