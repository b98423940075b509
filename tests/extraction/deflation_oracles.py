"""Deflation methods the slow way: the published algorithms on explicit matrices.

Private modules: the published algorithms start from the coded target, whose coding is tested
elsewhere.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy import linalg

from depmax.extraction._fitting.prediction import coded_target


def gaussian_gram(X, width):
    squares = np.square(X[:, np.newaxis] - X).sum(axis=2)
    return np.exp(-squares / (2 * width**2))


def deflated(matrix, feature):
    """(I - ττᵀ/τᵀτ)M."""
    return matrix - np.outer(feature, feature @ matrix) / (feature @ feature)


def sparse_features(K, y, n_features, method, sparsity=1, center=True, candidates=None):
    """SMA or SMC by enumeration of all subsets of kernel columns; β and the features."""
    m = len(K)
    Y = coded_target(y).values
    left, residual = K.copy(), Y.copy()
    if center:
        one = np.ones(m)
        left, residual = deflated(left, one), deflated(residual, one)
    betas, features = [], []
    for _ in range(n_features):
        best = (-np.inf, None)
        sizes, covariances = left.T @ left if method == "sma" else K, left.T @ residual
        rows = range(m) if candidates is None else candidates
        for members in map(list, itertools.combinations(rows, sparsity)):
            E = np.eye(m)[:, members]
            metric, cross = sizes[np.ix_(members, members)], covariances[members]
            values = linalg.eigvalsh(metric)
            if values[0] <= 1e-10 * values[-1] or values[-1] <= 1e-12:
                continue
            value, vector = linalg.eigh(cross @ cross.T, metric)
            if value[-1] > best[0]:
                best = (value[-1], E @ vector[:, -1])
        beta = best[1]
        feature = left @ beta
        left, residual = deflated(left, feature), deflated(residual, feature)
        betas.append(beta)
        features.append(feature)
    return np.array(betas).T, np.array(features).T


def up_to_sign(actual, desired, **tolerance):
    signs = np.sign(np.sum(actual * desired, axis=0))
    np.testing.assert_allclose(actual * signs, desired, **tolerance)
