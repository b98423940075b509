"""Missing values: used as they are, or imputed before columns are selected?

A quarter of the columns is kept by each selector on training rows, as the gaps are (``neutral``,
``level``) or filled (median and most frequent value; five nearest neighbours; iterative regression;
the last two for numbers). The judge is the same for all: median imputation with indicators of gaps,
one-hot categories, a support vector machine; accuracy over three folds. Gaps are real, or made in
complete tables: 30 % of the cells at random, or by the class (40 % of one, 10 % of the others).

    python benchmarks/missing_values.py --folder FOLDER   # of ARFF files of the UCI sets
    python benchmarks/missing_values.py --level           # levels of p-values under independence
    python benchmarks/missing_values.py --sets wine sonar wdbc --gaps random --repeats 1 2 3 \\
        --selectors BAHSIC --ways neutral iterative       # other gaps and folds, fewer ways
    python benchmarks/missing_values.py --table

Without a folder the sets come from OpenML. Lines are appended to ``results/missing_values.csv``.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from common import RESULTS, parse
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  (makes the next import work)
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from depmax import BAHSIC, DependenceFilter, KernelRidgeElimination, screen
from depmax.datasets import load
from depmax.evaluation import Prepare

FILE = RESULTS / "missing_values.csv"
FIELDS = ("set", "gaps", "selector", "way", "fold", "accuracy")
#: UCI sets with gaps: name of the file, name at OpenML.
REAL = {
    "hepatitis": "hepatitis",
    "heart.h": "heart-h",
    "breast.w": "breast-w",
    "vote": "vote",
    "colic": "colic",
    "credit.a": "credit-approval",
}
#: Complete sets of the package in which gaps are made.
COMPLETE = ("wine", "sonar", "wdbc")
WAYS = ("neutral", "level", "median", "neighbours", "iterative")
#: Rows that are used at most, and folds.
ROWS, FOLDS = 240, 3

SELECTORS: dict[str, Callable[..., object]] = {
    "DependenceFilter": lambda count, **more: DependenceFilter(count, **more),
    "BAHSIC": lambda count, **more: BAHSIC(count, interactions=None, pvalues=False, **more),
    "KernelRidgeElimination": lambda count, **more: KernelRidgeElimination(
        count, interactions=None, pvalues=False, **more
    ),
}

Table = tuple[pd.DataFrame, np.ndarray]


def read(name: str, folder: Path | None) -> Table:
    """A set with gaps: numbers and categories, and classes."""
    if folder is None:
        from sklearn.datasets import fetch_openml

        X, y = fetch_openml(REAL[name], version=1, return_X_y=True, as_frame=True)
        return X, np.asarray(y)
    from scipy.io import arff

    rows, _ = arff.loadarff(folder / f"{name}.arff")
    frame = pd.DataFrame(rows)
    for column in frame.columns:
        if frame[column].dtype == object:
            text = frame[column].str.decode("utf-8")
            frame[column] = pd.Categorical(text.where(text != "?"))
    y = np.asarray(frame.pop(frame.columns[-1]))
    varying = [column for column in frame.columns if frame[column].nunique() > 1]
    return frame[varying], y


def with_gaps(name: str, how: str, repeat: int = 0) -> Table:
    """A complete set in which cells were removed, other ones in every repeat."""
    data, rng = load(name), np.random.default_rng(repeat)
    X, y = np.array(data.X, dtype=np.float64), np.asarray(data.y)
    often = np.full(len(y), 0.3) if how == "random" else np.where(y == y[0], 0.4, 0.1)
    X[rng.random(X.shape) < often[:, np.newaxis]] = np.nan
    return pd.DataFrame(X).rename(columns=lambda column: f"x{column}"), y


def filled(way: str, train: pd.DataFrame) -> pd.DataFrame:
    """Training rows as a selector gets them."""
    numeric = [column for column in train if train[column].dtype.kind in "fi"]
    scaled = train.copy()
    if numeric:
        scaled[numeric] = StandardScaler().fit_transform(train[numeric])
    if way in ("neutral", "level"):
        return scaled
    imputer = {
        "neighbours": KNNImputer(),
        "iterative": IterativeImputer(max_iter=5, random_state=0),
    }
    if way in imputer and numeric:
        scaled[numeric] = imputer[way].fit_transform(scaled[numeric])
    return Prepare(scale=False).fit_transform(scaled)


def judge() -> object:
    """The model of the kept columns, the same for every way."""
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(
        make_column_transformer(
            (numbers, make_column_selector(dtype_include="number")),
            (levels, make_column_selector(dtype_exclude="number")),
        ),
        SVC(),
    )


def trials(
    name: str,
    gaps: str,
    table: Table,
    repeat: int = 0,
    ways: Sequence[str] = WAYS,
    selectors: Sequence[str] = tuple(SELECTORS),
) -> list[dict[str, object]]:
    """Accuracies of selectors and ways on every fold; folds of later repeats are counted on."""
    X, y = table
    if len(y) > ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:ROWS])
        X, y = X.iloc[rows].reset_index(drop=True), y[rows]
    count, found = max(2, X.shape[1] // 4), []
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=repeat).split(X, y)
    for fold, (train, test) in enumerate(folds, FOLDS * repeat):
        for way in ways:
            rows = filled(way, X.iloc[train])
            missing = way if way in ("neutral", "level") else "refuse"
            for selector in selectors:
                chosen = SELECTORS[selector](count, missing=missing).fit(rows, y[train])
                kept = X.columns[chosen.support_]
                model = judge().fit(X.iloc[train][kept], y[train])
                accuracy = round(float(model.score(X.iloc[test][kept], y[test])), 4)
                line = (name, gaps, selector, way, fold, accuracy)
                found.append(dict(zip(FIELDS, line, strict=True)))
    return found


def write(lines: list[dict[str, object]]) -> None:
    """Append to the file of results."""
    is_new = not FILE.exists()
    with FILE.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(lines)


def table() -> str:
    """Mean accuracies in percent by gaps, selector and way."""
    frame = pd.read_csv(FILE)
    frame = frame[frame["fold"] < FOLDS]  # other repeats are of some ways only
    means = frame.pivot_table(
        index=["selector", "gaps", "set"], columns="way", values="accuracy", sort=False
    )
    return (100 * means.groupby(level=[0, 1], sort=False).mean())[list(WAYS)].round(1).to_string()


def difference(gaps: str, selector: str, way: str = "iterative") -> str:
    """How far "neutral" lies behind another way: repeats with other gaps and folds, paired."""
    frame = pd.read_csv(FILE)
    frame = frame[(frame["gaps"] == gaps) & (frame["selector"] == selector)]
    frame["repeat"] = frame["fold"] // FOLDS
    both = frame.pivot_table(index=["set", "repeat"], columns="way", values="accuracy")
    behind = 100 * (both[way] - both["neutral"]).dropna()
    of_sets = behind.groupby("set").agg(["mean", "sem", "count"]).round(2)
    error = np.sqrt(np.sum(of_sets["sem"] ** 2)) / len(of_sets)
    mean = of_sets["mean"].mean()
    return f"{selector}, {gaps}: {way} less neutral\n{of_sets}\nmean {mean:.2f}, s.e. {error:.2f}"


def levels(n_columns: int = 600, n_rows: int = 120) -> str:
    """Share of p-values below 0.05 of columns of noise, by what their gaps depend on."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    noise = rng.normal(size=(n_rows, n_columns))
    often = {
        "nothing (30 %)": np.full((n_rows, 1), 0.3),
        "the class (60 %, 10 %)": np.where(y == 1, 0.6, 0.1)[:, np.newaxis],
        "the value (large: 60 %)": np.where(noise > 0.5, 0.6, 0.0),
        "the class and the value": np.where((noise > 0) & (y == 1)[:, np.newaxis], 0.6, 0.0),
    }
    lines = []
    for what, shares in often.items():
        X = np.where(rng.random(noise.shape) < shares, np.nan, noise)
        rates = [np.mean(screen(X, y, missing=m).pvalues < 0.05) for m in ("neutral", "level")]
        lines.append(f"gaps depend on {what:25} neutral {rates[0]:.3f}, level {rates[1]:.3f}")
    return "\n".join(lines)


