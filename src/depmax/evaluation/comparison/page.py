"""A comparison as a report: the answer in words first, then the evidence."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import numpy as np

from depmax._version import __version__
from depmax.evaluation.comparison.findings import Findings
from depmax.evaluation.comparison.page_columns import (
    columns_section,
    features_section,
    matrices_section,
    redundancy_section,
)
from depmax.evaluation.comparison.pictures import curves_display
from depmax.evaluation.comparison.tables import leaderboard_columns, significance_columns
from depmax.evaluation.comparison.trial import clock
from depmax.evaluation.comparison.words import (
    KINDS,
    LEVEL,
    PERCENT,
    counted,
    interruption,
    interval,
    judged_on,
    listed,
    no_better_than_chance,
    ties_with_best,
)
from depmax.report import Column, KeyFigure, Noted, Picture, Report, Section, Table

if TYPE_CHECKING:
    from depmax.evaluation.comparison.comparison import Comparison

#: Curves in one picture; more cannot be told apart.
CURVES = 6


def report_of(
    comparison: Comparison, *, title: str = "", command: str = "", notes: tuple[str, ...] = ()
) -> Report:
    """The page of a comparison."""
    findings = Findings(comparison)
    sections = [leaderboard_section(comparison), curves_section(comparison)]
    if comparison.setting.prepare:
        sections += [columns_section(findings), redundancy_section(findings)]
        sections += [matrices_section(findings)]
    sections += [features_section(findings)]
    sections += [trouble_section(comparison, notes), cost_section(comparison)]
    sections += [repeat_section(comparison, command)]
    problem = comparison.setting.problem
    n_rows = len(comparison.y)
    return Report(
        title or f"What predicts {comparison.target_name}?",
        f"Which few of {counted(problem.n_features, 'column')} predict {comparison.target_name} "
        f"({KINDS[problem.kind]}, {counted(n_rows, 'row')}), how sure are we, and which method "
        "should be used?",
        answer(findings),
        key_figures(findings),
        tuple(section for section in sections if section is not None),
        f"Made by depmax in {clock(comparison.seconds)}. This page needs no network.",
    )


def answer(findings: Findings) -> tuple[str, ...]:
    """The findings in a few sentences."""
    comparison = findings.comparison
    outcomes = comparison.outcomes
    metric = outcomes.metrics[0].label
    best, honest = comparison.best, comparison.winner_score
    sizes = outcomes.dimensions(best)
    median = float(np.median(sizes)) if sizes else 0.0
    size = f", using {median:g} feature{'' if median == 1 else 's'} (median)" if sizes else ""
    first = (
        f"{best} scored highest on held-out data: {metric} {interval(outcomes.score(best))}{size}."
    )
    expect = (
        "The top score flatters the winner. Choosing the method without test data gives "
        f"{interval(honest)}: expect this on new data."
    )
    if no_better_than_chance(comparison):
        expect += (
            " That is not clearly better than guessing: these data do not show that the target "
            "can be predicted from these columns."
        )
    paragraphs = [first, expect, _ties(comparison)]
    if not comparison.complete:
        paragraphs.insert(0, interruption(comparison))
    if findings.selector is not None and comparison.setting.prepare:
        paragraphs.append(_few(findings))
    return tuple(paragraphs)


def _ties(comparison: Comparison) -> str:
    ties = ties_with_best(comparison)
    names = comparison.outcomes.names
    if len(names) == 1:
        return "No other method was compared."
    if not ties:
        return (
            f"It is better than every other method compared (significance level {PERCENT}, "
            "corrected for overlapping splits and for the number of comparisons)."
        )
    others = len(names) - 1
    share = "any" if len(ties) == others else str(len(ties))
    group = "the other method" if others == 1 else f"{share} of the {others} other methods"
    return (
        f"These data do not distinguish it from {group} "
        f"(significance level {PERCENT}): {listed(ties, 6)}."
    )


def _few(findings: Findings) -> str:
    assert findings.selector is not None
    name = findings.selector.name
    kept = [findings.names[column] for column in findings.kept]
    n_columns = len(findings.names)
    screened = int((findings.screening.pvalues_adjusted <= LEVEL).sum())
    text = (
        f"Of the methods that keep columns as they are, {name} does best"
        f"{_its_score(findings.comparison, name)}. On all rows it keeps {len(kept)} of "
        f"{n_columns}: {listed(kept, 8)}."
    )
    stable = findings.comparison.outcomes.stability(name)
    if stable is not None:
        text += (
            f" Its selection stability is {stable.value:.2f} (1: always the same columns, 0: as by "
            "chance)."
        )
    return text + (
        f" Tested one at a time, {screened} of {n_columns} columns depend on the target "
        f"(false discovery rate {PERCENT})."
    )


def _its_score(comparison: Comparison, name: str) -> str:
    """The score of a method that is not the best of all, in brackets."""
    if name == comparison.best:
        return ""
    metric = comparison.outcomes.metrics[0].label
    return f" ({metric} {comparison.outcomes.score(name).mean:.3f})"


def key_figures(findings: Findings) -> tuple[KeyFigure, ...]:
    """Numbers to remember, all of the best method; then what the screening says of the columns."""
    comparison = findings.comparison
    outcomes = comparison.outcomes
    best, metric = comparison.best, outcomes.metrics[0]
    score, honest = outcomes.score(best), comparison.winner_score.mean
    margin = "" if np.isnan(score.low) else f"95 % interval {score.low:.3f} to {score.high:.3f}; "
    expect = f"expect {honest:.3f} on new rows, choice of the method included"
    figures = [
        KeyFigure("best method", best, f"of {len(outcomes.names)} compared"),
        KeyFigure(f"its {metric.label}", f"{score.mean:.3f}", margin + expect),
    ]
    n_columns = len(findings.names)
    is_selector = findings.selector is not None and findings.selector.name == best
    sizes = outcomes.dimensions(best)
    if is_selector and comparison.setting.prepare:
        kept = f"{len(findings.kept)} of {n_columns}"
        figures.append(KeyFigure("columns it keeps", kept, "fitted on all rows"))
    elif sizes:
        note = "median over the splits"
        figures.append(KeyFigure("features it uses", f"{np.median(sizes):g}", note))
    if comparison.setting.prepare:
        found = int((findings.screening.pvalues_adjusted <= LEVEL).sum())
        figures.append(
            KeyFigure(
                "columns that depend on the target",
                f"{found} of {n_columns}",
                f"each alone, false discovery rate {PERCENT}",
            )
        )
    return tuple(figures)


def leaderboard_section(comparison: Comparison) -> Section:
    """All methods with their scores and significance."""
    outcomes = comparison.outcomes
    columns = leaderboard_columns(outcomes, significance_columns(outcomes))
    first, *others = outcomes.metrics
    notes = {method.name: method.description for method in comparison.methods}
    shown: list[tuple[Column, list[object]]] = [
        (Column("rank", "d"), columns["rank"]),
        (Column("method"), [Noted(name, notes[name]) for name in columns["method"]]),
        (Column(first.label, ".3f", "mean over the test parts"), columns[first.name]),
        (Column("from", ".3f", "95 % interval, corrected for overlapping splits"), columns["low"]),
        (Column("to", ".3f", "95 % interval, corrected for overlapping splits"), columns["high"]),
        (Column("features", "g", "median of the numbers chosen"), columns["dimension"]),
        (
            Column("p vs best", "p", "corrected t-test, Holm's correction over all pairs"),
            columns["pvalue_adjusted"],
        ),
        (Column("stability", ".2f", "of the columns kept over splits"), columns["stability"]),
    ]
    shown += [(Column(metric.label, ".3f"), columns[metric.name]) for metric in others]
    table = Table(
        f"Methods by mean {first.label} on {judged_on(comparison)}. Click a heading to sort.",
        tuple(column for column, _ in shown),
        tuple(zip(*(values for _, values in shown), strict=True)),
        emphasised=(0,),
    )
    text = (
        "Every method saw only the training part of a split: scaling, the choice of columns or "
        "directions, and the number of features (by inner splits). The p-value asks whether the "
        "difference to the best method could be chance; it allows for training parts that share "
        "rows (Nadeau and Bengio) and for the number of comparisons (Holm).",
    )
    return Section("Which method?", text, (table,))


def curves_section(comparison: Comparison) -> Section | None:
    """Score against the number of features."""
    display = curves_display(comparison, CURVES)
    if not display.curves:
        return None
    metric = comparison.outcomes.metrics[0].label
    peaks = [
        f"{name} peaks at {curve.scores.max():.3f} with {curve.dimensions[curve.scores.argmax()]:g}"
        for name, curve in display.curves.items()
    ]
    with_curve = sum(bool(comparison.outcomes.dimensions(m)) for m in comparison.outcomes.names)
    caption = (
        f"Mean {metric} on the test parts against the number of features"
        + (
            f", the best {len(display.curves)} of {with_curve} methods"
            if with_curve > CURVES
            else ""
        )
        + ". The band is a pointwise 95 % interval of the first."
    )
    picture = Picture(display, caption, f"{caption} {'; '.join(peaks)} features.", height=4.0)
    return Section("How many features?", pictures=(picture,))


def trouble_section(comparison: Comparison, notes: tuple[str, ...]) -> Section | None:
    """What failed, warned or stopped early."""
    text = list(notes)
    if not comparison.complete:
        text.append(interruption(comparison))
    text += [f"{name} failed and is not shown: {why}" for name, why in comparison.failures.items()]
    for name, warned in comparison.warnings.items():
        trials = sum(trial.method == name for trial in comparison.trials)
        text += [f"{name} warned in {n} of {trials} trials: {what}" for what, n in warned.items()]
    return Section("Worth knowing", tuple(text)) if text else None


if TYPE_CHECKING:
    from depmax.evaluation.comparison.comparison import Comparison


def cost_section(comparison: Comparison) -> Section:
    """Seconds and memory per fit, seconds per transform, kernel values per new row."""
    outcomes = comparison.outcomes
    columns = leaderboard_columns(outcomes, significance_columns(outcomes))
    shown = [
        (Column("method"), columns["method"]),
        (Column("seconds per fit", ".3g", "of the method alone"), columns["fit_seconds"]),
        (
            Column("seconds per transform", ".3g", "of a test part, preparation included"),
            columns["transform_seconds"],
        ),
        (
            Column("kernel values per new row", ".4g", "0 for columns and linear directions"),
            columns["kernel_evaluations"],
        ),
        (
            Column("MB while fitting", ".3g", "most that Python and numpy held beyond the data"),
            columns["fit_megabytes"],
        ),
    ]
    table = Table(
        "Mean over the splits; memory on the first of them.",
        tuple(column for column, _ in shown),
        tuple(zip(*(values for _, values in shown), strict=True)),
    )
    text = f"The whole comparison, {counted(len(comparison.trials), 'trial')}, took "
    text += f"{clock(comparison.seconds)}."
    peak = process_megabytes()
    if peak is not None:
        text += f" This process, data and libraries included, held at most {peak:.0f} MB."
    return Section("What does it cost?", (text,), (table,))


def process_megabytes() -> float | None:
    """Most memory of this process so far; None where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024.0 if platform.system() == "Linux" else 1024.0**2)  # macOS tells bytes


def repeat_section(comparison: Comparison, command: str) -> Section:
    """Command or call, versions and seed."""
    names = [method.name for method in comparison.methods]
    seed = "none was given: the splits cannot be drawn again" if comparison.seed is None else ""
    impute = comparison.setting.impute
    filling = f"impute={impute!r}, " if impute else ""
    arguments = f"X, y, {names!r}, {filling}random_state={comparison.seed!r}"
    call = f"from depmax import compare\n\ncompare({arguments})"
    libraries = ("numpy", "scipy", "scikit-learn", "pandas", "polars")
    found = [f"{name} {number}" for name in libraries if (number := _version(name)) is not None]
    setting = comparison.setting
    text = (
        f"Seed: {seed or comparison.seed}. Predictor: {' '.join(repr(setting.predictor).split())}. "
        f"Numbers of features tried: {', '.join(map(str, setting.dimensions))}. "
        f"{counted(len(comparison.splits), 'outer split')}"
        + ("." if comparison.complete else ", of which the interruption left a part unfinished."),
        f"depmax {__version__}, {', '.join(found)}, Python {platform.python_version()} on "
        f"{platform.system()}.",
    )
    return Section("How to repeat it", text, code=command or call)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
