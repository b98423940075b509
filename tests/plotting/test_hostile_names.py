"""Names that come from data are drawn as they stand, in every picture and in the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from depmax.plotting import (
    Curve,
    DimensionCurveDisplay,
    FeatureScatterDisplay,
    HeatMapDisplay,
    LoadingsDisplay,
    RankingDisplay,
    RecoveryDisplay,
    TargetByColumnDisplay,
)
from depmax.plotting.style import short, short_labels
from depmax.report import Picture, Report, Section, render_html

NAMES = {
    "formula": "$x_$",
    "broken formula": r"cost $\frac{$ and $",
    "escaped": r"a\$b$c$",
    "underscore": "_hidden",
    "power": "a_b^{c",
    "script": "<script>alert(1)</script>&",
    "long": "name " * 100,
    "emoji": "👩‍🔬 ☃",
    "newline": "one\ntwo\ttwo",
    "escape code": "\x1b[31mred\x00",
    "surrogate": "lone \udcff",
    "percent": "%s {0}",
}

rng = np.random.default_rng(0)
POINTS = rng.normal(size=(30, 2))


def _scatter_of_numbers(name: str) -> Any:
    return FeatureScatterDisplay.from_predictions(POINTS, POINTS[:, 0], target_name=name)


def _scatter_of_classes(name: str) -> Any:
    labels = np.where(POINTS[:, 0] > 0, name, "other")
    return FeatureScatterDisplay.from_predictions(POINTS, labels, target_name=name)


def _scatter_of_features(name: str) -> Any:
    return FeatureScatterDisplay(POINTS, POINTS[:, 0], names=(name, name))


def _curves(name: str) -> Any:
    sizes = np.array([1, 2])
    return DimensionCurveDisplay({name: Curve(sizes, sizes)}, "R²", {f"{name}2": 1.0})


def _components(name: str) -> Any:
    return LoadingsDisplay(np.eye(2), [name, "b"], component_names=[name, "second"])


def _column(name: str) -> Any:
    values = np.where(POINTS[:, 0] > 0, name, "b")
    return TargetByColumnDisplay.from_predictions(values, POINTS[:, 1], name=name, target_name=name)


PICTURES: dict[str, Callable[[str], Any]] = {
    "ranking": lambda name: RankingDisplay.from_predictions([0.5, 0.1], names=[name, "b"]),
    "heat map": lambda name: HeatMapDisplay.from_predictions(np.eye(2), names=[name, "b"]),
    "loadings": lambda name: LoadingsDisplay.from_predictions(np.eye(2), names=[name, "b"]),
    "components": _components,
    "column": _column,
    "curves": _curves,
    "recovery": lambda name: RecoveryDisplay([name, "b"], ["linear"], *np.full((4, 2, 1), 0.5)),
    "scatter of numbers": _scatter_of_numbers,
    "scatter of classes": _scatter_of_classes,
    "scatter of features": _scatter_of_features,
}


# no font has every sign of these names
@pytest.mark.filterwarnings("ignore:Glyph .* missing from font:UserWarning")
@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize("name", NAMES)
def test_every_picture_draws_every_name(picture: str, name: str) -> None:
    figure = Figure(layout="constrained")
    canvas = FigureCanvasAgg(figure)
    PICTURES[picture](NAMES[name]).plot(ax=figure.add_subplot())
    canvas.draw()


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize("name", ["formula", "escaped", "underscore", "power"])
def test_names_are_shown_letter_by_letter(picture: str, name: str) -> None:
    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    PICTURES[picture](NAMES[name]).plot(ax=figure.add_subplot())
    shown = {text._preprocess_math(text.get_text()) for text in figure.findobj(Text)}
    assert any(text.strip() == NAMES[name] and math is False for text, math in shown)


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize("name", NAMES)
def test_the_report_holds_every_picture(picture: str, name: str) -> None:
    drawn = Picture(PICTURES[picture](NAMES[name]), "caption", "in words")
    page = render_html(Report("Title", "?", ("!",), sections=(Section("One", pictures=(drawn,)),)))
    page.encode()
    assert "<script>alert" not in page
    assert not {"\x00", "\x1b"} & set(page)


class TestShortLabels:
    @pytest.mark.parametrize("length", [10, 16, 24])
    @pytest.mark.parametrize(
        "names",
        [
            ["strongly agree", "agree", "disagree", "strongly disagree"],
            [f"somewhat {end}" for end in ("agree", "disagree")]
            + [f"strongly {end}" for end in ("agree", "disagree")],
            [f"a_long_name_without_spaces_{place:02d}_in_milligrams" for place in range(30)],
            ["x" * 50 + "a", "x" * 50 + "b", "x" * 49],
            [f"{start} something in between {end}" for start in "ab" for end in "cd"],
        ],
    )
    def test_different_names_have_different_labels(self, names: list[str], length: int) -> None:
        labels = short_labels(names, length)
        assert len(set(labels)) == len(names)
        assert max(map(len, labels)) <= length

    def test_names_that_differ_early_are_cut_at_the_end(self) -> None:
        names = ["US$ per year, corrected for inflation", "EUR per year, corrected for inflation"]
        assert short_labels(names) == [short(name) for name in names]

    def test_equal_names_and_no_names(self) -> None:
        assert short_labels(["a" * 40, "a" * 40], 10) == [short("a" * 40, 10)] * 2
        assert short_labels([]) == []
