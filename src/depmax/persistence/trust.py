"""What a model file may hold without the user being asked: what depmax writes, and nothing else.

skops trusts every estimator of scikit-learn. Some of them open files that a parameter names
(``CountVectorizer(input="filename")``), others index into memory without looking (trees). So here
only what depmax exports is known, what such objects hold, and a list of other classes, whose
attributes are compared with each other after loading (``soundness``); and so is the way in which
each type is made: an object gets its attributes; nothing is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from depmax._extras import require

#: Packages whose exported estimators, kernels and graphs only compute with what they hold.
_EXPORTING = (
    "depmax",
    "depmax.extraction",
    "depmax.kernels",
    "depmax.maps",
    "depmax.neural",
    "depmax.selection",
)
#: What else fitted models hold and compare can build, by the module that defines it.
_LISTED = {
    "depmax.algebra.row_sums": ("RowSums",),
    "depmax.algebra.space": ("FeatureProjection", "SampleProjection"),
    "depmax.data.sample": ("Reference",),
    "depmax.dependence._given.confounders": (
        "Additive",
        "Joint",
        "MeanOfKernels",
        "Scaling",
    ),
    "depmax.dependence._given.regression": ("RidgeCurve",),
    "depmax.dependence.structure": ("Dependence",),
    "depmax.evaluation.comparison.methods": ("ScreenFirst",),
    "depmax.evaluation.comparison.preparing": ("NumericTarget",),
    "depmax.extraction._fitting.prediction": ("Readout",),
    "depmax.extraction._fitting.batches": ("Batches",),
    "depmax.kernels.neutral": ("CellColumns", "GappedRows", "Gaps"),
    # what stands around a method of depmax, and the methods that it is compared with
    "sklearn.compose._column_transformer": ("ColumnTransformer", "make_column_selector"),
    "sklearn.compose._target": ("TransformedTargetRegressor",),
    "sklearn.cross_decomposition._pls": ("CCA", "PLSCanonical", "PLSRegression", "PLSSVD"),
    "sklearn.decomposition._fastica": ("FastICA",),
    "sklearn.decomposition._pca": ("PCA",),
    "sklearn.decomposition._truncated_svd": ("TruncatedSVD",),
    "sklearn.discriminant_analysis": ("LinearDiscriminantAnalysis",),
    "sklearn.feature_selection._variance_threshold": ("VarianceThreshold",),
    "sklearn.impute._base": ("SimpleImputer",),
    "sklearn.linear_model._base": ("LinearRegression",),
    "sklearn.linear_model._logistic": ("LogisticRegression", "LogisticRegressionCV"),
    "sklearn.linear_model._ridge": ("Ridge", "RidgeCV", "RidgeClassifier", "RidgeClassifierCV"),
    "sklearn.manifold._locally_linear": ("LocallyLinearEmbedding",),
    "sklearn.neighbors._nca": ("NeighborhoodComponentsAnalysis",),
    "sklearn.neighbors._unsupervised": ("NearestNeighbors",),
    "sklearn.pipeline": ("FeatureUnion", "Pipeline"),
    "sklearn.preprocessing._data": (
        "KernelCenterer",
        "MaxAbsScaler",
        "MinMaxScaler",
        "Normalizer",
        "PowerTransformer",
        "QuantileTransformer",
        "RobustScaler",
        "StandardScaler",
    ),
    "sklearn.preprocessing._encoders": ("OneHotEncoder", "OrdinalEncoder"),
    "sklearn.preprocessing._function_transformer": ("FunctionTransformer",),
    "sklearn.preprocessing._label": ("LabelBinarizer", "LabelEncoder"),
    # compare ends in one of them for small tables
    "sklearn.svm._classes": ("SVC", "SVR"),
}
_LISTED_TYPES = frozenset(f"{module}.{name}" for module, names in _LISTED.items() for name in names)


def is_known(name: str) -> bool:
    """Whether an object of this type is loaded without being asked for.

    Examples
    --------
    >>> is_known("depmax.selection.bahsic.BAHSIC"), is_known("depmax.cli.app.App")
    (True, False)
    """
    if name in _LISTED_TYPES:
        return True
    module, _, attribute = name.rpartition(".")
    if not module.startswith("depmax."):
        return False
    if module.startswith("depmax.neural."):
        require("This model", "torch")
    return any(
        module.startswith(f"{package}.")
        and attribute in import_module(package).__all__
        and _is_part(getattr(import_module(package), attribute), module)
        for package in _EXPORTING
        if module.startswith("depmax.neural.") or package != "depmax.neural"
    )


def _is_part(exported: Any, module: str) -> bool:
    """Whether it is a class of this module that only computes with what it holds."""
    return (
        isinstance(exported, type)
        and exported.__module__ == module
        and (issubclass(exported, BaseEstimator) or is_dataclass(exported))
    )


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
