"""Selectors: one search over columns per file."""

from depmax.data.stream import SampledRowsWarning
from depmax.selection.bahsic import BAHSIC
from depmax.selection.dependence_filter import DependenceFilter
from depmax.selection.fohsic import FOHSIC
from depmax.selection.hsic_lasso import HSICLasso
from depmax.selection.kernel_ridge_elimination import KernelRidgeElimination
from depmax.selection.knockoffs import Knockoffs
from depmax.selection.relief import Relief
from depmax.selection.selector import DependenceSelector, NoDependenceWarning, Ranking
from depmax.selection.unconfounded import Unconfounded

__all__ = [
    "BAHSIC",
    "FOHSIC",
    "DependenceFilter",
    "DependenceSelector",
    "HSICLasso",
    "KernelRidgeElimination",
    "Knockoffs",
    "NoDependenceWarning",
    "Ranking",
    "Relief",
    "SampledRowsWarning",
    "Unconfounded",
]
