"""The tables of the ICA-FX paper."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVR

from reproduction import ica_regressors, ica_tables, tables
from reproduction.figures import published
from reproduction.ica_machines import fit_machine
from reproduction.pages.agreement import SCALES, agrees

NAMES = [experiment.name for experiment in ica_tables.EXPERIMENTS]
rng = np.random.default_rng(0)


def test_figures_are_complete():
    assert set(NAMES) <= set(tables())
    for name in NAMES:
        figures = published(name)["figures"]
        assert list(figures) == [name for name in ica_tables.METHODS if "," not in name]
        for row in figures.values():
            for cell in row.values():
                assert cell["regressor"] in ica_regressors.REGRESSORS
                assert cell["best"] <= cell["mean"][0]


def test_weighted_neighbours_are_those_of_the_paper(rng):
    rows, y, others = rng.normal(size=(20, 2)), rng.normal(size=20), rng.normal(size=(3, 2))
    (found,) = ica_regressors.neighbours(3)(rows, y, others)
    for row, value in zip(others, found, strict=True):
        distance = np.linalg.norm(rows - row, axis=1)
        near = np.argsort(distance)[:3]
        weights = 1 / (1 + np.sqrt(distance[near]))
        assert value == pytest.approx(weights @ y[near] / weights.sum())


def test_the_best_choice_counts(rng):
    rows = rng.uniform(-1, 1, size=(60, 1))
    found = ica_regressors.errors(rows[:40], rows[:40, 0] ** 2, rows[40:], rows[40:, 0] ** 2)
    assert list(found) == ["MLP", "SVM", "1-NN", "3-NN", "5-NN"]
    assert found["SVM"] < 0.02


def test_linear_table_ranks_the_methods(monkeypatch):
    monkeypatch.setattr(ica_regressors, "HIDDEN", (2,))
    monkeypatch.setattr(ica_regressors, "DEGREES", (1,))
    rows = tables()["ica_linear"].run(quick=True, n_splits=1)
    assert {row["n_splits"] for row in rows} == {1}
    ours = {row["method"]: row["ours"] for row in rows}
    assert ours["ICA-FX"] < 0.2
    assert ours["PCA"] > 1.0
    assert ours["ICA-FX"] <= ours["MLR"] * 1.1
    assert [row["published"] for row in rows if row["method"] == "ICA-FX"] == [0.12]


def test_missing_data_are_noted(monkeypatch):
    monkeypatch.delenv("DEPMAX_DATA", raising=False)
    rows = tables()["ica_housing"].run(quick=True)
    assert all(row["ours"] is None and "DEPMAX_DATA" in row["note"] for row in rows)
    with pytest.raises(ValueError, match="no data set"):
        tables()["ica_housing"].run(datasets=["wine"])
    with pytest.raises(ValueError, match="no repeated splits"):
        tables()["ica_orange_juice"].run(n_splits=2)  # it has a split of its own


@pytest.mark.parametrize(("degree", "epsilon"), [(1, 0.3), (2, 0.1), (3, 0.01)])
def test_machines_are_at_their_optimum(degree, epsilon, rng):
    X = rng.normal(size=(50, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=50)
    K = (X @ X.T / 2 + 1) ** degree
    C = 2.0
    machine = fit_machine(K, y, C, epsilon)
    beta = machine.weights
    missed = y - machine(K)
    # no duality gap between ½‖f‖² + C Σ max(0, |y - f| - ε) and the dual, which bounds it
    norm = beta @ K @ beta
    value = 0.5 * norm + C * np.maximum(0.0, np.abs(missed) - epsilon).sum()
    bound = y @ beta - 0.5 * norm - epsilon * np.abs(beta).sum()
    assert value == pytest.approx(bound, rel=1e-4)
    assert abs(beta.sum()) < 1e-6 * C
    assert np.abs(beta).max() <= C
    usual = SVR(kernel="precomputed", C=C, epsilon=epsilon, tol=1e-6).fit(K, y)
    np.testing.assert_allclose(machine(K), usual.predict(K), atol=1e-3)


def test_the_error_of_several_draws_is_that_between_them():
    experiment = ica_tables.EXPERIMENTS[0]
    draws = np.repeat([1.0, 2.0, 3.0], ica_tables.PER_DRAW)
    noise = np.tile([-0.5, 0.5], len(draws) // 2)  # within a draw: of no account
    figure = {"mean": [3.0, 0.1], "best": 1.0, "regressor": "MLP"}
    errors = [list(draws + noise)] * len(ica_regressors.REGRESSORS)
    row = ica_tables._row(experiment, "PCA", 1, errors, figure, "")
    assert row["ours"] == pytest.approx(2.0)
    assert row["draw_error"] == pytest.approx(1.0)
    assert row["standard_error"] == pytest.approx(1 / np.sqrt(3))
    assert agrees(row, SCALES["ica_linear"])  # a draw may well be off by one
    assert not agrees(row | {"draw_error": None, "standard_error": 0.1}, SCALES["ica_linear"])
    two = [column[:20] for column in errors]
    assert ica_tables._row(experiment, "PCA", 1, two, figure, "")["draw_error"] is None
