"""Warnings that point at the line of the user."""

from __future__ import annotations

import sys
import warnings

#: Packages whose frames are passed over: a pipeline calls us through scikit-learn.
_INNER = ("depmax", "sklearn", "joblib")


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line that belongs neither to depmax nor to scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _package_of(frame.f_globals) in _INNER:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _package_of(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]
