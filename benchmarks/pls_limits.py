"""Shares of new normal rows beyond the 5 % limits of T² and Q, and beyond limits of held-out rows.

    python benchmarks/pls_limits.py          # writes results/pls_limits.json, two minutes
    python benchmarks/pls_limits.py --smoke  # one small setting, nothing written

Rows are mixtures of four spectra with noise, or independent columns that say nothing about y. A
limit of held-out rows is an order statistic of the values that rows have in fits without their
fold, in twenty folds, so that one more such row exceeds it with a probability of 5 %.
"""

from __future__ import annotations

import argparse
import os
from itertools import product

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import common
import numpy as np
from sklearn.model_selection import KFold

from depmax import KernelPLS

NEW_ROWS = 400


def sample(kind: str, m: int, n_columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training rows and new ones after them, with their target."""
    rng = np.random.default_rng([seed, m, n_columns, kind == "noise"])
    count = m + NEW_ROWS
    noise, amounts = rng.normal(size=(count, n_columns)), rng.normal(size=(count, 4))
    if kind == "noise":
        return noise, rng.normal(size=count)
    target = amounts[:, 0] + 0.1 * rng.normal(size=count)
    return amounts @ rng.normal(size=(4, n_columns)) + 0.3 * noise, target


def of_held_out(X: np.ndarray, y: np.ndarray, k: int) -> tuple[float, float]:
    """Limits of T² and Q: of m held-out values the one of rank 0.95 (m + 1)."""
    t2, q = np.empty(len(X)), np.empty(len(X))
    for train, test in KFold(20, shuffle=True, random_state=0).split(X):
        model = KernelPLS(k).fit(X[train], y[train])
        t2[test], q[test] = model.t2(X[test]), model.q(X[test])
    rank = int(np.ceil(0.95 * (len(X) + 1))) - 1
    return float(np.sort(t2)[rank]), float(np.sort(q)[rank])


def shares(kind: str, m: int, n_columns: int, k: int, n_sets: int) -> np.ndarray:
    """New rows beyond the limits of T² and Q, and beyond those of held-out rows."""
    found = []
    for seed in range(n_sets):
        X, y = sample(kind, m, n_columns, seed)
        model = KernelPLS(k).fit(X[:m], y[:m])
        t2, q = model.t2(X[m:]), model.q(X[m:])
        t2_held_out, q_held_out = of_held_out(X[:m], y[:m], k)
        beyond = [t2 > model.t2_limit(), q > model.q_limit(), t2 > t2_held_out, q > q_held_out]
        found.append(np.mean(beyond, axis=1))
    return np.mean(found, axis=0)


def main() -> None:
    common.parse(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    whole = [*product(("structure", "noise"), (40, 100, 200), (20, 100, 400), (2, 5))]
    settings = common.sized(whole, [("structure", 40, 20, 2)])
    found = [(*each, shares(*each, common.sized(40, 2))) for each in settings]
    rows = [[*each[:4], *(f"{100 * share:.1f}" for share in each[4])] for each in found]
    head = ["", "m", "D", "components", "T²", "Q", "T² of held-out rows", "Q of held-out rows"]
    common.table(head, rows)
    common.save("pls_limits", {"shares": found})


if __name__ == "__main__":
    main()
