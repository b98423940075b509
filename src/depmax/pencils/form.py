"""Quadratic forms over samples: what a criterion asks of pairs of samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Form:
    """M = ΨΨᵀ - diag(w), a quadratic form over centred samples.

    With the centred coordinates Φ of the samples the matrix of a criterion is
    A = ΦᵀMΦ = CCᵀ - Φᵀdiag(w)Φ with C = ΦᵀΨ.
    """

    factor: np.ndarray  # Ψ, shape (m, r), columns of mean zero
    weights: np.ndarray | None = None  # w, shape (m,)

    @property
    def n_samples(self) -> int:
        """Number of samples m."""
        return int(self.factor.shape[0])

    def apply(self, values: np.ndarray) -> np.ndarray:
        """M times columns of values on the samples, of shape (m, k)."""
        images: np.ndarray = self.factor @ (self.factor.T @ values)
        if self.weights is not None:
            images -= self.weights[:, np.newaxis] * values
        return images


def hsic_form(factor: np.ndarray, *, unbiased: bool) -> Form:
    """Form whose A has pᵀAp = HSIC between the feature Φp (linear kernel) and the target.

    Parameters
    ----------
    factor : ndarray of shape (m, r)
        Ψ with the target's kernel matrix L = ΨΨᵀ, columns of mean zero.
    unbiased : bool
        HSIC₁, or HSIC₀, for which there are no weights.

    Examples
    --------
    >>> hsic_form(np.array([[1.0], [-1.0]]), unbiased=False).factor.ravel()
    array([ 1., -1.])
    """
    m = factor.shape[0]
    if not unbiased:
        return Form(factor / (m - 1))
    squares = np.einsum("ij,ij->i", factor, factor)  # ‖ψ_i‖²
    weights = m / (m - 2) * squares - squares.sum() / ((m - 1) * (m - 2))
    scale = m * (m - 3)
    return Form(factor / np.sqrt(scale), weights / scale)
