"""What a report holds, and the report as HTML, written in one step."""

from __future__ import annotations

import base64
import io
import math
import re
import warnings
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

from depmax._extras import require
from depmax._files import replacing
from depmax._text import visible


class Drawable(Protocol):
    """A picture that draws itself on matplotlib axes."""

    def plot(self, ax: Any = None) -> Any:
        """Draw."""


@dataclass(frozen=True)
class Noted:
    """Text of a cell with a quieter line under it."""

    text: str
    note: str


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    format: str = ""  # of numbers, e.g. ".3f"; "p" for p-values; "bar" for a share of one
    help: str = ""  # shown as a tooltip and read by screen readers


@dataclass(frozen=True)
class Table:
    """A table that the reader can sort."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]  # numbers, text, Noted, None if empty
    emphasised: tuple[int, ...] = ()  # rows set apart, such as the best


@dataclass(frozen=True)
class Picture:
    """A picture with its caption and the same in words for those who cannot see it."""

    display: Drawable
    caption: str
    alternative: str
    width: float = 5.0  # inches
    height: float = 3.4


@dataclass(frozen=True)
class KeyFigure:
    """A number that the reader should remember."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Code:
    """Lines to copy, with what they are for."""

    label: str
    text: str


@dataclass(frozen=True)
class Download:
    """A small text file that the reader can save from the page."""

    label: str
    file_name: str
    text: str
    media_type: str = "text/plain"


@dataclass(frozen=True)
class Section:
    """A heading with text, pictures and tables under it."""

    title: str
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    code: str | tuple[Code, ...] = ()
    downloads: tuple[Download, ...] = ()
    points: tuple[str, ...] = ()  # a list, after the text


@dataclass(frozen=True)
class Report:
    """A page: what was asked, the answer in words, then the evidence."""

    title: str
    question: str
    answer: tuple[str, ...]
    figures: tuple[KeyFigure, ...] = ()
    sections: tuple[Section, ...] = ()
    footer: str = ""


@dataclass(frozen=True)
class Cell:
    """Text of a cell, the key it is sorted by, and the share of a bar behind it."""

    text: str
    key: str
    number: bool
    share: float | None = None
    note: str = ""


