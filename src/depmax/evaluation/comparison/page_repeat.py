"""The part of a report about cost, and how to repeat the comparison."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from depmax._version import __version__
from depmax.evaluation.comparison.progress import clock
from depmax.evaluation.comparison.tables import leaderboard_columns, significance_columns
from depmax.evaluation.comparison.words import counted
from depmax.report import Column, Section, Table

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
    """Most memory of this process so far; None where that is not told."""
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
