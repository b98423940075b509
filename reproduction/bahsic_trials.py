"""Other readings of what the BAHSIC paper leaves open about Tables 1 and 3, on several data sets.

Each was tried because figures differ; none is counted. Rows whose method has no comma are those
of the tables, run again beside the trials.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, LinAlgWarning
from scipy.stats import rankdata
from sklearn.preprocessing import LabelEncoder

from depmax import ScaleWarning
from depmax.kernels import InverseDistance
from reproduction import methods
from reproduction.bahsic_microarrays import METHODS as GENE_METHODS
from reproduction.bahsic_microarrays import N_GENES, STUDIES, tuned_machine
from reproduction.bahsic_table1 import METHODS, N_FEATURES, TASKS
from reproduction.external import load_external
from reproduction.figures import compared, published
from reproduction.kept_splits import KeptSplits, Key
from reproduction.protocol import Machine, Split, Task, gaussian_machine, splits
from reproduction.registry import COLUMNS, Row, Table, register, whole
from reproduction.table1_data import PROBLEMS
from reproduction.zero_norm_svm import hinge_weights

NAME = "bahsic_trials"
#: Sets of Table 1 with the paper's own rows and classes, those with few rows first.
SETS = (
    *("specft", "wine", "sonar", "heart", "ionosphere", "derm", "svmguide2", "wdbc"),
    *("breastcancer", "australian", "vowel", "splice", "svmguide3"),
)
ARCENE = "arcene"
#: Sets of Table 3.
GENES = ("colon", "leukemia_golub", "breast_west")
#: Rows at most for R2W2, whose steps take quadratic to cubic time.
MOST_ROWS = 400
#: Stands for a hard margin.
HARD = 1e6
#: Rounds of the zero norm at most, and the share of the largest scale below which columns fade.
ROUNDS, FADED = 20, 1e-3
N_FOLDS = 10


def signs_of(y: np.ndarray) -> list[np.ndarray]:
    """Labels -1 and +1: one machine for two classes, one per class against the rest for more."""
    classes = np.unique(y)
    return [np.where(y == c, 1.0, -1.0) for c in (classes[1:] if len(classes) == 2 else classes)]


def linear_weights(X: np.ndarray, y: np.ndarray, C: float) -> np.ndarray:
    """Weights of shape (n_machines, n_columns); NaN where rounding leaves no solution."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinAlgWarning)  # a hard margin may not exist
        try:
            return np.array([hinge_weights(X, signs, C) for signs in signs_of(y)])
        except LinAlgError:
            return np.full((1, X.shape[1]), np.nan)


def hard_zero_norm(X: np.ndarray, y: np.ndarray, count: int) -> np.ndarray:
    """Iterated rescaling with a hard margin, columns on the scale they have.

    Columns that fade in the same round are ranked as they stand in the file.
    """
    scales, left, gone = np.ones(X.shape[1]), np.arange(X.shape[1]), list[np.ndarray]()
    for _ in range(ROUNDS):
        sizes = np.abs(linear_weights(X[:, left] * scales[left], y, HARD)).sum(axis=0)
        if not np.isfinite(sizes).all():
            break
        scales[left] *= sizes
        faded = scales[left] <= FADED * scales[left].max()
        gone.insert(0, left[faded])
        left = left[~faded]
        if not faded.any() and np.abs(sizes - 1).max() < FADED:
            break
    return np.concatenate([left[np.argsort(-scales[left], kind="stable")], *gone])


def in_file_order(X: np.ndarray, y: np.ndarray, count: int) -> np.ndarray:
    """The first columns: what is left of a selector that found nothing."""
    return np.arange(count)


def least_first(X: np.ndarray, y: np.ndarray, count: int) -> np.ndarray:
    """The columns that matter least, constant ones before all others."""
    return methods.zero_norm(X, y, count)[::-1]


def by_sign(X: np.ndarray, y: np.ndarray, count: int, score: str = "t") -> np.ndarray:
    """Largest statistic, not its size: only columns that are larger in the second class."""
    ranked = methods.filtered(score)(X, y, X.shape[1])
    larger = X[:, ranked][y == 1].mean(axis=0) > X[:, ranked][y == 0].mean(axis=0)
    return np.concatenate([ranked[larger], ranked[~larger][::-1]])


def by_ranks(X: np.ndarray, y: np.ndarray, count: int) -> np.ndarray:
    """BAHSIC on ranks of the genes within each array, which its preparation does not change."""
    ranks = rankdata(X, axis=1)
    deviations = ranks.std(axis=0)
    return methods.bahsic(
        (ranks - ranks.mean(axis=0)) / np.where(deviations > 0, deviations, 1), y, count
    )


@dataclass(frozen=True)
class Trial:
    """A method of the table in another reading."""

    method: str
    reading: str  # "" is that of the table
    order: methods.Order
    raw: bool = False  # columns as they are, not standardised
    count: int | None = None  # columns to take, if not as many as the table
    most_rows: int | None = None

    @property
    def name(self) -> str:
        """What the rows call it."""
        return f"{self.method}, {self.reading}" if self.reading else self.method


def _trials(known: dict[str, methods.Order], readings: dict[str, list[Trial]]) -> tuple[Trial, ...]:
    """Every method that has trials as in the table, then its trials."""
    found: list[Trial] = []
    for method, own in readings.items():
        found += [Trial(method, "", known[method], most_rows=own[0].most_rows), *own]
    return tuple(found)


