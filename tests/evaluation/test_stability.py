"""Stability: closed forms, chance, and the interval's coverage."""

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from depmax.evaluation import stability, stability_of
from depmax.selection.dependence_filter import DependenceFilter


def random_sets(n_runs, n_features, size, rng, probabilities=None):
    masks = np.zeros((n_runs, n_features), dtype=bool)
    for row in masks:
        row[rng.choice(n_features, size=size, replace=False, p=probabilities)] = True
    return masks


class TestTheValue:
    def test_equal_sets(self):
        found = stability_of(np.tile([1, 0, 0, 1, 0], (6, 1)))
        assert (found.value, found.low, found.high) == (1, 1, 1)
        assert found.frequencies.tolist() == [1, 0, 0, 1, 0]

    def test_sets_by_chance(self):
        rng = np.random.default_rng(0)
        found = stability_of(random_sets(400, 30, 6, rng))
        assert abs(found.value) < 0.02
        assert found.low < 0 < found.high

    def test_two_disjoint_sets_in_closed_form(self):
        """Of d columns k and k others: 1 - 2·(2k/d)/4 / (k/d · (1 - k/d))."""
        masks = np.zeros((2, 10))
        masks[0, :3] = masks[1, 3:6] = 1
        assert stability_of(masks).value == pytest.approx(1 - 0.3 / (0.3 * 0.7))

    def test_kuncheva_for_sets_of_one_size(self):
        masks = random_sets(7, 12, 4, np.random.default_rng(1))
        by_chance = 4 * 4 / 12
        pairs = [(np.sum(a & b) - by_chance) / (4 - by_chance) for a, b in combinations(masks, 2)]
        assert stability_of(masks).value == pytest.approx(np.mean(pairs))

    def test_by_the_definition(self):
        masks = np.random.default_rng(2).random((9, 15)) < 0.3
        expected = 1 - np.var(masks, axis=0, ddof=1).mean() / (masks.mean() * (1 - masks.mean()))
        assert stability_of(masks).value == pytest.approx(expected)


class TestTheInterval:
    def test_against_the_jackknife(self):
        """Leaving out one run at a time estimates the same variance in another way."""
        rng = np.random.default_rng(3)
        weights = np.r_[np.full(5, 6.0), np.ones(15)]
        masks = random_sets(200, 20, 5, rng, weights / weights.sum())
        masks[::3] |= random_sets(len(masks[::3]), 20, 2, rng)  # sizes differ
        found = stability_of(masks)
        left = [stability_of(np.delete(masks, run, axis=0)).value for run in range(200)]
        error = np.sqrt(199 / 200 * np.sum((left - np.mean(left)) ** 2))
        assert (found.high - found.low) / 2 / 1.959964 == pytest.approx(error, rel=0.03)

    def test_level(self):
        masks = random_sets(20, 10, 4, np.random.default_rng(4))
        wide, narrow = (
            stability_of(masks, confidence_level=0.99),
            stability_of(masks, confidence_level=0.5),
        )
        assert wide.low < narrow.low < narrow.value < narrow.high < wide.high
        assert wide.confidence_level == 0.99


class TestResampling:
    @pytest.fixture(name="X")
    def make_inputs(self):
        return np.random.default_rng(0).normal(size=(60, 12))

    def test_a_clear_choice_is_stable_and_a_blind_one_is_not(self, X):
        clear = stability(DependenceFilter(2), X, X[:, 3] - X[:, 8], random_state=0)
        assert clear.value == 1
        noise = np.random.default_rng(1).normal(size=60)
        blind = stability(DependenceFilter(2), X, noise, fraction=0.5, random_state=0)
        assert blind.value < 0.6
        assert blind.frequencies.sum() == pytest.approx(2)

    def test_seed_and_workers(self, X):
        y = np.random.default_rng(1).normal(size=60)
        selector = DependenceFilter(3, score_func="pearson")
        options = {"n_resamples": 5, "fraction": 0.5}
        one = stability(selector, X, y, random_state=0, **options)
        with parallel_config("threading"):
            two = stability(selector, X, y, random_state=0, n_jobs=2, **options)
        np.testing.assert_array_equal(one.frequencies, two.frequencies)
        other = stability(selector, X, y, random_state=1, **options)
        assert (one.frequencies != other.frequencies).any()

    def test_a_pipeline_that_ends_with_a_selector(self, X):
        alone = stability(DependenceFilter(2), X, X[:, 1], n_resamples=5, random_state=0)
        model = make_pipeline(StandardScaler(), DependenceFilter(2))
        found = stability(model, X, X[:, 1], n_resamples=5, random_state=0)
        np.testing.assert_array_equal(found.frequencies, alone.frequencies)

    def test_the_selector_stays_as_it_is(self, X):
        selector = DependenceFilter(2)
        stability(selector, X, X[:, 0], n_resamples=2, random_state=0)
        assert not hasattr(selector, "support_")

    def test_classes_are_drawn_in_proportion(self, X):
        """Four rows of a class, of which a fraction of 0.5 always holds two."""
        seen = []

        def record(rows, labels):
            seen.append((labels == "rare").sum())
            return np.arange(12.0)

        y = np.repeat(["rare", "usual"], [4, 56])
        stability(DependenceFilter(2, score_func=record), X, y, fraction=0.5, random_state=0)
        assert set(seen) == {2}

    @pytest.mark.parametrize("as_table", [sparse.csr_array, pd.DataFrame, pl.DataFrame])
    def test_tables(self, X, as_table):
        table = as_table(X)
        if as_table is pd.DataFrame:
            table.columns = [f"c{column}" for column in range(12)]
        y = X[:, 3] > 0
        found = stability(DependenceFilter(2), table, y, n_resamples=3, random_state=0)
        assert found.frequencies[3] == 1

    def test_selectors_of_scikit_learn(self, X):
        y = (X[:, 3] > 0).astype(int)
        assert stability(SelectKBest(k=1), X, y, random_state=0).frequencies[3] == 1


class TestInput:
    def test_all_or_no_columns(self):
        for masks in (np.ones((3, 4)), np.zeros((3, 4))):
            with pytest.raises(ValueError, match="all columns, or none"):
                stability_of(masks)

    @pytest.mark.parametrize("masks", [[1, 0], [[1, 0]], np.zeros((2, 3, 4)), np.zeros((3, 0))])
    def test_shape(self, masks):
        with pytest.raises(ValueError, match="one row per selection"):
            stability_of(masks)

    def test_positions_instead_of_marks(self):
        with pytest.raises(ValueError, match="0 and 1"):
            stability_of([[0, 3], [1, 2]])

    @pytest.mark.parametrize(
        ("option", "value"),
        [("fraction", 0.0), ("fraction", 1.0), ("n_resamples", 1), ("confidence_level", 1.0)],
    )
    def test_options_out_of_range(self, option, value):
        X = np.random.default_rng(0).normal(size=(20, 3))
        with pytest.raises(ValueError, match=f"{option} must be"):
            stability(DependenceFilter(1, score_func="pearson"), X, X[:, 0], **{option: value})
