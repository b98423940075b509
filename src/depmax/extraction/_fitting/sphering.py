"""What methods share that divide by the variance of a feature: how much variance is added to it."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from depmax._inputs.parameters import number
from depmax.pencils import Space, Sphere
from depmax.pencils.form import rank_of_factor
from depmax.samples import Sample

#: Regularisation, or the choice of it.
Alpha = float | Literal["auto"]
#: What estimators declare of it.
ALPHA = number(0, also=["auto"])
#: What ``alpha="auto"`` adds where there are as many coordinates as samples, or more.
SINGULAR = 0.1


def choose_alpha(extractor: Any, space: Space, n_groups: int) -> float:
    """The number that ``alpha`` stands for.

    "auto" adds nothing where the features of the kernel are so few that the covariance within
    ``n_groups`` groups of samples is known, and 0.1 where a direction could fit any target.
    """
    if extractor.alpha != "auto":
        return float(extractor.alpha)
    known = extractor.kernel_.has_features and space.dimension + n_groups <= space.n_samples
    return 0.0 if known else SINGULAR


def sphere_of(extractor: Any, space: Space, n_groups: int) -> Sphere:
    """The samples sphered, on the range of their covariance."""
    return Sphere.of_space(space, choose_alpha(extractor, space, n_groups))


def units_cancel(extractor: Any, side: Sample, n_groups: int) -> bool:
    """Whether sphering undoes any scaling of columns: linear features, and no variance added."""
    width = side.n_coordinates
    if not extractor._abilities().is_linear or width is None:
        return False
    if extractor.alpha == "auto":
        return width + n_groups <= side.n_samples
    return float(extractor.alpha) == 0.0


def told_directions(factor: Any) -> int:
    """Directions that a target tells apart; those that complete them go by their variance."""
    return rank_of_factor(factor)


def unit_variance(space: Space, vectors: np.ndarray) -> np.ndarray:
    """Directions at which features have variance 1; directions of no variance stay as they are."""
    variances = np.einsum("ij,ij->j", vectors, space.covariance @ vectors)
    squares = np.einsum("ij,ij->j", vectors, vectors)
    still = variances <= 1e-14 * squares * max(float(np.trace(space.covariance)), 0.0)
    return vectors / np.sqrt(np.where(still, 1.0, variances))
