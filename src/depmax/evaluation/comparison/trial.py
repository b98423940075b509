"""One method on one split: dimension chosen inside the training part, judged on the rest."""

from __future__ import annotations

import threading
import tracemalloc
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from depmax._extras import library_of
from depmax._inputs import UnseenCategoryWarning
from depmax.evaluation.comparison.methods import (
    Method,
    ScreenFirst,
    by_ranking,
    kernel_evaluations,
)
from depmax.evaluation.comparison.setting import Setting, next_size
from depmax.evaluation.prepare import Prepare

MEGABYTE = 2.0**20


def peak_megabytes(work: Callable[[], object]) -> float:
    """Peak memory that Python and numpy held for some work, beyond what they held before.

    Memory that compiled libraries allocate themselves (libsvm, BLAS, compiled loops) is not
    counted. NaN if it cannot be told apart from other work: in one of several threads, or while the
    user is tracing memory.
    """
    if tracemalloc.is_tracing() or threading.current_thread() is not threading.main_thread():
        return float("nan")
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / MEGABYTE
    finally:
        tracemalloc.stop()


@dataclass(frozen=True)
class Trial:
    """Outcome of a method on a split."""

    method: str
    split: int
    dimension: int | None = None  # chosen inside the training part
    inner_score: float = float("nan")  # of that dimension, inside the training part
    scores: Mapping[str, float] = field(default_factory=dict)  # by metric, on the test part
    curve: Mapping[int, float] = field(default_factory=dict)  # first metric by dimension
    support: np.ndarray | None = None  # columns kept at the chosen dimension
    fit_seconds: float = float("nan")
    transform_seconds: float = float("nan")
    kernel_evaluations: float = float("nan")
    fit_megabytes: float = float("nan")  # on the first split, by a fit of its own
    warnings: tuple[str, ...] = ()
    failure: str | None = None

    @property
    def finished(self) -> bool:
        """Whether there are scores."""
        return self.failure is None


@contextmanager
def quiet_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Collect warnings, all but those of rare levels that fall into test parts by chance."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", UnseenCategoryWarning)  # the scores tell what that costs
        yield caught


def in_parallel(
    task: Callable[..., Any],
    arguments: Iterable[Sequence[Any]],
    *,
    n_jobs: int | None,
    shared: Sequence[Any],
) -> Generator[Any, None, None]:
    """Results of a task with every set of arguments, as they are finished.

    In processes, or on the workers of a cluster where joblib's backend is Dask; ``shared`` are
    arguments of many tasks.
    """
    client = getattr(get_active_backend()[0], "client", None)
    if client is not None:
        from depmax.evaluation.comparison.cluster import on_workers

        yield from on_workers(client, task, arguments, shared)
        return
    tasks = (delayed(task)(*each) for each in arguments)
    results = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)(tasks)
    try:
        yield from results
    finally:
        results.close()


def run_trial(
    method: Method,
    split: int,
    parts: tuple[np.ndarray, np.ndarray],
    X: Any,
    y: np.ndarray,
    setting: Setting,
) -> Trial:
    """Try a method on a split; an error becomes a failed trial, warnings are collected."""
    with quiet_warnings() as caught:
        try:
            trial = _try(method, split, parts, X, y, setting)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            return Trial(method.name, split, failure=reason)
    texts = {f"{item.category.__name__}: {str(item.message).splitlines()[0]}" for item in caught}
    return Trial(**{**vars(trial), "warnings": tuple(sorted(texts))})


def _try(
    method: Method,
    split: int,
    parts: tuple[np.ndarray, np.ndarray],
    X: Any,
    y: np.ndarray,
    setting: Setting,
) -> Trial:
    train, test = parts
    X_train, y_train = _safe_indexing(X, train), y[train]
    X_test, y_test = _safe_indexing(X, test), y[test]
    choice = choose_dimension(method, X_train, y_train, setting, np.asarray(train))
    dimension = choice.dimension
    fitted = _fit_all(method, X_train, y_train, setting, choice.tried)
    scores, curve = {}, {}
    started = perf_counter()
    features = fitted.view(X_test)
    transform_seconds = perf_counter() - started
    for count in fitted.dimensions:
        model = fitted.predictor(count)
        rows = features(count)
        if count == dimension:
            scores = {m.name: float(m.scorer(model, rows, y_test)) for m in setting.metrics}
            curve[count] = scores[setting.metrics[0].name]
        elif count is not None:
            curve[count] = float(setting.metrics[0].scorer(model, rows, y_test))
    transformer = fitted.transformers[dimension]
    return Trial(
        method.name,
        split,
        dimension,
        choice.score,
        scores,
        {count: value for count, value in curve.items() if count is not None},
        support_of(transformer, dimension, setting.problem.n_features) if method.selects else None,
        fitted.seconds[dimension],
        transform_seconds,
        float("nan") if method.predicts else kernel_evaluations(transformer, len(train)),
        peak_megabytes(lambda: fitted.again(dimension)) if split == 0 else float("nan"),
    )


