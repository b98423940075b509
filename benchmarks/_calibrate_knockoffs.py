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
