"""Kernels of distances: Gaussian, Laplace, inverse ones, and the one that distances induce.

Their bandwidths are numbers, or policies that estimate them from data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from depmax._parameters import Rule, is_number, number
from depmax.kernels.kernel import Capabilities, Facts, Kernel

Bandwidth = float | Literal["median", "dimension", "maximize"] | Sequence[float]
#: Up to this many rows the median distance is that of all pairs; beyond, that of the pairs among so
#: many random rows, drawn with a fixed seed.
MEDIAN_ROWS = 1000
#: Multiples of the median among which ``"maximize"`` chooses: four for each factor of two.
GRID = 2.0 ** np.arange(-8.0, 8.25, 0.25)


def _is_bandwidth(value: Any) -> bool:
    """A positive number, several, or the name of a policy."""
    if isinstance(value, str):
        return value in ("median", "dimension", "maximize")
    several = np.ndim(value) == 1 and len(value) > 0
    return all(is_number(width) and width > 0 for width in (value if several else [value]))


@dataclass(eq=False, repr=False)
class BandwidthKernel(Kernel):
    """A stationary kernel with one length scale, ``bandwidth``.

    A subclass says in ``of_squares`` what it makes of squared distances (``norm_`` is 2), or of
    sums of absolute differences (1).
    """

    bandwidth: Bandwidth = "median"

    _capabilities: ClassVar[Capabilities] = Capabilities(
        stationary=True, radial=True, sparse=True, joins_categories="distance"
    )
    _declared: ClassVar = {
        "bandwidth": Rule(
            _is_bandwidth,
            "a positive number, several to choose from, 'median', 'dimension' or 'maximize'",
        )
    }
    #: Order of the norm of x - z that the kernel depends on.
    norm_: ClassVar[int] = 2

    @property
    def is_resolved(self) -> bool:
        """Whether the bandwidth is a number."""
        return self.policy is None and np.ndim(self.bandwidth) == 0

    @property
    def policy(self) -> str | None:
        """How the bandwidth is estimated from data; None if it is a number, or one of several."""
        return self.bandwidth if isinstance(self.bandwidth, str) else None

    @property
    def follows_scale(self) -> bool:
        """Whether the bandwidth is estimated from distances between rows."""
        return self.policy in ("median", "maximize")

    def _estimated(self, facts: Facts) -> Kernel:
        """Copy with the bandwidth that its policy estimates from rows."""
        if self.is_resolved:
            return self
        rows = self._read(facts.sample)
        if self.policy == "dimension":
            width = (facts.n_columns or rows.shape[1]) ** (1 / self.norm_)
            return self._copy_with(bandwidth=float(width))
        widths: Any = self.bandwidth
        if self.policy is not None:
            distances = facts.distances or (lambda some: _pairwise(some, self.norm_))
            median = median_of_pairs(distances, rows, facts.weight)
            if self.policy == "median":
                return self._copy_with(bandwidth=median)
            widths = median * GRID
        if facts.choose is None:
            which = "several numbers" if self.policy is None else '"maximize"'
            raise ValueError(
                f"bandwidth={which} of {type(self).__name__} needs a target to depend on: "
                "use depmax.resolve(kernel, X, y), or a number, 'median' or 'dimension' here."
            )
        candidates = [self._copy_with(bandwidth=width) for width in sorted(set(map(float, widths)))]
        return facts.choose(candidates, facts.rows)

    def widened(self, factor: float) -> Kernel:
        """Copy with the bandwidth, a number, multiplied by ``factor``."""
        return self._copy_with(bandwidth=factor * self._width())

    def difference_sums(self, X: Any, Z: Any) -> np.ndarray:
        """Sums over columns of squared (or for the L1 norm absolute) differences of rows."""
        return squared_distances(X, Z) if self.norm_ == 2 else differences(X, Z, 1)

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        return self.of_squares(self.difference_sums(X, Z))

    def _diag(self, X: Any) -> np.ndarray:
        return self.of_squares(np.zeros(X.shape[0], dtype=X.dtype))

    def _width(self) -> float:
        """The bandwidth as a number."""
        width: Any = self.bandwidth
        return float(width)


class Gaussian(BandwidthKernel):
    """Gaussian (RBF) kernel, k(x, z) = exp(-||x - z||² / (2 bandwidth²)).

    Parameters
    ----------
    bandwidth : float, {"median", "dimension", "maximize"} or sequence of float, default="median"
        ``"median"``: the median distance between rows; ``"dimension"``: √n_features, so k =
        exp(-||x - z||² / 2d), for standardised data; ``"maximize"``: the multiple of the median,
        from 1/256 to 256, with the largest unbiased HSIC with the target; a sequence: that of its
        numbers with the largest unbiased HSIC. A warning says if it is the first or the last.

    Examples
    --------
    >>> from depmax.kernels import Gaussian
    >>> Gaussian(bandwidth=1.0)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])

    The best of some bandwidths for a target:

    >>> import numpy as np
    >>> from depmax import resolve
    >>> x = np.random.default_rng(0).uniform(size=200)
    >>> resolve(Gaussian(bandwidth=[0.01, 0.03, 0.1, 0.3]), x, np.sin(30 * x))
    Gaussian(bandwidth=0.03)
    """

    _capabilities: ClassVar[Capabilities] = replace(
        BandwidthKernel._capabilities, factors_over_features=True, embeds_missing=True
    )

    @property
    def decay(self) -> float:
        """The squared distance at which the kernel is 1/e."""
        return 2.0 * self._width() ** 2

    def of_squares(self, squares: np.ndarray) -> np.ndarray:
        """Kernel values from squared distances, in place."""
        squares *= -0.5 / self._width() ** 2
        return np.exp(squares, out=squares)

    def spectral_sample(self, n_features: int, size: int, rng: np.random.Generator) -> np.ndarray:
        """Frequencies ω of shape (n_features, size) with E cos ωᵀ(x - z) = k(x, z): normal."""
        return rng.standard_normal((n_features, size)) / self._width()


@dataclass(eq=False, repr=False)
class Laplace(BandwidthKernel):
    """Laplace kernel, k(x, z) = exp(-||x - z|| / bandwidth), by default with the L1 norm.

    Parameters
    ----------
    bandwidth : float, {"median", "dimension", "maximize"} or sequence of float, default="median"
        As in :class:`Gaussian`; ``"dimension"`` is n_features for the L1 norm and √n_features for
        the L2 norm.
    norm : {1, 2}, default=1
        With the L1 norm the kernel is a product over features; the L2 norm is the other definition
        found in the literature.

    Examples
    --------
    >>> from depmax.kernels import Laplace
    >>> Laplace(bandwidth=2.0)([[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    bandwidth: Bandwidth = "median"
    norm: int = 1

    _declared: ClassVar = {"norm": Rule(lambda value: value in (1, 2), "1 or 2")}
    _L2: ClassVar[Capabilities] = replace(BandwidthKernel._capabilities, telescopes=True)
    _L1: ClassVar[Capabilities] = replace(
        _L2, radial=False, sparse=False, factors_over_features=True, embeds_missing=True
    )

    @property
    def capabilities(self) -> Capabilities:
        """Only the L1 norm factors over features, only the L2 norm keeps sparse rows."""
        return self._L1 if self.norm == 1 else self._L2

    @property
    def norm_(self) -> int:  # type: ignore[override]  # a parameter here
        """Order of the norm."""
        return self.norm

    @property
    def decay(self) -> float:
        """The distance at which the kernel is 1/e."""
        return self._width()

    def of_squares(self, squares: np.ndarray) -> np.ndarray:
        """Kernel values from squared distances, for the L1 norm from distances, in place."""
        if self.norm == 2:
            np.sqrt(squares, out=squares)
        squares *= -1.0 / self._width()
        return np.exp(squares, out=squares)

    def spectral_sample(self, n_features: int, size: int, rng: np.random.Generator) -> np.ndarray:
        """Frequencies ω of shape (n_features, size) with E cos ωᵀ(x - z) = k(x, z).

        Independent Cauchy variables for the L1 norm; for the L2 norm the multivariate Cauchy
        distribution (Student's t with one degree of freedom), whose coordinates share one
        denominator.
        """
        if self.norm == 1:
            return rng.standard_cauchy((n_features, size)) / self._width()
        normal = rng.standard_normal((n_features, size))
        return normal / (np.abs(rng.standard_normal(size)) * self._width())


class InverseDistance(BandwidthKernel):
    """Inverse distance kernel, k(x, z) = 1 / (||x - z|| + bandwidth).

    Parameters
    ----------
    bandwidth : float, {"median", "dimension", "maximize"} or sequence of float, default="median"
        The positive constant that keeps the diagonal finite; policies as in :class:`Gaussian`.

    Examples
    --------
    >>> from depmax.kernels import InverseDistance
    >>> InverseDistance(bandwidth=1.0)([[0.0], [3.0]])
    array([[1.  , 0.25],
           [0.25, 1.  ]])
    """

    def of_squares(self, squares: np.ndarray) -> np.ndarray:
        """Kernel values from squared distances, in place."""
        np.sqrt(squares, out=squares)
        squares += self._width()
        return np.reciprocal(squares, out=squares)


class InverseMultiquadric(BandwidthKernel):
    """Inverse multiquadric kernel, k(x, z) = 1 / √(||x - z||² + bandwidth²).

    Parameters
    ----------
    bandwidth : float, {"median", "dimension", "maximize"} or sequence of float, default="median"
        The constant c of the usual notation; policies as in :class:`Gaussian`.

    Examples
    --------
    >>> from depmax.kernels import InverseMultiquadric
    >>> InverseMultiquadric(bandwidth=3.0)([[0.0], [4.0]]).round(3)
    array([[0.333, 0.2  ],
           [0.2  , 0.333]])
    """

    def of_squares(self, squares: np.ndarray) -> np.ndarray:
        """Kernel values from squared distances, in place."""
        squares += self._width() ** 2
        np.sqrt(squares, out=squares)
        return np.reciprocal(squares, out=squares)


@dataclass(eq=False, repr=False)
class Distance(Kernel):
    """Distance kernel, k(x, z) = (||x||^p + ||z||^p - ||x - z||^p) / 2 with p = ``exponent``.

    Four times the HSIC of two distance kernels is the squared distance covariance.

    Parameters
    ----------
    exponent : float, default=1.0
        Above 0 and at most 2; 2 gives the linear kernel.

    Examples
    --------
    >>> from depmax.kernels import Distance
    >>> Distance()([[1.0], [3.0], [-2.0]])
    array([[1., 1., 0.],
           [1., 3., 0.],
           [0., 0., 2.]])
    """

    exponent: float = 1.0

    _capabilities: ClassVar[Capabilities] = Capabilities(sparse=True)
    _declared: ClassVar = {
        "exponent": number(0, 2, ends="(]", hint="beyond 2 the kernel is not positive semidefinite")
    }

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        values = self._power(squared_distances(X, Z))
        values *= -0.5
        values += 0.5 * self._power(row_norms(X, squared=True))[:, np.newaxis]
        values += 0.5 * self._power(row_norms(Z, squared=True))[np.newaxis, :]
        return values

    def _diag(self, X: Any) -> np.ndarray:
        return self._power(row_norms(X, squared=True))

    def _power(self, squares: np.ndarray) -> np.ndarray:
        """||.||^p from ||.||²."""
        return squares ** (0.5 * self.exponent)


# --- distances of rows, and their median ----------------------------------------------------------
def median_distance(X: Any, norm: int = 2, weight: np.ndarray | None = None) -> float:
    """Median distance between two rows of X, each of which counts as often as its weight says.

    With more than ``MEDIAN_ROWS`` rows, a random subset with a fixed seed stands for all. If more
    than half of the pairs coincide, the median of the positive distances is used; if all rows are
    equal, 1.0, since every bandwidth then gives the same kernel.

    Examples
    --------
    >>> median_distance(np.array([[0.0], [1.0], [3.0]]))
    2.0
    """
    return median_of_pairs(lambda rows: _pairwise(rows, norm), X, weight)


def median_of_pairs(
    distances: Callable[[Any], np.ndarray], X: Any, weight: np.ndarray | None
) -> float:
    """Median of any distances of all pairs i < j of rows.

    A row that stands for several is at distance 0 from its own copies.
    """
    if X.shape[0] > MEDIAN_ROWS:
        some = np.random.default_rng(0).choice(X.shape[0], MEDIAN_ROWS, replace=False)
        X, weight = X[some], None if weight is None else weight[some]
    if X.shape[0] < 2:
        return 1.0
    values = distances(X)
    if weight is None:
        median, positive = float(np.median(values)), values[values > 0]
        if median > 0 or not positive.size:
            return median or 1.0
        return float(np.median(positive))
    first, second = np.triu_indices(len(weight), 1)
    counts = weight[first] * weight[second]
    copies = float(weight @ np.maximum(weight - 1.0, 0.0)) / 2
    median = _weighted_median(np.append(values, 0.0), np.append(counts, copies))
    positive = values > 0
    if median > 0 or not positive.any():
        return median or 1.0
    return _weighted_median(values[positive], counts[positive])


def _weighted_median(values: np.ndarray, counts: np.ndarray) -> float:
    """Median of values that each occur a given number of times."""
    order = np.argsort(values)
    reached = np.cumsum(counts[order])
    half = reached[-1] / 2
    last = len(values) - 1
    middle = [int(np.searchsorted(reached, half, side=side)) for side in ("left", "right")]
    low, high = (values[order[min(place, last)]] for place in middle)
    return float((low + high) / 2)


def _pairwise(X: Any, norm: int) -> np.ndarray:
    """Distances of all pairs i < j, as one vector."""
    if sparse.issparse(X):
        return np.sqrt(squared_distances(X, X)[np.triu_indices(X.shape[0], 1)])
    from scipy.spatial.distance import pdist

    return pdist(X, "cityblock" if norm == 1 else "euclidean")


#: Rows among which the middle of a table is looked for.
CENTRE_ROWS = 32
#: Squared distance between mean and median, in those of typical rows, from which on a few rows far
#: away have taken the mean with them.
DRAGGED = 1e4


def squared_distances(X: Any, Z: Any) -> np.ndarray:
    """Squared Euclidean distances by one matrix product, about the middle of Z for accuracy.

    By differences if rows are so far away that their squares cost the others their digits, and for
    single columns, as a few prices and incomes are far from the others.
    """
    same = X is Z
    dense = not sparse.issparse(Z) and not sparse.issparse(X)
    if dense and Z.shape[1] == 1:
        apart: np.ndarray = X - Z.T
        return np.square(apart, out=apart)
    if dense and not same and len(Z) == 1:
        return row_norms(X - Z, squared=True)[:, np.newaxis]
    if dense:
        centre = _middle(Z)
        Z = Z - centre
        X = Z if same else X - centre
    of_z = row_norms(Z, squared=True)
    of_x = of_z if same else row_norms(X, squared=True)
    if dense and (_has_far(of_z) or (not same and _has_far(of_x))):
        distances = differences(X, Z, 2)
    elif dense and not same:
        distances = _joint_product(X, Z, of_x, of_z)
    else:
        distances = safe_sparse_dot(X, Z.T, dense_output=True)
        distances *= -2.0
        distances += of_x[:, np.newaxis]
        distances += of_z[np.newaxis, :]
    np.maximum(distances, 0.0, out=distances)
    if same:
        np.fill_diagonal(distances, 0.0)
    return distances


def _middle(rows: np.ndarray) -> np.ndarray:
    """The mean of the rows, or a median if the mean is far from nearly all of them."""
    mean: np.ndarray = rows.mean(axis=0)
    some = rows[:: 1 + len(rows) // CENTRE_ROWS]
    median = np.median(some, axis=0).astype(rows.dtype)
    apart = mean - median
    typical = float(np.median(row_norms(some - median, squared=True)))
    return median if float(apart @ apart) > DRAGGED * typical else mean


def with_far_values(X: np.ndarray, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A median of each column, and in which columns a value is out of all proportion to the others.

    ``reach`` is the largest distance from the middle of each column. About such a middle, the other
    values of a column would lose their digits.
    """
    some = X[:: 1 + len(X) // CENTRE_ROWS]
    median = np.median(some, axis=0)
    typical = np.median(np.abs(some - median), axis=0)
    for column in np.flatnonzero((typical == 0) & (reach > 0)):  # most values are equal
        apart = np.abs(X[:, column] - median[column])
        typical[column] = np.median(apart[apart > 0])
    return median, reach > typical * float(np.finfo(X.dtype).eps) ** -0.3


def _has_far(squares: np.ndarray) -> bool:
    """Whether the square of the longest row leaves few digits to those of others."""
    if not len(squares):
        return False
    longest = float(squares.max()) * float(np.finfo(squares.dtype).eps) ** 0.6
    some = squares[:: 1 + len(squares) // CENTRE_ROWS]
    if longest <= float(np.median(some)):
        return False
    positive = squares[squares > 0]
    return len(positive) > 1 and longest > float(np.median(positive))


def differences(X: np.ndarray, Z: np.ndarray, norm: int) -> np.ndarray:
    """Sums over columns of squared (or for the L1 norm absolute) differences, one by one."""
    from scipy.spatial.distance import cdist

    sums = cdist(X, Z, "cityblock" if norm == 1 else "sqeuclidean")
    return sums.astype(np.result_type(X, Z), copy=False)


def _joint_product(X: np.ndarray, Z: np.ndarray, of_x: np.ndarray, of_z: np.ndarray) -> np.ndarray:
    """‖x‖² - 2xᵀz + ‖z‖² as one product of longer rows, instead of four visits to the matrix."""
    left = np.empty((len(X), X.shape[1] + 2), X.dtype)
    right = np.empty((len(Z), Z.shape[1] + 2), Z.dtype)
    left[:, :-2], left[:, -2], left[:, -1] = X, of_x, 1.0
    right[:, -2], right[:, -1] = 1.0, of_z
    np.multiply(Z, -2.0, out=right[:, :-2])
    product: np.ndarray = left @ right.T
    return product
