"""Reduced kernel orthonormalised partial least squares."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state

from depmax._parameters import integer
from depmax.algebra.deflation import Examples, roots_of
from depmax.algebra.space import precision_of
from depmax.data.sample import Sample
from depmax.extraction._fitting.prediction import FeaturePredictor, deflated
from depmax.extraction.extractor import Answer, Found, SumsExtractor
from depmax.kernels import KernelLike
from depmax.maps.feature_map import leading

#: Singular values of the kernel columns below so many of their rounding errors would show these
#: in the features of new rows.
ROUNDINGS = 1e7
#: Singular values below this, relative to the largest, belong to no direction.
RANK = 1e-10


@dataclass(eq=False, repr=False)
class ReducedKernelOPLS(FeaturePredictor, SumsExtractor):
    """Orthonormal features that predict the target best by regression, in the span of a few rows.

    With R the kernel values of all rows with the basis rows, centred, β solves
    RᵀYYᵀRβ = λRᵀRβ. There are at most as many features as the target has dimensions: classes
    minus one, or outputs.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features. A float is a share of the variance of the target: the fewest features
        that explain it on the training rows are kept. ``"auto"`` keeps the fewest whose predictions
        of held-out rows, in ten folds, have an error within one standard error of the smallest: see
        ``cv_errors_``.
    kernel : kernel, name, callable, transformer or "precomputed", default="gaussian"
    n_basis : int or None, default=100
        Number of rows drawn at random as the basis; all if there are fewer, or with None, which is
        the full method. A kernel matrix of full rank can then fit any target exactly.
    random_state : int, RandomState or None, default=None
        Seed for drawing the basis.

    Attributes
    ----------
    basis_indices_ : ndarray of shape (n_basis,)
        Training rows of the basis, sorted.
    components_ : ndarray of shape (n_components, n_features)
        Weights of the columns; only with ``kernel="linear"``.
    dependence_ : ndarray of shape (n_components,)
        HSIC₀ of each feature and the target with linear kernels, ‖Yᵀτ_j‖²/(m - 1)² = λ/(m - 1)².
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
        If there are fewer features than requested.

    Notes
    -----
    ``predict`` is least squares on the features; a class is the one whose mean prediction is
    nearest. Whole numbers of up to 20 values are classes, so scikit-learn is not told that this is
    a regressor: pass stratified splits to its searches if there are classes.

    References
    ----------
    J. Arenas-García, K. Petersen, L. Hansen (2007), Sparse kernel orthonormalized PLS for feature
    extraction in large data sets. C. Dhanjal, S. Gunn, J. Shawe-Taylor (2009), section 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import ReducedKernelOPLS
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.digitize((X**2).sum(axis=1), [1, 3])
    >>> ReducedKernelOPLS(2, n_basis=20, random_state=0).fit_transform(X, y).shape
    (200, 2)
    """

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    kernel: KernelLike = "gaussian"
    n_basis: int | None = 100
    random_state: Any = None

    _adds_up: ClassVar[bool] = False
    _declared: ClassVar = {"n_basis": integer(1, also=[None], hint="None takes all rows")}

    def _pairs_held(self, data: Sample) -> float:
        """R, the left factor of its decomposition, and a copy."""
        m = data.n_samples
        return 3.0 * m * (m if self.n_basis is None else min(int(self.n_basis), m))

    def _instead(self) -> str:
        return "Lower n_basis, e.g. to 100: memory is linear in the rows for each."

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        indices, own = self._drawn(data.n_samples), roots_of(data)  # rows count by √w twice: in
        basis = own[indices]  # sums over them, and among repeated rows of the basis
        examples, precision = Examples.of(data, center=True), precision_of(data)
        columns = examples.take(indices).against(data.rows)
        mean = data.mean_of(columns)
        size = float(np.linalg.norm(own * columns * basis.T))  # that rounding errors relate to
        columns = own * (columns - mean) * basis.T
        left, roots, right = linalg.svd(columns, full_matrices=False)  # R = QDVᵀ
        kept = roots > ROUNDINGS * precision * size
        left, lift = left[:, kept], basis * right[kept].T / roots[kept]
        # With τ = Qv the problem is that of QᵀYYᵀQ.
        cross = left.T @ (own * answer.numbers.centred)
        values, outputs = leading(cross.T @ cross, count)
        alive = values > RANK * values.max(initial=0.0)
        vectors = cross @ outputs[:, alive] / np.sqrt(values[alive])
        weights = lift @ vectors
        projection = examples.project(indices, weights, mean @ weights)
        self.basis_indices_ = indices
        return deflated(self, data, answer, projection, left @ vectors / own)

    def _drawn(self, n_samples: int) -> np.ndarray:
        if self.n_basis is None or self.n_basis >= n_samples:
            return np.arange(n_samples)
        rng = check_random_state(self.random_state)
        return np.sort(rng.choice(n_samples, int(self.n_basis), replace=False))
