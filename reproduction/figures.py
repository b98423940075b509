"""Published figures, from the data files beside this module, and rows that compare with them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np

from reproduction.registry import Row


def published(name: str) -> dict[str, Any]:
    """Contents of ``published/NAME.json``: source, unit, notes and figures."""
    file = resources.files("reproduction") / "published" / f"{name}.json"
    contents: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return contents


def compared(
    dataset: str,
    method: str,
    scores: Sequence[float] | np.ndarray | None,
    figure: Sequence[float] | None = None,
    **more: Any,
) -> Row:
    """A row: the mean of ``scores`` over folds or draws beside a published value and error."""
    value = None if figure is None else float(figure[0])
    error = None if figure is None or len(figure) < 2 else float(figure[1])
    ours = spread = None
    if scores is not None:
        ours = float(np.mean(scores))
        if len(scores) > 1:
            spread = float(np.std(scores, ddof=1) / math.sqrt(len(scores)))
    return {
        "dataset": dataset,
        "method": method,
        "published": value,
        "published_error": error,
        "ours": ours,
        "standard_error": spread,
        "difference": None if ours is None or value is None else ours - value,
        **more,
    }
