"""What methods share that divide by the variance of a feature: how much variance is added to it."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from depmax._inputs.parameters import number
from depmax.extraction.extractor import DependenceExtractor
from depmax.pencils import Space, Sphere
from depmax.pencils.form import rank_of_factor
from depmax.samples import Sample

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


def told_directions(factor: Any) -> int:
    """Directions that a target tells apart; those that complete them go by their variance."""
    return rank_of_factor(factor)


def unit_variance(space: Space, vectors: np.ndarray) -> np.ndarray:
    """Directions at which features have variance 1; directions of no variance stay as they are."""
    variances = np.einsum("ij,ij->j", vectors, space.covariance @ vectors)
    squares = np.einsum("ij,ij->j", vectors, vectors)
    still = variances <= 1e-14 * squares * max(float(np.trace(space.covariance)), 0.0)
    return vectors / np.sqrt(np.where(still, 1.0, variances))
