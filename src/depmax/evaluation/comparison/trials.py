"""A method on a fold: fitted once on the training rows, all its sizes predict the test rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from depmax.data.columns import UnseenCategoryWarning, is_frame
from depmax.data.table import library_of
from depmax.evaluation.comparison.methods import Method, ScreenFirst, by_ranking
from depmax.evaluation.comparison.problem import Problem
from depmax.evaluation.prepare import Prepare
from depmax.evidence import Truth


@dataclass(frozen=True)
class Setting:
    """What all trials share."""

    problem: Problem
    truth: Truth
    judge: Any  # unfitted predictor
    sizes: tuple[int, ...]
    prepare: bool
    seed: int
    fill: str | None = None  # what fills gaps, learnt from the training rows
    needs_scores: bool = False  # whether a metric looks at scores of classes
    n_screened: int | None = None  # columns that searches are left with, if there are more
    sample_weight: np.ndarray | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Trial:
    """Predictions of the test rows of a fold, by the number of features; or why there are none."""

    method: str
    fold: tuple[int, int]  # repeat, and place in it
    predictions: Mapping[int | None, tuple[np.ndarray, np.ndarray | None]] = field(
        default_factory=dict, repr=False
    )
    ranking: np.ndarray | None = None  # of columns, 1 is best; kept columns are 1 if unranked
    seconds: float = float("nan")
    warnings: tuple[str, ...] = ()
    failure: str | None = None


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
    fold: tuple[int, int],
    parts: tuple[np.ndarray, np.ndarray],
    X: Any,
    y: np.ndarray,
    setting: Setting,
) -> Trial:
    """Try a method on a fold; an error becomes a failed trial, warnings are collected."""
    started = perf_counter()
    with quiet_warnings() as caught:
        try:
            trial = _try(method, fold, parts, X, y, setting)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            return Trial(method.name, fold, seconds=perf_counter() - started, failure=reason)
    texts = {f"{item.category.__name__}: {str(item.message).splitlines()[0]}" for item in caught}
    seconds = perf_counter() - started
    return replace(trial, seconds=seconds, warnings=tuple(sorted(texts)))


def _try(
    method: Method,
    fold: tuple[int, int],
    parts: tuple[np.ndarray, np.ndarray],
    X: Any,
    y: np.ndarray,
    setting: Setting,
) -> Trial:
    train, test = parts
    X_train, y_train, X_test = _safe_indexing(X, train), y[train], _safe_indexing(X, test)
    weight = None if setting.sample_weight is None else setting.sample_weight[train]
    predictions: dict[int | None, Any] = {}
    if method.predicts:
        model = fitted(make_estimator(method, None, X_train, setting), X_train, y_train, weight)
        return Trial(method.name, fold, {None: response(model, X_test, setting)})
    preparer = _preparer(method, setting)
    rows, new = X_train, X_test
    if preparer is not None:
        rows = preparer.fit_transform(X_train, y_train)
        new = preparer.transform(X_test)
    if method.nested is not None and is_frame(rows) and not setting.problem.categorical:
        rows, new = np.asarray(rows), np.asarray(new)  # names make no difference, and take time
    sizes = possible_sizes(method, setting)
    # levels that the training part lacks make it narrower
    widest = getattr(rows, "shape", (0, setting.problem.width))[-1]
    transformer, ranking = None, None
    for size in sizes[::-1]:
        if transformer is None or method.nested is None:
            limit = size if size is None or method.selects else min(size, max(1, widest))
            transformer = _transformer(method, limit, setting, rows)
            transformer = fitted(transformer, rows, y_train, weight)
            if method.nested is not None:
                old, later = _views(method, transformer, rows, new, setting)
            ranking = _ranking(method, transformer, setting.problem, size, ranking)
        if method.nested is None:
            inside, outside = transformer.transform(rows), transformer.transform(new)
        else:
            inside, outside = old(size or 0), later(size or 0)
        judge = _predictor(method, setting) if method.nested is None else _judge(setting)
        model = fitted(judge, inside, y_train, weight)
        predictions[size] = response(model, outside, setting)
    return Trial(method.name, fold, predictions, ranking)


def _views(
    method: Method, transformer: Any, rows: Any, new: Any, setting: Setting
) -> tuple[Callable[[int], Any], Callable[[int], Any]]:
    """From a number of features to those of old and new rows, categories as indicators.

    Indicators are made once, of all columns, and not once per number of columns.
    """
    assert method.nested is not None
    if not (setting.problem.categorical and method.takes_categories):
        return method.nested(transformer, rows), method.nested(transformer, new)
    encoder = Prepare(None, encode=True).fit(rows)
    owners = owners_of(encoder)
    ranking = np.asarray(transformer.ranking_)

    def view(values: np.ndarray) -> Callable[[int], Any]:
        return lambda count: values[:, ranking[owners] <= count]

    return view(np.asarray(encoder.transform(rows))), view(np.asarray(encoder.transform(new)))


def owners_of(encoder: Prepare) -> np.ndarray:
    """The column that each column of a fitted encoder comes from."""
    widths = [len(encoder.categories_.get(j, (0,))) for j in range(encoder.n_features_in_)]
    return np.repeat(np.arange(len(widths)), widths)


def columns_kept(model: Any, n_features: int) -> np.ndarray:
    """Columns that a fitted selector, or the one in a pipeline, keeps; best first if it ranks."""
    selector = getattr(model, "named_steps", {}).get("features", model)
    support = np.flatnonzero(selector.get_support())
    if len(selector.get_support()) != n_features:
        return np.unique(owners_of(model["prepare"])[support])  # it chose among indicators
    ranking = getattr(selector, "ranking_", None)
    return support if ranking is None else support[np.argsort(ranking[support])]


def _ranking(
    method: Method,
    transformer: Any,
    problem: Problem,
    size: int | None,
    larger: np.ndarray | None,
) -> np.ndarray | None:
    """Ranks of the columns; without them, the least size with which a column is kept."""
    if not method.selects:
        return None
    if method.nested is not None:
        return np.asarray(transformer.ranking_)
    kept = np.asarray(transformer.get_support())
    if len(kept) != problem.n_features:  # indicators of categories
        return None
    before = np.full(len(kept), len(kept) + 1) if larger is None else larger
    return np.where(kept, size or 1, before)


def fitted(model: Any, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Any:
    """A model fitted with the weights of rows, given to every step that takes them."""
    return model.fit(X, y) if weight is None else model.fit(X, y, **_weights(model, weight))


def _weights(model: Any, weight: np.ndarray, prefix: str = "") -> dict[str, np.ndarray]:
    """Options of ``fit`` that hand the weights to a model, or to the steps of a pipeline."""
    if isinstance(model, Pipeline):
        parts = [_weights(step, weight, f"{prefix}{name}__") for name, step in model.steps]
        return {name: given for part in parts for name, given in part.items()}
    return {f"{prefix}sample_weight": weight} if takes_weight(model) else {}


def takes_weight(model: Any) -> bool:
    """Whether ``fit`` takes weights of rows; one that passes them on takes what the inner takes."""
    parts = (getattr(model, name, None) for name in ("regressor", "estimator"))
    inner = next((part for part in parts if part is not None), model)
    return has_fit_parameter(inner, "sample_weight")


def response(model: Any, rows: Any, setting: Setting) -> tuple[np.ndarray, np.ndarray | None]:
    """Predictions as metrics read them, and scores of classes or labels if they are needed."""
    truth = setting.truth
    values = np.asarray(model.predict(rows))
    if truth.kind == "multilabel":
        values = values.astype(np.int8)
        return values, np.asarray(model.predict_proba(rows)) if setting.needs_scores else None
    if truth.kind != "classes":
        return values.astype(np.float64), None
    assert truth.classes is not None
    codes = np.searchsorted(truth.classes, values.ravel()).astype(np.int32)
    return codes, _scores(model, rows, truth) if setting.needs_scores else None


def _scores(model: Any, rows: Any, truth: Truth) -> np.ndarray:
    """A score per class, in the order of the classes; of a class it did not see, the lowest."""
    assert truth.classes is not None
    found = np.asarray(
        model.predict_proba(rows)
        if hasattr(model, "predict_proba")
        else model.decision_function(rows)
    )
    if found.ndim == 1:
        found = np.column_stack([-found, found])
    scores = np.full((len(found), truth.n_classes), min(0.0, float(found.min())))
    scores[:, np.searchsorted(truth.classes, model.classes_)] = found
    return scores


def possible_sizes(method: Method, setting: Setting) -> tuple[int | None, ...]:
    """Sizes that a method is tried with: at least one, at most what it can produce."""
    if not method.has_dimension:
        return (None,)
    most = max(1, method.largest(setting.problem))
    return tuple(size for size in setting.sizes if size <= most) or (most,)


def require_possible(setting: Setting, methods: Sequence[Method]) -> None:
    """Refuse sizes that no method can produce."""
    counts = [method.largest(setting.problem) for method in methods if method.has_dimension]
    most = max(1, *counts) if counts else None
    if most is not None and setting.sizes[-1] > most:
        raise ValueError(
            f"dimensions holds {setting.sizes[-1]}, but on a training part of these data no "
            f"method can produce more than {most} features."
        )


def make_estimator(method: Method, size: int | None, X: Any, setting: Setting) -> Any:
    """Unfitted pipeline of preparation, method and predictor, for rows like X."""
    preparer = _preparer(method, setting)
    steps = [] if preparer is None else [("prepare", preparer)]
    if method.predicts:
        model = seeded(method.make(0), setting.seed)
        return Pipeline([*steps, ("predict", model)]) if steps else model
    steps.append(("features", _transformer(method, size, setting, X)))
    return Pipeline([*steps, *_predictor(method, setting).steps])


def _preparer(method: Method, setting: Setting) -> Any:
    """The step before a method: gaps filled, columns on one scale."""
    if method.predicts:
        return Prepare(setting.fill, scale=False) if setting.fill else None
    if not setting.prepare:
        return None
    return Prepare(setting.fill, encode=not method.takes_categories)


def _transformer(method: Method, size: int | None, setting: Setting, rows: Any) -> Any:
    transformer = seeded(method.make(size or 0), setting.seed)
    if method.nested is by_ranking and setting.n_screened is not None:
        transformer = ScreenFirst(transformer, setting.n_screened, size)
    if setting.problem.categorical and method.takes_categories:
        transformer.set_output(transform=library_of(rows))  # categories stay categories
    return transformer


def _judge(setting: Setting) -> Any:
    return seeded(clone(setting.judge), setting.seed)


def _predictor(method: Method, setting: Setting) -> Pipeline:
    judge = _judge(setting)
    steps = list(judge.steps) if isinstance(judge, Pipeline) else [("predict", judge)]
    if setting.problem.categorical and method.takes_categories:
        steps.insert(0, ("encode", Prepare(None, encode=True)))
    return Pipeline(steps)


def seeded(estimator: Any, seed: int) -> Any:
    """An estimator with a seed wherever it has none."""
    free = [
        name
        for name, value in estimator.get_params(deep=True).items()
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    ]
    return estimator.set_params(**dict.fromkeys(free, seed)) if free else estimator
