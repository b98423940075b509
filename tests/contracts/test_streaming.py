"""Every part reads tables a chunk at a time with the answer of rows in memory, or refuses."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone

import depmax
from depmax import dependence, extraction, maps, scan, selection
from depmax.extraction import DependenceExtractor, NaturalGradient
from depmax.maps import NystroemMap, RandomFourier
from depmax.maps.feature_map import FeatureMap
from depmax.selection import DependenceSelector
from tests.contracts.discovery import classes

# ICA-FX stops after a few steps.
pytestmark = pytest.mark.filterwarnings("ignore:ICAFX did not converge")
da = pytest.importorskip("dask.array", reason="needs depmax[distributed]")
dd = pytest.importorskip("dask.dataframe", reason="needs depmax[distributed]")

ROWS = 1300
NAMES = list("abcdef")


def _table() -> pd.DataFrame:
    """Columns far from zero, one of which is a category, and targets of every type."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 5)) @ rng.normal(size=(5, 5)) + [5.0, -3.0, 0.0, 40.0, 1.0]
    frame = pd.DataFrame(X, columns=NAMES[:5])
    frame["f"] = np.where(rng.random(ROWS) < 0.3, "red", np.where(X[:, 0] > 5, "blue", "teal"))
    noise = rng.normal(size=ROWS)
    frame["numbers"] = X[:, 0] + 0.2 * X[:, 1] ** 2 + noise
    frame["two"] = X[:, 0] + noise > 5.0
    frame["many"] = np.digitize(X[:, 0] + noise, [3.0, 5.0, 7.0])
    frame["text"] = np.array(["low", "middle", "high"])[np.digitize(X[:, 1], [-4.0, -2.0])]
    frame["labels_1"] = (X[:, 0] + noise > 5.0).astype(float)
    frame["labels_2"] = (X[:, 2] > 0.0).astype(float)
    frame["outputs_1"] = X[:, 3] + noise
    frame["outputs_2"] = X[:, 1] ** 2
    return frame


TABLE = _table()
TARGETS: dict[str, Any] = {
    "numbers": "numbers",
    "two": "two",
    "many": "many",
    "text": "text",
    "labels": ["labels_1", "labels_2"],
    "outputs": ["outputs_1", "outputs_2"],
}
OF_CLASSES = ("KernelLDA", "KernelPLSClassifier")
#: Options with which all rows take part, as in memory.
WHOLE: dict[str, dict[str, Any]] = {
    "SMA": {"kernel": "linear", "n_candidates": None},
    "SMC": {"kernel": "linear", "n_candidates": None},
    # a line search ends where rounding errors let it, steps of one length go the same way
    "ICAFX": {"solver": NaturalGradient(max_iter=8)},
}
STREAMING = {
    name: cls for name, cls in classes(extraction, DependenceExtractor).items() if cls._streams
}


def _made(name: str) -> Any:
    """A streaming extractor with two components."""
    return STREAMING[name](2, **WHOLE.get(name, {}))


def _options() -> dict[str, Any]:
    """Streaming extractors with the options that change what is summed."""
    found = {name: _made(name) for name in STREAMING}
    found["SMA gaussian"] = depmax.SMA(2, n_candidates=None)
    found["SMC gaussian"] = depmax.SMC(2, n_candidates=None)
    found["SMA of zero"] = depmax.SMA(3, center=False, n_candidates=None)
    found["SMA share"] = depmax.SMA(0.3, n_candidates=None)
    found["SMC mapped"] = depmax.SMC(3, kernel=NystroemMap(15, random_state=0), n_candidates=None)
    found["HBFE biased"] = depmax.HBFE(3, unbiased=False)
    found["HBFE share"] = depmax.HBFE(0.9)
    found["HSCA unbiased"] = depmax.HSCA(2, unbiased=True)
    found["PHD residuals"] = depmax.PHD(2, residuals=True)
    found["SIR regularised"] = depmax.SIR(2, n_slices=7, alpha=0.1)
    found["KernelPLS share"] = depmax.KernelPLS(0.3)
    for name in ("HBFE", "HSCA", "KernelPLS", "KernelLDA", "SIR"):
        kernel = NystroemMap(15, random_state=0)
        found[f"{name} mapped"] = STREAMING[name](2, kernel=kernel)
    found["HSCA random features"] = depmax.HSCA(2, kernel=RandomFourier(20, random_state=0))
    found["HBFE delta"] = depmax.HBFE(1, target_kernel="delta")
    return found


