"""``depmax methods``: what ``--method`` takes."""

from __future__ import annotations

from inspect import getdoc

from depmax.cli import options as o
from depmax.cli.guard import guarded
from depmax.cli.output import Output


@guarded
def methods(as_json: o.Json = False) -> None:
    """List the methods that select, fit and compare take, with their parameters for --set.

    [bold]Examples[/]

      depmax methods

      depmax fit data.csv -t y --method FOHSIC --set step=1
    """
    from depmax.cli.methods import methods as known
    from depmax.cli.methods import role_of

    out = Output(as_json=as_json)
    rows = []
    for kind in known().values():
        line = (getdoc(kind) or "").splitlines()[0]
        parameters = ", ".join(kind().get_params(deep=False))
        rows.append(
            {
                "method": kind.__name__,
                "role": role_of(kind),
                "what it does": line,
                "parameters": parameters,
            }
        )
    out.table("methods", rows)
    out.finish()
