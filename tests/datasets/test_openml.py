"""Fetched sets: scikit-learn's own fetcher against a server that is played here, no network."""

from __future__ import annotations

import hashlib
import io
import json
from urllib.error import URLError
from urllib.request import Request

import numpy as np
import pytest

from depmax.datasets import FetchError, fetch, fetchable
from depmax.datasets.openml import RECORDS, Record

ARFF = """@relation toys
@attribute size numeric
@attribute colour {red, 'light blue'}
@attribute weight numeric
@attribute class {good, bad}
@data
1.5, red, 2, good
?, 'light blue', 3, bad
2.5, ?, 4, good
"""
MD5 = hashlib.md5(ARFF.encode()).hexdigest()


class _Response(io.BytesIO):
    def info(self):
        return {}


def _server(asked, text=ARFF, stated=None):
    """Answers of OpenML to the four questions that scikit-learn asks."""
    kinds = [line.split(maxsplit=2)[1:] for line in text.splitlines() if "@attribute" in line]
    description = {
        "id": "9",
        "name": "toys",
        "version": "1",
        "format": "ARFF",
        "licence": "CC0",
        "url": "https://www.openml.org/data/v1/download/77/toys.arff",
        "file_id": "77",
        "default_target_attribute": "class",
        "status": "active",
        "description": "Toys.",
        "md5_checksum": stated or hashlib.md5(text.encode()).hexdigest(),
    }
    features = [
        {
            "index": str(place),
            "name": name,
            "data_type": "numeric" if kind == "numeric" else "nominal",
            "is_target": str(name == "class").lower(),
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for place, (name, kind) in enumerate(kinds)
    ]
    pages = {
        "data/features/9": {"data_features": {"feature": features}},
        "data/qualities/9": {
            "data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "3"}]}
        },
        "json/data/9": {"data_set_description": description},
    }

    def urlopen(request: Request, *_, **__):
        asked.append(request.full_url)
        if request.full_url.endswith(".arff"):
            return _Response(text.encode())
        end = next(end for end in pages if request.full_url.endswith(end))
        return _Response(json.dumps(pages[end]).encode())

    return urlopen


@pytest.fixture
def asked(monkeypatch):
    """Addresses that were asked for, with the played server behind them."""
    pytest.importorskip("pandas", reason="scikit-learn's fetcher makes pandas frames")
    addresses = []
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", _server(addresses))
    monkeypatch.setitem(RECORDS, "toys", Record(9, "toys", (3, 3), "Toys", "Nobody (2024)", MD5))
    return addresses


def test_a_set_is_fetched_once(asked, tmp_path):
    for _ in range(2):
        toys = fetch("toys", data_home=str(tmp_path))
        assert repr(toys) == "Dataset(toys: 3 rows, 3 features, 2 classes)"
        assert len(asked) == 4  # the second time it comes from the cache
    assert toys.feature_names == ("size", "colour", "weight")
    assert toys.X[0].tolist() == [1.5, "red", 2.0]
    assert np.isnan(toys.X[1, 0])
    assert toys.X[2, 1] is None
    assert toys.y.tolist() == ["good", "bad", "good"]
    assert toys.target_name == "class"
    assert toys.licence == "CC0"
    assert MD5 in toys.notes
    assert toys.to_frame("polars").shape == (3, 4)


def test_numbers_are_an_array_of_floats(asked, tmp_path, monkeypatch):
    text = ARFF.replace("{red, 'light blue'}", "numeric").replace("'light blue'", "0")
    text = text.replace("red", "1")
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", _server(asked, text))
    monkeypatch.setitem(RECORDS, "toys", Record(9, "toys", (3, 3), "Toys", "Nobody (2024)"))
    toys = fetch("toys", data_home=str(tmp_path))
    assert toys.X.dtype == np.float64
    assert toys.X[:, 2].tolist() == [2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (Record(9, "toys", (3, 3), "", "", "0" * 32), "its checksum should be 0000"),
        (Record(9, "toys", (4, 3), "", ""), r"its rows and features should be \(4, 3\)"),
        (Record(9, "games", (3, 3), "", ""), "its name should be games, got toys"),
    ],
)
def test_what_is_not_as_recorded_is_refused(asked, tmp_path, monkeypatch, record, message):
    monkeypatch.setitem(RECORDS, "toys", record)
    with pytest.raises(FetchError, match=message):
        fetch("toys", data_home=str(tmp_path))


def test_a_damaged_download_is_refused(asked, tmp_path, monkeypatch):
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", _server(asked, stated="1" * 32))
    with pytest.raises(FetchError, match=r"toys cannot be fetched from OpenML .*md5"):
        fetch("toys", data_home=str(tmp_path))


def test_without_a_network(monkeypatch, tmp_path):
    def unreachable(*_, **__):
        raise URLError("Name or service not known")

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", unreachable)
    monkeypatch.setattr("sklearn.datasets._openml.time.sleep", lambda seconds: None)
    with pytest.raises(
        FetchError, match=r"Name or service not known.*needs a network connection once"
    ):
        fetch("adult", data_home=str(tmp_path))


def test_names():
    assert "mnist" in fetchable()
    with pytest.raises(ValueError, match="Did you mean mnist"):
        fetch("minst")
