"""Rows that arrive in batches: sums over all of them so far, and ``partial_fit`` from these."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy import sparse

from depmax._files import held_by_models
from depmax._parameters import check_parameters
from depmax._text import counted
from depmax.algebra.row_sums import Aligned, RowSums, Summation, dense, origin_of
from depmax.data import read_target
from depmax.data.table import keeps_sums, read_batch, require_equal_length
from depmax.data.target import label_type
from depmax.data.weights import Weighed
from depmax.kernels import as_kernel
from depmax.maps.feature_map import coordinate_names


@held_by_models
@dataclass(frozen=True)
class Batches:
    """Sums over the rows of all batches so far: those of each class, or of X beside numbers."""

    classes: np.ndarray | None  # labels, sorted; None: the target is numbers
    sums: tuple[RowSums | None, ...]  # of one class each, or of (x, y) and of x; None: no rows yet
    flat: bool  # whether y has one dimension

    def __add__(self, other: Batches) -> Batches:
        pairs = zip(self.sums, other.sums, strict=True)
        return replace(self, sums=tuple(_joined(left, right) for left, right in pairs))

    def is_enough(self, n_features: int) -> bool:
        """Whether something can depend on the target so far: neither X nor y is constant."""
        present = self._present
        if not present:
            return False
        varies = _varies(reduce(add, present))
        if self.classes is not None:
            return len(present) > 1 and bool(varies.any())
        return bool(varies[:n_features].any() and varies[n_features:].any())

    @property
    def lean(self) -> np.ndarray:
        """Σ ‖x‖²x of all rows about their mean, of shape (n_features,)."""
        total = reduce(add, self._present) if self.classes is not None else self.sums[1]
        assert total is not None
        cubes = total.centred().cubes
        assert cubes is not None
        return cubes

    @property
    def _present(self) -> list[RowSums]:
        """Sums over all rows: of the classes that were seen, or of (x, y)."""
        own = self.sums[:1] if self.classes is None else self.sums
        return [found for found in own if found is not None]

    def rows(self, n_features: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A few rows X, their target and weights, with the sums of all."""
        found = [matched_rows(sums) for sums in self._present]
        X = np.vstack([points for points, _ in found])
        weight = np.concatenate([weights for _, weights in found])
        if self.classes is None:
            y = X[:, n_features:]
            return X[:, :n_features], y[:, 0] if self.flat else y, weight
        present = [sums is not None for sums in self.sums]
        return X, np.repeat(self.classes[present], [len(points) for points, _ in found]), weight


def _joined(left: RowSums | None, right: RowSums | None) -> RowSums | None:
    if left is None or right is None:
        return right if left is None else left
    return left + right


def _varies(sums: RowSums) -> np.ndarray:
    """Which columns vary by more than rounding errors of their values, of shape (n_columns,)."""
    sums = sums.centred()
    assert sums.scatter is not None
    rounding = 10 * np.finfo(np.float64).eps * np.abs(sums.mean_x)
    varies: np.ndarray = sums.scatter.diagonal() > sums.weight * rounding**2
    return varies


def matched_rows(sums: RowSums) -> tuple[np.ndarray, np.ndarray]:
    """Points and their weights with the number, the mean and the scatter of all rows.

    With the covariance LLᵀ of rank r about the mean μ these are μ ± √r·l_k, k = 1, …, r, all of
    one weight.

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [6.0]])
    >>> points, weights = matched_rows(RowSums.of(rows, rows, scatter=True))
    >>> (weights @ points).round(6), (weights @ points**2).round(6)
    (array([9.]), array([41.]))
    """
    sums = sums.centred()
    assert sums.scatter is not None
    covariance = sums.scatter / sums.weight
    spread = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    units = np.where(spread > 0, spread, 1.0)  # so that no column is lost beside a larger one
    values, vectors = np.linalg.eigh(covariance / np.outer(units, units))
    kept = values > len(values) * np.finfo(np.float64).eps * max(values.max(initial=0.0), 1.0)
    rank = int(kept.sum())
    if rank == 0:
        return sums.mean_x[np.newaxis], np.array([sums.weight])
    steps = (np.sqrt(rank * values[kept]) * vectors[:, kept] * units[:, np.newaxis]).T
    points = np.vstack([sums.mean_x + steps, sums.mean_x - steps])
    return points, np.full(2 * rank, sums.weight / (2 * rank))


def has_batches(model: Any) -> bool:
    """Whether rows may arrive in batches: not after ``fit``, which keeps no sums."""
    return bool(model._adds_up) and keeps_sums(model)


def partial_fit(
    self: Any, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
) -> Any:
    """Learn from one more batch of rows; the features are those of all batches so far.

    Any split of the rows into batches gives the features of one ``fit`` to all of them. Only
    sums over the rows are kept: of every class, as many numbers as columns squared.

    Parameters
    ----------
    X : array-like, sparse matrix or frame of numbers, of shape (n_samples, n_features)
    y : target of the batch
        Its type is that of the first batch.
    classes : array-like, optional
        All classes, for the first call, where its batch does not have rows of each.
    sample_weight : array-like of shape (n_samples,), optional
        How many rows each row stands for.

    Returns
    -------
    self
    """
    check_parameters(self)
    self._check_parameters()
    _require_sums(self)
    earlier: Batches | None = vars(self).get("_batches")
    rows = read_batch(self, X)
    more = _batch(self, rows, y, classes, sample_weight, earlier)
    batches = more if earlier is None else earlier + more
    if batches.is_enough(self.n_features_in_):
        try:
            _learn(self, batches)
        except BaseException:
            if earlier is not None:  # a batch that is refused leaves those before it
                self._batches = earlier
            raise
    self._batches = batches
    return self


