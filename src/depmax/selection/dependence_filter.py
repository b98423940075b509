"""Columns ranked by a score of each column alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.stats import false_discovery_control

from depmax._parameters import number
from depmax.data.columns import Categories, Missing
from depmax.data.table import constant_columns
from depmax.dependence._nulls.law import TINY
from depmax.dependence.exchange import plan_of
from depmax.kernels import Kernel, KernelLike, as_kernel
from depmax.selection._scores.registry import SCORES, find_score, require
from depmax.selection._scores.score import Question, Score
from depmax.selection.ranking import Ranking, best_first
from depmax.selection.selector import WeightedSelector


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
        For scores with p-values, adjusted over all columns (Benjamini-Hochberg).
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

    _accepts_sparse = True
    _decides_how_many = True
    _one_by_one = True
    _streams: ClassVar[bool] = True
    _declared: ClassVar = {"alpha": number(0, ends="()"), "fdr": number(0, 1)}

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] | None = None,
        *,
        score_func: str | Callable[..., Any] = "hsic",
        kernel: KernelLike = "laplace",
        target_kernel: KernelLike | Literal["auto"] = "auto",
        alpha: float = 1.0,
        fdr: float = 0.05,
        missing: Missing = "neutral",
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.score_func = score_func
        self.kernel = kernel
        self.target_kernel = target_kernel
        self.alpha = alpha
        self.fdr = fdr
        self.missing = missing
        self.n_jobs = n_jobs

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
            plan_of(groups, question.side.n_samples, question.side.rows, X)
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
