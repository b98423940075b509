"""``depmax methods``: what ``--method`` takes."""

from __future__ import annotations

from depmax.cli import options as o
from depmax.cli.errors import guarded
from depmax.cli.output import Output


@guarded
def methods(as_json: o.Json = False) -> None:
    """List the methods that select, fit and compare take, with their parameters for --set.

    [bold]Examples[/]

      depmax methods

      depmax fit data.csv -t y --method FOHSIC --set step=1
    """
    from depmax.cli.methods import methods as known

    out = Output(as_json=as_json)
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
