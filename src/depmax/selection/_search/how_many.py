"""How many units are worth keeping: as long as they help to predict the target on other rows.

The rows are split at random (fixed seed) and each half in turn orders the units. With the first t
of them a kernel ridge regression predicts the images ψ(y) of the target (those of its kernel, less
their mean) and is judged by its squared errors on the other half, a number per row. The smallest t
is kept that loses at most 2% of the largest gain over predicting the mean, the rule of `compare`
(:func:`depmax.evidence.choose`). No unit at all, t = 0, predicts the mean: noise has to beat it
first (one-sided paired t-test over all rows, Bonferroni over the sets compared). Comparing HSIC
itself would not work: a weaker unit may add information and yet lower a normalised dependence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from depmax.data.sample import Sample
from depmax.evidence import choose
from depmax.kernels.kernel import Kernel
from depmax.selection._search.search import Search

if TYPE_CHECKING:
    from depmax.selection._search.protection import Observed
    from depmax.selection._search.selectors import HSICSelector

LEVEL = 0.05
#: Sets of every size up to this are compared, and as many larger ones.
SIZES = 12
#: Rows of each half that the regression uses, at most; the search uses all.
ROWS = 1000
#: Ridge penalties to choose from, in units of the mean eigenvalue.
RIDGES = np.logspace(-4, 3, 15)


def n_predictive(selector: HSICSelector, recipe: Kernel, observed: Observed) -> int:
    """Number of leading units beyond which held-out predictions get no better."""
    target, units = observed.target, observed.units
    m = target.n_samples
    if m < 16:
        raise ValueError(
            f'n_features_to_select="auto" needs at least 16 rows, got {m}: pass a number of '
            "columns."
        )
    of_rows = observed.exchange.units(m)
    first, second = split_rows(of_rows, 2)
    sizes = sizes_to_compare(len(units.columns)).tolist()

    def errors_of(rows: np.ndarray, others: np.ndarray) -> dict[int, np.ndarray]:
        search = selector._search_on(rows, units, target, recipe)
        # everything that decides the order is read off these rows
        part = replace(observed.take(rows), rows=np.arange(len(rows)))
        order, learnt = selector._decide(search, part).order, rows[:ROWS]
        sets = [search.columns(order[:size]) for size in sizes]
        errors = _errors(search, sets, target, learnt, others, of_rows[learnt])
        return dict(zip(sizes, errors, strict=True))

    return sufficient(of_rows, [(first, second[:ROWS]), (second, first[:ROWS])], errors_of)


def sufficient(
    of_rows: np.ndarray,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    errors_of: Callable[[np.ndarray, np.ndarray], Mapping[int, np.ndarray]],
) -> int:
    """Number of leading units that loses next to nothing, of those compared in every split.

    Parameters
    ----------
    of_rows : the independent unit of every row
    splits : rows to learn from, and rows to judge by
    errors_of : squared errors of these rows by the number of units; nothing if a split is useless
    """
    found = [(held_out, errors_of(rows, held_out)) for rows, held_out in splits]
    found = [(held_out, errors) for held_out, errors in found if errors]
    sizes = sorted(set.intersection(*(set(errors) for _, errors in found)))
    both = np.hstack([[errors[size] for size in sizes] for _, errors in found])
    judged = np.concatenate([of_rows[held_out] for held_out, _ in found])
    return sizes[first_sufficient(both, judged)]


def split_rows(of_rows: np.ndarray, n_parts: int) -> list[np.ndarray]:
    """Rows in random parts (fixed seed) of whole independent units, in random order."""
    rng = np.random.default_rng(0)
    n_units = int(of_rows.max()) + 1
    if n_units == len(of_rows):
        return np.array_split(rng.permutation(n_units), n_parts)
    if n_units < 2 * n_parts:
        raise ValueError(
            f'n_features_to_select="auto" splits the rows by groups into {n_parts} parts and needs '
            f"at least {2 * n_parts} groups, got {n_units}."
        )
    part_of = np.empty(n_units, dtype=np.intp)
    part_of[rng.permutation(n_units)] = np.arange(n_units) % n_parts
    return [rng.permutation(np.flatnonzero(part_of[of_rows] == part)) for part in range(n_parts)]


def sizes_to_compare(count: int) -> np.ndarray:
    """Sizes of sets to compare: none, all small ones, then at equal ratios."""
    if count <= SIZES:
        return np.arange(count + 1)
    larger = np.geomspace(SIZES, count, SIZES + 1).round().astype(int)
    return np.unique(np.concatenate([np.arange(SIZES), larger]))


def _errors(
    search: Search,
    sets: list[np.ndarray],
    target: Sample,
    rows: np.ndarray,
    others: np.ndarray,
    of_learnt: np.ndarray,
) -> np.ndarray:
    """Squared errors of ψ(y) in ``others``, learnt from ``rows``: shape (n_sets, n_others).

    Less ‖ψ(y)‖², which is the same for every set: no column at all, which predicts the mean, has 0.
    No prediction is farther from the mean than the farthest image that was learnt from.
    """
    both = np.concatenate([rows, others])
    n = len(rows)
    learn, test = slice(0, n), slice(n, None)
    side = target.take(both)
    own, cross = _centred(side.tile(learn, learn), side.tile(learn, test))
    farthest = max(float(own.diagonal().max()), np.finfo(float).tiny)  # ‖ψ(y)‖² of a learnt row
    result = []
    for columns in sets:
        if not len(columns):
            result.append(np.zeros(len(others)))
            continue
        inputs = search.side(columns, search.units.X[both])
        gram, between = inputs.tile(learn, learn), inputs.tile(learn, test)
        weights = _ridge(gram, between, own, of_learnt)
        fitted = np.einsum("ij,ij->j", weights, own @ weights)
        # a row far from all learnt ones may be predicted far outside of all images: one such
        # error would hide what every other row shows, so predictions stay in the ball of images
        pulled = np.sqrt(farthest / np.maximum(fitted, farthest))
        result.append(pulled**2 * fitted - 2.0 * pulled * np.einsum("ij,ij->j", weights, cross))
    return np.array(result)


def _centred(own: np.ndarray, cross: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inner products of images about the mean image of the rows that are learnt from."""
    means = own.mean(axis=0)
    constant = means.mean()
    cross = cross - cross.mean(axis=0) - means[:, np.newaxis] + constant
    return own - means - means[:, np.newaxis] + constant, cross


