"""Published tables with our figures beside them.

>>> from reproduction import tables
>>> "bahsic_table1" in tables()
True
"""

from reproduction.registry import Table, register, tables, whole
from reproduction.report import Results, merge, print_table, read_csv, save_csv

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