def main() -> None:
    """Run the comparison, or show what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="folder of ARFF files")
    parser.add_argument("--sets", nargs="*", default=[*REAL, *COMPLETE], help="all by default")
    parser.add_argument("--gaps", nargs="*", default=["real", "random", "by class"])
    parser.add_argument("--repeats", nargs="*", type=int, default=[0], help="seeds of gaps, folds")
    parser.add_argument("--ways", nargs="*", default=WAYS, choices=WAYS)
    parser.add_argument("--selectors", nargs="*", default=list(SELECTORS), choices=SELECTORS)
    parser.add_argument("--level", action="store_true", help="levels of p-values instead")
    parser.add_argument("--table", action="store_true", help="only show the results")
    options = parse(parser)
    warnings.simplefilter("ignore")  # of small folds and of peers, thousands of times
    if options.smoke:
        X, y = with_gaps("wine", "random")
        for line in trials("wine", "random", (X.iloc[::3], y[::3]), ways=WAYS[:3]):
            print(*line.values())
        return
    if options.level:
        print(levels())
        return
    if not options.table:
        about = {"ways": options.ways, "selectors": options.selectors}
        for repeat in options.repeats:
            for name in [name for name in REAL if name in options.sets]:
                if "real" in options.gaps:
                    write(trials(name, "real", read(name, options.folder), repeat, **about))
            for name in [name for name in COMPLETE if name in options.sets]:
                for how in [how for how in ("random", "by class") if how in options.gaps]:
                    write(trials(name, how, with_gaps(name, how, repeat), repeat, **about))
    print(table())
    print(difference("random", "BAHSIC"))


if __name__ == "__main__":
    main()
