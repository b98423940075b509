"""Axes whose picture is rendered after the test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(name="ax")
def make_axes() -> Iterator[Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    canvas = FigureCanvasAgg(figure)
    yield figure.add_subplot()
    canvas.draw()  # whatever was drawn can be rendered
