"""Extraction beside scikit-learn's KernelPCA, ikpls's PLS and plain matrix products.

``--only`` runs one part, and its results join those of earlier runs:

kernel
    HBFE and HSCA with a Gaussian kernel and KernelPCA with its fastest solver, 10 components.
memory
    Peak memory of the same fits, each in a process of its own.
pls
    Linear HSCA, 20 components, beside ikpls.
wide
    100 rows of 20,000 columns, beside one product XXᵀ.
rows
    Unbiased HBFE of many rows: how often each is read, and the memory that takes.
"""

from __future__ import annotations

import argparse
import ctypes
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import common
import numpy as np
from sklearn.decomposition import KernelPCA

from depmax import HBFE, HSCA, scan
from depmax.kernels import Gaussian

#: Scales of 20 columns fall by this factor, so that the spectrum of the kernel matrix falls too.
FALL = 0.85
BANDWIDTH = 2.4
MODELS: dict[str, Callable[[], Any]] = {
    "HBFE": lambda: HBFE(10, kernel=Gaussian(BANDWIDTH)),
    "HBFE, biased": lambda: HBFE(10, kernel=Gaussian(BANDWIDTH), unbiased=False),
    "HSCA": lambda: HSCA(10, kernel=Gaussian(BANDWIDTH)),
}
#: Fits of few rows are short and repeated more often, ours and the others alike.
SHORT = 20_000
SOLVERS = ("arpack", "randomized")


def sample(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal columns of falling scale, and three classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 20)) * FALL ** np.arange(20)
    return X, np.digitize(X[:, 0] + X[:, 1], [-1.0, 1.0])


def kernel_pca(solver: str) -> KernelPCA:
    """KernelPCA with the same kernel."""
    gamma = 1.0 / (2.0 * BANDWIDTH**2)
    return KernelPCA(10, kernel="rbf", gamma=gamma, eigen_solver=solver)


def fit(make: Callable[[], Any], *data: np.ndarray) -> None:
    """Fit a new model."""
    make().fit(*data)


def bench_kernel(sizes: list[int]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Seconds of each fit, and how many times as fast ours are."""
    rows, bars, results = [], {}, {}
    for size in sizes:
        X, y = sample(size)
        repeats = max(3, SHORT // size)
        ours = {
            name: common.best_seconds(partial(fit, make, X, y), repeats)
            for name, make in MODELS.items()
        }
        peers = {
            solver: common.best_seconds(
                partial(fit, partial(kernel_pca, solver), X), repeats, budget=20.0
            )
            for solver in SOLVERS
        }
        best = min(peers.values())
        rows.append([f"{size:,}", *map(common.duration, [*ours.values(), *peers.values()])])
        results[str(size)] = {**ours, **peers}
        for name, seconds in ours.items():
            bars[f"{name}, {size:,} rows, times as fast"] = common.at_least(best / seconds, 3.0, 5)
    common.table(["rows", *MODELS, *(f"KernelPCA {solver}" for solver in SOLVERS)], rows)
    return results, bars


def forget_peak() -> None:
    """Give free memory back and let the peak start afresh, where the system can: Linux."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")


