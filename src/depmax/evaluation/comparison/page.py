"""A comparison as a report: the answer in words first, then the evidence."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from depmax._text import counted, listed, times
from depmax._version import __version__
from depmax.evaluation.comparison.findings import Findings
from depmax.evaluation.comparison.page_columns import (
    columns_section,
    features_section,
    matrices_section,
    redundancy_section,
)
from depmax.evaluation.comparison.page_data import classes_section, data_section, target_section
from depmax.evaluation.comparison.setting import Listener, Progress, clock, quiet
from depmax.evaluation.comparison.tables import (
    curves_display,
    leaderboard_columns,
    significance_columns,
)
from depmax.evaluation.comparison.trial import quiet_warnings
from depmax.evaluation.comparison.verdict import (
    KINDS,
    LEVEL,
    PERCENT,
    interruption,
    judged_on,
    limits,
    ties_with_best,
)
from depmax.report import (
    Code,
    Column,
    Download,
    KeyFigure,
    Noted,
    Picture,
    Report,
    Section,
    Table,
)

if TYPE_CHECKING:
    from depmax.evaluation.comparison.comparison import Comparison

#: Curves in one picture; more cannot be told apart.
CURVES = 6


def report_of(
    comparison: Comparison,
    *,
    title: str = "",
    command: str = "",
    use: str = "",
    notes: tuple[str, ...] = (),
    listener: Listener = quiet,
) -> Report:
    """The page of a comparison."""
    findings = Findings(comparison)
    table = comparison.setting.prepare
    parts: list[tuple[str, Callable[[], Section | None]]] = [
        ("use", lambda: use_section(findings, use)),
        ("data", lambda: data_section(findings) if table else None),
        ("target", lambda: target_section(findings) if table else None),
        ("columns", lambda: columns_section(findings) if table else None),
        ("redundancy", lambda: redundancy_section(findings) if table else None),
        ("methods", lambda: leaderboard_section(comparison)),
        ("curves", lambda: curves_section(comparison)),
        ("classes", lambda: classes_section(findings)),
        ("pairs", lambda: matrices_section(findings) if table else None),
        ("features", lambda: features_section(findings)),
        ("notes", lambda: trouble_section(comparison, notes)),
        ("cost", lambda: cost_section(comparison)),
        ("repeat", lambda: repeat_section(comparison, command)),
    ]
    problem = comparison.setting.problem
    sections = []
    started = perf_counter()
    with quiet_warnings():  # those of the trials are in the report
        answered, figures = answer(findings), key_figures(findings)
        for done, (name, make) in enumerate(parts, 1):
            sections.append(make())
            listener(
                Progress(done, len(parts), perf_counter() - started, name, "writing the report")
            )
    return Report(
        title or f"What predicts {comparison.target_name}?",
        f"Which few of {counted(problem.n_features, 'column')} predict {comparison.target_name} "
        f"({KINDS[problem.kind]}, {counted(len(comparison.y), 'row')}), how sure can we be, and "
        "which method should be used?",
        answered,
        figures,
        tuple(section for section in sections if section is not None),
        f"Made by depmax in {clock(comparison.seconds)}. This page needs no network.",
    )


def answer(findings: Findings) -> tuple[str, ...]:
    """The verdict and what supports it, in a few sentences."""
    comparison = findings.comparison
    verdict = comparison.verdict
    cautions = [f"Caution: {text}" for text in verdict.cautions]
    paragraphs = [verdict.headline, " ".join(verdict.reasons), *cautions, _ties(comparison)]
    if not comparison.complete:
        paragraphs.insert(1, interruption(comparison))
    if comparison.setting.prepare:
        paragraphs.append(_screened(findings))
    return tuple(paragraphs)


def _ties(comparison: Comparison) -> str:
    """How sure it is which method is best."""
    ties = ties_with_best(comparison)
    others = len(comparison.outcomes.names) - 1
    if not others:
        return "No other method was compared."
    best = comparison.best
    plural = next(m for m in comparison.methods if m.name == best).complexity == 0
    subject = "All columns together" if plural else best
    if not ties:
        return (
            f"{subject} {'are' if plural else 'is'} better than every other method compared "
            f"(significance level {PERCENT}, corrected for overlapping splits and for the number "
            "of comparisons)."
        )
    group = "the other method" if others == 1 else f"{len(ties)} of the {others} other methods"
    group = f"any of the {others} other methods" if len(ties) == others > 1 else group
    have, it = ("have", "them") if plural else ("has", "it")
    return (
        f"{subject} {have} the highest score, but after correction for the number of comparisons "
        f"these data do not distinguish {it} from {group} (significance level {PERCENT}): "
        f"{listed(ties, 6)}."
    )


def _screened(findings: Findings) -> str:
    """How stable the choice of columns is, and what columns show one at a time."""
    comparison, name = findings.comparison, findings.comparison.recommended
    found = int((findings.screening.pvalues_adjusted <= LEVEL).sum())
    text = (
        f"Tested one at a time, {found:,} of {counted(len(findings.names), 'column')} "
        f"{'depends' if found == 1 else 'depend'} on {comparison.target_name} (false discovery "
        f"rate {PERCENT})."
    )
    if comparison.setting.groups is not None and (findings.screening.pvalues == 1.0).all():
        text = "There are too few groups of rows to test columns one at a time."
    stable = comparison.outcomes.stability(name)
    if stable is None:
        return text
    return text + (
        f" The selection stability of {name} is {stable.value:.2f} (1: the same columns on every "
        "split, 0 or less: no better than chance)."
    )


def key_figures(findings: Findings) -> tuple[KeyFigure, ...]:
    """Numbers to remember, all of the recommended method."""
    comparison = findings.comparison
    outcomes, name = comparison.outcomes, comparison.recommended
    metric, score = outcomes.metrics[0], outcomes.score(name)
    margin = "" if np.isnan(score.low) else f"95% interval {score.low:.3f} to {score.high:.3f}"
    figures = [
        KeyFigure("recommended method", name, f"of {len(outcomes.names)} compared"),
        KeyFigure(f"its {metric.label}", f"{score.mean:.3f}", margin),
    ]
    if comparison.chance is not None:
        figures.append(
            KeyFigure("guessing", f"{comparison.chance:.3f}", "best constant prediction")
        )
    n_columns = comparison.setting.problem.n_features
    sizes = outcomes.dimensions(name)
    if comparison.verdict.columns:
        kept = f"{len(comparison.kept):,} of {n_columns:,}"
        figures.append(KeyFigure("columns it keeps", kept, "fitted on all rows"))
    elif sizes:
        size = sorted(sizes)[(len(sizes) - 1) // 2]
        figures.append(KeyFigure("features it uses", f"{size}", "median over the splits"))
    return tuple(figures)


def use_section(findings: Findings, use: str) -> Section | None:
    """Lines that put the recommended method to work, and its columns as files."""
    verdict = findings.comparison.verdict
    code = (
        [Code("In Python, after found = compare(X, y)", verdict.python)] if verdict.python else []
    )
    if use and verdict.outcome in ("few columns", "features"):
        code.append(Code("On the command line", use))
    downloads: tuple[Download, ...] = ()
    if verdict.columns:
        screening, kept = findings.screening, findings.comparison.kept
        lines = [
            f"{quoted(findings.names[column])},{rank},{screening.pvalues_adjusted[column]:.6g}"
            for rank, column in enumerate(kept, 1)
        ]
        table = "\n".join(["column,rank,pvalue_adjusted", *lines]) + "\n"
        names = "\n".join(verdict.columns) + "\n"
        downloads = (
            Download("Kept columns (CSV)", "kept_columns.csv", table, "text/csv"),
            Download("Kept columns (one name per line)", "kept_columns.txt", names),
        )
    if not code and not downloads:
        return None
    return Section("How to use it", code=tuple(code), downloads=downloads)


def quoted(text: str) -> str:
    """A cell of a CSV file.

    >>> quoted("age"), quoted('5" pipe, long')
    ('age', '"5"" pipe, long"')
    """
    return '"' + text.replace('"', '""') + '"' if re.search(r'[",\r\n]', text) else text


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
        (Column("from", ".3f", "95% interval, corrected for overlapping splits"), columns["low"]),
        (Column("to", ".3f", "95% interval, corrected for overlapping splits"), columns["high"]),
        (Column("features", ".0f", "median of the numbers chosen"), columns["dimension"]),
        (
            Column("p vs best", "p", "corrected t-test, Holm's correction over all pairs"),
            columns["pvalue_adjusted"],
        ),
        (Column("stability", ".2f", "of the columns kept over splits"), columns["stability"]),
    ]
    shown += [(Column(metric.label, ".3f"), columns[metric.name]) for metric in others]
    table = Table(
        f"Methods by mean {first.label} on {judged_on(comparison)}; the recommended one is "
        "highlighted. Click a heading to sort.",
        tuple(column for column, _ in shown),
        tuple(zip(*(values for _, values in shown), strict=True)),
        emphasised=(columns["method"].index(comparison.recommended),),
    )
    text = (
        "Every method saw only the training part of a split: scaling, the choice of columns or "
        "directions, and the number of features (by inner splits). The p-value asks whether the "
        "difference from the best method could be due to chance; it allows for training parts "
        "that share rows (Nadeau and Bengio) and for the number of comparisons (Holm).",
    )
    if comparison.race is None or not comparison.race.stopped:
        return Section("Which method?", text, (table,))
    race = comparison.race
    stopped = Table(
        f"Stopped after the first round, on {counted(len(race.rows), 'row')} that are in every "
        f"training part: mean inner {first.label}. These scores cannot be compared with those "
        "above.",
        (Column("method"), Column(f"first-round {first.label}", ".3f")),
        tuple(race.stopped.items()),
    )
    return Section("Which method?", text, (table, stopped))


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
        + ". The band is a pointwise 95% interval of the first."
    )
    picture = Picture(display, caption, f"{caption} {'; '.join(peaks)} features.", height=4.0)
    return Section("How many features?", pictures=(picture,))


def trouble_section(comparison: Comparison, notes: tuple[str, ...]) -> Section | None:
    """What was not tried, failed, warned or stopped early; each warning once, with who gave it."""
    points = list(notes)
    if not comparison.complete:
        points.append(interruption(comparison))
    points += limits(comparison)
    points += [f"{name} failed and is not shown: {w}" for name, w in comparison.failures.items()]
    points += grouped_warnings(comparison)
    return Section("Worth knowing", points=tuple(points)) if points else None


def grouped_warnings(comparison: Comparison) -> list[str]:
    """Warnings that say the same but for their numbers, with the methods and trials that gave them.

    One of the texts stands for its group.
    """
    groups: dict[str, tuple[str, dict[str, int]]] = {}
    for name, warned in comparison.warnings.items():
        for text, count in warned.items():
            key = re.sub(r"[-+]?\d[\d.,e+-]*", "#", text.replace(name, ""))
            methods = groups.setdefault(key, (text, {}))[1]
            methods[name] = methods.get(name, 0) + count
    return [
        f"{text} ({', '.join(f'{name}: {times(n)}' for name, n in methods.items())})"
        for text, methods in groups.values()
    ]


def cost_section(comparison: Comparison) -> Section:
    """Seconds and memory per fit, seconds per transform, kernel values per new row."""
    outcomes = comparison.outcomes
    columns = leaderboard_columns(outcomes, significance_columns(outcomes))
    shown = [
        (Column("method"), columns["method"]),
        (Column("seconds per fit", ".3g", "of the method alone"), columns["fit_seconds"]),
        (
            Column("seconds per transform", ".3g", "of a test part, including preparation"),
            columns["transform_seconds"],
        ),
        (
            Column("kernel values per new row", ".4g", "0 for columns and linear directions"),
            columns["kernel_evaluations"],
        ),
        (
            Column("MB while fitting", ".3g", "peak held by Python and numpy, beyond the data"),
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
    seed = "none was given, so the splits cannot be reproduced" if comparison.seed is None else ""
    impute = comparison.setting.impute
    filling = f"impute={impute!r}, " if impute else ""
    named = "" if comparison.race is not None else f"{names!r}, "
    whole = "thorough=True, " if comparison.thorough else ""
    arguments = f"X, y, {named}{filling}{whole}random_state={comparison.seed!r}"
    call = f"from depmax import compare\n\ncompare({arguments})"
    libraries = ("numpy", "scipy", "scikit-learn", "pandas", "polars")
    found = [f"{name} {number}" for name in libraries if (number := _version(name)) is not None]
    setting = comparison.setting
    text = (
        f"Seed: {seed or comparison.seed}. Predictor: {' '.join(repr(setting.predictor).split())}. "
        f"Numbers of features tried: {', '.join(map(str, setting.dimensions))}. "
        f"{counted(len(comparison.splits), 'outer split')}"
        + ("." if comparison.complete else ", some of which the interruption left unfinished."),
        f"depmax {__version__}, {', '.join(found)}, Python {platform.python_version()} on "
        f"{platform.system()}.",
    )
    return Section("How to reproduce this", text, code=command or call)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
