"""How much memory a file, or a matrix of all pairs of rows, may take, and how to allow more.

A file of a few kilobytes can declare, or unpack to, more than any machine has, and a table of a few
megabytes has a kernel matrix of gigabytes. The memory that either would take is therefore computed
before it is allocated, and refused above a limit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from depmax._warnings import warn_caller

#: The environment variable that changes the limit.
VARIABLE = "DEPMAX_MAX_MEMORY"
DEFAULT = 4 * 2**30
#: What one more column takes beside its cells: its name, type and evidence, here and there.
COLUMN_BYTES = 2048

_UNITS = {"": 1, "b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40}


class FileTooLargeError(ValueError):
    """A file that would take more memory than the limit."""


class TooManyRowsError(ValueError):
    """So many rows that values for their pairs or classes take more memory than the limit."""


def parse_memory(text: str) -> int:
    """Bytes of a size such as ``8GB`` or ``500 MB``; ``none`` means no limit.

    Examples
    --------
    >>> parse_memory("1.5 GB")
    1610612736
    """
    folded = text.strip().lower()
    if folded == "none":
        return 2**63 - 1
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?b?)", folded)
    if found is None or found[2] in ("k", "m", "g", "t"):
        raise ValueError(f"{text!r} is not a valid size: write 500MB, 8GB or none.")
    return min(int(float(found[1]) * _UNITS[found[2]]), 2**63 - 1)


def max_memory(requested: int | str | None = None) -> int:
    """The limit in bytes: as requested, else as the environment says, else 4 GB."""
    if isinstance(requested, int):
        return requested
    text = requested if requested is not None else os.environ.get(VARIABLE, "")
    if not text.strip():
        return DEFAULT
    try:
        return parse_memory(text)
    except ValueError as error:
        place = VARIABLE if requested is None else "max_memory"
        raise ValueError(f"{place}: {error}") from None


@contextmanager
def limited_to(n_bytes: int) -> Iterator[None]:
    """Set the limit for everything in the block, also in processes that are started there.

    Examples
    --------
    >>> with limited_to(2**20):
    ...     max_memory()
    1048576
    """
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(n_bytes)
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def table_bytes(n_rows: int, n_columns: int, n_bytes: int = 0) -> int:
    """Memory of a table whose cells take ``n_bytes`` and become one number each."""
    return max(n_bytes, 8 * n_rows * n_columns) + COLUMN_BYTES * n_columns


def require_memory(n_bytes: int, limit: int, name: object, what: str = "") -> None:
    """Refuse a file that would take more memory than the limit.

    Examples
    --------
    >>> require_memory(2**20, limit=2**30, name="a.csv")
    >>> require_memory(2**33, limit=2**32, name="a.csv", what="a table of 2 columns")
    Traceback (most recent call last):
    ...
    depmax._limits.FileTooLargeError: a.csv would take at least 8 GB of memory as a table of 2
    columns, and the limit is 4 GB. If you trust it and have the memory, allow more: --max-memory
    16GB on the command line, or DEPMAX_MAX_MEMORY=16GB in the environment.
    """
    if n_bytes <= limit:
        return
    shape = f" as {what}" if what else ""
    raise FileTooLargeError(
        f"{name} would take at least {_shown(n_bytes)} of memory{shape}, and the limit is "
        f"{_shown(limit)}. If you trust it and have the memory, allow more: "
        f"{_how_to_allow(n_bytes)}"
    )


def require_pairs(who: str, n_rows: int, n_values: float, instead: str) -> None:
    """Refuse to hold matrices of pairs of rows that would take more memory than the limit.

    Parameters
    ----------
    who : str
        What needs them: an estimator, a map.
    n_rows : int
    n_values : float
        Numbers in float64 held at the peak: ``n_rows**2`` for one kernel matrix.
    instead : str
        What to do instead, as a sentence.

    Examples
    --------
    >>> require_pairs("KernelPLS", 1000, 1000**2, "Use a map.")
    >>> require_pairs("KernelPLS", 40_000, 40_000**2, "Use a map.")
    Traceback (most recent call last):
    ...
    depmax._limits.TooManyRowsError: KernelPLS needs a value for every pair of 40,000 rows, which
    would take 11.9 GB of memory, and the limit is 4 GB. Use a map. If you have the memory, allow
    more: --max-memory 16GB on the command line, or DEPMAX_MAX_MEMORY=16GB in the environment.
    """
    needs = f"{who} needs a value for every pair of {n_rows:,} rows, which"
    require_values(needs, n_values, instead)


def require_values(needs: str, n_values: float, instead: str) -> None:
    """Refuse to hold so many numbers in float64, where these take more memory than the limit.

    Parameters
    ----------
    needs : str
        What would take the memory, as the beginning of a sentence.
    n_values : float
    instead : str
        What to do instead, as a sentence.
    """
    n_bytes, limit = int(8 * n_values), max_memory()
    if n_bytes <= limit:
        return
    raise TooManyRowsError(
        f"{needs} would take {_shown(n_bytes)} of memory, and the limit is {_shown(limit)}. "
        f"{instead} If you have the memory, allow more: {_how_to_allow(n_bytes)}"
    )


#: What takes time that is linear in the rows, where kernels are compared on all pairs of them.
MAPS_INSTEAD = (
    "Maps as kernels, kernel=NystroemMap(200) and for a target of numbers "
    "target_kernel=NystroemMap(50), take time that is linear in the rows; or take a random part of "
    "the rows."
)
#: Seconds from which on it is said before it starts how long something takes.
LONG = 60.0


def warn_if_long(what: str, seconds: float, instead: str = MAPS_INSTEAD) -> None:
    """Warn how long something will take, before it starts, if that is more than a minute.

    Parameters
    ----------
    what : str
        What takes so long.
    seconds : float
        Of one core, on a machine of 2026.
    instead : str
        What to do instead, as a sentence.

    Examples
    --------
    >>> import warnings
    >>> warn_if_long("Visiting all pairs of 1,000 rows", 1e-8 * 1000**2)
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     warn_if_long("Visiting all pairs of 200,000 rows", 1e-8 * 200_000**2, "Use a map.")
    >>> print(said[0].message)
    Visiting all pairs of 200,000 rows takes about 7 minutes on one core. Use a map.
    """
    if seconds < LONG:
        return
    minutes = max(1, round(seconds / 60))
    long = f"{minutes:,} minute{'s' if minutes > 1 else ''}"
    if minutes > 180:
        long = f"{round(minutes / 60):,} hours"
    warn_caller(f"{what} takes about {long} on one core. {instead}", UserWarning)


def map_instead(kernel: object, name: str = "kernel") -> str:
    """The sentence that names a map in place of a kernel.

    Examples
    --------
    >>> map_instead("gaussian")
    "Pass a map, whose memory is linear in the rows: kernel=NystroemMap(200, kernel='gaussian')."
    """
    return (
        f"Pass a map, whose memory is linear in the rows: {name}=NystroemMap(200, "
        f"kernel={kernel!r})."
    )


def _how_to_allow(n_bytes: int) -> str:
    """With gigabytes that suffice, a power of two."""
    more = f"{max(1, int(2 ** (n_bytes // 2**30).bit_length()))}GB"
    return f"--max-memory {more} on the command line, or {VARIABLE}={more} in the environment."


def _shown(n_bytes: int) -> str:
    for unit, size in (("GB", 2**30), ("MB", 2**20)):
        if n_bytes >= size:
            return (
                f"{n_bytes / size:.3g} {unit}"
                if n_bytes < 1000 * size
                else f"{n_bytes / size:,.0f} {unit}"
            )
    return f"{n_bytes} bytes"
