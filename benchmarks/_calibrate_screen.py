"""Does screening keep its false discovery rate, where values are rare too, and on the whole?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import common
import numpy as np
from joblib import Parallel, delayed

from depmax import hsic_test, screen
from depmax.kernels import Laplace

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


# --- rare values --------------------------------------------------------------------------------
Rare = Callable[[np.random.Generator], np.ndarray]
LEVEL = 0.05
#: Null columns per draw of a target, and those that the analytic test of two samples sees.
N_COLUMNS, N_TESTED = 100, 5


def ones(n_rows: int, count: int) -> Rare:
    """So many ones among zeros, at random places."""
    return lambda rng: (rng.permutation(n_rows) < count).astype(float)


def inflated(n_rows: int, count: int) -> Rare:
    """So many exponential values among zeros."""
    return lambda rng: (rng.permutation(n_rows) < count) * rng.exponential(size=n_rows)


#: Columns and targets, independent of each other; targets of zeros and ones are classes.
RARE: dict[str, tuple[Rare, Rare]] = {
    "4 of 200, class 4 of 200": (ones(200, 4), ones(200, 4)),
    "5 of 1,000, class 5 of 1,000": (ones(1000, 5), ones(1000, 5)),
    "20 of 5,000, class 10 of 5,000": (ones(5000, 20), ones(5000, 10)),
    "2 % exponential, 2 % exponential of 500": (inflated(500, 10), inflated(500, 10)),
    "10 % exponential, class 2 of 30": (inflated(30, 3), ones(30, 2)),
    "half ones, class 3 of 60": (ones(60, 30), ones(60, 3)),
}


def rare_rates(n_draws: int, cells: common.Cells) -> list[dict[str, Any]]:
    """Rejections at 0.05 of null columns where few rows hold all that varies."""
    return [cells.of(_rare_rate, number, name, n_draws) for number, name in enumerate(RARE)]


def _rare_rate(number: int, name: str, n_draws: int, n_jobs: int) -> dict[str, Any]:
    seeds = np.random.SeedSequence([14, number]).spawn(n_draws)
    draws = Parallel(n_jobs=n_jobs)(delayed(_rare_draw)(name, seed) for seed in seeds)
    rejected, passing, tested = np.mean(draws, axis=0)
    # columns of a draw share a target: the error is that of draws
    errors = np.std(draws, axis=0) / np.sqrt(n_draws)
    return {
        "setting": name,
        "n_columns": n_draws * N_COLUMNS,
        "screen": float(rejected),
        "passing": float(passing),
        "gamma": float(tested),
        "n_gamma": n_draws * N_TESTED,
        "passed": bool(
            rejected <= LEVEL + 3 * errors[0] + 0.01 and tested <= LEVEL + 3 * errors[2] + 0.01
        ),
    }


def _rare_draw(name: str, seed: np.random.SeedSequence) -> tuple[float, float, float]:
    """Shares of columns: rejected by screen, after correction too, and by the analytic test."""
    rng = np.random.default_rng(seed)
    draw_x, draw_y = RARE[name]
    y = draw_y(rng)
    y = y.astype(int) if "class" in name else y
    X = np.stack([draw_x(rng) for _ in range(N_COLUMNS)], axis=1)
    found = screen(X, y)
    tests = [
        hsic_test(X[:, j], y, kernel="gaussian", method="gamma").pvalue for j in range(N_TESTED)
    ]
    return (
        float(np.mean(found.pvalues <= LEVEL)),
        float(np.mean(found.pvalues_adjusted <= LEVEL)),
        float(np.mean(np.array(tests) <= LEVEL)),
    )


def show_rare(found: list[dict[str, Any]]) -> None:
    print(f"\nIndependent columns with rare values: share with p <= {LEVEL}")
    common.table(
        ["column, target", "columns", "screen", "after correction", "analytic hsic_test", ""],
        [
            [
                each["setting"],
                each["n_columns"],
                f"{each['screen']:.4f}",
                f"{each['passing']:.4f}",
                f"{each['gamma']:.3f}",
                "" if each["passed"] else "TOO MANY",
            ]
            for each in found
        ],
    )


# --- a bandwidth that is chosen -------------------------------------------------------------------
def maximize_rates(n_draws: int, cells: common.Cells) -> list[dict[str, Any]]:
    """Rejections of screen where the bandwidth of every column is chosen by the target."""
    return [cells.of(_maximize_rate, kind, n_draws) for kind in ("number", "class")]


def _maximize_rate(kind: str, n_draws: int, n_jobs: int) -> dict[str, Any]:
    seeds = np.random.SeedSequence([15, kind == "class"]).spawn(n_draws)
    draws = Parallel(n_jobs=n_jobs)(delayed(_maximized)(kind, seed) for seed in seeds)
    rate = float(np.mean(draws))
    highest = LEVEL + 3 * float(np.std(np.mean(draws, axis=1)) / np.sqrt(n_draws))
    return {"target": kind, "n_columns": n_draws * 10, "rate": rate, "passed": rate <= highest}


def _maximized(kind: str, seed: np.random.SeedSequence) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(100, 10)), rng.normal(size=100)
    y = y if kind == "number" else (y > 0).astype(int)
    return screen(X, y, kernel=Laplace("maximize")).pvalues <= LEVEL


def show_maximize(found: list[dict[str, Any]]) -> None:
    print(f'\nscreen with bandwidth="maximize", 100 rows of noise: columns with p <= {LEVEL}')
    common.table(
        ["target", "columns", "share", ""],
        [
            [
                each["target"],
                each["n_columns"],
                f"{each['rate']:.4f}",
                "" if each["passed"] else "TOO MANY",
            ]
            for each in found
        ],
    )


# --- what depmax screen says on the whole ---------------------------------------------------------
#: Columns of noise, 100 rows.
JOINT_COLUMNS = (5, 50)


def joint_rates(n_draws: int, cells: common.Cells) -> list[dict[str, Any]]:
    """Share of tables of noise in which a column passes, in which all together do, or either."""
    return [
        cells.of(_joint_rate, kind, n_columns, n_draws)
        for kind in ("number", "class")
        for n_columns in JOINT_COLUMNS
    ]


def _joint_rate(kind: str, n_columns: int, n_draws: int, n_jobs: int) -> dict[str, Any]:
    seeds = np.random.SeedSequence([16, kind == "class", n_columns]).spawn(n_draws)
    draws = Parallel(n_jobs=n_jobs)(delayed(_verdict_of)(kind, n_columns, seed) for seed in seeds)
    single, joint = np.array(draws, dtype=bool).T
    highest = LEVEL + 3 * float(np.sqrt(LEVEL * (1 - LEVEL) / n_draws))
    return {
        "target": kind,
        "n_columns": n_columns,
        "n_draws": n_draws,
        "single": float(single.mean()),
        "joint": float(joint.mean()),
        "either": float((single | joint).mean()),
        "passed": bool(max(single.mean(), joint.mean()) <= highest),
    }


def _verdict_of(kind: str, n_columns: int, seed: np.random.SeedSequence) -> tuple[bool, bool]:
    """The two tests of the command: Simes' of single columns, and that of all together."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(100, n_columns)), rng.normal(size=100)
    y = y if kind == "number" else (y > 0).astype(int)
    joint = hsic_test(X, y, method="permutation", n_permutations=199, random_state=0)
    return screen(X, y).pvalues_adjusted.min() <= LEVEL, joint.pvalue <= LEVEL


def show_joint(found: list[dict[str, Any]]) -> None:
    print(f"\nTables of noise, 100 rows: share in which a test rejects at {LEVEL}")
    common.table(
        ["target", "columns", "draws", "a column passes", "all together", "either", ""],
        [
            [
                each["target"],
                each["n_columns"],
                each["n_draws"],
                f"{each['single']:.3f}",
                f"{each['joint']:.3f}",
                f"{each['either']:.3f}",
                "" if each["passed"] else "TOO MANY",
            ]
            for each in found
        ],
    )
