"""Random Fourier features of a kernel."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot

from depmax.data.sample import Sample
from depmax.kernels import KernelLike
from depmax.maps.feature_map import FeatureMap


@dataclass(eq=False, repr=False)
class RandomFourier(FeatureMap):
    """Cosines and sines of random projections, whose inner product is the kernel on average.

    A kernel of x - z is the mean of cos ωᵀ(x - z) over random frequencies ω, drawn as the kernel
    declares in ``spectral_sample``: normal for ``Gaussian``, Cauchy for ``Laplace``. Each frequency
    gives a pair cos ωᵀx, sin ωᵀx, so k(x, x) is exact; an odd ``n_components`` ends with a single
    √2 cos(ωᵀx + b), with b uniform. The error falls like 1/√n_components, and only the number of
    columns and the bandwidth are learnt from X.

    Parameters
    ----------
    n_components : int, default=1000
        Number of features, even or odd.
    kernel : kernel or name, default="gaussian"
        ``Gaussian`` or ``Laplace``, on numeric columns; other kernels are refused.
    random_state : int, RandomState instance or None, default=None
        Seed for drawing the frequencies.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features, (n_components + 1) // 2)
        The frequencies ω.
    offset_ : float
        The offset b of the last feature, if ``n_components`` is odd.
    kernel_ : Kernel
        The kernel with every recipe replaced by numbers.

    References
    ----------
    Rahimi, A. and Recht, B. (2007). Random features for large-scale kernel machines.
    Sutherland, D. and Schneider, J. (2015). On the error of random Fourier features.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.kernels import Gaussian
    >>> from depmax.maps import RandomFourier
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> features = RandomFourier(5000, kernel=Gaussian(2.0), random_state=0).fit_transform(X)
    >>> bool(np.abs(features @ features.T - Gaussian(2.0)(X)).max() < 0.1)
    True
    """

    n_components: int = 1000
    _: KW_ONLY
    kernel: KernelLike = "gaussian"
    random_state: int | np.random.RandomState | None = None

    _streams: ClassVar[bool] = True

    def _fit(self, sample: Sample) -> None:
        self._require_spectrum(sample)
        assert self.n_components is not None
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        rng = np.random.default_rng(seed)
        self._n_features_out = int(self.n_components)
        size = (self._n_features_out + 1) // 2
        frequencies = sample.kernel.spectral_sample(self.n_features_in_, size, rng)
        self.frequencies_ = frequencies.astype(sample.dtype)
        self.offset_ = float(rng.uniform(0.0, 2 * np.pi))

    def _map(self, rows: Any) -> np.ndarray:
        phases = safe_sparse_dot(rows, self.frequencies_, dense_output=True)
        pairs = self._n_features_out // 2
        scale = 1.0 / np.sqrt(phases.shape[1])  # each frequency is one of this many in the mean
        features = np.empty((phases.shape[0], self._n_features_out), dtype=phases.dtype)
        np.cos(phases[:, :pairs], out=features[:, :pairs])
        np.sin(phases[:, :pairs], out=features[:, pairs : 2 * pairs])
        if self._n_features_out % 2:
            features[:, -1] = np.sqrt(2.0) * np.cos(phases[:, -1] + self.offset_)
        features *= scale
        return features

    def _require_spectrum(self, sample: Sample) -> None:
        others = "NystroemMap or IncompleteCholesky, which take any kernel"
        if self.categories_:
            column = min(self.categories_)
            names = getattr(self, "feature_names_in_", range(column + 1))
            raise TypeError(
                f"RandomFourier cannot map the categorical column {names[column]!r}: encode it as "
                f"numbers, or use {others}."
            )
        if not hasattr(sample.kernel, "spectral_sample"):
            raise TypeError(
                f"RandomFourier needs a kernel with known frequencies, Gaussian or Laplace, but "
                f"{type(sample.kernel).__name__} declares none: use {others}."
            )