@dataclass(frozen=True)
class Choice:
    """The dimension that inner splits chose, its mean inner score, and all that were tried."""

    dimension: int | None
    score: float
    tried: tuple[int | None, ...]


def choose_dimension(
    method: Method, X: Any, y: np.ndarray, setting: Setting, rows: np.ndarray | None = None
) -> Choice:
    """The smallest dimension whose mean inner score is near the best.

    Where that is the largest of the grid, larger ones are tried, until one of them is not.
    ``rows`` are the positions of X in the data; by default X is all of the data.
    """
    sizes = dimensions_of(method, setting)
    rows = np.arange(len(y)) if rows is None else rows
    splits = setting.inner_splits(X, y, rows)
    folds = [_Fold(method, setting, X, y, train, valid) for train, valid in splits]
    inner = {size: [fold.score(size, sizes) for fold in folds] for size in sizes}
    chosen = _smallest_sufficient(inner, setting.tolerance)
    most = method.largest(setting.problem)
    while setting.grows and chosen is not None and chosen == sizes[-1] and chosen < most:
        larger = min(next_size(chosen), most)
        sizes = (*sizes, larger)
        inner[larger] = [fold.score(larger, sizes) for fold in folds]
        chosen = _smallest_sufficient(inner, setting.tolerance)
    return Choice(chosen, float(np.mean(inner[chosen])), sizes)


def _smallest_sufficient(inner: Mapping[int | None, list[float]], tolerance: float) -> int | None:
    """The smallest dimension within this many standard errors of the best."""
    means = {count: float(np.mean(values)) for count, values in inner.items()}
    best = max(means, key=lambda count: means[count])
    values = inner[best]
    error = float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0
    threshold = means[best] - tolerance * error
    return min((count for count in means if means[count] >= threshold), key=lambda c: c or 0)


class _Fold:
    """A method on one inner split, fitted again only where a dimension needs it."""

    def __init__(
        self,
        method: Method,
        setting: Setting,
        X: Any,
        y: np.ndarray,
        train: np.ndarray,
        valid: np.ndarray,
    ) -> None:
        self.method, self.setting = method, setting
        self.X, self.y = _safe_indexing(X, train), y[train]
        self.X_valid, self.y_valid = _safe_indexing(X, valid), y[valid]
        self.fitted: _Fitted | None = None
        self.features: Any = None

    def score(self, size: int | None, sizes: tuple[int | None, ...]) -> float:
        """Score on the validation rows, with a fit that serves the other sizes too."""
        if self.fitted is None or not self.fitted.reaches(size):
            self.fitted = _fit_all(self.method, self.X, self.y, self.setting, sizes)
            self.features = self.fitted.view(self.X_valid)
        model = self.fitted.predictor(size)
        return float(self.setting.metrics[0].scorer(model, self.features(size), self.y_valid))


@dataclass(frozen=True)
class _Fitted:
    """A method fitted on some rows at every dimension, predictors made when asked for."""

    dimensions: tuple[int | None, ...]
    transformers: Mapping[int | None, Any]
    seconds: Mapping[int | None, float]
    view: Callable[[Any], Callable[[int | None], Any]]  # rows → (dimension → features)
    predictor: Callable[[int | None], Any]  # fitted on the training rows
    again: Callable[[int | None], Any]  # fit the method once more, to see what it takes
    ranks: bool = False  # all columns, whatever number was asked for

    def reaches(self, size: int | None) -> bool:
        """Whether this fit gives features of a size."""
        return self.ranks or size in self.dimensions


