"""How far can these rows be trusted? Targets are planted on them, and what is found is counted.

A planted target is made of a few known columns of the user's own table, in a known shape, and of
noise: so much that these columns predict it as well as the kept ones predict the real target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from scipy.stats import rankdata
from sklearn.utils import _safe_indexing

from depmax._intervals import wilson
from depmax._text import counted
from depmax.data import Task
from depmax.data.table import read_table
from depmax.evaluation.comparison.candidates import Candidates
from depmax.evaluation.comparison.catalogue import find_method
from depmax.evaluation.comparison.methods import Method
from depmax.evaluation.comparison.problem import (
    Listener,
    Progress,
    clock,
    folds_of,
    read_listener,
    read_problem,
)
from depmax.evaluation.comparison.trials import (
    Setting,
    columns_kept,
    fitted,
    in_parallel,
    make_estimator,
    quiet_warnings,
    run_trial,
)
from depmax.evaluation.comparison.verdict import LEVEL
from depmax.evaluation.prepare import Prepare, without_gaps
from depmax.evidence import Metric
from depmax.selection._substitutes import shared

if TYPE_CHECKING:
    from depmax.evaluation.comparison.comparison import Comparison

#: Targets of each shape, and columns that each is made of at most: so many, and a part of all.
REPEATS, MOST_PLANTED, PART_PLANTED = 5, 8, 1 / 3
#: How far the score of a planted target may be from the observed one, as a share of its gain over
#: guessing, and how many amounts of noise are tried for that.
TOLERANCE, ROUNDS = 0.05, 8
#: Share of a planted column's variation from which on a kept one counts for it: a rank correlation
#: of 0.9.
ALIKE = 0.8
#: Columns that are looked at for some that are not alike.
MOST_LOOKED_AT = 200
SHAPES = ("linear", "curved", "interaction")


@dataclass(frozen=True)
class Recovered:
    """What a selector finds of the columns that matter to targets of one shape, or of all.

    Parameters
    ----------
    method, shape : str
    found : float
        Share of the planted columns that it keeps, or a column in place of which is as good.
    low, high : float
        95% interval of this share.
    others : float
        Share of the columns that it keeps that are like no planted one.
    """

    method: str
    shape: str
    found: float
    low: float
    high: float
    others: float


@dataclass(frozen=True)
class PlantedRecovery:
    """What selectors find of columns that are known to matter, in a user's own table.

    Parameters
    ----------
    rows : tuple of Recovered
        For every selector and shape; empty where nothing could be planted.
    total : tuple of Recovered
        For every selector over all shapes, the recommended one first, then by score.
    n_planted, n_columns : int
        Columns that a target was made of, and columns of the table.
    n_targets : int
        Planted targets.
    metric : str
    score : float
        That the targets were to reach: the score of the first selector on the real target.
    reached : mapping
        Shape to the mean score that its planted columns reach.
    short : tuple of str
        Shapes whose targets are harder for the judge than that, even without noise.
    failures : tuple of str
        Why some targets could not be planted, or a selector failed on them: they do not count.
    reason : str, default=""
        Why nothing was planted.

    Examples
    --------
    >>> from depmax import compare
    >>> from depmax.datasets import load
    >>> from depmax.evaluation import planted_recovery
    >>> wine = load("wine")
    >>> found = compare(wine.X, wine.y, ["HSIC filter"], cv=3, dimensions=[3], random_state=0)
    >>> planted = planted_recovery(found, n_repeats=1)
    >>> planted.n_planted, [row.shape for row in planted.rows]
    (3, ['linear', 'curved', 'interaction'])
    """

    rows: tuple[Recovered, ...] = ()
    total: tuple[Recovered, ...] = ()
    n_planted: int = 0
    n_columns: int = 0
    n_targets: int = 0
    metric: str = ""
    score: float = float("nan")
    reached: Mapping[str, float] | None = None
    short: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    reason: str = ""

    def __repr__(self) -> str:
        if self.reason:
            return self.reason
        best, reached = self.total[0], self.reached or {}
        parts = [
            f"{row.shape} {100 * row.found:.0f}%" for row in self.rows if row.method == best.method
        ]
        lower = [f"{shape} only {reached[shape]:.2f}" for shape in self.short]
        return (
            f"Of the columns behind {counted(self.n_targets, 'planted target')} "
            f"({self.n_planted} columns each, which predict it about as well as here: "
            f"{self.metric} {self.score:.2f}{'; without noise ' if lower else ''}"
            f"{', '.join(lower)}), {best.method} finds {100 * best.found:.0f}% (95% interval "
            f"{100 * best.low:.0f}% to {100 * best.high:.0f}%; {', '.join(parts)}), and "
            f"{100 * best.others:.0f}% of the columns that it keeps are others."
            + (f" {len(self.failures)} more failed: {self.failures[0]}." if self.failures else "")
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw what each selector finds, and what else it keeps; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        RecoveryDisplay
        """
        from depmax.evaluation.comparison.page_planted import recovery_display

        if self.reason:
            raise ValueError(f"There is nothing to draw. {self.reason}")
        return recovery_display(self).plot(ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dictionaries, lists, text and numbers."""
        return asdict(self)


@dataclass(frozen=True)
class _Plan:
    """What all planted targets share."""

    setting: Setting
    metric: Metric
    methods: tuple[Method, ...]
    n_planted: int
    goal: float  # larger is better
    tolerance: float
    units: np.ndarray | None
    y: np.ndarray


@dataclass(frozen=True)
class _Target:
    """What was found of one planted target."""

    shape: str
    n_planted: int = 0
    score: float = float("nan")  # larger is better
    #: Of each selector how many planted columns it finds, others it keeps, and columns it keeps.
    hits: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    failure: str = ""


def planted_recovery(
    found: Comparison,
    *,
    n_repeats: int = REPEATS,
    n_jobs: int | None = None,
    progress: bool | Listener = False,
) -> PlantedRecovery:
    """How many of the columns that matter a selector finds in a table like this one.

    Targets are planted on the rows that were compared: a few columns, drawn at random, make a
    target of the same values as the real one (so classes are as frequent), with so much noise that
    these columns, through the same judge and folds, predict it as well as the recommended selector
    (the best one, if none is recommended) predicts the real target. Every selector of the
    comparison is then fitted to it on all rows, and asked for as many columns as were planted.

    Parameters
    ----------
    found : Comparison
    n_repeats : int, default=5
        Targets of each of three shapes. *linear*: a sum of columns with random signs. *curved*: a
        sum of columns, each the squared distance of its ranks from the middle. *interaction*: a sum
        of products of two columns. A category enters by a random effect of each level.
    n_jobs : int, optional
        Number of processes, each working on one target.
    progress : bool or callable, default=False
        As in :func:`compare`; the first line says how long it will take.

    Returns
    -------
    PlantedRecovery
        Where nothing can be planted, ``reason`` says why: a real target that is not predicted
        better than by guessing, several targets at once, sparse rows, no selector.

    Notes
    -----
    As many columns are planted as this selector keeps, from two to eight, at most a third of the
    table, none of which is nearly a copy of another. A kept column counts for a planted one if
    it shares four fifths of its variation: for numbers a rank correlation of 0.9. The score of a
    planted target is that of its own columns, which a selector has to find first, while the
    observed score is that of columns that were chosen: planted targets are a little harder than
    the real one. The score is met to within 5% of the gain over guessing, by bisection.
    Within groups of rows, noise is as much alike as the real target is.
    """
    reason, plan = _plan(found)
    if plan is None:
        return PlantedRecovery(reason=reason)
    listener, started = read_listener(progress), perf_counter()
    draws = [(shape, repeat) for repeat in range(n_repeats) for shape in SHAPES]
    step = f"planting targets, about {clock(_seconds(found, plan, len(draws), n_jobs))}"
    listener(Progress(0, len(draws), 0.0, "", step))
    tasks = ((plan, found.X, shape, repeat) for shape, repeat in draws)
    targets: list[_Target] = []
    for target in in_parallel(_one_target, tasks, n_jobs=n_jobs, shared=(found.X,)):
        targets.append(target)
        elapsed = perf_counter() - started
        listener(Progress(len(targets), len(draws), elapsed, target.shape, step))
    return _summary(plan, sorted(targets, key=lambda one: SHAPES.index(one.shape)))


def _plan(found: Comparison) -> tuple[str, _Plan | None]:
    """What is planted, or why nothing is."""
    setting, candidates = found.setting, found.candidates
    problem, evidence = setting.problem, candidates.evidence
    methods = {method.name: method for method in found.methods if method.selects}
    places = [place for place in found.leaders if candidates.all[place].method in methods]
    places.sort(key=lambda place: place != found.place)  # what is recommended is what is asked of
    if not setting.prepare or problem.sparse:
        return "Nothing is planted on sparse rows, or without prepare: on tables only.", None
    if problem.kind not in ("classes", "numbers"):
        return "Nothing is planted for several targets at once: compare them one by one.", None
    if not places or problem.n_features < 6:
        return "Nothing is planted: that needs a selector that was compared, and 6 columns.", None
    goal, guess = float(evidence.scores[places[0]]), float(evidence.scores[0])
    if evidence.pvalue_of_guessing() > LEVEL or goal <= guess:
        return (
            "Nothing can be planted: the observed score is no better than guessing, and so would "
            "that of planted targets be."
        ), None
    best = candidates.all[places[0]]
    masks = candidates.masks(best)
    kept = best.size or (MOST_PLANTED if masks is None else int(np.median(masks.sum(axis=1))))
    count = max(2, min(kept, MOST_PLANTED, int(problem.n_features * PART_PLANTED)))
    ordered = tuple(methods[candidates.all[place].method] for place in places)
    return "", _Plan(
        setting,
        found.metrics[0],
        ordered,
        count,
        goal,
        TOLERANCE * (goal - guess),
        candidates.units,
        found.y,
    )


def _seconds(found: Comparison, plan: _Plan, n_targets: int, n_jobs: int | None) -> float:
    """What the trials of the comparison took: every selector once, and rounds of the judge."""

    def taken(name: str) -> float:
        seconds = [trial.seconds for trial in found.trials if trial.method == name]
        return float(np.median(seconds or [0.0]))

    judged = taken(find_method("all columns").name) * len(found.candidates.folds[0])
    each = sum(taken(method.name) for method in plan.methods) + judged * ROUNDS / 2
    return each * n_targets / max(1, effective_n_jobs(n_jobs))


def _one_target(plan: _Plan, X: Any, shape: str, repeat: int) -> _Target:
    """Plant a target of a shape, and let every selector search for its columns."""
    with quiet_warnings():
        try:
            return _searched(plan, X, shape, repeat)
        except Exception as error:  # the comparison before it is worth keeping
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            return _Target(shape, failure=reason)


def _searched(plan: _Plan, X: Any, shape: str, repeat: int) -> _Target:
    rng = np.random.default_rng([plan.setting.seed, repeat, SHAPES.index(shape)])
    table = read_table(without_gaps(X, plan.setting.fill))
    values = np.asarray(table.values, dtype=np.float64)
    coded = np.isin(np.arange(values.shape[1]), list(table.categories))
    planted = _drawn(rng, values, coded, plan.n_planted)
    if len(planted) < 2:
        return _Target(shape, failure="the columns are nearly copies of each other")
    signal = _signal(rng, shape, values[:, planted], coded[planted])
    few = Prepare(plan.setting.fill, encode=True)
    own = np.asarray(few.fit_transform(_safe_indexing(X, planted, axis=1)))
    score, y = _calibrated(plan, own, signal, _noise(rng, plan))
    hits = {}
    for method in plan.methods:
        model = make_estimator(method, len(planted), X, plan.setting)
        model = model[: [name for name, _ in model.steps].index("features") + 1]
        model = fitted(model, X, y, plan.setting.sample_weight)
        kept = columns_kept(model, values.shape[1])
        alike = planted[:, np.newaxis] == kept
        if len(kept):
            parts = values[:, planted], values[:, kept], coded[planted], coded[kept]
            alike |= shared(*parts) >= ALIKE
        n_found, n_others = alike.any(axis=1).sum(), (~alike.any(axis=0)).sum()
        hits[method.name] = int(n_found), int(n_others), len(kept)
    return _Target(shape, len(planted), score, hits)


def _drawn(
    rng: np.random.Generator, values: np.ndarray, coded: np.ndarray, count: int
) -> np.ndarray:
    """Columns drawn at random, none constant or nearly a copy of one before it."""
    varying = np.flatnonzero((values != values[:1]).any(axis=0))
    some = rng.permutation(varying)[:MOST_LOOKED_AT]
    alike = shared(values[:, some], values[:, some], coded[some], coded[some]) >= ALIKE
    planted: list[int] = []
    for place in range(len(some)):
        if len(planted) < count and not (alike[place] | alike[:, place])[planted].any():
            planted.append(place)
    return np.asarray(some[planted])


def _standard(values: np.ndarray) -> np.ndarray:
    scale = values.std()
    return (values - values.mean()) / (scale if scale > 0.0 else 1.0)


def _signal(
    rng: np.random.Generator, shape: str, values: np.ndarray, coded: np.ndarray
) -> np.ndarray:
    """What the planted columns say about the target, of variance one."""
    parts = []
    for column, is_code in zip(values.T, coded, strict=True):
        if is_code:
            levels = np.unique(column, return_inverse=True)[1].ravel()
            part = rng.normal(size=levels.max() + 1)[levels]
        elif shape == "linear":
            part = np.clip(_standard(column), -3.0, 3.0)
        else:
            part = rankdata(column) / len(column) - 0.5
            if shape == "curved" and len(np.unique(column)) > 2:
                part = part**2
        parts.append(_standard(part))
    if shape == "interaction":  # of an odd number, the first is in two products
        pairs = [(j, (j + 1) % len(parts)) for j in range(0, len(parts), 2)]
        parts = [_standard(parts[one] * parts[other]) for one, other in pairs]
    signs = rng.choice([-1.0, 1.0], len(parts))
    return _standard(np.sum([sign * part for sign, part in zip(signs, parts, strict=True)], axis=0))


def _noise(rng: np.random.Generator, plan: _Plan) -> np.ndarray:
    """Noise of variance one, as much alike within groups of rows as the target is."""
    alike, units = _alike_in_units(plan), plan.units
    of_unit = 0.0 if units is None else rng.normal(size=units.max() + 1)[units]
    return np.sqrt(alike) * of_unit + np.sqrt(1.0 - alike) * rng.normal(size=len(plan.y))


def _alike_in_units(plan: _Plan) -> float:
    """Mean product of the targets of two rows of a group, in units of their variance."""
    if plan.units is None:
        return 0.0
    y = plan.y.astype(float) if plan.setting.truth.kind == "numbers" else plan.y
    if plan.setting.truth.classes is not None:
        y = (plan.y[:, np.newaxis] == plan.setting.truth.classes).astype(float)
    centred = (y - y.mean(axis=0)).reshape(len(y), -1)
    sums = np.array([np.bincount(plan.units, column) for column in centred.T])
    sizes = np.bincount(plan.units)
    squares = (centred**2).sum()
    pairs = (sizes * (sizes - 1.0)).sum()
    if not pairs or not squares:
        return 0.0
    return float(np.clip(((sums**2).sum() - squares) / pairs * len(y) / squares, 0.0, 1.0))


def _mixed(plan: _Plan, signal: np.ndarray, noise: np.ndarray, part: float) -> np.ndarray:
    """The target with this correlation of what is behind it and the signal; values as the real."""
    behind = part * signal + np.sqrt(1.0 - part**2) * noise
    if plan.units is not None and _alike_in_units(plan) > 0.999:  # one value per group of rows
        firsts = np.unique(plan.units, return_index=True)[1]
        means = np.bincount(plan.units, behind) / np.bincount(plan.units)
        ranks = rankdata(means, method="ordinal") - 1
        return np.asarray(np.sort(plan.y[firsts])[ranks][plan.units])
    return np.asarray(np.sort(plan.y)[rankdata(behind, method="ordinal") - 1])


def _calibrated(
    plan: _Plan, few: np.ndarray, signal: np.ndarray, noise: np.ndarray
) -> tuple[float, np.ndarray]:
    """The target whose own columns predict it as well as observed, and how well; by bisection."""
    low, high, part = 0.0, 1.0, 1.0
    tried: list[tuple[float, np.ndarray]] = []
    while len(tried) <= ROUNDS:
        y = _mixed(plan, signal, noise, part)
        tried.append((_score(plan, few, y), y))
        too_low = tried[-1][0] < plan.goal
        if abs(tried[-1][0] - plan.goal) <= plan.tolerance or (too_low and len(tried) == 1):
            break  # met, or too low without any noise
        low, high = (part, high) if too_low else (low, part)
        part = (low + high) / 2.0
    return min(tried, key=lambda one: abs(one[0] - plan.goal))


def _score(plan: _Plan, few: np.ndarray, y: np.ndarray) -> float:
    """Score of the judge with the planted columns, on held-out rows; larger is better."""
    classes = plan.setting.truth.classes
    task: Task = "regression" if classes is None else "classification"
    problem, _ = read_problem(few, y, table=True, task=task)
    values = y if classes is None else np.searchsorted(classes, y)
    truth = replace(plan.setting.truth, values=values)
    setting = replace(plan.setting, problem=problem, truth=truth, fill=None)
    method = find_method("all columns")
    folds = folds_of(None, problem, y, plan.setting.seed, plan.units)
    trials = [
        run_trial(method, (repeat, place), parts, few, y, setting)
        for repeat, each in enumerate(folds)
        for place, parts in enumerate(each)
    ]
    failures = [trial.failure for trial in trials if trial.failure is not None]
    if failures:
        raise ValueError(failures[0])
    candidates = Candidates(setting, (method,), folds, tuple(trials), (plan.metric,), plan.units)
    return plan.metric.sign * candidates.score(1, plan.metric)


def _summary(plan: _Plan, targets: Sequence[_Target]) -> PlantedRecovery:
    """Shares by selector and shape."""
    planted = [target for target in targets if target.hits]
    failures = tuple(target.failure for target in targets if not target.hits)
    if not planted:
        return PlantedRecovery(reason=f"Nothing could be planted: {failures[0]}.")
    by_shape: dict[str, list[_Target]] = {}
    for target in planted:
        by_shape.setdefault(target.shape, []).append(target)

    def recovered(method: Method, shape: str, some: list[_Target]) -> Recovered:
        found, others, kept = np.sum([one.hits[method.name] for one in some], axis=0)
        total = sum(one.n_planted for one in some)
        low, high = wilson(found / total, total)
        others = others / max(1, kept)
        return Recovered(method.name, shape, *map(float, (found / total, low, high, others)))

    sign, least = plan.metric.sign, plan.goal - 2 * plan.tolerance
    reached = {name: float(np.mean([one.score for one in by_shape[name]])) for name in by_shape}
    return PlantedRecovery(
        tuple(recovered(each, *some) for each in plan.methods for some in by_shape.items()),
        tuple(recovered(each, "all", planted) for each in plan.methods),
        plan.n_planted,
        plan.setting.problem.n_features,
        len(planted),
        plan.metric.label,
        sign * plan.goal,
        {shape: sign * score for shape, score in reached.items()},
        tuple(shape for shape, score in reached.items() if score < least),
        failures,
    )
