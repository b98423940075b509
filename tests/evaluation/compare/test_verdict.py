"""The verdict, the race before it, screening and sampling: what is said, and that it is honest."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

from depmax import BAHSIC, DependenceFilter, KernelRidgeElimination, compare
from depmax.evaluation import Method, ScreenFirst, Sized
from depmax.evaluation.comparison.catalogue import default_methods, find_method
from depmax.evaluation.comparison.race import beaten, pilot_rows, sample_rows, splits_beside
from depmax.evaluation.comparison.setting import Problem

FAST = {"estimator": GaussianNB(), "cv": 4, "random_state": 0}


def draw(n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


class TestTheVerdict:
    def test_few_columns_suffice(self):
        X, y = draw(80, 60)
        found = compare(X, y, ["correlation filter", "BAHSIC", "all columns"], **FAST)
        verdict = found.verdict
        assert verdict.outcome == "few columns"
        assert verdict.headline.startswith(f"{len(verdict.columns)} of 60 columns suffice")
        assert {"x0", "x1"} <= set(verdict.columns)
        assert verdict.recommended == "correlation filter"  # the simplest that does as well
        assert "Guessing scores 0.500; 2 classes: " in str(verdict)
        assert verdict.headline in repr(found)
        places = [int(place) for place in found.kept]
        assert f"X[:, {places}]" in verdict.python

    def test_all_columns_where_selection_gains_nothing(self):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(120, 6))
        y = (X.sum(axis=1) > 0).astype(int)
        found = compare(X, y, ["correlation filter", "PCA", "all columns"], **FAST)
        assert found.recommended == "all columns"
        assert found.verdict.headline == "Selection does not help here: use all columns."
        assert found.verdict.columns == ()

    @pytest.mark.parametrize("numbers", [False, True])
    def test_noise(self, numbers):
        X, _ = draw(60, 5)
        rng = np.random.default_rng(3)
        y = rng.normal(size=60) if numbers else rng.permutation(np.tile([0, 1], 30))
        options = {"cv": 4, "random_state": 0}
        found = compare(X, y, ["correlation filter", "all columns"], **options)
        assert found.verdict.outcome == "nothing"
        chance = "0.00" if numbers else "0.50"
        assert found.verdict.headline == (
            f"Nothing here predicts y: no better than guessing ({chance})."
        )
        assert found.verdict.python == ""

    def test_of_methods_that_tie_the_simplest_is_recommended(self):
        """A twin that costs more and is called more complex is never preferred."""
        X, y = draw(80, 10)
        twin = Method(
            "twin",
            Sized(DependenceFilter(score_func="pearson"), "n_features_to_select"),
            selects=True,
            complexity=4,
        )
        for methods in ([twin, "correlation filter"], ["correlation filter", twin]):
            found = compare(X, y, methods, dimensions=[2], **FAST)
            assert found.recommended == "correlation filter"

    def test_a_frame_is_indexed_by_names(self):
        X, y = draw(80, 30)
        frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(30)])
        found = compare(frame, pd.Series(y, name="ill"), ["correlation filter"], **FAST)
        assert f"few = X[{list(found.verdict.columns)!r}]" in found.verdict.python
        assert found.recommended_estimator_.predict(frame).shape == (80,)
        assert found.recommended_transformer_.transform(frame).shape == (80, len(found.kept))

    def test_one_split_is_no_ground_for_doubt(self):
        X, y = draw(80, 4)
        folds = [(np.arange(60), np.arange(60, 80))]
        found = compare(X, y, ["PCA"], estimator=GaussianNB(), cv=folds, random_state=0)
        assert found.verdict.outcome == "features"


class TestLargerSizes:
    def test_are_tried_where_the_largest_does_best(self):
        """40 of 50 columns carry the target: 32 are not enough."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 50))
        y = X[:, :40].sum(axis=1)
        found = compare(X, y, ["correlation filter"], cv=2, tolerance=0, random_state=0)
        assert max(found.outcomes.dimensions("correlation filter")) > 32
        named = compare(
            X, y, ["correlation filter"], cv=2, tolerance=0, random_state=0, dimensions=[1, 32]
        )
        assert set(named.outcomes.dimensions("correlation filter")) <= {1, 32}


