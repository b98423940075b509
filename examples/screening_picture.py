"""Draw docs/images/screening.png: the score of every sonar band, nonlinear and linear."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from depmax import screen
from depmax.datasets import load

TARGET = Path(__file__).parents[1] / "docs" / "images" / "screening.png"


def main() -> None:
    """Two panels over the bands: HSIC with the Laplace kernel, and with the linear one."""
    sonar = load("sonar")
    bands = np.arange(1, sonar.X.shape[1] + 1)
    figure, axes = plt.subplots(2, 1, figsize=(9, 4.6), sharex=True, layout="constrained")
    for axis, kernel, title in (
        (axes[0], "laplace", "Nonlinear: HSIC, Laplace kernel"),
        (axes[1], "linear", "Linear: HSIC, linear kernel on standardised bands (correlation)"),
    ):
        X = (sonar.X - sonar.X.mean(axis=0)) / sonar.X.std(axis=0)
        result = screen(X, sonar.y, kernel=kernel)
        found = result.pvalues_adjusted <= 0.05
        axis.bar(bands[found], result.scores[found], color="#0b6e99", label="adjusted p ≤ 0.05")
        axis.bar(bands[~found], result.scores[~found], color="#c9ced6", label="not significant")
        axis.set_title(f"{title}: {found.sum()} bands", loc="left", fontsize=10)
        axis.set_ylabel("HSIC")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=9)
    axes[1].set_xlabel("sonar band")
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(TARGET, dpi=130)


if __name__ == "__main__":
    main()
