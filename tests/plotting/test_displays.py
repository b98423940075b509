"""Displays: what they hold, what they draw, and what they refuse."""

import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from depmax import BAHSIC, HSICLasso, KernelRidgeElimination, hsic, screen
from depmax.plotting import (
    Curve,
    DependencePathDisplay,
    DimensionCurveDisplay,
    FeatureScatterDisplay,
    HeatMapDisplay,
    LoadingsDisplay,
    RankingDisplay,
)


@pytest.fixture(name="data", scope="module")
def make_data():
    X = np.random.default_rng(0).normal(size=(60, 8))
    return X, (X[:, 2] + X[:, 5] > 0).astype(int)


class TestDimensionCurve:
    def test_grid_search(self, data, ax):
        model = make_pipeline(PCA(), GaussianNB())
        search = GridSearchCV(model, {"pca__n_components": [4, 1, 2]}, cv=3).fit(*data)
        display = DimensionCurveDisplay.from_estimator(search, ax=ax)
        (curve,) = display.curves.values()
        assert list(display.curves) == ["n_components"]
        assert curve.dimensions.tolist() == [1, 2, 4]
        results = search.cv_results_
        np.testing.assert_allclose(curve.scores, results["mean_test_score"][[1, 2, 0]])
        assert len(ax.lines) == 1
        assert len(ax.collections) == 1  # the band

    def test_many_curves_have_one_band_and_lines_for_the_rest(self, ax):
        sizes = np.array([1, 2, 40])
        curves = {f"m{j}": Curve(sizes, sizes + j, sizes - 1.0, sizes + 1.0) for j in range(9)}
        display = DimensionCurveDisplay(curves, "R²", {"all columns": 3.0}).plot(ax)
        assert len(ax.lines) == 10
        assert len(ax.collections) == 1
        assert ax.get_xscale() == "log"
        assert display.ax_ is ax
        assert len(ax.get_legend().texts) == 10

    def test_not_a_search(self):
        with pytest.raises(ValueError, match="PCA has no cv_results_"):
            DimensionCurveDisplay.from_estimator(PCA())

    def test_two_parameters(self, data):
        grid = {"pca__n_components": [1], "gaussiannb__var_smoothing": [1e-9]}
        search = GridSearchCV(make_pipeline(PCA(), GaussianNB()), grid, cv=2).fit(*data)
        with pytest.raises(ValueError, match="it varies 2"):
            DimensionCurveDisplay.from_estimator(search)


class TestDependencePath:
    def test_of_a_selector_in_a_pipeline(self, data, ax):
        model = make_pipeline(BAHSIC(2, step=1, pvalues=False), GaussianNB()).fit(*data)
        display = DependencePathDisplay.from_estimator(model, ax=ax)
        assert display.counts.tolist() == list(range(1, 9))
        assert display.kept == 2
        assert dict(model[0].path_)[8] == display.values[-1]

    @pytest.mark.parametrize(
        ("selector", "label"),
        [
            (BAHSIC(2, pvalues=False), "HSIC with the target"),
            (HSICLasso(2), "alignment with the target"),
            (KernelRidgeElimination(2), "leave-one-out error (share of the variance)"),
        ],
    )
    def test_the_axis_says_what_the_path_holds(self, data, ax, selector, label):
        DependencePathDisplay.from_estimator(selector.fit(*data), ax=ax)
        assert ax.get_ylabel() == label

    def test_a_cell_of_a_notebook_that_ends_with_it_stays_short(self, data):
        assert len(repr(DependencePathDisplay.from_estimator(BAHSIC(2).fit(*data)))) < 100

    def test_empty(self):
        with pytest.raises(ValueError, match="path is empty"):
            DependencePathDisplay.from_predictions(())

    def test_not_fitted(self):
        with pytest.raises(ValueError, match="BAHSIC has no path_"):
            DependencePathDisplay.from_estimator(BAHSIC())


class TestHeatMap:
    def test_bands_as_in_the_paper(self, data, ax):
        X, y = data
        display = HeatMapDisplay.from_bands(
            lambda low, high: hsic(X[:, low:high], y), range(0, 9, 2), unit="Hz", ax=ax
        )
        assert display.values.shape == (4, 4)
        assert np.isnan(display.values[np.triu_indices(4, 1)]).all()
        assert display.values[2, 1] == hsic(X[:, 2:6], y)
        assert ax.get_xlabel() == "lower edge (Hz)"
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["2", "4", "6", "8"]

    def test_matrix_with_long_names(self, ax):
        names = [f"a long name of column {j}" for j in range(50)]
        HeatMapDisplay.from_predictions(np.eye(50), names=names, ax=ax)
        assert len(ax.get_xticks()) < 25

    @pytest.mark.parametrize(
        ("values", "options", "message"),
        [(np.ones((2, 3)), {}, "square"), (np.eye(2), {"names": ["a"]}, "1 name for 2")],
    )
    def test_wrong_shapes(self, values, options, message):
        with pytest.raises(ValueError, match=message):
            HeatMapDisplay.from_predictions(values, **options)

    def test_edges_must_increase(self):
        with pytest.raises(ValueError, match="increasing"):
            HeatMapDisplay.from_bands(lambda a, b: 0.0, [1, 1])


