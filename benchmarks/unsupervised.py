"""Columns chosen without a target: what they say about all columns, and about labels nobody showed.

Half of the rows choose 5, 10 and 20 columns. On the other half, all columns are predicted from
these by kernel ridge regression that learnt on the first half (share of the variance explained),
and the labels by a support vector machine (accuracy). Variances are those of columns in their own
units; the Laplacian score (He, Cai and Niyogi 2005) uses ten neighbours.

    python benchmarks/unsupervised.py
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
from _external import load_external
from common import parse, require_data, save, sized, table
from scipy.sparse.csgraph import laplacian
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import train_test_split
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from depmax import BAHSIC, KernelRidgeElimination

SETS = ("optdigits", "sonar", "wdbc", "segment", "spambase")
COUNTS = (5, 10, 20)
ROWS, DRAWS = sized((1200, 3), (100, 1))


def _laplacian(X: np.ndarray, raw: np.ndarray) -> np.ndarray:
    graph = kneighbors_graph(X, 10)
    graph = graph.maximum(graph.T)
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    centred = X - degrees @ X / degrees.sum()
    L = laplacian(graph)
    scores = np.einsum("ij,ij->j", centred, L @ centred) / (degrees @ centred**2)
    return np.argsort(scores, kind="stable")


def _ours(selector: type) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def order(X: np.ndarray, raw: np.ndarray) -> np.ndarray:
        return np.argsort(selector(1, target_kernel="inputs", pvalues=False).fit(X).ranking_)

    return order


METHODS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "KernelRidgeElimination": _ours(KernelRidgeElimination),
    "BAHSIC": _ours(BAHSIC),
    "largest variances": lambda X, raw: np.argsort(-raw.var(axis=0), kind="stable"),
    "Laplacian score": _laplacian,
}


def measure(name: str, draw: int) -> dict[str, list[tuple[float, float, float]]]:
    """Share explained, accuracy and seconds for every method and number of columns."""
    data = load_external(name)
    raw = np.asarray(data.X, dtype=float)
    first, second = train_test_split(
        np.arange(len(raw)),
        train_size=min(ROWS, len(raw)) // 2,
        test_size=min(ROWS, len(raw)) // 2,
        stratify=data.y,
        random_state=draw,
    )
    raw = raw[:, raw[first].std(axis=0) > 0]
    scaler = StandardScaler().fit(raw[first])
    X, new = scaler.transform(raw[first]), scaler.transform(raw[second])
    found = {}
    for method, order in METHODS.items():
        start = time.process_time()
        ranked = order(X, raw[first])
        seconds = time.process_time() - start
        found[method] = []
        for count in COUNTS:
            kept = ranked[:count]
            model = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.5 / count).fit(X[:, kept], X)
            left = np.sum((new - model.predict(new[:, kept])) ** 2)
            explained = 1.0 - left / np.sum((new - X.mean(axis=0)) ** 2)
            machine = SVC().fit(X[:, kept], data.y[first])
            accuracy = machine.score(new[:, kept], data.y[second])
            found[method].append((float(explained), float(accuracy), seconds))
    return found


def main() -> None:
    """Print and keep the table."""
    parse(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    require_data()
    warnings.simplefilter("ignore")
    results: dict[str, dict[str, list[list[float]]]] = {}
    rows = []
    for name in sized(SETS, ("sonar",)):
        draws = [measure(name, draw) for draw in range(DRAWS)]
        results[name] = {
            method: np.mean([draw[method] for draw in draws], axis=0).round(4).tolist()
            for method in METHODS
        }
        for method, figures in results[name].items():
            cells = [f"{100 * e:.0f} / {100 * a:.0f}" for e, a, _ in figures]
            rows.append([name, method, *cells, f"{figures[0][2]:.1f} s"])
            print(*rows[-1], flush=True)
    table(["set", "method", *(f"{count} columns" for count in COUNTS), "CPU"], rows)
    save("unsupervised", {"draws": DRAWS, "counts": list(COUNTS), "sets": results})


if __name__ == "__main__":
    main()
