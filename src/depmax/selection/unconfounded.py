"""Any selector or extractor, fitted to what confounders do not explain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_feature_names,
    _check_feature_names_in,
    _check_n_features,
    check_is_fitted,
)

from depmax.data.columns import is_frame
from depmax.data.table import refuse_unreadable
from depmax.dependence._given.conditional import (
    GivenSide,
    Left,
    left_of_columns,
    read_dense,
    read_given,
    read_left_target,
)
from depmax.dependence._given.confounders import positions_of
from depmax.dependence._given.regression import Regressions, RidgeBasis
from depmax.dependence.independence_test import GivenFit


def _selects(wrapper: Unconfounded) -> bool:
    """Whether the estimator chooses columns, so that its result says nothing about values."""
    return hasattr(wrapper.estimator, "get_support")


@dataclass(eq=False, repr=False)
class Unconfounded(MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """Fit a selector or an extractor to what confounders do not explain.

    A column that depends on the target only because both depend on age, batch or site is then not
    chosen, and one with an effect of its own is. The regression of the target's images ψ(y) on the
    confounders is subtracted, ψ - E[ψ | Z]; for a selector, so is that of the columns. The output
    is the original columns, or features of them: new rows need no confounders.

    Parameters
    ----------
    estimator : selector or extractor
        With a ``target_kernel`` (:class:`depmax.BAHSIC`, :class:`depmax.HSICLasso`,
        :class:`depmax.HBFE`, …) or one that takes several outputs as y (:class:`depmax.KernelPLS`,
        scikit-learn's ``PLSRegression``, ``RFE`` with a forest, …). Methods that separate classes
        do not work, since a residual has no classes.
    given : str, int, or sequence of these, optional
        The confounders among the columns of X, by name or position: numbers and categories. The
        estimator does not see them. If None, ``fit`` takes them as an argument.

    Attributes
    ----------
    estimator_ : selector or extractor
        The fitted estimator, with its ``ranking_``, ``to_frame()``, ``components_`` and so on.
    explained_y_ : float
        Share of the target that the confounders explain on left-out rows.
    explained_x_ : ndarray or None
        The same for every column, in the order of the columns; NaN for categories and columns with
        at most 20 values, which are not regressed. None for extractors, whose columns are not
        regressed.

    Notes
    -----
    If a set of columns is independent of y given Z, then E[φ ⊗ (ψ - E[ψ|Z])] = 0 for any images φ
    of it: whatever the residuals of the target depend on is not explained by the confounders. So an
    extractor only needs residuals of the target, and its features can be computed without Z. They
    may still *resemble* a confounder; put :class:`depmax.Residual` before the extractor for
    features free of it. Selectors also use residuals of the columns, since then only the product of
    the errors of both regressions matters (docs/mathematics/given.md).

    P-values and ``"auto"`` of the estimator treat residuals as data, with an error of the order of
    the number of parameters per row; for p-values of single columns use ``screen(X, y, given=Z)``.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import BAHSIC, Unconfounded
    >>> rng = np.random.default_rng(0)
    >>> age, own, noise = rng.normal(size=(3, 300))
    >>> echo = np.sin(2 * age) + 0.3 * rng.normal(size=300)  # resembles y only by age
    >>> X, y = np.column_stack([echo, own, noise]), 2 * np.sin(2 * age) + own
    >>> BAHSIC(1).fit(X, y).get_support()
    array([ True, False, False])
    >>> Unconfounded(BAHSIC(1)).fit(X, y, given=age).get_support()
    array([False,  True, False])

    With the confounder as a column of X, for pipelines and cross-validation:

    >>> X = np.column_stack([age, X])
    >>> Unconfounded(BAHSIC(1), given=0).fit(X, y).get_support()
    array([False, False,  True, False])
    """

    estimator: Any
    _: KW_ONLY
    given: str | int | Sequence[str | int] | None = None

    def fit(self, X: Any, y: Any = None, given: Any = None, **params: Any) -> Self:
        """Fit the estimator to what the confounders do not explain.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : target of any type, without gaps
        given : array-like, series or data frame of shape (n_samples, n_confounders), optional
            Confounders, if they are not columns of X. Passed on in a pipeline by
            ``set_fit_request(given=True)`` where scikit-learn's metadata routing is enabled.
        **params
            For ``fit`` of the estimator, such as ``groups``.

        Returns
        -------
        self
        """
        refuse_unreadable(X, "X", type(self).__name__)
        _check_feature_names(self, X, reset=True)
        _check_n_features(self, X, reset=True)
        columns, confounders = self._split(X, given)
        regressions = read_given(confounders)
        if params and get_config()["enable_metadata_routing"]:
            params = process_routing(self, "fit", **params).estimator.fit
        model = clone(self.estimator)
        target, side, left = _unexplained(model, y, regressions)
        self.explained_y_, self.explained_x_ = side.explained, None
        if _selects(self):
            columns, of_x = _residual_columns(columns, regressions, left.winners)
            self.explained_x_ = np.full(columns.shape[1], np.nan)
            self.explained_x_[list(of_x.positions)] = of_x.explained
            doubt = float(np.sqrt(max(of_x.dofs, default=0.0) * side.dof / len(target)))
            GivenFit(self.explained_x_, side.explained, doubt).warn()
        self.estimator_ = model.fit(columns, target, **params)
        return self

    def transform(self, X: Any) -> Any:
        """Transform new rows with the estimator; they need no confounders besides X.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            With the columns of ``fit``, including any confounders among them.

        Returns
        -------
        array or data frame
        """
        check_is_fitted(self)
        _check_feature_names(self, X, reset=False)
        _check_n_features(self, X, reset=False)
        return self.estimator_.transform(self._columns(X))

    @available_if(_selects)
    def get_support(self, indices: bool = False) -> np.ndarray:
        """Mask, or positions, of the columns of X that are kept; confounders are not."""
        check_is_fitted(self)
        kept = self._others()[self.estimator_.get_support(indices=True)]
        return kept if indices else np.isin(np.arange(self.n_features_in_), kept)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of what ``transform`` returns."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)[self._others()]
        return np.asarray(self.estimator_.get_feature_names_out(names))

    def get_metadata_routing(self) -> MetadataRouter:
        """``given`` is used here; everything else passed to ``fit`` goes to the estimator."""
        return (
            MetadataRouter(owner=type(self).__name__)
            .add_self_request(self)
            .add(
                estimator=self.estimator,
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )

    def __sklearn_tags__(self) -> Any:
        """Dense rows and a target."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    # --- columns ---------------------------------------------------------------------------------
    def _split(self, X: Any, given: Any) -> tuple[Any, Any]:
        """Columns for the estimator, and the confounders."""
        if (given is None) == (self.given is None):
            raise ValueError(
                "Unconfounded needs confounders, once: name columns of X, "
                "Unconfounded(estimator, given=[...]), or pass them, fit(X, y, given=Z)."
            )
        if given is not None:
            self.given_ = np.array([], dtype=np.intp)
            return X, given
        names = getattr(self, "feature_names_in_", None)
        self.given_ = positions_of(self.given, names, self.n_features_in_)
        return self._columns(X), _safe_indexing(_indexable(X), self.given_, axis=1)

    def _columns(self, X: Any) -> Any:
        """X without the confounders."""
        return X if not len(self.given_) else _safe_indexing(_indexable(X), self._others(), axis=1)

    def _others(self) -> np.ndarray:
        """Positions of the columns that are not confounders."""
        return np.setdiff1d(np.arange(self.n_features_in_), self.given_)


def _indexable(X: Any) -> Any:
    """X itself, or an array of nested lists."""
    return X if hasattr(X, "shape") else np.asarray(X)


# --- residuals ------------------------------------------------------------------------------------
def _unexplained(
    model: Any, y: Any, regressions: Regressions
) -> tuple[np.ndarray, GivenSide, Left]:
    """The target as the model is to see it, as numbers; its target kernel becomes linear."""
    has_kernel = {"kernel", "target_kernel"} <= {*model.get_params(deep=False)}
    kernel = getattr(model, "target_kernel", "auto")
    if isinstance(kernel, str) and kernel == "inputs":
        raise ValueError("target_kernel='inputs' has no target that confounders could explain.")
    sample, left = read_left_target(y, kernel, regressions)
    side = GivenSide.of(sample, left, regressions, left.winners)
    values = side.left
    if has_kernel and _reads_kernel(model):
        model.set_params(target_kernel="linear")
    elif left.winners:  # numbers: an output each, not the images of a kernel
        values = left.values
    return values[:, 0] if values.shape[1] == 1 else values, side, left


def _reads_kernel(model: Any) -> bool:
    """Whether a target kernel makes a difference: not for most scores of a filter."""
    return str(getattr(model, "score_func", "hsic")) in ("hsic", "alignment")


def _residual_columns(
    X: Any, regressions: Regressions, also: Sequence[RidgeBasis]
) -> tuple[Any, Left]:
    """Columns of numbers without what confounders explain; others as they are.

    Kernels that were best for the target compete for the columns too.
    """
    table = read_dense(X, regressions)
    numeric = [j for j in range(table.values.shape[1]) if j not in table.categories]
    left = left_of_columns(table.values, numeric, regressions, also)
    if not is_frame(X):
        return left.values, left
    frame = nw.from_native(X, eager_only=True)
    replaced = [
        nw.new_series(frame.columns[j], left.values[:, j], backend=frame.implementation)
        for j in left.positions
    ]
    return frame.with_columns(*replaced).to_native(), left
