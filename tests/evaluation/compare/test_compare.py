"""compare: predictions of held-out rows, targets, tables, methods, options, failures."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from depmax import BAHSIC, compare, screen
from depmax.datasets import load
from depmax.evaluation import Comparison, Method, Prepare, Sized, by_ranking

QUICK = {"methods": ["HSIC filter", "PCA"], "cv": 3, "dimensions": [1, 2], "random_state": 0}


@pytest.fixture(name="data", scope="module")
def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 6))
    return X, (X[:, 1] + X[:, 4] + 0.5 * rng.normal(size=90) > 0).astype(int)


@pytest.fixture(name="quick", scope="module")
def run_quick(data):
    return compare(*data, judge=GaussianNB(), **QUICK)


def names(found):
    return set(found.table["method"])


def score(found, method):
    """The deciding score of a method in the table."""
    return dict(zip(found.table["method"], found.table[found.metrics[0].name], strict=True))[method]


class TestTheProtocol:
    def test_scores_are_those_of_all_held_out_rows_together(self, data):
        """The slow way: a pipeline per fold and number, one score of all predictions."""
        X, y = data
        found = compare(
            X, y, ["PCA"], judge=GaussianNB(), cv=3, dimensions=[1, 2, 4], random_state=0
        )
        (folds,) = found.candidates.folds
        for size in (1, 2, 4):
            predicted = np.empty(90, dtype=int)
            for train, test in folds:
                model = make_pipeline(StandardScaler(), PCA(size), GaussianNB())
                predicted[test] = model.fit(X[train], y[train]).predict(X[test])
            curve = found.curves[found.curves["features"] == size]
            expected = balanced_accuracy_score(y, predicted)
            assert curve["score"].tolist() == pytest.approx([expected])

    def test_r2_of_all_rows_and_not_of_folds(self, data):
        X, _ = data
        y = X[:, 0] + 10.0 * (np.arange(90) // 30)  # means of the parts differ
        cv = [(np.setdiff1d(np.arange(90), part), part) for part in np.split(np.arange(90), 3)]
        found = compare(X, y, [LinearRegression()], judge=Ridge(), cv=cv, random_state=0)
        predicted = np.empty(90)
        for train, test in cv:
            predicted[test] = LinearRegression().fit(X[train], y[train]).predict(X[test])
        expected = 1 - ((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum()
        assert score(found, "LinearRegression") == pytest.approx(expected)

    def test_selection_on_noise_predicts_nothing(self):
        """Columns selected on all rows would reach nearly one here."""
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(60, 300)), np.tile([0, 1], 30)
        found = compare(
            X, y, ["correlation filter"], judge=GaussianNB(), dimensions=[3, 10], random_state=0
        )
        assert abs(score(found, "correlation filter") - 0.5) < 0.15
        assert found.verdict.outcome in ("nothing", "too few rows")

    def test_every_row_is_a_test_row_once_per_repeat(self, data):
        found = compare(*data, ["HSIC filter"], judge=GaussianNB(), random_state=0)
        folds = found.candidates.folds
        assert len(folds) > 1  # few rows: repeated
        for repeat in folds:
            assert sorted(np.concatenate([test for _, test in repeat])) == list(range(90))
            assert all(not set(train) & set(test) for train, test in repeat)
        assert {tuple(folds[0][0][1]), tuple(folds[1][0][1])} != {tuple(folds[0][0][1])}

    def test_seed_and_workers(self, data, quick):
        with parallel_config("threading"):
            other = compare(*data, judge=GaussianNB(), n_jobs=2, **QUICK)
        columns = ["rank", "method", "balanced_accuracy", "low", "high", "features", "stability"]
        pd.testing.assert_frame_equal(quick.table[columns], other.table[columns])
        assert other.verdict == quick.verdict
        third = compare(*data, judge=GaussianNB(), **{**QUICK, "random_state": 1})
        assert not quick.table[columns].equals(third.table[columns])

    def test_the_number_of_columns_scored_is_the_number_kept(self, data):
        """For every selector of the catalogue, with every number."""
        X, y = data
        selectors = ["KernelRidgeElimination", "BAHSIC", "FOHSIC", "HSIC filter"]
        selectors += ["correlation filter", "HSIC-Lasso", "Relief"]
        for size in (1, 3):
            found = compare(
                X, y, selectors, judge=GaussianNB(), cv=2, dimensions=[size], random_state=0
            )
            assert not found.failures
            for name in selectors:
                assert len(found.kept_by(name)) == size
                assert found.transformer(name).transform(X).shape == (90, size)
                place = found.candidates.of_method(name)[0]
                masks = found.candidates.masks(found.candidates.all[place])
                assert (masks.sum(axis=1) == size).all()


class TestResults:
    def test_table(self, quick):
        table = quick.table
        assert names(quick) == {"all columns", "HSIC filter", "PCA"}
        assert table["rank"].tolist() == [1, 2, 3]
        assert (np.diff(table["balanced_accuracy"]) <= 0).all()
        assert (table["low"] <= table["balanced_accuracy"]).all()
        assert (table["high"] <= 1).all()
        assert table["loss"][0] == 0
        assert (table["loss"] >= 0).all()
        rows = table.set_index("method")
        assert rows.loc["HSIC filter", "stability"] > 0.5
        assert np.isnan(rows.loc["PCA", "stability"])
        assert np.isnan(rows.loc["all columns", "features"])
        assert {"accuracy", "f1_macro", "seconds"} <= set(table.columns)

    def test_curves(self, quick):
        curves = quick.curves
        assert curves.groupby("method")["features"].apply(list).tolist() == [[1, 2], [1, 2]]
        assert (curves["low"] <= curves["score"]).all()

    def test_the_recommended_estimator(self, data, quick):
        X, y = data
        assert quick.recommended == "HSIC filter"
        model = quick.estimator()
        assert model.score(X, y) > 0.8
        assert set(quick.kept) == {1, 4}
        assert set(np.flatnonzero(model["features"].get_support())) == {1, 4}
        assert quick.estimator() is model  # fitted once

    def test_the_recommended_method_without_its_predictor(self, data, quick):
        X, _ = data
        support = quick.estimator()["features"].get_support()
        expected = ((X - X.mean(0)) / X.std(0))[:, support]
        np.testing.assert_allclose(quick.transformer().transform(X), expected)
        assert quick.transformer("PCA").transform(X).shape[1] <= 2

    def test_another_method_of_the_comparison(self, data, quick):
        assert quick.estimator("PCA").predict(data[0]).shape == (90,)
        for ask in (quick.estimator, quick.transformer, quick.kept_by):
            with pytest.raises(ValueError, match="no method 'LDA'"):
                ask("LDA")

    def test_a_predictor_makes_no_features(self, data):
        found = compare(*data, [GaussianNB()], cv=2, random_state=0)
        with pytest.raises(ValueError, match=r"makes no features.*estimator"):
            found.transformer("GaussianNB")

    def test_pickled_it_is_the_same(self, data):
        """With methods of every kind, before and after anything is asked of it."""
        X, y = pd.DataFrame(data[0], columns=list("abcdef")), data[1]
        methods = {
            "ours": "BAHSIC",
            "kernel": "KernelLDA",
            "estimator": SelectKBest(),
            "pipeline": make_pipeline(StandardScaler(), PCA()),
            "predictor": LogisticRegression(),
            "declared": Method("x", Sized(BAHSIC(), "n_features_to_select"), nested=by_ranking),
        }
        found = compare(X, y, methods, cv=2, dimensions=[1, 2], random_state=0)
        for here in (found, pickle.loads(pickle.dumps(found))):
            again = pickle.loads(pickle.dumps(here))
            assert repr(again) == repr(found)
            pd.testing.assert_frame_equal(again.table, found.table)
            expected = found.estimator().predict(X)
            np.testing.assert_array_equal(again.estimator().predict(X), expected)
            for name in methods:
                assert again.estimator(name).predict(X).shape == y.shape

    def test_repr(self, quick):
        text = repr(quick)
        assert "3 methods on 90 rows × 6 columns, 3 folds" in text
        assert quick.verdict.headline in text
        assert all(reason in text for reason in quick.verdict.reasons)
        assert "→ HSIC filter" in text

    def test_as_a_dictionary_it_is_json(self, quick):
        import json

        facts = json.loads(json.dumps(quick.to_dict()))
        assert facts["headline"] == quick.verdict.headline
        assert facts["verdict"]["outcome"] == quick.verdict.outcome
        assert facts["verdict"]["columns"] == list(quick.verdict.columns)
        assert facts["leaderboard"][0]["method"] == quick.table["method"][0]
        assert (facts["complete"], facts["left_out"], facts["rows_used"]) == (True, [], 90)

    def test_comparison_is_public(self, quick):
        assert isinstance(quick, Comparison)


class TestTargets:
    def test_numbers(self, data):
        X, _ = data
        found = compare(X, X[:, 2] - X[:, 3], ["HSIC filter"], cv=3, random_state=0)
        assert score(found, "HSIC filter") > 0.6
        assert (found.table["rmse"] > 0).all()

    def test_text_classes(self):
        wine = load("wine")
        y = np.array(["barolo", "grignolino", "barbera"])[wine.y - wine.y.min()]
        found = compare(
            wine.X, y, ["LDA", "PLS", "HSIC filter"], cv=2, dimensions=[2, 5], random_state=0
        )
        assert not found.failures
        assert (found.table["balanced_accuracy"] > 0.85).all()
        assert set(found.estimator().predict(wine.X)) == set(y)

    @pytest.mark.parametrize("kind", ["multilabel", "multioutput"])
    def test_several_columns(self, data, kind):
        X, _ = data
        Y = np.column_stack([X[:, 0], X[:, 1] + X[:, 2]])
        if kind == "multilabel":
            Y = (Y > 0).astype(int)
        methods = ["BAHSIC", "HSIC filter", "PLS"]
        found = compare(X, Y, methods, cv=2, dimensions=[3], random_state=0)
        assert not found.failures
        assert found.setting.problem.kind == kind
        assert found.table["f1_micro" if kind == "multilabel" else "r2"].min() > 0.3
        assert ("hamming_loss" in found.table.columns) == (kind == "multilabel")
        assert found.estimator().predict(X).shape == Y.shape
        assert "nearest neighbours" in str(found.verdict)

    @pytest.mark.parametrize("kind", ["multilabel", "multioutput"])
    def test_several_columns_of_a_frame(self, data, kind):
        X, _ = data
        Y = pd.DataFrame({"first": X[:, 0], "second": X[:, 1]})
        Y = (Y > 0).astype(int) if kind == "multilabel" else Y
        found = compare(pd.DataFrame(X).rename(columns=str), Y, ["PLS"], cv=2, random_state=0)
        assert found.setting.problem.kind == kind

    def test_one_error_of_labels(self, data):
        X, _ = data
        Y = (X[:, :3] > 0).astype(int)
        found = compare(X, Y, ["PLS"], cv=2, scoring=["f1_micro", "one_error"], random_state=0)
        assert (found.table["one_error"] < 0.4).all()

    @pytest.mark.parametrize("n_rows", [300, 1400])
    def test_a_rare_class_is_not_ignored(self, n_rows):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(n_rows, 4))
        rare = rng.permutation(n_rows)[: n_rows // 20]
        y = np.zeros(n_rows, dtype=int)
        y[rare] = 1
        X[rare, 0] += 1.5  # seen, but never the likelier class
        found = compare(X, y, ["BAHSIC"], dimensions=[1], cv=3, random_state=0)
        assert found.table["balanced_accuracy"].max() > 0.65
        assert found.verdict.outcome not in ("nothing", "too few rows")
        options = {"dimensions": [1], "cv": 3, "scoring": "accuracy", "random_state": 0}
        accurate = compare(X, y, ["BAHSIC"], **options)
        assert accurate.table["accuracy"].min() > 0.94  # judged by it, the rare class is ignored

    def test_too_few_rows_or_groups_of_a_class(self):
        """No error of every method: the verdict says that these rows cannot tell."""
        X = np.random.default_rng(0).normal(size=(60, 3))
        y = np.repeat(["no", "yes"], [58, 2])
        found = compare(X, y, ["HSIC filter", "PCA"], random_state=0)
        assert found.verdict.outcome == "too few rows"
        patient = np.repeat(np.arange(4), 15)
        options = {"groups": patient, "cv": 2, "random_state": 0}
        assert compare(X, patient % 2, ["HSIC filter"], **options).verdict.outcome == "too few rows"


class TestTables:
    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_frames_with_categories(self, data, library):
        X, y = data
        levels = np.array(["low", "high"])[y]
        levels[:9] = "low"
        columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
        if library == "pandas":
            frame = pd.DataFrame({**columns, "level": pd.Categorical(levels)})
        else:
            frame = pl.DataFrame({**columns, "level": pl.Series(levels, dtype=pl.Categorical)})
        methods = ["BAHSIC", "HSIC filter", "PCA"]
        found = compare(frame, y, methods, cv=2, dimensions=[1, 2], random_state=0)
        assert not found.failures
        assert type(found.table).__module__.startswith(library)
        assert type(found.curves).__module__.startswith(library)
        assert found.verdict.expected.value > 0.85
        model = found.estimator("BAHSIC")
        assert "level" in model["features"].get_feature_names_out()
        assert model.score(frame, y) > 0.85

    def test_columns_chosen_among_indicators_are_named(self, data):
        """A selector of scikit-learn sees a column per level; it is named by the frame's column."""
        X, y = data
        frame = pd.DataFrame(X[:, [0, 2]], columns=["a", "b"])
        frame.insert(0, "level", np.array(["low", "middle", "high"])[y + (X[:, 5] > 1)])
        found = compare(frame, y, {"k best": SelectKBest()}, cv=2, dimensions=[2], random_state=0)
        assert found.kept_by("k best").tolist() == [0]

    def test_sparse(self, data):
        X, y = data
        table = sparse.csr_array(np.where(np.abs(X) > 0.3, X, 0.0))
        found = compare(table, y, cv=2, dimensions=[2], random_state=0)
        assert not found.failures
        assert {"HSIC filter", "all columns"} <= names(found)
        assert found.estimator().predict(table).shape == (90,)

    def test_rows_as_they_are(self):
        """Strings, with a kernel of strings in the user's own pipeline."""
        from depmax.kernels import Spectrum
        from depmax.maps import NystroemMap

        rng = np.random.default_rng(0)
        y = np.tile([0, 1], 20)
        words = ["".join(rng.choice(list("abab" if k else "abcd"), size=12)) for k in y]
        found = compare(
            words,
            y,
            {"map": NystroemMap(kernel=Spectrum(length=2))},
            prepare=False,
            cv=2,
            dimensions=[2, 8],
            random_state=0,
        )
        assert score(found, "map") > 0.7
        assert set(found.curves["features"]) == {2, 8}
        assert found.verdict.columns == ()
        assert len(found.estimator().predict(words)) == 40

    def test_a_kernel_that_is_computed_before(self, data):
        from depmax import KernelPLS
        from depmax.kernels import Gaussian

        X, y = data
        gram = np.asarray(Gaussian(1.0)(X, X))
        cv = [(np.arange(90), np.arange(90))]  # a precomputed kernel cannot be cut by rows alone
        methods = {"kernel": KernelPLS(kernel="precomputed")}
        found = compare(gram, y, methods, prepare=False, cv=cv, dimensions=[2], random_state=0)
        assert score(found, "kernel") > 0.7

    @pytest.mark.parametrize("kind", ["array", "pandas"])
    def test_gaps_are_filled_by_the_training_rows_alone(self, kind):
        """A test row with a gap gets the mean of the training rows, whatever test rows hold."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 3))
        y = X[:, 0] + 0.1 * rng.normal(size=60)
        X[::7, 1] = np.nan
        train, test = np.arange(40), np.arange(40, 60)
        seen = []

        class Watch(PCA):
            def fit(self, X, y=None):
                seen.append(np.asarray(X))
                return super().fit(X)

            def fit_transform(self, X, y=None):
                return self.fit(X).transform(X)

        table = pd.DataFrame(X, columns=["a", "b", "c"]) if kind == "pandas" else X
        methods = {"watched": Watch(), "alone": LinearRegression()}
        options = {"cv": [(train, test)], "dimensions": [2], "random_state": 0}
        found = compare(table, y, methods, impute="mean", **options)
        assert not found.failures
        expected = Prepare("mean").fit_transform(X[train])
        np.testing.assert_allclose(seen[0], expected, atol=1e-12)
        for name in names(found):
            assert not np.isnan(found.estimator(name).predict(table)).any()
        assert "impute='mean'" in found.report().sections[-1].code

    def test_few_rows_have_fewer_folds(self, rng):
        X = rng.normal(size=(11, 3))
        found = compare(X, X[:, 0], ["HSIC filter"], judge="linear", random_state=0)
        assert len(found.candidates.folds[0]) == 5
        with pytest.raises(ValueError, match="10 folds need at least 20 rows"):
            compare(X, X[:, 0], ["HSIC filter"], cv=10)
        with pytest.raises(ValueError, match="at least 6 rows, got 5"):
            compare(X[:5], X[:5, 0], ["HSIC filter"])

    def test_names_in_the_place_of_values_are_refused(self, rng):
        X = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
        for call in (
            lambda: compare(X, "b"),
            lambda: compare(X, X["a"], sample_weight="b"),
            lambda: screen(X, X["a"], given="b"),
            lambda: screen(X, X["a"], given=["b"]),
        ):
            with pytest.raises(TypeError, match=r"table\[.*'b'"):
                call()

    def test_gaps_are_filled_only_where_there_are_any(self, data):
        X, y = data[0].copy(), data[1]
        found = compare(X, y, **QUICK)
        assert found.setting.fill is None
        new = X[:5].copy()
        new[0, :] = np.nan  # a model that goes on to new rows fills them all the same
        for name in names(found):
            filled = np.vstack([np.median(X, axis=0), X[1:5]])
            model = found.estimator(name)
            np.testing.assert_array_equal(model.predict(new), model.predict(filled))
        X[::7, 1] = np.nan
        assert compare(X, y, **QUICK).setting.fill == "median"
        with pytest.raises(ValueError, match="NaN in column 1"):
            compare(X, y, impute=None, **QUICK)
        with pytest.raises(ValueError, match="impute must be None or one of"):
            compare(X, y, impute="zero", **QUICK)

    def test_levels_that_a_training_part_lacks(self, data):
        """An extractor is narrower there; nothing fails."""
        X, y = data
        level = np.full(90, "usual", dtype=object)
        level[:2] = ["once", "twice"]
        frame = pd.DataFrame({"a": X[:, 1], "level": level})
        found = compare(frame, y, ["PCA", "PLS", "HSIC filter"], cv=3, random_state=0)
        assert not found.failures


class TestMethods:
    def test_estimators_of_the_user(self, data):
        found = compare(
            *data,
            {
                "k best": SelectKBest(),
                "scaled components": make_pipeline(StandardScaler(), PCA()),
                "logistic": LogisticRegression(),
                "mine": Method("?", BAHSIC, nested=by_ranking, selects=True),
                "known": "correlation-Filter",
            },
            judge=GaussianNB(),
            cv=2,
            dimensions=[1, 2],
            random_state=0,
        )
        assert not found.failures
        mine = {"k best", "scaled components", "logistic", "mine", "known"}
        assert names(found) == {"all columns", *mine}
        sizes = dict(zip(found.table["method"], found.table["features"], strict=True))
        assert np.isnan(sizes["logistic"])
        assert sizes["k best"] in (1, 2)

    def test_stability_of_a_selector_without_a_ranking(self, data):
        X, _ = data
        options = {"judge": GaussianNB(), "cv": 3, "dimensions": [1, 2], "random_state": 0}
        found = compare(X, X[:, 1] + X[:, 4] > 0, {"k best": SelectKBest()}, **options)
        for place in found.candidates.of_method("k best"):
            candidate = found.candidates.all[place]
            assert (found.candidates.masks(candidate).sum(axis=1) == candidate.size).all()
        assert found.candidates.stability(candidate).value == 1.0

    def test_all_columns_are_compared_too(self, data):
        assert "all columns" in names(compare(*data, ["PCA"], cv=2, dimensions=1))
        assert compare(*data, ["all columns"], cv=2).verdict.n_methods == 1

    def test_names_come_from_estimators(self, data):
        methods = [make_pipeline(StandardScaler(), PCA()), PCA()]
        found = compare(*data, methods, judge=GaussianNB(), cv=2, dimensions=1, random_state=0)
        assert names(found) == {"all columns", "StandardScaler + PCA", "PCA"}

    @pytest.mark.parametrize(
        ("methods", "message"),
        [
            (["BAHSICK"], "no method named 'BAHSICK': try 'BAHSIC'"),
            ([], "methods is empty"),
            ([PCA(), PCA(2)], "Two methods are called 'PCA'"),
        ],
    )
    def test_wrong_methods(self, data, methods, message):
        with pytest.raises(ValueError, match=message):
            compare(*data, methods)

    def test_a_class_instead_of_an_estimator(self, data):
        with pytest.raises(TypeError, match="unfitted estimator"):
            compare(*data, [PCA])


class TestTrouble:
    def test_a_failing_method_is_reported_and_the_rest_goes_on(self, data):
        methods = {"bad": _Failing(), "PCA": "PCA"}
        found = compare(*data, methods, cv=2, dimensions=1, random_state=0)
        assert found.failures == {"bad": "RuntimeError: no fit today"}
        assert names(found) == {"PCA", "all columns"}
        assert "bad failed: RuntimeError: no fit today" in repr(found)

    def test_all_methods_fail(self, data):
        bad = Method("bad", Sized(_Failing()), has_dimension=False, complexity=0)
        with pytest.raises(ValueError, match=r"could be fitted.*bad"):
            compare(*data, [bad], cv=2)

    def test_warnings_are_counted(self, data):
        slow = LogisticRegression(max_iter=1)
        found = compare(*data, {"slow": slow}, cv=2, random_state=0)
        ((text, count),) = found.warnings["slow"].items()
        assert text.startswith("ConvergenceWarning")
        assert count == 2

    @pytest.mark.parametrize("last", [1, 2, 4, 7, 8])
    def test_an_interruption_gives_a_verdict_from_what_is_finished(self, data, last):
        """Three methods on three folds; folds that a method has not finished do not count."""

        def stop(state):
            if state.done == last:
                raise KeyboardInterrupt

        found = compare(*data, judge=GaussianNB(), progress=stop, **QUICK)
        assert not found.complete
        done = max(1, last // 3)
        assert found.candidates.done == tuple((0, fold) for fold in range(done))
        assert len(names(found)) == min(3, last)
        assert f"Interrupted: scores come from {done} of 3 folds." in repr(found)
        assert found.verdict.headline
        assert found.estimator().predict(data[0]).shape == (90,)

    def test_an_interruption_before_anything_is_finished(self, data):
        bad = Method("bad", Sized(_Stopping()), has_dimension=False, complexity=0)
        with pytest.raises(KeyboardInterrupt):
            compare(*data, [bad], cv=2)

    def test_progress(self, data):
        states = []
        compare(*data, judge=GaussianNB(), progress=states.append, **QUICK)
        assert [state.done for state in states] == list(range(1, 10))
        assert {state.total for state in states} == {9}
        assert states[-1].remaining == 0
        assert states[0].remaining > 0

    def test_progress_is_printed(self, data, capsys):
        compare(*data, judge=GaussianNB(), progress=True, **QUICK)
        assert ": 9/9 done" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"cv": 1}, "cv must be at least 2"),
            ({"cv": []}, "cv"),
            ({"dimensions": [0]}, "dimensions must be whole numbers"),
            ({"dimensions": [7]}, "dimensions holds 7"),
            ({"scoring": []}, "scoring is empty"),
            ({"margin": -0.1}, "margin must be at least 0"),
            ({"margin": 1.0}, "margin must be at least 0"),
            ({"time": 0}, "time must be a positive number"),
            ({"judge": "trees"}, "judge must be 'auto'"),
            ({"max_rows": 0}, "max_rows must be None or at least 1"),
            ({"sample_weight": [1.0]}, "sample_weight"),
            ({"groups": "patient"}, "groups='patient' names a column"),
            ({"y": [0, 1]}, "X has 90 rows and y has 2"),
            ({"y": np.zeros(90)}, "only one class"),
            ({"y": np.r_[2, np.tile([0, 1], 45)[1:]]}, "Class 2 of y has only one row"),
        ],
    )
    def test_wrong_input(self, data, options, message):
        X, y = data
        with pytest.raises(ValueError, match=message):
            compare(X, options.pop("y", y), ["PCA"], **options)

    def test_a_judge_that_cannot_predict(self, data):
        with pytest.raises(TypeError, match="judge must be 'auto'"):
            compare(*data, ["PCA"], judge=PCA())


class TestOptions:
    def test_scoring(self, data):
        X, y = data
        found = compare(X, y, scoring=["roc_auc", "accuracy"], judge=GaussianNB(), **QUICK)
        assert {"roc_auc", "accuracy"} <= set(found.table.columns)
        assert found.metrics[0].label == "ROC-AUC"
        assert found.verdict.guess == 0.5
        single = compare(X, y, scoring="accuracy", judge=GaussianNB(), **QUICK)
        assert single.metrics[0].name == "accuracy"

    def test_scores_of_classes_beside_probabilities(self, data):
        """ROC-AUC pools ranks within folds; log loss sees the probabilities themselves."""
        X, y = data
        options = {"judge": GaussianNB(), "cv": 3, "random_state": 0}
        found = compare(X, y, ["all columns"], scoring=["roc_auc", "neg_log_loss"], **options)
        predicted, areas = np.empty((90, 2)), []
        for train, test in found.candidates.folds[0]:
            model = make_pipeline(StandardScaler(), GaussianNB()).fit(X[train], y[train])
            predicted[test] = model.predict_proba(X[test])
            areas.append(roc_auc_score(y[test], predicted[test, 1]))
        assert found.table["log_loss"][0] == pytest.approx(log_loss(y, predicted))
        assert found.table["roc_auc"][0] == pytest.approx(np.mean(areas), abs=0.03)

    @pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "neg_brier_score"])
    def test_scores_that_need_probabilities_on_few_rows(self, data, scoring):
        found = compare(*data, scoring=scoring, **QUICK)
        assert not found.failures
        assert found.recommended

    def test_a_function_as_scorer(self, data):
        def rows_right(model, X, y):
            return float((model.predict(X) == y).sum())

        found = compare(*data, scoring=rows_right, judge=GaussianNB(), **QUICK)
        assert found.table["rows_right"].max() > 60

    def test_splitter(self, data):
        cv = RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)
        found = compare(*data, judge=GaussianNB(), **{**QUICK, "cv": cv})
        assert [len(repeat) for repeat in found.candidates.folds] == [2, 2]

    def test_test_parts_that_overlap_are_repeats(self, data):
        cv = ShuffleSplit(4, test_size=0.5, random_state=0)
        found = compare(*data, judge=GaussianNB(), **{**QUICK, "cv": cv})
        assert [len(repeat) for repeat in found.candidates.folds] == [1, 1, 1, 1]
        assert found.verdict.headline

    def test_one_split(self, data):
        cv = ShuffleSplit(1, test_size=0.3, random_state=0)
        found = compare(*data, judge=GaussianNB(), **{**QUICK, "cv": cv})
        assert found.table["balanced_accuracy"].notna().all()
        assert repr(found)

    @pytest.mark.parametrize("judge", ["auto", "kernel", "boosting", "linear"])
    @pytest.mark.parametrize("kind", ["classes", "numbers", "multioutput"])
    def test_judges_by_name(self, data, judge, kind):
        X, y = data
        target = {"classes": y, "numbers": X[:, 1] + X[:, 4], "multioutput": X[:, [1, 4]]}[kind]
        found = compare(X, target, ["HSIC filter"], judge=judge, cv=2, random_state=0)
        assert not found.failures
        assert found.verdict.judge in str(found.verdict)
        assert found.estimator().predict(X).shape == target.shape

    def test_judges_that_cannot(self, data):
        X, _ = data
        labels = (X[:, :2] > 0).astype(int)
        for judge in ("boosting", "linear"):
            with pytest.raises(ValueError, match=f"judge='{judge}' predicts one target"):
                compare(X, labels, ["PCA"], judge=judge)
        with pytest.raises(ValueError, match="takes no sparse table"):
            compare(sparse.csr_array(X), X[:, 0], judge="boosting")

    def test_a_judge_of_the_user(self, data):
        X, _ = data
        found = compare(X, X[:, 0], ["PCA"], judge=Ridge(), cv=2, dimensions=[5])
        assert isinstance(found.estimator("PCA")[-1], Ridge)
        assert found.verdict.judge == "Ridge"
        assert "judged by Ridge" in str(found.verdict)

    def test_the_margin_decides_how_few(self, data):
        X, _ = data
        y = X @ np.array([3.0, 2.0, 1.0, 0.5, 0.2, 0.1])
        sizes = []
        for margin in (0.0, 0.02, 0.3):
            found = compare(
                X, y, ["HSIC filter"], judge=Ridge(), cv=3, margin=margin, random_state=0
            )
            sizes.append(found.verdict.size or 6)
        assert sizes[0] >= sizes[1] > sizes[2]


class TestTime:
    def test_methods_that_do_not_fit_in_are_left_out_and_named(self, data):
        methods = {"slow": _Slow(), "HSIC filter": "HSIC filter"}
        found = compare(*data, methods, judge=GaussianNB(), cv=4, time=1.0, random_state=0)
        assert found.left_out == ("slow",)
        assert names(found) == {"all columns", "HSIC filter"}
        assert "There was no time for slow" in repr(found)
        assert found.to_dict()["left_out"] == ["slow"]
        assert found.complete

    def test_what_is_left_goes_into_repeats(self, data):
        found = compare(*data, ["HSIC filter"], judge=GaussianNB(), cv=3, time=20.0)
        assert found.left_out == ()
        assert len(found.candidates.folds) == 10
        assert found.seconds < 20.0


class TestSampling:
    def test_rows_are_drawn_and_said(self, data):
        X, y = np.tile(data[0], (5, 1)), np.tile(data[1], 5)
        options = {"judge": GaussianNB(), "cv": 2, "random_state": 0}
        found = compare(X, y, ["PCA"], max_rows=100, **options)
        assert len(found.y) == 100
        assert found.n_rows_given == 450
        assert "100 of 450 rows were used" in repr(found)
        assert "100 were drawn at random" in " ".join(found.report().sections[1].points)
        assert len(compare(X, y, ["PCA"], max_rows=None, **options).y) == 450

    def test_rare_classes_keep_rows(self):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1], [3000, 12])
        options = {"judge": GaussianNB(), "cv": 2, "max_rows": 200, "random_state": 0}
        found = compare(rng.normal(size=(3012, 2)), y, ["PCA"], **options)
        assert (found.y == 1).sum() == 10

    def test_groups_stay_whole_and_weights_follow(self):
        rng = np.random.default_rng(0)
        groups = np.repeat(np.arange(30), 10)
        X, y = rng.normal(size=(300, 2)), np.arange(300.0)
        found = compare(
            X, y, ["PCA"], groups=groups, sample_weight=y + 1, max_rows=100, cv=2, random_state=0
        )
        kept = found.y.astype(int)
        assert len(kept) == 100
        assert (
            np.bincount(groups[kept], minlength=30)[np.unique(groups[kept])].tolist() == [10] * 10
        )
        np.testing.assert_allclose(found.setting.sample_weight, found.y + 1)

    def test_splits_that_name_rows_use_all(self, data):
        cv = [(np.arange(60), np.arange(60, 90))]
        assert len(compare(*data, ["PCA"], judge=GaussianNB(), cv=cv, max_rows=20).y) == 90


class TestGroups:
    groups = np.repeat(np.arange(24), 5)

    def test_no_fold_parts_a_group(self):
        """Rows of a group that is known are no test."""
        rng = np.random.default_rng(0)
        columns = rng.normal(size=(24, 3))[self.groups] + 0.05 * rng.normal(size=(120, 3))
        seen = {"whole": [], "rows": []}
        for _ in range(3):  # chance is 0.5 ± 0.1 in 24 groups: one draw of labels would say little
            labels = rng.permutation(np.arange(24) % 2)[self.groups]
            for name, of_rows in (("whole", self.groups), ("rows", None)):
                found = compare(
                    columns, labels, ["PCA"], dimensions=[2], cv=5, groups=of_rows, random_state=0
                )
                seen[name].append(found.table["balanced_accuracy"].max())
                for train, test in found.candidates.folds[0] if of_rows is not None else ():
                    assert not set(self.groups[train]) & set(self.groups[test])
        assert np.mean(seen["whole"]) < 0.7 < np.mean(seen["rows"])

    @pytest.mark.parametrize("library", [pd, pl])
    def test_the_column_of_a_frame(self, library):
        rng = np.random.default_rng(0)
        frame = library.DataFrame(
            {
                "a": rng.normal(size=120),
                "patient": [f"p{group}" for group in self.groups],
                "b": rng.normal(size=120),
            }
        )
        y = frame["a"] > 0
        named = compare(frame, y, ["HSIC filter"], groups="patient", cv=3, random_state=0)
        assert named.setting.problem.names == ("a", "b")
        given = frame.drop(columns="patient") if library is pd else frame.drop("patient")
        options = {"groups": frame["patient"], "cv": 3, "random_state": 0}
        passed = compare(given, y, ["HSIC filter"], **options)
        scores = [found.candidates.evidence.scores.tolist() for found in (named, passed)]
        assert scores[0] == scores[1]
        for train, test in named.candidates.folds[0]:
            assert not set(self.groups[train]) & set(self.groups[test])
        assert len(named.estimator().predict(given)) == 120
        with pytest.raises(ValueError, match="groups='ward' names a column"):
            compare(frame, y, ["HSIC filter"], groups="ward")

    def test_wrong_groups(self):
        X, y = np.random.default_rng(0).normal(size=(120, 3)), np.tile([0, 1], 60)
        cv = KFold(3, shuffle=True, random_state=0)
        with pytest.raises(ValueError, match="training and the test part"):
            compare(X, y, ["PCA"], cv=cv, groups=self.groups)
        with pytest.raises(ValueError, match=r"one label per row of X \(120\)"):
            compare(X, y, ["PCA"], groups=self.groups[1:])
        with pytest.raises(ValueError, match=r"cv=30 .*24 groups"):
            compare(X, y, ["PCA"], cv=30, groups=self.groups)
        with pytest.raises(ValueError, match="All rows belong to one group"):
            compare(X, y, ["PCA"], groups=np.zeros(120))
        with pytest.raises(ValueError, match=r"Class 1 of y .* groups"):
            compare(X, (self.groups == 3).astype(int), ["PCA"], groups=self.groups, cv=2)


class TestWeights:
    def test_reach_every_predictor_and_selector_that_takes_them(self, data):
        seen = []

        class Watch(GaussianNB):
            def fit(self, X, y, sample_weight=None):
                seen.append(sample_weight)
                return super().fit(X, y, sample_weight)

        X, y = data
        weight = np.random.default_rng(0).gamma(2.0, size=90)
        judge = make_pipeline(StandardScaler(), Watch())
        found = compare(
            X,
            y,
            {"BAHSIC": "BAHSIC", "alone": Watch(), "PLS": "PLS"},
            judge=judge,
            cv=2,
            dimensions=[1, 2],
            sample_weight=weight,
            random_state=0,
        )
        assert not found.failures
        folds = [weight[train].tolist() for train, _ in found.candidates.folds[0]]
        assert all(given is not None and given.tolist() in folds for given in seen)
        seen.clear()
        for name in names(found):
            found.estimator(name)
        assert all(given.tolist() == weight.tolist() for given in seen)

    @pytest.mark.parametrize("judge", ["auto", "boosting", "linear", RandomForestClassifier(5)])
    @pytest.mark.parametrize("numbers", [False, True])
    def test_reach_judges_by_name(self, data, judge, numbers):
        """A row that counts a thousand times pulls predictions of its neighbourhood."""
        X, y = data
        if numbers and not isinstance(judge, str):
            return
        target = y.astype(float) * 3.7 if numbers else y
        weight = np.where(y == 1, 50.0, 0.02)
        options = {"judge": judge, "cv": 2, "scoring": None if numbers else "accuracy"}
        options["task"] = "regression" if numbers else "auto"
        even = compare(X, target, ["all columns"], random_state=0, **options)
        tilted = compare(
            X, target, ["all columns"], sample_weight=weight, random_state=0, **options
        )
        before, after = (f.estimator().predict(X).astype(float).mean() for f in (even, tilted))
        assert after > before + 0.1

    def test_equal_repeated_rows(self, data):
        """With folds that hold the same rows, and models for which a weight is a copy."""
        X, _ = data
        rng = np.random.default_rng(1)
        y = X[:, 1] + X[:, 4] + 0.5 * rng.normal(size=90)
        counts = rng.integers(1, 4, size=90)
        rows = np.repeat(np.arange(90), counts)
        cv = [(np.arange(30, 90), np.arange(30)), (np.arange(60), np.arange(60, 90))]
        longer = [tuple(np.flatnonzero(np.isin(rows, part)) for part in fold) for fold in cv]
        methods = {"all": "all columns", "alone": LinearRegression()}
        options = {"judge": LinearRegression(), "random_state": 0}
        weighted = compare(X, y, methods, cv=cv, sample_weight=counts, **options)
        repeated = compare(X[rows], y[rows], methods, cv=longer, **options)
        for name in ("r2", "rmse", "mae"):
            np.testing.assert_allclose(weighted.table[name], repeated.table[name], rtol=1e-8)
        np.testing.assert_allclose(
            weighted.estimator("all").predict(X), repeated.estimator("all").predict(X)
        )

    def test_default_methods_take_them(self, data):
        weight = np.random.default_rng(0).gamma(2.0, size=90)
        found = compare(*data, cv=2, dimensions=[2], sample_weight=weight, random_state=0)
        assert set(found.failures) <= {"HSIC filter"}  # whose alignment counts every row once

    def test_classes_that_look_like_numbers(self, data):
        X, y = data
        weight = np.random.default_rng(0).gamma(2.0, size=90)
        options = {"task": "classification", "cv": 2, "sample_weight": weight, "random_state": 0}
        found = compare(X, y + 0.5, ["PLS"], **options)
        assert set(found.estimator().predict(X)) == {0.5, 1.5}


class _Failing(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        raise RuntimeError("no fit today")

    def transform(self, X):
        return X


class _Stopping(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        raise KeyboardInterrupt

    def transform(self, X):
        return X


class _Slow(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        import time

        time.sleep(0.5)
        return self

    def transform(self, X):
        return X


def test_nothing_warns(data):
    """Warnings of methods are collected, not shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(*data, {"slow": LogisticRegression(max_iter=1)}, cv=2, random_state=0)
