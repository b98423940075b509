"""BAHSIC by low-rank factors of both sides (section 4.1 of its paper) against blocks of rows.

The rounds of a search are scored in three ways: from all pairs of rows, from blocks of rows, which
the package does beyond 5,000 rows, and from factors, which it does not do. With r pivots,
K ≈ C Q⁻¹ Cᵀ, C the kernel of all rows with the pivots and Q that of the pivots. Without a column j
both are multiplied by exp(γ (x_j - z_j)²), and with a factor Ψ of the centred target, ones and the
squared lengths of Ψ's rows as columns of E, the unbiased score is a weighted sum of the entries of
EᵀK̂_jE = SᵀS, S = R_j⁻¹ C_jᵀ E, R_j R_jᵀ = Q_j. The power series of the exponential makes C_jᵀ E of
all columns a matrix product: m r c d k multiplications for m rows, c columns of E, d columns and k
terms, where blocks of B rows need m B d (k + 1) / 2 and m B / 2 exponentials. As K - K̂ is positive
semidefinite, tr(M(K - K̂)) is at most the trace of K - K̂ times the largest eigenvalue of the centred
target M. The tables show this trace as a share of that of K in the first round ("first") and where
ten columns are left ("ten").

    python benchmarks/bahsic_factors.py [simulated] [real]
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
from depmax.selection._search.data import Change, Outcome
from depmax.selection._search.search import Search

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

    def __init__(self, setting: Search, rank: int) -> None:
        X = np.asarray(setting.X, dtype=np.float64)
        self.X = (X - 0.5 * (X.max(axis=0) + X.min(axis=0))).astype(SINGLE)
        self.reach = np.abs(self.X).max(axis=0).astype(np.float64) ** 2
        factor = factor_to(setting.target, TARGET_TOL, TARGET_RANK).factor
        self._weigh(factor - factor.mean(axis=0), setting.unbiased)
        self.rank = rank
        self.some = np.random.default_rng(0).permutation(len(X))[:PIVOT_ROWS]
        self.lacking: dict[int, float] = {}  # columns left: share of the trace that is lacking

    def _weigh(self, psi: np.ndarray, unbiased: bool) -> None:
        """An orthonormal E and W with HSIC = Σ W∘(EᵀKE) + a number, for K with a diagonal of 1."""
        m, c = psi.shape
        weights = np.eye(c) / (m - 1) ** 2
        if unbiased:  # L̃1 = -l, as Ψᵀ1 = 0
            lengths = np.square(psi).sum(axis=1)
            psi = np.column_stack([psi, np.ones(m), lengths])
            weights = np.zeros((c + 2, c + 2))
            weights[:c, :c] = np.eye(c)
            weights[c, c] = -lengths.sum() / ((m - 1) * (m - 2))
            weights[c, c + 1] = weights[c + 1, c] = 1.0 / (m - 2)
            weights /= m * (m - 3)
        U, sizes, V = np.linalg.svd(psi, full_matrices=False)
        kept = sizes > 1e-6 * sizes[0]
        S = sizes[kept, np.newaxis] * V[kept]
        self.psi, self.weights = U[:, kept].astype(SINGLE), S @ weights @ S.T

    def _value(self, root: np.ndarray, product: np.ndarray) -> float:
        half = solve_triangular(root, product, lower=True)
        return float(np.sum(self.weights * (half.T @ half)))

    def outcome(self, setting: Search, change: Change) -> Outcome:
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
            scores.append(self._value(root, product))
        self.lacking[len(columns)] = 1.0 - explained / len(self.X)
        return Outcome(self._value(R, whole), np.array(scores))

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

    def outcome(setting: Search, change: Change) -> Outcome:
        if not made:
            made.append(FactorScores(setting, size or 0))
        return made[0].outcome(setting, change)

    usual = Search._outcome
    start = time.process_time()
    try:
        if kind == "factors":
            Search._outcome = outcome  # type: ignore[method-assign]  # the prototype stands in for it
        selector.fit(X, y)
    finally:
        Search._outcome = usual  # type: ignore[method-assign]  # and leaves again
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
    """10,000 rows, standardised; categories as indicators, of mnist the 100 widest pixels."""
    table = pd.read_csv(folder / f"{name}.csv.gz")
    y = table.pop("target").to_numpy()
    X = pd.get_dummies(table, dtype=float).to_numpy(dtype=np.float64)
    rows = np.random.default_rng(0).permutation(len(X))[:10_000]
    X, y = X[rows], y[rows]
    X = X[:, np.sort(np.argsort(-X.var(axis=0))[:100])] if name == "mnist" else X
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


WAYS = ("blocks 250", "blocks 1000", "factors 100", "factors 300")


def _lacks(lacking: dict[int, float]) -> dict[str, float]:
    if not lacking:
        return {}
    return {"first": lacking[max(lacking)], "ten": lacking[min(lacking, key=lambda n: abs(n - 10))]}


def report(row: dict[str, Any]) -> dict[str, Any]:
    """Print a row of a table."""
    print({k: round(v, 5) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
    return row


def of_simulated() -> list[dict[str, Any]]:
    """How many of the relevant columns are ranked first."""
    rows = []
    for m, d, seeds in ((20_000, 50, 4), (20_000, 100, 2), (100_000, 50, 1)):
        for kind in ("2 classes", "10 classes", "numbers"):
            for way in WAYS:
                found, seconds = 0, np.inf
                for seed in range(seeds):
                    order, taken, lacking = search(*simulated(m, d, kind, seed), way)
                    found += len({*order[:4].tolist()} & {0, 1, 2, 3})
                    seconds = min(seconds, taken)  # other work on the machine slows some
                row = {"data": f"{m} x {d}", "target": kind, "way": way, "seconds": seconds}
                rows.append(report({**row, "found": found, "of": 4 * seeds, **_lacks(lacking)}))
    return rows


def of_real() -> list[dict[str, Any]]:
    """How many of the first columns are those of all pairs of rows; their HSIC on other rows."""
    rows, folder = [], Path(os.environ.get("DEPMAX_DATA", ""))
    for name in ("pole_telecomm", "ailerons", "mnist", "covertype", "adult"):
        if not (folder / f"{name}.csv.gz").exists():
            print(f"{name}: set DEPMAX_DATA to the folder that has it", file=sys.stderr)
            continue
        X, y = real(name, folder)
        train, test = slice(0, len(X) // 2), slice(len(X) // 2, None)
        reference: list[int] = []
        for way in ("pairs", *WAYS):
            order, seconds, lacking = search(X[train], y[train], way)
            reference = reference or order.tolist()
            row = {"data": f"{name}, {len(X) // 2} x {X.shape[1]}", "way": way, "seconds": seconds}
            for k in (3, 5, 10):
                row[f"same {k}"] = len({*order[:k].tolist()} & {*reference[:k]})
                row[f"hsic {k}"] = hsic(X[test][:, order[:k]], y[test])
            rows.append(report({**row, **_lacks(lacking)}))
    return rows


def main() -> None:
    """Make the tables that are asked for, by default both."""
    search(*simulated(300, 5, "numbers", 0), "blocks 100")  # imports
    search(*simulated(300, 5, "numbers", 0), "factors 20")
    for name in sys.argv[1:] or ("simulated", "real"):
        rows = {"simulated": of_simulated, "real": of_real}[name]()
        save(f"bahsic_factors_{name}", {"rows": rows})


if __name__ == "__main__":
    main()
