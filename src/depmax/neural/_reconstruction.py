"""What autoencoders are trained for: to give back their inputs, or to predict a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from depmax._inputs import Target
from depmax.neural._tasks import Split


@dataclass
class ReconstructionTask:
    """Mean loss of a network's outputs against expected ones, from inputs with noise."""

    module: Any
    inputs: Any  # tensor of shape (m, D)
    expected: Any  # tensor of shape (m, n_outputs), or class numbers of shape (m,)
    loss_of: Any  # mean loss from outputs and expected ones
    split: Split
    noise: float
    weight_decay: float

    def __post_init__(self) -> None:
        # All rows at once need a loss that does not change from one call to the next.
        self.fixed = self.inputs + self._noise(self.inputs)

    @property
    def n_rows(self) -> int:
        """Rows to draw batches from."""
        return len(self.split.train)

    def loss(self, rows: np.ndarray | None) -> Any:
        """Mean loss of some of the training rows, or of all."""
        train = self.split.train
        if rows is None:
            inputs, expected = self.fixed[train], self.expected[train]
        else:
            inputs, expected = self.inputs[train[rows]], self.expected[train[rows]]
            inputs = inputs + self._noise(inputs)
        return self.loss_of(self.module(inputs), expected)

    def score(self) -> float | None:
        """Minus the loss of rows held out, without noise."""
        rows = self.split.held_out
        if len(rows) == 0:
            return None
        self.module.eval()
        with torch.no_grad():
            value = -float(self.loss_of(self.module(self.inputs[rows]), self.expected[rows]))
        self.module.train()
        return value

    def _noise(self, inputs: Any) -> Any:
        if self.noise == 0:
            return 0.0
        return self.noise * torch.randn_like(inputs)


@dataclass(frozen=True)
class OutputTarget:
    """What the outputs of a predictor should be."""

    values: np.ndarray  # standardised numbers of shape (m, n), or class numbers of shape (m,)
    n_outputs: int
    loss_of: Any

    @classmethod
    def of(cls, target: Target) -> OutputTarget:
        """Classes for cross-entropy, anything else for squares."""
        if (target.values == target.values[0]).all():
            raise ValueError(
                f"y has one class only or is constant ({target.values[0]!r}): there is nothing to "
                "predict. At least two values are needed."
            )
        if target.kind == "classes":
            classes, codes = np.unique(target.values, return_inverse=True)
            return cls(codes, len(classes), torch.nn.functional.cross_entropy)
        numbers = target.vectors
        spread = numbers.std(axis=0)
        standard = (numbers - numbers.mean(axis=0)) / np.where(spread == 0, 1.0, spread)
        return cls(standard, standard.shape[1], torch.nn.functional.mse_loss)
