"""A crafted file, with a right checksum, gets nothing beyond what depmax itself writes."""

from __future__ import annotations

import importlib
import io
import json
import pkgutil
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest
import skops.io
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import depmax
from depmax import load_model, save_model
from depmax.evaluation.comparison.catalogue import compared_methods
from depmax.evaluation.comparison.problem import Problem
from depmax.kernels import Kernel, Precomputed
from depmax.persistence import ModelFileError, inspect
from depmax.persistence.archives import seal
from depmax.persistence.trust import is_known

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
y = rng.integers(0, 2, 30)


def _crafted(model: Any, path: Path, change: Callable[[dict[str, Any]], Any] = lambda s: s) -> Path:
    """A file as skops writes it, with a schema of one's own and a right checksum."""
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(model))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["schema.json"] = json.dumps(change(json.loads(members["schema.json"]))).encode()
    members["depmax.json"] = b'{"versions": {}, "notes": {}}'
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    path.write_bytes(seal(packed.getvalue()))
    return path


def test_a_pipeline_that_would_read_a_local_file(tmp_path: Path) -> None:
    """Made of types that skops trusts: a constant that names a path, then a reader of files."""
    secret = tmp_path / "secret.txt"
    secret.write_text("swordfish")
    names = np.array([str(secret)], dtype=object)
    constant = DummyClassifier(strategy="constant", constant=names[0]).fit(X[:1], names)
    reader = CountVectorizer(input="filename").fit([str(secret)])
    path = _crafted(make_pipeline(StandardScaler().fit(X), constant, reader), tmp_path / "m.skops")
    assert not skops.io.get_untrusted_types(file=path)
    with pytest.raises(ModelFileError, match=r"m\.skops holds types") as e:
        load_model(path)
    assert "CountVectorizer" in str(e.value)
    assert "DummyClassifier" in str(e.value)


@pytest.mark.parametrize("estimator", [KNeighborsClassifier(2), RandomForestClassifier(2)])
def test_what_indexes_into_memory_is_asked_for_by_name(estimator: Any, tmp_path: Path) -> None:
    model = estimator.fit(X, y)
    save_model(model, tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match=type(estimator).__name__):
        load_model(tmp_path / "m.skops")
    unknown = inspect(tmp_path / "m.skops").unknown_types
    again = load_model(tmp_path / "m.skops", trusted=unknown)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_cache_of_pickles_is_neither_saved_nor_loaded(tmp_path: Path) -> None:
    pipe = make_pipeline(StandardScaler(), memory=str(tmp_path)).fit(X)
    with pytest.raises(TypeError, match=r"Pipeline\(memory=.*pickles"):
        save_model(pipe, tmp_path / "m.skops")
    path = _crafted(pipe, tmp_path / "m.skops")
    with (
        pytest.warns(UserWarning, match="does not state the version"),
        pytest.raises(ModelFileError, match="would read and write pickles"),
    ):
        load_model(path)


def test_functions_are_asked_for_by_name(tmp_path: Path) -> None:
    save_model(FunctionTransformer(np.log1p), tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match="log1p"):
        load_model(tmp_path / "m.skops")
    save_model(FunctionTransformer(), tmp_path / "m.skops")
    assert load_model(tmp_path / "m.skops").func is None


@pytest.mark.parametrize("way", ["ConstructorFromReduceNode", "FunctionNode", "TypeNode"])
def test_a_known_type_is_not_called(way: str, tmp_path: Path) -> None:
    def call(schema: dict[str, Any]) -> dict[str, Any]:
        return schema | {"__loader__": way}

    path = _crafted(Precomputed(X @ X.T), tmp_path / "m.skops", call)
    with pytest.raises(ModelFileError, match=r"does not know: .*Precomputed"):
        load_model(path)


def test_one_array_many_times_is_counted_many_times(tmp_path: Path) -> None:
    def repeat(schema: dict[str, Any]) -> dict[str, Any]:
        array = schema["content"][0]
        schema["content"] = [array | {"__id__": number + 1} for number in range(200)]
        return schema

    path = _crafted([np.zeros(500_000)], tmp_path / "m.skops", repeat)
    assert path.stat().st_size < 100_000
    with pytest.raises(ModelFileError, match=r"m\.skops would take .* memory"):
        load_model(path, max_memory="100MB")


def test_a_member_that_unpacks_to_more_than_the_limit(tmp_path: Path) -> None:
    save_model(Precomputed(np.zeros((1200, 1200))), tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match=r"10 MB.*DEPMAX_MAX_MEMORY"):
        load_model(tmp_path / "m.skops", max_memory="10MB")
    load_model(tmp_path / "m.skops", max_memory="none")


def test_the_limit_comes_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_model(Precomputed(np.zeros((1200, 1200))), tmp_path / "m.skops")
    monkeypatch.setenv("DEPMAX_MAX_MEMORY", "10MB")
    with pytest.raises(ModelFileError, match="the limit is 10 MB"):
        load_model(tmp_path / "m.skops")
    monkeypatch.setenv("DEPMAX_MAX_MEMORY", "plenty")
    with pytest.raises(ValueError, match="DEPMAX_MAX_MEMORY: 'plenty'"):
        load_model(tmp_path / "m.skops")


