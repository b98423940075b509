"""Names of pandas columns may be numbers or tuples: every method reads them, by position."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import depmax
from depmax import extraction, maps, selection
from depmax.evaluation import Prepare, compare
from depmax.extraction import DependenceExtractor
from depmax.maps.feature_map import FeatureMap
from depmax.selection import BAHSIC, DependenceSelector
from tests.contracts.discovery import classes

N = 40
rng = np.random.default_rng(5)
NUMBERS = pd.DataFrame(rng.normal(size=(N, 4)), columns=list("abcd"))
MIXED = NUMBERS.assign(e=pd.Categorical(rng.integers(0, 3, N)), f=rng.choice(["u", "v"], N))
LABELS = np.digitize(NUMBERS["a"] + 0.5 * rng.normal(size=N), [-0.5, 0.5])
NAMES: dict[str, Any] = {
    "numbers": lambda count: range(count),
    "other numbers": lambda count: range(7, 7 + count),  # positions are no names
    "levels": lambda count: pd.MultiIndex.from_product([["top"], list("abcdef")[:count]]),
}
PARTS: dict[str, Any] = {
    **classes(selection, DependenceSelector),
    **classes(extraction, DependenceExtractor),
    **classes(maps, FeatureMap),
    "Prepare": Prepare,
    "Prepare, in its units": partial(Prepare, scale=False),
    "Prepare, encoded": partial(Prepare, encode=True),
}
#: Methods that need arguments, or rows that are no table.
MADE: dict[str, Any] = {"Unconfounded": lambda: depmax.Unconfounded(BAHSIC(2), given=[0])}


def renamed(frame: pd.DataFrame, names: str) -> pd.DataFrame:
    return frame.set_axis(NAMES[names](frame.shape[1]), axis=1)


def made(name: str) -> Any:
    model = MADE.get(name, PARTS[name])()
    settings = {"random_state": 0, "n_features_to_select": 2} & model.get_params().keys()
    return model.set_params(**{key: 0 if key == "random_state" else 2 for key in settings})


def values(result: Any) -> np.ndarray:
    frame = pd.DataFrame(result)
    codes = [
        column if column.dtype.kind == "f" else pd.Series(column).astype("category").cat.codes
        for _, column in frame.items()
    ]
    return np.column_stack([np.asarray(code, dtype=float) for code in codes])


@pytest.mark.parametrize(  # all names and both frames of every part
    ("name", "kind", "names"),
    [
        (name, ("numbers", "mixed")[(place + number) % 2], names)
        for number, name in enumerate(PARTS)
        for place, names in enumerate(NAMES)
    ],
)
def test_names_change_nothing(name: str, kind: str, names: str) -> None:
    frame = {"numbers": NUMBERS, "mixed": MIXED}[kind]

    def rows(table: pd.DataFrame) -> Any:
        return made(name).fit(table, LABELS).transform(table)

    try:
        expected = rows(frame)
    except TypeError:  # a categorical column, named
        with pytest.raises(TypeError, match="categorical"):
            rows(renamed(frame, names))
        return
    assert_allclose(values(rows(renamed(frame, names))), values(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("name", classes(selection, DependenceSelector))
def test_frames_of_selected_columns(name: str, names: str) -> None:
    frame = renamed(NUMBERS, names)
    for library in ("pandas", "polars"):
        model = made(name).set_output(transform=library).fit(frame, LABELS)
        selected = model.transform(frame)
        assert list(selected.columns) == list(model.get_feature_names_out())
        assert_allclose(selected.to_numpy(), frame.to_numpy()[:, model.support_])


@pytest.mark.parametrize("names", NAMES)
def test_indicators_join_names_of_text(names: str) -> None:
    made_of = Prepare(encode=True).fit_transform(renamed(MIXED, names))
    assert all(isinstance(column, str) for column in made_of.columns)
    assert made_of.shape == (N, 4 + 3 + 2)
    assert BAHSIC(2).fit(made_of, LABELS).support_.sum() == 2


def compared(names: str | None) -> Any:
    frame = MIXED.copy()
    frame.iloc[:3, 0] = np.nan
    frame.iloc[4:6, 4] = np.nan
    frame = frame if names is None else renamed(frame, names)
    return compare(frame, LABELS, methods=["BAHSIC"], cv=2, dimensions=2, random_state=0)


@pytest.fixture(scope="module")
def expected() -> Any:
    return compared(None)


@pytest.mark.slow
@pytest.mark.parametrize("names", ["other numbers", "levels"])
def test_comparisons_and_their_reports(names: str, expected: Any, tmp_path: Path) -> None:
    found = compared(names)
    assert_allclose(found.candidates.evidence.scores, expected.candidates.evidence.scores)
    found.to_html(tmp_path / "report.html")


@pytest.mark.parametrize("names", NAMES)
def test_two_samples_and_scans(names: str) -> None:
    frame = renamed(MIXED, names)
    turned = frame.iloc[20:, ::-1]
    assert_allclose(depmax.mmd(frame[:20], turned), depmax.mmd(MIXED[:20], MIXED[20:]))
    for rows in (frame, [(frame[:20], LABELS[:20]), (frame[20:], LABELS[20:])]):
        target = None if isinstance(rows, list) else LABELS
        streamed = depmax.HSCA(2).fit(depmax.scan(rows, target))
        expected = depmax.HSCA(2).fit(MIXED, LABELS).transform(MIXED)
        features = streamed.transform(depmax.scan(frame)).compute()
        assert_allclose(np.abs(features), np.abs(expected), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("names", NAMES)
def test_batches_name_what_they_refuse(names: str) -> None:
    with pytest.raises(TypeError, match="categorical"):
        depmax.HSCA(1).partial_fit(renamed(MIXED, names), LABELS)
