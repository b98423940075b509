"""Few rows in many tiles, as many rows are.

Private modules: how large a tile of pairs of rows is, and up to where a matrix is kept whole.
"""

from __future__ import annotations

import pytest

from depmax.dependence import _terms


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices of all pairs are made 7 rows by 7 at a time, and none is kept."""
    monkeypatch.setattr(_terms, "TILE", 7)
    monkeypatch.setattr(_terms, "GRAM_ROWS", 0)
