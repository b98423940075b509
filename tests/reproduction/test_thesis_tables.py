"""The runners of the thesis's tables: published figures, marks, coordinates, and short runs."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.metrics import hamming_loss

from depmax.evaluation import MLkNN, average_precision, coverage, one_error, ranking_loss
from depmax.kernels import Gaussian, Subsequence
from reproduction import (
    read_csv,
    save_csv,
    tables,
    thesis_accuracy,
    thesis_linear,
    thesis_promoters,
    thesis_semisupervised,
    thesis_table,
    thesis_yahoo,
)
from reproduction.dimension_choice import Method
from reproduction.figures import published
from reproduction.half_splits import half_splits
from reproduction.kept_splits import KeptSplits
from reproduction.label_curves import MEASURES, label_curves
from reproduction.pages.agreement import comparable
from reproduction.thesis_accuracy import PAIRED
from reproduction.thesis_data import SETS, read_wanted
from reproduction.thesis_marks import method_marks, set_marks
from reproduction.thesis_methods import FULL, hsca, pca
from reproduction.thesis_spaces import GaussianSpace, StringSpace

NAMES = tuple(
    f"thesis_{part}" for part in ("gaussian", "linear", "promoters", "semisupervised", "yahoo")
)
rng = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def no_other_data(monkeypatch):
    """Only the sets that come with the package."""
    monkeypatch.delenv("DEPMAX_DATA", raising=False)


# --- published figures ----------------------------------------------------------------------------
def test_every_table_is_registered():
    for name in NAMES:
        table = tables()[name]
        assert "dissertation" in table.source
        assert {"dataset", "method", "published", "ours", "standard_error"} <= set(table.columns)


def _changes(figures, mark):
    """What a mark is about, in per cent."""
    hsca = max(figures["HSCA0"], figures["HSCA1"])
    hbfe = max(figures["HBFE0"], figures["HBFE1"])
    other = max(figures["Full"], figures["PCA"], figures["LDA"])
    change = {"●": hsca - hbfe, "◇": max(hsca, hbfe) - other, "★": other - max(hsca, hbfe)}
    return 100 * change[mark]


@pytest.mark.parametrize("name", ["thesis_linear", "thesis_gaussian"])
def test_accuracies_agree_with_the_printed_summary(name):
    """Number of marked sets, and mean change over them, guard the digits."""
    contents = published(name)
    for k, summary in contents["summary"].items():
        for mark, (count, change) in summary.items():
            found = [
                _changes(figures[k], mark)
                for data, figures in contents["figures"].items()
                if mark in contents["marks"][data][k]
            ]
            assert len(found) == count
            if count:
                assert np.mean(found) == pytest.approx(change, abs=0.006)


def test_yahoo_marks_are_the_best_figures():
    contents = published("thesis_yahoo")
    assert len(contents["figures"]) == 11
    for data, by_measure in contents["figures"].items():
        assert list(by_measure) == list(MEASURES)
        for measure, figures in by_measure.items():
            mark = contents["marks"][data][measure]
            best = (max if MEASURES[measure][1] else min)(figures, key=figures.get)
            assert mark in (None, best)


# --- marks ----------------------------------------------------------------------------------------
def scores(**means):
    rng = np.random.default_rng(1)
    noise = rng.normal(scale=0.01, size=(len(means), 50))
    return {name: mean + part for (name, mean), part in zip(means.items(), noise, strict=True)}


def test_marks_of_a_set():
    better = scores(Full=0.7, HBFE1=0.8, HBFE0=0.79, HSCA1=0.6, HSCA0=0.85, LDA=0.8)
    assert set_marks(better) == "●◇"
    worse = scores(Full=0.9, HBFE1=0.8, HSCA0=0.7)
    assert set_marks(worse) == "○★"
    same = np.linspace(0, 1, 50)
    assert set_marks({"Full": same, "HBFE1": same, "HSCA0": same}) == ""
    assert set_marks(scores(HBFE1=0.8, PCA=0.7)) == "◇"


def test_marks_of_methods():
    marks = method_marks(scores(Full=0.7, HBFE1=0.8, HBFE0=0.7, HSCA1=0.6, HSCA0=0.9))
    assert marks == {
        "Full": "",
        "HBFE1": "bold",
        "HBFE0": "",
        "HSCA1": "",
        "HSCA0": "bold underlined",
    }


# --- coordinates ----------------------------------------------------------------------------------
def test_gaussian_coordinates_give_the_kernel(rng):
    X, train = rng.normal(size=(30, 3)), np.arange(20)
    Z = GaussianSpace(X).coordinates(train, {"scale": 0.9})
    kernel = Gaussian(bandwidth=0.9 * np.median(pdist(X[:20])))
    # training rows are in the span, so products with them are exact
    np.testing.assert_allclose(Z @ Z[:20].T, kernel(X, X[:20]), atol=1e-6)
    few = GaussianSpace(X, n_basis=5).coordinates(train, {"scale": 0.9})
    np.testing.assert_allclose(few, Z[:, :5], atol=1e-10)  # the first of the same rows


def test_string_coordinates_give_the_kernel(rng):
    strings = ["".join(rng.choice(list("acgt"), 12)) for _ in range(9)]
    space = StringSpace.of(strings)
    train = np.array([0, 2, 3, 5, 8])
    for setting in space.settings[::5]:
        kernel = Subsequence(setting["length"], setting["decay"])
        Z = space.coordinates(train, setting)
        expected = kernel(strings, [strings[place] for place in train])
        np.testing.assert_allclose(Z @ Z[train].T, expected, atol=1e-8)


# --- methods and data -----------------------------------------------------------------------------
def test_hsca_without_dependence_still_gives_a_feature(rng):
    X = rng.normal(size=(30, 3))
    # labels at random within pairs of equal rows: less dependence than chance
    X[1::2] = X[::2]
    y = np.tile([-1.0, 1.0], 15)
    assert hsca(X, y, 2, unbiased=True)(X).shape == (30, 1)


def test_sets_at_hand_come_first_and_unknown_names_are_refused():
    names = {"ames": {}, "heart": {}, "spambase": {}}
    found = {data.name: data for data in read_wanted(names, None)}
    assert list(found) == ["heart", "spambase", "ames"]
    assert found["ames"].X is None
    assert "DEPMAX_DATA" in found["spambase"].note
    np.testing.assert_allclose(found["heart"].X.std(axis=0), 1)
    assert set(found["heart"].y) == {-1.0, 1.0}
    with pytest.raises(ValueError, match="nothing"):
        list(read_wanted(names, ["nothing"]))
    assert {data.name for data in SETS} <= set(published("thesis_linear")["figures"])


def test_a_sample_of_a_set_is_drawn_once_and_says_so():
    [heart] = read_wanted({"heart": {}}, None)
    few = heart.sample(100)
    assert few.X.shape == (100, heart.X.shape[1])
    assert few.note == "another sample of the rows, 100 of 270"  # so it is not counted
    np.testing.assert_array_equal(few.X, heart.sample(100).X)
    assert {tuple(row) for row in few.X} <= {tuple(row) for row in heart.X}
    [absent] = read_wanted({"spambase": {}}, None)
    assert absent.sample(100) is absent


def test_a_table_takes_a_sample_of_the_sets_it_names():
    table = replace(thesis_linear.TABLE, samples={"heart": 80})
    kept = KeptSplits(PAIRED, methods=["Full"])
    rows = list(table.stream(False, None, ["heart"], 2, kept=kept))
    assert {row["note"] for row in rows} == {"another sample of the rows, 80 of 270"}
    assert not comparable(rows)


# --- multi-label curves ---------------------------------------------------------------------------
X = rng.normal(size=(90, 6))
Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0.3, X[:, 2] + X[:, 3] > 0, np.ones(90)]).astype(int)


def test_curves_are_those_of_the_classifier_and_the_measures():
    [split] = half_splits(Y, 1)
    found = label_curves(X, Y, split, [FULL, Method("PCA", pca)], [1, 3, 6], n_neighbors=5)
    train, test = split.train, split.test
    for place, count in enumerate([1, 3, 6]):
        transform = pca(X[train], Y[train], count)
        model = MLkNN(5).fit(transform(X[train]), Y[train])
        Z = transform(X[test])
        probabilities = model.predict_proba(Z)
        expected = [
            average_precision(Y[test], probabilities),
            coverage(Y[test], probabilities),
            hamming_loss(Y[test], model.predict(Z)),
            one_error(Y[test], probabilities),
            ranking_loss(Y[test], probabilities),
        ]
        np.testing.assert_allclose(found["PCA"][place], expected)
    # six principal components keep all distances
    np.testing.assert_allclose(found["Full"], np.tile(found["PCA"][2], (3, 1)))


def test_yahoo_dimensions_are_shares_of_the_columns():
    counts = thesis_yahoo.dimensions_of(100, 1000)
    assert counts == list(range(2, 100, 5))
    assert max(thesis_yahoo.dimensions_of(1047, 1000)) <= 1000


def test_yahoo_rows_are_means_over_dimensions(rng):
    contents = published("thesis_yahoo")
    names = [method.name for method in thesis_yahoo.METHODS]
    curves = [{name: rng.random((3, 5)) for name in names} for _ in range(4)]
    figures, marks = contents["figures"]["arts"], contents["marks"]["arts"]
    rows = list(thesis_yahoo.rows_of("arts", curves, [1, 2, 3], figures, marks))
    row = next(r for r in rows if (r["measure"], r["method"]) == ("coverage", "PCA"))
    values = np.array([curve["PCA"][:, 1] for curve in curves])
    assert row["ours"] == pytest.approx(values.mean())
    assert row["best"] == pytest.approx(values.mean(axis=0).min())
    assert row["published"] == 5.5572
    assert row["published_best"] == "HBFE1"


def test_a_set_that_is_not_at_hand_has_published_figures_only():
    rows = thesis_yahoo.stream(True, None, ["arts"])
    assert next(rows)["ours"] is None
    kept = KeptSplits(thesis_accuracy.PAIRED)
    rows = list(thesis_linear.TABLE.stream(True, None, ["ames"], kept=kept))
    assert len(rows) == 21
    assert all(row["ours"] is None and row["note"] == "data not at hand" for row in rows)
    for name in ("thesis_yahoo", "thesis_promoters"):
        with pytest.raises(ValueError, match="nothing"):
            tables()[name].run(quick=True, datasets=["nothing"])


# --- a short run ----------------------------------------------------------------------------------
def test_promoters_in_short(monkeypatch, tmp_path):
    monkeypatch.setattr(thesis_promoters, "MOST_FEATURES", 4)
    table = tables()["thesis_promoters"]
    rows = []
    shown = table.run(quick=True, datasets=["linear"], report=rows.append, n_splits=2)
    assert len(rows) == 3 * 6
    assert [row["last"] for row in rows] == [False] * 17 + [True]
    assert {row["n_splits"] for row in shown} == {2}
    assert all(set(row) == set(table.columns) for row in shown)
    for row in rows:
        assert 0.4 < row["ours"] < 1
        assert len(row["accuracies"]) == len(row["numbers_of_features"]) == 2
        assert row["ours"] == pytest.approx(np.mean(row["accuracies"]))
    path = tmp_path / "splits.csv"
    save_csv(path, rows, table.paired)
    [first, *_] = read_csv(path)
    assert [float(cell) for cell in first["accuracies"].split()] == pytest.approx(
        rows[0]["accuracies"], abs=1e-5
    )
    assert set(thesis_accuracy.PAIRED) == set(first)


def test_semisupervised_in_short(monkeypatch):
    monkeypatch.setattr(thesis_table, "QUICK_SPLITS", 2)
    few = tuple(
        replace(method, settings=method.settings[:2]) for method in thesis_semisupervised.METHODS
    )
    monkeypatch.setattr(thesis_semisupervised, "METHODS", few)
    rows = tables()["thesis_semisupervised"].run(quick=True)
    found = {(row["neighbors"], row["method"]): row for row in rows}
    assert len(found) == len(rows) == 3 * 11
    row, plain = found[3, "HSCA1, graph"], found[3, "HSCA1"]
    assert row["change"] == pytest.approx(100 * (row["ours"] - plain["ours"]))
    assert row["published_change"] == 0.83
    assert (plain["published"], plain["change"]) == (0.783, None)
