"""Kernel boosting: features whose kernel separates pairs of the same class from other pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import linalg, special

from depmax._parameters import one_of
from depmax._resources import chunk_rows, slices, warn_if_long
from depmax.algebra.row_sums import square_of
from depmax.algebra.space import space_of
from depmax.data.sample import Sample
from depmax.extraction._fitting.prediction import (
    FEWER,
    FIRST_RUN,
    NONE,
    coded_answer,
    coded_target,
    deflated,
)
from depmax.extraction.extractor import Answer, DependenceExtractor, Found
from depmax.kernels import KernelLike
from depmax.maps.feature_map import leading

#: Time of one core for a pair of rows and a feature.
SECONDS_PER_PAIR = 1.6e-8
INSTEAD = "Fit to a random part of the rows, or use KernelLDA, whose time is linear in them."
#: Pairs that a feature gets wrong count at least this share, so that its weight is finite.
SMALLEST = 1e-10
#: A feature that earlier ones span, up to this share of its length, explains nothing more.
SPANNED = 1e-10
#: Tiles of pairs that one chunk of rows takes: signs, margins, weights and what is made of them.
TILES = 5


@dataclass(eq=False, repr=False)
class KernelBoosting(DependenceExtractor):
    """A sum of rank-one kernels, boosted to be positive only on pairs of the same class.

    Pairs of rows are labelled s_ij = ±1: same class or not. In each step pairs have the weights
    D_ij that a loss gives to the kernel so far, G = Σ α_t τ_tτ_tᵀ; the direction maximises Σ D_ij
    s_ij τ_iτ_j over unit vectors, and α = ½ log(W⁺/W⁻) from the weights of the pairs that ττᵀ gets
    right and wrong. Features are √α τ and are not orthogonal.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, without a limit: they are not orthogonal, so it may exceed the number of
        rows and columns. A float is a share of the variance of the target: the fewest features that
        explain it on the training rows are kept. ``"auto"`` keeps the fewest whose prediction of
        held-out rows, by five nearest neighbours, is within one standard error of the best.
    loss : {"exponential", "logistic"}, default="exponential"
        D_ij = exp(-s_ij G_ij), or 1/(1 + exp(s_ij G_ij)).
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Weights of the columns; only with ``kernel="linear"``.
    dependence_ : ndarray of shape (n_components,)
        HSIC₀ of each feature and the target with linear kernels, ‖Yᵀτ_j‖²/(m - 1)².
    loadings_ : ndarray of shape (n_components, n_features)
        Coefficients of the least squares regression of every column on the features; linear only.
    mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_ : Kernel
        With every recipe replaced by numbers.

    Warns
    -----
    ConvergenceWarning
        If a direction has at least as many pairs wrong as right: boosting then ends.

    Notes
    -----
    A step costs O(m²s) operations with s coordinates, and pairs are visited in tiles. Every τ is
    scaled to max|τ_iτ_j| = 1 before α is computed.

    References
    ----------
    K. Crammer, J. Keshet, Y. Singer (2003), Kernel design using boosting. C. Dhanjal, S. Gunn,
    J. Shawe-Taylor (2009), section 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import KernelBoosting
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = KernelBoosting(1).fit(X, X[:, 1] > 0)
    >>> abs(model.components_).argmax(axis=1)
    array([1])
    """

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    loss: Literal["exponential", "logistic"] = "exponential"
    kernel: KernelLike = "linear"

    _orthogonal: ClassVar[bool] = False
    _first_run: ClassVar[int | None] = FIRST_RUN
    _why_fewer: ClassVar[str] = FEWER
    _why_none: ClassVar[str] = NONE

    _declared: ClassVar = {"loss": one_of("exponential", "logistic")}

    def _read_answer(self, y: Any, weight: np.ndarray | None) -> Answer:
        target = coded_target(y)
        if target.kind != "classes":
            raise ValueError(
                "KernelBoosting needs one class per row, but y holds numbers or several columns: "
                "use BoostedLatentFeatures, or cut y into classes."
            )
        return coded_answer(target)

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        m = data.n_samples
        seconds = SECONDS_PER_PAIR * count * m**2
        warn_if_long(f"KernelBoosting of all pairs of {m:,} rows", seconds, INSTEAD)
        target, space = answer.numbers, space_of(data)
        phi, labels = space.centred(), target.class_numbers
        vectors: list[np.ndarray] = []
        found = np.empty((m, 0))
        while len(vectors) < count:
            form = np.zeros((phi.shape[1], phi.shape[1]))  # Φᵀ(D∘S)Φ
            for rows, signed in _pair_weights(found, labels, self.loss):
                form += phi[rows].T @ (signed @ phi)
            vector = leading((form + form.T) / 2, 1)[1][:, 0]
            feature = phi @ vector
            size = np.abs(feature).max()
            if not size > 0:
                break
            right = wrong = 0.0  # Σ D_ij|τ_iτ_j| over pairs whose sign τ_iτ_j has, and over others
            for rows, signed in _pair_weights(found, labels, self.loss):
                agreement = signed * (feature[rows, np.newaxis] / size) * (feature / size)
                right += float(agreement[agreement > 0].sum())
                wrong -= float(agreement[agreement < 0].sum())
            if right <= wrong:
                break
            weight = 0.5 * np.log(right / max(wrong, SMALLEST * right))
            vectors.append(vector * np.sqrt(weight) / size)
            found = np.column_stack([found, phi @ vectors[-1]])
        directions = np.array(vectors).T if vectors else np.empty((phi.shape[1], 0))

        def explained(kept: Found) -> np.ndarray:
            """What each feature adds to what earlier ones explain: they are not orthogonal."""
            basis, triangle = linalg.qr(kept.features, mode="economic")
            fresh = np.abs(triangle.diagonal()) > SPANNED * linalg.norm(kept.features, axis=0)
            shares = np.zeros(kept.count)
            values = target.centred
            shares[: len(fresh)] = np.square(basis.T @ values).sum(axis=1) * fresh
            return shares / square_of(values)

        projection = space.project(directions)
        return deflated(self, data, answer, projection, found, squares=None, explained=explained)


def _pair_weights(
    features: np.ndarray, labels: np.ndarray, loss: str
) -> Iterator[tuple[slice, np.ndarray]]:
    """D_ij s_ij of all pairs i ≠ j, a tile of rows at a time, for G = FFᵀ of features F = √α τ."""
    m = len(labels)
    for rows in slices(m, chunk_rows(TILES * m)):
        sign = np.where(labels[rows, np.newaxis] == labels, 1.0, -1.0)
        margin = sign * (features[rows] @ features.T)
        signed = sign * (np.exp(-margin) if loss == "exponential" else special.expit(-margin))
        signed[np.arange(rows.stop - rows.start), np.arange(rows.start, rows.stop)] = 0.0
        yield rows, signed
