"""Sides on which nothing can depend."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from depmax.dependence.sides import Side


def is_constant(side: Side) -> bool:
    """Whether all rows have the same image under the kernel, up to rounding."""
    first, rounding = slice(0, 1), 8 * np.finfo(np.float64).eps
    if side.is_narrow:
        start = _dense(side.coordinates(first))[0]
        return all(
            (np.abs(_dense(side.coordinates(rows)) - start) <= rounding * np.abs(start)).all()
            for rows in side.blocks()
        )
    diagonal = side.diag()
    # ‖φ(x) - φ(x₀)‖² for every row x
    squares = diagonal + diagonal[0] - 2.0 * side.tile(slice(None), first)[:, 0]
    return bool((squares <= rounding * np.abs(diagonal).max()).all())


def _dense(phi: Any) -> np.ndarray:
    return np.asarray(phi.toarray() if sparse.issparse(phi) else phi, dtype=np.float64)
