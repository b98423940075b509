"""What a comparison of methods found: a thin view of the predictions behind it."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from depmax._extras import make_frame
from depmax._resources import cached_property
from depmax.data.table import library_of
from depmax.dependence import Screening, screen
from depmax.dependence.exchange import TooFewWays, neighbours_mentioned
from depmax.evaluation.comparison.candidates import Candidates
from depmax.evaluation.comparison.cautions import Caution, cautions_of
from depmax.evaluation.comparison.methods import Method
from depmax.evaluation.comparison.preparing import OwnLabels
from depmax.evaluation.comparison.problem import Listener, read_listener
from depmax.evaluation.comparison.trials import (
    Setting,
    Trial,
    columns_kept,
    fitted,
    make_estimator,
)
from depmax.evaluation.comparison.verdict import LEVEL, Verdict, decide
from depmax.evaluation.expand import Expand
from depmax.evaluation.prepare import without_gaps
from depmax.evidence import Metric, choose

if TYPE_CHECKING:
    from depmax.evaluation.comparison.planted import PlantedRecovery
    from depmax.report import Report


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """Verdict, leaderboard, curves and fitted models of :func:`compare`.

    Attributes
    ----------
    verdict : Verdict
        The answer, as facts and in words.
    recommended : str
        The method that the verdict names.
    table : data frame
        One row per method, best score first: the number of features it does best with (the cheapest
        within the margin), the deciding score with its 95% interval, how much lower it is than the
        best, the other scores, the stability of the selected columns, and seconds per fold.
    curves : data frame
        Score against number of features, with a pointwise 95% interval.
    kept : ndarray of int
        Columns that the recommended method keeps, best first; all of them if it selects none.
    screening : Screening
        Every column alone, with p-values; if there are groups of rows, they are exchanged whole.
    failures : dict
        Reason for each method that failed; it is not in the tables.
    warnings : dict
        The warnings of each method, with the number of folds that raised each.
    left_out : tuple of str
        Methods that ``time`` left no room for.
    complete : bool
        False if the comparison was interrupted.
    planted : PlantedRecovery or None
        What selectors find of columns that are known to matter, if it was asked for.

    Notes
    -----
    The models can be saved by :func:`depmax.save_model`, and every method of depmax's own catalogue
    can be loaded again without further ado. Your own class must be importable and listed in
    ``trusted``. The comparison itself can be pickled, unless your own :class:`Method` holds a
    lambda.
    """

    candidates: Candidates
    X: Any
    y: np.ndarray
    margin: float
    judge_name: str
    complete: bool = True
    seconds: float = float("nan")
    target_name: str = "y"
    seed: int | None = None  # that repeats the comparison, if one was given
    n_rows_given: int | None = None  # before a sample was drawn
    left_out: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()  # codes of cautions
    #: What made numbers of dates and texts, if there were any.
    expand: Expand | None = None
    #: What fills the gaps of new rows, which may have some where these have none.
    impute: str | None = None
    planted: PlantedRecovery | None = None  # where it was asked for

    # --- the answer ------------------------------------------------------------------------------
    @cached_property
    def verdict(self) -> Verdict:
        """The answer, as facts and in words."""
        return decide(self)

    @cached_property
    def place(self) -> int:
        """Place of the chosen candidate; guessing is never chosen."""
        return self.candidates.evidence.of_choice(self.candidates.costs, self.margin)[0]

    def place_of(self, places: np.ndarray) -> int:
        """The chosen one of some candidates."""
        evidence, costs = self.candidates.evidence, self.candidates.costs
        chosen = choose(
            evidence.scores[places], costs[places], evidence.scores[0], margin=self.margin
        )
        return int(places[chosen])

    @property
    def recommended(self) -> str:
        """Name of the method that the verdict names."""
        return self.candidates.all[self.place].method

    @cached_property
    def all_columns(self) -> int | None:
        """Place of the candidate that uses every column, if it was compared."""
        plain = {method.name for method in self.methods if method.complexity == 0}
        names = (place for place, one in enumerate(self.candidates.all) if one.method in plain)
        return next(names, None)

    @cached_property
    def dependent_columns(self) -> tuple[int | None, float]:
        """How many columns depend on the target alone, and the p-value that none does."""
        if not self.setting.prepare:
            return None, 1.0
        adjusted, pvalues = self.screening.pvalues_adjusted, self.screening.pvalues
        return int((adjusted <= LEVEL).sum()), min(1.0, float(np.nanmin(pvalues)) * len(pvalues))

    def cautions_about(self, columns: tuple[str, ...]) -> tuple[Caution, ...]:
        """Reasons to doubt the scores."""
        return cautions_of(self, columns)

    # --- the data --------------------------------------------------------------------------------
    @property
    def setting(self) -> Setting:
        """What all trials share."""
        return self.candidates.setting

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The one that decides, then others."""
        return self.candidates.metrics

    @property
    def methods(self) -> tuple[Method, ...]:
        """All that were compared, also those that failed."""
        return self.candidates.methods

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every method on every fold."""
        return self.candidates.trials

    @cached_property
    def filled(self) -> Any:
        """The rows with all gaps filled, for display; methods fill gaps by themselves."""
        return without_gaps(self.X, self.setting.fill)

    @cached_property
    def screening(self) -> Screening:
        """Every column alone; groups are exchanged whole. P-values are 1 with too few of them."""
        groups = self.candidates.units
        with warnings.catch_warnings(), neighbours_mentioned():  # that groups are cut to one size
            warnings.filterwarnings("ignore", message=r"[\d,]+ of [\d,]+ rows are not used for p-")
            try:
                return screen(self.filled, self.y, groups=groups)
            except TooFewWays:
                nothing = np.ones(self.setting.problem.n_features)
                return replace(
                    screen(self.filled, self.y), pvalues=nothing, pvalues_adjusted=nothing
                )

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
        """Warnings of each method, with the number of folds that raised them."""
        texts: dict[str, Counter[str]] = {}
        for trial in self.trials:
            if trial.warnings:
                texts.setdefault(trial.method, Counter()).update(trial.warnings)
        return {method: dict(counts) for method, counts in texts.items()}

    # --- tables ----------------------------------------------------------------------------------
    @cached_property
    def leaders(self) -> tuple[int, ...]:
        """The candidate of each method, best score first; the recommended one is as chosen."""
        scores = self.candidates.evidence.scores
        places = [
            self.place
            if name == self.recommended
            else self.place_of(self.candidates.of_method(name))
            for name in self.candidates.by_method
        ]
        return tuple(sorted(places, key=lambda place: -scores[place]))

    @cached_property
    def table(self) -> Any:
        """Leaderboard."""
        return self._frame(self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """Leaderboard, a dictionary per method."""
        evidence, first = self.candidates.evidence, self.metrics[0]
        rows = []
        for rank, place in enumerate(self.leaders, 1):
            one = self.candidates.all[place]
            stable = self.candidates.stability(one)
            trials = self.candidates.by_method[one.method].values()
            loss = evidence.difference(self.leaders[0], place)
            score = self.interval(place)
            row = {
                "rank": rank,
                "method": one.method,
                "features": float("nan") if one.size is None else float(one.size),
                first.name: score[0],
                "low": score[1],
                "high": score[2],
                "loss": loss.value,
                "loss_error": loss.error,
            }
            row |= {m.name: self.candidates.score(place, m) for m in self.metrics[1:]}
            row["stability"] = float("nan") if stable is None else stable.value
            row["seconds"] = float(np.mean([trial.seconds for trial in trials]))
            rows.append(row)
        return rows

    def interval(self, place: int) -> tuple[float, float, float]:
        """Score of a candidate with its 95% interval, as shown."""
        metric, score = self.metrics[0], self.candidates.evidence.score(place)
        low, high = np.clip(sorted(metric.sign * end for end in score.ends()), *metric.bounds)
        return metric.sign * score.value, float(low), float(high)

    @cached_property
    def curves(self) -> Any:
        """Score against number of features."""
        rows = []
        for place, one in enumerate(self.candidates.all):
            if one.size is not None:
                score, low, high = self.interval(place)
                named = {"method": one.method, "features": one.size}
                rows.append(named | {"score": score, "low": low, "high": high})
        empty: dict[str, list[Any]] = {
            "method": [],
            "features": [],
            "score": [],
            "low": [],
            "high": [],
        }
        return self._frame(rows) if rows else make_frame(empty, library_of(self.X))

    def _frame(self, rows: list[dict[str, Any]]) -> Any:
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return make_frame(columns, library_of(self.X))

    # --- models ----------------------------------------------------------------------------------
    def method(self, name: str) -> Method:
        """A method of this comparison by its name."""
        found = {method.name: method for method in self.methods}.get(name)
        if found is None:
            names = ", ".join(repr(method.name) for method in self.methods)
            raise ValueError(f"There is no method {name!r} in this comparison: {names}.")
        return found

    def estimator(self, method: str | None = None) -> Any:
        """A method of this comparison with its predictor, fitted on all rows.

        Parameters
        ----------
        method : str, optional
            Its name in ``table``; by default the recommended one.

        Returns
        -------
        estimator
            Pipeline of preparation, method and predictor, with the number of features of ``table``:
            rows in, predictions out.
        """
        return self._from_given(self.model_of(self.recommended if method is None else method))

    def _from_given(self, model: Any) -> Any:
        """A model that takes rows as they were given, with dates and texts."""
        if self.expand is None:
            return model
        steps = model.steps if isinstance(model, Pipeline) else [("predict", model)]
        return Pipeline([("expand", self.expand), *steps])

    def model_of(self, name: str) -> Any:
        """A method with its predictor, fitted on all rows of ``X``."""
        if name not in self._fitted:
            own = self.method(name)
            size = next(
                (self.candidates.all[p].size for p in self.leaders if self._name(p) == name), None
            )
            setting = self.setting
            if setting.prepare and not own.predicts:  # new rows may have gaps where these have none
                setting = replace(setting, fill=self.impute)
            model = self._with_own_labels(make_estimator(own, size, self.X, setting))
            self._fitted[name] = fitted(model, self.X, self.y, self.setting.sample_weight)
        return self._fitted[name]

    def _name(self, place: int) -> str:
        return self.candidates.all[place].method

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

    def transformer(self, method: str | None = None) -> Any:
        """A method of this comparison without its predictor, fitted on all rows.

        Parameters
        ----------
        method : str, optional
            Its name in ``table``; by default the recommended one.

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
        name = self.recommended if method is None else method
        if self.method(name).predicts:
            raise ValueError(
                f"{name} predicts from all columns and makes no features: use estimator({name!r}) "
                "for predictions."
            )
        model = self.estimator(name)
        return model[: [step for step, _ in model.steps].index("features") + 1]

    @property
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
        if not self.method(method).selects:
            return np.arange(self.setting.problem.n_features)
        return columns_kept(self.model_of(method), self.setting.problem.n_features)

    def kept_names(self, place: int) -> tuple[str, ...]:
        """Names of the columns that a candidate keeps; empty if it keeps all or has no names."""
        name = self._name(place)
        if not self.method(name).selects or not self.setting.prepare:
            return ()
        return tuple(self.setting.problem.names[column] for column in self.kept_by(name))

    # --- output ----------------------------------------------------------------------------------
    def to_dict(self) -> dict[str, Any]:
        """Everything that is shown, as plain dictionaries, lists, text and numbers."""
        verdict = self.verdict
        return {
            "verdict": asdict(verdict),
            "headline": verdict.headline,
            "reasons": list(verdict.reasons),
            "cautions": [asdict(caution) for caution in verdict.cautions],
            "recommended": self.recommended,
            "metric": self.metrics[0].name,
            "leaderboard": self.rows(),
            "failures": self.failures,
            "left_out": list(self.left_out),
            "planted": None if self.planted is None else self.planted.to_dict(),
            "rows_used": len(self.y),
            "seconds": self.seconds,
            "complete": self.complete,
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw score against number of features with confidence bands; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        DimensionCurveDisplay
        """
        from depmax.evaluation.comparison.page import curves_display

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
        from depmax.evaluation.comparison.words import summary

        return summary(self)

    def _repr_html_(self) -> str:
        """The verdict and the leaderboard, for notebooks."""
        from depmax.evaluation.comparison.words import html_summary

        return html_summary(self)
