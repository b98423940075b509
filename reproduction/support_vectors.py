"""Sparse kernel PLS by an ε-insensitive regression, after the idea of its first publication."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.svm import NuSVR

from depmax._parameters import number
from depmax.algebra.deflation import Examples
from depmax.data.sample import Sample
from depmax.extraction import SparseKernelPLS
from depmax.extraction.sparse_kernel_pls import KernelProducts
from depmax.maps.feature_map import leading

#: Precision of the ε-insensitive regression, for a kernel and a target of about 1.
TOLERANCE = 1e-6
#: Arrays of all pairs of rows that it holds: the kernel matrix, a scaled one, the solver's.
MATRICES = 3.0


@dataclass(eq=False, repr=False)
class SupportVectorPLS(SparseKernelPLS):
    """Sparse kernel PLS whose rows and weights an ε-insensitive regression of the residual gives.

    The problem that is solved is ours: ν-support vector regression of what is left of the target on
    the samples, which are not deflated. Its memory is quadratic in the rows. The solver keeps
    kernel values in single precision, so features have about six digits.

    Parameters
    ----------
    n_components, kernel, nu, loss
        See :class:`depmax.SparseKernelPLS`; ``heuristic`` and ``cache_size`` have no effect.
    C : float, default=1.0
        Weight of errors above ε; the kernel is scaled to a mean diagonal of 1, the residual to a
        mean square of 1. Small values keep the direction near a covariance, large ones make it a
        regression.

    References
    ----------
    M. Momma, K. Bennett (2003), Sparse kernel partial least squares regression.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = SupportVectorPLS(2, nu=0.2).fit(X, X[:, 0] ** 2)
    >>> len(model.basis_indices_) < 60
    True
    """

    C: float = 1.0

    _declared: ClassVar = {"C": number(0, ends="()")}

    def _pairs_held(self, data: Sample) -> float:
        return MATRICES * data.n_samples**2

    def _products(self, examples: Examples) -> KernelProducts:
        everything = np.arange(examples.data.n_samples)
        return KernelProducts(examples, everything, examples.gram())

    def _chosen(self, products: Any, left: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        return supported(products.columns, left, float(self.nu), float(self.C))


def supported(
    K: np.ndarray, left: np.ndarray, nu: float, C: float
) -> tuple[np.ndarray, np.ndarray]:
    """Rows with a weight in the ε-insensitive regression of a residual, and their weights.

    The function f = ⟨w, φ⟩ + b with the smallest ½‖w‖² + C Σ(νε + max(0, |r_i - f_i| - ε)), over
    ε ≥ 0 as well, has w = Σβ_iφ_i with β_i = 0 where the error is below ε. Of several outputs r
    is their combination Y_jv whose direction in kernel PLS is the longest.

    Parameters
    ----------
    K : ndarray of shape (m, m)
    left : ndarray of shape (m, r)
        What is left of the target, not zero.
    nu, C : float

    Returns
    -------
    rows : ndarray of shape (n_rows,)
        Sorted.
    weights : ndarray of shape (n_rows, 1)

    Examples
    --------
    >>> supported(np.eye(3), np.array([[1.0], [0.0], [-1.0]]), nu=0.5, C=1.0)[0].tolist()
    [0, 2]
    """
    _, vectors = leading(left.T @ K @ left, 1)
    residual = left @ vectors[:, 0]
    residual = residual / np.sqrt(np.mean(residual**2))
    machine = NuSVR(nu=nu, C=C, kernel="precomputed", tol=TOLERANCE)
    machine.random_state = 0  # not a parameter; without it numpy's global state is drawn from
    machine.fit(K / (np.trace(K) / len(K)), residual)
    order = np.argsort(machine.support_)
    return machine.support_[order], machine.dual_coef_[0, order][:, np.newaxis]
