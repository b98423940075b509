"""ICAFX: independence under its model, the paper's problems, and bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import subspace_angles
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor

from depmax import ICAFX, hsic_test
from depmax.datasets import make_linear_direction, make_sine_direction
from depmax.extraction import NaturalGradient, QuasiNewton
from tests.extraction.test_unmixing import make_likelihood


def cosine(a, b):
    return abs(a @ b) / (np.linalg.norm(a) * np.linalg.norm(b))


def make_model_data(n_samples, t, seed=0):
    """x = As + Bt with two heavy- and two light-tailed sources, t in one direction."""
    rng = np.random.default_rng(seed)
    s = np.hstack([rng.laplace(size=(n_samples, 2)), rng.uniform(-1.7, 1.7, (n_samples, 2))])
    A = np.linalg.qr(rng.normal(size=(4, 4)))[0] * [1.0, 1.5, 0.7, 1.2]
    s += np.outer(t, [0.0, 2.0, 0.0, 0.0])
    return s @ A, s, A


class TestModelData:
    t = np.random.default_rng(5).exponential(size=800) - 1.0
    X, s, A = make_model_data(800, t)
    fitted = ICAFX(1).fit(X, t)

    def test_sources_are_found(self):
        u = self.fitted.sources(self.X, self.t)
        clean = self.s - np.outer(self.t, [0.0, 2.0, 0.0, 0.0])
        found = np.abs(np.corrcoef(u.T, clean.T)[:4, 4:])
        assert (found.max(axis=0) > 0.99).all()
        assert found[0].argmax() == 1
        assert self.fitted.sources_[0] == "super-gaussian"

    @pytest.mark.slow
    def test_sources_are_independent_of_the_target_and_of_each_other(self):
        u = self.fitted.sources(self.X, self.t)
        assert hsic_test(u, self.t, random_state=0).pvalue > 0.05
        for i in range(4):
            others = np.delete(u, i, axis=1)
            assert hsic_test(u[:, i], others, random_state=0).pvalue > 0.05
        features = self.fitted.transform(self.X)
        assert hsic_test(features, self.t, random_state=0).pvalue < 0.01

    def test_discarded_features_are_independent_of_the_target(self):
        discarded = self.fitted.sources(self.X, self.t)[:, 1:]
        both = np.column_stack([self.fitted.transform(self.X), self.t])
        assert hsic_test(discarded, both, random_state=0).pvalue > 0.05

    def test_sources_are_features_moved_by_the_target(self):
        u = self.fitted.sources(self.X, self.t)[:, :1]
        moved = np.outer(self.t - self.t.mean(), self.fitted.target_weights_)
        np.testing.assert_allclose(u - self.fitted.transform(self.X), moved, atol=1e-10)

    def test_units_of_inputs_and_target_change_nothing(self):
        mixing = np.random.default_rng(3).normal(size=(4, 4))
        other = ICAFX(1).fit(self.X @ mixing + 7.0, -50.0 * self.t + 3.0)
        features = other.transform(self.X @ mixing + 7.0)[:, 0]
        assert cosine(features, self.fitted.transform(self.X)[:, 0]) > 1 - 1e-6
        assert other.log_likelihood_ == pytest.approx(self.fitted.log_likelihood_, abs=1e-6)
        np.testing.assert_allclose(other.dependence_, self.fitted.dependence_, atol=1e-5)

    def test_published_rule_stops_below_the_maximum(self):
        with pytest.warns(ConvergenceWarning, match="max_iter=500"):
            published = ICAFX(1, solver="natural-gradient", init="random", random_state=0).fit(
                self.X, self.t
            )
        assert published.n_iter_ == 500
        assert published.log_likelihood_ < self.fitted.log_likelihood_ - 1e-3

    def test_random_starts_never_lose(self):
        many = ICAFX(1, n_init=3, random_state=0).fit(self.X, self.t)
        assert many.log_likelihood_ >= self.fitted.log_likelihood_ - 1e-9

    @pytest.mark.parametrize("seed", range(3))
    def test_random_starts_alone_find_the_same_maximum(self, seed):
        alone = ICAFX(1, init="random", n_init=3, random_state=seed).fit(self.X, self.t)
        assert alone.log_likelihood_ == pytest.approx(self.fitted.log_likelihood_, abs=1e-6)
        assert cosine(alone.components_[0], self.fitted.components_[0]) > 1 - 1e-5

    def test_the_first_start_is_what_init_says(self):
        """One step of the published rule is still where it began."""
        one_step = NaturalGradient(max_iter=1, learning_rate=1e-9, target_learning_rate=1e-9)
        found = {}
        for init, seed in [("regression", 0), ("regression", 1), ("random", 0), ("random", 1)]:
            with pytest.warns(ConvergenceWarning):
                model = ICAFX(1, init=init, solver=one_step, random_state=seed).fit(self.X, self.t)
            found[init, seed] = model.components_[0]
        regression = LinearRegression().fit(self.X, self.t).coef_
        for seed in (0, 1):
            assert cosine(found["regression", seed], regression) > 1 - 1e-6
            assert cosine(found["random", seed], regression) < 0.999
        assert cosine(found["random", 0], found["random", 1]) < 0.999


class TestMaximum:
    """The likelihood has many local maxima."""

    @staticmethod
    def draw(moved, seed):
        """Six sources, those that the target moves first; the inputs, the target, the inverse."""
        rng = np.random.default_rng(seed)
        s = np.hstack([rng.laplace(size=(600, 3)), rng.uniform(-1.7, 1.7, size=(600, 3))])
        t = rng.normal(size=600)
        s[:, moved] += t[:, np.newaxis]
        A = rng.normal(size=(6, 6))
        order = [*moved, *np.setdiff1d(np.arange(6), moved)]
        return s @ A, t, np.linalg.inv(A)[:, order]

    @pytest.mark.parametrize("moved", [[0], [1, 4], [0, 1, 2], [0, 2, 3, 5]])
    @pytest.mark.parametrize("seed", range(4))
    def test_no_start_does_better_not_even_the_truth(self, moved, seed):
        X, t, inverse = self.draw(moved, seed)
        count = len(moved)
        model = ICAFX(count).fit(X, t)
        # The same likelihood in white coordinates, climbed from the sources that made the data.
        likelihood, *_, sphering = make_likelihood(count, 1e-6, X, (t - t.mean())[:, np.newaxis])
        W = np.linalg.solve(sphering.inputs, inverse).T
        V = np.zeros((6, 1))
        V[:count] = -1.0 / sphering.targets[0, 0]
        true = QuasiNewton().maximize(likelihood, likelihood.of_published(W, V))
        assert model.log_likelihood_ > true.log_likelihood - 1e-7
        if model.log_likelihood_ < true.log_likelihood + 1e-7:
            assert subspace_angles(model.components_.T, inverse[:, :count]).max() < 0.7

    def test_a_number_is_as_good_as_the_criterion(self):
        X, t, _ = self.draw([0, 1, 3, 4], 1)
        chosen = ICAFX("bic").fit(X, t)
        asked = ICAFX(chosen.n_components_).fit(X, t)
        assert asked.log_likelihood_ == pytest.approx(chosen.log_likelihood_, abs=1e-12)

    def test_visits_of_all_starts_are_counted(self):
        X, t, _ = self.draw([0], 0)
        counts = [ICAFX(k).fit(X, t).n_passes_ for k in (1, 2, 3)]
        assert (np.diff(counts) > 0).all()


class TestPaper:
    @pytest.mark.parametrize("seed", range(3))
    def test_linear_problem(self, seed):
        X, y = make_linear_direction(1000, random_state=seed)
        direction = ICAFX(1).fit(X, y).components_[0]
        assert cosine(direction, np.array([2.0, 0, 3, 0, 0])) > 0.99

    @pytest.mark.parametrize("seed", range(3))
    def test_sine_problem_beats_regression(self, seed):
        X, y = make_sine_direction(1000, random_state=seed)
        best = np.array([0.0, 1, 0, 2, 0])
        found = cosine(ICAFX(1).fit(X, y).components_[0], best)
        assert found > 0.99
        assert found > cosine(LinearRegression().fit(X, y).coef_, best)

    def test_gaussian_data_give_the_regression(self):
        X, y = make_linear_direction(300, random_state=0)
        model = ICAFX(1).fit(X, y)
        assert list(model.sources_) == ["gaussian"]
        assert cosine(model.components_[0], LinearRegression().fit(X, y).coef_) > 1 - 1e-8
        r2 = np.corrcoef(model.transform(X)[:, 0], y)[0, 1] ** 2
        np.testing.assert_allclose(model.dependence_, -0.5 * np.log(1 - r2))


class TestTargets:
    rng = np.random.default_rng(1)
    labels = np.array(["a", "b", "c"])[rng.integers(0, 3, 400)]
    codes = (labels == "a") * 1.0 - (labels == "c") * 1.0
    X, _, A = make_model_data(400, codes, seed=2)

    def test_classes(self):
        model = ICAFX(1).fit(self.X, self.labels)
        assert list(model.classes_) == ["a", "b", "c"]
        assert model.target_weights_.shape == (1, 3)
        weights = np.zeros(4)
        weights[1] = 1.0
        assert cosine(model.components_[0], np.linalg.inv(self.A) @ weights) > 0.99
        u = model.sources(self.X, self.labels)
        assert hsic_test(u, self.labels, random_state=0).pvalue > 0.05

    def test_two_classes_are_any_two_numbers(self):
        y = (self.codes > 0).astype(int)
        classes = ICAFX(2).fit(self.X, y)
        numbers = ICAFX(2).fit(self.X, np.column_stack([3.0 * y, 1.0 - y]))
        np.testing.assert_allclose(classes.components_, numbers.components_, atol=1e-5)

    def test_several_targets(self):
        y = np.column_stack([self.codes, self.rng.normal(size=400)])
        model = ICAFX(2).fit(self.X, y)
        assert model.target_weights_.shape == (2, 2)
        assert model.dependence_[0] > model.dependence_[1]
        assert not hasattr(model, "classes_")

    def test_frames(self):
        frame = pd.DataFrame(self.X[:, :2]).assign(kind=pd.Categorical(self.labels))
        frame.columns = ["a", "b", "kind"]
        y = self.X[:, 0] + self.rng.normal(size=400)
        model = ICAFX(2).set_output(transform="pandas").fit(frame, y)
        assert model.transform(frame).shape == (400, 2)
        assert list(model.coordinate_names_)[2:] == ["kind=a", "kind=b", "kind=c"]
        assert model.sources(frame, y).shape == (400, 4)  # three levels have rank two


class TestFewRows:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 50))
    y = X[:, 0] + 0.1 * rng.normal(size=20)

    def test_more_columns_than_rows(self):
        model = ICAFX(2).fit(self.X, self.y)
        features = model.transform(self.X)
        assert np.isfinite(features).all()
        assert abs(np.corrcoef(features[:, 0], self.y)[0, 1]) > 0.999
        assert model.sources(self.X, self.y).shape == (20, 19)

    def test_fewer_features_than_asked_for(self):
        X = np.outer(self.y, [1.0, 2.0, 3.0])
        with pytest.warns(ConvergenceWarning, match="1 of n_components=2"):
            assert ICAFX(2).fit(X, self.y > 0).transform(X).shape == (20, 1)

    def test_an_exact_target_needs_alpha(self):
        X = self.X[:, :5]
        assert cosine(ICAFX(1).fit(X, 2.0 * X[:, 1]).components_[0], np.eye(5)[1]) > 1 - 1e-9
        with pytest.raises(ValueError, match=r"alpha of ICAFX .*positive"):
            ICAFX(1, alpha=0.0).fit(X, 2.0 * X[:, 1])


class TestRefusals:
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = X[:, 0]

    @pytest.mark.parametrize(
        ("parameters", "error", "message"),
        [
            ({"solver": "newton"}, ValueError, "solver of ICAFX"),
            ({"solver": 3}, TypeError, "solver of ICAFX"),
            ({"init": "zeros"}, ValueError, "init of ICAFX must be 'regression' or 'random'"),
        ],
    )
    def test_parameters(self, parameters, error, message):
        with pytest.raises(error, match=message):
            ICAFX(1, **parameters).fit(self.X, self.y)

    def test_progress(self, capsys):
        ICAFX(1, verbose=1, solver=QuasiNewton(max_iter=20)).fit(self.X, self.y)
        assert "ICA-FX" in capsys.readouterr().out
        with pytest.warns(ConvergenceWarning):
            ICAFX(1, verbose=1, solver=NaturalGradient(max_iter=60, tol=0.0)).fit(self.X, self.y**3)
        assert "50 steps" in capsys.readouterr().out


class TestHowMany:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(90, 4))
    y = 2 * X[:, 0] + 3 * X[:, 2] ** 3 + 0.1 * rng.normal(size=90)

    @pytest.mark.parametrize("share", [0.5, 0.95, 1.0, np.float32(0.5)])
    def test_a_share_is_refused_by_name(self, share):
        with pytest.raises(ValueError, match=r"n_components of ICAFX .*share"):
            ICAFX(share).fit(self.X, self.y)

    @pytest.mark.parametrize("moved", [[0], [1, 4], [0, 1, 3, 4]])
    @pytest.mark.parametrize("seed", range(2))
    def test_bic_counts_the_sources_that_the_target_moves(self, moved, seed):
        rng = np.random.default_rng(seed)
        s = np.hstack([rng.laplace(size=(600, 3)), rng.uniform(-1.7, 1.7, size=(600, 3))])
        t = rng.normal(size=600)
        s[:, moved] += t[:, np.newaxis]
        model = ICAFX("bic").fit(s @ rng.normal(size=(6, 6)), t)
        assert model.n_components_ == len(moved) == model.bic_.argmin() + 1
        assert model.components_.shape == (len(moved), 6)
        assert model.target_weights_.shape == (len(moved), 1)

    def test_bic_is_its_definition(self):
        labels = np.digitize(self.y, [-1.0, 1.0])  # three classes, rank two
        model = ICAFX("bic").fit(self.X, labels)
        best = model.n_components_
        expected = -2 * 90 * model.log_likelihood_ + best * 2 * np.log(90)
        assert model.bic_[best - 1] == pytest.approx(expected)
        plain = ICAFX(best).fit(self.X, labels)
        assert model.log_likelihood_ >= plain.log_likelihood_ - 1e-9
        assert not hasattr(model.set_params(n_components=1).fit(self.X, labels), "bic_")

    def test_no_number_of_features_does_better(self):
        rng = np.random.default_rng(3)
        X, y = rng.laplace(size=(1000, 5)), rng.normal(size=1000)
        X[:, 2:4] += y[:, np.newaxis]
        model = ICAFX("bic").fit(X, y)
        assert model.n_components_ == 2
        assert len(model.bic_) < 5
        for count in range(1, 6):
            other = ICAFX(count, n_init=2, random_state=0).fit(X, y)
            assert -2000 * other.log_likelihood_ + count * np.log(1000) > model.bic_[1] - 1e-6

    def test_bic_takes_columns_of_any_rank(self):
        X = np.column_stack([self.X[:, 0], 2 * self.X[:, 0], self.X[:, 1]])
        assert 1 <= ICAFX("bic").fit(X, self.y).n_components_ <= 2

    @pytest.mark.parametrize("count", ["bic", "auto"])
    def test_a_solver_that_stops_early_is_heard_of_whoever_counts(self, count):
        with pytest.warns(ConvergenceWarning, match="max_iter=3") as said:
            ICAFX(count, solver=QuasiNewton(max_iter=3)).fit(self.X, self.y)
        assert len([one for one in said if one.category is ConvergenceWarning]) == 1

    @pytest.mark.slow
    def test_auto_fits_every_number_anew(self):
        """Against a loop over numbers and folds, with a target of two directions."""
        y = np.column_stack([self.y, self.X[:, 1] ** 3])
        scores = []
        for train, test in KFold(3, shuffle=True, random_state=0).split(self.X):
            scores.append([])
            for count in range(1, 5):
                model = ICAFX(count).fit(self.X[train], y[train])
                neighbours = KNeighborsRegressor(5).fit(model.transform(self.X[train]), y[train])
                scores[-1].append(neighbours.score(model.transform(self.X[test]), y[test]))
        scores = np.array(scores)
        best = scores.mean(axis=0).argmax()
        bar = scores.mean(axis=0)[best] - scores[:, best].std(ddof=1) / np.sqrt(3)
        expected = int(np.flatnonzero(scores.mean(axis=0) >= bar)[0]) + 1
        model = ICAFX("auto").fit(self.X, y)
        assert model.n_components_ == expected > 1
        plain = ICAFX(expected).fit(self.X, y)
        np.testing.assert_allclose(model.components_, plain.components_)
        np.testing.assert_allclose(model.sources(self.X, y), plain.sources(self.X, y))
        assert model.target_weights_.shape == (expected, 2)
