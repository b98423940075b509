"""Samples: rows with a kernel, where rows come from, and how X and y become samples."""

from depmax._threads import chunk_rows, slices
from depmax.samples.labels import Labels, read_labels
from depmax.samples.reading import (
    MINIMUM,
    abilities_of,
    is_precomputed,
    kernel_of_target,
    read_rows,
    read_sample,
    read_target_sample,
    read_training,
    reads_objects,
    require_equal_length,
    require_samples,
    target_sample,
    warn_of_units,
)
from depmax.samples.sample import (
    Origin,
    Reference,
    Sample,
    precision,
    require_finite_values,
    require_positive,
    require_semidefinite,
    sample_of_matrix,
)
from depmax.samples.sources import (
    ArrayRows,
    RowSource,
    SourceRows,
    SparseRows,
    as_rows,
)

__all__ = [
    "MINIMUM",
    "ArrayRows",
    "Labels",
    "Origin",
    "Reference",
    "RowSource",
    "Sample",
    "SourceRows",
    "SparseRows",
    "abilities_of",
    "as_rows",
    "chunk_rows",
    "is_precomputed",
    "kernel_of_target",
    "precision",
    "read_labels",
    "read_rows",
    "read_sample",
    "read_target_sample",
    "read_training",
    "reads_objects",
    "require_equal_length",
    "require_finite_values",
    "require_positive",
    "require_samples",
    "require_semidefinite",
    "sample_of_matrix",
    "slices",
    "target_sample",
    "warn_of_units",
]
