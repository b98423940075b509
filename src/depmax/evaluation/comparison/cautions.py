"""What makes scores and p-values look better, or worse, than they are.

Copies of rows, rows that resemble their neighbours, columns that give the target away, and targets
of which a few rows decide the score. None of this stops a comparison; whoever reads it must know.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing

from depmax._text import counted, listed, share
from depmax.data.table import numbered_columns, read_table
from depmax.data.target import TargetKind
from depmax.dependence import screen
from depmax.dependence.exchange import (
    ALIKE_IN_ORDER,
    FEWEST_ROWS,
    MOST_CELLS,
    MOST_COLUMNS,
    NEIGHBOURS_CODE,
    coincidence,
    neighbours_alike,
    neighbours_mentioned,
)
from depmax.evaluation.comparison.catalogue import plain_name
from depmax.selection._substitutes import shared

if TYPE_CHECKING:
    from depmax.evaluation.comparison.comparison import Comparison

#: Share of rows from which on copies are mentioned, and how many times as many pairs of equal rows
#: there must be as columns with these values would have by chance.
COPIES = 0.01
MORE_THAN_CHANCE = 50.0
#: Share of the values of a column that differ, from which on it is a measurement: no chance then.
MEASURED = 0.9
#: Names of columns that may say which rows belong together even if they hold numbers, how many of
#: them and of categories are looked at, and how many groups there must be.
GROUPING = re.compile(
    r"(patient|subject|participant|person|respondent|customer|client|user|household|family|animal|"
    r"mouse|session|batch|plate|site)([ _-]?(id|no|nr|number|code))?|(.*[ _-])?id",
    re.IGNORECASE,
)
MOST_GROUPINGS = 20
FEWEST_GROUPS = 10
#: Effect of a column alone, or score with one column, from which on it may hold the target.
GIVES_AWAY = 0.9
PERFECT = 0.97
OF_ONE = ("balanced_accuracy", "accuracy", "roc_auc", "r2")  # scores of which 1 is the best
#: Share of the variation of a kept column that another shares, from which on it is a near copy, and
#: the selector that keeps few of these.
ALIKE = 0.8
SEARCHES_DISTINCT = "KernelRidgeElimination"
#: Share of the variance that the most extreme 1% of the rows hold, from which on they decide.
FEW_DECIDE = 0.5
#: Numbers by which people write that there is no value, and their negatives; and the share of the
#: rows that a single digit takes: it may be a count as well.
CODES = {
    9,
    *(10**k - back for k in range(2, 7) for back in (1, 2, 3)),
    77,
    88,
    777,
    888,
    7777,
    8888,
}
OFTEN = 0.01


@dataclass(frozen=True)
class Caution:
    """A reason to doubt scores and p-values: what was found, or what may be found.

    Parameters
    ----------
    code : str
        Stable, to look it up and to silence it: ``compare(..., ignore=["DM001"])``.
    title : str
        Its name.
    about : str
        When it is said, and what to do.
    text : str, default=""
        What was found in these data.

    Examples
    --------
    >>> from depmax.evaluation import CAUTIONS
    >>> [f"{code} {caution.title}" for code, caution in CAUTIONS.items()][:2]
    ['DM001 copied rows', 'DM002 neighbours alike']
    """

    code: str
    title: str
    about: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.code}: {self.text or self.about}"


COPIED_ROWS = Caution(
    "DM001",
    "copied rows",
    "At least 1% of the rows (and three) repeat other rows exactly, target included, in columns "
    "that would not coincide so often by chance. Scores are too good where a copy of a test row is "
    "among the training rows, and p-values too small. Remove the copies, or give equal rows one "
    "group (groups= or --groups).",
)
NEIGHBOURS_ALIKE = Caution(
    NEIGHBOURS_CODE,
    "neighbours alike",
    "Rows next to each other are alike in the target, and in the columns beyond what that "
    "explains, as in a time series or with several rows per patient. Scores on random splits are "
    "too good and p-values too small. Pass groups=depmax.Shifts() for a time series, or name what "
    "belongs together (groups= or --groups).",
)
GROUPS_ALIKE = Caution(
    "DM003",
    "rows of a group alike",
    "Rows with the same value of some column, such as the patient, are alike in the target and in "
    "the other columns. If they belong together, scores on random splits are too good and p-values "
    "too small. Name the column as groups= or --groups.",
)
GIVEN_AWAY = Caution(
    "DM004",
    "target given away",
    "A column by itself tells nearly everything about the target: an effect of 0.9 in screen, or a "
    "score of 0.97 with it alone. If it is made from the target, or known only after it, it does "
    "not help with new rows. Drop it and try again.",
)
FEW_ROWS_DECIDE = Caution(
    "DM005",
    "few rows decide",
    "1% of the rows hold half of the variance of a numeric target, as with prices or counts, and "
    "so decide the score. Take the logarithm of the target.",
)
KEPT_ALIKE = Caution(
    "DM006",
    "kept columns alike",
    "At least half of the kept columns but the best share 80% of their variation with a better "
    "one that is kept, as neighbouring wavelengths do: all may say the same, or their small "
    "differences matter. KernelRidgeElimination keeps columns that add something to the others; "
    "with one label in column_groups neighbours count as one.",
)
MISSING_CODED = Caution(
    "DM007",
    "codes of missing values",
    "A number such as -9, 99 or 999 is found in several rows of a column, as far from all others "
    "as these are from each other, or as the only one below zero. Where it stands for a missing "
    "value, means, effects and predictions are wrong. Write gaps instead, or name it (--missing "
    "999).",
)
#: All of them by code.
CAUTIONS = {
    caution.code: caution
    for caution in (
        COPIED_ROWS,
        NEIGHBOURS_ALIKE,
        GROUPS_ALIKE,
        GIVEN_AWAY,
        FEW_ROWS_DECIDE,
        KEPT_ALIKE,
        MISSING_CODED,
    )
}


def read_ignored(ignore: Iterable[str] | str, name: str = "ignore") -> tuple[str, ...]:
    """Codes of cautions that are not wanted, in capitals.

    >>> read_ignored(["dm002"])
    ('DM002',)
    """
    codes = tuple(code.upper() for code in ([ignore] if isinstance(ignore, str) else ignore))
    unknown = [code for code in codes if code not in CAUTIONS]
    if unknown:
        raise ValueError(
            f"{name}: there is no caution {unknown[0]!r}. There are {', '.join(CAUTIONS)}: "
            "depmax cautions explains them."
        )
    return codes


def cautions_of(comparison: Comparison, columns: tuple[str, ...]) -> tuple[Caution, ...]:
    """Reasons to doubt the scores of a comparison whose recommended method keeps these columns."""
    setting = comparison.setting
    if not setting.prepare:
        return ()
    kind = setting.problem.kind
    found = [replace(GIVEN_AWAY, text=_given_away(comparison, columns))]
    found += cautions_about_rows(comparison.X, comparison.y, kind, comparison.candidates.units)
    if kind == "numbers":
        few = _few_decide(comparison.y, comparison.target_name)
        found.append(replace(FEW_ROWS_DECIDE, text=few))
    if columns:
        chosen = _safe_indexing(comparison.filled, comparison.kept, axis=1)
        found.append(replace(KEPT_ALIKE, text=kept_alike(chosen, comparison.recommended)))
    ignored = comparison.ignore
    return tuple(one for one in found if one.text and one.code not in ignored)


def cautions_about_rows(X: Any, y: Any, kind: TargetKind, groups: Any = None) -> list[Caution]:
    """Whether cells hold codes, rows are copies, or resemble their neighbours if not grouped.

    Parameters
    ----------
    X : table
    y : ndarray
        Classes, or numbers of shape (n,) or (n, n_outputs).
    kind : type of the target
    groups : array, optional
        If rows are known to belong together, splits and p-values allow for it.
    """
    read = read_table(X, missing="neutral")
    if sparse.issparse(read.values):
        return []
    n_rows = min(len(read.values), max(1, MOST_CELLS // max(1, read.values.shape[1])))
    values = np.asarray(read.values, dtype=float)[:n_rows]
    answers = _as_numbers(np.asarray(y)[:n_rows], kind)
    categories = set(read.categories)
    names = read.names or numbered_columns(values.shape[1])
    codes = {name: code_of(values[:, j]) for j, name in enumerate(names) if j not in categories}
    if kind == "numbers":
        codes["the target"] = code_of(answers[:, 0])
    found = [replace(MISSING_CODED, text=text)] if (text := missing_coded(codes)) else []
    if groups is not None:
        return found
    # copies next to each other are alike, which need not be said twice
    if copied := _copies(values, answers, kind):
        return [*found, replace(COPIED_ROWS, text=copied)]
    if n_rows < FEWEST_ROWS or kind == "multilabel":
        return found
    if belonging := _belonging(values, answers, kind, categories, read.names or ()):
        return [*found, replace(GROUPS_ALIKE, text=belonging)]
    if neighbours_alike(values, answers[:, 0], kind == "classes", categories):
        return [*found, replace(NEIGHBOURS_ALIKE, text=ALIKE_IN_ORDER)]
    return found


def missing_coded(codes: Mapping[str, tuple[float, int]]) -> str:
    """What to say of columns that may hold codes of missing values, in so many rows."""
    found = [f"{code:g} in {name} ({counted(n, 'row')})" for name, (code, n) in codes.items() if n]
    if not found:
        return ""
    one = len(found) == 1
    return (
        f"{listed(found, 6)} {'lies' if one else 'lie'} apart from all other values, as "
        f"{'a code' if one else 'codes'} of missing values would: write gaps instead, or name "
        f"{'it' if one else 'each'} (--missing {found[0].partition(' ')[0]})."
    )


def code_of(column: np.ndarray) -> tuple[float, int]:
    """The code of missing values that a column may hold, and in how many rows; 0 where none.

    >>> code_of(np.array([31.0, 62.0, 999.0, 45.0, 999.0]))
    (999.0, 2)
    """
    ends = float(np.fmin.reduce(column)), float(np.fmax.reduce(column))
    if CODES.isdisjoint(map(abs, ends)):  # nearly always
        return np.nan, 0
    coded = np.isin(np.abs(column), [*CODES])
    others = column[~coded & np.isfinite(column)]
    if len(np.unique(others)) < 2:
        return np.nan, 0
    low, high = others.min(), others.max()
    far = np.maximum(column - high, low - column) >= high - low
    far |= (column < 0.0) & (low >= 0.0)
    values, counts = np.unique(column[coded & far], return_counts=True)
    values, counts = np.append(values, np.nan), np.append(counts, 0)
    code, n_rows = float(values[counts.argmax()]), int(counts.max())
    few = OFTEN * len(column) if abs(code) < 10 else 1
    return (code, n_rows) if n_rows > max(1, few) else (np.nan, 0)


def _as_numbers(y: np.ndarray, kind: TargetKind) -> np.ndarray:
    """The target with one column per output; classes as codes."""
    if kind == "classes":
        y = np.unique(y.ravel(), return_inverse=True)[1]
    numbers = y.astype(float)
    return numbers[:, np.newaxis] if numbers.ndim == 1 else numbers


def _copies(values: np.ndarray, answers: np.ndarray, kind: TargetKind) -> str:
    rows = np.ascontiguousarray(np.hstack([values, answers]) + 0.0)  # -0 is 0
    firsts: dict[bytes, int] = {}
    places = [firsts.setdefault(row.tobytes(), place) for place, row in enumerate(rows)]
    counts = np.unique(places, return_counts=True)[1]
    again = len(rows) - len(counts)
    if again < max(3.0, COPIES * len(rows)):
        return ""
    classes = answers[:, 0] if kind == "classes" else np.zeros(len(rows))
    expected = sum(_pairs_by_chance(rows[classes == label]) for label in np.unique(classes))
    measured = _has_measurements(rows[list(firsts.values())])
    if not measured and (counts * (counts - 1.0)).sum() / 2.0 < MORE_THAN_CHANCE * expected:
        return ""  # few columns with few values: equal rows are what one expects
    return (
        f"{again:,} of {len(rows):,} rows ({share(again, len(rows))}) repeat other rows exactly, "
        "target included. If these are copies, p-values are too small and scores too good, since a "
        "copy of a test row may be among the training rows: remove copies, or give equal rows one "
        "group (groups= or --groups)."
    )


def _has_measurements(rows: np.ndarray) -> bool:
    """Whether different rows hardly ever have the same value of some column."""
    distinct = max(len(np.unique(column)) for column in rows.T)
    return bool(distinct >= max(10.0, MEASURED * len(rows)))


def _pairs_by_chance(rows: np.ndarray) -> float:
    """Pairs of equal rows to expect if columns did not depend on each other."""
    log_pairs = np.log(max(1.0, len(rows) * (len(rows) - 1.0) / 2.0))
    return float(np.exp(log_pairs + sum(np.log(coincidence(column)) for column in rows.T)))


def _belonging(
    values: np.ndarray,
    answers: np.ndarray,
    kind: TargetKind,
    categories: set[int],
    names: Sequence[str],
) -> str:
    """Whether rows with the same value of a column, such as the patient, are alike in the rest."""
    places = [place for place, name in enumerate(names) if GROUPING.fullmatch(name)]
    places += sorted(categories.difference(places))
    ties = np.random.default_rng(0).random(len(values))
    for place in places[:MOST_GROUPINGS]:
        column = values[:, place]
        known = column[np.isfinite(column)]
        if not FEWEST_GROUPS <= len(np.unique(known)) <= len(known) / 2:
            continue
        order = np.lexsort((ties, column))
        if neighbours_alike(values[order], answers[order, 0], kind == "classes", categories):
            return (
                f"Rows with the same {names[place]} are alike, in the target and in the columns. "
                "If they belong together, as those of a patient do, p-values are too small and "
                "scores on random splits too good: say so with this column (groups= or --groups)."
            )
    return ""


def _given_away(comparison: Comparison, columns: tuple[str, ...]) -> str:
    """Columns that say nearly all about the target alone.

    Those that the recommended method keeps are looked at; if it keeps none and does not err, all.
    """
    score = comparison.candidates.evidence.scores[comparison.place]
    perfect = comparison.metrics[0].name in OF_ONE and score >= PERFECT
    if perfect and len(columns) == 1:
        return gives_away(columns, comparison.target_name)
    names = columns or comparison.setting.problem.names
    if not columns and not (perfect and len(names) <= MOST_COLUMNS):
        return ""
    places = comparison.kept if columns else np.arange(len(names))
    chosen = _safe_indexing(comparison.filled, places, axis=1)
    with neighbours_mentioned():
        effects = screen(chosen, comparison.y).effects
    found = np.flatnonzero(effects >= GIVES_AWAY)
    return gives_away([names[place] for place in found], comparison.target_name)


def gives_away(names: Sequence[str], target: str) -> str:
    """What to say of columns that may hold the target, if there are some."""
    if not names:
        return ""
    return (
        f"Check {listed(names, 6)}: {'by itself it tells' if len(names) == 1 else 'each tells'} "
        f"nearly everything about {target}. A column that is made from the target, or known only "
        "after it, will not help with new rows: drop it and try again."
    )


def kept_alike(X: Any, method: str) -> str:
    """Whether columns that a method keeps, best first, are near copies of better ones.

    Half of them must be: single pairs are common. What KernelRidgeElimination keeps beside a near
    copy adds something to it: small differences, as between wavelengths, can matter.
    """
    if plain_name(method) == plain_name(SEARCHES_DISTINCT):
        return ""
    read = read_table(X, missing="neutral")
    n_kept = read.values.shape[1]
    if n_kept < 2 or sparse.issparse(read.values):
        return ""
    coded = np.isin(np.arange(n_kept), list(read.categories))
    shares = np.tril(shared(read.values, read.values, coded, coded), -1).max(axis=1)
    copies = np.flatnonzero(shares >= ALIKE)
    if 2 * len(copies) < n_kept - 1 or not len(copies):
        return ""
    names = read.names or numbered_columns(n_kept)
    one = len(copies) == 1
    return (
        f"{listed([names[place] for place in copies], 6)} {'is a' if one else 'are'} near "
        f"{'copy of a better column that is' if one else 'copies of better columns that are'} kept "
        f"too, with at least {ALIKE:.0%} of {'its' if one else 'their'} variation in common. "
        f"To keep columns that add something to each other, use {SEARCHES_DISTINCT}. Where "
        "neighbours belong together, as in spectra, give them one label in column_groups."
    )


def _few_decide(y: np.ndarray, name: str) -> str:
    """Whether a few extreme rows hold most of the variance."""
    squares = np.sort((np.asarray(y, dtype=float) - np.mean(y)) ** 2)[::-1]
    n_extreme = max(1, len(squares) // 100)
    total = squares.sum()
    held = float(squares[:n_extreme].sum() / total) if total > 0.0 else 0.0
    if len(squares) < FEWEST_ROWS or held < FEW_DECIDE:
        return ""
    return (
        f"{counted(n_extreme, 'row')} of {len(squares):,} "
        f"{'holds' if n_extreme == 1 else 'hold'} {100 * held:.0f}% of the variance of {name} and "
        "so decide the score. Where values span orders of magnitude, such as prices or counts, "
        "take their logarithm as the target."
    )
