"""Columns ranked by a score of each column alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.stats import false_discovery_control

from depmax._parameters import number
from depmax.data import TargetKind
from depmax.data.columns import Categories, Missing
from depmax.data.sample import require_samples, warn_of_outputs
from depmax.data.table import constant_columns, has_missing, require_equal_length
from depmax.dependence._nulls.law import TINY
from depmax.dependence._terms import is_constant
from depmax.dependence.exchange import scheme_of
from depmax.kernels import Kernel, KernelLike, Linear, as_kernel
from depmax.selection import _moments as moments
from depmax.selection._scores import (
    Question,
    Score,
    Scored,
    alignment,
    hsic,
    mmd,
    mutual_information,
    one_dimensional,
    qmi,
)
from depmax.selection.selector import Ranking, WeightedSelector, best_first


@dataclass(eq=False, repr=False)
class DependenceFilter(WeightedSelector):
    """Keep the columns with the largest scores, each column scored by itself.

    This is the fastest way to a ranking, but it cannot detect what columns say only together: two
    columns whose product decides the class (XOR) each score nothing. ``BAHSIC`` finds them.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default=None
        How many columns to keep; a float below 1 is a share, None is half. ``"auto"`` keeps as
        many as have an adjusted p-value of at most ``fdr``, for scores with p-values:
        ``"hsic"``, and functions that return them. If there is none, the best column is kept, with
        a :class:`depmax.NoDependenceWarning`.
    score_func : str or callable, default="hsic"
        ==================== ============= ========================================================
        name                 target        score of a column
        ==================== ============= ========================================================
        "hsic"               any           unbiased HSIC, as in :func:`depmax.screen`
        "pearson"            any           squared correlation, summed over the outputs
        "centroid"           two classes   difference of the class means
        "t"                  two classes   the same over its standard error (Welch's t)
        "snr"                two classes   the same over the sum of standard deviations
        "moderated_t"        two classes   t with shrunken variances (Smyth, 2004)
        "lods"               two classes   log odds of a difference (Smyth, 2004)
        "pam"                classes       squared distances of class means to the mean
        "mmd"                two classes   squared maximum mean discrepancy
        "alignment"          any           centred kernel target alignment
        "ridge"              any           what ridge regression on it explains
        "qmi"                any           quadratic mutual information
        "mutual_information" any           expected mutual information, given counts in bins
        ==================== ============= ========================================================

        "moderated_t", "lods", "centroid", "pam" and "ridge" depend on the scale of the columns, and
        warn with a :class:`depmax.ScaleWarning` if scales differ. For "pearson" and "ridge", two
        classes become -1 and +1, more become an indicator each.

        "mutual_information" is the mean over the probabilities that the counts of rows leave
        possible (Dirichlet prior of one row), in nats, summed over the outputs; numbers are cut
        into at most ten bins of about equally many rows. Columns with many levels gain by it.

        A function takes (X, y) and returns one score per column, or scores and p-values, as
        scikit-learn's ``f_classif`` does. Larger is better; NaN ranks last, as minus infinity.
    kernel : kernel or name, default="laplace"
        Kernel of a single column, for "hsic", "mmd" and "alignment". With the Laplace kernel a
        column takes O(m log m) time, with others O(m²).
    target_kernel : kernel, name or "auto", default="auto"
        Kernel of y, for "hsic" and "alignment".
    alpha : float, default=1.0
        Penalty of "ridge".
    fdr : float, default=0.05
        False discovery rate of ``n_features_to_select="auto"``.
    missing : {"neutral", "level", "refuse"}, default="neutral"
        What a missing cell of X means for "hsic", "mmd" and "alignment": nothing, that it is
        missing (a value of its own), or an error. See :func:`depmax.screen`; your own function is
        called only if no cell is missing.
    n_jobs : int, optional
        Number of threads, for "hsic", "mmd", "alignment", "qmi" and "mutual_information".

    Attributes
    ----------
    ranking_ : ndarray of shape (n_features,)
        Rank of each column, 1 for the best, all distinct: equal scores rank in the order of the
        columns, constant columns last.
    scores_ : ndarray of shape (n_features,)
        Larger is better; constant columns score 0 ("lods": the odds of no difference). Infinite for
        "t" and "snr" if a column differs between classes but not within them.
    pvalues_adjusted_ : ndarray or None
        For scores with p-values, adjusted over all columns (Benjamini-Hochberg); for "hsic" those
        of :func:`depmax.screen`.
    effects_ : ndarray of shape (n_features, 3) or None
        For "hsic": normalised HSIC between 0 and 1 and the ends of its 95% interval, as in
        :func:`depmax.screen`.
    support_ : ndarray of bool
    substitutes_ : ndarray of int
        For each dropped column the kept one that can replace it, -1 if none can: the one that
        shares most of its variation (by rank correlation; by levels for categories), named only
        if that is at least a quarter and significant.
    n_features_ : int
        Number of columns kept.
    n_significant_ : int
        With "auto": how many columns have an adjusted p-value of at most ``fdr``.

    Notes
    -----
    A scan or a Dask collection is read a chunk at a time for all named scores except "qmi" and
    "mutual_information": most need means and variances from one pass, while "hsic", "mmd" and
    "alignment" count the values of each column, as in :func:`depmax.screen`.

    References
    ----------
    L. Song, A. Smola, A. Gretton, J. Bedo, K. Borgwardt (2012), Feature selection via dependence
    maximization, section 6: all named scores but "mutual_information" as HSIC with the right
    kernels. M. Zaffalon, M. Hutter (2002), Robust feature selection using distributions of mutual
    information.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.selection.dependence_filter import DependenceFilter
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> y = X[:, 2] ** 2
    >>> DependenceFilter(1).fit(X, y).get_support().tolist()
    [False, False, True, False]
    >>> DependenceFilter(1, score_func="pearson").fit(X, X[:, 1]).ranking_[1]
    np.int64(1)
    """

    n_features_to_select: int | float | Literal["auto"] | None = None
    _: KW_ONLY
    score_func: str | Callable[..., Any] = "hsic"
    kernel: KernelLike = "laplace"
    target_kernel: KernelLike | Literal["auto"] = "auto"
    alpha: float = 1.0
    fdr: float = 0.05
    missing: Missing = "neutral"
    n_jobs: int | None = None

    _accepts_sparse = True
    _decides_how_many = True
    _one_by_one = True
    _streams: ClassVar[bool] = True
    _declared: ClassVar = {"alpha": number(0, ends="()"), "fdr": number(0, 1)}

    def __sklearn_tags__(self) -> Any:
        """With missing cells for scores that use them."""
        tags = super().__sklearn_tags__()
        try:
            tags.input_tags.allow_nan &= find_score(self.score_func).missing
        except ValueError:  # fit is where a wrong name is refused
            tags.input_tags.allow_nan = False
        return tags

    def _compared_by(self) -> Kernel | None:
        """The kernel of a column, for scores that have one."""
        return find_score(self.score_func).compared_by(as_kernel(self.kernel))

    def _rank(
        self,
        X: Any,
        y: Any,
        categories: Categories,
        groups: Any = None,
        weight: np.ndarray | None = None,
    ) -> Ranking:
        score = find_score(self.score_func)
        self._refuse_unused(score)
        if weight is not None and not score.weights:
            raise ValueError(
                f"score_func={score.name!r} counts every row once: use score_func='hsic' or "
                "'pearson' with sample_weight."
            )
        if groups is not None and score.name != "hsic":
            raise ValueError(
                "groups of rows only affect p-values, which depmax does not compute for "
                f"score_func={score.name!r}: use score_func='hsic', or fit without groups."
            )
        question = Question(X, y, categories, self, groups, weight)
        require(score, question)
        if groups is not None:
            scheme_of(groups, question.side.n_samples, question.side.rows, X)
        scored = score.answer(question)
        scores = np.where(np.isnan(scored.scores), -np.inf, scored.scores)
        self.effects_, self.pvalues_adjusted_, n_significant = scored.effects, None, None
        if scored.pvalues is not None:  # never 0; NaN, as a constant column may have, counts as 1
            pvalues = np.where(np.isnan(scored.pvalues), 1.0, scored.pvalues)
            self.pvalues_adjusted_ = false_discovery_control(np.maximum(pvalues, TINY))
            n_significant = int(np.sum(self.pvalues_adjusted_ <= self.fdr))
        elif str(self.n_features_to_select) == "auto":
            raise ValueError(
                f'n_features_to_select="auto" needs p-values, which score_func={score.name!r} '
                "does not provide: pass a number or a share, or use score_func='hsic'."
            )
        constant = scored.constant
        if constant is None:
            constant = constant_columns(X, self.missing)
        return Ranking(best_first(scores, constant), scores, n_significant=n_significant)

    def _refuse_unused(self, score: Score) -> None:
        """Refuse a kernel that the score does not look at."""
        for name, default, used in (
            ("kernel", "laplace", score.kernel),
            ("target_kernel", "auto", score.target_kernel),
        ):
            value = getattr(self, name)
            if not used and not (isinstance(value, str) and value == default):
                takes = [other for other, one in SCORES.items() if getattr(one, name)]
                raise ValueError(
                    f"{name}={value!r} of DependenceFilter has no effect on "
                    f"score_func={score.name!r}: use one of {', '.join(map(repr, takes))}, or "
                    f"leave out {name}."
                )


# --- scores ---------------------------------------------------------------------------------------

_WORDS: dict[TargetKind, str] = {
    "numbers": "numbers",
    "multilabel": "several labels per row",
    "multioutput": "several columns of numbers",
    "censored": "survival times",
}


def _moments(function: Callable[..., np.ndarray], *options: str) -> Callable[[Question], Scored]:
    """A function of sums over rows, wherever these are read, and of some options of the filter."""

    def answer(question: Question) -> Scored:
        found = question.moments
        chosen = [getattr(question.options, name) for name in options]
        return Scored(function(found, *chosen), constant=found.constant)

    return answer


_KERNEL: dict[str, Any] = {"categories": True, "missing": True, "kernel": True}
SCORES: dict[str, Score] = {
    score.name: score
    for score in (
        Score("hsic", hsic, **_KERNEL, target_kernel=True, weights=True),
        Score("pearson", _moments(moments.pearson), weights=True),
        Score("centroid", _moments(moments.centroid), "two classes", in_units=True),
        Score("t", _moments(moments.t), "two classes"),
        Score("snr", _moments(moments.snr), "two classes"),
        Score("moderated_t", _moments(moments.moderated_t), "two classes", in_units=True),
        Score("lods", _moments(moments.lods), "two classes", in_units=True),
        Score("pam", _moments(moments.pam), "classes", in_units=True),
        Score("mmd", mmd, "two classes", **_KERNEL),
        Score("alignment", alignment, target_kernel=True, normalised=True, **_KERNEL),
        Score("ridge", _moments(moments.ridge, "alpha"), in_units=True, outputs_in_units=True),
        Score("qmi", qmi, pairs=True),
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
