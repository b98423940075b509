"""Principal components, one after another."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

from depmax.algebra.directions import principal
from depmax.algebra.space import Directions, space_of
from depmax.algebra.span import Basis, completed, pairs_held
from depmax.data.sample import Sample
from depmax.extraction.extractor import Answer, Found, SumsExtractor, along
from depmax.kernels import KernelLike


@dataclass(eq=False, repr=False)
class IterativePCA(SumsExtractor):
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

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    kernel: KernelLike = "linear"
    _supervised: ClassVar[bool] = False
    _adds_up: ClassVar[bool] = False

    def _pairs_held(self, data: Sample) -> float:
        return pairs_held(data, whole_span=False)

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        space = space_of(data, lambda gram: completed(Basis(gram), count))
        with space.solving():
            found = principal(space.scatter, min(count, space.dimension), space.eps)
            variances = found.dependence / max(space.total - 1, 1)
            return along(self, space, Directions(found.vectors, variances))
