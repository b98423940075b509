"""Does screening keep its false discovery rate? A thousand null columns and twenty real ones."""

from __future__ import annotations

from typing import Any

import common
import numpy as np
from joblib import Parallel, delayed

from depmax import screen

N_ROWS = 200
N_NULL = 1000
N_REAL = 20
NOMINAL = (0.05, 0.1)
#: The realised rate may be so many times the nominal one.
SLACK = 1.2


def discovery_rates(n_draws: int, n_jobs: int) -> list[dict[str, Any]]:
    """Mean part of false discoveries, and of real columns found, for both types of target."""
    found = []
    for number, kind in enumerate(("binary", "numeric")):
        seeds = np.random.SeedSequence([3, number]).spawn(n_draws)
        draws = Parallel(n_jobs=n_jobs)(delayed(_one_draw)(kind, seed) for seed in seeds)
        rates = np.array(draws)  # draw, level, (false, found)
        for position, nominal in enumerate(NOMINAL):
            false, power = rates[:, position].T
            found.append(
                {
                    "target": kind,
                    "nominal": nominal,
                    "n_draws": n_draws,
                    "fdr": float(false.mean()),
                    "error": float(false.std(ddof=1) / np.sqrt(n_draws)),
                    "power": float(power.mean()),
                    "passed": bool(false.mean() <= SLACK * nominal),
                }
            )
    return found


def _one_draw(kind: str, seed: np.random.SeedSequence) -> list[tuple[float, float]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, N_REAL + N_NULL))
    half = N_REAL // 2  # one half of the real columns is linear, the other is not
    if kind == "binary":
        y = rng.integers(0, 2, N_ROWS)
        X[:, :half] += 0.7 * y[:, np.newaxis]
        X[:, half:N_REAL] *= 1 + 1.5 * y[:, np.newaxis]
    else:
        y = rng.normal(size=N_ROWS)
        X[:, :half] += 0.4 * y[:, np.newaxis]
        X[:, half:N_REAL] += 0.6 * y[:, np.newaxis] ** 2
    adjusted = screen(X, y).pvalues_adjusted
    rates = []
    for nominal in NOMINAL:
        chosen = adjusted <= nominal
        false = int(chosen[N_REAL:].sum())
        rates.append((false / max(1, int(chosen.sum())), float(chosen[:N_REAL].mean())))
    return rates


def show(found: list[dict[str, Any]]) -> None:
    print(f"\nScreening {N_NULL} null and {N_REAL} real columns of {N_ROWS} rows")
    common.table(
        ["target", "nominal", "realised", "real columns found", ""],
        [
            [
                each["target"],
                f"{each['nominal']:g}",
                f"{each['fdr']:.4f} ± {each['error']:.4f}",
                f"{each['power']:.0%}",
                "" if each["passed"] else "TOO MANY",
            ]
            for each in found
        ],
    )
