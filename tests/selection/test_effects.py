"""Selectors show how strong each column alone is, as screening does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from depmax import BAHSIC, FOHSIC, KernelRidgeElimination, screen


@pytest.mark.parametrize("selector", [BAHSIC(2), FOHSIC(2), KernelRidgeElimination(2)])
def test_effects_are_those_of_screening(selector: Any, rng: np.random.Generator) -> None:
    X = pd.DataFrame(rng.normal(size=(80, 4)), columns=["a", "b", "c", "d"])
    X["e"] = pd.Categorical(rng.choice(["u", "v", "w"], 80))
    y = X["a"].to_numpy() ** 2 + 0.1 * rng.normal(size=80)
    frame = selector.set_params(pvalues=True).fit(X, y).to_frame("pandas").set_index("column")
    expected = screen(X, y).to_frame("pandas").set_index("column").loc[frame.index]
    names = ["effect", "effect_low", "effect_high"]
    np.testing.assert_allclose(frame[names], expected[names], rtol=1e-6, atol=1e-9)
    assert frame["effect"].idxmax() == "a"


def test_without_pvalues_there_are_no_effects(rng: np.random.Generator) -> None:
    X = rng.normal(size=(40, 3))
    frame = BAHSIC(1, pvalues=False).fit(X, X[:, 0]).to_frame("pandas")
    assert "effect" not in frame.columns
