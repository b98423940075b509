"""How often dependence is found: HSIC beside distance correlation, on five shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import common
import numpy as np
from joblib import Parallel, delayed

from depmax import hsic_test

N_ROWS = 100
N_PERMUTATIONS = 199
LEVEL = 0.05
#: Multiples of each shape's own noise.
MULTIPLES = (0.5, 0.71, 1.0, 1.41, 2.0)
#: Standard deviation of the noise at which about half of the samples show the dependence.
SHAPES = {"linear": 2.2, "quadratic": 1.3, "circle": 0.25, "sine": 1.0, "XOR": 1.5}
METHODS = ("HSIC, permutations", "HSIC, analytic", "distance correlation")
PICTURE = Path(__file__).parent.parent / "docs" / "images" / "power.png"


def draw(shape: str, noise: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """X and Y of one shape; the noise is added to Y, for the circle to both coordinates."""
    x = rng.uniform(-1, 1, N_ROWS)
    e = noise * rng.normal(size=N_ROWS)
    if shape == "linear":
        return x, x + e
    if shape == "quadratic":
        return x, 2 * x**2 + e
    if shape == "circle":
        angle = np.pi * x
        return np.cos(angle) + noise * rng.normal(size=N_ROWS), np.sin(angle) + e
    if shape == "sine":
        return x, np.sin(2 * np.pi * x) + e
    other = rng.uniform(-1, 1, N_ROWS)  # XOR of two signs
    return np.column_stack([x, other]), np.sign(x * other) + e


def power(n_draws: int, n_jobs: int) -> list[dict[str, Any]]:
    """Parts of the draws in which each test finds the dependence, per shape and noise.

    Without dcor its part comes from the earlier results.
    """
    earlier = {} if _has_dcor() else _earlier()
    found = []
    for number, (shape, scale) in enumerate(SHAPES.items()):
        for step, multiple in enumerate(MULTIPLES):
            noise = scale * multiple
            seeds = np.random.SeedSequence([4, number, step]).spawn(n_draws)
            chunks = Parallel(n_jobs=n_jobs)(
                delayed(_rejections)(shape, noise, seeds[start::8]) for start in range(8)
            )
            shares = dict(zip(METHODS, np.concatenate(chunks).mean(axis=0).tolist(), strict=True))
            if not _has_dcor():
                shares[METHODS[2]] = earlier.get((shape, round(noise, 6)))
            found.append({"shape": shape, "noise": noise, "n_draws": n_draws, "power": shares})
    return found


def _rejections(shape: str, noise: float, seeds: list[np.random.SeedSequence]) -> np.ndarray:
    """Whether each test rejects, one row per seed."""
    rows = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X, Y = draw(shape, noise, rng)
        state = int(rng.integers(2**31))
        tests = [
            hsic_test(
                X, Y, method="permutation", n_permutations=N_PERMUTATIONS, random_state=state
            ).pvalue,
            hsic_test(X, Y, method="gamma").pvalue,
            _distance_correlation_pvalue(X, Y, state),
        ]
        rows.append([pvalue <= LEVEL for pvalue in tests])
    return np.array(rows, dtype=float)


def _distance_correlation_pvalue(X: np.ndarray, Y: np.ndarray, state: int) -> float:
    """dcor's permutation test; permutations do not change the norms of the correlation."""
    if not _has_dcor():
        return np.nan
    import dcor

    return dcor.independence.distance_covariance_test(
        X, Y, num_resamples=N_PERMUTATIONS, random_state=state
    ).pvalue


def _has_dcor() -> bool:
    from importlib.util import find_spec

    return find_spec("dcor") is not None


def _earlier() -> dict[tuple[str, float], float]:
    """Power of dcor's test in the results of an earlier run."""
    results = common.load("calibration") or {"power": []}
    return {
        (each["shape"], round(each["noise"], 6)): each["power"][METHODS[2]]
        for each in results["power"]
    }


def show(found: list[dict[str, Any]]) -> None:
    print(f"\nPower at level {LEVEL} with {N_ROWS} rows, {found[0]['n_draws']} draws")
    rows = []
    for each in found:
        shares = ["" if part is None else f"{part:.3f}" for part in each["power"].values()]
        rows.append([each["shape"], f"{each['noise']:.2f}", *shares])
    common.table(["shape", "noise", *METHODS], rows)


def plot(found: list[dict[str, Any]]) -> None:
    """Power against noise, a panel per shape."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(SHAPES), figsize=(13, 3.2), sharey=True)
    styles = (("o", "-"), ("s", "--"), ("^", ":"))
    for axis, shape in zip(axes, SHAPES, strict=True):
        points = [each for each in found if each["shape"] == shape]
        noise = [each["noise"] for each in points]
        for method, (marker, line) in zip(METHODS, styles, strict=True):
            shares = [each["power"][method] for each in points]
            shares = [np.nan if share is None else share for share in shares]
            axis.plot(noise, shares, marker=marker, linestyle=line, label=method)
        axis.axhline(LEVEL, color="0.6", linewidth=0.8)
        axis.set(title=shape, xlabel="standard deviation of the noise", ylim=(0, 1.03))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(f"power at level {LEVEL}, {N_ROWS} rows")
    axes[-1].legend(loc="upper right", fontsize=8)
    figure.tight_layout()
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)
    print(f"Written: {PICTURE.relative_to(PICTURE.parents[2])}")
