"""How many units are worth keeping: gains that rows outside the search confirm.

The rows are split at random (fixed seed). One half orders the units; on the other half, which the
order knows nothing of, HSIC₁ of the first t units is a U-statistic with known variance, and so is
the gain from t to t' units on the same rows. The smallest t is kept from which no larger set gains
significantly (one-sided normal test, Bonferroni over the sets compared). The normal law holds since
the first units depend on the target; if they do not, one unit is kept.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special
from sklearn.utils import _safe_indexing

from depmax.dependence.sides import Side
from depmax.dependence.variance import shares_of_rows
from depmax.kernels.base import Kernel
from depmax.selection.search import together
from depmax.selection.units import Units

if TYPE_CHECKING:
    from depmax.selection.hsic_selector import HSICSelector

LEVEL = 0.05
#: Sizes of sets that are compared, at most.
SIZES = 24


def significant_units(
    selector: HSICSelector, units: Units, target: Side, recipe: Kernel, X: Any, y: Any
) -> int:
    """Number of leading units beyond which held-out dependence gains nothing."""
    m = target.n_samples
    if m < 16:
        raise ValueError(f'n_features_to_select="auto" needs at least 16 rows, got {m}.')
    halves = np.array_split(np.random.default_rng(0).permutation(m), 2)
    setting = selector._setting(units, target, recipe, halves[0])
    # interactions, too, are looked for in the first half only
    rows = None if y is None else _safe_indexing(y, halves[0])
    order = selector._decide(setting, units, X[halves[0]], rows).order
    sizes = np.unique(np.geomspace(1, len(order), min(SIZES, len(order))).astype(int))
    held_out = target.take(halves[1])
    n = held_out.n_samples
    projections = []
    for size in sizes:
        columns = together(units.columns, order[:size])
        kernel = setting.resolve(columns)
        side = Side(kernel, units.X[halves[1]][:, columns], n)
        shares = shares_of_rows(side, held_out)
        # first projections of the U-statistic: their mean is HSIC₁, 16 Var/n its variance
        projections.append(0.5 * ((n - 2) * shares + shares.sum()) / ((n - 1) * (n - 3)))
    scale = [math.sqrt(_self(units, order[:size], setting, halves[1])) for size in sizes]
    normalised = np.array(projections) / np.array(scale)[:, np.newaxis]
    return int(sizes[_first_sufficient(normalised)])


def _self(units: Units, chosen: np.ndarray, setting: Any, rows: np.ndarray) -> float:
    """HSIC₁ of a set with itself, so that sets of any size are compared on one scale."""
    from depmax.dependence.sums import terms

    columns = together(units.columns, chosen)
    side = Side(setting.resolve(columns), units.X[rows][:, columns], len(rows))
    return max(terms(side, side, unbiased=True).hsic(), np.finfo(float).tiny)


def _first_sufficient(projections: np.ndarray) -> int:
    """First set from which no later one gains significantly."""
    count, n = projections.shape
    for place in range(count - 1):
        gains = projections[place + 1 :] - projections[place]
        errors = 4.0 * gains.std(axis=1) / math.sqrt(n)
        critical = -special.ndtri(LEVEL / len(gains))
        if not (gains.mean(axis=1) > critical * errors).any():
            return place
    return count - 1
