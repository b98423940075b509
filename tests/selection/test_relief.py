"""Relief against the algorithm as published, row by row."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from depmax.selection.dependence_filter import DependenceFilter
from depmax.selection.relief import Relief


def scaled(X):
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0)


def neighbours(rows, probe, candidates, k):
    """The k candidates nearest to a row, itself left out, the first of equally near ones."""
    others = [other for other in candidates if other != probe]
    near = sorted(others, key=lambda other: (sum(abs(rows[probe] - rows[other])), other))
    return near[:k]


def slow_relief_f(X, y, k):
    rows, labels = scaled(X), list(np.unique(y))
    share = {label: np.mean(y == label) for label in labels}
    weights = np.zeros(X.shape[1])
    for probe in range(len(X)):
        for label in labels:
            near = neighbours(rows, probe, np.flatnonzero(y == label), k)
            if not near:
                continue
            size = np.mean([abs(rows[probe] - rows[other]) for other in near], axis=0)
            if label == y[probe]:
                weights -= size / len(X)
            else:
                weights += share[label] / (1 - share[y[probe]]) * size / len(X)
    return weights


def slow_r_relief_f(X, Y, k):
    rows, outputs = scaled(X), scaled(Y)
    n_target, n_column, n_both = 0.0, np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for probe in range(len(X)):
        near = neighbours(rows, probe, range(len(X)), k)
        for other in near:
            apart = np.mean(abs(outputs[probe] - outputs[other]))
            size = abs(rows[probe] - rows[other])
            n_target += apart / len(near)
            n_column += size / len(near)
            n_both += apart * size / len(near)
    return n_both / n_target - (n_column - n_both) / (len(X) - n_target)


def slow_relief(X, y):
    """Kira and Rendell (1992): the nearest hit and the nearest miss, by squared differences."""
    rows, weights = scaled(X), np.zeros(X.shape[1])
    for probe, label in enumerate(y):
        squares = np.square(rows - rows[probe])
        distances = squares.sum(axis=1)
        distances[probe] = np.inf
        hit = np.argmin(np.where(y == label, distances, np.inf))
        miss = np.argmin(np.where(y == label, np.inf, distances))
        weights += (squares[miss] - squares[hit]) / len(X)
    return weights


@pytest.fixture(name="X")
def make_inputs():
    return np.random.default_rng(0).normal(size=(40, 5)) * [1.0, 10.0, 0.1, 1.0, 1.0]


class TestAgainstTheAlgorithm:
    @pytest.mark.parametrize("k", [1, 3, 10])
    @pytest.mark.parametrize("sizes", [(15, 25), (5, 15, 20), (1, 2, 37)])
    def test_classes(self, X, k, sizes):
        """A class with fewer than k rows lends those it has, a class of one has no hits."""
        y = np.repeat(np.arange(len(sizes)), sizes)
        found = Relief(n_neighbors=k).fit(X, y).scores_
        np.testing.assert_allclose(found, slow_relief_f(X, y, k), rtol=1e-10, atol=1e-12)

    def test_relief_of_1992(self, X):
        y = (X[:, 0] + X[:, 1] / 10 > 0).astype(int)
        found = Relief(n_neighbors=1, squared=True).fit(X, y).scores_
        np.testing.assert_allclose(found, slow_relief(X, y), rtol=1e-10)
        levels = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical.from_codes(y, ["u", "v"])})
        assert Relief(n_neighbors=1, squared=True).fit(levels, y).scores_[1] == pytest.approx(1.0)
        with pytest.raises(ValueError, match="squared=True of Relief"):
            Relief(squared=True).fit(X, X[:, 0])

    @pytest.mark.parametrize("k", [1, 7, 100])
    def test_numbers(self, X, k):
        y = X[:, 0] * X[:, 3]
        found = Relief(n_neighbors=k).fit(X, y).scores_
        np.testing.assert_allclose(found, slow_r_relief_f(X, y[:, None], k), rtol=1e-10)

    def test_several_outputs_and_labels(self, X):
        outputs = np.column_stack([X[:, 0], X[:, 1] ** 2])
        found = Relief().fit(X, outputs).scores_
        np.testing.assert_allclose(found, slow_r_relief_f(X, outputs, 10), rtol=1e-10)
        labels = (outputs > 0.5).astype(int)
        found = Relief().fit(X, labels).scores_
        np.testing.assert_allclose(found, slow_r_relief_f(X, labels, 10), rtol=1e-10)

    def test_equally_near_rows_are_taken_in_their_order(self):
        """On a grid of eighths most distances tie, and sums are exact."""
        rng = np.random.default_rng(1)
        X = rng.integers(0, 5, size=(40, 3)) / 4.0
        X[0], X[1] = 0.0, 1.0
        y = rng.integers(0, 3, size=40)
        np.testing.assert_allclose(Relief().fit(X, y).scores_, slow_relief_f(X, y, 10), atol=1e-12)

    def test_blocks_do_not_matter(self, X, monkeypatch):
        y, numbers = (X[:, 0] > 0).astype(int), X[:, 1]
        whole = Relief().fit(X, y).scores_, Relief().fit(X, numbers).scores_
        monkeypatch.setattr("depmax.selection.relief.BLOCK", 300)
        np.testing.assert_allclose(Relief().fit(X, y).scores_, whole[0], rtol=1e-10)
        np.testing.assert_allclose(Relief().fit(X, numbers).scores_, whole[1], rtol=1e-10)

    def test_some_rows(self, X):
        y = (X[:, 0] > 0).astype(int)
        full = Relief(random_state=0, n_samples=40).fit(X, y).scores_
        np.testing.assert_allclose(full, Relief().fit(X, y).scores_)
        some = Relief(random_state=0, n_samples=20).fit(X, y).scores_
        np.testing.assert_array_equal(some, Relief(random_state=0, n_samples=20).fit(X, y).scores_)
        assert (some != Relief(random_state=1, n_samples=20).fit(X, y).scores_).any()


class TestWhatItFinds:
    def test_xor_which_correlation_misses(self):
        X = np.random.default_rng(0).uniform(-1, 1, size=(200, 22))
        y = X[:, 0] * X[:, 1] > 0
        assert np.flatnonzero(Relief(2).fit(X, y).support_).tolist() == [0, 1]
        assert set(DependenceFilter(2, score_func="pearson").fit(X, y).get_support(True)) != {0, 1}

    def test_nonlinear_numbers(self):
        X = np.random.default_rng(0).uniform(-1, 1, size=(300, 8))
        found = Relief(2).fit(X, np.sign(X[:, 2] * X[:, 5]) + 0.1 * X[:, 0])
        assert np.flatnonzero(found.support_).tolist() == [2, 5]

    def test_huge_ranges_do_not_overflow(self, X):
        X[0, 2], X[1, 2] = -9e34, 9e34
        assert np.isfinite(Relief().fit(X, X[:, 0] > 0).scores_).all()


class TestInput:
    @pytest.mark.parametrize("library", [pd, pl])
    def test_categories_differ_or_not(self, X, library):
        """As a column of codes 0 and 1 would; a third level is as far from both."""
        y = X[:, 0] > 0
        levels = np.array(["a", "b", "c"])[np.arange(40) % 3]
        frame = library.DataFrame({"x": X[:, 0], "level": levels.tolist()})
        if library is pd:
            frame = frame.astype({"level": "category"})
        else:
            frame = frame.with_columns(pl.col("level").cast(pl.Categorical))
        found = Relief(1, n_neighbors=3).set_output(transform=library.__name__).fit(frame, y)
        assert list(found.get_feature_names_out()) == ["x"]

        expected = np.zeros(2)
        x = scaled(X[:, [0]])[:, 0]
        for probe in range(40):
            gaps = np.column_stack([abs(x - x[probe]), levels != levels[probe]])
            order = np.lexsort((np.arange(40), gaps.sum(axis=1)))
            order = order[order != probe]
            hits, misses = order[y[order] == y[probe]][:3], order[y[order] != y[probe]][:3]
            expected += (gaps[misses].mean(axis=0) - gaps[hits].mean(axis=0)) / 40
        np.testing.assert_allclose(found.scores_, expected, rtol=1e-10)

    def test_more_samples_than_rows(self, X):
        with pytest.raises(ValueError, match="n_samples of Relief"):
            Relief(n_samples=41).fit(X, X[:, 0] > 0)
