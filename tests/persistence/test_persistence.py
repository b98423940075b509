"""Models are saved without pickle and loaded without running code from the file."""

from __future__ import annotations

import importlib
import inspect as python_inspect
import json
import os
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import skops.io
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import Birch
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import depmax
from depmax import BAHSIC, Residual, Unconfounded, kernels, load_model, save_model
from depmax.kernels import Columns, Delta, Gaussian, Kernel, Linear, Precomputed, Subsequence
from depmax.maps import IncompleteCholesky, KernelMap, NystroemMap
from depmax.persistence import ModelFileError, inspect
from depmax.persistence.archives import seal
from tests.contracts.discovery import classes

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 5))
y = (X[:, 1] + 0.1 * rng.normal(size=40) > 0).astype(int)

#: What an estimator reads that does not read vectors.
ROWS: dict[str, Any] = {
    "SubtreeCounts": [({0: [1], 1: [0]}, {0: "a", 1: "ab"[label]}) for label in y],
}

NEEDS_MORE = {
    "Residual": partial(Residual, [0]),
    "Unconfounded": partial(Unconfounded, BAHSIC(2), given=[0]),
}


def _estimators() -> dict[str, Callable[[], Any]]:
    """Every public estimator of packages that need no extra, made with what it must be given."""
    found: dict[str, Any] = {}
    for package in ("selection", "maps", "extraction"):
        module = importlib.import_module(f"depmax.{package}")
        for name in module.__all__:
            value = getattr(module, name)
            if python_inspect.isclass(value) and issubclass(value, BaseEstimator):
                found[name] = NEEDS_MORE.get(name, value)
    return {  # not the bases, nor parts of an estimator that are parameters
        name: make for name, make in found.items() if hasattr(make(), "fit") and make().get_params()
    }


ESTIMATORS = _estimators()


def _round_trip(model: Any, folder: Path) -> Any:
    save_model(model, folder / "model.skops")
    assert not inspect(folder / "model.skops").unknown_types
    return load_model(folder / "model.skops")


def _same_parameters(first: Any, second: Any) -> bool:
    return repr(first.get_params()) == repr(second.get_params())


# two classes leave some methods of deflation with one feature, which they say
@pytest.mark.filterwarnings("ignore:.*none of the rest depends")
# knockoffs may keep no column
@pytest.mark.filterwarnings("ignore:Knockoffs kept no column", "ignore:No features were selected")
@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_every_estimator_comes_back(name: str, tmp_path: Path) -> None:
    model, rows = ESTIMATORS[name](), ROWS.get(name, X)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    model.fit(rows, y)
    again = _round_trip(model, tmp_path)
    assert _same_parameters(model, again)
    refitted = clone(again).fit(rows, y)
    for output in ("transform", "predict"):
        if hasattr(model, output):
            expected = getattr(model, output)(rows)
            np.testing.assert_array_equal(getattr(again, output)(rows), expected)
            np.testing.assert_allclose(getattr(refitted, output)(rows), expected)
    if hasattr(model, "transform"):
        np.testing.assert_array_equal(again.get_feature_names_out(), model.get_feature_names_out())


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.5),
        Gaussian("median"),
        2.0 * Linear() + Gaussian(1.0) * Gaussian(2.0),
        Columns([("a", Gaussian(1.0), [0, 1]), ("b", Linear(), [2, 3, 4])], combine="add"),
    ],
)
def test_kernels_as_parameters_come_back(kernel: Kernel, tmp_path: Path) -> None:
    model = NystroemMap(5, kernel=kernel, random_state=0).fit(X)
    again = _round_trip(model, tmp_path)
    assert repr(again.kernel) == repr(kernel)
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


FOUND = {n: c for n, c in classes(kernels, Kernel).items() if n in kernels.__all__}


@pytest.mark.parametrize("name", sorted(kernels.kernel.short_names()))
def test_every_named_kernel_comes_back(name: str, tmp_path: Path) -> None:
    kernel = kernels.as_kernel(name)
    assert repr(_round_trip(kernel, tmp_path)) == repr(kernel)


def test_compiled_kernels_of_strings_come_back_after_use(tmp_path: Path) -> None:
    words = np.array(["acgtac", "aaccgg", "gttaca", "ccggtt", "acacac"], dtype=object)
    model = IncompleteCholesky(3, kernel=Subsequence(2, 0.5)).fit(words)
    again = _round_trip(model, tmp_path)
    np.testing.assert_allclose(again.transform(words), model.transform(words))


def test_precomputed_matrices_come_back(tmp_path: Path) -> None:
    kernel = Precomputed(X @ X.T)
    again = _round_trip(kernel, tmp_path)
    np.testing.assert_array_equal(again(np.arange(4)), kernel(np.arange(4)))


def test_pipelines_and_frames_come_back(tmp_path: Path) -> None:
    frame = pl.DataFrame({f"c{j}": X[:, j] for j in range(5)}).with_columns(
        pl.Series("colour", list("abcd") * 10, dtype=pl.Categorical)
    )
    selector = depmax.BAHSIC(3).set_output(transform="polars").fit(frame, y)
    again = _round_trip(selector, tmp_path)
    assert again.transform(frame).equals(selector.transform(frame))
    mapped = KernelMap(3, kernel=Gaussian(1.0)).fit(frame)
    np.testing.assert_array_equal(
        _round_trip(mapped, tmp_path).transform(frame), mapped.transform(frame)
    )
    pipe = make_pipeline(StandardScaler(), depmax.HSICLasso(2)).fit(X, y)
    np.testing.assert_array_equal(_round_trip(pipe, tmp_path).transform(X), pipe.transform(X))
    labels = Delta({"a": 2.0, "b": 1.0})
    assert repr(_round_trip(labels, tmp_path)) == repr(labels)


