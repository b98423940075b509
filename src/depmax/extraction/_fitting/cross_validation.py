"""Predictions of held-out rows by every number of features, and a test whether they are luck.

Sums over the rows outside a fold are those of all rows, from which its own are taken off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from depmax._resources import small_problems
from depmax.algebra.space import Moments
from depmax.data.sample import Sample, read_training
from depmax.data.table import is_streamed, require_equal_length
from depmax.dependence.exchange import scheme_of
from depmax.extraction._fitting.number_of_components import (
    choices_of,
    fewest_within_one_error,
    joined,
)
from depmax.extraction._fitting.prediction import FOLDS, CodedTarget, Splits, shuffled_folds
from depmax.maps.feature_map import is_linear

#: Folds of the permutation test, as chemometric programs have it.
TEST_FOLDS = 7


# --- sums of folds --------------------------------------------------------------------------------
#: Features up to which products with S are left to one thread.
SMALL = 1000


#: Weights R of features XR, of shape (D, k), from S, C and ‖Y‖².
WeightsOf = Callable[[Moments, float], np.ndarray]


class FoldPath(NamedTuple):
    """Partial least squares of the rows outside a fold."""

    features: np.ndarray  # of the fold's rows, shape (n_test, k)
    squares: np.ndarray  # ‖τ_j‖² on the other rows, shape (k,)
    covariances: np.ndarray  # YᵀT there, shape (r, k)


@dataclass(frozen=True)
class FoldSums:
    """Rows in the smaller of their dimensions, fold after fold, and sums over those of each.

    Sums over the rows outside a fold are those of all rows less its own, about their own mean, as
    in Engstrøm and Jensen (2025), Fast partition-based cross-validation with centering and scaling
    for XᵀX and XᵀY.
    """

    tests: tuple[np.ndarray, ...]  # the rows of every fold; together all rows, each once
    rows: tuple[np.ndarray, ...]  # those of every fold, about the mean of all, shape (n_test, s)
    scatters: tuple[np.ndarray, ...]  # Σxxᵀ of each fold, shape (s, s)
    whole: np.ndarray  # Σxxᵀ of all, shape (s, s)

    def solving(self) -> AbstractContextManager[Any]:
        """Threads of BLAS as suits many small products: more would cost more than they gain."""
        return small_problems(len(self.whole) <= SMALL)

    @classmethod
    def of(cls, X: np.ndarray, tests: Sequence[np.ndarray]) -> FoldSums:
        """Sums of rows in memory."""
        ends = np.cumsum([len(test) for test in tests])[:-1]
        rows = X[np.concatenate(tests)].astype(np.float64)
        rows -= rows.mean(axis=0)
        if rows.shape[1] > rows.shape[0]:  # X = LQᵀ: products of rows are those of L
            rows = linalg.qr(rows.T, mode="r", overwrite_a=True)[0][: len(rows)].T
        parts = tuple(np.split(np.ascontiguousarray(rows), ends))
        scatters = tuple(part.T @ part for part in parts)
        return cls(tuple(tests), parts, scatters, np.sum(scatters, axis=0))

    def paths(
        self, values: np.ndarray, factors: Sequence[np.ndarray], weights_of: WeightsOf
    ) -> Iterator[FoldPath]:
        """Features of the rows of each fold by the other rows.

        Parameters
        ----------
        values : ndarray of shape (m, r)
            Y of all rows, of which the others' mean is taken off.
        factors : sequence of ndarray of shape (r,)
            What columns of Y are multiplied by, in each fold.
        weights_of : callable
            Of features along directions, from their moments and ‖Y‖².
        """
        values = values - values.mean(axis=0)
        parts = [values[test] for test in self.tests]
        crosses = [rows.T @ own for rows, own in zip(self.rows, parts, strict=True)]
        all_cross, all_square = np.sum(crosses, axis=0), np.square(values).sum(axis=0)
        for fold, (rows, own, factor) in enumerate(zip(self.rows, parts, factors, strict=True)):
            n_others = len(values) - len(rows)
            mean, centre = -rows.sum(axis=0) / n_others, -own.sum(axis=0) / n_others
            cross = all_cross - crosses[fold] - n_others * np.outer(mean, centre)
            scatter = self.whole - self.scatters[fold] - n_others * np.outer(mean, mean)
            squares = all_square - np.square(own).sum(axis=0) - n_others * centre**2
            moments = Moments(cross * factor, scatter, None)
            weights = weights_of(moments, float(squares @ factor**2))
            yield FoldPath(
                (rows - mean) @ weights,
                np.einsum("ij,ij->j", weights, scatter @ weights),
                moments.cross.T @ weights,
            )

    def explained(self, values: np.ndarray, weights_of: WeightsOf) -> float:
        """Σ of squares of Y, centred, that features of all rows explain."""
        parts = zip(self.rows, self.tests, strict=True)
        cross = np.sum([rows.T @ values[test] for rows, test in parts], axis=0)
        moments = Moments(cross, self.whole, None)
        weights = weights_of(moments, float(np.square(values).sum()))
        lengths = np.einsum("ij,ij->j", weights, self.whole @ weights)
        return float((np.square(cross.T @ weights).sum(axis=0) / lengths).sum())


# --- what held-out rows say -----------------------------------------------------------------------
@dataclass(frozen=True)
class CrossValidation:
    """What held-out rows say of every number of components: the result of ``cross_validate``.

    Attributes
    ----------
    errors : ndarray of shape (n_counts,)
        RMSECV, or the share of wrong classes, with 1, 2, … components.
    q2 : ndarray of shape (n_counts,)
        1 - PRESS/SS; of classes for their indicators.
    predictions : ndarray of shape (n_counts, n_samples) or (n_counts, n_samples, n_targets)
        Numbers, or values of indicators.
    losses : ndarray of shape (n_samples, n_counts)
        Loss of every row: its squared error, or whether its class is wrong.
    choices : dict of str to int
        Number of components by ``"least error"``, ``"one standard error"`` and
        ``"randomisation"``.
    """

    errors: np.ndarray
    q2: np.ndarray
    predictions: np.ndarray = field(repr=False)
    losses: np.ndarray = field(repr=False)

    @property
    def choices(self) -> dict[str, int]:
        """Number of components by the least error, one standard error, and randomisation."""
        return choices_of(self.losses, fewest_within_one_error(-self.losses))


@dataclass(frozen=True)
class ModelTest:
    """A model beside itself with permuted targets: the result of ``permutation_test``.

    Attributes
    ----------
    r2, q2 : float
        R²Y of the fit and Q² of held-out rows.
    permuted_r2, permuted_q2 : ndarray of shape (n_permutations,)
        The same after the target was permuted.
    correlations : ndarray of shape (n_permutations,)
        Of each permuted target with the target, without sign.
    pvalue, pvalue_r2 : float
        Share of permutations, the identity among them, whose Q², or R²Y, is as large.
    """

    r2: float
    q2: float
    permuted_r2: np.ndarray
    permuted_q2: np.ndarray
    correlations: np.ndarray

    def __repr__(self) -> str:
        shown = {"r2": self.r2, "q2": self.q2, "pvalue": self.pvalue}
        return f"ModelTest({', '.join(f'{name}={value:.3g}' for name, value in shown.items())})"

    @property
    def pvalue(self) -> float:
        """Share of permutations, the identity among them, whose Q² is as large: (1 + b)/(1 + B)."""
        return _pvalue(self.q2, self.permuted_q2)

    @property
    def pvalue_r2(self) -> float:
        """Share of permutations whose R²Y is as large."""
        return _pvalue(self.r2, self.permuted_r2)


def _pvalue(value: float, permuted: np.ndarray) -> float:
    slack = 1e-12 * max(abs(value), 1.0)
    return float((1 + (permuted >= value - slack).sum()) / (1 + len(permuted)))


def cross_validate(
    self: Any,
    X: Any,
    y: Any,
    *,
    n_components: int | None = None,
    cv: Any = FOLDS,
    groups: Any = None,
) -> CrossValidation:
    """Predict held-out rows with 1, 2, … components, from one fit per fold.

    Linear models of numbers in memory are not fitted again: a fold's part is taken off the sums
    over all rows.

    Parameters
    ----------
    X, y : as in ``fit``
    n_components : int, optional
        Largest number; by default that of the estimator.
    cv : int, splitter or iterable, default=10
        Folds that contain every row once. A number means shuffled folds, stratified for classes;
        with ``groups`` no group is divided.
    groups : array-like of shape (n_samples,), optional

    Returns
    -------
    CrossValidation
        With ``errors`` (RMSECV, or the share of wrong classes), ``q2``, ``predictions`` and
        ``choices``.

    Examples
    --------
    >>> from depmax import KernelPLS
    >>> from depmax.datasets import load
    >>> meat = load("tecator")
    >>> found = KernelPLS().cross_validate(meat.X, meat.y, n_components=20)
    >>> found.errors.shape, found.choices["least error"] > 10
    ((20,), True)
    """
    model, data, target = _read(self, X, y)
    limit = _number(self, n_components)
    if is_linear(self):
        limit = min(limit, int(data.n_coordinates or limit))
    folds = list(
        model._held_out(X, target, data, folds_of(target, cv, groups), min(limit, data.n_samples))
    )
    count = min(len(fold.readouts) for fold in folds)
    truth = target.values * target.scale
    values = np.empty((count, *truth.shape))
    losses = [np.empty((0, count))] * len(folds)
    for place, fold in enumerate(folds):
        losses[place] = fold.losses(model, target)
        for k in range(count):
            values[k, fold.test] = fold.readouts[k].values(fold.features[:, : k + 1])
    order = np.argsort(np.concatenate([fold.test for fold in folds]))
    lost = joined(losses)[order]
    press = np.square(values - truth).sum(axis=(1, 2))
    total = np.square(truth - truth.mean(axis=0)).sum()
    power = model._loss_power(target)
    return CrossValidation(
        lost.mean(axis=0) ** (1.0 / power),
        1.0 - press / total,
        values[:, :, 0] if truth.shape[1] == 1 else values,
        lost,
    )


def permutation_test(
    self: Any,
    X: Any,
    y: Any,
    *,
    n_permutations: int = 200,
    cv: int = TEST_FOLDS,
    groups: Any = None,
    random_state: Any = None,
) -> ModelTest:
    """Fit the model to permuted targets: how large R²Y and Q² are if X and y are independent.

    Parameters
    ----------
    X, y : as in ``fit``
    n_permutations : int, default=200
    cv : int, default=7
        Folds of Q²; they do not depend on y.
    groups : array-like of shape (n_samples,), WholeGroups, WithinGroups or Shifts, optional
        Labels keep the rows of a group together: whole groups change places and are held out.
    random_state : int, RandomState or None

    Returns
    -------
    ModelTest
        With ``pvalue`` (of Q²), ``r2``, ``q2`` and their permuted values. A model that fits noise
        has a large ``r2``, but also large ``permuted_r2``.

    Notes
    -----
    The number of components is that of the estimator, of a fitted one the number that it chose on
    these rows; a number chosen by the same target makes the test a little liberal. Nonlinear
    kernels are resolved once, without the target.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import KernelPLS
    >>> X = np.random.default_rng(0).normal(size=(40, 20))
    >>> KernelPLS(2).permutation_test(X, X[:, :4].sum(axis=1), random_state=0).pvalue < 0.02
    True
    >>> noise = np.random.default_rng(1).normal(size=(40, 100))
    >>> luck = KernelPLS(2).permutation_test(noise, np.arange(40.0), random_state=0)
    >>> luck.r2 > 0.85, luck.pvalue > 0.05
    (True, True)
    """
    _, data, target = _read(self, X, y)
    count = _number(self, None)
    rng = check_random_state(random_state)
    draws = np.random.default_rng(rng.randint(np.iinfo(np.int32).max))
    scheme = scheme_of(groups, target.n_samples, target.values[:, 0])
    rows, values = _coordinates(data.resolved()), target.values
    if scheme.is_free:
        labels = None
        orders = [draws.permutation(len(values)) for _ in range(n_permutations)]
    else:
        labels, orders = scheme.units[scheme.rows], list(scheme.orders(n_permutations, draws))
        rows, values = rows[scheme.rows], values[scheme.rows]
    values = values - values.mean(axis=0)
    splitter = KFold(cv, shuffle=True, random_state=0) if labels is None else GroupKFold(cv)
    tests = [test for _, test in splitter.split(rows, groups=labels)]
    sums, weights_of = FoldSums.of(rows, tests), self._weights_of(count)
    total, factors = float(np.square(values).sum()), [np.ones(values.shape[1])] * len(tests)

    def r2_q2(numbers: np.ndarray) -> tuple[float, float]:
        press = 0.0
        for test, path in zip(tests, sums.paths(numbers, factors, weights_of), strict=True):
            outside = np.delete(numbers, test, axis=0).mean(axis=0)
            fitted = path.features @ (path.covariances / path.squares).T + outside
            press += float(np.square(numbers[test] - fitted).sum())
        return sums.explained(numbers, weights_of) / total, 1.0 - press / total

    with sums.solving():
        r2, q2 = r2_q2(values)
        permuted = np.array([r2_q2(values[order]) for order in orders]).reshape(-1, 2)
    alike = [abs(float((values * values[order]).sum())) / total for order in orders]
    return ModelTest(r2, q2, permuted[:, 0], permuted[:, 1], np.array(alike))


def folds_of(target: CodedTarget, cv: Any, groups: Any = None) -> Splits:
    """Folds that contain every row once."""
    if isinstance(cv, Integral) and groups is None:
        return list(shuffled_folds(target, int(cv)))
    y = target.plain
    splitter = GroupKFold(int(cv)) if isinstance(cv, Integral) else check_cv(cv, y)
    splits = [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(y, y, groups)]
    counts = np.bincount(np.concatenate([test for _, test in splits]), minlength=len(y))
    if (counts != 1).any():
        raise ValueError("cv must hold out every row exactly once, as KFold does.")
    return splits


def _read(model: Any, X: Any, y: Any) -> tuple[Any, Sample, CodedTarget]:
    """An unfitted copy, the rows as its kernel reads them, and the target as numbers."""
    name = type(model).__name__
    if is_streamed(X):
        raise TypeError(f"{name} compares fits to parts of rows in memory: pass an array or frame.")
    copy = clone(model)
    copy._check_parameters()
    target = copy._read_answer(y, None).numbers
    data = read_training(copy, X, copy.kernel)
    require_equal_length(data.n_samples, target.n_samples)
    return copy, data, target


def _number(model: Any, given: int | None) -> int:
    """A number of components: given, of the estimator, or what a fit has chosen."""
    number = model.n_components if given is None else given
    if not isinstance(number, Integral):
        check_is_fitted(
            model, msg=f"n_components={number!r} is not a number: fit first, or pass one."
        )
        number = model.n_components_ - model.n_orthogonal
    return int(number)


def _coordinates(data: Sample) -> np.ndarray:
    """Dense coordinates of all rows: those of the kernel, or of the span of the rows."""
    if data.has_features:
        return data.centred_coordinates()
    values, vectors = linalg.eigh(data.gram())
    kept = values > len(values) * data.eps * values[-1]
    coordinates: np.ndarray = vectors[:, kept] * np.sqrt(values[kept])
    return coordinates
