"""Trials → columns of the tables that a comparison shows, and its curves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from depmax.evaluation.comparison.metrics import CorrectedMean, Metric, corrected_mean, holm
from depmax.evaluation.comparison.trial import Trial
from depmax.evaluation.stability import Stability, stability_of
from depmax.plotting import Curve, DimensionCurveDisplay

if TYPE_CHECKING:
    from depmax.evaluation.comparison.comparison import Comparison


@dataclass(frozen=True)
class Outcomes:
    """Finished trials by method, best mean score first."""

    by_method: Mapping[str, tuple[Trial, ...]]
    metrics: tuple[Metric, ...]
    test_per_train: float

    @classmethod
    def of(
        cls, trials: Sequence[Trial], metrics: tuple[Metric, ...], test_per_train: Sequence[float]
    ) -> Outcomes:
        """Methods that failed nowhere, on the splits that all of them finished.

        Where an interruption left no such split, each method has the splits it finished. The last
        argument has the number of test rows divided by that of training rows, of every split.
        """
        failed = {trial.method for trial in trials if not trial.finished}
        sound = sorted((t for t in trials if t.method not in failed), key=lambda t: t.split)
        counts = Counter(trial.split for trial in sound)
        n_methods = len({trial.method for trial in sound})
        common = {split for split, count in counts.items() if count == n_methods}
        groups: dict[str, list[Trial]] = {}
        for trial in sound:
            if trial.split in common or not common:
                groups.setdefault(trial.method, []).append(trial)
        first = metrics[0].name
        order = sorted(groups, key=lambda m: -np.mean([t.scores[first] for t in groups[m]]))
        counted = {trial.split for group in groups.values() for trial in group}
        ratio = float(np.mean([test_per_train[split] for split in counted])) if counted else 0.0
        return cls({name: tuple(groups[name]) for name in order}, metrics, ratio)

    @cached_property
    def splits(self) -> tuple[int, ...]:
        """The splits whose scores are in the tables."""
        return tuple(sorted({t.split for group in self.by_method.values() for t in group}))

    @cached_property
    def is_paired(self) -> bool:
        """Whether every method was judged on the same splits."""
        sets = {tuple(trial.split for trial in group) for group in self.by_method.values()}
        return len(sets) <= 1

    @property
    def names(self) -> tuple[str, ...]:
        """Methods, best first."""
        return tuple(self.by_method)

    def score(self, method: str, metric: Metric | None = None) -> CorrectedMean:
        """Mean score of a method on the test parts, as the metric is shown."""
        metric = metric or self.metrics[0]
        values = np.array([trial.scores[metric.name] for trial in self.by_method[method]])
        return metric.clip(corrected_mean(metric.sign * values, self.test_per_train))

    def difference(self, one: str, other: str) -> CorrectedMean:
        """Mean difference of two methods over the splits that both finished, NaN without one."""
        name = self.metrics[0].name
        left = {trial.split: trial.scores[name] for trial in self.by_method[one]}
        right = {trial.split: trial.scores[name] for trial in self.by_method[other]}
        common = sorted(left.keys() & right.keys())
        values = np.array([left[split] - right[split] for split in common] or [np.nan])
        return corrected_mean(values, self.test_per_train)

    def dimensions(self, method: str) -> list[int]:
        """Dimensions chosen on the splits, none for methods without one."""
        return [t.dimension for t in self.by_method[method] if t.dimension is not None]

    def stability(self, method: str) -> Stability | None:
        """Agreement of the columns kept on the splits, where it is defined."""
        masks = [trial.support for trial in self.by_method[method] if trial.support is not None]
        if len(masks) < 2:
            return None
        share = float(np.mean(masks))
        return stability_of(np.array(masks)) if 0.0 < share < 1.0 else None

    def honest_score(self) -> tuple[CorrectedMean, dict[str, int]]:
        """Score of the whole procedure, choice of method included, and what it chose.

        On every split the method with the best inner score is taken, which is known without the
        test part, and judged on the test part.
        """
        name = self.metrics[0].name
        splits: dict[int, list[Trial]] = {}
        for group in self.by_method.values():
            for trial in group:
                splits.setdefault(trial.split, []).append(trial)
        winners = [max(splits[s], key=lambda trial: trial.inner_score) for s in sorted(splits)]
        values = np.array([trial.scores[name] for trial in winners])
        chosen = [trial.method for trial in winners]
        counts = {method: chosen.count(method) for method in self.names if method in chosen}
        found = corrected_mean(values, self.test_per_train)
        return self.metrics[0].clip(found), counts


def significance_columns(outcomes: Outcomes) -> dict[str, list[Any]]:
    """All pairs of methods, with p-values adjusted over all of them."""
    pairs = list(combinations(outcomes.names, 2))
    found = [outcomes.difference(one, other) for one, other in pairs]
    pvalues = np.array([item.pvalue for item in found])
    return {
        "method": [one for one, _ in pairs],
        "other": [other for _, other in pairs],
        "difference": [item.mean for item in found],
        "standard_error": [item.error for item in found],
        "low": [item.low for item in found],
        "high": [item.high for item in found],
        "pvalue": pvalues.tolist(),
        "pvalue_adjusted": holm(pvalues).tolist(),
    }


def leaderboard_columns(
    outcomes: Outcomes, significance: Mapping[str, Sequence[Any]]
) -> dict[str, list[Any]]:
    """One row per method, best first."""
    best = outcomes.names[0]
    against_best = {
        other: adjusted
        for one, other, adjusted in zip(
            significance["method"],
            significance["other"],
            significance["pvalue_adjusted"],
            strict=True,
        )
        if one == best
    }
    first, others = outcomes.metrics[0], outcomes.metrics[1:]
    scores = [outcomes.score(name) for name in outcomes.names]
    columns: dict[str, list[Any]] = {
        "rank": list(range(1, len(scores) + 1)),
        "method": list(outcomes.names),
        first.name: [score.mean for score in scores],
        "low": [score.low for score in scores],
        "high": [score.high for score in scores],
    }
    for metric in others:
        columns[metric.name] = [outcomes.score(name, metric).mean for name in outcomes.names]
    stable = [outcomes.stability(name) for name in outcomes.names]
    missing = float("nan")

    def mean(attribute: str) -> list[float]:
        groups = outcomes.by_method.values()
        return [float(np.mean([getattr(t, attribute) for t in group])) for group in groups]

    columns |= {
        "dimension": [_median(outcomes.dimensions(name)) for name in outcomes.names],
        "pvalue_adjusted": [against_best.get(name, missing) for name in outcomes.names],
        "stability": [missing if item is None else item.value for item in stable],
        "fit_seconds": mean("fit_seconds"),
        "transform_seconds": mean("transform_seconds"),
        "kernel_evaluations": mean("kernel_evaluations"),
        "fit_megabytes": [
            next((t.fit_megabytes for t in group if not np.isnan(t.fit_megabytes)), missing)
            for group in outcomes.by_method.values()
        ],
    }
    return columns


def curve_columns(outcomes: Outcomes) -> dict[str, list[Any]]:
    """Score against dimension, for the methods with a choice of dimension."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("method", "dimension", "score", "low", "high", "n_splits")
    }
    for method, trials in outcomes.by_method.items():
        sizes = sorted({size for trial in trials for size in trial.curve})
        for size in sizes:
            values = np.array([trial.curve[size] for trial in trials if size in trial.curve])
            found = outcomes.metrics[0].clip(corrected_mean(values, outcomes.test_per_train))
            row = (method, size, found.mean, found.low, found.high, found.n_splits)
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
    return columns


