"""Scores of single columns: every score by its name."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

import numpy as np

from depmax.data import TargetKind
from depmax.data.sample import require_samples, warn_of_outputs
from depmax.data.table import has_missing, require_equal_length
from depmax.dependence._terms import is_constant
from depmax.kernels import Linear
from depmax.selection._scores import kernel, moments
from depmax.selection._scores.information import mutual_information
from depmax.selection._scores.moments import ColumnMoments
from depmax.selection._scores.outputs import one_dimensional
from depmax.selection._scores.score import Question, Score, Scored

_WORDS: dict[TargetKind, str] = {
    "numbers": "numbers",
    "multilabel": "several labels per row",
    "multioutput": "several columns of numbers",
}


def _of_moments(
    name: str, function: Callable[[ColumnMoments], np.ndarray], target: Any, **takes: bool
) -> Score:
    """A score that is a function of sums over rows, wherever these are read."""

    def answer(question: Question) -> Scored:
        found = question.moments
        return Scored(function(found), constant=found.constant)

    return Score(name, answer, target, **takes)


def _ridge(question: Question) -> Scored:
    found = question.moments
    return Scored(moments.ridge(found, question.options.alpha), constant=found.constant)


_KERNEL: dict[str, Any] = {"categories": True, "missing": True, "kernel": True}
SCORES: dict[str, Score] = {
    score.name: score
    for score in (
        Score("hsic", kernel.hsic, **_KERNEL, target_kernel=True, weights=True),
        _of_moments("pearson", moments.pearson, "any target", weights=True),
        _of_moments("centroid", moments.centroid, "two classes", in_units=True),
        _of_moments("t", moments.t, "two classes"),
        _of_moments("snr", moments.snr, "two classes"),
        _of_moments("moderated_t", moments.moderated_t, "two classes", in_units=True),
        _of_moments("lods", moments.lods, "two classes", in_units=True),
        _of_moments("pam", moments.pam, "classes", in_units=True),
        Score("mmd", kernel.mmd, "two classes", **_KERNEL),
        Score("alignment", kernel.alignment, target_kernel=True, normalised=True, **_KERNEL),
        Score("ridge", _ridge, in_units=True, outputs_in_units=True),
        Score("qmi", kernel.qmi, pairs=True),
        Score("mutual_information", mutual_information, categories=True, pairs=True),
    )
}


def find_score(score: Any) -> Score:
    """Score by name, or made of a function (X, y) -> scores or (scores, p-values).

    Examples
    --------
    >>> find_score("pearson").target
    'any target'
    """
    if callable(score):
        name = getattr(score, "__name__", "score")
        return Score(name, lambda question: _call(score, question), pairs=True)
    if isinstance(score, str) and score in SCORES:
        return SCORES[score]
    near = get_close_matches(str(score), SCORES, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"Unknown score_func {score!r}.{hint} Known names: {', '.join(SCORES)}; or pass a "
        "function of (X, y) that returns one score per column."
    )


def require(score: Score, question: Question) -> None:
    """Refuse a target or columns that the score has no meaning for, naming those that have."""
    n_samples = question.side.n_samples if score.target_kernel else question.target.n_samples
    require_equal_length(question.X.shape[0], n_samples)
    total = n_samples if question.weight is None else float(question.weight.sum())
    require_samples(total, unbiased=True)
    if question.is_streamed and score.pairs:
        raise TypeError(
            f"DependenceFilter with score_func={score.name!r} needs all rows in memory, but X is "
            "read a chunk at a time: pass X.compute() if it fits, or use one of "
            f"{_names(lambda other: not other.pairs)}."
        )
    if score.target_kernel and not question.is_streamed:
        constant = is_constant(question.side)
    else:
        constant = question.target.is_constant
    if constant:
        raise ValueError(
            "y has one class only, or one value in all rows: nothing can depend on a constant."
        )
    if not score.target_kernel and not score.accepts(question.target):
        kind = question.target.kind
        raise ValueError(
            f"score_func={score.name!r} is for {score.target}, but y holds "
            f"{_WORDS.get(kind) or f'{len(question.target.classes)} classes'}: use one of "
            f"{_names(lambda other: other.accepts(question.target))}."
        )
    if score.outputs_in_units:
        warn_of_outputs(question.target, Linear())
    if question.categories and not score.categories:
        raise TypeError(
            f"score_func={score.name!r} reads numbers, but column "
            f"{question.label(min(question.categories))} is categorical: use one of "
            f"{_names(lambda other: other.categories)}, or encode it as numbers."
        )
    if not score.missing and has_missing(question.X):
        column = question.label(int(np.flatnonzero(np.isnan(question.X).any(axis=0))[0]))
        raise ValueError(
            f"score_func={score.name!r} does not accept missing values, but X has NaN in column "
            f"{column}: use one of {_names(lambda other: other.missing)}, or impute first, e.g. "
            "with depmax.Prepare()."
        )


def _names(chosen: Callable[[Score], bool]) -> str:
    """Names of the chosen scores, as messages list them."""
    return ", ".join(repr(name) for name, score in SCORES.items() if chosen(score))


def _call(function: Callable[..., Any], question: Question) -> Scored:
    """Scores of a user's function, such as scikit-learn's ``f_classif``."""
    result = function(question.X, one_dimensional(question.target))
    scores, pvalues = result if isinstance(result, tuple) else (result, None)
    checked = None if pvalues is None else _one_per_column(pvalues, question, "p-values")
    return Scored(_one_per_column(scores, question, "scores"), checked)


def _one_per_column(values: Any, question: Question, what: str) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (question.X.shape[1],):
        raise ValueError(
            f"The score function must return one number per column, {question.X.shape[1]} {what}, "
            f"but returned an array of shape {array.shape}."
        )
    return array
