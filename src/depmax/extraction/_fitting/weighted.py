"""Extractors whose rows may stand for several each."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from depmax.extraction._fitting.number_of_components import ComponentCount
from depmax.extraction.extractor import DependenceExtractor
from depmax.samples import Weighed, is_precomputed, weigh


class WeightedExtractor(DependenceExtractor):
    """Base of the extractors that are sums over rows, to which a row may contribute many times."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features), or objects
            With ``kernel="precomputed"`` the kernel matrix of shape (n_samples, n_samples).
            Methods that are sums over rows also take a Dask collection and what
            :func:`depmax.scan` makes of files.
        y : target of any type
            For a Dask collection another one; a scan brings its own.
        sample_weight : array-like of shape (n_samples,), optional
            How many rows each row stands for: a weight of 3 is the row three times, a weight of 0
            the row left out. For rows in memory, and a number (or share) of components.

        Returns
        -------
        self
        """
        self._learn(*self._weighed(X, y, sample_weight))
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Find the directions and return the features of the training rows.

        Parameters
        ----------
        X, y, sample_weight : as in ``fit``

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Of every row that is given, whatever its weight.
        """
        fitted = self._learn(*self._weighed(X, y, sample_weight))
        complete = fitted.complete and sample_weight is None  # else rows may have been left out
        return fitted.features if complete else self._apply(X)

    def _weighed(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, Any, ComponentCount | None, Weighed | None]:
        """What ``_learn`` takes: of X and y the rows that have a positive weight, and these.

        A kernel matrix keeps its rows, since new rows will be compared with all of them.
        """
        if sample_weight is None:
            return X, y, None, None
        if isinstance(self.n_components, str):
            raise ValueError(
                f"n_components={self.n_components!r} of {type(self).__name__} compares fits to "
                "parts of the rows and does not take sample_weight: give a number, or a share."
            )
        weighed = weigh(sample_weight, X, y)
        rows = X if is_precomputed(self.kernel) else weighed.of(X)
        return rows, weighed.of(y), None, weighed
