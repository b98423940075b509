"""Scales of the columns that minimise the radius/margin bound of a support vector machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from depmax._inputs import Target, read_target
from depmax._inputs.table import Categories
from depmax.dependence._terms import require_samples
from depmax.kernels import KernelLike
from depmax.samples import require_equal_length
from depmax.selection.base import DependenceSelector, Ranking
from depmax.selection.radius_margin import RadiusMargin, scaled_kernel
from depmax.selection.scores.columns import constant_columns
from depmax.selection.scores.outputs import machine_signs, standardized


class R2W2(DependenceSelector):
    """Columns by the scales that minimise the radius/margin bound R²‖w‖² of an SVM.

    Rows in a ball of radius R, separated with margin 1/‖w‖, are misclassified when left out at
    most about R²‖w‖² times. Every column gets a factor, and the bound is minimised over all
    factors by its gradient.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        How many columns to keep; a float below 1 is a share, None is half.
    kernel : {"gaussian", "linear"} or such a kernel object, default="gaussian"
        Kernel of the machine. The bandwidth of the Gaussian kernel is where the factors start
        from, so it matters little.
    C : float, default=100.0
        Weight of squared errors: 1/C is added to the diagonal of the kernel matrix, which makes
        every sample separable. Its inverse is the noise that the machine allows for.
    max_iter : int, default=100
        Most steps of the minimisation (L-BFGS-B).

    Attributes
    ----------
    ranking_ : ndarray of shape (n_features,)
        1 is best, all distinct: by the factor, and among columns whose factor is 0 by how little
        the bound rises with it. Constant columns rank last.
    scores_ : ndarray of shape (n_features,)
        Factor θ of the squared differences in each column, with respect to the start.
    path_ : tuple of (n_features, bound)
        Columns with a factor above 0 and the bound after each step: here smaller is better.
    n_iter_ : int
        Steps of the minimisation.
    support_, stand_ins_, n_features_
        As in every selector.

    Notes
    -----
    Columns are standardised first. The factors θ ≥ 0 multiply *squared* differences (or products,
    for the linear kernel), that is θ = σ² for the scales σ of the publications: in σ every column
    has a spurious stationary point at 0. For the linear kernel θ ≤ 1, since a common factor
    changes nothing but the weight of errors. Several classes are one machine each against the
    rest, several labels one each: their ‖w‖² add up. Memory is quadratic in the number of rows,
    time per step between quadratic and cubic: for some thousands of rows. The bound has local
    minima; the search starts with all columns alike and is deterministic.

    References
    ----------
    J. Weston, S. Mukherjee, O. Chapelle, M. Pontil, T. Poggio, V. Vapnik (2000), Feature selection
    for SVMs.
    O. Chapelle, V. Vapnik, O. Bousquet, S. Mukherjee (2002), Choosing multiple parameters for
    support vector machines.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.selection.r2w2 import R2W2
    >>> X = np.random.default_rng(0).normal(size=(80, 5))
    >>> ring = X[:, 1] ** 2 + X[:, 3] ** 2 > 1.5
    >>> R2W2(2).fit(X, ring).get_support(indices=True).tolist()
    [1, 3]
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        kernel: KernelLike = "gaussian",
        C: float = 100.0,
        max_iter: int = 100,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.kernel = kernel
        self.C = C
        self.max_iter = max_iter

    def _compared_by(self) -> None:
        """Columns are put on one scale first."""

    def _rank(self, X: Any, y: Any, categories: Categories) -> Ranking:
        target = read_target(y)
        self._check(X, target)
        varying = np.flatnonzero(~constant_columns(X))
        factors, slopes = np.zeros(X.shape[1]), np.full(X.shape[1], np.inf)
        path: list[tuple[int, float]] = []
        self.n_iter_ = 0
        if len(varying):
            rows = standardized(X[:, varying])
            bound = RadiusMargin(
                scaled_kernel(self.kernel, rows), machine_signs(target), float(self.C)
            )
            found = self._minimize(bound, len(varying), path)
            factors[varying], slopes[varying] = found.x, found.jac
            self.n_iter_ = int(found.nit)
        return Ranking(np.lexsort((slopes, -factors)), factors, tuple(path))

    def _minimize(self, bound: RadiusMargin, n_columns: int, path: list[tuple[int, float]]) -> Any:
        """Smallest bound near the start, each step noted in ``path``."""

        def note(intermediate_result: Any) -> None:
            left = int(np.sum(intermediate_result.x > 0))
            path.append((left, float(intermediate_result.fun)))

        return minimize(
            bound.value_and_gradient,
            np.ones(n_columns),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, bound.kernel.largest)] * n_columns,
            callback=note,
            options={"maxiter": self.max_iter},
        )

    def _check(self, X: np.ndarray, target: Target) -> None:
        require_equal_length(X.shape[0], target.n_samples)
        require_samples(X.shape[0], unbiased=False)
        if target.kind not in ("classes", "multilabel"):
            raise ValueError(
                "R2W2 bounds the errors of a classifier, but y holds numbers: use ZeroNormSVM, "
                "Relief or BAHSIC, or cut y into classes."
            )
        if bool((target.values == target.values[:1]).all()):
            raise ValueError("y has one class only: there is nothing to separate.")
        self._refuse_categories("scales columns of numbers")
        if not (np.isfinite(self.C) and self.C > 0):
            raise ValueError(f"C must be a positive number, got {self.C!r}.")
        if not (isinstance(self.max_iter, int | np.integer) and self.max_iter >= 1):
            raise ValueError(f"max_iter must be a whole number >= 1, got {self.max_iter!r}.")
