"""The answer of a comparison in sentences, the same in the object, the terminal and the report."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import stdtr

from depmax._text import counted, html_table, listed, share, short_pvalue
from depmax.evaluation.comparison.doubts import dependent_columns, doubts_of
from depmax.evaluation.comparison.methods import Method
from depmax.evaluation.comparison.metrics import CorrectedMean
from depmax.evaluation.comparison.setting import clock
from depmax.evaluation.comparison.tables import leaderboard_columns, significance_columns

if TYPE_CHECKING:
    from depmax.evaluation.comparison.comparison import Comparison


Outcome = Literal["nothing", "all columns", "few columns", "features", "method"]

#: A method with few columns is preferred to all columns, which do as well, up to this share.
FEW = 0.25
#: Names of columns that a sentence lists.
LISTED = 6


@dataclass(frozen=True)
class Verdict:
    """What to do, and why, in sentences.

    Parameters
    ----------
    outcome : {"nothing", "all columns", "few columns", "features", "method"}
        What the headline says.
    headline : str
        The answer in one sentence.
    reasons : tuple of str
        Scores, what to expect, and what guessing would give.
    recommended : str
        The method to use: the simplest of those that the data cannot tell from the best.
    columns : tuple of str
        The columns that it keeps, best first; empty if it keeps all or makes new features.
    chance : float or None
        Score of the best constant prediction.
    python : str
        Lines of Python that put it to use.
    cautions : tuple of str
        Reasons to doubt the scores: copies of rows, a column that gives the target away, and such.
    """

    outcome: Outcome
    headline: str
    reasons: tuple[str, ...]
    recommended: str
    columns: tuple[str, ...]
    chance: float | None
    python: str
    cautions: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.headline, *self.reasons, *self.cautions])


def recommend(comparison: Comparison) -> str:
    """The simplest of the methods within one corrected standard error of the best.

    The error is that of the difference from the best method over the splits (Nadeau and Bengio). Of
    equally simple methods, the one with the higher score is chosen. A method that keeps at most a
    quarter of the columns is preferred to all columns.
    """
    methods = {method.name: method for method in comparison.methods}
    ties = [methods[name] for name in near_best(comparison)]
    simplest = min(ties, key=lambda method: method.complexity)  # the first of equal ones
    if simplest.complexity > 0:
        return simplest.name
    n_columns = comparison.setting.problem.n_features
    few = [m for m in ties if m.selects and _median_size(comparison, m.name) <= FEW * n_columns]
    return min(few, key=lambda method: method.complexity).name if few else simplest.name


def near_best(comparison: Comparison) -> list[str]:
    """The best method, and those less than one corrected standard error below it."""
    outcomes = comparison.outcomes
    best, *others = outcomes.names
    found = [best]
    for name in others:
        difference = outcomes.difference(best, name)
        margin = 0.0 if np.isnan(difference.error) else difference.error
        if difference.mean <= margin:
            found.append(name)
    return found


def beats_guessing(comparison: Comparison) -> bool:
    """Whether the winner, chosen without test data, is better than guessing (one-sided test).

    True if it cannot be known: with one split, or a metric that cannot judge a constant prediction.
    """
    metric, chance = comparison.outcomes.metrics[0], comparison.chance
    honest = comparison.winner_score
    if chance is None or np.isnan(honest.error):
        return True
    gain = metric.sign * (honest.mean - chance)
    if honest.error == 0.0:
        return bool(gain > 0.0)
    return float(stdtr(honest.n_splits - 1, -gain / honest.error)) <= LEVEL


def verdict_of(comparison: Comparison) -> Verdict:
    """The answer in words."""
    name = comparison.recommended
    method = next(method for method in comparison.methods if method.name == name)
    columns = _columns_kept(comparison, method)
    outcome: Outcome
    if not beats_guessing(comparison):
        outcome, headline = "nothing", _nothing(comparison)
    elif method.complexity == 0:
        outcome = "all columns"
        headline = "Selection does not help here: use all columns."
    elif columns:
        outcome, headline = "few columns", _few(comparison, columns)
    elif method.has_dimension:
        outcome, headline = "features", _features(comparison, method)
    else:
        outcome, headline = "method", f"Use {name}."
    cautions = doubts_of(comparison, columns if outcome == "few columns" else ())
    return Verdict(
        outcome,
        headline,
        _reasons(comparison, outcome, doubted=bool(cautions)),
        name,
        columns,
        comparison.chance,
        _python(comparison, outcome, columns),
        cautions,
    )


def _nothing(comparison: Comparison) -> str:
    chance = "" if comparison.chance is None else f" ({comparison.chance:.2f})"
    name, yet = comparison.target_name, dependent_columns(comparison, LEVEL)
    if yet:
        return f"No method predicts {name} better than guessing{chance}, although {yet} on it."
    return f"Nothing here predicts {name}: no better than guessing{chance}."


def _few(comparison: Comparison, columns: tuple[str, ...]) -> str:
    n_columns = comparison.setting.problem.n_features
    better = _beats_all_columns(comparison)
    than_all = f" and predict better than all {n_columns:,}" if better else ""
    verb = "suffices" if len(columns) == 1 else "suffice"
    if better and len(columns) == 1:
        than_all = than_all.replace("predict", "predicts")
    return (
        f"{len(columns):,} of {counted(n_columns, 'column')} {verb}{than_all}: "
        f"{listed(columns, LISTED)}."
    )


def _beats_all_columns(comparison: Comparison) -> bool:
    """Whether the recommended method is better than all columns, by the corrected test of the two.

    It was chosen from several by the same scores, so its p-value counts them all (Bonferroni).
    """
    baseline = _all_columns(comparison)
    if baseline is None:
        return False
    gain = comparison.outcomes.difference(comparison.recommended, baseline)
    n_rivals = len(comparison.methods) - 1
    return gain.mean > 0.0 and n_rivals * gain.pvalue <= LEVEL


def _features(comparison: Comparison, method: Method) -> str:
    n_columns = comparison.setting.problem.n_features
    size = counted(_median_size(comparison, method.name), "feature")
    return f"New features help: {method.name} turns {counted(n_columns, 'column')} into {size}."


def _reasons(comparison: Comparison, outcome: Outcome, *, doubted: bool) -> tuple[str, ...]:
    outcomes, name = comparison.outcomes, comparison.recommended
    metric = outcomes.metrics[0].label
    honest = comparison.winner_score
    target = class_balance(comparison)
    guess = "" if comparison.chance is None else f"Guessing scores {comparison.chance:.3f}"
    guessing = f"{guess}; {target}." if guess and target else f"{guess}." if guess else ""
    expected = f"Choosing the method without test data gives {metric} {interval(honest)}"
    if outcome == "nothing":
        return tuple(filter(None, (f"{expected}.", guessing)))
    baseline = _all_columns(comparison)
    subject = "All columns score" if name == baseline else f"{name} scores"
    scores = f"{subject} {metric} {interval(outcomes.score(name))} on held-out rows"
    if baseline is not None and baseline != name:
        scores += f"; all columns score {outcomes.score(baseline).mean:.3f}"
    best = outcomes.score(comparison.best).mean
    if f"{best:.3f}" != f"{outcomes.score(name).mean:.3f}":
        scores += f"; the highest score, {best:.3f} ({comparison.best}), is not clearly better"
    # All columns were not chosen for their score, which needs no correction.
    expected += "." if name == baseline or doubted else ": expect this on new data."
    return tuple(filter(None, (f"{scores}.", expected, guessing)))


def _columns_kept(comparison: Comparison, method: Method) -> tuple[str, ...]:
    """Names of the columns that the method keeps when it is fitted on all rows."""
    if not method.selects or not comparison.setting.prepare:
        return ()
    return tuple(comparison.setting.problem.names[place] for place in comparison.kept)


def _python(comparison: Comparison, outcome: Outcome, columns: tuple[str, ...]) -> str:
    if outcome == "nothing":
        return ""
    lines = []
    if columns and len(columns) <= 20:
        named = hasattr(comparison.X, "columns")
        places = [int(place) for place in comparison.kept]
        lines.append(f"few = X[{list(columns)!r}]" if named else f"few = X[:, {places}]")
    elif outcome == "features":
        lines.append("features = found.recommended_transformer_.transform(X)")
    lines.append("predicted = found.recommended_estimator_.predict(new_rows)")
    return "\n".join(lines)


def _all_columns(comparison: Comparison) -> str | None:
    """Name of the method that uses every column, if it was compared."""
    names = comparison.outcomes.names
    plain = (m.name for m in comparison.methods if m.complexity == 0 and m.name in names)
    return next(plain, None)


def _median_size(comparison: Comparison, name: str) -> int:
    """Number of features that the splits chose, the lower of two medians."""
    sizes = sorted(comparison.outcomes.dimensions(name))
    return sizes[(len(sizes) - 1) // 2] if sizes else comparison.setting.problem.n_features


#: Types of target in words.
KINDS = {
    "classes": "classes",
    "numbers": "numbers",
    "multilabel": "several labels per row",
    "multioutput": "several numbers per row",
}
#: Level at which a difference is called one, and the choice must beat guessing.
LEVEL = 0.05
PERCENT = f"{100 * LEVEL:g}%"


def summary(comparison: Comparison) -> str:
    """The verdict, then the leaderboard as text."""
    problem, outcomes = comparison.setting.problem, comparison.outcomes
    head = (
        f"Comparison of {counted(len(outcomes.names), 'method')} on {len(comparison.y):,} rows × "
        f"{counted(problem.n_features, 'column')}, {_finished(comparison, 'split')}, "
        f"{clock(comparison.seconds)}; target {comparison.target_name!r}: {problem.about_target}"
    )
    verdict = comparison.verdict
    lines = [head, verdict.headline, *verdict.reasons, *verdict.cautions]
    lines += leaderboard_lines(comparison)
    lines += [*limits(comparison)]
    if not comparison.complete:
        lines.append(interruption(comparison))
    lines += [f"{name} failed: {reason}" for name, reason in comparison.failures.items()]
    return "\n".join(lines)


def leaderboard_lines(comparison: Comparison) -> list[str]:
    """The leaderboard in aligned columns, the recommended method marked."""
    outcomes = comparison.outcomes
    columns = leaderboard_columns(outcomes, significance_columns(outcomes))
    metric = outcomes.metrics[0]
    width = max(len("method"), *(len(name) for name in outcomes.names))
    title = max(len(metric.label), 6)
    header = f"{'':>4}  {'method':<{width}}  {metric.label:>{title}}  {'95% interval':>15}  "
    lines = [header + f"{'features':>8}  {'p (Holm)':>8}"]
    for row, name in enumerate(outcomes.names):
        low, high = columns["low"][row], columns["high"][row]
        size, pvalue = columns["dimension"][row], columns["pvalue_adjusted"][row]
        score = columns[metric.name][row]
        mark = "→" if name == comparison.recommended else " "
        lines.append(
            f"{mark}{row + 1:>3}  {name:<{width}}  {score:>{title}.3f}  {_ends(low, high):>15}  "
            f"{'all' if np.isnan(size) else f'{size:.0f}':>8}  {short_pvalue(pvalue):>8}".rstrip()
        )
    return lines


def html_summary(comparison: Comparison) -> str:
    """The same for notebooks."""
    outcomes = comparison.outcomes
    columns = leaderboard_columns(outcomes, significance_columns(outcomes))
    metric = outcomes.metrics[0]
    rows = [
        (
            f"{'→ ' if name == comparison.recommended else ''}{name}",
            f"{columns[metric.name][row]:.3f}",
            _ends(columns["low"][row], columns["high"][row]),
            "all" if np.isnan(columns["dimension"][row]) else f"{columns['dimension'][row]:.0f}",
            short_pvalue(columns["pvalue_adjusted"][row]),
        )
        for row, name in enumerate(outcomes.names)
    ]
    head = ("method", metric.label, "95% interval", "features", "p vs best")
    verdict = comparison.verdict
    texts = [*verdict.reasons, *verdict.cautions, *limits(comparison)]
    said = "".join(f"<p>{escape(text)}</p>" for text in texts)
    return f"<p><strong>{escape(verdict.headline)}</strong></p>{said}{html_table(head, rows)}"


def limits(comparison: Comparison) -> list[str]:
    """What was not tried, and how to try it: a sample of the rows, stopped methods, screening."""
    lines = []
    given, used = comparison.n_rows_given, len(comparison.y)
    if given is not None and given > used:
        lines.append(
            f"{used:,} of {given:,} rows were used, drawn at random (max_rows=None or --rows all "
            "uses all)."
        )
    race = comparison.race
    if race is not None and race.stopped:
        lines.append(
            f"Stopped after a first round on {len(race.rows):,} rows: "
            f"{listed(list(race.stopped), 20)}. To try all on all splits, use thorough=True or "
            "--thorough."
        )
    screened = comparison.setting.n_screened
    if screened is not None:
        lines.append(
            f"Selectors searched the {screened:,} of {comparison.setting.problem.n_features:,} "
            "columns that each depend most on the target; thorough=True or --thorough searches "
            "all, which also finds columns that matter only together."
        )
    return lines


def _ends(low: float, high: float) -> str:
    return "" if np.isnan(low) else f"{low:6.3f} –{high:6.3f}"


def interval(found: CorrectedMean) -> str:
    """Mean with its interval, as text."""
    if np.isnan(found.error):
        return f"{found.mean:.3f}"
    return f"{found.mean:.3f} (95% interval {found.low:.3f} to {found.high:.3f})"


def judged_on(comparison: Comparison) -> str:
    """The test parts behind the scores: all, or as many as an interruption left."""
    return _finished(comparison, "test part")


def _finished(comparison: Comparison, thing: str) -> str:
    done, planned = len(comparison.outcomes.splits), len(comparison.splits)
    return counted(planned, thing) if done == planned else f"{done} of {counted(planned, thing)}"


def interruption(comparison: Comparison) -> str:
    """How far an interrupted comparison got, and which splits are counted."""
    outcomes = comparison.outcomes
    finished = sum(trial.finished for trial in comparison.trials)
    shown = sum(len(trials) for trials in outcomes.by_method.values())
    missing = [
        method.name
        for method in comparison.methods
        if method.name not in outcomes.names and method.name not in comparison.failures
    ]
    before = f", before {listed(missing, 6)}" if missing else ""
    if not outcomes.is_paired:
        return (
            f"Interrupted before all methods had finished the same split{before}: their scores "
            "come from different splits and cannot be compared."
        )
    done, planned = len(outcomes.splits), counted(len(comparison.splits), "split")
    text = f"Interrupted after {done} of {planned}{before}."
    if shown < finished:
        text += " Splits that some method did not finish are not counted."
    return text


def class_balance(comparison: Comparison) -> str:
    """Classes with their shares, most frequent first; empty for other targets."""
    if comparison.setting.problem.kind != "classes":
        return ""
    classes, counts = np.unique(comparison.y, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    shares = [f"{classes[j]} ({share(counts[j], counts.sum())})" for j in order]
    return f"{counted(len(classes), 'class')}: {listed(shares, 5)}"


def ties_with_best(comparison: Comparison) -> list[str]:
    """Methods that the data cannot tell from the best."""
    columns = leaderboard_columns(comparison.outcomes, significance_columns(comparison.outcomes))
    return [
        name
        for name, pvalue in zip(columns["method"][1:], columns["pvalue_adjusted"][1:], strict=True)
        if not pvalue <= LEVEL
    ]
