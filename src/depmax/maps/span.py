"""Maps to the span of training rows: of all of them, or of some landmarks (Nyström)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot

from depmax._parameters import Rule, check_parameters, integer
from depmax._resources import require_pairs, warn_if_long
from depmax.data.sample import Reference, Sample
from depmax.kernels import KernelLike
from depmax.maps.feature_map import FeatureMap, leading_eigenpairs, signs

#: Arrays of all pairs of rows at the peak: K, a copy, its eigenvectors and what is made of them.
MATRICES = 5.0
#: Time of one core over the cube of the rows.
SECONDS_PER_CUBE = 1.6e-10
#: What to do where they are too large.
INSTEAD = (
    "Use NystroemMap(200) or IncompleteCholesky(200) with the same kernel, whose memory is linear "
    "in the rows."
)
#: Landmarks, where no number is given.
DEFAULT_LANDMARKS = 100
#: Residuals of a pivot below this many roundings of the largest are noise.
PIVOT_NOISE = 100
#: Rows up to which landmarks are the first of a random order of all of them.
SHUFFLED_ROWS = 10**6


@dataclass(eq=False, repr=False)
class KernelMap(FeatureMap):
    """Exact coordinates in the span of the training rows, ordered by the variance they carry.

    With the eigenvectors U and eigenvalues Λ of the kernel matrix K of the training rows, Φ(x) =
    k(x, X) U Λ^(-1/2), so ΦΦᵀ = K on the training rows, up to rounding. Nothing is centred; after
    centring, these are the coordinates of kernel PCA.

    If the kernel has exact features φ, no more than there are rows (the linear kernel, labels), the
    same coordinates are computed as φ(x) V from the eigenvectors V of ΦᵀΦ, without the kernel
    matrix. Otherwise the cost is m² kernel values and O(m³) operations, and tables too long for the
    memory limit (about 10,000 rows, ``docs/limits.md``) are refused.

    Parameters
    ----------
    n_components : int or None, default=None
        Keep only the leading coordinates, the best approximation of K of that rank. None keeps all,
        up to the numerical rank of K, which is also an upper limit for a number.
    kernel : kernel, name, callable, transformer or "precomputed", default="gaussian"

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_features_out,)
        Eigenvalues of K, in falling order.
    kernel_ : Kernel
        The kernel with every recipe replaced by numbers.

    See Also
    --------
    IncompleteCholesky : Cheaper, for many rows.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.kernels import Gaussian
    >>> from depmax.maps import KernelMap
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> features = KernelMap(kernel=Gaussian(1.0)).fit_transform(X)
    >>> np.allclose(features @ features.T, Gaussian(1.0)(X))
    True
    """

    n_components: int | None = None
    _: KW_ONLY
    kernel: KernelLike = "gaussian"

    _declared: ClassVar = {"n_components": integer(1, also=[None])}

    def _fit(self, sample: Sample) -> np.ndarray:
        cutoff = sample.n_samples * sample.eps
        width = sample.kernel.n_coordinates(sample.rows)
        if width is not None and width <= sample.n_samples:
            phi = sample.kernel.features(sample.rows)
            scatter = safe_sparse_dot(phi.T, phi, dense_output=True).astype(np.float64)
            self.eigenvalues_, vectors = leading_eigenpairs(scatter, self.n_components, cutoff)
            features = safe_sparse_dot(phi, vectors, dense_output=True)
            self._reference: Reference | None = None
            self._projection = vectors  # V, shape (D, r)
        else:
            m = sample.n_samples
            held = 0.0 if sample.precomputed else MATRICES * m**2
            require_pairs(type(self).__name__, m, held, INSTEAD)
            if self.n_components is None:
                seconds = SECONDS_PER_CUBE * m**3
                warn_if_long(f"All eigenvectors of the kernel of {m:,} rows", seconds, INSTEAD)
            self.eigenvalues_, vectors = leading_eigenpairs(
                sample.gram(), self.n_components, cutoff
            )
            roots = np.sqrt(self.eigenvalues_)
            features = vectors * roots
            self._reference = sample.reference()
            self._projection = vectors / roots  # U Λ^(-1/2), shape (m, r)
        directions = signs(features)
        features *= directions
        self._projection *= directions
        self._n_features_out = len(self.eigenvalues_)
        return features

    def _map(self, rows: Any) -> np.ndarray:
        if self._reference is None:
            values = self.kernel_.features(rows)
        else:
            values = self._reference.against(rows)
        return safe_sparse_dot(values, self._projection, dense_output=True)

    def _width(self) -> int:
        return int(self._projection.shape[0])


class Landmarks(Protocol):
    """A rule for choosing landmarks from rows in memory."""

    def choose(self, sample: Sample, count: int, random: np.random.RandomState) -> np.ndarray:
        """Positions of at most ``count`` different rows."""


@dataclass(frozen=True)
class DrawnWithReplacement:
    """Landmarks drawn in proportion to k(x, x)², with replacement.

    Rows that are drawn again add nothing, so there are fewer landmarks than draws. With kernels for
    which all k(x, x) are equal (Gaussian, Laplace), all rows are equally likely.

    References
    ----------
    P. Drineas, M. Mahoney (2005), On the Nyström method for approximating a Gram matrix for
    improved kernel-based learning. Their factors of the columns cancel where no rank is cut off.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.maps import DrawnWithReplacement, NystroemMap
    >>> X = np.arange(20.0)[:, np.newaxis]
    >>> landmarks = DrawnWithReplacement()
    >>> chosen = NystroemMap(5, kernel="linear", landmarks=landmarks, random_state=0).fit(X)
    >>> chosen.landmark_indices_  # long rows are drawn more often
    array([16, 17, 18])
    """

    def choose(self, sample: Sample, count: int, random: np.random.RandomState) -> np.ndarray:
        """Positions of the rows that were drawn, each once."""
        squares = np.asarray(sample.diag(), dtype=np.float64) ** 2
        if not squares.sum() > 0:
            raise ValueError(f"{sample.kernel!r} is zero on all rows: none can be a landmark.")
        drawn: np.ndarray = random.choice(len(squares), count, p=squares / squares.sum())
        return np.unique(drawn)


@dataclass(frozen=True)
class GreedyLandmarks:
    """Landmarks chosen one by one, each to reduce ‖K - K*‖ of the approximation K* the most.

    The norm is the Frobenius norm. For r rows the search costs r³ operations once, r² per landmark,
    and memory for three r × r matrices.

    Parameters
    ----------
    max_rows : int, default=2000
        If there are more rows, this many random ones are candidates, and the norm is that of their
        matrix.

    References
    ----------
    A. Smola, B. Schölkopf (2000), Sparse greedy matrix approximation for machine learning.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.maps import GreedyLandmarks, NystroemMap
    >>> X = np.repeat([[0.0], [5.0], [9.0]], 10, axis=0)
    >>> chosen = NystroemMap(3, kernel="gaussian", landmarks=GreedyLandmarks()).fit(X)
    >>> np.sort(X[chosen.landmark_indices_, 0])  # one of each
    array([0., 5., 9.])
    """

    max_rows: int = 2000

    _declared: ClassVar = {"max_rows": integer(1)}

    def __post_init__(self) -> None:
        check_parameters(self)

    def choose(self, sample: Sample, count: int, random: np.random.RandomState) -> np.ndarray:
        """Positions in the order in which they were chosen.

        With what is left of K, R, and its column j over √Rⱼⱼ as u, a pivot j leaves R - uuᵀ, and
        the square of the norm falls by 2uᵀRu - ‖u‖⁴ = 2(R³)ⱼⱼ/Rⱼⱼ - (R²)ⱼⱼ²/Rⱼⱼ². Only the
        diagonals of R² and R³ are needed, and with v = Ru, c = ‖u‖² they change by -2u∘v + cu² and
        -2u∘Rv - v² + 2cu∘v + (uᵀv - c²)u².
        """
        candidates = np.arange(sample.n_samples)
        if sample.n_samples > self.max_rows:
            count = min(count, self.max_rows)
            candidates = np.sort(random.permutation(sample.n_samples)[: self.max_rows])
            sample = sample.take(candidates)
        residual = np.array(sample.gram(), dtype=np.float64)
        square = residual @ residual
        squares = square.diagonal().copy()  # diagonal of R²
        cubes = np.einsum("ij,ij->i", square, residual)  # diagonal of R³
        noise = PIVOT_NOISE * sample.eps * float(residual.diagonal().max())
        pivots: list[int] = []
        for _ in range(count):
            sizes = residual.diagonal()
            possible = sizes > noise
            if not possible.any():
                break
            safe = np.where(possible, sizes, 1.0)
            fall = np.where(possible, 2.0 * cubes / safe - (squares / safe) ** 2, -np.inf)
            pivot = int(np.argmax(fall))
            pivots.append(pivot)
            u = residual[:, pivot] / np.sqrt(sizes[pivot])
            v = residual @ u
            c, uv = float(u @ u), float(u @ v)
            cubes += -2.0 * u * (residual @ v) - v**2 + 2.0 * c * u * v + (uv - c**2) * u**2
            squares += c * u**2 - 2.0 * u * v
            residual -= np.outer(u, u)
            residual[pivot] = residual[:, pivot] = 0.0
        return candidates[np.array(pivots, dtype=np.intp)]


@dataclass(eq=False, repr=False)
class NystroemMap(FeatureMap):
    """Coordinates in the span of some training rows, the landmarks.

    With the kernel matrix W = UΛUᵀ of the landmarks S, Φ(x) = k(x, landmarks) U Λ^(-1/2), so ΦΦᵀ =
    K[:, S] W⁻¹ K[S, :]. Directions in which W is numerically zero are dropped, so equal landmarks
    give fewer columns. Any kernel works, including kernels for strings and graphs. The cost for m
    rows and r landmarks is m r kernel values and O(m r²) operations.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of landmarks; None means 100, or all rows if there are fewer.
    kernel : kernel, name, callable, transformer or "precomputed", default="gaussian"
    landmarks : object or None, default=None
        How landmarks are chosen. None draws them without replacement; ``DrawnWithReplacement()``
        draws rows with a large k(x, x) more often, ``GreedyLandmarks()`` looks for those with the
        smallest error.
    random_state : int, RandomState instance or None, default=None
        Seed for drawing the landmarks, or the rows from which they are chosen.

    Attributes
    ----------
    landmark_indices_ : ndarray of shape (n_components,)
        Positions of the landmarks among the training rows.
    kernel_ : Kernel
        The kernel with every recipe replaced by numbers.

    See Also
    --------
    IncompleteCholesky : Chooses the rows instead of drawing them, and states its error.

    References
    ----------
    Williams, C. and Seeger, M. (2001). Using the Nyström method to speed up kernel machines.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.maps import NystroemMap
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> NystroemMap(10, random_state=0).fit_transform(X).shape
    (50, 10)
    """

    n_components: int | None = None
    _: KW_ONLY
    kernel: KernelLike = "gaussian"
    landmarks: Landmarks | None = None
    random_state: int | np.random.RandomState | None = None

    _declared: ClassVar = {
        "n_components": integer(1, also=[None]),
        "landmarks": Rule(
            lambda value: value is None or callable(getattr(value, "choose", None)),
            "None, DrawnWithReplacement(), GreedyLandmarks() or an object with "
            "choose(sample, count, random)",
        ),
    }
    _streams: ClassVar[bool] = True

    def _prepare(self, training: Sample) -> None:
        if self.landmarks is not None:
            raise TypeError(
                f"{self.landmarks!r} of NystroemMap compares rows in memory: for a table that is "
                "read a chunk at a time use landmarks=None, which draws them."
            )
        stream = training.rows.stream
        self.landmark_indices_ = self._draw(training.n_samples)
        stream.keep(np.concatenate([stream.sample_indices, self.landmark_indices_]))

    def _draw(self, n_samples: int) -> np.ndarray:
        """Positions of landmarks that are drawn without replacement."""
        count, random = (
            self.n_components or DEFAULT_LANDMARKS,
            check_random_state(self.random_state),
        )
        if n_samples <= SHUFFLED_ROWS:
            return random.permutation(n_samples)[:count]
        # an order of all rows would take as much memory as a column of them
        rng = np.random.default_rng(random.randint(np.iinfo(np.int32).max))
        return rng.choice(n_samples, count, replace=False)

    def _fit(self, sample: Sample) -> None:
        if self.n_components is not None and self.n_components > sample.n_samples:
            raise ValueError(
                f"n_components={self.n_components} of NystroemMap is more than the number of "
                f"training rows, n_samples = {sample.n_samples}."
            )
        if self.landmarks is not None:
            count = min(self.n_components or DEFAULT_LANDMARKS, sample.n_samples)
            random = check_random_state(self.random_state)
            self.landmark_indices_ = self.landmarks.choose(sample, count, random)
        elif not sample.is_streamed:
            self.landmark_indices_ = self._draw(sample.n_samples)
        landmarks = sample.take(self.landmark_indices_)
        # The noise of W is that of its kernel values, however few landmarks there are.
        cutoff = max(landmarks.n_samples, 10) * sample.eps
        values, vectors = leading_eigenpairs(landmarks.gram(), None, cutoff)
        self._reference = landmarks.reference()
        self._projection = vectors * signs(vectors) / np.sqrt(values)  # U Λ^(-1/2)
        self._n_features_out = len(values)

    @property
    def mixing(self) -> np.ndarray:
        """W = U Λ^(-1/2) with ``transform(X) = unmixed(X) @ W``."""
        return self._projection

    def unmixed(self, rows: Any) -> np.ndarray:
        """Kernel values with the landmarks of rows as ``fit`` reads them, which are not checked."""
        return self._reference.against(rows)

    def _map(self, rows: Any) -> np.ndarray:
        return self.unmixed(rows) @ self._projection
