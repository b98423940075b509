"""Table 6 of the sparse PLS paper in kind: text, its features followed by a linear machine."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_matrix, issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.metrics import average_precision_score
from sklearn.svm import LinearSVC

from depmax.extraction import SMA, SMC, DeflationFeatures
from reproduction.external import load_external
from reproduction.figures import compared, published
from reproduction.registry import COLUMNS, Row, Table, register, whole
from reproduction.sparse_pls_protocol import folds_of, wanted_sets

NAME = "sparse_pls_text"
#: Collections and the class that is to be retrieved.
POSITIVE = {"reuters_grain_text": 1, "text20ng_pcmac": 1, "text20ng_basehock": 1}
QUICK = ("reuters_grain_text",)
PENALTIES = tuple(2.0**power for power in range(-3, 8, 2))
FOLDS = 3
#: Rows of a training part that settings are chosen with.
INNER_ROWS = 2000


@dataclass(frozen=True)
class Method:
    """Features of terms, and the numbers of them that are tried."""

    name: str
    make: Callable[[int], Any] | None  # None: all terms
    counts: tuple[int, ...] = (0,)


METHODS = (
    Method("All terms", None),
    Method(
        "PLS",
        lambda count: DeflationFeatures(count, criterion="pls", center=False),
        (1, 2, 5, 10, 20, 50),
    ),
    Method(
        "SMA",
        lambda count: SMA(count, kernel="linear", center=False, random_state=0),
        (100, 200, 300, 400),
    ),
    Method(
        "SMC",
        lambda count: SMC(count, kernel="linear", center=False, random_state=0),
        (100, 200, 300, 400),
    ),
)


@dataclass(frozen=True)
class Judged:
    """Average precision on the test part, and the number of features that was chosen."""

    precision: float
    n_features: int


def stream(quick: bool, n_jobs: int | None, datasets: Sequence[str] | None) -> Iterator[Row]:
    """One row per collection and method."""
    for name in wanted_sets(POSITIVE, datasets or (QUICK if quick else None)):
        counts, y = collection(name)
        yield from whole(_rows(name, counts, y, PENALTIES[1:4] if quick else PENALTIES, n_jobs))


def collection(name: str) -> tuple[csr_matrix, np.ndarray]:
    """Counts of terms, sparse, and whether a document is of the class to retrieve."""
    data = load_external(name)
    y = np.asarray(data.y) == POSITIVE[name]
    if data.X.dtype == object:  # raw text
        return csr_matrix(CountVectorizer(min_df=2).fit_transform(data.X), dtype=float), y
    return csr_matrix(data.X), y


def judge(
    counts: csr_matrix,
    y: np.ndarray,
    method: Method,
    penalties: Sequence[float],
    train: np.ndarray,
    test: np.ndarray,
) -> Judged:
    """Choose the number of features and the penalty inside the training part, then test."""
    inside = np.random.default_rng(0).permutation(train)[:INNER_ROWS]
    tables = [
        _precisions(counts, y, method, method.counts, penalties, inside[first], inside[second])
        for first, second in folds_of(y[inside], FOLDS, 0)
    ]
    place = int(np.mean(tables, axis=0).argmax())
    row, column = divmod(place, len(penalties))
    chosen, penalty = method.counts[row], penalties[column]
    found = _precisions(counts, y, method, (chosen,), (penalty,), train, test)
    return Judged(float(found[0, 0]), chosen or counts.shape[1])


def _rows(
    name: str, counts: csr_matrix, y: np.ndarray, penalties: Sequence[float], n_jobs: int | None
) -> Iterator[Row]:
    paper = published(NAME)
    note = f"{counts.shape[0]} documents, {counts.shape[1]} terms; published: {paper['collection']}"
    for method in METHODS:
        results = Parallel(n_jobs=n_jobs)(
            delayed(judge)(counts, y, method, penalties, *split) for split in folds_of(y, FOLDS, 0)
        )
        figure = paper["figures"].get(method.name)
        row = compared(name, method.name, [result.precision for result in results], figure)
        yield row | {
            "difference": None,  # another collection
            "n_features": float(np.mean([result.n_features for result in results])),
            "published_n_features": paper["n_features"].get(method.name),
            "note": note,
        }


def _precisions(
    counts: csr_matrix,
    y: np.ndarray,
    method: Method,
    numbers: Sequence[int],
    penalties: Sequence[float],
    train: np.ndarray,
    test: np.ndarray,
) -> np.ndarray:
    """Average precision by number of features and penalty; the first k features are nested."""
    weights = TfidfTransformer(sublinear_tf=True).fit(counts[train])
    first, second = (weights.transform(counts[part]) for part in (train, test))
    if method.make is not None:
        model = method.make(max(numbers))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer features are all there are
            first = np.asarray(model.fit_transform(first, y[train]))
        second = np.asarray(model.transform(second))
    share = float(y[train].mean())
    found = np.empty((len(numbers), len(penalties)))
    for row, number in enumerate(numbers):
        inner, outer = (part[:, : number or None] for part in (first, second))
        scale = _length(inner)
        for column, penalty in enumerate(penalties):
            # a class weighs as much as there is of the other
            machine = LinearSVC(C=penalty, dual=False, class_weight={True: 1 - share, False: share})
            machine.fit(inner / scale, y[train])
            ranks = machine.decision_function(outer / scale)
            found[row, column] = average_precision_score(y[test], ranks)
    return found


def _length(rows: Any) -> float:
    """Root of the mean squared length, so that penalties mean the same to terms and features."""
    squares = rows.multiply(rows).sum() if issparse(rows) else np.square(rows).sum()
    return float(np.sqrt(squares / rows.shape[0]))


register(
    Table(
        NAME,
        "Sparse PLS paper, Table 6 in kind: average precision on text",
        published(NAME)["source"],
        stream,
        (*COLUMNS, "n_features", "published_n_features", "note"),
    )
)
