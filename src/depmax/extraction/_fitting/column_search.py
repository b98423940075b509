"""The search for directions of one, two or three samples, by their kernel columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from depmax._threads import slices
from depmax.algebra.deflation import EXHAUSTED, ROUNDING, SPANNED, Examples, OrthogonalFeatures

#: Kernel values that are computed at once: few enough for the cache.
BLOCK = 2**18
#: What is left of a kernel column, as a share of its square length, below which ‖k‖² - ‖Qᵀk‖² has
#: lost too many digits: it is then computed from the column itself.
DOUBTFUL = 1e-6
#: A candidate that others span, up to this share of its square length, adds nothing.
DEPENDENT = 1e-10


@dataclass(frozen=True)
class ColumnSearch:
    """The search for directions of a few samples, by their kernel columns; these are not kept."""

    examples: Examples
    #: Kernel columns of some samples, as what gives their values in a slice of rows.
    columns: Callable[[np.ndarray], Callable[[slice], np.ndarray]]
    target: np.ndarray  # Y at all rows, shape (n_rows, r)
    of_features: bool  # whether scores are relative to ‖τ‖ or to ‖u‖
    sparsity: int  # samples per direction

    def deflate(
        self,
        found: OrthogonalFeatures,
        count: int,
        draw: Callable[[np.ndarray], np.ndarray],
        spanned: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Features τ_j = (I - Π)Kβ_j, each with the largest Σ(τ_jᵀY)² over a measure of its size.

        ``draw`` gives the candidates of a step among the open samples, given as a mask.

        Returns
        -------
        indices : ndarray of shape (b,)
            Samples with a weight, in the order of their first use.
        weights : ndarray of shape (b, k)
            β of these.
        """
        n_samples = self.examples.data.n_samples
        spanned = np.zeros(n_samples, dtype=bool) if spanned is None else spanned
        tried = np.zeros(n_samples, dtype=bool)  # in vain, since the last feature
        places: dict[int, int] = {}
        weights = np.zeros((count * self.sparsity, count))
        left, start = found.residual(self.target), float(linalg.norm(self.target))
        while found.count < count and linalg.norm(left) > EXHAUSTED * start:
            is_open = ~(spanned | tried)
            if not is_open.any():
                break
            candidates = draw(is_open)
            for members, own in self._ranked(candidates, left, found):
                image = self.columns(members)(slice(0, len(left))).astype(np.float64) @ own
                size = found.add(image, size=self._size(members, own))
                if size:
                    used = [places.setdefault(int(index), len(places)) for index in members]
                    weights[used, found.count - 1] = own / size
                    left = found.residual(self.target)
                    tried[:] = False
                    spanned[members] |= self.sparsity == 1
                    break
                spanned[members] = True
            else:
                tried[candidates] = True  # none of these covaries with what is left of the target
        return np.array(list(places), dtype=np.intp), weights[: len(places), : found.count]

    def _size(self, members: np.ndarray, weights: np.ndarray) -> float | None:
        """‖u‖ where directions are of length 1; None: features are."""
        if self.of_features:
            return None
        return float(np.sqrt(weights @ self.examples.take(members).gram() @ weights))

    def _ranked(
        self, candidates: np.ndarray, left: np.ndarray, found: OrthogonalFeatures
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Samples and weights of the best direction, then of the next best should it be spanned."""
        covariances, noise, sizes = self._visit(candidates, left, found)
        squares = np.square(covariances).sum(axis=1)
        alive = squares > np.square(noise * float(linalg.norm(left)))
        if self.sparsity == 1:
            scores = np.full(len(candidates), -np.inf)
            np.divide(squares, sizes, out=scores, where=alive & (sizes > 0))
            for place in np.argsort(-scores, kind="stable"):
                if not np.isfinite(scores[place]):
                    return
                yield candidates[[place]], np.ones(1)
            return
        products = covariances @ covariances.T
        products[~alive] = 0.0
        products[:, ~alive] = 0.0
        while sizes.diagonal().any():
            members, weights, value = best_combination(products, sizes, self.sparsity)
            if not value > 0:
                return
            order = np.argsort(candidates[members])
            yield candidates[members[order]], weights[order]
            sizes[members[0]] = 0.0
            sizes[:, members[0]] = 0.0

    def _visit(
        self, candidates: np.ndarray, left: np.ndarray, found: OrthogonalFeatures
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One pass over the columns k_i of the candidates, and one more over doubtful ones.

        Returns
        -------
        covariances : ndarray of shape (c, r)
            k_iᵀY_j.
        noise : ndarray of shape (c,)
            Covariances per length of the target that are rounding errors.
        sizes : ndarray of shape (c,), or of shape (c, c) for several samples per direction
            k_ii, or k_iᵀ(I - Π)k_i; zero where features span the column.
        """
        pairs, r = self.sparsity > 1, left.shape[1]
        basis = found.basis if self.of_features else found.basis[:, :0]
        factors = np.column_stack([left, basis])  # products with all of these at once
        sums, squares, products = self._sums(candidates, factors)
        covariances, inside, noise = sums[:, :r], sums[:, r:], ROUNDING * np.sqrt(squares)
        if not self.of_features:
            chosen = self.examples.take(candidates)
            return covariances, noise, chosen.gram() if pairs else chosen.diag()
        rest = squares - np.square(inside).sum(axis=1)  # ‖(I - Π)k_i‖²
        doubtful = rest <= DOUBTFUL * squares
        if doubtful.any():
            doubtful |= pairs  # every product with a doubtful column is doubtful
            sums, own, products = self._sums(candidates[doubtful], factors, inside[doubtful])
            covariances[doubtful], inside = sums[:, :r], sums[:, r:]
            rest[doubtful] = np.maximum(own - np.square(inside).sum(axis=1), 0.0)
        spanned = rest <= SPANNED * squares
        sizes = np.where(spanned, 0.0, rest)
        if products is not None:
            sizes = products - inside @ inside.T
            sizes[spanned] = 0.0
            sizes[:, spanned] = 0.0
        return covariances, np.maximum(EXHAUSTED * np.sqrt(rest), noise), sizes

    def _sums(
        self, candidates: np.ndarray, factors: np.ndarray, inside: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Products of columns k_i, or of k_i - Q(Qᵀk_i) if Qᵀk_i is given.

        Of shape (c, n_factors) those with vectors over the rows, of which Q is the last; their
        squared lengths, of shape (c,); and those with each other, of shape (c, c), if need be.
        """
        count, values_of = len(candidates), self.columns(candidates)
        sums, squares = np.zeros((factors.shape[1], count)), np.zeros(count)
        pairs = self.of_features and self.sparsity > 1
        products = np.zeros((count, count)) if pairs else None
        for block in slices(len(factors), max(64, BLOCK // count)):
            values = values_of(block).astype(np.float64, copy=False)
            if inside is not None:
                basis = factors[block, factors.shape[1] - inside.shape[1] :]
                values = values - basis @ inside.T
            sums += factors[block].T @ values
            squares += np.einsum("ij,ij->j", values, values)
            if products is not None:
                products += values.T @ values
        return sums.T, squares, products


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
        fresh = left > DEPENDENT * lengths[after]
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
        usable = np.triu(np.outer(fresh, fresh), 1) & (third > DEPENDENT * lengths[after])
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
