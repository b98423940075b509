"""Where rows come from, and sums over chunks of them."""

from depmax._inputs import Table, Target, read_fit, read_new, read_objects, read_table, read_target
from depmax.rows.moments import CrossMoments
from depmax.rows.sources import ArrayRows, RowSource, SparseRows, as_rows, chunk_rows, slices

__all__ = [
    "ArrayRows",
    "CrossMoments",
    "RowSource",
    "SparseRows",
    "Table",
    "Target",
    "as_rows",
    "chunk_rows",
    "read_fit",
    "read_new",
    "read_objects",
    "read_table",
    "read_target",
    "slices",
]
