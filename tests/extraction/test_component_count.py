"""The number of components that was asked for, in each of its forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from depmax.data.reading import read_sample
from depmax.extraction._fitting.number_of_components import (
    AtMost,
    ByPrediction,
    Exactly,
    Possible,
    Share,
    read_component_count,
)

X = np.random.default_rng(0).normal(size=(20, 4))


def possible(kernel: str = "linear", carriers: int = 3, predicted: int = 2) -> Possible:
    return Possible("HBFE", read_sample(X, kernel), lambda: carriers, lambda: predicted)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (3, Exactly(3)),
        (np.int64(3), Exactly(3)),
        (1, Exactly(1)),
        (1.0, Share(1.0)),
        (np.float32(0.5), Share(0.5)),
        ("auto", ByPrediction()),
    ],
)
def test_forms(value: Any, wanted: Any) -> None:
    assert read_component_count(value, "HBFE") == wanted


@pytest.mark.parametrize("value", [0, -1, 0.0, 1.5, True, None, "all", float("nan")])
def test_other_values_are_refused_by_name(value: Any) -> None:
    with pytest.raises(ValueError, match="n_components of HBFE must be an integer >= 1"):
        read_component_count(value, "HBFE")


def test_more_than_the_columns_or_rows_is_refused() -> None:
    with pytest.raises(ValueError, match=r"number of columns,\s+n_features = 4"):
        Exactly(5).count(possible())
    with pytest.raises(ValueError, match=r"number of training rows,\s+n_samples = 20"):
        Exactly(21).count(possible("gaussian"))
    assert Exactly(20).count(possible("gaussian")) == 20


def test_what_nobody_asked_for_is_cut_to_what_is_possible() -> None:
    assert AtMost(9).count(possible()) == 4
    assert Share(0.9).count(possible(carriers=9)) == 4
    assert Share(0.9).count(possible(carriers=0)) == 1
    assert ByPrediction().count(possible(predicted=9)) == 4


def test_a_share_keeps_the_fewest_that_reach_it() -> None:
    dependence = np.array([5.0, 3.0, 2.0])
    assert [Share(share).kept(dependence) for share in (0.5, 0.8, 0.81, 1.0)] == [1, 2, 3, 3]
    assert all(form.kept(dependence) == 3 for form in (Exactly(3), AtMost(3), ByPrediction()))
