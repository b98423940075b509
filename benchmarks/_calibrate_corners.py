"""Corners: outliers with unbounded kernels, weights of classes, and intervals of rare classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import common
import numpy as np
from joblib import Parallel, delayed
from sklearn.utils.class_weight import compute_sample_weight

from depmax import hsic, hsic_interval, hsic_test, screen
from depmax.dependence._nulls.law import SKEWEST, permutation_law, spread
from depmax.dependence._nulls.permutation import permuted_statistics
from depmax.dependence._terms import terms
from depmax.dependence.resolve import read_pair
from depmax.kernels import Gaussian

LEVELS = (0.05, 0.01, 0.001)
#: Where rejection rates of 0.05 and 0.001 must not lie above.
ALLOWED = {0.05: 0.08, 0.001: 0.008}
N_PERMUTATIONS = 999
ROWS = (30, 200)

Draw = Callable[[np.random.Generator, int], np.ndarray]

HEAVY: dict[str, Draw] = {
    "exponential": lambda rng, m: rng.exponential(size=m),
    "log-normal, sigma 2": lambda rng, m: rng.lognormal(0.0, 2.0, m),
    "Cauchy": lambda rng, m: rng.standard_cauchy(m),
}


# --- outliers -------------------------------------------------------------------------------------
def heavy_rates(n_draws: int, cells: common.Cells) -> list[dict[str, Any]]:
    """Rejection rates of the analytic test with kernels that are not bounded."""
    return [
        cells.of(_heavy, kernel, name, m, n_draws)
        for kernel in ("linear", "distance")
        for name in HEAVY
        for m in ROWS
    ]


def _heavy(kernel: str, name: str, m: int, n_draws: int, n_jobs: int) -> dict[str, Any]:
    tests = Parallel(n_jobs=n_jobs)(
        delayed(_analytic)(kernel, name, m, index) for index in range(n_draws)
    )
    pvalues = np.array([pvalue for pvalue, _ in tests])
    rates = {level: float(np.mean(pvalues <= level)) for level in LEVELS}
    return {
        "kernel": kernel,
        "case": name,
        "m": m,
        "n_draws": n_draws,
        "rates": rates,
        "permuted": float(np.mean([method == "permutation" for _, method in tests])),
        "passed": all(rates[level] <= bound for level, bound in ALLOWED.items()),
    }


def _analytic(kernel: str, name: str, m: int, index: int) -> tuple[float, str]:
    rng = np.random.default_rng([21, m, index])
    x, y = HEAVY[name](rng, m), HEAVY[name](rng, m)
    test = hsic_test(
        x,
        y,
        kernel=kernel,
        target_kernel=kernel,
        method="gamma",
        n_permutations=N_PERMUTATIONS,
        random_state=index,
    )
    return test.pvalue, test.method


def show_heavy(found: list[dict[str, Any]]) -> None:
    print(f"\nAnalytic tests of heavy tails, {found[0]['n_draws']} draws")
    common.table(
        ["kernel", "case", "m", *(f"at {level:g}" for level in LEVELS), "permuted", ""],
        [
            [
                each["kernel"],
                each["case"],
                each["m"],
                *(f"{rate:.4f}" for rate in each["rates"].values()),
                f"{each['permuted']:.0%}",
                "" if each["passed"] else "TOO MANY",
            ]
            for each in found
        ],
    )


# --- where the law ends ---------------------------------------------------------------------------
#: Bounds between which rates are averaged, of the rows that carry both sides at once.
SHARED = (0.0, 0.1, 0.3, 0.6, 1.0, 2.0, 3.0, 5.0, 8.0, 15.0, np.inf)
SIDES: dict[str, Draw] = {
    "normal": lambda rng, m: rng.normal(size=m),
    "exponential": HEAVY["exponential"],
    "t with 3": lambda rng, m: rng.standard_t(3, size=m),
    "log-normal": lambda rng, m: rng.lognormal(0.0, 1.0, m),
    "log-normal, sigma 2": HEAVY["log-normal, sigma 2"],
    "Cauchy": HEAVY["Cauchy"],
    "two values": lambda rng, m: (np.arange(m) < m // 2).astype(float),
}


def shared_rates(n_samples: int, cells: common.Cells) -> list[dict[str, Any]]:
    """Rejection rates of the law alone at 0.001, by the rows that carry both sides at once."""
    found = np.array(cells.of(_law_rates, n_samples))
    places = np.searchsorted(SHARED, found[:, 0], side="right")
    return [
        {
            "from": SHARED[place - 1],
            "n_pairs": int(np.sum(places == place)),
            "rate": float(found[places == place, 1].mean()),
        }
        for place in range(1, len(SHARED))
        if np.any(places == place)
    ]


def _law_rates(n_samples: int, n_jobs: int) -> list[tuple[float, float]]:
    names = list(SIDES)
    settings = [
        (kernel, x, y, m, index)
        for kernel in ("linear", "distance")
        for place, x in enumerate(names[:-1])
        for y in names[place:]
        for m in (30, 100, 300)
        for index in range(n_samples)
    ]
    rates = Parallel(n_jobs=n_jobs)(delayed(_law_rate)(*each) for each in settings)
    return [each for each in rates if each is not None]


def _law_rate(kernel: str, x: str, y: str, m: int, index: int) -> tuple[float, float] | None:
    rng = np.random.default_rng([25, m, index])
    sides = read_pair(SIDES[x](rng, m), SIDES[y](rng, m), kernel, kernel)
    law = permutation_law(spread(sides[0]), spread(sides[1]), m)
    if law.skewness > SKEWEST:
        return None
    observed, permuted = permuted_statistics(*sides, 4000, rng)
    values = permuted + (terms(*sides, unbiased=True).hsic() - observed)
    far = values[values > law.scale]
    return law.n_shared, sum(law.sf(float(value)) <= 0.001 for value in far) / len(values)


def show_shared(found: list[dict[str, Any]]) -> None:
    print("\nThe law alone at 0.001, by rows that carry both sides at once")
    rows = [[each["from"], each["n_pairs"], f"{each['rate']:.4f}"] for each in found]
    common.table(["from", "pairs", "rate"], rows)


# --- weights of classes ---------------------------------------------------------------------------
def class_weight_rates(n_draws: int, cells: common.Cells) -> list[dict[str, Any]]:
    """Rejection rates at 0.05 with balanced weights of two classes, one of them rare."""
    return [cells.of(_weighted, n_rare, m, n_draws) for n_rare, m in ((8, 40), (4, 40), (10, 100))]


def _weighted(n_rare: int, m: int, n_draws: int, n_jobs: int) -> dict[str, Any]:
    pvalues = Parallel(n_jobs=n_jobs)(
        delayed(_with_class_weights)(n_rare, m, index) for index in range(n_draws)
    )
    names = ("aggregate", "permutation", "screen")
    rates = dict(zip(names, np.mean(np.array(pvalues) <= 0.05, axis=0).tolist(), strict=True))
    return {
        "n_rare": n_rare,
        "m": m,
        "n_draws": n_draws,
        "rates": rates,
        "passed": max(rates.values()) <= ALLOWED[0.05],
    }


def _with_class_weights(n_rare: int, m: int, index: int) -> list[float]:
    rng = np.random.default_rng([22, m, n_rare, index])
    x, y = rng.normal(size=m), (np.arange(m) < n_rare).astype(int)
    weights = compute_sample_weight("balanced", y)
    found = [
        hsic_test(
            x, y, method=method, n_permutations=199, random_state=index, sample_weight=weights
        ).pvalue
        for method in ("aggregate", "permutation")
    ]
    return [*found, float(screen(x[:, np.newaxis], y, sample_weight=weights).pvalues[0])]


def show_class_weights(found: list[dict[str, Any]]) -> None:
    print(f"\nRejected at 0.05 with weights of classes, {found[0]['n_draws']} draws")
    common.table(
        ["rare class", "m", *found[0]["rates"], ""],
        [
            [
                each["n_rare"],
                each["m"],
                *(f"{rate:.3f}" for rate in each["rates"].values()),
                "" if each["passed"] else "TOO MANY",
            ]
            for each in found
        ],
    )


# --- intervals of rare classes --------------------------------------------------------------------
def rare_coverage(n_draws: int, cells: common.Cells) -> list[dict[str, Any]]:
    """Coverage of the interval of a rare class: of all draws, and of those that are reliable."""
    return [
        cells.of(_rare_covered, kernel, share, m, n_draws)
        for kernel in ("auto", "delta")
        for share in (0.02, 0.05, 0.1)
        for m in (30, 100, 300)
    ]


def _rare_covered(kernel: str, share: float, m: int, n_draws: int, n_jobs: int) -> dict[str, Any]:
    rng = np.random.default_rng([23, int(1000 * share)])
    kernels = {"kernel": Gaussian(1.0), "target_kernel": kernel}
    truth = float(np.mean([hsic(*_shifted(rng, share, 2000), **kernels) for _ in range(20)]))
    found = np.array(
        Parallel(n_jobs=n_jobs)(
            delayed(_interval)(kernels, share, m, index, truth) for index in range(n_draws)
        )
    )
    reliable = found[found[:, 1] == 1.0, 0]
    return {
        "kernel": kernel,
        "share": share,
        "m": m,
        "n_draws": n_draws,
        "coverage": float(found[:, 0].mean()),
        "reliable": float(found[:, 1].mean()),
        "coverage_of_reliable": float(reliable.mean()) if len(reliable) else None,
    }


def _shifted(rng: np.random.Generator, share: float, m: int) -> tuple[np.ndarray, np.ndarray]:
    """A rare class whose numbers are larger, drawn again until both classes occur."""
    y = rng.random(m) < share
    while y.all() or not y.any():
        y = rng.random(m) < share
    return rng.normal(size=m) + 1.5 * y, y


def _interval(
    kernels: dict[str, Any], share: float, m: int, index: int, truth: float
) -> tuple[float, float]:
    x, y = _shifted(np.random.default_rng([24, m, index]), share, m)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the rare class, which is counted instead
        interval = hsic_interval(x, y, **kernels)
    return float(interval.low <= truth <= interval.high), float(interval.reliable)


def show_rare_coverage(found: list[dict[str, Any]]) -> None:
    print(f"\nCoverage of the interval of a rare class, {found[0]['n_draws']} draws")
    common.table(
        ["kernel of y", "share", "m", "all", "reliable", "covered of reliable"],
        [
            [
                each["kernel"],
                f"{each['share']:.0%}",
                each["m"],
                f"{each['coverage']:.3f}",
                f"{each['reliable']:.0%}",
                ""
                if each["coverage_of_reliable"] is None
                else f"{each['coverage_of_reliable']:.3f}",
            ]
            for each in found
        ],
    )
