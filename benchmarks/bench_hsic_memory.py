"""Peak memory of HSIC, beside dcor and hyppo, and of a million rows through a map.

Every measurement runs in a process of its own: imports, data and a small call first, which are the
baseline, then one call. The limit of the exact statistic is one exponential per pair of rows and
side and the matrix products behind the distances, at the speed of this machine; that of the map is
its exponentials and matrix products.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import common

N_COLUMNS = 10
SETUP = """
import numpy as np
{imports}
rng = np.random.default_rng(0)
def draw(n):
    X = rng.normal(size=(n, 10))
    return X, X + rng.normal(size=(n, 10))
def measure(X, Y):
    return {call}
measure(*draw(200))
X, Y = draw({n})
"""
GAUSSIAN = "Gaussian(bandwidth=4.0)"
CONTENDERS = {
    "depmax": (
        "from depmax import hsic\nfrom depmax.kernels import Gaussian",
        f"hsic(X, Y, kernel={GAUSSIAN}, target_kernel={GAUSSIAN})",
    ),
    "depmax, distance kernel": (
        "from depmax import hsic",
        'hsic(X, Y, kernel="distance", target_kernel="distance")',
    ),
    "dcor": ("import dcor", "dcor.u_distance_covariance_sqr(X, Y)"),
    "hyppo": (
        "from hyppo.independence import Hsic",
        "Hsic(gamma=1 / 32).statistic(X, Y)",
    ),
}
MAP = (
    "from depmax import hsic\nfrom depmax.maps import NystroemMap",
    "hsic(X, Y, kernel=NystroemMap(100, random_state=0), "
    "target_kernel=NystroemMap(100, random_state=1))",
)


def peak(contender: tuple[str, str], n: int) -> dict[str, float]:
    """Memory, time and value of a contender at n rows."""
    imports, call = contender
    return common.peak_memory(SETUP.format(imports=imports, call=call, n=n), "measure(X, Y)")


def check_answers(n: int = 1500) -> None:
    """The same statistics where they are defined alike, on fewer rows."""
    values = {name: peak(contender, n)["value"] for name, contender in CONTENDERS.items()}
    assert math.isclose(4 * values["depmax, distance kernel"], values["dcor"], rel_tol=1e-9), values
    norms = 1.0
    imports, call = CONTENDERS["depmax"]
    for side in "XY":
        own = call.replace("hsic(X, Y", f"hsic({side}, {side}")
        norms *= peak((imports, own), n)["value"]
    ours = values["depmax"] / math.sqrt(norms)
    assert math.isclose(ours, values["hyppo"], rel_tol=1e-9), (ours, values)
    print(f"n = {n}: depmax has dcor's and hyppo's statistics to 9 digits")


def show(found: dict[str, dict[str, float]]) -> None:
    head = ["", "process", "the call alone", "time"]
    rows = [
        [
            name,
            common.megabytes(each["total"]),
            common.megabytes(each["increment"]),
            common.duration(each["seconds"]),
        ]
        for name, each in found.items()
    ]
    common.table(head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=common.sized(10_000, 1000))
    parser.add_argument("--map-rows", type=int, default=common.sized(1_000_000, 5000))
    parser.add_argument("--no-save", action="store_true", help="only print")
    options = common.parse(parser)
    common.require("dcor", "hyppo")
    rates = common.machine()
    cores = common.N_CORES
    exp, gemm = rates[f"exp_float64_{cores}"], rates[f"gemm_flops_{cores}"]
    check_answers()

    n = options.rows
    found = {name: peak(contender, n) for name, contender in CONTENDERS.items()}
    print(f"\nOne statistic at n = {n}, {N_COLUMNS} columns on either side")
    show(found)
    pairs = n * (n - 1)
    limit = pairs / exp + 2 * N_COLUMNS * pairs / gemm
    reached = limit / found["depmax"]["seconds"]
    print(f"limit {common.duration(limit)}, depmax reaches {reached:.0%} of it")

    n, rank = options.map_rows, 100
    mapped = {"depmax, NystroemMap(100)": peak(MAP, n)}
    print(f"\nThe same at n = {n} through maps")
    show(mapped)
    flops = 2 * n * rank * (2 * N_COLUMNS + 2 * rank + rank)  # distances, projections, moments
    map_limit = 2 * n * rank / exp + flops / gemm
    map_reached = map_limit / mapped["depmax, NystroemMap(100)"]["seconds"]
    print(f"limit {common.duration(map_limit)}, depmax reaches {map_reached:.0%} of it")

    bars: dict[str, Any] = {
        "hsic, whole process in GB": common.at_most(found["depmax"]["total"] / 1e9, 0.3)
    }
    print()
    common.report_bars(bars)
    if not options.no_save:
        results = {
            "rates": rates,
            "n": options.rows,
            "memory": found,
            "n_map": n,
            "map": mapped,
            "limit": {"hsic": limit, "map": map_limit},
            "fraction": {"hsic": reached, "map": map_reached},
            "bars": bars,
        }
        common.save("hsic_memory", results, "dcor", "hyppo")


if __name__ == "__main__":
    main()
