"""``depmax select``: the few columns that matter together."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from depmax._text import counted
from depmax.cli import options as o
from depmax.cli.output import Output, for_people

#: Redundant columns that one line names.
SHOWN = 8


@o.command
def select(
    data: o.Data,
    target: o.Target = None,
    *,
    n: str = o.option(
        "How many columns: a number, a share below 1, or auto.",
        "-n",
        "--n",
        default="auto",
        metavar="N",
    ),
    method: o.Selector = "KernelRidgeElimination",
    output: str | None = o.option(
        "Write the selected columns and the target; - is standard output, as CSV.",
        "--output",
        "-o",
        metavar="FILE",
    ),
    columns: o.GroupedColumns,
    reading: o.Reading,
    fitting: o.Fitting,
    out: Output,
) -> None:
    """Select the few columns that predict the target best together.

    [bold]Examples[/]

      depmax select patients.csv --target outcome

      depmax select genes.parquet -t class -n 20 -o few.parquet

      depmax select data.csv -t y -n 5 --method HSICLasso --json

      depmax select folder_of_parquet_files/ -t y

    If a table has more than 100 million cells, 100,000 random rows are searched, and a note says
    so.
    """
    from sklearn.utils import get_tags

    from depmax.cli.methods import build, find_method, fit_model
    from depmax.cli.streaming import batch_rows, conform
    from depmax.cli.table import ask, is_large, mention_doubts
    from depmax.cli.writing import open_writer, require_format
    from depmax.evaluation.comparison.cautions import KEPT_ALIKE, kept_alike
    from depmax.selection.selector import NoDependenceWarning, n_dependent

    known = find_method(method, "selector")
    estimator = build(known, n, fitting)
    place = None if output is None else require_format(output, out, reads=(data,))
    o.require_one("--groups", columns.groups, "--weight", columns.weight)
    ignored = columns.ignored
    uses_missing = columns.weight is None and get_tags(estimator).input_tags.allow_nan
    source = reading.open(data)
    asked = columns.request(target, draws_rows=True, seed=fitting.seed, uses_missing=uses_missing)
    table = ask(out, source, asked)
    mention_doubts(out, table, ignored)
    warnings.simplefilter("ignore", NoDependenceWarning)  # the result says so
    model = fit_model(out, table, known, estimator, scale=fitting.scale)
    selector = model.named_steps["method"]
    rows: list[dict[str, Any]] = selector.to_frame("polars").to_dicts()  # best first
    kept = [row["column"] for row in rows if row["kept"]]
    if out.on_terminal:
        rows = [for_people(row) for row in rows if row["kept"]]
    out.table("columns", rows)
    sentence = f"{len(kept)} of {counted(table.X.width, 'column')} selected by {known.name}."
    if getattr(selector, "n_significant_", None) == 0:  # of -n auto
        sentence = f"{known.name} found no column of {table.X.width} that depends on the target"
        if n_dependent(selector):  # few rows: p-values show what held-out rows cannot
            sentence = f"{known.name} could not show on held-out rows that columns predict the "
            sentence += "target"
        sentence += f"; {kept[0]} is kept as the best of them." if kept else "."
        out.result("significant", 0)
    out.result("selected", kept, sentence)
    alike = kept_alike(table.X.select(kept), known.name) if kept else ""
    if alike and KEPT_ALIKE.code not in ignored:
        out.note([str(replace(KEPT_ALIKE, text=alike))])
    out.result("kept_alike", alike or None)
    _tell_redundant(out, selector.redundant_columns(), table.X.width)
    if place is not None:
        with open_writer(place, source.marks()) as writer:
            if is_large(source):  # all rows, not only those that were searched
                targets = table.answers.columns
                names = kept if table.expand is None else list(table.types)
                for batch in source.batches([*names, *targets], batch_rows(len(names))):
                    chosen = batch.select(names)
                    if table.expand is not None:
                        inputs = conform(chosen, table.types, gaps=True, where=data)
                        chosen = model.transform(inputs).select(kept)
                    writer.add(chosen.hstack(batch.select(targets)))
            else:
                chosen = model.transform(table.raw).select(kept)
                writer.add(chosen.hstack(table.answers))
        out.command("output", str(place), "Written:")
    out.finish()


def _tell_redundant(out: Output, redundant: dict[str, list[str]], n_columns: int) -> None:
    """Which dropped columns the kept ones can replace: all in JSON, the first in sentences."""
    out.result("redundant", redundant)
    for kept, dropped in redundant.items():
        if dropped:
            more = f" and {len(dropped) - SHOWN} more" if len(dropped) > SHOWN else ""
            out.say(f"Redundant with {kept}: {', '.join(dropped[:SHOWN])}{more}.")
    n_redundant = sum(map(len, redundant.values()))
    n_other = n_columns - len(redundant) - n_redundant
    if n_redundant and n_other:
        out.say(f"Dropped and not similar to any selected column: {n_other}.")
