"""Linear discriminant analysis in the feature space of a kernel."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from depmax.algebra import Directions, Space
from depmax.algebra.graphs import GraphLike
from depmax.data import Target
from depmax.data.reading import Labels
from depmax.data.sample import Sample
from depmax.extraction._fitting.quotients import Alpha, Explained, ExplainingExtractor
from depmax.extraction._fitting.targets import class_labels, read_classes
from depmax.kernels import KernelLike


class KernelLDA(ExplainingExtractor):
    """Directions along which the class means differ most, relative to the variance.

    The directions p in the kernel's feature space maximise pᵀS_b p / pᵀ(S_t + αI)p with the scatter
    S_b between classes and the total scatter S_t; features are uncorrelated. With the linear kernel
    and α = 0 they are those of linear discriminant analysis. With ``beta`` > 0, features that
    change much between neighbouring rows, labelled or not, are penalised (semi-supervised
    discriminant analysis).

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and the number of columns. Beyond the number
        of classes minus one, directions of largest variance uncorrelated with the others follow. A
        float is a share of the dependence. ``"auto"`` takes the smallest number whose 3-fold score
        is within one standard error of the best, up to twice the intrinsic dimension.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.
    alpha : float or "auto", default="auto"
        Variance added to every direction of the denominator's range, relative to the mean there.
        ``"auto"``: none if there are fewer columns than rows minus classes; 0.1 otherwise, since
        any classes could be separated.
    beta : float, default=0.0
        Weight of the graph, from 0 to 1: the denominator is (1-β)·S_t + β·ΦᵀΔΦ, each divided by its
        trace, with Δ the Laplacian. With 0, unlabelled rows are ignored, with a warning.
    graph : {"neighbors", "radius", "gaussian"}, graph, matrix or callable, default="neighbors"
        Which rows are neighbours in the kernel's feature space: a ``NeighborGraph``,
        ``RadiusGraph`` or ``GaussianGraph``; or your own weights, a matrix or a function of the
        rows (``GivenGraph``). Used with ``beta`` > 0.
    unlabeled : "auto" or None, default="auto"
        NaN and None in y are unlabelled rows; with ``beta`` > 0 so is -1 among classes other than
        -1 and +1, but never among numbers. With None, -1 is a class there too.
    estimator : estimator, optional
        Predicts y from features for ``n_components="auto"``; by default the five nearest
        neighbours.
    scoring : str or callable, optional
        Its score, as in scikit-learn; by default the estimator's own.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions of features with variance 1; only with ``kernel="linear"``.
    dependence_ : ndarray of shape (n_components,)
        Share of each feature's variance that lies between classes, pᵀS_b p / pᵀS_t p.
    n_components_ : int
        Number of features.
    n_unlabeled_ : int
        Number of rows without a label.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_, target_kernel_ : Kernel
        With every recipe replaced by numbers.

    References
    ----------
    P. Daniušis (2012), Feature extraction via dependence structure optimization, section 3.2.
    D. Cai, X. He, J. Han (2007), Semi-supervised discriminant analysis.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from depmax import KernelLDA
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelLDA(2).fit(X, y).dependence_.round(3)
    array([0.97 , 0.222])
    """

    _streams: ClassVar[bool] = True

    def __init__(
        self,
        n_components: int | float | Literal["auto"] = 2,
        *,
        kernel: KernelLike = "linear",
        alpha: Alpha = "auto",
        beta: float = 0.0,
        graph: GraphLike = "neighbors",
        unlabeled: Literal["auto"] | None = "auto",
        estimator: Any = None,
        scoring: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.alpha = alpha
        self.beta = beta
        self.graph = graph
        self.unlabeled = unlabeled
        self.estimator = estimator
        self.scoring = scoring

    def __sklearn_tags__(self) -> Any:
        """One label per row."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        tags.target_tags.two_d_labels = False
        return tags

    def _read_labels(self, y: Any, mass: np.ndarray | None = None) -> Labels:
        self._require_no_graph(mass)
        labels = class_labels(self._read_answers(y), "KernelLDA", mass)
        self.n_unlabeled_ = labels.n_unlabeled
        return labels

    def _read_answers(self, y: Any) -> Target:
        return read_classes(y, minus_one=self._minus_one())

    def _batch_labels(self, y: Any) -> np.ndarray:
        return self._read_answers(y).values

    def _extract(self, space: Space, target: Explained, n_components: int) -> Directions:
        return self._explaining(space, target, n_components, self._n_groups(target))

    def _n_groups(self, target: Explained) -> int:
        """One mean per class; CCᵀ of their indicators e_y/√p_y is the scatter between classes."""
        return int(target.factor.shape[1])

    def _carriers(self, side: Sample, target: Explained) -> int:
        return int(target.factor.shape[1]) - 1
