"""What a comparison of methods found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from depmax._extras import library_of, make_frame
from depmax.dependence import Screening
from depmax.evaluation.comparison.findings import screen_columns
from depmax.evaluation.comparison.methods import Method
from depmax.evaluation.comparison.metrics import CorrectedMean, chance_score
from depmax.evaluation.comparison.preparing import OwnLabels
from depmax.evaluation.comparison.race import Race
from depmax.evaluation.comparison.setting import Listener, Setting, read_listener
from depmax.evaluation.comparison.tables import (
    Outcomes,
    curve_columns,
    leaderboard_columns,
    score_columns,
    significance_columns,
)
from depmax.evaluation.comparison.trial import Trial, choose_dimension, make_estimator
from depmax.evaluation.comparison.verdict import Verdict, recommend, verdict_of
from depmax.evaluation.prepare import without_gaps

if TYPE_CHECKING:
    from depmax.report import Report


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """Leaderboard, significance, curves and the best model of :func:`compare`.

    Attributes
    ----------
    table : data frame
        One row per method, best mean score first: the deciding metric with its interval, the other
        metrics, the median of the chosen dimensions, the p-value against the best method (Holm's
        correction over all pairs), the stability of the selected columns, seconds per fit and per
        transform of a test part, and the kernel values needed for a new row.
    significance : data frame
        All pairs of methods: difference, corrected standard error and interval, p-value, adjusted.
    curves : data frame
        Score against dimension on the test parts, with a pointwise interval.
    scores : data frame
        Every trial.
    verdict : Verdict
        The answer in words: use all columns, some columns, or new features; or nothing predicts.
    recommended : str
        The method to use: the simplest of those within one corrected standard error of the best.
    recommended_estimator_ : estimator
        That method, fitted on all rows, with its dimension chosen by inner splits of all rows: rows
        in, predictions out.
    recommended_transformer_ : estimator
        The same without the predictor: rows in, features out.
    kept : ndarray of int
        Columns that the recommended method keeps, best first; all of them if it selects none.
    best, best_estimator_, best_transformer_
        As above, for the method with the best mean score.
    chance : float or None
        Score of the best constant prediction, in the units of the metric.
    screening : Screening
        Every column alone, with p-values; if there are groups of rows, they are exchanged whole.
    race : Race or None
        Scores of the first round, which decided what was tried on the splits.
    winner_score : CorrectedMean
        What to expect of the winner on new rows, without the optimism of picking the best of many:
        on each split the method was chosen by the inner splits of the training part.
    winners : dict
        How often each method was chosen in this way.
    failures : dict
        Reason for each method that failed; it is not in the tables.
    warnings : dict
        The warnings of each method, with the number of trials that raised each.
    complete : bool
        False if the comparison was interrupted.

    Notes
    -----
    Both estimators can be saved by :func:`depmax.save_model`, and every method of depmax's own
    catalogue can be loaded again without further ado. Your own class must be importable and listed
    in ``trusted``. The comparison itself can be pickled, unless your own :class:`Method` holds a
    lambda.
    """

    trials: tuple[Trial, ...]
    methods: tuple[Method, ...]
    setting: Setting
    splits: tuple[tuple[np.ndarray, np.ndarray], ...]
    X: Any
    y: np.ndarray
    complete: bool = True
    seconds: float = float("nan")
    target_name: str = "y"
    seed: int | None = None  # that repeats the comparison, if one was given
    race: Race | None = None  # that decided what was compared
    n_rows_given: int | None = None  # before a sample was drawn
    thorough: bool = False

    @cached_property
    def outcomes(self) -> Outcomes:
        """Finished trials by method."""
        ratios = [len(test) / len(train) for train, test in self.splits]
        return Outcomes.of(self.trials, self.setting.metrics, ratios)

    @cached_property
    def filled(self) -> Any:
        """The rows with all gaps filled, for display; methods fill gaps by themselves."""
        return without_gaps(self.X, self.setting.impute)

    @cached_property
    def screening(self) -> Screening:
        """Every column alone, with p-values adjusted over all columns; groups stay whole."""
        return screen_columns(self.filled, self.y, self.setting.groups)

    @property
    def best(self) -> str:
        """Name of the method with the best mean score."""
        return self.outcomes.names[0]

    @cached_property
    def recommended(self) -> str:
        """Name of the simplest method that is about as good as the best."""
        return recommend(self)

    @cached_property
    def verdict(self) -> Verdict:
        """The answer in words."""
        return verdict_of(self)

    @cached_property
    def chance(self) -> float | None:
        """Score of guessing."""
        return chance_score(self.outcomes.metrics[0], self.setting.problem.kind, self.y)

    @cached_property
    def table(self) -> Any:
        """Leaderboard."""
        return self._frame(leaderboard_columns(self.outcomes, significance_columns(self.outcomes)))

    @cached_property
    def significance(self) -> Any:
        """All pairs of methods."""
        return self._frame(significance_columns(self.outcomes))

    @cached_property
    def curves(self) -> Any:
        """Score against dimension."""
        return self._frame(curve_columns(self.outcomes))

    @cached_property
    def scores(self) -> Any:
        """Every finished trial."""
        return self._frame(score_columns(self.outcomes))

    @property
    def winner_score(self) -> CorrectedMean:
        """Score of the whole procedure, including the choice of the method."""
        return self.outcomes.honest_score()[0]

    @property
    def winners(self) -> dict[str, int]:
        """How often each method was chosen inside the training part."""
        return self.outcomes.honest_score()[1]

    @property
    def failures(self) -> dict[str, str]:
        """The first error of each method that failed."""
        reasons: dict[str, str] = {}
        for trial in self.trials:
            if trial.failure is not None:
                reasons.setdefault(trial.method, trial.failure)
        return reasons

    @property
    def warnings(self) -> dict[str, dict[str, int]]:
        """Warnings of each method, with the number of trials that raised them."""
        texts: dict[str, Counter[str]] = {}
        for trial in self.trials:
            if trial.warnings:
                texts.setdefault(trial.method, Counter()).update(trial.warnings)
        return {method: dict(counts) for method, counts in texts.items()}

    @cached_property
    def recommended_estimator_(self) -> Any:
        """The recommended method, fitted on all rows."""
        return self.estimator(self.recommended)

    @cached_property
    def recommended_transformer_(self) -> Any:
        """The recommended method without its predictor, fitted on all rows."""
        return self._features_of(self.recommended, self.recommended_estimator_)

    @cached_property
    def kept(self) -> np.ndarray:
        """Columns that the recommended method keeps, best first."""
        return self.kept_by(self.recommended)

    def kept_by(self, method: str) -> np.ndarray:
        """Columns that a method keeps when it is fitted on all rows, best first if it ranks them.

        Parameters
        ----------
        method : str
            Its name in ``table``.

        Returns
        -------
        ndarray of int
            Positions of the columns; all of them if the method does not select.
        """
        if not self._method(method).selects:
            return np.arange(self.setting.problem.n_features)
        model = self.estimator(method)
        selector = getattr(model, "named_steps", {}).get("features", model)
        support = np.flatnonzero(selector.get_support())
        ranking = getattr(selector, "ranking_", None)
        return support if ranking is None else support[np.argsort(ranking[support])]

    @cached_property
    def best_estimator_(self) -> Any:
        """The best method, fitted on all rows."""
        return self.estimator(self.best)

    @cached_property
    def best_transformer_(self) -> Any:
        """The best method without its predictor, fitted on all rows."""
        return self._features_of(self.best, self.best_estimator_)

    def transformer(self, method: str) -> Any:
        """A method of this comparison without its predictor, fitted on all rows.

        Parameters
        ----------
        method : str
            Its name in ``table``.

        Returns
        -------
        estimator
            Pipeline of preparation and method: its features are those that the predictor was given.
            For a selector they are the columns it keeps, standardised.

        Raises
        ------
        ValueError
            If the method is a predictor that makes no features.
        """
        self._require_features(self._method(method))
        return self._features_of(method, self.estimator(method))

    def _features_of(self, name: str, model: Any) -> Any:
        self._require_features(self._method(name))
        steps = [step for step, _ in model.steps]
        return model[: steps.index("features") + 1]

    @staticmethod
    def _require_features(method: Method) -> None:
        if method.predicts:
            raise ValueError(
                f"{method.name} predicts from all columns and makes no features: use "
                f"estimator({method.name!r}) for predictions."
            )

    def _method(self, name: str) -> Method:
        found = {method.name: method for method in self.methods}.get(name)
        if found is None:
            names = ", ".join(repr(method.name) for method in self.methods)
            raise ValueError(f"There is no method {name!r} in this comparison: {names}.")
        return found

    def estimator(self, method: str) -> Any:
        """A method of this comparison, fitted on all rows.

        Parameters
        ----------
        method : str
            Its name in ``table``.

        Returns
        -------
        estimator
            Pipeline of preparation, method and predictor; the dimension is chosen by inner splits
            of all rows.
        """
        if method not in self._fitted:
            chosen = self._method(method)
            dimension = choose_dimension(chosen, self.X, self.y, self.setting).dimension
            model = make_estimator(chosen, dimension, self.X, self.setting)
            self._fitted[method] = self._with_own_labels(model).fit(self.X, self.y)
        return self._fitted[method]

    @cached_property
    def _fitted(self) -> dict[str, Any]:
        """Methods that were fitted on all rows so far."""
        return {}

    def _with_own_labels(self, model: Any) -> Any:
        """A model that predicts the classes as they were given, if methods got them as text."""
        labels = self.setting.problem.labels
        if labels is None:
            return model
        steps = getattr(model, "steps", None)
        if steps is None:
            return OwnLabels(model, labels)
        *before, (name, predictor) = steps
        return Pipeline([*before, (name, OwnLabels(predictor, labels))])

    def plot(self, ax: Any = None) -> Any:
        """Draw score against dimension with confidence bands; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        DimensionCurveDisplay
        """
        from depmax.evaluation.comparison.tables import curves_display

        return curves_display(self).plot(ax=ax)

    def report(
        self,
        *,
        title: str = "",
        command: str = "",
        use: str = "",
        notes: tuple[str, ...] = (),
        progress: bool | Listener = False,
    ) -> Report:
        """Everything the page shows, as one frozen dataclass.

        Parameters
        ----------
        title : str
            Title of the page, e.g. the name of the data.
        command : str
            Command that repeats the comparison; by default a call of ``compare``.
        use : str
            Command that applies the recommended method, shown next to the lines of Python.
        notes : tuple of str
            What else the reader should know about the data.
        progress : bool or callable, default=False
            As in :func:`compare`, after every section.
        """
        from depmax.evaluation.comparison.page import report_of

        told = read_listener(progress)
        return report_of(self, title=title, command=command, use=use, notes=notes, listener=told)

    def to_html(
        self,
        path: str | Path,
        *,
        title: str = "",
        command: str = "",
        use: str = "",
        notes: tuple[str, ...] = (),
        progress: bool | Listener = False,
    ) -> Path:
        """Write the report: one self-contained page. Needs the extra ``report``.

        Parameters
        ----------
        path : path of the file
            Replaced in one step when the page is complete.
        title, command, use, notes, progress : as in :meth:`report`

        Returns
        -------
        Path
        """
        from depmax.report import require_report, write_html

        require_report()  # before the page's own fits
        made = self.report(title=title, command=command, use=use, notes=notes, progress=progress)
        return write_html(made, path)

    def __repr__(self) -> str:
        from depmax.evaluation.comparison.verdict import summary

        return summary(self)

    def _repr_html_(self) -> str:
        """The verdict and the leaderboard, for notebooks."""
        from depmax.evaluation.comparison.verdict import html_summary

        return html_summary(self)

    def _frame(self, columns: dict[str, list[Any]]) -> Any:
        return make_frame(columns, library_of(self.X))
