"""One kernel matrix per column: standardised numbers under one kernel, categories under Delta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from depmax._inputs.table import Categories
from depmax.kernels import Delta
from depmax.kernels.kernel import Choose, Kernel

#: A column whose standard deviation is below so many roundings of its largest value is constant.
NOISE = 16


@dataclass(frozen=True)
class Part:
    """Columns that share a kernel, or a single column with a kernel of its own."""

    columns: np.ndarray  # positions among all columns
    values: np.ndarray  # of shape (n_samples, len(columns)), as the kernel reads them
    kernel: Kernel  # resolved
    invariant: bool  # k(x, z) is a function of x - z: many columns in one call

    def take(self, positions: np.ndarray | slice) -> Part:
        """Some of the columns, by position in this part."""
        values = np.ascontiguousarray(self.values[:, positions])
        return Part(self.columns[positions], values, self.kernel, self.invariant)

    def chunks(self, size: int) -> list[Part]:
        """Parts of at most ``size`` columns."""
        starts = range(0, len(self.columns), size)
        return [self.take(slice(start, start + size)) for start in starts]

    def of_differences(self, differences: np.ndarray) -> np.ndarray:
        """Kernel as a function of x - z, of the same shape, if the part is invariant.

        The differences are overwritten.
        """
        if self.kernel.capabilities.radial:
            return self.kernel.of_squares(np.square(differences, out=differences))
        values = self.kernel(differences.reshape(-1, 1), np.zeros((1, 1)))
        return values.reshape(differences.shape)

    def diag(self, row: int) -> np.ndarray:
        """k(x, x) of one row, a value per column."""
        if self.invariant:
            return self.of_differences(np.zeros(len(self.columns)))
        return self.kernel.diag(self.values[[row]]).astype(np.float64, copy=False)

    def against(self, pivots: np.ndarray) -> np.ndarray:
        """k(x_i, x_p) of all rows i, with one pivot p per column: shape (len(columns), m)."""
        if self.invariant:
            at = self.values[pivots, np.arange(len(self.columns))]
            return self.of_differences(self.values.T - at[:, np.newaxis])
        return self.kernel(self.values[pivots], self.values).astype(np.float64, copy=False)

    def diagonals(self) -> np.ndarray:
        """k(x, x) of all rows, of shape (len(columns), m)."""
        if self.invariant:
            m = self.values.shape[0]
            return np.repeat(self.diag(0)[:, np.newaxis], m, axis=1)
        return self.kernel.diag(self.values).astype(np.float64)[np.newaxis, :]


@dataclass(frozen=True)
class ColumnKernels:
    """A kernel for each of n_features columns, over the same rows."""

    parts: tuple[Part, ...]
    n_samples: int
    n_features: int

    def take(self, columns: np.ndarray) -> tuple[Part, ...]:
        """Parts that hold these columns only; their ``columns`` are positions in the selection."""
        position = np.full(self.n_features, -1)
        position[columns] = np.arange(len(columns))
        chosen = []
        for part in self.parts:
            inside = np.flatnonzero(position[part.columns] >= 0)
            if len(inside):
                some = part.take(inside)
                chosen.append(
                    Part(position[some.columns], some.values, some.kernel, part.invariant)
                )
        return tuple(chosen)


def column_kernels(
    X: np.ndarray, categories: Categories, recipe: Kernel, choose: Choose | None = None
) -> ColumnKernels:
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

    Examples
    --------
    >>> from depmax.kernels import Gaussian
    >>> column_kernels(np.array([[1.0, 5.0], [3.0, 5.0]]), {}, Gaussian(1.0)).parts[0].values
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    m, d = X.shape
    named = np.array(sorted(categories), dtype=np.intp)
    numeric = np.setdiff1d(np.arange(d), named)
    parts: list[Part] = []
    if len(numeric):
        parts += _numeric_parts(numeric, standardised(X[:, numeric]), recipe, choose)
    if len(named):
        codes = X[:, named].astype(np.float64)
        parts.append(Part(named, codes, Delta(), invariant=True))  # codes are equal or not
    return ColumnKernels(tuple(parts), m, d)


def _numeric_parts(
    columns: np.ndarray, values: np.ndarray, recipe: Kernel, choose: Choose | None
) -> list[Part]:
    invariant = recipe.capabilities.stationary
    if invariant and recipe.is_resolved:
        return [Part(columns, values, recipe, True)]
    resolved = [recipe.resolve(values[:, [j]], choose) for j in range(len(columns))]
    if invariant and "bandwidth" in recipe.get_params(deep=False):
        # A bandwidth is a length scale: dividing the column by it is the same, up to a factor
        # that the normalisation of each kernel matrix removes.
        widths = np.array([_bandwidth(kernel) for kernel in resolved])
        unit = clone(recipe).set_params(bandwidth=1.0)
        return [Part(columns, values / widths, unit, True)]
    return [Part(columns[[j]], values[:, [j]], kernel, False) for j, kernel in enumerate(resolved)]


def _bandwidth(kernel: Any) -> float:
    return float(kernel.bandwidth)


def standardised(X: np.ndarray) -> np.ndarray:
    """Columns in float64 with mean 0 and standard deviation 1; constants become 0.

    Examples
    --------
    >>> standardised(np.array([[0.0, 1e300], [2.0, -1e300]]))
    array([[-1.,  1.],
           [ 1., -1.]])
    """
    values = X.astype(np.float64)
    largest = np.abs(values).max(axis=0)
    values /= np.where(largest > 0, largest, 1.0)  # so that no square overflows
    values -= values.mean(axis=0)
    spread = values.std(axis=0)
    constant = spread <= NOISE * np.finfo(X.dtype).eps
    values /= np.where(constant, 1.0, spread)
    values[:, constant] = 0.0
    return values
