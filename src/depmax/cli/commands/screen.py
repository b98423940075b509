"""``depmax screen``: which columns, if any, depend on the target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from depmax._text import counted
from depmax.cli import options as o
from depmax.cli.errors import DataError, ExitCode
from depmax.cli.output import Output, for_people

if TYPE_CHECKING:
    from depmax.cli.table import Table

#: Rows that all columns together are tested on, at most; of more, a random part.
JOINT_ROWS = 2000
#: Groups that it takes at least, if rows come in groups.
FEWEST_GROUPS = 20
BAR = 20
#: The least p-value of permutations, which rows in groups or with weights have.
LEAST = 1e-4
#: Columns of :meth:`~depmax.dependence.Screening.to_frame` that are not shown.
MORE = ("explained_by_given", "missing")


@o.command
def screen(
    data: o.Data,
    target: o.Target = None,
    *,
    top: int = o.option(
        "Columns to show on a terminal; 0 shows all.", default=20, min=0, metavar="N"
    ),
    level: float = o.option(
        "False discovery rate over the columns, and significance level of the joint test.",
        default=0.05,
        min=0.0,
        max=1.0,
        metavar="SHARE",
    ),
    check: bool = o.option(
        "Exit with code 6 if no column depends on the target.", "--check", default=False
    ),
    given: list[str] | None = o.option(
        "A confounder: find columns that depend on the target beyond what it explains; may be "
        "repeated.",
        metavar="COLUMN",
    ),
    columns: o.GroupedColumns,
    reading: o.Reading,
    seed: o.Seed = 0,
    n_jobs: o.AllJobs = -1,
    out: Output,
) -> None:
    """Rank every column by its dependence on the target, linear or not, with p-values.

    Columns are ranked by the effect, from 0 to 1 with a 95% interval, comparable between columns
    of any unit and type; the score (HSIC) is the same unscaled. If no column depends on
    the target by itself, all columns are tested together: columns may matter only jointly. Each of
    the two questions is asked at --level, so on noise one of them says "dependence" in up to twice
    as many tables (7 to 10% at 0.05 in simulations).

    [bold]Examples[/]

      depmax screen patients.csv --target outcome

      depmax screen genes.parquet -t class --json > scores.json

      depmax screen visits.csv -t outcome --groups patient

      depmax screen bundled:sonar | head

      depmax screen patients.csv -t outcome --given age --given batch
    """
    from depmax.cli.table import ask, mention_doubts
    from depmax.dependence import screen as screen_columns
    from depmax.dependence.exchange import neighbours_mentioned
    from depmax.evaluation import Prepare

    o.require_one("--groups", columns.groups, "--weight", columns.weight)
    o.require_one("--given", given, "--weight", columns.weight)
    ignored = columns.ignored
    uses_missing = not given and columns.weight is None  # gaps say nothing
    asked = columns.request(target, uses_missing=uses_missing, given=tuple(given or ()))
    table = ask(out, reading.open(data), asked)
    mention_doubts(out, table, ignored)
    X = Prepare(table.fill).fit_transform(table.X)
    X, confounders = _split(X, given)
    with out.working(f"screening {counted(X.width, 'column')}"), neighbours_mentioned():
        found = screen_columns(
            X,
            table.y,
            groups=table.groups,
            n_jobs=n_jobs,
            given=confounders,
            sample_weight=table.weights,
        )
    rows: list[dict[str, Any]] = found.to_frame("polars").drop(MORE, strict=False).to_dicts()
    best = max(*(row.get("effect", row["score"]) for row in rows), 1e-300)
    shown = [_for_people(row, best) for row in rows] if out.on_terminal else rows
    out.table("columns", shown, shown=top)
    condition = " given " + ", ".join(map(repr, given)) if given else ""
    rate = f"false discovery rate {100 * level:g}%"
    significant = int((found.pvalues_adjusted <= level).sum())
    smallest = float(found.pvalues_adjusted.min())
    # That of Simes' test of no dependence at all. Only if no single column proves any are all
    # columns tested together, at the same level.
    joint: dict[str, Any] = {"pvalue": smallest, "hsic": None, "method": "Simes", "rows": None}
    with out.working("testing all columns together"):
        joint = joint if significant else _joint_test(X, table, seed, n_jobs, confounders)
    if significant:
        depend = f"{counted(X.width, 'column')} {'depends' if significant == 1 else 'depend'}"
        alone = f"{significant:,} of {depend} on the target{condition} ({rate})."
        together = None
    else:
        alone = f"None of {X.width:,} columns was shown to depend on the target by itself"
        alone += f"{condition} ({rate})."
        if found.pvalues.min() <= LEAST and (table.groups is not None or table.weights is not None):
            alone += (
                f" Permutations show no p-value below {LEAST:g}, which is too large for one of "
            )
            alone += f"{X.width:,} columns: screen fewer."
        together = f"All columns together: {_in_words(joint, level)}."
    out.result("significant", significant, alone, style="bold")
    out.result("all_columns", joint, together)
    out.result("gives_away", *_given_away(rows, table, ignored))
    out.finish()
    if check and joint["pvalue"] > level:
        raise typer.Exit(ExitCode.NOT_FOUND)


def _given_away(
    rows: list[dict[str, Any]], table: Table, ignored: tuple[str, ...]
) -> tuple[list[str], str | None]:
    """Columns that say nearly everything about the target, and what to do about them."""
    from depmax.evaluation.comparison.cautions import GIVEN_AWAY, GIVES_AWAY, gives_away

    names = [row["column"] for row in rows if row.get("effect", 0.0) >= GIVES_AWAY]
    if not names or GIVEN_AWAY.code in ignored:
        return names, None
    return names, f"{GIVEN_AWAY.code}: {gives_away(names, ', '.join(table.target_names))}"


def _for_people(row: dict[str, Any], best: float) -> dict[str, Any]:
    """A row of the table on a terminal.

    The estimate of HSIC is unbiased, so that it is about as often negative as positive where there
    is no dependence; a person reads both as none.
    """
    size = max(0.0, row.get("effect", row["score"]))
    shown = for_people(row) | {"score": max(0.0, row["score"])}
    return {**shown, "": "█" * round(BAR * size / best), "pvalue": row["pvalue"]}


def _split(X: Any, given: list[str] | None) -> tuple[Any, Any]:
    """Columns to screen, and the confounders among the columns, None without any."""
    if not given:
        return X, None
    from depmax.cli.table import require_columns

    require_columns(given, X.columns, "--given", "the table without its target")
    left = X.drop(list(dict.fromkeys(given)))
    if not left.width:
        raise DataError("--given names every column, so none is left to screen.")
    return left, X.select(list(dict.fromkeys(given)))


def _in_words(joint: dict[str, Any], level: float) -> str:
    """The test of all columns together: its p-value, and what follows."""
    shown = "p < 0.001" if joint["pvalue"] < 0.001 else f"p = {joint['pvalue']:.3f}"
    sentence = (
        "together they depend on the target, although no single column shows it"
        if joint["pvalue"] <= level
        else "no dependence was found"
    )
    return f"{shown} ({joint['method']}, {joint['rows']:,} rows): {sentence}"


def _joint_test(X: Any, table: Table, seed: int, n_jobs: int | None, given: Any) -> dict[str, Any]:
    """Permutation test of all columns together, on a random part of many rows or groups."""
    from sklearn.utils import _safe_indexing

    from depmax.dependence import hsic_test
    from depmax.dependence.exchange import neighbours_mentioned
    from depmax.evaluation import Prepare

    X = Prepare(scale=False).fit_transform(X)  # permutations allow for gaps filled by the same rule
    y, groups, weights = table.y, table.groups, table.weights
    rng = np.random.default_rng(seed)
    if X.height > JOINT_ROWS:
        kind = table.target.kind
        rows = _joint_rows(y, kind, rng) if groups is None else _rows_of_groups(groups, rng)
        X, y, groups, weights, given = (
            None if each is None else _safe_indexing(each, rows)
            for each in (X, y, groups, weights, given)
        )
    with neighbours_mentioned():
        test = hsic_test(
            X,
            y,
            method="permutation",
            groups=groups,
            given=given,
            sample_weight=weights,
            random_state=seed,
            n_jobs=n_jobs,
        )
    return {
        "pvalue": test.pvalue,
        "hsic": test.statistic,
        "method": f"{test.method} test",
        "rows": test.n_samples,
    }


def _rows_of_groups(groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows of as many whole groups as the joint test takes."""
    order = rng.permutation(int(groups.max()) + 1)
    totals = np.cumsum(np.bincount(groups)[order])
    n_kept = max(FEWEST_GROUPS, int(np.searchsorted(totals, JOINT_ROWS, side="right")))
    return np.flatnonzero(np.isin(groups, order[:n_kept]))


def _joint_rows(y: Any, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Rows of the joint test; every class has its part, however rare it is.

    Rows may be chosen by the target, since a permutation test is conditional on its values.
    """
    order = rng.permutation(len(y))
    if kind != "classes":
        return np.sort(order[:JOINT_ROWS])
    codes = np.unique(np.asarray(y), return_inverse=True)[1].ravel()
    per_class = max(2, JOINT_ROWS // (int(codes.max()) + 1))
    groups = [order[codes[order] == code][:per_class] for code in range(int(codes.max()) + 1)]
    return np.sort(np.concatenate(groups))
