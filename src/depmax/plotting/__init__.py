"""Plots in the style of scikit-learn's displays: data in plain arrays, drawn by ``plot(ax=...)``.

This package imports no other of depmax: displays read fitted attributes of any estimator that has
them.
"""

from depmax.plotting.columns import RankingDisplay, TargetByColumnDisplay
from depmax.plotting.curves import Curve, DependencePathDisplay, DimensionCurveDisplay
from depmax.plotting.dependence import HeatMapDisplay, NullDisplay
from depmax.plotting.features import FeatureScatterDisplay, LoadingsDisplay
from depmax.plotting.influence import InfluenceDisplay
from depmax.plotting.recovery import RecoveryDisplay

__all__ = [
    "Curve",
    "DependencePathDisplay",
    "DimensionCurveDisplay",
    "FeatureScatterDisplay",
    "HeatMapDisplay",
    "InfluenceDisplay",
    "LoadingsDisplay",
    "NullDisplay",
    "RankingDisplay",
    "RecoveryDisplay",
    "TargetByColumnDisplay",
]
