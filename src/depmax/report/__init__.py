"""One frozen dataclass in, one self-contained HTML page out.

This package knows pictures and no estimator: whoever found something fills a :class:`Report`.
"""

from depmax.report.html import (
    Code,
    Column,
    Download,
    KeyFigure,
    Noted,
    Picture,
    Report,
    Section,
    Table,
    render_html,
    require_report,
    write_html,
)

__all__ = [
    "Code",
    "Column",
    "Download",
    "KeyFigure",
    "Noted",
    "Picture",
    "Report",
    "Section",
    "Table",
    "render_html",
    "require_report",
    "write_html",
]
