"""A comparison as a report: the answer in words first, then the evidence."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from depmax._text import FORMULA, counted, times
from depmax._version import __version__
from depmax.evaluation.comparison.page_columns import (
    columns_section,
    data_section,
    features_section,
    target_section,
)
from depmax.evaluation.comparison.page_planted import planted_section
from depmax.evaluation.comparison.page_pls import pls_section
from depmax.evaluation.comparison.problem import Listener, Progress, clock, quiet
from depmax.evaluation.comparison.trials import quiet_warnings
from depmax.evaluation.comparison.words import judged_on, limits
from depmax.plotting import Curve, DimensionCurveDisplay
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
    table, problem = comparison.setting.prepare, comparison.setting.problem
    has_planted, numeric = comparison.planted is not None, problem.kind == "numbers"
    parts: list[tuple[str, Callable[[], Section | None]]] = [
        ("use", lambda: use_section(comparison, use)),
        ("data", lambda: data_section(comparison) if table else None),
        ("target", lambda: target_section(comparison) if table else None),
        ("columns", lambda: columns_section(comparison) if table else None),
        ("planted targets", lambda: planted_section(comparison) if has_planted else None),
        ("methods", lambda: leaderboard_section(comparison)),
        ("curves", lambda: curves_section(comparison)),
        ("classes", lambda: classes_section(comparison)),
        ("features", lambda: features_section(comparison)),
        ("PLS", lambda: pls_section(comparison) if numeric else None),
        ("notes", lambda: trouble_section(comparison, notes)),
        ("repeat", lambda: repeat_section(comparison, command)),
    ]
    verdict, sections = comparison.verdict, []
    started = perf_counter()
    with quiet_warnings():  # those of the trials are in the report
        for done, (name, make) in enumerate(parts, 1):
            sections.append(make())
            elapsed = perf_counter() - started
            listener(Progress(done, len(parts), elapsed, name, "writing the report"))
    cautions = [f"Caution {text}" for text in verdict.cautions]
    answer = [verdict.headline, " ".join(verdict.reasons), *cautions, *limits(comparison)[-1:]]
    return Report(
        title or f"What predicts {comparison.target_name}?",
        f"Which few of {counted(problem.n_features, 'column')} predict {comparison.target_name} "
        f"({problem.about_target}, {counted(len(comparison.y), 'row')}), and how sure can we be?",
        tuple(answer if not comparison.complete else answer[: 2 + len(cautions)]),
        key_figures(comparison),
        tuple(section for section in sections if section is not None),
        f"Made by depmax in {clock(comparison.seconds)}. This page needs no network.",
    )


def key_figures(comparison: Comparison) -> tuple[KeyFigure, ...]:
    """Numbers to remember."""
    verdict = comparison.verdict
    ends = f"95% interval {verdict.expected.low:.3f} to {verdict.expected.high:.3f}"
    figures = [
        KeyFigure("recommended method", verdict.method, f"of {verdict.n_methods} compared"),
        KeyFigure(f"{verdict.metric} to expect", f"{verdict.expected.value:.3f}", ends),
        KeyFigure("guessing", f"{verdict.guess:.3f}", "best constant prediction"),
    ]
    if verdict.columns:
        kept = f"{len(verdict.columns):,} of {verdict.n_columns:,}"
        figures.append(KeyFigure("columns it keeps", kept, "fitted on all rows"))
    elif verdict.size is not None:
        figures.append(KeyFigure("features it makes", str(verdict.size), "of all columns"))
    return tuple(figures)


def use_section(comparison: Comparison, use: str) -> Section | None:
    """Lines that put the recommended method to work, and its columns as files."""
    verdict = comparison.verdict
    if verdict.outcome in ("nothing", "too few rows"):
        return None
    lines = ["predicted = found.estimator().predict(new_rows)"]
    if verdict.columns and len(verdict.columns) <= 20:
        names, places = list(verdict.columns), [int(place) for place in comparison.kept]
        named = hasattr(comparison.X, "columns")
        rows = "X" if comparison.expand is None else "found.expand.transform(X)"
        lines.insert(0, f"few = {rows}[{names!r}]" if named else f"few = X[:, {places}]")
    elif verdict.outcome == "features":
        lines.insert(0, "features = found.transformer().transform(X)")
    code = [Code("In Python, after found = compare(X, y)", "\n".join(lines))]
    if use and verdict.size is not None:
        code.append(Code("On the command line", use))
    downloads: tuple[Download, ...] = ()
    if verdict.columns:
        adjusted = comparison.screening.pvalues_adjusted
        cells = [
            f"{quoted(name)},{rank},{adjusted[column]:.6g}"
            for rank, (name, column) in enumerate(
                zip(verdict.columns, comparison.kept, strict=True), 1
            )
        ]
        table = "\n".join(["column,rank,pvalue_adjusted", *cells]) + "\n"
        plain = "\n".join(verdict.columns) + "\n"
        downloads = (
            Download("Kept columns (CSV)", "kept_columns.csv", table, "text/csv"),
            Download("Kept columns (one name per line)", "kept_columns.txt", plain),
        )
    return Section("How to use it", code=tuple(code), downloads=downloads)


def quoted(text: str) -> str:
    """A cell of a CSV file; an apostrophe keeps a spreadsheet from running it as a formula.

    >>> quoted("age"), quoted('5" pipe, long'), quoted("=1+1")
    ('age', '"5"" pipe, long"', "'=1+1")
    """
    text = f"'{text}" if re.match(FORMULA, text) else text
    return '"' + text.replace('"', '""') + '"' if re.search(r'[",\r\n]', text) else text


def leaderboard_section(comparison: Comparison) -> Section:
    """All methods with their scores."""
    first, *others = comparison.metrics
    notes = {method.name: method.description for method in comparison.methods}
    rows = comparison.rows()
    shown: list[tuple[Column, str]] = [
        (Column("rank", "d"), "rank"),
        (Column("method"), "method"),
        (Column("features", ".0f", "the fewest within the margin of its best"), "features"),
        (Column(first.label, ".3f", "of all held-out rows together"), first.name),
        (Column("from", ".3f", "95% interval for new data"), "low"),
        (Column("to", ".3f", "95% interval for new data"), "high"),
        (Column("below the best", ".3f", "difference from the highest score"), "loss"),
        (Column("± error", ".3f", "standard error of the difference"), "loss_error"),
        (
            Column("stability", ".2f", "of the columns kept over folds; 1: always the same"),
            "stability",
        ),
        (Column("seconds", ".3g", "per fold, predictors included"), "seconds"),
    ]
    shown += [(Column(metric.label, ".3f"), metric.name) for metric in others]
    cells = [
        tuple(
            Noted(row[name], notes[row[name]]) if name == "method" else row[name]
            for _, name in shown
        )
        for row in rows
    ]
    table = Table(
        f"Methods by {first.label} on {judged_on(comparison)}; the recommended one is highlighted. "
        "Click a heading to sort.",
        tuple(column for column, _ in shown),
        tuple(cells),
        emphasised=([row["method"] for row in rows].index(comparison.recommended),),
    )
    text = (
        "Every method saw only the training part of a fold: filling, scaling, and the choice of "
        f"columns or directions. {comparison.judge_name.capitalize()} judged each number of "
        "features on the rows held out. The cheapest candidate that loses at most "
        f"{100 * comparison.margin:g}% of the gain over guessing is recommended; columns count "
        "first, then how involved the method is.",
    )
    return Section("Which method?", text, (table,))


def curves_display(comparison: Comparison, most: int | None = None) -> DimensionCurveDisplay:
    """Score against number of features, best methods first, those without one as lines."""
    curves: dict[str, Curve] = {}
    levels: dict[str, float] = {}
    for place in comparison.leaders:
        one = comparison.candidates.all[place]
        if one.size is None:
            levels[one.method] = comparison.interval(place)[0]
        elif most is None or len(curves) < most:
            own = comparison.candidates.of_method(one.method)
            values = np.array([comparison.interval(int(other)) for other in own]).T
            sizes = np.array([comparison.candidates.all[other].size for other in own], dtype=float)
            curves[one.method] = Curve(sizes, *values)
    return DimensionCurveDisplay(curves, comparison.metrics[0].label, levels)


def curves_section(comparison: Comparison) -> Section | None:
    """Score against the number of features."""
    display = curves_display(comparison, CURVES)
    if not display.curves:
        return None
    peaks = [
        f"{name} peaks at {curve.scores.max():.3f} with {curve.dimensions[curve.scores.argmax()]:g}"
        for name, curve in display.curves.items()
    ]
    caption = (
        f"{comparison.metrics[0].label.capitalize()} on held-out rows against the number of "
        f"features, the best {len(display.curves)} methods with such a choice. The band is a "
        "pointwise 95% interval of the first."
    )
    picture = Picture(display, caption, f"{caption} {'; '.join(peaks)} features.", height=4.0)
    return Section("How many features?", pictures=(picture,))


def classes_section(comparison: Comparison) -> Section | None:
    """Precision, recall and F1 of every class, on held-out rows."""
    truth = comparison.setting.truth
    if truth.kind != "classes":
        return None
    from sklearn.metrics import precision_recall_fscore_support

    assert truth.classes is not None
    place = comparison.candidates.all[comparison.place]
    run = comparison.candidates.runs(place, comparison.metrics[0])[0]
    precision, recall, f1, support = precision_recall_fscore_support(
        truth.values[run.tested],
        run.values[run.tested],
        labels=np.arange(truth.n_classes),
        zero_division=0.0,
    )
    rows = tuple(
        (str(label), int(support[j]), float(precision[j]), float(recall[j]), float(f1[j]))
        for j, label in enumerate(truth.classes)
    )
    text = (
        f"Predictions with {comparison.recommended} for {counted(int(run.tested.sum()), 'row')} "
        "that the model was not fitted on. Precision: the share of the rows predicted as this "
        "class that belong to it. Recall: the share of its rows that are found.",
    )
    columns = (
        Column("class"),
        Column("rows", "d"),
        Column("precision", ".3f"),
        Column("recall", ".3f"),
        Column("F1", ".3f"),
    )
    table = Table(f"Each class with {comparison.recommended}, on held-out rows.", columns, rows)
    return Section("How well is each class predicted?", text, (table,))


def trouble_section(comparison: Comparison, notes: tuple[str, ...]) -> Section | None:
    """What was not tried, failed or warned; each warning once, with who gave it."""
    points = [*notes, *limits(comparison)]
    points += [f"{name} failed and is not shown: {w}" for name, w in comparison.failures.items()]
    points += grouped_warnings(comparison)
    return Section("Worth knowing", points=tuple(points)) if points else None


def grouped_warnings(comparison: Comparison) -> list[str]:
    """Warnings that say the same but for their numbers, with the methods and folds that gave them.

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


def repeat_section(comparison: Comparison, command: str) -> Section:
    """Command or call, versions and seed."""
    setting = comparison.setting
    seed = "none was given, so the folds cannot be reproduced"
    seed = seed if comparison.seed is None else str(comparison.seed)
    filling = f"impute={setting.fill!r}, " if setting.fill else ""
    names = [method.name for method in comparison.methods]
    planted = "" if comparison.planted is None else ", planted=True"
    arguments = f"X, y, {names!r}, {filling}random_state={comparison.seed!r}{planted}"
    call = f"from depmax import compare\n\ncompare({arguments})"
    libraries = ("numpy", "scipy", "scikit-learn", "pandas", "polars")
    found = [f"{name} {number}" for name in libraries if (number := _version(name)) is not None]
    text = (
        f"Seed: {seed}. Judge: {' '.join(repr(setting.judge).split())}. Numbers of features tried: "
        f"{', '.join(map(str, setting.sizes))}. {judged_on(comparison).capitalize()}.",
        f"depmax {__version__}, {', '.join(found)}, Python {platform.python_version()} on "
        f"{platform.system()}.",
    )
    return Section("How to reproduce this", text, code=command or call)


def _version(name: str) -> Any:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
