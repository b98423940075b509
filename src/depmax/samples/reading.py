"""How an extractor reads X: through the kernel's eyes, in memory or a block at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from depmax._inputs import read_fit, read_new
from depmax._inputs.table import require_finite
from depmax.kernels import Capabilities, KernelLike, Precomputed, as_kernel
from depmax.kernels.base import Kernel
from depmax.kernels.mixed import join_categories
from depmax.kernels.scales import warn_of_scales
from depmax.samples import RowSource


@dataclass(frozen=True)
class SourceRows:
    """Rows of a source, read when they are sliced."""

    source: RowSource

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.source.shape

    @property
    def dtype(self) -> np.dtype:
        """Precision of the rows."""
        return np.dtype(self.source.block(slice(0, 1)).dtype)

    def __getitem__(self, rows: slice | np.ndarray) -> Any:
        values = self.source.block(rows) if isinstance(rows, slice) else self.source.take(rows)
        require_finite(values, None, "X")
        return values


@dataclass(frozen=True)
class Training:
    """What an extractor is fitted to."""

    rows: Any  # whatever the kernel reads; row numbers if the kernel matrix was given
    recipe: Kernel  # not resolved yet
    dtype: np.dtype  # precision of the features
    numeric: Kernel | None = None  # the kernel that reads numeric columns; None: there are none

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])


def is_precomputed(kernel: Any) -> bool:
    """Whether X is the kernel matrix itself."""
    return isinstance(kernel, str) and kernel == "precomputed"


def abilities_of(kernel: KernelLike) -> Capabilities:
    """What the kernel declares; ``fit`` is where a wrong one is refused."""
    if is_precomputed(kernel):
        return Capabilities()
    try:
        return as_kernel(kernel).capabilities
    except (TypeError, ValueError):
        return Capabilities()


def read_training(
    estimator: Any, X: Any, kernel: KernelLike, *, check_finite: bool = True
) -> Training:
    """Training rows and the kernel on them; sets ``categories_`` and ``n_features_in_``."""
    if is_precomputed(kernel):
        matrix, estimator.categories_ = read_fit(estimator, X)
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(
                'With kernel="precomputed" X is the square kernel matrix of the training rows in '
                f"fit, and of new rows against these in transform; got shape {matrix.shape} in fit."
            )
        return Training(np.arange(len(matrix)), Precomputed(matrix), precision(matrix))
    recipe = as_kernel(kernel)
    abilities = recipe.capabilities
    if is_source(X):
        return _read_source(estimator, X, recipe)
    rows, estimator.categories_ = read_fit(
        estimator,
        X,
        vector_input=abilities.vector_input,
        accept_sparse=abilities.sparse,
        check_finite=check_finite,
    )
    names = getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))
    names = [str(name) for name in names]
    bound = recipe.bind(names)
    joined = join_categories(bound, estimator.categories_, len(names), names)
    return Training(rows, joined, precision(rows), bound if abilities.vector_input else None)


def read_rows(estimator: Any, X: Any, abilities: Capabilities) -> Any:
    """New rows, checked against those of ``fit``."""
    if is_source(X):
        if X.shape[1] != estimator.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
                f"{estimator.n_features_in_} features as input."
            )
        return SourceRows(X)
    return read_new(
        estimator,
        X,
        categories=estimator.categories_,
        vector_input=abilities.vector_input,
        accept_sparse=abilities.sparse,
    )


def is_source(X: Any) -> bool:
    """Whether X gives its rows a block at a time."""
    return isinstance(X, RowSource)


def _read_source(estimator: Any, source: Any, recipe: Kernel) -> Training:
    if not recipe.is_resolved or not recipe.has_features:
        raise ValueError(
            f"Rows that are read a block at a time need coordinates, which {recipe!r} does not "
            "have: use kernel='linear' or a fitted map, or load the rows as an array."
        )
    estimator.categories_ = {}
    estimator.n_features_in_ = source.shape[1]
    rows = SourceRows(source)
    return Training(rows, recipe, precision(rows), recipe)


def warn_of_units(estimator: Any, training: Training) -> None:
    """Warn of columns in units so different that the kernel sees only some of them."""
    if training.numeric is not None:
        names = getattr(estimator, "feature_names_in_", None)
        owner = type(estimator).__name__
        warn_of_scales(training.numeric, training.rows, names, estimator.categories_, owner=owner)


def precision(rows: Any) -> np.dtype:
    """float32 for rows in float32, float64 for all others."""
    return np.dtype(np.float32 if rows.dtype == np.float32 else np.float64)
