"""How dependence changes when a unit of columns leaves a set or joins it, for every unit at once.

``FORMS`` lists the ways to find out, fastest first; the first that takes a unit scores it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import comb
from typing import Any

import numpy as np
from scipy import sparse

from depmax._resources import slices
from depmax.kernels.inner_products import Polynomial
from depmax.kernels.kernel import Kernel
from depmax.selection._search.data import Change, Outcome, SearchData
from depmax.selection._search.squares import gapped_changes, square_changes, takes_squares

# --- kernels that add over columns ----------------------------------------------------------------


def column_shares(data: SearchData) -> np.ndarray:
    """x_jᵀ M x_j of every column; sparse columns are kept sparse."""
    X, target = data.X, data.target
    if target.is_narrow and target.weight is None:
        return _from_coordinates(X, target.centred_coordinates(), data.unbiased)
    dense = None if sparse.issparse(X) else _centred(X)  # rows of M sum to 0
    shares = np.zeros(X.shape[1])
    for rows in data.strips():
        strip = data.strip(rows)
        if dense is None:
            products = X[rows.start :].T @ strip.T  # (n_features, rows of the strip)
            shares += np.asarray(X[rows].multiply(products.T).sum(axis=0)).ravel()
        else:
            shares += np.einsum("ij,ij->j", strip @ dense[rows.start :], dense[rows])
    return shares


def _from_coordinates(X: Any, psi: np.ndarray, unbiased: bool) -> np.ndarray:
    """Shares in O(m d r): squared covariances, less the diagonal for the unbiased estimate."""
    m = X.shape[0]
    squares = np.einsum("ij,ij->i", psi, psi)  # diagonal of L
    centred = None if sparse.issparse(X) else _centred(X)
    cross = X.T @ psi if centred is None else centred.T @ psi  # Ψ is centred
    inner = np.einsum("ij,ij->i", cross, cross)
    if not unbiased:
        return inner / (m - 1) ** 2
    if centred is None:
        means = np.asarray(X.mean(axis=0)).ravel()
        quadratic = X.multiply(X).T
        total = np.asarray(quadratic.sum(axis=1)).ravel() - m * means**2
        weighted = quadratic @ squares - 2 * means * (X.T @ squares) + means**2 * squares.sum()
    else:
        total = np.einsum("ij,ij->j", centred, centred)
        weighted = squares @ (centred * centred)
    # terms of centred coordinates: inner - Σkl, middle Σkl, outer Σk Σl
    value = inner - weighted * (1.0 + 2.0 / (m - 2)) + total * squares.sum() / ((m - 1) * (m - 2))
    return value / (m * (m - 3))


def _centred(X: np.ndarray) -> np.ndarray:
    """Columns less their means, which no share depends on, but its digits would."""
    return np.subtract(X, X.mean(axis=0, dtype=np.float64), dtype=np.float64)


def linear_changes(data: SearchData, kernel: Kernel, change: Change) -> Outcome:
    """Scores of every unit for the linear kernel."""
    shares = column_shares(data)
    value = float(shares[change.base].sum())
    changes = np.array([shares[unit].sum() for unit in change.units])
    return Outcome(value, value - change.sign * changes)


def polynomial_changes(data: SearchData, kernel: Any, change: Change) -> Outcome:
    """Scores of single columns for a polynomial kernel, exactly, with one product per degree.

    (G + c ∓ ab)^b is Σ_k C(b, k) (∓ab)^k (G + c)^{b-k}, so that a score is Σ_k C(b, k) (∓1)^k
    (x^k)ᵀ W_k x^k with W_k = M∘(G + c)^{b-k}.
    """
    degree, offset = int(kernel.degree), float(kernel.offset)
    base = np.asarray(data.X[:, change.base], dtype=np.float64)
    columns = np.asarray(data.X[:, np.concatenate(change.units)], dtype=np.float64)
    powers = [columns**k for k in range(1, degree + 1)]

    def work(rows: slice) -> np.ndarray:
        weights = data.strip(rows)
        products = base[rows] @ base[rows.start :].T + offset
        sums = np.full(1 + columns.shape[1], float(np.vdot(weights, products**degree)))
        for k, power in enumerate(powers, start=1):
            strip = weights * products ** (degree - k)
            squares = np.einsum("ij,ij->j", strip @ power[rows.start :], power[rows])
            sums[1:] += comb(degree, k) * (-change.sign) ** k * squares
        return sums

    return data.added(work)


# --- entry by entry -------------------------------------------------------------------------------

#: Columns of a tile of pairs, and pairs times units that are handled at once (half a megabyte).
TILE, BATCH = 512, 2**16
#: Squares below this share of the rows' squared lengths have lost too many digits.
CANCELLED = 1e-6
#: Numbers that a recomputation may gather at once.
GATHERED = 10**6


@dataclass(frozen=True)
class _Columns:
    """Columns about their medians, and the squared lengths of their rows."""

    values: np.ndarray  # shape (n_samples, n_columns)
    norms: np.ndarray  # shape (n_samples,)

    @classmethod
    def of(cls, values: np.ndarray) -> _Columns:
        """Centred by medians, so that one far row leaves the others' lengths alone."""
        if values.shape[1]:
            values = values - np.median(values, axis=0)
        return cls(values, np.einsum("ij,ij->i", values, values))

    def squares(self, rows: slice, others: slice) -> np.ndarray:
        """Squared distances of a tile by a matrix product; zero for equal rows."""
        squares = self.values[rows] @ self.values[others].T
        squares *= -2.0
        lengths = self.lengths(rows, others)
        squares += lengths
        _renew(squares, squares <= CANCELLED * lengths, self.values[rows], self.values[others])
        return squares

    def lengths(self, rows: slice, others: slice) -> np.ndarray:
        """Squared lengths of both rows of every pair, added."""
        return self.norms[rows, np.newaxis] + self.norms[np.newaxis, others]


