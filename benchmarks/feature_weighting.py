"""Does feature weighting by HSIC pay? A trial on eight sets of the shoot-out.

Appendix A of the BAHSIC paper weighs columns, x -> w∘x with w >= 0, and maximises
HSIC(w) - λ‖w‖₀, the number of weights replaced by the sum of 1 - exp(-5 w_j); the ℓ₁ form has the
sum of w_j instead. Here λ grows in steps, each started from the weights of the last, and a column
ranks by how long its weight lasts; columns whose weights vanish together, by the slope of HSIC in
w_j² at that time. HSIC is in units of its value with w = 1. Weights are free, as in the paper, or
at most 1.

    python benchmarks/feature_weighting.py          # with DEPMAX_DATA; kept in results/
    python benchmarks/feature_weighting.py --table  # beside the results of the shoot-out
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import pandas as pd
import shootout
from _shootout_methods import Method
from common import RESULTS, SMOKE, parse, require_data
from scipy.optimize import minimize
from sklearn.metrics.pairwise import euclidean_distances

FILE = RESULTS / "feature_weighting.csv"
#: The first four belong to the tuning half of the shoot-out, the others to the report half.
SETS = (
    *("ionosphere", "sonar", "spectf", "wine"),
    *("boston_housing", "dermatology", "heart_statlog", "svmguide2"),
)
#: λ, in units of HSIC with all weights 1, and α of the approximation.
PENALTIES = np.geomspace(1e-3, 1.0, 9)
ALPHA = 5.0
#: Smaller weights count as zero.
ZERO = 1e-3
STEPS = 60

#: A penalty and its slope, per weight.
Penalty = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def l0(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1 - exp(-αw)."""
    left = np.exp(-ALPHA * w)
    return 1.0 - left, ALPHA * left


def l1(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """w."""
    return w, np.ones_like(w)


def target_images(y: np.ndarray, classes: bool) -> np.ndarray:
    """Ψ, centred and of total variance 1: numbers, or indicators of classes."""
    psi = y[:, np.newaxis].astype(float)
    if classes:
        psi = (psi == np.unique(y)).astype(float)
    psi -= psi.mean(axis=0)
    return psi / np.sqrt(np.sum(psi**2) / len(psi))


def weighted_hsic(X: np.ndarray, images: np.ndarray, w: np.ndarray) -> tuple[float, np.ndarray]:
    """tr(KHLH)/m² of exp(-‖w∘(x - z)‖²/2d), and its slopes in w²."""
    m, d = X.shape
    K = np.exp(euclidean_distances(X * w, squared=True) * (-0.5 / d))
    M = (images @ images.T) * K / m**2
    squares = 2.0 * (M.sum(axis=1) @ (X * X) - np.einsum("ij,ij->j", X, M @ X))
    return float(M.sum()), -0.5 / d * squares


def rank_by_weights(penalty: Penalty, largest: float | None) -> Callable[..., np.ndarray]:
    """A method of the shoot-out: columns by the penalty at which their weights vanish."""

    def rank(X: np.ndarray, y: np.ndarray, classes: bool, k: int) -> np.ndarray:
        images = target_images(y, classes)
        w = np.ones(X.shape[1])
        unit, slopes = weighted_hsic(X, images, w)
        lasted, ties = np.zeros(len(w)), slopes
        for step, strength in enumerate(PENALTIES):

            def loss(w: np.ndarray, strength: float = strength) -> tuple[float, np.ndarray]:
                value, slopes = weighted_hsic(X, images, w)
                cost, rise = penalty(w)
                return strength * cost.sum() - value / unit, strength * rise - 2 * w * slopes / unit

            w = minimize(
                loss,
                w,
                jac=True,
                method="L-BFGS-B",
                bounds=[(0.0, largest)] * len(w),
                options={"maxiter": STEPS},
            ).x
            slopes = weighted_hsic(X, images, w)[1]
            dying = (w <= ZERO) & (lasted == step)
            lasted[w > ZERO] = step + 1
            ties = np.where(dying, slopes, np.where(w > ZERO, w, ties))
        return np.lexsort((-ties, -lasted))

    return rank


METHODS = (
    Method("weighting l0", rank_by_weights(l0, None), ours=True),
    Method("weighting l1", rank_by_weights(l1, None), ours=True),
    Method("weighting l0, at most 1", rank_by_weights(l0, 1.0), ours=True),
    Method("weighting l1, at most 1", rank_by_weights(l1, 1.0), ours=True),
)


def table() -> None:
    """Means over each half, beside three methods of the shoot-out on the same folds."""
    ours, others = pd.read_csv(FILE), pd.read_csv(shootout.FILE)
    others = others[others["method"].isin(("KernelRidgeElimination", "BAHSIC as published"))]
    rows = pd.concat([ours, others[others["set"].isin(ours["set"]) & (others["fold"] < 5)]])
    rows["score"] = 50.0 * (rows["svm"] + rows["boosting"])
    means = rows.groupby(["half", "set", "k", "method"])["score"].mean()
    print(means.groupby(["half", "k", "method"]).mean().unstack("method").round(2).to_string())
    print(rows.groupby("method")["seconds"].median())


def main() -> None:
    """Run what is missing, or show the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true", help="show the means and stop")
    options = parse(parser)
    require_data()
    if SMOKE:
        shootout.smoke(SETS[:1], METHODS[:1])
    elif options.table:
        table()
    else:
        shootout.run(SETS, METHODS, repeats=1, max_rows=800, file=FILE)


if __name__ == "__main__":
    main()
