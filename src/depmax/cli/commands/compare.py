"""``depmax compare``: which method finds the best few features of these data."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from depmax.cli import options as o
from depmax.cli.errors import Code, OutputError, UserError, nearest
from depmax.cli.guard import guarded
from depmax.cli.output import Output

if TYPE_CHECKING:
    from depmax.evaluation import Comparison, Progress

#: Columns of the leaderboard that a terminal shows, beside the scores.
SHOWN = ("low", "high", "dimension", "pvalue_adjusted", "stability", "fit_seconds")


@guarded
def compare(
    data: o.Data,
    target: o.Target = None,
    *,
    report: Annotated[
        str, typer.Option("--report", "-o", metavar="FILE", help="Path of the report.")
    ] = "report.html",
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            help="Compare this method, such as BAHSIC or PCA; may be repeated. By default those "
            "that suit the target and the size of the data.",
        ),
    ] = None,
    dimensions: Annotated[
        str | None,
        typer.Option(metavar="N,N,…", help="Numbers of features to try, such as 1,2,5,10."),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            min=2, help="Number of outer folds; by default five, repeated twice on few rows."
        ),
    ] = None,
    scoring: Annotated[
        str | None, typer.Option(help="A scikit-learn scorer, such as roc_auc or r2.")
    ] = None,
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
    seed: Annotated[int, o.SEED] = 0,
    n_jobs: o.AllJobs = -1,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Compare methods on your data: a leaderboard here, and a report to send to a colleague.

    Every method is judged on held-out rows, its number of features chosen on the training rows.
    Ctrl-C stops and reports what is finished.

    [bold]Examples[/]

      depmax compare patients.csv --target outcome

      depmax compare genes.parquet -t class --n-jobs 2 --report genes.html

      depmax compare bundled:wine -m BAHSIC -m PCA --dimensions 1,2,5
    """
    from depmax.cli.table import ask
    from depmax.cli.writing.formats import require_place
    from depmax.evaluation import compare as compare_methods
    from depmax.report import require_report

    require_report()
    out = Output(as_json=as_json, quiet=quiet)
    methods = _named_methods(method)
    _require_scorer(scoring)
    sizes = _sizes(dimensions)
    place = require_place(report, reads=(data,))
    reading = o.read_options(separator, decimal, encoding, header, missing, max_memory)
    table = ask(out, data, reading, target, task, drop, keep, impute)
    with out.counting("comparing", None) as count:

        def listen(state: Progress) -> None:
            count(state.done, state.total)

        found = compare_methods(
            table.X,
            table.y,
            methods,
            cv=folds,
            scoring=scoring,
            dimensions=sizes,
            impute=impute and str(impute),
            task=task.value,
            random_state=seed,
            n_jobs=n_jobs,
            progress=listen,
        )
    _show(out, found)
    typed = {
        "--target": list(table.target_names),
        "--task": None if task == o.TaskName.auto else task,
        "--drop": drop,
        "--keep": keep,
        "--impute": impute,
        "--separator": separator,
        "--decimal": decimal,
        "--encoding": encoding,
        "--missing": missing,
    }
    comparing = {
        "--seed": seed,
        "--method": method,
        "--dimensions": dimensions,
        "--folds": folds,
        "--scoring": scoring,
    }
    named = [] if header is None else ["--header" if header else "--no-header"]
    again = ["depmax", "compare", data, *_spelled(typed), *named, *_spelled(comparing)]
    with out.working("writing the report"):
        try:
            found.to_html(place, command=shlex.join(again), notes=tuple(table.notes))
        except OSError as error:
            raise OutputError(f"Cannot write {place}: {error}") from error
    _say_next(out, found, data, [*_spelled(typed), *named], seed)
    out.result("report", str(place), f"Report: {place.resolve()}")
    out.finish()
    if not found.complete:
        raise typer.Exit(Code.INTERRUPTED)


def _show(out: Output, found: Comparison) -> None:
    from depmax.evaluation.comparison.words import interruption, interval

    rows: list[dict[str, Any]] = _records(found.table)
    metric = list(rows[0])[2]
    if out.on_terminal:
        columns = ("rank", "method", metric, *SHOWN)
        rows = [{column: row[column] for column in columns} for row in rows]
    out.table("leaderboard", rows)
    honest = found.winner_score
    score = {"mean": honest.mean, "low": honest.low, "high": honest.high}
    out.result("metric", metric)
    out.result("best", found.best)
    out.result(
        "winner_score",
        score,
        f"Best: {found.best}. Choosing the method without test data gives {interval(honest)}: "
        "expect this on new data.",
    )
    out.result("significance", _records(found.significance))
    out.result("failures", found.failures)
    out.note(f"{name} failed: {why}" for name, why in found.failures.items())
    out.result("complete", found.complete)
    if not found.complete:
        out.note([interruption(found)])


def _say_next(out: Output, found: Comparison, data: str, reading: list[str], seed: int) -> None:
    """The command that puts the best method to work, as it was compared."""
    from depmax.cli.methods import methods, settings_of
    from depmax.evaluation.comparison.catalogue import plain_name

    method = next(method for method in found.methods if method.name == found.best)
    known = methods()[plain_name(method.name)]
    size = round(_records(found.table)[0]["dimension"]) if method.has_dimension else None
    estimator = method.make(size or 0)
    options = {
        "--method": known.name,
        "-n": size,
        "--set": settings_of(known, estimator),
        "--seed": seed if "random_state" in estimator.get_params() else None,
    }
    command = shlex.join(["depmax", "fit", data, *reading, *_spelled(options)])
    out.result("next", command, f"Next: {command}")


def _records(frame: Any) -> list[dict[str, Any]]:
    """Rows of a frame of polars, which the comparison makes since it was given one."""
    rows: list[dict[str, Any]] = frame.to_dicts()
    return rows


def _spelled(options: dict[str, Any]) -> list[str]:
    """Options as they are typed; those that were not given are left out."""
    words: list[str] = []
    for option, value in options.items():
        values = value if isinstance(value, list) else [] if value is None else [value]
        for one in map(str, values):
            # a value that looks like an option is read as one unless it is tied to its own
            words += [f"{option}={one}"] if one.startswith("-") else [option, one]
    return words


def _named_methods(names: list[str] | None) -> dict[str, Any] | None:
    """Methods of the comparison's own catalogue, and every other of depmax, by name."""
    from depmax.cli.methods import methods
    from depmax.evaluation.comparison.catalogue import catalogue, plain_name

    if names is None:
        return None
    known = {key: (method.name, method.estimator) for key, method in methods().items()}
    # of the comparison's own it knows more: what is nested, how many features there can be
    known |= {plain_name(method.name): (method.name, method) for method in catalogue()}
    found = {}
    for name in names:
        if plain_name(name) not in known:
            hint = nearest(name, [shown for shown, _ in known.values()])
            raise UserError(f"--method: there is no method named {name!r}.{hint}")
        shown, part = known[plain_name(name)]
        found[shown] = part
    return found


def _require_scorer(name: str | None) -> None:
    from sklearn.metrics import get_scorer_names

    if name is not None and name not in get_scorer_names():
        hint = nearest(name, get_scorer_names())
        raise UserError(f"--scoring: there is no scorer named {name!r}.{hint}")


def _sizes(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"--dimensions needs whole numbers such as 1,2,5, got {text!r}.") from None
