"""HSIC-based feature extraction."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

from depmax.algebra.directions import most_dependent, unit_variance
from depmax.algebra.gram import Products
from depmax.algebra.graphs import GraphLike
from depmax.algebra.space import space_of
from depmax.algebra.span import Basis, completed, pairs_held, span_of_dependence
from depmax.data.sample import Sample
from depmax.extraction._fitting.semi_supervised import (
    SemiSupervisedExtractor,
    criterion_of,
    why_not_in_sums,
)
from depmax.extraction.extractor import Answer, Found, along
from depmax.kernels import KernelLike


@dataclass(eq=False, repr=False)
class HBFE(SemiSupervisedExtractor):
    """Orthogonal features with the largest sum of dependences on the target.

    The directions P in the kernel's feature space maximise the sum of HSIC(Φp, y) (linear kernel on
    the features, ``target_kernel`` on the target) under PᵀP = I: eigenvectors of A = ΦᵀMΦ, where M
    represents the target. With ``beta`` > 0, features that change much between neighbouring rows,
    labelled or not, are penalised.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and the number of columns. A float is a share
        of the dependence, for which the fewest features are taken. ``"auto"`` takes the smallest
        number whose 3-fold score is within one standard error of the best, up to twice the
        intrinsic dimension. Directions with positive eigenvalues, of which two classes have only
        one, are followed by directions of largest variance orthogonal to them; with ``beta`` > 0 a
        share β of it is the variance of the middles between neighbours, which the graph smooths.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.
    target_kernel : kernel, name or "auto", default="auto"
        ``"auto"`` depends on the type of y: class-balanced for two classes, balanced delta for
        many, Gaussian for numbers, linear for multi-labels.
    unbiased : bool, default=True
        Whether to use HSIC₁ or HSIC₀.
    beta : float, default=0.0
        Weight of the graph, from 0 to 1: (1-β)·HSIC - β·fᵀΔf, each divided by its trace, with Δ the
        Laplacian. With 0, unlabelled rows are ignored, with a warning.
    graph : {"neighbors", "radius", "gaussian"}, graph, matrix or callable, default="neighbors"
        Which rows are neighbours in the kernel's feature space: a ``NeighborGraph``,
        ``RadiusGraph`` or ``GaussianGraph``; or your own weights, a matrix or a function of the
        rows (``GivenGraph``). Used with ``beta`` > 0.
    graph_penalty : {"published", "normalised"}, default="published"
        How features f that change between neighbours are penalised, with ``beta`` > 0.
        ``"published"``: by fᵀΔf, which also favours directions of little variance; with β = 1 no
        direction has a positive eigenvalue, and those of largest variance are taken.
        ``"normalised"``: by the share fᵀΔf / fᵀDf of a feature's size that changes, with D the
        degrees, and HSIC is relative to fᵀDf too. All features are then eigenvectors of one
        problem, uncorrelated under the weights D and of variance 1, and see the graph; with β = 1
        they are those of ``LPP``.
    relative : bool, default=True
        Whether both terms are divided by their traces (HSIC alone if the penalty is normalised),
        so that β does not depend on units and on numbers of rows. False takes β as printed in the
        thesis, (1-β)·ΦᵀMΦ - β·ΦᵀΔΦ with M = HLH or (4.9).
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
        Orthonormal directions, or with a normalised penalty those of features with variance 1; only
        with ``kernel="linear"``.
    dependence_ : ndarray of shape (n_components,)
        HSIC between each feature and the target: the eigenvalues of A over (m-1)² (biased) or
        m(m-3) (unbiased).
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
    P. Daniušis (2012), Feature extraction via dependence structure optimization, section 4.2.
    Y. Zhang, Z.-H. Zhou (2010), Multilabel dimensionality reduction via dependence maximization.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import HBFE
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> abs(HBFE(1).fit(X, X[:, 2] > 0).components_).round(2)
    array([[0.19, 0.01, 0.98, 0.  ]])
    """

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    kernel: KernelLike = "linear"
    target_kernel: KernelLike | Literal["auto"] = "auto"
    unbiased: bool = True
    beta: float = 0.0
    graph: GraphLike = "neighbors"
    graph_penalty: Literal["published", "normalised"] = "published"
    relative: bool = True
    unlabeled: Literal["auto"] | None = "auto"
    estimator: Any = None
    scoring: Any = None

    @property
    def _why_numbers_do_not_add(self) -> str | None:  # type: ignore[override]  # depends on parameters
        return why_not_in_sums(self)

    def _pairs_held(self, data: Sample) -> float:
        normalised = self.beta > 0 and self.graph_penalty == "normalised"
        return pairs_held(data, whole_span=normalised)

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        criterion = criterion_of(self, data, answer)

        def grow(gram: Products) -> Basis | None:
            """Directions with λ > 0 span little, and those of most variance follow them."""
            form = criterion.form
            if form.factor.shape[1] > gram.n_samples // 4:
                return None
            return completed(span_of_dependence(gram, form, count), count, criterion.rest)

        space = space_of(data, None if criterion.penalty else grow)
        with space.solving():
            most = min(count, space.dimension)
            if criterion.penalty is None:
                found = most_dependent(criterion.moments(space), most)
            else:  # directions of unit size pᵀΦᵀDΦp
                sphere, moments = criterion.penalty.sphered(data, space, criterion.form)
                found = most_dependent(moments, min(most, sphere.rank), by_variance=False)
                vectors = sphere.directions(found.vectors, most)
                found = replace(found, vectors=unit_variance(space, vectors))
            return along(self, space, criterion.judged(space, found))
