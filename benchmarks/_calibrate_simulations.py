"""Power on hyppo's own twenty simulations, beside hyppo's tests, and the level of the aggregate.

The kernels and the rule of ``method="aggregate"`` were chosen on the simulations in ``CHOSEN_ON``,
with other seeds, and on weaker shapes of our own; the others took no part in any choice. hyppo's
tests are judged as hyppo itself does it: their critical value is the 95 % quantile of one permuted
statistic per draw. Those of depmax by their own p-values. A shape on which the aggregate lies too
far below the best of so few draws is judged by five times as many new ones.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import common
import numpy as np
from joblib import Parallel, delayed

from depmax import hsic_test

N_ROWS, LEVEL, N_PERMUTATIONS = 100, 0.05, 199
#: Seed of the draws that are reported; those of the choice began with 1.
SEED = 2
INDEPENDENT = "multimodal_independence"
CHOSEN_ON = (
    "square",
    "linear",
    "cubic",
    "step",
    "w_shaped",
    "uncorrelated_bernoulli",
    "fourth_root",
    "sin_sixteen_pi",
    "two_parabolas",
    "ellipse",
    "multiplicative_noise",
)
#: Simulations whose noise cannot be switched.
FIXED = ("multiplicative_noise", INDEPENDENT)
OURS: dict[str, dict[str, Any]] = {
    "aggregate": {"method": "aggregate"},
    "Gaussian": {"method": "permutation"},
    "Laplace": {"method": "permutation", "kernel": "laplace", "target_kernel": "laplace"},
}
PEERS = ("MGC", "Dcorr", "Hsic")
#: The aggregate may lie this much below the best test on a shape, and must lie above MGC's mean.
BELOW_BEST, ABOVE_MGC = 0.10, 0.01
#: A second look: times the draws of the first, from seeds of their own.
TIMES_AGAIN, SEEDS_AGAIN = 5, 100


def draw(name: str, number: int, index: int) -> tuple[np.ndarray, np.ndarray]:
    """One sample of a simulation; hyppo draws from numpy's global state."""
    from hyppo.tools.indep_sim import indep_sim

    np.random.seed([SEED, number, index])  # noqa: NPY002  (hyppo's only source of randomness)
    options = {} if name in FIXED else {"noise": True}
    x, y = indep_sim(name, N_ROWS, 1, **options)
    return x, y


def simulations(n_draws: int, cells: common.Cells) -> list[dict[str, Any]]:
    """Power of every test on every simulation, and means over all and over those not chosen on."""
    from hyppo.tools.indep_sim import SIMULATIONS

    found = []
    for number, name in enumerate(SIMULATIONS):
        power = _powers(name, number, n_draws, cells)
        judged: dict[str, Any] = {"n_draws": n_draws, "power": power}
        if name != INDEPENDENT and not _is_near_best(power):
            many = TIMES_AGAIN * n_draws
            again = _powers(name, number + SEEDS_AGAIN, many, cells)
            judged |= {"again": again, "n_draws_again": many}
        passed = name == INDEPENDENT or _is_near_best(judged.get("again", power))
        chosen = {"simulation": name, "chosen_on": name in CHOSEN_ON}
        found.append({**chosen, **judged, "passed": passed})
    dependent = [each for each in found if each["simulation"] != INDEPENDENT]
    for label, kept in (
        ("mean of 19", dependent),
        ("mean of those not chosen on", [each for each in dependent if not each["chosen_on"]]),
    ):
        powers = [each["power"] for each in kept]
        means = {name: float(np.mean([power[name] for power in powers])) for name in powers[0]}
        passed = means["aggregate"] >= means["MGC"] + ABOVE_MGC
        found.append(
            {
                "simulation": label,
                "n_draws": n_draws,
                "chosen_on": False,
                "power": means,
                "passed": passed,
            }
        )
    return found


def _powers(name: str, seed: int, n_draws: int, cells: common.Cells) -> dict[str, float]:
    """Power of every test on the same draws of one simulation."""
    ours = [cells.of(_our_power, name, seed, test, n_draws) for test in OURS]
    peers = cells.of(_power_of_peers, name, seed, n_draws)
    return {**dict(zip(OURS, ours, strict=True)), **peers}


def _is_near_best(power: dict[str, float]) -> bool:
    return power["aggregate"] >= max(power.values()) - BELOW_BEST


def _our_power(name: str, number: int, test: str, n_draws: int, n_jobs: int) -> float:
    """Share of draws in which one of our tests rejects."""
    pvalues = Parallel(n_jobs=n_jobs)(
        delayed(_our_pvalue)(name, number, test, index) for index in range(n_draws)
    )
    return float(np.mean(np.array(pvalues) <= LEVEL))


def _our_pvalue(name: str, number: int, test: str, index: int) -> float:
    x, y = draw(name, number, index)
    settings = {"n_permutations": N_PERMUTATIONS, "random_state": index}
    return float(hsic_test(x, y[:, 0], **settings, **OURS[test]).pvalue)


