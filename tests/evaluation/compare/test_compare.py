"""compare: nested cross-validation by the definition, targets, tables, failures, interruption."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, KFold, RepeatedStratifiedKFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from depmax import BAHSIC, compare
from depmax.datasets import load
from depmax.evaluation import Comparison, Method, Prepare, Sized, by_ranking
from depmax.evaluation.comparison.catalogue import catalogue, default_methods, find_method
from depmax.evaluation.comparison.setting import Problem
from depmax.evaluation.comparison.trial import choose_dimension

QUICK = {"methods": ["correlation filter", "PCA"], "cv": 3, "dimensions": [1, 2], "random_state": 0}


@pytest.fixture(name="data", scope="module")
def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 6))
    return X, (X[:, 1] + X[:, 4] + 0.5 * rng.normal(size=90) > 0).astype(int)


@pytest.fixture(name="quick", scope="module")
def run_quick(data):
    return compare(*data, estimator=GaussianNB(), **QUICK)


class TestTheProtocol:
    @pytest.mark.parametrize(
        ("name", "step"), [("PCA", PCA()), ("BAHSIC", BAHSIC(pvalues=False))], ids=["PCA", "BAHSIC"]
    )
    def test_nested_cross_validation_by_the_definition(self, data, name, step):
        """The same splits through scikit-learn's grid search over whole pipelines."""
        X, y = data
        found = compare(
            X,
            y,
            [name],
            estimator=GaussianNB(),
            cv=3,
            dimensions=[1, 2, 4],
            tolerance=0,
            random_state=0,
        )
        parameter = "n_components" if name == "PCA" else "n_features_to_select"
        for trial in found.trials:
            train, test = found.splits[trial.split]
            inner = found.setting.inner_splits(X[train], y[train])
            search = GridSearchCV(
                make_pipeline(StandardScaler(), step, GaussianNB()),
                {f"{name.lower()}__{parameter}": [1, 2, 4]},
                cv=inner,
                scoring="balanced_accuracy",
            ).fit(X[train], y[train])
            assert trial.dimension == next(iter(search.best_params_.values()))
            assert trial.inner_score == pytest.approx(search.best_score_)
            expected = search.score(X[test], y[test])
            assert trial.scores["balanced_accuracy"] == pytest.approx(expected)
            assert trial.curve[trial.dimension] == pytest.approx(expected)

    def test_a_smaller_dimension_within_the_tolerance(self, data):
        """One standard error of the best mean inner score, computed the slow way."""
        X, y = data
        setting = compare(*data, estimator=GaussianNB(), **QUICK).setting
        scores = {}
        for train, valid in setting.inner_splits(X, y):
            for size in (1, 2):
                model = make_pipeline(StandardScaler(), PCA(size), GaussianNB())
                model.fit(X[train], y[train])
                judged = get_scorer("balanced_accuracy")(model, X[valid], y[valid])
                scores.setdefault(size, []).append(judged)
        means = {size: np.mean(values) for size, values in scores.items()}
        best = max(means, key=means.get)
        error = np.std(scores[best], ddof=1) / np.sqrt(3)
        for tolerance in (0.0, 1.0, 100.0):
            expected = min(s for s in means if means[s] >= means[best] - tolerance * error)
            chosen = choose_dimension(
                find_method("PCA"), X, y, replace(setting, tolerance=tolerance)
            )
            assert chosen.dimension == expected
            assert chosen.score == pytest.approx(means[expected])
        assert chosen.dimension == 1

    def test_selection_on_noise_predicts_nothing(self):
        """Columns selected on all rows would reach nearly one here."""
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(60, 300)), np.tile([0, 1], 30)
        found = compare(
            X,
            y,
            ["correlation filter"],
            estimator=GaussianNB(),
            cv=ShuffleSplit(20, test_size=0.3, random_state=0),
            dimensions=[3, 10],
            random_state=0,
        )
        assert abs(found.table["balanced_accuracy"][0] - 0.5) < 0.08

    def test_the_winner_is_chosen_without_the_test_rows(self, quick):
        by_split = {}
        for trial in quick.trials:
            by_split.setdefault(trial.split, []).append(trial)
        winners = [max(group, key=lambda trial: trial.inner_score) for group in by_split.values()]
        expected = np.mean([trial.scores["balanced_accuracy"] for trial in winners])
        assert quick.winner_score.mean == pytest.approx(expected)
        assert sum(quick.winners.values()) == 3

    def test_the_best_of_equals_is_optimistic_and_the_winner_score_is_not(self):
        rng = np.random.default_rng(1)
        X, y = rng.normal(size=(60, 20)), np.tile([0, 1], 30)
        columns = {f"column {j}": _Column(j) for j in range(20)}
        found = compare(X, y, columns, estimator=GaussianNB(), cv=5, random_state=0)
        assert found.table["balanced_accuracy"][0] > 0.55
        assert found.winner_score.mean < 0.52

    def test_seed_and_workers(self, data, quick):
        with parallel_config("threading"):
            other = compare(*data, estimator=GaussianNB(), n_jobs=2, **QUICK)
        columns = ["rank", "method", "balanced_accuracy", "dimension", "stability"]
        pd.testing.assert_frame_equal(quick.table[columns], other.table[columns])
        third = compare(*data, estimator=GaussianNB(), **{**QUICK, "random_state": 1})
        assert not quick.scores.equals(third.scores)