def test_a_sparse_matrix_that_points_outside(tmp_path: Path) -> None:
    matrix = sparse.csr_matrix(np.eye(4))
    matrix.indices[2] = 10**6
    path = _crafted({"rows": matrix}, tmp_path / "m.skops")
    with (
        pytest.warns(UserWarning, match="does not state the version"),
        pytest.raises(ModelFileError, match="sparse matrix contradicts"),
    ):
        load_model(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_n_support", np.array([10**6, 1], dtype=np.int32)),
        ("_dual_coef_", np.zeros((1, 2))),
        ("support_", np.arange(3, dtype=np.int32)),
        ("_intercept_", np.zeros(0)),
        ("kernel", "precomputed"),
    ],
)
def test_a_support_vector_machine_that_points_outside(
    name: str, value: Any, tmp_path: Path, rng: np.random.Generator
) -> None:
    X = rng.normal(size=(20, 3))
    machine = SVC().fit(X, X[:, 0] > 0)
    path = tmp_path / "whole.skops"
    save_model(machine, path)
    np.testing.assert_array_equal(load_model(path).predict(X), machine.predict(X))
    setattr(machine, name, value)
    with (
        pytest.warns(UserWarning, match="does not state the version"),
        pytest.raises(ModelFileError, match="attributes of SVC contradict"),
    ):
        load_model(_crafted(machine, tmp_path / "m.skops"))


def _refused(model: Any, path: Path, message: str) -> None:
    with (
        pytest.warns(UserWarning, match="does not state the version"),
        pytest.raises(ModelFileError, match=message),
    ):
        load_model(_crafted(model, path))


@pytest.mark.parametrize(
    ("options", "name", "value"),
    [
        ({}, "_n_features_outs", [10**6, 2]),
        ({}, "_n_features_outs", [1, 1]),
        ({}, "categories_", [np.arange(3)]),
        ({"drop": "first"}, "_drop_idx_after_grouping", np.array([5, 0], dtype=object)),
        ({"min_frequency": 12}, "_default_to_infrequent_mappings", [np.array([0, 90, 1]), None]),
        ({"min_frequency": 12}, "_infrequent_indices", [np.array([90]), None]),
    ],
)
def test_an_encoder_whose_codes_point_outside(
    options: dict[str, Any], name: str, value: Any, tmp_path: Path
) -> None:
    rows = np.column_stack([np.arange(30) % 3, np.arange(30) % 2])
    encoder = OneHotEncoder(**options).fit(rows)
    save_model(encoder, tmp_path / "whole.skops")
    again = load_model(tmp_path / "whole.skops").transform(rows)
    np.testing.assert_array_equal(again.toarray(), encoder.transform(rows).toarray())
    setattr(encoder, name, value)
    _refused(encoder, tmp_path / "m.skops", "fitted attributes of OneHotEncoder contradict")


def test_a_sparse_support_vector_machine_is_refused(tmp_path: Path) -> None:
    machine = SVC().fit(sparse.csr_matrix(X), y)
    _refused(machine, tmp_path / "m.skops", "fitted attributes of SVC contradict")


def test_an_attribute_takes_the_place_of_none_of_its_class(tmp_path: Path) -> None:
    machine = SVC().fit(X, y)
    machine._impl = "one_class"
    _refused(machine, tmp_path / "m.skops", "SVC has another '_impl' than its class")


def test_a_generator_that_points_outside(tmp_path: Path) -> None:
    generator = np.random.RandomState(0)
    state = generator.get_state(legacy=False)
    state["state"]["pos"] = 10**6
    generator.set_state(state)
    _refused({"random_state": generator}, tmp_path / "m.skops", "a RandomState points outside")


def test_rows_of_neighbours_are_as_wide_as_they_say(tmp_path: Path) -> None:
    embedding = LocallyLinearEmbedding(n_components=2, neighbors_algorithm="brute").fit(X)
    save_model(embedding, tmp_path / "whole.skops")
    load_model(tmp_path / "whole.skops").transform(X)
    embedding.nbrs_._fit_X = embedding.nbrs_._fit_X[:, :1]
    _refused(embedding, tmp_path / "m.skops", "fitted attributes of NearestNeighbors contradict")


@pytest.mark.parametrize("name", ["bytes_", "void", "object_"])
def test_a_number_does_not_become_that_many_bytes(name: str, tmp_path: Path) -> None:
    def ask(schema: dict[str, Any]) -> dict[str, Any]:
        schema["content"][0]["__class__"] = name
        return schema

    path = _crafted([np.array(4_200_000_000)], tmp_path / "m.skops", ask)
    with pytest.raises(ModelFileError, match=f"does not know: numpy.{name}"):
        load_model(path, max_memory="10MB")


