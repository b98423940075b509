"""What networks are trained for: dependence on a target, smoothness over neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from depmax.neural._smoothness import Smoothness
from depmax.neural._statistics import alignment, gram, hsic, hsic_with, white_hsic, whiten

#: Labelled rows from which some are held out, and the fewest that are.
MANY_ENOUGH, FEWEST = 40, 10


@dataclass(frozen=True)
class Split:
    """Positions among the labelled rows: those to train with, and those held out."""

    train: np.ndarray
    held_out: np.ndarray

    @classmethod
    def of(cls, n_rows: int, fraction: float, rng: np.random.RandomState) -> Split:
        """A random split; nothing is held out of few rows."""
        count = max(FEWEST, round(fraction * n_rows)) if fraction > 0 else 0
        if count == 0 or n_rows < MANY_ENOUGH:
            return cls(np.arange(n_rows), np.arange(0))
        order = rng.permutation(n_rows)
        return cls(np.sort(order[count:]), np.sort(order[:count]))


@dataclass
class DependenceTask:
    """Minus the dependence of a network's outputs on a target, over that on earlier features.

    The outputs are made white, so that no output repeats another and scale earns nothing. With
    earlier features the loss is minus A(f, y)/(α + A(f, earlier)), A the centred alignment of
    kernel matrices; without, minus HSIC relative to that of the target with itself. With ``beta``
    it is (1-β) times this plus β times how much features change between neighbouring rows, which
    is 1 for features that ignore the neighbourhood.
    """

    module: Any
    inputs: Any  # all rows, tensor of shape (m, D)
    labelled: Any  # positions of the labelled rows
    factor: Any  # Ψ of the labelled rows, tensor of shape (n_labelled, r)
    split: Split
    feature_kernel: str
    unbiased: bool
    weight_decay: float
    rng: np.random.RandomState
    earlier: Any = None  # white earlier features of the labelled rows, or None
    alpha: float = 0.05
    beta: float = 0.0
    smoothness: Smoothness | None = None  # needed with beta

    def __post_init__(self) -> None:
        # √HSIC₀(y, y) = ‖ΨᵀΨ‖/(m - 1), columns of Ψ of mean zero
        moments = self.factor.T @ self.factor
        self.scale = float(torch.linalg.norm(moments)) / (len(self.factor) - 1)
        # positions of the labelled rows, where the inputs are
        self._places = torch.as_tensor(self.labelled, device=self.inputs.device)

    @property
    def n_rows(self) -> int:
        """Rows to draw batches from."""
        return len(self.split.train)

    def loss(self, rows: np.ndarray | None) -> Any:
        """Minus dependence, and roughness, of some of the training rows, or of all."""
        chosen = self.split.train if rows is None else self.split.train[rows]
        value = self._dependence(chosen, self.beta - 1.0)
        if self.smoothness is None:
            return value
        if rows is None:
            rough = self.smoothness.of_all(self.module, self.inputs)
        else:
            rough = self.smoothness.of_some(self.module, self.inputs, len(rows), self.rng)
        return value + self.beta * rough

    def score(self) -> float | None:
        """Dependence of the rows held out."""
        held_out = self.split.held_out
        if len(held_out) == 0:
            return None
        self.module.eval()
        with torch.no_grad():
            blocks = np.array_split(held_out, max(1, len(held_out) // 1000))
            values = [float(self._dependence(block, 1.0)) for block in blocks]
        self.module.train()
        return float(np.mean(values))

    def _dependence(self, rows: np.ndarray, weight: float) -> Any:
        """Dependence of some labelled rows, times a weight."""
        chosen = torch.as_tensor(rows, device=self._places.device)
        places = self._places.index_select(0, chosen)
        outputs = self.module(self.inputs.index_select(0, places))
        factor = self.factor.index_select(0, chosen)
        if self.earlier is None:
            weight = weight / self.scale
            kernel, unbiased = self.feature_kernel, self.unbiased
            return white_hsic(outputs, factor, kernel, unbiased=unbiased, weight=weight)
        K = gram(whiten(outputs), self.feature_kernel)
        dependence = hsic_with(K, factor, unbiased=self.unbiased) * (weight / self.scale)
        redundant = alignment(K, gram(self.earlier.index_select(0, chosen), self.feature_kernel))
        own = torch.sqrt(hsic(K, K, unbiased=False) + 1e-24)
        return dependence / own / (self.alpha + redundant)
