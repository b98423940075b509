"""Find the method with the best few features of these data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, check_random_state

from depmax._inputs import Task, read_target
from depmax._text import counted
from depmax.evaluation.comparison.catalogue import Methods, read_methods, with_exact_settings
from depmax.evaluation.comparison.comparison import Comparison
from depmax.evaluation.comparison.methods import Method
from depmax.evaluation.comparison.metrics import Metric, Scoring, read_metrics, require_suitable
from depmax.evaluation.comparison.predictor import default_predictor
from depmax.evaluation.comparison.race import (
    FINALISTS,
    Race,
    pilot_rows,
    run_race,
    sample_groups,
    sample_rows,
    splits_beside,
)
from depmax.evaluation.comparison.setting import (
    Listener,
    Problem,
    Progress,
    Setting,
    dimension_grid,
    outer_splits,
    read_groups,
    read_listener,
    read_problem,
)
from depmax.evaluation.comparison.trial import Trial, in_parallel, require_possible, run_trial
from depmax.evaluation.prepare import WAYS, has_gaps, without_gaps

#: More columns than these are screened before a search, unless the comparison is thorough.
SEARCHED_COLUMNS = 500
#: Rows of the rarest class that a sample of the rows holds, if there are as many.
RARE_ROWS = 10


def run_trials(
    methods: Sequence[Method],
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    X: Any,
    y: np.ndarray,
    setting: Setting,
    *,
    n_jobs: int | None,
    listener: Listener,
) -> tuple[list[Trial], bool]:
    """Every method on every split, and whether all of them were run.

    The splits come one after the other, all methods on each, so that an interruption (Ctrl-C)
    leaves methods that were tried on the same splits.
    """
    started = perf_counter()
    total = len(methods) * len(splits)
    trials: list[Trial] = []
    tasks = (
        (method, number, parts, X, y, setting)
        for number, parts in enumerate(splits)
        for method in methods
    )
    results = in_parallel(run_trial, tasks, n_jobs=n_jobs, shared=(X, y))
    try:
        for trial in results:
            trials.append(trial)
            elapsed = perf_counter() - started
            listener(Progress(len(trials), total, elapsed, trial.method, "comparing methods"))
    except KeyboardInterrupt:
        pass
    finally:
        results.close()
    # as if they had been run one after the other: which of two equals comes first is no accident
    place = {method.name: number for number, method in enumerate(methods)}
    trials.sort(key=lambda trial: (trial.split, place[trial.method]))
    return trials, len(trials) == total


def compare(
    X: Any,
    y: Any,
    methods: Methods = None,
    *,
    estimator: Any = None,
    cv: Any = None,
    inner_cv: Any = None,
    scoring: Scoring = None,
    dimensions: int | Iterable[int] | None = None,
    tolerance: float = 1.0,
    prepare: bool = True,
    impute: str | None = "median",
    task: Task = "auto",
    groups: Any = None,
    thorough: bool = False,
    max_rows: int | None = 5_000,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    progress: bool | Listener = False,
) -> Comparison:
    """Compare methods that select or extract a few features by how well these predict.

    On every outer split each method is fitted on the training part alone. This includes scaling,
    selection or extraction, and the number of features, which inner splits of the training part
    decide. The test part is used once, for the score.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    y : target of any type
        Classes, numbers, several numbers, or labels as a matrix of zeros and ones.
    methods : None, names, estimators, or dictionary from name to either
        By default the methods of depmax and scikit-learn that suit the type of the target and the
        size of the data. A transformer with ``n_components``, ``n_features_to_select`` or ``k`` has
        this number chosen for it; a predictor is used as it is; a
        :class:`~depmax.evaluation.Method` declares more.
    estimator : predictor, optional
        Predicts the target from the features. By default a support vector machine with a Gaussian
        kernel up to 1,000 training rows and boosted trees beyond 20,000; between them, ridge
        regression on Nyström features for classes and ten nearest neighbours for numbers. Several
        numbers are predicted by nearest neighbours, several labels by ML-kNN. Rare classes weigh as
        much as frequent ones if they do so in the score, as in balanced accuracy.
    cv : int, splitter or iterable of (train, test), optional
        Outer splits; by default five folds, repeated in a thorough comparison of fewer than 2,000
        rows.
    inner_cv : int or splitter, optional
        Splits of a training part that decide the number of features; by default three folds, or a
        single split of 3:1 from 2,000 rows on.
    scoring : str, callable, list or dict, optional
        scikit-learn's scorers; the first decides. By default balanced accuracy for classes, R² for
        numbers, micro-averaged F1 for several labels.
    dimensions : int or iterable of int, optional
        Numbers of features to try; by default 1, 2, 3, 5, 8, 12, 20, 32 below the number of
        columns, and larger ones as long as the largest is best.
    tolerance : float, default=1.0
        The smallest number of features whose mean inner score is within this many standard errors
        of the best is chosen; 0 takes the best.
    prepare : bool, default=True
        Standardise numeric columns, and turn categories into indicators for methods that do not
        take them. False passes rows on unchanged; they may then be any objects that the methods
        understand.
    impute : {"median", "mean", "frequent"} or None, default="median"
        How to fill missing values of X, as learnt from the training rows; categories get their most
        frequent level. None refuses them.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether the target is classes or numbers. By default text, booleans, categories and whole
        numbers of up to 20 values are classes, and everything else is numbers; printing the result
        says which.
    groups : array-like of shape (n_samples,), optional
        The group of every row, such as the patient: no outer or inner split puts rows of one group
        into both parts. Without it, methods are judged on rows of groups they have seen. For a time
        series, :class:`depmax.Shifts` keeps stretches of time together.
    thorough : bool, default=False
        Whether to try every suitable method on every split, with exact settings and searches over
        all columns. By default a first round on a quarter of the rows (at most 400) decides which
        methods go on: all columns, KernelRidgeElimination, the best two searches over columns, and
        the best filter, linear and nonlinear features. It is skipped below 200 rows, if methods are
        named, and if ``cv`` is anything but a number. ICA-FX, NCA, FastICA and LLE, which take long
        and seldom win, are not tried. Searches over more than 500 columns start from the 500 that
        each depend most on the target (:class:`~depmax.evaluation.ScreenFirst`).
    max_rows : int or None, default=5_000
        If there are more rows, this many are drawn at random and only they are used; None uses all.
        Splits that name rows (``cv``) always use all.
    random_state : int, RandomState instance or None, default=None
        Seed of the splits, and of every method that has none.
    n_jobs : int, optional
        Number of processes, each working on one method and split. Inside
        ``joblib.parallel_config("dask")`` all workers of the cluster take their place, with the
        same results; they need the same versions of depmax and its dependencies.
    progress : bool or callable, default=False
        Print progress with the remaining time to standard error, or call a function with a
        :class:`~depmax.evaluation.Progress` after every trial.

    Returns
    -------
    Comparison
        If interrupted by Ctrl-C, it holds what is finished. A method that fails is listed in its
        ``failures``, and the others go on.

    Notes
    -----
    The rows of the first round are in every training part and in no test part. It decides without
    test rows, so the scores stay honest.

    Scores on overlapping splits are correlated, and a plain test over them often calls ties
    significant. Therefore p-values come from the t-test with the correction of Nadeau and Bengio
    (2003), adjusted over all pairs of methods by Holm's procedure.

    Examples
    --------
    >>> from depmax import compare
    >>> from depmax.datasets import load
    >>> wine = load("wine")
    >>> found = compare(wine.X, wine.y, ["BAHSIC", "PCA"], dimensions=[1, 2, 5], random_state=0)
    >>> found.table[["method", "dimension"]]
       method  dimension
    0  BAHSIC        5.0
    1     PCA        2.0
    >>> found.recommended
    'BAHSIC'
    """
    started = perf_counter()
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    folds = cv is None or isinstance(cv, int | np.integer)
    table = _read_table(X, y, groups, task, impute, prepare, max_rows if folds else None, seed)
    # rows of a group may not lie on both sides of the race either: then all methods go on
    may_race = methods is None and folds and not thorough and table.groups is None
    pilot = pilot_rows(table.target, table.problem, seed) if may_race else None
    splits = _split(table, pilot, cv, seed, thorough=thorough)
    training = _training_problem(table.problem, splits)
    chosen = read_methods(methods, training, thorough=thorough)
    if thorough:
        chosen = tuple(with_exact_settings(method) for method in chosen)
    wide = training.n_features > SEARCHED_COLUMNS and not training.sparse
    metrics = _read_scoring(scoring, table, own_predictor=estimator is None)
    if estimator is None:
        estimator = default_predictor(training, balanced=metrics[0].balanced)
    setting = Setting(
        training,
        estimator,
        metrics,
        dimension_grid(dimensions, training),
        inner_cv,
        _read_tolerance(tolerance),
        prepare,
        seed,
        table.impute,
        table.groups,
        grows=dimensions is None,
        n_screened=SEARCHED_COLUMNS if wide and prepare and not thorough else None,
    )
    if dimensions is not None:
        require_possible(setting, chosen)
    listener = read_listener(progress)
    rows, target = table.X, table.target
    race: Race | None = None
    if pilot is not None and len(chosen) > FINALISTS + 1:
        race = run_race(chosen, rows, target, pilot, setting, n_jobs=n_jobs, listener=listener)
        chosen = tuple(method for method in chosen if method.name in race.finalists)
    trials, complete = run_trials(
        chosen, splits, rows, target, setting, n_jobs=n_jobs, listener=listener
    )
    comparison = Comparison(
        tuple(trials),
        chosen,
        setting,
        tuple(splits),
        rows,
        target,
        complete,
        perf_counter() - started,
        target_name=str(getattr(y, "name", None) or "y"),
        seed=random_state if isinstance(random_state, int) else None,
        race=race,
        n_rows_given=table.n_rows_given,
        thorough=thorough,
    )
    _require_an_outcome(comparison)
    return comparison


@dataclass(frozen=True)
class _Table:
    """The rows that are compared on, and what is known of them."""

    X: Any
    target: np.ndarray
    problem: Problem
    groups: np.ndarray | None  # of every row
    impute: str | None  # what fills gaps, None where there are none
    n_rows_given: int  # before some of them were drawn


def _read_table(
    X: Any,
    y: Any,
    groups: Any,
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
    n_given = _count_rows(X)
    codes = read_groups(groups, n_given)
    if max_rows is not None and n_given > max_rows:
        X, y, codes = _sampled(X, y, max_rows, seed, task, codes)
    impute = impute if has_gaps(X) else None
    problem, target = read_problem(without_gaps(X, impute), y, table=prepare, task=task)
    return _Table(X, target, problem, codes, impute, n_given)


def _split(
    table: _Table, pilot: np.ndarray | None, cv: Any, seed: int, *, thorough: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Outer splits; the rows of a pilot are in every training part."""
    if pilot is not None:
        return splits_beside(pilot, cv, table.problem, table.target, seed)
    return outer_splits(cv, table.problem, table.target, seed, table.groups, thorough=thorough)


