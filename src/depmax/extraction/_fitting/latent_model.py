"""What partial least squares offers beside features: paths of predictions, and diagnostics."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from depmax.data.sample import Sample
from depmax.data.scan import by_chunks
from depmax.data.table import is_streamed
from depmax.extraction._fitting.coded_target import CodedTarget
from depmax.extraction._fitting.fold_sums import FoldSums
from depmax.extraction._fitting.importance import vip
from depmax.extraction._fitting.prediction import (
    FeaturePredictor,
    HeldOut,
    Splits,
    predicted,
)
from depmax.extraction._fitting.row_diagnostics import residual_law
from depmax.extraction._fitting.search import Answer, Found
from depmax.kernels import Linear
from depmax.maps.feature_map import is_linear

#: Columns up to which sums of folds are held.
LARGEST = 4000
#: Training rows, evenly spread, from which the law of Q is learnt.
LAW_ROWS = 2000


@property  # type: ignore[misc]  # becomes one of the classes that take it
def vip_(self: Any) -> np.ndarray:
    """Variable importance in the projection: above 1, a column does more than the average."""
    if not is_linear(self) or not hasattr(self, "components_"):
        raise AttributeError(f"{type(self).__name__} has vip_ once it is fitted, linear only.")
    return vip(self)


def predict(self: Any, X: Any, n_components: int | None = None) -> np.ndarray:
    """Targets of new rows.

    Parameters
    ----------
    X : as in ``fit``
    n_components : int, optional
        How many of the features are used, as if no more had been fitted; by default all.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_targets)
        One-dimensional if y was; classes if y had classes. As lazy as X.

    Examples
    --------
    >>> from depmax import KernelPLS
    >>> from depmax.datasets import load
    >>> meat = load("tecator")
    >>> model = KernelPLS(15).fit(meat.X, meat.y)
    >>> few = KernelPLS(5).fit(meat.X, meat.y)
    >>> bool(abs(model.predict(meat.X, 5) - few.predict(meat.X)).max() < 1e-8)
    True
    """
    if n_components is None:
        return predicted(self, X)
    check_is_fitted(self)
    largest = self.n_components_ - self.n_orthogonal
    if not 1 <= n_components <= largest:
        raise ValueError(
            f"n_components of predict must be from 1 to {largest}, the number of features "
            f"that {type(self).__name__} has, got {n_components!r}."
        )
    readout = self._readout.first(int(n_components))
    if is_streamed(X):
        flat = readout.classes is not None or readout.flat
        width = None if flat else len(readout.intercept)
        dtype = None if readout.classes is None else readout.classes.dtype
        own = partial(self.predict, n_components=n_components)
        return by_chunks(own, X, width, dtype=dtype)
    return readout.answers(self._apply(X)[:, : int(n_components)])


def predict_path(self: Any, X: Any) -> np.ndarray:
    """Targets of new rows by 1, 2, … features.

    Parameters
    ----------
    X : as in ``fit``, in memory

    Returns
    -------
    ndarray of shape (n_counts, n_samples) or (n_counts, n_samples, n_targets)

    Examples
    --------
    >>> from depmax import KernelPLS
    >>> from depmax.datasets import load
    >>> meat = load("tecator")
    >>> model = KernelPLS(10, kernel="gaussian").fit(meat.X[50:], meat.y[50:])
    >>> errors = model.predict_path(meat.X[:50]) - meat.y[:50]
    >>> errors.shape
    (10, 50)
    """
    check_is_fitted(self)
    T, readout = self._apply(X), self._readout
    counts = range(1, self.n_components_ - self.n_orthogonal + 1)
    return np.array([readout.first(count).answers(T[:, :count]) for count in counts])


def check_orthogonal(self: Any) -> None:
    """Refuse a share of components beside orthogonal ones."""
    if self.n_orthogonal and isinstance(self.n_components, float):
        raise ValueError(
            f"n_orthogonal={self.n_orthogonal} of {type(self).__name__} goes with a whole "
            f"number of components or 'auto', got n_components={self.n_components!r}."
        )


def keep_more(self: Any, found: Found, answer: Answer) -> None:
    """The prediction, and what diagnostics of new rows need."""
    FeaturePredictor._keep_more(self, found, answer)
    assert found.squares is not None
    target = answer.numbers
    self._n_rows = float(self._n_training if self._weight is None else self._weight.sum())
    self.score_variance_ = found.squares / (self._n_rows - 1)
    self._error_squares = None
    if target.classes is None:
        if is_streamed(target.values):
            total = np.diagonal(target.centred.gram)
        else:
            values, weight = target.centred, target.weight
            weighted = values if weight is None else values * weight[:, np.newaxis]
            total = np.einsum("ij,ij->j", weighted, values)
        explained = found.squares @ np.square(self.target_loadings_)
        self._error_squares = np.maximum(total - explained, 0.0)
    own = self._lean is None  # the few rows that stand for batches have another Q
    self._residual_law = residual_law(self, *found.more) if own and found.more else None


def held_out(
    self: Any, X: Any, target: CodedTarget, data: Sample, splits: Splits, limit: int
) -> Iterator[HeldOut]:
    """Held-out predictions from sums over all rows less those of each fold, of numbers."""
    y, tests = target.plain, [test for _, test in splits]
    own = [self._read_answer(y[train], None).numbers for train, _ in splits]
    n_train = min(len(train) for train, _ in splits)
    if not (_adds_up(data, n_train) and _is_whole(target, own, tests)):
        yield from FeaturePredictor._held_out(self, X, target, data, splits, limit)
        return
    if target.classes is None:
        factors = [np.ones(target.values.shape[1])] * len(own)
    else:  # codes of the rows outside the fold, from those of all rows
        factors = [target.scale / part.scale for part in own]
    sums = FoldSums.of(data.rows, tests)
    with sums.solving():
        paths = list(sums.paths(target.values, factors, limit, self.n_orthogonal))
    for test, part, path in zip(tests, own, paths, strict=True):
        readouts = tuple(
            self._read_out(part, _no_features, path.squares[:k], path.covariances[:, :k])
            for k in range(1, min(limit, len(path.squares)) + 1)
        )
        yield HeldOut(test, path.features, readouts)


def law_rows(model: Any, data: Sample) -> tuple[Any, np.ndarray | None] | None:
    """Rows from which the law of Q is learnt, evenly spread, with their weights."""
    if data.is_streamed or not is_linear(model):
        return None
    rows = np.unique(np.linspace(0, data.n_samples - 1, LAW_ROWS).astype(np.intp))
    return data.rows[rows], None if data.weight is None else data.weight[rows]


def _adds_up(data: Sample, n_train: int) -> bool:
    """Whether products of all rows are sums of those of folds: numbers as they are, in memory.

    Of more columns than rows, features of the rows themselves have more digits.
    """
    rows = data.rows
    return (
        isinstance(data.kernel, Linear)
        and isinstance(rows, np.ndarray)
        and not sparse.issparse(rows)
        and data.n_coordinates == rows.shape[1]
        and rows.shape[1] <= min(n_train, LARGEST)
        and bool(np.isfinite(rows.sum()))
    )


def _is_whole(target: CodedTarget, own: list[CodedTarget], tests: list[np.ndarray]) -> bool:
    """Whether every row is held out once, and all classes are among the others each time."""
    n_classes = target.values.shape[1]
    return sum(map(len, tests)) == target.n_samples and all(
        part.values.shape[1] == n_classes for part in own
    )


def _no_features() -> np.ndarray:
    raise AssertionError("least squares needs products only")
