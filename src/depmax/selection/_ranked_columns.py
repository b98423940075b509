"""What a fitted selector reports about its columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from depmax._extras import make_frame
from depmax.data.table import numbered_columns
from depmax.selection._substitutes import LEVEL


class RankedColumns:
    """What a fitted selector reports about columns: their ranks, and which can replace which."""

    ranking_: np.ndarray
    scores_: np.ndarray
    support_: np.ndarray
    substitutes_: np.ndarray
    effects_: Any  # None without effects
    pvalues_adjusted_: Any  # None without p-values
    n_features_: int

    def to_frame(self, library: str | None = None) -> Any:
        """Data frame of all columns, best first: rank, score, kept, substitute, effect, p-value.

        The substitute of a dropped column is a kept one that shares at least a quarter of its
        variation, significantly; the cell is empty (None) where no kept column does.

        The effect (where the selector has it: with ``pvalues=True``, or as a filter by HSIC) is
        normalised HSIC of each column alone, from 0 to 1, with an interval of 95%: that of
        :func:`depmax.screen`.

        The p-value (where the selector has them) is that of the screening of each column alone,
        adjusted over all columns: it says nothing about the selected set as a whole.
        """
        check_is_fitted(self)
        order = np.argsort(self.ranking_)
        names = self._column_names()
        replaced = [None if p < 0 else names[p] for p in self.substitutes_[order]]
        columns: dict[str, Any] = {
            "column": names[order].tolist(),
            "rank": self.ranking_[order],
            "score": self.scores_[order],
            "kept": self.support_[order],
            "substitute": replaced,
        }
        if getattr(self, "effects_", None) is not None:
            for place, name in enumerate(("effect", "effect_low", "effect_high")):
                columns[name] = self.effects_[order, place]
        if getattr(self, "pvalues_adjusted_", None) is not None:
            columns["pvalue_adjusted"] = self.pvalues_adjusted_[order]
        return make_frame(columns, library)

    def redundant_columns(self) -> dict[str, list[str]]:
        """The kept columns, best first, each with the dropped columns that it can replace.

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
        names = self._column_names()
        order = np.argsort(self.ranking_)
        return {
            str(names[kept]): [str(names[p]) for p in order if self.substitutes_[p] == kept]
            for kept in order[: self.n_features_]
        }

    def _why_only(self, best: int) -> str:
        """What to say where a number of columns was asked for and none is worth keeping."""
        names = getattr(self, "feature_names_in_", None)
        name = f"x{best}" if names is None else names[best]
        maker = f"{type(self).__name__} with n_features_to_select='auto'"
        alone = n_dependent(self)
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

    def _column_names(self) -> np.ndarray:
        """Those of the frame that was fitted, else x0, x1 and so on."""
        names = getattr(self, "feature_names_in_", None)
        names = numbered_columns(len(self.ranking_)) if names is None else names
        return np.asarray(names, dtype=object)


def n_dependent(selector: Any) -> int:
    """Number of columns that each depend on the target; 0 where the selector has no p-values."""
    pvalues = getattr(selector, "pvalues_adjusted_", None)
    return 0 if pvalues is None else int((pvalues <= LEVEL).sum())
