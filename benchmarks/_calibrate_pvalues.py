"""Are the p-values of the independence test right? Independent samples, many times over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import common
import numpy as np
from joblib import Parallel, delayed
from scipy import stats

from depmax import hsic_test
from depmax.dependence._nulls.law import permutation_law, spread
from depmax.dependence._nulls.permutation import permuted_statistics
from depmax.dependence._terms import terms
from depmax.dependence.resolve import read_pair

LEVELS = (0.05, 0.01, 0.001)
#: Where the rejection rate at level 0.05 must lie.
ALLOWED = (0.035, 0.065)
#: Below this the Kolmogorov-Smirnov test says that p-values are not uniform.
KS_LEVEL = 0.01
N_PERMUTATIONS = 199

Draw = Callable[[np.random.Generator, int], Any]


@dataclass(frozen=True)
class Pair:
    """How X and Y are drawn, independently, and what they are compared with."""

    draw_x: Draw
    draw_y: Draw
    kernel: str = "gaussian"
    target_kernel: str = "auto"

    def sample(self, rng: np.random.Generator, m: int) -> tuple[Any, Any]:
        """X and Y of m rows; Y has at least two values."""
        X, Y = self.draw_x(rng, m), self.draw_y(rng, m)
        while len(np.unique(Y)) < 2:
            Y = self.draw_y(rng, m)
        return X, Y


def normal(rng: np.random.Generator, m: int) -> np.ndarray:
    return rng.normal(size=m)


def normal10(rng: np.random.Generator, m: int) -> np.ndarray:
    return rng.normal(size=(m, 10))


def heavy(rng: np.random.Generator, m: int) -> np.ndarray:
    return rng.standard_t(3, size=m)


def skewed(rng: np.random.Generator, m: int) -> np.ndarray:
    return rng.exponential(size=m)


def classes(rng: np.random.Generator, m: int) -> np.ndarray:
    return rng.integers(0, 2, m)


def rare_class(rng: np.random.Generator, m: int) -> np.ndarray:
    return (rng.random(m) < 0.1).astype(int)


def five_classes(rng: np.random.Generator, m: int) -> np.ndarray:
    return rng.integers(0, 5, m)


PAIRS = {
    "Gaussian, Gaussian": Pair(normal, normal),
    "Gaussian, Gaussian, 10 columns": Pair(normal10, normal10),
    "Gaussian, two classes": Pair(normal, classes),
    "Gaussian, rare class": Pair(normal, rare_class),
    "Gaussian, five classes": Pair(normal10, five_classes),
    "Laplace, Gaussian, heavy tails": Pair(heavy, heavy, "laplace", "gaussian"),
    "linear, linear, skewed": Pair(skewed, skewed, "linear", "linear"),
    "distance, distance": Pair(normal10, skewed, "distance", "distance"),
}


# --- permutation p-values are uniform ---------------------------------------------------------
UNIFORM = (
    ("Gaussian, Gaussian", 50),
    ("Gaussian, two classes", 50),
    ("Gaussian, Gaussian", 300),
)


def permutation_pvalues(n_draws: int, n_jobs: int) -> list[dict[str, Any]]:
    """Kolmogorov-Smirnov test of smoothed permutation p-values on independent draws.

    A p-value (1 + b) / (1 + B) stands for a step of width 1 / (1 + B); a uniform draw within the
    step is uniform on [0, 1] exactly when the test is exact. The analytic test runs on the same
    draws.
    """
    found = []
    for number, (name, m) in enumerate(UNIFORM):
        seeds = np.random.SeedSequence([1, number]).spawn(n_draws)
        chunks = Parallel(n_jobs=n_jobs)(
            delayed(_two_pvalues)(PAIRS[name], m, seeds[start::20]) for start in range(20)
        )
        permutation, analytic, smooth = np.concatenate(chunks).T
        smoothed = permutation - smooth / (1 + N_PERMUTATIONS)
        ks = stats.kstest(smoothed, "uniform")
        found.append(
            {
                "setting": name,
                "m": m,
                "n_draws": n_draws,
                "n_permutations": N_PERMUTATIONS,
                "ks_statistic": float(ks.statistic),
                "ks_pvalue": float(ks.pvalue),
                "rejected_permutation": float(np.mean(permutation <= 0.05)),
                "rejected_analytic": float(np.mean(analytic <= 0.05)),
                "passed": bool(ks.pvalue > KS_LEVEL),
            }
        )
    return found


def _two_pvalues(pair: Pair, m: int, seeds: list[np.random.SeedSequence]) -> np.ndarray:
    """Permutation and analytic p-values and a uniform number, one row per seed."""
    rows = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X, Y = pair.sample(rng, m)
        kernels = {"kernel": pair.kernel, "target_kernel": pair.target_kernel}
        state = int(rng.integers(2**31))
        test = hsic_test(
            X,
            Y,
            method="permutation",
            n_permutations=N_PERMUTATIONS,
            random_state=state,
            **kernels,
        )
        analytic = hsic_test(X, Y, method="gamma", **kernels)
        rows.append((test.pvalue, analytic.pvalue, rng.random()))
    return np.array(rows)


# --- analytic p-values reject as often as they say --------------------------------------------
#: Samples, and permutations of each, for every number of rows: 20,000 statistics together.
PLAN = {20: (1000, 20), 50: (1000, 20), 200: (200, 100), 1000: (40, 500), 2000: (20, 1000)}


def analytic_rates(shrink: int, n_jobs: int) -> list[dict[str, Any]]:
    """Rejection rates of the analytic test at three levels.

    Random permutations of the rows of Y are independent draws with the same margins, for which the
    test's law is the same; so the law of a sample is computed once and serves many statistics.
    """
    found = []
    for number, (name, pair) in enumerate(PAIRS.items()):
        for m, (n_samples, count) in PLAN.items():
            samples = max(4, n_samples // shrink)
            seeds = np.random.SeedSequence([2, number, m]).spawn(samples)
            chunk = max(1, samples // 20)
            chunks = Parallel(n_jobs=n_jobs)(
                delayed(_rates_of_samples)(pair, m, count, seeds[start : start + chunk])
                for start in range(0, samples, chunk)
            )
            rates = np.concatenate(chunks)  # one row per sample, one column per level
            mean, error = rates.mean(axis=0), rates.std(axis=0, ddof=1) / np.sqrt(samples)
            found.append(
                {
                    "setting": name,
                    "m": m,
                    "n_draws": samples * count,
                    "rates": dict(zip(map(str, LEVELS), mean.tolist(), strict=True)),
                    "errors": dict(zip(map(str, LEVELS), error.tolist(), strict=True)),
                    "passed": bool(ALLOWED[0] <= mean[0] <= ALLOWED[1]),
                }
            )
    return found


def _rates_of_samples(
    pair: Pair, m: int, count: int, seeds: list[np.random.SeedSequence]
) -> np.ndarray:
    """Parts of the permutations rejected at every level, one row per sample."""
    rows = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        x, y = read_pair(*pair.sample(rng, m), pair.kernel, pair.target_kernel)
        law = permutation_law(spread(x), spread(y), m)
        observed, permuted = permuted_statistics(x, y, count, rng)
        # both leave out the same constant, which the statistic itself has
        values = permuted + (terms(x, y, unbiased=True).hsic() - observed)
        far = values[values > 0.5 * law.scale]  # others are far from any level
        pvalues = np.array([law.sf(value) for value in far])
        rows.append([np.sum(pvalues <= level) / count for level in LEVELS])
    return np.array(rows)


# --- output -----------------------------------------------------------------------------------
def show_permutation(found: list[dict[str, Any]]) -> None:
    print(f"\nPermutation p-values of {found[0]['n_draws']} independent draws")
    head = ["setting", "m", "KS", "its p-value", "p <= 0.05", "analytic p <= 0.05", ""]
    common.table(
        head,
        [
            [
                each["setting"],
                each["m"],
                f"{each['ks_statistic']:.4f}",
                f"{each['ks_pvalue']:.3f}",
                f"{each['rejected_permutation']:.4f}",
                f"{each['rejected_analytic']:.4f}",
                "" if each["passed"] else "NOT UNIFORM",
            ]
            for each in found
        ],
    )


def show_analytic(found: list[dict[str, Any]]) -> None:
    print("\nRejection rates of the analytic test, each with its standard error")
    head = ["setting", "m", "draws", *(f"at {level:g}" for level in LEVELS), ""]
    rows = []
    for each in found:
        cells = [
            f"{rate:.5f} ± {each['errors'][level]:.5f}" for level, rate in each["rates"].items()
        ]
        verdict = "" if each["passed"] else "OUTSIDE"
        rows.append([each["setting"], each["m"], each["n_draws"], *cells, verdict])
    common.table(head, rows)
