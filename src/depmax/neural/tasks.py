"""What networks are trained for: dependence on a target, smoothness over neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.neighbors import NearestNeighbors

from depmax.neural.statistics import alignment, gram, hsic, hsic_with, whiten
from depmax.neural.white_hsic import white_hsic

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


@dataclass(frozen=True)
class Edges:
    """Pairs of neighbouring rows, labelled or not."""

    first: np.ndarray
    second: np.ndarray

    @classmethod
    def of(cls, inputs: np.ndarray, n_neighbors: int) -> Edges:
        """Every row with its nearest others, each pair once."""
        if n_neighbors >= len(inputs):
            raise ValueError(
                f"n_neighbors={n_neighbors} needs more than {n_neighbors} rows, got n_samples = "
                f"{len(inputs)}: lower n_neighbors."
            )
        found = NearestNeighbors(n_neighbors=n_neighbors).fit(inputs)
        others = found.kneighbors(return_distance=False)
        pairs = np.column_stack([np.repeat(np.arange(len(inputs)), n_neighbors), others.ravel()])
        unique = np.unique(np.sort(pairs, axis=1), axis=0)
        return cls(unique[:, 0], unique[:, 1])


@dataclass
class DependenceTask:
    """Minus the dependence of a network's outputs on a target, over that on earlier features.

    The outputs are made white, so that no output repeats another and scale earns nothing. With
    earlier features the loss is minus A(f, y)/(α + A(f, earlier)), A the centred alignment of
    kernel matrices; without, minus HSIC relative to that of the target with itself. With ``beta``
    it is (1-β) times this plus β times the mean of ‖f_i - f_j‖²/2k over neighbouring rows, which
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
    edges: Edges | None = None

    def __post_init__(self) -> None:
        # √HSIC₀(y, y) = ‖ΨᵀΨ‖/(m - 1), columns of Ψ of mean zero
        moments = self.factor.T @ self.factor
        self.scale = float(torch.linalg.norm(moments)) / (len(self.factor) - 1)

    @property
    def n_rows(self) -> int:
        """Rows to draw batches from."""
        return len(self.split.train)

    def loss(self, rows: np.ndarray | None) -> Any:
        """Penalised minus dependence of some of the training rows, or of all."""
        chosen = self.split.train if rows is None else self.split.train[rows]
        value = -(1.0 - self.beta) * self._dependence(chosen, self.unbiased)
        if self.beta > 0:
            value = value + self.beta * self._roughness(None if rows is None else len(rows))
        if self.weight_decay > 0:
            squares = sum((p**2).sum() for p in self.module.parameters())
            value = value + self.weight_decay * squares
        return value

    def score(self) -> float | None:
        """Dependence of the rows held out."""
        held_out = self.split.held_out
        if len(held_out) == 0:
            return None
        self.module.eval()
        with torch.no_grad():
            blocks = np.array_split(held_out, max(1, len(held_out) // 1000))
            values = [float(self._dependence(block, self.unbiased)) for block in blocks]
        self.module.train()
        return float(np.mean(values))

    def _dependence(self, rows: np.ndarray, unbiased: bool) -> Any:
        outputs, factor = self.module(self.inputs[self.labelled[rows]]), self.factor[rows]
        if self.earlier is None:
            value = white_hsic(outputs, factor, self.feature_kernel, unbiased=unbiased)
            return value / self.scale
        K = gram(whiten(outputs), self.feature_kernel)
        dependence = hsic_with(K, factor, unbiased=unbiased) / self.scale
        redundant = alignment(K, gram(self.earlier[rows], self.feature_kernel))
        own = torch.sqrt(hsic(K, K, unbiased=False) + 1e-24)
        return dependence / own / (self.alpha + redundant)

    def _roughness(self, count: int | None) -> Any:
        assert self.edges is not None
        first, second = self.edges.first, self.edges.second
        if count is None:
            features = whiten(self.module(self.inputs))
            one, other = features[first], features[second]
        else:
            drawn = self.rng.randint(len(first), size=count)
            ends = np.concatenate([first[drawn], second[drawn]])
            features = whiten(self.module(self.inputs[ends]))
            one, other = features[:count], features[count:]
        return ((one - other) ** 2).sum(dim=1).mean() / (2.0 * one.shape[1])
