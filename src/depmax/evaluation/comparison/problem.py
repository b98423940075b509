"""What a comparison must know about the data to choose methods, predictor and metrics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from depmax._inputs import TargetKind, Task, read_table, read_target
from depmax.evaluation.comparison.labels import as_classes


@dataclass(frozen=True)
class Problem:
    """Sizes and types; ``n_samples`` counts the rows that a method is trained on."""

    kind: TargetKind
    n_samples: int
    n_features: int
    n_outputs: int  # classes, or columns of the target
    sparse: bool = False
    categorical: bool = False
    names: tuple[str, ...] = field(default=(), repr=False)
    n_indicators: int = 0  # columns of numbers that levels of categories add for extractors
    #: Classes as they were given, where methods get them as text since they look like numbers.
    labels: np.ndarray | None = field(default=None, repr=False, compare=False)

    @property
    def about_target(self) -> str:
        """Type of the target in words.

        >>> Problem("classes", 100, 5, 26).about_target
        '26 classes'
        """
        return {
            "classes": f"{self.n_outputs} classes",
            "numbers": "numbers",
            "multilabel": f"{self.n_outputs} labels, several per row",
            "multioutput": f"{self.n_outputs} numbers per row",
        }[self.kind]

    @property
    def width(self) -> int:
        """Columns of numbers that extractors see."""
        return self.n_features + self.n_indicators


def read_problem(X: Any, y: Any, *, table: bool, task: Task = "auto") -> tuple[Problem, np.ndarray]:
    """Sizes and types of the data, and the target as scikit-learn's predictors want it.

    Parameters
    ----------
    X : rows
    y : target
    table : bool
        Whether X is a table of numbers and categories; if not, it is indexed by rows and no more
        is asked of it.
    task : {"auto", "classification", "regression"}
        Whether the target is classes or numbers; by default guessed.
    """
    target = read_target(y, task=task)
    values = target.values
    if target.kind == "numbers":
        values = values[:, 0]
    elif target.kind == "multilabel":
        values = values.astype(np.int64)
    classes = target.kind == "classes"
    n_outputs = len(target.classes) if classes else target.values.shape[1]
    if classes and n_outputs < 2:
        raise ValueError(
            f"y has one class only, {target.classes.tolist()[0]!r}: there is nothing to predict."
        )
    given = None
    if classes and (text := as_classes(values)) is not values:
        given, values = target.classes, text
    if not table:
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        _require_equal(n_rows, target.n_samples)
        n_features = X.shape[1] if len(getattr(X, "shape", ())) == 2 else 1
        return Problem(target.kind, n_rows, n_features, n_outputs, labels=given), values
    read = read_table(X)
    _require_equal(read.n_samples, target.n_samples)
    n_features = read.values.shape[1]
    names = read.names or tuple(f"x{position}" for position in range(n_features))
    problem = Problem(
        target.kind,
        read.n_samples,
        n_features,
        n_outputs,
        sparse.issparse(read.values),
        bool(read.categories),
        names,
        sum(len(levels) - 1 for levels in read.categories.values()),
        given,
    )
    return problem, values


def _require_equal(n_rows: int, n_targets: int) -> None:
    if n_rows != n_targets:
        raise ValueError(f"X has {n_rows} rows and y has {n_targets}: pass one target per row.")
