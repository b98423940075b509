"""What SMA and SMC share."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state

from depmax._parameters import Rule, integer, is_whole
from depmax._warnings import warn_caller
from depmax.algebra import Form, Space
from depmax.algebra.deflation.sparse_steps import (
    LandmarkSums,
    Measure,
    sparse_deflate,
    sparse_deflate_sums,
)
from depmax.algebra.examples import Examples
from depmax.algebra.form import square_of
from depmax.algebra.streamed import KernelColumns
from depmax.data.sample import Sample
from depmax.data.stream import SampledRowsWarning
from depmax.extraction._fitting.answer import Answer
from depmax.extraction._fitting.deflation import deflated, of_examples
from depmax.extraction._fitting.found import Found
from depmax.extraction._fitting.prediction import FeaturePredictor
from depmax.kernels import KernelLike

#: Candidates among the rows of a table that is read a chunk at a time, where all are asked for.
MOST_CANDIDATES = 2000


@dataclass(eq=False, repr=False)
class SparseExtractor(FeaturePredictor):
    """Features of single kernel columns; a subclass says what their score is divided by."""

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    kernel: KernelLike = "gaussian"
    n_candidates: int | None = 500
    sparsity: int = 1
    center: bool = True
    random_state: Any = None

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

    def _pairs_held(self, data: Sample) -> float:
        """Those of the candidates of one step, where combinations of them are tried."""
        count = data.n_samples if self.n_candidates is None else int(self.n_candidates)
        return 0.0 if self.sparsity == 1 else 4.0 * min(count, data.n_samples) ** 2

    def _instead(self) -> str:
        return "Lower n_candidates, e.g. to 500."

    def _find(self, data: Sample, answer: Answer | None, count: int) -> Found:
        assert answer is not None
        assert answer.coded is not None
        center = bool(self.center)
        examples, target = Examples.of(data, center=center), answer.coded.seen(center)
        if data.is_streamed:
            return self._of_landmarks(data, answer, examples, target, count)
        rng = check_random_state(self.random_state)
        limit = data.n_samples if self.n_candidates is None else int(self.n_candidates)

        def draw(is_open: np.ndarray) -> np.ndarray:
            rows = np.flatnonzero(is_open)
            return rows if len(rows) <= limit else np.sort(rng.choice(rows, limit, replace=False))

        chosen = sparse_deflate(
            examples.side,
            target,
            self._measure,
            count,
            draw=draw,
            sparsity=int(self.sparsity),
            center=center,
        )
        return of_examples(
            self, data, answer, examples, chosen.indices, chosen.weights, chosen.found
        )

    def _of_landmarks(
        self, data: Sample, answer: Answer, examples: Examples, target: Any, count: int
    ) -> Found:
        """The same from one visit, among candidates that are drawn once."""
        center, indices = bool(self.center), self._landmarks(data.n_samples)
        landmarks = examples.side.take(indices)
        columns = KernelColumns(landmarks.kernel, data.rows.view, landmarks.rows)
        space = Space.of_blocks(columns, data, len(indices), center=center)
        moments = space.moments(Form(target))
        squares = moments.scatter.diagonal() + data.n_samples * space.mean**2
        sums = LandmarkSums(moments.scatter, moments.cross, squares, square_of(target))
        found = sparse_deflate_sums(
            landmarks, sums, self._measure, count, sparsity=int(self.sparsity)
        )
        used = np.flatnonzero(found.weights.any(axis=1))
        used = used[np.argsort((found.weights[used] != 0).argmax(axis=1), kind="stable")]
        weights = found.weights[used]
        projection = examples.project(indices[used], weights, space.mean @ found.weights)

        def pull() -> tuple[np.ndarray, np.ndarray]:
            """From one more visit, for features that are linear in the columns."""
            features = Space.of_sample(data, center=center)
            return features.scatter @ projection.in_features().weights, features.mean

        return deflated(
            self,
            data,
            answer,
            projection,
            lambda: np.empty((0, found.weights.shape[1])),  # of a stream, they are not made
            squares=found.squares,
            with_target=found.with_target,
            pull=pull,
            basis=(indices[used], weights),
        )

    def _landmarks(self, n_rows: int) -> np.ndarray:
        """Positions of the candidates, in order."""
        limit = MOST_CANDIDATES if self.n_candidates is None else int(self.n_candidates)
        if n_rows <= limit:
            return np.arange(n_rows)
        warn_caller(
            f"{type(self).__name__} chooses from {limit:,} of {n_rows:,} rows, drawn once by "
            "random_state: the table is read a chunk at a time, and candidates must be in "
            "memory. n_candidates sets their number.",
            SampledRowsWarning,
        )
        seed = check_random_state(self.random_state).randint(2**31)
        return np.sort(np.random.default_rng(seed).choice(n_rows, limit, replace=False))
