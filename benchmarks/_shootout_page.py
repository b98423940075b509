"""docs/shootout.md and its picture from the results of the shoot-out."""

from __future__ import annotations

from pathlib import Path

import few_rows
import pandas as pd
from _shootout_methods import METHODS
from _shootout_sets import CLASSES, FEW_ROWS, names
from scipy.stats import wilcoxon
from shootout import BALANCED, COUNTS, FOLDS, SCORES
from statsmodels.stats.multitest import multipletests

from reproduction.pages.markdown import markdown_head, markdown_line

DOCS = Path(__file__).parents[1] / "docs"
OURS = "KernelRidgeElimination"
#: Methods with results on at most so many sets are shown apart.
FEW_SETS = 10


def set_means(results: pd.DataFrame, fields: tuple[str, ...] = SCORES) -> pd.DataFrame:
    """Points (0 to 100) per set and number of columns, a column per method: mean of both models.

    Only sets on which every method has every fold.
    """
    scores = results.assign(score=100.0 * results[list(fields)].mean(axis=1))
    table = scores.pivot_table("score", ["half", "set", "fold", "k"], "method")
    complete = table.dropna().reset_index()
    folds = complete.groupby(["half", "set", "k"])["fold"].transform("nunique")
    complete = complete[folds >= FOLDS]
    return complete.drop(columns="fold").groupby(["half", "set", "k"]).mean()


def balanced_means(results: pd.DataFrame) -> pd.DataFrame:
    """The same by balanced accuracy, of the methods that have it on every set with classes."""
    classes = results[results["kind"] == "classes"]
    lacking = classes.loc[classes[list(BALANCED)].isna().any(axis=1), "method"]
    return set_means(classes[~classes["method"].isin(lacking)], BALANCED)


def mean_ranks(means: pd.DataFrame) -> pd.Series:
    """Mean over sets of each method's rank, 1 for the best, ties shared."""
    return means.round(6).rank(axis=1, ascending=False).mean()


def against_ours(means: pd.DataFrame) -> pd.DataFrame:
    """Mean difference of our default to each method over sets, and Wilcoxon's test of it."""
    rows = {}
    for method in means.columns.drop(OURS):
        gains = (means[OURS] - means[method]).round(6)
        pvalue = 1.0 if not gains.any() else float(wilcoxon(gains).pvalue)
        rows[method] = {
            "gain": gains.mean(),
            "better": int((gains > 0).sum()),
            "worse": int((gains < 0).sum()),
            "pvalue": pvalue,
        }
    table = pd.DataFrame(rows).T
    table["pvalue"] = multipletests(table["pvalue"], method="holm")[1]
    return table


def leads(parts: dict[str, pd.DataFrame]) -> list[str]:
    """Our default beside the best of the methods that are not depmax's, for parts of the sets."""
    lines = markdown_head(
        ["sets", "columns", "mean", "lead", "best peer", "mean rank", "best mean rank of a peer"]
    )
    for name, means in parts.items():
        for k in COUNTS:
            part = means.xs(k, level="k")
            peers = [method for method in part.columns if not METHODS[method].ours]
            points, ranks = part.mean(), mean_ranks(part)
            best, next_best = points[peers].idxmax(), ranks[peers].idxmin()
            cells = [
                f"{points[OURS]:.2f}",
                f"{points[OURS] - points[best]:+.2f}",
                best,
                f"{ranks[OURS]:.2f}",
                f"{ranks[next_best]:.2f} ({next_best})",
            ]
            lines.append(markdown_line([f"{name} ({len(part)})", str(k), *cells]))
    return lines


