"""Correntropy: covariance of two scalars in the feature space of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from depmax.data import read_table
from depmax.data.sample import Sample, require_samples
from depmax.data.table import require_equal_length
from depmax.dependence import _terms
from depmax.dependence._terms import cosine
from depmax.dependence.resolve import require_numbers
from depmax.kernels import KernelLike, as_kernel


def correntropy(
    X: Any, y: Any, *, kernel: KernelLike = "gaussian", coefficient: bool = False
) -> float:
    """Centred correntropy of two scalar samples, or the correntropy coefficient.

    U(X, y) = E k(x, y) over pairs that belong together, minus E E k(x, y) over all pairs. With the
    linear kernel it is the covariance (divided by m), and the coefficient is Pearson's correlation.

    Parameters
    ----------
    X, y : array-like of shape (n_samples,) or (n_samples, 1)
        Two scalars on a *common scale*: the kernel compares values of X with values of y. Scale
        them first if their units differ.
    kernel : kernel or name, default="gaussian"
        Its bandwidth is estimated from both samples pooled.
    coefficient : bool, default=False
        Return η = U(X, y) / √(U(X, X) U(y, y)), between -1 and 1; zero if X or y is constant.

    Returns
    -------
    float

    Notes
    -----
    Correntropy measures how closely y agrees with X on their common scale. Unlike HSIC it can be
    zero for dependent variables. Time is quadratic and memory linear in the number of samples.

    References
    ----------
    J. Xu, H. Bakardjian, A. Cichocki, J. Príncipe (2008), A new nonlinear similarity measure for
    multichannel signals.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import correntropy
    >>> x = np.linspace(-1, 1, 50)
    >>> round(correntropy(x, x, coefficient=True), 4)
    1.0
    >>> round(correntropy(x, -x, coefficient=True), 4)
    -0.4591
    """
    left, right = _scalars(X, "X"), _scalars(y, "y")
    require_equal_length(len(left), len(right))
    require_samples(len(left), unbiased=False)
    resolved = as_kernel(kernel).resolve(np.concatenate([left, right]))
    a, b = Sample(resolved, left), Sample(resolved, right)
    value = _centred(a, b)
    if not coefficient:
        return value
    if (left == left[0]).all() or (right == right[0]).all():
        return 0.0
    return cosine(value, _centred(a, a), _centred(b, b))


def _scalars(values: Any, name: str) -> np.ndarray:
    table = read_table(values, name=name)
    if table.values.shape[1] != 1:
        raise ValueError(
            f"Correntropy compares two scalars, but {name} has {table.values.shape[1]} columns: "
            "pass one column, or use hsic for vectors."
        )
    require_numbers(table, "correntropy", name)
    column: Any = table.values
    return np.asarray(column.toarray() if sparse.issparse(column) else column)


def _centred(a: Sample, b: Sample) -> float:
    """Mean of k(a_i, b_i) minus mean of k(a_i, b_j), gathered over tiles."""
    n = a.n_samples
    if a.is_narrow:
        phi, psi = a.centred_coordinates(), b.centred_coordinates()
        return float(np.vdot(phi, psi)) / n
    paired, total = 0.0, 0.0
    for rows, columns in _terms.tile_pairs(n):
        values = _between(a, rows, b, columns)
        total += float(values.sum())
        if rows is columns:
            paired += float(np.trace(values))
        elif a is b:
            total += float(values.sum())
        else:
            total += float(_between(a, columns, b, rows).sum())
    return paired / n - total / n**2


def _between(a: Sample, rows: slice, b: Sample, columns: slice) -> np.ndarray:
    return a.kernel(a.rows[rows], b.rows[columns]).astype(np.float64, copy=False)