class Foreign(BaseEstimator):
    """An estimator of the user's own."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        os.environ["DEPMAX_FOREIGN"] = "ran"
        super().__setstate__(state)


def twice(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A kernel function of the user's own."""
    return 2.0 * A @ B.T


def test_unknown_types_are_refused_by_name_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "foreign.skops"
    monkeypatch.setenv("DEPMAX_FOREIGN", "")
    save_model(Foreign(), path)
    name = f"{Foreign.__module__}.Foreign"
    assert inspect(path).unknown_types == (name,)
    with pytest.raises(ModelFileError, match=f"does not know: {name}"):
        load_model(path)
    assert not os.environ["DEPMAX_FOREIGN"]
    assert isinstance(load_model(path, trusted=[name]), Foreign)
    assert isinstance(load_model(path, trusted=[Foreign]), Foreign)


def test_functions_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "function.skops"
    model = NystroemMap(3, kernel=twice, random_state=0).fit(X)
    save_model(model, path)
    with pytest.raises(ModelFileError, match=r"test_persistence\.twice"):
        load_model(path)
    again = load_model(path, trusted=[f"{__name__}.twice"])
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_what_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    save_model(Gaussian(), path)
    before = path.read_bytes()
    with pytest.raises(TypeError, match="could not be found again"):
        save_model(NystroemMap(3, kernel=lambda A, B: A @ B.T).fit(X), path)
    with pytest.raises(TypeError, match="Birch cannot be saved"):
        save_model(Birch(), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.skops"]


def _rewrite(path: Path, member: str, change: Any) -> None:
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    contents[member] = change(contents[member].decode()).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    path.write_bytes(seal(path.read_bytes()))  # whoever crafts a file can do so too


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("depmax._files", "replacing"),  # ours, but a function
        ("depmax.persistence", "load_model"),
        ("depmax.kernels.kernel", "as_kernel"),
        ("depmax.selection.selector", "BaseEstimator"),  # a class, but not defined there
        ("depmax.datasets.stored", "Path"),
        ("depmax.selection.bahsic.BAHSIC", "fit"),
    ],
)
@pytest.mark.parametrize(
    "loader", ["ObjectNode", "ConstructorFromReduceNode", "FunctionNode", "TypeNode"]
)
def test_a_crafted_file_is_refused(module: str, name: str, loader: str, tmp_path: Path) -> None:
    path = tmp_path / "crafted.skops"
    save_model(Gaussian(), path)

    def craft(text: str) -> str:
        schema = json.loads(text)
        schema |= {"__module__": module, "__class__": name, "__loader__": loader}
        if loader == "FunctionNode":
            schema["content"] = {"module_path": module, "function": name}
        return json.dumps(schema)

    _rewrite(path, "schema.json", craft)
    with pytest.raises(ModelFileError):
        load_model(path)


def test_versions_are_kept_and_another_one_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    save_model(Gaussian(2.0), path, notes={"columns": ["a", "b"]})
    file = inspect(path)
    assert file.versions["depmax"] == depmax.__version__
    assert file.notes == {"columns": ["a", "b"]}
    _rewrite(path, "depmax.json", lambda text: text.replace(depmax.__version__, "7.3.1", 1))
    with pytest.raises(ModelFileError, match=r"depmax 7\.3\.1"):
        load_model(path)
    with pytest.warns(UserWarning, match=r"depmax 7\.3\.1"):
        assert load_model(path, any_version=True).bandwidth == 2.0


def test_another_scikit_learn_is_mentioned(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    save_model(Gaussian(2.0), path)

    def older(text: str) -> str:
        description = json.loads(text)
        description["versions"]["scikit-learn"] = "1.2.0"
        return json.dumps(description)

    _rewrite(path, "depmax.json", older)
    with pytest.warns(UserWarning, match=r"scikit-learn 1\.2\.0"):
        load_model(path)


def test_damaged_files_end_in_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    save_model(NystroemMap(5, random_state=0).fit(X), path)
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(ModelFileError, match="is not a valid model file"):
            load_model(path)
    path.write_bytes(whole)
    _rewrite(path, "schema.json", lambda text: text[: len(text) // 2])
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.txt", "x")
    with pytest.raises(ModelFileError, match="checksum"):
        load_model(path)
    path.write_bytes(seal(path.read_bytes()))
    with pytest.raises(ModelFileError, match=r"schema\.json is missing"):
        load_model(path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        load_model(tmp_path / "nowhere.skops")


def test_flipped_bits_are_noticed_wherever_they_are(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    save_model(NystroemMap(5, random_state=0).fit(X), path)
    whole = path.read_bytes()
    for place in range(0, len(whole), len(whole) // 97):
        content = bytearray(whole)
        content[place] ^= 1
        path.write_bytes(content)
        with pytest.raises(
            ModelFileError, match=r"model\.skops is (damaged|not a valid model file)"
        ):
            inspect(path)


def test_the_checksum_does_not_hide_the_model_from_skops(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    save_model(Gaussian(2.0), path)
    again = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    assert again.bandwidth == 2.0
