"""The deflation loop over single kernel columns: directions of one, two or three samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from depmax._threads import slices
from depmax.algebra.deflation.criteria import SPANNED
from depmax.algebra.deflation.steps import OrthogonalFeatures
from depmax.algebra.deflation.subsets import best_combination
from depmax.data.sample import Sample

#: Kernel values that are computed at once: few enough for the cache.
BLOCK = 2**18
#: What is left of a kernel column, as a share of its square length, below which ‖k‖² - ‖Qᵀk‖² has
#: lost too many digits: it is then computed from the column itself.
DOUBTFUL = 1e-6
#: A covariance below this, relative to both lengths, is a rounding error.
EXHAUSTED = 1e-11
#: Rounding errors of a product, relative to both lengths.
ROUNDING = 1e-14


@dataclass(frozen=True)
class Visit:
    """Sums over all samples of the kernel columns of some candidates."""

    covariances: np.ndarray  # k_iᵀY_j, shape (c, r)
    squares: np.ndarray  # ‖k_i‖², shape (c,)
    rest: np.ndarray | None  # ‖(I - Π)k_i‖², shape (c,), where the criterion asks for it
    products: np.ndarray | None  # k_iᵀ(I - Π)k_l, shape (c, c)

    @property
    def noise(self) -> np.ndarray:
        """Covariances per length of the target that are rounding errors, of shape (c,)."""
        rounding = ROUNDING * np.sqrt(self.squares)
        if self.rest is None:
            return rounding
        return np.maximum(EXHAUSTED * np.sqrt(self.rest), rounding)


@dataclass(frozen=True)
class Measure:
    """What a criterion divides by: the length of a direction or of its feature."""

    of_features: bool

    def sizes(self, side: Sample, candidates: np.ndarray, visit: Visit) -> np.ndarray:
        """‖(I - Π)k_i‖² or k_ii, of shape (c,); zero where features span the column."""
        if not self.of_features:
            return side.take(candidates).diag()
        assert visit.rest is not None
        return np.where(visit.rest > SPANNED * visit.squares, visit.rest, 0.0)

    def metric(self, side: Sample, candidates: np.ndarray, visit: Visit) -> np.ndarray:
        """The same for pairs, of shape (c, c)."""
        if not self.of_features:
            return side.take(candidates).gram()
        assert visit.products is not None
        assert visit.rest is not None
        metric = visit.products.copy()
        spanned = visit.rest <= SPANNED * visit.squares
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
    is_spanned = np.zeros(side.n_samples, dtype=bool)  # by the features so far, hence by all later
    is_tried = np.zeros(side.n_samples, dtype=bool)  # in vain, since the last feature
    chosen: list[tuple[np.ndarray, np.ndarray]] = []
    start = float(linalg.norm(target))
    left = found.residual(target)
    while len(chosen) < n_features and not (is_spanned | is_tried).all():
        if linalg.norm(left) <= EXHAUSTED * start:
            break
        candidates = draw(~(is_spanned | is_tried))
        visit = _visit(side, candidates, left, found, measure, pairs=sparsity > 1)
        noise = visit.noise * float(linalg.norm(left))
        for members, weights in _ranked(side, candidates, visit, noise, measure, sparsity):
            image = side.tile(slice(None), members) @ weights
            if found.add(image):
                size = found.lengths[-1] if measure.of_features else _length(side, members, weights)
                found.rescale(1.0 / size)
                chosen.append((members, weights / size))
                left = found.residual(target)
                is_tried[:] = False
                is_spanned[members] |= sparsity == 1
                break
            is_spanned[members] = True
        else:
            is_tried[candidates] = True  # none of these covaries with what is left of the target
    return _collected(chosen, found)


def _ranked(
    side: Sample,
    candidates: np.ndarray,
    visit: Visit,
    noise: np.ndarray,
    measure: Measure,
    sparsity: int,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Samples and weights of the best direction, then of the next best should it be spanned.

    ``noise`` is the size of the covariances that are rounding errors, of shape (c,).
    """
    covariances = np.square(visit.covariances).sum(axis=1)
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
    """One pass over the kernel columns of the candidates, and one more over doubtful ones."""
    pairs = pairs and measure.of_features
    basis = found.basis if measure.of_features else found.basis[:, :0]
    first = _summed(side, candidates, left, basis, None, pairs=pairs)
    if not measure.of_features:
        return Visit(first.covariances, first.squares, None, None)
    rest, products = first.outside()
    doubtful = rest <= DOUBTFUL * first.squares
    if not doubtful.any():
        return Visit(first.covariances, first.squares, rest, products)
    if pairs:  # every product with a doubtful column is doubtful
        doubtful[:] = True
    again = _summed(side, candidates[doubtful], left, basis, first.inside[doubtful], pairs=pairs)
    covariances = first.covariances.copy()
    covariances[doubtful] = again.covariances
    rest[doubtful], products = again.outside()
    return Visit(covariances, first.squares, np.maximum(rest, 0.0), products)


