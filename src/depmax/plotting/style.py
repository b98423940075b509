"""What plots share: axes, colours and the message about a missing matplotlib."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from depmax._extras import require
from depmax._text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Told apart by colour-blind readers (after Okabe and Ito), on white and on black.
COLOURS = (
    "#0083c7",
    "#d95f02",
    "#009e73",
    "#c55fa0",
    "#b58900",
    "#46a6d8",
    "#d0433b",
    "#7a7f87",
)
MARKERS = "osD^vPX*"
LINES = ("-", "--", "-.", ":")
#: What is in the background: columns not kept, rows that were trained on.
FAINT = "#9aa3ad"


class Display:
    """Base of the plots, dataclasses that hold what is drawn: a subclass implements ``_draw``."""

    ax_: Axes
    figure_: Any

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        self
        """
        if ax is None:
            require("Drawing", "matplotlib")
            from matplotlib import pyplot

            ax = pyplot.subplots(figsize=self._size(), layout="constrained")[1]
        self._draw(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _drawn_on(self, ax: Axes | None) -> Self:
        """The display, drawn at once if there are axes."""
        return self if ax is None else self.plot(ax)

    def _size(self) -> tuple[float, float]:
        """Width and height of new axes in inches."""
        return 6.0, 4.0

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError


def tidy(ax: Axes, *, grid: Literal["x", "y"] | None = "y", legend: int = 0) -> None:
    """Keep only the lines that a reader needs; a legend in so many columns is above the axes."""
    if legend:
        style: Any = {"fontsize": "small", "handlelength": 1.0, "columnspacing": 1.0}
        place: Any = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": legend}
        ax.legend(frameon=False, **place, **style)
    ax.spines[["top", "right"]].set_visible(False)
    if grid is not None:
        ax.grid(axis=grid, linewidth=0.6, alpha=0.5)
        ax.set_axisbelow(True)


def names_of(estimator: Any, count: int, whole: Any = None) -> tuple[str, ...]:
    """Names of the input columns of a fitted estimator.

    If it is a step of a pipeline, ``whole``, and got an array, the steps before it know the names.
    """
    names = getattr(estimator, "coordinate_names_", None)
    if names is None or len(names) != count:
        names = getattr(estimator, "feature_names_in_", None)
    if names is None and (before := steps_before(whole, estimator)):
        with suppress(AttributeError, ValueError):  # not every step can name what it makes
            names = whole[: len(before)].get_feature_names_out()
    if names is None or len(names) != count:
        names = [f"x{position}" for position in range(count)]
    return tuple(str(name) for name in names)


def steps_before(whole: Any, estimator: Any) -> list[Any]:
    """The steps of a pipeline before one of them; none of what is no pipeline."""
    steps = [step for _, step in getattr(whole, "steps", ())]
    return steps[: next((at for at, step in enumerate(steps) if step is estimator), 0)]


def short(name: Any, length: int = 24) -> str:
    r"""A name from data, short enough for a label and drawn literally, dollar signs included.

    Examples
    --------
    >>> short("US$ per year, corrected for inflation")
    'US\\$ per year, corrected…'
    """
    # between two dollar signs matplotlib reads formulas
    return _cut(printable(str(name)), length).replace("$", r"\$")


def short_labels(names: Iterable[Any], length: int = 24) -> list[str]:
    """Several names on one axis: those that begin alike are cut where they differ.

    Examples
    --------
    >>> short_labels(["strongly agree", "strongly disagree", "neutral"], 10)
    ['str…agree', 'str…disag…', 'neutral']
    """
    return [label.replace("$", r"\$") for label in _short_texts(names, length)]


def _short_texts(names: Iterable[Any], length: int) -> list[str]:
    texts = [printable(str(name)) for name in names]
    different = list(dict.fromkeys(texts))
    labels = dict(zip(different, _distinct(different, length), strict=True))
    return [labels[text] for text in texts]


def _distinct(texts: list[str], length: int) -> list[str]:
    """Labels of different texts, which differ wherever this is possible."""
    labels = [_cut(text, length) for text in texts]
    alike: dict[str, list[int]] = {}
    for place, label in enumerate(labels):
        alike.setdefault(label, []).append(place)
    for places in alike.values():
        if len(places) > 1 and length > 3:
            common = _n_common([texts[place] for place in places])
            words = [found.end() for found in re.finditer(r"[\W_]+", texts[places[0]][:common])]
            start = max([common - length // 4, *words])  # the word in which they differ
            rest = _distinct([texts[place][start:] for place in places], length - length // 3 - 1)
            for place, end in zip(places, rest, strict=True):
                labels[place] = f"{texts[place][: length // 3]}…{end}"
    return labels


def _n_common(texts: list[str]) -> int:
    """Number of characters that all texts begin with."""
    pairs = enumerate(zip(*texts, strict=False))
    return next((place for place, seen in pairs if len(set(seen)) > 1), min(map(len, texts)))


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def in_legend(name: Any, length: int = 40) -> str:
    """A name as a legend shows it, which ignores those that begin with an underscore."""
    text = short(name, length)
    return f" {text}" if text.startswith("_") else text


def require_fitted(estimator: Any, attribute: str) -> Any:
    """A fitted attribute, or an error that names it if it is missing."""
    if not hasattr(estimator, attribute):
        name = type(estimator).__name__
        if hasattr(estimator, "fit"):
            raise ValueError(f"{name} has no {attribute}: fit it first, or use one that has it.")
        raise TypeError(
            f"{name} is not an estimator and has no {attribute}: pass a fitted one, or numbers to "
            "from_predictions."
        )
    return getattr(estimator, attribute)


def last_step(estimator: Any, attribute: str) -> Any:
    """The last step of a pipeline that has a fitted attribute, or the estimator itself."""
    steps = [step for _, step in getattr(estimator, "steps", ())]
    found = [step for step in steps if hasattr(step, attribute)]
    return found[-1] if found else estimator


def whole_ticks(ax: Axes, values: Any) -> None:
    """Ticks at the given whole numbers, on a logarithmic axis if they span a wide range."""
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    sizes = np.unique(np.asarray(values))
    if len(sizes) > 1 and sizes.max() / max(1, sizes.min()) >= 8:
        ax.set_xscale("log")
    if len(sizes) > 10:
        sizes = sizes[np.unique(np.geomspace(1, len(sizes), 10).round().astype(int) - 1)]
    ax.xaxis.set_major_locator(FixedLocator(sizes.tolist()))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
