"""Which bandwidth BAHSIC should have by default: "median" or the paper's "dimension".

Median rank of the two relevant features on the paper's artificial problems, mean of ten draws, with
the columns in units of their standard deviations and in units ten times smaller and larger.

    python benchmarks/default_bandwidth.py
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import common
import numpy as np

from depmax import BAHSIC
from depmax.datasets.artificial import Problem, make_nonlinear_regression, make_xor
from depmax.kernels import Gaussian

PROBLEMS = {"XOR, 40 rows": (make_xor, 40), "regression, 80 rows": (make_nonlinear_regression, 80)}
UNITS = (0.1, 1.0, 10.0)
DRAWS = common.sized(10, 1)


def ranks(make: Callable[..., Problem], rows: int, policy: str, unit: float) -> list[float]:
    """Median rank of the relevant features in every draw."""
    found = []
    for seed in range(DRAWS):
        problem = make(rows, random_state=seed)
        X = unit * problem.X / problem.X.std(axis=0)
        selector = BAHSIC(1, kernel=Gaussian(policy), interactions=None, pvalues=False).fit(
            X, problem.y
        )
        found.append(float(np.median(selector.ranking_[list(problem.relevant)])))
    return found


def main() -> None:
    """Print the table."""
    common.parse(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    lines = []
    for problem, (make, rows) in PROBLEMS.items():
        for policy in ("median", "dimension"):
            means = [np.mean(ranks(make, rows, policy, unit)) for unit in UNITS]
            lines.append([f"{problem}, {policy}", *(f"{mean:.2f}" for mean in means)])
    common.table(["", *(f"unit {unit:g}" for unit in UNITS)], lines)


if __name__ == "__main__":
    main()
