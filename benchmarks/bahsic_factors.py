"""BAHSIC by low-rank factors of both sides (section 4.1 of its paper) against blocks of rows.

The rounds of a search are scored in three ways: from all pairs of rows, from blocks of rows, which
the package does beyond 5,000 rows, and from factors, which it does not do. With r pivots,
K ≈ C Q⁻¹ Cᵀ, C the kernel of all rows with the pivots and Q that of the pivots. Without a column j
both are multiplied by exp(γ (x_j - z_j)²), and with a factor Ψ of the centred target the score is
‖R_j⁻¹ C_jᵀ Ψ‖², R_j R_jᵀ = Q_j. The power series of the exponential makes C_jᵀ Ψ of all columns a
matrix product: m r c d k multiplications for m rows, c columns of Ψ, d columns and k terms, where
blocks of B rows need m B d (k + 1) / 2 and m B / 2 exponentials. As K - K̂ is positive semidefinite,
the score lacks at most the largest eigenvalue of the target's matrix times the trace of K - K̂; the
table shows this trace as a share of that of K in the first round and where ten columns are left.

    python benchmarks/bahsic_factors.py
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import save
from scipy.linalg import cholesky, solve_triangular

from depmax import BAHSIC, hsic
from depmax.maps.incomplete_cholesky import factor_to
from depmax.selection._search import rounds
from depmax.selection._search.changes import Change, Outcome

#: Largest γ max|x|² for which the power series is used, and what its terms are compared with.
REACH, NEGLECTED = 1.5, 1e-5
#: Rows that pivots are chosen among, rows handled at a time, and a ridge against rounding.
PIVOT_ROWS, STRIP, RIDGE = 2_000, 4_096, 1e-6
#: Largest share of the trace that pivots may leave, if there are enough.
RESIDUAL = 1e-3
#: What the target's factor may lack.
TARGET_TOL, TARGET_RANK = 1e-3, 30
SINGLE = np.float32


class FactorScores:
    """Scores of every column that may leave, from at most ``rank`` pivots and all rows."""

    def __init__(self, setting: rounds.Setting, rank: int) -> None:
        X = np.asarray(setting.X, dtype=np.float64)
        self.X = (X - 0.5 * (X.max(axis=0) + X.min(axis=0))).astype(SINGLE)
        self.reach = np.abs(self.X).max(axis=0).astype(np.float64) ** 2
        factor = factor_to(setting.blocks.target, TARGET_TOL, TARGET_RANK).factor
        self.psi = (factor - factor.mean(axis=0)).astype(SINGLE)
        self.rank = rank
        self.some = np.random.default_rng(0).permutation(len(X))[:PIVOT_ROWS]
        self.lacking: dict[int, float] = {}  # columns left: share of the trace that is lacking

    def outcome(self, setting: rounds.Setting, change: Change) -> Outcome:
        """Dependence of all columns and without each."""
        gamma = 0.5 / setting.resolve(change.base)._width() ** 2
        columns = change.base
        pivots = self._pivots(columns, gamma)
        Z, r, c = self.X[pivots].astype(np.float64), len(pivots), self.psi.shape[1]
        Q = np.exp(-gamma * _squares(Z[:, columns]))
        R = _root(Q)
        inverse = solve_triangular(R, np.eye(r), lower=True).astype(SINGLE)
        leaving = np.array([unit[0] for unit in change.units], dtype=np.intp)
        spread = gamma * self.reach[leaving]
        near = np.flatnonzero(spread <= REACH)
        near = near[np.argsort(-spread[near], kind="stable")]
        terms = _terms(2.0 * spread[near])
        sums = [np.zeros((r, c, int(np.sum(terms > k)))) for k in range(terms.max(initial=0))]
        far = np.flatnonzero(spread > REACH)
        products = np.zeros((len(leaving), r, c))  # C_jᵀ Ψ
        whole, explained = np.zeros((r, c)), 0.0
        for start in range(0, len(self.X), STRIP):
            rows, psi = self.X[start : start + STRIP], self.psi[start : start + STRIP]
            exponents = self._exponents(rows[:, columns], Z[:, columns].astype(SINGLE), gamma)
            C = np.exp(np.minimum(exponents, 0.0))
            whole += C.T @ psi
            explained += float(np.square(C @ inverse.T).sum(dtype=np.float64))
            x = rows[:, leaving[near]]
            power = np.exp(SINGLE(gamma) * x * x)
            for k, total in enumerate(sums):
                width = total.shape[2]
                power = power[:, :width] if k == 0 else power[:, :width] * x[:, :width]
                right = (psi[:, :, np.newaxis] * power[:, np.newaxis]).reshape(len(rows), -1)
                total += (C.T @ right).reshape(total.shape)
            for place in far:
                own = rows[:, [leaving[place]]] - Z[:, leaving[place]].astype(SINGLE)
                without = exponents + SINGLE(gamma) * own * own
                products[place] += np.exp(np.minimum(without, 0.0)).T @ psi
        for position, place in enumerate(near):
            z = Z[:, leaving[place]]
            factor = np.exp(gamma * z * z)
            for k in range(terms[position]):
                factor = factor if k == 0 else factor * (-2.0 * gamma * z / k)
                products[place] += factor[:, np.newaxis] * sums[k][:, :, position]
        scores = []
        for column, product in zip(leaving, products, strict=True):
            left = columns[columns != column]
            root = _root(np.exp(-gamma * _squares(Z[:, left])))
            scores.append(float(np.square(solve_triangular(root, product, lower=True)).sum()))
        self.lacking[len(columns)] = 1.0 - explained / len(self.X)
        scale = 1.0 / (len(self.X) - 1) ** 2
        value = float(np.square(solve_triangular(R, whole, lower=True)).sum())
        return Outcome(scale * value, scale * np.array(scores))

    def _exponents(self, rows: np.ndarray, Z: np.ndarray, gamma: float) -> np.ndarray:
        exponents = rows @ Z.T
        exponents *= SINGLE(2.0 * gamma)
        exponents -= SINGLE(gamma) * np.square(rows).sum(axis=1)[:, np.newaxis]
        exponents -= SINGLE(gamma) * np.square(Z).sum(axis=1)
        return exponents

    def _pivots(self, columns: np.ndarray, gamma: float) -> np.ndarray:
        """Rows with the largest residuals, one after the other, among some rows."""
        K = np.exp(-gamma * _squares(self.X[self.some][:, columns].astype(np.float64)))
        residual, G, chosen = np.ones(len(K)), np.empty((self.rank, len(K))), []
        while len(chosen) < self.rank and residual.sum() > RESIDUAL * len(K):
            pivot, t = int(residual.argmax()), len(chosen)
            G[t] = (K[pivot] - G[:t, pivot] @ G[:t]) / np.sqrt(residual[pivot])
            residual = np.maximum(residual - G[t] ** 2, 0.0)
            residual[pivot] = 0.0
            chosen.append(pivot)
        return self.some[chosen]


def _squares(X: np.ndarray) -> np.ndarray:
    norms = np.square(X).sum(axis=1)
    return np.maximum(norms[:, np.newaxis] + norms - 2.0 * X @ X.T, 0.0)


def _root(Q: np.ndarray) -> np.ndarray:
    return cholesky(Q + RIDGE * np.eye(len(Q)), lower=True)


def _terms(reach: np.ndarray) -> np.ndarray:
    """Terms of exp until the next is below a share of the first."""
    needed, term = np.ones(len(reach), dtype=np.intp), reach.copy()
    for k in range(2, 40):
        needed[term > NEGLECTED * reach] = k
        term = term * reach / k
    return needed


def search(X: np.ndarray, y: np.ndarray, way: str) -> tuple[np.ndarray, float, dict[int, float]]:
    """Columns from best to worst, seconds of CPU and what factors lack, by columns left."""
    kind, size = way.split()[0], int(way.split()[1]) if " " in way else None
    selector = BAHSIC(
        5, interactions=None, pvalues=False, block_size=size if kind == "blocks" else None
    )
    made: list[FactorScores] = []

    def outcome(setting: rounds.Setting, change: Change) -> Outcome:
        if not made:
            made.append(FactorScores(setting, size or 0))
        return made[0].outcome(setting, change)

    usual = rounds.Setting.outcome
    start = time.process_time()
    try:
        if kind == "factors":
            rounds.Setting.outcome = outcome  # type: ignore[method-assign]
        selector.fit(X, y)
    finally:
        rounds.Setting.outcome = usual  # type: ignore[method-assign]
    seconds = time.process_time() - start
    return np.argsort(selector.ranking_), seconds, made[0].lacking if made else {}


def simulated(m: int, d: int, kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Four relevant columns: a pair that interacts, one by its square, one by its slope."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    signal = X[:, 0] * X[:, 1] + X[:, 2] ** 2 - 1 + 0.5 * X[:, 3] + rng.normal(size=m)
    if kind == "numbers":
        return X, signal
    return X, np.digitize(signal, [0.0] if kind == "2 classes" else np.linspace(-2, 3, 9))


def real(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Up to 12,000 rows, standardised; categories as indicators, of mnist the 100 widest pixels."""
    table = pd.read_csv(folder / f"{name}.csv.gz")
    y = table.pop("target").to_numpy()
    X = pd.get_dummies(table, dtype=float).to_numpy(dtype=np.float64)
    rows = np.random.default_rng(0).permutation(len(X))[:12_000]
    X, y = X[rows], y[rows]
    X = X[:, np.sort(np.argsort(-X.var(axis=0))[:100])] if name == "mnist" else X
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


