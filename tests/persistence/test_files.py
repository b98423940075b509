"""Files are written whole or not at all.

Private modules: the functions that write for all packages have no public name, and faults are put
into them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sklearn.preprocessing import StandardScaler

import depmax
from depmax._files import replacing, require_writable


def test_replaces_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, ValueError])
def test_an_error_leaves_the_old_file_whole(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def interrupted() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    with replacing(tmp_path / "ours") as temporary:
        temporary.write_text("x")
    assert (tmp_path / "ours").stat().st_mode == plain.stat().st_mode
    (tmp_path / "ours").chmod(0o600)
    with replacing(tmp_path / "ours") as temporary:
        temporary.write_text("y")
    assert (tmp_path / "ours").stat().st_mode & 0o777 == 0o600


def test_says_why_it_cannot_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        require_writable(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        require_writable(tmp_path / "nowhere" / "a")
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        require_writable(tmp_path / "file" / "a")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")  # root may write anywhere, so it is played

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    with pytest.raises(PermissionError, match="cannot be written"):
        require_writable(tmp_path / "a")


def test_a_model_file_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is checked is what is used, whoever replaces the file in between."""
    from depmax.persistence.model_files import read_model

    depmax.save_model(StandardScaler().fit([[1.0], [2.0]]), tmp_path / "m.skops", notes={"n": 1})
    content, opened = (tmp_path / "m.skops").read_bytes(), []

    def read_bytes(path: Path) -> bytes:
        opened.append(path)
        path.write_text("another file")
        return content

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    model, file = read_model(tmp_path / "m.skops")
    assert model.mean_ == [1.5]
    assert file.notes == {"n": 1}
    assert opened == [tmp_path / "m.skops"]
