"""What all selectors share: reading data, choosing how many columns to keep, and reporting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import get_tags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted

from depmax._extras import make_frame
from depmax._parameters import check_parameters, is_whole
from depmax._resources import one_thread_for_few_rows
from depmax._warnings import warn_caller
from depmax.data import Scan, read_fit
from depmax.data.columns import Categories, Missing
from depmax.data.sample import aligned, refuse_streamed_target
from depmax.data.scan import by_chunks
from depmax.data.stream import refuse_with_streams
from depmax.data.table import (
    as_requested,
    is_streamed,
    numbered_columns,
    refuse_missing,
    refuse_unreadable,
    require_varying,
    take_columns,
    warn_of_scales,
    without_column,
    without_groups,
)
from depmax.data.weights import weigh
from depmax.kernels import Kernel, Linear
from depmax.selection._search.data import n_leading
from depmax.selection._substitutes import LEVEL, substitutes

#: Rows up to which a search keeps to one thread: its many products are small.
SMALL_ROWS = 5000


@dataclass(frozen=True)
class Ranking:
    """Outcome of a search over columns, or over units of columns."""

    order: np.ndarray  # from best to worst, all of them
    scores: np.ndarray  # one each; larger is better within a round
    path: tuple[tuple[int, float], ...] = ()  # (columns left, dependence) per round
    n_significant: int | None = None  # how many columns "auto" found worth keeping; None: not asked
    sizes: np.ndarray | None = None  # of groups of columns, in order, that are kept as a whole
    why_none: str | None = None  # where "auto" may keep no column: what to say if it does


class NoDependenceWarning(UserWarning):
    """No column is worth keeping: ``n_features_to_select="auto"`` found no dependence on y.

    Of few rows it may not find what p-values of single columns show; the message then says both.
    The best column is kept all the same, since most estimators in a pipeline need one, and
    ``n_significant_`` is 0. Do not read anything into that column. (:class:`depmax.Knockoffs`,
    which bounds the share of false discoveries, keeps none.) To stop a script in this case, turn
    the warning into an error: ``warnings.simplefilter("error", depmax.NoDependenceWarning)``.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from depmax import DependenceFilter, NoDependenceWarning
    >>> rng = np.random.default_rng(0)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", NoDependenceWarning)
    ...     noise = DependenceFilter("auto").fit(rng.normal(size=(100, 5)), rng.normal(size=100))
    >>> noise.n_significant_, noise.n_features_
    (0, 1)
    """


def best_first(scores: np.ndarray, constant: np.ndarray) -> np.ndarray:
    """Columns by decreasing score; constant ones last, equal ones in their original order.

    Examples
    --------
    >>> best_first(np.array([-1.0, 0.0, 2.0]), np.array([False, True, False]))
    array([2, 0, 1])
    """
    return np.lexsort((-scores, constant))


class DependenceSelector(SelectorMixin, BaseEstimator):
    """Base of the selectors: a subclass implements ``_rank``.

    Fitted: ``ranking_`` (1 is best, all distinct), ``scores_``, ``support_``, ``path_``,
    ``substitutes_``, ``n_features_``; with ``n_features_to_select="auto"`` also ``n_significant_``:
    how many columns were worth keeping, 0 if none was, with a :class:`NoDependenceWarning`. A
    search for a set of columns judges that by predictions of held-out rows, a method that judges
    columns one by one by the false discovery rate (docs/guide/selecting.md).
    """

    n_features_to_select: Any
    ranking_: np.ndarray
    scores_: np.ndarray
    support_: np.ndarray
    substitutes_: np.ndarray
    n_features_: int
    #: Column of X that held the groups of rows, in place of features.
    _group_column: str | None = None
    effects_: Any = None  # and p-values, of selectors that have them
    pvalues_adjusted_: Any = None
    #: Threads, for selectors that have the choice.
    n_jobs: int | None = None
    #: Kernel of y, for selectors that have the choice.
    target_kernel: Any = "auto"
    #: What missing cells say, for selectors that use them.
    missing: Missing = "refuse"
    #: What the second number of each round in ``path_`` is.
    path_quantity = "HSIC with the target"
    _accepts_sparse = False
    #: What to do with sparse X other than to make it dense.
    _sparse_remedy = "use DependenceFilter, which takes sparse X"
    #: Whether the kernel is applied to one column at a time.
    _one_by_one = False
    #: Whether n_features_to_select="auto" is offered.
    _decides_how_many = False
    #: Whether a table that is read a chunk at a time is taken, all its rows or some.
    _streams: ClassVar[bool] = False

    def fit(self, X: Any, y: Any = None) -> DependenceSelector:
        """Rank the columns of X by their dependence on y and keep the best.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Selectors that stream also take a scan or a Dask collection.
        y : target of any type

        Returns
        -------
        self
        """
        return self._fit(X, y)

    @one_thread_for_few_rows(SMALL_ROWS)
    def _fit(self, X: Any, y: Any, sample_weight: Any = None, **others: Any) -> Any:
        """Read X, order its columns and keep the best; ``others`` are arguments of ``_rank``."""
        if sample_weight is not None:
            weighed = weigh(sample_weight, X, y)
            X, y = weighed.of(X), weighed.of(y, self.target_kernel)
            others["weight"] = weighed.weight
        check_parameters(self)
        rows, y = self._read(X, y)
        n_requested = self._n_requested(rows.shape[1])
        require_varying(rows, self.missing)
        if sample_weight is not None:
            refuse_missing(rows, type(self).__name__, getattr(self, "feature_names_in_", None))
        self._warn_of_scales(rows)
        self._keep(self._rank(rows, y, self.categories_, **others), n_requested)
        self.substitutes_ = substitutes(rows, self.support_, self.n_jobs, self.categories_)
        return self

    def _keep(self, ranking: Ranking, n_requested: int | None) -> None:
        """Keep the best columns."""
        count = self._n_worth_keeping(ranking) if n_requested is None else n_requested
        if ranking.sizes is not None:
            count = self._n_of_whole_groups(count, ranking.sizes)
        self.ranking_ = np.argsort(ranking.order) + 1
        self.scores_ = np.asarray(ranking.scores, dtype=np.float64)
        self.support_ = self.ranking_ <= count
        self.path_ = ranking.path
        self.n_features_ = count

    def _read(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Rows of X and the target; sets what ``fit`` tells about the columns."""
        if not is_streamed(X) or not self._streams:
            self._refuse_sparse(X)
            sparse_too = self._accepts_sparse
            rows, categories = read_fit(self, X, accept_sparse=sparse_too, missing=self.missing)
            refuse_streamed_target(X, y)
            self.categories_ = dict(categories)
            return rows, y
        inputs, target = aligned(X, y)
        if target is None and get_tags(self).target_tags.required:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: pass "
                "target= to depmax.scan."
            )
        self._refuse_sparse(inputs.example)
        inputs.describe_to(self)
        return self._some_rows(inputs, target)

    def _refuse_sparse(self, rows: Any) -> None:
        if sparse.issparse(rows) and not self._accepts_sparse:
            raise TypeError(
                f"{type(self).__name__} needs dense rows here, but X is sparse: pass X.toarray(), "
                f"or {self._sparse_remedy}."
            )

    def _some_rows(self, inputs: Any, target: Any) -> tuple[Any, Any]:
        """Of a table that is read a chunk at a time: all, or some in memory, with their target."""
        return inputs, target

    def _n_worth_keeping(self, ranking: Ranking) -> int:
        """How many columns "auto" keeps; where none is worth it the best, or none, and it says so.

        Most estimators in a pipeline need a column.
        """
        self.n_significant_ = ranking.n_significant or 0
        if not self.n_significant_:
            why = ranking.why_none or why_only(self, int(ranking.order[0]))
            warn_caller(why, NoDependenceWarning)
        return max(0 if ranking.why_none else 1, self.n_significant_)

    def _n_of_whole_groups(self, count: int, sizes: np.ndarray) -> int:
        """How many columns the best groups have, while these are at most ``count``."""
        if sizes[0] > count:
            warn_caller(
                f"{type(self).__name__} keeps {sizes[0]} columns instead of {count}: the best of "
                "its column_groups has so many, and groups are kept as a whole.",
                UserWarning,
            )
        return int(sizes[: n_leading(sizes, count)].sum())

    def _compared_by(self) -> Kernel | None:
        """Kernel that sees the columns in their own units; None if units do not matter."""
        return Linear()

    def _warn_of_scales(self, rows: Any) -> None:
        kernel = self._compared_by()
        if kernel is not None:
            warn_of_scales(
                kernel,
                rows,
                getattr(self, "feature_names_in_", None),
                self.categories_,
                owner=type(self).__name__,
                one_by_one=self._one_by_one,
            )

    def _rank(self, X: Any, y: Any, categories: Categories) -> Ranking:
        """Order all columns from best to worst; X is validated, y is not read yet."""
        raise NotImplementedError

    def transform(self, X: Any) -> Any:
        """Keep the selected columns of X.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        array, sparse matrix or data frame
            A data frame if ``set_output`` asks for one or if ``fit`` found categorical columns,
            which an array of numbers cannot hold; in that case it is from the same library as X.
            The columns of a frame keep their names and dtypes.
        """
        check_is_fitted(self)
        if is_streamed(X):
            return self._transform_streamed(X)
        refuse_unreadable(X, "X")
        X = without_column(X, self._group_column)
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        library = _get_output_config("transform", self)["dense"]
        if not isinstance(frame, nw.DataFrame):
            if self.categories_:
                raise TypeError(
                    f"{type(self).__name__} was fitted on a data frame with categorical columns: "
                    "pass a frame with the same columns."
                )
            return super().transform(X)
        if library == "default" and not self.categories_:
            return super().transform(X)
        _check_feature_names(self, X, reset=False)
        _check_n_features(self, X, reset=False)
        kept = take_columns(X, np.flatnonzero(self.support_))
        return as_requested(self, nw.from_native(kept, eager_only=True))

    def inverse_transform(self, X: Any) -> Any:
        """Rows with zeros in the columns that were dropped.

        Parameters
        ----------
        X : array-like, sparse matrix, scan or Dask collection of the selected columns

        Returns
        -------
        array or sparse matrix of shape (n_samples, n_features), as lazy as X
        """
        check_is_fitted(self)
        if is_streamed(X):
            return by_chunks(self.inverse_transform, X, self.n_features_in_)
        return super().inverse_transform(X)

    def _transform_streamed(self, X: Any) -> Any:
        """The selected columns of a scan or a Dask collection, which stays lazy."""
        if isinstance(X, Scan):
            return X.map(self.transform)
        _check_n_features(self, X, reset=False)
        _check_feature_names(self, X._meta, reset=False)
        kept = np.flatnonzero(self.support_)
        return X[list(X.columns[kept])] if hasattr(X, "columns") else X[:, kept]

    def to_frame(self, library: str | None = None, *, feature_names: Any = None) -> Any:
        """Data frame of all columns, best first: rank, score, kept, substitute, effect, p-value.

        Columns of an array have no names, and behind a step that returns arrays, such as
        ``StandardScaler()``, they are x0, x1, …: pass ``feature_names=pipe[:-1]
        .get_feature_names_out()`` of the steps before, or keep the names by ``Prepare()`` or
        ``pipe.set_output(transform="pandas")``.

        The substitute of a dropped column is a kept one that shares at least a quarter of its
        variation, significantly; the cell is empty (None) where no kept column does.

        The effect (where the selector has it: with ``pvalues=True``, or as a filter by HSIC) is
        normalised HSIC of each column alone, from 0 to 1, with an interval of 95%: that of
        :func:`depmax.screen`.

        The p-value (where the selector has them) is that of the screening of each column alone, by
        HSIC (a filter by HSIC: also by the linear part), adjusted over all columns: it says nothing
        about the selected set as a whole.
        """
        check_is_fitted(self)
        order = np.argsort(self.ranking_)
        names = self._column_names(feature_names)
        replaced = [None if p < 0 else names[p] for p in self.substitutes_[order]]
        columns: dict[str, Any] = {
            "column": names[order].tolist(),
            "rank": self.ranking_[order],
            "score": self.scores_[order],
            "kept": self.support_[order],
            "substitute": replaced,
        }
        if self.effects_ is not None:
            for place, name in enumerate(("effect", "effect_low", "effect_high")):
                columns[name] = self.effects_[order, place]
        if self.pvalues_adjusted_ is not None:
            columns["pvalue_adjusted"] = self.pvalues_adjusted_[order]
        return make_frame(columns, library)

    def redundant_columns(self, *, feature_names: Any = None) -> dict[str, list[str]]:
        """The kept columns, best first, each with the dropped columns that it can replace.

        ``feature_names`` are those of :meth:`to_frame`.

        A dropped column is listed with its substitute, the kept column that shares most of its
        variation. Dropped columns that appear nowhere share little with any kept one.

        Examples
        --------
        >>> from depmax import KernelRidgeElimination
        >>> X = np.random.default_rng(0).normal(size=(100, 4))
        >>> X[:, 2] = X[:, 0] + 0.1 * X[:, 2]
        >>> selector = KernelRidgeElimination(2).fit(X, 2 * X[:, 0] + X[:, 1])
        >>> selector.redundant_columns()
        {'x0': ['x2'], 'x1': []}
        """
        check_is_fitted(self)
        names = self._column_names(feature_names)
        order = np.argsort(self.ranking_)
        return {
            str(names[kept]): [str(names[p]) for p in order if self.substitutes_[p] == kept]
            for kept in order[: self.n_features_]
        }

    def _column_names(self, given: Any) -> np.ndarray:
        """Names that are given, else those of the frame that was fitted, else x0, x1 and so on."""
        names = getattr(self, "feature_names_in_", None) if given is None else list(given)
        if names is not None and len(names) != len(self.ranking_):
            raise ValueError(
                f"feature_names must hold a name for each of the {len(self.ranking_)} columns that "
                f"{type(self).__name__} was fitted to, got {len(names)}."
            )
        names = numbered_columns(len(self.ranking_)) if names is None else names
        return np.asarray(names, dtype=object)

    def _refuse_categories(self, what: str) -> None:
        """Refuse categorical columns by name; ``what`` says what the method does with numbers."""
        if self.categories_:
            column = min(self.categories_)
            name = getattr(self, "feature_names_in_", range(column + 1))[column]
            raise TypeError(
                f"{type(self).__name__} {what}, but column {name!r} is categorical: encode it as "
                "numbers, e.g. with sklearn.preprocessing.OneHotEncoder."
            )

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def _n_requested(self, n_features: int) -> int | None:
        """How many columns to keep: None is half, a float a share; "auto" is decided later."""
        requested = self.n_features_to_select
        if requested is None:
            return max(1, n_features // 2)
        if isinstance(requested, str) and requested == "auto":
            if not self._decides_how_many:
                raise ValueError(
                    f'n_features_to_select="auto" is not supported by {type(self).__name__}: '
                    "pass a number or a share."
                )
            return None
        if isinstance(requested, float | np.floating) and 0 < requested < 1:
            return max(1, int(requested * n_features))
        if is_whole(requested) and 1 <= requested <= n_features:
            return int(requested)
        raise ValueError(
            f"n_features_to_select of {type(self).__name__} must be a whole number from 1 to "
            f"{n_features} (the columns of X), a share between 0 and 1, 'auto' or None (half), got "
            f"{requested!r}."
        )

    def __sklearn_tags__(self) -> Any:
        """Supervised, any target, sparse and with missing cells where the search allows it."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.allow_nan = self.missing != "refuse"
        return tags


class WeightedSelector(DependenceSelector):
    """Base of the selectors with p-values and sums over rows, whose rows may not count alike.

    ``_rank`` takes ``groups`` and ``weight``, too.
    """

    def fit(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> Any:
        """Rank the columns of X by their dependence on y and keep the best.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : target of any type
        groups : array-like of shape (n_samples,), str, WholeGroups, WithinGroups or Shifts
            Groups of *rows* that are not independent, such as those of one patient, as in
            :func:`depmax.hsic_test`: p-values, and how many columns "auto" keeps, allow for them.
            A name is that of a column of X, which is then no feature; ``transform`` ignores it.
            Passed on in a pipeline by ``set_fit_request(groups=True)``. Groups of *columns* are
            the parameter ``column_groups`` of some classes.
        sample_weight : array-like of shape (n_samples,), optional
            How many rows each row stands for: a weight of 3 is the row three times, a weight of 0
            the row left out. There are no p-values and effects then, and no "auto"; not with
            ``groups``, nor with missing cells.

        Returns
        -------
        self
        """
        name = type(self).__name__
        self._group_column = groups if isinstance(groups, str) else None
        if sample_weight is None:
            if is_streamed(X):
                refuse_with_streams(name, groups=groups)
            X, groups = without_groups(X, groups)
            return self._fit(X, y, groups=groups)
        if groups is not None:
            raise ValueError(f"{name} takes sample_weight or groups in fit, not both.")
        if isinstance(self.n_features_to_select, str):
            raise ValueError(
                f"n_features_to_select={self.n_features_to_select!r} of {name} needs rows that "
                "count alike: with sample_weight, pass a number or a share."
            )
        return self._fit(X, y, sample_weight)


def n_dependent(selector: Any) -> int:
    """Number of columns that each depend on the target; 0 where the selector has no p-values."""
    pvalues = getattr(selector, "pvalues_adjusted_", None)
    return 0 if pvalues is None else int((pvalues <= LEVEL).sum())


def why_only(selector: Any, best: int) -> str:
    """What to say where a number of columns was asked for and none is worth keeping."""
    names = getattr(selector, "feature_names_in_", None)
    name = f"x{best}" if names is None else names[best]
    maker = f"{type(selector).__name__} with n_features_to_select='auto'"
    alone = n_dependent(selector)
    if alone:
        depend = "column depends" if alone == 1 else "columns depend"
        return (
            f"{maker} could not show on held-out rows that columns predict the target, "
            f"although {alone:,} {depend} on it (adjusted p-values of each alone). The best "
            f"one, {name!r}, is kept."
        )
    return (
        f"{maker} found no column that depends on the target. The best one, {name!r}, is kept "
        "only so that a pipeline can continue: do not read anything into it."
    )
