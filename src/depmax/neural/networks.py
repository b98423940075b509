"""Multilayer perceptrons, and fresh copies of networks that users bring."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any

import torch

ACTIVATIONS = {
    "tanh": torch.nn.Tanh,
    "relu": torch.nn.ReLU,
    "gelu": torch.nn.GELU,
    "sigmoid": torch.nn.Sigmoid,
    "linear": torch.nn.Identity,
}


def perceptron(sizes: Sequence[int], activation: str) -> Any:
    """Linear layers of the given widths with activations between them."""
    layers: list[Any] = []
    for inputs, outputs in pairwise(sizes):
        layers += [torch.nn.Linear(inputs, outputs), ACTIVATIONS[activation]()]
    return torch.nn.Sequential(*layers[:-1])


def fresh_copy(module: Any, number: int) -> Any:
    """A copy of a user's module; copies after the first begin with other weights."""
    twin = copy.deepcopy(module)
    if number > 0:
        for part in twin.modules():
            if hasattr(part, "reset_parameters"):
                part.reset_parameters()
    return twin


def check_network(name: str, hidden_layers: Any, activation: Any, module: Any) -> None:
    """Refuse what no network can be built from."""
    sizes = hidden_layers if isinstance(hidden_layers, Sequence) else None
    if sizes is None or not all(isinstance(size, Integral) and int(size) >= 1 for size in sizes):
        raise ValueError(
            f"hidden_layers of {name} must be a sequence of integers >= 1, got {hidden_layers!r}."
        )
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"activation of {name} must be one of {sorted(ACTIVATIONS)}, got {activation!r}."
        )
    if module is not None and not isinstance(module, torch.nn.Module):
        raise TypeError(f"module of {name} must be a torch.nn.Module or None, got {module!r}.")


def check_width(outputs: Any, expected: int, n_rows: int) -> None:
    """Refuse a user's module whose outputs have another shape than features."""
    if tuple(outputs.shape) != (n_rows, expected):
        raise ValueError(
            f"module must give {expected} output(s) per row, got outputs of shape "
            f"{tuple(outputs.shape)} for {n_rows} rows."
        )
