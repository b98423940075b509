"""Columns without the part that others explain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from depmax.data import Table, read_fit, read_new
from depmax.dependence._given.confounders import RowUnits, Scaling, positions_of
from depmax.dependence._given.regression import Regressions, RidgeCurve


class Residual(TransformerMixin, BaseEstimator):
    """Replace every column by the part that confounders, other columns of X, do not explain.

    Use it in a pipeline for features that must be free of age, batch or site: the next step sees x
    - E[x | confounders]. The confounders are columns of X, so new rows include theirs, and
    cross-validation, grid searches and saved models need nothing else. To *choose* columns or
    directions while accounting for confounders, and still get the original columns, use
    :class:`depmax.Unconfounded`.

    Parameters
    ----------
    given : str, int, or sequence of these
        The confounders among the columns of X, by name or position: numbers and categories. They
        are not among the features.

    Attributes
    ----------
    explained_ : ndarray of shape (n_features_out,)
        Share of the variance of each remaining column that the confounders explain on left-out
        rows. Near 0, they explain nothing, or no regression could find it.
    given_ : ndarray of int
        Positions of the confounders.
    categories_ : dict
        Levels of the categorical confounders.

    Notes
    -----
    Every column has its own regression: kernel ridge on at most 160 landmark rows, with kernel and
    penalty chosen by leave-one-out error, as in ``hsic_test(..., given=Z)``
    (docs/mathematics/given.md). Only the mean is removed; if the *spread* of a column depends on a
    confounder, that dependence remains. Columns other than confounders must be numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import Residual
    >>> age, noise = np.random.default_rng(0).normal(size=(2, 300))
    >>> X = np.column_stack([age, np.sin(2 * age) + 0.1 * noise])
    >>> step = Residual(given=0).fit(X)
    >>> step.explained_.round(2)
    array([0.98])
    >>> bool(np.corrcoef(step.transform(X)[:, 0], noise)[0, 1] > 0.9)
    True
    """

    def __init__(self, given: str | int | Sequence[str | int]) -> None:
        self.given = given

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what the confounders explain of every other column.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        rows, self.categories_ = read_fit(self, X)
        if len(rows) < 2:
            raise ValueError(f"A regression needs at least 2 rows, got n_samples = {len(rows)}.")
        names = getattr(self, "feature_names_in_", None)
        self.given_ = positions_of(self.given, names, rows.shape[1])
        others = self._others()
        self._refuse_categories(others)
        levels = {
            place: self.categories_[position]
            for place, position in enumerate(self.given_.tolist())
            if position in self.categories_
        }
        self._scaling = Scaling.of(Table(rows[:, self.given_], categories=levels))
        self._curves, self.explained_ = self._regress(rows)
        return self

    def _regress(self, rows: np.ndarray) -> tuple[list[tuple[np.ndarray, RidgeCurve]], np.ndarray]:
        """Curves with the columns that each explains, and how much of every column."""
        regressions = Regressions(self._scaling.apply(rows[:, self.given_]), RowUnits(len(rows)))
        columns = np.asarray(rows[:, self._others()], dtype=np.float64)
        spread = columns.std(axis=0)
        varies = np.flatnonzero(spread > 0.0)
        explained = np.zeros(columns.shape[1])
        if not len(varies):
            return [], explained
        scaled = columns[:, varies] / spread[varies]
        found = regressions.best_of_each(scaled, regressions.directions(scaled))
        explained[varies] = [max(0.0, 1.0 - smoother.error) for smoother, _ in found]
        alike: dict[int, list[int]] = {}  # columns whose regressions have the same kernel
        for place, (_, winner) in enumerate(found):
            alike.setdefault(id(winner), []).append(place)
        curves = []
        for places in alike.values():
            each = [found[place][0].curve(columns[:, [varies[place]]]) for place in places]
            weights = np.hstack([curve.weights for curve in each])
            offset = np.concatenate([curve.offset for curve in each])
            curve = RidgeCurve(each[0].similarity, each[0].landmarks, weights, offset)
            curves.append((varies[places], curve))
        return curves, explained

    def transform(self, X: Any) -> np.ndarray:
        """The remaining columns of new rows, without what the confounders explain.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features - n_confounders)
        """
        check_is_fitted(self)
        rows = read_new(self, X, categories=self.categories_)
        Z = self._scaling.apply(rows[:, self.given_]).values
        left = np.array(rows[:, self._others()])
        for places, curve in self._curves:
            left[:, places] -= curve(Z).astype(left.dtype)
        return left

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that are not confounders."""
        check_is_fitted(self)
        return np.asarray(_check_feature_names_in(self, input_features)[self._others()])

    def _others(self) -> np.ndarray:
        """Positions of the columns that are not confounders."""
        return np.setdiff1d(np.arange(self.n_features_in_), self.given_)

    def _refuse_categories(self, others: np.ndarray) -> None:
        for position in others.tolist():
            if position in self.categories_:
                name = getattr(self, "feature_names_in_", range(position + 1))[position]
                raise TypeError(
                    f"Column {name!r} is categorical, and Residual "
                    "subtracts regressions from numbers: encode it, e.g. with "
                    "sklearn.preprocessing.OneHotEncoder, or name it in given."
                )

    def __sklearn_tags__(self) -> Any:
        """Numbers in, numbers of the same precision out."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
