"""Sparse maximal alignment and sparse maximal covariance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state

from depmax._parameters import Rule, integer, is_whole
from depmax._resources import slices
from depmax._warnings import warn_caller
from depmax.algebra.deflation import (
    EXHAUSTED,
    ROUNDING,
    SPANNED,
    ExampleColumns,
    Examples,
    OrthogonalFeatures,
    roots_of,
)
from depmax.algebra.row_sums import square_of
from depmax.algebra.space import Form, Space
from depmax.data.sample import Sample
from depmax.data.stream import SampledRowsWarning
from depmax.extraction._fitting.prediction import FeaturePredictor, deflated, of_examples
from depmax.extraction.extractor import Answer, Found, SumsExtractor
from depmax.kernels import KernelLike

#: Candidates among the rows of a table that is read a chunk at a time, where all are asked for.
MOST_CANDIDATES = 2000
#: What is left of a column of unit square beside others, below which it is rounding errors.
LOST = 1e-12
#: Kernel values that are computed at once: few enough for the cache.
BLOCK = 2**18
#: What is left of a kernel column, as a share of its square length, below which ‖k‖² - ‖Qᵀk‖² has
#: lost too many digits: it is then computed from the column itself.
DOUBTFUL = 1e-6
#: A candidate that others span, up to this share of its square length, adds nothing.
DEPENDENT = 1e-10


#: What the parameters of both may be.
DECLARED = {
    "n_candidates": integer(1, also=[None], hint="None compares all rows"),
    "sparsity": Rule(
        lambda value: is_whole(value) and value in (1, 2, 3),
        "1, 2 or 3 samples per direction",
        "subsets of more than three are too many to search",
    ),
}


# --- what users call -----------------------------------------------------------------------------
@dataclass(eq=False, repr=False)
class SMA(FeaturePredictor, SumsExtractor):
    """Orthogonal features of single kernel columns, chosen by alignment with the target.

    Feature j is the kernel column k_i of one training row, made orthogonal to earlier features: the
    row with the largest (k_iᵀ(I - Π)y)²/‖(I - Π)k_i‖². A new row costs one kernel value per
    feature, fitting is linear in the rows, and the kernel matrix is never formed.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows. A float is a share of the variance of the
        target: the fewest features that explain it on the training rows are kept. ``"auto"`` keeps
        the fewest whose predictions of held-out rows, in ten folds, have an error within one
        standard error of the smallest: see ``cv_errors_``.
    kernel : kernel, name, callable, transformer or "precomputed", default="gaussian"
    n_candidates : int or None, default=500
        Number of rows that are redrawn for every feature and compared; all if there are fewer, or
        with None. From a table that is read a chunk at a time they are drawn once, with a
        ``SampledRowsWarning``; None then means 2,000.
    sparsity : int, default=1
        Rows per direction, at most three: the best combination of this many candidates is found by
        a search over all subsets.
    center : bool, default=True
        Whether features have mean zero, which is deflation by a constant. If the kernel has exact
        features (the linear kernel, maps), directions are then also measured from their mean, so an
        offset of X changes nothing. For other kernels this would need the kernel values of a new
        row with all training rows, and directions are measured from the origin of the feature
        space.
    random_state : int, RandomState or None, default=None
        Seed for drawing candidates.

    Attributes
    ----------
    basis_indices_ : ndarray of shape (n_basis,)
        Training rows that new rows are compared with, in the order of their first use.
    components_ : ndarray of shape (n_components, n_features)
        Weights of the columns; only with ``kernel="linear"``.
    dependence_ : ndarray of shape (n_components,)
        HSIC₀ of each feature and the target with linear kernels, ‖Yᵀτ_j‖²/(m - 1)².
    target_loadings_ : ndarray of shape (n_components, n_targets)
        Coefficients of the features in the prediction.
    intercept_ : ndarray of shape (n_targets,)
        Its constant.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted; only if the target has classes.
    cv_errors_ : ndarray of shape (n_counts,)
        Error of held-out rows with 1, 2, … features: root mean square, or share of wrong classes or
        labels; only with ``n_components="auto"``.
    kernel_ : Kernel
        With every recipe replaced by numbers.

    Warns
    -----
    ConvergenceWarning
        If there are fewer features than requested: no candidate is left that earlier features do
        not span, or none covaries with what they leave of the target.

    Notes
    -----
    Features have unit length on the training rows. With several targets (outputs, or classes as
    indicators) the numerator is summed over them, ‖Yᵀ(I - Π)k_i‖². ``predict`` is least squares on
    the features; a class is the one whose mean prediction is nearest. Whole numbers of up to 20
    values are classes, so scikit-learn is not told that this is a regressor: pass stratified splits
    to its searches if there are classes. ‖(I - Π)k_i‖² is computed from
    sums over the rows, and again from the column itself if these have lost digits.

    References
    ----------
    C. Dhanjal, S. Gunn, J. Shawe-Taylor (2009), Efficient sparse kernel feature extraction based on
    partial least squares, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import SMA
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = SMA(3).fit(X, (X**2).sum(axis=1) > 2)
    >>> model.transform(X).shape, len(model.basis_indices_)
    ((200, 3), 3)
    """

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    kernel: KernelLike = "gaussian"
    n_candidates: int | None = 500
    sparsity: int = 1
    center: bool = True
    random_state: Any = None

    _streams: ClassVar[bool] = True
    _needs_coordinates: ClassVar[bool] = False
    _adds_up: ClassVar[bool] = False
    _declared: ClassVar = DECLARED

    def _pairs_held(self, data: Sample) -> float:
        return candidate_pairs(self, data)

    def _instead(self) -> str:
        return "Lower n_candidates, e.g. to 500."

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        return of_single_columns(self, data, answer, count, of_features=True)


@dataclass(eq=False, repr=False)
class SMC(FeaturePredictor, SumsExtractor):
    """Orthogonal features of single kernel columns, chosen by covariance with the target.

    Feature j is the kernel column k_i of one training row, made orthogonal to earlier features: the
    row with the largest (k_iᵀ(I - Π)y)²/k(x_i, x_i). A new row costs one kernel value per feature,
    fitting is linear in the rows, and the kernel matrix is never formed.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows. A float is a share of the variance of the
        target: the fewest features that explain it on the training rows are kept. ``"auto"`` keeps
        the fewest whose predictions of held-out rows, in ten folds, have an error within one
        standard error of the smallest: see ``cv_errors_``.
    kernel : kernel, name, callable, transformer or "precomputed", default="gaussian"
    n_candidates : int or None, default=500
        Number of rows that are redrawn for every feature and compared; all if there are fewer, or
        with None. From a table that is read a chunk at a time they are drawn once, with a
        ``SampledRowsWarning``; None then means 2,000.
    sparsity : int, default=1
        Rows per direction, at most three: the best combination of this many candidates is found by
        a search over all subsets.
    center : bool, default=True
        Whether features have mean zero, which is deflation by a constant. If the kernel has exact
        features (the linear kernel, maps), directions and k(x, x) are then also measured from their
        mean, so an offset of X changes nothing. For other kernels this would need the kernel values
        of a new row with all training rows, and both are measured from the origin of the feature
        space.
    random_state : int, RandomState or None, default=None
        Seed for drawing candidates.

    Attributes
    ----------
    basis_indices_ : ndarray of shape (n_basis,)
        Training rows that new rows are compared with, in the order of their first use.
    components_ : ndarray of shape (n_components, n_features)
        Weights of the columns; only with ``kernel="linear"``.
    dependence_ : ndarray of shape (n_components,)
        HSIC₀ of each feature and the target with linear kernels, ‖Yᵀτ_j‖²/(m - 1)².
    target_loadings_ : ndarray of shape (n_components, n_targets)
        Coefficients of the features in the prediction.
    intercept_ : ndarray of shape (n_targets,)
        Its constant.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted; only if the target has classes.
    cv_errors_ : ndarray of shape (n_counts,)
        Error of held-out rows with 1, 2, … features: root mean square, or share of wrong classes or
        labels; only with ``n_components="auto"``.
    kernel_ : Kernel
        With every recipe replaced by numbers.

    Warns
    -----
    ConvergenceWarning
        If there are fewer features than requested: no candidate is left that earlier features do
        not span, or that covaries with what they leave of the target.

    Notes
    -----
    Directions have unit length in feature space. With several targets (outputs, or classes as
    indicators) the numerator is summed over them, ‖Yᵀ(I - Π)k_i‖². ``predict`` is least squares on
    the features; a class is the one whose mean prediction is nearest. Whole numbers of up to 20
    values are classes, so scikit-learn is not told that this is a regressor: pass stratified splits
    to its searches if there are classes.

    References
    ----------
    C. Dhanjal, S. Gunn, J. Shawe-Taylor (2009), Efficient sparse kernel feature extraction based on
    partial least squares, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import SMC
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = SMC(3).fit(X, (X**2).sum(axis=1) > 2)
    >>> model.transform(X).shape, len(model.basis_indices_)
    ((200, 3), 3)
    """

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    kernel: KernelLike = "gaussian"
    n_candidates: int | None = 500
    sparsity: int = 1
    center: bool = True
    random_state: Any = None

    _streams: ClassVar[bool] = True
    _needs_coordinates: ClassVar[bool] = False
    _adds_up: ClassVar[bool] = False
    _declared: ClassVar = DECLARED

    def _pairs_held(self, data: Sample) -> float:
        return candidate_pairs(self, data)

    def _instead(self) -> str:
        return "Lower n_candidates, e.g. to 500."

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        return of_single_columns(self, data, answer, count, of_features=False)


# --- how features are found ----------------------------------------------------------------------
def candidate_pairs(model: SMA | SMC, data: Sample) -> float:
    """Pairs among the candidates of one step, where combinations of them are tried."""
    count = data.n_samples if model.n_candidates is None else int(model.n_candidates)
    return 0.0 if model.sparsity == 1 else 4.0 * min(count, data.n_samples) ** 2


def of_single_columns(
    model: SMA | SMC, data: Sample, answer: Answer, count: int, *, of_features: bool
) -> Found:
    """Features of single columns; scores are relative to the length of a feature or direction."""
    center, limit = bool(model.center), model.n_candidates
    examples, target = Examples.of(data, center=center), answer.numbers.seen(center)
    if data.is_streamed:
        return _of_landmarks(model, data, answer, examples, target, count, of_features)
    roots, rng = roots_of(data), check_random_state(model.random_state)

    def draw(is_open: np.ndarray) -> np.ndarray:
        rows = np.flatnonzero(is_open)
        few = limit is None or len(rows) <= limit
        return rows if few else np.sort(rng.choice(rows, limit, replace=False))

    def columns(chosen: np.ndarray) -> Callable[[slice], np.ndarray]:
        own = examples.take(chosen)
        if data.weight is None:
            return lambda rows: own.against(data.rows[rows])
        return lambda rows: roots[rows] * own.against(data.rows[rows])

    found = OrthogonalFeatures(data.n_samples, count, center=center, roots=roots[:, 0])
    search = ColumnSearch(examples, columns, roots * target, of_features, int(model.sparsity))
    chosen = search.deflate(found, count, draw)
    return of_examples(model, data, answer, examples, *chosen, found)


def _of_landmarks(
    model: SMA | SMC,
    data: Sample,
    answer: Answer,
    examples: Examples,
    target: Any,
    count: int,
    of_features: bool,
) -> Found:
    """Features from one visit, among candidates that are drawn once.

    With S = KᵀK and C = KᵀY of their columns K, about the mean if features are, a factor R of
    S = RᵀR and Z with RᵀZ = C have the products of K and Y, and far fewer rows.
    """
    center, indices = bool(model.center), drawn_candidates(model, data.n_samples)
    landmarks = examples.take(indices)
    columns = ExampleColumns(landmarks, data.rows.view)
    space = Space(columns, (data.n_samples, len(indices)), data=data, center=center)
    moments = space.moments(Form(target))
    scatter, cross, own = moments.scatter, moments.cross, moments.scatter.diagonal()
    factor, values = with_products(scatter, cross, square_of(target))
    search = ColumnSearch(
        landmarks,
        lambda chosen: factor[:, chosen].__getitem__,
        values,
        of_features,
        int(model.sparsity),
    )
    found = OrthogonalFeatures(len(factor), count, center=False)
    spanned = own <= LOST * (own + data.n_samples * space.mean**2)
    used, weights = search.deflate(found, count, np.flatnonzero, spanned)
    weights = found.conjugate(weights)[0]
    projection = examples.project(indices[used], weights, space.mean[used] @ weights)

    def pull() -> tuple[np.ndarray, np.ndarray]:
        """From one more visit, for features that are linear in the columns."""
        features = Space.of_sample(data, center=center)
        return features.scatter @ projection.in_features().weights, features.mean

    return deflated(
        model,
        data,
        answer,
        projection,
        lambda: np.empty((0, weights.shape[1])),  # of a stream, they are not made
        squares=np.einsum("ij,ik,kj->j", weights, scatter[np.ix_(used, used)], weights),
        with_target=cross[used].T @ weights,
        pull=pull,
        basis=(indices[used], weights),
    )


def drawn_candidates(model: SMA | SMC, n_rows: int) -> np.ndarray:
    """Positions of the candidates, in order."""
    limit = MOST_CANDIDATES if model.n_candidates is None else int(model.n_candidates)
    if n_rows <= limit:
        return np.arange(n_rows)
    warn_caller(
        f"{type(model).__name__} chooses from {limit:,} of {n_rows:,} rows, drawn once by "
        "random_state: the table is read a chunk at a time, and candidates must be in "
        "memory. n_candidates sets their number.",
        SampledRowsWarning,
    )
    seed = check_random_state(model.random_state).randint(2**31)
    return np.sort(np.random.default_rng(seed).choice(n_rows, limit, replace=False))


# --- the search for directions of one, two or three samples --------------------------------------
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


# --- columns of rows that are read a chunk at a time ---------------------------------------------
def with_products(
    scatter: np.ndarray, cross: np.ndarray, square: float
) -> tuple[np.ndarray, np.ndarray]:
    """R and Z with RᵀR = S, RᵀZ = C and ‖Z‖² = ‖Y‖², from a Cholesky factor with pivots.

    Pivots are those of columns of unit length; what the others leave of one, if less than ``LOST``,
    is taken for zero. The last row of R is zero, that of Z what no column reaches of Y.
    """
    scale = np.sqrt(np.where(scatter.diagonal() > 0, scatter.diagonal(), 1.0))
    upper, order, rank, _ = linalg.lapack.dpstrf(scatter / np.outer(scale, scale), tol=LOST)
    upper, order = np.triu(upper)[:rank], order - 1
    factor = np.zeros((rank + 1, len(scatter)))
    factor[:rank, order] = upper
    values = np.zeros((rank + 1, cross.shape[1]))
    pivots = order[:rank]
    own = cross[pivots] / scale[pivots, np.newaxis]
    values[:rank] = linalg.solve_triangular(upper[:, :rank], own, trans="T")
    values[rank, 0] = np.sqrt(max(square - float(np.square(values).sum()), 0.0))
    return factor * scale, values
