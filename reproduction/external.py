"""Data sets that do not come with depmax, from the folder that DEPMAX_DATA names."""

from __future__ import annotations

import difflib
import gzip
import hashlib
import os
from pathlib import Path

from depmax.datasets import Dataset
from depmax.datasets.stored import SUFFIX, read_table

#: The environment variable that names the folder.
VARIABLE = "DEPMAX_DATA"


def data_folder() -> Path:
    """Folder that the environment variable DEPMAX_DATA names.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    FileNotFoundError
        If the variable is not set, or does not name a folder.
    """
    value = os.environ.get(VARIABLE, "")
    if not value:
        raise FileNotFoundError(
            f"The environment variable {VARIABLE} is not set. Set it to a folder with "
            f"files NAME{SUFFIX}: a header row, the features first, the target last."
        )
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(
            f"The environment variable {VARIABLE} does not name a folder: {folder}"
        )
    return folder


def load_external(name: str, *, sha256: str | None = None) -> Dataset:
    """Load NAME.csv.gz from the folder that the environment variable DEPMAX_DATA names.

    The file has a header row, and the features come first. The last column is the target; if
    several columns at the end are named ``label_...``, together they are a two-dimensional target.

    Parameters
    ----------
    name : str
        File name without ``.csv.gz``.
    sha256 : str, optional
        Checksum that the unpacked file must have; by default it is not checked.

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
        raise FileNotFoundError(f"{name}{SUFFIX} does not come with depmax. {error}") from None
    path = folder / f"{name}{SUFFIX}"
    if not path.is_file():
        names = sorted(file.name.removesuffix(SUFFIX) for file in folder.glob(f"*{SUFFIX}"))
        near = difflib.get_close_matches(name, names)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise FileNotFoundError(
            f"{path.name} is not in {folder}, the folder that the environment variable "
            f"{VARIABLE} names.{hint}"
        )
    if sha256 is not None:
        _require_checksum(path, sha256)
    table = read_table(path)
    return Dataset(
        **vars(table),
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
