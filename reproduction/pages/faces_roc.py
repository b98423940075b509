"""Figure 6 of the sparse PLS paper: ROC curves of face detection by sparse features.

    python -m reproduction.pages.faces_roc
    python -m reproduction.pages.faces_roc --quick --picture roc.png

Draws docs/images/faces_roc.png and keeps the areas in reproduction/results/sparse_pls_faces.csv.
The CBCL images are read from the folder that DEPMAX_DATA names. Images are ranked that are neither
used for training nor near copies of such. --quick trains on fewer images and keeps no areas.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
import numpy as np

from reproduction import print_table, save_csv, tables
from reproduction.external import load_external
from reproduction.sparse_pls_faces import (
    DATASET,
    NAME,
    QUICK,
    Plan,
    as_row,
    rankings,
)

matplotlib.use("Agg")
from matplotlib import pyplot as plt

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "faces_roc.png"
RESULTS = Path(__file__).parents[1] / "results" / f"{NAME}.csv"


def main() -> None:
    """Rank the windows of the test images and draw the curves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer images; areas are not saved")
    parser.add_argument("--picture", type=Path, default=PICTURE)
    options = parser.parse_args()
    data = load_external(DATASET)
    figure, axis = plt.subplots(figsize=(5, 4), layout="constrained")
    rows = []
    plan = QUICK if options.quick else Plan()
    for ranking in rankings(np.asarray(data.X, dtype=float), data.y == 1, plan):
        size = "" if ranking.n_features is None else f", {ranking.n_features} features"
        label = f"{ranking.method}{size}: area 1 - {1 - ranking.area:.1e}"
        print(label, flush=True)
        axis.plot(ranking.false_positives, ranking.true_positives, label=label)
        rows.append(as_row(ranking))
    axis.set(xscale="log", xlim=(2e-4, 1), xlabel="false positive rate (log scale)")
    axis.set(ylim=(0.9, 1.002), ylabel="true positive rate")
    axis.set(title=f"CBCL faces, {plan.n_train} images learnt from")
    axis.legend(frameon=False, loc="lower right")
    figure.savefig(options.picture, dpi=110)
    print(f"Written: {options.picture}\n")
    table = tables()[NAME]
    print_table(table, rows)
    if not options.quick:
        save_csv(RESULTS, rows, table.columns)


if __name__ == "__main__":
    main()