OPTIONS = _options()


def _numeric(names: list[str] | None = None) -> pd.DataFrame:
    return TABLE[names or NAMES[:5]]


def _targets_of(name: str) -> list[str]:
    if name.split()[0] in OF_CLASSES:
        return ["two", "many", "text"]
    if name.split()[0] in ("SMA", "SMC"):
        return ["many", "numbers"]
    return ["two", "many", "text"] if name == "HBFE delta" else list(TARGETS)


#: Every extractor with every target, and its options with two of them each.
CASES = [(name, target) for name in STREAMING for target in _targets_of(name)]
for _place, _name in enumerate(name for name in OPTIONS if name not in STREAMING):
    _all = _targets_of(_name)
    CASES += [(_name, _all[(_place + step) % len(_all)]) for step in (0, 1)]


def _sizes(n_rows: int) -> list[int]:
    """Uneven chunks, one of a single row."""
    return [1, n_rows // 2, 17, n_rows - n_rows // 2 - 18]


def _iterated(X: pd.DataFrame, y: Any) -> Callable[[], Any]:
    ends = np.cumsum(_sizes(len(X)))
    return lambda: (
        (X.iloc[end - size : end], y.iloc[end - size : end])
        for end, size in zip(ends, _sizes(len(X)), strict=True)
    )


def _files(folder: Path, frame: pd.DataFrame) -> Path:
    ends = np.cumsum(_sizes(len(frame)))
    for number, (end, size) in enumerate(zip(ends, _sizes(len(frame)), strict=True)):
        path = folder / f"part-{number}.parquet"
        frame.iloc[end - size : end].to_parquet(path, row_group_size=100)
    return folder


def streamed(source: str, X: pd.DataFrame, y: Any, folder: Path) -> tuple[Any, Any]:
    """The same rows from one kind of source: X and y as they are passed."""
    target = y.name if isinstance(y, pd.Series) else list(y.columns)
    both = pd.concat([X, y], axis=1)
    if source == "chunks":
        return scan(X, y, rows_per_chunk=101), None
    if source == "iterator":
        return scan(_iterated(X, y)), None
    if source == "files":
        return scan(_files(folder, both), target=target), None
    frame = dd.from_pandas(both, npartitions=4)
    if source == "dask frame":
        return frame[list(X.columns)], frame[target]
    if source == "dask table":
        return scan(frame, target=target), None
    lengths = tuple(_sizes(len(X)))
    rows = da.from_array(X.to_numpy(), chunks=(lengths, (2, X.shape[1] - 2)))
    answers = y.to_numpy()
    return rows, da.from_array(answers, chunks=(200, *answers.shape[1:]))


def _fit_streamed(model: Any, source: str, X: pd.DataFrame, y: Any, folder: Path) -> Any:
    """The model fitted to the same rows from one kind of source."""
    return model.fit(*streamed(source, X, y, folder))


SOURCES = ["chunks", "iterator", "files", "dask array", "dask frame", "dask table"]


def _require_equal(found: Any, expected: Any, X: Any, tolerance: float = 1e-8) -> None:
    scale = np.abs(expected.transform(X)).max()
    assert_allclose(found.transform(X), expected.transform(X), rtol=0, atol=tolerance * scale)
    largest = np.abs(expected.dependence_).max()
    assert_allclose(found.dependence_, expected.dependence_, rtol=0, atol=tolerance * largest)
    assert found.n_components_ == expected.n_components_
    for name in ("loadings_", "mean_", "coef_", "intercept_", "target_loadings_"):
        if hasattr(expected, name):
            value = getattr(expected, name)
            atol = tolerance * np.abs(value).max()
            assert_allclose(getattr(found, name), value, rtol=0, atol=atol)


# a few steps of a slow search are compared, not its end
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "target"), CASES)
def test_chunks_give_the_answer_of_rows_in_memory(name: str, target: str) -> None:
    X, y = _numeric(), TABLE[TARGETS[target]]
    expected = clone(OPTIONS[name]).fit(X, y)
    found = clone(OPTIONS[name]).fit(scan(X, y, rows_per_chunk=101))
    _require_equal(found, expected, X)
    assert list(found.feature_names_in_) == list(X.columns)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", sorted(STREAMING))
