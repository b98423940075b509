"""By what should ``screen`` rank columns: by effect, by score (HSIC) or by p-value?

Columns are ranked on one half of the rows; boosted trees learn from the first 3, 5 and 10 on that
half and predict the other: accuracy of classes, R² of numbers (not below 0). The order was chosen
on ten sets, named before, and is reported on the others; an interval is that of a mean over sets.

    DEPMAX_DATA=… python benchmarks/screen_order.py [--sets chosen|others]
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from _shootout_sets import Task, load, names
from common import parse, require_data, sized, table
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split

from depmax import screen

#: Sets that the order was chosen on.
CHOSEN = (
    *("abalone", "australian", "bank32nh", "boston_housing", "covertype_581"),
    *("ionosphere", "segment", "sonar", "spambase", "svmguide3"),
)
ORDERS, COUNTS = ("effect", "score", "p-value"), (3, 5, 10)
ROWS, SPLITS, TREES = sized((1600, 2, 50), (100, 1, 5))


def _orders(X: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows of a random half are no series
        found = screen(X, y)
    return [
        np.lexsort((-found.scores, -found.effects)),
        np.argsort(-found.scores, kind="stable"),
        np.lexsort((-found.effects, found.pvalues)),
    ]


def measure(task: Task) -> np.ndarray:
    """Score in per cent of each order and number of columns; NaN if there are not so many."""
    found = np.full((SPLITS, len(ORDERS), len(COUNTS)), np.nan)
    is_classes = task.kind == "classes"
    for split in range(SPLITS):
        train, test = train_test_split(
            np.arange(len(task.y)),
            test_size=0.5,
            random_state=split,
            stratify=task.y if is_classes else None,
        )
        known: dict[tuple[int, ...], float] = {}
        for place, order in enumerate(_orders(task.X[train], task.y[train])):
            for number, count in enumerate(COUNTS):
                if count >= task.X.shape[1]:
                    continue
                which = tuple(sorted(order[:count].tolist()))
                if which not in known:
                    kind = (
                        HistGradientBoostingClassifier
                        if is_classes
                        else HistGradientBoostingRegressor
                    )
                    model = kind(max_iter=TREES, min_samples_leaf=5, random_state=0)
                    model.fit(task.X[train][:, which], task.y[train])
                    predicted = model.predict(task.X[test][:, which])
                    score = accuracy_score if is_classes else r2_score
                    known[which] = max(0.0, float(score(task.y[test], predicted)))
                found[split, place, number] = 100.0 * known[which]
    mean: np.ndarray = found.mean(axis=0)
    return mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", choices=("chosen", "others"))
    only = parse(parser).sets
    require_data()
    sets = [name for name in names() if only is None or (name in CHOSEN) == (only == "chosen")]
    results = {}
    for name in sized(sets, sets[:2]):
        results[name] = measure(load(name, ROWS))
        print(name, np.round(results[name], 1).tolist(), flush=True)
    for title in ("chosen", "others"):
        part = [
            values for name, values in results.items() if (name in CHOSEN) == (title == "chosen")
        ]
        if len(part) > 1:
            show(title, np.array(part))


def show(title: str, values: np.ndarray) -> None:
    """Means over sets, and the difference of each order to the first with its interval."""
    rows = []
    for number, count in enumerate(COUNTS):
        known = values[~np.isnan(values[:, 0, number]), :, number]
        apart = known[:, 1:] - known[:, :1]
        error = 1.96 * apart.std(axis=0, ddof=1) / np.sqrt(len(known))
        rows.append(
            [f"{title} sets, first {count}", len(known)]
            + [f"{mean:.1f}" for mean in known.mean(axis=0)]
            + [f"{d:+.1f} ± {e:.1f}" for d, e in zip(apart.mean(axis=0), error, strict=True)]
        )
    head = ["", "sets", *ORDERS, *(f"{order} - {ORDERS[0]}" for order in ORDERS[1:])]
    table(head, rows)


if __name__ == "__main__":
    main()
