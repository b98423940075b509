"""How many units are worth keeping: as long as they help to predict the target on other rows.

The rows are split at random (fixed seed) and each half in turn orders the units. With the first t
of them a kernel ridge regression predicts the images ψ(y) of the target (those of its kernel, less
their mean) and is judged by its squared errors on the other half, a number per row. The smallest t
is kept from which no larger set has significantly smaller errors (one-sided paired normal test over
all rows, Bonferroni over the sets compared). No unit at all, t = 0, predicts the mean: noise has to
beat it first. Comparing HSIC itself would not do: a weaker unit may add information and yet lower a
normalised dependence.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from depmax.kernels.kernel import Kernel
from depmax.samples import Sample
from depmax.selection._search.rounds import Setting, Units, columns_of_units

if TYPE_CHECKING:
    from depmax.selection._search.hsic_selector import HSICSelector, Observed

LEVEL = 0.05
#: Sets of every size up to this are compared, and as many larger ones.
SIZES = 12
#: Rows of each half that the regression uses, at most; the search uses all.
ROWS = 1000
#: Ridge penalties to choose from, in units of the mean eigenvalue.
RIDGES = np.logspace(-4, 3, 15)


def significant_units(
    selector: HSICSelector, units: Units, recipe: Kernel, observed: Observed
) -> int:
    """Number of leading units beyond which held-out predictions get no better."""
    target = observed.target
    m = target.n_samples
    if m < 16:
        raise ValueError(f'n_features_to_select="auto" needs at least 16 rows, got {m}.')
    first, second = np.array_split(np.random.default_rng(0).permutation(m), 2)
    sizes = sizes_to_compare(len(units.columns))
    errors = []
    for rows, others in ((first, second), (second, first)):
        setting = selector._setting(units, target, recipe, rows)
        # everything that decides the order is read off these rows
        order = selector._decide(setting, units, observed.take(rows)).order
        sets = [columns_of_units(units.columns, order[:size]) for size in sizes]
        errors.append(_errors(setting, units.X, sets, target, rows[:ROWS], others[:ROWS]))
    return int(sizes[first_sufficient(np.hstack(errors))])


def sizes_to_compare(count: int) -> np.ndarray:
    """Sizes of sets to compare: none, all small ones, then at equal ratios."""
    if count <= SIZES:
        return np.arange(count + 1)
    larger = np.geomspace(SIZES, count, SIZES + 1).round().astype(int)
    return np.unique(np.concatenate([np.arange(SIZES), larger]))


def _errors(
    setting: Setting,
    X: Any,
    sets: list[np.ndarray],
    target: Sample,
    rows: np.ndarray,
    others: np.ndarray,
) -> np.ndarray:
    """Squared errors of ψ(y) in ``others``, learnt from ``rows``: shape (n_sets, n_others).

    Less ‖ψ(y)‖², which is the same for every set: no column at all, which predicts the mean, has 0.
    """
    both = np.concatenate([rows, others])
    n = len(rows)
    learn, test = slice(0, n), slice(n, None)
    side = target.take(both)
    own, cross = _centred(side.tile(learn, learn), side.tile(learn, test))
    result = []
    for columns in sets:
        if not len(columns):
            result.append(np.zeros(len(others)))
            continue
        inputs = Sample(setting.resolve(columns), X[both][:, columns])
        weights = _ridge(inputs.tile(learn, learn), inputs.tile(learn, test), own)
        fitted = np.einsum("ij,ij->j", weights, own @ weights)
        result.append(fitted - 2.0 * np.einsum("ij,ij->j", weights, cross))
    return np.array(result)


def _centred(own: np.ndarray, cross: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inner products of images about the mean image of the rows that are learnt from."""
    means = own.mean(axis=0)
    constant = means.mean()
    cross = cross - cross.mean(axis=0) - means[:, np.newaxis] + constant
    return own - means - means[:, np.newaxis] + constant, cross


def _ridge(gram: np.ndarray, cross: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Weights of the learnt rows in every prediction; the penalty has the least GCV score.

    Generalised cross-validation: tr((I-S)L(I-S)) / tr(I-S)², with S the smoother.
    """
    values, vectors = np.linalg.eigh(gram)
    values = np.maximum(values, 0.0)
    shares = np.einsum("ij,ij->j", vectors, target @ vectors)
    penalties = RIDGES * max(float(values.mean()), np.finfo(float).tiny)
    left = penalties[:, np.newaxis] / (values + penalties[:, np.newaxis])  # eigenvalues of I - S
    best = penalties[int(np.argmin((left**2 @ shares) / left.sum(axis=1) ** 2))]
    return vectors @ ((vectors.T @ cross) / (values + best)[:, np.newaxis])


def first_sufficient(errors: np.ndarray) -> int:
    """First set from which no later one has significantly smaller errors."""
    count, n = errors.shape
    for place in range(count - 1):
        gains = errors[place] - errors[place + 1 :]
        spreads = gains.std(axis=1) / math.sqrt(n)
        critical = -special.ndtri(LEVEL / len(gains))
        if not (gains.mean(axis=1) > critical * spreads).any():
            return place
    return count - 1
