"""The bundled sets are what their licence files say, and a folder of yours reads the same way."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
from collections import Counter
from importlib import resources

import numpy as np
import pytest

from depmax.datasets import Dataset, available, data_folder, load, load_external

# name: (rows, features, rows of each class; None where the target is a number)
BUNDLED = {
    "abalone": (4177, 8, None),
    "adult_sample": (5000, 14, {"<=50K": 3838, ">50K": 1162}),
    "dermatology": (358, 34, {1: 111, 2: 60, 3: 71, 4: 48, 5: 48, 6: 20}),
    "madelon": (1000, 500, {-1: 499, 1: 501}),
    "eeg_fists_feet": (45, 6720, {"both_feet": 24, "both_fists": 21}),
    "heart_statlog": (270, 13, {"absent": 150, "present": 120}),
    "ionosphere": (351, 34, {"good": 225, "bad": 126}),
    "promoters": (106, 1, {"+": 53, "-": 53}),
    "sentences": (3000, 1, {"negative": 1500, "positive": 1500}),
    "sonar": (208, 60, {"M": 111, "R": 97}),
    "tecator": (215, 100, None),
    "wdbc": (569, 30, {"B": 357, "M": 212}),
    "wine": (178, 13, {0: 59, 1: 71, 2: 48}),
}

# where a set comes from, its licence, and where the terms stand
UCI = (
    "https://archive.ics.uci.edu/dataset/",
    "CC BY 4.0",
    "https://creativecommons.org/licenses/by/4.0/",
)
LICENCES = {
    "eeg_fists_feet": (
        "https://physionet.org/content/eegmmidb/",
        "ODC-BY 1.0",
        "https://opendatacommons.org/licenses/by/1-0/",
    ),
    "tecator": (
        "https://lib.stat.cmu.edu/datasets/tecator",
        "permission note",
        "The data can be redistributed as long as this permission note is",
    ),
}


def write(folder, name, text):
    with gzip.open(folder / f"{name}.csv.gz", "wt", encoding="utf-8") as stream:
        stream.write(text)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DEPMAX_DATA", str(tmp_path))
    return tmp_path


# --- bundled -----------------------------------------------------------------------------------
def test_every_bundled_set_is_checked_here():
    assert available() == sorted(BUNDLED)


@pytest.mark.parametrize("name", BUNDLED)
def test_shape_and_balance(name):
    rows, features, balance = BUNDLED[name]
    data = load(name)
    assert data.name == name
    assert len(data.X) == len(data.y) == rows
    assert len(data.feature_names) == len(set(data.feature_names)) == features
    assert data.target_name == "target"
    if balance is not None:
        assert Counter(data.y.tolist()) == balance


@pytest.mark.parametrize(
    "name", sorted(set(BUNDLED) - {"abalone", "adult_sample", "promoters", "sentences"})
)
def test_numeric_features_are_finite_floats(name):
    X = load(name).X
    assert X.shape == BUNDLED[name][:2]
    assert X.dtype == np.float64
    assert np.isfinite(X).all()


def test_text_as_the_only_feature_is_an_array_of_strings():
    X = load("promoters").X
    assert X.shape == (106,)
    assert {len(sequence) for sequence in X} == {57}
    assert set("".join(X)) == set("acgt")


def test_mixed_features_keep_their_types():
    data = load("abalone")
    assert data.X.shape == (4177, 8)
    assert data.X.dtype == object
    assert set(data.X[:, 0]) == {"M", "F", "I"}
    assert {type(cell) for cell in data.X[:, 1]} == {float}
    assert data.y.dtype.kind == "i"
    assert (data.y.min(), data.y.max()) == (1, 29)
    assert data.y.mean() == pytest.approx(9.934, abs=5e-4)


def test_labels_stay_as_in_the_file():
    assert load("sonar").y.dtype.kind == "U"
    assert load("wine").y.dtype.kind == "i"


@pytest.mark.parametrize("name", BUNDLED)
def test_a_licence_file_lies_beside_each_set(name):
    file = resources.files("depmax.datasets") / "data" / f"{name}.licence.txt"
    text = file.read_text(encoding="utf-8")
    data = load(name)
    source, licence, terms = LICENCES.get(name, UCI)
    assert data.source.startswith(source)
    assert licence in data.licence
    assert terms in text
    assert data.citation
    assert data.notes
    assert "  " not in data.notes + data.citation


def test_bundled_files_stay_small():
    """A megabyte and a half of data, so that the wheel stays below five."""
    files = (resources.files("depmax.datasets") / "data").iterdir()
    assert sum(len(file.read_bytes()) for file in files) < 1_500_000


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(ValueError, match=r"'sonnar'.*Did you mean sonar\?.*load_external"):
        load("sonnar")


def test_unknown_name_far_from_all_lists_all():
    with pytest.raises(ValueError, match=r"abalone or adult_sample or .* or wine"):
        load("zzzzzz")


# --- the object --------------------------------------------------------------------------------
def test_a_dataset_cannot_be_changed():
    data = load("wine")
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.name = "beer"
    with pytest.raises(ValueError, match="read-only"):
        data.X[0, 0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        data.y[0] = 5


def test_loading_twice_gives_equal_and_separate_arrays():
    first, second = load("wine"), load("wine")
    np.testing.assert_array_equal(first.X, second.X)
    assert not np.shares_memory(first.X, second.X)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sonar", "Dataset(sonar: 208 rows, 60 features, 2 classes)"),
        ("promoters", "Dataset(promoters: 106 rows, 1 feature, 2 classes)"),
        ("abalone", "Dataset(abalone: 4177 rows, 8 features, numbers as target)"),
    ],
)
def test_repr_is_short(name, text):
    assert repr(load(name)) == text


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("name", ["abalone", "promoters", "wine"])
def test_to_frame(name, library):
    pytest.importorskip(library, reason="needs a data frame library")
    data = load(name)
    frame = data.to_frame(library)
    assert type(frame).__module__.startswith(library)
    assert list(frame.columns) == [*data.feature_names, "target"]
    assert frame.shape == (len(data.y), len(data.feature_names) + 1)
    assert frame["target"].to_numpy().tolist() == data.y.tolist()


def test_to_frame_gives_each_column_its_type():
    pl = pytest.importorskip("polars", reason="needs a data frame library")
    frame = load("abalone").to_frame("polars")
    assert frame.schema["Sex"] == pl.String
    assert frame.schema["Length"] == pl.Float64
    assert frame.schema["target"] == pl.Int64


def test_to_frame_refuses_other_libraries():
    with pytest.raises(ValueError, match="'pandas' or 'polars', not 'excel'"):
        load("wine").to_frame("excel")


def test_to_frame_names_the_missing_library(monkeypatch):
    def absent(*args, **kwargs):
        raise ModuleNotFoundError("No module named 'polars'")

    monkeypatch.setattr("narwhals.stable.v2.from_dict", absent)
    with pytest.raises(ModuleNotFoundError, match="pip install polars"):
        load("wine").to_frame("polars")


# --- a folder of the user's --------------------------------------------------------------------
def test_external_numbers(folder):
    write(folder, "small", "a,b,target\n1,2.5,yes\n3,4,no\n")
    data = load_external("small")
    assert isinstance(data, Dataset)
    np.testing.assert_array_equal(data.X, [[1.0, 2.5], [3.0, 4.0]])
    assert data.y.tolist() == ["yes", "no"]
    assert data.feature_names == ("a", "b")
    assert data.target_name == "target"
    assert data.licence == "not recorded"
    assert data.source == str(folder / "small.csv.gz")


@pytest.mark.parametrize("missing", ["", "nan", "NaN"])
def test_external_missing_numbers_are_nan(folder, missing):
    write(folder, "holes", f"a,b,target\n1,2,0.5\n{missing},4,1\n")
    data = load_external("holes")
    np.testing.assert_array_equal(data.X, [[1.0, 2.0], [np.nan, 4.0]])
    np.testing.assert_array_equal(data.y, [0.5, 1.0])


def test_external_missing_text_is_none(folder):
    write(folder, "words", 'a,b,target\nred,1,0\n"blue, dark",,1\n,2,1\n')
    data = load_external("words")
    assert data.X[:, 0].tolist() == ["red", "blue, dark", None]
    np.testing.assert_array_equal(data.X[:, 1].astype(float), [1.0, np.nan, 2.0])


def test_external_missing_target_is_nan(folder):
    write(folder, "partly", "a,target\n1,0\n2,\n")
    np.testing.assert_array_equal(load_external("partly").y, [0.0, np.nan])


def test_external_quoted_numbers_are_numbers(folder):
    write(folder, "quoted", '"a","b","target"\n"1","2","0"\n"3","4","1"\n')
    data = load_external("quoted")
    assert data.X.dtype == np.float64
    assert data.y.tolist() == [0, 1]


def test_external_one_feature_is_still_two_dimensional(folder):
    write(folder, "thin", "a,target\n1,0\n2,1\n")
    assert load_external("thin").X.shape == (2, 1)


def test_external_label_columns_are_one_target(folder):
    pytest.importorskip("polars", reason="needs a data frame library")
    write(folder, "many", "a,label_red,label_blue\n1,0,1\n2,1,1\n")
    data = load_external("many")
    assert data.X.shape == (2, 1)
    np.testing.assert_array_equal(data.y, [[0, 1], [1, 1]])
    assert data.target_name == ("label_red", "label_blue")
    assert repr(data) == "Dataset(many: 2 rows, 1 feature, 2 targets)"
    assert data.to_frame("polars").columns == ["a", "label_red", "label_blue"]


def test_external_checksum_is_that_of_the_unpacked_file(folder):
    text = "a,target\n1,0\n2,1\n"
    write(folder, "small", text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert load_external("small", sha256=digest).X.shape == (2, 1)
    with pytest.raises(ValueError, match=rf"is not the expected file.*{digest}, not 00"):
        load_external("small", sha256="00")


def test_without_the_variable_the_error_names_it_and_the_file(monkeypatch):
    monkeypatch.delenv("DEPMAX_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"usps\.csv\.gz does not come .*DEPMAX_DATA is"):
        load_external("usps")
    with pytest.raises(FileNotFoundError, match="DEPMAX_DATA is not set"):
        data_folder()


def test_a_variable_that_names_no_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("DEPMAX_DATA", str(tmp_path / "absent"))
    with pytest.raises(FileNotFoundError, match=r"DEPMAX_DATA does not name a folder: .*absent"):
        data_folder()


def test_an_absent_file_is_named_with_the_nearest(folder):
    write(folder, "usps", "a,target\n1,0\n")
    with pytest.raises(FileNotFoundError, match=r"usp\.csv\.gz .*DEPMAX_DATA.*Did you mean usps\?"):
        load_external("usp")
    with pytest.raises(FileNotFoundError, match=r"mnist\.csv\.gz .*DEPMAX_DATA names\.$"):
        load_external("mnist")


@pytest.mark.parametrize("name", ["../secret", "sub/small", ""])
def test_a_name_is_no_path(folder, name):
    with pytest.raises(ValueError, match="plain file name"):
        load_external(name)


def test_a_broken_row_is_named(folder):
    write(folder, "torn", "a,b,target\n1,2,0\n1,0\n")
    with pytest.raises(ValueError, match=r"torn\.csv\.gz, line 3: 2 cells, .* names 3"):
        load_external("torn")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names a feature and then a target"),
        ("target\n1\n", "names a feature and then a target"),
        ("a,target\n", "no rows"),
    ],
)
def test_an_empty_file_is_refused(folder, text, message):
    write(folder, "empty", text)
    with pytest.raises(ValueError, match=message):
        load_external("empty")
