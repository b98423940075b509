"""How often the interval of HSIC covers the truth, over many kinds of dependence."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import common
import numpy as np
from joblib import Parallel, delayed

from depmax import hsic, hsic_interval
from depmax.kernels import Gaussian, Linear
from depmax.maps import IncompleteCholesky, NystroemMap, RandomFourier

CONFIDENCE = 0.95
ROWS = (20, 50, 200)
#: The share that the interval of bounded kernels must cover at each number of rows.
BARS = {20: 0.90, 50: 0.92, 200: 0.92}
#: Rows and draws of the estimate that stands for the truth.
TRUTH = (1000, 40)

Pair = tuple[np.ndarray, np.ndarray]
Draw = Callable[[np.random.Generator, int], Pair]


def noisy(scale: float) -> Draw:
    """y = x + noise."""

    def draw(rng: np.random.Generator, m: int) -> Pair:
        x = rng.normal(size=m)
        return x, (x + scale * rng.normal(size=m)) / np.sqrt(1 + scale**2)

    return draw


def quadratic(rng: np.random.Generator, m: int) -> Pair:
    x = rng.normal(size=m)
    return x, (x**2 + rng.normal(size=m)) / 1.5


def circle(rng: np.random.Generator, m: int) -> Pair:
    angle = rng.uniform(0, 2 * np.pi, m)
    both = np.stack([np.cos(angle), np.sin(angle)]) + 0.2 * rng.normal(size=(2, m))
    return both[0] / 0.7, both[1] / 0.7


def spread(rng: np.random.Generator, m: int) -> Pair:
    x = rng.normal(size=m)
    return x, x * rng.normal(size=m)


def shifted_classes(rng: np.random.Generator, m: int) -> Pair:
    y = 2.0 * rng.integers(0, 2, m) - 1.0
    return rng.normal(size=m) + 0.5 * y, y


def five_columns(rng: np.random.Generator, m: int) -> Pair:
    x = rng.normal(size=(m, 5))
    return x / 3.0, (x[:, 0] + x[:, 1] + 2 * rng.normal(size=m)) / 2.4


def heavy(rng: np.random.Generator, m: int) -> Pair:
    x = rng.standard_t(3, size=m)
    return x, (0.5 * x + rng.standard_t(3, size=m)) / 1.3


def skewed(rng: np.random.Generator, m: int) -> Pair:
    x = rng.exponential(size=m)
    return x, 0.5 * x + rng.normal(size=m)


def independent(rng: np.random.Generator, m: int) -> Pair:
    return rng.normal(size=m), rng.normal(size=m)


CASES: dict[str, tuple[Draw, Any]] = {
    "y = x + noise, 0.5": (noisy(0.5), Gaussian(1.0)),
    "y = x + noise, 1": (noisy(1.0), Gaussian(1.0)),
    "y = x + noise, 2": (noisy(2.0), Gaussian(1.0)),
    "y = x + noise, 4": (noisy(4.0), Gaussian(1.0)),
    "quadratic": (quadratic, Gaussian(1.0)),
    "circle": (circle, Gaussian(1.0)),
    "spread": (spread, Gaussian(1.0)),
    "classes": (shifted_classes, Gaussian(1.0)),
    "5 columns": (five_columns, Gaussian(1.0)),
    "heavy tails": (heavy, Gaussian(1.0)),
    "independent": (independent, Gaussian(1.0)),
    "skewed, linear kernels": (skewed, Linear()),
    "5 columns, 3 pivots": (five_columns, IncompleteCholesky(3, kernel=Gaussian(1.0))),
    "5 columns, 10 pivots": (five_columns, IncompleteCholesky(10, kernel=Gaussian(1.0))),
    "5 columns, 10 landmarks": (five_columns, NystroemMap(10, kernel=Gaussian(1.0))),
    "5 columns, 20 frequencies": (five_columns, RandomFourier(20, kernel=Gaussian(1.0))),
}
#: Cases whose kernels are not bounded: reported, not judged.
UNBOUNDED = ("skewed, linear kernels",)


def coverage(n_draws: int, cells: common.Cells) -> list[dict[str, Any]]:
    """Share of draws whose interval covers the truth, per case and number of rows."""
    return [
        cells.of(_covered, number, name, m, n_draws)
        for number, name in enumerate(CASES)
        for m in ROWS
    ]


def _covered(number: int, name: str, m: int, n_draws: int, n_jobs: int) -> dict[str, Any]:
    truth = 0.0 if name == "independent" else _truth(number, name)
    seeds = np.random.SeedSequence([11, number, m]).spawn(n_draws)
    intervals = Parallel(n_jobs=n_jobs)(delayed(_interval)(name, m, seed) for seed in seeds)
    low, high = np.array(intervals).T
    share = float(np.mean((low <= truth) & (truth <= high)))
    return {
        "case": name,
        "m": m,
        "n_draws": n_draws,
        "coverage": share,
        "truth_below": float(np.mean(truth < low)),
        "passed": name in UNBOUNDED or share >= BARS[m],
    }


@cache
def _truth(number: int, name: str) -> float:
    """Mean of unbiased estimates from many rows."""
    draw, kernel = CASES[name]
    kernel = getattr(kernel, "kernel", kernel)  # of a map: what it approximates
    rng = np.random.default_rng([11, number])
    large, repeats = TRUTH
    kernels = {"kernel": kernel, "target_kernel": kernel}
    return float(np.mean([hsic(*draw(rng, large), **kernels) for _ in range(repeats)]))


def _interval(name: str, m: int, seed: np.random.SeedSequence) -> tuple[float, float]:
    draw, kernel = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of coarse maps
        found = hsic_interval(
            *draw(np.random.default_rng(seed), m), kernel=kernel, target_kernel=kernel
        )
    return found.low, found.high


def show(found: list[dict[str, Any]]) -> None:
    print(f"\nCoverage of the interval of {CONFIDENCE:.0%}, {found[0]['n_draws']} draws")
    rows = []
    for name in CASES:
        shares = [f"{each['coverage']:.3f}" for each in found if each["case"] == name]
        rows.append([name, *shares])
    common.table(["case", *(f"m = {m}" for m in ROWS)], rows)
