"""A report as HTML, written in one step."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from depmax._extras import require
from depmax._files import replacing
from depmax.report.cells import cells_of
from depmax.report.contents import Report
from depmax.report.svg import draw


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
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string((folder / "page.html").read_text(encoding="utf-8"))
    drawings = {
        (s, p): draw(picture, f"s{s}p{p}")
        for s, section in enumerate(report.sections)
        for p, picture in enumerate(section.pictures)
    }
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