def test_every_source_gives_the_answer_of_rows_in_memory(
    name: str, source: str, tmp_path: Path
) -> None:
    target = "many" if name in OF_CLASSES else "numbers"
    X, y = _numeric(), TABLE[TARGETS[target]]
    expected = _made(name).fit(X, y)
    rows = X.to_numpy() if source == "dask array" else X
    _require_equal(
        _fit_streamed(_made(name), source, X, y, tmp_path),
        expected if rows is X else _made(name).fit(rows, y),
        rows,
    )


#: Every extractor reads them in chunks, and every source is read; the test above has all pairs.
OF_FRAMES = ["iterator", "files", "dask frame", "dask table"]
CATEGORIES = [(name, "chunks") for name in sorted(STREAMING)]
CATEGORIES += list(zip(["HBFE", "HSCA", "SIR", "KernelLDA"], OF_FRAMES, strict=True))


@pytest.mark.parametrize(("name", "source"), CATEGORIES)
def test_categories_are_those_of_all_chunks(name: str, source: str, tmp_path: Path) -> None:
    X, y = TABLE[NAMES], TABLE["text"]
    expected = _made(name).fit(X, y)
    found = _fit_streamed(_made(name), source, X, y, tmp_path)
    assert found.categories_ == expected.categories_
    if hasattr(expected, "coordinate_names_"):
        assert list(found.coordinate_names_) == list(expected.coordinate_names_)
    _require_equal(found, expected, X)


@pytest.mark.parametrize("order", [[2, 0, 3, 1], [3, 2, 1, 0]])
@pytest.mark.parametrize("name", sorted(STREAMING))
def test_the_order_of_chunks_does_not_matter(name: str, order: list[int]) -> None:
    """Numbers whose kernel takes its bandwidth from a sample have the sample of the new order."""
    X, y = _numeric(), TABLE["many"]
    parts = np.split(np.arange(ROWS), np.cumsum(_sizes(ROWS))[:-1])
    rows = np.concatenate([parts[number] for number in order])
    expected = _made(name).fit(X, y)
    found = _made(name).fit(scan(X.iloc[rows], y.iloc[rows], rows_per_chunk=77))
    _require_equal(found, expected, X)


@pytest.mark.parametrize("name", sorted(STREAMING))
def test_sparse_rows_stay_sparse(name: str) -> None:
    rng = np.random.default_rng(1)
    X = sparse.random_array((500, 12), density=0.3, rng=rng, format="csr")
    y = np.digitize(np.asarray(X[:, :4].sum(axis=1)).ravel(), [0.4, 0.9])
    expected = _made(name).fit(X, y)
    _require_equal(_made(name).fit(scan(X, y, rows_per_chunk=60)), expected, X)


@pytest.mark.parametrize("name", ["HBFE", "HSCA", "KernelLDA"])
def test_rows_without_a_label_are_left_out_with_a_warning(name: str) -> None:
    X, y = _numeric(), TABLE["text"].copy()
    y[::7] = None
    models = _made(name), _made(name)
    with pytest.warns(UserWarning, match="ignored 186 of 1300 rows"):
        expected = models[0].fit(X, y)
    with pytest.warns(UserWarning, match="ignored 186 of"):
        found = models[1].fit(scan(X, y, rows_per_chunk=101))
    assert found.n_unlabeled_ == 186
    _require_equal(found, expected, X)


