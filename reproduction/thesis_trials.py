"""Other readings of what the thesis leaves open about Tables 5.3, 5.5 and 5.10.

Each was tried because figures differ; none is counted. The rows of the tables themselves are in
their own files of results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from depmax.datasets import load
from reproduction.dimension_choice import Inputs, Method
from reproduction.figures import published
from reproduction.kept_splits import KeptSplits
from reproduction.registry import Row, Table, register, whole
from reproduction.thesis_accuracy import COLUMNS, N_SPLITS, PAIRED, Stage, accuracy_rows, run_splits
from reproduction.thesis_data import read_wanted, standardised
from reproduction.thesis_methods import FULL, KERNEL, LINEAR, hsca
from reproduction.thesis_promoters import CODES, MOST_FEATURES
from reproduction.thesis_spaces import GaussianSpace
from reproduction.thesis_variants import LARGEST_LINEAR, renamed

NAME = "thesis_trials"
#: The tables have 50; what differs with all of them may be due to which they are.
MOST_SPLITS = 100
#: Sets with few rows; the first splits of the tables.
LINEAR_SETS = ("specft", "sonar", "heart", "ionosphere")
GAUSSIAN_SETS = (
    *("specft", "sonar", "heart", "derm", "ionosphere", "wdbc"),
    *("covertype", "breastcancer", "australian"),
)
#: An absolute 10⁻⁵, the thesis's regularisation, is about so much of the denominator's mean.
ABSOLUTE = 1e-9
#: Numbers of features; the thesis gives no range, the table has the number of columns.
UP_TO = (10, 100)
#: Basis rows at most: the thesis ends the selection when K_JJ is singular, but not by which number.
N_BASIS = 50
#: Rows of spambase, of which Table 5.5 has fewer than Table 5.3, as its figures show.
NUMBERS_OF_ROWS = (500, 1000, 2000, 4601)
_PCA = tuple(m for m in LINEAR if m.name == "PCA")
_PLAIN = tuple(m for m in LINEAR if m is not FULL and "," not in m.name)


def linear_stages(X: np.ndarray) -> list[Stage]:
    """Table 5.3 with a regularisation that is absolute, as in the text, and with more splits."""
    own = Method("HSCA0, absolute α", partial(hsca, unbiased=False, alpha=ABSOLUTE))
    more = renamed((FULL,), ", further splits")
    return [
        Stage(Inputs(X), (own,), X.shape[1], variant=True),
        Stage(Inputs(X), more, 1, variant=True),
    ]


def gaussian_stages(X: np.ndarray) -> list[Stage]:
    """Table 5.5: a linear kernel of HSCA's features, other numbers of features, a small basis."""
    own = Method("HSCA0, linear feature kernel", partial(hsca, unbiased=False))
    space = GaussianSpace(X)
    return [
        Stage(space, (own,), X.shape[1], variant=True),
        *(Stage(space, renamed(_PCA, f", up to {n} features"), n, variant=True) for n in UP_TO),
        Stage(
            GaussianSpace(X, n_basis=N_BASIS),
            renamed(KERNEL, f", {N_BASIS} basis rows"),
            X.shape[1],
            variant=True,
        ),
    ]


def promoter_stages(strings: Sequence[str]) -> list[Stage]:
    """Table 5.10, linear: other inputs, and the published pencil of HSCA₁ as it stands."""
    codes = np.array([[CODES[letter] for letter in text] for text in strings])
    indicators = np.concatenate([codes == value for value in CODES.values()], axis=1).astype(float)
    full = (FULL, *_PLAIN)
    return [
        Stage(Inputs(standardised(codes)), (LARGEST_LINEAR,), MOST_FEATURES, variant=True),
        Stage(Inputs(codes), renamed(full, ", letters as they are"), MOST_FEATURES, variant=True),
        Stage(
            Inputs(standardised(indicators)),
            renamed(full, ", indicators"),
            MOST_FEATURES,
            variant=True,
        ),
    ]


