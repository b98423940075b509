"""The contract of an extractor, as a check that anybody can run on their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone


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
