"""A report as HTML, written in one step."""

from __future__ import annotations

import os
import tempfile
from importlib import resources
from pathlib import Path

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
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} into.")
    text = render_html(report)
    handle, temporary = tempfile.mkstemp(
        prefix=f".{target.name}.", suffix=".part", dir=target.parent
    )
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        # mkstemp makes files private; a page is as readable as any new file
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return target
