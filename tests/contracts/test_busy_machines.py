"""Small fits on a machine that is busy with something else: threads do not wait for each other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import depmax

FITS = """
import time, warnings
import numpy as np
import depmax
warnings.simplefilter("ignore")
X = np.random.default_rng(0).normal(size=(200, 8))
y = X[:, 0] * X[:, 1] + X[:, 2]
estimators = [
    depmax.KernelRidgeElimination(3), depmax.BAHSIC(3), depmax.FOHSIC(3),
    depmax.HSCA(2, kernel="gaussian"), depmax.HBFE(2, kernel="gaussian"),
]
for estimator in estimators:
    estimator.fit(X, y)
began = time.process_time()
for estimator in estimators:
    estimator.fit(X, y)
print(time.process_time() - began)
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two processors to compete for")
def test_more_threads_do_not_make_small_fits_slow() -> None:
    """Processor time, of which waiting threads took most: more than ten times as much."""

    def seconds(threads: int) -> float:
        count, folder = str(threads), str(Path(depmax.__file__).parents[1])
        environment = os.environ | {"OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count}
        ended = subprocess.run(
            [sys.executable, "-c", FITS],
            env=environment | {"PYTHONPATH": folder},
            capture_output=True,
            text=True,
            check=True,
        )
        return float(ended.stdout)

    alone = seconds(1)
    neighbour = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        assert seconds(os.cpu_count() or 2) < 3 * alone + 0.2
    finally:
        neighbour.kill()
        neighbour.wait()
