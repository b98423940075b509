"""The general framework of feature extraction by deflation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from depmax._parameters import Rule, one_of
from depmax._resources import slices
from depmax.algebra.deflation import (
    EXHAUSTED,
    SPANNED,
    Criterion,
    Residual,
    Scale,
    deflate,
    gram_values,
    unless_exhausted,
)
from depmax.algebra.losses import LOSSES, Loss, descent
from depmax.data.sample import Sample
from depmax.extraction._fitting.prediction import (
    FEWER,
    FIRST_RUN,
    NONE,
    CodedTarget,
    coded_answer,
    coded_target,
    deflated,
)
from depmax.extraction.extractor import Answer, DependenceExtractor, Found
from depmax.kernels import KernelLike
from depmax.maps.feature_map import is_linear, leading

#: Largest matrix whose leading eigenvector is found by a dense solver.
DENSE = 512
#: Kernel columns that are scored at once.
COLUMNS = 256


# --- criteria -------------------------------------------------------------------------------------


def pls(residual: Residual) -> np.ndarray | None:
    """Largest covariance with the target: u_j is the first left singular vector of X_jᵀY_j."""
    return _most_covariant(residual, _left(residual))


def pca(residual: Residual) -> np.ndarray | None:
    """Largest variance: u_j is the first eigenvector of X_jᵀX_j."""
    size = residual.images.width
    if size <= DENSE:
        matrix = residual.square(np.eye(size))
        values, vectors = leading((matrix + matrix.T) / 2, 1)
    else:
        start = np.random.default_rng(0).normal(size=size)
        operator = LinearOperator(
            (size, size), lambda u: residual.square(u.reshape(-1, 1)).ravel(), dtype=np.float64
        )
        values, vectors = eigsh(operator, k=1, which="LA", v0=start)
    return vectors[:, 0] if values[0] > EXHAUSTED * residual.images.variance else None


def smc(residual: Residual) -> np.ndarray | None:
    """One sample: the largest covariance, Σ(k_iᵀY_j)²/k_ii."""
    return _best_example(residual, _left(residual))


def sma(residual: Residual) -> np.ndarray | None:
    """One sample: the largest alignment, Σ(k_iᵀY_j)²/‖(I - Π)k_i‖²."""
    return _best_example(residual, _left(residual), of_features=True)


def skfa(residual: Residual) -> np.ndarray | None:
    """One sample: the largest variance, ‖(I - Π)k_i‖²/k_ii, without a target."""
    return _best_example(residual, None)


def boosted(residual: Residual, loss: Loss) -> np.ndarray | None:
    """Largest covariance with the negative gradient of a loss at its best fit on the features."""
    return _most_covariant(residual, _descent(residual, loss))


def sparse_boosted(residual: Residual, loss: Loss) -> np.ndarray | None:
    """One sample: the largest covariance with the negative gradient of a loss."""
    return _best_example(residual, _descent(residual, loss))


def _descent(residual: Residual, loss: Loss) -> np.ndarray:
    assert residual.target is not None
    return descent(residual.found, residual.target, loss)


def _left(residual: Residual) -> np.ndarray:
    """What is left of the target, of shape (m, r)."""
    return unless_exhausted(residual.left_target, residual.target_size)


def _most_covariant(residual: Residual, values: np.ndarray) -> np.ndarray | None:
    """Leading left singular vector of X_jᵀV, up to its length; None if the product is zero."""
    directions = residual.pull(values)
    inner = residual.images.inner(directions)
    size = np.sqrt(max(float(np.trace(inner)), 0.0))
    if not size > EXHAUSTED * np.sqrt(residual.images.variance) * float(np.linalg.norm(values)):
        return None
    if len(inner) > 1:
        directions = directions @ leading(inner, 1)[1]
    return directions[:, 0]


def _best_example(
    residual: Residual, values: np.ndarray | None, *, of_features: bool = False
) -> np.ndarray | None:
    """Sample with the largest score among those outside the span of earlier features.

    The score is the squared covariance of its kernel column with values of shape (m, r), without
    values its squared length, over the square of its feature or of its direction.
    """
    if values is not None and not values.any():
        return None
    images, everything = residual.images, np.arange(residual.n_samples)
    scores = np.full(residual.n_samples, -np.inf)
    for block in slices(residual.n_samples, COLUMNS):
        columns = images.columns(everything[block])
        outside = residual.found.residual(columns)  # (I - Π)k_i
        rest = np.square(outside).sum(axis=0)
        size = rest if of_features else columns[everything[block], np.arange(columns.shape[1])]
        fresh = rest > SPANNED * np.square(columns).sum(axis=0)
        covariances = rest if values is None else np.square(values.T @ outside).sum(axis=0)
        np.divide(covariances, size, out=scores[block], where=fresh & (size > 0))
    best = int(scores.argmax())
    return images.examples(np.array([best]))[:, 0] if scores[best] > 0 else None


# --- the extractor -------------------------------------------------------------------------------
_NAMED: dict[str, tuple[Criterion, Scale]] = {
    "pca": (pca, "direction"),
    "pls": (pls, "direction"),
    "sma": (sma, "feature"),
    "smc": (smc, "direction"),
    "skfa": (skfa, "direction"),
}
#: Those that fit a loss: logistic for classes, absolute for numbers.
_BOOSTED = {"blf": boosted, "sparse_blf": sparse_boosted}
_NAMES = (*_NAMED, *_BOOSTED)
#: Those that need no target.
_BLIND = ("pca", "skfa")


@dataclass(eq=False, repr=False)
class DeflationFeatures(DependenceExtractor):
    """Orthogonal features along directions chosen by your own criterion.

    In each step a direction u_j is chosen, its feature τ_j = X_ju_j is computed, and the data are
    deflated, X_{j+1} = (I - τ_jτ_jᵀ/τ_jᵀτ_j)X_j. With a kernel the same is done in its feature
    space. New rows are projected by U(PᵀU)⁻¹, in the dual by B((TᵀT)⁻¹TᵀKB)⁻¹.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and the number of columns. A float is a share
        of the variance of the target (of the inputs for ``"pca"``, ``"skfa"`` and callables): the
        fewest features are kept that explain it on the training rows. ``"auto"`` keeps the fewest
        whose prediction of held-out rows, by five nearest neighbours, is within one standard error
        of the best; for ``"pca"``, ``"skfa"`` and callables it is the intrinsic dimension of X.
    criterion : {"pls", "pca", "sma", "smc", "skfa", "blf", "sparse_blf"} or callable, default="pls"
        How a direction is chosen: by covariance with the target; by variance; the single sample
        with the largest alignment or covariance (:class:`SMA` and :class:`SMC` with all
        candidates), or of largest variance (sparse kernel feature analysis, without a target); by
        the gradient of a loss (:class:`BoostedLatentFeatures`: logistic for classes, absolute for
        numbers), or the single sample with the largest covariance with it.

        A callable takes a :class:`depmax.algebra.deflation.Residual` and returns u_j of shape
        (n_features,), in the dual β_j of shape (n_samples,), or None if there is nothing left. Its
        features are not rescaled, unless it has an attribute ``scale``, ``"direction"`` or
        ``"feature"``, which then gets length 1. With ``supervised = True`` it asks for a target.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.
    center : bool, default=True
        Whether features have mean zero, which is deflation by a constant; sparse rows stay sparse.
    dual : bool or None, default=None
        Whether directions are combinations β of the samples, found from the kernel matrix, or
        weights u of the features of the kernel. None: the primal if the kernel has features.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Rows of (U(PᵀU)⁻¹)ᵀ; with ``kernel="linear"`` in the primal only.
    dependence_ : ndarray of shape (n_components,)
        HSIC₀ of each feature and the target with linear kernels, ‖Yᵀτ_j‖²/(m - 1)²; without a
        target, of each feature and the inputs.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_ : Kernel
        With every recipe replaced by numbers.

    Warns
    -----
    ConvergenceWarning
        If there are fewer features than requested.

    References
    ----------
    C. Dhanjal, S. Gunn, J. Shawe-Taylor (2009), Efficient sparse kernel feature extraction based on
    partial least squares, section 3. A. Smola, O. Mangasarian, B. Schölkopf (1999), Sparse kernel
    feature analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import DeflationFeatures
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 4))
    >>> T = DeflationFeatures(2).fit_transform(X, X[:, 0] + X[:, 1] ** 2)
    >>> bool(abs(T[:, 0] @ T[:, 1]) < 1e-9)
    True

    The column of largest covariance with what is left of the target, as a criterion:

    >>> def single_column(residual):
    ...     u = residual.pull(residual.left_target)[:, 0]
    ...     return np.where(abs(u) == abs(u).max(), 1.0, 0.0)
    >>> model = DeflationFeatures(2, criterion=single_column).fit(X, X[:, 0] + 0.1 * X[:, 3])
    >>> abs(model.components_).argmax(axis=1)
    array([0, 3])
    """

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    criterion: Literal["pls", "pca", "sma", "smc", "skfa", "blf", "sparse_blf"] | Criterion = "pls"
    kernel: KernelLike = "linear"
    center: bool = True
    dual: bool | None = None

    _declared: ClassVar = {
        "criterion": Rule(
            lambda value: callable(value) or (isinstance(value, str) and value in _NAMES),
            f"a callable or one of {', '.join(map(repr, _NAMES))}",
        ),
        "dual": one_of(True, False, None),
    }

    _first_run: ClassVar[int | None] = FIRST_RUN
    _why_fewer: ClassVar[str] = FEWER
    _why_none: ClassVar[str] = NONE

    @property
    def _supervised(self) -> bool:  # type: ignore[override]  # depends on parameters here
        """Variance needs no target; a callable may declare that it needs one."""
        if isinstance(self.criterion, str):
            return self.criterion not in _BLIND
        return bool(getattr(self.criterion, "supervised", False))

    def _pairs_held(self, data: Sample) -> float:
        return gram_values(data, dual=self.dual)

    def _instead(self) -> str:
        if self.dual and is_linear(self):
            return "Pass dual=None, which finds directions of the columns."
        return super()._instead()

    def _read_answer(self, y: Any, weight: np.ndarray | None) -> Answer | None:
        return coded_answer(coded_target(y)) if self._supervised or y is not None else None

    def _find(self, data: Sample, answer: Answer | None, count: int) -> Found:
        criterion, scale, values = self._chosen(None if answer is None else answer.coded)
        center = bool(self.center)
        made = deflate(data, values, criterion, count, center=center, dual=self.dual, scale=scale)
        found = deflated(self, data, answer, *made)
        # a sample, chosen without a target, points to itself
        return found.turned(found.turns) if self.criterion == "skfa" else found

    def _chosen(self, target: CodedTarget | None) -> tuple[Criterion, Scale, np.ndarray | None]:
        """The criterion, how long it makes directions, and the target as it sees it."""
        values = None if target is None else target.values
        if not isinstance(self.criterion, str):
            return self.criterion, getattr(self.criterion, "scale", "given"), values
        numbers = target is not None and target.kind in ("numbers", "multioutput")
        if numbers and self.center:
            values = target.centred  # type: ignore[union-attr]  # there are numbers
        if self.criterion in _NAMED:
            return *_NAMED[self.criterion], values
        assert target is not None
        loss = LOSSES["absolute" if numbers else "logistic"]
        criterion = partial(_BOOSTED[self.criterion], loss=loss)
        return criterion, "feature", values if numbers else target.signs
