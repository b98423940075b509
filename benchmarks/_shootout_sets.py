"""The data of the shoot-out: real sets, which half they belong to, and how they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from _external import load_external
from sklearn.model_selection import train_test_split

Kind = Literal["classes", "numbers"]

CLASSES = (
    "australian",
    "breast_cancer_wisconsin",
    "breast_vantveer_1113",
    "colon",
    "covertype_581",
    "dermatology",
    "dna_statlog",
    "eeg_bci2_iv_selfpaced",
    "faces_cbcl",
    "heart_statlog",
    "ionosphere",
    "lymphoma_alizadeh",
    "madelon",
    "optdigits",
    "prostate_singh",
    "segment",
    "sonar",
    "spambase",
    "spectf",
    "splice_libsvm",
    "srbct_khan",
    "svmguide2",
    "svmguide3",
    "usps",
    "vowel",
    "wdbc",
    "wine",
    "yeast_brown_selected",
)
NUMBERS = (
    "abalone",
    "ailerons",
    "bank32nh",
    "baseball",
    "bodyfat",
    "boston_housing",
    "gasoline_nir",
    "orange_juice_nir",
    "pole_telecomm",
    "puma32H",
    "pumadyn32nm",
    "wine_ir",
)
#: Sets with classes of ``few_rows.py`` alone.
ONLY_FEW_ROWS = ("breast_west", "cns_pomeroy", "dlbcl_shipp", "gisette_168", "leukemia_golub")
#: Every second set of each list, in alphabetical order: settings were chosen on these alone.
TUNING = frozenset(CLASSES[::2] + NUMBERS[::2] + ONLY_FEW_ROWS[::2])
#: Sets of the shoot-out with fewer than 260 rows.
FEW_ROWS = frozenset(
    (
        *("bodyfat", "breast_vantveer_1113", "colon", "gasoline_nir", "lymphoma_alizadeh"),
        *("orange_juice_nir", "prostate_singh", "sonar", "srbct_khan", "wine", "wine_ir"),
        "yeast_brown_selected",
    )
)
#: Columns that are the target in another form.
LEAKS = {"bodyfat": ("Density",)}


@dataclass(frozen=True)
class Task:
    """A data set as the methods see it."""

    name: str
    kind: Kind
    half: Literal["tuning", "report"]
    X: np.ndarray
    y: np.ndarray


def names() -> list[str]:
    """All sets, the halves taking turns, so that an interrupted run has seen both."""
    return sorted(CLASSES + NUMBERS)


def load(name: str, max_rows: int) -> Task:
    """A set with at most so many rows (a seeded sample, stratified by class)."""
    kind: Kind = "numbers" if name in NUMBERS else "classes"
    data = load_external(name)
    kept = [
        place
        for place, column in enumerate(data.feature_names)
        if column not in LEAKS.get(name, ())
    ]
    X = _numbers(data.X[:, kept])
    y = np.unique(data.y, return_inverse=True)[1] if kind == "classes" else data.y.astype(float)
    if len(y) > max_rows:
        labels = y if kind == "classes" else None
        rows, _ = train_test_split(
            np.arange(len(y)), train_size=max_rows, stratify=labels, random_state=0
        )
        X, y = X[np.sort(rows)], y[np.sort(rows)]
    return Task(name, kind, "tuning" if name in TUNING else "report", X, y)


def _numbers(X: np.ndarray) -> np.ndarray:
    """Columns as floats; a column of text becomes an indicator for each of its values."""
    if X.dtype.kind == "f":
        return X
    columns: list[np.ndarray] = []
    for values in X.T:
        try:
            columns.append(values.astype(float))
        except (TypeError, ValueError):
            columns += [(values == level).astype(float) for level in np.unique(values)]
    return np.column_stack(columns)
