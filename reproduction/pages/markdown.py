"""Lines of Markdown tables."""

from __future__ import annotations

from collections.abc import Sequence

DASH = "–"


def markdown_head(names: Sequence[str]) -> list[str]:
    """First two lines of a table."""
    return [markdown_line(names), "|" + "---|" * len(names)]


def markdown_line(cells: Sequence[str]) -> str:
    """One line of a table."""
    return "| " + " | ".join(cells) + " |"
