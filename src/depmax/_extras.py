"""Optional libraries: imported when needed; results as data frames of the user's library."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import narwhals.stable.v2 as nw

#: The extra that brings each library.
EXTRAS = {
    "dask": "distributed",
    "distributed": "distributed",
    "jinja2": "report",
    "matplotlib": "plot",
    "openpyxl": "excel",
    "pyarrow": "distributed",
    "skl2onnx": "onnx",
    "skops": "cli",
    "torch": "neural",
}


def require(what: str, *libraries: str, extra: str | None = None) -> None:
    """Refuse to begin without a library.

    Parameters
    ----------
    what : str
        What needs it, as the beginning of a sentence.
    libraries : str
        Names to import.
    extra : str, optional
        Extra of depmax that brings all of them; by default that of the first missing one.

    Examples
    --------
    >>> from depmax._extras import require
    >>> require("A table", "numpy")
    >>> require("A report", "numpy", "no_such_library", extra="report")
    Traceback (most recent call last):
    ...
    ImportError: A report needs no_such_library: pip install "depmax[report]"
    """
    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        extra = extra or EXTRAS[missing[0]]
        needed = " and ".join(missing)
        raise ImportError(f'{what} needs {needed}: pip install "depmax[{extra}]"')


def make_frame(columns: Mapping[str, Any], library: str | None = None) -> Any:
    """Native data frame of named columns.

    Parameters
    ----------
    columns : mapping from name to values
    library : {"pandas", "polars", "pyarrow"}, optional
        By default the first of these that is installed.
    """
    names: list[Any] = [library] if library else ["pandas", "polars", "pyarrow"]
    for name in names:
        if find_spec(name) is not None:
            return nw.from_dict(dict(columns), backend=name).to_native()
    raise ImportError(
        f"A data frame needs {' or '.join(names)}: install one of them, e.g. pip install pandas."
    )