@dataclass(frozen=True)
class _Sums:
    """Products of some columns v_i with the target, the features Q and each other."""

    covariances: np.ndarray  # v_iᵀY_j, shape (c, r)
    squares: np.ndarray  # ‖v_i‖², shape (c,)
    inside: np.ndarray  # v_iᵀQ, shape (c, q)
    products: np.ndarray | None  # v_iᵀv_l, shape (c, c)

    def outside(self) -> tuple[np.ndarray, np.ndarray | None]:
        """‖(I - Π)v_i‖² and, if there are products, v_iᵀ(I - Π)v_l."""
        rest = self.squares - np.square(self.inside).sum(axis=1)
        if self.products is None:
            return rest, None
        return rest, self.products - self.inside @ self.inside.T


def _summed(
    side: Sample,
    candidates: np.ndarray,
    left: np.ndarray,
    basis: np.ndarray,
    inside: np.ndarray | None,
    *,
    pairs: bool,
) -> _Sums:
    """One pass over the kernel columns k_i, or over k_i - Q(Qᵀk_i) if Qᵀk_i is given."""
    count, r = len(candidates), left.shape[1]
    others = side.take(candidates).rows
    factors = np.column_stack([left, basis])  # products with all of these at once
    sums = np.zeros((factors.shape[1], count))
    squares = np.zeros(count)
    products = np.zeros((count, count)) if pairs else None
    for block in slices(side.n_samples, max(64, BLOCK // count)):
        values = side.kernel(side.rows[block], others).astype(np.float64, copy=False)
        if inside is not None:
            values = values - basis[block] @ inside.T
        sums += factors[block].T @ values
        squares += np.einsum("ij,ij->j", values, values)
        if products is not None:
            products += values.T @ values
    return _Sums(sums[:r].T, squares, sums[r:].T, products)


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


# --- from sums over all samples -------------------------------------------------------------------
#: What sums leave of a square, relative to where it began, below which it is rounding errors.
LOST = 1e-12


@dataclass(frozen=True)
class LandmarkSums:
    """Sums over all samples of the kernel columns of c landmarks and of the target.

    All of them about the mean, if features are.
    """

    scatter: np.ndarray  # S = KᵀK, shape (c, c)
    cross: np.ndarray  # C = KᵀY, shape (c, r)
    squares: np.ndarray  # ‖k_i‖² about zero, shape (c,)
    target: float  # ‖Y‖²


@dataclass(frozen=True)
class ConjugateDirections:
    """Orthogonal features τ_j = Ka_j of the kernel columns of landmarks."""

    weights: np.ndarray  # a, shape (c, k)
    squares: np.ndarray  # ‖τ_j‖², shape (k,)
    with_target: np.ndarray  # YᵀT, shape (r, k)


def sparse_deflate_sums(
    landmarks: Sample, sums: LandmarkSums, measure: Measure, n_features: int, *, sparsity: int
) -> ConjugateDirections:
    """What ``sparse_deflate`` finds among the landmarks, without another visit to the samples.

    Products of columns with (I - Π) follow from sums: with a feature τ = Ka of unit length,
    S - (Sa)(Sa)ᵀ and C - (Sa)(τᵀY) are those of what it leaves. A column of which no more than
    ``SPANNED`` is left counts as spanned, since sums have lost its digits.
    """
    rest, cross, left = sums.scatter.copy(), sums.cross.copy(), sums.target
    own = sums.scatter.diagonal()
    is_spanned = own <= LOST * sums.squares
    size = len(rest)
    unit, scaled = np.empty((size, 0)), np.empty((size, 0))
    squares: list[float] = []
    covariances: list[np.ndarray] = []
    while len(squares) < n_features and not is_spanned.all() and left > LOST * sums.target:
        candidates = np.flatnonzero(~is_spanned)
        visit = Visit(
            cross[candidates],
            sums.squares[candidates],
            np.maximum(rest.diagonal()[candidates], 0.0),
            rest[np.ix_(candidates, candidates)],
        )
        noise = np.maximum(
            EXHAUSTED * np.sqrt(rest.diagonal().clip(0.0)[candidates] * left),
            ROUNDING * np.sqrt(visit.squares * sums.target),
        )
        for members, weights in _ranked(landmarks, candidates, visit, noise, measure, sparsity):
            image = rest[:, members] @ weights  # products of what is left of Kβ with all columns
            square = float(weights @ image[members])
            start = float(weights @ sums.scatter[np.ix_(members, members)] @ weights)
            if not square > SPANNED * start:
                is_spanned[members] = True
                continue
            root = np.sqrt(square)
            inside = unit.T @ (sums.scatter[:, members] @ weights)
            direction = -unit @ inside
            direction[members] += weights
            length = root if measure.of_features else _length(landmarks, members, weights)
            image /= root
            along = weights @ cross[members] / root  # τᵀY of the feature of unit length
            unit = np.column_stack([unit, direction / root])
            scaled = np.column_stack([scaled, direction / length])
            squares.append(square / length**2)
            covariances.append(along * (root / length))
            rest -= np.outer(image, image)
            cross -= np.outer(image, along)
            left -= float(along @ along)
            is_spanned[members] |= sparsity == 1
            break
        else:
            break
    pulled = np.array(covariances).reshape(len(squares), cross.shape[1]).T
    return ConjugateDirections(scaled, np.array(squares), pulled)
