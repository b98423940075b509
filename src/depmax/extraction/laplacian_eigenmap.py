"""Laplacian eigenmaps, with a map for new rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from depmax._parameters import number
from depmax.algebra.directions import Sphere
from depmax.algebra.graphs import GraphLike, Laplacian, as_graph
from depmax.algebra.points import points_of
from depmax.algebra.space import Directions, space_of
from depmax.data.sample import Sample
from depmax.extraction.extractor import Answer, DependenceExtractor, Found, along
from depmax.kernels import KernelLike
from depmax.maps.feature_map import leading

#: Up to so many nodes the eigenproblem is solved by a dense matrix.
DENSE_NODES = 1000


@dataclass(eq=False, repr=False)
class LaplacianEigenmap(DependenceExtractor):
    """Coordinates on a graph of neighbours that change least along edges, and a map for new rows.

    The coordinates F of the training rows (``embedding_``) minimise ½ Σ W_ij ‖f_i - f_j‖² under
    FᵀDF = I, with the weights W and degrees D of a graph: a sparse eigenproblem. Rows that were not
    in the graph have no such coordinates, so ``transform`` is their regression on the kernel's
    feature space (spectral regression), for training rows too. With a kernel matrix of full rank
    and small ``alpha`` it passes through the coordinates.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, less than the number of rows. A float is a share of the dependence;
        ``"auto"`` the intrinsic dimension.
    kernel : kernel, name, callable, transformer or "precomputed", default="gaussian"
        Kernel of the regression, and of the distances in the graph. A map, such as ``NystroemMap``,
        avoids the kernel matrix of many rows.
    graph : {"neighbors", "radius", "gaussian"}, graph, matrix or callable, default="neighbors"
        Which rows are neighbours in the kernel's feature space: a ``NeighborGraph``,
        ``RadiusGraph`` or ``GaussianGraph``; or your own weights, a matrix or a function of the
        rows (``GivenGraph``). With ``normalized=True`` the coordinates are those of I -
        D^(-½)WD^(-½), under FᵀF = I.
    alpha : float, default=1e-6
        Penalty of the regression, relative to the mean variance of the kernel's features.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training rows, with mean 0 and variance 1.
    components_ : ndarray of shape (n_components, n_features)
        Weights of the columns; only with ``kernel="linear"``.
    dependence_ : ndarray of shape (n_components,)
        How similar neighbours are: 1 - λ, the correlation of a coordinate between the ends of an
        edge, with λ the eigenvalue of the Laplacian.
    n_components_ : int
        Number of features.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_ : Kernel
        With every recipe replaced by numbers.

    Warns
    -----
    UserWarning
        If the graph is disconnected: the first coordinates then indicate its parts.

    References
    ----------
    M. Belkin, P. Niyogi (2002), Laplacian eigenmaps and spectral techniques for embedding and
    clustering. D. Cai (2009), Spectral regression.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import LaplacianEigenmap, NeighborGraph
    >>> angle = np.random.default_rng(0).uniform(0, 5, size=200)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> feature = LaplacianEigenmap(1, graph=NeighborGraph(10)).fit_transform(X)[:, 0]
    >>> bool(abs(np.corrcoef(feature, angle)[0, 1]) > 0.95)
    True
    """

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    kernel: KernelLike = "gaussian"
    graph: GraphLike = "neighbors"
    alpha: float = 1e-6
    _supervised: ClassVar[bool] = False
    _declared: ClassVar = {"alpha": number(0)}

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        laplacian = as_graph(self.graph).laplacian(points_of(data))
        space = space_of(data)
        with space.solving():
            most = min(count, space.dimension, space.n_samples - 1)
            values, embedding = smoothest(laplacian, most)
            embedding = embedding - embedding.mean(axis=0)
            embedding = embedding / embedding.std(axis=0)
            sphere = Sphere.of_space(space, float(self.alpha))
            cross = space.cross(embedding) / space.n_samples
            vectors = sphere.whiten @ (sphere.whiten.T @ cross)
            return along(self, space, Directions(vectors, 1.0 - values), more=embedding)

    def _keep_more(self, found: Found, answer: Answer) -> None:
        self.embedding_ = found.turns * found.more[:, : found.count]

    def _check_parameters(self) -> None:
        as_graph(self.graph)


def smoothest(laplacian: Laplacian, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Values F on the nodes with least fᵀΔf, and their λ, without the one that is the same for all.

    Plain: Δ₀f = λDf, with FᵀDF = I and orthogonal to D1. Normalised: Δ₁f = λf, with FᵀF = I and
    orthogonal to D^½1. The second are the first times D^½.

    Parameters
    ----------
    laplacian : Laplacian
    n_columns : int
        Less than the number of nodes.

    Returns
    -------
    values : ndarray of shape (n_columns,)
        λ, rising.
    columns : ndarray of shape (m, n_columns)
    """
    degrees = laplacian.degrees
    roots = np.sqrt(degrees)
    inverse = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)[:, np.newaxis]
    trivial = (roots / np.sqrt(max(degrees.sum(), np.finfo(float).tiny)))[:, np.newaxis]

    def apply(columns: np.ndarray) -> np.ndarray:
        """D^(-½)WD^(-½) = I - Δ₁, whose eigenvalues are at least -1; -2 for the trivial vector."""
        columns = columns.reshape(len(degrees), -1)
        images: np.ndarray = inverse * laplacian.weights.times(inverse * columns)
        return images - 3.0 * trivial @ (trivial.T @ columns)

    size = len(degrees)
    if size <= DENSE_NODES or n_columns > size // 4:
        matrix = apply(np.eye(size))
        values, vectors = leading((matrix + matrix.T) / 2.0, n_columns)
    else:
        operator = LinearOperator((size, size), matvec=apply, matmat=apply, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(size)
        values, vectors = eigsh(operator, n_columns, which="LA", v0=start, maxiter=100 * size)
        order = np.argsort(-values)
        values, vectors = values[order], vectors[:, order]
    return 1.0 - values, vectors if laplacian.normalized else inverse * vectors