def score_columns(outcomes: Outcomes) -> dict[str, list[Any]]:
    """Every finished trial: the scores behind the tables."""
    trials = [trial for group in outcomes.by_method.values() for trial in group]
    columns: dict[str, list[Any]] = {
        "method": [trial.method for trial in trials],
        "split": [trial.split for trial in trials],
        "dimension": [_number(trial.dimension) for trial in trials],
        "inner_score": [trial.inner_score for trial in trials],
    }
    for metric in outcomes.metrics:
        columns[metric.name] = [metric.sign * trial.scores[metric.name] for trial in trials]
    return columns


def _number(value: int | None) -> float:
    return float("nan") if value is None else float(value)


def _median(values: Sequence[int]) -> float:
    """The lower median, which is a whole number of features."""
    return float(sorted(values)[(len(values) - 1) // 2]) if values else float("nan")


def curves_display(comparison: Comparison, most: int | None = None) -> DimensionCurveDisplay:
    """Score against dimension, best methods first, those without a dimension as lines."""
    columns = curve_columns(comparison.outcomes)
    names = list(dict.fromkeys(columns["method"]))
    curves = {}
    for name in names[:most]:
        rows = [row for row, method in enumerate(columns["method"]) if method == name]

        def column(title: str, rows: list[int] = rows) -> np.ndarray:
            return np.array([columns[title][row] for row in rows], dtype=float)

        curves[name] = Curve(column("dimension"), column("score"), column("low"), column("high"))
    flat = [name for name in comparison.outcomes.names if name not in names]
    levels = {name: comparison.outcomes.score(name).mean for name in flat}
    metric = comparison.outcomes.metrics[0].label
    return DimensionCurveDisplay(curves, metric, levels)
