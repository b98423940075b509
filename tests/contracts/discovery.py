"""Finds every part of a package, so that none escapes its contract."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import Any


def modules(package: ModuleType) -> list[ModuleType]:
    """The public modules of a package."""
    names = [info.name for info in pkgutil.iter_modules(package.__path__)]
    return [
        importlib.import_module(f"{package.__name__}.{name}")
        for name in names
        if not name.startswith("_")
    ]


def public(package: ModuleType, accept: Any) -> dict[str, Any]:
    """Public objects defined in a package's own modules."""
    found = {}
    for module in modules(package):
        for name, value in vars(module).items():
            defined_here = getattr(value, "__module__", None) == module.__name__
            if defined_here and not name.startswith("_") and accept(value):
                found[name] = value
    return found


def classes(package: ModuleType, base: type) -> dict[str, type]:
    """Public methods of a package: subclasses of ``base`` that are not bases themselves.

    Bases are named …Extractor and …Selector, that of combined kernels Composite.
    """
    found = public(package, lambda value: inspect.isclass(value) and issubclass(value, base))
    return {
        name: part
        for name, part in found.items()
        if part is not base and not name.endswith(("Extractor", "Selector", "Composite"))
    }


def functions(package: ModuleType) -> dict[str, Any]:
    """Public functions of a package."""
    return public(package, inspect.isfunction)