@pytest.mark.parametrize("array", [np.zeros(1, "S4"), np.zeros(1), sparse.csr_matrix(np.eye(1))])
def test_an_array_holds_what_its_header_declares(array: Any, tmp_path: Path) -> None:
    path = _crafted([array], tmp_path / "m.skops")
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, _grown(content))
    path.write_bytes(seal(packed.getvalue()))
    with pytest.raises(ModelFileError, match=r"m\.skops is damaged: its part"):
        load_model(path, max_memory="10MB")


def _grown(content: bytes) -> bytes:
    """An array, or an archive of arrays, whose headers declare more than there is."""
    if content.startswith(b"PK"):
        packed = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(content)) as inner,
            zipfile.ZipFile(packed, "w") as archive,
        ):
            for name in inner.namelist():
                archive.writestr(name, _grown(inner.read(name)))
        return packed.getvalue()
    for short, long in ((b"'|S4'", b"'|S2000000000'"), (b"(1,)", b"(900000000,)")):
        if short in content:
            extra = len(long) - len(short)
            return content.replace(short, long, 1).replace(b" " * extra, b"", 1)
    return content


SIGNAL = X @ [1.0, 0.5, 0.0] + rng.normal(size=30)


def _methods(kind: Literal["classes", "numbers"]) -> set[str]:
    problem = Problem(kind, 30, 3, 3)
    return {method.name for method in compared_methods() if method.suits(problem)}


TARGETS: dict[str, Any] = {
    "classes": np.digitize(SIGNAL, [-0.5, 0.5]),
    "numbers": SIGNAL,
    "multioutput": np.column_stack([SIGNAL, X[:, 1]]),
    "multilabel": np.column_stack([SIGNAL > 0, X[:, 1] > 0]).astype(int),
}


def _table() -> pl.DataFrame:
    """Numbers with a gap and a category."""
    columns = {f"x{j}": X[:, j] for j in range(3)} | {"letter": list("abc" * 10)}
    gap = pl.when(pl.int_range(30) == 4).then(None).otherwise("x1").alias("x1")
    return pl.DataFrame(columns).with_columns(gap)


@pytest.mark.parametrize(
    ("target", "methods", "options"),
    [
        ("classes", _methods("classes"), {}),
        ("numbers", _methods("numbers"), {}),
        *((target, {"BAHSIC", "PLS"}, {"judge": "linear"}) for target in ("classes", "numbers")),
        *((target, {"Relief", "PCA"}, {}) for target in ("multioutput", "multilabel")),
        ("classes", {"BAHSIC", "NystroemMap"}, {"scoring": "roc_auc_ovr"}),
    ],
)
@pytest.mark.parametrize("frame", [False, True])
def test_what_compare_recommends_is_loaded(
    target: str, methods: set[str], options: dict[str, Any], frame: bool, tmp_path: Path
) -> None:
    """Every method with every judge whose trees nobody would have to check."""
    rows = _table() if frame else X
    names = methods - {"correlation filter"} if frame else methods
    given = {"cv": 2, "dimensions": [1], "random_state": 0} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # thirty rows are few for some
        found = depmax.compare(rows, TARGETS[target], sorted(names), **given)
        assert not found.failures
        for name in names:
            model = found.estimator(name)
            save_model(model, tmp_path / "m.skops")
            again = load_model(tmp_path / "m.skops").predict(rows)
            np.testing.assert_array_equal(again, model.predict(rows))


def test_only_what_compare_can_build_and_a_few_steps_around_it() -> None:
    """Neither readers of files, nor trees, nor functions; parts of depmax by their exports."""
    refused = (CountVectorizer, RandomForestClassifier, HistGradientBoostingClassifier)
    assert not any(is_known(f"{kind.__module__}.{kind.__name__}") for kind in refused)
    assert is_known("sklearn.svm._classes.SVC")
    assert not is_known("depmax.evaluation.comparison.comparison.Comparison")
    assert not is_known("depmax.data.files.FileScan")
    assert not is_known("depmax.cli.reading.source.Source")


def test_every_kernel_is_on_the_list() -> None:
    """Those that only the machinery uses are held by models too."""
    for module in pkgutil.walk_packages([depmax.__path__[0]], "depmax."):
        if module.name.split(".")[1] in ("kernels", "algebra", "dependence", "maps"):
            importlib.import_module(module.name)
    bases = {"BandwidthKernel", "Composite", "_Pair", "_SequenceKernel"}
    kernels, waiting = set(), [Kernel]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            waiting.append(kind)
            if kind.__module__.startswith("depmax.") and kind.__name__ not in bases:
                kernels.add(f"{kind.__module__}.{kind.__name__}")
    assert all(map(is_known, kernels)), [name for name in kernels if not is_known(name)]


@pytest.mark.slow
def test_saving_imports_neither_torch_nor_dask(tmp_path: Path) -> None:
    code = (
        "import sys; from depmax import save_model, load_model;"
        "from depmax.kernels import Gaussian;"
        f"save_model(Gaussian(), r'{tmp_path / 'm.skops'}'); load_model(r'{tmp_path / 'm.skops'}');"
        "import skops.io._trusted_types as t;"
        "assert len(t.SKLEARN_ESTIMATOR_TYPE_NAMES) > 150;"
        "print([name for name in ('torch', 'dask', 'cupy') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