def cells_of(table: Table) -> list[list[Cell]]:
    """All cells, row by row."""
    return [
        [cell_of(value, column) for value, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]


def cell_of(value: Any, column: Column) -> Cell:
    """One cell; None and NaN are a dash and sort last."""
    if isinstance(value, Noted):
        return Cell(value.text, value.text.lower(), False, note=value.note)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None or (number and math.isnan(value)):
        return Cell("–", "", number or bool(column.format))
    if not number:
        return Cell(str(value), str(value).lower(), False)
    if column.format == "p":
        return Cell(pvalue(value), repr(float(value)), True)
    if column.format == "bar":
        return Cell(f"{value:.2f}", repr(float(value)), True, min(1.0, max(0.0, float(value))))
    return Cell(format(value, column.format or "g"), repr(float(value)), True)


def pvalue(value: float) -> str:
    """A p-value, honest about how small it can be known.

    >>> pvalue(0.2345), pvalue(0.0123), pvalue(1e-9)
    ('0.23', '0.012', '< 0.001')
    """
    if value < 1e-3:
        return "< 0.001"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


#: Colours that stand for those of the page; nothing else is drawn in them.
INK, GRID = "#010203", "#040506"

#: Pixels of the page for an inch of a picture: its letters are then as large as the page's.
PIXELS = 115
#: Transparent, in the page's own colours, text as text.
STYLE: dict[str, Any] = {
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "figure.facecolor": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10.5,
    "grid.color": GRID,
    "grid.alpha": 1.0,
    "legend.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def draw(picture: Picture, prefix: str) -> str:
    """The picture as an ``svg`` element whose ids start with ``prefix``."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style: Any = {**STYLE, "svg.hashsalt": prefix}
    with rc_context(style), warnings.catch_warnings():
        # a letter that the font lacks is drawn by the reader's browser, from its own fonts
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=(picture.width, picture.height), layout="constrained")
        FigureCanvasSVG(figure)
        picture.display.plot(ax=figure.add_subplot())
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    width = round(PIXELS * picture.width)
    return _inline(stream.getvalue(), picture.alternative, prefix, width)


def _inline(text: str, alternative: str, prefix: str, width: int) -> str:
    """The element alone, with unique ids, the page's colours, and its meaning in words."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.S)
    # one rule for all pictures is in the page's own style, the only one that its policy allows
    text = re.sub(r"<style[^>]*>.*?</style>\s*", "", text, flags=re.S)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
    text = text.replace(INK, "currentColor").replace(GRID, "var(--line)")
    # a viewBox, and a width that is cut to the screen
    head, rest = text.split(">", 1)
    head = re.sub(r'\s(width|height|version)="[^"]*"', "", head) + f' width="{width}"'
    label = f"{prefix}-meaning"
    head += f' role="img" aria-labelledby="{label}"'
    return f'{head}><title id="{label}">{_escape(visible(alternative))}</title>{rest}'


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def require_report(*, pictures: bool = True) -> None:
    """Refuse to begin a report without the libraries that write it.

    Parameters
    ----------
    pictures : bool, default=True
        Whether the report has any, which needs matplotlib.

    Examples
    --------
    >>> from depmax.report import require_report
    >>> require_report()
    """
    drawing = ("matplotlib",) if pictures else ()
    require("A report", "jinja2", *drawing, extra="report")


def codes_of(section: Section) -> tuple[Code, ...]:
    """The code of a section, with its labels."""
    if isinstance(section.code, str):
        return (Code("", section.code),) if section.code else ()
    return section.code


def data_link(download: Download) -> str:
    """The file as a link that holds it: nothing is fetched."""
    content = base64.b64encode(download.text.encode("utf-8")).decode("ascii")
    return f"data:{download.media_type};charset=utf-8;base64,{content}"


def policy_of(style: str, script: str) -> str:
    """Content-Security-Policy of the page: its own style and script, and nothing from elsewhere."""
    digests = [
        base64.b64encode(sha256(text.encode("utf-8")).digest()).decode("ascii")
        for text in (style, script)
    ]
    # pictures and bars carry style attributes, which no digest covers; text is always escaped
    return (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src-elem 'sha256-{digests[0]}'; style-src-attr 'unsafe-inline'; "
        f"script-src 'sha256-{digests[1]}'"
    )


def render_html(report: Report) -> str:
    """The page as text: styles, script and pictures inside, nothing fetched.

    Parameters
    ----------
    report : Report

    Returns
    -------
    str
        HTML. Needs jinja2, and matplotlib if there are pictures (extra ``report``).

    Examples
    --------
    >>> from depmax.report import Report, render_html
    >>> page = render_html(Report("Sonar", "Which bands matter?", ("Two of sixty.",)))
    >>> "<title>Sonar</title>" in page
    True
    """
    require_report(pictures=any(section.pictures for section in report.sections))
    from jinja2 import Environment, StrictUndefined

    folder = resources.files("depmax.report") / "page"
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    template = environment.from_string((folder / "page.html").read_text(encoding="utf-8"))
    drawings = {
        (s, p): draw(picture, f"s{s}p{p}")
        for s, section in enumerate(report.sections)
        for p, picture in enumerate(section.pictures)
    }
    style = "\n" + (folder / "style.css").read_text(encoding="utf-8")
    script = "\n" + (folder / "sort.js").read_text(encoding="utf-8")
    return template.render(
        report=report,
        drawings=drawings,
        cells_of=cells_of,
        codes_of=codes_of,
        data_link=data_link,
        style=style,
        script=script,
        policy=policy_of(style, script),
    )


def write_html(report: Report, path: str | Path) -> Path:
    """Write the page; an old file is replaced only by a complete new one.

    Parameters
    ----------
    report : Report
    path : path of the file

    Returns
    -------
    Path
    """
    text = render_html(report)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(path)
