"""Files of fitted networks: whole or not at all, checked, and never more than they hold."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: run make test-neural")

from depmax._files import seal
from depmax.neural import Autoencoder

X = np.random.default_rng(0).normal(size=(20, 4))


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("neural") / "model.npz"
    Autoencoder(2, hidden_layers=(4,), n_init=1, random_state=0).fit(X).save(path)
    return path.read_bytes()


def _crafted(content: bytes, **changes: Any) -> bytes:
    """The file with another description, or other arrays, and a right checksum."""
    with np.load(io.BytesIO(content)) as arrays:
        members = dict(arrays)
    about = json.loads(str(members["about"]))
    about["parameters"] |= changes.pop("parameters", {})
    about |= changes.pop("about", {})
    members["about"] = np.array(json.dumps(about))
    packed = io.BytesIO()
    np.savez_compressed(packed, **(members | changes))
    return seal(packed.getvalue())


def test_a_failed_write_leaves_the_old_file(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    model = Autoencoder.load(path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        model.save(path)
    monkeypatch.undo()
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["model.npz"]


def test_changes_anywhere_are_noticed(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    for place in range(0, len(content), len(content) // 50):
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=r"model\.npz is (damaged|not a valid model file)"):
            Autoencoder.load(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parameters": {"hidden_layers": [40_000, 40_000]}}, "weights do not fit its description"),
        ({"parameters": {"hidden_layers": [1] * 10_000}}, "fewer weights than it describes"),
        ({"parameters": {"n_components": 10**9}}, "fewer weights than it describes"),
        ({"parameters": {"colour": "red"}}, "do not fit its description"),
        ({"about": {"version": 1}}, "has format 1, but this version of depmax reads format 2"),
        ({"about": {"class": "NeuroHBFE"}}, r"holds a NeuroHBFE: use NeuroHBFE\.load"),
        ({"mean": np.array([object()])}, "it holds Python objects"),
        ({"basis": np.zeros(3)}, "do not fit its description"),
    ],
)
def test_a_crafted_file_is_refused_by_name(
    content: bytes, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = tmp_path / "model.npz"
    path.write_bytes(_crafted(content, **changes))
    with pytest.raises(ValueError, match=message) as error:
        Autoencoder.load(path)
    assert str(path) in str(error.value)
    assert "allow_pickle" not in str(error.value)


def test_files_of_something_else(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    np.savez(path, X=X)
    with pytest.raises(ValueError, match="does not end in depmax's checksum"):
        Autoencoder.load(path)
    path.write_bytes(seal(path.read_bytes()))
    with pytest.raises(ValueError, match="not written by the save method"):
        Autoencoder.load(path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        Autoencoder.load(tmp_path / "nowhere.npz")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("about.npy", bytes(10**8))
    path.write_bytes(seal(path.read_bytes()))
    with pytest.raises(ValueError, match="not a file of a neural extractor"):
        Autoencoder.load(path)


def test_the_limit(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.npz"
    path.write_bytes(_crafted(content, extra=np.zeros(10**6)))
    monkeypatch.setenv("DEPMAX_MAX_MEMORY", "1MB")
    with pytest.raises(ValueError, match=r"model\.npz would take .* the limit is 1 MB"):
        Autoencoder.load(path)
