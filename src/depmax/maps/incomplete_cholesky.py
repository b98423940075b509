"""The incomplete Cholesky map of a kernel."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from depmax._inputs.parameters import integer, number
from depmax.kernels import KernelLike
from depmax.maps._pivots import PivotMap, factor_to
from depmax.samples import Sample


class IncompleteCholesky(PivotMap):
    """Coordinates in the span of training rows chosen one by one, with a stated error.

    Each step takes the row that the rows so far explain worst (the largest diagonal entry of
    K - ΦΦᵀ, the first of equals) and adds its column to a Cholesky factor. The kernel matrix is
    never formed: r steps over m rows cost m r kernel values, O(m r²) operations and m r numbers.
    It stops at ``n_components``, when the error is below ``tol``, or when nothing but rounding
    noise is left, as with repeated rows; there are then fewer columns.

    Parameters
    ----------
    n_components : int or None, default=None
        Largest number of pivots; None leaves the choice to ``tol``. With tens of thousands of rows
        give a number: the factor has as many columns.
    kernel : kernel, name, callable, transformer or "precomputed", default="gaussian"
    tol : float, default=1e-6
        Stop when the trace of K - ΦΦᵀ is at most ``tol`` times the trace of K.

    Attributes
    ----------
    pivots_ : ndarray of shape (n_features_out,)
        Positions of the chosen rows among the training rows, in order.
    residual_ : float
        Trace of K - ΦΦᵀ, which is the nuclear norm of this error, since it is positive
        semidefinite.
    kernel_ : Kernel
        The kernel with every recipe replaced by numbers.

    References
    ----------
    Fine, S. and Scheinberg, K. (2001). Efficient SVM training using low-rank kernel
    representations. Bach, F. and Jordan, M. (2002). Kernel independent component analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.maps import IncompleteCholesky
    >>> X = np.linspace(0.0, 1.0, 200)[:, np.newaxis] ** 2
    >>> cholesky = IncompleteCholesky().fit(X)
    >>> cholesky.pivots_[:3], len(cholesky.pivots_)
    (array([  0, 199, 141]), 9)
    """

    _declared: ClassVar = {
        "n_components": integer(1, also=[None]),
        "tol": number(0, 1, ends="[)"),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: KernelLike = "gaussian",
        tol: float = 1e-6,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.tol = tol

    def _fit(self, sample: Sample) -> np.ndarray:
        partial = factor_to(sample, self.tol, self.n_components)
        self.pivots_ = np.array(partial.pivots)
        self.residual_ = float(partial.residual.sum())
        return self._keep(partial)
