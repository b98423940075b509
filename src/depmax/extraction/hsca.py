"""Hilbert-Schmidt component analysis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import linalg

from depmax._parameters import number
from depmax.algebra.directions import positive_part
from depmax.algebra.gram import Products
from depmax.algebra.graphs import GraphLike
from depmax.algebra.row_sums import as_array, target_factor
from depmax.algebra.space import Directions, Form, Moments, Space, hsic_form, space_of
from depmax.algebra.span import Basis, pairs_held, span_of_steps
from depmax.data.sample import Sample
from depmax.extraction._fitting.semi_supervised import (
    Criterion,
    SemiSupervisedExtractor,
    criterion_of,
    n_pairs,
    why_not_in_sums,
)
from depmax.extraction.extractor import Answer, Found, along
from depmax.kernels import KernelLike, as_kernel
from depmax.maps.feature_map import leading


@dataclass(eq=False, repr=False)
class HSCA(SemiSupervisedExtractor):
    """Features that depend on the target but not on each other.

    One after another, each direction p maximises HSIC(Φp, y) over HSIC(Φp, earlier features),
    regularised: a Rayleigh quotient pᵀAp / pᵀ(B + αI)p. As α → 0 the biased form with linear
    kernels is partial least squares (SIMPLS). With ``beta`` > 0, features that change much between
    neighbouring rows, labelled or not, are penalised.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and the number of columns. A float is a share
        of the dependence that is reached with as many features as the rank of the target.
        ``"auto"`` takes the smallest number whose 3-fold score is within one standard error of the
        best, up to twice the intrinsic dimension.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.
    target_kernel : kernel, name or "auto", default="auto"
        ``"auto"`` depends on the type of y: class-balanced for two classes, balanced delta for
        many, Gaussian for numbers, linear for multi-labels.
    feature_kernel : kernel or name, default="linear"
        Kernel of the features in the denominator.
    unbiased : bool, default=False
        Whether to use HSIC₁ or HSIC₀ in numerator and denominator. The denominator of HSIC₁ is
        indefinite; its negative part counts as zero. Kernels without coordinates then require an
        eigenproblem of the size of the sample for each feature, as with ``beta`` > 0.
    alpha : float, default=1e-5
        Regularisation, with ``relative`` in units of the mean of the denominator per feature,
        tr(B)/n; it must be positive with ``unbiased``.
    beta : float, default=0.0
        Weight of the graph, from 0 to 1: (1-β)·HSIC - β·fᵀΔf, each divided by its trace, with Δ the
        Laplacian. With 0, unlabelled rows are ignored, with a warning.
    graph : {"neighbors", "radius", "gaussian"}, graph, matrix or callable, default="neighbors"
        Which rows are neighbours in the kernel's feature space: a ``NeighborGraph``,
        ``RadiusGraph`` or ``GaussianGraph``; or your own weights, a matrix or a function of the
        rows (``GivenGraph``). Used with ``beta`` > 0.
    graph_penalty : {"published", "normalised"}, default="published"
        How features f that change between neighbours are penalised, with ``beta`` > 0.
        ``"published"``: by fᵀΔf, which also favours directions of little variance.
        ``"normalised"``: by the share fᵀΔf / fᵀDf of a feature's size that changes, with D the
        degrees. HSIC and the regularisation are relative to fᵀDf too: α·ΦᵀDΦ in the place of αI.
        With β = 1 the first feature is that of ``LPP``.
    relative : bool, default=True
        Whether α is relative to the denominator, and both terms of the numerator are divided by
        their traces (HSIC alone if the penalty is normalised), so that α and β do not depend on
        units and on numbers of rows. False takes both as printed in the thesis, (4.15) and (4.20).
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
        Directions of unit length; only with ``kernel="linear"``.
    dependence_ : ndarray of shape (n_components,)
        HSIC between each feature and the target, pᵀAp.
    n_components_ : int
        Number of features.
    n_unlabeled_ : int
        Number of rows without a label.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_, target_kernel_ : Kernel
        With every recipe replaced by numbers.

    Warns
    -----
    ConvergenceWarning
        If fewer features than requested exist: every other direction that depends on the target
        repeats earlier features.

    References
    ----------
    P. Daniušis (2012), Feature extraction via dependence structure optimization, section 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import HSCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 4)) @ rng.normal(size=(4, 4))
    >>> features = HSCA(2).fit_transform(X, X[:, 2] > 0)
    >>> bool(abs(np.corrcoef(features.T)[0, 1]) < 0.01)
    True
    """

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    kernel: KernelLike = "linear"
    target_kernel: KernelLike | Literal["auto"] = "auto"
    feature_kernel: KernelLike = "linear"
    unbiased: bool = False
    alpha: float = 1e-5
    beta: float = 0.0
    graph: GraphLike = "neighbors"
    graph_penalty: Literal["published", "normalised"] = "published"
    relative: bool = True
    unlabeled: Literal["auto"] | None = "auto"
    estimator: Any = None
    scoring: Any = None
    _why_fewer: ClassVar[str] = "every other direction that depends on the target repeats these"
    _declared: ClassVar = {"alpha": number(0)}

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        criterion = criterion_of(self, data, answer)

        def grow(gram: Products) -> Basis | None:
            """Each direction lies in the span of C and of G = ΦᵀΨ_f of those before it."""
            form, vectors = criterion.form, np.empty((0, 0))
            if not form.is_low_rank or form.width > gram.n_samples // 4:
                return None

            def columns_after(space: Space, step: int) -> np.ndarray | None:
                nonlocal vectors
                known = np.zeros((space.dimension, step - 1))
                known[: len(vectors)] = vectors
                vectors = self._low_rank(space, criterion, step, known).vectors
                if vectors.shape[1] < step:
                    return None
                if self._has_linear_features:  # earlier features are in the basis already
                    return space.features(vectors[:, -1:])
                return as_array(self._feature_factor(space.features(vectors), criterion.weight))

            return span_of_steps(gram, form.factor, count - 1, columns_after)

        space = space_of(data, grow if self._grows else None, few=True)
        with space.solving():
            most = min(count, space.dimension)
            if criterion.penalty is not None:  # features of unit size pᵀΦᵀDΦp
                sphere, moments = criterion.penalty.sphered(data, space, criterion.form)
                found = self._weighted(space, moments, criterion, most, sphere.whiten)
                vectors = sphere.whiten @ found.vectors
                vectors = vectors / np.linalg.norm(vectors, axis=0)
                found = Directions(vectors, found.dependence)
            elif criterion.form.is_low_rank:
                found = self._low_rank(space, criterion, most)
            else:
                axes = np.eye(space.dimension)
                moments = space.moments(criterion.form)
                found = self._weighted(space, moments, criterion, most, axes)
            self._require_any(found)
            return along(self, space, criterion.judged(space, found))

    def _low_rank(
        self, space: Space, criterion: Criterion, count: int, earlier: np.ndarray | None = None
    ) -> Directions:
        """Where the numerator is CCᵀ and the denominator GGᵀ of the features so far."""
        linear = self._has_linear_features

        def cross(directions: np.ndarray) -> np.ndarray:
            if linear:  # G = SP needs no visit to the samples
                return space.scatter @ directions
            return space.cross(self._feature_factor(space.features(directions), criterion.weight))

        moments, alpha = space.moments(criterion.form), float(self.alpha)
        return least_redundant(moments, cross, count, alpha, earlier, relative=self.relative)

    def _weighted(
        self, space: Space, moments: Moments, criterion: Criterion, count: int, axes: np.ndarray
    ) -> Directions:
        """Where the numerator is not CCᵀ alone, or the denominator is that of HSIC₁.

        Directions are sought in the span of ``axes``, in which the moments are.
        """

        def redundancy(directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            features = criterion.centred(space.features(axes @ directions))
            factor = self._feature_factor(features, criterion.weight)
            if self.unbiased:
                form = criterion.spread(hsic_form(factor, unbiased=True, weight=criterion.weight))
                return positive_part(axes.T @ space.moments(form).criterion @ axes)
            return squared_part(axes.T @ space.cross(criterion.spread(Form(factor)).factor))

        alpha = float(self.alpha)
        if self.unbiased and not self.relative:  # HSIC₁ is what is printed over this
            labelled = criterion.labelled
            alpha /= n_pairs(space.total if labelled is None else labelled.sum(), True)
        return least_redundant_weighted(moments, redundancy, count, alpha, relative=self.relative)

    def _feature_factor(self, features: Any, weight: np.ndarray | None = None) -> Any:
        """Ψ_f of the features so far, columns of mean zero."""
        if not isinstance(features, np.ndarray):
            return features  # of a stream, whose feature kernel is linear
        return target_factor(
            Sample(as_kernel(self.feature_kernel), features, weight=weight).resolved()
        )

    @property
    def _has_linear_features(self) -> bool:
        return as_kernel(self.feature_kernel).capabilities.is_linear

    @property
    def _grows(self) -> bool:
        """Whether a part of the samples' span is enough: HSIC₀ alone has low rank."""
        return not self.unbiased and self.beta == 0

    def _pairs_held(self, data: Sample) -> float:
        return pairs_held(data, whole_span=not self._grows)

    def _require_any(self, found: Directions) -> None:
        if found.count == 0 and self.beta > 0:
            raise ValueError(
                "No direction gains more from the target than it loses to the graph with "
                f"beta={self.beta}: lower beta, or use graph_penalty='normalised'."
            )
        if found.count == 0:
            raise ValueError(
                "No direction depends on the target: X or y is constant, or with unbiased=True "
                "the dependence is no larger than chance. Use unbiased=False or HBFE."
            )

    @property
    def _why_rows_do_not_add(self) -> str | None:  # type: ignore[override]  # depends on parameters
        if not self.unbiased and self._has_linear_features:
            return None
        return (
            "the dependence between features needs moments of the fourth order. Use "
            "unbiased=False and feature_kernel='linear'"
        )

    @property
    def _why_numbers_do_not_add(self) -> str | None:  # type: ignore[override]  # the same
        return why_not_in_sums(self)

    @property
    def _why_not_streamed(self) -> str | None:  # type: ignore[override]  # the same
        if self._has_linear_features:
            return super()._why_not_streamed
        return (
            "a feature_kernel that is not linear compares all pairs of rows. Use "
            "feature_kernel='linear'"
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        bounded = not self.unbiased and self.beta == 0 and self._has_linear_features
        if self.alpha == 0 and not bounded:
            raise ValueError(
                "alpha of HSCA must be positive with unbiased=True, with beta > 0 and with a "
                "feature_kernel that is not linear: without it the quotient is not bounded."
            )


# --- the quotients --------------------------------------------------------------------------------
#: What is left of C outside the space of earlier features, relative to C, to go on.
EXHAUSTED = 1e-10
#: Positive eigenvalues of B, and their eigenvectors, for directions so far of shape (s, n).
Redundancy = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def least_redundant(
    moments: Moments,
    features_cross: Callable[[np.ndarray], np.ndarray],
    n_directions: int,
    alpha: float,
    earlier: np.ndarray | None = None,
    *,
    relative: bool = True,
) -> Directions:
    """Unit directions p that maximise pᵀCCᵀp / pᵀ(GGᵀ + αI)p, one after another.

    Parameters
    ----------
    moments : Moments
        Without weights: C is all that is used.
    features_cross : callable
        G = ΦᵀΨ_f of shape (s, t) for the directions so far, of shape (s, n).
    n_directions : int
    alpha : float
        Relative to tr(GGᵀ)/n.
    earlier : ndarray of shape (s, k), optional
        The first directions, if they are known already.
    relative : bool
        False takes α as it is.

    Returns
    -------
    Directions
        Fewer than requested where C lies in the space of a G with one column per direction: then
        every direction that depends on the target repeats earlier features.

    Notes
    -----
    CCᵀ has low rank, so that a step needs no eigenproblem of size s: with G = UDWᵀ,
    R = α(GGᵀ + αI)⁻¹C = C - U diag(d²/(d² + α)) UᵀC and v the leading eigenvector of CᵀR, the
    maximiser is Rv.
    """
    cross = _compressed(moments.cross)
    found = np.empty((cross.shape[0], 0)) if earlier is None else earlier
    size = linalg.norm(cross)
    while found.shape[1] < n_directions:
        rest = cross
        if found.shape[1]:
            factor = features_cross(found)
            squares, basis = squared_part(factor)  # d², U
            penalty = alpha * (squares.sum() / found.shape[1] if relative else 1.0)
            inside = basis.T @ cross
            outside = cross - basis @ inside
            linear = factor.shape[1] <= found.shape[1]  # other kernels fill the space, by degrees
            if linear and linalg.norm(outside) <= max(EXHAUSTED, 10 * moments.eps) * size:
                break
            shrunk = penalty / (squares + penalty)
            rest = outside + basis @ (shrunk[:, np.newaxis] * inside)
        elif size == 0:
            break
        product = cross.T @ rest
        weights = leading((product + product.T) / 2, 1)[1]
        vector = rest @ weights
        found = np.column_stack([found, vector / linalg.norm(vector)])
    return Directions(found, np.sum((moments.cross.T @ found) ** 2, axis=0))


def least_redundant_weighted(
    moments: Moments,
    redundancy: Redundancy,
    n_directions: int,
    alpha: float,
    *,
    relative: bool = True,
) -> Directions:
    """Unit directions p that maximise pᵀAp / pᵀ(B⁺ + αI)p, one after another, for any A.

    B⁺ is the positive part of B: the B of HSIC₁ has negative eigenvalues, which say that a
    direction depends on the features less than chance would have it, and count as zero.

    Parameters
    ----------
    moments : Moments
    redundancy : callable
        Positive eigenvalues of B and their eigenvectors for the directions so far.
    n_directions : int
    alpha : float
        Relative to tr(B⁺)/n.
    relative : bool
        False takes α as it is.

    Returns
    -------
    Directions
        Fewer than requested where no direction has pᵀAp > 0.
    """
    target = moments.criterion  # A
    found = np.empty((target.shape[0], 0))
    reached: list[float] = []
    while len(reached) < n_directions:
        roots, basis = np.empty(0), np.empty((target.shape[0], 0))
        if reached:
            values, basis = redundancy(found)
            penalty = alpha * (values.sum() / len(reached) if relative else 1.0)
            roots = 1.0 - np.sqrt(penalty / (values + penalty))
        # √α(B⁺ + αI)^(-½) = I - U diag(roots) Uᵀ on both sides of A
        left = target - (basis * roots) @ (basis.T @ target)
        both = left - (left @ basis * roots) @ basis.T
        vector = leading((both + both.T) / 2, 1)[1][:, 0]
        vector = vector - (basis * roots) @ (basis.T @ vector)
        vector /= linalg.norm(vector)
        value = float(vector @ target @ vector)
        if value <= 0:
            break
        found = np.column_stack([found, vector])
        reached.append(value)
    return Directions(found, np.array(reached))


def squared_part(factor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positive eigenvalues of GGᵀ and their eigenvectors, for G with few columns.

    Examples
    --------
    >>> squared_part(np.array([[2.0], [0.0]]))[0]
    array([4.])
    """
    vectors, roots, _ = linalg.svd(factor, full_matrices=False)
    return roots[roots > 0] ** 2, vectors[:, roots > 0]


def _compressed(cross: np.ndarray) -> np.ndarray:
    """Matrix with the same CCᵀ and no more columns than rows."""
    if cross.shape[1] <= cross.shape[0]:
        return cross
    vectors, roots, _ = linalg.svd(cross, full_matrices=False)
    return vectors * roots
