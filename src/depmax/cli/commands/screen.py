"""``depmax screen``: which columns depend on the target, if any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import typer

from depmax.cli import options as o
from depmax.cli.errors import Code
from depmax.cli.guard import guarded
from depmax.cli.output import Output

#: Rows that all columns together are tested on, at most; of more, a random part.
JOINT_ROWS = 2000
BAR = 20


@guarded
def screen(
    data: o.Data,
    target: o.Target = None,
    *,
    top: Annotated[int, typer.Option(min=0, help="Columns to show on a terminal; 0 is all.")] = 20,
    level: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="False discovery rate over the columns, and significance level of the joint test.",
        ),
    ] = 0.05,
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
    max_memory: o.MaxMemory = None,
    seed: o.Seed = None,
    n_jobs: o.Jobs = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Score every column by its nonlinear dependence on the target, with p-values.

    If no column depends on it by itself, all columns are tested together: columns may matter
    only jointly.

    [bold]Examples[/]

      depmax screen patients.csv --target outcome

      depmax screen genes.parquet -t class --json > scores.json

      depmax screen bundled:sonar | head
    """
    from depmax.cli.table import ask
    from depmax.dependence import screen as screen_columns
    from depmax.evaluation import FillGaps, PrepareColumns

    out = Output(as_json=as_json, quiet=quiet)
    reading = o.read_options(separator, decimal, encoding, header, missing, max_memory)
    table = ask(out, data, reading, target, task, drop, keep, impute)
    X = table.X if impute is None else FillGaps(str(impute)).fit_transform(table.X)
    X = PrepareColumns().fit_transform(X)
    with out.working(f"screening {X.width} columns"):
        found = screen_columns(X, table.y, n_jobs=n_jobs)
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
    verdict = _verdict(
        found, level, lambda: _joint_test(X, table.y, table.target.kind, seed, n_jobs)
    )
    out.result("significant", verdict.significant, verdict.columns)
    out.result("all_columns", verdict.all_columns, verdict.joint)
    out.finish()
    if check and verdict.all_columns["pvalue"] > level:
        raise typer.Exit(Code.NOT_FOUND)


@dataclass(frozen=True)
class Verdict:
    """What the table amounts to."""

    significant: int  # columns that pass
    all_columns: dict[str, Any]  # the test of any dependence at all
    columns: str  # in words: about single columns
    joint: str | None = None  # and, if none passes, about all of them


def _verdict(found: Any, level: float, joint_test: Callable[[], dict[str, Any]]) -> Verdict:
    """Columns that pass prove dependence; only if none does, all are tested together.

    The smallest adjusted p-value is that of Simes' test of no dependence at all, so that this
    statement agrees with the table. Each of the two tests has the level for itself.
    """
    significant = int((found.pvalues_adjusted <= level).sum())
    n_columns = len(found.names)
    rate = f"false discovery rate {100 * level:g} %"
    if significant:
        smallest = float(found.pvalues_adjusted.min())
        simes = {"pvalue": smallest, "hsic": None, "method": "Simes", "rows": None}
        columns = f"{significant:,} of {n_columns:,} columns depend on the target ({rate})."
        return Verdict(significant, simes, columns)
    joint = joint_test()
    sentence = (
        "they depend on the target together, though no single one shows it"
        if joint["pvalue"] <= level
        else "no dependence was shown"
    )
    return Verdict(
        0,
        joint,
        f"No single column of {n_columns:,} was shown to depend on the target ({rate}).",
        f"All columns together: p = {joint['pvalue']:.3g} ({joint['method']}, "
        f"{joint['rows']:,} rows): {sentence}.",
    )


def _joint_test(X: Any, y: Any, kind: str, seed: int | None, n_jobs: int | None) -> dict[str, Any]:
    """Permutation test of all columns together, on a random part of many rows."""
    from sklearn.utils import _safe_indexing

    from depmax.dependence import hsic_test

    rows = _joint_rows(y, kind, X.height, np.random.default_rng(seed or 0))
    if rows is not None:
        X, y = _safe_indexing(X, rows), _safe_indexing(y, rows)
    test = hsic_test(X, y, random_state=seed, n_jobs=n_jobs)
    return {
        "pvalue": test.pvalue,
        "hsic": test.statistic,
        "method": "permutation test",
        "rows": test.n_samples,
    }


def _joint_rows(y: Any, kind: str, n_rows: int, rng: np.random.Generator) -> np.ndarray | None:
    """Rows of the joint test, None for all; every class has its part, however rare it is.

    Rows may be chosen by the target, since a permutation test is conditional on its values.
    """
    if n_rows <= JOINT_ROWS:
        return None
    order = rng.permutation(n_rows)
    if kind != "classes":
        return np.sort(order[:JOINT_ROWS])
    codes = np.unique(np.asarray(y), return_inverse=True)[1].ravel()
    per_class = max(2, JOINT_ROWS // (int(codes.max()) + 1))
    groups = [order[codes[order] == code][:per_class] for code in range(int(codes.max()) + 1)]
    return np.sort(np.concatenate(groups))
