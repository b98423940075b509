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
    lengths, gains = metric.diagonal(), products.diagonal()
    single = np.full(len(metric), -np.inf)
    np.divide(gains, lengths, out=single, where=lengths > 0)
    best = int(single.argmax())
    found, value = [best], float(single[best])
    for first in np.flatnonzero(lengths > 0)[: -1 if size > 1 else 0]:
        # what is left of later candidates, G' and N', with the first one projected out
        after, own = slice(first + 1, None), products[first, first] / lengths[first]
        ratio = metric[first, after] / lengths[first]
        along = (products[first, after] - ratio * products[first, first]) / np.sqrt(lengths[first])
        left = lengths[after] - ratio * metric[first, after]
        fresh = left > SPANNED * lengths[after]
        left = np.where(fresh, left, 1.0)
        n22 = gains[after] - 2 * ratio * products[first, after] + ratio**2 * products[first, first]
        n12 = along / np.sqrt(left)
        middle, spread = (own + n22 / left) / 2, (own - n22 / left) / 2
        pairs = np.where(fresh, middle + np.sqrt(spread**2 + n12**2), -np.inf)
        if pairs.max() > value:
            found, value = [first, first + 1 + int(pairs.argmax())], float(pairs.max())
        if size == 2:
            continue
        # the same once more: rows project the second one out of the third ones, G'' and N''
        share = (metric[after, after] - np.outer(ratio, metric[first, after])) / left[:, np.newaxis]
        rest = products[after, after] - np.outer(ratio, products[first, after])
        rest -= np.outer(products[first, after] - ratio * products[first, first], ratio)
        third = left - share**2 * left[:, np.newaxis]
        usable = np.triu(np.outer(fresh, fresh), 1) & (third > SPANNED * lengths[after])
        third = np.where(usable, third, 1.0)
        n33 = n22 - 2 * share * rest + share**2 * n22[:, np.newaxis]
        n13 = (along - share * along[:, np.newaxis]) / np.sqrt(third)
        n23 = (rest - share * n22[:, np.newaxis]) / np.sqrt(left[:, np.newaxis] * third)
        n22 = n22 / left
        triples = _largest_of_three(
            own, n22[:, np.newaxis], n33 / third, n12[:, np.newaxis], n13, n23
        )
        triples[~usable] = -np.inf
        if triples.max() > value:
            place = np.unravel_index(int(triples.argmax()), triples.shape)
            found, value = [first, *(first + 1 + np.array(place))], float(triples[place])
    members = np.array(found, dtype=np.intp)
    if not np.isfinite(value):
        return members, np.zeros(len(members)), value
    block = np.ix_(members, members)
    values, vectors = linalg.eigh(products[block], metric[block])
    return members, vectors[:, -1], float(values[-1])


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
