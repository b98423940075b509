"""The deflation loop over single kernel columns: directions of one, two or three samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from depmax.extraction.deflation.orthogonal import OrthogonalFeatures
from depmax.extraction.deflation.subsets import best_combination
from depmax.samples import Sample, slices

#: Kernel values that are computed at once: few enough for the cache.
BLOCK = 2**18
#: A kernel column that features span, up to this share of its square length, adds nothing.
SPANNED = 1e-13
#: A covariance below this, relative to both lengths, is a rounding error.
EXHAUSTED = 1e-11


@dataclass(frozen=True)
class Visit:
    """Sums over all samples of the kernel columns of some candidates."""

    covariances: np.ndarray  # k_iᵀY_j, shape (c, r)
    squares: np.ndarray  # ‖k_i‖², shape (c,)
    inside: np.ndarray  # k_iᵀQ with the orthonormal features, shape (c, q); or q = 0
    products: np.ndarray | None  # k_iᵀk_l, shape (c, c)


@dataclass(frozen=True)
class Measure:
    """What a criterion divides by: the length of a direction or of its feature."""

    of_features: bool

    def sizes(self, side: Sample, candidates: np.ndarray, visit: Visit) -> np.ndarray:
        """‖(I - Π)k_i‖² or k_ii, of shape (c,); zero where features span the column."""
        if not self.of_features:
            return side.take(candidates).diag()
        rest = visit.squares - np.square(visit.inside).sum(axis=1)
        rest[rest <= SPANNED * visit.squares] = 0.0
        return rest

    def metric(self, side: Sample, candidates: np.ndarray, visit: Visit) -> np.ndarray:
        """The same for pairs, of shape (c, c)."""
        if not self.of_features:
            return side.take(candidates).gram()
        assert visit.products is not None
        metric = visit.products - visit.inside @ visit.inside.T
        spanned = metric.diagonal() <= SPANNED * visit.squares
        metric[spanned] = 0.0
        metric[:, spanned] = 0.0
        return metric


@dataclass(frozen=True)
class SparseDirections:
    """Directions u_j = Σ β_ij φ(x_i) over few samples, and their features."""

    indices: np.ndarray  # samples with a weight, in the order of their first use, shape (b,)
    weights: np.ndarray  # β of these samples, shape (b, k)
    found: OrthogonalFeatures


#: Positions of the candidates of one step among the open rows, given as a mask.
Draw = Callable[[np.ndarray], np.ndarray]


def sparse_deflate(
    side: Sample,
    target: np.ndarray,
    measure: Measure,
    n_features: int,
    *,
    draw: Draw,
    sparsity: int,
    center: bool,
) -> SparseDirections:
    """Features τ_j = (I - Π)Kβ_j, each with the largest Σ(τ_jᵀY)² over a measure of its size.

    Kernel columns are computed a block of rows at a time and not kept.
    """
    found = OrthogonalFeatures(side.n_samples, n_features, center=center)
    is_open = np.ones(side.n_samples, dtype=bool)
    chosen: list[tuple[np.ndarray, np.ndarray]] = []
    start = float(linalg.norm(target))
    left = found.residual(target)
    while len(chosen) < n_features and is_open.any():
        if linalg.norm(left) <= EXHAUSTED * start:
            break
        candidates = draw(is_open)
        for members, weights in _ranked(side, candidates, left, found, measure, sparsity):
            image = side.tile(slice(None), members) @ weights
            if found.add(image):
                size = found.lengths[-1] if measure.of_features else _length(side, members, weights)
                found.rescale(1.0 / size)
                chosen.append((members, weights / size))
                left = found.residual(target)
                if sparsity == 1:
                    is_open[members] = False
                break
            is_open[members] = False  # earlier features span it
        else:
            is_open[candidates] = False  # none of these covaries with what is left of the target
    return _collected(chosen, found)


def _ranked(
    side: Sample,
    candidates: np.ndarray,
    left: np.ndarray,
    found: OrthogonalFeatures,
    measure: Measure,
    sparsity: int,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Samples and weights of the best direction, then of the next best should it be spanned."""
    visit = _visit(side, candidates, left, found, measure, pairs=sparsity > 1)
    covariances = np.square(visit.covariances).sum(axis=1)
    noise = EXHAUSTED * np.sqrt(visit.squares) * float(linalg.norm(left))
    alive = covariances > np.square(noise)
    if sparsity == 1:
        sizes = measure.sizes(side, candidates, visit)
        scores = np.full(len(candidates), -np.inf)
        np.divide(covariances, sizes, out=scores, where=alive & (sizes > 0))
        for place in np.argsort(-scores, kind="stable"):
            if not np.isfinite(scores[place]):
                return
            yield candidates[[place]], np.ones(1)
        return
    metric = measure.metric(side, candidates, visit)
    products = visit.covariances @ visit.covariances.T
    products[~alive] = 0.0
    products[:, ~alive] = 0.0
    while metric.diagonal().any():
        members, weights, value = best_combination(products, metric, sparsity)
        if not value > 0:
            return
        order = np.argsort(candidates[members])
        yield candidates[members[order]], weights[order]
        metric[members[0]] = 0.0
        metric[:, members[0]] = 0.0


def _visit(
    side: Sample,
    candidates: np.ndarray,
    left: np.ndarray,
    found: OrthogonalFeatures,
    measure: Measure,
    *,
    pairs: bool,
) -> Visit:
    """One pass over the kernel columns of the candidates."""
    count, r = len(candidates), left.shape[1]
    others = side.take(candidates).rows
    basis = found.basis if measure.of_features else found.basis[:, :0]
    factors = np.column_stack([left, basis])  # products with all of these at once
    sums = np.zeros((factors.shape[1], count))
    squares = np.zeros(count)
    products = np.zeros((count, count)) if pairs and measure.of_features else None
    for block in slices(side.n_samples, max(64, BLOCK // count)):
        values = side.kernel(side.rows[block], others).astype(np.float64, copy=False)
        sums += factors[block].T @ values
        squares += np.einsum("ij,ij->j", values, values)
        if products is not None:
            products += values.T @ values
    return Visit(sums[:r].T, squares, sums[r:].T, products)


def _length(side: Sample, members: np.ndarray, weights: np.ndarray) -> float:
    """‖u‖ of a direction over some samples."""
    return float(np.sqrt(weights @ side.take(members).gram() @ weights))


def _collected(
    chosen: list[tuple[np.ndarray, np.ndarray]], found: OrthogonalFeatures
) -> SparseDirections:
    indices: dict[int, int] = {}
    for members, _ in chosen:
        for index in members:
            indices.setdefault(int(index), len(indices))
    weights = np.zeros((len(indices), len(chosen)))
    for column, (members, values) in enumerate(chosen):
        weights[[indices[int(index)] for index in members], column] = values
    return SparseDirections(np.array(list(indices), dtype=np.intp), weights, found)