WAYS = ("blocks 250", "blocks 1000", "factors 100", "factors 300")


def _lacks(lacking: dict[int, float]) -> dict[str, float]:
    if not lacking:
        return {}
    return {"first": lacking[max(lacking)], "ten": lacking[min(lacking, key=lambda n: abs(n - 10))]}


def main() -> None:
    """Print and save both tables."""
    results: list[dict[str, Any]] = []

    def report(row: dict[str, Any]) -> None:
        results.append(row)
        print({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}, flush=True)

    search(*simulated(300, 5, "numbers", 0), "blocks 100")  # imports
    search(*simulated(300, 5, "numbers", 0), "factors 20")
    for m, d, seeds in ((20_000, 50, 4), (20_000, 100, 2), (100_000, 50, 1)):
        for kind in ("2 classes", "9 classes", "numbers"):
            for way in WAYS:
                found, seconds = 0, np.inf
                for seed in range(seeds):
                    order, taken, lacking = search(*simulated(m, d, kind, seed), way)
                    found += len({*order[:4].tolist()} & {0, 1, 2, 3})
                    seconds = min(seconds, taken)  # other work on the machine slows some
                row = {"data": f"{m} x {d}", "target": kind, "way": way, "seconds": seconds}
                report({**row, "found": found, "of": 4 * seeds, **_lacks(lacking)})
    folder = Path(os.environ.get("DEPMAX_DATA", ""))
    for name in ("pole_telecomm", "ailerons", "mnist", "adult", "covertype"):
        if not (folder / f"{name}.csv.gz").exists():
            print(f"{name}: set DEPMAX_DATA to the folder that has it", file=sys.stderr)
            continue
        X, y = real(name, folder)
        train, test = slice(0, len(X) // 2), slice(len(X) // 2, None)
        reference: list[int] = []
        for way in ("all pairs", *WAYS):
            order, seconds, lacking = search(X[train], y[train], way)
            reference = reference or order.tolist()
            row = {"data": name, "rows": len(X) // 2, "way": way, "seconds": seconds}
            for k in (5, 10):
                row[f"same {k}"] = len({*order[:k].tolist()} & {*reference[:k]})
                row[f"hsic {k}"] = hsic(X[test][:, order[:k]], y[test])
            report({**row, **_lacks(lacking)})
    save("bahsic_factors", {"rows": results})


if __name__ == "__main__":
    main()
