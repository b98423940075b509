"""A target as a handful of directions from which the main effects of single columns are removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from depmax._inputs import Target, read_target
from depmax.dependence.laplace_column import TargetCoordinates
from depmax.dependence.pair_columns import ColumnBases, clipped, normal_scores
from depmax.dependence.pair_main_effects import (
    NOTHING,
    class_residuals,
    find_main_effects,
    residuals,
    root_mean_square,
)
from depmax.dependence.sides import kernel_of_target, read_target_side, require_equal_length
from depmax.kernels import KernelLike

#: Most directions of a target; ten classes have nine.
MAX_DIRECTIONS = 9
#: Part of the trace that a target kernel without exact coordinates may lose.
TARGET_TOL = 1e-3
#: What rounding may leave of nothing.
ROUNDING = 1e-12


@dataclass(frozen=True)
class PairTarget:
    """What single columns leave unexplained of a target."""

    directions: np.ndarray  # shape (n_directions, n_samples), uncorrelated, mean 0, mean square 1
    main_effects: tuple[int, ...]  # columns whose linear and quadratic effects were removed

    @classmethod
    def of(
        cls, y: Any, target_kernel: KernelLike | Literal["auto"], bases: ColumnBases
    ) -> PairTarget:
        """Directions of a target of any type, with main effects removed."""
        if isinstance(target_kernel, str) and target_kernel == "auto":
            target = read_target(y)
            require_equal_length(bases.n_samples, target.n_samples)
            if target.kind == "classes":
                return cls._of_classes(target, bases)
            if target.kind != "multilabel":
                return cls._of_numbers(target.vectors, bases)
        coordinates = _coordinates(y, target_kernel)
        require_equal_length(bases.n_samples, coordinates.shape[1])
        directions = whitened(coordinates, ROUNDING * float(np.abs(coordinates).max()))
        effects = find_main_effects(directions, bases)
        return cls(whitened(residuals(directions, bases, effects)), effects)

    @classmethod
    def _of_classes(cls, target: Target, bases: ColumnBases) -> PairTarget:
        """Indicators of the classes minus their probabilities in an additive logistic model."""
        kernel_of_target(target)  # refuses a single class
        indicators = (target.values == target.classes[:, np.newaxis]).astype(np.float64)
        effects = find_main_effects(whitened(indicators), bases)
        return cls(whitened(class_residuals(indicators, bases, effects)), effects)

    @classmethod
    def _of_numbers(cls, vectors: np.ndarray, bases: ColumnBases) -> PairTarget:
        """Normal scores of what main effects leave; a single number also gives their square.

        The square is taken of what is left: that of the number itself would turn any two main
        effects into an interaction.
        """
        cut = whitened(clipped(np.ascontiguousarray(vectors.T)))
        effects = find_main_effects(cut, bases)
        scores = whitened(normal_scores(residuals(cut, bases, effects)))
        if len(scores) == 1:
            scores = whitened(np.concatenate([scores, scores**2]))
        effects = find_main_effects(scores, bases, effects)
        return cls(whitened(residuals(scores, bases, effects)), effects)


def whitened(rows: np.ndarray, floor: float = NOTHING) -> np.ndarray:
    """The leading principal directions of rows, each with mean 0 and mean square 1.

    Directions whose root mean square is at most ``floor`` are left out.
    """
    if not len(rows):
        return rows
    psi = TargetCoordinates.of(rows.T, tol=ROUNDING).psi[:, :MAX_DIRECTIONS].T
    norms = root_mean_square(psi)
    kept = norms > floor
    return psi[kept] / norms[kept, np.newaxis]


def _coordinates(y: Any, target_kernel: KernelLike | Literal["auto"]) -> np.ndarray:
    """Coordinates of the target kernel as rows, exact where it has them."""
    side = read_target_side(y, target_kernel)
    if side.is_narrow:
        exact = side.coordinates(slice(None))
        return np.asarray(exact.toarray() if sparse.issparse(exact) else exact, dtype=np.float64).T
    from depmax.maps import IncompleteCholesky

    factor = IncompleteCholesky(n_components=None, kernel=side.kernel, tol=TARGET_TOL)
    return factor.fit_transform(side.rows).T
