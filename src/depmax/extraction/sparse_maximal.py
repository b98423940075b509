"""Sparse maximal alignment and sparse maximal covariance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state

from depmax._parameters import Rule, integer, is_whole
from depmax._warnings import warn_caller
from depmax.algebra.deflation import ExampleColumns, Examples, OrthogonalFeatures, roots_of
from depmax.algebra.space import Form, Space
from depmax.algebra.targets import square_of
from depmax.data.sample import Sample
from depmax.data.stream import SampledRowsWarning
from depmax.extraction._fitting.column_search import ColumnSearch
from depmax.extraction._fitting.prediction import FeaturePredictor
from depmax.extraction._fitting.search import Answer, Found, deflated, of_examples
from depmax.extraction._fitting.sums import SumsExtractor
from depmax.kernels import KernelLike

#: Candidates among the rows of a table that is read a chunk at a time, where all are asked for.
MOST_CANDIDATES = 2000
#: What is left of a column of unit square beside others, below which it is rounding errors.
LOST = 1e-12


@dataclass(eq=False, repr=False)
class SparseExtractor(FeaturePredictor, SumsExtractor):
    """Features of single kernel columns; a subclass says what their score is divided by."""

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    kernel: KernelLike = "gaussian"
    n_candidates: int | None = 500
    sparsity: int = 1
    center: bool = True
    random_state: Any = None

    #: Whether scores are relative to the length of a feature, or of its direction.
    _of_features: ClassVar[bool]
    _streams: ClassVar[bool] = True
    _needs_coordinates: ClassVar[bool] = False
    _adds_up: ClassVar[bool] = False

    _declared: ClassVar = {
        "n_candidates": integer(1, also=[None], hint="None compares all rows"),
        "sparsity": Rule(
            lambda value: is_whole(value) and value in (1, 2, 3),
            "1, 2 or 3 samples per direction",
            "subsets of more than three are too many to search",
        ),
    }

    def _pairs_held(self, data: Sample) -> float:
        """Pairs among the candidates of one step, where combinations of them are tried."""
        count = data.n_samples if self.n_candidates is None else int(self.n_candidates)
        return 0.0 if self.sparsity == 1 else 4.0 * min(count, data.n_samples) ** 2

    def _instead(self) -> str:
        return "Lower n_candidates, e.g. to 500."

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        center, limit = bool(self.center), self.n_candidates
        examples, target = Examples.of(data, center=center), answer.numbers.seen(center)
        if data.is_streamed:
            return self._of_landmarks(data, answer, examples, target, count)
        roots, rng = roots_of(data), check_random_state(self.random_state)

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
        search = ColumnSearch(
            examples, columns, roots * target, self._of_features, int(self.sparsity)
        )
        chosen = search.deflate(found, count, draw)
        return of_examples(self, data, answer, examples, *chosen, found)

    def _of_landmarks(
        self, data: Sample, answer: Answer, examples: Examples, target: Any, count: int
    ) -> Found:
        """Features from one visit, among candidates that are drawn once.

        With S = KᵀK and C = KᵀY of their columns K, about the mean if features are, a factor R of
        S = RᵀR and Z with RᵀZ = C have the products of K and Y, and far fewer rows.
        """
        center, indices = bool(self.center), self._landmarks(data.n_samples)
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
            self._of_features,
            int(self.sparsity),
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
            self,
            data,
            answer,
            projection,
            lambda: np.empty((0, weights.shape[1])),  # of a stream, they are not made
            squares=np.einsum("ij,ik,kj->j", weights, scatter[np.ix_(used, used)], weights),
            with_target=cross[used].T @ weights,
            pull=pull,
            basis=(indices[used], weights),
        )

    def _landmarks(self, n_rows: int) -> np.ndarray:
        """Positions of the candidates, in order."""
        limit = MOST_CANDIDATES if self.n_candidates is None else int(self.n_candidates)
        if n_rows <= limit:
            return np.arange(n_rows)
        warn_caller(
            f"{type(self).__name__} chooses from {limit:,} of {n_rows:,} rows, drawn once by "
            "random_state: the table is read a chunk at a time, and candidates must be in "
            "memory. n_candidates sets their number.",
            SampledRowsWarning,
        )
        seed = check_random_state(self.random_state).randint(2**31)
        return np.sort(np.random.default_rng(seed).choice(n_rows, limit, replace=False))


class SMA(SparseExtractor):
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

    _of_features: ClassVar[bool] = True


class SMC(SparseExtractor):
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

    _of_features: ClassVar[bool] = False


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
