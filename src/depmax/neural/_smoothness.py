"""How much features change between neighbouring rows, of all rows or of some pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from depmax.neural._statistics import whiten
from depmax.pencils.graphs import Graph, Laplacian, VectorPoints


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

    def of_all(self, module: Any, inputs: Any) -> Any:
        """Roughness of the white outputs of all rows."""
        features = whiten(module(inputs))
        return _Energy.apply(features, self.laplacian) / (self.total * features.shape[1])

    def of_some(self, module: Any, inputs: Any, count: int, rng: np.random.RandomState) -> Any:
        """An estimate from pairs of neighbours drawn at random."""
        pairs = self.laplacian.weights.draw(count, rng)
        ends = np.concatenate([pairs.first, pairs.second])
        features = whiten(module(inputs[ends]))
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
