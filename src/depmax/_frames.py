"""Results as data frames, in the library the user works with."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import narwhals.stable.v2 as nw


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


def library_of(X: Any) -> str | None:
    """Name of the data frame library of X, if it is a frame."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame.implementation.value if isinstance(frame, nw.DataFrame) else None