def _read_scoring(scoring: Scoring, table: _Table, *, own_predictor: bool) -> tuple[Metric, ...]:
    """The metrics, the first of which decides."""
    metrics = read_metrics(scoring, table.problem.kind, probabilities=own_predictor)
    if isinstance(scoring, str | list | tuple):  # names; a function may look at anything
        require_suitable(metrics, table.problem.kind, table.target)
    return metrics


def _require_an_outcome(comparison: Comparison) -> None:
    """Pass an interruption on, or say why every method failed, where there is nothing to show."""
    if comparison.outcomes.names:
        return
    if not comparison.complete:
        raise KeyboardInterrupt
    lacking = _lacking_class(comparison)
    if lacking:
        raise ValueError(lacking)
    reasons = "; ".join(f"{name}: {why}" for name, why in comparison.failures.items())
    raise ValueError(f"No method could be fitted. {reasons}")


def _lacking_class(comparison: Comparison) -> str:
    """What to say if parts of the training rows are of one class."""
    y, setting = comparison.y, comparison.setting
    if setting.problem.kind != "classes":
        return ""
    for train, _ in comparison.splits:
        for part, _ in setting.inner_splits(comparison.X, y[train], train):
            if len(np.unique(y[train][part])) > 1:
                continue
            rare = np.setdiff1d(y, y[train][part])[0]
            rows = y == rare
            where = "" if setting.groups is None else f" in {len(set(setting.groups[rows]))} groups"
            return (
                f"Class {rare.tolist()!r} of y has {counted(int(rows.sum()), 'row')}{where}: too "
                "few to hold some out twice, for the test and for the choice of the number of "
                "features. More are needed; screen tests columns on all rows."
            )
    return ""