class TestTheRace:
    def test_its_rows_are_in_every_training_part_and_in_no_test_part(self):
        y = np.tile([0, 1, 1], 100)
        problem = Problem("classes", 300, 4, 2)
        pilot = pilot_rows(y, problem, seed=0)
        assert len(pilot) == 75
        tested = []
        for train, test in splits_beside(pilot, None, problem, y, seed=0):
            assert set(pilot) <= set(train)
            assert not set(pilot) & set(test)
            assert not set(train) & set(test)
            tested += test.tolist()
        assert sorted([*tested, *pilot.tolist()]) == list(range(300))

    def test_targets_of_test_rows_change_nothing_that_is_chosen(self):
        """What the race decides is the same whatever the targets of the other rows are."""
        X, _ = draw(240, 6)
        y = X[:, 0] + X[:, 1] ** 2
        first = compare(X, y, estimator=Ridge(), cv=2, random_state=0)
        others = np.setdiff1d(np.arange(240), first.race.rows)
        changed = y.copy()
        changed[others] = np.random.default_rng(5).normal(size=len(others))
        second = compare(X, changed, estimator=Ridge(), cv=2, random_state=0)
        np.testing.assert_array_equal(second.race.rows, first.race.rows)
        assert second.race.finalists == first.race.finalists
        assert second.race.scores == pytest.approx(first.race.scores)

    def test_every_kind_goes_on(self):
        X, y = draw(240, 6)
        found = compare(X, y, estimator=GaussianNB(), cv=2, random_state=0)
        entered = default_methods(found.setting.problem)
        assert {m.complexity for m in found.methods} == {m.complexity for m in entered}
        assert set(found.race.stopped) == {m.name for m in entered} - set(found.race.finalists)
        assert "Stopped after a first round on 60 rows" in repr(found)

    def test_the_recommended_selector_goes_on_even_if_last(self):
        methods = default_methods(Problem("classes", 300, 4, 2))
        scores = {method.name: 0.9 - 0.01 * k for k, method in enumerate(methods)}
        scores["KernelRidgeElimination"] = 0.1
        searches = {method.name for method in methods if method.complexity == 2}
        assert searches - set(beaten(methods, scores)) == {
            "KernelRidgeElimination", "BAHSIC", "FOHSIC"
        }  # fmt: skip  # shorter to read in this form

    @pytest.mark.parametrize("options", [{"thorough": True}, {"methods": ["PCA", "HBFE"]}])
    def test_who_names_methods_or_asks_for_all_gets_them(self, options):
        X, y = draw(220, 3)
        found = compare(X, y, estimator=GaussianNB(), cv=2, random_state=0, **options)
        assert found.race is None
        assert len(found.outcomes.names) >= 2

    def test_thorough_repeats_the_folds_and_uses_exact_settings(self):
        X, y = draw(60, 3)
        options = {"estimator": GaussianNB(), "dimensions": [1], "random_state": 0}
        quick = compare(X, y, ["KernelRidgeElimination"], **options)
        whole = compare(X, y, ["KernelRidgeElimination"], thorough=True, **options)
        assert (len(quick.splits), len(whole.splits)) == (5, 10)
        assert quick.methods[0].make(1).n_landmarks == 150
        assert whole.methods[0].make(1).n_landmarks == "auto"


class TestSampling:
    def test_rows_are_drawn_and_said(self):
        X, y = draw(500, 3)
        found = compare(X, y, ["PCA"], estimator=GaussianNB(), max_rows=100, random_state=0)
        assert len(found.y) == 100
        assert found.n_rows_given == 500
        assert "100 of 500 rows were used" in repr(found)
        assert "100 were drawn at random" in " ".join(found.report().sections[1].points)
        every = compare(X, y, ["PCA"], estimator=GaussianNB(), max_rows=None, random_state=0)
        assert len(every.y) == 500

    def test_rare_classes_keep_rows(self):
        y = np.repeat([0, 1], [10_000, 12])
        rows = sample_rows(y, 500, 0, classes=True, at_least=10)
        assert (y[rows] == 1).sum() == 10

    def test_splits_that_name_rows_use_all(self):
        X, y = draw(60, 3)
        cv = [(np.arange(40), np.arange(40, 60))]
        found = compare(X, y, ["PCA"], estimator=GaussianNB(), cv=cv, max_rows=20)
        assert len(found.y) == 60

    def test_none_or_at_least_one(self):
        with pytest.raises(ValueError, match="max_rows must be None or at least 1"):
            compare(*draw(20, 2), ["PCA"], max_rows=0)


class TestScreenFirst:
    @pytest.mark.parametrize("selector", [BAHSIC, DependenceFilter, KernelRidgeElimination])
    @pytest.mark.parametrize("kind", ["classes", "numbers", "several"])
    def test_with_room_for_all_columns_it_is_the_search_itself(self, selector, kind):
        X, y = draw(60, 8)
        target = {"classes": y, "numbers": X[:, 0] + X[:, 1], "several": X[:, :2]}[kind]
        alone = selector(3).fit(X, target)
        wrapped = ScreenFirst(selector(3), 8).fit(X, target)
        np.testing.assert_array_equal(wrapped.ranking_, alone.ranking_)
        np.testing.assert_array_equal(wrapped.get_support(), alone.get_support())

    def test_a_target_of_another_length_is_refused(self):
        X, y = draw(60, 8)
        with pytest.raises(ValueError, match="inconsistent numbers of samples: 60 rows against 50"):
            ScreenFirst(BAHSIC(1), 2).fit(X, y[:50])

    def test_columns_that_are_not_linear_pass(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 300))
        y = X[:, 5] ** 2 + X[:, 9]
        found = ScreenFirst(DependenceFilter(2), 20).fit(X, y)
        assert {5, 9} <= set(found.screened_)
        assert sorted(found.ranking_) == list(range(1, 301))
        assert np.isnan(found.scores_).sum() == 280

    def test_categories_of_a_frame(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({f"n{j}": rng.normal(size=90) for j in range(30)})
        frame["ward"] = pd.Categorical(rng.choice(["a", "b", "c"], 90))
        y = (frame["ward"] == "b").astype(int)
        found = ScreenFirst(DependenceFilter(1), 5).fit(frame, y)
        assert found.get_feature_names_out().tolist() == ["ward"]
        assert found.transform(frame).columns.tolist() == ["ward"]

    def test_wide_tables_are_screened_and_that_is_said(self):
        X, y = draw(50, 600)
        found = compare(X, y, ["correlation filter"], dimensions=[2], **FAST)
        assert found.setting.n_screened == 500
        assert "Selectors searched the 500 of 600 columns" in repr(found)
        whole = compare(X, y, ["correlation filter"], dimensions=[2], thorough=True, **FAST)
        assert whole.setting.n_screened is None
        assert set(found.kept) == set(whole.kept)


def test_slow_methods_are_for_thorough_comparisons():
    problem = Problem("classes", 100, 5, 2)
    names = {method.name for method in default_methods(problem)}
    more = {method.name for method in default_methods(problem, thorough=True)}
    assert more - names == {"ICAFX", "FastICA", "LLE", "NCA"}
    assert find_method("NCA").slow
