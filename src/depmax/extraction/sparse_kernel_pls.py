"""Kernel partial least squares with sparse dual directions."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from scipy import linalg

from depmax._inputs.parameters import number, one_of
from depmax.extraction._fitting.deflation import DeflationExtractor, Extracted
from depmax.extraction._fitting.targets import CodedTarget
from depmax.kernels import KernelLike
from depmax.pencils import leading
from depmax.pencils.deflation.steps import EXHAUSTED, OrthogonalFeatures
from depmax.pencils.examples import Examples
from depmax.samples import Sample, chunk_rows, slices

#: Residuals that differ by less, relative to themselves, are equal.
TIE = 1e-9


class SparseKernelPLS(DeflationExtractor):
    """Kernel partial least squares whose directions are made of a share ν of the training rows.

    The dual direction of kernel PLS is the residual of the target, β = Y_j; here it is zero outside
    the rows that a heuristic picks again for every feature. Kernel values are computed when needed
    and not kept.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows. A float is a share of the variance of the
        target: the fewest features that explain it on the training rows are kept. ``"auto"`` keeps
        the fewest whose prediction of held-out rows, by five nearest neighbours, is within one
        standard error of the best.
    kernel : kernel, name, callable, transformer or "precomputed", default="gaussian"
    nu : float, default=0.25
        Share of the rows with a weight in each direction, 0 < nu <= 1; 1 is kernel PLS.
    heuristic : {"max_residual", "max_information"}, default="max_residual"
        Rows with the maximum residual ‖y_i‖ of the target, or with the maximum information
        ‖k_iᵀY_j‖, the covariance of their kernel columns with it. The second computes all kernel
        values once more per feature. Rows of equal residual are ranked by their information.

    Attributes
    ----------
    basis_indices_ : ndarray of shape (n_basis,)
        Training rows with a weight in some direction, sorted: new rows are compared with these.
    components_ : ndarray of shape (n_components, n_features)
        Weights of the columns; only with ``kernel="linear"``.
    dependence_ : ndarray of shape (n_components,)
        HSIC₀ of each feature and the target with linear kernels, ‖Yᵀτ_j‖²/(m - 1)².
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
    M. Momma (2005), Efficient computations via scalable sparse kernel partial least squares and
    boosted latent features. C. Dhanjal, S. Gunn, J. Shawe-Taylor (2009), section 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import SparseKernelPLS
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = SparseKernelPLS(2, nu=0.1).fit(X, X[:, 0] ** 2)
    >>> len(model.basis_indices_) <= 20
    True
    """

    _declared: ClassVar = {
        "nu": number(0, 1, ends="(]"),
        "heuristic": one_of("max_residual", "max_information"),
    }

    def __init__(
        self,
        n_components: int | float | Literal["auto"] = 2,
        *,
        kernel: KernelLike = "gaussian",
        nu: float = 0.25,
        heuristic: Literal["max_residual", "max_information"] = "max_residual",
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.nu = nu
        self.heuristic = heuristic

    def _pairs_held(self, side: Sample) -> float:
        """None: kernel values are made a block of rows at a time."""
        return 0.0

    def _features(self, side: Sample, target: CodedTarget | None, n_components: int) -> Extracted:
        assert target is not None
        m = side.n_samples
        examples = Examples.of(side, center=True)
        side = examples.side
        count = max(1, round(float(self.nu) * m))
        found = OrthogonalFeatures(m, n_components, center=True)
        weights = np.zeros((m, n_components))
        start = linalg.norm(target.values - target.values.mean(axis=0))
        while found.count < n_components:
            left = found.residual(target.values)
            if linalg.norm(left) <= EXHAUSTED * start:
                break
            rows = self._chosen(side, left, count)
            chosen, image, size = _direction(side, rows, left[rows])
            if size == 0 or not found.add(image):
                break
            found.rescale(1.0 / size)
            weights[rows, found.count - 1] = chosen / size
        weights = weights[:, : found.count]
        basis = np.flatnonzero(weights.any(axis=1))
        return Extracted.of_examples(examples, basis, weights[basis], found)

    def _chosen(self, side: Sample, left: np.ndarray, count: int) -> np.ndarray:
        """Rows that the heuristic ranks first, sorted."""
        everything = np.arange(side.n_samples)
        if self.heuristic == "max_information":
            scores = linalg.norm(_products(side, everything, left), axis=1)
            return np.sort(np.argsort(-scores, kind="stable")[:count])
        scores = linalg.norm(left, axis=1)
        last = np.partition(scores, len(scores) - count)[len(scores) - count]
        sure = np.flatnonzero(scores > (1 + TIE) * last)
        tied = np.flatnonzero(np.abs(scores - last) <= TIE * last)
        if len(sure) + len(tied) > count:  # rows of one class begin alike: take the informative
            information = linalg.norm(_products(side, everything, left, of=tied), axis=1)
            tied = tied[np.argsort(-information, kind="stable")[: count - len(sure)]]
        return np.sort(np.concatenate([sure, tied]))


def _direction(
    side: Sample, rows: np.ndarray, left: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """β on some rows, its image Kβ on all rows, and ‖u‖."""
    images = _products(side, rows, left)  # K[:, rows] Y_j[rows], shape (m, r)
    inner = left.T @ images[rows]
    values, vectors = leading((inner + inner.T) / 2, 1)
    size = float(np.sqrt(max(values[0], 0.0)))
    return left @ vectors[:, 0], images @ vectors[:, 0], size


def _products(
    side: Sample, rows: np.ndarray, values: np.ndarray, *, of: np.ndarray | None = None
) -> np.ndarray:
    """K[of, rows] V of shape (len(of), r), all rows by default, a block of values at a time."""
    others = side.take(rows).rows
    left = side if of is None else side.take(of)
    image = np.empty((left.n_samples, values.shape[1]))
    for block in slices(left.n_samples, chunk_rows(len(rows))):
        image[block] = side.kernel(left.rows[block], others) @ values
    return image
