"""``depmax screen``: which columns depend on the target, if any."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from depmax.cli import options as o
from depmax.cli.errors import Code
from depmax.cli.guard import guarded
from depmax.cli.output import Output

#: Above so many rows all columns together are tested through a Nyström map, linear in the rows.
EXACT_ROWS = 5000
BAR = 20


@guarded
def screen(
    data: o.Data,
    target: o.Target = None,
    *,
    top: Annotated[int, typer.Option(min=0, help="Columns to show on a terminal; 0 is all.")] = 20,
    level: Annotated[float, typer.Option(min=0.0, max=1.0, help="False discovery rate.")] = 0.05,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with code 6 if no column depends on the target.")
    ] = False,
    task: o.Task = o.TaskName.auto,
    drop: o.Drop = None,
    keep: o.Keep = None,
    impute: o.Fill = None,
    separator: o.Separator = None,
    decimal: o.Decimal = None,
    encoding: o.Encoding = None,
    header: o.Header = None,
    missing: o.Missing = None,
    seed: o.Seed = None,
    n_jobs: o.Jobs = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Score every column by its nonlinear dependence on the target, with p-values.

    Then test all columns together: is there any dependence at all?

    [bold]Examples[/]

      depmax screen patients.csv --target outcome

      depmax screen genes.parquet -t class --json > scores.json

      depmax screen bundled:sonar | head
    """
    from depmax.cli.asking import ask
    from depmax.dependence import screen as screen_columns
    from depmax.evaluation import FillGaps, PrepareColumns

    out = Output(as_json=as_json, quiet=quiet)
    reading = o.read_options(separator, decimal, encoding, header, missing)
    table = ask(out, data, reading, target, task, drop, keep, impute)
    X = table.X if impute is None else FillGaps(str(impute)).fit_transform(table.X)
    X = PrepareColumns().fit_transform(X)
    with out.working(f"screening {X.width} columns"):
        found = screen_columns(X, table.y, n_jobs=n_jobs)
        joint = _joint_test(X, table.y, table.target.kind, seed, n_jobs)
    order = found.ranking.argsort()
    best = max(float(found.scores.max()), 1e-300)
    rows: list[dict[str, Any]] = [
        {
            "column": found.names[place],
            "rank": rank + 1,
            "score": float(found.scores[place]),
            "pvalue": float(found.pvalues[place]),
            "pvalue_adjusted": float(found.pvalues_adjusted[place]),
        }
        for rank, place in enumerate(order)
    ]
    if out.on_terminal:
        for row in rows:
            row[""] = "█" * round(BAR * max(0.0, row["score"]) / best)
    out.table("columns", rows, shown=top)
    significant = int((found.pvalues_adjusted <= level).sum())
    out.result(
        "significant",
        significant,
        f"{significant} of {X.width} columns depend on the target "
        f"(false discovery rate {level:g}).",
    )
    pvalue = joint["pvalue"]
    verdict = "there is dependence" if pvalue <= level else "no dependence was shown"
    out.result(
        "all_columns",
        joint,
        f"All columns together: HSIC = {joint['hsic']:.4g}, p = {pvalue:.3g} "
        f"({joint['method']}): {verdict}.",
    )
    out.finish()
    if check and significant == 0 and pvalue > level:
        raise typer.Exit(Code.NOT_FOUND)


def _joint_test(X: Any, y: Any, kind: str, seed: int | None, n_jobs: int | None) -> dict[str, Any]:
    """Test of all columns together; linear in the rows where there are many."""
    from depmax.dependence import hsic_test
    from depmax.maps import NystroemMap

    parts: dict[str, Any] = {}
    method = "permutation test"
    if X.height > EXACT_ROWS:
        X = NystroemMap(200, random_state=seed or 0).fit_transform(X)
        parts["kernel"] = "linear"
        if kind in ("numbers", "multioutput"):
            parts["target_kernel"] = NystroemMap(100, random_state=seed or 0)
        method = "permutation test on Nyström maps"
    test = hsic_test(X, y, random_state=seed, n_jobs=n_jobs, **parts)
    return {"hsic": test.statistic, "pvalue": test.pvalue, "method": method}
