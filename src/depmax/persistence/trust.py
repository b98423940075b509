"""What a model file may hold without the user being asked: what depmax writes, and nothing else.

skops trusts every estimator of scikit-learn. Some of them open files that a parameter names
(``CountVectorizer(input="filename")``), others index into memory without looking (trees; support
vector machines, whose sizes are compared here first). So the list here is explicit, and so is the
way in which each type is made: an object gets its attributes; nothing is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

#: Types whose objects only compute with what they hold, by the module that defines them.
_TRUSTED = {
    "depmax.dependence._given.confounders": (
        "Additive",
        "Bend",
        "Joint",
        "Scaling",
        "MeanOfKernels",
    ),
    "depmax.dependence._given.regression": ("Curve",),
    "depmax.dependence.structure": ("Dependence",),
    "depmax.evaluation.comparison.preparing": ("NumericTarget",),
    "depmax.evaluation.comparison.methods": ("ScreenFirst",),
    "depmax.evaluation.prepare": ("Prepare",),
    "depmax.extraction._fitting.sums": ("Batches",),
    "depmax.extraction._fitting.prediction": ("Readout",),
    "depmax.extraction._ica_solvers": ("NaturalGradient", "QuasiNewton"),
    "depmax.extraction.boosted_latent_features": ("BoostedLatentFeatures",),
    "depmax.extraction.continuum_regression": ("ContinuumRegression",),
    "depmax.extraction.deflation_features": ("DeflationFeatures",),
    "depmax.extraction.dependence_structure": ("DependenceStructure",),
    "depmax.extraction.hbfe": ("HBFE",),
    "depmax.extraction.hsca": ("HSCA",),
    "depmax.extraction.ica": ("ICA",),
    "depmax.extraction.icafx": ("ICAFX",),
    "depmax.extraction.iterative_pca": ("IterativePCA",),
    "depmax.extraction.kernel_boosting": ("KernelBoosting",),
    "depmax.extraction.kernel_cca": ("KernelCCA",),
    "depmax.extraction.kernel_lda": ("KernelLDA",),
    "depmax.extraction.kernel_pls": ("KernelPLS",),
    "depmax.extraction.kernel_pls_classifier": ("KernelPLSClassifier",),
    "depmax.extraction.laplacian_eigenmap": ("LaplacianEigenmap",),
    "depmax.extraction.linear_regression_feature": ("LinearRegressionFeature",),
    "depmax.extraction.lpp": ("LPP",),
    "depmax.extraction.phd": ("PHD",),
    "depmax.extraction.reduced_kernel_opls": ("ReducedKernelOPLS",),
    "depmax.extraction.residual": ("Residual",),
    "depmax.extraction.sir": ("SIR",),
    "depmax.extraction.sma": ("SMA",),
    "depmax.extraction.smc": ("SMC",),
    "depmax.extraction.sparse_kernel_pls": ("SparseKernelPLS",),
    "depmax.kernels.columns": ("Columns",),
    "depmax.kernels.composite": ("Product", "Scaled", "Sum", "WeightedSum"),
    "depmax.kernels.distances": (
        "Distance",
        "Gaussian",
        "InverseDistance",
        "InverseMultiquadric",
        "Laplace",
    ),
    "depmax.kernels.inner_products": ("Linear", "Polynomial", "RandomEvent", "Subset"),
    "depmax.kernels.labels": ("ClassBalanced", "Delta"),
    "depmax.kernels.mixed": ("Mixed",),
    "depmax.kernels.names": ("FromFunction", "FromMap", "FromScikitLearn", "Precomputed"),
    "depmax.kernels.neutral": ("Cell", "GappedRows", "Gaps", "Neutral"),
    "depmax.kernels.ridge": ("RidgeKernel",),
    "depmax.kernels.strings": ("Spectrum", "Subsequence"),
    "depmax.maps.basis_selection": ("BasisSelection",),
    "depmax.maps.incomplete_cholesky": ("IncompleteCholesky",),
    "depmax.maps.random_fourier": ("RandomFourier",),
    "depmax.maps.span": ("DrawnWithReplacement", "GreedyLandmarks", "KernelMap", "NystroemMap"),
    "depmax.maps.subtree_counts": ("SubtreeCounts",),
    "depmax.algebra.images": ("CentredKernel",),
    "depmax.algebra.graphs.graph": ("GaussianGraph", "GivenGraph", "NeighborGraph", "RadiusGraph"),
    "depmax.algebra.projection": ("FeatureProjection", "SampleProjection"),
    "depmax.algebra.row_sums": ("RowSums",),
    "depmax.data.sample": ("Reference",),
    "depmax.selection.bahsic": ("BAHSIC",),
    "depmax.selection.dependence_filter": ("DependenceFilter",),
    "depmax.selection.fohsic": ("FOHSIC",),
    "depmax.selection.hsic_lasso": ("HSICLasso",),
    "depmax.selection.kernel_ridge_elimination": ("KernelRidgeElimination",),
    "depmax.selection.knockoffs": ("Knockoffs",),
    "depmax.selection.r2w2": ("R2W2",),
    "depmax.selection.relief": ("Relief",),
    "depmax.selection.unconfounded": ("Unconfounded",),
    "depmax.selection.zero_norm_svm": ("ZeroNormSVM",),
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
    "sklearn.preprocessing._label": ("LabelBinarizer", "LabelEncoder", "MultiLabelBinarizer"),
    # compare ends in one of them for small tables; they index into memory, so they are checked
    "sklearn.svm._classes": ("SVC", "SVR"),
}
TRUSTED_TYPES = frozenset(
    f"{module}.{name}" for module, names in _TRUSTED.items() for name in names
)

_NUMPY_VALUES = frozenset(
    f"numpy.{name}"
    for name in dir(np)
    if isinstance(value := getattr(np, name), type) and issubclass(value, np.generic)
)
#: Ways in which skops makes a value, and the types that each may make. A way that is not listed
#: calls something: a function, a constructor, a method.
_WAYS: dict[str, frozenset[str]] = {
    "BytesNode": frozenset({"builtins.bytes"}),
    "DTypeNode": frozenset({"numpy.dtype"}),
    "DictNode": frozenset({"builtins.dict", "collections.OrderedDict"}),
    "JsonNode": frozenset({"builtins.str"}),
    "ListNode": frozenset({"builtins.list"}),
    "MaskedArrayNode": frozenset({"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"}),
    "NdArrayNode": frozenset({"numpy.ndarray"}) | _NUMPY_VALUES,
    "ObjectNode": TRUSTED_TYPES,
    "RandomGeneratorNode": frozenset({"numpy.random._generator.Generator"}),
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

KNOWN_TYPES = frozenset().union(*_WAYS.values())

#: Parameters that would reach beyond the model, so that a file holds them as None.
_RESTRICTED = {"memory": "would read and write pickles in a folder: set it to None"}
#: More processes than this are not asked for by a file.
MOST_JOBS = 256


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


def unknown_types(schema: Any) -> set[str]:
    """Types in a schema that depmax does not write, or not in this way."""
    unknown = set()
    for node in nodes(schema):
        name = f"{node.get('__module__')}.{node.get('__class__')}"
        if name not in _WAYS.get(str(node["__loader__"]), ()):
            unknown.add(name)
    return unknown


def find_danger(model: Any) -> str | None:
    """What a loaded model holds that no depmax model does, in words; None if nothing.

    Asked of the objects, not of the file: a file can name one value in two ways.
    """
    for part in _parts(model):
        if hasattr(part, "check_format"):  # a sparse matrix, whose indices nobody looks at later
            try:
                part.check_format(full_check=True)
            except (ValueError, TypeError, IndexError) as error:
                return f"a sparse matrix contradicts itself ({error})"
        attributes = getattr(part, "__dict__", None)
        if not isinstance(attributes, dict):
            continue
        if "_n_support" in attributes and not _sizes_agree(attributes):
            return f"the support vectors of {type(part).__name__} contradict its other sizes"
        for name, reason in _RESTRICTED.items():
            if attributes.get(name) is not None:
                return f"{type(part).__name__}({name}={_short(attributes[name])}) {reason}"
        jobs = attributes.get("n_jobs")
        if isinstance(jobs, int | np.integer) and abs(int(jobs)) > MOST_JOBS:
            return f"{type(part).__name__}(n_jobs={_short(jobs)}) asks for too many processes"
    return None


def _sizes_agree(machine: Mapping[str, Any]) -> bool:
    """Whether the arrays of a fitted support vector machine have the sizes that libsvm expects."""
    try:
        n_vectors, n_features = machine["support_vectors_"].shape
        per_class = np.asarray(machine["_n_support"])
        n_classes = len(machine["classes_"]) if "classes_" in machine else 1
        n_rows = max(1, n_classes - 1)
        n_pairs = max(1, n_classes * (n_classes - 1) // 2)
        return bool(
            machine["kernel"] in ("linear", "poly", "rbf", "sigmoid")
            and (per_class >= 0).all()
            and len(per_class) >= n_classes
            and machine["support_"].shape == (n_vectors,)
            and (per_class[:n_classes].sum() == n_vectors)
            and machine["shape_fit_"][1] == n_features == machine["n_features_in_"]
            and all(
                machine[name].shape == (n_rows, n_vectors) for name in ("dual_coef_", "_dual_coef_")
            )
            and all(machine[name].shape == (n_pairs,) for name in ("intercept_", "_intercept_"))
            and all(machine[name].shape in {(0,), (n_pairs,)} for name in ("_probA", "_probB"))
        )
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return False


def _parts(model: Any) -> Iterator[Any]:
    """The model and everything that it holds."""
    waiting, seen = [model], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, type | str | bytes | int | float):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, Mapping):
            waiting.extend(part.values())
        elif isinstance(part, list | tuple | set):
            waiting.extend(part)
        elif isinstance(part, np.ndarray):
            waiting.extend(part.ravel().tolist() if part.dtype.hasobject else ())
        elif isinstance(getattr(part, "__dict__", None), dict):
            waiting.extend(vars(part).values())


def _short(value: Any) -> str:
    return repr(value)[:60]
