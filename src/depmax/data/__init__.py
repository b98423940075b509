"""How data are read: frames, names, types of columns, types of targets, unlabelled rows."""

from depmax.data.chunks import Scan
from depmax.data.columns import UnseenCategoryWarning, column_names, role_of_text
from depmax.data.scan import scan
from depmax.data.table import (
    Table,
    read_fit,
    read_new,
    read_objects,
    read_table,
    require_finite_rows,
)
from depmax.data.target import Target, TargetKind, Task, read_target

__all__ = [
    "Scan",
    "Table",
    "Target",
    "TargetKind",
    "Task",
    "UnseenCategoryWarning",
    "column_names",
    "read_fit",
    "read_new",
    "read_objects",
    "read_table",
    "read_target",
    "require_finite_rows",
    "role_of_text",
    "scan",
]