def _renew(squares: np.ndarray, doubtful: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """Replace the squared distances of doubtful pairs by sums of squared differences."""
    first, second = np.nonzero(doubtful)
    for part in slices(len(first), max(1, GATHERED // max(1, left.shape[1]))):
        differences = left[first[part]] - right[second[part]]
        squares[first[part], second[part]] = np.einsum("ij,ij->i", differences, differences)


def distance_changes(data: SearchData, kernel: Any, change: Change) -> Outcome:
    """Σ M k(D ∓ D_unit) for every unit, with k the kernel as a function of squared distances.

    The squared distances of the set are made once, a tile of pairs at a time; those of every
    changed set are found by taking a unit's squares away, or adding them. Where the difference of
    two nearly equal numbers would lose digits, the few pairs concerned are summed anew.
    """
    X = np.asarray(data.X, dtype=np.float64)
    base, n_units = _Columns.of(X[:, change.base]), len(change.units)
    single = bool(change.singles().all())
    if single:
        columns = np.ascontiguousarray(X[:, [int(unit[0]) for unit in change.units]].T)
    else:
        groups = [_Columns.of(X[:, unit]) for unit in change.units]

    def of_units(batch: slice, rows: slice, others: slice) -> np.ndarray:
        """Squared distances by some units, of shape (n_units, n_rows, n_others)."""
        if not single:
            return groups[batch.start].squares(rows, others)[np.newaxis]
        differences = columns[batch, rows, np.newaxis] - columns[batch, np.newaxis, others]
        return np.square(differences, out=differences)

    def work(rows: slice) -> np.ndarray:
        weights = data.strip(rows)
        sums = np.zeros(1 + n_units)
        for part in slices(weights.shape[1], TILE):
            others = slice(rows.start + part.start, rows.start + part.stop)
            flat = np.ascontiguousarray(weights[:, part]).ravel()
            squares = base.squares(rows, others)
            # equal rows stay equal without a unit, and a sum of squares loses no digits
            careful = (squares > 0) & (not change.joins)
            floor = np.where(careful, CANCELLED * base.lengths(rows, others), 0.0)
            sums[0] += flat @ kernel.of_squares(squares.copy()).ravel()
            for batch in slices(n_units, max(1, BATCH // squares.size) if single else 1):
                changed = of_units(batch, rows, others)
                changed *= -change.sign
                changed += squares
                for place in np.flatnonzero((changed < floor).any(axis=(1, 2))):
                    left = X[:, change.after(change.units[batch.start + place])]
                    _renew(changed[place], changed[place] < floor, left[rows], left[others])
                values = kernel.of_squares(changed)
                sums[1 + batch.start : 1 + batch.stop] += values.reshape(len(values), -1) @ flat
        return sums

    return data.added(work)


def plain_changes(data: SearchData, kernel: Kernel, change: Change) -> Outcome:
    """Scores of every unit from a kernel matrix of its own, in strips."""

    def dependence(columns: np.ndarray) -> float:
        if not len(columns):
            return 0.0
        rows_of, total = data.X[:, columns], 0.0
        for rows in data.strips():
            block = kernel(rows_of[rows], rows_of[rows.start :])
            np.fill_diagonal(block, kernel.diag(rows_of[rows]))  # free of rounding in distances
            total += float(np.vdot(data.strip(rows), block))
        return total

    sets = [change.base, *(change.after(unit) for unit in change.units)]
    value, *scores = data.over(dependence, sets)
    return Outcome(value, np.array(scores))


# --- all of them ----------------------------------------------------------------------------------


def _takes_all(data: SearchData, kernel: Kernel, change: Change) -> np.ndarray:
    return np.ones(len(change.units), dtype=bool)


def _takes_singles(data: SearchData, kernel: Kernel, change: Change) -> np.ndarray:
    return change.singles()


def _declares(ability: str, kernel: Kernel) -> bool:
    return bool(getattr(kernel.capabilities, ability))


#: (suits, takes, score): whether a form is one of a kernel, which units of a change it takes, and
#: their scores. Those of rows with missing cells are the ones that factor over columns.
FORMS: list[tuple[Callable[..., bool], Callable[..., np.ndarray], Callable[..., Outcome]]] = [
    (partial(_declares, "is_linear"), _takes_all, linear_changes),
    (lambda kernel: type(kernel) is Polynomial, _takes_singles, polynomial_changes),
    (partial(_declares, "factors_over_features"), takes_squares, square_changes),
    (partial(_declares, "radial"), _takes_all, distance_changes),
]


def has_fast_form(kernel: Kernel) -> bool:
    """Whether some units are scored without a kernel matrix of their own."""
    return any(suits(kernel) for suits, _, _ in FORMS)


def changes(data: SearchData, kernel: Kernel, change: Change) -> Outcome:
    """Dependence after each change, every unit by the first form that takes it."""
    forms = [(takes, score) for suits, takes, score in FORMS if suits(kernel)]
    forms.append((_takes_all, plain_changes))
    if len(data.cells):
        forms = [(takes_squares, square_changes), (_takes_all, gapped_changes)]
    if not len(change.units):  # the value alone
        forms = forms[-1:]
    scores, error, value = np.empty(len(change.units)), 0.0, None
    left = np.arange(len(change.units))
    for takes, score in forms:
        taken = takes(data, kernel, change.of(left))
        if taken.any() or score is forms[-1][1]:
            outcome = score(data, kernel, change.of(left[taken]))
            scores[left[taken]] = outcome.scores
            error = max(error, outcome.error)
            value = outcome.value if value is None else value
            left = left[~taken]
        if value is not None and not len(left):
            break
    assert value is not None
    return Outcome(value, scores, error)
