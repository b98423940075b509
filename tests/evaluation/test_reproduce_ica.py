"""The tables of the ICA-FX paper."""

from __future__ import annotations

import numpy as np
import pytest

from depmax.evaluation.reproduce import ica_regressors, ica_tables, tables
from depmax.evaluation.reproduce.figures import published

NAMES = [experiment.name for experiment in ica_tables.EXPERIMENTS]
rng = np.random.default_rng(0)


def test_figures_are_complete():
    assert set(NAMES) <= set(tables())
    for name in NAMES:
        figures = published(name)["figures"]
        assert list(figures) == list(ica_tables.METHODS)[:-1]
        for row in figures.values():
            for cell in row.values():
                assert cell["regressor"] in ica_regressors.REGRESSORS
                assert cell["best"] <= cell["mean"][0]


def test_weighted_neighbours_are_those_of_the_paper():
    rows, y, others = rng.normal(size=(20, 2)), rng.normal(size=20), rng.normal(size=(3, 2))
    (found,) = ica_regressors.neighbours(3)(rows, y, others)
    for row, value in zip(others, found, strict=True):
        distance = np.linalg.norm(rows - row, axis=1)
        near = np.argsort(distance)[:3]
        weights = 1 / (1 + np.sqrt(distance[near]))
        assert value == pytest.approx(weights @ y[near] / weights.sum())


def test_the_best_choice_counts():
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
