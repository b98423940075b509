"""Find the method with the best few features of these data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import _safe_indexing, check_random_state

from depmax._text import counted
from depmax.data import Task, read_target
from depmax.data.columns import is_frame
from depmax.data.table import refuse_unreadable, without_groups
from depmax.data.weights import read_weights
from depmax.evaluation.comparison.candidates import Candidates, Folds
from depmax.evaluation.comparison.catalogue import Methods, read_methods, with_weights
from depmax.evaluation.comparison.cautions import read_ignored
from depmax.evaluation.comparison.comparison import Comparison
from depmax.evaluation.comparison.judges import JudgeName, read_judge
from depmax.evaluation.comparison.methods import Method
from depmax.evaluation.comparison.planted import planted_recovery
from depmax.evaluation.comparison.problem import (
    Listener,
    Problem,
    Progress,
    clock,
    folds_of,
    read_groups,
    read_listener,
    read_problem,
    sizes_of,
)
from depmax.evaluation.comparison.trials import (
    Setting,
    Trial,
    in_parallel,
    require_possible,
    run_trial,
)
from depmax.evaluation.expand import Expand, expanded
from depmax.evaluation.prepare import WAYS, Prepare, has_gaps, without_gaps
from depmax.evidence import MARGIN, Truth, read_metrics
from depmax.evidence.metrics import Scoring

#: More columns than these are screened before a search.
SEARCHED_COLUMNS = 2000
#: Rows of the rarest class that a sample of the rows holds, if there are as many.
RARE_ROWS = 10
#: Repeats of the folds at most, where there is time for them.
MOST_REPEATS = 10


def compare(
    X: Any,
    y: Any,
    methods: Methods = None,
    *,
    judge: JudgeName | Any = "auto",
    cv: Any = None,
    scoring: Scoring = None,
    dimensions: int | Iterable[int] | None = None,
    margin: float = MARGIN,
    prepare: bool = True,
    impute: str | None = "median",
    task: Task = "auto",
    groups: Any = None,
    sample_weight: Any = None,
    max_rows: int | None = 5_000,
    time: float | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    progress: bool | Listener = False,
    ignore: Iterable[str] = (),
    planted: bool = False,
) -> Comparison:
    """Which few columns or features predict, by how well they do on rows that were held out.

    Every row is a test row once per repeat of the folds. A method is fitted once per fold, on the
    training rows alone, scaling and filling included; that fit serves all its numbers of columns,
    with a predictor for each. The candidates are pairs of a method and a number, beside all columns
    and guessing. The cheapest whose score is within a margin of the best is recommended.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    y : target of any type
        Classes, numbers, several numbers, or labels as a matrix of zeros and ones.
    methods : None, names, estimators, or dictionary from name to either
        By default the methods of depmax and scikit-learn that suit the type of the target and the
        size of the data. A transformer with ``n_components``, ``n_features_to_select`` or ``k`` has
        this number chosen for it; a predictor is used as it is; a
        :class:`~depmax.evaluation.Method` declares more. All columns are always compared too.
    judge : {"auto", "kernel", "boosting", "linear"} or predictor, default="auto"
        Predicts the target from the features; the recommendation holds for this predictor. By
        default it is ``"kernel"``: a support vector machine with a Gaussian kernel up to 1,000
        training rows, regression on 200 Nyström features beyond; nearest neighbours for several
        numbers (ML-kNN for several labels). ``"boosting"`` is scikit-learn's histogram boosting,
        ``"linear"`` ridge or logistic regression. Rare classes weigh as much as frequent ones if
        they do so in the score, as in balanced accuracy.
    cv : int, splitter or iterable of (train, test), optional
        By default ten folds, repeated twice up to 150 rows; fewer below 20 rows and beyond 1,000.
    scoring : str, callable, list or dict, optional
        scikit-learn's scorers; the first decides. By default balanced accuracy for classes, R² for
        numbers, micro-averaged F1 for several labels. A scorer is shown stored predictions.
    dimensions : int or iterable of int, optional
        Numbers of features to try; by default 1, 2, 3, 5, 8, 12, 20, 32, 50, 80 below the number of
        columns.
    margin : float, default=0.02
        Share of the gain over guessing that fewer columns may cost.
    prepare : bool, default=True
        Turn dates and texts of a data frame into numbers (:class:`~depmax.Expand`), standardise
        numeric columns, and turn categories into indicators for methods that do not
        take them. False passes rows on unchanged; they may then be any objects that the methods
        understand.
    impute : {"median", "mean", "frequent"} or None, default="median"
        How to fill missing values of X, as learnt from the training rows; categories get their most
        frequent level. None refuses them. The model that comes out fills those of new rows, too,
        where the rows here have none.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether the target is classes or numbers. By default text, booleans, categories and whole
        numbers of up to 20 values are classes, and everything else is numbers; printing the result
        says which.
    groups : str or array-like of shape (n_samples,), optional
        The group of every row, such as the patient, or the name of the column of a frame that holds
        it: no fold puts rows of one group into both parts. For a time series,
        :class:`depmax.Shifts` keeps stretches of time together.
    sample_weight : array-like of shape (n_samples,), optional
        What each row counts, in every fit that takes weights and in every score.
    max_rows : int or None, default=5_000
        If there are more rows, this many are drawn at random and only they are used; None uses all.
        Splits that name rows (``cv``) always use all.
    time : float, optional
        Seconds to spend. After the first fold, which tells what each method takes, the methods that
        fit into the time go on, first of the catalogue first, and what is left goes into repeats of
        the folds. ``left_out`` of the result names the others.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of every method that has none.
    n_jobs : int, optional
        Number of processes, each working on one method and fold. Inside
        ``joblib.parallel_config("dask")`` all workers of the cluster take their place, with the
        same results; they need the same versions of depmax and its dependencies.
    progress : bool or callable, default=False
        Print progress with the remaining time to standard error, or call a function with a
        :class:`~depmax.evaluation.Progress` after every trial.
    ignore : iterable of str, default=()
        Codes of cautions that are not wanted, such as ``["DM002"]``; ``depmax.evaluation.CAUTIONS``
        holds all.
    planted : bool, default=False
        Then plant targets of known columns on these rows, and count which of them the selectors
        find: :func:`~depmax.evaluation.planted_recovery`, which takes once or twice as long again;
        progress begins with how long.

    Returns
    -------
    Comparison
        If interrupted by Ctrl-C, it holds what is finished. A method that fails is listed in its
        ``failures``, and the others go on.

    Notes
    -----
    Scores are those of all held-out rows together, R² included. Their intervals come from rows
    drawn again with replacement (whole groups, where rows come in groups), widened because the
    models were fitted to one sample: how often the sentences and intervals hold is simulated in
    ``benchmarks/verdicts.py``. What to expect on new data is corrected for the choice, which is
    repeated on every draw: how much better the chosen one looks on the draw than on all rows is
    what the choice adds by chance.

    Examples
    --------
    >>> from depmax import compare
    >>> from depmax.datasets import load
    >>> wine = load("wine")
    >>> found = compare(wine.X, wine.y, ["BAHSIC", "PCA"], dimensions=[1, 2, 5], random_state=0)
    >>> found.table[["method", "features"]]
            method  features
    0       BAHSIC       5.0
    1  all columns       NaN
    2          PCA       2.0
    >>> found.recommended
    'BAHSIC'
    """
    started = perf_counter()
    ignored = read_ignored(ignore)
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    numbered = cv is None or isinstance(cv, int | np.integer)
    table = _read_table(
        X, y, groups, sample_weight, task, impute, prepare, max_rows if numbered else None, seed
    )
    target = table.target
    truth = _truth(table.problem, target)
    metrics = read_metrics(scoring, truth)
    if not 0.0 <= margin < 1.0:
        raise ValueError(f"margin must be at least 0 and below 1, got {margin!r}.")
    if time is not None and not time > 0.0:
        raise ValueError(f"time must be a positive number of seconds or None, got {time!r}.")
    folds: list[Any] = folds_of(cv, table.problem, target, seed, table.groups)
    training = _training_problem(table.problem, folds)
    chosen = read_methods(methods, training)
    if table.sample_weight is not None:
        chosen = tuple(map(with_weights, chosen))
    named = read_judge(
        judge,
        training,
        balanced=metrics[0].balanced,
        probabilities=any(metric.needs == "probabilities" for metric in metrics),
    )
    wide = training.n_features > SEARCHED_COLUMNS and not training.sparse
    setting = Setting(
        training,
        truth,
        named.predictor,
        sizes_of(dimensions, training),
        prepare,
        seed,
        table.impute,
        any(metric.needs != "values" for metric in metrics),
        SEARCHED_COLUMNS if wide and prepare else None,
        table.sample_weight,
    )
    if dimensions is not None:
        require_possible(setting, chosen)
    work = _Work(chosen, table.X, target, setting, n_jobs, read_listener(progress), started)
    work.run([((0, 0), folds[0][0])], n_planned=sum(map(len, folds)))
    if time is not None:
        repeats = work.fit_into(time, len(folds[0]))
        if numbered:
            more = range(1, repeats)
            folds = [folds[0]]
            folds += [folds_of(cv, table.problem, target, seed + i, table.groups)[0] for i in more]
    places = [((r, f), parts) for r, repeat in enumerate(folds) for f, parts in enumerate(repeat)]
    work.run(places[1:], n_planned=len(places))
    comparison = Comparison(
        Candidates(setting, work.methods, folds, work.ordered(), metrics, table.groups),
        table.X,
        target,
        margin,
        named.name,
        work.complete,
        perf_counter() - started,
        target_name=str(getattr(y, "name", None) or "y"),
        seed=random_state if isinstance(random_state, int) else None,
        n_rows_given=table.n_rows_given,
        left_out=tuple(work.left_out),
        ignore=ignored,
        expand=table.expand,
        impute=impute,
    )
    _require_an_outcome(comparison)
    if planted and comparison.complete:
        with suppress(KeyboardInterrupt):  # the comparison itself is complete
            recovery = planted_recovery(comparison, n_jobs=n_jobs, progress=work.listener)
            return replace(comparison, planted=recovery)
    return comparison


@dataclass
class _Work:
    """Trials that are finished, and what is left to do."""

    methods: tuple[Method, ...]
    X: Any
    y: np.ndarray
    setting: Setting
    n_jobs: int | None
    listener: Listener
    started: float
    complete: bool = True

    def __post_init__(self) -> None:
        self.trials: list[Trial] = []
        self.left_out: list[str] = []

    def run(self, folds: Sequence[Any], n_planned: int) -> None:
        """Every method on some folds; all methods on one fold before the next one."""
        if not self.complete:
            return
        step = "trying every method once"
        if self.trials:
            once = sum(trial.seconds for trial in self.trials)
            left = once * len(folds) / max(1, effective_n_jobs(self.n_jobs))
            step = f"comparing methods, about {clock(left)}"
        tasks = (
            (method, place, parts, self.X, self.y, self.setting)
            for place, parts in folds
            for method in self.methods
        )
        total = n_planned * len(self.methods)
        results = in_parallel(run_trial, tasks, n_jobs=self.n_jobs, shared=(self.X, self.y))
        try:
            for trial in results:
                self.trials.append(trial)
                elapsed = perf_counter() - self.started
                state = Progress(len(self.trials), total, elapsed, trial.method, step)
                self.listener(state)
        except KeyboardInterrupt:
            self.complete = False
        finally:
            results.close()

    def fit_into(self, seconds: float, n_folds: int) -> int:
        """Keep the methods that fit into the time, and say how often the folds can be repeated."""
        room = (seconds - (perf_counter() - self.started)) * max(1, effective_n_jobs(self.n_jobs))
        taken = {trial.method: trial.seconds for trial in self.trials}
        kept, used = [], 0.0
        for method in self.methods:
            cost = taken.get(method.name, 0.0) * (n_folds - 1)
            if method.complexity == 0 or used + cost <= room:
                kept.append(method)
                used += cost
            else:
                self.left_out.append(method.name)
        self.methods = tuple(kept)
        self.trials = [trial for trial in self.trials if trial.method not in self.left_out]
        once = sum(taken.get(method.name, 0.0) for method in kept) * n_folds
        return 1 + int(np.clip((room - used) / max(once, 1e-6), 0, MOST_REPEATS - 1))

    def ordered(self) -> tuple[Trial, ...]:
        """Trials as if run one after the other: which of two equals is first is no accident."""
        place = {method.name: number for number, method in enumerate(self.methods)}
        return tuple(sorted(self.trials, key=lambda trial: (trial.fold, place[trial.method])))


def _truth(problem: Problem, target: np.ndarray) -> Truth:
    if problem.kind != "classes":
        return Truth(problem.kind, target)
    classes, codes = np.unique(target, return_inverse=True)
    return Truth("classes", codes.ravel(), classes)


@dataclass(frozen=True)
class _Table:
    """The rows that are compared on, and what is known of them."""

    X: Any
    target: np.ndarray
    problem: Problem
    groups: np.ndarray | None  # of every row
    sample_weight: np.ndarray | None
    impute: str | None  # what fills gaps, None where there are none
    n_rows_given: int  # before some of them were drawn
    expand: Expand | None  # what made numbers of dates and texts, if there were any


def _read_table(
    X: Any,
    y: Any,
    groups: Any,
    sample_weight: Any,
    task: Task,
    impute: str | None,
    prepare: bool,
    max_rows: int | None,
    seed: int,
) -> _Table:
    """The rows, or some of them drawn at random where there are more than ``max_rows``."""
    if impute is not None and impute not in WAYS:
        raise ValueError(f"impute must be None or one of {', '.join(WAYS)}, got {impute!r}.")
    if max_rows is not None and max_rows < 1:
        raise ValueError(f"max_rows must be None or at least 1, got {max_rows!r}.")
    X = list(X) if isinstance(X, tuple) else X
    refuse_unreadable(X, "X", "compare")
    X, groups = without_groups(X, groups)
    expand = None
    if prepare and is_frame(X):
        X, expand = expanded(X)
        # a part of the rows may look like free text where the whole table has levels
        X = Prepare(None, scale=False).fit_transform(X)
    n_given = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    codes = read_groups(groups, n_given)
    weight = None if sample_weight is None else read_weights(sample_weight, n_given)
    if max_rows is not None and n_given > max_rows:
        rows = _sampled_rows(n_given, y, max_rows, seed, task, codes)
        X, y = _safe_indexing(X, rows), _safe_indexing(y, rows)
        codes = None if codes is None else codes[rows]
        weight = None if weight is None else weight[rows]
    impute = impute if has_gaps(X) else None
    problem, target = read_problem(without_gaps(X, impute), y, table=prepare, task=task)
    return _Table(X, target, problem, codes, weight, impute, n_given, expand)


def _sampled_rows(
    n_rows: int, y: Any, count: int, seed: int, task: Task, groups: np.ndarray | None
) -> np.ndarray:
    """Rows drawn at random, in order; classes keep a few of their rows, groups stay whole."""
    target = read_target(y, task=task)
    if n_rows != target.n_samples:
        raise ValueError(
            f"X has {counted(n_rows, 'row')} and y has {target.n_samples}: pass one target per row."
        )
    rng = np.random.default_rng(seed)
    if groups is not None:
        sizes = np.bincount(groups)
        order = rng.permutation(len(sizes))
        taken = max(1, int(np.searchsorted(np.cumsum(sizes[order]), count, side="right")))
        return np.flatnonzero(np.isin(groups, order[:taken]))
    order = rng.permutation(n_rows)
    if target.kind != "classes":
        return np.sort(order[:count])
    codes = np.unique(target.values, return_inverse=True)[1].ravel()[order]
    shares = [max(RARE_ROWS, round(count * size / n_rows)) for size in np.bincount(codes)]
    parts = [order[codes == code][:share] for code, share in enumerate(shares)]
    return np.sort(np.concatenate(parts))


def _training_problem(problem: Problem, folds: Folds) -> Problem:
    """The problem as a training part sees it."""
    smallest = min(len(train) for repeat in folds for train, _ in repeat)
    return replace(problem, n_samples=smallest)


def _require_an_outcome(comparison: Comparison) -> None:
    """Pass an interruption on, or say why every method failed, where there is nothing to show."""
    if comparison.candidates.by_method:
        return
    if not comparison.complete:
        raise KeyboardInterrupt
    reasons = "; ".join(f"{name}: {why}" for name, why in comparison.failures.items())
    raise ValueError(f"No method could be fitted. {reasons}")
