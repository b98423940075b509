"""Multilayer perceptrons, and fresh copies of networks that users bring."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from depmax._parameters import Rule, is_whole


def as_device(device: Any) -> Any:
    """A torch device; ``"auto"`` is a GPU where there is one."""
    if device != "auto":
        return torch.device(device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("cpu")


@contextmanager
def seeded(rng: np.random.RandomState) -> Iterator[None]:
    """Let torch's own random numbers follow from ``rng``, and leave the user's untouched."""
    with torch.random.fork_rng():
        torch.manual_seed(int(rng.randint(2**31 - 1)))
        yield


ACTIVATIONS = {
    "tanh": torch.nn.Tanh,
    "relu": torch.nn.ReLU,
    "gelu": torch.nn.GELU,
    "sigmoid": torch.nn.Sigmoid,
    "linear": torch.nn.Identity,
}


def perceptron(sizes: Sequence[int], activation: str, last: str = "linear") -> Any:
    """Linear layers of the given widths with activations between them, and one at the end."""
    return _with_activations(
        [torch.nn.Linear(inputs, outputs) for inputs, outputs in pairwise(sizes)], activation, last
    )


class Transposed(torch.nn.Module):
    """A layer back from the outputs of another to its inputs: its weights transposed, own bias."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(layer.in_features))
        self._layer = (layer,)  # in a tuple: its weights are parameters of the encoder only

    def forward(self, codes: Any) -> Any:
        """Wᵀ applied to each row, plus the bias."""
        return torch.nn.functional.linear(codes, self._layer[0].weight.T, self.bias)


def mirror(encoder: Any, activation: str) -> Any:
    """The decoder whose weights are those of the encoder, transposed."""
    layers = [part for part in encoder if isinstance(part, torch.nn.Linear)]
    return _with_activations([Transposed(layer) for layer in reversed(layers)], activation)


def _with_activations(layers: Sequence[Any], activation: str, last: str = "linear") -> Any:
    parts: list[Any] = []
    for layer in layers:
        parts += [layer, ACTIVATIONS[activation]()]
    parts[-1:] = [] if last == "linear" else [ACTIVATIONS[last]()]
    return torch.nn.Sequential(*parts)


def fresh_copy(module: Any, number: int) -> Any:
    """A copy of a user's module; copies after the first begin with other weights."""
    twin = copy.deepcopy(module)
    if number > 0:
        for part in twin.modules():
            if hasattr(part, "reset_parameters"):
                part.reset_parameters()
    return twin


#: Sizes of hidden layers.
LAYERS = Rule(
    lambda sizes: (
        isinstance(sizes, Sequence) and all(is_whole(size) and int(size) >= 1 for size in sizes)
    ),
    "a sequence of integers >= 1",
)
#: A network of one's own.
MODULE = Rule(
    lambda module: module is None or isinstance(module, torch.nn.Module),
    "a torch.nn.Module or None",
)


def check_width(outputs: Any, expected: int, n_rows: int) -> None:
    """Refuse a user's module whose outputs have another shape than features."""
    if tuple(outputs.shape) != (n_rows, expected):
        raise ValueError(
            f"module must give {expected} output(s) per row, got outputs of shape "
            f"{tuple(outputs.shape)} for {n_rows} rows."
        )
