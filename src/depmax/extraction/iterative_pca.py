"""Principal components, one after another."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from depmax.algebra import Basis, Directions, Gram, Space, completed, principal
from depmax.extraction.extractor import WeightedExtractor
from depmax.kernels import KernelLike


class IterativePCA(WeightedExtractor):
    """Directions of largest variance by deflation, ignoring the target.

    Each direction is the principal eigenvector of the scatter matrix of what the earlier ones leave
    of the samples. The features are those of principal component analysis, or of kernel PCA with a
    kernel.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and the number of columns. A float is a share
        of the variance; ``"auto"`` is the intrinsic dimension.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions; only with ``kernel="linear"``.
    dependence_ : ndarray of shape (n_components,)
        Variance of each feature: the eigenvalues of the scatter matrix over m - 1.
    n_components_ : int
        Number of features.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_ : Kernel
        With every recipe replaced by numbers.

    Warns
    -----
    ConvergenceWarning
        If fewer directions than requested have any variance.

    References
    ----------
    P. Daniušis (2012), Feature extraction via dependence structure optimization, section 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import IterativePCA
    >>> X = np.random.default_rng(0).normal(size=(100, 3)) * [1.0, 5.0, 2.0]
    >>> abs(IterativePCA(2).fit(X).components_).round(1)
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """

    _supervised: ClassVar[bool] = False

    def __init__(
        self, n_components: int | float | Literal["auto"] = 2, *, kernel: KernelLike = "linear"
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel

    def _extract(self, space: Space, target: Any, n_components: int) -> Directions:
        found = principal(space.scatter, n_components, space.eps)
        return Directions(found.vectors, found.dependence / max(space.total - 1, 1))

    def _grows(self) -> bool:
        return True

    def _span(self, gram: Gram, target: Any, n_components: int) -> Basis | None:
        """The directions of most variance: there is no dependence to come before them."""
        return completed(Basis(gram), n_components)
