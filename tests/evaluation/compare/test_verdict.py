"""The verdict: which outcome, of which candidate, and that its facts are those of the tables."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

from depmax import BAHSIC, DependenceFilter, KernelRidgeElimination, compare
from depmax.evaluation import Method, ScreenFirst, Sized

FAST = {"judge": GaussianNB(), "cv": 4, "random_state": 0}


def draw(n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


class TestOutcomes:
    def test_few_columns_of_many(self):
        X, y = draw(200, 30)
        verdict = compare(X, y, ["correlation filter", "BAHSIC"], **FAST).verdict
        assert verdict.outcome in ("few columns suffice", "better than all")
        assert {"x0", "x1"} <= set(verdict.columns)
        assert len(verdict.columns) == verdict.size < 10
        assert verdict.method == "correlation filter"  # the simplest of those that do as well
        assert verdict.pvalue < 0.05
        assert verdict.n_columns == 30

    def test_better_than_all(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(150, 100))
        y = X[:, 0] + 0.1 * rng.normal(size=150)
        verdict = compare(X, y, ["HSIC filter"], cv=4, random_state=0).verdict
        assert verdict.outcome == "better than all"
        assert verdict.columns == ("x0",)
        assert verdict.loss.high < 0  # even at worst it is a gain

    def test_a_price_is_said_where_few_rows_cannot_rule_out_a_loss(self):
        rng = np.random.default_rng(3)
        X = rng.normal(size=(40, 6))
        y = X[:, 0] + 0.4 * X[:, 1] + 0.4 * rng.normal(size=40)
        found = compare(X, y, ["HSIC filter"], judge=Ridge(), margin=0.2, cv=4, random_state=0)
        verdict = found.verdict
        assert verdict.outcome == "few columns at a price"
        assert verdict.loss.high > verdict.margin
        assert f"{verdict.all_columns:.2f}" in verdict.headline

    def test_all_columns_where_fewer_are_worse(self):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(300, 6))
        y = X.sum(axis=1) + 0.1 * rng.normal(size=300)
        found = compare(X, y, ["correlation filter"], judge=Ridge(), cv=4, random_state=0)
        assert found.recommended == "all columns"
        assert found.verdict.outcome == "all columns"
        assert found.verdict.columns == ()
        assert found.kept.tolist() == list(range(6))
        assert found.verdict.size is None
        assert found.verdict.fewer_tried
        alone = compare(X, y, {"ridge": Ridge()}, judge=Ridge(), cv=4, random_state=0).verdict
        assert "nothing less was tried" in alone.headline

    def test_features(self):
        rng = np.random.default_rng(1)
        shared = rng.normal(size=(150, 1))
        X = shared + 2.0 * rng.normal(size=(150, 40))  # each column says little
        found = compare(X, shared[:, 0], ["PLS", "HSIC filter"], cv=4, random_state=0)
        verdict = found.verdict
        assert verdict.outcome == "features"
        assert (verdict.method, verdict.columns) == ("PLS", ())
        assert found.transformer().transform(X).shape == (150, verdict.size)

    def test_a_predictor_of_the_user(self):
        X, y = draw(120, 8)
        y = (X[:, 0] * X[:, 1] > 0).astype(int)
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(50)
        verdict = compare(X, y, {"forest": forest}, **FAST).verdict
        assert verdict.outcome == "method"
        assert verdict.headline == "Use forest."

    @pytest.mark.parametrize("numbers", [False, True])
    @pytest.mark.parametrize("n_rows", [60, 400])
    def test_noise(self, numbers, n_rows):
        X, _ = draw(n_rows, 5)
        rng = np.random.default_rng(3)
        y = rng.normal(size=n_rows) if numbers else rng.permutation(np.arange(n_rows) % 2)
        verdict = compare(X, y, ["HSIC filter", "PLS"], cv=4, random_state=0).verdict
        assert verdict.outcome in ("nothing", "too few rows")
        assert verdict.columns == ()
        assert verdict.guess == pytest.approx(0.0 if numbers else 0.5, abs=0.05)

    def test_what_few_rows_show_is_not_nothing(self):
        """With a gain that cannot be ruled out, the rows are too few."""
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(24, 4)), np.arange(24) % 2
        verdict = compare(X, y, ["HSIC filter"], **FAST).verdict
        assert verdict.outcome == "too few rows"
        assert verdict.headline.startswith("24 rows are too few")

    def test_dependence_that_helps_no_prediction_is_not_a_reason_to_keep_all(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(150, 4))
        y = np.exp(1.5 * X[:, 0]) * rng.normal(size=150)  # the spread depends on x0, the mean not
        found = compare(X, y, ["correlation filter"], judge=Ridge(), cv=4, random_state=0)
        assert found.verdict.pvalue < 0.05
        assert found.verdict.n_dependent == 1
        assert max(row["r2"] for row in found.rows()) <= 0
        assert found.verdict.outcome == "too few rows"


@pytest.fixture(name="found", scope="module")
def run():
    X, y = draw(120, 12)
    return compare(X, y, ["correlation filter", "PLS"], **FAST)


class TestFacts:
    def test_are_those_of_the_table(self, found):
        verdict, rows = found.verdict, {row["method"]: row for row in found.rows()}
        row = rows[verdict.method]
        assert found.recommended == verdict.method
        assert verdict.score.value == row["balanced_accuracy"]
        assert (verdict.score.low, verdict.score.high) == (row["low"], row["high"])
        assert verdict.size == row["features"]
        assert verdict.all_columns == rows["all columns"]["balanced_accuracy"]
        # the choice looks better than it is: the loss is at least that of the scores
        assert verdict.loss.value >= verdict.all_columns - verdict.score.value
        assert verdict.loss.low <= verdict.loss.value <= verdict.loss.high
        assert verdict.n_methods == len(rows)

    def test_the_expected_score_is_no_better_than_the_best(self, found):
        verdict = found.verdict
        assert verdict.expected.value <= verdict.score.value
        assert 0.0 <= verdict.expected.low <= verdict.expected.value <= verdict.expected.high <= 1.0

    def test_are_plain(self, found):
        """Text, numbers and tuples of them, as JSON wants them."""
        import json
        from dataclasses import asdict

        assert json.loads(json.dumps(asdict(found.verdict)))["method"] == found.recommended

    def test_errors_are_shown_as_errors(self):
        X, _ = draw(80, 4)
        scoring = "neg_root_mean_squared_error"
        options = {"judge": Ridge(), "cv": 3, "scoring": scoring, "random_state": 0}
        found = compare(X, X[:, 0], ["HSIC filter"], **options)
        verdict = found.verdict
        assert verdict.guess == pytest.approx(X[:, 0].std(), abs=0.1)
        assert 0 <= verdict.score.low <= verdict.score.value < 0.1 < verdict.guess
        assert verdict.metric == "root mean squared error"
        assert found.table["rmse"].is_monotonic_increasing


class TestTheChoice:
    def test_never_worse_and_larger_than_another_candidate(self):
        """On data of many kinds: no candidate has fewer columns and a higher score."""
        for seed in range(4):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(60, 15)) @ rng.normal(size=(15, 15))
            y = X[:, :3].sum(axis=1) + rng.normal(0, 1 + seed, size=60)
            y = y if seed % 2 else (y > 0).astype(int)
            found = compare(X, y, ["correlation filter", "PLS"], cv=3, random_state=0)
            scores, costs = found.candidates.evidence.scores[1:], found.candidates.costs[1:]
            place = found.place - 1
            assert not ((scores > scores[place]) & (costs <= costs[place])).any()
            assert not ((scores >= scores[place]) & (costs < costs[place])).any()
            best = scores.max()
            allowed = 0.02 * max(0.0, best - found.candidates.evidence.scores[0])
            assert scores[place] >= best - allowed - 1e-12

    def test_columns_count_first_and_extractors_need_all(self):
        X, y = draw(80, 10)
        found = compare(X, y, ["PLS", "correlation filter"], **FAST)
        costs = {(one.method, one.size): one.cost for one in found.candidates.all}
        assert costs["correlation filter", 8] < costs["all columns", None] < costs["PLS", 1]
        assert costs["PLS", 1] < costs["PLS", 2]
        assert costs["guessing", None] == 0

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

    def test_numbers_beyond_fifty_are_tried(self):
        """60 of 90 columns carry the target: few are not enough."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 90))
        found = compare(
            X, X[:, :60].sum(axis=1), ["correlation filter"], judge=Ridge(), cv=2, random_state=0
        )
        assert max(found.curves["features"]) == 80
        assert (found.verdict.size or 90) >= 50

    def test_targets_of_test_rows_change_no_prediction_of_others(self):
        """Nothing that predicts a row has seen its target, or that of its test part."""
        X, _ = draw(90, 6)
        y = X[:, 0] + X[:, 1] ** 2
        cv = [(np.arange(60), np.arange(60, 90))]
        methods = ["HSIC filter", "KernelRidgeElimination", "PLS"]
        changed = np.r_[y[:60], np.random.default_rng(5).normal(size=30)]
        first, second = (compare(X, each, methods, cv=cv, random_state=0) for each in (y, changed))
        for one, other in zip(first.trials, second.trials, strict=True):
            for size, (values, _) in one.predictions.items():
                np.testing.assert_array_equal(values, other.predictions[size][0])


def test_a_frame_is_indexed_by_names():
    X, y = draw(120, 30)
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(30)])
    found = compare(frame, pd.Series(y, name="ill"), ["correlation filter"], **FAST)
    names = list(found.verdict.columns)
    assert names == [frame.columns[place] for place in found.kept]
    (use, *_) = found.report().sections
    assert f"few = X[{names!r}]" in use.code[0].text
    assert found.verdict.target == "ill"
    assert found.estimator().predict(frame).shape == (120,)
    assert found.transformer().transform(frame).shape == (120, len(names))


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
        with pytest.raises(ValueError, match="60 rows against 50"):
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
