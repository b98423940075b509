"""A sample: rows of X or of y with a kernel, as kernel values or as coordinates, whole or in parts.

Readers of X and y end here: ``read_sample`` and ``read_training`` put a kernel on a table,
``read_labels`` one that suits its type on a target.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from depmax._files import held_by_models
from depmax._resources import cached_property, chunk_rows, map_instead, require_pairs, slices
from depmax._warnings import warn_caller
from depmax.data.chunks import Scan
from depmax.data.columns import (
    Columns,
    Missing,
    column_names,
    is_missing,
)
from depmax.data.scan import scan, surveyed
from depmax.data.stream import StreamRows
from depmax.data.table import (
    Table,
    is_streamed,
    read_fit,
    read_new,
    read_objects,
    read_table,
    warn_of_scales,
)
from depmax.data.target import Target, read_target, require_classes
from depmax.data.target_messages import refuse_unlabelled
from depmax.kernels import (
    Capabilities,
    Censored,
    ClassBalanced,
    Delta,
    Gaussian,
    KernelLike,
    Linear,
    Precomputed,
    as_kernel,
)
from depmax.kernels.kernel import Choose, Kernel, is_precomputed

#: Rows up to which the kernel matrix is made as a whole: 2 MB, in the time of a few dozen calls.
SMALL = 512
#: Rows whose kernel matrix any limit of memory allows: half a megabyte.
FREE_ROWS = 256
#: Rows whose mean image is the new origin of a sample without narrow coordinates.
PILOT_ROWS = 16
#: Some of the rows.
Rows = slice | np.ndarray


@dataclass(frozen=True)
class Origin:
    """A point μ of the feature space from which a sample is measured."""

    products: np.ndarray  # ⟨φ(x), μ⟩ of every row, shape (n_samples,)
    square: float  # ‖μ‖²

    def take(self, indices: np.ndarray) -> Origin:
        """The point, seen from some of the rows."""
        return Origin(self.products[indices], self.square)

    def about(self, values: np.ndarray, rows: Rows, columns: Rows) -> np.ndarray:
        """⟨φ(x) - μ, φ(z) - μ⟩ from the values ⟨φ(x), φ(z)⟩ of some rows and others."""
        moved = values - self.products[rows, np.newaxis]
        moved -= self.products[np.newaxis, columns]
        moved += self.square
        return moved


@dataclass(frozen=True)
class Sample:
    """Rows and the kernel on them, of inputs or of targets.

    The kernel is a recipe until ``resolved``; only then can rows be compared. Kernel values come
    in tiles and exact coordinates, where the kernel has them, in chunks of rows, so that nothing
    of the size of the sample need be held. Kernel values (``tile``, ``gram``, ``columns``,
    ``diag``) are those about the ``origin``, if there is one; coordinates are those of the kernel
    itself, for callers who centre them.
    """

    kernel: Kernel
    rows: Any  # matrix, CSR matrix, labels, objects, or row numbers of a given kernel matrix
    precomputed: bool = False  # whether X was the kernel matrix itself
    origin: Origin | None = None
    weight: np.ndarray | None = None  # how many rows each stands for, shape (m,); None: one

    @property
    def n_samples(self) -> int:
        """Number of rows m."""
        return int(self.rows.shape[0])

    @property
    def total(self) -> float:
        """Number of rows that these stand for: m, or the sum of their weights."""
        return self.n_samples if self.weight is None else float(self.weight.sum())

    @property
    def dtype(self) -> np.dtype:
        """float32 for rows or a kernel matrix in float32, float64 for all others."""
        values = self.kernel.matrix if self.precomputed else self.rows
        return precision(values)

    @property
    def eps(self) -> float:
        """Relative rounding error of one kernel value."""
        return float(np.finfo(self.dtype).eps)

    @property
    def is_array(self) -> bool:
        """Whether rows are numbers in memory, which threads may read at the same time."""
        return isinstance(self.rows, np.ndarray) and self.rows.dtype.kind == "f"

    @property
    def is_streamed(self) -> bool:
        """Whether rows are read a block at a time, and visits are the stream's."""
        return isinstance(self.rows, StreamRows)

    @property
    def is_in_memory(self) -> bool:
        """Whether rows of any type are in memory, which threads may read at the same time."""
        return isinstance(self.rows, np.ndarray) or sparse.issparse(self.rows)

    def resolved(self, choose: Choose | None = None) -> Sample:
        """Rows with every recipe of the kernel replaced by numbers."""
        return replace(self, kernel=self.kernel.resolve(self.rows, choose, self.weight))

    def in_double(self) -> Sample:
        """Rows in float64, for kernels that compare them in memory."""
        is_single = self.is_array and not self.has_features
        return replace(self, rows=in_double(self.rows)) if is_single else self

    def take(self, indices: np.ndarray) -> Sample:
        """Some of the rows, with this kernel and origin."""
        origin = None if self.origin is None else self.origin.take(indices)
        weight = None if self.weight is None else self.weight[indices]
        return replace(self, rows=self.rows[indices], origin=origin, weight=weight)

    # --- coordinates -----------------------------------------------------------------------------
    @cached_property
    def n_coordinates(self) -> int | None:
        """Columns D of the exact map Φ with K = ΦΦᵀ; None if there is none, or D is too large."""
        return self.kernel.n_coordinates(self.rows.example if self.is_streamed else self.rows)

    @property
    def has_features(self) -> bool:
        """Whether samples can be seen through coordinates (the primal), not only kernel values."""
        return self.n_coordinates is not None

    @property
    def is_narrow(self) -> bool:
        """Whether coordinates are cheaper than the Gram matrix."""
        width = self.n_coordinates
        return width is not None and width <= max(1, self.n_samples // 2)

    def coordinates(self, rows: Rows) -> Any:
        """Exact coordinates of some rows, dense or sparse.

        Rows lie one after the other, however X lies in memory: products round differently, and a
        search that has several optima could end in another one.
        """
        own = self.rows[rows]
        linear = self.kernel.capabilities.is_linear  # whose sums are in float64 anyway
        phi = self.kernel.features(own if linear else in_double(own))
        return np.ascontiguousarray(phi) if isinstance(phi, np.ndarray) else phi

    def centred_coordinates(self) -> np.ndarray:
        """Exact coordinates of all rows, dense, in float64, with mean zero."""
        phi = self.coordinates(slice(None))
        phi = phi.toarray() if sparse.issparse(phi) else phi
        phi = np.asarray(phi, dtype=np.float64)
        return phi - self.mean_of(phi)

    def mean_of(self, values: np.ndarray) -> np.ndarray:
        """Mean of values at the rows, of shape (m, k) or (m,), over all rows these stand for."""
        mean = values.mean(axis=0) if self.weight is None else self.weight @ values / self.total
        return np.asarray(mean)

    def chunks(self) -> list[slice]:
        """Slices of rows whose coordinates fit in one chunk."""
        return list(slices(self.n_samples, chunk_rows(self.n_coordinates or 1)))

    # --- kernel values ---------------------------------------------------------------------------
    @cached_property
    def _read(self) -> Any:
        """Rows as the kernel computes on them, checked once."""
        return self.kernel._read(self.rows)

    def tile(self, rows: Rows, columns: Rows) -> np.ndarray:
        """Kernel values of some rows against others, in float64."""
        left = self._read[rows]
        values = self.kernel._gram(left, left if rows is columns else self._read[columns])
        values = values.astype(np.float64, copy=False)
        return values if self.origin is None else self.origin.about(values, rows, columns)

    def gram(self) -> np.ndarray:
        """The kernel matrix K of shape (m, m), in float64; refused above the limit of memory."""
        if not self.precomputed and self.n_samples > FREE_ROWS:
            require_pairs(
                repr(self.kernel), self.n_samples, self.n_samples**2, map_instead(self.kernel)
            )
        everything = slice(None)
        return require_finite_values(self.tile(everything, everything))

    def columns(self, indices: np.ndarray) -> np.ndarray:
        """Columns K[:, indices] of shape (m, len(indices)), in the precision of the rows."""
        if self.is_small:
            return self._matrix[:, indices]
        values = self.kernel._gram(self._read, self._read[indices])
        if self.origin is not None:
            values = self.origin.about(values, slice(None), indices)
        return require_finite_values(values).astype(self.dtype, copy=False)

    def diag(self) -> np.ndarray:
        """The diagonal of ``gram``, of shape (m,), in float64."""
        values = require_finite_values(self.kernel._diag(self._read))
        values = values.astype(np.float64, copy=False)
        if self.origin is None:
            return values
        return values - 2.0 * self.origin.products + self.origin.square

    @property
    def is_small(self) -> bool:
        """Whether all columns at once, by one matrix product, cost less than some in turn."""
        return self.n_samples <= SMALL and self.kernel.capabilities.radial

    @cached_property
    def _matrix(self) -> np.ndarray:
        return self.gram().astype(self.dtype, copy=False)

    # --- views -----------------------------------------------------------------------------------
    def near_origin(self) -> Sample:
        """A sample measured from about its mean, unless its kernel is bounded anyway."""
        if self.is_narrow or not self.kernel.capabilities.stationary:
            return self.about_mean()
        return self

    def about_mean(self) -> Sample:
        """A sample measured from about its mean: its centred kernel matrix is as before.

        Sums over its kernel values do not cancel, however far the rows lie from the origin of the
        feature space and however wide the kernel is.
        """
        if self.origin is not None:
            return self
        if self.is_narrow and not sparse.issparse(self.coordinates(slice(0, 1))):
            return Sample(Linear(), self.centred_coordinates(), weight=self.weight)
        count = min(self.n_samples, PILOT_ROWS)
        pilot = np.linspace(0, self.n_samples - 1, count).astype(np.intp)
        products = self.tile(slice(None), pilot).mean(axis=1)
        return replace(self, origin=Origin(products, float(products[pilot].mean())))

    def reference(self) -> Reference:
        """Rows as what new rows are compared with."""
        return Reference(None if self.precomputed else self.kernel, self.rows)


@held_by_models
@dataclass(frozen=True)
class Reference:
    """Rows that new rows are compared with."""

    kernel: Kernel | None  # None: new rows are kernel values with every training row
    rows: Any  # the reference rows, or without a kernel their positions among the training rows

    @property
    def n_rows(self) -> int:
        """Number of reference rows."""
        return int(self.rows.shape[0])

    def against(self, rows: Any) -> np.ndarray:
        """Kernel values of new rows with the reference rows, of shape (n_new, n_rows).

        In float64, whatever the rows are: weights may be large, and multiply rounding errors.
        """
        if self.kernel is None:
            return in_double(rows[:, self.rows])
        return self.kernel(in_double(rows), in_double(self.rows))


def sample_of_matrix(
    matrix: np.ndarray, name: str = "X", weight: np.ndarray | None = None
) -> Sample:
    """The training rows of a given kernel matrix, not resolved yet."""
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"With a precomputed kernel {name} is the square kernel matrix of the training rows in "
            f"fit, and of new rows against these in transform; got shape {matrix.shape} in fit."
        )
    return Sample(Precomputed(matrix), np.arange(matrix.shape[0]), precomputed=True, weight=weight)


