"""Published tables with our figures beside them.

>>> from depmax.evaluation.reproduce import tables
>>> "bahsic_table1" in tables()
True
"""

from depmax.evaluation.reproduce.registry import Table, register, tables, whole
from depmax.evaluation.reproduce.report import Results, merge, print_table, read_csv, save_csv

__all__ = [
    "Results",
    "Table",
    "merge",
    "print_table",
    "read_csv",
    "register",
    "save_csv",
    "tables",
    "whole",
]
