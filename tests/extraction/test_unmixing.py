"""The likelihood of ICA-FX and its parts, against their definitions.

Private modules: a fit shows the end of a search; its likelihood, gradient and steps are compared
here one by one.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, optimize

from depmax.extraction import NaturalGradient, QuasiNewton
from depmax.extraction import _ica_likelihood as module
from depmax.extraction._ica_likelihood import (
    GAUSSIAN,
    LOG_NORMALISERS,
    SUB,
    SUPER,
    HeldRows,
    Likelihood,
    Peakedness,
    Residuals,
    sphere,
)
from depmax.extraction._ica_solvers import (
    ScaledLoss,
    one_more,
    separate,
    starts,
    the_most_moved,
)

rng = np.random.default_rng(0)
X = np.hstack([rng.laplace(size=(150, 2)), rng.uniform(-2, 2, size=(150, 2))]) @ rng.normal(
    size=(4, 4)
)
T = np.column_stack([X[:, 0] + rng.normal(size=150), rng.normal(size=150)])
T -= T.mean(axis=0)
STATES = np.array([SUPER, SUB, GAUSSIAN, SUPER])


def make_likelihood(n_components=2, alpha=1e-3, rows=X, codes=T, n_jobs=None):
    rows, size = rows - rows.mean(axis=0), len(rows)
    sphering = sphere(rows.T @ rows / size, rows.T @ codes / size, codes.T @ codes / size)
    inputs, targets = rows @ sphering.inputs, codes @ sphering.targets
    residuals = Residuals.of(sphering.correlations, targets.shape[1], alpha)
    held = HeldRows(residuals.beside(inputs, targets), n_jobs)
    return Likelihood(held, residuals, n_components, alpha), inputs, targets, sphering


def free_weights(model, rng):
    """Random weights, zero where discarded sources would have weights of the targets."""
    weights = rng.normal(size=(model.n_inputs, model.n_inputs + model.n_targets))
    weights[model.n_components :, model.n_inputs :] = 0.0
    return weights


def log_likelihood(model, weights, states):
    """Mean of log p(x | t), without penalty."""
    W, _ = model.published(weights)
    return 0.5 * model.alpha * (W**2).sum() - model.loss(weights, states)[0]


def log_density(u, state):
    return -0.5 * u**2 - state * np.log(np.cosh(u)) - LOG_NORMALISERS[state]


class TestSources:
    @pytest.mark.parametrize("state", [SUPER, GAUSSIAN, SUB])
    def test_densities_integrate_to_one(self, state):
        total, _ = integrate.quad(lambda u: np.exp(log_density(u, state)), -30, 30)
        assert total == pytest.approx(1.0, abs=1e-9)

    def evidence(self, u):
        return Peakedness.of(np.ones((1, 1)), [u[np.newaxis, :]])

    @pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
    def test_evidence_knows_tails_at_every_scale(self, scale):
        draws = np.random.default_rng(1)
        heavy = self.evidence(scale * draws.laplace(size=20000))
        light = self.evidence(scale * draws.uniform(-1.7, 1.7, size=20000))
        normal = self.evidence(scale * draws.normal(size=20000))
        assert heavy.nearest == SUPER
        assert light.nearest == SUB
        assert abs(normal.value) < 4 * normal.error

    def test_standard_error(self):
        draws = np.random.default_rng(2).laplace(size=(500, 400))
        found = [self.evidence(u) for u in draws]
        spread = np.std([e.value[0] for e in found])
        assert np.mean([e.error[0] for e in found]) == pytest.approx(spread, rel=0.15)

    def test_hysteresis(self):
        between = Peakedness(np.array([1.5, 1.5, -1.5, 0.5]), *np.ones((2, 4)))
        before = np.array([GAUSSIAN, SUPER, SUPER, SUPER])
        np.testing.assert_array_equal(between.after(before), [GAUSSIAN, SUPER, GAUSSIAN, GAUSSIAN])
        np.testing.assert_array_equal(
            between.turned(np.array([SUB, SUPER, SUPER, SUPER])),
            [SUPER, SUPER, SUB, SUPER],
        )
        clear = Peakedness(np.array([9.0, -9.0]), *np.ones((2, 2)))
        np.testing.assert_array_equal(clear.after(np.array([SUB, SUPER])), [SUPER, SUB])


class TestSphering:
    def test_second_moments(self):
        model, inputs, targets, sphering = make_likelihood()
        np.testing.assert_allclose(inputs.T @ inputs / 150, np.eye(4), atol=1e-10)
        np.testing.assert_allclose(targets.T @ targets / 150, np.eye(2), atol=1e-10)
        expected = np.zeros((4, 2))
        np.fill_diagonal(expected, sphering.correlations)
        np.testing.assert_allclose(inputs.T @ targets / 150, expected, atol=1e-10)
        # With the noise that alpha stands for, (x, r) is white.
        noisy = model.rows.second_moments + np.diag([model.alpha] * 4 + [0, 0])
        noisy[4:, 4:] += model.back @ model.back.T * model.alpha
        np.testing.assert_allclose(np.diag(noisy)[4:], 1.0, atol=1e-9)

    def test_collinear_and_many_targets(self, rng):
        codes = np.column_stack([T, T[:, 0] - T[:, 1], rng.normal(size=(150, 6))])
        codes -= codes.mean(axis=0)
        _, _, targets, sphering = make_likelihood(codes=codes)
        assert targets.shape[1] == 8
        assert sphering.correlations.shape == (4,)


class TestLikelihood:
    def test_value_is_that_of_the_definition(self, rng):
        model, inputs, targets, _ = make_likelihood()
        weights = free_weights(model, rng)
        W, V = model.published(weights)
        u = inputs @ W.T + targets @ V.T
        each = [log_density(u[:, i], int(state)).mean() for i, state in enumerate(STATES)]
        expected = np.log(abs(np.linalg.det(W))) + sum(each)
        penalty = 0.5 * model.alpha * (W**2).sum()
        assert model.loss(weights, STATES)[0] == pytest.approx(penalty - expected)
        assert not V[2:].any()

    def test_gradient_is_the_numerical_one(self, rng):
        model, *_ = make_likelihood()
        weights = free_weights(model, rng)
        gradient = model.loss(weights, STATES)[1]
        free = np.ones(weights.shape, dtype=bool)
        free[2:, 4:] = False

        def loss(values):
            moved = weights.copy()
            moved[free] = values
            return model.loss(moved, STATES)[0]

        numerical = optimize.approx_fprime(weights[free], loss, 1e-7)
        np.testing.assert_allclose(gradient[free], numerical, atol=2e-5)
        assert not gradient[~free].any()

    def test_published_weights_and_back(self, rng):
        model, *_ = make_likelihood()
        weights = free_weights(model, rng)
        again = model.of_published(*model.published(weights))
        np.testing.assert_allclose(again, weights)

    def test_threads_and_single_precision(self, monkeypatch, rng):
        monkeypatch.setattr(module, "BLOCK", 16)
        one, *_ = make_likelihood()
        two, *_ = make_likelihood(n_jobs=2)
        weights = free_weights(one, rng)
        value, slope = one.loss(weights, STATES)
        assert two.loss(weights, STATES)[0] == value
        np.testing.assert_array_equal(two.loss(weights, STATES)[1], slope)
        monkeypatch.setattr(module, "MANY", 0)
        single, *_ = make_likelihood()
        assert single.rows.dtype == np.float32
        assert single.loss(weights, STATES)[0] == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(single.loss(weights, STATES)[1], slope, atol=1e-5)

    def test_singular_weights_have_no_likelihood(self):
        model, *_ = make_likelihood()
        assert model.loss(np.zeros((4, 6)), STATES)[0] == np.inf

    def test_first_start_is_the_maximum_for_gaussian_sources(self):
        model, *_ = make_likelihood()
        start = next(starts(model, 1, np.random.RandomState(0)))
        slope = model.loss(start, np.zeros(4, dtype=int))[1]
        np.testing.assert_allclose(slope, 0.0, atol=1e-9)


class TestNumbersOfFeatures:
    def found(self, count):
        model, *_ = make_likelihood(count)
        return model, QuasiNewton().maximize(
            model, next(starts(model, 1, np.random.RandomState(0)))
        )

    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_one_more_feature_is_the_steepest_and_changes_no_likelihood(self, count):
        model, found = self.found(count)
        larger, grown = model.with_components(count + 1), one_more(model, found)
        assert log_likelihood(larger, grown.weights, grown.states) == pytest.approx(
            log_likelihood(model, found.weights, found.states)
        )
        # Numerical slopes by the weights V of every source that could have been taken.
        W, V = model.published(found.weights)
        steepness = []
        for row in range(count, 4):
            slopes = []
            for column in range(2):
                step = np.zeros_like(V)
                step[row, column] = 1e-6
                sides = [
                    log_likelihood(model, model.of_published(W, V + sign * step), found.states)
                    for sign in (1, -1)
                ]
                slopes.append((sides[0] - sides[1]) / 2e-6)
            steepness.append(np.hypot(*slopes))
        taken = model.published(grown.weights)[0][count]
        np.testing.assert_allclose(taken, W[count + int(np.argmax(steepness))])

    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_fewer_features_are_those_that_the_target_moves_most(self, count):
        model, found = self.found(4)
        fewer = model.with_components(count)
        W, V = fewer.published(the_most_moved(fewer, found))
        moved = np.linalg.norm(model.published(found.weights)[1], axis=1)
        kept = np.linalg.norm(V, axis=1)
        np.testing.assert_allclose(kept[:count], np.sort(moved)[::-1][:count])
        np.testing.assert_array_equal(kept[count:], 0.0)
        assert np.linalg.matrix_rank(W) == 4

    @pytest.mark.parametrize("count", [2, 3, 4])
    def test_separated_rows_are_white_and_no_target_explains_them(self, count):
        model, inputs, targets, _ = make_likelihood(count)
        start = next(starts(model, 1, np.random.RandomState(0)))
        separated, steps = separate(model, start)
        W, V = model.published(separated)
        u = (inputs @ W.T + targets @ V.T)[:, count % 4 :]
        assert steps >= 1
        np.testing.assert_allclose(u.T @ u / 150, np.eye(u.shape[1]), atol=5e-3)  # α = 1e-3
        np.testing.assert_allclose(u.T @ targets / 150, 0.0, atol=5e-3)


class TestScaledLoss:
    def test_gradient_is_the_numerical_one(self, rng):
        model, *_ = make_likelihood()
        weights = free_weights(model, rng)
        loss = ScaledLoss(model, weights, STATES, model.evidence(weights))
        assert loss(np.zeros(weights.size))[0] == pytest.approx(model.loss(weights, STATES)[0])
        np.testing.assert_allclose(loss.weights(np.zeros(weights.size)), weights)
        z = 0.1 * rng.normal(size=weights.size)
        numerical = optimize.approx_fprime(z, lambda values: loss(values)[0], 1e-7)
        np.testing.assert_allclose(loss(z)[1], numerical, atol=2e-5)
        assert not loss.weights(z)[2:, 4:].any()

    def test_root_of_every_pair(self):
        model, *_ = make_likelihood()
        start = next(starts(model, 1, np.random.RandomState(0)))
        evidence = Peakedness(np.ones(4), np.ones(4), np.full(4, 0.5))
        loss = ScaledLoss(model, start, np.full(4, SUPER), evidence)
        W, _ = model.published(start)
        # what entries (2, 3) and (3, 2) of z change, relative to W
        columns = []
        for place in ((2, 3), (3, 2)):
            z = np.zeros_like(start)
            z[place] = 1.0
            relative = (loss.weights(z.ravel()) - start)[:, :4] @ np.linalg.inv(W)
            columns.append([relative[2, 3], relative[3, 2]])
        root = np.array(columns)
        curvature = 1.5 / (1.0 + model.alpha)  # (1 + 0.5) times the variance of each row
        block = np.array([[curvature, 1.0], [1.0, curvature]])
        np.testing.assert_allclose(root @ block @ root, np.eye(2), atol=1e-12)


class TestSolvers:
    def test_natural_gradient_takes_the_published_step(self):
        model, inputs, targets, _ = make_likelihood(alpha=0.0)
        start = next(starts(model, 1, np.random.RandomState(0)))
        W, V = model.published(start)
        state = model.evidence(start).nearest
        # Two steps, of which the second shows the weights after the first.
        found = NaturalGradient(0.03, 0.05, max_iter=2, tol=0.0).maximize(model, start)
        f = inputs @ W.T
        u = f + targets @ V.T
        phi = u + state * np.tanh(u)
        W_next = W + 0.03 * (np.eye(4) - phi.T @ f / 150) @ W
        V_next = V.copy()
        V_next[:2] -= 0.05 * phi[:, :2].T @ targets / 150
        W_found, V_found = model.published(found.weights)
        np.testing.assert_allclose(W_found, W_next, atol=1e-12)
        np.testing.assert_allclose(V_found, V_next, atol=1e-12)
        assert "max_iter=2" in found.problem

    def test_natural_gradient_reports_divergence(self):
        model, *_ = make_likelihood()
        start = next(starts(model, 1, np.random.RandomState(0)))
        found = NaturalGradient(learning_rate=50.0).maximize(model, start)
        assert "diverged" in found.problem
        assert np.isfinite(found.weights).all()

    def test_both_solvers_find_the_same_maximum(self):
        draws = np.random.default_rng(7)
        t = draws.exponential(size=(400, 1)) - 1.0
        s = np.column_stack([draws.laplace(size=400), draws.uniform(-2, 2, size=400)])
        rows = (s + t * [1.0, 0.0]) @ draws.normal(size=(2, 2))
        model, *_ = make_likelihood(1, 1e-6, rows, t - t.mean())
        start = next(starts(model, 1, np.random.RandomState(0)))
        newton = QuasiNewton().maximize(model, start)
        slow = NaturalGradient(0.3, 0.3, max_iter=1000, tol=1e-8).maximize(model, start)
        assert newton.problem is None
        assert slow.problem is None
        np.testing.assert_array_equal(newton.states, slow.states)
        assert slow.log_likelihood == pytest.approx(newton.log_likelihood, abs=1e-6)
        slope = model.loss(newton.weights, newton.states)[1]
        assert np.abs(slope).max() <= 1e-6

    def test_quasi_newton_reports_an_early_end(self):
        model, *_ = make_likelihood()
        start = next(starts(model, 1, np.random.RandomState(0)))
        assert "max_iter=2" in QuasiNewton(max_iter=2).maximize(model, start).problem
