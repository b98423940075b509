"""Evidence from predictions of held-out rows, and the rule that chooses by it.

It lies below the selectors, whose ``n_features_to_select="auto"`` uses the same rule as `compare`.
"""

from depmax.evidence.choice import MARGIN, choose
from depmax.evidence.evidence import Estimate, Evidence, gather
from depmax.evidence.metrics import Metric, Predicted, Truth, read_metrics

__all__ = [
    "MARGIN",
    "Estimate",
    "Evidence",
    "Metric",
    "Predicted",
    "Truth",
    "choose",
    "gather",
    "read_metrics",
]