class TestResults:
    def test_table(self, quick):
        table = quick.table
        assert table["method"].tolist() == ["correlation filter", "PCA"]
        assert quick.best == "correlation filter"
        assert (table["low"] <= table["balanced_accuracy"]).all()
        assert (table["high"] <= 1).all()
        assert np.isnan(table["pvalue_adjusted"][0])
        assert 0 <= table["pvalue_adjusted"][1] <= 1
        assert table["stability"][0] > 0.5
        assert np.isnan(table["stability"][1])
        assert {"accuracy", "f1_macro", "fit_seconds", "transform_seconds"} <= set(table.columns)

    def test_significance_holds_all_pairs(self, data):
        names = ["correlation filter", "PCA", "HSIC filter", "all columns"]
        found = compare(*data, names, estimator=GaussianNB(), cv=3, dimensions=1, random_state=0)
        assert len(found.significance) == 6
        assert (found.significance["pvalue_adjusted"] >= found.significance["pvalue"]).all()
        first = found.significance.iloc[0]
        means = found.table.set_index("method")["balanced_accuracy"]
        assert first["difference"] == pytest.approx(means[first["method"]] - means[first["other"]])

    def test_curves(self, quick):
        curves = quick.curves
        assert curves.groupby("method")["dimension"].apply(list).tolist() == [[1, 2], [1, 2]]
        assert (curves["n_splits"] == 3).all()

    def test_best_estimator(self, data, quick):
        X, y = data
        model = quick.best_estimator_
        assert model.score(X, y) > 0.8
        assert set(np.flatnonzero(model["features"].get_support())) <= {1, 4}

    def test_the_best_method_without_its_predictor(self, data, quick):
        X, _ = data
        features = quick.best_transformer_.transform(X)
        support = quick.best_estimator_["features"].get_support()
        np.testing.assert_allclose(features, ((X - X.mean(0)) / X.std(0))[:, support])
        assert quick.transformer("PCA").transform(X).shape[1] <= 2
        with pytest.raises(ValueError, match="no method 'LDA'"):
            quick.transformer("LDA")

    def test_a_predictor_makes_no_features(self, data):
        found = compare(*data, [GaussianNB()], cv=2, random_state=0)
        for ask in (lambda: found.transformer("GaussianNB"), lambda: found.best_transformer_):
            with pytest.raises(ValueError, match="makes no features: use estimator"):
                ask()

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
            expected = found.best_estimator_.predict(X)
            np.testing.assert_array_equal(again.best_estimator_.predict(X), expected)
            for name in methods:
                assert again.estimator(name).predict(X).shape == y.shape

    @pytest.mark.parametrize("method", catalogue(), ids=lambda method: method.name)
    def test_every_method_can_be_pickled(self, method):
        again = pickle.loads(pickle.dumps(method))
        assert repr(again.make(2)) == repr(method.make(2))
        for kind, outputs in (("classes", 3), ("numbers", 1)):
            problem = Problem(kind, 100, 8, outputs)
            assert again.suits(problem) == method.suits(problem)
            assert again.largest(problem) == method.largest(problem)

    def test_another_method_of_the_comparison(self, data, quick):
        assert quick.estimator("PCA").predict(data[0]).shape == (90,)
        with pytest.raises(ValueError, match="no method 'LDA' in this comparison: 'corr"):
            quick.estimator("LDA")

    def test_repr(self, quick):
        text = repr(quick)
        assert "2 methods on 90 rows × 6 columns, 3 splits" in text
        assert "correlation filter" in text
        assert "Choosing the method without test data gives" in text


