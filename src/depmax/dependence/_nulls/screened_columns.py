"""All columns of a table against a target: blocks of them in threads, in full where it matters."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from scipy.stats import false_discovery_control

from depmax._threads import map_threads, one_blas_thread, slices
from depmax.data.columns import Categories, Missing
from depmax.data.table import has_missing
from depmax.dependence._nulls.screening_target import FOUND, ScreeningTarget
from depmax.kernels import Delta
from depmax.kernels.kernel import Kernel

#: Numbers of a block of columns: it stays in the second-level cache.
BLOCK = 2**15
#: Level of the test that the lower end of an interval of 95% stands for.
EXCLUDES_ZERO = 0.025
#: Of more columns than this, p-values are computed in full only where they matter: where the
#: adjusted p-value can be at most this.
MANY_COLUMNS, MATTERS = 1000, 0.25


def screen_columns(
    target: ScreeningTarget,
    values: Any,
    recipe: Kernel,
    categories: Categories,
    *,
    unbiased: bool = True,
    missing: Missing = "neutral",
    full: bool = False,
    n_jobs: int | None = None,
) -> np.ndarray:
    """What is found out about every column (``FOUND``), of shape (n_features, 6).

    Parameters
    ----------
    target : ScreeningTarget
    values : ndarray or sparse matrix of shape (n_samples, n_features)
    recipe : kernel of a column of numbers
    categories : categorical columns, compared by equality
    unbiased : whether scores are unbiased HSIC
    missing : what a missing cell means
    full : whether all p-values are computed in full, however many columns there are
    n_jobs : threads
    """
    values = values.tocsc() if sparse.issparse(values) else values
    d = values.shape[1]
    full = full or d <= MANY_COLUMNS or target.plan is not None
    gapped = np.zeros(d, dtype=bool)
    if has_missing(values):
        gapped = np.isnan(values).any(axis=0)
    in_blocks = recipe.capabilities.telescopes & ~gapped
    in_blocks[list(categories)] = False
    _ = target.spread, target.own_shares, target.side  # once, before threads ask for them

    def work(part: np.ndarray) -> np.ndarray:
        if in_blocks[part[0]]:
            room = np.empty_like(target.coordinates.psi)  # taken once: it may be large
            blocks = (_columns(values, part[some]) for some in slices(len(part), size))
            found = [target.of_sorted(recipe, one, unbiased, full, room) for one in blocks]
            return np.concatenate(found)
        (column,) = _columns(values, part)
        kernel = Delta() if part[0] in categories else recipe
        alone = target.of_gapped if gapped[part[0]] else target.alone
        return np.array([[*alone(kernel, column, unbiased, missing == "level"), np.nan]])

    together, size = np.flatnonzero(in_blocks), max(1, BLOCK // target.n_samples)
    share = max(size, min(8, -(-len(together) // effective_n_jobs(n_jobs))))
    parts = [together[some] for some in slices(len(together), share)]
    parts += [np.array([position]) for position in np.flatnonzero(~in_blocks)]
    found = np.empty((d, len(FOUND) + 1))
    with one_blas_thread(always=True):
        for part, lines in zip(parts, map_threads(work, parts, n_jobs), strict=True):
            found[part] = lines
        hints = found[:, -1]  # the least that a p-value can be, NaN where it is known
        optimistic = np.where(np.isnan(hints), found[:, 1], hints)
        adjusted = false_discovery_control(optimistic)
        some_matter = np.flatnonzero(~np.isnan(hints) & (adjusted <= MATTERS))
        matter = [some_matter[some] for some in slices(len(some_matter), size)]
        found_again = map_threads(
            lambda part: target.of_sorted(recipe, _columns(values, part), unbiased, full=True),
            matter,
            n_jobs,
        )
        for part, lines in zip(matter, found_again, strict=True):
            found[part] = lines
    if target.plan is not None:
        # pairs of rows of one group make HSIC larger than it is; exchanging whole groups allows
        # for it: no interval excludes 0 unless the p-value does
        found[found[:, 1] > EXCLUDES_ZERO, 4] = 0.0
    return found[:, : len(FOUND)]


def _columns(values: Any, positions: np.ndarray) -> np.ndarray:
    """Some columns, one per line, in float64."""
    if sparse.issparse(values):
        return np.ascontiguousarray(values[:, positions].toarray().T, dtype=np.float64)
    if positions[-1] - positions[0] == len(positions) - 1:
        values = values[:, positions[0] : positions[-1] + 1]
    else:
        values = values[:, positions]
    return np.ascontiguousarray(values.T, dtype=np.float64)
