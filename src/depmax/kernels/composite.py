"""Sums, products and scalings of kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from scipy import sparse

from depmax.kernels.kernel import Capabilities, Choose, Kernel, resolved_on
from depmax.kernels.names import KernelLike, as_kernel

#: Products of coordinates that are written down, at most; beyond, a kernel has none.
MOST_PRODUCTS = 4096


def total_width(widths: Sequence[int | None]) -> int | None:
    """Coordinates of kernels that are added."""
    known = [width for width in widths if width is not None]
    return sum(known) if len(known) == len(widths) else None


def multiplied_width(widths: Sequence[int | None]) -> int | None:
    """Coordinates of kernels that are multiplied, None if there are more than can be kept."""
    known = [width for width in widths if width is not None]
    product = prod(known)  # of whole numbers of any size
    return product if len(known) == len(widths) and product <= MOST_PRODUCTS else None


class _Pair(Kernel):
    """Two kernels on the same rows, by object or by name."""

    def __init__(self, left: KernelLike, right: KernelLike) -> None:
        self.left = left
        self.right = right

    def _kernels(self) -> tuple[Kernel, Kernel]:
        return as_kernel(self.left), as_kernel(self.right)

    @property
    def capabilities(self) -> Capabilities:
        """What both kernels can do."""
        left, right = self._kernels()
        return left.capabilities.common(right.capabilities)

    @property
    def is_resolved(self) -> bool:
        """Whether both kernels are."""
        return all(kernel.is_resolved for kernel in self._kernels())

    def resolve(
        self, X: Any, choose: Choose | None = None, mass: np.ndarray | None = None
    ) -> Kernel:
        """Copy with both kernels resolved, each by itself."""
        return type(self)(*(resolved_on(part, X, choose, mass) for part in self._kernels()))

    def bind(self, names: Sequence[str]) -> Kernel:
        """Copy with both kernels bound to column positions."""
        return type(self)(*(kernel.bind(names) for kernel in self._kernels()))

    def with_parts(self, change: Callable[[Kernel], Kernel]) -> Kernel:
        """Copy in which ``change`` replaces every simple kernel of both."""
        return type(self)(*(kernel.with_parts(change) for kernel in self._kernels()))

    def counting(self, n_columns: int) -> Kernel:
        """Copy with both kernels given the number of columns."""
        return type(self)(*(kernel.counting(n_columns) for kernel in self._kernels()))

    @property
    def follows_scale(self) -> bool:
        """Whether both kernels do."""
        return all(kernel.follows_scale for kernel in self._kernels())

    def columns_on_one_scale(self, columns: Sequence[int]) -> list[list[int]]:
        """Groups of both kernels."""
        return [
            group for kernel in self._kernels() for group in kernel.columns_on_one_scale(columns)
        ]

    @property
    def has_features(self) -> bool:
        """Whether both kernels have exact coordinates."""
        return all(kernel.has_features for kernel in self._kernels())

    def _read(self, X: Any) -> Any:
        return X  # each kernel reads the rows in its own way

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        other = None if X is Z else Z
        return self._combine(*(kernel(X, other) for kernel in self._kernels()))

    def of_squares(self, squares: np.ndarray) -> np.ndarray:
        """Values of both kernels from squared distances, if both are functions of them."""
        return self._combine(*(kernel.of_squares(squares.copy()) for kernel in self._kernels()))

    def _diag(self, X: Any) -> np.ndarray:
        return self._combine(*(kernel.diag(X) for kernel in self._kernels()))

    def _combine(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        raise NotImplementedError


class Sum(_Pair):
    """Sum of two kernels, k(x, z) = left(x, z) + right(x, z), also written ``left + right``.

    Examples
    --------
    >>> from depmax.kernels import Gaussian, Linear, Sum
    >>> (Linear() + Gaussian(1.0)).diag([[2.0], [3.0]])
    array([ 5., 10.])
    >>> Sum("linear", "gaussian").diag([[2.0], [3.0]])
    array([ 5., 10.])
    """

    @property
    def capabilities(self) -> Capabilities:
        """A sum of products is not a product over features."""
        return replace(super().capabilities, factors_over_features=False, telescopes=False)

    def n_coordinates(self, X: Any) -> int | None:
        """Those of both kernels."""
        return total_width([kernel.n_coordinates(X) for kernel in self._kernels()])

    def features(self, X: Any) -> Any:
        """The coordinates of both kernels, side by side."""
        parts = [kernel.features(X) for kernel in self._kernels()]
        if any(sparse.issparse(part) for part in parts):
            return sparse.hstack(parts, format="csr")
        return np.hstack(parts)

    def _combine(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return left + right


class Product(_Pair):
    """Product of two kernels, k(x, z) = left(x, z) · right(x, z), also written ``left * right``.

    Examples
    --------
    >>> from depmax.kernels import Gaussian, Linear
    >>> (Linear() * Gaussian(1.0)).diag([[2.0], [3.0]])
    array([4., 9.])
    """

    @property
    def capabilities(self) -> Capabilities:
        """A product of sums is not a sum over features."""
        return replace(super().capabilities, additive_over_features=False, telescopes=False)

    def n_coordinates(self, X: Any) -> int | None:
        """All products, if they are not too many."""
        return multiplied_width([kernel.n_coordinates(X) for kernel in self._kernels()])

    def features(self, X: Any) -> np.ndarray:
        """All products of a coordinate of one kernel with one of the other."""
        left, right = (
            part.toarray() if sparse.issparse(part) else part
            for part in (kernel.features(X) for kernel in self._kernels())
        )
        return (left[:, :, np.newaxis] * right[:, np.newaxis, :]).reshape(left.shape[0], -1)

    def _combine(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return left * right


class Scaled(Kernel):
    """Multiple of a kernel, k(x, z) = factor · kernel(x, z), also written ``factor * kernel``.

    Examples
    --------
    >>> from depmax.kernels import Linear
    >>> (2.0 * Linear()).diag([[1.0], [3.0]])
    array([ 2., 18.])
    """

    def __init__(self, kernel: KernelLike, factor: float) -> None:
        self.kernel = kernel
        self.factor = factor

    def _kernel(self) -> Kernel:
        return as_kernel(self.kernel)

    @property
    def capabilities(self) -> Capabilities:
        """What the inner kernel can do, except for what a factor breaks."""
        return replace(
            self._kernel().capabilities,
            factors_over_features=False,
            embeds_missing=False,
            telescopes=False,
            is_linear=False,
        )

    @property
    def is_resolved(self) -> bool:
        """Whether the inner kernel is."""
        return self._kernel().is_resolved

    def resolve(
        self, X: Any, choose: Choose | None = None, mass: np.ndarray | None = None
    ) -> Kernel:
        """Copy with the inner kernel resolved."""
        self._checked_factor()
        return self._copy_with(kernel=resolved_on(self._kernel(), X, choose, mass))

    def bind(self, names: Sequence[str]) -> Kernel:
        """Copy with the inner kernel bound to column positions."""
        return self._copy_with(kernel=self._kernel().bind(names))

    def with_parts(self, change: Callable[[Kernel], Kernel]) -> Kernel:
        """Copy in which ``change`` replaces every simple kernel of the inner one."""
        return self._copy_with(kernel=self._kernel().with_parts(change))

    def counting(self, n_columns: int) -> Kernel:
        """Copy with the inner kernel given the number of columns."""
        return self._copy_with(kernel=self._kernel().counting(n_columns))

    def n_coordinates(self, X: Any) -> int | None:
        """As many as the inner kernel has."""
        return self._kernel().n_coordinates(X)

    @property
    def follows_scale(self) -> bool:
        """Whether the inner kernel does."""
        return self._kernel().follows_scale

    def columns_on_one_scale(self, columns: Sequence[int]) -> list[list[int]]:
        """Groups of the inner kernel."""
        return self._kernel().columns_on_one_scale(columns)

    @property
    def has_features(self) -> bool:
        """Whether the inner kernel has exact coordinates."""
        return self._kernel().has_features

    def features(self, X: Any) -> Any:
        """The inner kernel's coordinates times √factor."""
        return self._kernel().features(X) * np.sqrt(self._checked_factor())

    def _read(self, X: Any) -> Any:
        return X  # the inner kernel reads the rows

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        return self._checked_factor() * self._kernel()(X, None if X is Z else Z)

    def of_squares(self, squares: np.ndarray) -> np.ndarray:
        """Values of the inner kernel from squared distances, times the factor."""
        return self._checked_factor() * self._kernel().of_squares(squares)

    def _diag(self, X: Any) -> np.ndarray:
        return self._checked_factor() * self._kernel().diag(X)

    def _checked_factor(self) -> float:
        if not (np.isfinite(self.factor) and self.factor > 0):
            raise ValueError(
                f"A kernel can be scaled by a positive number only, got {self.factor}."
            )
        return float(self.factor)
