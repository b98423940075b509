"""Dependence-maximising feature selection and extraction.

Every name exported by ``depmax.dependence``, ``depmax.selection`` and ``depmax.extraction`` can
also be imported from ``depmax``, as can a few others.
"""

import os
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any

from depmax._version import __version__ as __version__

if TYPE_CHECKING:
    from depmax.algebra.graphs import GaussianGraph as GaussianGraph
    from depmax.algebra.graphs import GivenGraph as GivenGraph
    from depmax.algebra.graphs import NeighborGraph as NeighborGraph
    from depmax.algebra.graphs import RadiusGraph as RadiusGraph
    from depmax.data import UnseenCategoryWarning as UnseenCategoryWarning
    from depmax.data.scan import scan as scan
    from depmax.data.table import ScaleWarning as ScaleWarning
    from depmax.dependence import *  # noqa: F403  (its exports are ours)
    from depmax.evaluation import Comparison as Comparison
    from depmax.evaluation import Expand as Expand
    from depmax.evaluation import Prepare as Prepare
    from depmax.evaluation import compare as compare
    from depmax.extraction import *  # noqa: F403  (the same)
    from depmax.onnx import to_onnx as to_onnx
    from depmax.persistence import load_model as load_model
    from depmax.persistence import save_model as save_model
    from depmax.selection import *  # noqa: F403  (the same)

#: Packages whose every export is a name of depmax.
_PACKAGES = ("dependence", "selection", "extraction")
#: Packages that are there without being imported by name.
_OPEN = (*_PACKAGES, "algebra", "data", "datasets", "evaluation", "kernels", "maps", "persistence")
#: Names of other packages, and where they are.
_OTHERS = {
    "Comparison": "evaluation",
    "GaussianGraph": "algebra.graphs",
    "GivenGraph": "algebra.graphs",
    "NeighborGraph": "algebra.graphs",
    "Expand": "evaluation",
    "Prepare": "evaluation",
    "RadiusGraph": "algebra.graphs",
    "ScaleWarning": "data.table",
    "UnseenCategoryWarning": "data",
    "compare": "evaluation",
    "load_model": "persistence",
    "save_model": "persistence",
    "scan": "data",
    "to_onnx": "onnx",
}

#: A fork waits until what is being loaded is there: a child would wait for ever for an import that
#: another thread had begun.
_loading = RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_loading.acquire,
        after_in_parent=_loading.release,
        after_in_child=_loading.release,
    )


def __getattr__(name: str) -> Any:
    """Load the package of a name when it is first asked for: ``import depmax`` stays fast."""
    if name == "__all__":
        exported = [part for package in _PACKAGES for part in _load(package).__all__]
        return sorted([*exported, *_OTHERS, "__version__"])
    if name in _OPEN:
        return _load(name)
    if name in _OTHERS:
        return getattr(_load(_OTHERS[name]), name)
    if not name.startswith("_"):
        for package in map(_load, _PACKAGES):
            if name in package.__all__:
                return getattr(package, name)
    raise AttributeError(f"module 'depmax' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Public names, those of packages not loaded yet included."""
    names: list[str] = __getattr__("__all__")
    return names


def _load(package: str) -> Any:
    with _loading:
        return import_module(f"depmax.{package}")
