"""The radius/margin bound: both quadratic problems, the gradient, and what is found."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize

from depmax.kernels import Gaussian
from depmax.testing import check_selector
from reproduction.r2w2 import (
    R2W2,
    RadiusMargin,
    scaled_kernel,
    separate,
    smallest_ball,
)


@pytest.fixture(name="X")
def make_inputs():
    return np.random.default_rng(0).normal(size=(30, 4))


@pytest.fixture
def signs(X):
    noise = 0.3 * np.random.default_rng(1).normal(size=30)
    return np.where(X[:, 0] - X[:, 1] + noise > 0, 1.0, -1.0)


class TestTheTwoProblems:
    def test_ball_of_a_triangle(self):
        """The circle around an equilateral triangle of side 1, and a point well inside."""
        points = np.array([[0, 0], [1, 0], [0.5, np.sqrt(0.75)], [0.5, 0.3]])
        radius, centre = smallest_ball(points @ points.T)
        assert radius == pytest.approx(1 / 3, rel=1e-6)
        np.testing.assert_allclose(centre, [1 / 3, 1 / 3, 1 / 3, 0], atol=1e-5)

    def test_ball_does_not_depend_on_the_origin(self, X):
        """The diagonal of this kernel is far from constant."""
        moved = X + np.array([100.0, 0.0, -50.0, 3.0])
        here, there = smallest_ball(X @ X.T)[0], smallest_ball(moved @ moved.T)[0]
        assert there == pytest.approx(here, rel=1e-5)

    def test_ball_against_the_centre_found_directly(self, X):
        """Smallest r with ‖x - c‖² ≤ r for all rows, by a general solver."""
        found = optimize.minimize(
            lambda p: p[4],
            np.r_[X.mean(axis=0), 30.0],
            method="SLSQP",
            constraints={"type": "ineq", "fun": lambda p: p[4] - np.sum((X - p[:4]) ** 2, axis=1)},
            options={"ftol": 1e-12},
        )
        assert smallest_ball(X @ X.T)[0] == pytest.approx(found.fun, rel=1e-5)

    def test_margin_against_the_primal(self, X, signs):
        """min ‖w‖² + C Σξ² with y(xw + b) ≥ 1 - ξ, by a general solver."""
        C = 3.0
        size = separate(X @ X.T + np.eye(30) / C, signs)[0]

        def objective(parameters):
            slack = np.maximum(0.0, 1.0 - signs * (X @ parameters[:4] + parameters[4]))
            return parameters[:4] @ parameters[:4] + C * slack @ slack

        found = optimize.minimize(objective, np.zeros(5), method="BFGS", options={"gtol": 1e-9})
        assert size == pytest.approx(found.fun, rel=1e-6)


class TestTheGradient:
    @pytest.mark.parametrize("kernel", ["linear", "gaussian", Gaussian(1.5)])
    @pytest.mark.parametrize("C", [1.0, 100.0])
    @pytest.mark.parametrize("n_machines", [1, 3])
    def test_against_differences(self, X, signs, kernel, C, n_machines):
        labels = [signs, np.where(X[:, 2] > 0, 1.0, -1.0), np.where(X[:, 3] > 1, 1.0, -1.0)]
        bound = RadiusMargin(scaled_kernel(kernel, X), np.array(labels[:n_machines]), C)
        factors = np.array([0.9, 0.5, 0.7, 0.3])
        found = bound.value_and_gradient(factors)[1]
        step = 1e-4
        expected = [
            (
                bound.value_and_gradient(factors + step * unit)[0]
                - bound.value_and_gradient(factors - step * unit)[0]
            )
            / (2 * step)
            for unit in np.eye(4)
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4 * np.abs(found).max())

    @pytest.mark.parametrize("kernel", ["linear", "gaussian"])
    def test_it_does_not_vanish_with_the_factor(self, X, signs, kernel):
        """In θ = σ², unlike σ, a column at zero still shows whether it would help."""
        bound = RadiusMargin(scaled_kernel(kernel, X), signs[np.newaxis], 100.0)
        gradient = bound.value_and_gradient(np.array([0.0, 1.0, 1.0, 1.0]))[1]
        assert gradient[0] < 0

    def test_the_bound_falls(self, X, signs):
        found = R2W2().fit(X, signs)
        values = [value for _, value in found.path_]
        assert len(values) == found.n_iter_
        assert (np.diff(values) <= 1e-9 * values[0]).all()


class TestWhatItFinds:
    @pytest.mark.parametrize("kernel", ["linear", "gaussian"])
    def test_two_classes(self, kernel):
        X = np.random.default_rng(0).normal(size=(80, 4))
        found = R2W2(2, kernel=kernel).fit(X, X[:, 0] > X[:, 1])
        assert found.support_.tolist() == [True, True, False, False]

    def test_xor(self):
        X = np.random.default_rng(0).normal(size=(100, 10))
        found = R2W2(2).fit(X, X[:, 3] * X[:, 7] > 0)
        assert np.flatnonzero(found.support_).tolist() == [3, 7]

    def test_several_classes_and_labels(self):
        X = np.random.default_rng(0).normal(size=(60, 6))
        y = np.where(X[:, 1] > 0.5, "a", np.where(X[:, 4] > 0, "b", "c"))
        assert np.flatnonzero(R2W2(2).fit(X, y).support_).tolist() == [1, 4]
        labels = np.column_stack([X[:, 1] > 0, X[:, 4] > 0, np.ones(60)]).astype(int)
        assert np.flatnonzero(R2W2(2).fit(X, labels).support_).tolist() == [1, 4]

    def test_units_do_not_matter(self, X, signs):
        moved = X * [1e-3, 1.0, 1e3, 1.0] + 5.0
        one, two = R2W2().fit(X, signs), R2W2().fit(moved, signs)
        np.testing.assert_array_equal(one.support_, two.support_)


class TestInput:
    def test_keeps_the_contract(self, X, signs):
        check_selector(R2W2(2), X, signs)

    def test_numbers_are_refused(self, X):
        with pytest.raises(ValueError, match=r"y holds .*ZeroNormSVM"):
            R2W2().fit(X, X[:, 0])
        with pytest.raises(ValueError, match=r"y holds .*ZeroNormSVM"):
            R2W2().fit(X, X[:, :2])

    def test_other_kernels_are_refused(self, X, signs):
        with pytest.raises(ValueError, match="not of Laplace"):
            R2W2(kernel="laplace").fit(X, signs)

    def test_categories_are_refused(self, signs):
        with pytest.raises(TypeError, match="categorical: encode it"):
            R2W2().fit(pd.DataFrame({"a": pd.Categorical(signs)}), signs)
