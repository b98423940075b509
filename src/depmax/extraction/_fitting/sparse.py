"""What SMA and SMC share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state

from depmax._parameters import Rule, integer, is_whole
from depmax.algebra import Form, Space
from depmax.algebra.deflation.sparse_steps import (
    LandmarkSums,
    Measure,
    sparse_deflate,
    sparse_deflate_sums,
)
from depmax.algebra.examples import Examples
from depmax.algebra.form import square_of
from depmax.algebra.images import FeatureImages
from depmax.algebra.streamed import KernelColumns
from depmax.data.sample import Sample
from depmax.data.stream import SampledRowsWarning
from depmax.extraction._fitting.deflation import Basis, Extracted
from depmax.extraction._fitting.prediction import FeaturePredictor
from depmax.extraction._fitting.targets import CodedTarget
from depmax.kernels import KernelLike

#: Candidates among the rows of a table that is read a chunk at a time, where all are asked for.
MOST_CANDIDATES = 2000


class SparseExtractor(FeaturePredictor):
    """Features of single kernel columns; a subclass says what their score is divided by."""

    _measure: ClassVar[Measure]
    _streams: ClassVar[bool] = True
    _needs_coordinates: ClassVar[bool] = False

    _declared: ClassVar = {
        "n_candidates": integer(1, also=[None], hint="None compares all rows"),
        "sparsity": Rule(
            lambda value: is_whole(value) and value in (1, 2, 3),
            "1, 2 or 3 samples per direction",
            "subsets of more than three are too many to search",
        ),
    }

    def __init__(
        self,
        n_components: int | float | Literal["auto"] = 2,
        *,
        kernel: KernelLike = "gaussian",
        n_candidates: int | None = 500,
        sparsity: int = 1,
        center: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.n_candidates = n_candidates
        self.sparsity = sparsity
        self.center = center
        self.random_state = random_state

    def _pairs_held(self, side: Sample) -> float:
        """Those of the candidates of one step, where combinations of them are tried."""
        count = side.n_samples if self.n_candidates is None else int(self.n_candidates)
        return 0.0 if self.sparsity == 1 else 4.0 * min(count, side.n_samples) ** 2

    def _instead(self) -> str:
        return "Lower n_candidates, e.g. to 500."

    def _features(self, side: Sample, target: CodedTarget | None, n_components: int) -> Extracted:
        assert target is not None
        if side.is_streamed:
            return self._features_of_stream(side, target, n_components)
        rng = check_random_state(self.random_state)
        limit = side.n_samples if self.n_candidates is None else int(self.n_candidates)

        def draw(is_open: np.ndarray) -> np.ndarray:
            rows = np.flatnonzero(is_open)
            if len(rows) <= limit:
                return rows
            return np.sort(rng.choice(rows, limit, replace=False))

        center = bool(self.center)
        examples = Examples.of(side, center=center)
        chosen = sparse_deflate(
            examples.side,
            target.centred if center else target.values,
            self._measure,
            n_components,
            draw=draw,
            sparsity=int(self.sparsity),
            center=center,
        )
        return Extracted.of_examples(examples, chosen.indices, chosen.weights, chosen.found)

    def _features_of_stream(
        self, side: Sample, target: CodedTarget, n_components: int
    ) -> ExtractedOfLandmarks:
        """The same from one visit, among candidates that are drawn once.

        For c candidates the sums are matrices of c × c numbers, so that all features follow from
        them; rows are not visited for every feature.
        """
        center = bool(self.center)
        indices = self._landmarks(side.n_samples)
        examples = Examples.of(side, center=center)
        landmarks = examples.side.take(indices)
        space = Space.of_blocks(
            KernelColumns(landmarks.kernel, side.rows.view, landmarks.rows),
            side,
            len(indices),
            center=center,
        )
        values = target.centred if center else target.about_zero
        moments = space.moments(Form(values))
        squares = moments.scatter.diagonal() + side.n_samples * space.mean**2
        sums = LandmarkSums(moments.scatter, moments.cross, squares, square_of(values))
        found = sparse_deflate_sums(
            landmarks, sums, self._measure, n_components, sparsity=int(self.sparsity)
        )
        used = np.flatnonzero(found.weights.any(axis=1))
        used = used[np.argsort((found.weights[used] != 0).argmax(axis=1), kind="stable")]
        basis = Basis(examples, indices[used], found.weights[used], space.mean @ found.weights)
        return ExtractedOfLandmarks(
            basis.projection,
            basis=basis,
            with_target=found.with_target,
            lengths=found.squares,
            side=side,
        )

    def _landmarks(self, n_rows: int) -> np.ndarray:
        """Positions of the candidates, in order."""
        limit = MOST_CANDIDATES if self.n_candidates is None else int(self.n_candidates)
        if n_rows <= limit:
            return np.arange(n_rows)
        warnings.warn(
            f"{type(self).__name__} chooses from {limit:,} of {n_rows:,} rows, drawn once by "
            "random_state: the table is read a chunk at a time, and candidates must be in "
            "memory. n_candidates sets their number.",
            SampledRowsWarning,
            stacklevel=6,
        )
        seed = check_random_state(self.random_state).randint(2**31)
        return np.sort(np.random.default_rng(seed).choice(n_rows, limit, replace=False))


@dataclass(frozen=True, kw_only=True)
class ExtractedOfLandmarks(Extracted):
    """What sums over the rows of a stream tell about features of kernel columns."""

    with_target: np.ndarray  # YᵀT, shape (r, k)
    lengths: np.ndarray  # ‖τ_j‖², shape (k,)
    side: Sample

    @property
    def squares(self) -> np.ndarray:
        """‖τ_j‖², of shape (k,)."""
        return self.lengths

    def covariances(self, target: Any) -> np.ndarray:
        """YᵀT of shape (r, k), for the target of the fit."""
        return self.with_target

    def loadings(self, samples: Callable[[], FeatureImages]) -> tuple[np.ndarray, np.ndarray]:
        """P and the mean, from one more visit, for features that are linear in the columns."""
        space = samples().space
        return space.scatter @ self.projection.weights / self.lengths, space.mean

    def first(self, count: int) -> Extracted:
        """The first features."""
        assert self.basis is not None
        basis = self.basis.first(count)
        return replace(
            self,
            projection=basis.projection,
            basis=basis,
            with_target=self.with_target[:, :count],
            lengths=self.lengths[:count],
        )

    def times(self, factors: np.ndarray) -> Extracted:
        """Every feature multiplied by a number."""
        return replace(
            self,
            projection=self.projection.times(factors),
            with_target=self.with_target * factors,
            lengths=self.lengths * factors**2,
        )
