"""The data sets with two classes of the thesis (its Table 5.1), as far as they are at hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from depmax.datasets import available, load
from reproduction.external import load_external

_SAME = "same data"


@dataclass(frozen=True)
class Classes:
    """A data set, its class that counts as +1, and how it differs from the thesis's."""

    name: str
    file: str
    positive: str
    note: str = _SAME

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        """Standardised rows without constant columns, and classes -1 and +1."""
        data = load(self.file) if self.file in available() else load_external(self.file)
        y = np.where(np.asarray(data.y).astype(str) == self.positive, 1.0, -1.0)
        return standardised(data.X.astype(float)), y


def standardised(X: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and deviation 1 over all rows, as in the thesis; no constant ones."""
    deviations = X.std(axis=0)
    kept = deviations > 0
    return (X[:, kept] - X[:, kept].mean(axis=0)) / deviations[kept]


#: Small sets first, so that an interrupted run has most of a table.
SETS = (
    Classes("specft", "spectf_train", "1"),
    Classes("sonar", "sonar", "M"),
    Classes("heart", "heart_statlog", "present"),
    Classes("derm", "dermatology", "1", "same data; class 1 against the rest has its balance"),
    Classes("ionosphere", "ionosphere", "good"),
    Classes("wdbc", "wdbc", "M"),
    Classes(
        "covertype", "covertype_581", "1", "another sample of 581 rows, class 2 against the rest"
    ),
    Classes(
        "breastcancer",
        "breast_cancer_wisconsin",
        "malignant",
        "same rows; 9 columns, the thesis has 10 (the number of the patient, it seems)",
    ),
    Classes("australian", "australian", "1"),
    Classes("spambase", "spambase", "spam"),
)


@dataclass(frozen=True)
class Read:
    """A set of a table with its rows and classes, or None of each if it is not at hand."""

    name: str
    note: str
    X: np.ndarray | None = None
    y: np.ndarray | None = None

    def sample(self, n_rows: int) -> Read:
        """Some of the rows, drawn with seed 0; the set itself if it is not at hand."""
        if self.X is None or self.y is None:
            return self
        rows = np.random.default_rng(0).permutation(len(self.y))[:n_rows]
        note = f"another sample of the rows, {n_rows:,} of {len(self.y):,}"
        return Read(self.name, note, self.X[rows], self.y[rows])


def read_wanted(figures: Mapping[str, Any], wanted: Sequence[str] | None) -> Iterator[Read]:
    """The wanted sets of a table (None: all), those at hand first."""
    names = tuple(figures) if wanted is None else tuple(wanted)
    unknown = sorted(set(names) - set(figures))
    if unknown:
        raise ValueError(f"The table has no set named {unknown[0]!r}: one of {sorted(figures)}.")
    for data in SETS:
        if data.name in names:
            try:
                X, y = data.read()
            except FileNotFoundError as error:
                yield Read(data.name, str(error))
            else:
                yield Read(data.name, data.note, X, y)
    for name in sorted(set(names) - {data.name for data in SETS}):
        yield Read(name, "data not at hand")
