"""Do the tests keep what they promise? p-values, false discoveries and power, by simulation.

Writes benchmarks/results/calibration.json and docs/images/power.png; with ``--only`` the other
parts keep their earlier results. Settings are written to calibration.cells.jsonl as they come, and
``--resume`` goes on after the last of them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import _calibrate_corners as corners
import _calibrate_given as given
import _calibrate_groups as groups
import _calibrate_interval as intervals
import _calibrate_knockoffs as knockoffs
import _calibrate_pilots as pilots
import _calibrate_power as shapes
import _calibrate_pvalues as pvalues
import _calibrate_screen as screening
import _calibrate_series as series
import _calibrate_simulations as simulated
import common

Found = list[dict[str, Any]]


@dataclass(frozen=True)
class Run:
    """How much of a part is computed, and with what."""

    cells: common.Cells
    shrink: int = 1  # divisor of the number of draws

    @property
    def jobs(self) -> int:
        """Processes."""
        return self.cells.n_jobs

    def draws(self, count: int) -> int:
        """So many draws in a whole run."""
        return min(count, max(20, count // self.shrink))


#: What each part computes, and its table.
PARTS: dict[str, tuple[Callable[[Run], Found], Callable[[Found], None]]] = {
    "permutation": (
        lambda run: pvalues.permutation_pvalues(run.draws(2000), run.jobs),
        pvalues.show_permutation,
    ),
    "analytic": (lambda run: pvalues.analytic_rates(run.shrink, run.jobs), pvalues.show_analytic),
    "discoveries": (
        lambda run: screening.discovery_rates(run.draws(200), run.jobs),
        screening.show,
    ),
    "rare": (lambda run: screening.rare_rates(run.draws(40), run.cells), screening.show_rare),
    "maximize": (
        lambda run: screening.maximize_rates(run.draws(200), run.cells),
        screening.show_maximize,
    ),
    "joint": (lambda run: screening.joint_rates(run.draws(1000), run.cells), screening.show_joint),
    "groups": (lambda run: groups.group_rates(run.draws(200), run.cells), groups.show_groups),
    "series": (lambda run: series.levels(run.draws(200), run.cells), series.show),
    "pairs": (lambda run: groups.pair_rates(run.draws(100), run.cells), groups.show_pairs),
    "noise": (lambda run: groups.noise_rates(run.draws(200), run.cells), groups.show_noise),
    "given": (lambda run: given.levels(run.draws(60), run.jobs), given.show),
    "knockoffs": (lambda run: knockoffs.rates(run.draws(100), run.cells), knockoffs.show),
    "scales": (
        lambda run: knockoffs.scale_rates(run.draws(100), run.cells),
        knockoffs.show_scales,
    ),
    "pilots": (lambda run: pilots.rates(run.draws(300), run.cells), pilots.show),
    "power": (lambda run: shapes.power(run.draws(200), run.jobs), shapes.show),
    "simulations": (
        lambda run: simulated.simulations(run.draws(200), run.cells),
        simulated.show_simulations,
    ),
    "interval": (lambda run: intervals.coverage(run.draws(500), run.cells), intervals.show),
    "heavy": (lambda run: corners.heavy_rates(run.draws(500), run.cells), corners.show_heavy),
    "shared": (lambda run: corners.shared_rates(run.draws(4), run.cells), corners.show_shared),
    "class_weights": (
        lambda run: corners.class_weight_rates(run.draws(300), run.cells),
        corners.show_class_weights,
    ),
    "rare_intervals": (
        lambda run: corners.rare_coverage(run.draws(300), run.cells),
        corners.show_rare_coverage,
    ),
    "aggregate": (
        lambda run: simulated.aggregate_levels(run.draws(2000), run.jobs),
        simulated.show_levels,
    ),
}


def main() -> int:
    parts = common.sized(list(PARTS), ["permutation", "discoveries", "joint"])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the draws, nothing saved")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=parts, metavar="PART")
    parser.add_argument("--jobs", type=int, default=min(2, common.N_CORES), help="processes")
    parser.add_argument("--resume", action="store_true", help="keep settings of an earlier run")
    options = common.parse(parser)
    small = options.quick or options.smoke
    name = None if small else "calibration"
    cells = common.Cells(name, options.jobs)
    if options.resume:
        cells = common.Cells.resumed("calibration", options.jobs)
    run = Run(cells, 1000 if options.smoke else 10 if options.quick else 1)
    results = {}
    for part in options.only:
        compute, show = PARTS[part]
        start = time.perf_counter()
        results[part] = compute(run)
        show(results[part])
        print(f"({common.duration(time.perf_counter() - start)})", flush=True)
    judged = [each for found in results.values() for each in found if "passed" in each]
    n_failed = sum(not each["passed"] for each in judged)
    if judged:
        print(f"\n{n_failed} of {len(judged)} settings miss their bar")
    if small:
        return 0
    earlier = common.load("calibration") or {}
    facts = common.facts("dcor", "hyppo")
    known = {name: each for name, each in facts["versions"].items() if each != "not installed"}
    facts["versions"] = {**earlier.get("versions", {}), **known}
    common.save("calibration", {**earlier, **results, **facts})
    if "power" in results:
        shapes.plot(results["power"])
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
