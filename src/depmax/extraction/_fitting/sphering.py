"""What methods share that divide by the variance of a feature: what is added to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from depmax._inputs.parameters import number
from depmax.extraction._fitting.semi_supervised import SemiSupervisedExtractor
from depmax.extraction.extractor import DependenceExtractor
from depmax.pencils import Directions, Form, Space, Sphere
from depmax.pencils.form import rank_of_factor, target_factor
from depmax.pencils.graphs import Laplacian, as_graph
from depmax.pencils.graphs.points import points_of
from depmax.samples import Labels, Sample

#: Regularisation, or the choice of it.
Alpha = float | Literal["auto"]
#: What ``alpha="auto"`` adds where there are as many coordinates as samples, or more.
SINGULAR = 0.1


class SpheringExtractor(DependenceExtractor):
    """Base of methods that look for directions among those of unit variance."""

    alpha: Alpha
    _declared: ClassVar = {"alpha": number(0, also=["auto"])}

    def _chosen_alpha(self, space: Space, n_groups: int) -> float:
        """The number that ``alpha`` stands for.

        "auto" adds nothing where the features of the kernel are so few that the covariance within
        ``n_groups`` groups of samples is known, and 0.1 where a direction could fit any target.
        """
        if self.alpha != "auto":
            return float(self.alpha)
        known = self.kernel_.has_features and space.dimension + n_groups <= space.total
        return 0.0 if known else SINGULAR

    def _sphere(self, space: Space, n_groups: int) -> Sphere:
        """The samples sphered, on the range of their covariance."""
        return Sphere.of_space(space, self._chosen_alpha(space, n_groups))

    def _units_cancel(self, side: Sample, n_groups: int) -> bool:
        """Whether sphering undoes any scaling of columns: linear features, no variance added."""
        width = side.n_coordinates
        if not self._abilities().is_linear or width is None:
            return False
        if self.alpha == "auto":
            return width + n_groups <= side.total
        return float(self.alpha) == 0.0


@dataclass(frozen=True)
class Explained:
    """A target of the labelled samples, and the graph of all."""

    factor: Any  # Ψ of the target less its mean, shape (n_labelled, c): CCᵀ is what is explained
    labelled: np.ndarray | None  # which samples are, shape (m,); None: all
    laplacian: Laplacian | None  # None: the graph does not count
    mass: np.ndarray | None = None  # how many each labelled sample stands for; None: one

    @property
    def total(self) -> float:
        """Number of labelled samples, or the sum of their masses."""
        return self.factor.shape[0] if self.mass is None else float(self.mass.sum())

    @property
    def form(self) -> Form:
        """ΨΨᵀ of what is explained and the weights of the variance, both per labelled sample."""
        count = self.factor.shape[0]
        labelled = np.ones(count, dtype=bool) if self.labelled is None else self.labelled
        return Form(self.factor / count, np.full(count, 1.0 / count)).spread(labelled)


class ExplainingExtractor(SpheringExtractor, SemiSupervisedExtractor):
    """Base of methods that explain a target by features of unit variance, smooth over a graph.

    The directions maximise pᵀCCᵀp / pᵀBp. B is the variance, with ``beta`` > 0 mixed with the
    Laplacian Δ of a graph of all samples: (1-β)S + βΦᵀΔΦ, each divided by its trace.
    """

    def _prepare(self, side: Sample, labels: Labels | None) -> Explained:  # type: ignore[override]  # more than the base promises
        assert labels is not None
        graph = as_graph(self.graph) if self.beta > 0 else None
        laplacian = None if graph is None else graph.laplacian(points_of(side))
        factor = target_factor(labels.side)
        return Explained(factor, labels.labelled, laplacian, labels.side.mass)

    def _explaining(
        self, space: Space, target: Explained, n_components: int, n_groups: int
    ) -> Directions:
        """Directions, and pᵀCCᵀp / pᵀSp of each with the variance S of the labelled samples."""
        if target.laplacian is None:
            cross = space.moments(Form(target.factor / space.total)).cross
            return self._sphere(space, n_groups).most_correlated(cross, n_components)
        moments = space.moments(target.form)
        total, smooth = moments.weighted, space.quadratic(target.laplacian.apply)
        assert total is not None
        mixed = _share(1.0 - self.beta, total) + _share(self.beta, smooth)
        sphere = Sphere.of(mixed, self._chosen_alpha(space, n_groups), eps=space.eps)
        vectors = sphere.most_correlated(moments.cross, n_components).vectors
        vectors = unit_variance(space, vectors)
        explained = np.sum((moments.cross.T @ vectors) ** 2, axis=0)
        varies = np.einsum("ij,ij->j", vectors, total @ vectors)
        reached = np.divide(explained, varies, out=np.zeros_like(explained), where=varies > 1e-12)
        return Directions(vectors, reached)

    def _ignores_units(self, side: Sample, target: Explained, n_components: int) -> bool:
        known = target.laplacian is None and self._units_cancel(side, self._n_groups(target))
        return known and n_components <= told_directions(target.factor)

    def _n_groups(self, target: Explained) -> int:
        """Number of parameters that the means of the samples take."""
        return 1


def _share(part: float, matrix: np.ndarray) -> np.ndarray:
    """Matrix with a given trace."""
    trace = float(np.trace(matrix))
    return matrix * (part / trace) if trace > 0 else np.zeros_like(matrix)


def told_directions(factor: Any) -> int:
    """Directions that a target tells apart; those that complete them go by their variance."""
    return rank_of_factor(factor)


def unit_variance(space: Space, vectors: np.ndarray) -> np.ndarray:
    """Directions at which features have variance 1; directions of no variance stay as they are."""
    variances = np.einsum("ij,ij->j", vectors, space.covariance @ vectors)
    squares = np.einsum("ij,ij->j", vectors, vectors)
    still = variances <= 1e-14 * squares * max(float(np.trace(space.covariance)), 0.0)
    return vectors / np.sqrt(np.where(still, 1.0, variances))
