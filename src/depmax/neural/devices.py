"""Where networks run, and with which random numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


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
