"""docs/shootout.md and its picture from the results of the shoot-out."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from _shootout_methods import METHODS
from _shootout_sets import CLASSES, names
from scipy.stats import wilcoxon

from depmax.evaluation import holm
from reproduction.pages.markdown import markdown_head, markdown_line

DOCS = Path(__file__).parents[1] / "docs"
OURS = "KernelRidgeElimination"
COUNTS = (5, 10, 20)
#: Methods with results on at most so many sets are shown apart.
FEW_SETS = 10


def set_means(results: pd.DataFrame) -> pd.DataFrame:
    """Points (0 to 100) per set and number of columns, a column per method: mean of both models.

    Only sets on which every method has every fold.
    """
    scores = results.assign(score=50.0 * (results["svm"] + results["boosting"]))
    table = scores.pivot_table("score", ["half", "set", "fold", "k"], "method")
    complete = table.dropna().reset_index()
    folds = complete.groupby(["half", "set", "k"])["fold"].transform("nunique")
    complete = complete[folds >= 5]
    return complete.drop(columns="fold").groupby(["half", "set", "k"]).mean()


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
    table["pvalue"] = holm(table["pvalue"].to_numpy())
    return table


def summary(means: pd.DataFrame, seconds: pd.Series) -> list[str]:
    """Table of means and mean ranks, the best mean rank over 5 and 10 columns first."""
    few = means[means.index.get_level_values("k").isin((5, 10))]
    ranks = mean_ranks(few).sort_values()
    by_count = {k: means.xs(k, level="k") for k in COUNTS}
    lines = markdown_head(
        ["method", *(f"{k} columns" for k in COUNTS), "mean rank, 5 and 10", "seconds"]
    )
    best = {k: part.mean().max() for k, part in by_count.items()}
    for method, rank in ranks.items():
        cells = [_bold(f"{part[method].mean():.2f}", part[method].mean() >= best[k] - 1e-9)
                 for k, part in by_count.items()]  # fmt: skip  # shorter to read in this form
        name = f"**{method}**" if METHODS[method].ours else method
        rank_cell = _bold(f"{rank:.2f}", rank == ranks.iloc[0])
        lines.append(markdown_line([name, *cells, rank_cell, f"{seconds[method]:.2g}"]))
    sizes = ", ".join(f"{len(part)} sets for {k} columns" for k, part in by_count.items())
    return [f"Means over {sizes}.", "", *lines]


def tests(means: pd.DataFrame) -> list[str]:
    """Table of differences to our default with 5 and 10 columns."""
    lines = markdown_head(
        ["method", *(f"{k}: {w}" for k in (5, 10) for w in ("gain", "p", "+ / −"))]
    )
    tables = {k: against_ours(means.xs(k, level="k")) for k in (5, 10)}
    order = tables[5]["gain"].sort_values().index
    for method in order:
        cells = []
        for k in (5, 10):
            row = tables[k].loc[method]
            cells += [
                f"{row['gain']:+.2f}",
                f"{row['pvalue']:.2g}",
                f"{row['better']:.0f} / {row['worse']:.0f}",
            ]
        lines.append(markdown_line([method, *cells]))
    return lines


def per_set(means: pd.DataFrame) -> list[str]:
    """Every set: our default beside the best peer and BAHSIC, with 5 and 10 columns."""
    peers = [name for name in means.columns if not METHODS[name].ours]
    lines = markdown_head(
        ["set", "half", *(f"{k}: {w}" for k in (5, 10) for w in ("ours", "BAHSIC", "best peer"))]
    )
    for (half, name), part in means.groupby(level=["half", "set"]):
        cells = []
        for k in (5, 10):
            if (half, name, k) not in part.index:
                cells += ["–"] * 3
                continue
            row = part.loc[half, name, k]
            best = row[peers].idxmax()
            cells += [f"{row[OURS]:.1f}", f"{row['BAHSIC']:.1f}", f"{row[best]:.1f} ({best})"]
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


def coverage(means: pd.DataFrame) -> list[str]:
    """Which of the listed sets have complete results."""
    covered = set(means.index.get_level_values("set"))
    missing = [name for name in names() if name not in covered]
    text = f"The results kept here cover {len(covered)} of the {len(names())} sets."
    return [text if not missing else f"{text} Not run yet: {', '.join(missing)}."]


def draw(means: pd.DataFrame, path: Path) -> None:
    """Mean rank of every method with 5, 10 and 20 columns, and its mean gain over the F test."""
    from matplotlib import pyplot

    few = means[means.index.get_level_values("k").isin((5, 10))]
    order = mean_ranks(few).sort_values(ascending=False).index
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(9.5, 4.8), sharey=True, layout="constrained"
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
    report = means[means.index.get_level_values("half") == "report"]
    draw(means, DOCS / "images" / "shootout.png")
    of_classes = means.index.get_level_values("set").isin(CLASSES)
    parts = {
        "coverage": coverage(means),
        "all": summary(means, medians),
        "report": summary(report, medians),
        "classes": summary(means[of_classes], medians),
        "numbers": summary(means[~of_classes], medians),
        "tests": tests(means),
        "partial": partly,
        "sets": per_set(means),
    }
    page = DOCS / "shootout.md"
    text = page.read_text()
    for name, lines in parts.items():
        start, end = f"<!-- {name} -->", f"<!-- end {name} -->"
        before, rest = text.split(start)
        after = rest.split(end)[1]
        text = f"{before}{start}\n" + "\n".join(lines) + f"\n{end}{after}"
    page.write_text(text)
    print("\n".join(line for name in ("all", "report", "tests") for line in [*parts[name], ""]))
