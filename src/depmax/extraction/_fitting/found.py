"""What a search for directions has found: how features are made of rows, and what they reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from depmax.algebra.coordinates import Coordinates
from depmax.algebra.directions import Directions
from depmax.algebra.projection import Projection, SampleProjection
from depmax.data.sample import Sample
from depmax.maps.feature_map import is_linear, loadings_of, signs

#: Rows whose features are made twice, and the difference, relative to the largest, that is allowed.
PROBE_ROWS, REPEATED = 256, 1e-6
#: Skewness of a feature, relative to its largest possible value, below which it is symmetric.
EVEN = 1e-8


@dataclass(frozen=True)
class Found:
    """Directions, in order; every field that has a column or an entry of each is cut and turned."""

    projection: Projection  # features of new rows
    dependence: np.ndarray  # on the target, shape (k,)
    make_features: Callable[[], np.ndarray]  # of the training rows, before turns, shape (m, ≥ k)
    #: ΦᵀT before turns, of shape (D, ≥ k), and the mean of Φ, for kernels with coordinates.
    pull: Callable[[], tuple[np.ndarray, np.ndarray]]
    turns: np.ndarray  # what columns of ``make_features`` are multiplied by, shape (k,)
    #: ‖τ_j‖² of orthogonal features, shape (k,); None: others.
    squares: np.ndarray | None = None
    with_target: np.ndarray | None = None  # YᵀT, shape (r, k), where features regress the target
    #: Share of the target's variance that each feature explains; None: shares are of dependence.
    explained: Callable[[Found], np.ndarray] | None = None
    #: The few training rows that directions are made of, and their weights, shape (b, k).
    basis: tuple[np.ndarray, np.ndarray] | None = None
    unit_free: bool = False  # whether the units of columns do not matter
    more: Any = None  # what a method wants to remember

    @property
    def count(self) -> int:
        """Number of features k."""
        return len(self.dependence)

    @property
    def features(self) -> np.ndarray:
        """T of the training rows, of shape (m, k)."""
        made = self.make_features()
        if made.shape[1] != self.count:
            made = made[:, : self.count]
        return made if (self.turns == 1.0).all() else made * self.turns

    @property
    def loadings(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of every column on the features, of shape (k, D), and the mean, (D,)."""
        pulled, mean = self.pull()
        pulled = pulled[:, : self.count] * self.turns
        if self.squares is not None:
            return (pulled / self.squares).T, mean
        return loadings_of(pulled, self.projection.weights).T, mean

    def first(self, count: int) -> Found:
        """The first features: those that a shorter search finds."""
        if count >= self.count:
            return self
        projection, basis = self.projection.first(count), self.basis
        if basis is not None:
            used = np.asarray(basis[1][:, :count].any(axis=1))
            basis = basis[0][used], basis[1][used, :count]
            if isinstance(projection, SampleProjection):
                projection = projection.of_rows(used)
        return replace(
            self,
            projection=projection,
            basis=basis,
            dependence=self.dependence[:count],
            turns=self.turns[:count],
            squares=None if self.squares is None else self.squares[:count],
            with_target=None if self.with_target is None else self.with_target[:, :count],
        )

    def turned(self, factors: np.ndarray) -> Found:
        """Every feature multiplied by a number."""
        if (factors == 1.0).all():
            return self
        return replace(
            self,
            projection=self.projection.times(factors),
            turns=self.turns * factors,
            squares=None if self.squares is None else self.squares * factors**2,
            with_target=None if self.with_target is None else self.with_target * factors,
        )

    def repeated(self, data: Sample) -> Found:
        """The first features that the projection makes of the training rows once more.

        Those of a direction that is spanned by earlier ones up to rounding errors, or of no
        variance, have weights that blow rounding errors up.
        """
        probe = np.unique(np.linspace(0, data.n_samples - 1, PROBE_ROWS).astype(np.intp))
        rows = data.kernel.matrix[data.rows[probe]] if data.precomputed else data.rows[probe]
        features = self.features
        error = np.abs(self.projection(rows) - features[probe]).max(axis=0)
        differs = ~(error <= REPEATED * np.abs(features).max(axis=0))
        return self.first(max(1, int(differs.argmax()))) if differs.any() else self


def along(model: Any, coordinates: Coordinates, directions: Directions, **more: Any) -> Found:
    """Features along directions in some coordinates.

    Their signs are such that features are larger, on average, far from the mean than near it: a
    direction has the same sign in every basis of the feature space, and in every order of rows.
    Features that are symmetric about their mean have a largest weight, or value, that is positive.
    """
    space, vectors = coordinates.space, directions.vectors
    projection = coordinates.project(vectors)
    found = Found(
        projection,
        directions.dependence,
        lambda: space.features(vectors),
        lambda: coordinates.pull(vectors),
        np.ones(directions.count),
        **more,
    )
    if not (is_linear(model) or coordinates.data.is_streamed) and found.count:
        found = found.repeated(coordinates.data)
        vectors, projection = vectors[:, : found.count], found.projection
    lean = model._lean
    leaning = coordinates.lean @ vectors if lean is None else lean @ projection.weights
    size = np.sqrt(np.square(vectors).sum(axis=0) * space.variance**3 / space.total)
    own = projection.weights if model.kernel_.has_features else space.features(vectors)
    is_even = np.abs(leaning) <= EVEN * size
    return found.turned(np.where(is_even, signs(own), np.where(leaning < 0, -1.0, 1.0)))
