"""From what users pass to samples: one reader for X, one for y."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from depmax._inputs import (
    Table,
    Target,
    column_names,
    read_fit,
    read_new,
    read_objects,
    read_table,
    read_target,
)
from depmax._inputs.table import Categories
from depmax.kernels import Capabilities, Delta, KernelLike, as_kernel
from depmax.kernels.kernel import Choose, Kernel
from depmax.kernels.mixed import join_categories
from depmax.kernels.scales import warn_of_scales
from depmax.samples.sample import Sample, sample_of_matrix
from depmax.samples.scan import is_dask
from depmax.samples.sources import RowSource, SourceRows
from depmax.samples.stream import is_streamed


# --- inputs ---------------------------------------------------------------------------------------
def read_sample(
    X: Any,
    kernel: KernelLike,
    *,
    choose: Choose | None = None,
    name: str = "X",
    scale_free: bool = False,
    mass: np.ndarray | None = None,
) -> Sample:
    """Rows X as the kernel reads them, and the kernel resolved on them.

    ``scale_free`` says that the columns' units do not matter to what is made of the sample;
    ``mass`` how many rows each row stands for.
    """
    if is_precomputed(kernel):
        return sample_of_matrix(read_table(X, name=name).values, name, mass).resolved()
    recipe = as_kernel(kernel)
    if hasattr(X, "stream"):
        decoder = X.stream.decoder
        names = [str(column) for column in decoder.names or range(X.shape[1])]
        bound = _streamed(recipe, X.rows, names)
        if not scale_free:
            warn_of_scales(recipe.bind(names), X.rows, decoder.names, decoder.categories)
        sample = bound.resolved(choose)
        require_coordinates(sample, "A measure")
        return sample
    if not recipe.requires_vector_input:
        rows = read_objects(X, name)
        return Sample(recipe.bind(column_names(X)), rows, mass=mass).resolved(choose)
    table = read_table(X, name=name)
    return sample_of_table(table, recipe, choose=choose, scale_free=scale_free, mass=mass)


def sample_of_table(
    table: Table,
    recipe: Kernel,
    *,
    choose: Choose | None = None,
    scale_free: bool = False,
    mass: np.ndarray | None = None,
) -> Sample:
    """Sample of a table that is read already, for a kernel of vectors."""
    names = [str(name) for name in table.names or range(table.values.shape[1])]
    bound = recipe.bind(names)
    if not scale_free:
        warn_of_scales(bound, table.values, table.names, table.categories)
    joined = _joined(bound, table.values, names, table.categories)
    return replace(joined, mass=mass).resolved(choose)


@dataclass(frozen=True)
class TableRows:
    """A table that is read once and seen by several kernels."""

    values: Any  # matrix or sparse matrix; codes in categorical columns
    names: Sequence[str] = ()
    categories: Categories = field(default_factory=dict)

    def can_show(self, recipe: Kernel) -> bool:
        """Whether the kernel keeps sparse rows sparse, if they are."""
        return recipe.capabilities.sparse or not sparse.issparse(self.values)

    def seen_by(self, recipe: Kernel) -> Sample:
        """The rows with the kernel, resolved on them; categories join in."""
        return _joined(recipe, self.values, self.names, self.categories).resolved()

    def ranked(self) -> TableRows | None:
        """Ranks of every numeric column, from 0 to 1; None if there is none, or rows are sparse."""
        from scipy import stats  # takes longer to import than most calls take

        n_columns = self.values.shape[1]
        numeric = [column for column in range(n_columns) if column not in self.categories]
        if not numeric or sparse.issparse(self.values):
            return None
        ranks = np.array(self.values, dtype=np.float64)
        ranks[:, numeric] = stats.rankdata(ranks[:, numeric], axis=0) / len(ranks)
        return replace(self, values=ranks)


def read_table_rows(X: Any, *, name: str = "X") -> TableRows:
    """Rows X for kernels of vectors; warns of columns in units too far apart for distances."""
    table = read_table(X, name=name)
    names = [str(name) for name in table.names or range(table.values.shape[1])]
    warn_of_scales(as_kernel("gaussian"), table.values, table.names, table.categories)
    return TableRows(table.values, names, table.categories)


def read_training(
    estimator: Any, X: Any, kernel: KernelLike, *, check_finite: bool = True
) -> Sample:
    """Rows X for ``fit``, not resolved yet; sets ``categories_`` and ``n_features_in_``."""
    if is_precomputed(kernel):
        matrix, estimator.categories_ = read_fit(estimator, X)
        return sample_of_matrix(matrix)
    recipe = as_kernel(kernel)
    if is_streamed(X):
        return _read_stream(estimator, X, recipe)
    rows, estimator.categories_ = read_fit(
        estimator,
        X,
        vector_input=recipe.requires_vector_input,
        accept_sparse=recipe.capabilities.sparse,
        check_finite=check_finite,
    )
    names = _names(estimator)
    return _joined(recipe.bind(names), rows, names, estimator.categories_)


def warn_of_units(estimator: Any, sample: Sample) -> None:
    """Warn of columns in units so different that the estimator's kernel sees only some of them."""
    if sample.precomputed:
        return
    recipe = as_kernel(estimator.kernel)
    if recipe.requires_vector_input:
        known = getattr(estimator, "feature_names_in_", None)
        bound, owner = recipe.bind(_names(estimator)), type(estimator).__name__
        warn_of_scales(bound, sample.rows, known, estimator.categories_, owner=owner)


