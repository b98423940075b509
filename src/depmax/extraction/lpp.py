"""Locality preserving projections."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

from depmax.algebra.directions import ALPHA, Alpha, alpha_of, sphere_of_graph, unit_variance
from depmax.algebra.graphs import GraphLike, as_graph
from depmax.algebra.points import points_of
from depmax.algebra.space import Directions, space_of
from depmax.data.sample import Sample
from depmax.extraction.extractor import Answer, DependenceExtractor, Found, along
from depmax.kernels import KernelLike


@dataclass(eq=False, repr=False)
class LPP(DependenceExtractor):
    """Directions along which neighbouring rows stay close, ignoring the target.

    The directions p minimise ½ Σ W_ij (f_i - f_j)² for features f = Φp + b of given size, where
    W_ij are the weights of a graph: pᵀΦᵀΔΦp / pᵀΦᵀDΦp, with the Laplacian Δ = D - W and the degrees
    D, and samples measured from their mean weighted by D. It is the Laplacian eigenmap among linear
    functions; with a kernel, among those of its feature space.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and the number of columns. A float is a share
        of the dependence; ``"auto"`` the intrinsic dimension.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.
    graph : {"neighbors", "radius", "gaussian"}, graph, matrix or callable, default="neighbors"
        Which rows are neighbours in the kernel's feature space: a ``NeighborGraph``,
        ``RadiusGraph`` or ``GaussianGraph``; or your own weights, a matrix or a function of the
        rows (``GivenGraph``). With ``normalized=True`` the Laplacian is I - D^(-½)WD^(-½), and the
        size of a feature is its variance.
    alpha : float or "auto", default="auto"
        Size added to every direction of the denominator's range, relative to the mean there: what
        is maximised is pᵀΦᵀ(D - Δ)Φp / pᵀ(ΦᵀDΦ + αI)p, so that directions of little variance do
        not win. ``"auto"``: none where features are fewer than rows, 0.1 otherwise.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions of features with variance 1; only with ``kernel="linear"``.
    dependence_ : ndarray of shape (n_components,)
        How similar neighbours are: 1 - λ, the correlation of a feature between the ends of an edge,
        with λ the quotient reached.
    n_components_ : int
        Number of features.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_ : Kernel
        With every recipe replaced by numbers.

    Warns
    -----
    UserWarning
        If the graph is disconnected.

    References
    ----------
    X. He, P. Niyogi (2004), Locality preserving projections.
    P. Daniušis (2012), Feature extraction via dependence structure optimization, section 3.4.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import LPP
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 3, size=200)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle), 0.1 * rng.normal(size=200)])
    >>> feature = LPP(1).fit_transform(X)[:, 0]
    >>> bool(abs(np.corrcoef(feature, angle)[0, 1]) > 0.95)
    True
    """

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    kernel: KernelLike = "linear"
    graph: GraphLike = "neighbors"
    alpha: Alpha = "auto"
    _supervised: ClassVar[bool] = False
    _declared: ClassVar = {"alpha": ALPHA}

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        laplacian = as_graph(self.graph).laplacian(points_of(data))
        space = space_of(data)
        with space.solving():
            sphere = sphere_of_graph(space, laplacian, alpha_of(self, data, space))
            found = sphere.least_changing(space.quadratic(laplacian.apply), count)
            vectors = unit_variance(space, found.vectors)
            return along(self, space, Directions(vectors, 1.0 - found.dependence))

    def _check_parameters(self) -> None:
        as_graph(self.graph)
