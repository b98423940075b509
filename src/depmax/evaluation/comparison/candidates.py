"""Candidates, pairs of a method and a number of features, and what is known about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from depmax._resources import cached_property
from depmax.evaluation.comparison.methods import Method
from depmax.evaluation.comparison.trials import Setting, Trial, possible_sizes
from depmax.evaluation.stability import Stability, stability_of
from depmax.evidence import Evidence, Metric, Predicted, Truth, gather

Folds = Sequence[Sequence[tuple[np.ndarray, np.ndarray]]]  # repeats of (train, test)


@dataclass(frozen=True)
class Candidate:
    """A method with a number of features; guessing has no method."""

    method: str
    size: int | None  # None: it has no choice of size
    n_columns: int  # that a new row has to bring
    cost: float  # columns first, then how involved the method is


@dataclass(frozen=True)
class Candidates:
    """Predictions of every candidate for every row, by models that did not see the row."""

    setting: Setting
    methods: tuple[Method, ...]
    folds: Folds
    trials: tuple[Trial, ...]
    metrics: tuple[Metric, ...]
    units: np.ndarray | None  # the group of every row

    @cached_property
    def by_method(self) -> Mapping[str, Mapping[tuple[int, int], Trial]]:
        """Finished trials of the methods that failed nowhere, on folds that all finished."""
        failed = {trial.method for trial in self.trials if trial.failure is not None}
        found: dict[str, dict[tuple[int, int], Trial]] = {
            method.name: {} for method in self.methods if method.name not in failed
        }
        for trial in self.trials:
            if trial.method in found:
                found[trial.method][trial.fold] = trial
        found = {name: trials for name, trials in found.items() if trials}
        shared = set.intersection(*map(set, found.values())) if found else set()
        if found and not shared:  # interrupted in the first fold
            shared = {min(fold for trials in found.values() for fold in trials)}
            found = {name: trials for name, trials in found.items() if shared <= set(trials)}
        return {name: {f: trials[f] for f in sorted(shared)} for name, trials in found.items()}

    @cached_property
    def done(self) -> tuple[tuple[int, int], ...]:
        """Folds that the scores come from."""
        return tuple(next(iter(self.by_method.values()), {}))

    @cached_property
    def all(self) -> tuple[Candidate, ...]:
        """Guessing, then every method with every size."""
        n_features = self.setting.problem.n_features
        found = [Candidate("guessing", None, 0, 0.0)]
        for method in self.methods:
            for size in (
                possible_sizes(method, self.setting) if method.name in self.by_method else ()
            ):
                columns = n_features
                if method.selects and size is not None:
                    columns = min(size, n_features)
                # an extractor needs all columns; of its sizes, smaller ones are simpler
                features = 0.0 if method.selects or size is None else min(0.09, size / 1e4)
                cost = columns + 0.1 * method.complexity + features
                found.append(Candidate(method.name, size, columns, cost))
        return tuple(found)

    @cached_property
    def costs(self) -> np.ndarray:
        """Cost of every candidate."""
        return np.array([candidate.cost for candidate in self.all])

    def runs(self, candidate: Candidate, metric: Metric) -> list[Predicted]:
        """Predictions of all rows as a metric judges them, one array per repeat."""
        return [
            self._run(candidate, repeat, metric)
            for repeat in range(len(self.folds))
            if any(done == repeat for done, _ in self.done)
        ]

    def _run(self, candidate: Candidate, repeat: int, metric: Metric) -> Predicted:
        truth = self.setting.truth
        n_rows = len(truth.values)
        tested = np.zeros(n_rows, dtype=bool)
        values = np.zeros_like(truth.values)
        scores = None
        for number, (train, test) in enumerate(self.folds[repeat]):
            if (repeat, number) not in self.done:
                continue
            if candidate.method == "guessing":
                found = _guess(truth, train, self.setting.sample_weight, len(test))
            else:
                trial = self.by_method[candidate.method][repeat, number]
                found = trial.predictions[candidate.size]
            tested[test] = True
            values[test] = found[0]
            if found[1] is not None:
                scores = np.zeros((n_rows, found[1].shape[1])) if scores is None else scores
                # scores of different models are pooled as ranks in the test part
                ranked = metric.needs == "scores" and truth.kind == "classes"
                scores[test] = _ranks(found[1]) if ranked else found[1]
        return Predicted(values, scores, tested)

    @cached_property
    def evidence(self) -> Evidence:
        """By the metric that decides."""
        return gather(
            self.setting.truth,
            self.metrics[0],
            [self.runs(candidate, self.metrics[0]) for candidate in self.all],
            sample_weight=self.setting.sample_weight,
            units=self.units,
            seed=self.setting.seed,
        )

    def score(self, place: int, metric: Metric) -> float:
        """Score of a candidate by any metric, as it is shown."""
        runs = self.runs(self.all[place], metric)
        tested = np.any([run.tested for run in runs], axis=0)
        weight = self.setting.sample_weight
        weights = tested * (1.0 if weight is None else weight)
        judge = metric.judge(self.setting.truth, runs)
        return float(metric.sign * judge(weights[np.newaxis])[0])

    def of_method(self, name: str) -> np.ndarray:
        """Places of the candidates of a method."""
        return np.array([i for i, one in enumerate(self.all) if one.method == name], dtype=int)

    def masks(self, candidate: Candidate) -> np.ndarray | None:
        """Columns that the candidate kept on each fold, of shape (n_folds, n_features)."""
        rankings = [trial.ranking for trial in self.by_method[candidate.method].values()]
        known = [ranks for ranks in rankings if ranks is not None]
        return np.array(known) <= (candidate.size or 1) if known else None

    def stability(self, candidate: Candidate) -> Stability | None:
        """Agreement of the columns kept on the folds."""
        masks = self.masks(candidate)
        if masks is None or len(masks) < 2 or masks.all() or not masks.any():
            return None
        return stability_of(masks)


def _ranks(scores: np.ndarray) -> np.ndarray:
    return np.asarray(rankdata(scores, axis=0) / (1.0 + len(scores)))


def _guess(
    truth: Truth, train: np.ndarray, sample_weight: np.ndarray | None, n_test: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """The constant prediction of a training part: its mean, or its most frequent class."""
    y = truth.values[train]
    weight = None if sample_weight is None else sample_weight[train]
    if truth.kind == "classes":
        shares = np.bincount(y, weight, minlength=truth.n_classes)
        shares = shares / shares.sum()
        return np.full(n_test, shares.argmax()), np.tile(shares, (n_test, 1))
    mean = np.average(y, axis=0, weights=weight)
    if truth.kind == "multilabel":
        return np.tile((mean >= 0.5).astype(int), (n_test, 1)), np.tile(mean, (n_test, 1))
    return np.broadcast_to(mean, (n_test, *np.shape(mean))), None
