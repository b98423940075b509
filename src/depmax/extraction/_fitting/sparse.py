"""What SMA and SMC share."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state

from depmax._inputs.parameters import Rule, integer, is_whole
from depmax.extraction._fitting.deflation import DeflationExtractor, Extracted
from depmax.extraction._fitting.targets import CodedTarget
from depmax.kernels import KernelLike
from depmax.pencils.deflation.sparse_steps import Measure, sparse_deflate
from depmax.pencils.examples import Examples
from depmax.samples import Sample


class SparseExtractor(DeflationExtractor):
    """Features of single kernel columns; a subclass says what their score divides by."""

    _measure: ClassVar[Measure]

    _declared: ClassVar = {
        "n_candidates": integer(1, also=[None], hint="None compares all rows"),
        "sparsity": Rule(
            lambda value: is_whole(value) and value in (1, 2, 3),
            "1, 2 or 3 samples per direction",
            "more subsets than those of three cannot be searched",
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
            target.values,
            self._measure,
            n_components,
            draw=draw,
            sparsity=int(self.sparsity),
            center=center,
        )
        return Extracted.of_examples(examples, chosen.indices, chosen.weights, chosen.found)
