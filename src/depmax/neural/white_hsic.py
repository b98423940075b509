"""HSIC of whitened outputs with its gradient in closed form: what a training step costs."""

from __future__ import annotations

from typing import Any

import torch

from depmax.neural.statistics import cholesky_of_covariance, gaussian_gram


def white_hsic(
    outputs: Any, factor: Any, kernel: str, *, unbiased: bool, weight: float = 1.0
) -> Any:
    """HSIC of the white outputs with a target whose kernel matrix is ΨΨᵀ, times a weight.

    The same as ``hsic_with(gram(whiten(outputs), kernel), factor)``, several times faster: HSIC is
    linear in the kernel matrix, Σ M_ij K_ij, with M from the target alone, and few operations on
    small tensors are left, whose overhead is most of the cost of a batch.
    """
    return _WhiteHSIC.apply(outputs, factor, kernel, unbiased, weight)


class _WhiteHSIC(torch.autograd.Function):
    """Value in ``forward``, which also computes the gradient."""

    @staticmethod
    def forward(
        ctx: Any, outputs: Any, factor: Any, kernel: str, unbiased: bool, weight: float
    ) -> Any:
        """Value; the gradient is kept."""
        m, size = outputs.shape
        centred = outputs - outputs.mean(dim=0)
        lower = cholesky_of_covariance(centred)
        white = torch.linalg.solve_triangular(lower.mT, centred, upper=True, left=False)
        G = _target_form(factor, unbiased, weight)
        # Products with the symmetric G stand on its left: thin matrices are slow on the right.
        if kernel == "linear":
            slope = (white.T @ G).T
            value = torch.sum(slope * white)
            scale = 2.0
        else:
            G.mul_(gaussian_gram(white))
            sums = torch.sum(G, dim=1, keepdim=True)
            value = torch.sum(sums)
            slope = torch.addcmul((white.T @ G).T, sums, white, value=-1.0)
            scale = 2.0 / size
        # Through the whitening. Rotated features have the same HSIC, so slopeᵀwhite is symmetric;
        # the slopes have mean zero since those of a pair are opposite, or rows of M sum to zero.
        slope = torch.addmm(slope, white, slope.T @ white, beta=scale, alpha=-scale / m)
        slope = torch.linalg.solve_triangular(lower, slope, upper=False, left=False)
        ctx.save_for_backward(slope)
        return value

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """The gradient that ``forward`` found."""
        (slope,) = ctx.saved_tensors
        return grad * slope, None, None, None, None


def _target_form(factor: Any, unbiased: bool, weight: float) -> Any:
    """Weight times M with HSIC = Σ M_ij K_ij, of shape (m, m); its rows sum to zero.

    For HSIC₁ with ψ of mean zero and q = ‖ψ‖², off the diagonal and times m(m-3), M_ij is
    ψ_i·ψ_j + (q_i + q_j - Σq/(m-1))/(m-2).
    """
    m = factor.shape[0]
    centred = factor - factor.mean(dim=0)
    if not unbiased:
        return (centred @ centred.T).mul_(weight / (m - 1) ** 2)
    weight = weight / (m * (m - 3))
    squares = torch.sum(centred * centred, dim=1)
    squares = squares.mul_(weight / (m - 2))
    shifted = squares - torch.sum(squares) / (m - 1)
    M = torch.addmm(shifted.unsqueeze(1), centred, centred.T, alpha=weight)
    M.add_(squares)
    M.fill_diagonal_(0.0)
    return M
