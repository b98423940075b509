"""Larger data sets, fetched from OpenML by scikit-learn and checked against known facts."""

from __future__ import annotations

import difflib
import warnings
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from depmax.datasets.stored import Dataset


@dataclass(frozen=True)
class Record:
    """Facts about a set on OpenML, where an identifier is one version, which never changes."""

    data_id: int
    openml_name: str
    shape: tuple[int, int]  # rows and features
    title: str
    citation: str
    md5: str | None = None  # of the ARFF file, where it is known for sure

    @property
    def source(self) -> str:
        """Page of the set."""
        return f"https://www.openml.org/d/{self.data_id}"


_UCI = "UCI Machine Learning Repository."
RECORDS: dict[str, Record] = {
    "adult": Record(
        1590, "adult", (48842, 14), "Census income above 50,000 dollars", f"Kohavi (1996). {_UCI}"
    ),
    "bioresponse": Record(
        4134,
        "Bioresponse",
        (3751, 1776),
        "Biological response to molecules, by descriptors",
        "Boehringer Ingelheim (2012). Predicting a Biological Response. Kaggle.",
    ),
    "covertype": Record(
        1596, "covertype", (581012, 54), "Forest cover types", f"Blackard and Dean (1999). {_UCI}"
    ),
    "isolet": Record(
        300, "isolet", (7797, 617), "Spoken letters", f"Fanty and Cole (1991). {_UCI}"
    ),
    "madelon": Record(
        1485, "madelon", (2600, 500), "Madelon, an artificial problem", f"Guyon (2003). {_UCI}"
    ),
    "mice_protein": Record(
        40966,
        "MiceProtein",
        (1080, 77),
        "Proteins in the brains of mice",
        "Higuera, Gardiner and Cios (2015). PLoS ONE 10(6): e0129126.",
        "3c479a6885bfa0438971388283a1ce32",
    ),
    "mnist": Record(
        554,
        "mnist_784",
        (70000, 784),
        "Handwritten digits",
        "LeCun, Bottou, Bengio and Haffner (1998). Proceedings of the IEEE 86, 2278-2324.",
        "0298d579eb1b86163de7723944c7e495",
    ),
    "satimage": Record(182, "satimage", (6430, 36), "Soil in satellite images", _UCI),
    "spambase": Record(44, "spambase", (4601, 57), "Spam, by words", f"Hopkins (1999). {_UCI}"),
}


class FetchError(OSError):
    """A data set cannot be fetched, or is not the expected one."""


def fetchable() -> list[str]:
    """Names that :func:`fetch` knows, in alphabetical order.

    Returns
    -------
    list of str

    Examples
    --------
    >>> fetchable()[:3]
    ['adult', 'bioresponse', 'covertype']
    """
    return sorted(RECORDS)


def fetch(name: str, *, data_home: str | None = None) -> Dataset:
    """Fetch a larger data set from OpenML, or take it from scikit-learn's cache.

    scikit-learn verifies the download against the checksum that OpenML states. In addition, the
    identifier, the name, the number of rows and features and, where recorded, the checksum itself
    must match what this version of depmax expects. Needs pandas.

    Parameters
    ----------
    name : str
        One of ``fetchable()``.
    data_home : str, optional
        Folder of the cache; by default scikit-learn's, ``~/scikit_learn_data``.

    Returns
    -------
    Dataset

    Raises
    ------
    FetchError
        If there is no network, or the data are not the expected ones.
    """
    if name not in RECORDS:
        near = difflib.get_close_matches(str(name), fetchable()) or fetchable()
        raise ValueError(
            f"No data set named {name!r} can be fetched. Did you mean {' or '.join(near)}?"
        )
    record = RECORDS[name]
    bunch = _download(name, record, data_home)
    _check(name, record, bunch)
    features = nw.from_native(bunch.data, eager_only=True)
    return Dataset(
        X=_features(features),
        y=_column(nw.from_native(bunch.target, series_only=True)),
        feature_names=tuple(features.columns),
        target_name=str(bunch.target_names[0]),
        name=name,
        title=record.title,
        source=record.source,
        citation=record.citation,
        licence=str(bunch.details.get("licence", "not recorded")),
        notes=f"OpenML {record.data_id}, MD5 {bunch.details.get('md5_checksum', 'not stated')}.",
    )


def _download(name: str, record: Record, data_home: str | None) -> Any:
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "retrying": what counts is whether it actual
            return fetch_openml(data_id=record.data_id, data_home=data_home, as_frame=True)
    except (OSError, ValueError, KeyError) as error:  # no network, another checksum or answer
        reason = " ".join(str(error).split()).rstrip(".")
        raise FetchError(
            f"{name} cannot be fetched from OpenML ({reason}). It needs a network connection once "
            f"and is then kept in scikit-learn's cache. Without one, download it from "
            f"{record.source} on another machine and read the file."
        ) from error


def _check(name: str, record: Record, bunch: Any) -> None:
    found = bunch.details
    facts = {
        "name": (str(found.get("name")), record.openml_name),
        "rows and features": (tuple(bunch.data.shape), record.shape),
    }
    if record.md5 is not None:
        facts["checksum"] = (str(found.get("md5_checksum")), record.md5)
    for what, (actual, expected) in facts.items():
        if actual != expected:
            raise FetchError(
                f"{name} is not the expected version of OpenML {record.data_id}: its {what} should "
                f"be {expected}, got {actual}. Empty scikit-learn's cache and try again."
            )


def _features(frame: nw.DataFrame[Any]) -> np.ndarray:
    """Floats where every column is one of numbers, else objects (see ``Dataset.X``)."""
    columns = [_column(frame.get_column(name)) for name in frame.columns]
    if all(column.dtype.kind in "iuf" for column in columns):
        return np.column_stack(columns).astype(np.float64, copy=False)
    return np.column_stack([column.astype(object) for column in columns])


def _column(series: nw.Series[Any]) -> np.ndarray:
    """Numbers with NaN for what is missing, or text with None."""
    if series.dtype.is_numeric():
        return np.asarray(series.to_numpy())
    values = np.empty(len(series), dtype=object)
    pairs = zip(series.to_list(), series.is_null().to_list(), strict=True)
    values[:] = [None if missing else str(value) for value, missing in pairs]
    return values if None in values else values.astype(str)
