"""Other readings of the publications, and their tables."""

from functools import partial

import numpy as np
import pytest

from reproduction import bahsic_trials, methods, tables, thesis_data, thesis_trials
from reproduction.bahsic_trials import TRIALS, Case, Trial
from reproduction.dimension_choice import Inputs
from reproduction.kept_splits import KeptSplits
from reproduction.pages.trials import accuracies_of_readings, readings
from reproduction.protocol import gaussian_machine, splits
from reproduction.thesis_accuracy import PAIRED, Stage


@pytest.fixture(autouse=True)
def no_other_data(monkeypatch):
    """Only the sets that come with the package."""
    monkeypatch.delenv("DEPMAX_DATA", raising=False)


X = np.random.default_rng(0).normal(size=(90, 8))
TWO = (X[:, 3] - X[:, 6] > 0).astype(int)
THREE = np.digitize(X[:, 3], [-0.5, 0.5])


@pytest.mark.parametrize("y", [TWO, THREE])
def test_linear_readings_find_the_relevant_column(y):
    for order in (
        bahsic_trials.hard_zero_norm,
        partial(methods.rfe, C=100.0),
        partial(methods.rfe, part=10**6),
    ):
        assert 3 in order(X, y, 2)[:2]


def test_columns_that_fade_together_stay_in_order():
    order = bahsic_trials.hard_zero_norm(X, TWO, 2)
    assert sorted(order.tolist()) == list(range(8))
    assert set(order[:2].tolist()) == {3, 6}


def test_a_reading_by_sign_starts_with_columns_that_rise():
    order = bahsic_trials.by_sign(X, TWO, 8)
    assert order[0] == 3  # larger in the second class
    assert order[-1] == 6  # smaller, the most clearly of all
    assert sorted(order.tolist()) == list(range(8))


def test_columns_as_they_are_only_reach_the_selector():
    seen = []

    def order(rows, y, count):
        seen.append(rows)
        return np.arange(count)

    rows = 100.0 * X
    for raw in (True, False):
        trial = Trial("x", "y", order, raw=raw, count=1)
        case = Case(rows, TWO, "binary", (trial,), 2, gaussian_machine, {})
        assert 0 <= case.error(trial, 3) <= 100
    train, _ = splits(TWO, "binary")[3]
    np.testing.assert_array_equal(seen[0], rows[train])
    assert seen[1].std(axis=0) == pytest.approx(1.0)


def test_ranks_in_an_array_do_not_depend_on_its_preparation():
    order = bahsic_trials.by_ranks(X, TWO, 2)
    assert set(order[:2].tolist()) == {3, 6}
    prepared = np.exp(X) * np.linspace(1, 50, len(X))[:, np.newaxis]
    np.testing.assert_array_equal(bahsic_trials.by_ranks(prepared, TWO, 2)[:2], order[:2])


def test_quick_trials_of_a_bundled_set():
    rows = tables()["bahsic_trials"].run(quick=True)
    assert [row["method"] for row in rows] == [trial.name for trial in TRIALS]
    plain = {row["method"]: row["ours"] for row in rows}
    assert plain["MI"] < 15
    assert plain["L0, first columns"] > plain["L0"]
    with pytest.raises(ValueError, match="nonsense"):
        tables()["bahsic_trials"].run(datasets=["nonsense"])
    lines = readings(rows)
    assert lines[0] == "| MI: data | published | as in the table | expected information |"
    assert sum(line.startswith("| wine |") for line in lines) == 4


def test_readings_of_the_thesis_stand_beside_the_published_figures(monkeypatch):
    few = thesis_trials.renamed(thesis_trials._PLAIN[-2:], ", indicators")
    monkeypatch.setattr(
        thesis_trials, "promoter_stages", lambda strings: [Stage(Inputs(X), few, 2, variant=True)]
    )
    monkeypatch.setattr(thesis_trials, "load", lambda name: _Promoters)
    kept = KeptSplits(PAIRED)
    wanted = ["thesis_promoters linear"]
    rows = tables()["thesis_trials"].run(n_splits=2, datasets=wanted, kept=kept)
    assert {row["method"] for row in rows} == {method.name for method in few}
    pca = [row["published"] for row in rows if row["method"] == "PCA, indicators"]
    assert pca == [0.7138, 0.7623, 0.7415]
    lines = accuracies_of_readings(rows)
    assert lines[2].startswith("| thesis_promoters linear | PCA, indicators | 2 | 0.714 / 0.762 /")


def test_all_columns_are_judged_with_several_numbers_of_rows(monkeypatch):
    wide = thesis_data.Read("spambase", "same data", X, np.where(TWO == 1, 1.0, -1.0))
    monkeypatch.setattr(thesis_trials, "read_wanted", lambda figures, names: [wide] * len(names))
    monkeypatch.setattr(thesis_trials, "NUMBERS_OF_ROWS", (20, 90))
    kept = KeptSplits(PAIRED)
    wanted = ["thesis_gaussian spambase"]
    rows = tables()["thesis_trials"].run(n_splits=2, datasets=wanted, kept=kept)
    assert {row["method"] for row in rows} == {"Full, 20 rows", "Full, 90 rows"}
    assert {row["published"] for row in rows} == {0.857, 0.863, 0.8637}


class _Promoters:
    X = ("a",) * 90
    y = np.where(TWO == 1, "+", "-")


def test_letters_become_codes_and_indicators():
    _, codes, indicators = thesis_trials.promoter_stages(["ag", "ct", "aa"])
    np.testing.assert_array_equal(codes.space.rows, [[1, 2], [3, 4], [1, 1]])
    assert indicators.space.rows.shape == (3, 5)  # constant indicators are left out
