"""Published tables with our figures beside them.

>>> from reproduction import tables
>>> "bahsic_table1" in tables()
True
"""

from reproduction.csv_rows import read_csv, save_csv
from reproduction.registry import Table, register, tables, whole
from reproduction.report import Results, merge, print_table

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
