"""Do p-values hold where rows are not independent, columns are correlated, or all is noise?"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import common
import numpy as np
from joblib import Parallel, delayed
from scipy.signal import lfilter

from depmax import (
    BAHSIC,
    FOHSIC,
    DependenceFilter,
    KernelRidgeElimination,
    Shifts,
    WithinGroups,
    hsic_test,
    screen_pairs,
)

#: Forty groups of five rows, of one to fourteen rows, and eight groups of ten.
BALANCED = np.repeat(np.arange(40), 5)
UNBALANCED = np.repeat(np.arange(40), np.random.default_rng(1).integers(1, 15, 40))
FEW = np.repeat(np.arange(8), 10)
LEVEL = 0.05
#: Shifts are exact on a circle only: what a short series with a long memory may reject.
SERIES = 0.1
Null = Callable[[np.random.Generator], tuple[Any, ...]]  # x, y, groups and, maybe, confounders


def _alike(rng: np.random.Generator, codes: np.ndarray) -> np.ndarray:
    """Values with 70 % of their variance between groups."""
    between = rng.normal(size=codes.max() + 1)[codes]
    return np.sqrt(0.7) * between + np.sqrt(0.3) * rng.normal(size=len(codes))


def _varying(codes: np.ndarray) -> Null:
    return lambda rng: (_alike(rng, codes), _alike(rng, codes), codes)


def _class_per_group(codes: np.ndarray) -> Null:
    return lambda rng: (
        _alike(rng, codes),
        rng.permutation(np.arange(codes.max() + 1) % 2)[codes],
        codes,
    )


def _blocks(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Any]:
    blocks = 2.0 * rng.normal(size=40)[BALANCED]
    x, y = blocks + rng.normal(size=(2, 200))
    return x, y, WithinGroups(BALANCED)


def _series(length: int) -> Null:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Any]:
        x, y = lfilter([1.0], [1.0, -0.9], rng.normal(size=(2, length + 100)))[:, 100:]
        return x, y, Shifts()

    return draw


def _confounded(codes: np.ndarray, of_group: bool) -> Null:
    """Both sides follow sin 2z of a number z that a group has, or each of its rows."""

    def draw(rng: np.random.Generator) -> tuple[Any, ...]:
        z = rng.normal(size=codes.max() + 1)[codes] if of_group else rng.normal(size=len(codes))
        x, y = (np.sin(2 * z) + 0.5 * _alike(rng, codes) for _ in range(2))
        return x, y, codes, z

    return draw


NULLS: dict[str, Null] = {
    "40 groups of 5, y varies": _varying(BALANCED),
    "40 groups of 5, a class each": _class_per_group(BALANCED),
    "40 groups of 1-14, y varies": _varying(UNBALANCED),
    "40 groups of 1-14, a class each": _class_per_group(UNBALANCED),
    "8 groups of 10, y varies": _varying(FEW),
    "within 40 blocks of 5": _blocks,
    "AR(0.9), 200 rows": _series(200),
    "AR(0.9), 500 rows": _series(500),
    "40 groups of 5, given a number of each": _confounded(BALANCED, of_group=True),
    "40 groups of 5, given a number of each row": _confounded(BALANCED, of_group=False),
    "40 groups of 1-14, given a number of each": _confounded(UNBALANCED, of_group=True),
    "40 groups of 1-14, given a number of each row": _confounded(UNBALANCED, of_group=False),
}


def group_rates(n_draws: int, cells: common.Cells) -> list[dict[str, Any]]:
    """Rejections of independent sides at 0.05, with groups and with rows as they are."""
    return [cells.of(_group_rate, number, name, n_draws) for number, name in enumerate(NULLS)]


def _group_rate(number: int, name: str, n_draws: int, n_jobs: int) -> dict[str, Any]:
    seeds = np.random.SeedSequence([11, number]).spawn(n_draws)
    draws = Parallel(n_jobs=n_jobs)(delayed(_rejects)(name, seed) for seed in seeds)
    grouped, plain = np.array(draws, dtype=float).mean(axis=0)
    return {
        "rows": name,
        "n_draws": n_draws,
        "grouped": float(grouped),
        "plain": float(plain),
        "passed": bool(grouped <= highest_share(n_draws, SERIES if "AR" in name else LEVEL)),
    }


def highest_share(n_draws: int, level: float = LEVEL) -> float:
    """Share of rejections that chance may lead to at this level: three standard errors more."""
    return level + 3 * float(np.sqrt(LEVEL * (1 - LEVEL) / n_draws))


def _rejects(name: str, seed: np.random.SeedSequence) -> tuple[bool, bool]:
    warnings.simplefilter("ignore")  # of rows left out, and of what confounders need
    rng = np.random.default_rng(seed)
    x, y, groups, *given = NULLS[name](rng)
    options: dict[str, Any] = {"n_permutations": 199, "random_state": 0}
    if given:
        options["given"] = given[0]
    grouped = hsic_test(x, y, groups=groups, **options).pvalue
    return grouped <= LEVEL, hsic_test(x, y, **options).pvalue <= LEVEL


def show_groups(found: list[dict[str, Any]]) -> None:
    print("\nIndependent sides, rows that are not: rejections at 0.05")
    common.table(
        ["rows", "draws", "groups", "rows as they are", ""],
        [
            [
                each["rows"],
                str(each["n_draws"]),
                f"{each['grouped']:.3f}",
                f"{each['plain']:.2f}",
                "" if each["passed"] else "TOO MANY",
            ]
            for each in found
        ],
    )


#: Rows, columns and the correlation of neighbouring columns.
PAIR_SETTINGS = [
    (rows, columns, rho)
    for rows, columns in ((300, 20), (300, 100), (1000, 20), (1000, 200), (3000, 20))
    for rho in (0.0, 0.5, 0.9)
]


def pair_rates(n_draws: int, cells: common.Cells) -> list[dict[str, Any]]:
    """Share of draws with a false pair: effects u + u²/2 of five columns, no interaction."""
    return [
        cells.of(_pair_rate, kind, *setting, n_draws)
        for kind in ("number", "class")
        for setting in sorted(PAIR_SETTINGS, key=lambda each: each[1])  # few columns first
    ]


def _pair_rate(
    kind: str, rows: int, columns: int, rho: float, n_draws: int, n_jobs: int
) -> dict[str, Any]:
    number = PAIR_SETTINGS.index((rows, columns, rho))
    seeds = np.random.SeedSequence([12, number]).spawn(n_draws)
    draws = Parallel(n_jobs=n_jobs)(
        delayed(_false_pairs)(rows, columns, rho, kind, seed) for seed in seeds
    )
    share = float(np.mean(np.array(draws) > 0))
    return {
        "target": kind,
        "n_rows": rows,
        "n_columns": columns,
        "rho": rho,
        "n_draws": n_draws,
        "false": share,
        "passed": share <= highest_share(n_draws),
    }


def _false_pairs(rows: int, columns: int, rho: float, kind: str, seed: Any) -> int:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    for j in range(1, columns):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1.0 - rho**2) * X[:, j]
    u = X[:, np.linspace(0, columns - 1, 5).astype(int)]
    latent = (u + u**2 / 2).sum(axis=1)
    if kind == "number":
        y = latent + 0.3 * rng.normal(size=rows)
    else:
        y = (latent + rng.logistic(size=rows) > np.median(latent)).astype(int)
    return int(np.sum(screen_pairs(X, y, random_state=0, n_jobs=1).pvalues_adjusted < LEVEL))


def show_pairs(found: list[dict[str, Any]]) -> None:
    print("\nscreen_pairs without interactions: share of draws with a false pair")
    common.table(
        ["target", "rows", "columns", "correlation", "draws", "share", ""],
        [
            [
                each["target"],
                str(each["n_rows"]),
                str(each["n_columns"]),
                f"{each['rho']:g}",
                str(each["n_draws"]),
                f"{each['false']:.2f}",
                "" if each["passed"] else "TOO MANY",
            ]
            for each in found
        ],
    )


SELECTORS = {
    each.__name__: each for each in (BAHSIC, FOHSIC, KernelRidgeElimination, DependenceFilter)
}


def noise_rates(n_draws: int, cells: common.Cells) -> list[dict[str, Any]]:
    """Share of draws of noise in which "auto" finds a column, by selector and target."""
    return [
        cells.of(_noise_rate, kind, selector, n_draws)
        for kind in ("number", "class")
        for selector in SELECTORS
    ]


def _noise_rate(kind: str, selector: str, n_draws: int, n_jobs: int) -> dict[str, Any]:
    seeds = np.random.SeedSequence([13]).spawn(n_draws)
    draws = Parallel(n_jobs=n_jobs)(
        delayed(_n_found)(SELECTORS[selector], kind, seed) for seed in seeds
    )
    share = float(np.mean(np.array(draws) > 0))
    return {
        "selector": selector,
        "target": kind,
        "n_draws": n_draws,
        "share": share,
        "columns": float(np.mean(draws)),
        "passed": share <= highest_share(n_draws),
    }


def _n_found(selector: Any, kind: str, seed: Any) -> int:
    warnings.simplefilter("ignore")  # that nothing was found is what is counted
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(100, 10)), rng.normal(size=100)
    y = y if kind == "number" else (y > 0).astype(int)
    return int(selector("auto").fit(X, y).n_significant_)


def show_noise(found: list[dict[str, Any]]) -> None:
    print('\nNoise, 100 rows and 10 columns: share of draws in which "auto" finds a column')
    common.table(
        ["selector", "target", "draws", "share", "columns", ""],
        [
            [
                each["selector"],
                each["target"],
                str(each["n_draws"]),
                f"{each['share']:.2f}",
                f"{each['columns']:.2f}",
                "" if each["passed"] else "TOO MANY",
            ]
            for each in found
        ],
    )