class TestTargets:
    def test_numbers(self, data):
        X, _ = data
        found = compare(X, X[:, 2] - X[:, 3], ["correlation filter"], cv=3, random_state=0)
        assert found.table["r2"][0] > 0.6
        assert found.table["rmse"][0] > 0

    def test_text_classes_with_the_defaults(self):
        wine = load("wine")
        y = np.array(["barolo", "grignolino", "barbera"])[wine.y - wine.y.min()]
        found = compare(wine.X, y, ["LDA", "PLS", "NCA"], cv=2, dimensions=[2, 5], random_state=0)
        assert not found.failures
        assert set(found.table["dimension"]) <= {2, 5}
        assert (found.table["balanced_accuracy"] > 0.9).all()
        found = compare(wine.X, y, ["LLE"], cv=2, dimensions=[2, 4], random_state=0)
        assert not found.failures
        assert (found.table["balanced_accuracy"] > 0.6).all()  # three classes

    @pytest.mark.parametrize("kind", ["multilabel", "multioutput"])
    def test_several_columns(self, data, kind):
        X, _ = data
        Y = np.column_stack([X[:, 0], X[:, 1] + X[:, 2]])
        if kind == "multilabel":
            Y = (Y > 0).astype(int)
        methods = ["BAHSIC", "correlation filter", "PLS"]
        found = compare(X, Y, methods, cv=2, dimensions=[3], random_state=0)
        assert not found.failures
        assert found.table["f1_micro" if kind == "multilabel" else "r2"].min() > 0.3
        assert ("one_error" in found.table.columns) == (kind == "multilabel")


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
        methods = ["BAHSIC", "HSIC filter", "PCA", "all columns"]
        found = compare(frame, y, methods, cv=2, dimensions=[1, 2], random_state=0)
        assert not found.failures
        assert type(found.table).__module__.startswith(library)
        assert found.winner_score.mean > 0.85
        model = found.estimator("BAHSIC")
        assert "level" in model["features"].get_feature_names_out()
        assert model.score(frame, y) > 0.85

    def test_sparse(self, data):
        X, y = data
        table = sparse.csr_array(np.where(np.abs(X) > 0.3, X, 0.0))
        found = compare(table, y, cv=2, dimensions=[2], random_state=0)
        assert not found.failures
        filters = {"HSIC filter", "correlation filter", "all columns", "HBFE", "HSCA"}
        assert set(found.table["method"]) == filters

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
        assert found.table["balanced_accuracy"][0] > 0.7
        assert set(found.curves["dimension"]) == {2, 8}


