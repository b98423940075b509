"""Columns that lie on an axis: wavelengths, frequencies, positions."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

#: Numbers after these words count columns and say nothing about an order.
COUNTERS = frozenset(
    {"a", "att", "attr", "attribute", "c", "col", "column", "f", "feat", "feature", "field"}
    | {"ic", "n", "p", "pc", "pca", "v", "var", "variable", "x", "z"}
)
#: Fewer columns are clearer as bars.
FEWEST = 10


def positions_of(names: Sequence[str]) -> np.ndarray | None:
    """Positions of columns whose names differ in one increasing number, else None.

    >>> positions_of([f"{nm} nm" for nm in range(400, 500, 10)])[:3]
    array([400., 410., 420.])
    >>> positions_of([f"x{j}" for j in range(20)]) is None
    True
    """
    if len(names) < FEWEST:
        return None
    parts = [re.fullmatch(r"(\D*?)(-?\d+(?:[.]\d+)?)(\D*)", name) for name in names]
    found = [part for part in parts if part is not None]
    if len(found) < len(names) or len({(part[1], part[3]) for part in found}) != 1:
        return None
    word = re.sub(r"[^a-z]", "", found[0][1].lower())
    if word in COUNTERS and not found[0][3].strip():
        return None
    values = np.array([float(part[2]) for part in found])
    return values if bool((np.diff(values) > 0).all()) else None


def unit_of(names: Sequence[str]) -> str:
    """The words around the numbers of such names.

    >>> unit_of(["band_1", "band_2"]), unit_of(["400 nm", "410 nm"])
    ('band', 'nm')
    """
    return re.sub(r"[-_\d.\s]+", " ", names[0]).strip()