def summary(means: pd.DataFrame, seconds: pd.Series) -> list[str]:
    """Table of means and mean ranks, the best mean rank over all numbers of columns first."""
    by_count = {k: means.xs(k, level="k") for k in COUNTS}
    points = pd.DataFrame({k: part.mean() for k, part in by_count.items()})
    ranks = pd.DataFrame({k: mean_ranks(part) for k, part in by_count.items()})
    lines = markdown_head(
        ["method", *(f"{w}{k}" for w in ("", "rank, ") for k in COUNTS), "seconds"]
    )
    for method in ranks.mean(axis=1).sort_values().index:
        cells = [
            _bold(f"{value:.2f}", value == best)
            for table, ends in ((points, points.max()), (ranks, ranks.min()))
            for value, best in zip(table.loc[method], ends, strict=True)
        ]
        name = _bold(method, METHODS[method].ours)
        lines.append(markdown_line([name, *cells, f"{seconds[method]:.2g}"]))
    sizes = ", ".join(f"{len(part)} sets for {k} columns" for k, part in by_count.items())
    return [f"Means over {sizes}.", "", *lines]


def tests(means: pd.DataFrame) -> list[str]:
    """Table of differences to our default."""
    lines = markdown_head(
        ["method", *(f"{k}: {w}" for k in COUNTS for w in ("gain", "p", "+ / −"))]
    )
    tables = {k: against_ours(means.xs(k, level="k")) for k in COUNTS}
    order = tables[5]["gain"].sort_values().index
    for method in order:
        cells = []
        for k in COUNTS:
            row = tables[k].loc[method]
            cells += [
                f"{row['gain']:+.2f}",
                f"{row['pvalue']:.2g}",
                f"{row['better']:.0f} / {row['worse']:.0f}",
            ]
        lines.append(markdown_line([method, *cells]))
    return lines


def per_set(means: pd.DataFrame) -> list[str]:
    """Every set: our default beside the best peer."""
    peers = [name for name in means.columns if not METHODS[name].ours]
    lines = markdown_head(
        ["set", "half", *(f"{k}: {w}" for k in COUNTS for w in ("ours", "best peer"))]
    )
    for (half, name), part in means.groupby(level=["half", "set"]):
        cells = []
        for k in COUNTS:
            if (half, name, k) not in part.index:
                cells += ["–"] * 2
                continue
            row = part.loc[half, name, k]
            best = row[peers].idxmax()
            cells += [f"{row[OURS]:.1f}", f"{row[best]:.1f} ({best})"]
        lines.append(markdown_line([str(name), str(half), *cells]))
    return lines


def partial(results: pd.DataFrame, methods: list[str]) -> list[str]:
    """Methods that ran on a few sets only, beside our default and the best other, on these sets."""
    lines = markdown_head(
        ["method", "set", *(f"{k}: {w}" for k in (5, 10) for w in ("method", "ours", "best"))]
    )
    others = results[~results["method"].isin(methods)]
    for method in methods:
        mine = results[results["method"] == method]
        for name in sorted(mine["set"].unique()):
            both = pd.concat([mine[mine["set"] == name], others[others["set"] == name]])
            means = set_means(both)
            cells = []
            for k in (5, 10):
                row = means.xs(k, level="k").iloc[0]
                best = row.drop(method).max()
                cells += [f"{row[method]:.1f}", f"{row[OURS]:.1f}", f"{best:.1f}"]
            lines.append(markdown_line([method, name, *cells]))
    return lines


def of_few_rows(results: pd.DataFrame) -> list[str]:
    """Points with 5 / 10 / 20 columns on the sets of few_rows.py, and means over them."""
    methods = [name for name in few_rows.COMPARED if name in set(results["method"])]
    lines = markdown_head(["set", "half", *methods])
    halves = {"choice": few_rows.CHOICE, "check": few_rows.CHECK}
    means = set_means(results).droplevel("half")
    balanced = balanced_means(results).droplevel("half").combine_first(means)
    parts = {
        **{(name, half): (means, (name,)) for half, part in halves.items() for name in part},
        **{("*mean*", half): (means, part) for half, part in halves.items()},
        ("*mean*", "both"): (means, few_rows.CHOICE + few_rows.CHECK),
        **{("*mean, balanced*", half): (balanced, part) for half, part in halves.items()},
        ("*mean, balanced*", "both"): (balanced, few_rows.CHOICE + few_rows.CHECK),
    }
    for head, (table, sets) in parts.items():
        points = table[table.index.get_level_values("set").isin(sets)].groupby(level="k").mean()
        cells = [" / ".join(f"{points.loc[k, name]:.1f}" for k in COUNTS) for name in methods]
        lines.append(markdown_line([*head, *cells]))
    return lines


