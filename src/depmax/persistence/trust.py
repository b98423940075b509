"""What a model file may hold without the user being asked: what depmax writes, and nothing else.

skops trusts every estimator of scikit-learn. Some of them open files that a parameter names
(``CountVectorizer(input="filename")``), others index into memory without looking (trees). So here
only what depmax exports is known, what such objects declare that they hold, what ``compare`` can
build, and a few steps around these; where compiled code trusts attributes they are compared with
each other after loading (``soundness``). Known too is the way in which each type is made: an
object gets its attributes; nothing is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from depmax._extras import require
from depmax._files import HELD
from depmax.persistence.soundness import parts

#: Packages whose classes only compute with what they hold; the latter export parts.
_COMPUTING = ("algebra", "data", "dependence")
_EXPORTING = ("evaluation", "extraction", "kernels", "maps", "neural", "selection")
#: Steps that may stand around a method, and what fitted methods of scikit-learn hold.
_AROUND = {
    "compose": ("ColumnTransformer", "make_column_selector"),
    "feature_selection": ("VarianceThreshold",),
    "impute": ("SimpleImputer",),
    "linear_model": ("LinearRegression",),
    "neighbors": ("NearestNeighbors",),
    "pipeline": ("FeatureUnion",),
    "preprocessing": (
        *("LabelBinarizer", "MinMaxScaler", "Normalizer", "OneHotEncoder", "OrdinalEncoder"),
        *("PowerTransformer", "QuantileTransformer", "RobustScaler"),
    ),
}
#: What compare can build, but whose compiled code follows what a file says where nobody looks.
_UNCHECKED = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")


def is_known(name: str) -> bool:
    """Whether an object of this type is loaded without being asked for.

    Examples
    --------
    >>> is_known("depmax.selection.bahsic.BAHSIC"), is_known("depmax.cli.app.App")
    (True, False)
    """
    module, _, attribute = name.rpartition(".")
    place = module.split(".")
    if place[0] != "depmax":
        return name in _foreign()
    if len(place) < 3 or place[1] not in (*_COMPUTING, *_EXPORTING):
        return False
    if place[1] == "neural":
        require("This model", "torch")
    try:
        kind = getattr(import_module(module), attribute, None)
    except ImportError:
        return False
    if not isinstance(kind, type) or kind.__module__ != module:
        return False
    return kind in HELD or (_is_exported(kind, place[1]) and _is_part(kind, place[1]))


def _is_exported(kind: type, package: str) -> bool:
    exporting = [import_module("depmax")]
    exporting += [import_module(f"depmax.{package}")] * (package in _EXPORTING)
    return any(kind.__name__ in module.__all__ for module in exporting)


def _is_part(kind: type, package: str) -> bool:
    """Whether it only computes with what it holds: an estimator, a kernel, a graph, a setting."""
    return issubclass(kind, BaseEstimator) or (is_dataclass(kind) and package != "evaluation")


@cache
def _foreign() -> frozenset[str]:
    """Types of other libraries: what compare can build, and the steps around it."""
    from depmax.evaluation.comparison.catalogue import catalogue
    from depmax.evaluation.comparison.judges import every_judge

    built = [*(method.make(1) for method in catalogue().values()), *every_judge()]
    around = (
        getattr(import_module(f"sklearn.{module}"), name)
        for module, names in _AROUND.items()
        for name in names
    )
    kinds = {*around, *map(type, parts(built))}
    names = {
        f"{kind.__module__}.{kind.__name__}" for kind in kinds if kind.__name__ not in _UNCHECKED
    }
    return frozenset(name for name in names if name.startswith("sklearn."))


_NUMPY_VALUES = frozenset(
    f"numpy.{name}"
    for name in dir(np)
    if isinstance(value := getattr(np, name), type)
    and issubclass(value, np.number | np.bool_ | np.str_ | np.datetime64)
)
#: Ways in which skops makes a value, and the types that each may make; those of objects are asked
#: of ``is_known``. A way that is not listed calls something: a function, a constructor, a method.
_WAYS: dict[str, frozenset[str]] = {
    "BytesNode": frozenset({"builtins.bytes"}),
    "DTypeNode": frozenset({"numpy.dtype"}),
    "DictNode": frozenset({"builtins.dict", "collections.OrderedDict"}),
    "JsonNode": frozenset({"builtins.str"}),
    "ListNode": frozenset({"builtins.list"}),
    "MaskedArrayNode": frozenset({"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"}),
    "NdArrayNode": frozenset({"numpy.ndarray"}) | _NUMPY_VALUES,
    "RandomStateNode": frozenset({"numpy.random.mtrand.RandomState"}),
    "SetNode": frozenset({"builtins.set"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "SparseMatrixNode": frozenset(
        f"scipy.sparse._{form}.{form}_{kind}"
        for form in ("bsr", "coo", "csc", "csr", "dia")
        for kind in ("array", "matrix")
    ),
    "TupleNode": frozenset({"builtins.tuple"}),
    "TypeNode": frozenset(f"builtins.{name}" for name in ("bool", "float", "int", "str"))
    | _NUMPY_VALUES,
}


def nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Every value that a schema of skops describes, from the outside in."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "__loader__" in part:
                yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def sort_types(schema: Any) -> tuple[set[str], set[str]]:
    """Types in a schema that are known, and those that depmax does not write, or not so."""
    known: set[str] = set()
    unknown: set[str] = set()
    for node in nodes(schema):
        name, way = f"{node.get('__module__')}.{node.get('__class__')}", str(node["__loader__"])
        fits = is_known(name) if way == "ObjectNode" else name in _WAYS.get(way, ())
        (known if fits else unknown).add(name)
    return known - unknown, unknown