def read_rows(estimator: Any, X: Any, abilities: Capabilities) -> Any:
    """New rows, checked against those of ``fit``."""
    if isinstance(X, RowSource):
        if X.shape[1] != estimator.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
                f"{estimator.n_features_in_} features as input."
            )
        return SourceRows(X)
    return read_new(
        estimator,
        X,
        categories=getattr(estimator, "categories_", {}),
        vector_input=abilities.vector_input,
        accept_sparse=abilities.sparse,
    )


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


def _names(estimator: Any) -> list[str]:
    """Names of the columns that ``fit`` has read, or their numbers."""
    names = getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))
    return [str(name) for name in names]


def _joined(bound: Kernel, rows: Any, names: Sequence[str], categories: Categories) -> Sample:
    """Rows of a table with a kernel that knows its categorical columns."""
    if categories:
        bound = join_categories(bound, categories, len(names), names)
    return Sample(bound, rows)


def _read_stream(estimator: Any, X: Any, recipe: Kernel) -> Sample:
    """Rows that are read a block at a time, for ``fit``."""
    estimator.categories_, estimator.n_features_in_ = {}, X.shape[1]
    estimator.__dict__.pop("feature_names_in_", None)
    if not hasattr(X, "rows"):  # as another estimator has read them: numbers without names
        return Sample(recipe.bind(_names(estimator)), X)
    rows, decoder = X.rows, X.stream.decoder
    estimator.categories_ = dict(decoder.categories)
    if decoder.names is not None:
        estimator.feature_names_in_ = np.array(decoder.names, dtype=object)
    return _streamed(recipe, rows, _names(estimator))


def _streamed(recipe: Kernel, rows: Any, names: Sequence[str]) -> Sample:
    """A sample of streamed rows, if its kernel has coordinates or is a map that gets them."""
    if not recipe.requires_vector_input:
        raise TypeError(
            f"{type(recipe).__name__} compares objects, which a table that is read a chunk at a "
            "time does not hold: pass them in memory."
        )
    sample = _joined(recipe.bind(names), rows, names, rows.stream.decoder.categories)
    if sparse.issparse(rows.example) and not recipe.capabilities.sparse:
        raise TypeError(f"{type(recipe).__name__} needs dense rows.")
    return sample


