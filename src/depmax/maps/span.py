"""Maps to the span of training rows: of all of them, or of some landmarks (Nyström)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot

from depmax._parameters import integer
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
    random_state : int, RandomState instance or None, default=None
        Seed for drawing the landmarks.

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
    random_state: int | np.random.RandomState | None = None

    _declared: ClassVar = {
        "n_components": integer(1, also=[None]),
    }
    _streams: ClassVar[bool] = True

    def _prepare(self, training: Sample) -> None:
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
        if not sample.is_streamed:
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
