"""What a fit holds of all pairs of rows, and its refusal above the limit of memory."""

from __future__ import annotations

from typing import Any

from depmax._limits import map_instead, require_pairs
from depmax.pencils.coordinates import pairs_held
from depmax.samples import Sample


class HoldsPairs:
    """Part of an extractor that says what it will hold before it begins."""

    kernel: Any

    def _grows(self) -> bool:
        """Whether ``_span`` may find that a part of the samples' span is enough."""
        return False

    def _pairs_held(self, side: Sample) -> float:
        """Values of pairs of rows that a fit holds at its peak, counted in float64."""
        return pairs_held(side, whole_span=not self._grows())

    def _instead(self) -> str:
        """What to do where these are too many."""
        return map_instead(self.kernel)

    def _require_memory(self, side: Sample) -> None:
        """Refuse, before anything is computed, what would take more memory than the limit."""
        require_pairs(type(self).__name__, side.n_samples, self._pairs_held(side), self._instead())
