"""Optional libraries: asked for before anything is computed, with the extra that brings them."""

from __future__ import annotations

from importlib.util import find_spec

#: The extra that brings each library.
EXTRAS = {
    "dask": "distributed",
    "distributed": "distributed",
    "grakel": "graphs",
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
