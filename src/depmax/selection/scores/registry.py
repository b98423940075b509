"""Every score by its name."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

import numpy as np

from depmax._inputs import Target
from depmax.dependence._terms import is_constant, require_samples
from depmax.samples import require_equal_length
from depmax.selection.scores import kernel, means, moderated
from depmax.selection.scores.outputs import one_dimensional
from depmax.selection.scores.ridge import ridge
from depmax.selection.scores.score import CLASSES, Question, Score, Scored, describe

#: A score as plain functions have it: (X, target) -> one number per column.
Plain = Callable[[Any, Target], np.ndarray]


def _plain(function: Plain) -> Callable[[Question], Scored]:
    return lambda asked: Scored(function(asked.X, asked.target))


def _hsic(asked: Question) -> Scored:
    return Scored(
        *kernel.hsic(
            asked.X,
            asked.side,
            kernel=asked.kernel,
            categories=asked.categories,
            n_jobs=asked.n_jobs,
        )
    )


def _alignment(asked: Question) -> Scored:
    return Scored(
        kernel.alignment(
            asked.X,
            asked.side,
            kernel=asked.kernel,
            categories=asked.categories,
            n_jobs=asked.n_jobs,
        )
    )


def _mmd(asked: Question) -> Scored:
    return Scored(
        kernel.mmd(
            asked.X,
            asked.target,
            kernel=asked.kernel,
            categories=asked.categories,
            n_jobs=asked.n_jobs,
        )
    )


def _qmi(asked: Question) -> Scored:
    return Scored(kernel.qmi(asked.X, asked.target, n_jobs=asked.n_jobs))


def _ridge(asked: Question) -> Scored:
    return Scored(ridge(asked.X, asked.target, asked.alpha))


SCORES: dict[str, Score] = {
    score.name: score
    for score in (
        Score("hsic", _hsic, categories=True, target_kernel=True, kernel=True),
        Score("pearson", _plain(means.pearson)),
        Score("centroid", _plain(means.centroid), CLASSES, two_classes=True, in_units=True),
        Score("t", _plain(means.t), CLASSES, two_classes=True),
        Score("snr", _plain(means.snr), CLASSES, two_classes=True),
        Score(
            "moderated_t", _plain(moderated.moderated_t), CLASSES, two_classes=True, in_units=True
        ),
        Score("lods", _plain(moderated.lods), CLASSES, two_classes=True, in_units=True),
        Score("pam", _plain(means.pam), CLASSES, in_units=True),
        Score("mmd", _mmd, CLASSES, two_classes=True, categories=True, kernel=True),
        Score(
            "alignment",
            _alignment,
            categories=True,
            target_kernel=True,
            kernel=True,
            normalised=True,
        ),
        Score("ridge", _ridge, in_units=True),
        Score("qmi", _qmi),
    )
}


def find_score(score: Any) -> Score:
    """Score by name, or made of a function (X, y) -> scores or (scores, p-values).

    Examples
    --------
    >>> find_score("pearson").describe()
    'any target'
    """
    if callable(score):
        return Score(getattr(score, "__name__", "score"), lambda asked: _call(score, asked))
    if isinstance(score, str) and score in SCORES:
        return SCORES[score]
    near = get_close_matches(str(score), SCORES, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"Unknown score {score!r}.{hint} Known names: {', '.join(SCORES)}; or pass a function of "
        "(X, y) that returns one score per column."
    )


def require(score: Score, asked: Question) -> None:
    """Refuse a target or columns that the score has no meaning for, naming those that have."""
    n_samples = asked.side.n_samples if score.target_kernel else asked.target.n_samples
    require_equal_length(asked.X.shape[0], n_samples)
    require_samples(n_samples, unbiased=True)
    if score.target_kernel:
        constant = is_constant(asked.side)
    else:
        constant = bool((asked.target.values == asked.target.values[:1]).all())
    if constant:
        raise ValueError(
            "y has one class only, or one value in all rows: nothing can depend on a constant."
        )
    if not score.target_kernel and not score.accepts(asked.target):
        others = [name for name, other in SCORES.items() if other.accepts(asked.target)]
        raise ValueError(
            f"score={score.name!r} is for {score.describe()}, but y holds "
            f"{describe(asked.target)}: use one of {', '.join(map(repr, others))}."
        )
    if asked.categories and not score.categories:
        others = [name for name, other in SCORES.items() if other.categories]
        column = asked.label(min(asked.categories))
        raise TypeError(
            f"score={score.name!r} reads numbers, but column {column} is "
            f"categorical: use one of {', '.join(map(repr, others))}, or encode it as numbers."
        )


def _call(function: Callable[..., Any], asked: Question) -> Scored:
    """Scores of a user's function, such as scikit-learn's ``f_classif``."""
    result = function(asked.X, one_dimensional(asked.target))
    scores, pvalues = result if isinstance(result, tuple) else (result, None)
    checked = None if pvalues is None else _one_per_column(pvalues, asked, "p-values")
    return Scored(_one_per_column(scores, asked, "scores"), checked)


def _one_per_column(values: Any, asked: Question, what: str) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (asked.X.shape[1],):
        raise ValueError(
            f"The score function must return one number per column, {asked.X.shape[1]} {what}, "
            f"but returned an array of shape {array.shape}."
        )
    return array