def test_chunks_of_unknown_length() -> None:
    X, y = TABLE[NAMES[:5]].to_numpy(), TABLE["numbers"].to_numpy()
    kept = X[:, 0] > 4.0
    rows = da.from_array(X, chunks=(200, 5))
    answers = da.from_array(y, chunks=200)
    found = depmax.HSCA(2).fit(rows[rows[:, 0] > 4.0], answers[rows[:, 0] > 4.0])
    _require_equal(found, depmax.HSCA(2).fit(X[kept], y[kept]), X)


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("target", list(TARGETS))
@pytest.mark.parametrize(
    "kernel", ["linear", NystroemMap(15, random_state=0), RandomFourier(21, random_state=0)]
)
def test_hsic(kernel: Any, target: str, unbiased: bool) -> None:
    X, y = _numeric(), TABLE[TARGETS[target]]
    expected = depmax.hsic(X, y, kernel=kernel, unbiased=unbiased)
    found = depmax.hsic(scan(X, y, rows_per_chunk=101), kernel=kernel, unbiased=unbiased)
    assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize(
    "map_", [NystroemMap(15, random_state=0), RandomFourier(20, random_state=0)]
)
def test_maps_draw_the_rows_that_arrays_give(map_: FeatureMap) -> None:
    X = _numeric().to_numpy()
    expected, found = clone(map_).fit(X), clone(map_).fit(scan(X, rows_per_chunk=77))
    assert_allclose(found.transform(X), expected.transform(X), atol=1e-13)
    lazy = found.transform(da.from_array(X, chunks=(200, 5)))
    assert_allclose(lazy.compute(), expected.transform(X), atol=1e-13)


def test_transform_is_as_lazy_as_its_rows(tmp_path: Path) -> None:
    X, y = _numeric(), TABLE["numbers"]
    model = depmax.HBFE(2).fit(X, y)
    frame = dd.from_pandas(X, npartitions=3)
    assert isinstance(model.transform(frame), da.Array)
    assert_allclose(model.transform(frame).compute(), model.transform(X))
    streamed = model.transform(scan(_files(tmp_path, X)))
    assert len(list(streamed.chunks())) > 3
    assert_allclose(streamed.compute(), model.transform(X))
    assert_allclose(depmax.HBFE(2).fit_transform(scan(X, y)).compute(), model.transform(X))


@pytest.mark.parametrize("name", ["KernelPLS", "KernelPLSClassifier"])
def test_predictions_are_streamed(name: str) -> None:
    X, y = _numeric(), TABLE["text"]
    model = STREAMING[name](2).fit(X, y)
    rows = scan(X, rows_per_chunk=101)
    assert list(model.predict(rows).compute()) == list(model.predict(X))
    if name == "KernelPLSClassifier":
        found = model.decision_function(rows).compute()
        assert_allclose(found, model.decision_function(X))
    rebuilt = model.inverse_transform(model.transform(rows)).compute()
    assert_allclose(rebuilt, model.inverse_transform(model.transform(X)))


@pytest.mark.parametrize("name", ["KernelPLS", "KernelPLSClassifier"])
@pytest.mark.parametrize("target", ["two", "many", "text"])
def test_predictions_on_dask_are_lazy(name: str, target: str) -> None:
    X, y = _numeric(), TABLE[TARGETS[target]]
    model = STREAMING[name](2).fit(X, y)
    expected = model.predict(X)
    lazy = [dd.from_pandas(X, npartitions=3), da.from_array(X.to_numpy(), chunks=(100, 2))]
    for rows in lazy:
        known = model if hasattr(rows, "columns") else STREAMING[name](2).fit(X.to_numpy(), y)
        found = known.predict(rows)
        assert isinstance(found, da.Array)
        assert found.dtype == expected.dtype
        if expected.dtype.kind == "f":
            assert_allclose(found.compute(), expected)
        else:
            assert list(found.compute()) == list(expected)
        rebuilt = known.inverse_transform(known.transform(rows))
        assert_allclose(rebuilt.compute(), model.inverse_transform(model.transform(X)))
        if name == "KernelPLSClassifier":
            nearness = known.decision_function(rows)
            assert nearness.shape[1:] == model.decision_function(X).shape[1:]
            assert_allclose(nearness.compute(), model.decision_function(X))


@pytest.mark.parametrize(
    "name", ["alignment", "coco", "hsic", "hsic_interval", "hsic_variance", "samples_needed"]
)
def test_measures_with_coordinates_have_the_value_of_rows_in_memory(name: str) -> None:
    """What their refusals of other kernels recommend."""
    X, y = _numeric().to_numpy()[:200], TABLE["many"].to_numpy()[:200]
    rows = da.from_array(X, chunks=(50, 5)), da.from_array(y, chunks=50)
    found, expected = (MEASURES[name](*pair, kernel="linear") for pair in (rows, (X, y)))
    assert_allclose(
        getattr(found, "estimate", found), getattr(expected, "estimate", expected), rtol=1e-8
    )


