"""Few rows and thousands of columns: the methods of the shoot-out that matter most there.

Ten sets of 49 to 168 rows, two repeats of five folds, the judges of the shoot-out. Whatever is
changed for such tables is chosen on CHOICE and checked on CHECK. Results are appended to
``results/few_rows.csv`` in the form of the shoot-out's, whose page shows them; lines that are there
are not computed again.

    python benchmarks/few_rows.py
    python benchmarks/few_rows.py --again --methods KernelRidgeElimination
    PYTHONPATH=. python benchmarks/shootout.py --page
"""

from __future__ import annotations

import argparse

import shootout
from _shootout_methods import METHODS
from common import RESULTS, parse, require_data

FILE = RESULTS / "few_rows.csv"
#: Sets of the shoot-out keep their half; of the others every second one, in alphabetical order.
CHOICE = (
    *("breast_vantveer_1113", "breast_west", "dlbcl_shipp"),
    *("gasoline_nir", "leukemia_golub", "srbct_khan"),
)
CHECK = ("cns_pomeroy", "colon", "gisette_168", "lymphoma_alizadeh")
COMPARED = (
    *("KernelRidgeElimination", "BAHSIC", "BAHSIC as published", "SelectKBest F"),
    *("SelectFromModel L1", "fastcan", "LightGBM gain"),
)
REPEATS = 2


def main() -> None:
    """Run what is not in the file yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=CHOICE + CHECK, choices=CHOICE + CHECK)
    parser.add_argument("--methods", nargs="+", default=COMPARED, choices=COMPARED)
    parser.add_argument("--again", action="store_true", help="replace results that are there")
    options = parse(parser)
    require_data()
    methods = [METHODS[name] for name in options.methods]
    if options.smoke:
        shootout.smoke(CHECK[1:2], methods[3:4])
        return
    if options.again:
        shootout.forget(options.sets, methods, FILE)
    shootout.run(options.sets, methods, REPEATS, max_rows=800, file=FILE)


if __name__ == "__main__":
    main()
