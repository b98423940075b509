"""Time and memory of the independence test, beside dcor and hyppo on the same samples.

Both sides have ten columns, the kernels are Gaussian, there are 200 permutations. The answers are
compared first: the statistics to rounding, the decisions on a dependent and on an independent
sample. A peer whose run would be too long is timed with a few permutations and scaled; the output
says so.

The limit counts what cannot be left out at the speed of this machine: one exponential per pair of
rows and side, the matrix products behind the distances and, for permutations, the operations of the
Fourier transforms at the speed of a matrix product.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from typing import Any

import common
import numpy as np
from joblib import parallel_config

from depmax import hsic, hsic_test
from depmax.kernels import Distance, Gaussian
from depmax.kernels.distances import median_distance

common.require("dcor", "hyppo")
import dcor  # noqa: E402  (after it is known to be there)
from hyppo.independence import Hsic  # noqa: E402  (after it is known to be there)

N_COLUMNS = 10
N_PERMUTATIONS = 200
#: Longest full run of a peer, in seconds; beyond, it is scaled.
PEER_BUDGET = 30.0

Sample = tuple[np.ndarray, np.ndarray]


def sample(n: int, dependent: bool) -> Sample:
    """X and Y of ten columns; three of Y follow three of X, or none does."""
    rng = np.random.default_rng(n)
    X, Y = rng.normal(size=(n, N_COLUMNS)), rng.normal(size=(n, N_COLUMNS))
    if dependent:
        Y[:, :3] += X[:, :3]
    return X, Y


# --- the contenders -------------------------------------------------------------------------------
def depmax_permutations(X: np.ndarray, Y: np.ndarray, kernel: Any = "gaussian") -> float:
    test = hsic_test(
        X,
        Y,
        kernel=kernel,
        target_kernel=kernel,
        n_permutations=N_PERMUTATIONS,
        n_jobs=common.N_CORES,
        random_state=0,
    )
    return test.pvalue


def dcor_permutations(X: np.ndarray, Y: np.ndarray, count: int, n_jobs: int = 1) -> float:
    with parallel_config(backend="threading"):  # with processes it is slower than with one job
        return dcor.independence.distance_covariance_test(
            X, Y, num_resamples=count, random_state=0, n_jobs=n_jobs
        ).pvalue


def hyppo_permutations(X: np.ndarray, Y: np.ndarray, count: int, workers: int = 1) -> float:
    return float(Hsic().test(X, Y, reps=count, workers=workers, auto=False).pvalue)


def depmax_gamma(X: np.ndarray, Y: np.ndarray) -> float:
    return hsic_test(X, Y, method="gamma", n_jobs=common.N_CORES).pvalue


def hyppo_chi_square(X: np.ndarray, Y: np.ndarray) -> float:
    return float(Hsic().test(X, Y, auto=True).pvalue)


# --- the same answer ------------------------------------------------------------------------------
def check_answers(n: int) -> dict[str, Any]:
    """Statistics to rounding, then p-values of all contenders on both samples."""
    X, Y = sample(n, dependent=True)
    ours = hsic(X, Y, kernel=Distance(), target_kernel=Distance())
    theirs = float(dcor.u_distance_covariance_sqr(X, Y)) / 4
    assert math.isclose(ours, theirs, rel_tol=1e-9), (ours, theirs)
    width = median_distance(X)  # hyppo takes the bandwidth of X for both sides
    gaussian = {"kernel": Gaussian(width), "target_kernel": Gaussian(width)}
    norms = hsic(X, X, **gaussian) * hsic(Y, Y, **gaussian)
    ours = hsic(X, Y, **gaussian) / math.sqrt(norms)
    theirs = float(Hsic(gamma=0.5 / width**2).statistic(X, Y))
    assert math.isclose(ours, theirs, rel_tol=1e-9), (ours, theirs)
    pvalues = {}
    for name, dependent in (("dependent", True), ("independent", False)):
        X, Y = sample(n, dependent)
        pvalues[name] = {
            "depmax, permutations": depmax_permutations(X, Y),
            "depmax, analytic": depmax_gamma(X, Y),
            "dcor, permutations": dcor_permutations(X, Y, 50),
            "hyppo, permutations": hyppo_permutations(X, Y, 50),
            "hyppo, chi-square": hyppo_chi_square(X, Y),
        }
        assert all((p < 0.05) == dependent for p in pvalues[name].values()), pvalues[name]
    print(f"n = {n}: statistics agree to 9 digits, and all five tests on both samples:")
    rows = [[name, *(f"{p:.3g}" for p in values.values())] for name, values in pvalues.items()]
    common.table(["sample", *pvalues["dependent"]], rows)
    return pvalues


# --- time -----------------------------------------------------------------------------------------
def time_all(n: int, rates: dict[str, float], few: int) -> dict[str, Any]:
    """Seconds of every contender at n rows, and the fraction of the limit that depmax reaches."""
    X, Y = sample(n, dependent=False)
    limits = {"permutations": limit(n, rates, fourier=True), "analytic": limit(n, rates)}
    seconds = {
        "depmax, permutations": common.best_seconds(lambda: depmax_permutations(X, Y)),
        "depmax, permutations, distance kernel": common.best_seconds(
            lambda: depmax_permutations(X, Y, "distance")
        ),
        "depmax, analytic": common.best_seconds(lambda: depmax_gamma(X, Y)),
        "hyppo, chi-square": common.best_seconds(lambda: hyppo_chi_square(X, Y)),
    }
    scaled = {}
    for name, call in (("dcor", dcor_permutations), ("hyppo", hyppo_permutations)):
        seconds[f"{name}, permutations"], scaled[name] = best_peer(call, X, Y, few)
    reached = {
        "permutations": limits["permutations"] / seconds["depmax, permutations"],
        "analytic": limits["analytic"] / seconds["depmax, analytic"],
    }
    print(f"\nn = {n}, {N_COLUMNS} columns each, {N_PERMUTATIONS} permutations")
    rows = []
    for name, taken in seconds.items():
        kind = "permutations" if "permutations" in name else "analytic"
        ratio = taken / seconds[f"depmax, {kind}"]
        note = "scaled" if scaled.get(name.split(",")[0]) and kind == "permutations" else ""
        rows.append([name, common.duration(taken), f"{ratio:.3g}", note])
    common.table(["", "time", "times depmax", ""], rows)
    for kind, share in reached.items():
        print(f"limit, {kind}: {common.duration(limits[kind])}, depmax reaches {share:.0%} of it")
    return {"seconds": seconds, "scaled": scaled, "limit": limits, "fraction": reached}


def best_peer(
    call: Callable[..., float], X: np.ndarray, Y: np.ndarray, few: int
) -> tuple[float, bool]:
    """A peer's permutation test with one worker or with all cores, whichever is faster."""
    trial = {
        jobs: common.best_seconds(lambda jobs=jobs: call(X, Y, 2 * few, jobs), repeats=1)
        for jobs in {1, common.N_CORES}
    }
    jobs = min(trial, key=trial.__getitem__)
    return common.scaled_seconds(
        lambda count: call(X, Y, count, jobs), N_PERMUTATIONS, few, PEER_BUDGET
    )


