"""What a column does, in units of the target: groups of rows, their means, and the intervals."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats
from scipy.stats import binomtest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from depmax import BAHSIC, Expand, Prepare
from depmax.plotting import RankingDisplay, TargetByColumnDisplay

draw = TargetByColumnDisplay.from_predictions


@pytest.fixture(name="rng")
def make_generator():
    return np.random.default_rng(0)


def test_means_of_numbers_with_t_intervals(rng, ax):
    x = rng.permutation(200) / 10.0
    y = x**2 + rng.normal(size=200)
    display = draw(x, y, ax=ax)
    assert display.counts.tolist() == [20] * 10
    rows = [np.flatnonzero((x >= low) & (x < low + 2.0)) for low in range(0, 20, 2)]
    np.testing.assert_allclose(display.means[0], [y[part].mean() for part in rows])
    ends = [stats.ttest_1samp(y[part], 0.0).confidence_interval(0.95) for part in rows]
    np.testing.assert_allclose(np.array([display.low[0], display.high[0]]).T, ends)
    np.testing.assert_allclose(display.places, [np.median(x[part]) for part in rows])


def test_shares_of_classes_with_wilsons_intervals(rng, ax):
    x = rng.choice(["low", "middle", "high"], 90)
    y = rng.choice(["a", "b", "c"], 90)
    display = draw(x, y, ax=ax)
    assert display.levels == ("high", "low", "middle")
    assert display.series == ("a", "b", "c")
    for place, level in enumerate(display.levels):
        rows = y[x == level]
        exact = binomtest(int((rows == "b").sum()), len(rows)).proportion_ci(method="wilson")
        found = [each[1, place] for each in (display.means, display.low, display.high)]
        np.testing.assert_allclose(found, [(rows == "b").mean(), exact.low, exact.high], rtol=1e-6)


def test_of_two_classes_one_is_drawn(ax):
    display = draw([1, 1, 2, 2], ["yes", "no", "yes", "yes"], ax=ax)
    assert (display.series, display.label) == (("yes",), "share of yes")
    assert display.means.tolist() == [[0.5, 1.0]]
    assert ax.get_ylabel() == "share of yes"


@pytest.mark.parametrize("make", [pd.Series, pl.Series, np.asarray])
def test_gaps_are_a_group_of_their_own(rng, ax, make):
    x = rng.normal(size=60)
    x[:12] = np.nan
    display = draw(make(x), np.arange(60.0), ax=ax)
    assert display.levels == ("missing",)
    assert display.counts[-1] == 12
    assert display.means[0, -1] == np.arange(12).mean()
    texts = draw(make(np.array(["a", "b", None] * 4, dtype=object)), np.arange(12.0))
    assert texts.levels == ("a", "b", "missing")


def test_many_zeros_leave_groups_to_the_others(rng):
    amounts = np.where(rng.random(1000) < 0.8, 0.0, rng.exponential(size=1000))
    display = draw(amounts, amounts > 1)
    assert display.counts[0] == (amounts == 0).sum()
    assert len(display.counts) == 11


def test_rare_levels_are_drawn_as_one():
    display = draw(["a"] * 20 + ["b"] * 20 + ["c", "d", "e"], np.arange(43.0))
    assert display.levels == ("a", "b", "3 others")
    many = draw(np.repeat([f"l{j:02}" for j in range(30)], np.arange(30, 0, -1)), np.ones(465))
    assert many.levels[-1] == "23 others"
    assert many.counts.sum() == 465


def test_labels_and_outputs(rng, ax):
    x = rng.normal(size=300)
    labels = pd.DataFrame({"up": x > 0, "down": x < 0, "never": np.zeros(300)}).astype(int)
    display = draw(x, labels, ax=ax)
    assert display.series == ("up", "down", "never")
    np.testing.assert_allclose(display.means[0] + display.means[1], 1.0)
    outputs = np.column_stack([1000.0 * x, 5.0 - x])
    means = draw(x, outputs).means
    np.testing.assert_allclose(means[0], -means[1], atol=1e-12)


def test_a_weight_says_what_a_row_counts(rng):
    x, y = rng.normal(size=100), rng.normal(size=100)
    weight = rng.uniform(size=100)
    twice = [draw(x, y, sample_weight=factor * weight) for factor in (1.0, 7.0)]
    np.testing.assert_allclose(twice[0].low, twice[1].low)
    assert draw(x, y, sample_weight=np.ones(100)).low == pytest.approx(draw(x, y).low)
    some = weight > 0.3
    left = draw(x, y, sample_weight=np.where(some, 1.0, 0.0))
    np.testing.assert_allclose(left.means, draw(x[some], y[some]).means)


@pytest.mark.parametrize("classes", [False, True])
def test_copies_of_rows_in_a_group_make_nothing_more_certain(rng, classes):
    x, y = rng.normal(size=120), rng.integers(0, 2, 120)
    y = y if classes else y + rng.normal(size=120)
    units = np.arange(120)
    alone = draw(np.sign(x), y, groups=units)
    copied = draw(np.sign(np.tile(x, 5)), np.tile(y, 5), groups=np.tile(units, 5))
    np.testing.assert_allclose(alone.low, copied.low)
    np.testing.assert_allclose(alone.high, copied.high)


def test_of_a_selector_in_a_pipeline(rng, ax):
    frame = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd"))
    y = frame["c"] * 3.0 + rng.normal(size=80)
    model = Prepare().fit(frame), BAHSIC(1, pvalues=False)
    model[1].fit(model[0].transform(frame), y)
    display = TargetByColumnDisplay.from_estimator(model[1], frame, y, target_name="cost", ax=ax)
    assert (display.name, display.label) == ("c", "mean of cost")
    np.testing.assert_allclose(display.means, draw(frame["c"], y).means)


def test_what_a_pipeline_makes_of_a_column_is_not_drawn_for_another(rng):
    """A date before the column that is kept becomes several columns, and so does a category."""
    n = 80
    frame = pd.DataFrame(
        {
            "when": pd.date_range("2024", periods=n),
            "kind": rng.choice(["a", "b", "c"], n),
            "size": 100.0 * rng.normal(size=n),
        }
    )
    model = make_pipeline(Expand(), Prepare(encode=True), BAHSIC(1, pvalues=False))
    for wanted, y in {
        "size": frame["size"],
        "kind=b": (frame["kind"] == "b").astype(float) + 0.1 * rng.normal(size=n),
        "when: days": np.arange(n) + rng.normal(size=n),
    }.items():
        display = TargetByColumnDisplay.from_estimator(model.fit(frame, y), frame, y)
        assert display.name == wanted
        values = Expand().fit_transform(frame).assign(**{"kind=b": frame["kind"] == "b"})[wanted]
        np.testing.assert_allclose(display.means, draw(values.astype(float), y).means)


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas, lambda frame: frame])
def test_frames_and_names_that_arrays_lose(rng, make):
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    y = pd.Series(frame["b"] + 0.1 * rng.normal(size=80), name="cost")
    model = make_pipeline(StandardScaler(), BAHSIC(1, pvalues=False)).fit(frame, y)
    display = TargetByColumnDisplay.from_estimator(model, make(frame), y)
    assert (display.name, display.label) == ("b", "mean of cost")
    assert RankingDisplay.from_estimator(model).names == ("a", "b", "c")


def test_lengths():
    with pytest.raises(ValueError, match="3 rows and y has 2"):
        draw([1, 2, 3], [0, 1])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, np.nan, 2.0], "missing in 1 of 3"),
        (np.array(["a", None, "b"], dtype=object), "missing in 1 of 3"),
        (pd.Series([1, pd.NA, 2], dtype="Int64"), "missing in 1 of 3"),
        (np.array([(True, 1.0)] * 3, dtype=[("e", bool), ("t", float)]), "survival times"),
        (pl.DataFrame({"event": [True] * 3, "time": [1.0, 2.0, 3.0]}), "survival times"),
    ],
)
def test_a_target_without_means(y, message):
    with pytest.raises((TypeError, ValueError), match=message):
        draw([1, 2, 3], y)


def test_what_cannot_be_drawn(rng):
    with pytest.raises(TypeError, match="Expand"):
        draw(pd.Series(pd.date_range("2024", periods=3)), [1, 2, 3])
    for weight in ([-1.0, 1.0, 1.0], [np.nan, 1.0, 1.0], [1.0, 1.0]):
        with pytest.raises(ValueError, match="sample_weight"):
            draw([1, 2, 3], [1.0, 2.0, 3.0], sample_weight=weight)
    X = rng.normal(size=(30, 2))
    model = BAHSIC(1, pvalues=False).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="place"):
        TargetByColumnDisplay.from_estimator(model, X, X[:, 0], place=2)


@pytest.mark.parametrize("values", [[1.0], [np.nan, np.nan], ["a"], [True, True, False]])
def test_few_rows(values, ax):
    """A single row has a mean and no interval."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display = draw(values, np.arange(len(values)) / 2.0, ax=ax)
    assert display.counts.sum() == len(values)
    assert np.isfinite(display.means).all()


def test_intervals_hold_the_mean_of_their_group(rng):
    """As often as they say, for numbers and classes, away from the ends of the column."""
    hits = {False: [], True: []}
    for _ in range(150):
        x = rng.normal(size=200)
        ranks = np.argsort(np.argsort(x)) // 20
        for classes, found in hits.items():
            truth = 1.0 / (1.0 + np.exp(-x)) if classes else x
            y = (rng.random(200) < truth).astype(int) if classes else x + rng.normal(size=200)
            display = draw(x, y)
            wanted = np.bincount(ranks, truth)[1:-1] / 20
            found.append((display.low[0, 1:-1] <= wanted) & (wanted <= display.high[0, 1:-1]))
    for found in hits.values():
        assert 0.93 < np.mean(found) < 0.975


def test_intervals_of_weighted_means_hold_them(rng):
    """Twenty rows of which a few weigh most are as uncertain as ten."""
    found = []
    for _ in range(150):
        x, weight = rng.normal(size=200), rng.exponential(size=200)
        display = draw(x, x + rng.normal(size=200), sample_weight=weight)
        ranks = np.argsort(np.argsort(x)) // 20
        wanted = (np.bincount(ranks, weight * x) / np.bincount(ranks, weight))[1:-1]
        found.append((display.low[0, 1:-1] <= wanted) & (wanted <= display.high[0, 1:-1]))
    assert np.mean(found) > 0.935
