"""HSIC of whitened outputs with its gradient in closed form: what a training step costs."""

from __future__ import annotations

from typing import Any

import torch

from depmax.neural.statistics import gram, whitener


def white_hsic(outputs: Any, factor: Any, kernel: str, *, unbiased: bool) -> Any:
    """HSIC of the white outputs with a target whose kernel matrix is ΨΨᵀ.

    The same as ``hsic_with(gram(whiten(outputs), kernel), factor)``, several times faster: HSIC is
    linear in the kernel matrix, Σ M_ij K_ij, with M from the target alone.
    """
    return _WhiteHSIC.apply(outputs, factor, kernel, unbiased)


class _WhiteHSIC(torch.autograd.Function):
    """Value in ``forward``, which also computes the gradient."""

    @staticmethod
    def forward(ctx: Any, outputs: Any, factor: Any, kernel: str, unbiased: bool) -> Any:
        """Value; the gradient is kept."""
        m, size = outputs.shape
        mean, basis = whitener(outputs)
        white = (outputs - mean) @ basis
        M = _target_form(factor, unbiased)
        if kernel == "linear":
            image = M @ white
            value = (image * white).sum()
            slope = 2.0 * image
        else:
            G = gram(white, kernel).mul_(M)
            image = G @ torch.cat([white, torch.ones_like(white[:, :1])], dim=1)
            value = image[:, -1].sum()
            slope = (image[:, :-1] - image[:, -1:] * white) * (2.0 / size)
        # Through the whitening by a Cholesky factor: A is the lower half of gᵀF, diagonal halved.
        lower = torch.tril(slope.T @ white)
        lower.diagonal().mul_(0.5)
        slope = (slope - white @ ((lower + lower.T) / m)) @ basis.T
        ctx.save_for_backward(slope - slope.mean(dim=0))
        return value

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """The gradient that ``forward`` found."""
        (slope,) = ctx.saved_tensors
        return grad * slope, None, None, None


def _target_form(factor: Any, unbiased: bool) -> Any:
    """M with HSIC = Σ M_ij K_ij, of shape (m, m)."""
    m = factor.shape[0]
    if not unbiased:
        centred = factor - factor.mean(dim=0)
        return centred @ centred.T / (m - 1) ** 2
    sums = factor @ factor.sum(dim=0) - (factor**2).sum(dim=1)  # of the rows of L, no diagonal
    sums = sums[:, None] / (m - 2)
    ones = torch.ones_like(sums)
    total = sums.sum() / (m - 1)
    left = torch.cat([factor, sums, ones], dim=1) / (m * (m - 3))
    M = left @ torch.cat([factor, -ones, total - sums], dim=1).T
    M.fill_diagonal_(0.0)
    return M
