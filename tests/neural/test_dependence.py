"""NeuroHBFE and NeuroHSCA: problems where directions fail, and the estimators' contract."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import kneighbors_graph
from sklearn.utils.estimator_checks import parametrize_with_checks

torch = pytest.importorskip("torch", reason="torch is not installed: run make test-neural")

from depmax import HBFE, GaussianGraph, NeighborGraph, RadiusGraph, hsic, load_model, save_model
from depmax.datasets import make_product, make_rings
from depmax.neural import FullBatch, MiniBatch, NeuroHBFE, NeuroHSCA

QUICK = FullBatch(max_iter=8, n_hops=0)
SMALL = {"hidden_layers": (6,), "solver": QUICK, "random_state": 0}
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
y = (X[:, 0] * X[:, 1] > 0).astype(int)


@parametrize_with_checks([NeuroHBFE(1, **SMALL), NeuroHSCA(1, **SMALL)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def held_out(model, problem, make):
    test = make(300, random_state=1)
    return hsic(model.fit(*problem).transform(test.X), test.y)


class TestProblems:
    @pytest.mark.parametrize("make", [make_rings, make_product])
    def test_networks_see_what_directions_do_not(self, make):
        problem = make(300, random_state=0)
        network = NeuroHBFE(1, solver=FullBatch(max_iter=80, n_hops=0), random_state=0)
        neural = held_out(network, problem, make)
        assert neural > 3 * held_out(HBFE(1), problem, make)
        assert neural > 1.5 * held_out(HBFE(1, kernel="gaussian"), problem, make)

    def test_minibatches(self):
        problem = make_rings(1200, random_state=0)
        solver = MiniBatch(learning_rate=1e-2, max_epochs=25)
        network = NeuroHBFE(1, solver=solver, random_state=0)
        assert held_out(network, problem, make_rings) > 0.1
        assert network.n_iter_ <= 25
        assert next(network.module_.parameters()).dtype == torch.float32

    def test_second_feature_of_hsca_is_not_the_first(self):
        t = np.random.default_rng(1).normal(size=(200, 2))
        rows = np.hstack([t, np.random.default_rng(2).normal(size=(200, 2))])
        solver = FullBatch(max_iter=60, n_hops=0)
        model = NeuroHSCA(2, solver=solver, random_state=0).fit(rows, t)
        features = model.transform(rows)
        assert abs(np.corrcoef(features.T)[0, 1]) < 0.3
        assert len(model.module_) == 2
        assert (model.dependence_ > 0).all()

    def test_annealing_is_never_worse_than_its_first_descent(self):
        problem = make_rings(120, random_state=3)
        plain = {"validation_fraction": 0.0, "hidden_layers": (4,), "random_state": 0}
        once = NeuroHBFE(1, solver=FullBatch(max_iter=15, n_hops=0), **plain).fit(*problem)
        more = NeuroHBFE(1, solver=FullBatch(max_iter=15, n_hops=2), **plain).fit(*problem)
        assert more.n_iter_ > once.n_iter_
        assert more.dependence_[0] >= once.dependence_[0] - 1e-3


class TestUnlabelled:
    def test_rows_without_labels_count(self):
        rows, labels = make_rings(150, random_state=0)
        partly = np.where(np.arange(150) < 60, labels, -1)
        model = NeuroHBFE(1, beta=0.2, **SMALL).fit(rows, partly)
        assert model.n_unlabeled_ == 0 + (partly == -1).sum()
        batches = clone(model).set_params(solver=MiniBatch(max_epochs=2, batch_size=32))
        assert np.isfinite(batches.fit(rows, partly).transform(rows)).all()

    def test_smoothness_grows_with_beta(self):
        graph = kneighbors_graph((X - X.mean(axis=0)) / X.std(axis=0), NeighborGraph().n_neighbors)
        one, other = graph.nonzero()
        rough = []
        for beta in (0.01, 0.9):
            solver = FullBatch(max_iter=60, n_hops=0)
            model = NeuroHBFE(1, beta=beta, solver=solver, validation_fraction=0.0, random_state=0)
            f = model.fit(X, y).transform(X)
            rough.append(np.sum((f[one] - f[other]) ** 2) / f.var())
        assert rough[1] < rough[0]

    @pytest.mark.parametrize(
        "graph",
        ["radius", GaussianGraph(), NeighborGraph(8, bandwidth="median", normalized=True)],
        ids=repr,
    )
    @pytest.mark.parametrize("cls", [NeuroHBFE, NeuroHSCA])
    def test_graphs_are_those_of_hbfe(self, cls, graph, tmp_path):
        partly = np.where(np.arange(60) < 30, y, -1)
        model = cls(1, beta=0.3, graph=graph, **SMALL).fit(X, partly)
        batches = clone(model).set_params(solver=MiniBatch(max_epochs=2, batch_size=16))
        for fitted in (model, batches.fit(X, partly)):
            assert np.isfinite(fitted.transform(X)).all()
            save_model(fitted, tmp_path / "model.skops")
            again = load_model(tmp_path / "model.skops").transform(X)
            np.testing.assert_array_equal(again, fitted.transform(X))

    @pytest.mark.filterwarnings("ignore:RadiusGraph:UserWarning")  # it has many parts
    def test_rows_without_neighbours_are_refused(self):
        with pytest.raises(ValueError, match="gives no row a neighbour"):
            NeuroHBFE(1, beta=0.3, graph=RadiusGraph(1e-6), **SMALL).fit(X, y)


class TestContract:
    def test_features_are_white_and_ordered(self):
        features = NeuroHBFE(2, **SMALL).fit_transform(X, y)
        np.testing.assert_allclose(features.mean(axis=0), 0.0, atol=1e-8)
        np.testing.assert_allclose(np.cov(features.T, ddof=0), np.eye(2), atol=1e-3)

    @pytest.mark.parametrize("solver", [QUICK, MiniBatch(max_epochs=3, batch_size=16)])
    def test_seeds_repeat_and_leave_torch_alone(self, solver):
        model = NeuroHBFE(2, hidden_layers=(5,), solver=solver, random_state=3)
        state = torch.random.get_rng_state()
        one, two = (clone(model).fit_transform(X, y) for _ in range(2))
        np.testing.assert_array_equal(one, two)
        assert torch.equal(state, torch.random.get_rng_state())

    def test_single_precision_is_kept(self):
        features = NeuroHBFE(2, **SMALL).fit_transform(X.astype(np.float32), y)
        assert features.dtype == np.float32

    @pytest.mark.parametrize("cls", [NeuroHBFE, NeuroHSCA])
    def test_files_and_pickles(self, cls, tmp_path):
        frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=pd.Categorical(y))
        model = cls(2, **SMALL).fit(frame, X[:, 0])
        save_model(model, tmp_path / "model.skops")
        again = load_model(tmp_path / "model.skops")
        np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
        assert list(again.feature_names_in_) == ["a", "b", "c", "d", "kind"]
        twin = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(twin.transform(frame), model.transform(frame))

    def test_modules_of_users(self):
        module = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
        before = [p.clone() for p in module.parameters()]
        NeuroHBFE(2, module=module, solver=QUICK, random_state=0).fit(X, y)
        assert all(map(torch.equal, before, module.parameters()))
        with pytest.raises(ValueError, match=r"module must give 1 output"):
            NeuroHBFE(1, module=module, solver=QUICK).fit(X, y)
        one = torch.nn.Linear(4, 1)
        both = NeuroHSCA(2, module=one, solver=QUICK, random_state=0).fit(X, y).module_
        assert not torch.equal(both[0].weight, both[1].weight)

    def test_progress(self, capsys):
        NeuroHBFE(1, **SMALL, verbose=1).fit(X, y)
        assert "hop 0" in capsys.readouterr().out
        NeuroHBFE(1, solver=MiniBatch(max_epochs=1), random_state=0, verbose=1).fit(X, y)
        assert "epoch 1" in capsys.readouterr().out

    def test_divergence_at_once_is_refused(self):
        solver = MiniBatch(learning_rate=1e30, max_epochs=5, batch_size=16)
        with pytest.raises(ValueError, match="diverged at once"):
            NeuroHBFE(1, activation="linear", solver=solver, random_state=0).fit(X, y)

    def test_later_divergence_keeps_the_best_weights(self):
        class Fragile(torch.nn.Module):  # gives NaN from the third epoch on
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(4, 1)
                self.calls = 0

            def forward(self, rows):
                self.calls += self.training
                return self.linear(rows) * (float("nan") if self.calls > 8 else 1.0)

        solver = MiniBatch(max_epochs=5, batch_size=16)
        model = NeuroHBFE(1, module=Fragile(), solver=solver, random_state=0)
        with (
            pytest.warns(ConvergenceWarning, match="diverged in epoch 3"),
            pytest.raises(ValueError, match="not finite"),
        ):
            model.fit(X, y)


class TestRefusals:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"n_components": 0}, "n_components of NeuroHSCA"),
            ({"n_components": 9}, "n_components=9 of NeuroHSCA"),
            ({"hidden_layers": 3}, "hidden_layers of NeuroHSCA"),
            ({"activation": "cube"}, "activation of NeuroHSCA"),
            ({"feature_kernel": "cubic"}, "feature_kernel of NeuroHSCA"),
            ({"beta": 1.0}, "beta of NeuroHSCA"),
            ({"alpha": 0.0}, "alpha of NeuroHSCA"),
            ({"graph": "nearest"}, "graph must be 'neighbors'"),
            ({"graph": NeighborGraph(0), "beta": 0.1}, "n_neighbors of NeighborGraph"),
            ({"graph": NeighborGraph(60), "beta": 0.1}, "lower n_neighbors"),
            ({"solver": "sgd"}, "solver of NeuroHSCA"),
            ({"weight_decay": -1.0}, "weight_decay of NeuroHSCA"),
        ],
    )
    def test_parameters(self, parameters, message):
        with pytest.raises(ValueError, match=message):
            NeuroHSCA(**{**SMALL, **parameters}).fit(X, y)

    def test_module(self):
        with pytest.raises(ValueError, match="module of NeuroHBFE"):
            NeuroHBFE(module=3).fit(X, y)

    @pytest.mark.parametrize("target", [np.ones(60), np.full(60, "a")])
    def test_constant_targets(self, target):
        with pytest.raises(ValueError, match="one class only or is constant"):
            NeuroHBFE(1, **SMALL).fit(X, target)

    def test_too_few_labels(self):
        labels = np.full(60, np.nan)
        with pytest.raises(ValueError, match="has no labelled row"):
            NeuroHBFE(1, beta=0.1, **SMALL).fit(X, labels)
        labels[:3] = [0.0, 1.0, 2.0]
        with pytest.raises(ValueError, match="at least 4 samples"):
            NeuroHBFE(1, beta=0.1, **SMALL).fit(X, labels)
