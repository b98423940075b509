"""Data sets outside the package, in the folder that DEPMAX_DATA names."""

from __future__ import annotations

import difflib
import gzip
import hashlib
import os
from pathlib import Path

from depmax.datasets.dataset import Dataset
from depmax.datasets.table import read_table

_VARIABLE = "DEPMAX_DATA"
_SUFFIX = ".csv.gz"


def data_folder() -> Path:
    """Folder that the environment variable DEPMAX_DATA names.

    Raises
    ------
    FileNotFoundError
        If the variable is not set, or does not name a folder.
    """
    value = os.environ.get(_VARIABLE, "")
    if not value:
        raise FileNotFoundError(
            f"The environment variable {_VARIABLE} is not set. Set it to a folder with "
            f"files NAME{_SUFFIX}: a header row, the features first, the target last."
        )
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(
            f"The environment variable {_VARIABLE} does not name a folder: {folder}"
        )
    return folder


def load_external(name: str, *, sha256: str | None = None) -> Dataset:
    """Load NAME.csv.gz from the folder that the environment variable DEPMAX_DATA names.

    The file has a header row and the features first. The last column is the target; if the last
    columns are all named ``label_...``, they are together a two-dimensional target.

    Parameters
    ----------
    name : str
        File name without ``.csv.gz``.
    sha256 : str, optional
        Checksum that the unpacked file must have; by default any file will do.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If the variable is not set, or the folder has no such file.
    ValueError
        If the file has another checksum.
    """
    if not name or name != Path(name).name:
        raise ValueError(f"name must be a plain file name without a folder, not {name!r}.")
    try:
        folder = data_folder()
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{name}{_SUFFIX} does not come with depmax. {error}") from None
    path = folder / f"{name}{_SUFFIX}"
    if not path.is_file():
        names = sorted(file.name.removesuffix(_SUFFIX) for file in folder.glob(f"*{_SUFFIX}"))
        near = difflib.get_close_matches(name, names)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise FileNotFoundError(
            f"{path.name} is not in {folder}, the folder that the environment variable "
            f"{_VARIABLE} names.{hint}"
        )
    if sha256 is not None:
        _require_checksum(path, sha256)
    table = read_table(path)
    return Dataset(
        X=table.X,
        y=table.y,
        feature_names=table.feature_names,
        target_name=table.target_name,
        name=name,
        title=name,
        source=str(path),
        citation="",
        licence="not recorded",
        notes="",
    )


def _require_checksum(path: Path, expected: str) -> None:
    digest = hashlib.sha256()
    with gzip.open(path, "rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    if digest.hexdigest() != expected:
        raise ValueError(
            f"{path} is not the expected file: the SHA-256 of its unpacked content is "
            f"{digest.hexdigest()}, not {expected}."
        )
