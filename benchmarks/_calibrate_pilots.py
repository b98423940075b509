"""Do the rows that ``samples_needed`` names after a significant pilot have the promised power?"""

from __future__ import annotations

from typing import Any

import common
import numpy as np
from joblib import Parallel, delayed

from depmax import hsic_test, samples_needed

N_ROWS = 40  # of a pilot
POWER, LEVEL = 0.8, 0.05
#: Mean power may be lower by this: the power curve and the pilots are simulated.
SLACK = 0.02
#: The interval of 95% must hold the rows that are needed in this share of the pilots.
BAR = 0.92
#: Rows at which the true power is simulated; between them it is interpolated.
GRID = np.array([10, 20, 40, 60, 80, 110, 150, 200, 270, 360, 480, 640, 1000])
#: Strength of the dependence of each shape.
SETTINGS = (
    ("linear", 0.3),
    ("linear", 0.5),
    ("linear", 0.8),
    ("quadratic", 0.4),
    ("quadratic", 0.7),
    ("classes", 0.7),
    ("5 columns", 0.6),
    ("5 columns", 1.2),
)


def draw(
    shape: str, strength: float, n_rows: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """X and y of one shape."""
    x, noise = rng.normal(size=(2, n_rows))
    if shape == "classes":
        y = rng.integers(0, 2, n_rows)
        return x + strength * y, y
    if shape == "5 columns":
        X = np.column_stack([x, rng.normal(size=(n_rows, 4))])
        return X, strength * x + noise
    return x, strength * (x if shape == "linear" else x**2) + noise


def rates(n_draws: int, cells: common.Cells) -> list[dict[str, Any]]:
    """Mean power at the rows named, and how often the interval holds the rows needed."""
    return [cells.of(_rate, shape, strength, n_draws) for shape, strength in SETTINGS]


def _rate(shape: str, strength: float, n_draws: int, n_jobs: int) -> dict[str, Any]:
    seeds = np.random.SeedSequence([12, SETTINGS.index((shape, strength))]).spawn(n_draws)
    pilots = np.array(
        Parallel(n_jobs=n_jobs)(delayed(_pilot)(shape, strength, seed) for seed in seeds)
    )
    curve = _power_curve(shape, strength, max(2, n_draws // 3))
    needed = float(np.exp(np.interp(POWER, curve, np.log(GRID))))
    named, low, high = pilots[pilots[:, 0] <= LEVEL, 1:].T
    power = np.interp(np.log(np.minimum(named, GRID[-1])), np.log(GRID), curve)
    covered = float(np.mean((low <= needed) & (needed <= high)))
    return {
        "shape": shape,
        "strength": strength,
        "n_draws": n_draws,
        "significant": len(named) / n_draws,
        "needed": needed,
        "named": float(np.median(named)),
        "power": float(power.mean()),
        "error": float(power.std() / np.sqrt(len(power))),
        "coverage": covered,
        "passed": bool(power.mean() >= POWER - SLACK and covered >= BAR),
    }


def _pilot(shape: str, strength: float, seed: np.random.SeedSequence) -> list[float]:
    """P-value of a pilot, rows named, and their interval."""
    X, y = draw(shape, strength, N_ROWS, np.random.default_rng(seed))
    rows = samples_needed(X, y, power=POWER, significance_level=LEVEL)
    return [hsic_test(X, y, method="gamma").pvalue, float(rows), rows.low, rows.high]


def _power_curve(shape: str, strength: float, n_draws: int) -> np.ndarray:
    """Share of rejections at each number of rows, rising."""
    rng = np.random.default_rng(13)
    curve: list[float] = []
    for n_rows in GRID:
        if curve and curve[-1] > 0.99:
            curve.append(1.0)
            continue
        tests = (draw(shape, strength, n_rows, rng) for _ in range(n_draws))
        curve.append(np.mean([hsic_test(*each, method="gamma").pvalue <= LEVEL for each in tests]))
    return np.maximum.accumulate(curve)


def show(found: list[dict[str, Any]]) -> None:
    print(f"\nRows for a power of {POWER:.0%} after a significant pilot of {N_ROWS} rows")
    common.table(
        ["shape", "pilots significant", "rows needed", "named", "power", "interval covers", ""],
        [
            [
                f"{each['shape']}, {each['strength']:g}",
                f"{each['significant']:.0%}",
                f"{each['needed']:.0f}",
                f"{each['named']:.0f}",
                f"{each['power']:.2f} ± {each['error']:.2f}",
                f"{each['coverage']:.0%}",
                "" if each["passed"] else "MISSED",
            ]
            for each in found
        ],
    )
