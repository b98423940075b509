"""Wherever groups of rows are taken, a column of the frame can be named in place of labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from depmax import BAHSIC, DependenceFilter, KernelRidgeElimination
from depmax.dependence import hsic_test, screen, screen_pairs

RNG = np.random.default_rng(0)
PATIENT = np.repeat([f"p{j}" for j in range(30)], 3)
VALUES = RNG.normal(size=(90, 4)) + np.repeat(RNG.normal(size=(30, 4)), 3, axis=0)
Y = VALUES[:, 1] + RNG.normal(size=90)
ASKED: dict[str, Callable[[Any, Any], Any]] = {
    "screen": lambda X, groups: screen(X, Y, groups=groups).pvalues,
    "screen_pairs": lambda X, groups: (
        screen_pairs(X, Y, groups=groups, n_permutations=9, random_state=0).pvalues
    ),
    "hsic_test": lambda X, groups: (
        hsic_test(X, Y, groups=groups, n_permutations=50, random_state=0).pvalue
    ),
}
SELECTORS = (DependenceFilter, KernelRidgeElimination, BAHSIC)


def _frames(library: Any) -> tuple[Any, Any]:
    """The columns with the patient in their midst, and without."""
    columns: dict[str, Any] = {f"c{j}": VALUES[:, j] for j in range(4)}
    named = dict([*list(columns.items())[:2], ("patient", PATIENT), *list(columns.items())[2:]])
    return library.DataFrame(named), library.DataFrame(columns)


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("name", ASKED)
def test_a_name_is_the_labels_of_that_column(name: str, library: Any) -> None:
    named, plain = _frames(library)
    np.testing.assert_array_equal(ASKED[name](named, "patient"), ASKED[name](plain, PATIENT))


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("kind", SELECTORS)
def test_a_selector_transforms_with_and_without_the_column(kind: type, library: Any) -> None:
    named, plain = _frames(library)
    selector = kind(2).fit(named, Y, groups="patient")
    other = kind(2).fit(plain, Y, groups=PATIENT)
    assert selector.to_frame("pandas").equals(other.to_frame("pandas"))
    assert list(selector.feature_names_in_) == list(plain.columns)
    for rows in (named, plain):
        np.testing.assert_array_equal(selector.transform(rows), other.transform(plain))
    again = selector.fit(plain, Y)  # what an earlier fit was told is forgotten
    with pytest.raises(ValueError, match="patient"):
        again.transform(named)


@pytest.mark.parametrize("name", [*ASKED, *(kind.__name__ for kind in SELECTORS)])
def test_a_column_that_is_not_there_is_named(name: str) -> None:
    ask = ASKED.get(name) or (
        lambda X, groups: next(k for k in SELECTORS if k.__name__ == name)().fit(X, Y, groups)
    )
    for X in (_frames(pd)[1], VALUES):
        with pytest.raises(ValueError, match="groups='ward' names a column"):
            ask(X, "ward")