def _power_of_peers(name: str, number: int, n_draws: int, n_jobs: int) -> dict[str, float]:
    """Share of draws in which each of hyppo's tests exceeds its critical value."""
    draws = Parallel(n_jobs=n_jobs)(
        delayed(_statistics_of_peers)(name, number, index) for index in range(n_draws)
    )
    observed, permuted = np.array(draws).transpose(1, 0, 2)
    critical = np.quantile(permuted, 1 - LEVEL, axis=0, method="higher")
    return dict(zip(PEERS, np.mean(observed > critical, axis=0).tolist(), strict=True))


def _statistics_of_peers(name: str, number: int, index: int) -> list[list[float]]:
    """Statistics as observed and permuted once."""
    from hyppo import independence

    x, y = draw(name, number, index)
    order = np.random.default_rng([SEED, number, index]).permutation(N_ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # hyppo's own
        peers = [getattr(independence, peer)().statistic for peer in PEERS]
        return [
            [statistic(x, y) for statistic in peers],
            [statistic(x, y[order]) for statistic in peers],
        ]


# --- level ------------------------------------------------------------------------------------
Draw = Callable[[np.random.Generator], tuple[Any, Any]]
#: Independent pairs; the rate of rejections at 0.05 must lie in ``ALLOWED``.
NULLS: dict[str, Draw] = {
    "normal, normal, 50 rows": lambda rng: (rng.normal(size=50), rng.normal(size=50)),
    "normal, normal, 30 rows": lambda rng: (rng.normal(size=30), rng.normal(size=30)),
    "5 columns, two classes, 60 rows": lambda rng: (
        rng.normal(size=(60, 5)),
        rng.permutation(np.arange(60) % 2),
    ),
    "heavy tails, 3 outputs, 60 rows": lambda rng: (
        rng.standard_t(2, size=60),
        rng.exponential(size=(60, 3)),
    ),
}
ALLOWED = (0.04, 0.06)


def aggregate_levels(n_draws: int, n_jobs: int) -> list[dict[str, Any]]:
    """Rejections of the aggregate under independence."""
    found = []
    for number, name in enumerate(NULLS):
        seeds = np.random.SeedSequence([SEED, 100 + number]).spawn(n_draws)
        chunks = Parallel(n_jobs=n_jobs)(
            delayed(_level_pvalues)(name, seeds[start::20]) for start in range(20)
        )
        rate = float(np.mean(np.concatenate(chunks) <= LEVEL))
        passed = ALLOWED[0] <= rate <= ALLOWED[1]
        found.append({"setting": name, "n_draws": n_draws, "rate": rate, "passed": passed})
    return found


def _level_pvalues(name: str, seeds: list[np.random.SeedSequence]) -> np.ndarray:
    pvalues = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        x, y = NULLS[name](rng)
        state = int(rng.integers(2**31))
        pvalues.append(hsic_test(x, y, n_permutations=99, random_state=state).pvalue)
    return np.array(pvalues)


# --- time -------------------------------------------------------------------------------------
def times(few: int = 10, count: int = 1000) -> dict[str, float]:
    """Seconds of the aggregate and of MGC, scaled from few permutations, with 500 rows."""
    from hyppo.independence import MGC

    rng = np.random.default_rng(SEED)
    x, y = rng.normal(size=(2, 500, 1))
    ours = common.best_seconds(lambda: hsic_test(x, y[:, 0], n_permutations=count, random_state=0))
    statistic = MGC().statistic
    statistic(x, y)
    start = time.perf_counter()
    for _ in range(few):
        statistic(x, y)
    theirs = (time.perf_counter() - start) / few * (count + 1)
    return {"aggregate": ours, "MGC": theirs, "factor": theirs / ours}


# --- output -----------------------------------------------------------------------------------
def show_simulations(found: list[dict[str, Any]]) -> None:
    print(f"\nPower at level {LEVEL}, {N_ROWS} rows, {found[0]['n_draws']} draws")
    rows = []
    for each in found:
        mark = "*" if each["chosen_on"] else ""
        shares = [f"{share:.3f}" for share in each["power"].values()]
        verdict = "" if each["passed"] else "BELOW"
        rows.append([each["simulation"] + mark, *shares, "" if "again" in each else verdict])
        if "again" in each:
            shares = [f"{share:.3f}" for share in each["again"].values()]
            rows.append([f"  {each['n_draws_again']} new draws", *shares, verdict])
    common.table(["simulation", *OURS, *PEERS, ""], rows)
    print("* the kernels were chosen on other draws of these")
    print({name: round(value, 3) for name, value in times().items()})


def show_levels(found: list[dict[str, Any]]) -> None:
    print(f"\nRejections of the aggregate at {LEVEL}, {found[0]['n_draws']} independent draws")
    rows = [
        [each["setting"], f"{each['rate']:.4f}", "" if each["passed"] else "OUTSIDE"]
        for each in found
    ]
    common.table(["setting", "p <= 0.05", ""], rows)
