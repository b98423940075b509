"""KernelLDA with the linear kernel against scikit-learn's LDA at 100,000 × 100."""

from __future__ import annotations

import argparse

import numpy as np
from common import at_least, best_seconds, duration, report_bars, save, table
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from depmax import KernelLDA


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 10])
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    rows, bars, results = [], {}, []
    for n_classes in arguments.classes:
        y = rng.integers(n_classes, size=arguments.rows)
        X = rng.normal(size=(arguments.rows, arguments.columns))
        X += rng.normal(size=(n_classes, arguments.columns))[y]
        count = n_classes - 1
        ours = KernelLDA(count)
        theirs = LinearDiscriminantAnalysis(solver="eigen", n_components=count)
        seconds = best_seconds(lambda m=ours: m.fit(X, y), arguments.repeats)  # type: ignore[misc]
        other = best_seconds(lambda m=theirs: m.fit(X, y), arguments.repeats)  # type: ignore[misc]
        mine = ours.components_ / np.linalg.norm(ours.components_, axis=1, keepdims=True)
        their = theirs.scalings_.T[:count]
        their = their / np.linalg.norm(their, axis=1, keepdims=True)
        angle = float(1.0 - np.abs(np.sum(mine * their, axis=1)).min())
        rows.append([n_classes, duration(seconds), duration(other), f"{other / seconds:.1f}",
                     f"{angle:.0e}"])  # fmt: skip
        results.append({"classes": n_classes, "depmax": seconds, "scikit-learn": other,
                        "angle": angle})  # fmt: skip
        bars[f"times as fast, {n_classes} classes"] = at_least(other / seconds, 3.0)
    table(["classes", "KernelLDA", 'LDA(solver="eigen")', "times as fast", "1 - |cosine|"], rows)
    report_bars(bars)
    size = {"rows": arguments.rows, "columns": arguments.columns}
    save("kernel_lda", {**size, "results": results, "bars": bars})


if __name__ == "__main__":
    main()
