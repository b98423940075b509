"""Do the tests keep what they promise? p-values, false discoveries, ties and power, by simulation.

Writes benchmarks/results/calibration.json and docs/images/power.png. It takes about ten minutes on
two cores; with ``--only`` the other parts keep their earlier results.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import _calibrate_compare as comparing
import _calibrate_given as given
import _calibrate_groups as groups
import _calibrate_interval as intervals
import _calibrate_knockoffs as knockoffs
import _calibrate_power as shapes
import _calibrate_pvalues as pvalues
import _calibrate_screen as screening
import _calibrate_simulations as simulated
import common

Found = list[dict[str, Any]]
#: What each part computes, from a divisor of the draws and a number of processes, and its table.
PARTS: dict[str, tuple[Callable[[int, int], Found], Callable[[Found], None]]] = {
    "permutation": (
        lambda shrink, jobs: pvalues.permutation_pvalues(2000 // shrink, jobs),
        pvalues.show_permutation,
    ),
    "analytic": (pvalues.analytic_rates, pvalues.show_analytic),
    "discoveries": (
        lambda shrink, jobs: screening.discovery_rates(200 // shrink, jobs),
        screening.show,
    ),
    "groups": (lambda shrink, jobs: groups.group_rates(400 // shrink, jobs), groups.show_groups),
    "pairs": (lambda shrink, jobs: groups.pair_rates(50 // shrink, jobs), groups.show_pairs),
    "noise": (lambda shrink, jobs: groups.noise_rates(100 // shrink, jobs), groups.show_noise),
    "ties": (lambda shrink, jobs: comparing.tie_rates(2000 // shrink, jobs), comparing.show),
    "given": (lambda shrink, jobs: given.levels(60 // shrink, jobs), given.show),
    "knockoffs": (lambda shrink, jobs: knockoffs.rates(100 // shrink, jobs), knockoffs.show),
    "power": (lambda shrink, jobs: shapes.power(200 // shrink, jobs), shapes.show),
    "simulations": (
        lambda shrink, jobs: simulated.simulations(200 // shrink, jobs),
        simulated.show_simulations,
    ),
    "interval": (lambda shrink, jobs: intervals.coverage(500 // shrink, jobs), intervals.show),
    "aggregate": (
        lambda shrink, jobs: simulated.aggregate_levels(2000 // shrink, jobs),
        simulated.show_levels,
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the draws, nothing saved")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    parser.add_argument("--jobs", type=int, default=min(2, common.N_CORES), help="processes")
    options = parser.parse_args()
    results = {}
    for name in options.only:
        compute, show = PARTS[name]
        start = time.perf_counter()
        results[name] = compute(10 if options.quick else 1, options.jobs)
        show(results[name])
        print(f"({common.duration(time.perf_counter() - start)})", flush=True)
    judged = [each for part in results.values() for each in part if "passed" in each]
    n_failed = sum(not each["passed"] for each in judged)
    if judged:
        print(f"\n{n_failed} of {len(judged)} settings miss their bar")
    if options.quick:
        return 0
    earlier = common.load("calibration") or {}
    common.save("calibration", {**earlier, **results, **common.facts("dcor", "hyppo")})
    if "power" in results:
        shapes.plot(results["power"])
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
