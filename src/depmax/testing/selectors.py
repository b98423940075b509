"""The contract of a selector, as a check that anybody can run on their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone


def check_selector(selector: Any, X: np.ndarray, y: Any) -> None:
    """Check that a selector keeps the contract on X and y.

    Distinct ranks from 1, the support being the first of them, finite scores, a kept stand-in for
    every dropped column, the same answer for a second fit, and constant columns never kept before
    others.

    Parameters
    ----------
    selector : an unfitted selector that keeps fewer columns than X has
    X : ndarray of shape (n_samples, n_features)
    y : target

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import BAHSIC
    >>> from depmax.testing import check_selector
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> check_selector(BAHSIC(2), X, (X[:, 0] > 0).astype(int))
    """
    fitted = clone(selector).fit(X, y)
    n_features = X.shape[1]
    assert sorted(fitted.ranking_) == list(range(1, n_features + 1)), "ranks must be 1..n_features"
    kept = np.flatnonzero(fitted.support_)
    assert set(fitted.ranking_[kept]) == set(range(1, len(kept) + 1)), "the first ranks are kept"
    assert fitted.scores_.shape == (n_features,), "one score per column"
    assert np.isfinite(fitted.scores_).all(), "scores must be finite"
    np.testing.assert_array_equal(fitted.transform(X), X[:, kept])
    assert (fitted.stand_ins_[kept] == -1).all(), "a kept column needs no stand-in"
    replaced = fitted.stand_ins_[~fitted.support_]
    assert fitted.support_[replaced[replaced >= 0]].all(), "a stand-in must be kept itself"
    again = clone(selector).fit(X, y)
    np.testing.assert_array_equal(again.ranking_, fitted.ranking_, err_msg="a second fit differs")
    spoiled = np.column_stack([np.full(len(X), 3.0), X])
    constant = clone(selector).fit(spoiled, y)
    assert constant.ranking_[0] > len(kept), "a constant column must not be kept before others"
    assert np.isfinite(constant.scores_).all(), "a constant column must not spoil the scores"