def coverage(means: pd.DataFrame) -> list[str]:
    """Which of the listed sets have complete results."""
    covered = set(means.index.get_level_values("set"))
    missing = [name for name in names() if name not in covered]
    text = f"The results kept here cover {len(covered)} of the {len(names())} sets."
    return [text if not missing else f"{text} Not run yet: {', '.join(missing)}."]


def draw(means: pd.DataFrame, path: Path) -> None:
    """Mean rank of every method with 5, 10 and 20 columns, and its mean gain over the F test."""
    from matplotlib import pyplot

    order = mean_ranks(means).sort_values(ascending=False).index
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(9.5, 5.4), sharey=True, layout="constrained"
    )
    colours = {5: "#0083c7", 10: "#d95f02", 20: "#009e73"}
    for k in COUNTS:
        part = means.xs(k, level="k")
        left.plot(mean_ranks(part)[order], range(len(order)), "o", color=colours[k], label=str(k))
        gains = part.sub(part["SelectKBest F"], axis=0).mean()
        right.plot(gains[order], range(len(order)), "o", color=colours[k])
    left.set_yticks(range(len(order)), order)
    for label in left.get_yticklabels():
        label.set_fontweight("bold" if METHODS[label.get_text()].ours else "normal")
    left.set_xlabel("mean rank (1 is best)")
    right.set_xlabel("points above the F test")
    right.axvline(0.0, color="#9aa3ad", linewidth=0.8)
    left.legend(title="columns", frameon=False)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="both", linewidth=0.6, alpha=0.5)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _bold(text: str, really: bool) -> str:
    return f"**{text}**" if really else text


def write(file: Path) -> None:
    """Fill docs/shootout.md between its marks, and draw the picture."""
    results = pd.read_csv(file)
    results = results[results["method"].isin(METHODS)]
    n_sets = results.groupby("method")["set"].nunique()
    few = [name for name in METHODS if 0 < n_sets.get(name, 0) <= FEW_SETS]
    partly = partial(results, few)
    results = results[~results["method"].isin(few)]
    means = set_means(results)
    medians = results[results["k"] == 5].groupby("method")["seconds"].median()
    draw(means, DOCS / "images" / "shootout.png")
    half, sets = (means.index.get_level_values(name) for name in ("half", "set"))
    of_classes, short = sets.isin(CLASSES), sets.isin(FEW_ROWS)
    compared = {
        "all": means,
        "report": means[half == "report"],
        "tuning": means[half == "tuning"],
        "report, few rows": means[(half == "report") & short],
        "tuning, few rows": means[(half == "tuning") & short],
        "classes": means[of_classes],
        "classes, balanced": balanced_means(results),
        "numbers": means[~of_classes],
    }
    parts = {
        "coverage": coverage(means),
        "leads": leads(compared),
        **{name: summary(part, medians) for name, part in compared.items()},
        "tests": tests(means),
        "partial": partly,
        "sets": per_set(means),
        "few_rows.py": of_few_rows(pd.read_csv(few_rows.FILE)),
    }
    accuracy_only = sorted(set(means) - set(compared["classes, balanced"]))
    if accuracy_only:
        parts["classes, balanced"] += ["", f"Not measured everywhere: {', '.join(accuracy_only)}."]
    page = DOCS / "shootout.md"
    text = page.read_text()
    for name, lines in parts.items():
        start, end = f"<!-- {name} -->", f"<!-- end {name} -->"
        before, rest = text.split(start)
        after = rest.split(end)[1]
        text = f"{before}{start}\n" + "\n".join(lines) + f"\n{end}{after}"
    page.write_text(text)
    print(
        "\n".join(
            line for name in ("leads", "report", "few_rows.py") for line in [*parts[name], ""]
        )
    )
