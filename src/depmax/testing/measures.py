"""The contract of a dependence measure, as a check that anybody can run on their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def check_measure(
    measure: Callable[[Any, Any], float],
    X: np.ndarray,
    y: np.ndarray,
    *,
    shift_invariant: bool = True,
    tol: float = 1e-8,
) -> None:
    """Check that a measure of dependence keeps the contract on paired samples X and y.

    One finite float, the same for any order of the rows, for any memory layout, in float32 within
    its precision, and after a shift of X (if ``shift_invariant``); rows of unequal number and NaN
    are refused with a ValueError.

    Parameters
    ----------
    measure : function of X and y that returns a float
    X, y : paired samples
    shift_invariant : bool, default=True
    tol : float, default=1e-8

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import hsic
    >>> from depmax.testing import check_measure
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> check_measure(hsic, X, X[:, 0])
    """
    value = measure(X, y)
    assert isinstance(value, float), f"a measure returns a float, got {type(value)}"
    assert np.isfinite(value), f"a measure is finite, got {value}"
    scale = tol * max(1.0, abs(value))
    order = np.random.default_rng(0).permutation(len(X))
    _same(measure(X[order], y[order]), value, scale, "the order of the rows matters")
    _same(measure(np.asfortranarray(X), y), value, scale, "the memory layout matters")
    single = measure(X.astype(np.float32), y)
    _same(single, value, 1e-3 * max(1.0, abs(value)), "float32 rows give another value")
    if shift_invariant:
        _same(measure(X + 3.0, y), value, 10 * scale, "a shift of X matters")
    for bad_x, bad_y, why in ((X[:-1], y, "unequal lengths"), (_with_nan(X), y, "NaN")):
        try:
            measure(bad_x, bad_y)
        except ValueError:
            continue
        raise AssertionError(f"{why} must be refused with a ValueError")


def _same(value: float, expected: float, atol: float, message: str) -> None:
    assert abs(value - expected) <= atol, f"{message}: {value} against {expected}"


def _with_nan(X: np.ndarray) -> np.ndarray:
    spoiled = np.array(X, dtype=np.float64)
    spoiled.flat[0] = np.nan
    return spoiled
