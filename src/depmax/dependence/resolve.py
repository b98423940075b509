"""Parameters of kernels are estimated from data, from the target too if a policy needs it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from depmax.data import Table
from depmax.data.sample import Sample, aligned, read_sample, read_target_sample
from depmax.data.table import require_equal_length
from depmax.data.weights import weigh
from depmax.dependence._terms import centred_gram, terms
from depmax.kernels import KernelLike
from depmax.kernels.kernel import Kernel

#: Rows that ``bandwidth="maximize"`` compares candidates on; more are sampled with a fixed seed.
MAXIMIZE_ROWS = 1000
#: Up to so many candidates are all compared; of more every fourth, and then those about the best.
ALL_COMPARED, STRIDE = 50, 4
#: Part of the largest HSIC by which that of an equal kernel may differ.
ROUNDING = 1e-9


def most_dependent(
    target: Sample,
    candidates: Sequence[Kernel],
    X: Any,
    known: np.ndarray | None = None,
    *,
    warn: bool = True,
) -> Kernel:
    """The candidate with the largest unbiased HSIC with the target; its weights, if it learns them.

    With the target filled in by ``partial`` it is what ``bandwidth="maximize"`` chooses by.

    Parameters
    ----------
    target : Sample
    candidates : kernels, resolved
        From the narrowest to the widest.
    X : rows that the kernels read
    known : ndarray of int, optional
        Rows of X that the target belongs to, if it is not known for all.
    warn : bool
        Whether to say that the best is the first or the last; not in a search, which chooses for
        hundreds of sets of columns.
    """
    X = X if known is None else X[known]
    rows = np.arange(target.n_samples)
    if target.n_samples > MAXIMIZE_ROWS:
        rows = np.random.default_rng(0).choice(target.n_samples, MAXIMIZE_ROWS, replace=False)
    part = target.take(rows)
    if candidates[0].capabilities.learns_weights:
        return _with_weights(candidates[0], X[rows], part)
    sides = [Sample(kernel, X[rows], weight=part.weight) for kernel in candidates]
    best, most = _largest(lambda place: terms(sides[place], part, unbiased=True).hsic(), len(sides))
    if warn and most > 0 and len(sides) > 2 and best in (0, len(sides) - 1):
        which, beyond = ("smallest", "smaller") if best == 0 else ("largest", "larger")
        warnings.warn(
            f"The bandwidth with the largest HSIC is the {which} of those compared, "
            f"{candidates[best]!r}: {beyond} ones may show more dependence. Pass a sequence that "
            "reaches further, such as bandwidth=np.geomspace(0.001, 1.0, 20).",
            UserWarning,
            stacklevel=2,
        )
    return candidates[best]


def _largest(value: Callable[[int], float], count: int) -> tuple[int, float]:
    """Place of the largest of so many values along a smooth curve, and this value."""
    stride = 1 if count <= ALL_COMPARED else STRIDE
    known = {place: value(place) for place in range(0, count, stride)}
    while True:
        most = max(known.values())
        equal = [place for place in known if known[place] >= most - ROUNDING * abs(most)]
        # of levels and constants many kernels are equal: the one in the middle of the list
        best = min(equal, key=lambda place: abs(2 * place - count + 1))
        if stride == 1:
            return best, known[best]
        stride //= 2
        for place in (best - stride, best + stride):
            if 0 <= place < count and place not in known:
                known[place] = value(place)


def _with_weights(kernel: Any, rows: Any, target: Sample) -> Kernel:
    """A kernel of several parts, with the weights that their dependence on the target asks for."""
    matrices = [_centred(part(rows), target.weight) for part in kernel.kernels]
    with_target = _centred(target.gram(), target.weight)
    cross = np.array([np.sum(matrix * with_target) for matrix in matrices])
    products = np.array([[np.sum(one * other) for one in matrices] for other in matrices])
    learned: Kernel = kernel.learned(cross, products)
    return learned


def _centred(matrix: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """HKH, with weights W^½HKHᵀW^½; zero where rounding errors are all that is left."""
    centred = centred_gram(matrix, weight)
    noise = len(matrix) * np.finfo(np.float64).eps * np.abs(matrix).max(initial=0.0)
    if np.abs(centred).max(initial=0.0) <= noise:
        return np.zeros_like(centred)
    return centred if weight is None else centred * np.sqrt(np.outer(weight, weight))


def refuse_to_choose(caller: str, candidates: Sequence[Kernel], X: Any) -> Kernel:
    """What ``bandwidth="maximize"`` comes to: a choice that the null law knows nothing of."""
    learns = candidates[0].capabilities.learns_weights
    what = "learned weights" if learns else 'bandwidth="maximize", or several bandwidths,'
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
    if sample_weight is None:
        X, y = aligned(X, y)
    weight, X, y = weighted_rows(sample_weight, X, y, kernel, target_kernel)
    y_sample = read_target_sample(y, target_kernel, weight=weight)
    x_sample = read_sample(X, kernel, choose=partial(most_dependent, y_sample), weight=weight)
    require_equal_length(x_sample.n_samples, y_sample.n_samples)
    return x_sample, y_sample


def require_numbers(table: Table, owner: str, name: str = "X") -> None:
    """Refuse categories, for measures that compare numbers only."""
    if table.categories:
        column = min(table.categories)
        label = table.names[column] if table.names else column
        raise TypeError(
            f"{owner} compares numbers, but column {label!r} of {name} is categorical: drop it, or "
            "encode it as numbers."
        )


def weighted_rows(
    sample_weight: Any, X: Any, y: Any = None, kernel: Any = None, target_kernel: Any = None
) -> tuple[np.ndarray | None, Any, Any]:
    """Weights, and the rows of X and y that have one; all rows if there are no weights."""
    if sample_weight is None:
        return None, X, y
    found = weigh(sample_weight, X, y)
    return found.weight, found.of(X, kernel), found.of(y, target_kernel)


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
        Needed for ``bandwidth="maximize"``, and for several bandwidths, of which that with the
        largest unbiased HSIC with y is taken.
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
