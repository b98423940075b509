"""Permutation p-values of single pairs."""

from __future__ import annotations

import numpy as np

from depmax.dependence._pairs.columns import ColumnBases
from depmax.samples import slices

#: Pairs and permutations handled at once.
PAIRS, PERMUTATIONS = 64, 256


def permutation_pvalues(
    pairs: np.ndarray,
    bases: ColumnBases,
    directions: np.ndarray,
    n_permutations: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Share of permutations of the target that score a pair at least as high as the data do.

    The rows of ``directions``, from which main effects are already removed, are permuted together
    (Freedman and Lane, 1983); every permutation is used for all pairs.

    Parameters
    ----------
    pairs : ndarray of shape (n_pairs, 2)
    bases : ColumnBases
    directions : ndarray of shape (n_directions, n_samples)
    n_permutations : int
    rng : Generator

    Returns
    -------
    ndarray of shape (n_pairs,)
        At least 1 / (n_permutations + 1).
    """
    orders = np.argsort(rng.random((n_permutations, bases.n_samples)), axis=1)
    reached = np.zeros(len(pairs), dtype=np.int64)
    for part in slices(len(pairs), PAIRS):
        left = interactions(pairs[part], bases)
        observed = scores(left, directions[:, np.newaxis])[:, 0]
        for some in slices(n_permutations, PERMUTATIONS):
            permuted = scores(left, directions[:, orders[some]])
            # a permutation that only exchanges equal values must count in spite of rounding
            reached[part] += (permuted >= observed[:, np.newaxis] * (1.0 - 1e-10)).sum(axis=1)
    return (reached + 1) / (n_permutations + 1)


def interactions(pairs: np.ndarray, bases: ColumnBases) -> np.ndarray:
    """The products z of pairs of columns without what both columns' own bases explain."""
    first, second = pairs.T
    z = bases.linear[first] * bases.linear[second]
    left = np.empty_like(z)
    for position, (i, j) in enumerate(pairs):
        nuisance = np.concatenate([np.ones((1, z.shape[1])), bases.of_columns((i, j))]).T
        explained = nuisance @ np.linalg.lstsq(nuisance, z[position], rcond=1e-10)[0]
        left[position] = z[position] - explained
    return left


def scores(left: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Scores of pairs (``interactions``) with several targets.

    Parameters
    ----------
    left : ndarray of shape (n_pairs, n_samples)
    directions : ndarray of shape (n_directions, n_targets, n_samples)

    Returns
    -------
    ndarray of shape (n_pairs, n_targets)
    """
    m = left.shape[1]
    squares = left**2
    plain = squares.mean(axis=1)[:, np.newaxis]
    total = np.zeros((len(left), directions.shape[1]))
    for t in directions:
        covariance = left @ t.T / m
        robust = squares @ (t**2).T / m
        total += covariance**2 / np.maximum(robust, plain * np.mean(t**2, axis=1))
    return total
