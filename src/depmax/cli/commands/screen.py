"""``depmax screen``: which columns, if any, depend on the target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from depmax._text import counted
from depmax.cli import options as o
from depmax.cli.errors import DataError, ExitCode
from depmax.cli.output import Output, effect_for_people

if TYPE_CHECKING:
    from depmax.cli.table import Table

#: Rows that all columns together are tested on, at most; of more, a random part.
JOINT_ROWS = 2000
#: Groups that it takes at least, if rows come in groups.
FEWEST_GROUPS = 20
BAR = 20


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
    from depmax.cli.reading import open_source
    from depmax.cli.table import ask, mention_doubts
    from depmax.dependence import screen as screen_columns
    from depmax.dependence.exchange import neighbours_mentioned
    from depmax.evaluation import Prepare

    o.require_one("--groups", columns.groups, "--weight", columns.weight)
    o.require_one("--given", given, "--weight", columns.weight)
    ignored = columns.ignored
    uses_missing = not given and columns.weight is None  # gaps say nothing
    asked = columns.request(target, uses_missing=uses_missing, given=tuple(given or ()))
    table = ask(out, open_source(data, reading.options()), asked)
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
    order = found.ranking.argsort()
    sizes = found.scores if np.isnan(found.effects).all() else found.effects
    best = max(float(sizes.max()), 1e-300)
    rows: list[dict[str, Any]] = [
        {
            "column": found.names[place],
            "rank": rank + 1,
            "score": float(found.scores[place]),
            **_effect(found, place),
            "pvalue": float(found.pvalues[place]),
            "pvalue_adjusted": float(found.pvalues_adjusted[place]),
        }
        for rank, place in enumerate(order)
    ]
    shown = [_for_people(row, best) for row in rows] if out.on_terminal else rows
    out.table("columns", shown, shown=top)
    condition = " given " + ", ".join(map(repr, given)) if given else ""
    with out.working("testing all columns together"):
        verdict = _verdict(
            found, level, lambda: _joint_test(X, table, seed, n_jobs, confounders), condition
        )
    out.result("significant", verdict.significant, verdict.columns, style="bold")
    out.result("all_columns", verdict.all_columns, verdict.joint)
    out.result("gives_away", *_given_away(found, table, ignored))
    out.finish()
    if check and verdict.all_columns["pvalue"] > level:
        raise typer.Exit(ExitCode.NOT_FOUND)


def _effect(found: Any, place: int) -> dict[str, float]:
    """The effect of a column with its interval; none given confounders or weights of rows.

    Of rows that are read a chunk at a time there is no interval.
    """
    ends = {
        "effect": found.effects,
        "effect_low": found.effects_low,
        "effect_high": found.effects_high,
    }
    return {name: float(each[place]) for name, each in ends.items() if not np.isnan(each).all()}


def _given_away(found: Any, table: Table, ignored: tuple[str, ...]) -> tuple[list[str], str | None]:
    """Columns that say nearly everything about the target, and what to do about them."""
    from depmax.evaluation.comparison.cautions import GIVEN_AWAY, GIVES_AWAY, gives_away

    places = [place for place in found.ranking.argsort() if found.effects[place] >= GIVES_AWAY]
    names = [found.names[place] for place in places]
    if not names or GIVEN_AWAY.code in ignored:
        return names, None
    return names, f"{GIVEN_AWAY.code}: {gives_away(names, ', '.join(table.target_names))}"


def _for_people(row: dict[str, Any], best: float) -> dict[str, Any]:
    """A row of the table on a terminal.

    The estimate of HSIC is unbiased, so that it is about as often negative as positive where there
    is no dependence; a person reads both as none.
    """
    size = max(0.0, row.get("effect", row["score"]))
    return {
        "rank": row["rank"],
        "column": row["column"],
        "score": max(0.0, row["score"]),
        **effect_for_people(row),
        "pvalue_adjusted": row["pvalue_adjusted"],
        "": "█" * round(BAR * size / best),
        "pvalue": row["pvalue"],
    }


@dataclass(frozen=True)
class TableVerdict:
    """The conclusion from the table."""

    significant: int  # columns that pass
    all_columns: dict[str, Any]  # the test of any dependence at all
    columns: str  # in words: about single columns
    joint: str | None = None  # and, if none passes, about all of them


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


def _verdict(
    found: Any, level: float, joint_test: Callable[[], dict[str, Any]], condition: str = ""
) -> TableVerdict:
    """Columns that pass prove dependence; only if none does, all are tested together.

    The smallest adjusted p-value is that of Simes' test of no dependence at all, so that this
    statement agrees with the table. Each of the two tests has its own level.
    """
    significant = int((found.pvalues_adjusted <= level).sum())
    n_columns = len(found.names)
    rate = f"false discovery rate {100 * level:g}%"
    if significant:
        smallest = float(found.pvalues_adjusted.min())
        simes = {"pvalue": smallest, "hsic": None, "method": "Simes", "rows": None}
        depend = f"{counted(n_columns, 'column')} {'depends' if significant == 1 else 'depend'}"
        columns = f"{significant:,} of {depend} on the target{condition} ({rate})."
        return TableVerdict(significant, simes, columns)
    joint = joint_test()
    sentence = (
        "together they depend on the target, although no single column shows it"
        if joint["pvalue"] <= level
        else "no dependence was found"
    )
    return TableVerdict(
        0,
        joint,
        f"None of {n_columns:,} columns was shown to depend on the target by itself{condition} "
        f"({rate}).",
        f"All columns together: {_pvalue(joint['pvalue'])} ({joint['method']}, "
        f"{joint['rows']:,} rows): {sentence}.",
    )


def _pvalue(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _joint_test(X: Any, table: Table, seed: int, n_jobs: int | None, given: Any) -> dict[str, Any]:
    """Permutation test of all columns together, on a random part of many rows or groups."""
    from sklearn.utils import _safe_indexing

    from depmax.dependence import hsic_test
    from depmax.dependence.exchange import neighbours_mentioned
    from depmax.evaluation import Prepare

    X = Prepare(scale=False).fit_transform(X)  # permutations allow for gaps filled by the same rule
    y, groups, weights = table.y, table.groups, table.weights
    rng = np.random.default_rng(seed)
    rows = (
        _joint_rows(y, table.target.kind, X.height, rng)
        if groups is None
        else _rows_of_groups(groups, rng)
    )
    if rows is not None:
        X, y = _safe_indexing(X, rows), _safe_indexing(y, rows)
        groups = None if groups is None else groups[rows]
        weights = None if weights is None else weights[rows]
        given = None if given is None else _safe_indexing(given, rows)
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


def _rows_of_groups(groups: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    """Rows of as many whole groups as the joint test takes, None for all."""
    if len(groups) <= JOINT_ROWS:
        return None
    order = rng.permutation(int(groups.max()) + 1)
    totals = np.cumsum(np.bincount(groups)[order])
    n_kept = max(FEWEST_GROUPS, int(np.searchsorted(totals, JOINT_ROWS, side="right")))
    return np.flatnonzero(np.isin(groups, order[:n_kept]))


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
