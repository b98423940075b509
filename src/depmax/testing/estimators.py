"""The contracts of selectors and extractors, as checks that anybody can run on their own."""

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


def check_extractor(extractor: Any, X: np.ndarray, y: Any, *, tol: float = 1e-6) -> None:
    """Check that an extractor keeps the contract on X and y.

    Features with mean zero on the training rows, the same from ``fit_transform`` as from
    ``transform``; one dependence per feature; a feature that neither an offset of X nor the order
    of the rows changes, nor a second fit; names; and for linear features weights that make them.

    Parameters
    ----------
    extractor : an unfitted extractor
    X : ndarray of shape (n_samples, n_features)
    y : target
    tol : float, default=1e-6
        Relative to the largest feature value.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import HBFE
    >>> from depmax.testing import check_extractor
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> check_extractor(HBFE(2), X, (X[:, 0] > 0).astype(int))
    """
    fitted = clone(extractor).fit(X, y)
    features = fitted.transform(X)
    count = features.shape[1]
    atol = tol * np.abs(features).max()
    assert np.isfinite(features).all(), "features must be finite"
    assert np.abs(features.mean(axis=0)).max() <= atol, "training features must have mean zero"
    assert len(fitted.get_feature_names_out()) == count, "one name per feature"
    assert np.shape(fitted.dependence_) == (count,), "one dependence per feature"
    assert np.isfinite(fitted.dependence_).all(), "dependence_ must be finite"

    def same(other: np.ndarray, why: str) -> None:
        np.testing.assert_allclose(other, features, atol=atol, err_msg=why)

    same(clone(extractor).fit_transform(X, y), "fit_transform differs from transform")
    same(clone(extractor).fit(X, y).transform(X), "a second fit differs")
    same(clone(extractor).fit_transform(X + 100.0, y), "an offset of X changes the features")
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = clone(extractor).fit(X[order], np.asarray(y)[order]).transform(X)
    same(shuffled, "the order of the rows changes the features")
    if hasattr(fitted, "components_"):
        same((X - X.mean(axis=0)) @ fitted.components_.T, "components_ do not make the features")
        rebuilt = fitted.inverse_transform(features)
        assert rebuilt.shape == X.shape, "inverse_transform must give rows like those of X"
        error = X - rebuilt
        assert np.abs(features.T @ error).max() <= tol * np.abs(features.T @ X).max(), (
            "inverse_transform is not the least squares regression on the features"
        )
