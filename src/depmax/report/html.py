"""A report as HTML, written in one step."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from depmax._files import replacing
from depmax.report.cells import cells_of
from depmax.report.contents import Report
from depmax.report.svg import draw


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
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise ImportError("A report needs jinja2: pip install 'depmax[report]'.") from error

    folder = resources.files("depmax.report") / "page"
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string((folder / "page.html").read_text(encoding="utf-8"))
    try:
        drawings = {
            (s, p): draw(picture, f"s{s}p{p}")
            for s, section in enumerate(report.sections)
            for p, picture in enumerate(section.pictures)
        }
    except ImportError as error:
        raise ImportError(
            "The pictures of a report need matplotlib: pip install 'depmax[report]'."
        ) from error
    return template.render(
        report=report,
        drawings=drawings,
        cells_of=cells_of,
        style=(folder / "style.css").read_text(encoding="utf-8"),
        script=(folder / "sort.js").read_text(encoding="utf-8"),
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
