"""Do knockoffs keep their rate, and what do they find? Beside a screening and a plain lasso."""

from __future__ import annotations

import warnings
from typing import Any

import common
import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.linear_model import LassoCV

from depmax import DependenceFilter, Knockoffs

N_ROWS, N_COLUMNS = 300, 50
#: Nominal rate and number of true columns: fewer than 1/rate cannot be found.
SETTINGS = ((0.2, 5), (0.1, 12))
#: Correlation of neighbouring columns.
CORRELATIONS = (0.0, 0.5, 0.9)
#: The realised rate may be so many times the nominal one.
SLACK = 1.1


#: Distribution of the rows' scale, and whether it must be warned of.
SCALES = {
    "equal": False,
    "skewed columns": False,
    "lognormal, 0.4": True,
    "lognormal, 0.8": True,
    "t with 5 degrees": True,
}


class LassoWithSquares(BaseEstimator):
    """What a knockoff of columns and their squares is usually scored by."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> LassoWithSquares:
        both = np.hstack([X, X**2])
        weights = LassoCV(cv=5).fit((both - both.mean(axis=0)) / both.std(axis=0), y).coef_
        self.coef_ = np.abs(weights).reshape(2, -1).sum(axis=0)
        return self


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
        # nothing kept counts as nothing found; scikit-learn's lasso may not converge
        warnings.simplefilter("ignore", UserWarning)
        for selector in (
            Knockoffs(fdr=nominal, random_state=number),
            DependenceFilter("auto", fdr=nominal),
            Knockoffs(fdr=nominal, random_state=number, estimator=LassoWithSquares()),
        ):
            kept = selector.fit(X, y).get_support(indices=True)
            found = np.isin(kept, true)
            outcome += [float(np.sum(~found)) / max(1, len(kept)), float(np.sum(found)) / n_true]
    return outcome


def rates(n_draws: int, cells: common.Cells) -> list[dict[str, Any]]:
    """Mean share of false discoveries and of true columns found."""
    return [
        cells.of(_rate, rho, nominal, n_true, n_draws)
        for rho in CORRELATIONS
        for nominal, n_true in SETTINGS
    ]


def _rate(rho: float, nominal: float, n_true: int, n_draws: int, n_jobs: int) -> dict[str, Any]:
    draws = Parallel(n_jobs=n_jobs)(
        delayed(_one_draw)(rho, nominal, n_true, number) for number in range(n_draws)
    )
    means = np.mean(draws, axis=0)
    names = ("fdr", "power", "screen_fdr", "screen_power", "lasso_fdr", "lasso_power")
    return {
        "correlation": rho,
        "nominal": nominal,
        "n_true": n_true,
        "n_draws": n_draws,
        **dict(zip(names, map(float, means), strict=True)),
        "error": float(np.std([each[0] for each in draws]) / np.sqrt(n_draws)),
        "passed": bool(means[0] <= SLACK * nominal),
    }


def scaled(X: np.ndarray, scale: str, rng: np.random.Generator) -> np.ndarray:
    """Gaussian rows, each times a number of its own; or with every column transformed."""
    if scale == "equal":
        return X
    if scale == "skewed columns":
        return np.exp(X)
    if scale.startswith("lognormal"):
        return X * np.exp(float(scale.split(", ")[1]) * rng.normal(size=(len(X), 1)))
    return X * np.sqrt(5.0 / rng.chisquare(5.0, size=(len(X), 1)))


def scale_rates(n_draws: int, cells: common.Cells) -> list[dict[str, Any]]:
    """False discoveries of rows with a scale of their own, and how often they are warned of."""
    return [cells.of(_scale_rate, scale, n_draws) for scale in SCALES]


def _scale_rate(scale: str, n_draws: int, n_jobs: int) -> dict[str, Any]:
    draws = Parallel(n_jobs=n_jobs)(delayed(_scaled_draw)(scale, n) for n in range(n_draws))
    fdr, power, warned = (float(mean) for mean in np.mean(draws, axis=0))
    good = warned >= 0.95 if SCALES[scale] else warned <= 0.05
    return {
        "scale": scale,
        "n_draws": n_draws,
        "fdr": fdr,
        "power": power,
        "warned": warned,
        "passed": bool(good),
    }


def _scaled_draw(scale: str, number: int) -> tuple[float, float, float]:
    rng = np.random.default_rng([7, number])
    X, _, true = draw(0.5, 12, rng)
    X = scaled(X, scale, rng)
    y = np.abs(X[:, true] / X.std(axis=0)[true]).sum(axis=1) + 2.0 * rng.normal(size=N_ROWS)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        kept = Knockoffs(fdr=0.1, random_state=number).fit(X, y).get_support(indices=True)
    found = np.isin(kept, true)
    warned = any("jointly Gaussian" in str(each.message) for each in said)
    return float(np.sum(~found)) / max(1, len(kept)), float(np.sum(found)) / len(true), warned


def show_scales(found: list[dict[str, Any]]) -> None:
    print("\nKnockoffs at fdr=0.1 of rows with a scale of their own")
    common.table(
        ["scale of rows", "realised", "found", "warned of", ""],
        [
            [
                each["scale"],
                f"{each['fdr']:.2f}",
                f"{each['power']:.0%}",
                f"{each['warned']:.0%}",
                "" if each["passed"] else "MISSED",
            ]
            for each in found
        ],
    )


def show(found: list[dict[str, Any]]) -> None:
    print(f"\nKnockoffs of {N_COLUMNS} columns and {N_ROWS} rows")
    common.table(
        [
            "correlation",
            "nominal",
            "realised",
            "found",
            "screening: realised",
            "found",
            "lasso with squares: realised",
            "found",
            "",
        ],
        [
            [
                f"{each['correlation']:g}",
                f"{each['nominal']:g}",
                f"{each['fdr']:.3f} ± {each['error']:.3f}",
                f"{each['power']:.0%} of {each['n_true']}",
                f"{each['screen_fdr']:.2f}",
                f"{each['screen_power']:.0%}",
                f"{each['lasso_fdr']:.3f}",
                f"{each['lasso_power']:.0%}",
                "" if each["passed"] else "TOO MANY",
            ]
            for each in found
        ],
    )
