"""Selectors whose rows may stand for several each."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from depmax._inputs.table import Categories
from depmax.samples import refuse_missing, weigh
from depmax.selection.selector import GroupsOfRows, Ranking


class WeightedRows(GroupsOfRows):
    """``fit`` of the selectors by HSIC, to whose sums a row may contribute many times."""

    n_features_to_select: Any

    def fit(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> Any:
        """Rank the columns of X by their dependence on y and keep the best.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : target of any type
        groups : array-like of shape (n_samples,), WholeGroups, WithinGroups or Shifts, optional
            Groups of *rows* that are not independent, such as those of one patient, as in
            :func:`depmax.hsic_test`: p-values, and how many columns "auto" keeps, allow for them.
            Passed on in a pipeline by ``set_fit_request(groups=True)``. Groups of *columns* are a
            parameter of the class.
        sample_weight : array-like of shape (n_samples,), optional
            How many rows each row stands for: a weight of 3 is the row three times, a weight of 0
            the row left out. There are no p-values and effects then, and no "auto"; not with
            ``groups``, nor with missing cells.

        Returns
        -------
        self
        """
        if sample_weight is None:
            return super().fit(X, y, groups)
        name = type(self).__name__
        if groups is not None:
            raise ValueError(f"{name} takes sample_weight or groups in fit, not both.")
        if isinstance(self.n_features_to_select, str):
            raise ValueError(
                f"n_features_to_select={self.n_features_to_select!r} of {name} needs p-values, "
                "which rows with sample_weight do not give: pass a number or a share."
            )
        weighed = weigh(sample_weight, X, y)
        return self._fit(
            weighed.of(X), weighed.of(y), partial(self._rank_weighed, mass=weighed.mass)
        )

    def _rank_weighed(self, X: Any, y: Any, categories: Categories, mass: np.ndarray) -> Ranking:
        """``_rank`` of rows without missing cells."""
        refuse_missing(X, type(self).__name__, getattr(self, "feature_names_in_", None))
        return self._rank(X, y, categories, mass=mass)
