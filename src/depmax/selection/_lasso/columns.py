"""One kernel matrix per column: standardised numbers under one kernel, categories under Delta."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from depmax._resources import slices
from depmax.data.columns import Categories
from depmax.kernels import Delta
from depmax.kernels.kernel import Choose, Kernel
from depmax.selection._scores.outputs import standardized


@dataclass(frozen=True)
class SharedKernel:
    """Columns that share a kernel, or a single column with a kernel of its own."""

    columns: np.ndarray  # positions among all columns
    values: np.ndarray  # of shape (n_samples, len(columns)), as the kernel reads them
    kernel: Kernel  # resolved
    invariant: bool  # k(x, z) is a function of x - z: many columns in one call

    def take(self, positions: np.ndarray | slice) -> SharedKernel:
        """Some of the columns, by position in this part."""
        values = np.ascontiguousarray(self.values[:, positions])
        return SharedKernel(self.columns[positions], values, self.kernel, self.invariant)

    def chunks(self, size: int) -> list[SharedKernel]:
        """Parts of at most ``size`` columns."""
        return [self.take(part) for part in slices(len(self.columns), size)]

    def of_differences(self, differences: np.ndarray) -> np.ndarray:
        """Kernel as a function of x - z, of the same shape, if the part is invariant.

        The differences are overwritten.
        """
        if self.kernel.capabilities.radial:
            return self.kernel.of_squares(np.square(differences, out=differences))
        values = self.kernel(differences.reshape(-1, 1), np.zeros((1, 1)))
        return values.reshape(differences.shape)

    def diagonals(self, rows: slice = slice(None)) -> np.ndarray:
        """k(x, x) of some rows, of shape (len(columns), n_rows)."""
        values = self.values[rows]
        if self.invariant:
            same = self.of_differences(np.zeros(len(self.columns)))
            return np.repeat(same[:, np.newaxis], len(values), axis=1)
        return self.kernel.diag(values).astype(np.float64)[np.newaxis, :]

    def against(self, pivots: np.ndarray) -> np.ndarray:
        """k(x_i, x_p) of all rows i, with one pivot p per column: shape (len(columns), m)."""
        if self.invariant:
            at = self.values[pivots, np.arange(len(self.columns))]
            return self.of_differences(self.values.T - at[:, np.newaxis])
        return self.kernel(self.values[pivots], self.values).astype(np.float64, copy=False)

    def between(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """k(x_i, x_j) of some rows and some others: shape (n_rows, n_others, len(columns))."""
        left, right = self.values[rows], self.values[others]
        if self.invariant:
            return self.of_differences(left[:, np.newaxis] - right)
        return self.kernel(left, right)[:, :, np.newaxis].astype(np.float64)


def column_kernels(
    X: np.ndarray,
    categories: Categories,
    recipe: Kernel,
    choose: Choose | None = None,
    weight: np.ndarray | None = None,
) -> list[SharedKernel]:
    """Standardise the numbers in X and give every column its kernel.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Categorical columns hold codes.
    categories : mapping
        Keyed by the positions of the categorical columns, which get ``Delta``.
    recipe : Kernel
        Of one standardised column. A policy such as "median" is resolved for each.
    choose : callable, optional
        What the policy "maximize" asks.
    weight : ndarray of shape (n_samples,), optional
        How many rows each stands for.

    Examples
    --------
    >>> from depmax.kernels import Gaussian
    >>> column_kernels(np.array([[1.0, 5.0], [3.0, 5.0]]), {}, Gaussian(1.0))[0].values
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    named = np.array(sorted(categories), dtype=np.intp)
    columns = np.setdiff1d(np.arange(X.shape[1]), named)
    values = standardized(X[:, columns], weight)
    parts: list[SharedKernel] = []
    if len(named):
        codes = X[:, named].astype(np.float64)
        parts.append(SharedKernel(named, codes, Delta(), invariant=True))  # equal or not
    invariant = recipe.capabilities.stationary
    if not len(columns):
        return parts
    if invariant and recipe.is_resolved:
        return [SharedKernel(columns, values, recipe, True), *parts]
    resolved = [recipe.resolve(values[:, [j]], choose, weight) for j in range(len(columns))]
    if invariant and "bandwidth" in recipe.get_params(deep=False):
        # A bandwidth is a length scale: dividing the column by it is the same, up to a factor
        # that the normalisation of each kernel matrix removes.
        widths = np.array([kernel._width() for kernel in resolved])
        unit = clone(recipe).set_params(bandwidth=1.0)
        return [SharedKernel(columns, values / widths, unit, True), *parts]
    own = [
        SharedKernel(columns[[j]], values[:, [j]], kernel, False)
        for j, kernel in enumerate(resolved)
    ]
    return [*own, *parts]
