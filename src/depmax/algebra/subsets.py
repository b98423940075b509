"""The best few of some candidates: subsets of up to three, enumerated."""

from __future__ import annotations

import numpy as np
from scipy import linalg

#: A candidate that others span, up to this share of its square length, adds nothing.
SPANNED = 1e-10


def best_combination(
    products: np.ndarray, metric: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Combination α of at most ``size`` candidates with the largest αᵀNα under αᵀGα = 1.

    Parameters
    ----------
    products : ndarray of shape (c, c)
        N, positive semidefinite; of rank one for a single target.
    metric : ndarray of shape (c, c)
        G, positive semidefinite.
    size : int
        From 1 to 3.

    Returns
    -------
    members : ndarray of shape (q,), q ≤ size
    weights : ndarray of shape (q,)
        α.
    value : float
        αᵀNα.

    Examples
    --------
    >>> b = np.array([1.0, 2.0, 2.0])
    >>> members, weights, value = best_combination(np.outer(b, b), np.eye(3), 2)
    >>> members, round(value, 6)
    (array([1, 2]), 8.0)
    """
    diagonal = metric.diagonal()
    valid = diagonal > 0
    single = np.divide(
        products.diagonal(), diagonal, out=np.full(len(metric), -np.inf), where=valid
    )
    members, value = np.array([int(single.argmax())]), float(single.max())
    if size >= 2:
        pair, reached = _best_pair(products, metric, valid)
        if reached > value:
            members, value = pair, reached
    if size == 3:
        triple, reached = _best_triple(products, metric, valid)
        if reached > value:
            members, value = triple, reached
    if not np.isfinite(value):
        return members, np.zeros(len(members)), value
    block = np.ix_(members, members)
    values, vectors = linalg.eigh(products[block], metric[block])
    return members, vectors[:, -1], float(values[-1])


def _best_pair(
    products: np.ndarray, metric: np.ndarray, valid: np.ndarray
) -> tuple[np.ndarray, float]:
    """Pair with the largest eigenvalue of the 2 × 2 pencil."""
    scores = np.full(metric.shape, -np.inf)
    for first in np.flatnonzero(valid):
        ratio = metric[first] / metric[first, first]
        own = products[first, first]
        lengths = metric.diagonal() - ratio * metric[first]  # G'_kk, with first projected out
        fresh = lengths > SPANNED * metric.diagonal()
        fresh[: first + 1] = False
        lengths = np.where(fresh, lengths, 1.0)
        n22 = (products.diagonal() - 2 * ratio * products[first] + ratio**2 * own) / lengths
        n12 = (products[first] - ratio * own) / np.sqrt(metric[first, first] * lengths)
        reached = _largest_of_two(own / metric[first, first], n22, n12)
        scores[first] = np.where(fresh, reached, -np.inf)
    best = np.unravel_index(int(scores.argmax()), scores.shape)
    return np.array(best), float(scores[best])


def _best_triple(
    products: np.ndarray, metric: np.ndarray, valid: np.ndarray
) -> tuple[np.ndarray, float]:
    """Triple with the largest eigenvalue of the 3 × 3 pencil, by orthogonalising in turn."""
    best, value = np.zeros(3, dtype=np.intp), -np.inf
    count = len(metric)
    for first in np.flatnonzero(valid)[:-2]:
        after = slice(first + 1, count)
        own = products[first, first] / metric[first, first]
        ratio = metric[first, after] / metric[first, first]
        inner = metric[after, after] - np.outer(ratio, metric[first, after])  # G'
        mixed = products[first, after] - ratio * products[first, first]  # N' of first with rest
        rest = (
            products[after, after]
            - np.outer(ratio, products[first, after])
            - np.outer(products[first, after], ratio)
            + np.outer(ratio, ratio) * products[first, first]
        )  # N'
        along = mixed / np.sqrt(metric[first, first])
        lengths = inner.diagonal().copy()
        fresh = lengths > SPANNED * metric.diagonal()[after]
        lengths[~fresh] = 1.0
        n22 = (rest.diagonal() / lengths)[:, np.newaxis]
        n12 = (along / np.sqrt(lengths))[:, np.newaxis]
        share = inner / lengths[:, np.newaxis]  # G'_jk / G'_jj
        lengths3 = lengths - share * inner  # G''_kk
        usable = fresh[:, np.newaxis] & fresh & (lengths3 > SPANNED * metric.diagonal()[after])
        usable &= np.tri(len(share), k=-1, dtype=bool).T
        lengths3 = np.where(usable, lengths3, 1.0)
        n33 = rest.diagonal() - 2 * share * rest + share**2 * rest.diagonal()[:, np.newaxis]
        n33 = n33 / lengths3
        n13 = (along - share * along[:, np.newaxis]) / np.sqrt(lengths3)
        n23 = rest - share * rest.diagonal()[:, np.newaxis]
        n23 = n23 / np.sqrt(lengths[:, np.newaxis] * lengths3)
        scores = _largest_of_three(own, n22, n33, n12, n13, n23)
        scores[~usable] = -np.inf
        place = np.unravel_index(int(scores.argmax()), scores.shape)
        if scores[place] > value:
            value = float(scores[place])
            best = np.array([first, first + 1 + place[0], first + 1 + place[1]])
    return best, value


def _largest_of_two(n11: float, n22: np.ndarray, n12: np.ndarray) -> np.ndarray:
    """Largest eigenvalue of symmetric 2 × 2 matrices."""
    return (n11 + n22) / 2 + np.sqrt(((n11 - n22) / 2) ** 2 + n12**2)


def _largest_of_three(
    n11: float,
    n22: np.ndarray,
    n33: np.ndarray,
    n12: np.ndarray,
    n13: np.ndarray,
    n23: np.ndarray,
) -> np.ndarray:
    """Largest eigenvalue of symmetric 3 × 3 matrices, by the trigonometric formula."""
    mean = (n11 + n22 + n33) / 3
    a, b, c = n11 - mean, n22 - mean, n33 - mean
    spread = (a**2 + b**2 + c**2 + 2 * (n12**2 + n13**2 + n23**2)) / 6
    root = np.sqrt(spread)
    determinant = a * (b * c - n23**2) - n12 * (n12 * c - n23 * n13) + n13 * (n12 * n23 - b * n13)
    safe = np.where(spread > 0, spread * root, 1.0)
    angle = np.arccos(np.clip(determinant / (2 * safe), -1.0, 1.0)) / 3
    largest: np.ndarray = mean + 2 * root * np.cos(angle)
    return largest