def limit(n: int, rates: dict[str, float], fourier: bool = False) -> float:
    """Seconds for the work that cannot be left out."""
    pairs = 2 * n * (n - 1) / 2  # of both sides
    flops = 2 * N_COLUMNS * pairs
    if fourier:  # n/2 diagonals of either side, 2.5 n log2 n operations for each
        flops += 2 * (n / 2) * 2.5 * n * math.log2(n)
    cores = common.N_CORES
    return pairs / rates[f"exp_float64_{cores}"] + flops / rates[f"gemm_flops_{cores}"]


# --- memory ---------------------------------------------------------------------------------------
SETUP = """
import warnings
warnings.simplefilter("ignore")  # those of peers at import and use
import numpy as np
{imports}
rng = np.random.default_rng(0)
def test(X, Y):
    return {call}
test(rng.normal(size=(50, 10)), rng.normal(size=(50, 10)))
X, Y = rng.normal(size=({n}, 10)), rng.normal(size=({n}, 10))
"""


def memory(n: int) -> dict[str, dict[str, float]]:
    """Peak memory of the two analytic tests in processes of their own."""
    contenders = {
        "depmax, analytic": (
            "from depmax import hsic_test",
            f'hsic_test(X, Y, method="gamma", n_jobs={common.N_CORES}).pvalue',
        ),
        "hyppo, chi-square": (
            "from hyppo.independence import Hsic",
            "Hsic().test(X, Y, auto=True).pvalue",
        ),
    }
    found = {}
    for name, (imports, call) in contenders.items():
        setup = SETUP.format(imports=imports, call=call, n=n)
        found[name] = common.peak_memory(setup, "test(X, Y)")
    print(f"\nPeak memory of the analytic tests at n = {n}")
    common.table(
        ["", "process", "the call alone"],
        [
            [name, common.megabytes(peak["total"]), common.megabytes(peak["increment"])]
            for name, peak in found.items()
        ],
    )
    return found


def bars(timings: dict[int, Any], peaks: dict[str, dict[str, float]]) -> dict[str, Any]:
    """What the library promises, each with what was measured."""
    found = {}
    for n, timing in timings.items():
        seconds = timing["seconds"]
        ours, analytic = seconds["depmax, permutations"], seconds["depmax, analytic"]
        for peer, bar in (("dcor", 15), ("hyppo", 100)):
            ratio = seconds[f"{peer}, permutations"] / ours
            found[f"permutations against {peer}, n = {n}"] = common.at_least(ratio, bar, 2 * bar)
        ratio = seconds["hyppo, chi-square"] / analytic
        found[f"analytic against hyppo, n = {n}"] = common.at_least(ratio, 2, 4)
    for kind in ("total", "increment"):
        ratio = peaks["depmax, analytic"][kind] / peaks["hyppo, chi-square"][kind]
        found[f"memory against hyppo, {kind}"] = common.at_most(ratio, 0.5)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=common.sized([2000, 5000], [200]))
    parser.add_argument("--no-save", action="store_true", help="only print")
    options = common.parse(parser)
    warnings.simplefilter("ignore")  # hyppo warns that 200 permutations are few
    small = sample(60, dependent=True)
    hyppo_permutations(*small, 2, 1)  # compiles what hyppo compiles
    hyppo_permutations(*small, 2, common.N_CORES)
    hyppo_chi_square(*small)
    rates = common.machine()
    pvalues = check_answers(min(options.sizes))
    timings = {n: time_all(n, rates, few=2 if n > 3000 else 5) for n in options.sizes}
    peaks = memory(max(options.sizes))
    found = bars(timings, peaks)
    print()
    common.report_bars(found)
    if not options.no_save:
        results = {"rates": rates, "pvalues": pvalues, "sizes": timings, "memory": peaks}
        common.save("hsic_test", {**results, "bars": found}, "dcor", "hyppo")


if __name__ == "__main__":
    main()
