"""Text that comes from data, made safe to show."""

from __future__ import annotations

import unicodedata

#: Control characters (escape codes, tabs, line ends), lone surrogates, line and paragraph ends.
_UNSEEN = {"Cc", "Cs", "Zl", "Zp"}


def printable(text: str) -> str:
    r"""The text on one line, with a space for every character that steers a terminal or a page.

    Examples
    --------
    >>> printable("a\x1b[31mred\nb")
    'a [31mred b'
    """
    return "".join(" " if unicodedata.category(one) in _UNSEEN else one for one in text)
