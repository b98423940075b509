"""The exact map of a kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from depmax._limits import require_pairs, warn_if_long
from depmax._parameters import integer
from depmax.data.sample import Reference, Sample
from depmax.kernels import KernelLike
from depmax.maps.feature_map import FeatureMap, leading_eigenpairs, signs

#: Arrays of all pairs of rows at the peak: K, a copy, its eigenvectors and what is made of them.
MATRICES = 5.0
#: What to do where they are too large.
#: Time of one core over the cube of the rows.
SECONDS_PER_CUBE = 1.6e-10
INSTEAD = (
    "Use NystroemMap(200) or IncompleteCholesky(200) with the same kernel, whose memory is linear "
    "in the rows."
)


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

    _declared: ClassVar = {"n_components": integer(1, also=[None])}

    def __init__(self, n_components: int | None = None, *, kernel: KernelLike = "gaussian") -> None:
        self.n_components = n_components
        self.kernel = kernel

    def _fit(self, sample: Sample) -> np.ndarray:
        cutoff = sample.n_samples * sample.eps
        if _is_narrow(sample):
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


def _is_narrow(sample: Sample) -> bool:
    """Whether the kernel has exact features, no more than there are rows."""
    width = sample.kernel.n_coordinates(sample.rows)
    return width is not None and width <= sample.n_samples
