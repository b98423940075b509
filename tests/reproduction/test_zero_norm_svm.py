"""The zero-norm machine: what it finds, and that it is the published iteration."""

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import LinearSVC

from depmax.testing import check_selector
from reproduction.zero_norm_svm import ZeroNormSVM


@pytest.fixture(name="X")
def make_inputs():
    return np.random.default_rng(0).normal(size=(80, 10))


@pytest.fixture
def y(X):
    noise = 0.3 * np.random.default_rng(1).normal(size=80)
    return X[:, 2] - 2 * X[:, 5] + noise > 0


class TestTheIteration:
    def test_a_round_is_training_and_rescaling(self, X, y):
        standard = (X - X.mean(axis=0)) / X.std(axis=0)
        scales = np.ones(10)
        for _ in range(3):
            machine = LinearSVC(dual=False, tol=1e-8, max_iter=10_000).fit(standard * scales, y)
            scales *= np.abs(machine.coef_[0])
        found = ZeroNormSVM(max_iter=3, tol=0.0).fit(X, y)
        np.testing.assert_allclose(found.scores_, scales, rtol=1e-2, atol=1e-3)
        assert found.n_iter_ == 3

    def test_more_columns_than_rows_in_the_span_of_the_rows(self):
        """The rotation to as many coordinates as rows changes nothing."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(20, 60))
        y = X[:, 7] > 0
        standard = (X - X.mean(axis=0)) / X.std(axis=0)
        machine = LinearSVC(dual=False, tol=1e-8, max_iter=10_000).fit(standard, y)
        found = ZeroNormSVM(max_iter=1).fit(X, y).scores_
        np.testing.assert_allclose(found, np.abs(machine.coef_[0]), rtol=1e-2, atol=1e-3)

    def test_at_the_end_the_penalty_counts_columns(self, X, y):
        """Where the scales stand still, every column left has weight 1."""
        found = ZeroNormSVM(max_iter=200, tol=1e-6, C=0.5).fit(X, y)
        assert found.n_iter_ < 200
        left = np.flatnonzero(found.scores_ > 1e-6 * found.scores_.max())
        standard = (X - X.mean(axis=0)) / X.std(axis=0)
        machine = LinearSVC(C=0.5, dual=False, tol=1e-8, max_iter=10_000)
        weights = machine.fit(standard[:, left] * found.scores_[left], y).coef_[0]
        np.testing.assert_allclose(np.abs(weights), 1.0, rtol=1e-2)
        assert set(left) >= {2, 5}
        assert len(left) < 10

    def test_the_later_a_column_fades_the_better(self, X, y):
        ranks = [ZeroNormSVM(1, max_iter=rounds).fit(X, y).ranking_ for rounds in (4, 20)]
        gone = ZeroNormSVM(1, max_iter=4).fit(X, y).scores_ < 1e-4
        np.testing.assert_array_equal(ranks[0][gone], ranks[1][gone])

    def test_the_ranking_does_not_depend_on_the_number_wanted(self, X, y):
        few, many = ZeroNormSVM(1).fit(X, y), ZeroNormSVM(9).fit(X, y)
        np.testing.assert_array_equal(few.ranking_, many.ranking_)


class TestWhatItFinds:
    def test_two_classes(self, X, y):
        assert np.flatnonzero(ZeroNormSVM(2).fit(X, y).support_).tolist() == [2, 5]

    def test_classes_with_names(self, X, y):
        names = np.where(y, "yes", "no")
        np.testing.assert_array_equal(
            ZeroNormSVM().fit(X, names).ranking_, ZeroNormSVM().fit(X, y).ranking_
        )

    def test_several_classes(self, X):
        y = np.where(X[:, 1] > 0.5, "a", np.where(X[:, 4] > 0, "b", "c"))
        assert np.flatnonzero(ZeroNormSVM(2).fit(X, y).support_).tolist() == [1, 4]

    def test_numbers(self, X):
        y = 100 + X[:, 3] - X[:, 8] + 0.3 * X[:, 0] * X[:, 1]
        assert np.flatnonzero(ZeroNormSVM(2).fit(X, y).support_).tolist() == [3, 8]

    def test_several_outputs_and_labels(self, X):
        outputs = np.column_stack([X[:, 3], 5 * X[:, 8], np.zeros(80)])
        assert np.flatnonzero(ZeroNormSVM(2).fit(X, outputs).support_).tolist() == [3, 8]
        labels = (outputs > 0).astype(int)
        assert np.flatnonzero(ZeroNormSVM(2).fit(X, labels).support_).tolist() == [3, 8]

    def test_many_columns(self):
        X = np.random.default_rng(0).normal(size=(60, 400))
        found = ZeroNormSVM(2).fit(X, X[:, 11] - X[:, 99] > 0)
        assert np.flatnonzero(found.support_).tolist() == [11, 99]

    def test_units_do_not_matter(self, X, y):
        moved = X * np.logspace(-6, 6, 10) + 3.0
        np.testing.assert_array_equal(
            ZeroNormSVM().fit(moved, y).ranking_, ZeroNormSVM().fit(X, y).ranking_
        )

    def test_constant_and_equal_columns(self, X, y):
        wide = np.column_stack([np.full(80, 0.1), X, X[:, 5]])
        found = ZeroNormSVM(3).fit(wide, y)
        assert found.ranking_[0] == 12
        assert sorted(found.ranking_) == list(range(1, 13))
        assert np.isfinite(found.scores_).all()
        assert found.support_[[3, 6, 11]].all()


class TestInput:
    def test_keeps_the_contract(self, X, y):
        check_selector(ZeroNormSVM(2), X, y)

    def test_categories_are_refused(self, y):
        with pytest.raises(TypeError, match="categorical: encode it"):
            ZeroNormSVM().fit(pd.DataFrame({"a": pd.Categorical(y)}), y)