# --- what does not stream -------------------------------------------------------------------------
def _parts() -> dict[str, type]:
    found = classes(extraction, DependenceExtractor) | classes(selection, DependenceSelector)
    return found | classes(maps, FeatureMap)


@pytest.mark.parametrize("kind", ["dask", "scan"])
@pytest.mark.parametrize("name", sorted(_parts()))
def test_streams_or_refuses_by_name(name: str, kind: str) -> None:
    cls = _parts()[name]
    X, y = _numeric().to_numpy()[:200], TABLE["many"].to_numpy()[:200]
    given = (da.from_array(X, chunks=(50, 5)), da.from_array(y, chunks=50))
    if kind == "scan":
        given = (scan(X, y, rows_per_chunk=50), None)
    if getattr(cls, "_streams", False):
        cls(2, **WHOLE.get(name, {})).fit(*given)
        return
    with pytest.raises(TypeError, match=name):
        cls(2).fit(*given)


MEASURES = {
    name: part
    for name in dependence.__all__
    if inspect.isfunction(part := getattr(dependence, name))
}


@pytest.mark.parametrize("kind", ["dask", "scan"])
@pytest.mark.parametrize("name", sorted(MEASURES))
def test_measures_stream_or_refuse(name: str, kind: str) -> None:
    X, y = _numeric().to_numpy()[:200], TABLE["numbers"].to_numpy()[:200]
    rows = da.from_array(X, chunks=(50, 5)) if kind == "dask" else scan(X, rows_per_chunk=50)
    parameters = [*inspect.signature(MEASURES[name]).parameters]
    arguments: list[Any] = (
        [rows, y] if parameters[1:2] and parameters[1] in ("y", "Y", "Z") else [rows]
    )
    arguments = ["gaussian", rows] if name == "resolve" else arguments
    if name in ("screen", "hsic_test") and kind == "dask":
        MEASURES[name](*arguments)
        return
    with pytest.raises(TypeError, match=r"memory|pairs|target|Dask|scan"):
        MEASURES[name](*arguments)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (depmax.HSCA(2, kernel="gaussian"), r"HSCA .*all pairs of rows.*NystroemMap"),
        (depmax.HBFE(2, beta=0.1), r"HBFE .*neighbours.*beta=0"),
        (depmax.HSCA(2, feature_kernel="gaussian"), r"HSCA .*feature_kernel='linear'"),
        (depmax.KernelPLS("auto"), r"KernelPLS .*Give a number"),
        (depmax.SIR(2, kernel="precomputed"), r"SIR|precomputed"),
        (depmax.HBFE(2, kernel=maps.IncompleteCholesky(5)), r"IncompleteCholesky .*NystroemMap"),
    ],
)
def test_what_cannot_stream_says_what_to_use_instead(model: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        model.fit(scan(_numeric(), TABLE["two"]))


def test_a_scan_brings_its_own_target() -> None:
    with pytest.raises(TypeError, match="brings its own target"):
        depmax.HBFE(2).fit(scan(_numeric(), TABLE["two"]), TABLE["two"])
    with pytest.raises(ValueError, match="requires y to be passed"):
        depmax.HBFE(2).fit(scan(_numeric()))
    with pytest.raises(TypeError, match="y is a Dask collection"):
        depmax.HBFE(2).fit(_numeric(), da.from_array(TABLE["two"].to_numpy()))


@pytest.mark.parametrize("far", [0.0, 1e6])
def test_an_offset_costs_no_digits(far: float) -> None:
    """Sums about the mean of every piece's first rows, merged: ten digits at a mean of 10⁶."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(20_000, 3)) * 2**20) / 2**20  # exact after the offset
    y = X[:, 0] > 0.3
    expected = depmax.KernelLDA(1).fit(X, y)
    found = depmax.KernelLDA(1).fit(scan(X + far, y, rows_per_chunk=500))
    assert_allclose(found.components_, expected.components_, rtol=1e-10, atol=1e-10)
    assert_allclose(found.mean_, X.mean(axis=0) + far, rtol=1e-15 if far else 1e-12)


def test_missing_and_infinite_numbers_are_named(tmp_path: Path) -> None:
    X = _numeric().copy()
    X.iloc[700, 2] = np.nan
    both = pd.concat([X, TABLE["two"]], axis=1)
    with pytest.raises(ValueError, match="NaN in column 'c'"):
        depmax.HBFE(2).fit(scan(_files(tmp_path, both), target="two"))


@pytest.mark.parametrize("n_labelled", [30, 400, 1000])
@pytest.mark.parametrize("n_levels", [2, 20, 25, 400, 499, 501, 999, 1000])
def test_text_is_a_category_where_it_is_one_in_memory(n_levels: int, n_labelled: int) -> None:
    """Levels of all rows were compared with the number of labelled ones."""
    n_rows = 1000
    local = np.random.default_rng(0)
    labels = [None if row >= n_labelled else "ab"[row % 2] for row in range(n_rows)]
    text = [f"level {row % n_levels}" for row in range(n_rows)]
    frame = pl.DataFrame({"text": text, "number": local.normal(size=n_rows), "y": labels})
    ask = depmax.HSCA(1, unbiased=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of rows without a label
        answers = []
        for data in ((frame.drop("y"), frame["y"]), (depmax.scan(frame, target="y"),)):
            try:
                answers.append(clone(ask).fit(*data).dependence_)
            except (TypeError, ValueError) as error:
                answers.append(str(error))
    memory, streamed = answers
    if "coordinates and only" in str(streamed):  # more indicators than labelled rows
        assert not isinstance(memory, str)
    elif isinstance(memory, str):
        assert streamed == memory
        assert "depmax.Expand()" in memory
        assert "Spectrum" in memory
    else:
        np.testing.assert_allclose(streamed, memory, rtol=1e-9)


def _drawn(block: np.ndarray) -> np.ndarray:
    """Other rows every time the graph is computed."""
    return np.random.default_rng().normal(size=block.shape)


def _drawn_labels(block: np.ndarray) -> np.ndarray:
    return np.array(["low", "high"])[(np.random.default_rng().random(len(block)) < 0.5) * 1]


SEARCHES = ("BAHSIC", "FOHSIC", "DependenceFilter", "KernelRidgeElimination")


@pytest.mark.parametrize("name", [*STREAMING, *SEARCHES])
def test_a_graph_with_other_rows_every_time_is_named(name: str) -> None:
    zeros = da.zeros((ROWS, 5), chunks=(400, 5))
    X = zeros.map_blocks(_drawn, dtype=float, meta=np.empty((0, 0)))
    y = zeros[:, 0].map_blocks(_drawn_labels, dtype="<U4", meta=np.empty(0, "<U4"))
    estimator = _made(name) if name in STREAMING else getattr(selection, name)(2)
    with pytest.raises(RuntimeError, match=r"persist\(\)"):
        estimator.fit(X, y)


def test_rows_that_were_persisted_are_the_same_every_time() -> None:
    zeros = da.zeros((ROWS, 5), chunks=(400, 5))
    X = zeros.map_blocks(_drawn, dtype=float, meta=np.empty((0, 0))).persist()
    depmax.PHD(1).fit(X, X[:, 0])
    with pytest.raises(RuntimeError, match=r"other rows.*persist\(\)"):
        depmax.PHD(1).fit(zeros.map_blocks(_drawn, dtype=float, meta=np.empty((0, 0))), X[:, 0])


def test_rounding_does_not_make_other_rows() -> None:
    """Sums in another order, as graphs make them in several threads."""
    table = _numeric().to_numpy()

    def noisy(block: np.ndarray) -> np.ndarray:
        return block * (1 + 1e-12 * np.random.default_rng().normal(size=block.shape))

    X = da.from_array(table, chunks=(400, 5)).map_blocks(noisy, dtype=float, meta=np.empty((0, 0)))
    found = depmax.PHD(1).fit(X, TABLE["numbers"].to_numpy())
    expected = depmax.PHD(1).fit(table, TABLE["numbers"].to_numpy())
    assert_allclose(abs(found.components_), abs(expected.components_), rtol=1e-4)


def test_chunks_that_are_others_every_time_are_named() -> None:
    def chunks() -> Any:
        for _ in range(4):
            yield np.random.default_rng().normal(size=(100, 3)), np.arange(100.0)

    with pytest.raises(RuntimeError, match="same rows in the same order"):
        depmax.PHD(1).fit(scan(chunks))
