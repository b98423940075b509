"""The target of an extractor as a factor of its kernel matrix."""

from __future__ import annotations

import numpy as np

from depmax.dependence.sides import Side
from depmax.maps._pivots import largest_residual, pivot_steps
from depmax.maps._sample import Sample

#: Trace of L - ΨΨᵀ, relative to that of L, at which pivots suffice: full precision for HSIC.
PRECISION = 1e-12


def target_factor(side: Side) -> np.ndarray:
    """Ψ of shape (m, r) with ΨΨᵀ = HLH, up to rounding.

    The kernel's exact coordinates where it has them, no more than samples; otherwise a Cholesky
    factor with as many pivots as full precision takes: about twenty for a Gaussian kernel of
    numbers, all samples for a kernel matrix of full rank.
    """
    width = side.n_coordinates
    if width is not None and width <= side.n_samples:
        return side.centred_coordinates()
    sample = Sample(side.kernel, side.rows, np.dtype(np.float64))
    for partial in pivot_steps(sample, largest_residual):
        if partial.residual.sum() <= PRECISION * partial.diagonal.sum():
            break
    factor = np.asarray(partial.factor)
    centred: np.ndarray = factor - factor.mean(axis=0)
    return centred
