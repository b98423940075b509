"""Maximum mean discrepancy between two samples."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from depmax._text import counted
from depmax.data import Table, read_objects, read_table
from depmax.data.sample import Sample, read_target_sample, require_finite_values
from depmax.data.table import numbered_columns, take_columns, warn_of_scales
from depmax.dependence._terms import product_with, tell_pairs
from depmax.dependence.resolve import most_dependent, weighted_rows
from depmax.kernels import KernelLike, as_kernel
from depmax.kernels.kernel import is_precomputed


def mmd(
    X: Any,
    Z: Any,
    *,
    kernel: KernelLike = "gaussian",
    unbiased: bool = True,
    sample_weight: Any = None,
    sample_weight_z: Any = None,
) -> float:
    """Squared maximum mean discrepancy between the samples X and Z.

    The squared distance ‖E φ(x) - E φ(z)‖² between the mean images of two distributions: zero, for
    a characteristic kernel such as the Gaussian, only if they are equal. The *square* is returned.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or objects, with at least two rows
        The first sample.
    Z : the same kind of rows
        The second sample, of any length. Frames need the same columns, in any order.
    kernel : kernel, name, function or transformer, default="gaussian"
        Its parameters are estimated from both samples together; ``bandwidth="maximize"`` takes the
        largest unbiased HSIC with the membership in the samples.
    unbiased : bool, default=True
        Whether to return the U-statistic, which omits k(x, x) and may be negative, or the
        V-statistic, the squared distance between the mean images of the two samples, which is never
        negative.
    sample_weight : array-like with a number per row of X, optional
        How many rows each row stands for: a weight of 3 counts the row three times, a weight of 0
        ignores it. The V-statistic is then the distance between weighted means; the U-statistic
        omits pairs of a row with itself, but not pairs of two of its copies.
    sample_weight_z : array-like with a number per row of Z, optional
        The same for Z.

    Returns
    -------
    float

    Notes
    -----
    Memory is linear in the number of samples; for kernels with few exact coordinates, such as the
    linear one, so is time. With both samples stacked and ``ClassBalanced`` on the membership,
    HSIC₀ = m²/(m-1)² times the V-statistic.

    References
    ----------
    A. Gretton, K. Borgwardt, M. Rasch, B. Schölkopf, A. Smola (2012), A kernel two-sample test.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import mmd
    >>> rng = np.random.default_rng(0)
    >>> x, z = rng.normal(size=(2, 200))
    >>> round(mmd(x, z), 3)
    0.004
    >>> round(mmd(x, z + 1), 3)
    0.127
    """
    side, n_x = _stack(X, Z, kernel, sample_weight, sample_weight_z)
    weight = np.ones(side.n_samples) if side.weight is None else side.weight
    counts = np.array([weight[:n_x].sum(), weight[n_x:].sum()])
    shares = np.zeros((side.n_samples, 2))  # of every row in the mean of its sample
    shares[:n_x, 0], shares[n_x:, 1] = weight[:n_x] / counts[0], weight[n_x:] / counts[1]
    contrast = shares[:, 0] - shares[:, 1]
    side = side if sparse.issparse(side.rows) else side.near_origin()
    if not side.is_narrow:
        tell_pairs(side.n_samples)
    images = product_with(side, once=True)(np.column_stack([contrast, shares]))
    value = float(require_finite_values(contrast @ images[:, 0]))  # ‖μ_x - μ_z‖²
    if not unbiased:
        return max(0.0, value)
    # E‖φ - μ‖² of each sample: what is left of it in a mean of n is not distance
    spread = side.diag() @ shares - np.einsum("ij,ij->j", shares, images[:, 1:])
    return value - float(np.sum(spread / (counts - 1.0)))


def _stack(
    X: Any, Z: Any, kernel: KernelLike, weights_x: Any, weights_z: Any
) -> tuple[Sample, int]:
    """Both samples as one side, the kernel resolved on all of their rows; and the length of X."""
    weight_x, X, _ = weighted_rows(weights_x, X)
    weight_z, Z, _ = weighted_rows(weights_z, Z)
    if is_precomputed(kernel):
        raise ValueError(
            'mmd does not accept kernel="precomputed": pass depmax.kernels.Precomputed(matrix) as '
            "the kernel, and the row numbers of the two samples as X and Z."
        )
    recipe = as_kernel(kernel)
    if recipe.requires_vector_input:
        tables = _read_alike(X, Z)
        values = [table.values for table in tables]
        n_features = values[0].shape[1]
        names = tables[0].names or numbered_columns(n_features, "")
        recipe = recipe.bind(names)
    else:
        values = [read_objects(X, "X"), read_objects(Z, "Z")]
    n_x, n_z = (part.shape[0] for part in values)
    counts = [np.ones(n) if w is None else w for n, w in ((n_x, weight_x), (n_z, weight_z))]
    if min(counts[0].sum(), counts[1].sum()) < 2:
        raise ValueError(
            f"mmd needs at least 2 rows in each sample, got {n_x} in X and {n_z} in Z."
        )
    rows = _concatenate(values)
    if recipe.requires_vector_input:
        warn_of_scales(recipe, rows, tables[0].names, tables[0].categories)
        recipe = recipe.bind(names, tables[0].categories)
    weight = None if weight_x is None and weight_z is None else np.concatenate(counts)
    labels = np.repeat([0, 1], [n_x, n_z])
    membership = read_target_sample(labels, "class_balanced", weight=weight)
    resolved = recipe.resolve(rows, partial(most_dependent, membership), weight)
    return Sample(resolved, rows, weight=weight), n_x


def _read_alike(X: Any, Z: Any) -> tuple[Table, Table]:
    """Both samples as tables with the same columns and the same codes of categories."""
    x, z = read_table(X, name="X"), read_table(Z, name="Z")
    if x.names and z.names and x.names != z.names:
        if sorted(x.names) != sorted(z.names):
            different = sorted(set(x.names) ^ set(z.names))
            raise ValueError(
                f"X and Z are two samples of the same columns, but only one has {different}."
            )
        Z = take_columns(Z, map(z.names.index, x.names))
        z = read_table(Z, name="Z")
    n_x, n_z = x.values.shape[1], z.values.shape[1]
    if n_x != n_z:
        raise ValueError(
            f"X has {counted(n_x, 'column')} but Z has {n_z}: mmd compares two samples of the "
            "same columns."
        )
    if set(x.categories) != set(z.categories):
        column = min(set(x.categories) ^ set(z.categories))
        label = repr(x.names[column]) if x.names else column
        raise TypeError(
            f"Column {label} is categorical in one sample only: make it categorical in X and in Z."
        )
    if x.categories == z.categories:
        return x, z
    levels = {
        column: tuple(sorted({*x.categories[column], *z.categories[column]}, key=str))
        for column in x.categories
    }
    return read_table(X, categories=levels), read_table(Z, categories=levels, name="Z")


def _concatenate(parts: list[Any]) -> Any:
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)
