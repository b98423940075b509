"""Wilcoxon signed-rank marks, as in the tables of the thesis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from reproduction.signed_rank import signed_rank_pvalue

LEVEL = 0.05
Scores = Mapping[str, Sequence[float] | np.ndarray]


def method_marks(scores: Scores) -> dict[str, str]:
    """Bold: better than its twin with the other estimator. Underlined: better than all others.

    Parameters
    ----------
    scores : mapping of method to paired scores, larger is better
        Twins are named alike but for a final 1 or 0.
    """
    marks = {}
    for name in scores:
        twin = name[:-1] + {"0": "1", "1": "0"}.get(name[-1], "")
        found = ["bold"] if twin in scores and twin != name and better(scores, name, twin) else []
        if all(better(scores, name, other) for other in scores if other != name):
            found.append("underlined")
        marks[name] = " ".join(found)
    return marks


def set_marks(scores: Scores) -> str:
    """Marks of a data set.

    ● the better HSCA is better than the better HBFE, ○ worse; ◇ the best method based on HSIC is
    better than the best other one, ★ worse.
    """
    hsca = best(scores, [name for name in scores if name.startswith("HSCA")])
    hbfe = best(scores, [name for name in scores if name.startswith("HBFE")])
    marks = _mark(scores, hsca, hbfe, "●", "○") if hsca and hbfe else ""
    own = [name for name in (hsca, hbfe) if name]
    others = [name for name in scores if not name.startswith(("HSCA", "HBFE"))]
    if own and others:
        marks += _mark(scores, best(scores, own), best(scores, others), "◇", "★")
    return marks


def better(scores: Scores, name: str, other: str) -> bool:
    """Whether the mean is larger and the difference significant."""
    first, second = np.asarray(scores[name]), np.asarray(scores[other])
    return bool(first.mean() > second.mean() and signed_rank_pvalue(first, second) < LEVEL)


def best(scores: Scores, names: Iterable[str]) -> str:
    """The method with the largest mean; "" of none."""
    return max(names, key=lambda name: float(np.mean(scores[name])), default="")


def _mark(scores: Scores, name: str, other: str, more: str, less: str) -> str:
    if better(scores, name, other):
        return more
    return less if better(scores, other, name) else ""
