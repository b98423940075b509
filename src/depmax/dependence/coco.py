"""Constrained covariance: the largest singular value of the cross-covariance operator."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from scipy import linalg, sparse

from depmax.data.sample import Sample, require_samples
from depmax.dependence import _terms
from depmax.dependence._terms import Product, is_constant, product_with
from depmax.dependence.resolve import read_pair
from depmax.kernels import KernelLike

#: Steps of the iteration that are usual.
STEPS = 10
#: Residual of the largest Ritz pair, relative to its value, at which the iteration stops. The
#: error of the value is of the order of its square.
TOLERANCE = 1e-9


def coco(
    X: Any,
    y: Any,
    *,
    kernel: KernelLike = "gaussian",
    target_kernel: KernelLike | Literal["auto"] = "auto",
    sample_weight: Any = None,
) -> float:
    """Constrained covariance (COCO) between X and y.

    The largest covariance of f(X) and g(y) over functions f and g of unit norm in the spaces of the
    two kernels; equally, the largest singular value of the empirical cross-covariance operator,
    √λ_max(K̄L̄) / m with K̄ = HKH and L̄ = HLH. HSIC adds up the squares of all singular values.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, or objects the kernel compares
    y : target: labels, numbers, several columns, or objects
    kernel : kernel or name, default="gaussian"
        As in :func:`depmax.hsic`; positive semidefinite.
    target_kernel : kernel, name or "auto", default="auto"
        As in :func:`depmax.hsic`; positive semidefinite.
    sample_weight : array-like of shape (n_samples,), optional
        How many rows each row stands for, as in :func:`depmax.hsic`.

    Returns
    -------
    float
        Never negative; zero if X or y is constant.

    Notes
    -----
    Some papers print the spectral norm of K̄L̄ instead of its largest eigenvalue. The norm is
    larger in general, since K̄L̄ is not symmetric, and is not the singular value.

    It is computed from exact coordinates if both kernels have few of them, otherwise by Lanczos
    iteration from a fixed start, with memory linear in the number of samples: each step costs one
    product with each kernel matrix.

    References
    ----------
    A. Gretton, A. Smola, O. Bousquet, R. Herbrich, A. Belitski, M. Augath, Y. Murayama, J. Pauls,
    B. Schölkopf, N. Logothetis (2005), Kernel constrained covariance for dependence measurement.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import coco
    >>> x = np.linspace(-1, 1, 50)
    >>> round(coco(x, x**2), 4)
    0.1765
    >>> round(coco(x, x, kernel="linear", target_kernel="linear"), 4)  # the variance of x
    0.3469
    """
    x_sample, y_sample = read_pair(X, y, kernel, target_kernel, sample_weight)
    require_samples(x_sample.total, unbiased=False)
    if is_constant(x_sample) or is_constant(y_sample):
        return 0.0
    if x_sample.is_narrow and y_sample.is_narrow:
        cross = _terms.row_sums(x_sample, y_sample).centred().cross  # ΦᵀHΨ
        return float(linalg.svdvals(cross)[0]) / x_sample.total
    _terms.tell_pairs(x_sample.n_samples, visits=STEPS)
    eigenvalue = _largest_eigenvalue(
        _centred_product(x_sample), _centred_product(y_sample), x_sample.n_samples
    )
    return math.sqrt(eigenvalue) / x_sample.total


def _largest_eigenvalue(times_k: Product, times_l: Product, n_samples: int) -> float:
    """Largest eigenvalue of K̄L̄ by the Lanczos iteration in the inner product uᵀL̄v.

    K̄L̄ is self-adjoint in that inner product, so its restriction to the Krylov space is
    tridiagonal. Every new vector is orthogonalised against all earlier ones.
    """
    vector = np.random.default_rng(0).standard_normal(n_samples)
    vector -= vector.mean()
    image = times_l(vector)
    square = float(vector @ image)
    vectors, images = np.empty((0, n_samples)), np.empty((0, n_samples))  # q_j and L̄q_j, as rows
    diagonal: list[float] = []
    off_diagonal: list[float] = []
    value = 0.0
    for _ in range(n_samples):
        if square <= 0.0:  # the Krylov space is exhausted
            break
        norm = math.sqrt(square)
        vectors = np.vstack([vectors, vector / norm])
        images = np.vstack([images, image / norm])
        vector = times_k(images[-1])
        diagonal.append(float(images[-1] @ vector))
        for _ in range(2):  # the second time removes what rounding left
            vector = vector - (images @ vector) @ vectors
        image = times_l(vector)
        square = float(vector @ image)
        last = len(diagonal) - 1
        values, ritz = linalg.eigh_tridiagonal(
            diagonal, off_diagonal, select="i", select_range=(last, last)
        )
        value = max(0.0, float(values[0]))
        residual = math.sqrt(max(0.0, square)) * abs(float(ritz[-1, 0]))
        if residual <= TOLERANCE * value:
            break
        off_diagonal.append(math.sqrt(max(0.0, square)))
    return value


def _centred_product(side: Sample) -> Product:
    """Make the function v → W^½HKHᵀW^½v of a side with weights W, by the cheapest exact route.

    Its eigenvalues are those of HKH of the rows repeated.
    """
    weight = np.ones(side.n_samples) if side.weight is None else side.weight
    roots, shares = np.sqrt(weight), weight / weight.sum()
    times = product_with(side if sparse.issparse(side.rows) else side.near_origin())

    def product(vector: np.ndarray) -> np.ndarray:
        counted = roots * vector
        image = times(counted - shares * counted.sum())
        centred: np.ndarray = roots * (image - shares @ image)
        return centred

    return product
