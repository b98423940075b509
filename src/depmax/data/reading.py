"""From what users pass to samples: one reader for X, one for y."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from depmax.data.checks import Missing, warn_of_scales
from depmax.data.chunks import Scan
from depmax.data.columns import (
    Columns,
    column_names,
    is_missing,
)
from depmax.data.labels import (
    require_classes,
    require_labelled,
)
from depmax.data.sample import Sample, is_precomputed, sample_of_matrix
from depmax.data.scan import scan, surveyed
from depmax.data.stream import StreamRows
from depmax.data.table import (
    Table,
    is_streamed,
    read_fit,
    read_new,
    read_objects,
    read_table,
)
from depmax.data.target import Target, read_target
from depmax.kernels import (
    Capabilities,
    ClassBalanced,
    Delta,
    Gaussian,
    KernelLike,
    Linear,
    as_kernel,
)
from depmax.kernels._parts import Choose
from depmax.kernels.kernel import Kernel


# --- inputs ---------------------------------------------------------------------------------------
def read_sample(
    X: Any,
    kernel: KernelLike,
    *,
    choose: Choose | None = None,
    name: str = "X",
    scale_free: bool = False,
    weight: np.ndarray | None = None,
) -> Sample:
    """Rows X as the kernel reads them, and the kernel resolved on them.

    ``scale_free`` says that the columns' units do not matter to what is made of the sample;
    ``weight`` how many rows each row stands for.
    """
    if is_precomputed(kernel):
        return sample_of_matrix(read_table(X, name=name).values, name, weight).resolved()
    recipe = as_kernel(kernel)
    if isinstance(X, StreamRows):
        table = table_of_stream(X, recipe)
    elif recipe.requires_vector_input:
        missing: Missing = "neutral" if recipe.capabilities.reads_missing else "refuse"
        table = read_table(X, name=name, missing=missing)
    else:
        rows = read_objects(X, name)
        return Sample(recipe.bind(column_names(X)), rows, weight=weight).resolved(choose)
    sample = sample_of_table(table, recipe, choose=choose, scale_free=scale_free, weight=weight)
    require_coordinates(sample, "A measure")
    return sample


def sample_of_table(
    table: Table,
    recipe: Kernel,
    *,
    choose: Choose | None = None,
    scale_free: bool = False,
    weight: np.ndarray | None = None,
) -> Sample:
    """Sample of a table that is read already, for a kernel of vectors."""
    if not scale_free:
        warn_of_scales(recipe.bind(table.labels), table.values, table.names, table.categories)
    bound = recipe.bind(table.labels, table.categories)
    return Sample(bound, table.values, weight=weight).resolved(choose)


def read_training(
    estimator: Any, X: Any, kernel: KernelLike, *, check_finite: bool = True
) -> Sample:
    """Rows X for ``fit``, not resolved yet; sets ``categories_`` and ``n_features_in_``."""
    if is_precomputed(kernel):
        matrix, estimator.categories_ = read_fit(estimator, X)
        return sample_of_matrix(matrix)
    recipe = as_kernel(kernel)
    if isinstance(X, StreamRows):
        X.describe_to(estimator)
        table = table_of_stream(X, recipe)
    else:
        rows, estimator.categories_ = read_fit(
            estimator,
            X,
            vector_input=recipe.requires_vector_input,
            accept_sparse=recipe.capabilities.sparse,
            check_finite=check_finite,
        )
        table = _table_of(estimator, rows)
    return Sample(recipe.bind(table.labels, table.categories), table.values)


def _table_of(estimator: Any, rows: Any) -> Table:
    """Rows that ``fit`` has read, with the names of their columns, if they have any."""
    names = getattr(estimator, "feature_names_in_", None)
    names = None if names is None else tuple(map(str, names))
    return Table(rows, names, estimator.categories_)


def warn_of_units(estimator: Any, training: Sample) -> None:
    """Warn of columns in units so different that the estimator's kernel sees only some of them.

    ``training`` is what ``read_training`` has returned, not resolved yet.
    """
    if training.precomputed:
        return
    recipe, owner = as_kernel(estimator.kernel), type(estimator).__name__
    if recipe.requires_vector_input:
        table = _table_of(estimator, training.rows)
        bound = recipe.bind(table.labels) if table.categories else training.kernel
        warn_of_scales(bound, table.values, table.names, table.categories, owner=owner)


def aligned(X: Any, y: Any = None, *, supervised: bool = True) -> tuple[Any, Any]:
    """X and y as they are, or where X is read a chunk at a time both of one surveyed table.

    ``supervised`` says whether a target is looked at, if there is one.
    """
    if not is_streamed(X):
        refuse_streamed_target(X, y)
        return X, y
    if isinstance(X, StreamRows):  # surveyed already
        return X, y
    if isinstance(X, Scan) and y is not None:
        raise TypeError(
            "X is a scan, which brings its own target: pass target= to depmax.scan instead of y."
        )
    table = X if isinstance(X, Scan) else scan(X, y)
    stream = surveyed(table if supervised else table.without_target())
    return stream.inputs, stream.target


def refuse_streamed_target(X: Any, y: Any) -> None:
    """Refuse a target that is read a chunk at a time beside rows in memory."""
    if is_streamed(y):
        raise TypeError(
            f"y is a Dask collection or a scan, but X is a {type(X).__name__} in memory: pass both "
            "as Dask collections, or y.compute()."
        )


def read_rows(estimator: Any, X: Any, abilities: Capabilities) -> Any:
    """New rows, checked against those of ``fit``."""
    return read_new(
        estimator,
        X,
        categories=getattr(estimator, "categories_", {}),
        vector_input=abilities.vector_input,
        accept_sparse=abilities.sparse,
    )


def abilities_of(kernel: KernelLike) -> Capabilities:
    """What the kernel declares; ``fit`` is where a wrong one is refused."""
    if is_precomputed(kernel):
        return Capabilities()
    try:
        return as_kernel(kernel).capabilities
    except (TypeError, ValueError):
        return Capabilities()


def table_of_stream(rows: StreamRows, recipe: Kernel) -> Table:
    """Streamed rows as a table, if a kernel can read them."""
    if not recipe.requires_vector_input:
        raise TypeError(
            f"{type(recipe).__name__} compares objects, which a table that is read a chunk at a "
            "time cannot hold: pass them in memory."
        )
    if sparse.issparse(rows.example) and not recipe.capabilities.sparse:
        raise TypeError(f"{type(recipe).__name__} needs dense rows.")
    columns = Columns({}) if rows.columns is None else rows.columns
    return Table(replace(rows, columns=None), columns.names, columns.categories)


def require_coordinates(sample: Sample, owner: str) -> None:
    """Refuse a kernel that compares all pairs of rows, where rows are read a chunk at a time."""
    if not sample.is_streamed:
        return
    if not sample.kernel.has_features or sample.n_coordinates is None:
        name = type(sample.kernel).__name__
        raise TypeError(
            f"{owner} with the kernel {name} compares all pairs of rows, which is not possible for "
            "a table that is read a chunk at a time: use kernel='linear', or a map such as "
            f"kernel=NystroemMap(200, kernel={name}())."
        )
    if sample.n_coordinates > sample.n_samples:
        raise ValueError(
            f"{owner} has {sample.n_coordinates} coordinates and only {sample.n_samples} rows: "
            "a table with so few rows is read as a whole, with X.compute()."
        )


# --- targets --------------------------------------------------------------------------------------
class Labels(NamedTuple):
    """The target on the labelled rows with its kernel, and which rows these are."""

    sample: Sample
    labelled: np.ndarray | None = None  # shape (n_rows,); None: all that are visited
    n_skipped: int = 0  # rows without a label that a stream does not visit


def read_labels(
    y: Any,
    target_kernel: KernelLike | Literal["auto"],
    *,
    semi: bool = True,
    minus_one: bool = False,
    choose: Choose | None = None,
    weight: np.ndarray | None = None,
    is_part: bool = False,
) -> Labels:
    """Target y read by its type, with the kernel that suits it or the one given.

    With ``semi`` NaN and None mark unlabelled rows, and -1 among classes if ``minus_one``;
    ``is_part`` says that y is a part of a target that was read before.
    """
    if is_precomputed(target_kernel):
        return Labels(sample_of_matrix(read_table(y, name="y").values, "y", weight).resolved())
    if not _is_auto(target_kernel) and reads_objects(recipe := as_kernel(target_kernel)):
        rows, labelled = _read_some_objects(y, minus_one) if semi else (read_objects(y, "y"), None)
        weight = weight if weight is None or labelled is None else weight[labelled]
        return Labels(Sample(recipe, rows, weight=weight).resolved(choose), labelled)
    target, labelled = read_target(y, semi=semi, minus_one=minus_one, is_part=is_part), None
    n_unlabeled = target.n_unlabeled
    if n_unlabeled and not target.is_streamed:
        labelled = target.labelled
        require_labelled(target.n_samples - n_unlabeled, target.n_samples)
        target, weight = target.take(labelled), None if weight is None else weight[labelled]
        if target.kind == "classes" and len(target.classes) < 2:
            raise ValueError(
                f"The labelled rows of y have one class only ({target.classes.tolist()[0]!r}): "
                "nothing can depend on a constant. At least two classes need a labelled row."
            )
    sample = target_sample(target, target_kernel, choose=choose, weight=weight, is_part=is_part)
    return Labels(sample, labelled, n_unlabeled if labelled is None else 0)


def read_target_sample(
    y: Any, target_kernel: KernelLike | Literal["auto"], **options: Any
) -> Sample:
    """Target y with its kernel, by ``read_labels``; a missing value is refused."""
    return read_labels(y, target_kernel, semi=False, **options).sample


def target_sample(
    target: Target,
    target_kernel: KernelLike | Literal["auto"],
    *,
    choose: Choose | None = None,
    weight: np.ndarray | None = None,
    is_part: bool = False,
) -> Sample:
    """Sample of a target that is read already, for a kernel of labels or of vectors."""
    recipe = kernel_of_target(target) if _is_auto(target_kernel) else as_kernel(target_kernel)
    rows = target.labels if recipe.capabilities.labels else target.vectors
    if not is_part:
        warn_of_outputs(target, recipe)
    return Sample(recipe, rows, weight=weight).resolved(choose)


def warn_of_outputs(target: Target, kernel: Kernel) -> None:
    """Warn of outputs in units so different that the kernel sees only some of them."""
    if target.kind == "multioutput":
        warn_of_scales(kernel, target.vectors, None, name="y")


def reads_objects(kernel: Kernel) -> bool:
    """Whether a kernel of targets reads neither labels nor vectors, but strings or row numbers."""
    return not kernel.requires_vector_input and not kernel.capabilities.labels


def kernel_of_target(target: Target) -> Kernel:
    """The kernel that ``target_kernel="auto"`` chooses for the type of a target."""
    if target.kind == "classes":
        require_classes(target.classes)
        return ClassBalanced() if len(target.classes) == 2 else Delta(weights="balanced")
    return Linear() if target.kind == "multilabel" else Gaussian()


def _is_auto(target_kernel: KernelLike) -> bool:
    return isinstance(target_kernel, str) and target_kernel == "auto"


def _read_some_objects(y: Any, minus_one: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Strings, row numbers or other objects of the labelled rows, and which these are."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    rows = read_objects(y, "y")
    missing = np.array([is_missing(row) for row in rows], dtype=bool)
    if minus_one and rows.dtype.kind in "iuf" and not np.isin(rows[~missing], (-1, 1)).all():
        missing |= rows == -1
    if not missing.any():
        return rows, None
    require_labelled(int((~missing).sum()), len(rows))
    known = rows[~missing]
    if known.dtype.kind == "f" and (known == np.rint(known)).all():
        known = known.astype(np.intp)  # row numbers, which gaps had made floats
    return known, ~missing


def warn_of_unlabeled(n_unlabeled: int, n_samples: int, owner: str, stacklevel: int) -> None:
    """Say how many rows are ignored because they have no label."""
    if n_unlabeled:
        warnings.warn(
            f"{owner} ignored {n_unlabeled} of {n_samples} rows without a label in y (NaN or "
            "None). beta > 0 learns from such rows too.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )
