"""Planted targets: what selectors find where the columns that matter are known."""

import json
import pickle
from html import escape

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.naive_bayes import GaussianNB

from depmax import compare
from depmax.evaluation import planted_recovery
from depmax.report import render_html

QUICK = {"judge": GaussianNB(), "cv": 3, "dimensions": [2], "random_state": 0}
SHAPES = ["linear", "curved", "interaction"]


class Keeps(SelectorMixin, BaseEstimator):
    """The same columns whatever the target is; says which targets it was shown."""

    shown: list = []  # noqa: RUF012  # over all copies

    def __init__(self, columns=(0, 1)):
        self.columns = columns

    def fit(self, X, y):
        self.shown.append(np.asarray(y))
        self.n_features_in_ = np.shape(X)[1]
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        return self

    def _get_support_mask(self):
        return np.isin(np.arange(self.n_features_in_), self.columns)


@pytest.fixture(name="data", scope="module")
def make_data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(159, 8)), columns=list("abcdefgh"))
    latent = X["b"] + X["e"] + 0.5 * rng.normal(size=159)
    y = pd.cut(latent, [-9, -0.5, 1, 9], labels=["low", "middle", "high"]).astype(str)
    return X, y.rename("level")


@pytest.fixture(name="found", scope="module")
def run(data):
    return compare(*data, ["HSIC filter", "BAHSIC", "PCA"], planted=True, **QUICK)


def test_selectors_are_counted_on_every_shape(found):
    planted = found.planted
    assert {row.method for row in planted.total} == {"HSIC filter", "BAHSIC"}  # PCA selects nothing
    assert len(planted.rows) == 6
    assert list(planted.reached) == SHAPES
    assert (planted.n_planted, planted.n_columns, planted.n_targets) == (2, 8, 15)
    for row in (*planted.rows, *planted.total):
        assert 0.0 <= row.low <= row.found <= row.high <= 1.0
        assert row.found + row.others == pytest.approx(1.0)  # no columns are alike here
    linear = [row.found for row in planted.rows if row.shape == "linear"]
    assert min(linear) > 0.8


def test_the_observed_score_is_met(found):
    planted = found.planted
    best = next(row for row in found.rows() if row["method"] == planted.total[0].method)
    assert planted.score == pytest.approx(best["balanced_accuracy"])
    near = 0.1 * (planted.score - found.verdict.guess)
    for shape, reached in planted.reached.items():
        assert reached < planted.score + near
        assert (reached < planted.score - near) == (shape in planted.short)
    assert "linear" not in planted.short


def test_what_is_recommended_is_what_is_judged(data):
    """Of two methods that keep the same columns, the simpler one is recommended."""
    rows = data[0].assign(**dict.fromkeys("acdfgh", 0.0))  # one cannot go wrong
    found = compare(rows, data[1], ["BAHSIC", "HSIC filter"], **QUICK)
    assert found.recommended == "HSIC filter"
    assert found.leaders[0] != found.place
    assert planted_recovery(found, n_repeats=1).total[0].method == "HSIC filter"


def test_said_everywhere(found):
    text = repr(found.planted)
    assert text == str(found.planted)
    best = found.planted.total[0]
    assert f"{best.method} finds {100 * best.found:.0f}%" in text
    assert text in repr(found)
    assert escape(text) in found._repr_html_()
    assert json.loads(json.dumps(found.to_dict()["planted"]))["n_planted"] == 2
    assert str(pickle.loads(pickle.dumps(found)).planted) == text
    report = found.report()
    (part,) = [one for one in report.sections if one.title.startswith("How far can")]
    assert part.text[0] == text
    assert len(part.tables[0].rows) == 8
    np.testing.assert_allclose(part.pictures[0].display.found[0, 0], found.planted.rows[0].found)
    assert found.planted.plot(Figure().add_subplot()).methods == [best.method, "BAHSIC"]
    assert "planted=True" in report.sections[-1].code
    assert "How far can these rows" in render_html(report)


def test_the_same_seed_plants_the_same(found):
    once = planted_recovery(found, n_repeats=1)
    assert planted_recovery(found, n_repeats=1) == once
    assert once.n_targets == 3


def test_columns_of_no_use_find_what_chance_finds(data):
    """Two fixed columns of eight hold a quarter of the planted ones, and the rest are others."""
    Keeps.shown.clear()
    found = compare(*data, {"fixed": Keeps((1, 4))}, **QUICK)
    planted = planted_recovery(found, n_repeats=12)
    assert abs(planted.total[0].found - 2 / 8) < 0.12
    assert planted.total[0].others == pytest.approx(1.0 - planted.total[0].found)
    whole = [np.sort(y).tolist() for y in Keeps.shown if len(y) == 159]
    assert whole == [sorted(data[1])] * len(whole)  # the values of the real target, in other rows


def test_a_near_copy_counts_for_the_planted_column(data):
    """Every column has a copy, of which one is kept: nothing is missed, and nothing is other."""
    X, y = data
    rng = np.random.default_rng(1)
    copies = (X + 0.05 * rng.normal(size=X.shape)).add_suffix("2")
    both = pd.concat([X, copies.iloc[:, ::-1]], axis=1)
    found = compare(both, y, {"originals": Keeps(tuple(range(8)))}, **QUICK)
    planted = planted_recovery(found, n_repeats=3)
    assert planted.total[0].found == 1.0
    assert planted.n_planted == 5  # a third of 16, none of them alike
    assert planted.total[0].others == pytest.approx(3 / 8)


def test_categories_gaps_weights_and_groups(data):
    X, y = data
    rng = np.random.default_rng(2)
    mixed = X.assign(kind=rng.choice(["x", "y", "z"], 159))
    mixed.loc[rng.random(159) < 0.2, ["a", "kind"]] = None
    patients = np.arange(159) // 3
    of_patient = y.groupby(patients).transform("first")
    mixed["b"] = mixed["b"].groupby(patients).transform("mean") + of_patient.eq("high")
    weight = rng.uniform(0.5, 2.0, 159)
    Keeps.shown.clear()
    methods = {"BAHSIC": "BAHSIC", "fixed": Keeps((1, 4))}
    found = compare(mixed, of_patient, methods, groups=patients, sample_weight=weight, **QUICK)
    planted = planted_recovery(found, n_repeats=2)
    assert planted.reason == ""
    assert len(planted.rows) == 6
    for target in (y for y in Keeps.shown if len(y) == 159):  # one value per patient, as given
        assert (target.reshape(-1, 3) == target.reshape(-1, 3)[:, :1]).all()


def test_numbers_keep_their_values(data):
    X, _ = data
    y = np.exp(X["b"] + X["e"]).rename("price")
    Keeps.shown.clear()
    methods = {"HSIC filter": "HSIC filter", "fixed": Keeps((1, 4))}
    found = compare(X, y, methods, cv=3, dimensions=[2], judge="linear", random_state=0)
    planted = planted_recovery(found, n_repeats=2)
    assert planted.metric == "R²"
    np.testing.assert_array_equal(np.sort(Keeps.shown[-1]), np.sort(y))


def test_what_fails_is_named_and_the_comparison_is_kept(data):
    class Moody(Keeps):
        """Fails where there are as many rows as the whole table has."""

        def fit(self, X, y):
            if len(X) == 159:
                raise RuntimeError("in a mood")
            return super().fit(X, y)

    found = compare(*data, {"moody": Moody((1, 4))}, planted=True, **QUICK)
    assert "RuntimeError: in a mood" in found.planted.reason

    def interrupt(state):
        if "planting" in state.step and state.done:
            raise KeyboardInterrupt

    methods = {"fixed": Keeps((1, 4))}
    found = compare(*data, methods, planted=True, progress=interrupt, **QUICK)
    assert found.planted is None
    assert found.complete


def test_nothing_is_planted_where_nothing_is_predicted(data):
    noise = np.random.default_rng(3).permutation(data[1])
    found = compare(data[0], noise, ["HSIC filter"], planted=True, **QUICK)
    assert "no better than guessing" in found.planted.reason
    assert found.planted.rows == ()
    assert found.planted.reason in repr(found)
    assert any(found.planted.reason in part.text for part in found.report().sections)


@pytest.mark.parametrize(
    ("methods", "change", "word"),
    [
        (["PCA"], {}, "a selector"),
        (["HSIC filter"], {"prepare": False}, "prepare"),
        (["HSIC filter"], {"columns": 4}, "6 columns"),
        (["HSIC filter"], {"outputs": 2}, "several targets"),
    ],
)
def test_what_cannot_be_planted_is_named(data, methods, change, word):
    X, y = data[0].to_numpy(), data[1].to_numpy()
    X, options = X[:, : change.pop("columns", 8)], dict(QUICK)
    if change.pop("outputs", 1) == 2:
        y, options["judge"] = X[:, [1, 4]], "auto"
    found = compare(X, y, methods, **options | change)
    assert word in planted_recovery(found, n_repeats=1).reason
