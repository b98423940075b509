"""What a report adds to the tables: columns kept, redundancy, pairs, and the drawn features."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from depmax._inputs.table import is_frame, take_columns
from depmax.dependence import Screening, alignment, hsic, screen
from depmax.dependence._nulls.neighbours import neighbours_mentioned
from depmax.dependence.exchange import TooFewWays
from depmax.evaluation.comparison.methods import Method
from depmax.evaluation.comparison.trial import make_estimator
from depmax.evaluation.prepare import Prepare

if TYPE_CHECKING:
    from depmax.evaluation.comparison.comparison import Comparison

#: Rows that matrices of dependence are computed from, and columns that they show.
MATRIX_ROWS = 500
MATRIX_COLUMNS = 12


#: Columns that are drawn where none were selected.
STRONGEST = 6


@dataclass(frozen=True)
class HeldOut:
    """Predictions of rows by models that were fitted without them."""

    truth: np.ndarray
    predicted: np.ndarray
    scores: np.ndarray | None  # one column per class, where the predictor gives scores


@dataclass(frozen=True)
class Findings:
    """Details of the recommended method, the best selector and the best extractor."""

    comparison: Comparison

    # --- columns ---------------------------------------------------------------------------------
    @cached_property
    def selector(self) -> Method | None:
        """The recommended method if it keeps columns, else the best that does."""
        recommended = self.comparison.recommended
        chosen = self._best(lambda method: method.selects and method.name == recommended)
        return chosen or self._best(lambda method: method.selects)

    @cached_property
    def selected(self) -> Any:
        """That method, fitted on all rows."""
        assert self.selector is not None
        model = self.comparison.estimator(self.selector.name)
        return model["features"] if "features" in getattr(model, "named_steps", {}) else model

    @cached_property
    def kept(self) -> np.ndarray:
        """Columns it keeps, best first where it ranks them."""
        assert self.selector is not None
        return self.comparison.kept_by(self.selector.name)

    @cached_property
    def shown_columns(self) -> np.ndarray:
        """Columns to draw: those that the verdict names, else the strongest by themselves."""
        if self.comparison.verdict.columns:
            return self.comparison.kept
        return np.argsort(self.screening.ranking)[:STRONGEST]

    @property
    def why_shown(self) -> str:
        """Which columns these are."""
        if self.comparison.verdict.columns:
            return f"The columns that {self.comparison.recommended} keeps, best first."
        return "The columns that depend most on the target by themselves."

    def raw_column(self, column: int) -> tuple[np.ndarray, bool]:
        """Values of a column as they were given, gaps filled, and whether it is a category."""
        X = self.comparison.filled
        if is_frame(X):
            frame = nw.from_native(X, eager_only=True)
            series = frame.get_column(frame.columns[column])
            numeric = series.dtype.is_numeric()
            values = series.to_numpy() if numeric else np.array(series.to_list(), dtype=object)
            return values, not numeric
        part = X[:, [column]].toarray() if sparse.issparse(X) else np.asarray(X)[:, [column]]
        return part.ravel(), False

    @cached_property
    def held_out(self) -> HeldOut | None:
        """Every row once, predicted by the recommended method fitted on other rows."""
        comparison, name = self.comparison, self.comparison.recommended
        method = next(method for method in comparison.methods if method.name == name)
        seen: set[int] = set()
        rows, predicted, scores = [], [], []
        for trial in comparison.outcomes.by_method[name]:
            train, test = comparison.splits[trial.split]
            test = np.array([row for row in test if row not in seen], dtype=int)
            if not len(test):
                continue
            seen.update(test.tolist())
            X_train = _safe_indexing(comparison.X, train)
            model = make_estimator(method, trial.dimension, X_train, comparison.setting)
            model.fit(X_train, comparison.y[train])
            new = _safe_indexing(comparison.X, test)
            rows.append(test)
            predicted.append(model.predict(new))
            scores.append(class_scores(model, new, np.unique(comparison.y)))
        if not rows:
            return None
        places = np.concatenate(rows)
        known = [part for part in scores if part is not None]
        return HeldOut(
            comparison.y[places],
            np.concatenate(predicted),
            np.concatenate(known) if len(known) == len(scores) else None,
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return self.comparison.setting.problem.names

    @cached_property
    def screening(self) -> Screening:
        """Every column alone, with p-values adjusted over all columns."""
        return self.comparison.screening

    @cached_property
    def frequencies(self) -> np.ndarray | None:
        """Share of the splits on which the selector kept each column."""
        assert self.selector is not None
        trials = self.comparison.outcomes.by_method[self.selector.name]
        masks = [trial.support for trial in trials if trial.support is not None]
        return np.mean(masks, axis=0) if masks else None

    def replaced_by(self, column: int) -> list[str]:
        """Dropped columns that a kept one can replace."""
        substitutes = getattr(self.selected, "substitutes_", np.empty(0))
        return [self.names[dropped] for dropped in np.flatnonzero(substitutes == column)]

    # --- matrices --------------------------------------------------------------------------------
    @cached_property
    def sample(self) -> np.ndarray:
        """Rows of the matrices: all, or a random part of many."""
        n_rows = len(self.comparison.y)
        if n_rows <= MATRIX_ROWS:
            return np.arange(n_rows)
        rng = np.random.default_rng(self.comparison.setting.seed)
        return np.sort(rng.choice(n_rows, MATRIX_ROWS, replace=False))

    @cached_property
    def _prepared(self) -> Any:
        rows = _safe_indexing(self.comparison.filled, self.sample)
        return Prepare(None).fit_transform(rows)

    def columns(self, which: Any) -> Any:
        """Some prepared columns of the sample."""
        places = [int(column) for column in which]
        if is_frame(self._prepared):
            return take_columns(self._prepared, places)
        part = self._prepared[:, places]
        return part.toarray() if sparse.issparse(part) else part

    def redundancy(self, which: np.ndarray) -> np.ndarray:
        """Centred kernel alignment of every pair of columns: 1 if one repeats the other."""
        count = len(which)
        values = np.eye(count)
        sides = [self.columns([column]) for column in which]
        for one in range(count):
            for other in range(one):
                value = alignment(
                    sides[one], sides[other], kernel="gaussian", target_kernel="gaussian"
                )
                values[one, other] = values[other, one] = value
        return values

    def joint_dependence(self, which: np.ndarray) -> np.ndarray:
        """HSIC of every pair of columns with the target; the diagonal is one column alone."""
        count = len(which)
        y = self.comparison.y[self.sample]
        values = np.empty((count, count))
        for one in range(count):
            for other in range(one + 1):
                pair = {int(which[one]), int(which[other])}
                values[one, other] = values[other, one] = hsic(self.columns(sorted(pair)), y)
        return values

    def band_dependence(self, low: int, high: int) -> float:
        """HSIC of the columns from one place up to another with the target."""
        return hsic(self.columns(range(low, high)), self.comparison.y[self.sample])

    # --- extracted features ----------------------------------------------------------------------
    @cached_property
    def extractor(self) -> Method | None:
        """The best method that makes new features."""
        return self._best(lambda method: method.has_dimension and not method.selects)

    @cached_property
    def extracted(self) -> tuple[np.ndarray, np.ndarray]:
        """Two features of all rows, fitted on the first training part, and which rows it held."""
        assert self.extractor is not None
        train, test = self.comparison.splits[0]
        X, y = self.comparison.X, self.comparison.y
        setting = self.comparison.setting
        rows = _safe_indexing(X, train)
        size = min(2, self.extractor.largest(setting.problem))
        pipeline = make_estimator(self.extractor, size, rows, setting)
        steps = [step for step in pipeline.steps if step[0] in ("prepare", "features")]
        features = Pipeline(steps).fit(rows, y[train]).transform(X)
        held_out = np.zeros(len(y), dtype=bool)
        held_out[test] = True
        return np.asarray(features), held_out

    @cached_property
    def directions(self) -> tuple[Any, tuple[str, ...]]:
        """The best extractor, fitted on all rows, and the names of the columns it weighs."""
        assert self.extractor is not None
        model = self.comparison.estimator(self.extractor.name)
        names = self.names
        if "prepare" in model.named_steps:
            prepared = model["prepare"].get_feature_names_out(list(self.names))
            names = tuple(str(name) for name in prepared)
        return model["features"], names

    def _best(self, accepts: Any) -> Method | None:
        methods = {method.name: method for method in self.comparison.methods}
        ordered = [methods[name] for name in self.comparison.outcomes.names]
        return next((method for method in ordered if accepts(method)), None)


def screen_columns(X: Any, y: np.ndarray, groups: np.ndarray | None) -> Screening:
    """Every column alone; of rows that belong together, whole groups are exchanged.

    Where there are too few groups for any p-value to be small, all of them are 1.
    """
    with warnings.catch_warnings(), neighbours_mentioned():  # that groups are cut to one size
        warnings.filterwarnings(
            "ignore", message=r"[\d,]+ of [\d,]+ rows are not used for p-values"
        )
        try:
            return screen(X, y, groups=groups)
        except TooFewWays:
            nothing_shown = np.ones(X.shape[1])
            return replace(screen(X, y), pvalues=nothing_shown, pvalues_adjusted=nothing_shown)


def class_scores(model: Any, rows: Any, classes: np.ndarray) -> np.ndarray | None:
    """A score per class, None where the predictor gives none or did not see every class."""
    if not np.array_equal(getattr(model, "classes_", ()), classes):
        return None
    try:
        found = np.asarray(model.predict_proba(rows))
    except AttributeError:
        try:
            found = np.asarray(model.decision_function(rows))
        except AttributeError:
            return None
    if found.ndim == 1:
        found = np.column_stack([-found, found])
    return found if found.shape == (len(found), len(classes)) else None
