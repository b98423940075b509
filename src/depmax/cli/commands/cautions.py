"""``depmax cautions``: what each code of a caution means."""

from __future__ import annotations

from dataclasses import asdict

from depmax.cli import options as o
from depmax.cli.output import Output


@o.command
def cautions(out: Output) -> None:
    """List the cautions that compare, screen and select may say, by code, with what to do.

    [bold]Examples[/]

      depmax cautions

      depmax compare sorted.csv -t outcome --ignore DM002
    """
    from depmax.evaluation import CAUTIONS

    if not out.on_terminal:
        shown = ("code", "title", "about")
        rows = [asdict(caution) for caution in CAUTIONS.values()]
        out.table("cautions", [{name: row[name] for name in shown} for row in rows])
    for caution in CAUTIONS.values() if out.on_terminal else ():
        out.result(caution.code, caution.title, f"{caution.code} {caution.title}", style="bold")
        out.result(caution.code, caution.title, caution.about)
        out.line()
    out.finish()
