"""Kernel partial least squares with sparse dual directions."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state

from depmax._parameters import integer, number, one_of
from depmax._resources import chunk_rows, slices, warn_if_long
from depmax.algebra.deflation import Examples, OrthogonalFeatures
from depmax.algebra.losses import LOSSES, descent
from depmax.data.sample import Sample
from depmax.extraction._fitting.prediction import of_examples
from depmax.extraction.boosted_latent_features import LossExtractor
from depmax.extraction.extractor import Answer, Found
from depmax.kernels import KernelLike
from depmax.maps.feature_map import leading

#: Time of one core for a Gaussian kernel value.
SECONDS_PER_VALUE = 3.6e-9
INSTEAD = (
    "A smaller nu takes less; KernelPLS(kernel=NystroemMap(200)) takes time that is linear in the "
    "rows."
)
#: Residuals that differ by less, relative to themselves, are equal.
TIE = 1e-9


@dataclass(eq=False, repr=False)
class SparseKernelPLS(LossExtractor):
    """Kernel partial least squares whose directions are made of a share ν of the training rows.

    The dual direction of kernel PLS is the residual of the target, β = Y_j; here it is zero outside
    the rows that a heuristic picks again for every feature. Kernel values are computed when needed
    and not kept. With another ``loss`` its negative gradient takes the place of the residual:
    sparse kernel boosted latent features.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows. A float is a share of the variance of the
        target: the fewest features that explain it on the training rows are kept. ``"auto"`` keeps
        the fewest whose predictions of held-out rows, in ten folds, have an error within one
        standard error of the smallest: see ``cv_errors_``.
    kernel : kernel, name, callable, transformer or "precomputed", default="gaussian"
    nu : float, default=0.25
        Share of the rows with a weight in each direction, 0 < nu <= 1; 1 is kernel PLS.
    heuristic : {"max_residual", "max_information"}, default="max_residual"
        Rows with the maximum residual ‖y_i‖ of the target, or with the maximum information
        ‖k_iᵀY_j‖, the covariance of their kernel columns with it. The second computes all kernel
        values once more per feature. Rows of equal residual are ranked by their information.
    loss : {"least_squares", "absolute", "exponential", "logistic"}, default="least_squares"
        As in :class:`BoostedLatentFeatures`: the last two need classes or labels and make this a
        classifier, the others a regressor, for which whole numbers are numbers.
    cache_size : int or None, default=None
        For ``"max_information"``: look among so many rows only, drawn once, and keep their kernel
        columns, so that no kernel value is computed twice. No other row gets a weight then. None
        looks at all rows.
    random_state : int, RandomState or None, default=None
        Which rows are cached; without ``cache_size`` nothing is random.

    Attributes
    ----------
    basis_indices_ : ndarray of shape (n_basis,)
        Training rows with a weight in some direction, sorted: new rows are compared with these.
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
        Error of held-out rows with 1, 2, … features: root mean square (mean absolute value with
        that loss), or share of wrong classes or labels; only with ``n_components="auto"``.
    kernel_ : Kernel
        With every recipe replaced by numbers.

    Warns
    -----
    ConvergenceWarning
        If there are fewer features than requested.

    Notes
    -----
    A direction is u_j = Φᵀβ_j of the samples themselves, in the paper's framework. The method as
    first published takes deflated samples, and then a new row needs kernel values with all rows;
    here it needs those of ``basis_indices_``. With nu=1 the two agree.

    References
    ----------
    M. Momma, K. Bennett (2003), Sparse kernel partial least squares regression. M. Momma (2005),
    Efficient computations via scalable sparse kernel partial least squares and boosted latent
    features. C. Dhanjal, S. Gunn, J. Shawe-Taylor (2009), section 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import SparseKernelPLS
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = SparseKernelPLS(2, nu=0.1).fit(X, X[:, 0] ** 2)
    >>> len(model.basis_indices_) <= 20
    True
    """

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    kernel: KernelLike = "gaussian"
    nu: float = 0.25
    heuristic: Literal["max_residual", "max_information"] = "max_residual"
    loss: Literal["least_squares", "absolute", "exponential", "logistic"] = "least_squares"
    cache_size: int | None = None
    random_state: int | np.random.RandomState | None = None

    _declared: ClassVar = {
        "nu": number(0, 1, ends="(]"),
        "heuristic": one_of("max_residual", "max_information"),
        "loss": one_of(*LOSSES),
        "cache_size": integer(1, also=[None]),
    }

    def _pairs_held(self, data: Sample) -> float:
        """Cached columns; other kernel values are computed a block of rows at a time."""
        return data.n_samples * float(self.cache_size or 0)

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        m, loss = data.n_samples, LOSSES[self.loss]
        seconds = SECONDS_PER_VALUE * float(self.nu) * count * m**2
        warn_if_long(f"SparseKernelPLS of {m:,} rows", seconds, INSTEAD)
        values = self._seen(answer.numbers)
        examples = Examples.of(data, center=True)
        products = self._products(examples)
        n_rows = max(1, round(float(self.nu) * m))
        found = OrthogonalFeatures(m, count, center=True)
        weights = np.zeros((m, count))
        while found.count < count:
            left = descent(found, values, loss)
            if not left.any():
                break
            rows, left = self._chosen(products, left, n_rows)
            images = products(rows, left)
            inner = left.T @ images[rows]
            squares, vectors = leading((inner + inner.T) / 2, 1)  # ‖u‖² of β = Y_jv on these rows
            size = float(np.sqrt(max(squares[0], 0.0)))
            if size == 0 or not found.add(images @ vectors[:, 0], size=size):
                break
            weights[rows, found.count - 1] = left @ vectors[:, 0] / size
        weights = weights[:, : found.count]
        basis = np.flatnonzero(weights.any(axis=1))
        return of_examples(self, data, answer, examples, basis, weights[basis], found)

    def _check_parameters(self) -> None:
        if self.cache_size is not None and self.heuristic != "max_information":
            raise ValueError(
                f"cache_size of SparseKernelPLS has no effect with heuristic={self.heuristic!r}: "
                "leave it out, or take heuristic='max_information'."
            )

    def _products(self, examples: Examples) -> KernelProducts:
        m = examples.data.n_samples
        everything = KernelProducts(examples, np.arange(m))
        if self.cache_size is None:
            return everything
        rng, size = check_random_state(self.random_state), min(self.cache_size, m)
        cached = np.sort(rng.choice(m, size=size, replace=False))
        return KernelProducts(examples, cached, everything(cached, np.eye(size)))

    def _chosen(
        self, products: KernelProducts, left: np.ndarray, count: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows that the heuristic ranks first, sorted, and what is left of the target there."""
        if self.heuristic == "max_information":
            rows = products.most_informative(products.candidates, left, count)
        else:
            scores = linalg.norm(left, axis=1)
            last = np.partition(scores, len(scores) - count)[len(scores) - count]
            rows = np.flatnonzero(scores > (1 + TIE) * last)
            tied = np.flatnonzero(np.abs(scores - last) <= TIE * last)
            if len(rows) + len(tied) > count:  # rows of one class begin alike: the informative
                tied = products.most_informative(tied, left, count - len(rows))
            rows = np.concatenate([rows, tied])
        rows = np.sort(rows)
        return rows, left[rows]


@dataclass(frozen=True)
class KernelProducts:
    """Products with kernel columns, computed a block of rows at a time, or kept."""

    examples: Examples
    candidates: np.ndarray  # samples that directions may be made of, sorted
    columns: np.ndarray | None = None  # their kernel columns, if kept, shape (m, c)

    def __call__(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """K[:, rows] V of shape (m, r)."""
        if self.columns is not None:
            return self.columns[:, np.searchsorted(self.candidates, rows)] @ values
        return self._product(slice(None), rows, values)

    def most_informative(self, rows: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
        """The samples among some with the largest ‖k_iᵀV‖."""
        if self.columns is not None:
            images = self.columns[:, np.searchsorted(self.candidates, rows)].T @ values
        else:
            images = self._product(rows, slice(None), values)
        return rows[np.argsort(-linalg.norm(images, axis=1), kind="stable")[:count]]

    def _product(self, left: Any, right: Any, values: np.ndarray) -> np.ndarray:
        own, others = self.examples.data.rows[left], self.examples.take(right)
        image = np.empty((own.shape[0], values.shape[1]))
        for block in slices(len(image), chunk_rows(others.data.n_samples)):
            image[block] = others.against(own[block]) @ values
        return image