def transformed(estimator: Any, X: Any) -> Any:
    """Features of a table that is read a chunk at a time: lazy as the table is."""
    if is_dask(X):
        from depmax.samples.dask_pieces import transformed as lazily

        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        return lazily(X, estimator.transform, estimator._n_features_out, np.dtype(dtype))
    return X.map(estimator.transform)


def require_coordinates(sample: Sample, owner: str) -> None:
    """Refuse a kernel that compares all pairs of rows, where rows are read a chunk at a time."""
    if not sample.is_streamed:
        return
    if not sample.kernel.has_features or sample.n_coordinates is None:
        name = type(sample.kernel).__name__
        raise TypeError(
            f"{owner} with the kernel {name} compares all pairs of rows, which a table that is "
            f"read a chunk at a time does not allow: use kernel='linear', or a map such as "
            f"kernel=NystroemMap(200, kernel={name}())."
        )
    if sample.n_coordinates > sample.n_samples:
        raise ValueError(
            f"{owner} has {sample.n_coordinates} coordinates and only {sample.n_samples} rows: "
            "a table with so few rows is read as a whole, with X.compute()."
        )


# --- targets --------------------------------------------------------------------------------------
def read_target_sample(
    y: Any,
    target_kernel: KernelLike | Literal["auto"],
    *,
    choose: Choose | None = None,
    mass: np.ndarray | None = None,
) -> Sample:
    """Target y read by its type, with the kernel that suits it or the one given."""
    if is_precomputed(target_kernel):
        return sample_of_matrix(read_table(y, name="y").values, "y", mass).resolved()
    if not _is_auto(target_kernel):
        recipe = as_kernel(target_kernel)
        if reads_objects(recipe):
            return Sample(recipe, read_objects(y, "y"), mass=mass).resolved(choose)
    return target_sample(read_target(y), target_kernel, choose=choose, mass=mass)


def target_sample(
    target: Target,
    target_kernel: KernelLike | Literal["auto"],
    *,
    choose: Choose | None = None,
    mass: np.ndarray | None = None,
) -> Sample:
    """Sample of a target that is read already, for a kernel of labels or of vectors."""
    recipe = kernel_of_target(target) if _is_auto(target_kernel) else as_kernel(target_kernel)
    rows = target.labels if recipe.capabilities.labels else target.vectors
    return Sample(recipe, rows, mass=mass).resolved(choose)


def reads_objects(kernel: Kernel) -> bool:
    """Whether a kernel of targets reads neither labels nor vectors, but strings or row numbers."""
    return not kernel.requires_vector_input and not kernel.capabilities.labels


def kernel_of_target(target: Target) -> Kernel:
    """The kernel that ``target_kernel="auto"`` chooses for the type of a target."""
    if target.kind == "classes":
        n_classes = len(target.classes)
        if n_classes < 2:
            raise ValueError(
                f"y has one class only ({target.classes.tolist()[0]!r}): nothing can depend on a "
                "constant. At least two classes are needed."
            )
        return as_kernel("class_balanced") if n_classes == 2 else Delta(weights="balanced")
    return as_kernel("linear" if target.kind == "multilabel" else "gaussian")


def require_equal_length(n_x: int, n_y: int) -> None:
    """Refuse X and y with different numbers of rows."""
    if n_x != n_y:
        raise ValueError(f"X and y have inconsistent numbers of samples: {n_x} rows against {n_y}.")


#: Fewest samples for which each estimator is defined.
MINIMUM = {True: 4, False: 2}


def require_samples(n_samples: float, unbiased: bool) -> None:
    """Refuse samples too few for the estimator."""
    if n_samples < MINIMUM[unbiased]:
        which = "unbiased" if unbiased else "biased"
        raise ValueError(
            f"The {which} estimator needs at least {MINIMUM[unbiased]} samples, got n_samples = "
            f"{n_samples}."
        )


def _is_auto(target_kernel: KernelLike) -> bool:
    return isinstance(target_kernel, str) and target_kernel == "auto"