def _require_sums(self: Any) -> None:
    """Refuse parameters with which features are not a function of sums over the rows."""
    why = self._why_rows_do_not_add
    if not self._abilities().is_linear:
        why = (
            "a nonlinear kernel or map is fitted to all rows. Fit a map first, transform the "
            "batches with it, and use kernel='linear'"
        )
    elif isinstance(self.n_components, str):
        why = "n_components='auto' compares fits to parts of the rows. Give a number, or a share"
    elif getattr(self, "beta", 0.0) > 0:
        why = "beta > 0 compares every row with its neighbours among all others. Use beta=0"
    elif not _reads_classes(self.target_kernel):
        why = (
            f"target_kernel={self.target_kernel!r} has parameters that are estimated from all "
            "rows. Use 'auto' for classes, or 'linear'"
        )
    if why is not None:
        raise ValueError(f"{type(self).__name__} has no partial_fit with these parameters: {why}.")


def _batch(
    self: Any, rows: Any, y: Any, classes: Any, sample_weight: Any, earlier: Batches | None
) -> Batches:
    """The sums of one batch."""
    name, n_rows = type(self).__name__, rows.shape[0]
    weight = None if sample_weight is None else _read_weight(sample_weight, n_rows)
    if earlier is None:
        labels = self._batch_labels(y)
        if labels is None and classes is not None and self._predicts != "regressor":
            labels = read_target(y).labels
        if labels is not None:
            classes = label_type(np.unique(labels if classes is None else classes), y)
    else:
        classes = earlier.classes
        labels = None if classes is None else read_target(y, is_part=True).values
    if labels is None:
        return _batch_of_numbers(self, rows, y, weight, earlier)
    labels = np.ravel(labels)
    require_equal_length(n_rows, len(labels))
    unseen = np.setdiff1d(labels, classes)
    if len(unseen):
        raise ValueError(
            f"y of {name} has the class {unseen.tolist()[0]!r}, which the first batch did not "
            "have: pass all classes to the first call of partial_fit, classes=…."
        )
    parts = (_sums(rows, labels == label, weight) for label in classes.tolist())
    return Batches(classes, tuple(parts), flat=True)


def _batch_of_numbers(
    self: Any, rows: Any, y: Any, weight: np.ndarray | None, earlier: Batches | None
) -> Batches:
    why = self._why_numbers_do_not_add
    if why is not None:
        raise ValueError(f"{type(self).__name__} has no partial_fit for numbers: {why}.")
    target = read_target(y, is_part=True)
    values = np.asarray(target.vectors, dtype=np.float64)
    require_equal_length(rows.shape[0], len(values))
    both = np.hstack([dense(rows), values])
    flat = np.ndim(y) == 1 if earlier is None else earlier.flat
    known = None if earlier is None else earlier.sums[0]
    if known is not None and len(known.sum_x) != both.shape[1]:
        raise ValueError("y has a different number of columns than in the first batch.")
    every = np.ones(len(both), dtype=bool)
    return Batches(None, (_sums(both, every, weight), _sums(rows, every, weight)), flat)


def _learn(self: Any, batches: Batches) -> None:
    """Fit to a few rows with the sums of all."""
    names = getattr(self, "feature_names_in_", None)
    X, y, weight = batches.rows(self.n_features_in_)
    self._lean = batches.lean  # that of the few rows is another
    try:
        self._fit(X, y, weighed=Weighed(weight, None))
    finally:
        del self._lean
    if names is not None:
        self.feature_names_in_ = names
        self.coordinate_names_ = coordinate_names(self)


def _sums(rows: Any, chosen: np.ndarray, weight: np.ndarray | None) -> RowSums | None:
    """Sums over some rows, those of no weight left out."""
    chosen = chosen if weight is None else chosen & (weight > 0)
    if not chosen.any():
        return None
    phi = rows[chosen]
    own = None if weight is None else weight[chosen]
    nothing = np.zeros((phi.shape[0], 0))
    summation = Summation(origin_of(phi), np.zeros(0), scatter=True)
    phi = phi if sparse.issparse(phi) else np.asarray(phi, dtype=np.float64)
    summation.add(Aligned(phi, nothing, weight=own))
    return summation.result()


def _read_weight(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Weights of the rows of a batch; all of them may be zero."""
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,) or not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise ValueError(f"sample_weight must hold {counted(n_rows, 'number')}, each at least 0.")
    return weight


def _reads_classes(target_kernel: Any) -> bool:
    """Whether the kernel of the target has coordinates that follow from the rows of each class."""
    if isinstance(target_kernel, str) and target_kernel == "auto":
        return True
    if isinstance(target_kernel, str) and target_kernel == "precomputed":
        return False
    abilities = as_kernel(target_kernel).capabilities
    return bool(abilities.labels or abilities.is_linear)
