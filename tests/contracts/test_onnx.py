"""Every fitted estimator gives in onnxruntime what it gives in Python, or says by name why not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import depmax
from depmax import (
    BAHSIC,
    HBFE,
    HSCA,
    DependenceFilter,
    Expand,
    KernelPLS,
    Knockoffs,
    extraction,
    kernels,
    maps,
    selection,
)
from depmax.evaluation import MLkNN, Prepare, ScreenFirst
from depmax.extraction import DependenceExtractor
from depmax.kernels import (
    Columns,
    Gaussian,
    Kernel,
    Laplace,
    Linear,
    Polynomial,
    RidgeKernel,
    WeightedSum,
)
from depmax.kernels.kernel import short_names
from depmax.maps import FeatureMap, KernelMap, NystroemMap, RandomFourier
from depmax.selection import DependenceSelector
from tests.contracts.discovery import classes

pytest.importorskip("skl2onnx", reason="an ONNX graph needs skl2onnx")
runtime = pytest.importorskip("onnxruntime", reason="it runs the graphs")

#: Largest difference, relative to the largest feature: what the documentation promises.
TOLERANCES = {"float64": 1e-10, "float32": 1e-3}
PRECISIONS = list(TOLERANCES)

draw = np.random.default_rng(0)
# columns far from zero and on different scales, as they are in life
X = draw.normal(size=(60, 6)) * [1.0, 2.0, 1.0, 0.5, 1.0, 3.0] + [0.0, 5.0, -3.0, 0.0, 1.0, 9.0]
NEW = draw.normal(size=(17, 6)) * [1.0, 2.0, 1.0, 0.5, 1.0, 3.0] + [0.0, 5.0, -3.0, 0.0, 1.0, 9.0]
NUMBERS = X[:, 0] + (X[:, 1] - 5.0) ** 2
CLASSES = np.where(np.median(NUMBERS) < NUMBERS, "high", "low")

pytestmark = [
    # the columns are on different scales on purpose
    pytest.mark.filterwarnings("ignore::depmax.ScaleWarning"),
    # skl2onnx and protobuf, whose versions differ
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def _run(model: Any, rows: Any, dtype: str) -> list[np.ndarray]:
    graph = depmax.to_onnx(model, dtype=dtype)
    session = runtime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    outputs: list[np.ndarray] = session.run(None, {"X": np.asarray(rows).astype(dtype)})
    return outputs


def _agree(found: np.ndarray, expected: Any, dtype: str, slack: float = 1.0) -> None:
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype == dtype
    assert np.abs(found - expected).max() <= slack * TOLERANCES[dtype] * np.abs(expected).max()


def _fitted(model: Any) -> Any:
    of_classes = type(model).__name__ in ("KernelLDA", "KernelBoosting", "KernelPLSClassifier")
    return model.fit(X, CLASSES if of_classes else NUMBERS)


ESTIMATORS = {
    **classes(selection, DependenceSelector),
    **classes(extraction, DependenceExtractor),
    **classes(maps, FeatureMap),
}
#: Maps that have a graph; others must be refused by name. Selectors and extractors all have one.
MAPS_WITH_GRAPH = {
    "BasisSelection",
    "IncompleteCholesky",
    "KernelMap",
    "NystroemMap",
    "RandomFourier",
}
WITH_GRAPH = sorted(MAPS_WITH_GRAPH | (set(ESTIMATORS) - set(classes(maps, FeatureMap))))


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("name", WITH_GRAPH)
def test_every_estimator(name: str, dtype: str) -> None:
    model = ESTIMATORS[name]()
    if name == "Knockoffs":
        model.set_params(fdr=0.5, random_state=0)
    model = _fitted(model)
    if hasattr(model, "get_support") and not model.get_support().any():
        with pytest.raises(ValueError, match="keeps no column"):
            depmax.to_onnx(model)
        return
    _agree(_run(model, NEW, dtype)[0], model.transform(NEW), dtype)


def test_other_maps_are_refused_by_name() -> None:
    for name in (set(ESTIMATORS) - set(WITH_GRAPH)) & set(maps.__all__):
        with pytest.raises(TypeError, match=f"{name} cannot be written"):
            depmax.to_onnx(ESTIMATORS[name]().fit(X))


def test_a_pipeline_with_such_a_step_is_told_what_can_be_exported() -> None:
    frame = pd.DataFrame(X).add_prefix("c").assign(day=pd.date_range("2024", periods=len(X)))
    model = make_pipeline(Expand(), Prepare(), BAHSIC(2)).fit(frame, NUMBERS)
    with pytest.raises(TypeError, match=r"Expand cannot be written.*to_onnx\(model\[1:\]\)"):
        depmax.to_onnx(model)
    expanded = model[0].transform(frame)
    _agree(_run(model[1:], expanded.to_numpy(), "float64")[0], model.transform(frame), "float64")


EXTRACTORS_WITH_KERNEL = sorted(
    name
    for name, kind in classes(extraction, DependenceExtractor).items()
    if "kernel" in kind().get_params()
)


@pytest.mark.parametrize("kernel", ["gaussian", NystroemMap(20, random_state=0)], ids=str)
@pytest.mark.parametrize("name", EXTRACTORS_WITH_KERNEL)
def test_every_extractor_with_a_kernel_and_with_a_map(name: str, kernel: Any) -> None:
    model = _fitted(ESTIMATORS[name](kernel=kernel))
    _agree(_run(model, NEW, "float64")[0], model.transform(NEW), "float64")


#: Kernels of numbers that have a graph; to_onnx refuses others by name.
KERNELS_WITH_GRAPH = {
    "distance",
    "gaussian",
    "inverse_distance",
    "inverse_multiquadric",
    "laplace",
    "linear",
    "polynomial",
    "ridge",
}
NUMERIC = sorted(
    name
    for name, kind in short_names().items()
    if kind().requires_vector_input
    and not (kind().capabilities.labels or kind().capabilities.survival)
)


@pytest.mark.parametrize("name", NUMERIC)
def test_every_kernel_of_numbers(name: str) -> None:
    model = KernelPLS(2, kernel=name).fit(X, NUMBERS)
    if name not in KERNELS_WITH_GRAPH:
        with pytest.raises(TypeError, match=f"{type(model.kernel_).__name__} cannot be written"):
            depmax.to_onnx(model)
        return
    slack = 10.0 if name == "ridge" else 1.0  # the inverse of a kernel matrix
    for dtype in PRECISIONS:
        _agree(_run(model, NEW, dtype)[0], model.transform(NEW), dtype, slack)


def test_every_kernel_that_has_a_graph_is_there() -> None:
    assert set(NUMERIC) >= KERNELS_WITH_GRAPH


COMPOSED: dict[str, Kernel | Any] = {
    "l2": Laplace(2.0, norm=2),
    "sum": Gaussian(2.0) + Linear(),
    "product": Gaussian(2.0) * Polynomial(3),
    "multiple": 3.0 * Laplace(),
    "weighted sum": WeightedSum([Gaussian(2.0), Linear(), Laplace()], [0.5, 0.25, 0.0]),
    "weighted features": WeightedSum([Linear(), Linear() * Linear()], [0.25, 0.75]),
    "sum of features": Linear() + 2.0 * Linear(),
    "product of features": Linear() * Linear(),
    "ridge of a kernel": RidgeKernel("gaussian", alpha=0.5),
    "columns": Columns([("a", "gaussian", [0, 1]), ("b", "laplace", 2)]),
    "added columns": Columns([("a", "linear", [0, 1]), ("b", "linear", [5])], combine="add"),
    "multiplied columns": Columns([("a", "linear", [0, 1]), ("b", "linear", [2, 5])]),
    "one part": Columns([("a", "linear", [0, 3])], combine="add"),
    "random features": RandomFourier(51, random_state=0),
    "exact map": KernelMap(10),
    "map of a map": NystroemMap(20, kernel=RandomFourier(30, random_state=0), random_state=0),
    "pipeline": make_pipeline(StandardScaler(), NystroemMap(10, random_state=0)),
    "scikit-learn's": PCA(3),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_composed_kernels_and_maps(name: str) -> None:
    model = HBFE(2, kernel=COMPOSED[name]).fit(X, NUMBERS)
    for dtype in PRECISIONS:
        _agree(_run(model, NEW, dtype)[0], model.transform(NEW), dtype)


@pytest.mark.parametrize("n_components", [1, 2, 7, 8])
@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
def test_random_fourier_features_of_any_number(kernel: str, n_components: int) -> None:
    model = RandomFourier(n_components, kernel=kernel, random_state=0).fit(X)
    _agree(_run(model, NEW, "float64")[0], model.transform(NEW), "float64")


PIPELINES: dict[str, Callable[[], Any]] = {
    "scaler, selector": lambda: make_pipeline(StandardScaler(), BAHSIC(3)),
    "selector, scaler, extractor": lambda: make_pipeline(
        DependenceFilter(4), MinMaxScaler(), HSCA(2, kernel="gaussian")
    ),
    "as the command line fits": lambda: make_pipeline(Prepare(), HBFE(2)),
    "searched columns": lambda: ScreenFirst(BAHSIC(2), 4),
    "union": lambda: make_pipeline(
        StandardScaler(), FeatureUnion([("a", HBFE(1)), ("b", BAHSIC(2))])
    ),
    "columns": lambda: make_pipeline(
        ColumnTransformer([("a", HBFE(1), [0, 1, 2]), ("b", BAHSIC(2), [3, 4, 5])]), HBFE(2)
    ),
    "our regressor amid": lambda: make_pipeline(StandardScaler(), KernelPLS(3), BAHSIC(2)),
}


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines(name: str, dtype: str) -> None:
    model = PIPELINES[name]().fit(X, NUMBERS)
    _agree(_run(model, NEW, dtype)[0], model.transform(NEW), dtype)


def test_gaps_are_filled() -> None:
    rows, new = X.copy(), NEW.copy()
    rows[3, 2] = new[0, 0] = np.nan
    model = make_pipeline(Prepare("mean"), HBFE(2)).fit(rows, NUMBERS)
    _agree(_run(model, new, "float64")[0], model.transform(new), "float64")


def test_a_pipeline_that_predicts() -> None:
    model = make_pipeline(StandardScaler(), HBFE(2, kernel="gaussian"), LogisticRegression())
    labels, probabilities = _run(model.fit(X, CLASSES), NEW, "float64")
    assert labels.tolist() == model.predict(NEW).tolist()
    _agree(probabilities, model.predict_proba(NEW), "float64")
    regression = make_pipeline(StandardScaler(), BAHSIC(2), Ridge()).fit(X, NUMBERS)
    _agree(_run(regression, NEW, "float64")[0][:, 0], regression.predict(NEW), "float64")


PREDICTORS = [name for name in WITH_GRAPH if hasattr(ESTIMATORS[name], "predict")]
TARGETS: dict[str, np.ndarray] = {
    "numbers": NUMBERS,
    "outputs": np.column_stack([NUMBERS, X[:, 2]]),
    "labels": np.column_stack([NUMBERS > 3.0, X[:, 2] > -3.0]).astype(int),
    "text": CLASSES,
    "objects": CLASSES.astype(object),
    "counted": np.digitize(NUMBERS, [2.0, 5.0]),
    "flags": np.median(NUMBERS) < NUMBERS,
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PREDICTORS)
def test_every_extractor_that_predicts(name: str, target: str) -> None:
    """Alone and at the end of a pipeline; amid one it gives features."""
    model, y = ESTIMATORS[name](), TARGETS[target]
    try:
        model.fit(X, y)
    except ValueError:
        pytest.skip("no target of this method")
    for dtype, whole in ((dtype, whole) for dtype in PRECISIONS for whole in (False, True)):
        chain = make_pipeline(StandardScaler(), ESTIMATORS[name]()).fit(X, y) if whole else model
        graph = depmax.to_onnx(chain, dtype=dtype)
        outputs = dict(
            zip((o.name for o in graph.graph.output), _run(chain, NEW, dtype), strict=True)
        )
        _agree(outputs.pop("features"), chain.transform(NEW), dtype)
        expected = chain.predict(NEW)
        if "label" in outputs:
            assert outputs.pop("label").tolist() == expected.tolist()
        else:
            found = outputs.pop("prediction")
            _agree(found if expected.ndim == 2 else found[:, 0], expected, dtype)
        if hasattr(chain, "predict_proba"):
            slack = 1.0 if dtype == "float64" else 20.0  # an exponential of differences
            _agree(outputs.pop("probabilities"), chain.predict_proba(NEW), dtype, slack)
        assert not outputs
    amid = make_pipeline(ESTIMATORS[name](), LogisticRegression()).fit(X, CLASSES)
    assert _run(amid, NEW, "float64")[0].tolist() == amid.predict(NEW).tolist()


def test_kernel_values_as_input() -> None:
    kernel = Gaussian(3.0)
    model = HBFE(2, kernel="precomputed").fit(kernel(X), NUMBERS)
    values = kernel(NEW, X)
    _agree(_run(model, values, "float64")[0], model.transform(values), "float64")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_names_are_written_beside_the_graph(library: str, tmp_path: Path) -> None:
    import onnx

    frame = pd.DataFrame(X, columns=list("abcdef"))
    table = frame if library == "pandas" else __import__("polars").from_pandas(frame)
    model = make_pipeline(Prepare(), BAHSIC(2)).fit(table, NUMBERS)
    model.set_output(transform=library)
    written = depmax.to_onnx(model, tmp_path / "model.onnx")
    graph = onnx.load(tmp_path / "model.onnx")
    assert graph == written
    onnx.checker.check_model(graph)
    notes = {entry.key: json.loads(entry.value) for entry in graph.metadata_props}
    assert notes == {
        "depmax": depmax.__version__,
        "columns": list("abcdef"),
        "features": model.get_feature_names_out().tolist(),
    }


STRINGS = ["abab", "bbab", "aabb", "baba", "bbba", "abba"]
CATEGORICAL = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(CLASSES)})
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "strings": (lambda: HBFE(1, kernel=kernels.Spectrum(2)).fit(STRINGS, [0, 1] * 3), "Spectrum"),
    "a map of strings": (
        lambda: NystroemMap(3, kernel=kernels.Subsequence(2)).fit(STRINGS),
        "Subsequence",
    ),
    "a given matrix": (
        lambda: HBFE(1, kernel=kernels.Precomputed(X @ X.T)).fit(np.arange(60), NUMBERS),
        "Precomputed",
    ),
    "a function": (lambda: HBFE(1, kernel=lambda a, b: a @ b.T).fit(X, NUMBERS), "FromFunction"),
    "categories, selected": (lambda: BAHSIC(1).fit(CATEGORICAL, NUMBERS), "categorical columns"),
    "categories, extracted": (
        lambda: HBFE(1, kernel="gaussian").fit(CATEGORICAL, NUMBERS),
        "categorical columns",
    ),
    "gaps among categories": (
        lambda: make_pipeline(Prepare(), BAHSIC(1)).fit(CATEGORICAL, NUMBERS),
        "Prepare was fitted on categorical columns",
    ),
    "a predictor of depmax": (
        lambda: make_pipeline(BAHSIC(2), MLkNN(3)).fit(X, np.column_stack([NUMBERS > 1] * 2)),
        r"MLkNN .*model\[:1\]",
    ),
    "a classifier as a map": (
        lambda: HBFE(1, kernel=FitsAlone()).fit(X, NUMBERS),
        "what it predicts, not its features",
    ),
}


class FitsAlone(LinearDiscriminantAnalysis):
    """A transformer that is a classifier too, and finds a target by itself."""

    def fit(self, X: Any, y: Any = None) -> Any:
        return super().fit(X, X[:, 0] > 0)


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_graph_is_refused_by_name(name: str) -> None:
    make, reason = REFUSED[name]
    with pytest.raises(TypeError, match=reason):
        depmax.to_onnx(make())


def test_bad_requests() -> None:
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        depmax.to_onnx(HBFE())
    with pytest.raises(ValueError, match="dtype must be"):
        depmax.to_onnx(HBFE().fit(X, NUMBERS), dtype="float16")


def test_nothing_is_written_where_nothing_can_be_converted(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        depmax.to_onnx(BAHSIC(1).fit(CATEGORICAL, NUMBERS), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_knockoffs_that_keep_something() -> None:
    model = Knockoffs(fdr=0.9, random_state=0).fit(X, X[:, 0] + 2.0 * X[:, 3] + X[:, 4])
    if not model.get_support().any():
        pytest.fail("choose data that keep a column")
    _agree(_run(model, NEW, "float64")[0], model.transform(NEW), "float64")
