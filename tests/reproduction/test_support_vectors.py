"""Sparse kernel PLS whose directions are ε-insensitive regressions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, optimize
from sklearn.base import clone

from depmax.kernels import Gaussian
from reproduction.support_vectors import SupportVectorPLS
from tests.extraction.deflation_oracles import gaussian_gram

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 6)) @ rng.normal(size=(6, 6)) + 2.0
y = X[:, 0] + X[:, 3] ** 2 + 0.3 * rng.normal(size=50)
Y = np.column_stack([y, np.sin(X[:, 1])])


@pytest.mark.parametrize("nu", [0.2, 0.6])
@pytest.mark.parametrize("C", [0.3, 5.0])
def test_directions_solve_the_quadratic_problem(nu, C):
    rows, target = X[:24], y[:24]
    K = gaussian_gram(rows, 3.0)
    model = SupportVectorPLS(3, nu=nu, C=C, kernel=Gaussian(3.0))
    T = model.fit_transform(rows, target)
    Q, used = np.full((24, 1), 24**-0.5), set()
    for t in T.T:
        left = target - Q @ (Q.T @ target)
        beta = _epsilon_insensitive(K, left / np.sqrt(np.mean(left**2)), nu, C)
        used |= set(np.flatnonzero(np.abs(beta) > 1e-4 * C))
        image = K @ beta / np.sqrt(beta @ K @ beta)
        feature = image - Q @ (Q.T @ image)
        np.testing.assert_allclose(np.abs(feature), np.abs(t), atol=2e-4)
        Q = np.column_stack([Q, t / linalg.norm(t)])
    np.testing.assert_array_equal(model.basis_indices_, sorted(used))
    np.testing.assert_allclose(model.transform(rows), T, atol=1e-9)


def test_directions_depend_on_no_units():
    expected = SupportVectorPLS(2, kernel=Gaussian(3.0), nu=0.3).fit_transform(X, Y)
    model = SupportVectorPLS(2, kernel=9.0 * Gaussian(3.0), nu=0.3)
    found = model.fit_transform(X, 100.0 * Y + 5.0)
    np.testing.assert_allclose(found, 3.0 * expected, atol=1e-4)
    assert 0.3 * 50 <= len(model.basis_indices_) < 50


@pytest.mark.parametrize("kernel", ["linear", Gaussian(3.0)], ids=repr)
@pytest.mark.parametrize("shift", [3.0, 1e4])
def test_a_shift_changes_nothing(kernel, shift):
    expected = SupportVectorPLS(2, kernel=kernel).fit(X, y)
    model = SupportVectorPLS(2, kernel=kernel).fit(X + shift, y)
    scale = np.abs(expected.transform(X)).max(axis=0)
    after, before = model.transform(X[:9] + shift), expected.transform(X[:9])
    np.testing.assert_allclose(after / scale, before / scale, atol=1e-5)


def test_the_global_seed_is_left_alone():
    np.random.seed(0)  # noqa: NPY002  # the state that must not be drawn from
    before = np.random.get_state()[1].copy()  # noqa: NPY002  # the same state
    SupportVectorPLS(1).fit(X, y)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002  # the same


def test_parameters():
    assert clone(SupportVectorPLS(C=10.0)).get_params()["C"] == 10.0
    with pytest.raises(ValueError, match="C of SupportVectorPLS must be"):
        SupportVectorPLS(C=0.0).fit(X, y)


def _epsilon_insensitive(K, residual, nu, C):
    """β of ν-support vector regression, by a general solver for its dual problem."""
    m = len(K)

    def objective(a):
        beta = a[:m] - a[m:]
        slope = K @ beta - residual
        return beta @ K @ beta / 2 - residual @ beta, np.concatenate([slope, -slope])

    signs = np.repeat([1.0, -1.0], m)
    found = optimize.minimize(
        objective,
        np.zeros(2 * m),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, C)] * (2 * m),
        constraints=[
            {"type": "eq", "fun": lambda a: signs @ a, "jac": lambda a: signs},
            {
                "type": "ineq",
                "fun": lambda a: C * nu * m - a.sum(),
                "jac": lambda a: -np.ones(2 * m),
            },
        ],
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    assert found.status in (0, 8), found.message  # 8: rounding decides what decreases
    return found.x[:m] - found.x[m:]
