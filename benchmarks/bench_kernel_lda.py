"""KernelLDA with the linear kernel against scikit-learn's LDA at 100,000 × 100."""

from __future__ import annotations

import argparse

import numpy as np
from common import at_least, best_seconds, duration, parse, report_bars, save, sized, table
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from depmax import KernelLDA


def measure(shape: tuple[int, int], n_classes: int, repeats: int) -> dict[str, float]:
    """Seconds of both, and the largest 1 - |cosine| between their directions."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=shape[0])
    X = rng.normal(size=shape) + rng.normal(size=(n_classes, shape[1]))[y]
    count = n_classes - 1
    ours = KernelLDA(count)
    theirs = LinearDiscriminantAnalysis(solver="eigen", n_components=count)
    seconds = best_seconds(lambda: ours.fit(X, y), repeats)
    other = best_seconds(lambda: theirs.fit(X, y), repeats)
    cosines = np.sum(unit(ours.components_) * unit(theirs.scalings_.T[:count]), axis=1)
    return {
        "classes": n_classes,
        "depmax": seconds,
        "scikit-learn": other,
        "angle": float(1.0 - np.abs(cosines).min()),
    }


def unit(directions: np.ndarray) -> np.ndarray:
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=sized(100_000, 2000))
    parser.add_argument("--columns", type=int, default=sized(100, 20))
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 10])
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parse(parser)
    shape = (arguments.rows, arguments.columns)
    results = [measure(shape, count, arguments.repeats) for count in arguments.classes]
    ratios = [result["scikit-learn"] / result["depmax"] for result in results]
    table(
        ["classes", "KernelLDA", 'LDA(solver="eigen")', "times as fast", "1 - |cosine|"],
        [
            [
                result["classes"],
                duration(result["depmax"]),
                duration(result["scikit-learn"]),
                f"{ratio:.1f}",
                f"{result['angle']:.0e}",
            ]
            for result, ratio in zip(results, ratios, strict=True)
        ],
    )
    bars = {
        f"times as fast, {result['classes']} classes": at_least(ratio, 3.0)
        for result, ratio in zip(results, ratios, strict=True)
    }
    report_bars(bars)
    save("kernel_lda", {"rows": shape[0], "columns": shape[1], "results": results, "bars": bars})


if __name__ == "__main__":
    main()
