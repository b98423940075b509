"""Definitions computed the slow way."""

from __future__ import annotations

import itertools

import numpy as np


def enumerated_hsic(K: np.ndarray, L: np.ndarray) -> float:
    """HSIC₁ as the mean over all ordered quadruples of distinct rows."""
    values = [
        K[i, j] * (L[i, j] + L[q, r] - 2 * L[i, q])
        for i, j, q, r in itertools.permutations(range(len(K)), 4)
    ]
    return float(np.mean(values))


def u_statistic_kernel(K: np.ndarray, L: np.ndarray, rows: tuple[int, ...]) -> float:
    """The symmetric kernel h of the U-statistic at four rows."""
    terms = [
        K[s, t] * (L[s, t] + L[u, v] - 2 * L[s, u]) for s, t, u, v in itertools.permutations(rows)
    ]
    return float(np.mean(terms))


def enumerated_variance(K: np.ndarray, L: np.ndarray) -> float:
    """16/m (R - HSIC₁²) with R from every triple of other rows."""
    m = len(K)
    projections = [
        np.mean(
            [
                u_statistic_kernel(K, L, (i, *others))
                for others in itertools.combinations([j for j in range(m) if j != i], 3)
            ]
        )
        for i in range(m)
    ]
    return float(16 / m * (np.mean(np.square(projections)) - enumerated_hsic(K, L) ** 2))


def dense_hsic(K: np.ndarray, L: np.ndarray, unbiased: bool) -> float:
    """Both estimators from full matrices."""
    m = len(K)
    if not unbiased:
        H = np.eye(m) - 1 / m
        return float(np.trace(K @ H @ L @ H) / (m - 1) ** 2)
    K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
    ones = np.ones(m)
    value = np.trace(K @ L) + (ones @ K @ ones) * (ones @ L @ ones) / ((m - 1) * (m - 2))
    return float((value - 2 / (m - 2) * (ones @ K @ L @ ones)) / (m * (m - 3)))
