"""A folder of data sets reads as the sets that come with depmax do."""

from __future__ import annotations

import gzip
import hashlib

import numpy as np
import pytest

from depmax.datasets import Dataset
from reproduction.external import data_folder, load_external


def write(folder, name, text):
    with gzip.open(folder / f"{name}.csv.gz", "wt", encoding="utf-8") as stream:
        stream.write(text)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DEPMAX_DATA", str(tmp_path))
    return tmp_path


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
    with pytest.raises(FileNotFoundError, match=r"usps\.csv\.gz .*DEPMAX_DATA"):
        load_external("usps")
    with pytest.raises(FileNotFoundError, match="DEPMAX_DATA is not set"):
        data_folder()


def test_a_variable_that_names_no_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("DEPMAX_DATA", str(tmp_path / "absent"))
    with pytest.raises(FileNotFoundError, match=r"DEPMAX_DATA .*absent"):
        data_folder()


def test_an_absent_file_is_named_with_the_nearest(folder):
    write(folder, "usps", "a,target\n1,0\n")
    with pytest.raises(FileNotFoundError, match=r"usp\.csv\.gz .*mean usps"):
        load_external("usp")
    with pytest.raises(FileNotFoundError, match=r"mnist\.csv\.gz .* names\.$"):
        load_external("mnist")


@pytest.mark.parametrize("name", ["../secret", "sub/small", ""])
def test_a_name_is_no_path(folder, name):
    with pytest.raises(ValueError, match="plain file name"):
        load_external(name)


def test_a_broken_row_is_named(folder):
    write(folder, "torn", "a,b,target\n1,2,0\n1,0\n")
    with pytest.raises(ValueError, match=r"torn\.csv\.gz, line 3: 2 cells"):
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
