"""A linear SVM with few nonzero weights: the zero norm, by iterated rescaling."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.linear_model import Ridge

from depmax._parameters import integer, number
from depmax.data import Target, read_target
from depmax.data.columns import Categories
from depmax.data.sample import require_samples
from depmax.data.table import constant_columns, require_equal_length
from depmax.selection._scores import class_codes, standardized
from depmax.selection.selector import DependenceSelector, Ranking

#: Newton steps; some ten are usual.
MOST_STEPS = 200
#: Smallest part of a Newton step: below, rounding decides what decreases.
SMALLEST_PART = 1e-6


def hinge_weights(rows: np.ndarray, signs: np.ndarray, C: float) -> np.ndarray:
    """Weights w that minimise ½(‖w‖² + b²) + C Σ max(0, 1 - s_i(x_iᵀw + b))², without b.

    The objective is quadratic as long as the same rows are within the margin. Newton's step goes
    to the minimum of that quadratic; when the rows within the margin are those it assumed, it is
    the minimum of all. The optimum is that of scikit-learn's ``LinearSVC``, whose coordinate steps
    take long where columns have very different scales.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_columns)
    signs : ndarray of shape (n_samples,)
        Labels -1 and +1.
    C : float

    Examples
    --------
    >>> hinge_weights(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), C=100.0).round(2)
    array([1.])
    """
    inputs = np.column_stack([rows, np.ones(len(rows))])  # the last weight is b
    weights = np.zeros(inputs.shape[1])
    loss, within = _objective(inputs, signs, C, weights)
    for _ in range(MOST_STEPS):
        target = _quadratic_minimum(inputs[within], signs[within], C)
        part = 1.0
        moved_loss, now_within = _objective(inputs, signs, C, target)
        while moved_loss > loss and part > SMALLEST_PART:
            part /= 2.0
            moved_loss, now_within = _objective(
                inputs, signs, C, weights + part * (target - weights)
            )
        if moved_loss > loss:
            break
        weights = weights + part * (target - weights)
        settled = part == 1.0 and np.array_equal(within, now_within)
        loss, within = moved_loss, now_within
        if settled:
            break
    return weights[:-1]


def _objective(
    inputs: np.ndarray, signs: np.ndarray, C: float, weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """The objective, and which rows are within the margin."""
    short = 1.0 - signs * (inputs @ weights)
    within = short > 0
    return float(0.5 * weights @ weights + C * np.square(short[within]).sum()), within


def _quadratic_minimum(inputs: np.ndarray, signs: np.ndarray, C: float) -> np.ndarray:
    """Minimum of ½‖w‖² + C‖s - Xw‖²."""
    matrix = 2.0 * C * (inputs.T @ inputs)
    matrix[np.diag_indices_from(matrix)] += 1.0
    found: np.ndarray = linalg.solve(matrix, 2.0 * C * (inputs.T @ signs), assume_a="pos")
    return found


def machine_signs(target: Target) -> np.ndarray:
    """Labels -1 and +1 of each machine: shape (n_machines, n_samples)."""
    if target.kind == "multilabel":
        indicators = np.array([label for label in target.values.T if label.min() < label.max()])
    else:
        codes = class_codes(target)
        indicators = np.array([codes == code for code in range(codes.max() + 1)])
        indicators = indicators[1:] if len(indicators) == 2 else indicators
    return np.where(indicators > 0, 1.0, -1.0)


class ZeroNormSVM(DependenceSelector):
    """Linear support vector machine with few columns, by iterated rescaling (L0).

    The SVM is trained, each column is multiplied by the size of its weight, and this is repeated.
    The penalty ‖w‖² on rescaled columns tends to the number of columns with a nonzero weight, so
    columns that the SVM can do without fade in a few rounds.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        How many columns to keep; a float below 1 is a share, None is half.
    C : float, default=1.0
        Weight of the errors against the number of columns: at the end a column costs 1/2, and a
        unit of squared error costs C. Very large values give the hard margin of the publication,
        for separable classes; noise in the labels then costs many columns, and time.
    max_iter : int, default=20
        Largest number of rounds of training.
    tol : float, default=1e-4
        A column is dropped when its scale is below ``tol`` times the largest; rounds end when no
        scale changes by more than that.

    Attributes
    ----------
    ranking_ : ndarray of shape (n_features,)
        1 is best, all distinct: the later a column fades the better, then by its scale. It does
        not depend on ``n_features_to_select``. Constant columns rank last.
    scores_ : ndarray of shape (n_features,)
        Scale of the column in the round in which it faded, or in the last.
    n_iter_ : int
        Rounds of training.
    support_, substitutes_, n_features_
        As in every selector.

    Notes
    -----
    Columns are standardised first. The loss is the squared hinge loss, as in scikit-learn's
    ``LinearSVC``, minimised by Newton steps. With several classes there is one machine for each
    against the rest, with several labels one for each, and the sizes of their weights are added.
    For numbers the machine is ridge regression of the standardised outputs.

    References
    ----------
    J. Weston, A. Elisseeff, B. Schölkopf, M. Tipping (2003), Use of the zero-norm with linear
    models and kernel methods.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.zero_norm_svm import ZeroNormSVM
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> y = X[:, 2] - X[:, 5] > 0
    >>> ZeroNormSVM(2).fit(X, y).get_support(indices=True).tolist()
    [2, 5]
    """

    _declared: ClassVar = {
        "C": number(0, ends="()"),
        "max_iter": integer(1),
        "tol": number(0, 1, ends="[)"),
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        C: float = 1.0,
        max_iter: int = 20,
        tol: float = 1e-4,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.C = C
        self.max_iter = max_iter
        self.tol = tol

    def _compared_by(self) -> None:
        """Columns are put on one scale first."""

    def _rank(self, X: Any, y: Any, categories: Categories) -> Ranking:
        target = read_target(y)
        self._check(X, target)
        rows = standardized(X)
        scales = np.where(constant_columns(X), 0.0, 1.0)
        faded = np.where(constant_columns(X), -1, self.max_iter)  # round in which a column left
        left = np.flatnonzero(scales)
        self.n_iter_ = 0
        for round_ in range(self.max_iter):
            if len(left) == 0:
                break
            before = scales[left]
            scales[left] = before * self._sizes(rows[:, left] * before, target)
            self.n_iter_ = round_ + 1
            limit = self.tol * scales[left].max()
            change = np.abs(scales[left] - before).max()
            gone = scales[left] <= limit
            faded[left[gone]] = round_
            left = left[~gone]
            if change <= limit:
                break
        return Ranking(np.lexsort((-scales, -faded)), scales)

    def _sizes(self, rows: np.ndarray, target: Target) -> np.ndarray:
        """Size of each column's weight, summed over classes, labels or outputs."""
        if rows.shape[1] <= rows.shape[0]:
            return np.abs(self._weights(rows, target)).sum(axis=0)
        basis, coordinates = linalg.qr(rows.T, mode="economic")  # weights lie in the rows' span
        return np.abs(self._weights(coordinates.T, target) @ basis.T).sum(axis=0)

    def _weights(self, rows: np.ndarray, target: Target) -> np.ndarray:
        """Weights of shape (n_machines, n_columns)."""
        if target.kind in ("classes", "multilabel"):
            signs = machine_signs(target)
            return np.array([hinge_weights(rows, labels, float(self.C)) for labels in signs])
        machine = Ridge(alpha=1.0 / (2.0 * self.C), fit_intercept=False)
        return np.atleast_2d(machine.fit(rows, standardized(target.values)).coef_)

    def _check(self, X: np.ndarray, target: Target) -> None:
        require_equal_length(X.shape[0], target.n_samples)
        require_samples(X.shape[0], unbiased=False)
        if bool((target.values == target.values[:1]).all()):
            raise ValueError("y has one class only, or one value in all rows: nothing to separate.")
        self._refuse_categories("weighs columns of numbers")
