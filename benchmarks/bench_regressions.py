"""CPU time of twelve typical calls, of this tree or of several trees side by side.

    python benchmarks/bench_regressions.py                    # this tree
    python benchmarks/bench_regressions.py OLD_TREE NEW_TREE  # two work trees of the repository

Each tree runs in processes of its own, in turn, so that a machine whose speed drifts is the same to
all. Figures are milliseconds of CPU, the best of five calls after one that compiles and loads.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import common
import numpy as np

REPEATS = common.sized(5, 1)
#: Processes of every tree; the least of their figures counts.
ROUNDS = common.sized(2, 1)


def normal(n_samples: int, n_features: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, a number that depends on two columns, and its sign."""
    X = np.random.default_rng(0).normal(size=(n_samples, n_features))
    y = X[:, 0] ** 2 + X[:, 1] + 0.1 * np.random.default_rng(1).normal(size=n_samples)
    return X, y, (y > np.median(y)).astype(int)


def calls() -> dict[str, Callable[[], object]]:
    """The calls by name; only what all trees have in common."""
    from depmax import BAHSIC, HBFE, HSCA, SMA, KernelPLS, hsic, hsic_test, screen
    from depmax.kernels import Gaussian
    from depmax.maps import NystroemMap

    X, y, _ = normal(2000, 10)
    long, long_y, _ = normal(200_000, 5)
    search, _, search_classes = normal(500, 300)
    tall, tall_y, tall_classes = normal(200_000, 50)
    middle, _, middle_classes = normal(2000, 20)
    wide, _, wide_classes = normal(100, 20_000)
    nystroem = NystroemMap(100, random_state=0)
    return {
        "hsic_test 2,000 x 10, 200 permutations": lambda: hsic_test(
            X, y, method="permutation", n_permutations=200, random_state=0
        ),
        "hsic 2,000 x 10": lambda: hsic(X, y),
        "screen 200,000 x 5": lambda: screen(long, long_y),
        "BAHSIC 500 x 300, all rounds": lambda: BAHSIC(1, interactions=None).fit(
            search, search_classes
        ),
        "HSCA linear 200,000 x 50": lambda: HSCA(2).fit(tall, tall_classes),
        "HBFE linear 200,000 x 50, classes": lambda: HBFE(2).fit(tall, tall_classes),
        "HBFE linear 200,000 x 50, numbers": lambda: HBFE(2).fit(tall, tall_y),
        "KernelPLS linear 200,000 x 50": lambda: KernelPLS(2).fit(tall, tall_y),
        "HSCA Gaussian 2,000 x 20": lambda: HSCA(2, kernel=Gaussian(4.0)).fit(
            middle, middle_classes
        ),
        "HSCA linear 100 x 20,000": lambda: HSCA(2).fit(wide, wide_classes),
        "SMA Gaussian 2,000 x 20, 20 features": lambda: SMA(20, kernel=Gaussian(4.0)).fit(
            middle, middle_classes
        ),
        "hsic through Nystroem(100), 200,000 x 5": lambda: hsic(
            long, long_y, kernel=nystroem, target_kernel="linear"
        ),
    }


def measured() -> dict[str, float]:
    """Milliseconds of CPU of every call."""
    found = {}
    for name, call in calls().items():
        call()
        times = []
        for _ in range(REPEATS):
            start = time.process_time()
            call()
            times.append(time.process_time() - start)
        found[name] = 1000 * min(times)
    return found


def measured_in(tree: Path) -> dict[str, float]:
    """The same in a process that imports the package of a tree."""
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}
    process = subprocess.run(
        [sys.executable, __file__, "--json", *(["--smoke"] if common.SMOKE else [])],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        raise SystemExit(f"{tree}:\n{process.stderr}")
    result: dict[str, float] = json.loads(process.stdout)
    return result


def main() -> None:
    """Print a line per call."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", nargs="*", type=Path, help="folders that hold src/depmax")
    parser.add_argument("--json", action="store_true", help="measure in this process")
    arguments = common.parse(parser)
    if arguments.json:
        print(json.dumps(measured()))
        return
    trees = arguments.trees or [Path(__file__).parents[1]]
    rounds = [[measured_in(tree) for tree in trees] for _ in range(ROUNDS)]
    for name in rounds[0][0]:
        cells = [min(each[k][name] for each in rounds) for k in range(len(trees))]
        print(f"{name:<42}" + "".join(f"{cell:>9.1f}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
