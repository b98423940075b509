"""n_components as a share of the dependence, and by prediction on held-out rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor

from depmax import HBFE, HSCA, IterativePCA, scan
from depmax.kernels import Subsequence

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 6))
y = 2 * (X[:, 0] > 0) + (X[:, 1] > 0)  # two directions carry four classes


class TestShare:
    @pytest.mark.parametrize("unbiased", [False, True])
    @pytest.mark.parametrize("share", [0.3, 0.8, 0.95, 1.0])
    def test_fewest_that_reach_the_share(self, share, unbiased):
        all_of_them = HBFE(6, unbiased=unbiased).fit(X, y)
        reached = np.cumsum(np.maximum(all_of_them.dependence_, 0.0))
        count = int(np.argmax(reached >= share * reached[-1] * (1 - 1e-9))) + 1
        model = HBFE(share, unbiased=unbiased).fit(X, y)
        assert model.n_components_ == count
        np.testing.assert_allclose(model.components_, all_of_them.components_[:count], atol=1e-9)
        assert model.transform(X).shape == (120, count)
        assert len(model.get_feature_names_out()) == len(model.dependence_) == count

    @pytest.mark.parametrize("kernel", ["linear", "gaussian"])
    def test_hsca(self, kernel):
        model = HSCA(0.9, kernel=kernel).fit(X, y)
        assert 1 <= model.n_components_ <= 4
        fixed = HSCA(model.n_components_, kernel=kernel).fit(X, y)
        np.testing.assert_allclose(model.transform(X), fixed.transform(X), atol=1e-9)

    def test_two_classes_have_one(self):
        assert HBFE(1.0).fit(X, X[:, 0] > 0).n_components_ == 1

    def test_int_of_one_is_a_number(self):
        assert HBFE(1).fit(X, y).n_components_ == 1
        assert HBFE(np.int64(2)).fit(X, y).n_components_ == 2


class TestAuto:
    def test_two_directions_are_found(self):
        model = HBFE("auto").fit(X, y)
        assert model.n_components_ == 2
        fixed = HBFE(2).fit(X, y)
        np.testing.assert_allclose(model.components_, fixed.components_)
        assert model.get_params()["n_components"] == "auto"

    def test_numbers_and_their_scoring(self):
        numbers = X[:, 0] + X[:, 1]
        model = HSCA(
            "auto", estimator=KNeighborsRegressor(3), scoring="neg_mean_absolute_error"
        ).fit(X, numbers)
        assert model.n_components_ == 1

    def test_the_estimator_counts(self):
        """One that looks at no feature needs no second one."""
        assert HBFE("auto", estimator=DummyClassifier()).fit(X, y).n_components_ == 1

    def test_is_the_rule_done_by_hand(self):
        numbers = np.sin(X[:, 0]) + 0.5 * X[:, 1]
        limit = 6  # less than twice the intrinsic dimension, which is about 6
        scores = []
        for train, test in KFold(3, shuffle=True, random_state=0).split(X):
            model = HBFE(limit).fit(X[train], numbers[train])
            own, other = model.transform(X[train]), model.transform(X[test])
            scores.append(
                [
                    KNeighborsRegressor(5)
                    .fit(own[:, :count], numbers[train])
                    .score(other[:, :count], numbers[test])
                    for count in range(1, limit + 1)
                ]
            )
        scores = np.array(scores)
        best = scores.mean(axis=0).argmax()
        bar = scores.mean(axis=0)[best] - scores[:, best].std(ddof=1) / np.sqrt(3)
        expected = int(np.flatnonzero(scores.mean(axis=0) >= bar)[0]) + 1
        assert HBFE("auto").fit(X, numbers).n_components_ == expected

    @pytest.mark.parametrize("beta", [0.0, 0.1])
    def test_unlabelled_rows(self, beta):
        partly = np.where(np.arange(120) % 2, y.astype(object), None)
        if beta:
            model = HBFE("auto", beta=beta).fit(X, partly)
        else:
            with pytest.warns(UserWarning, match="ignored 60 of 120 rows") as seen:
                model = HBFE("auto", beta=beta).fit(X, partly)
            assert len(seen) == 1  # not once per fold
        assert model.n_unlabeled_ == 60
        assert 1 <= model.n_components_ <= 4
        assert model.transform(X).shape == (120, model.n_components_)

    @pytest.mark.slow
    def test_every_kind_of_rows(self):
        expected = HBFE("auto").fit(X, y).n_components_
        names = [f"c{i}" for i in range(6)]
        for rows in (
            pd.DataFrame(X, columns=names),
            pl.DataFrame(X, schema=names),
            sparse.csr_matrix(X),
            X.tolist(),
        ):
            assert HBFE("auto").fit(rows, y).n_components_ == expected
        assert HBFE("auto", kernel="precomputed").fit(X @ X.T, y).n_components_ == expected

    def test_strings(self, rng):
        words = ["".join(rng.choice(list("acgt"), 6)) for _ in range(30)]
        model = HBFE("auto", kernel=Subsequence(2, 0.5))
        assert model.fit(words, [word.count("a") > 1 for word in words]).n_components_ >= 1

    def test_refusals(self):
        with pytest.raises(TypeError, match="parts of the rows"):
            HBFE("auto").fit(scan(X, y))
        with pytest.raises(ValueError, match=r"6 labelled rows.*n_samples = 5"):
            HBFE("auto").fit(X[:5], [0, 1, 0, 1, 0])


def test_range_from_the_intrinsic_dimension(rng):
    """Without a target the number is the intrinsic dimension, if there are rows to tell it."""
    plane = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 10))
    assert IterativePCA("auto").fit(plane).n_components_ in (1, 2)
    volume = rng.normal(size=(400, 4)) @ rng.normal(size=(4, 10))
    assert IterativePCA("auto").fit(volume).n_components_ in (3, 4)
    few = rng.normal(size=(10, 6))  # too few rows: all there are
    assert IterativePCA("auto").fit(few).n_components_ == 6
    twice = np.repeat(rng.normal(size=(30, 6)), 2, axis=0)  # equal rows tell nothing
    assert IterativePCA("auto").fit(twice).n_components_ == 6


def test_no_more_numbers_are_tried_than_the_range(rng):
    """Twice the intrinsic dimension: on a plane at most five are scored, however good more are."""
    plane = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 10))
    numbers = plane[:, 0] + plane[:, 1] ** 2
    widths = []

    class Watching(KNeighborsRegressor):
        def fit(self, X, y):
            widths.append(X.shape[1])
            return super().fit(X, y)

    noisy = plane + 1e-6 * rng.normal(size=plane.shape)
    HBFE("auto", estimator=Watching(5)).fit(noisy, numbers)
    assert max(widths) in (3, 4, 5)