def _count_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _sampled(
    X: Any, y: Any, count: int, seed: int, task: Task, groups: np.ndarray | None
) -> tuple[Any, Any, np.ndarray | None]:
    """Some rows, their targets and groups; classes keep a few of their rows, groups stay whole."""
    target = read_target(y, task=task)
    n_rows = _count_rows(X)
    if n_rows != target.n_samples:
        raise ValueError(
            f"X has {counted(n_rows, 'row')} and y has {target.n_samples}: pass one target per row."
        )
    values, classes = target.values, target.kind == "classes"
    if groups is None:
        rows = sample_rows(values, count, seed, classes=classes, at_least=RARE_ROWS)
    else:
        rows = sample_groups(groups, count, seed)
        groups = groups[rows]
    return _safe_indexing(X, rows), _safe_indexing(y, rows), groups


def _read_tolerance(tolerance: float) -> float:
    if not tolerance >= 0:
        raise ValueError(f"tolerance must be zero or a positive number, got {tolerance!r}.")
    return float(tolerance)


def _training_problem(problem: Problem, splits: list[tuple[np.ndarray, np.ndarray]]) -> Problem:
    """The problem as a training part sees it, with inner splits of about two thirds in mind."""
    smallest = min(len(train) for train, _ in splits)
    return replace(problem, n_samples=max(2, smallest * 2 // 3))
