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