#: Folds of whole groups on which a penalty is chosen where rows are not independent, and the part
#: of the target's trace that may be left out there.
PENALTY_FOLDS, PENALTY_TOL = 3, 1e-3


def _ridge(
    gram: np.ndarray, cross: np.ndarray, target: np.ndarray, of_rows: np.ndarray | None = None
) -> np.ndarray:
    """Weights of the learnt rows in every prediction; the penalty has the least GCV score.

    Generalised cross-validation: tr((I-S)L(I-S)) / tr(I-S)², with S the smoother. It takes rows as
    independent; where ``of_rows`` says that some are of one group, which predict each other and
    would make every penalty too small, the penalty is that of the least errors on other groups.
    """
    values, vectors = np.linalg.eigh(gram)
    values = np.maximum(values, 0.0)
    penalties = RIDGES * max(float(values.mean()), np.finfo(float).tiny)
    codes = np.arange(len(gram)) if of_rows is None else np.unique(of_rows, return_inverse=True)[1]
    if codes.max() + 1 < len(codes):
        scores = _errors_on_groups(gram, target, codes, penalties)
    else:
        shares = np.einsum("ij,ij->j", vectors, target @ vectors)
        left = penalties[:, np.newaxis] / (values + penalties[:, np.newaxis])  # of I - S
        scores = (left**2 @ shares) / left.sum(axis=1) ** 2
    best = penalties[int(np.argmin(scores))]
    return vectors @ ((vectors.T @ cross) / (values + best)[:, np.newaxis])


def _errors_on_groups(
    gram: np.ndarray, target: np.ndarray, codes: np.ndarray, penalties: np.ndarray
) -> np.ndarray:
    """Squared errors of whole groups that were not learnt from, for every penalty."""
    traces, axes = np.linalg.eigh(target)
    kept = np.cumsum(np.maximum(traces, 0.0)) > PENALTY_TOL * max(float(traces.sum()), 0.0)
    psi = axes[:, kept] * np.sqrt(np.maximum(traces[kept], 0.0))
    errors = np.zeros(len(penalties))
    for held_out in split_rows(codes, min(PENALTY_FOLDS, (int(codes.max()) + 1) // 2)):
        learnt = np.setdiff1d(np.arange(len(codes)), held_out)
        values, vectors = np.linalg.eigh(gram[np.ix_(learnt, learnt)])
        mean = psi[learnt].mean(axis=0)
        inner = vectors.T @ (psi[learnt] - mean)
        outer = gram[np.ix_(held_out, learnt)] @ vectors
        for place, penalty in enumerate(penalties):
            predicted = (outer / (np.maximum(values, 0.0) + penalty)) @ inner
            errors[place] += float(np.sum((psi[held_out] - mean - predicted) ** 2))
    return errors


def first_sufficient(errors: np.ndarray, of_rows: np.ndarray | None = None) -> int:
    """The smallest set that loses next to nothing: the rule of `compare` on squared errors.

    The first set is empty and predicts the mean: it is kept unless another one is significantly
    better. ``of_rows`` numbers the independent units of the rows, whose gains are added up: rows of
    one group are not independent evidence. The law of a mean gain is Student's, with as many
    degrees of freedom as there are units less one: with 40 rows the normal law would find columns
    in pure noise too often.
    """
    count, n = errors.shape
    totals = errors
    if of_rows is not None and len(np.unique(of_rows)) < n:
        codes = np.unique(of_rows, return_inverse=True)[1]
        totals = np.array([np.bincount(codes, row) for row in errors])
    n_units = totals.shape[1]
    gains = totals[0] - totals[1:]
    spreads = gains.std(axis=1, ddof=1) / math.sqrt(n_units)
    critical = -special.stdtrit(n_units - 1, LEVEL / max(1, len(gains)))
    if not (gains.mean(axis=1) > critical * spreads).any():
        return 0
    scores = -totals.mean(axis=1)
    return int(choose(scores, np.arange(count), scores[0]))
