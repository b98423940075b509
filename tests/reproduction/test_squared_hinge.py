"""The machine with squared hinge loss: scikit-learn's optimum, to rounding."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from reproduction.zero_norm_svm import hinge_weights


def problem(noise: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6)) * [1.0, 0.3, 2.0, 1.0, 0.1, 1.0]
    return X, np.where(X[:, 0] - X[:, 2] + 0.4 + noise * rng.normal(size=120) > 0, 1.0, -1.0)


@pytest.mark.parametrize("noise", [0.0, 0.5, 5.0])
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
def test_the_optimum_of_scikit_learn(noise, C):
    X, signs = problem(noise)
    theirs = LinearSVC(C=C, dual=False, tol=1e-10, max_iter=100_000).fit(X, signs)
    found = hinge_weights(X, signs, C)
    np.testing.assert_allclose(found, theirs.coef_[0], rtol=1e-4, atol=1e-4)


def test_the_gradient_vanishes_where_scales_differ_by_far():
    X, signs = problem(0.5)
    X = X * 10.0 ** np.arange(-3, 3)
    inputs = np.column_stack([X, np.ones(120)])
    found = hinge_weights(X, signs, 1.0)

    def slope(b: float) -> np.ndarray:
        weights = np.append(found, b)
        short = np.maximum(0.0, 1.0 - signs * (inputs @ weights))
        return weights - 2.0 * inputs.T @ (signs * short)

    low, high = -10.0, 10.0  # the intercept, which is not returned, by bisection
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(middle)[-1] > 0 else (middle, high)
    np.testing.assert_allclose(slope(low), 0.0, atol=1e-7 * np.abs(inputs.T).sum())


def test_labels_turned_around_turn_the_weights():
    X, signs = problem(0.5)
    np.testing.assert_allclose(hinge_weights(X, -signs, 1.0), -hinge_weights(X, signs, 1.0))
