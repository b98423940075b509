"""Targets of compared methods: classes as indicators."""

import numpy as np
from sklearn.cross_decomposition import PLSRegression

from depmax.evaluation import NumericTarget


def test_classes_as_indicators_for_pls():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.choice(["a", "b", "c"], size=40)
    found = NumericTarget(PLSRegression(2)).fit(X, y)
    expected = PLSRegression(2).fit(X, np.eye(3)[np.unique(y, return_inverse=True)[1]])
    np.testing.assert_allclose(found.transform(X), expected.transform(X))
    assert found.components_.shape == (2, 3)
    assert found.get_feature_names_out().tolist() == ["plsregression0", "plsregression1"]
