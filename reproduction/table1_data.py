"""The data sets of Table 1 of the BAHSIC paper, as far as they are at hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, OrdinalEncoder

from depmax.datasets import available, load
from reproduction.external import load_external
from reproduction.protocol import Task

#: Larger sets are sampled, as in the paper: below 2000 rows, as many of every class.
MOST_ROWS = 1999
#: Rows of the libsvm file a1a of the adult data.
ADULT_ROWS = 1605

Encode = Callable[[np.ndarray], np.ndarray]


def _floats(X: np.ndarray) -> np.ndarray:
    return X.astype(float)


def _text_as_codes(X: np.ndarray) -> np.ndarray:
    """Columns of text become whole numbers in alphabetical order."""
    text = _is_text(X)
    coded = np.empty(X.shape)
    coded[:, ~text] = X[:, ~text].astype(float)
    coded[:, text] = OrdinalEncoder().fit_transform(X[:, text])
    return coded


def _indicators(X: np.ndarray) -> np.ndarray:
    """Numbers in fifths, then an indicator for every value, much as libsvm's file has them."""
    text = _is_text(X)
    fifths = [_fifths(column) for column in X[:, ~text].astype(float).T]
    values = np.column_stack([*fifths, X[:, text]])
    return OneHotEncoder(sparse_output=False).fit_transform(values)


def _fifths(column: np.ndarray) -> np.ndarray:
    """Which fifth a value is in; fewer parts where many values are equal."""
    return np.searchsorted(np.unique(np.quantile(column, [0.2, 0.4, 0.6, 0.8])), column)


def _is_text(X: np.ndarray) -> np.ndarray:
    return np.array([isinstance(cell, str) for cell in X[0]])


@dataclass(frozen=True)
class Problem:
    """A data set of the table: its file, what to predict, and how it differs from the paper's."""

    name: str
    file: str
    task: Task = "binary"
    note: str = "same data"
    positive: str | None = None  # one class against the rest
    encode: Encode = _floats
    rows: int | None = None  # a sample of so many rows that keeps the shares of the classes
    negative: str | None = None  # the class that ``positive`` is told from, instead of the rest
    first: int | None = None  # only so many rows from the beginning

    @property
    def published_name(self) -> str:
        """The name in the table; what follows a comma says how a variant differs."""
        return self.name.partition(",")[0]

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows as floats, and classes 0, 1, … or numbers as floats."""
        data = load(self.file) if self.file in available() else load_external(self.file)
        X, y = self.encode(data.X)[: self.first], np.asarray(data.y)[: self.first]
        if self.negative is not None:
            pair = np.isin(y.astype(str), [str(self.positive), self.negative])
            X, y = X[pair], y[pair]
        if self.positive is not None:
            y = y.astype(str) == self.positive
        y = y.astype(float) if self.task == "regression" else LabelEncoder().fit_transform(y)
        rows = self._sample(y)
        return X[rows], y[rows]

    def _sample(self, y: np.ndarray) -> np.ndarray:
        """Row numbers, in order: all, or a balanced sample with a fixed seed."""
        everything = np.arange(len(y))
        if self.rows is not None:
            kept, _ = train_test_split(everything, train_size=self.rows, stratify=y, random_state=0)
            return np.sort(kept)
        if len(y) <= MOST_ROWS + 1:
            return everything
        random = np.random.default_rng(0)
        if self.task == "regression":
            return np.sort(random.choice(len(y), MOST_ROWS, replace=False))
        classes, counts = np.unique(y, return_counts=True)
        each = min(MOST_ROWS // len(classes), counts.min())
        parts = [random.choice(np.flatnonzero(y == c), each, replace=False) for c in classes]
        return np.sort(np.concatenate(parts))


_SAMPLED = "same data; another sample of the rows"
_TWO_CLASSES = "same data; which two classes the paper made is not stated: here {} against the rest"
_SAMPLED_CLASSES = _TWO_CLASSES.replace("same data", _SAMPLED)

#: Small sets first, so that an interrupted run has most of the table.
PROBLEMS = (
    Problem("specft", "spectf_train", note="same data (the 80 training rows)"),
    Problem("wine", "wine", positive="0", note=_TWO_CLASSES.format("the first class")),
    Problem("sonar", "sonar"),
    Problem("heart", "heart_statlog"),
    Problem("ionosphere", "ionosphere"),
    Problem("derm", "dermatology", positive="1", note=_TWO_CLASSES.format("class 1")),
    Problem("wdbc", "wdbc"),
    Problem("breastcancer", "breast_cancer_wisconsin"),
    Problem("australian", "australian"),
    Problem("svmguide2", "svmguide2", "multiclass"),
    Problem("bodyfat", "bodyfat", "regression", note="same data, Density included"),
    Problem("housing", "boston_housing", "regression"),
    Problem("vowel", "vowel", "multiclass", note="all 990 rows; the paper may have used 528"),
    Problem("splice", "splice_libsvm", note="the 1000 training rows of the libsvm form"),
    Problem("svmguide3", "svmguide3"),
    Problem("abalone", "abalone", "regression", _SAMPLED, encode=_text_as_codes),
    Problem("segment", "segment", "multiclass", _SAMPLED),
    Problem("covertype", "covertype", note=_SAMPLED_CLASSES.format("class 2"), positive="2"),
    Problem("optdigits", "optdigits", note=_SAMPLED_CLASSES.format("digit 0"), positive="0"),
    Problem(
        "optdigits, 0 against 8",
        "optdigits",
        note="variant: two digits instead of one against the rest",
        positive="0",
        negative="8",
    ),
    Problem("arcene", "arcene"),
    Problem(
        "arcene, 100 rows", "arcene", note="variant: one half of the rows, as released", first=100
    ),
    Problem(
        "adult",
        "adult",
        note="stand-in: our own sample of 1605 rows with indicator columns, instead of a1a",
        encode=_indicators,
        rows=ADULT_ROWS,
    ),
    Problem("gisette", "gisette_168", note="stand-in: 168 of the 6000 training rows"),
    Problem("usps", "usps", "multiclass", _SAMPLED),
    Problem("madelon", "madelon", note=_SAMPLED),
)
