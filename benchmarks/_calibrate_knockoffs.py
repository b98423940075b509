"""Do knockoffs keep their false discovery rate, and what do they find? Beside a screening."""

from __future__ import annotations

import warnings
from typing import Any

import common
import numpy as np
from joblib import Parallel, delayed

from depmax import DependenceFilter, Knockoffs

N_ROWS, N_COLUMNS = 300, 50
#: Nominal rate and number of true columns: fewer than 1/rate cannot be found.
SETTINGS = ((0.2, 5), (0.1, 12))
#: Correlation of neighbouring columns.
CORRELATIONS = (0.0, 0.5, 0.9)
#: The realised rate may be so many times the nominal one.
SLACK = 1.1


def draw(
    rho: float, n_true: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns of an autoregression; three true ones act linearly, the others by their squares."""
    X = rng.normal(size=(N_ROWS, N_COLUMNS))
    for j in range(1, N_COLUMNS):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    true = np.arange(n_true) * (N_COLUMNS // n_true) + 3
    y = X[:, true[:3]].sum(axis=1) + (X[:, true[3:]] ** 2).sum(axis=1) + rng.normal(size=N_ROWS)
    return X, y, true


def _one_draw(rho: float, nominal: float, n_true: int, number: int) -> list[float]:
    X, y, true = draw(rho, n_true, np.random.default_rng(number))
    outcome: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # nothing kept counts as nothing found
        for selector in (
            Knockoffs(fdr=nominal, random_state=number),
            DependenceFilter("auto", fdr=nominal),
        ):
            kept = selector.fit(X, y).get_support(indices=True)
            found = np.isin(kept, true)
            outcome += [float(np.sum(~found)) / max(1, len(kept)), float(np.sum(found)) / n_true]
    return outcome


def rates(n_draws: int, n_jobs: int) -> list[dict[str, Any]]:
    """Mean share of false discoveries and of true columns found."""
    results = []
    for rho in CORRELATIONS:
        for nominal, n_true in SETTINGS:
            draws = Parallel(n_jobs=n_jobs)(
                delayed(_one_draw)(rho, nominal, n_true, number) for number in range(n_draws)
            )
            false, power, screened_false, screened = np.mean(draws, axis=0)
            results.append(
                {
                    "correlation": rho,
                    "nominal": nominal,
                    "n_true": n_true,
                    "n_draws": n_draws,
                    "fdr": float(false),
                    "error": float(np.std([each[0] for each in draws]) / np.sqrt(n_draws)),
                    "power": float(power),
                    "screen_fdr": float(screened_false),
                    "screen_power": float(screened),
                    "passed": bool(false <= SLACK * nominal),
                }
            )
            print(f"  {rho:g} {nominal:g} {false:.3f} {power:.3f}", flush=True)
    return results


def show(found: list[dict[str, Any]]) -> None:
    print(f"\nKnockoffs of {N_COLUMNS} columns and {N_ROWS} rows")
    common.table(
        ["correlation", "nominal", "realised", "found", "screening: realised", "found", ""],
        [
            [
                f"{each['correlation']:g}",
                f"{each['nominal']:g}",
                f"{each['fdr']:.3f} ± {each['error']:.3f}",
                f"{each['power']:.0%} of {each['n_true']}",
                f"{each['screen_fdr']:.2f}",
                f"{each['screen_power']:.0%}",
                "" if each["passed"] else "TOO MANY",
            ]
            for each in found
        ],
    )