class TestMethods:
    def test_estimators_of_the_user(self, data):
        X, y = data
        found = compare(
            X,
            y,
            {
                "k best": SelectKBest(),
                "scaled components": make_pipeline(StandardScaler(), PCA()),
                "ridge": LogisticRegression(),
                "mine": Method("?", BAHSIC, nested=by_ranking, selects=True),
                "known": "correlation-Filter",
            },
            estimator=GaussianNB(),
            cv=2,
            dimensions=[1, 2],
            random_state=0,
        )
        assert not found.failures
        assert set(found.table["method"]) == {
            "k best",
            "scaled components",
            "ridge",
            "mine",
            "known",
        }
        sizes = dict(zip(found.table["method"], found.table["dimension"], strict=True))
        assert np.isnan(sizes["ridge"])
        assert sizes["k best"] in (1, 1.5, 2)

    def test_names_come_from_estimators(self, data):
        methods = [make_pipeline(StandardScaler(), PCA()), PCA()]
        found = compare(*data, methods, estimator=GaussianNB(), cv=2, dimensions=1, random_state=0)
        assert set(found.table["method"]) == {"StandardScaler + PCA", "PCA"}

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

    def test_defaults_follow_the_problem(self):
        def names(*, thorough=False, **options):
            sizes = {"kind": "classes", "n_samples": 150, "n_features": 20, "n_outputs": 2}
            problem = Problem(**sizes | options)
            return {method.name for method in default_methods(problem, thorough=thorough)}

        quick = {"all columns", "BAHSIC", "LDA", "PLS", "PCA"}
        slow = {"NCA", "FastICA", "ICAFX", "LLE"}
        assert quick <= names()
        assert not slow & names()
        assert quick | slow <= names(thorough=True)
        assert "LDA" not in names(kind="numbers")
        assert not {"NCA", "FastICA", "FOHSIC", "LLE"} & names(n_samples=10_000, thorough=True)
        assert "BAHSIC" in names(n_samples=10_000)
        assert "PCA" not in names(sparse=True)

    def test_levels_of_categories_count_as_columns_for_extractors(self):
        few = Problem("classes", 150, 8, 2, categorical=True, n_indicators=10)
        many = replace(few, n_indicators=200)
        costly = {"ICAFX", "NCA", "FastICA", "LLE"}
        assert costly <= {method.name for method in default_methods(few, thorough=True)}
        assert not costly & {method.name for method in default_methods(many, thorough=True)}


class TestTrouble:
    def test_a_failing_method_is_reported_and_the_rest_goes_on(self, data):
        found = compare(
            *data, {"bad": _Failing(), "PCA": "PCA"}, cv=2, dimensions=1, random_state=0
        )
        assert found.failures == {"bad": "RuntimeError: no fit today"}
        assert found.table["method"].tolist() == ["PCA"]
        assert "bad failed: RuntimeError: no fit today" in repr(found)

    def test_all_methods_fail(self, data):
        with pytest.raises(ValueError, match=r"could be fitted.*bad: RuntimeError"):
            compare(*data, {"bad": _Failing()}, cv=2)

    def test_warnings_are_counted(self, data):
        slow = LogisticRegression(max_iter=1)
        found = compare(*data, {"slow": slow}, cv=2, random_state=0)
        ((text, count),) = found.warnings["slow"].items()
        assert text.startswith("ConvergenceWarning")
        assert count == 2

    def test_interruption_keeps_what_is_finished(self, data):
        def stop(state):
            if state.done == last:
                raise KeyboardInterrupt

        last = 5  # the first method on the third split, which the second has not finished
        found = compare(*data, estimator=GaussianNB(), progress=stop, **QUICK)
        assert not found.complete
        assert found.scores["split"].tolist() == [0, 1, 0, 1]
        assert "Interrupted after 2 of 3 splits." in repr(found)
        last = 1
        found = compare(*data, estimator=GaussianNB(), progress=stop, **QUICK)
        assert found.scores["split"].tolist() == [0]
        assert "Interrupted after 1 of 3 splits, before PCA." in repr(found)

    def test_progress(self, data):
        states = []
        compare(*data, estimator=GaussianNB(), progress=states.append, **QUICK)
        assert [state.done for state in states] == list(range(1, 7))
        assert states[-1].remaining == 0
        assert states[0].remaining > 0

    def test_progress_is_printed(self, data, capsys):
        compare(*data, estimator=GaussianNB(), progress=True, **QUICK)
        assert "comparing methods: 6/6 done" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"cv": 1}, "cv must be at least 2"),
            ({"dimensions": [0]}, "dimensions must be whole numbers"),
            ({"scoring": []}, "scoring is empty"),
            ({"tolerance": -1}, "tolerance must be zero"),
            ({"y": [0, 1]}, "X has 90 rows and y has 2"),
            ({"y": np.zeros(90)}, "only one class"),
            ({"y": np.r_[2, np.tile([0, 1], 45)[1:]]}, "Class 2 of y has only one row"),
        ],
    )
    def test_wrong_input(self, data, options, message):
        X, y = data
        with pytest.raises(ValueError, match=message):
            compare(X, options.pop("y", y), **options)

    def test_missing_values_are_named(self, data):
        X = data[0].copy()
        X[3, 2] = np.nan
        with pytest.raises(ValueError, match="NaN in column 2"):
            compare(X, data[1], impute=None)


