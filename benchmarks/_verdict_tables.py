"""Tables with a known truth for benchmarks/verdicts.py: draws of large sets, and simulated ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from _external import load_external

#: Constants of the verdict were chosen on the first half; the second was looked at afterwards.
TUNING = (
    "adult",
    "pole_telecomm",
    "bank32nh",
    "optdigits",
    "spambase",
    "madelon",
    "abalone",
    "usps",
)
REPORT = (
    "covertype",
    "puma32H",
    "pumadyn32nm",
    "ailerons",
    "segment",
    "faces_cbcl",
    "dna_statlog",
    "svmguide3",
)
#: Targets that are numbers, also where they are whole.
NUMBERS = ("abalone", "ailerons", "bank32nh", "pole_telecomm", "puma32H", "pumadyn32nm")
SIMULATED = ("noise classes", "noise numbers", "rare class", "groups", "prices", "copies")
#: Rows of a draw, and of what it is judged on.
ROWS = (181, 301)
UNSEEN = 4_000


@dataclass(frozen=True)
class Drawn:
    """A small table, and other rows of the same kind."""

    name: str
    X: Any
    y: np.ndarray
    n_rows: int  # the first so many are the table, the others are unseen
    groups: np.ndarray | None = None
    truth: str = "signal"

    @property
    def seen(self) -> np.ndarray:
        """Rows of the table."""
        return np.arange(self.n_rows)

    @property
    def unseen(self) -> np.ndarray:
        """Other rows."""
        return np.arange(self.n_rows, len(self.y))


def drawn(name: str, number: int) -> Drawn:
    """A draw of a set, or a simulated table."""
    rng = np.random.default_rng([number, *name.encode()])
    n_rows = int(rng.integers(*ROWS))
    if name in SIMULATED:
        return _simulated(name, n_rows, rng)
    data = load_external(name)
    y = np.asarray(data.y, dtype=float) if name in NUMBERS else np.asarray(data.y)
    order = rng.permutation(len(y))
    if y.dtype.kind != "f":  # a class of one row cannot be held out
        labels, counts = np.unique(y[order[:n_rows]], return_counts=True)
        order = order[np.isin(y[order], labels[counts >= 2])]
    rows = order[: n_rows + UNSEEN]
    n_rows = min(n_rows, len(rows) * 3 // 4)
    X = np.asarray(data.X)[rows]
    if X.dtype.kind == "O":  # text columns are categories
        X = pd.DataFrame(X, columns=list(map(str, data.feature_names))).infer_objects()
        for column in X.columns:
            try:
                X[column] = X[column].astype(float)
            except (TypeError, ValueError):
                X[column] = X[column].astype(str).astype("category")
    return Drawn(name, X, y[rows], n_rows)


def _simulated(name: str, n_rows: int, rng: np.random.Generator) -> Drawn:
    m = n_rows + UNSEEN
    d = int(rng.integers(15, 41))
    X = rng.normal(size=(m, d))
    if name == "noise classes":
        return Drawn(name, X, rng.integers(0, 2, m), n_rows, truth="noise")
    if name == "noise numbers":
        return Drawn(name, X, rng.normal(size=m), n_rows, truth="noise")
    if name == "rare class":  # 16 of 300 rows
        X, n_rows, m = rng.normal(size=(300 + UNSEEN, d)), 300, 300 + UNSEEN
        score = X[:, 0] + X[:, 1] + 1.2 * rng.normal(size=m)
        y = np.zeros(m, dtype=int)
        for part in (np.arange(n_rows), np.arange(n_rows, m)):
            count = round(16 / 300 * len(part))
            y[part[np.argsort(-score[part])[:count]]] = 1
        return Drawn(name, X, y, n_rows)
    if name == "groups":  # five rows of a patient, alike
        patient = np.repeat(np.arange(m // 5 + 1), 5)[:m]
        X = 0.7 * rng.normal(size=(patient.max() + 1, d))[patient] + 0.7 * X
        y = (X[:, 0] - X[:, 1] + rng.normal(size=patient.max() + 1)[patient] > 0).astype(int)
        n_rows -= n_rows % 5
        return Drawn(name, X, y, n_rows, groups=patient)
    if name == "prices":  # skewed numbers
        return Drawn(name, X, np.exp(0.6 * (X[:, 0] + X[:, 1] + 0.7 * rng.normal(size=m))), n_rows)
    X[:, 5:15] = X[:, rng.integers(0, 5, 10)] + 0.3 * rng.normal(size=(m, 10))
    return Drawn(name, X, X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * rng.normal(size=m), n_rows)