TRIALS = _trials(
    METHODS,
    {
        "MI": [Trial("MI", "expected information", methods.filtered("mutual_information"))],
        "RFE": [
            Trial("RFE", "C = 100", partial(methods.rfe, C=100.0)),
            Trial("RFE", "one column a round", partial(methods.rfe, part=10**6)),
        ],
        "L0": [
            Trial("L0", "hard margin", hard_zero_norm),
            Trial("L0", "hard margin, as they are", hard_zero_norm, raw=True),
            Trial("L0", "first columns", in_file_order),
            Trial("L0", "order reversed", least_first),
            Trial("L0", "last column alone", least_first, count=1),
        ],
        "R2W2": [
            Trial("R2W2", "linear", partial(methods.r2w2, kernel="linear"), most_rows=MOST_ROWS),
            Trial("R2W2", "C = 1", partial(methods.r2w2, C=1.0), most_rows=MOST_ROWS),
        ],
    },
)
GENE_TRIALS = _trials(
    GENE_METHODS,
    {
        "t": [Trial("t", "by sign", by_sign)],
        "m-t": [
            Trial("m-t", "as they are", methods.filtered("moderated_t"), raw=True),
            Trial("m-t", "by sign", partial(by_sign, score="moderated_t"), raw=True),
        ],
        "RBF": [Trial("RBF", "ranks in an array", by_ranks, raw=True)],
        "dis": [
            Trial("dis", "ε = 1", partial(methods.bahsic, kernel=InverseDistance(bandwidth=1.0)))
        ],
    },
)

#: arcene was released in two halves, and the paper's errors are whole per cents.
HALF = 100
HALF_TRIALS = tuple(
    Trial(method, f"first {HALF} rows{more}", order)
    for method, more, order in (
        ("PC", "", METHODS["PC"]),
        ("FOHSIC", "", METHODS["FOHSIC"]),
        ("MI", "", methods.filtered("mutual_information")),
        ("R2W2", "", METHODS["R2W2"]),
        ("R2W2", ", linear", partial(methods.r2w2, kernel="linear")),
        ("R2W2", ", C = 1", partial(methods.r2w2, C=1.0)),
    )
)


def stream(
    quick: bool,
    n_jobs: int | None,
    datasets: Sequence[str] | None,
    n_splits: int | None = None,
    *,
    kept: KeptSplits,
) -> Iterator[Row]:
    """One row per data set, method and reading."""
    known = (*SETS, ARCENE, *GENES)
    wanted = datasets or (("wine",) if quick else known)
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        raise ValueError(f"There are no trials on {unknown[0]!r}: one of {known}.")
    for name in wanted:
        case = _genes(name) if name in GENES else _problem(name)
        yield from whole(_rows(name, case, kept, n_splits or (2 if quick else N_FOLDS), n_jobs))


@dataclass(frozen=True)
class Case:
    """A data set, its trials, and what follows the selection."""

    X: np.ndarray
    y: np.ndarray
    task: Task
    trials: tuple[Trial, ...]
    count: int
    machine: Machine
    figures: Mapping[str, Sequence[float]]

    def error(self, trial: Trial, split_number: int) -> float:
        """Error of a fold in per cent; the machine has standardised columns in any case."""
        train, test = splits(self.y, self.task, N_FOLDS)[split_number]
        split = Split.of(self.X, self.y, self.task, train, test)
        rows = self.X[train] if trial.raw else split.rows
        count = trial.count or self.count
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScaleWarning)  # columns as they are, on purpose
            columns = np.asarray(trial.order(rows, split.target, count))[:count]
        return 100.0 * float(np.mean(split.predicted(self.machine, columns) != split.truth))


def _problem(name: str) -> Case:
    [problem] = [p for p in PROBLEMS if p.name == name]
    X, y = problem.read()
    figures = published("bahsic_table1")["figures"][name]
    if name == ARCENE:
        rows = slice(HALF)
        return Case(X[rows], y[rows], "binary", HALF_TRIALS, N_FEATURES, gaussian_machine, figures)
    trials = tuple(
        trial
        for trial in TRIALS
        if problem.task in TASKS.get(trial.method, (problem.task,))
        and (trial.most_rows is None or len(y) <= trial.most_rows)
    )
    return Case(X, y, problem.task, trials, N_FEATURES, gaussian_machine, figures)


def _genes(name: str) -> Case:
    [study] = [s for s in STUDIES if s.name == name]
    data = load_external(name)
    X, y = data.X.astype(float), LabelEncoder().fit_transform(data.y)
    known = published("bahsic_microarrays")["figures"][study.number]
    figures = {method: figure[:1] for method, figure in known.items()}
    return Case(X, y, "binary", GENE_TRIALS, N_GENES, tuned_machine, figures)


def _rows(
    name: str, case: Case, kept: KeptSplits, n_splits: int, n_jobs: int | None
) -> Iterator[Row]:
    for trial in case.trials:
        key = (name, trial.name)
        kept.complete([key], n_splits, partial(_fold, case, trial), n_jobs)
        if kept.count(key):
            errors = kept.values(key, n_splits)[0]
            figure = case.figures[trial.method]
            yield compared(name, trial.name, errors, figure, n_splits=len(errors))


def _fold(
    case: Case, trial: Trial, split_number: int, keys: Sequence[Key]
) -> dict[Key, tuple[float]]:
    return dict.fromkeys(keys, (case.error(trial, split_number),))


register(
    Table(
        NAME,
        "BAHSIC paper, Tables 1 and 3: other readings of what it leaves open, error (%)",
        published("bahsic_table1")["source"],
        stream,
        (*COLUMNS, "n_splits"),
        ("dataset", "method", "errors"),
        n_splits=N_FOLDS,
        continued=True,
    )
)
