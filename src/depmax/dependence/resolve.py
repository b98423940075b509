"""Parameters of kernels are estimated from data, from the target too if a policy needs it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from depmax.dependence._terms import terms
from depmax.kernels import KernelLike
from depmax.kernels.kernel import Kernel
from depmax.samples import (
    Sample,
    aligned,
    read_sample,
    read_target_sample,
    require_equal_length,
    weigh,
)

#: Rows that ``bandwidth="maximize"`` compares candidates on; more are sampled with a fixed seed.
MAXIMIZE_ROWS = 1000


def most_dependent(
    target: Sample, candidates: Sequence[Kernel], X: Any, known: np.ndarray | None = None
) -> Kernel:
    """The candidate with the largest unbiased HSIC with the target; its weights, if it learns them.

    With the target filled in by ``partial`` it is what ``bandwidth="maximize"`` chooses by.

    Parameters
    ----------
    target : Sample
    candidates : kernels, resolved
    X : rows that the kernels read
    known : ndarray of int, optional
        Rows of X that the target belongs to, if it is not known for all.
    """
    X = X if known is None else X[known]
    rows = np.arange(target.n_samples)
    if target.n_samples > MAXIMIZE_ROWS:
        rows = np.random.default_rng(0).choice(target.n_samples, MAXIMIZE_ROWS, replace=False)
    part = target.take(rows)
    if candidates[0].capabilities.learns_weights:
        return _with_weights(candidates[0], X[rows], part)
    values = [
        terms(Sample(kernel, X[rows], mass=part.mass), part, unbiased=True).hsic()
        for kernel in candidates
    ]
    return candidates[int(np.argmax(values))]


def _with_weights(kernel: Any, rows: Any, target: Sample) -> Kernel:
    """A kernel of several parts, with the weights that their dependence on the target asks for."""
    matrices = [_centred(part(rows), target.mass) for part in kernel.kernels]
    with_target = _centred(target.gram(), target.mass)
    cross = np.array([np.sum(matrix * with_target) for matrix in matrices])
    products = np.array([[np.sum(one * other) for one in matrices] for other in matrices])
    learned: Kernel = kernel.learned(cross, products)
    return learned


def _centred(matrix: np.ndarray, mass: np.ndarray | None) -> np.ndarray:
    """HKH, with masses W^½HKHᵀW^½; zero where rounding errors are all that is left."""
    centred = matrix - np.average(matrix, axis=0, weights=mass)
    centred -= np.average(centred, axis=1, weights=mass)[:, np.newaxis]
    noise = len(matrix) * np.finfo(np.float64).eps * np.abs(matrix).max(initial=0.0)
    if np.abs(centred).max(initial=0.0) <= noise:
        return np.zeros_like(centred)
    return centred if mass is None else centred * np.sqrt(np.outer(mass, mass))


def refuse_to_choose(caller: str, candidates: Sequence[Kernel], X: Any) -> Kernel:
    """What ``bandwidth="maximize"`` comes to: a choice that the null law knows nothing of."""
    learns = candidates[0].capabilities.learns_weights
    what = "learned weights" if learns else 'bandwidth="maximize"'
    raise ValueError(
        f"{caller} does not take {what} of {type(candidates[0]).__name__}: a kernel "
        "chosen for its dependence on the rows that are tested rejects too often. Choose it on "
        "other rows, kernel=depmax.resolve(kernel, X[:half], y[:half]), and test on X[half:], "
        "y[half:]; or use bandwidth='median'. Without a kernel, hsic_test compares many bandwidths "
        "at an exact level."
    )


def read_pair(
    X: Any,
    y: Any,
    kernel: KernelLike,
    target_kernel: KernelLike | Literal["auto"],
    sample_weight: Any = None,
) -> tuple[Sample, Sample]:
    """Both sides of a measure, of equal length, with ``"maximize"`` resolved on the target."""
    mass = None
    if sample_weight is None:
        X, y = aligned(X, y)
    else:
        weighed = weigh(sample_weight, X, y)
        mass = weighed.mass
        X, y = weighed.of(X, kernel), weighed.of(y, target_kernel)
    y_sample = read_target_sample(y, target_kernel, mass=mass)
    x_sample = read_sample(X, kernel, choose=partial(most_dependent, y_sample), mass=mass)
    require_equal_length(x_sample.n_samples, y_sample.n_samples)
    return x_sample, y_sample


def resolve(
    kernel: KernelLike,
    X: Any,
    y: Any = None,
    *,
    target_kernel: KernelLike | Literal["auto"] = "auto",
) -> Kernel:
    """Copy of a kernel with every recipe replaced by numbers.

    Parameters
    ----------
    kernel : kernel or name
    X : rows from which bandwidths and weights are estimated
    y : target, optional
        Needed for ``bandwidth="maximize"``, which takes the largest unbiased HSIC with y.
    target_kernel : kernel, name or "auto"
        Kernel of y.

    Returns
    -------
    Kernel
        Ready to compare any two sets of rows.

    Examples
    --------
    >>> from depmax import resolve
    >>> resolve("gaussian", [[0.0], [1.0], [3.0]])
    Gaussian(bandwidth=2.0)
    """
    choose = None if y is None else partial(most_dependent, read_target_sample(y, target_kernel))
    return read_sample(X, kernel, choose=choose).kernel