def _fit_all(
    method: Method, X: Any, y: np.ndarray, setting: Setting, sizes: tuple[int | None, ...]
) -> _Fitted:
    if method.predicts:
        started = perf_counter()
        model = make_estimator(method, None, X, setting).fit(X, y)
        seconds: dict[int | None, float] = {None: perf_counter() - started}
        models: dict[int | None, Any] = {None: model}
        return _Fitted(
            (None,),
            models,
            seconds,
            lambda rows: lambda _: rows,
            models.__getitem__,
            lambda _: make_estimator(method, None, X, setting).fit(X, y),
        )
    steps = _preparing(method, setting)
    preparer = Pipeline(steps) if steps else None
    rows = X if preparer is None else preparer.fit_transform(X, y)
    transformers: dict[int | None, Any] = {}
    seconds = {}
    fits = [sizes[-1]] if method.nested else sizes
    for size in fits:
        transformer = _transformer(method, size, setting, rows)
        started = perf_counter()
        transformer.fit(rows, y)
        elapsed = perf_counter() - started
        for count in sizes if method.nested else [size]:
            transformers[count], seconds[count] = transformer, elapsed

    def view(new: Any) -> Callable[[int | None], Any]:
        prepared = new if preparer is None else preparer.transform(new)
        if method.nested:
            by_count = method.nested(transformers[sizes[-1]], prepared)
            return lambda count: by_count(count or 0)
        return lambda count: transformers[count].transform(prepared)

    training: list[Any] = []  # the view of the training rows, made once

    def predictor(count: int | None) -> Any:
        if not training:
            training.append(view(X))
        return _predictor(method, setting).fit(training[0](count), y)

    def again(count: int | None) -> Any:
        size = sizes[-1] if method.nested else count
        return _transformer(method, size, setting, rows).fit(rows, y)

    ranks = method.nested is by_ranking
    return _Fitted(sizes, transformers, seconds, view, predictor, again, ranks)


def dimensions_of(method: Method, setting: Setting) -> tuple[int | None, ...]:
    """Dimensions that a method is tried with: at least one, at most what it can produce."""
    if not method.has_dimension:
        return (None,)
    most = max(1, method.largest(setting.problem))
    return tuple(size for size in setting.dimensions if size <= most) or (most,)


def require_possible(setting: Setting, methods: Sequence[Method]) -> None:
    """Refuse dimensions that no method can produce."""
    counts = [method.largest(setting.problem) for method in methods if method.has_dimension]
    most = max(1, *counts) if counts else None
    if most is not None and setting.dimensions[-1] > most:
        raise ValueError(
            f"dimensions holds {setting.dimensions[-1]}, but on a training part of these data no "
            f"method can produce more than {most} features."
        )


def make_estimator(method: Method, dimension: int | None, X: Any, setting: Setting) -> Any:
    """Unfitted pipeline of preparation, method and predictor, for rows like X."""
    if method.predicts:
        model = seeded(method.make(0), setting.seed)
        filling = ("prepare", Prepare(setting.impute, scale=False))
        return Pipeline([filling, ("predict", model)]) if setting.impute else model
    transformer = _transformer(method, dimension, setting, X)
    steps = [*_preparing(method, setting), ("features", transformer)]
    predictor = _predictor(method, setting)
    inner = predictor.steps if isinstance(predictor, Pipeline) else [("predict", predictor)]
    return Pipeline([*steps, *inner])


def _preparing(method: Method, setting: Setting) -> list[tuple[str, Any]]:
    """Step before a method: gaps filled, columns on one scale."""
    if not (setting.prepare or setting.impute):
        return []
    encode = setting.prepare and not method.takes_categories
    return [("prepare", Prepare(setting.impute, scale=setting.prepare, encode=encode))]


def _transformer(method: Method, size: int | None, setting: Setting, rows: Any) -> Any:
    transformer = seeded(method.make(size or 0), setting.seed)
    if method.nested is by_ranking and setting.n_screened is not None:
        transformer = ScreenFirst(transformer, setting.n_screened, size)
    if setting.problem.categorical and method.takes_categories:
        transformer.set_output(transform=library_of(rows))  # categories stay categories
    return transformer


def _predictor(method: Method, setting: Setting) -> Any:
    predictor = seeded(clone(setting.predictor), setting.seed)
    if setting.problem.categorical and method.takes_categories:
        return Pipeline([("encode", Prepare(None, encode=True)), ("predict", predictor)])
    return predictor


def seeded(estimator: Any, seed: int) -> Any:
    """The same estimator with a seed wherever it has none."""
    free = [
        name
        for name, value in estimator.get_params(deep=True).items()
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    ]
    return estimator.set_params(**dict.fromkeys(free, seed)) if free else estimator


def support_of(transformer: Any, count: int | None, n_features: int) -> np.ndarray | None:
    """Which input columns a fitted selector keeps; None for anything else."""
    if count is not None and hasattr(transformer, "ranking_"):
        mask = np.asarray(transformer.ranking_) <= count
    elif hasattr(transformer, "get_support"):
        mask = np.asarray(transformer.get_support())
    else:
        return None
    return mask if len(mask) == n_features else None
