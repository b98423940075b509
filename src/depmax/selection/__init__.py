"""Selectors: one search over columns per file."""

from depmax.data.stream import SampledRowsWarning
from depmax.selection._search.changes import FastForm, Outcome, register_fast_form
from depmax.selection.bahsic import BAHSIC
from depmax.selection.dependence_filter import DependenceFilter
from depmax.selection.fohsic import FOHSIC
from depmax.selection.hsic_lasso import HSICLasso
from depmax.selection.kernel_ridge_elimination import KernelRidgeElimination
from depmax.selection.knockoffs import Knockoffs
from depmax.selection.ranking import NoDependenceWarning, Ranking
from depmax.selection.relief import Relief
from depmax.selection.selector import DependenceSelector
from depmax.selection.unconfounded import Unconfounded

__all__ = [
    "BAHSIC",
    "FOHSIC",
    "DependenceFilter",
    "DependenceSelector",
    "FastForm",
    "HSICLasso",
    "KernelRidgeElimination",
    "Knockoffs",
    "NoDependenceWarning",
    "Outcome",
    "Ranking",
    "Relief",
    "SampledRowsWarning",
    "Unconfounded",
    "register_fast_form",
]
