"""What every test may ask for.

Private modules: how large a tile of pairs of rows is, and up to where a matrix is kept whole.
depmax is not imported here: workers read this file before they begin to count lines.
"""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator of the test's own: its data do not depend on which tests ran before it.

    The seed differs from those of the data that modules make, which must not be drawn again.
    """
    return np.random.default_rng(20_120_615)


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows in many tiles: matrices of all pairs are made 7 rows by 7, and none is kept."""
    monkeypatch.setattr("depmax.dependence._terms.TILE", 7)
    monkeypatch.setattr("depmax.dependence._terms.GRAM_ROWS", 0)
