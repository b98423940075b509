"""The Nyström map of a kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from depmax._inputs.parameters import integer
from depmax.kernels import KernelLike
from depmax.maps.feature_map import FeatureMap, leading_eigenpairs, signs
from depmax.samples import Sample

#: Landmarks, where no number is given.
DEFAULT_LANDMARKS = 100


class NystroemMap(FeatureMap):
    """Coordinates in the span of random training rows, the landmarks.

    With W the kernel matrix of the landmarks and W = UΛUᵀ, Φ(x) = k(x, landmarks) U Λ^(-1/2), so
    that ΦΦᵀ = K[:, S] W⁻¹ K[S, :]. Directions in which W is numerically zero are left out, so
    that equal landmarks give fewer columns. Any kernel will do, for strings and graphs too. The
    cost for m rows and r landmarks is m r kernel values and O(m r²) operations.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of landmarks, drawn without replacement; None is 100, or all rows if there are fewer.
    kernel : kernel, name, callable, transformer or "precomputed", default="gaussian"
    random_state : int, RandomState instance or None, default=None
        Draws the landmarks.

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

    _declared: ClassVar = {"n_components": integer(1, also=[None])}
    _limited_by_rows: ClassVar[bool] = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: KernelLike = "gaussian",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.random_state = random_state

    def _fit(self, sample: Sample) -> None:
        order = check_random_state(self.random_state).permutation(sample.n_samples)
        count = DEFAULT_LANDMARKS if self.n_components is None else self.n_components
        self.landmark_indices_ = order[:count]
        landmarks = sample.take(self.landmark_indices_)
        # The noise of W is that of its kernel values, however few landmarks there are.
        cutoff = max(landmarks.n_samples, 10) * sample.eps
        values, vectors = leading_eigenpairs(landmarks.gram(), None, cutoff)
        self._reference = landmarks.reference()
        self._projection = vectors * signs(vectors) / np.sqrt(values)  # U Λ^(-1/2)
        self._n_features_out = len(values)

    @property
    def mixing(self) -> np.ndarray | None:
        """U Λ^(-1/2), by which kernel values with the landmarks are multiplied."""
        return self._projection

    def _unmixed(self, rows: Any) -> np.ndarray:
        return self._reference.against(rows)

    def _map(self, rows: Any) -> np.ndarray:
        return self._unmixed(rows) @ self._projection
