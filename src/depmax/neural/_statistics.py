"""HSIC, whitening and smoothness of network outputs, differentiable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from depmax.algebra.graphs import Graph, Laplacian
from depmax.algebra.points import VectorPoints

#: Relative ridge of the covariance of outputs, so that dead outputs have a finite whitening.
RIDGE = 1e-6
#: Added to squares below a root.
TINY = 1e-24


def gram(features: Any, kernel: str) -> Any:
    """Kernel matrix of k features of unit variance.

    ``"linear"`` is the inner product, ``"gaussian"`` is exp(-‖f-f'‖²/2k), whose exponent
    f·f'/k - ‖f‖²/2k - ‖f'‖²/2k comes from one product.
    """
    if kernel == "linear":
        return features @ features.T
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


def hsic0(K: Any, L: Any) -> Any:
    """HSIC₀ of two kernel matrices."""
    m = K.shape[0]
    rows, columns = K.mean(dim=1), L.mean(dim=1)
    value = (K * L).sum() - 2.0 * m * (rows @ columns) + m**2 * rows.mean() * columns.mean()
    return value / (m - 1) ** 2


def size_of(K: Any) -> Any:
    """√HSIC₀(K, K), never quite zero."""
    return torch.sqrt(hsic0(K, K) + TINY)


def alignment(K: Any, L: Any) -> Any:
    """HSIC₀(K, L)/√(HSIC₀(K, K) HSIC₀(L, L)), between 0 and 1."""
    square = hsic0(K, K) * hsic0(L, L)
    return hsic0(K, L) / torch.sqrt(square + TINY)


def cholesky_of_covariance(centred: Any) -> Any:
    """Lower factor of the covariance of outputs of mean zero, with a ridge."""
    m, size = centred.shape
    covariance = centred.T @ (centred / m)
    covariance.diagonal().add_(covariance.trace() * (RIDGE / size) + 1e-12)
    factor, failed = torch.linalg.cholesky_ex(covariance)
    return factor.masked_fill(failed > 0, torch.nan)  # a loss that is not finite is reported


def whiten(outputs: Any) -> Any:
    """Outputs with mean zero and the identity for covariance."""
    mean = outputs.mean(dim=0)
    factor = cholesky_of_covariance(outputs - mean)
    identity = torch.eye(len(factor), dtype=outputs.dtype, device=outputs.device)
    return (outputs - mean) @ torch.linalg.solve_triangular(factor, identity, upper=False).T


def uncorrelated(outputs: Any, features: Any) -> Any:
    """Outputs minus their linear regression on features, over the same rows."""
    centred = features - features.mean(dim=0)
    lower = cholesky_of_covariance(centred)
    slopes = torch.cholesky_solve(centred.T @ (outputs / len(outputs)), lower)
    return outputs - centred @ slopes


def white_hsic(outputs: Any, factor: Any, kernel: str, unbiased: bool, weight: float = 1.0) -> Any:
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
            G.mul_(gram(white, kernel))
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


@dataclass(frozen=True)
class Smoothness:
    """tr(FᵀΔF)/(k tr Δ) of k white features F with the Laplacian Δ of a graph of all rows.

    It is 1 for features that ignore the graph, and 0 for those that are constant along it.
    """

    laplacian: Laplacian
    total: float  # tr Δ

    @classmethod
    def of(cls, inputs: np.ndarray, graph: Graph) -> Smoothness:
        """From the rows as the network reads them, of shape (m, D)."""
        laplacian = graph.laplacian(VectorPoints.of(inputs))
        total = float(laplacian.diagonal.sum())
        if total == 0:
            raise ValueError(f"{graph!r} gives no row a neighbour: widen it, or use beta=0.")
        return cls(laplacian, total)

    def of_all(self, outputs: Any) -> Any:
        """Roughness of the white outputs of all rows."""
        features = whiten(outputs)
        return _Energy.apply(features, self.laplacian) / (self.total * features.shape[1])

    def of_some(self, outputs: Callable[[Any], Any], count: int, rng: np.random.RandomState) -> Any:
        """An estimate from pairs of neighbours drawn at random; ``outputs`` from row numbers."""
        pairs = self.laplacian.weights.draw(count, rng)
        ends = np.concatenate([pairs.first, pairs.second])
        features = whiten(outputs(torch.as_tensor(ends)))
        scales = torch.as_tensor(self.laplacian.scales[ends], dtype=features.dtype)
        scaled = features * scales.to(features.device)[:, None]
        squares = ((scaled[:count] - scaled[count:]) ** 2).sum(dim=1)
        weights = torch.as_tensor(pairs.weights / (self.total * features.shape[1]))
        return (squares * weights.to(squares)).mean()


class _Energy(torch.autograd.Function):
    """tr(FᵀΔF), whose gradient is 2ΔF."""

    @staticmethod
    def forward(ctx: Any, features: Any, laplacian: Laplacian) -> Any:
        """Value; ΔF is kept."""
        image = laplacian.apply(features.detach().cpu().numpy().astype(np.float64))
        image = torch.as_tensor(image).to(features)
        ctx.save_for_backward(image)
        return (image * features).sum()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """2ΔF."""
        (image,) = ctx.saved_tensors
        return 2.0 * grad * image, None