def precision(rows: Any) -> np.dtype:
    """Type to compute in: float32 for rows in float32, float64 for all others."""
    return np.dtype(np.float32 if rows.dtype == np.float32 else np.float64)


def in_double(rows: Any) -> Any:
    """Rows of numbers in float32 as float64, all others as they are."""
    is_single = getattr(rows, "dtype", None) == np.float32
    return rows.astype(np.float64) if is_single else rows


# --- kernel values that can be used ---------------------------------------------------------------
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


def require_positive(largest: float) -> None:
    """Refuse a kernel that is zero everywhere."""
    if not largest > 0:
        raise ValueError(
            "The kernel is zero on every row, so there is nothing to map: check that X is not all "
            "zero (or all strings too short for the kernel), or choose another kernel."
        )


def require_semidefinite(smallest: float, largest: float) -> None:
    """Refuse what is no inner product, beyond rounding."""
    if smallest < -1e-4 * largest:
        raise ValueError(
            "The kernel is not positive semidefinite on these rows (a value that must not be "
            f"negative is {smallest:.3g}, against {largest:.3g} for the largest), so no feature "
            "map has it as inner product."
        )


def require_finite_values(values: Any) -> Any:
    """Refuse kernel values, or what was made of them, that overflowed."""
    if not np.isfinite(values).all():
        raise ValueError(
            "The kernel gives NaN or infinity on these rows: scale the columns of X, e.g. with "
            "sklearn.preprocessing.StandardScaler, or choose another kernel."
        )
    return values


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
        if n_unlabeled == target.n_samples:
            refuse_unlabelled(n_unlabeled)
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
    able = recipe.capabilities
    if able.survival:
        if target.kind != "censored":
            raise ValueError(f"{recipe!r} compares survival times, but y holds {target.kind}.")
        if target.times is not None:
            return Sample(recipe, target.times, weight=weight).resolved(choose)
        recipe = Linear()  # residuals of times are scores without times
    rows = target.labels if able.labels else target.weighed(weight).vectors
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
    if target.kind == "censored":
        return Censored()
    return Linear() if target.kind == "multilabel" else Gaussian()


def _is_auto(target_kernel: KernelLike) -> bool:
    return isinstance(target_kernel, str) and target_kernel == "auto"


def _read_some_objects(y: Any, minus_one: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Strings, row numbers or other objects of the labelled rows, and which these are."""
    if y is None:
        raise ValueError("This method requires y to be passed, but the target y is None.")
    rows = read_objects(y, "y")
    missing = np.array([is_missing(row) for row in rows], dtype=bool)
    if minus_one and rows.dtype.kind in "iuf" and not np.isin(rows[~missing], (-1, 1)).all():
        missing |= rows == -1
    if not missing.any():
        return rows, None
    if missing.all():
        refuse_unlabelled(len(rows))
    known = rows[~missing]
    if known.dtype.kind == "f" and (known == np.rint(known)).all():
        known = known.astype(np.intp)  # row numbers, which gaps had made floats
    return known, ~missing


def warn_of_unlabeled(n_unlabeled: int, n_samples: int, owner: str) -> None:
    """Say how many rows are ignored because they have no label."""
    if n_unlabeled:
        warn_caller(
            f"{owner} ignored {n_unlabeled} of {n_samples} rows without a label in y (NaN or "
            "None). beta > 0 learns from such rows too.",
            UserWarning,
        )
