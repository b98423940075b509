"""``depmax compare``: which method finds the best few features of these data."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isnan
from typing import TYPE_CHECKING, Any

import typer

from depmax.cli import options as o
from depmax.cli.errors import ExitCode, UserError, nearest
from depmax.cli.output import Output

if TYPE_CHECKING:
    from depmax.evaluation import Comparison, Verdict

#: Columns of the leaderboard that a terminal shows, beside the scores.
SHOWN = ("features", "low", "high", "loss", "stability", "seconds")


#: Predictors by name.
JudgeOption = StrEnum("JudgeOption", ["auto", "kernel", "boosting", "linear"])


@dataclass(frozen=True)
class Compared(o.GroupedColumns):
    """Gaps are filled, by what the training rows say."""

    impute: o.Fill = o.Impute.median


@dataclass(frozen=True)
class Judging:
    """What is compared, and how it is judged."""

    method: list[str] | None = o.option(
        "Compare this method, such as BAHSIC or PCA; may be repeated. By default, all that suit "
        "the target and the size of the data.",
        "--method",
        "-m",
        metavar="NAME",
    )
    dimensions: str | None = o.option(
        "Numbers of features to try, such as 1,2,5,10.", metavar="N,N,…"
    )
    folds: int | None = o.rare("Number of outer folds; five by default.", min=2, metavar="N")
    scoring: str | None = o.rare("A scikit-learn scorer, such as roc_auc or r2.", metavar="NAME")
    judge: JudgeOption = o.option(
        "The predictor that the answer holds for: kernel (auto), boosting or linear.",
        metavar="NAME",
        default=JudgeOption.auto,
    )
    margin: float = o.rare(
        "Share of the gain over guessing that fewer columns may cost.",
        default=0.02,
        min=0.0,
        max=0.99,
        metavar="SHARE",
    )
    time: float | None = o.option(
        "Spend about this long: on the methods that fit in, then on repeats of the folds.",
        min=1.0,
        metavar="SECONDS",
    )
    planted: bool = o.option(
        "Also plant targets made of known columns of this table, and tell how many of them the "
        "selectors find. Takes once or twice as long again.",
        "--planted/--no-planted",
        default=False,
    )
    rows: str = o.option(
        "Rows to use at most, drawn at random from a longer table; all uses every row.",
        default="5000",
        metavar="N",
    )


@o.command
def compare(
    data: o.Data,
    target: o.Target = None,
    *,
    report: str = o.option(
        "Path of the report.", "--report", "-o", default="report.html", metavar="FILE"
    ),
    judging: Judging,
    columns: Compared,
    reading: o.Reading,
    seed: o.Seed = 0,
    n_jobs: o.AllJobs = -1,
    scheduler: str | None = o.rare(
        "Spread the work over the Dask cluster with this scheduler, such as tcp://10.0.0.1:8786, "
        "instead of using this machine's processors.",
        metavar="ADDRESS",
    ),
    out: Output,
) -> None:
    """Which few columns predict the target? A verdict here, and a report to send to a colleague.

    Methods are judged on held-out rows, with all their numbers of columns; the fewest columns that
    lose next to nothing are recommended, and what is lost is said. Ctrl-C stops and reports what is
    finished.

    [bold]Examples[/]

      depmax compare patients.csv --target outcome

      depmax compare genes.parquet -t class --time 300 --report genes.html

      depmax compare bundled:wine -m BAHSIC -m PCA --dimensions 1,2,5

      depmax compare genes.parquet -t class --scheduler tcp://10.0.0.1:8786
    """
    from depmax.cli.reading import open_source
    from depmax.cli.table import ask
    from depmax.cli.writing import require_page, writing_to
    from depmax.evaluation import compare as compare_methods
    from depmax.report import require_report

    if columns.event is not None:
        raise UserError(
            "--event: compare knows no predictor that takes censored times. depmax screen and "
            "depmax select do."
        )
    require_report()
    methods = _named_methods(judging.method)
    _require_scorer(judging.scoring)
    sizes = _sizes(judging.dimensions)
    most = _most_rows(judging.rows)
    place = require_page(report, reads=(data,))
    options = reading.options()
    ignored = columns.ignored
    with ExitStack() as until_compared:
        _join(scheduler, until_compared)
        table = ask(out, open_source(data, options), columns.request(target))
        count = until_compared.enter_context(out.counting())

        found = compare_methods(
            table.X,
            table.y,
            methods,
            cv=judging.folds,
            scoring=judging.scoring,
            dimensions=sizes,
            impute=columns.fill,
            task=columns.task.value,
            groups=table.groups,
            sample_weight=table.weights,
            judge=judging.judge.value,
            margin=judging.margin,
            time=judging.time,
            max_rows=most,
            random_state=seed,
            n_jobs=n_jobs,
            progress=lambda state: count(state.step, state.done, state.total),
            ignore=ignored,
            planted=judging.planted,
        )
        found = replace(found, expand=table.expand)
    with out.working("fitting the recommended method on all rows"):
        verdict = found.verdict
    _show(out, found, verdict)
    said = {"-t": target, "--impute": found.setting.fill}  # as a person types it
    shown = replace(columns, impute=o.Impute.median)  # said where something is missing
    about = replace(judging, time=None)  # it is known what was done in that time
    seeded = {"--seed": seed or None}
    again = [*o.spelled(said), *o.typed(shown, reading), *o.spelled(seeded), *o.typed(about)]
    shown = replace(shown, ignore=None)  # a fit says none
    if columns.groups is not None:  # a fit splits no rows: there the column is only no feature
        shown = replace(shown, groups=None, drop=[*(columns.drop or ()), columns.groups])
    reread = [*o.spelled(said), *o.typed(shown, reading)]
    use = _command_to_use(found, data, reread, seed, n_rows=table.X.height)
    with out.counting() as count, writing_to(place):
        found.to_html(
            place,
            command=shlex.join(["depmax", "compare", data, *again]),
            use=use,
            notes=tuple(table.notes),
            progress=lambda state: count(state.step, state.done, state.total),
        )
    only = judging.method is not None and len(found.methods) == 1
    if only or verdict.outcome not in (
        "nothing",
        "too few rows",
        "all columns",
    ):
        out.command("next", use, "Next:")
    out.command("report", str(place), "Report:", shown=str(place.resolve()))
    out.finish()
    if not found.complete:
        raise typer.Exit(ExitCode.INTERRUPTED)


def _join(scheduler: str | None, until: ExitStack) -> None:
    """From now on, compute on the cluster of a scheduler."""
    if scheduler is None:
        return
    from depmax.evaluation.comparison.cluster import ClusterError, connected

    try:
        until.enter_context(connected(scheduler))
    except (ClusterError, ImportError) as error:
        raise UserError(f"--scheduler: {error}") from error


def _show(out: Output, found: Comparison, verdict: Verdict) -> None:
    """The verdict first, then the leaderboard and what was not tried."""
    from depmax.evaluation.comparison.words import limits

    facts = found.to_dict()
    answer = {**facts["verdict"], "headline": verdict.headline, "reasons": verdict.reasons}
    out.result("verdict", answer, verdict.headline, style="bold")
    out.result("recommended", found.recommended, "\n".join(verdict.reasons))
    out.result("cautions", facts["cautions"])
    for caution in verdict.cautions:
        out.result("cautions", facts["cautions"], f"Caution {caution}", style="yellow")
    rows: list[dict[str, Any]] = facts["leaderboard"]
    best = [row["method"] for row in rows].index(found.recommended)
    if out.on_terminal:
        columns = ("rank", "method", facts["metric"], *SHOWN)
        rows = [{column: row[column] for column in columns} for row in rows]
        for row in rows:
            row["features"] = "all" if isnan(row["features"]) else row["features"]
        out.line()
    out.table("leaderboard", rows, emphasised=best)
    if out.on_terminal:
        out.line()
    for name in ("metric", "failures", "left_out", "rows_used"):
        out.result(name, facts[name])
    out.note(limits(found))
    out.note(f"{name} failed: {why}" for name, why in found.failures.items())
    if found.planted is not None:
        out.result("planted", facts["planted"], str(found.planted))
    out.result("complete", found.complete)


def _command_to_use(
    found: Comparison, data: str, reading: list[str], seed: int, *, n_rows: int
) -> str:
    """The command that finds the recommended columns or features, as it was compared."""
    from depmax.cli.methods import methods, settings_of
    from depmax.evaluation.comparison.catalogue import plain_name

    method = found.method(found.recommended)
    known, size = methods()[plain_name(method.name)], found.verdict.size
    estimator = method.make(size or 0)
    screened = found.setting.n_screened if method.selects else None
    options = {
        "-m": known.name,
        "-n": size,
        "--screen": screened,
        "--set": settings_of(known, estimator, n_rows),
        "--seed": seed or None if "random_state" in estimator.get_params() else None,
    }
    return shlex.join(["depmax", "fit", data, *reading, *o.spelled(options)])


def _named_methods(names: list[str] | None) -> dict[str, Any] | None:
    """Methods of the catalogue by name."""
    from depmax.evaluation.comparison.catalogue import catalogue, plain_name

    if names is None:
        return None
    known, found = catalogue(), {}
    for name in names:
        method = known.get(plain_name(name))
        if method is None:
            hint = nearest(name, [method.name for method in known.values()])
            raise UserError(f"--method: there is no method named {name!r}.{hint}")
        found[method.name] = method
    return found


def _require_scorer(name: str | None) -> None:
    from sklearn.metrics import get_scorer_names

    if name is not None and name not in get_scorer_names():
        hint = nearest(name, get_scorer_names())
        raise UserError(f"--scoring: there is no scorer named {name!r}.{hint}")


def _most_rows(text: str) -> int | None:
    if text == "all":
        return None
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise UserError(f"--rows must be a whole number of at least 1, or all, got {text!r}.")
    return count


def _sizes(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"--dimensions needs whole numbers such as 1,2,5, got {text!r}.") from None