def bench_memory(sizes: list[int]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Peak memory beyond that before the fit."""
    rows, bars, results = [], {}, {}
    for size in sizes:
        setup = f"""
            import sys; sys.path.insert(0, {str(common.RESULTS.parent)!r})
            from bench_extraction import MODELS, forget_peak, kernel_pca, sample
            X, y = sample({size})
            [make().fit(X[:600], y[:600]) for make in MODELS.values()]
            kernel_pca("arpack").fit(X[:300])
            forget_peak()
            """
        fits = {name: f"MODELS[{name!r}]().fit(X, y).n_components_" for name in MODELS}
        fits["KernelPCA"] = "kernel_pca('arpack').fit(X).eigenvalues_[0]"
        used = {name: common.peak_memory(setup, fit)["increment"] for name, fit in fits.items()}
        rows.append([f"{size:,}", *map(common.megabytes, used.values())])
        results[str(size)] = used
        for name in MODELS:
            share = used[name] / used["KernelPCA"]
            bars[f"{name}, {size:,} rows, share of the memory"] = common.at_most(share, 0.5)
    common.table(["rows", *MODELS, "KernelPCA"], rows)
    return results, bars


def bench_pls(n_rows: int, n_columns: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """HSCA with α → 0 is SIMPLS, which for one target is what ikpls computes."""
    from ikpls.numpy import PLS

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns)) @ rng.normal(size=(n_columns, n_columns))
    y = X[:, :5].sum(axis=1) + rng.normal(size=n_rows)
    ours = HSCA(20, target_kernel="linear", alpha=1e-12)
    theirs = PLS(algorithm=2, center_X=True, center_Y=True, scale_X=False, scale_Y=False)
    seconds = common.best_seconds(lambda: ours.fit(X, y), 3)
    other = common.best_seconds(lambda: theirs.fit(X, y[:, np.newaxis], 20), 3)
    first = np.asarray(theirs.R)[:, :3]  # later ones differ by rounding
    cosines = np.abs(np.sum(ours.components_[:3].T * first / np.linalg.norm(first, axis=0), axis=0))
    common.table(["", "HSCA", "ikpls"], [["", common.duration(seconds), common.duration(other)]])
    print(f"directions agree to {1 - cosines.min():.0e}")
    results = {"HSCA": seconds, "ikpls": other, "difference": float(1 - cosines.min())}
    return results, {"HSCA, times the time of ikpls": common.at_most(seconds / other, 2.0)}


def bench_wide() -> tuple[dict[str, Any], dict[str, Any]]:
    """Few rows of many columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, common.sized(20_000, 500)))
    y = np.repeat([0, 1], 50)
    product = common.best_seconds(lambda: X @ X.T, 9)
    ours = {
        "HBFE": common.best_seconds(lambda: HBFE(10).fit(X, y), 9),
        "HSCA": common.best_seconds(lambda: HSCA(5).fit(X, y), 9),
    }
    common.table(["", *ours, "XXᵀ"], [["", *map(common.duration, [*ours.values(), product])]])
    bars = {
        f"{name}, 100 × 20,000, times one product": common.at_most(seconds / product, 10.0)
        for name, seconds in ours.items()
    }
    return {**ours, "product": product}, bars


def bench_rows(n_rows: int, n_columns: int = 50) -> tuple[dict[str, Any], dict[str, Any]]:
    """Visits of every row, and memory at a quarter of the rows and at all of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    seconds = common.best_seconds(lambda: HBFE(10).fit(scan(X, y)), 1)
    read = []
    HBFE(10).fit(scan(X, y).map(lambda rows: read.append(len(rows)) or rows))
    visits = sum(read) / n_rows
    setup = """
        import numpy as np
        from depmax import HBFE, scan
        rng = np.random.default_rng(0)
        X = rng.standard_normal(({rows}, {columns}), dtype=np.float32)
        y = (X[:, 0] > 0).astype(int)
        HBFE(10).fit(scan(X[:1000], y[:1000]))
        """
    used = {
        count: common.peak_memory(
            setup.format(rows=count, columns=n_columns), "HBFE(10).fit(scan(X, y)).mean_[0]"
        )["increment"]
        for count in (n_rows // 4, n_rows)
    }
    per_row = (used[n_rows] - used[n_rows // 4]) / (n_rows - n_rows // 4)
    print(
        f"{n_rows:,} × {n_columns}: {common.duration(seconds)}, {visits:.2f} visits, memory "
        + ", ".join(f"{common.megabytes(size)} at {count:,} rows" for count, size in used.items())
        + f" ({per_row:.0f} bytes per row: the target, its kernel's factor and its weights)"
    )
    results = {"seconds": seconds, "visits": visits, "memory": {str(k): v for k, v in used.items()}}
    return results, {"HBFE, visits of the rows": common.at_most(visits, 4.0)}


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["kernel", "memory", "pls", "wide", "rows"])
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=common.sized([2000, 5000, 10_000], [300])
    )
    parser.add_argument("--rows", type=int, default=common.sized(1_000_000, 8000))
    arguments = common.parse(parser)
    parts: dict[str, Callable[[], tuple[dict[str, Any], dict[str, Any]]]] = {
        "kernel": lambda: bench_kernel(arguments.sizes),
        "memory": lambda: bench_memory(arguments.sizes),
        "pls": lambda: bench_pls(*common.sized((100_000, 100), (2000, 25))),
        "wide": bench_wide,
        "rows": lambda: bench_rows(arguments.rows),
    }
    earlier = common.load("extraction") or {}
    results: dict[str, Any] = earlier.get("results", {})
    bars: dict[str, Any] = earlier.get("bars", {})
    for name, part in parts.items():
        missing = name == "pls" and find_spec("ikpls") is None
        if arguments.only in (None, name) and not (missing and common.SMOKE):
            found, reached = part()
            results.setdefault(name, {}).update(found)
            bars.update(reached)
            common.report_bars(reached)
    common.save("extraction", {"results": results, "bars": bars}, "ikpls")


if __name__ == "__main__":
    main()
