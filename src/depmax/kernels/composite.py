"""Sums, products and scalings of kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, Literal

import numpy as np

from depmax.kernels._parts import Part, Parts
from depmax.kernels.kernel import Capabilities, Kernel
from depmax.kernels.names import KernelLike, as_kernel


class Composite(Kernel):
    """A kernel whose values are sums or products of those of its ``_parts``."""

    @property
    def capabilities(self) -> Capabilities:
        """What all parts can do; a sum of products is no product over features, nor vice versa."""
        abilities = [part.kernel.capabilities for part in self._parts.items]
        common = reduce(Capabilities.common, abilities, abilities[0])
        if self._parts.combine == "multiply":
            return replace(common, additive_over_features=False)
        return replace(common, factors_over_features=False)

    @property
    def has_features(self) -> bool:
        """Whether all parts have exact coordinates."""
        return all(part.kernel.has_features for part in self._parts.items)

    def features(self, X: Any) -> Any:
        """Coordinates of the parts, side by side (sums) or multiplied out (products)."""
        return self._parts.features(self._read(X))

    def of_squares(self, squares: np.ndarray) -> np.ndarray:
        """Values from squared distances, if all parts are functions of them."""
        return self._parts.combined(lambda part: part.kernel.of_squares(squares.copy()))

    def _read(self, X: Any) -> Any:
        return X  # each part reads the rows in its own way

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        return self._parts.combined(lambda part: part.gram(X, Z))

    def _diag(self, X: Any) -> np.ndarray:
        return self._parts.combined(lambda part: part.kernel.diag(part.of(X)))


@dataclass(eq=False, repr=False)
class _Pair(Composite):
    """Two kernels on the same rows, by object or by name."""

    left: KernelLike
    right: KernelLike

    _combine: ClassVar[Literal["add", "multiply"]]

    @property
    def _parts(self) -> Parts:
        both = [Part(as_kernel(self.left)), Part(as_kernel(self.right))]
        return Parts(both, lambda parts: type(self)(*(p.kernel for p in parts)), self._combine)


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

    _combine = "add"


class Product(_Pair):
    """Product of two kernels, k(x, z) = left(x, z) · right(x, z), also written ``left * right``.

    Examples
    --------
    >>> from depmax.kernels import Gaussian, Linear
    >>> (Linear() * Gaussian(1.0)).diag([[2.0], [3.0]])
    array([4., 9.])
    """

    _combine = "multiply"


@dataclass(eq=False, repr=False)
class Scaled(Composite):
    """Multiple of a kernel, k(x, z) = factor · kernel(x, z), also written ``factor * kernel``.

    Examples
    --------
    >>> from depmax.kernels import Linear
    >>> (2.0 * Linear()).diag([[1.0], [3.0]])
    array([ 2., 18.])
    """

    kernel: KernelLike
    factor: float

    @property
    def _parts(self) -> Parts:
        if not (np.isfinite(self.factor) and self.factor > 0):
            raise ValueError(
                f"A kernel can be scaled by a positive number only, got {self.factor}."
            )
        part = Part(as_kernel(self.kernel), weight=float(self.factor))
        return Parts([part], lambda parts: self._copy_with(kernel=parts[0].kernel), "add")