def gaussian_promoter_stages(strings: Sequence[str]) -> list[Stage]:
    """Table 5.10, Gaussian: the bandwidth and the coordinates of columns that keep their scale."""
    codes = np.array([[CODES[letter] for letter in text] for text in strings])
    own = renamed(_PLAIN, ", letters as they are")
    return [Stage(GaussianSpace(codes), own, MOST_FEATURES, variant=True)]


def stream(
    quick: bool,
    n_jobs: int | None,
    datasets: Sequence[str] | None,
    n_splits: int | None = None,
    *,
    kept: KeptSplits,
) -> Iterator[Row]:
    """One row per table and set, number of neighbours and reading."""
    count = n_splits or (2 if quick else N_SPLITS)
    for table, names, stages in (
        ("thesis_linear", LINEAR_SETS, linear_stages),
        ("thesis_gaussian", GAUSSIAN_SETS, gaussian_stages),
    ):
        figures = published(table)["figures"]
        for data in read_wanted(figures, [n for n in names if _wanted(f"{table} {n}", datasets)]):
            if data.X is not None and data.y is not None:
                dataset, own = f"{table} {data.name}", stages(data.X)
                yield from _rows(dataset, own, data.y, figures[data.name], kept, count, n_jobs)
    yield from _rows_of_spambase(datasets, kept, count, n_jobs)
    promoters = load("promoters")
    y = np.where(promoters.y == "+", 1.0, -1.0)
    strings = [text.lower() for text in promoters.X]
    known = published("thesis_promoters")["figures"]
    linear = {k: known["linear"][k] | {"Full": known["gaussian"][k]["Full"]} for k in "135"}
    for kernel, figures, own in (
        ("linear", linear, promoter_stages(strings)),
        ("gaussian", known["gaussian"], gaussian_promoter_stages(strings)),
    ):
        dataset = f"thesis_promoters {kernel}"
        if _wanted(dataset, datasets):
            yield from _rows(dataset, own, y, figures, kept, count, n_jobs)


def _rows_of_spambase(
    datasets: Sequence[str] | None, kept: KeptSplits, n_splits: int, n_jobs: int | None
) -> Iterator[Row]:
    """Table 5.5: all columns with different numbers of rows."""
    dataset, figures = "thesis_gaussian spambase", published("thesis_gaussian")["figures"]
    if not _wanted(dataset, datasets):
        return
    [data] = read_wanted(figures, ["spambase"])
    for n_rows in NUMBERS_OF_ROWS:
        own = data.sample(n_rows)
        if own.X is not None and own.y is not None:
            full = renamed((FULL,), f", {n_rows:,} rows")
            stages = [Stage(Inputs(own.X), full, 1, variant=True)]
            yield from _rows(dataset, stages, own.y, figures["spambase"], kept, n_splits, n_jobs)


def _wanted(dataset: str, datasets: Sequence[str] | None) -> bool:
    return datasets is None or dataset in datasets


def _rows(
    dataset: str,
    stages: list[Stage],
    y: np.ndarray,
    figures: dict[str, dict[str, float]],
    kept: KeptSplits,
    n_splits: int,
    n_jobs: int | None,
) -> Iterator[Row]:
    results = run_splits(stages, y, dataset, kept, n_splits=n_splits, n_jobs=n_jobs)
    if results:
        readings = {name for name, _ in results}
        base = {name: name.partition(",")[0] for name in readings}
        known = {
            k: {name: row[base[name]] for name in readings if base[name] in row}
            for k, row in figures.items()
        }
        yield from whole(accuracy_rows(dataset, results, known, {}, "variant"))


register(
    Table(
        NAME,
        "Thesis, Tables 5.3, 5.5 and 5.10: other readings of what it leaves open",
        published("thesis_linear")["source"].rpartition(",")[0],
        stream,
        COLUMNS,
        PAIRED,
        MOST_SPLITS,
        continued=True,
    )
)
