"""Run a published table and show our figures beside it.

    python -m reproduction --list
    python -m reproduction bahsic_table1 --quick
    python -m reproduction bahsic_table1 --sets sonar heart --n-jobs 2
    python -m reproduction thesis_gaussian --splits 10
    python -m reproduction sparse_pls_machines --sets sonar --methods PLS SMA --minutes 30
    python -m reproduction --page

The rows of every data set are kept in reproduction/results/TABLE.csv as soon as they are complete;
a later run replaces the sets it computes and leaves the others. Tables of repeated splits say how
many there were and keep the value of every split in TABLE_splits.csv as soon as it is known: a
later run computes only what is missing there, and --minutes 0 makes the rows from what is there.
Delete lines of that file to run them again.
--page writes the tables of docs/reproduction.md from these files. Sets that do not come with the
package are read from the folder that the environment variable DEPMAX_DATA names.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reproduction import Results, print_table, read_csv, tables
from reproduction.kept_splits import KeptSplits
from reproduction.pages.drawings import DRAWINGS, draw
from reproduction.pages.filling import fill_page

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "reproduction.md"
IMAGES = PAGE.parent / "images"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", nargs="?", choices=list(tables()), metavar="TABLE")
    parser.add_argument("--list", action="store_true", help="show the tables and stop")
    parser.add_argument("--names", action="store_true", help="print the tables' names and stop")
    parser.add_argument("--page", action="store_true", help="fill the page of results and stop")
    parser.add_argument("--quick", action="store_true", help="fewer sets and folds; not saved")
    parser.add_argument(
        "--splits", type=int, metavar="N", help="only the first N of a table's repeated splits"
    )
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="only splits of these methods")
    parser.add_argument(
        "--minutes", type=float, metavar="T", help="begin no split after this time; 0: none at all"
    )
    parser.add_argument("--n-jobs", type=int, default=None, metavar="N")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="only these data sets")
    options = parser.parse_args(arguments)
    if options.list:
        for table in tables().values():
            print(f"{table.name:<20} {table.title}")
        return
    if options.names:
        print(*tables())
        return
    if options.page:
        fill_page(PAGE, RESULTS)
        print(f"Filled: {PAGE}")
        return
    if options.table is None:
        parser.error("name a TABLE, --list or --page")
    table = tables()[options.table]
    path = RESULTS / f"{table.name}.csv"
    splits = RESULTS / f"{table.name}_splits.csv"
    results = Results(table, path, splits)
    start = time.perf_counter()

    def report(row: dict[str, Any]) -> None:
        if not options.quick:
            results.add(row)
        shown = "-" if row["ours"] is None else f"{row['ours']:.3g}"
        elapsed = time.perf_counter() - start
        print(f"[{elapsed:6.0f} s] {row['dataset']} {row['method']}: {shown}", flush=True)

    if not table.continued and (options.methods or options.minutes is not None):
        parser.error(f"{table.name} is not run split by split: leave --methods and --minutes out")
    kept = None
    if table.continued:
        file = None if options.quick else splits
        kept = KeptSplits(table.paired, file, options.methods, options.minutes)
    rows = table.run(options.quick, options.n_jobs, options.sets, report, options.splits, kept)
    print()
    print_table(table, rows)
    if not options.quick:
        results.save()
        print(f"\nSaved: {path}")
        if table.name in DRAWINGS:
            picture = IMAGES / f"{table.name}.png"
            draw(table.name, read_csv(path), picture)
            print(f"Drawn: {picture}")


if __name__ == "__main__":
    main()
