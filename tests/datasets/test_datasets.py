"""The bundled sets are what their licence files say."""

from __future__ import annotations

import dataclasses
import gzip
from collections import Counter
from importlib import resources

import numpy as np
import pytest

from depmax.datasets import available, load

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
    with pytest.raises(ValueError, match=r"'sonnar'.*Did you mean sonar\?"):
        load("sonnar")


# --- the object --------------------------------------------------------------------------------
def test_a_dataset_cannot_be_changed():
    data = load("wine")
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.name = "beer"
    with pytest.raises(ValueError, match="read-only"):
        data.X[0, 0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        data.y[0] = 5


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


def test_to_frame_names_the_missing_library(monkeypatch):
    def absent(*args, **kwargs):
        raise ModuleNotFoundError("No module named 'polars'")

    monkeypatch.setattr("narwhals.stable.v2.from_dict", absent)
    with pytest.raises(ModuleNotFoundError, match="pip install polars"):
        load("wine").to_frame("polars")