class TestOptions:
    def test_scoring(self, data):
        found = compare(*data, scoring=["roc_auc", "accuracy"], **QUICK)
        assert {"roc_auc", "accuracy"} <= set(found.table.columns)
        single = compare(*data, scoring="accuracy", estimator=GaussianNB(), **QUICK)
        assert single.setting.metrics[0].name == "accuracy"

    def test_splitter(self, data):
        cv = RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)
        found = compare(*data, estimator=GaussianNB(), **{**QUICK, "cv": cv})
        assert len(found.splits) == 4

    def test_one_split_has_scores_and_no_significance(self, data):
        cv = ShuffleSplit(1, test_size=0.3, random_state=0)
        found = compare(*data, estimator=GaussianNB(), **{**QUICK, "cv": cv})
        assert found.table["balanced_accuracy"].notna().all()
        assert found.significance["pvalue"].isna().all()
        assert repr(found)

    def test_user_predictor(self, data):
        X, _ = data
        found = compare(X, X[:, 0], ["PCA"], estimator=Ridge(), cv=2, dimensions=[5])
        assert isinstance(found.best_estimator_[-1], Ridge)

    def test_comparison_is_public(self, quick):
        assert isinstance(quick, Comparison)


class _Large(TransformerMixin, BaseEstimator):
    """Holds so many megabytes while it is fitted."""

    def __init__(self, megabytes=1):
        self.megabytes = megabytes

    def fit(self, X, y=None):
        np.ones(self.megabytes * 2**17)
        return self

    def transform(self, X):
        return X


def test_memory_of_a_fit(data):
    methods = {"large": _Large(40), "small": _Large(2)}
    found = compare(*data, methods, estimator=GaussianNB(), cv=2, random_state=0)
    megabytes = dict(zip(found.table["method"], found.table["fit_megabytes"], strict=True))
    assert megabytes["large"] == pytest.approx(40, abs=0.5)
    assert megabytes["small"] == pytest.approx(2, abs=0.5)
    with parallel_config("threading"):  # threads cannot be told apart
        found = compare(*data, methods, estimator=GaussianNB(), cv=2, random_state=0, n_jobs=2)
    assert found.table["fit_megabytes"].isna().all()


