"""Which predictor `compare` should judge classes with by default, above all where one is rare.

Balanced accuracy in percent, five folds, with the five columns of the largest F statistic and with
all columns; on the tables as they are and with the rarest class thinned to six rows per hundred of
the others (at least twelve). The tables of CHOSEN decided, those of REPORTED did not.

    DEPMAX_DATA=... python benchmarks/default_predictor.py
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import common
import numpy as np
from _external import load_external
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from depmax.evaluation.comparison.judges import KERNEL_MACHINE_ROWS, read_judge
from depmax.evaluation.comparison.problem import read_problem

CHOSEN = (
    "spectf",
    "australian",
    "svmguide2",
    "heart_statlog",
    "sonar",
    "ionosphere",
    "wdbc",
    "svmguide3",
    "segment",
    "spambase",
)
REPORTED = (
    "breast_cancer_wisconsin",
    "dermatology",
    "colon",
    "cns_pomeroy",
    "vowel",
    "optdigits",
    "dna_statlog",
    "faces_cbcl",
    "madelon",
)
ROWS = common.sized(4_000, 150)


def table(name: str, *, rare: bool) -> tuple[np.ndarray, np.ndarray]:
    """At most 4,000 rows of numbers, and the classes as codes."""
    rng = np.random.default_rng(0)
    data = load_external(name)
    rows = rng.permutation(len(data.y))[:ROWS]
    X = np.asarray(data.X, dtype=np.float64)[rows]
    y = np.unique(np.asarray(data.y)[rows], return_inverse=True)[1]
    X = X[:, X.std(axis=0) > 0]
    if not rare:
        return X, y
    rarest = y == np.argmin(np.bincount(y))
    some = np.flatnonzero(rarest)[: max(12, int(0.06 * (~rarest).sum()))]
    kept = np.r_[np.flatnonzero(~rarest), some]
    return X[kept], rarest[kept].astype(int)


def scores(name: str, *, rare: bool) -> list[float]:
    """Of five columns and of all: the plain predictor, then the default."""
    X, y = table(name, rare=rare)
    n_training = int(0.8 * len(y))
    few_rows = n_training <= KERNEL_MACHINE_ROWS
    plain = make_pipeline(StandardScaler(), SVC() if few_rows else KNeighborsClassifier(10))
    problem, _ = read_problem(X, y, table=True, task="classification")
    training = replace(problem, n_samples=n_training)
    default = read_judge("auto", training, balanced=True, probabilities=False).predictor
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    found = []
    for columns in (SelectKBest(f_classif, k=min(5, X.shape[1])), "passthrough"):
        for model in (plain, default):
            pipeline = make_pipeline(StandardScaler(), columns, model)
            found.append(
                100 * cross_val_score(pipeline, X, y, cv=folds, scoring="balanced_accuracy").mean()
            )
    return found


def main() -> None:
    """Print the table."""
    common.parse(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    common.require_data()
    lines = []
    for half, names in common.sized(
        (("chosen on", CHOSEN), ("reported", REPORTED)), (("chosen on", CHOSEN[:1]),)
    ):
        for rare in (False, True):
            found = [scores(name, rare=rare) for name in names]
            kind = "rarest class thinned" if rare else "as it is"
            for name, row in zip(names, found, strict=True):
                lines.append([f"{half}: {name}", kind, *(f"{value:.1f}" for value in row)])
            mean = np.mean(found, axis=0)
            lines.append([f"{half}: MEAN", kind, *(f"{value:.1f}" for value in mean)])
    common.table(["", "", "5, plain", "5, default", "all, plain", "all, default"], lines)


if __name__ == "__main__":
    main()
