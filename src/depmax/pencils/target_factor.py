"""The target of an extractor as a factor of its kernel matrix."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from depmax.maps._pivots import factor_to
from depmax.samples import Sample, require_positive, require_semidefinite

#: Trace of L - ΨΨᵀ, relative to that of L, at which pivots suffice: full precision for HSIC.
PRECISION = 1e-12


def target_factor(side: Sample) -> np.ndarray:
    """Ψ of shape (m, r) with ΨΨᵀ = HLH, up to rounding.

    The kernel's exact coordinates where it has them, no more than samples; otherwise a Cholesky
    factor with as many pivots as full precision takes: about twenty for a Gaussian kernel of
    numbers, all samples for a kernel matrix of full rank.
    """
    width = side.n_coordinates
    if width is not None and width <= side.n_samples:
        return side.centred_coordinates()
    sample = Sample(side.kernel, side.rows)
    if sample.is_small:
        factor = _of_matrix(sample.gram())
    else:
        factor = np.asarray(factor_to(sample, PRECISION).factor)
    centred: np.ndarray = factor - factor.mean(axis=0)
    return centred


def _of_matrix(matrix: np.ndarray) -> np.ndarray:
    """The factor of a kernel matrix that is at hand, by LAPACK."""
    diagonal = matrix.diagonal()
    total, largest = float(diagonal.sum()), float(diagonal.max())
    require_positive(largest)
    lower, order, rank, _ = linalg.lapack.dpstrf(matrix, lower=1)
    factor = np.empty((len(matrix), rank))
    factor[order - 1] = np.tril(lower)[:, :rank]
    require_semidefinite((diagonal - np.square(factor).sum(axis=1)).min(), largest)
    left = total - np.cumsum(np.square(factor).sum(axis=0))
    return factor[:, : 1 + int(np.argmax(np.append(left, 0.0) <= PRECISION * total))]
