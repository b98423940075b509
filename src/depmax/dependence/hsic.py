"""The Hilbert-Schmidt independence criterion."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np

from depmax._resources import has_few_rows, small_problems
from depmax.data.sample import MINIMUM, Sample, require_samples
from depmax.dependence._given.conditional import read_conditional
from depmax.dependence._terms import terms
from depmax.dependence.resolve import read_pair, refuse_to_choose
from depmax.kernels import KernelLike

#: Up to this many rows, threads of BLAS cost more than they win.
FEW_ROWS = 1000


def hsic(
    X: Any,
    y: Any = None,
    *,
    kernel: KernelLike = "gaussian",
    target_kernel: KernelLike | Literal["auto"] = "auto",
    unbiased: bool = True,
    block_size: int | None = None,
    given: Any = None,
    sample_weight: Any = None,
) -> float:
    """Hilbert-Schmidt independence criterion between X and y.

    It is zero (up to noise) for independent samples, and larger the more they depend on each other;
    with characteristic kernels such as the Gaussian, every kind of dependence counts.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, or objects the kernel compares
        With the linear kernel or a map also a Dask collection, or the result of
        :func:`depmax.scan`, which includes the target.
    y : target: labels, numbers, several columns, or objects
    kernel : kernel, name, function or transformer, default="gaussian"
        A transformer (a map) stands for the inner product of its output; with it the cost is
        linear in the number of samples. ``"precomputed"``: X is the kernel matrix.
    target_kernel : kernel, name or "auto", default="auto"
        ``"auto"`` depends on the type of y: class-balanced for two classes, balanced delta for
        many, Gaussian for numbers, linear for multi-labels.
    unbiased : bool, default=True
        HSIC₁ (unbiased, may be negative) or HSIC₀ (biased, never negative).
    block_size : int, optional
        Average over random disjoint blocks of about this many rows (fixed seed): linear in the
        number of samples, still unbiased, with a larger variance.
    given : array-like, series or data frame, optional
        Confounders Z, numbers and categories: the dependence of X and y that remains after removing
        what Z explains of both (``docs/mathematics/given.md``). Zero, up to noise, if X and y are
        independent given Z.
    sample_weight : array-like of shape (n_samples,), optional
        How many rows each row stands for: a weight of 3 counts the row three times, a weight of 0
        ignores it. Any nonnegative numbers are allowed; ``docs/mathematics/weights.md`` explains
        what they mean for the unbiased estimate.

    Returns
    -------
    float

    Notes
    -----
    Memory is linear in the number of samples: Gram matrices are visited in tiles.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import hsic
    >>> x = np.linspace(-1, 1, 50)
    >>> round(hsic(x, x**2), 4)
    0.0287
    """
    if sample_weight is not None and (given is not None or block_size is not None):
        other = "given" if given is not None else "block_size"
        raise ValueError(f"hsic takes sample_weight or {other}, not both.")
    if given is not None:
        if block_size is not None:
            raise ValueError(
                "hsic takes block_size or given, not both: with given, the cost is already linear."
            )
        choose = partial(refuse_to_choose, "hsic with given")
        return read_conditional(X, y, given, kernel, target_kernel, choose)[0].hsic(unbiased)
    with small_problems(has_few_rows(X, FEW_ROWS)):
        x_sample, y_sample = read_pair(X, y, kernel, target_kernel, sample_weight)
        require_samples(x_sample.total, unbiased)
        if block_size is not None and x_sample.is_streamed:
            raise TypeError(
                "block_size= draws random blocks of rows, which is not possible for a table that "
                "is read a chunk at a time: omit it; with a map as the kernel, the cost is linear."
            )
        if block_size is None:
            return terms(x_sample, y_sample, unbiased=unbiased).hsic()
        return _block_average(x_sample, y_sample, unbiased, block_size)


def _block_average(x: Sample, y: Sample, unbiased: bool, block_size: int) -> float:
    """Mean of HSIC over random disjoint blocks of rows."""
    if block_size < MINIMUM[unbiased]:
        raise ValueError(f"block_size must be at least {MINIMUM[unbiased]}, got {block_size}.")
    order = np.random.default_rng(0).permutation(x.n_samples)
    blocks = np.array_split(order, max(1, x.n_samples // block_size))
    values = [terms(x.take(rows), y.take(rows), unbiased=unbiased).hsic() for rows in blocks]
    return float(np.average(values, weights=[len(rows) for rows in blocks]))
