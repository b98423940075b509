"""Pictures as inline SVG that follows the colours of the page."""

from __future__ import annotations

import io
import re
import warnings
from typing import Any

from depmax.report.contents import Picture

#: Colours that stand for those of the page; nothing else is drawn in them.
INK, GRID = "#010203", "#040506"

#: Transparent, in the page's own colours, text as text.
STYLE: dict[str, Any] = {
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "figure.facecolor": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
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
    return _inline(stream.getvalue(), picture.alternative, prefix)


def _inline(text: str, alternative: str, prefix: str) -> str:
    """The element alone, with unique ids, the page's colours, and its meaning in words."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.S)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
    text = text.replace(INK, "currentColor").replace(GRID, "var(--line)")
    # a viewBox without a size fits any screen
    head, rest = text.split(">", 1)
    head = re.sub(r'\s(width|height|version)="[^"]*"', "", head)
    label = f"{prefix}-meaning"
    head += f' role="img" aria-labelledby="{label}"'
    return f'{head}><title id="{label}">{_escape(alternative)}</title>{rest}'


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
