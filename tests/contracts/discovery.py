"""Finds every part of a room, so that none escapes its contract."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import Any


def modules(room: ModuleType) -> list[ModuleType]:
    """The public modules of a room."""
    names = [info.name for info in pkgutil.iter_modules(room.__path__)]
    return [
        importlib.import_module(f"{room.__name__}.{name}")
        for name in names
        if not name.startswith("_")
    ]


def public(room: ModuleType, accept: Any) -> dict[str, Any]:
    """Public objects defined in a room's own modules."""
    found = {}
    for module in modules(room):
        for name, value in vars(module).items():
            defined_here = getattr(value, "__module__", None) == module.__name__
            if defined_here and not name.startswith("_") and accept(value):
                found[name] = value
    return found


def classes(room: ModuleType, base: type) -> dict[str, type]:
    """Public methods of a room: subclasses of ``base`` that are not bases themselves.

    Bases of extractors are named …Extractor, that of combined kernels Composite.
    """
    found = public(room, lambda value: inspect.isclass(value) and issubclass(value, base))
    return {
        name: part
        for name, part in found.items()
        if part is not base and not name.endswith(("Extractor", "Composite"))
    }


def functions(room: ModuleType) -> dict[str, Any]:
    """Public functions of a room."""
    return public(room, inspect.isfunction)