class TestLoadings:
    @pytest.mark.parametrize(
        ("model", "weights"),
        [
            (PCA(3), lambda fitted: fitted.components_[:2]),
            (PLSRegression(2), lambda fitted: fitted.x_rotations_.T),
            (LinearDiscriminantAnalysis(), lambda fitted: fitted.scalings_.T),
        ],
        ids=lambda part: type(part).__name__,
    )
    def test_directions_of_scikit_learn(self, data, ax, model, weights):
        fitted = model.fit(*data)
        display = LoadingsDisplay.from_estimator(fitted, ax=ax)
        np.testing.assert_array_equal(display.weights, weights(fitted))

    def test_bars_show_the_largest(self, ax):
        weights = np.zeros((1, 30))
        weights[0, [3, 17]] = [0.5, -0.9]
        display = LoadingsDisplay.from_predictions(weights)
        display.n_shown = 2
        display.plot(ax)
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["x17", "x3"]

    def test_curves_over_positions(self, ax):
        places = np.linspace(800, 400, 5)
        LoadingsDisplay.from_predictions(np.ones((2, 5)), positions=places, ax=ax)
        assert (np.diff(ax.lines[0].get_xdata()) > 0).all()

    @pytest.mark.parametrize(
        ("name", "first", "step", "label"),
        [
            ("{}", 1100, 2, "column"),
            ("nm{}", 1100, 2, "nm"),
            ("{} nm", 850, 1.5, "nm"),
            ("{}", 4000, -4, "column"),
            ("wave_{}", 1, 1, "wave"),
        ],
    )
    def test_positions_are_read_from_names(self, ax, name, first, step, label):
        places = first + step * np.arange(12)
        names = [name.format(place) for place in places]
        display = LoadingsDisplay.from_predictions(np.ones((1, 12)), names=names, ax=ax)
        np.testing.assert_array_equal(display.positions, places)
        assert ax.get_xlabel() == label

    def test_positions_that_are_given_count(self, ax):
        names, places = [f"nm{j}" for j in range(12)], np.linspace(850, 1050, 12)
        rows = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 12)), columns=names)
        display = LoadingsDisplay.from_estimator(PCA(2).fit(rows), positions=places, ax=ax)
        np.testing.assert_array_equal(display.positions, places)
        assert ax.get_xlabel() == "column"
        own = LoadingsDisplay.from_estimator(PCA(2).fit(rows))
        np.testing.assert_array_equal(own.positions, np.arange(12))

    @pytest.mark.parametrize(
        "names",
        [
            ["a", "b"] * 10,
            [f"x{j}" for j in range(12)],
            [f"b{j}" for j in (3, 1, 2) * 4],
            [f"band-{j}" for j in range(1, 13)],
            [f"nm{j}" for j in range(9)],
        ],
    )
    def test_names_without_an_order(self, names):
        display = LoadingsDisplay.from_predictions(np.ones((1, len(names))), names=names)
        assert display.positions is None

    def test_no_directions(self):
        with pytest.raises(ValueError, match=r"GaussianNB .*components_"):
            LoadingsDisplay.from_estimator(GaussianNB())


class TestRanking:
    def test_of_a_selector(self, data, ax):
        selector = BAHSIC(2).fit(*data)
        display = RankingDisplay.from_estimator(selector, ax=ax)
        assert [tick.get_text() for tick in ax.get_yticklabels()][:2] == [
            f"x{j}" for j in np.argsort(selector.ranking_)[:2]
        ]
        np.testing.assert_array_equal(display.pvalues_adjusted, selector.pvalues_adjusted_)
        assert sum("p " in text.get_text() for text in ax.texts) == 8

    def test_of_a_screening(self, data, ax):
        found = screen(*data)
        display = RankingDisplay.from_predictions(
            found.scores, names=found.names, pvalues_adjusted=found.pvalues_adjusted, n_shown=3
        ).plot(ax)
        np.testing.assert_array_equal(display.ranking, found.ranking)
        assert len(ax.patches) == 3


class TestScatter:
    def test_classes_and_held_out_rows(self, data, ax):
        X, y = data
        display = FeatureScatterDisplay.from_estimator(
            PCA(2).fit(X[:40]), X, y, held_out=np.arange(60) >= 40, ax=ax
        )
        assert display.features.shape == (60, 2)
        assert [text.get_text() for text in ax.get_legend().texts] == ["0", "1"]
        assert sum(len(points.get_offsets()) for points in ax.collections) == 60

    def test_numbers_and_one_feature(self, data, ax):
        X, _ = data
        FeatureScatterDisplay.from_predictions(X[:, 0], X[:, 1], ax=ax)
        assert ax.get_ylabel() == "random jitter"

    def test_lengths(self):
        with pytest.raises(ValueError, match="3 rows of features and 2 of y"):
            FeatureScatterDisplay.from_predictions(np.ones((3, 2)), [0, 1])


def test_new_axes_when_none_are_given():
    from matplotlib import pyplot

    with mpl.rc_context({"backend": "agg"}):
        pyplot.switch_backend("agg")
        display = RankingDisplay.from_predictions([0.2, 0.4]).plot()
        assert display.figure_ is display.ax_.figure
        pyplot.close(display.figure_)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"depmax\[plot\]"):
        RankingDisplay.from_predictions([0.2, 0.4]).plot()