class _Failing(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        raise RuntimeError("no fit today")

    def transform(self, X):
        return X


class _Column(TransformerMixin, BaseEstimator):
    def __init__(self, column):
        self.column = column

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[:, [self.column]]


@pytest.mark.parametrize("kind", ["array", "pandas"])
def test_gaps_are_filled_by_the_training_rows_alone(kind):
    """A test row with a gap gets the middle of the training rows, whatever the test rows hold."""
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
    found = compare(
        table,
        y,
        {"watched": Watch(), "alone": LinearRegression()},
        cv=[(train, test)],
        dimensions=[2],
        impute="mean",
        random_state=0,
    )
    assert not found.failures
    expected = Prepare("mean").fit_transform(X[train])
    np.testing.assert_allclose(seen[-1], expected, atol=1e-12)
    assert not np.isnan(found.best_estimator_.predict(table)).any()  # fills gaps of new rows too
    assert "impute='mean'" in found.report().sections[-1].code
    with pytest.raises(ValueError, match="impute must be None or one of"):
        compare(table, y, ["PCA"], impute="zero")
    with pytest.raises(ValueError, match="NaN in column"):
        compare(table, y, ["PCA"], impute=None)


def test_no_split_parts_a_group() -> None:
    """Outer and inner splits keep groups whole; rows of a group that is known are no test."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(24), 5)
    columns = rng.normal(size=(24, 3))[groups] + 0.05 * rng.normal(size=(120, 3))
    seen = {"whole": [], "rows": []}
    for _ in range(3):  # chance is 0.5 ± 0.1 in 24 groups: one draw of labels would say little
        labels = rng.permutation(np.arange(24) % 2)[groups]
        for name, of_rows in (("whole", groups), ("rows", None)):
            found = compare(
                columns, labels, ["PCA"], dimensions=[2], groups=of_rows, random_state=0
            )
            seen[name].append(found.winner_score.mean)
            if of_rows is not None:
                for train, test in found.splits:
                    assert not set(groups[train]) & set(groups[test])
                    for inner, valid in found.setting.inner_splits(None, labels[train], train):
                        assert not set(groups[train][inner]) & set(groups[train][valid])
    assert np.mean(seen["whole"]) < 0.7 < np.mean(seen["rows"])
    with pytest.raises(ValueError, match="into both the training and the test part"):
        compare(columns, labels, ["PCA"], cv=KFold(3, shuffle=True, random_state=0), groups=groups)
    with pytest.raises(ValueError, match=r"one label per row of X \(120\)"):
        compare(columns, labels, ["PCA"], groups=groups[1:])
    with pytest.raises(ValueError, match="cv=30 folds are more than 24 groups"):
        compare(columns, labels, ["PCA"], cv=30, groups=groups)


def test_missing_values_are_filled_by_default_and_only_where_there_are_any() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.where(X[:, 0] > 0, "a", "b")
    assert compare(X, y, **QUICK).setting.impute is None
    X[::7, 1] = np.nan
    assert compare(X, y, **QUICK).setting.impute == "median"
    with pytest.raises(ValueError, match="NaN"):
        compare(X, y, impute=None, **QUICK)


@pytest.mark.parametrize("n_rows", [300, 1400])
def test_a_rare_class_is_not_ignored(n_rows: int) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, 4))
    rare = rng.permutation(n_rows)[: n_rows // 20]
    y = np.zeros(n_rows, dtype=int)
    y[rare] = 1
    X[rare, 0] += 1.5  # seen, but never the likelier class
    found = compare(X, y, ["BAHSIC", "all columns"], dimensions=[1], cv=3, random_state=0)
    assert found.table["balanced_accuracy"].max() > 0.65
    assert "Nothing here predicts" not in str(found.verdict)
    accurate = compare(X, y, ["BAHSIC"], dimensions=[1], cv=3, scoring="accuracy", random_state=0)
    assert accurate.table["accuracy"].min() > 0.94  # judged by it, the rare class is ignored


class TestTooFewOfAClass:
    X = np.random.default_rng(0).normal(size=(60, 3))

    def test_rows(self) -> None:
        y = np.repeat(["no", "yes"], [58, 2])
        with pytest.raises(ValueError, match=r"^Class 'yes' of y has 2 rows: too few to hold some"):
            compare(self.X, y, ["HSIC filter", "PCA"], random_state=0)

    def test_groups(self) -> None:
        patient = np.repeat(np.arange(4), 15)
        with pytest.raises(ValueError, match=r"of y has 30 rows in 2 groups: too few to hold some"):
            compare(self.X, patient % 2, ["HSIC filter"], groups=patient, cv=2, random_state=0)
