"""The incomplete Cholesky map of a kernel, and its pivot loop, one kernel column at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from depmax import _resources
from depmax._parameters import integer, number
from depmax._resources import map_instead, require_pairs, warn_if_long
from depmax.data.sample import Sample, require_positive, require_semidefinite
from depmax.kernels import KernelLike
from depmax.maps.feature_map import FeatureMap

#: A residual k(x, x) - ||φ(x)||² below this many roundings of k(x, x) is noise.
NOISE = 100
#: Time of one core over the rows times the square of the pivots.
SECONDS_PER_PRODUCT = 2e-10
#: Columns that a factor without a known rank starts with; it doubles when full.
CAPACITY = 64
#: Rows whose pivots show how many all rows will need.
PILOT_ROWS = 500


class PartialFactor:
    """G with K ≈ GGᵀ after some pivots, the Cholesky factor restricted to their columns.

    Parameters
    ----------
    sample : Sample
        The m rows and their kernel; K is never formed.
    capacity : int
        Columns to make room for at first.

    Attributes
    ----------
    pivots : list of int
        Rows chosen so far, in order.
    diagonal : ndarray of shape (m,)
        Diagonal of K.
    residual : ndarray of shape (m,)
        Diagonal of K - GGᵀ, zero at the pivots and never negative.
    """

    def __init__(self, sample: Sample, capacity: int = CAPACITY) -> None:
        self.sample = sample
        self.pivots: list[int] = []
        self.diagonal = sample.diag()
        require_semidefinite(self.diagonal.min(), np.abs(self.diagonal).max())
        self.diagonal = np.maximum(self.diagonal, 0.0)
        self.residual = self.diagonal.copy()
        self._largest = float(self.diagonal.max())
        require_positive(self._largest)
        self._store = self._room(capacity)

    @property
    def rank(self) -> int:
        """Number of pivots r."""
        return len(self.pivots)

    @property
    def factor(self) -> np.ndarray:
        """G of shape (m, r), a view."""
        return self._store[:, : self.rank]

    @property
    def triangle(self) -> np.ndarray:
        """Rows of G at the pivots, R with RRᵀ = K[pivots, pivots], lower triangular."""
        return np.tril(self.factor[self.pivots])

    @property
    def noise(self) -> float:
        """Residuals below this, relative to the diagonal, are rounding errors."""
        return NOISE * self.sample.eps

    def residual_columns(self, indices: np.ndarray) -> np.ndarray:
        """Columns of K - GGᵀ, of shape (m, len(indices))."""
        columns = self.sample.columns(indices)
        if self.rank:
            columns = columns - self.factor @ self.factor[indices].T
        return columns

    def add(self, pivot: int) -> None:
        """Add a column: the residual column of the pivot divided by the root of its residual."""
        if self.rank == self._store.shape[1]:
            full = self._store
            self._store = self._room(min(2 * self.rank, self.sample.n_samples))
            self._store[:, : self.rank] = full
        root = np.sqrt(self.residual[pivot])
        column = self.sample.columns(np.array([pivot]))[:, 0]
        if self.rank:
            column = column - self.factor @ self.factor[pivot]
        column = column / column.dtype.type(root)
        column[self.pivots] = 0.0  # exactly, where subtraction leaves rounding errors
        column[pivot] = root
        self.residual -= np.square(column, dtype=np.float64)
        self.residual[pivot] = 0.0
        require_semidefinite(self.residual.min(), self._largest)
        np.maximum(self.residual, 0.0, out=self.residual)
        self._store[:, self.rank] = column
        self.pivots.append(int(pivot))

    def _room(self, capacity: int) -> np.ndarray:
        """Columns are contiguous, since each step adds one and reads all."""
        m, kernel = self.sample.n_samples, self.sample.kernel
        n_values = 1.5 * m * capacity * self.sample.dtype.itemsize / 8  # with those so far
        require_pairs(
            f"The factor of {kernel!r}",
            m,
            0.0 if self.sample.precomputed else n_values,
            f"{map_instead(kernel)} Or set n_components, or a larger tol.",
        )
        return np.empty((self.sample.n_samples, capacity), dtype=self.sample.dtype, order="F")


#: The next pivot for a partial factor, or None to stop.
PivotRule = Callable[[PartialFactor], int | None]


def largest_residual(partial: PartialFactor) -> int | None:
    """Row that the pivots so far explain worst; the first in a tie. Greedy in the trace."""
    pivot = int(partial.residual.argmax())
    return pivot if partial.residual[pivot] > partial.noise * partial.diagonal.max() else None


def pivot_steps(
    sample: Sample, rule: PivotRule, max_rank: int | None = None
) -> Iterator[PartialFactor]:
    """Grow a factor pivot by pivot; the caller stops when it is good enough.

    Each step costs one kernel column and one product of G with a vector, so r steps cost m r
    kernel values, m r² operations and m r numbers of memory.

    Parameters
    ----------
    sample : Sample
        Rows and kernel.
    rule : callable
        Takes the partial factor, returns the next pivot or None.
    max_rank : int or None
        Largest number of pivots, m by default and at most.

    Yields
    ------
    PartialFactor
        The same object each time: without pivots at first, then after every pivot.
    """
    limit = sample.n_samples if max_rank is None else min(max_rank, sample.n_samples)
    partial = PartialFactor(sample, limit if max_rank is not None else min(CAPACITY, limit))
    yield partial
    while partial.rank < limit:
        pivot = rule(partial)
        if pivot is None:
            return
        partial.add(pivot)
        yield partial


def warn_of_pivots(
    sample: Sample, tol: float, n_components: int | None, seconds_of: Callable[[int], float]
) -> None:
    """Warn how long a search for pivots takes, before it starts, if that is long.

    How many pivots there will be is estimated from a few hundred random rows.

    Parameters
    ----------
    sample : Sample
    tol : float
        Share of the trace that may be left.
    n_components : int or None
        Largest number of pivots.
    seconds_of : callable
        Time of one core for a number of pivots.
    """
    m = sample.n_samples
    limit = m if n_components is None else min(n_components, m)
    if seconds_of(limit) < _resources.LONG:
        return
    order = np.random.default_rng(0).permutation(np.flatnonzero(sample.diag() > 0.0))
    if not len(order):
        return
    few, more = (
        _factor(sample.take(order[:count]), tol).rank for count in (PILOT_ROWS // 2, PILOT_ROWS)
    )
    # Twice the rows need 2^a times the pivots: with a = 1 all rows are unlike each other, with
    # a = 0 few rows span the others. a falls as rows are added: the number is rather too large.
    growth = np.log2(max(more / few, 1.0))
    count = min(limit, round(more * (m / PILOT_ROWS) ** growth))
    warn_if_long(
        f"A search for about {count:,} pivots among {m:,} rows",
        seconds_of(count),
        "Set n_components, or a larger tol. NystroemMap(200) draws its rows instead.",
    )


def factor_to(sample: Sample, tol: float, n_components: int | None = None) -> PartialFactor:
    """Cholesky factor of a kernel matrix that leaves at most ``tol`` of its trace."""
    m = sample.n_samples
    warn_of_pivots(sample, tol, n_components, lambda count: SECONDS_PER_PRODUCT * m * count**2)
    return _factor(sample, tol, n_components)


def _factor(sample: Sample, tol: float, n_components: int | None = None) -> PartialFactor:
    for partial in pivot_steps(sample, largest_residual, n_components):
        if float(partial.residual.sum()) <= tol * partial.diagonal.sum():
            break
    return partial


class _PivotMap(FeatureMap):
    """Φ(x) = k(x, pivots) R⁻ᵀ with RRᵀ = K[pivots, pivots], the projection on their span."""

    def _keep(self, partial: PartialFactor) -> np.ndarray:
        """Remember the pivots; the features of the training rows are the factor G."""
        pivots = np.array(partial.pivots)
        self._reference = partial.sample.take(pivots).reference()
        self._triangle = partial.triangle.astype(np.float64)  # R, shape (r, r)
        self._n_features_out = partial.rank
        return np.asarray(partial.factor)

    def _map(self, rows: Any) -> np.ndarray:
        values = self._reference.against(rows).T  # k(pivots, x), shape (r, n_new)
        return linalg.solve_triangular(self._triangle, values, lower=True).T


@dataclass(eq=False, repr=False)
class IncompleteCholesky(_PivotMap):
    """Coordinates in the span of training rows chosen one by one, with a stated error.

    Each step takes the row that the rows so far explain worst (the largest diagonal entry of K -
    ΦΦᵀ, the first in a tie) and adds its column to a Cholesky factor. The kernel matrix is never
    formed: r steps over m rows cost m r kernel values, O(m r²) operations and m r numbers. It stops
    at ``n_components``, when the error is below ``tol``, or when only rounding noise is left, as
    with repeated rows; there are then fewer columns.

    Parameters
    ----------
    n_components : int or None, default=None
        Largest number of pivots; None leaves the choice to ``tol``. With tens of thousands of rows,
        pass a number: without one the factor may have as many columns as there are rows.
    kernel : kernel, name, callable, transformer or "precomputed", default="gaussian"
    tol : float, default=1e-6
        Stop when the trace of K - ΦΦᵀ is at most ``tol`` times the trace of K.

    Attributes
    ----------
    pivots_ : ndarray of shape (n_features_out,)
        Positions of the chosen rows among the training rows, in order.
    residual_ : float
        Trace of the error K - ΦΦᵀ, which is also its nuclear norm, since it is positive
        semidefinite.
    kernel_ : Kernel
        The kernel with every recipe replaced by numbers.

    References
    ----------
    Fine, S. and Scheinberg, K. (2001). Efficient SVM training using low-rank kernel
    representations. Bach, F. and Jordan, M. (2002). Kernel independent component analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.maps import IncompleteCholesky
    >>> X = np.linspace(0.0, 1.0, 200)[:, np.newaxis] ** 2
    >>> cholesky = IncompleteCholesky().fit(X)
    >>> cholesky.pivots_[:3], len(cholesky.pivots_)
    (array([  0, 199, 141]), 9)
    """

    n_components: int | None = None
    _: KW_ONLY
    kernel: KernelLike = "gaussian"
    tol: float = 1e-6

    _declared: ClassVar = {
        "n_components": integer(1, also=[None]),
        "tol": number(0, 1, ends="[)"),
    }

    def _fit(self, sample: Sample) -> np.ndarray:
        partial = factor_to(sample, self.tol, self.n_components)
        self.pivots_ = np.array(partial.pivots)
        self.residual_ = float(partial.residual.sum())
        return self._keep(partial)
