"""The data sets inside the package: NAME.csv.gz with NAME.licence.txt beside it."""

from __future__ import annotations

import difflib
from importlib import resources
from typing import TYPE_CHECKING

from depmax.datasets.dataset import Dataset
from depmax.datasets.table import read_table

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_SUFFIX = ".csv.gz"


def available() -> list[str]:
    """Names of the data sets that come with the package, in alphabetical order.

    >>> available()[:3]
    ['abalone', 'dermatology', 'heart_statlog']
    """
    files = (file.name for file in _folder().iterdir())
    return sorted(file.removesuffix(_SUFFIX) for file in files if file.endswith(_SUFFIX))


def load(name: str) -> Dataset:
    """Load a data set that comes with the package.

    Parameters
    ----------
    name : str
        One of ``available()``.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> wine = load("wine")
    >>> wine.X.shape, wine.y.shape
    ((178, 13), (178,))
    >>> wine.licence
    'Creative Commons Attribution 4.0 International (CC BY 4.0)'
    """
    names = available()
    if name not in names:
        near = difflib.get_close_matches(str(name), names) or names
        raise ValueError(
            f"No data set named {name!r} comes with depmax. Did you mean {' or '.join(near)}? "
            "A set in a folder of your own is read by load_external."
        )
    table = read_table(_folder() / f"{name}{_SUFFIX}")
    origin = _read_licence(_folder() / f"{name}.licence.txt")
    return Dataset(
        X=table.X,
        y=table.y,
        feature_names=table.feature_names,
        target_name=table.target_name,
        name=name,
        title=origin["Title"],
        source=origin["Source"],
        citation=origin["Citation"],
        licence=origin["Licence"],
        notes=f"{origin['Notes']} {origin['Changes']}",
    )


def _folder() -> Traversable:
    return resources.files("depmax.datasets") / "data"


def _read_licence(path: Traversable) -> dict[str, str]:
    """Records ``Key: value``; an indented line continues the value above it."""
    records: dict[str, str] = {}
    key = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            records[key] += f" {line.strip()}"
        else:
            key, _, value = line.partition(": ")
            records[key] = value.strip()
    return records
