"""Every score by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np

from depmax.data import Target, TargetKind, read_target
from depmax.data.checks import Missing, has_missing, require_equal_length, require_samples
from depmax.data.columns import Categories
from depmax.data.reading import read_target_sample, warn_of_outputs
from depmax.data.sample import Sample
from depmax.data.table import is_streamed
from depmax.dependence._terms import is_constant
from depmax.kernels import Kernel, KernelLike, Linear
from depmax.selection._scores import kernel, moments
from depmax.selection._scores.information import mutual_information
from depmax.selection._scores.moments import ridge
from depmax.selection._scores.outputs import one_dimensional
from depmax.selection._scores.streamed import Batches, SummedColumns

#: Kinds of target that are, or can be written as, columns of numbers.
EVERY_KIND: frozenset[TargetKind] = frozenset({"classes", "numbers", "multilabel", "multioutput"})
CLASSES: frozenset[TargetKind] = frozenset({"classes"})

_WORDS: dict[TargetKind, str] = {
    "classes": "classes",
    "numbers": "numbers",
    "multilabel": "several labels per row",
    "multioutput": "several columns of numbers",
}


@dataclass(frozen=True)
class Question:
    """Columns, the target, and the options of the filter."""

    X: Any  # ndarray or CSR matrix
    y: Any  # as the user gave it
    categories: Categories = field(default_factory=dict)
    kernel: KernelLike = "laplace"
    target_kernel: KernelLike = "auto"
    alpha: float = 1.0
    groups: Any = None  # of rows that are not independent
    weight: np.ndarray | None = None  # how many rows each stands for
    n_jobs: int | None = None
    names: Sequence[str] | None = None  # of the columns, if they have any
    missing: Missing = "refuse"  # what missing cells say

    @property
    def is_streamed(self) -> bool:
        """Whether rows are read a chunk at a time."""
        return is_streamed(self.X) or isinstance(self.X, SummedColumns)

    def label(self, column: int) -> str:
        """A column as messages call it."""
        return str(column) if self.names is None else repr(str(self.names[column]))

    @cached_property
    def target(self) -> Any:
        """The target by its type; of batches, their sums."""
        return self.y if isinstance(self.y, Batches) else read_target(self.y)

    @cached_property
    def side(self) -> Sample:
        """The target with its kernel, which may read y in its own way."""
        return read_target_sample(self.y, self.target_kernel, weight=self.weight)


@dataclass(frozen=True)
class Scored:
    """One score per column, larger is better, and p-values where the score has them."""

    scores: np.ndarray
    pvalues: np.ndarray | None = None
    effects: np.ndarray | None = None  # shares with their intervals, of shape (n_features, 3)
    constant: np.ndarray | None = None  # which columns are, where rows were not in memory


@dataclass(frozen=True)
class Score:
    """A score by name, and what it can be asked about."""

    name: str
    answer: Callable[[Question], Scored]
    kinds: frozenset[TargetKind] = EVERY_KIND
    two_classes: bool = False  # no more than two
    categories: bool = False  # categorical columns are compared by equality
    missing: bool = False  # missing cells are used
    target_kernel: bool = False  # y is read by its kernel, which decides what it takes
    in_units: bool = False  # scores are in units of the columns
    kernel: bool = False  # a kernel of a column decides whether they are
    outputs_in_units: bool = False  # several outputs are compared as they are
    normalised: bool = False  # a factor of the kernel makes no difference
    weights: bool = False  # a row may stand for several
    pairs: bool = False  # all pairs or ranks of rows are needed, or the whole table is passed on

    @property
    def adds(self) -> bool:
        """Whether it is a function of sums over the rows."""
        return not self.kernel and not self.pairs

    def accepts(self, target: Target) -> bool:
        """Whether the score has a meaning for this type of target."""
        if target.kind not in self.kinds:
            return False
        return not self.two_classes or len(target.classes) == 2

    def compared_by(self, kernel: Kernel) -> Kernel | None:
        """Kernel through which columns in different units are compared; None if they are not."""
        if self.in_units:
            return Linear()
        factor_only = self.normalised and kernel.capabilities.additive_over_features
        return kernel if self.kernel and not factor_only else None

    def describe(self) -> str:
        """What the target must be."""
        if self.two_classes:
            return "two classes"
        return "classes" if self.kinds == CLASSES else "any target"


def describe(target: Target) -> str:
    """What a target is, in words."""
    if target.kind == "classes":
        return f"{len(target.classes)} classes"
    return _WORDS[target.kind]


#: A score as plain functions have it: (X, target) -> one number per column.
Plain = Callable[[Any, Target], np.ndarray]


def _plain(function: Plain) -> Callable[[Question], Scored]:
    def answer(question: Question) -> Scored:
        if not question.is_streamed:
            return Scored(function(question.X, question.target))
        from depmax.selection._scores.streamed import SummedColumns

        columns = question.X
        if not hasattr(columns, "sums"):
            columns = SummedColumns.of(question.X, question.target)
        return Scored(function(columns, question.target), constant=columns.sums.constant)

    return answer


def _counted(question: Question, side: Sample) -> Any:
    """Columns of a table that is read a chunk at a time, against a side of the target."""
    from depmax.selection._scores.streamed import Counted

    recipe = kernel.column_kernel(question.kernel)
    return Counted.of(question.X, side, recipe, question.categories, kernel.TOLERANCE)


def _pearson(question: Question) -> Scored:
    if question.weight is None:
        return _plain(moments.pearson)(question)
    return Scored(moments.pearson(question.X, question.target, question.weight))


def _hsic(question: Question) -> Scored:
    if question.weight is not None:
        return Scored(
            kernel.weighted_hsic(
                question.X,
                question.side,
                kernel=question.kernel,
                categories=question.categories,
                n_jobs=question.n_jobs,
            )
        )
    if question.is_streamed:
        counted = _counted(question, question.side)
        scores, pvalues = counted.hsic(question.n_jobs)
        return Scored(scores, pvalues, constant=counted.constant)
    return Scored(
        *kernel.hsic(
            question.X,
            question.side,
            kernel=question.kernel,
            categories=question.categories,
            groups=question.groups,
            n_jobs=question.n_jobs,
            missing=question.missing,
            with_effects=True,
        )
    )


def _alignment(question: Question) -> Scored:
    if question.is_streamed:
        counted = _counted(question, question.side)
        return Scored(counted.alignment(question.n_jobs), constant=counted.constant)
    return Scored(
        kernel.alignment(
            question.X,
            question.side,
            kernel=question.kernel,
            categories=question.categories,
            n_jobs=question.n_jobs,
            missing=question.missing,
        )
    )


def _mmd(question: Question) -> Scored:
    if question.is_streamed:
        counted = _counted(question, read_target_sample(question.y, "class_balanced"))
        return Scored(counted.mmd(question.n_jobs), constant=counted.constant)
    return Scored(
        kernel.mmd(
            question.X,
            question.target,
            kernel=question.kernel,
            categories=question.categories,
            n_jobs=question.n_jobs,
            missing=question.missing,
        )
    )


def _qmi(question: Question) -> Scored:
    return Scored(kernel.qmi(question.X, question.target, n_jobs=question.n_jobs))


def _mutual_information(question: Question) -> Scored:
    return Scored(
        mutual_information(question.X, question.target, question.categories, n_jobs=question.n_jobs)
    )


def _ridge(question: Question) -> Scored:
    return _plain(lambda X, target: ridge(X, target, question.alpha))(question)


SCORES: dict[str, Score] = {
    score.name: score
    for score in (
        Score(
            "hsic",
            _hsic,
            categories=True,
            missing=True,
            target_kernel=True,
            kernel=True,
            weights=True,
        ),
        Score("pearson", _pearson, weights=True),
        Score("centroid", _plain(moments.centroid), CLASSES, two_classes=True, in_units=True),
        Score("t", _plain(moments.t), CLASSES, two_classes=True),
        Score("snr", _plain(moments.snr), CLASSES, two_classes=True),
        Score("moderated_t", _plain(moments.moderated_t), CLASSES, two_classes=True, in_units=True),
        Score("lods", _plain(moments.lods), CLASSES, two_classes=True, in_units=True),
        Score("pam", _plain(moments.pam), CLASSES, in_units=True),
        Score("mmd", _mmd, CLASSES, two_classes=True, categories=True, missing=True, kernel=True),
        Score(
            "alignment",
            _alignment,
            categories=True,
            missing=True,
            target_kernel=True,
            kernel=True,
            normalised=True,
        ),
        Score("ridge", _ridge, in_units=True, outputs_in_units=True),
        Score("qmi", _qmi, pairs=True),
        Score("mutual_information", _mutual_information, categories=True, pairs=True),
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
    if question.is_streamed:
        _require_streamed(score)
        constant = question.target.is_constant
    elif score.target_kernel:
        constant = is_constant(question.side)
    else:
        constant = question.target.is_constant
    if constant:
        raise ValueError(
            "y has one class only, or one value in all rows: nothing can depend on a constant."
        )
    if not score.target_kernel and not score.accepts(question.target):
        others = [name for name, other in SCORES.items() if other.accepts(question.target)]
        raise ValueError(
            f"score_func={score.name!r} is for {score.describe()}, but y holds "
            f"{describe(question.target)}: use one of {', '.join(map(repr, others))}."
        )
    if score.outputs_in_units and not isinstance(question.target, Batches):  # which holds sums
        warn_of_outputs(question.target, Linear())
    if question.categories and not score.categories:
        others = [name for name, other in SCORES.items() if other.categories]
        column = question.label(min(question.categories))
        raise TypeError(
            f"score_func={score.name!r} reads numbers, but column {column} is "
            f"categorical: use one of {', '.join(map(repr, others))}, or encode it as numbers."
        )
    if not score.missing and has_missing(question.X):
        others = [name for name, other in SCORES.items() if other.missing]
        column = question.label(int(np.flatnonzero(np.isnan(question.X).any(axis=0))[0]))
        raise ValueError(
            f"score_func={score.name!r} does not accept missing values, but X has NaN in column "
            f"{column}: use one of {', '.join(map(repr, others))}, or impute first, e.g. with "
            "depmax.Prepare()."
        )


def _require_streamed(score: Score) -> None:
    """Refuse a score that needs rows in memory, where they are read a chunk at a time."""
    if score.pairs:
        others = ", ".join(repr(name) for name, other in SCORES.items() if not other.pairs)
        raise TypeError(
            f"DependenceFilter with score_func={score.name!r} needs all rows in memory, but X is "
            f"read a chunk at a time: pass X.compute() if it fits, or use one of {others}."
        )


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
