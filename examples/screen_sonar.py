"""A first useful thing: which columns of a real data set depend on the target, and how sure are we?

Screens the 60 sonar bands (Gorman and Sejnowski, 1988: mines against rocks) with an exact nonlinear
score per column, then asks whether there is any dependence at all, and whether a linear score would
have found the same bands. Needs nothing but depmax itself.
"""

from __future__ import annotations

import time

import numpy as np

from depmax import hsic_interval, hsic_test, samples_needed, screen
from depmax.datasets import load

SHOWN = 12
WIDTH = 28


def main() -> None:
    """Print the screening as a table."""
    sonar = load("sonar")
    started = time.perf_counter()
    result = screen(sonar.X, sonar.y)
    seconds = time.perf_counter() - started

    print(f"\n{sonar.title}: {sonar.X.shape[0]} rows, {sonar.X.shape[1]} columns")
    print(f"target: {sonar.target_name}, classes {', '.join(map(str, np.unique(sonar.y)))}\n")
    print(f"{'rank':>4}  {'column':<8} {'HSIC':>8}  {'p-value':>9} {'adjusted':>9}")
    order = np.argsort(result.ranking)
    linear = screen(sonar.X / sonar.X.std(axis=0), sonar.y, kernel="linear").ranking
    best = result.scores[order[0]]
    for position in order[:SHOWN]:
        bar = "█" * round(WIDTH * max(0.0, result.scores[position]) / best)
        print(
            f"{result.ranking[position]:>4}  {sonar.feature_names[position]:<8} "
            f"{result.scores[position]:>8.4f}  {result.pvalues[position]:>9.2g} "
            f"{result.pvalues_adjusted[position]:>9.2g}  {bar}"
        )
    found = int(np.sum(result.pvalues_adjusted <= 0.05))
    print(f"\n{found} of {len(order)} columns depend on the target (false discovery rate 5 %),")
    unseen = [p for p in order[:found] if linear[p] > found]
    names = ", ".join(sonar.feature_names[position] for position in unseen) or "none"
    print(f"of which a linear score ranks below its own first {found}: {names}")
    print(f"screened in {seconds:.2f} s, p-values included")

    test = hsic_test(sonar.X, sonar.y, random_state=0)
    interval = hsic_interval(sonar.X, sonar.y)
    needed = samples_needed(sonar.X, sonar.y)
    print("\nAll columns together: ", end="")
    print(f"HSIC = {test.statistic:.4f}, permutation p = {test.pvalue:.3g},")
    print(f"95 % interval {interval.low:.4f} to {interval.high:.4f};")
    print(f"about {needed} rows would have been enough to show it four times out of five.\n")


if __name__ == "__main__":
    main()
