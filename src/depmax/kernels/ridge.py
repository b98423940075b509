"""The ridge kernel: HSIC with it ranks features as ridge regression does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import linalg

from depmax._parameters import number
from depmax.kernels.kernel import Capabilities, Facts, Kernel, KernelLike, Part, Parts, as_kernel


@dataclass(eq=False, repr=False)
class RidgeKernel(Kernel):
    """K(K + αI)⁻¹ on the rows it is resolved on, extended to others through the feature map.

    With feature maps Φ of the reference rows and W what they stand for (by default one row each),
    k(x, z) = φ(x)ᵀ(ΦᵀWΦ + αI)⁻¹φ(z).

    Parameters
    ----------
    kernel : kernel or name, default="linear"
        The kernel k that gives φ.
    alpha : float, default=1.0
        The ridge penalty, above zero.
    reference : rows, optional
        The rows of Φ; ``resolve`` stores them.
    reference_weight : array-like of shape (n_reference,), optional
        How many rows each of them stands for; ``resolve`` stores it. A search over columns fits the
        kernel to 500 rows, which then stand for all.

    Examples
    --------
    >>> from depmax.kernels import RidgeKernel
    >>> RidgeKernel(alpha=1.0)([[1.0], [2.0]]).round(3)
    array([[0.167, 0.333],
           [0.333, 0.667]])
    """

    kernel: KernelLike = "linear"
    alpha: float = 1.0
    reference: Any = None
    reference_weight: Any = None

    _declared: ClassVar = {"alpha": number(0, ends="()")}
    _recipe: ClassVar[tuple[str, ...]] = ("reference",)

    @property
    def capabilities(self) -> Capabilities:
        """Rows of any type that the inner kernel takes."""
        inner = as_kernel(self.kernel).capabilities
        return Capabilities(vector_input=inner.vector_input, sparse=inner.sparse, fits_columns=True)

    @property
    def _parts(self) -> Parts:
        return Parts.inner(self, Part(as_kernel(self.kernel)))

    def _estimated(self, facts: Facts) -> Kernel:
        """Copy that refers to the rows, with its inner kernel resolved on them too."""
        if self.is_resolved:
            return self
        reference, inner = self._read(facts.in_memory(self)), facts.resolve(self._parts.items[0])
        return self._copy_with(kernel=inner, reference=reference, reference_weight=facts.weight)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the inner kernel too, and forget what was made of them."""
        self.__dict__.pop("_kept", None)
        return super().set_params(**params)

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        kernel, reference = as_kernel(self.kernel), self.reference
        whitened_x = self._whitened(kernel(reference, X))
        whitened_z = whitened_x if X is Z else self._whitened(kernel(reference, Z))
        return (kernel(X, None if X is Z else Z) - whitened_x.T @ whitened_z) / self.alpha

    def _diag(self, X: Any) -> np.ndarray:
        kernel = as_kernel(self.kernel)
        whitened = self._whitened(kernel(self.reference, X))
        return (kernel.diag(X) - np.einsum("ij,ij->j", whitened, whitened)) / self.alpha

    def _whitened(self, columns: np.ndarray) -> np.ndarray:
        """R⁻ᵀ k(reference, X) with RᵀR = K + αW⁻¹."""
        return linalg.solve_triangular(self._factor(), columns, trans="T")

    def _factor(self) -> np.ndarray:
        """Upper triangular R, kept for the reference rows and alpha it was made of."""
        kept = self.__dict__.get("_kept")
        if kept is None or kept[0] is not self.reference or kept[1] != self.alpha:
            gram = as_kernel(self.kernel)(self.reference)
            weight = self.reference_weight
            gram[np.diag_indices_from(gram)] += (
                self.alpha if weight is None else self.alpha / np.asarray(weight)
            )
            kept = self._kept = (self.reference, self.alpha, linalg.cholesky(gram))
        return kept[2]
