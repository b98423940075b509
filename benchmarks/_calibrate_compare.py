"""Does the comparison of methods call ties significant? Equally good methods, many times over."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import common
import numpy as np
from joblib import Parallel, delayed
from scipy.stats import wilcoxon

from depmax.evaluation import corrected_mean, holm

LEVEL = 0.05
#: Corrected tests may reject a tie at most so often, two standard errors of 2,000 draws included.
ALLOWED = 0.06


@dataclass(frozen=True)
class Splits:
    """Repeated splits of a sample with two classes into training and test rows."""

    name: str
    folds: int  # 2 and one part of it used: half splits
    repeats: int
    both_ways: bool = True

    @property
    def test_per_train(self) -> float:
        return 1.0 / (self.folds - 1)

    def draw(self, y: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
        """Masks of test rows, stratified by class."""
        masks = []
        for _ in range(self.repeats):
            fold = np.empty(len(y), dtype=int)
            for label in (0, 1):
                rows = rng.permutation(np.flatnonzero(y == label))
                fold[rows] = np.arange(len(rows)) % self.folds
            parts = range(self.folds if self.both_ways else 1)
            masks += [fold == part for part in parts]
        return masks


SPLITS = (
    Splits("5 folds twice", 5, 2),
    Splits("10 folds 5 times", 10, 5),
    Splits("50 halves", 2, 50, both_ways=False),
)
N_METHODS = 4


def tie_rates(n_sets: int, jobs: int) -> list[dict[str, Any]]:
    """Share of samples on which a test finds a difference between methods that are equally good."""
    settings = [(splits, n_rows) for splits in SPLITS for n_rows in (60, 200)]
    return Parallel(n_jobs=jobs)(
        delayed(_rates)(splits, n_rows, n_sets, seed)
        for seed, (splits, n_rows) in enumerate(settings)
    )


def _rates(splits: Splits, n_rows: int, n_sets: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    found, first = zip(*(_one_sample(splits, n_rows, rng) for _ in range(n_sets)), strict=True)
    corrected, plain, family = np.mean(found, axis=0)
    varied = [each for each in first if each.any()]  # no difference at all is no rejection
    ranks = np.sum(wilcoxon(np.array(varied), axis=1, method="asymptotic").pvalue <= LEVEL) / n_sets
    return {
        **asdict(splits),
        "n_rows": n_rows,
        "n_sets": n_sets,
        "corrected": float(corrected),
        "plain_t": float(plain),
        "wilcoxon": float(ranks),
        "family_of_6_pairs": float(family),
        "passed": bool(max(corrected, family) <= ALLOWED),
    }


def _one_sample(
    splits: Splits, n_rows: int, rng: np.random.Generator
) -> tuple[tuple[bool, ...], np.ndarray]:
    """Whether each test rejects, and the differences of the first pair of methods.

    A method cuts its own column halfway between the class means.
    """
    y = np.repeat([0, 1], n_rows // 2)
    X = rng.normal(size=(n_rows, N_METHODS)) + y[:, np.newaxis]
    scores = []
    for test in splits.draw(y, rng):
        train = ~test
        cut = (X[train & (y == 0)].mean(axis=0) + X[train & (y == 1)].mean(axis=0)) / 2
        scores.append(((X[test] > cut) == y[test, np.newaxis]).mean(axis=0))
    table = np.array(scores)  # splits × methods
    first = table[:, 0] - table[:, 1]
    pairs = [table[:, i] - table[:, j] for i, j in combinations(range(N_METHODS), 2)]
    adjusted = holm([corrected_mean(pair, splits.test_per_train).pvalue for pair in pairs])
    rejected = (
        corrected_mean(first, splits.test_per_train).pvalue <= LEVEL,
        corrected_mean(first, 0.0).pvalue <= LEVEL,
        bool((adjusted <= LEVEL).any()),
    )
    return rejected, first


def show(results: list[dict[str, Any]]) -> None:
    """Table of the rates."""
    print(f"\nTies called significant at the {LEVEL:.0%} level")
    common.table(
        ["splits", "rows", "corrected t", "plain t", "Wilcoxon", "any of 6 (Holm)", ""],
        [
            [
                each["name"],
                each["n_rows"],
                *(f"{each[k]:.3f}" for k in ("corrected", "plain_t", "wilcoxon")),
                f"{each['family_of_6_pairs']:.3f}",
                "" if each["passed"] else "TOO MANY",
            ]
            for each in results
        ],
    )
