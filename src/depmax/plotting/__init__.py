"""Pictures as scikit-learn's displays: data in plain arrays, drawn by ``plot(ax=...)``.

This room imports no other room of depmax: displays read fitted attributes of any estimator that
has them.
"""

from depmax.plotting.dependence_path import DependencePathDisplay
from depmax.plotting.dimension_curve import Curve, DimensionCurveDisplay
from depmax.plotting.heat_map import HeatMapDisplay
from depmax.plotting.loadings import LoadingsDisplay
from depmax.plotting.null import NullDisplay
from depmax.plotting.ranking import RankingDisplay
from depmax.plotting.scatter import FeatureScatterDisplay
from depmax.plotting.target_by_column import TargetByColumnDisplay

__all__ = [
    "Curve",
    "DependencePathDisplay",
    "DimensionCurveDisplay",
    "FeatureScatterDisplay",
    "HeatMapDisplay",
    "LoadingsDisplay",
    "NullDisplay",
    "RankingDisplay",
    "TargetByColumnDisplay",
]
