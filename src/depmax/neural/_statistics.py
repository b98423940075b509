"""HSIC and whitening of network outputs, differentiable."""

from __future__ import annotations

from typing import Any

import torch

#: Relative ridge of the covariance of outputs, so that dead outputs have a finite whitening.
RIDGE = 1e-6


def gram(features: Any, kernel: str) -> Any:
    """Kernel matrix of features of unit variance.

    ``"gaussian"`` is exp(-‖f-f'‖²/2k) for k features, ``"linear"`` the inner product.
    """
    if kernel == "linear":
        return features @ features.T
    return gaussian_gram(features)


def gaussian_gram(features: Any) -> Any:
    """The Gaussian of ``gram``: the exponent f·f'/k - ‖f‖²/2k - ‖f'‖²/2k, by one product."""
    size = features.shape[1]
    norms = (features * features).sum(dim=1)
    exponent = torch.addmm(
        norms.unsqueeze(1), features, features.T, beta=-0.5 / size, alpha=1.0 / size
    )
    return exponent.sub_(norms, alpha=0.5 / size).exp_()


def hsic_with(K: Any, factor: Any, *, unbiased: bool) -> Any:
    """HSIC of a kernel matrix and of one that is ΨΨᵀ, by one product with (Ψ, 1)."""
    m = K.shape[0]
    image = K @ torch.cat([factor, torch.ones_like(factor[:, :1])], dim=1)
    inner, rows = (image[:, :-1] * factor).sum(), image[:, -1]
    columns = factor @ factor.sum(dim=0)
    if unbiased:
        diagonal, squares = K.diagonal(), (factor**2).sum(dim=1)
        inner, rows = inner - diagonal @ squares, rows - diagonal
        columns = columns - squares
        outer = rows.sum() * columns.sum() / ((m - 1) * (m - 2))
        return (inner + outer - 2.0 / (m - 2) * (rows @ columns)) / (m * (m - 3))
    outer = rows.sum() * columns.sum() / m**2
    return (inner + outer - 2.0 / m * (rows @ columns)) / (m - 1) ** 2


def hsic(K: Any, L: Any, *, unbiased: bool) -> Any:
    """HSIC₁ or HSIC₀ of two kernel matrices."""
    m = K.shape[0]
    if unbiased:
        trace = (K * L).sum() - (K.diagonal() * L.diagonal()).sum()
        rows = K.sum(dim=1) - K.diagonal()
        columns = L.sum(dim=1) - L.diagonal()
        total = rows.sum() * columns.sum() / ((m - 1) * (m - 2))
        return (trace + total - 2.0 / (m - 2) * (rows @ columns)) / (m * (m - 3))
    rows, columns = K.mean(dim=1), L.mean(dim=1)
    value = (K * L).sum() - 2.0 * m * (rows @ columns) + m**2 * rows.mean() * columns.mean()
    return value / (m - 1) ** 2


def alignment(K: Any, L: Any) -> Any:
    """HSIC₀(K, L)/√(HSIC₀(K, K) HSIC₀(L, L)), between 0 and 1."""
    scale = hsic(K, K, unbiased=False) * hsic(L, L, unbiased=False)
    return hsic(K, L, unbiased=False) / torch.sqrt(scale + 1e-24)


def cholesky_of_covariance(centred: Any) -> Any:
    """Lower factor of the covariance of outputs of mean zero, with a ridge."""
    m, size = centred.shape
    covariance = centred.T @ (centred / m)
    covariance.diagonal().add_(covariance.trace() * (RIDGE / size) + 1e-12)
    factor, failed = torch.linalg.cholesky_ex(covariance)
    return factor.masked_fill(failed > 0, torch.nan)  # a loss that is not finite is reported


def whitener(outputs: Any) -> tuple[Any, Any]:
    """Mean, and B such that (outputs - mean)B has the identity for covariance."""
    mean = outputs.mean(dim=0)
    factor = cholesky_of_covariance(outputs - mean)
    identity = torch.eye(len(factor), dtype=outputs.dtype, device=outputs.device)
    return mean, torch.linalg.solve_triangular(factor, identity, upper=False).T


def whiten(outputs: Any) -> Any:
    """Outputs with mean zero and the identity for covariance."""
    mean, basis = whitener(outputs)
    return (outputs - mean) @ basis


def uncorrelated(outputs: Any, features: Any) -> Any:
    """Outputs minus their linear regression on features, over the same rows."""
    centred = features - features.mean(dim=0)
    lower = cholesky_of_covariance(centred)
    slopes = torch.cholesky_solve(centred.T @ (outputs / len(outputs)), lower)
    return outputs - centred @ slopes


def white_hsic(
    outputs: Any, factor: Any, kernel: str, *, unbiased: bool, weight: float = 1.0
) -> Any:
    """HSIC of the white outputs with a target whose kernel matrix is ΨΨᵀ, times a weight.

    The same as ``hsic_with(gram(whiten(outputs), kernel), factor)``, several times faster: HSIC is
    linear in the kernel matrix, Σ M_ij K_ij, with M from the target alone. So there are few
    operations on small tensors, whose overhead is most of the cost of a batch.
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
