"""Do shifts of independent series keep their level, or say that they cannot?"""

from __future__ import annotations

import warnings
from typing import Any

import common
import numpy as np
from joblib import Parallel, delayed
from scipy.signal import lfilter

from depmax import Shifts, hsic_test

LEVEL, N_PERMUTATIONS = 0.05, 199
#: What may be rejected by tests that call themselves reliable.
BAR = 0.07
ROWS = (50, 100, 400)
#: Part of the row before that a row keeps; a random walk keeps all of it.
COEFFICIENTS = (0.0, 0.5, 0.8, 0.9, 1.0)


def draw(coefficient: float, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Two independent series; those that return to a level have done so before they are seen."""
    before = 0 if coefficient == 1.0 else 200
    noise = rng.normal(size=(2, n_rows + before))
    return np.asarray(lfilter([1.0], [1.0, -coefficient], noise)[:, before:])


def levels(n_draws: int, cells: common.Cells) -> list[dict[str, Any]]:
    """Shares of tests that reject, that call themselves reliable, and both."""
    return [cells.of(_level, a, n_rows, n_draws) for a in COEFFICIENTS for n_rows in ROWS]


def _level(coefficient: float, n_rows: int, n_draws: int, n_jobs: int) -> dict[str, Any]:
    draws = Parallel(n_jobs=n_jobs)(
        delayed(_test)(coefficient, n_rows, number) for number in range(n_draws)
    )
    rejected, reliable = np.array(draws, dtype=float).T
    both = float(np.mean(rejected * reliable))
    return {
        "coefficient": coefficient,
        "n_rows": n_rows,
        "n_draws": n_draws,
        "rejected": float(rejected.mean()),
        "reliable": float(reliable.mean()),
        "both": both,
        "passed": both <= BAR,
    }


def _test(coefficient: float, n_rows: int, number: int) -> tuple[bool, bool]:
    x, y = draw(coefficient, n_rows, np.random.default_rng([14, number, n_rows]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        test = hsic_test(
            x,
            y,
            groups=Shifts(),
            method="permutation",
            n_permutations=N_PERMUTATIONS,
            random_state=number,
        )
    return test.pvalue <= LEVEL, test.reliable


def show(found: list[dict[str, Any]]) -> None:
    print(f"\nIndependent series, shifted: rejected at {LEVEL}, {found[0]['n_draws']} draws")
    common.table(
        ["coefficient", "rows", "rejected", "called reliable", "both", ""],
        [
            [
                f"{each['coefficient']:g}",
                str(each["n_rows"]),
                f"{each['rejected']:.3f}",
                f"{each['reliable']:.0%}",
                f"{each['both']:.3f}",
                "" if each["passed"] else "TOO MANY",
            ]
            for each in found
        ],
    )
