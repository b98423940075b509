"""The corrected t-test and Holm's procedure: definitions, and calibration under a tie."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from depmax.evaluation import corrected_mean, holm


class TestCorrectedMean:
    def test_without_overlap_it_is_the_plain_test(self):
        values = np.random.default_rng(0).normal(0.3, size=12)
        found = corrected_mean(values, 0.0)
        plain = ttest_1samp(values, 0.0)
        assert found.pvalue == pytest.approx(plain.pvalue)
        interval = plain.confidence_interval(0.95)
        assert (found.low, found.high) == pytest.approx((interval.low, interval.high))

    def test_by_the_definition(self):
        values = np.random.default_rng(1).normal(size=10)
        error = np.sqrt((1 / 10 + 0.25) * np.sum((values - values.mean()) ** 2) / 9)
        found = corrected_mean(values, 0.25)
        assert found.error == pytest.approx(error)
        assert found.pvalue == pytest.approx(2 * student.sf(abs(values.mean()) / error, 9))

    def test_equal_scores_are_no_difference(self):
        assert corrected_mean(np.zeros(5), 0.25).pvalue == 1

    def test_a_constant_difference(self):
        found = corrected_mean(np.full(5, 0.1) + np.arange(5) * 1e-18, 0.25)
        assert (found.error, found.pvalue) == (0, 0)

    def test_one_split_has_no_error(self):
        found = corrected_mean(np.array([0.7]), 0.25)
        assert found.mean == 0.7
        assert np.isnan([found.error, found.low, found.pvalue]).all()


class TestHolm:
    def test_as_a_closed_test(self):
        """A hypothesis is rejected iff Bonferroni rejects every set of hypotheses it is in."""
        pvalues = np.array([0.011, 0.3, 0.02, 0.04, 0.011])
        expected = [
            max(
                min(1.0, len(group) * pvalues[list(group)].min())
                for size in range(1, 6)
                for group in combinations(range(5), size)
                if test in group
            )
            for test in range(5)
        ]
        np.testing.assert_allclose(holm(pvalues), expected)

    def test_missing_values_do_not_count(self):
        found = holm([0.02, np.nan, 0.03])
        np.testing.assert_allclose(found, [0.04, np.nan, 0.04])

    def test_no_tests(self):
        assert holm([]).shape == (0,)


def tie_pvalues(n_sets, rng, n_rows=60, folds=5, repeats=2):
    """P-values for two classifiers that are equally good: each sees one of two like columns.

    The class shifts both columns by the same amount; a classifier cuts its column halfway between
    the class means of the training part.
    """
    corrected, plain = [], []
    for _ in range(n_sets):
        y = np.repeat([0, 1], n_rows // 2)
        X = rng.normal(size=(n_rows, 2)) + y[:, np.newaxis]
        differences = []
        for _ in range(repeats):
            order = np.concatenate(
                [rng.permutation(np.flatnonzero(y == label)) for label in (0, 1)]
            )
            fold = np.empty(n_rows, dtype=int)
            fold[order] = np.arange(n_rows) % folds
            for part in range(folds):
                train = fold != part
                means = [X[train & (y == label)].mean(axis=0) for label in (0, 1)]
                right = (X[~train] > (means[0] + means[1]) / 2) == y[~train, np.newaxis]
                accuracy = right.mean(axis=0)
                differences.append(accuracy[0] - accuracy[1])
        corrected.append(corrected_mean(differences, 1 / (folds - 1)).pvalue)
        plain.append(corrected_mean(differences, 0.0).pvalue)
    return np.array(corrected), np.array(plain)


def test_calibration_under_a_tie():
    corrected, plain = tie_pvalues(400, np.random.default_rng(0))
    assert np.mean(corrected <= 0.05) <= 0.07  # 0.05 and two standard errors
    assert np.mean(corrected <= 0.2) <= 0.24
    assert np.mean(plain <= 0.05) > 0.12  # what the correction is for
