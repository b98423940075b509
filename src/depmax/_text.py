"""Text from data, made safe to show; numbers and lists in words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape

#: Control characters (escape codes, tabs, line ends), lone surrogates, line and paragraph ends.
_UNSEEN = {"Cc", "Cs", "Zl", "Zp"}
#: Characters that change the order in which others are shown, and some that are not seen at all.
_MISLEADING = re.compile("[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
#: Titles of the columns of a table that hold names.
_NAMES = ("column", "first", "second")
#: Text that a spreadsheet runs when it opens a file: =…, @…, and +… or -… that call something.
FORMULA = r"^\s*(?:[=@].|[+-].*[(|!])"


def visible(text: str) -> str:
    r"""The text with an escape for every character that would show it in another order.

    Examples
    --------
    >>> visible("safe\u202etxt.exe")
    'safe\\u202etxt.exe'
    """
    return _MISLEADING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def printable(text: str) -> str:
    r"""The text on one line, with a space for every character that controls a terminal or a page.

    Examples
    --------
    >>> printable("a\x1b[31mred\nb")
    'a [31mred b'
    """
    shown = visible(text)
    return "".join(" " if unicodedata.category(one) in _UNSEEN else one for one in shown)


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """A table for notebooks; everything in it is escaped.

    Examples
    --------
    >>> html_table(["column"], [["<b>"]])
    '<table><thead><tr><th>column</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    lines = "".join(
        "<tr>" + "".join(f"<td>{escape(printable(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    above = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{above}<thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>"


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """A table in plain text: the same columns, those that hold names to the left.

    Examples
    --------
    >>> print(text_table(["rank", "column"], [["1", "a"], ["10", "longer"]], "Two of them"))
    Two of them
    rank  column
       1  a
      10  longer
    """
    lines = [head, *([printable(cell) for cell in row] for row in rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    shown = (
        "  ".join(
            cell.ljust(width) if title in _NAMES else cell.rjust(width)
            for title, cell, width in zip(head, line, widths, strict=True)
        ).rstrip()
        for line in lines
    )
    return "\n".join([*([caption] if caption else []), *shown])


class ShownAsTable:
    """What is printed, and shown in notebooks, as a short table."""

    def __repr__(self) -> str:
        return text_table(*self._table())

    def _repr_html_(self) -> str:
        return html_table(*self._table())

    def _table(self) -> tuple[Sequence[str], Sequence[Sequence[str]], str]:
        """Titles, cells and caption."""
        raise NotImplementedError


def short_pvalue(value: float) -> str:
    """A p-value in few digits; empty for NaN.

    >>> short_pvalue(0.2345), short_pvalue(0.0123), short_pvalue(1e-9), short_pvalue(1.0)
    ('0.23', '0.012', '<0.001', '1.00')
    """
    if value != value:
        return ""
    if value < 0.001:
        return "<0.001"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def short_effect(share: float, low: float, high: float) -> str:
    """A share between 0 and 1 with its interval, if any, in two decimals; empty for NaN.

    >>> short_effect(0.4218, 0.3105, 0.5512), short_effect(-0.01, float("nan"), float("nan"))
    ('0.42 (0.31–0.55)', '0.00')
    """
    if share != share:
        return ""
    cells = [f"{min(1.0, max(0.0, value)):.2f}" for value in (share, low, high)]
    if low != low:
        return cells[0]
    return f"{cells[0]} ({cells[1]}–{cells[2]})"


def counted(count: int, thing: str) -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    ending = "" if count == 1 else "es" if thing.endswith("s") else "s"
    return f"{count:,} {thing}{ending}"


def times(count: int) -> str:
    """How often something happened.

    >>> times(1), times(2), times(1200)
    ('once', 'twice', '1,200 times')
    """
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def listed(names: Iterable[object], most: int = 5) -> str:
    """The first names, and how many more there are.

    >>> listed(["a", "b"], 3), listed("abcd", 2)
    ('a, b', 'a, b and 2 more')
    """
    shown = [str(name) for name in names]
    more = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {more} more" if more > 0 else "")


def share(part: float, whole: float) -> str:
    """A share in per cent.

    >>> share(1, 3), share(1, 1000), share(0, 5)
    ('33%', '0.1%', '0%')
    """
    percent = 100.0 * part / whole
    return f"{percent:.1f}%" if 0 < percent < 1 else f"{percent:.0f}%"
