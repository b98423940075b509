"""Every score against its definition and its HSIC form, and the filter around them.

Private modules: bins and the expected information of counts are compared with draws.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.feature_selection import f_classif
from sklearn.pipeline import make_pipeline

import depmax
from depmax.kernels import ClassBalanced, Delta, Gaussian, Laplace, Linear, RidgeKernel
from depmax.selection._scores import binned, expected_information
from depmax.selection.dependence_filter import SCORES, DependenceFilter

M, D = 40, 5
FACTOR = (M / (M - 1)) ** 2  # HSIC₀ divides by (m-1)², averages by m²
TWO_CLASSES = [name for name, score in SCORES.items() if score.target == "two classes"]


@pytest.fixture(name="X")
def make_inputs():
    rng = np.random.default_rng(0)
    return rng.normal(size=(M, D)) * [1.0, 2.0, 0.5, 3.0, 1.0] + [0.0, 1.0, 200.0, -3.0, 0.0]


@pytest.fixture
def labels(X):
    """Two classes of unequal size."""
    return np.where(X[:, 0] + np.random.default_rng(1).normal(size=M) > 0.5, "yes", "no")


@pytest.fixture
def classes(X):
    return np.repeat(["a", "b", "c"], [8, 12, 20])


@pytest.fixture
def numbers(X):
    return X[:, 1] ** 2 + X[:, 3] + np.random.default_rng(2).normal(size=M)


def scores(X, y, score, **options):
    return DependenceFilter(score_func=score, **options).fit(X, y).scores_


def biased(X, y, kernel, target_kernel):
    """HSIC₀ of every column."""
    columns = np.asarray(X).T
    options = {"kernel": kernel, "target_kernel": target_kernel, "unbiased": False}
    return np.array([depmax.hsic(column, y, **options) for column in columns])


def with_widths(X, y, kernel):
    """The kernel of every column; the screening takes the lower of two middle distances."""
    if kernel != "laplace":
        return [kernel] * X.shape[1]
    return [Laplace(width) for width in depmax.screen(X, y).bandwidths]


def split(X, labels):
    return X[labels == "yes"], X[labels == "no"]


class TestAgainstHSIC:
    """Section 6 of the paper, with its missing factors."""

    def test_hsic_is_that_of_the_screening(self, X, numbers):
        found = DependenceFilter().fit(X, numbers)
        screened = depmax.screen(X, numbers)
        np.testing.assert_allclose(found.scores_, screened.scores, rtol=1e-12)
        np.testing.assert_allclose(found.pvalues_adjusted_, screened.pvalues_adjusted, rtol=1e-12)
        np.testing.assert_array_equal(found.ranking_, screened.ranking)

    @pytest.mark.parametrize("kernel", ["gaussian", Laplace(2.0), "linear"])
    def test_hsic_with_other_kernels(self, X, classes, kernel):
        found = scores(X, classes, "hsic", kernel=kernel, target_kernel=Delta())
        expected = [
            depmax.hsic(column, classes, kernel=kernel, target_kernel=Delta()) for column in X.T
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-9)

    def test_pearson(self, X, numbers):
        standard = (X - X.mean(axis=0)) / X.std(axis=0)
        target = (numbers - numbers.mean()) / numbers.std()
        found = FACTOR * scores(X, numbers, "pearson")
        np.testing.assert_allclose(found, biased(standard, target, Linear(), Linear()), rtol=1e-11)

    def test_centroid(self, X, labels):
        found = FACTOR * scores(X, labels, "centroid") ** 2
        np.testing.assert_allclose(found, biased(X, labels, Linear(), ClassBalanced()), rtol=1e-9)

    def test_t(self, X, labels):
        yes, no = split(X, labels)
        error = np.sqrt(yes.var(axis=0, ddof=1) / len(yes) + no.var(axis=0, ddof=1) / len(no))
        found = FACTOR * scores(X, labels, "t") ** 2
        expected = biased(X / error, labels, Linear(), ClassBalanced())
        np.testing.assert_allclose(found, expected, rtol=1e-9)

    def test_snr(self, X, labels):
        yes, no = split(X, labels)
        noise = yes.std(axis=0, ddof=1) + no.std(axis=0, ddof=1)
        found = FACTOR * scores(X, labels, "snr") ** 2
        expected = biased(X / noise, labels, Linear(), ClassBalanced())
        np.testing.assert_allclose(found, expected, rtol=1e-9)

    def test_pam(self, X, classes):
        weights = {"a": (M / 8) ** 2, "b": (M / 12) ** 2, "c": (M / 20) ** 2}
        found = FACTOR * scores(X, classes, "pam")
        np.testing.assert_allclose(found, biased(X, classes, Linear(), Delta(weights)), rtol=1e-8)

    @pytest.mark.parametrize("kernel", [Laplace(0.7), "gaussian", "linear"])
    def test_mmd(self, X, labels, kernel):
        found = scores(X, labels, "mmd", kernel=kernel)
        expected = biased(X, labels, kernel, ClassBalanced())
        np.testing.assert_allclose(FACTOR * found, expected, rtol=1e-8)

    @pytest.mark.parametrize("kernel", [Laplace(0.7), "gaussian", "linear"])
    def test_alignment(self, X, labels, kernel):
        found = scores(X, labels, "alignment", kernel=kernel)
        own = np.array([biased(column[:, None], column, kernel, kernel)[0] for column in X.T])
        y = biased(labels[:, None], labels, ClassBalanced(), ClassBalanced())
        expected = biased(X, labels, kernel, ClassBalanced()) / np.sqrt(own * y)
        np.testing.assert_allclose(found, expected, rtol=1e-8)

    @pytest.mark.parametrize("alpha", [0.1, 1.0, 50.0])
    def test_ridge(self, X, numbers, alpha):
        centred = X - X.mean(axis=0)
        expected = (M - 1) ** 2 * biased(centred, numbers, RidgeKernel("linear", alpha), Linear())
        np.testing.assert_allclose(scores(X, numbers, "ridge", alpha=alpha), expected, rtol=1e-9)

    def test_qmi(self, X, numbers):
        h, g = (4 / (3 * M)) ** 0.2, (4 / (3 * M)) ** 0.2 * numbers.std(ddof=1)
        standard = X / X.std(axis=0, ddof=1)
        peaks = 1 / np.sqrt(4 * np.pi * h**2) / np.sqrt(4 * np.pi * g**2)
        kernels = Gaussian(h * np.sqrt(2)), Gaussian(g * np.sqrt(2))
        expected = biased(standard, numbers, *kernels) * peaks / FACTOR
        np.testing.assert_allclose(scores(X, numbers, "qmi"), expected, rtol=1e-9)


class TestAgainstDefinitions:
    def test_pearson(self, X, numbers):
        expected = [stats.pearsonr(column, numbers)[0] ** 2 for column in X.T]
        np.testing.assert_allclose(scores(X, numbers, "pearson"), expected, rtol=1e-10)

    def test_pearson_of_several_outputs_is_the_sum(self, X, numbers):
        outputs = np.column_stack([numbers, X[:, 0] ** 3])
        expected = scores(X, numbers, "pearson") + scores(X, X[:, 0] ** 3, "pearson")
        np.testing.assert_allclose(scores(X, outputs, "pearson"), expected, rtol=1e-12)

    def test_pearson_of_classes(self, X, labels, classes):
        signs = np.where(labels == "yes", 1.5, -7.0)
        np.testing.assert_allclose(scores(X, labels, "pearson"), scores(X, signs, "pearson"))
        indicators = (classes[:, None] == ["a", "b", "c"]).astype(int)
        found, expected = scores(X, classes, "pearson"), scores(X, indicators, "pearson")
        np.testing.assert_allclose(found, expected)

    def test_centroid(self, X, labels):
        yes, no = split(X, labels)
        expected = np.abs(yes.mean(axis=0) - no.mean(axis=0))
        np.testing.assert_allclose(scores(X, labels, "centroid"), expected, rtol=1e-10)

    def test_t(self, X, labels):
        expected = np.abs(stats.ttest_ind(*split(X, labels), equal_var=False).statistic)
        np.testing.assert_allclose(scores(X, labels, "t"), expected, rtol=1e-10)

    def test_snr(self, X, labels):
        yes, no = split(X, labels)
        noise = yes.std(axis=0, ddof=1) + no.std(axis=0, ddof=1)
        expected = np.abs(yes.mean(axis=0) - no.mean(axis=0)) / noise
        np.testing.assert_allclose(scores(X, labels, "snr"), expected, rtol=1e-10)

    def test_pam(self, X, classes):
        centres = np.array([X[classes == label].mean(axis=0) for label in "abc"])
        expected = np.sum((centres - X.mean(axis=0)) ** 2, axis=0)
        np.testing.assert_allclose(scores(X, classes, "pam"), expected, rtol=1e-8)

    @pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
    def test_mmd(self, X, labels, kernel):
        yes, no = split(X, labels)
        kernels = with_widths(X, labels, kernel)
        expected = [
            depmax.mmd(a, b, kernel=k, unbiased=False)
            for a, b, k in zip(yes.T, no.T, kernels, strict=True)
        ]
        np.testing.assert_allclose(scores(X, labels, "mmd", kernel=kernel), expected, rtol=1e-8)

    @pytest.mark.parametrize("target", ["numbers", "classes"])
    @pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
    def test_alignment(self, X, request, target, kernel):
        y = request.getfixturevalue(target)
        kernels = with_widths(X, y, kernel)
        pairs = zip(X.T, kernels, strict=True)
        expected = [depmax.alignment(column, y, kernel=k) for column, k in pairs]
        found = scores(X, y, "alignment", kernel=kernel)
        np.testing.assert_allclose(found, expected, rtol=1e-5)

    def test_ridge_is_what_the_risk_falls_by(self, X, numbers):
        y = numbers - numbers.mean()
        for x, found in zip((X - X.mean(axis=0)).T, scores(X, y, "ridge", alpha=2.0), strict=True):
            design, wanted = np.append(x, np.sqrt(2.0))[:, None], np.append(y, 0.0)
            risk = np.linalg.lstsq(design, wanted)[1][0]
            assert y @ y - found == pytest.approx(risk, rel=1e-10)

    def test_ridge_refuses_a_penalty_of_zero(self, X, numbers):
        with pytest.raises(ValueError, match="alpha of DependenceFilter"):
            scores(X, numbers, "ridge", alpha=0.0)

    def test_qmi_does_not_depend_on_the_unit(self, X, classes):
        found = scores(X * [1.0, 1e3, 1e-3, 1.0, 7.0], classes, "qmi")
        np.testing.assert_allclose(found, scores(X, classes, "qmi"), rtol=1e-6)
        x = X[:, 0] / X[:, 0].std(ddof=1)
        assert found[0] == pytest.approx(depmax.quadratic_mutual_information(x, classes))


class TestTargets:
    @pytest.mark.parametrize("score", SCORES)
    def test_two_classes_are_for_every_score(self, X, labels, score):
        found = scores(X, labels, score)
        assert np.isfinite(found).all()

    @pytest.mark.parametrize("score", TWO_CLASSES)
    def test_more_classes_are_refused_with_a_remedy(self, X, classes, score):
        with pytest.raises(ValueError, match=f"score_func='{score}' is for two classes.*3 .*'pam'"):
            scores(X, classes, score)

    @pytest.mark.parametrize("score", [*TWO_CLASSES, "pam"])
    def test_numbers_are_refused_with_a_remedy(self, X, numbers, score):
        with pytest.raises(ValueError, match=f"score_func='{score}' is for .*numbers: .*'pearson'"):
            scores(X, numbers, score)

    @pytest.mark.parametrize(
        "score", [name for name in SCORES if name not in (*TWO_CLASSES, "pam")]
    )
    def test_several_outputs_and_labels(self, X, score):
        outputs = np.column_stack([X[:, 0], X[:, 0] - X[:, 1]])
        assert np.isfinite(scores(X, outputs, score)).all()
        assert np.isfinite(scores(X, (outputs > 0).astype(int), score)).all()

    @pytest.mark.parametrize("score", SCORES)
    def test_one_class_is_refused(self, X, score):
        with pytest.raises(ValueError, match="one class only"):
            scores(X, np.ones(M, dtype=int), score)
        options = {"target_kernel": "linear"} if SCORES[score].target_kernel else {}
        with pytest.raises(ValueError, match="one class only"):
            scores(X, np.ones((M, 2)), score, **options)

    def test_a_class_of_one_row_has_no_variance(self, X):
        y = np.r_[1, np.zeros(M - 1, dtype=int)]
        with pytest.raises(ValueError, match="at least 2 rows of each class"):
            scores(X, y, "t")
        assert np.isfinite(scores(X, y, "moderated_t")).all()

    def test_a_target_kernel_reads_objects(self, X):
        words = ["abab" if x > 0 else "bbaa" for x in X[:, 0]]
        found = DependenceFilter(1, target_kernel="subsequence").fit(X, words)
        assert found.support_[0]


class TestColumns:
    @pytest.mark.parametrize("score", SCORES)
    def test_constant_columns_rank_last_and_equal_ones_score_alike(self, X, labels, score):
        """0.1 is no binary fraction: the means of its copies differ by rounding."""
        wide = np.column_stack([np.full(M, 0.1), X, X[:, 0], np.full(M, -5.0)])
        found = DependenceFilter(score_func=score).fit(wide, labels)
        assert np.isfinite(found.scores_).all()
        assert sorted(found.ranking_) == list(range(1, D + 4))
        assert found.ranking_[0] == D + 2
        assert found.ranking_[-1] == D + 3
        assert found.scores_[1] == pytest.approx(found.scores_[D + 1], rel=1e-9)
        if score != "lods":
            assert (found.scores_[[0, -1]] == 0).all()
        else:
            assert (found.scores_[[0, -1]] <= found.scores_.min()).all()

    @pytest.mark.parametrize("score", SCORES)
    def test_the_label_itself_leads(self, X, labels, score):
        wide = np.column_stack([X - X.mean(axis=0), 10.0 * (labels == "yes")])
        found = DependenceFilter(1, score_func=score).fit(wide, labels)
        assert not np.isnan(found.scores_).any()
        assert found.support_[-1]

    @pytest.mark.parametrize("score", ["t", "snr"])
    def test_a_difference_without_spread_is_infinite(self, X, labels, score):
        assert scores(np.column_stack([X, labels == "yes"]), labels, score)[-1] == np.inf

    @pytest.mark.parametrize("score", SCORES)
    @pytest.mark.parametrize("as_sparse", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
    def test_sparse_columns(self, X, labels, score, as_sparse):
        thin = np.where(np.abs(X) > 1.0, X, 0.0)
        found = scores(as_sparse(thin), labels, score)
        np.testing.assert_allclose(found, scores(thin, labels, score), rtol=1e-8, atol=1e-12)

    def test_sparse_columns_with_several_outputs(self, X, classes):
        thin = np.where(np.abs(X) > 1.0, X, 0.0)
        for score in ("pearson", "pam"):
            found = scores(sparse.csr_array(thin), classes, score)
            np.testing.assert_allclose(found, scores(thin, classes, score), rtol=1e-10)

    def test_sparse_output(self, X, labels):
        found = DependenceFilter(2).fit_transform(sparse.csr_array(X), labels)
        assert sparse.issparse(found)
        assert found.shape == (M, 2)

    @pytest.mark.parametrize("score", SCORES)
    def test_float32(self, X, labels, score):
        single = X.astype(np.float32)
        found = scores(single, labels, score)
        np.testing.assert_allclose(found, scores(single.astype(float), labels, score), rtol=1e-6)


class TestNumberOfColumns:
    @pytest.mark.parametrize(("wanted", "kept"), [(None, 2), (1, 1), (5, 5), (0.6, 3), (0.01, 1)])
    def test_number_or_share(self, X, labels, wanted, kept):
        found = DependenceFilter(wanted, score_func="t").fit(X, labels)
        assert found.n_features_ == found.support_.sum() == kept
        assert set(found.ranking_[found.support_]) == set(range(1, kept + 1))

    def test_auto_counts_the_significant_columns(self):
        X = np.random.default_rng(1).normal(size=(150, 30))
        found = DependenceFilter("auto").fit(X, X[:, 3] ** 2 + X[:, 7])
        assert np.flatnonzero(found.support_).tolist() == [3, 7]
        assert (found.pvalues_adjusted_ <= 0.05).sum() == 2

    def test_auto_needs_p_values(self, X, labels):
        with pytest.raises(ValueError, match=r"p-values.*score_func='snr'"):
            DependenceFilter("auto", score_func="snr").fit(X, labels)


class TestFunctions:
    def test_scores_and_p_values(self, X, labels):
        found = DependenceFilter(score_func=f_classif).fit(X, labels)
        F, p = f_classif(X, labels)
        np.testing.assert_allclose(found.scores_, F)
        np.testing.assert_allclose(found.pvalues_adjusted_, stats.false_discovery_control(p))

    # what scikit-learn's f_classif itself says about a constant column
    @pytest.mark.filterwarnings("ignore:Features .* are constant", "ignore:invalid value")
    def test_nan_ranks_last(self, X, labels):
        X[:, 0] = 3.0
        found = DependenceFilter(score_func=f_classif).fit(X, labels)
        assert found.scores_[0] == -np.inf
        assert found.ranking_[0] == D

    def test_own_function(self, X, numbers):
        found = DependenceFilter(1, score_func=lambda X, y: np.arange(X.shape[1])).fit(X, numbers)
        assert found.support_.tolist() == [False] * 4 + [True]
        assert found.pvalues_adjusted_ is None

    def test_wrong_shape(self, X, numbers):
        with pytest.raises(ValueError, match=r"5 scores.*\(40,\)"):
            DependenceFilter(score_func=lambda X, y: X[:, 0]).fit(X, numbers)

    def test_unknown_name(self, X, labels):
        with pytest.raises(ValueError, match=r"'person'.*'pearson'"):
            DependenceFilter(score_func="person").fit(X, labels)

    def test_kernel_of_objects(self, X, labels):
        with pytest.raises(TypeError, match="columns of numbers"):
            DependenceFilter(kernel="subsequence").fit(X, labels)


class TestFrames:
    @pytest.mark.parametrize("library", [pd, pl])
    @pytest.mark.parametrize("score", ["hsic", "mmd", "alignment"])
    def test_categorical_columns_are_compared_by_equality(self, X, labels, library, score):
        levels = np.where(labels == "yes", "red", np.where(X[:, 1] > 1, "blue", "green"))
        frame = library.DataFrame({"x": X[:, 3], "colour": levels.tolist()})
        if library is pd:
            frame = frame.astype({"colour": "category"})
        else:
            frame = frame.with_columns(pl.col("colour").cast(pl.Categorical))
        found = DependenceFilter(1, score_func=score).fit(frame, labels)
        assert found.support_.tolist() == [False, True]
        options = {"kernel": Delta(), "target_kernel": ClassBalanced()}
        if score == "hsic":
            assert found.scores_[1] == pytest.approx(depmax.hsic(levels, labels, **options))
        elif score == "alignment":
            assert found.scores_[1] == pytest.approx(depmax.alignment(levels, labels, **options))

    def test_scores_of_numbers_refuse_categorical_columns(self, labels):
        frame = pd.DataFrame({"colour": pd.Categorical(labels)})
        with pytest.raises(TypeError, match=r"score_func='t' .*'hsic'"):
            DependenceFilter(score_func="t").fit(frame, labels)


class TestAsAnEstimator:
    def test_there_is_no_method_score(self):
        found = DependenceFilter(score_func="t")
        assert not hasattr(found, "score")
        assert found.get_params()["score_func"] == "t"
        assert clone(found).set_params(score_func="snr").get_params()["score_func"] == "snr"
        assert repr(found) == "DependenceFilter(score_func='t')"
        assert not hasattr(make_pipeline(found), "score")

    def test_refitting_forgets_p_values(self, X, labels):
        found = DependenceFilter().fit(X, labels)
        assert "pvalue_adjusted" in found.to_frame()
        found.set_params(score_func="t").fit(X, labels)
        assert "pvalue_adjusted" not in found.to_frame()

    def test_threads_do_not_matter(self, X, labels):
        one, two = scores(X, labels, "hsic"), scores(X, labels, "hsic", n_jobs=2)
        np.testing.assert_array_equal(one, two)


def test_effects_are_those_of_screen_whatever_the_kernel(rng: np.random.Generator) -> None:
    X = rng.normal(size=(80, 3))
    y = X[:, 0] ** 2 + 0.1 * rng.normal(size=80)
    for kernel in ("laplace", "gaussian"):
        fitted = DependenceFilter(1, kernel=kernel).fit(X, y)
        screening = depmax.screen(X, y, kernel=kernel)
        expected = [screening.effects, screening.effects_low, screening.effects_high]
        np.testing.assert_allclose(fitted.effects_, np.transpose(expected))
        np.testing.assert_allclose(fitted.scores_, screening.scores)
        frame = fitted.to_frame("pandas")
        assert frame["effect"].between(0, 1).all()
        assert frame["effect"].iloc[0] > 0.3
    assert DependenceFilter(1, score_func="pearson").fit(X, y).effects_ is None


class TestMutualInformation:
    """The posterior mean of Zaffalon and Hutter (2002)."""

    @pytest.mark.parametrize("shape", [(2, 2), (3, 5), (1, 4)])
    def test_mean_over_draws_of_the_posterior(self, shape):
        rng = np.random.default_rng(0)
        counts = rng.integers(0, 12, size=shape)
        prior = np.full(counts.size, 1.0 / counts.size)
        draws = rng.dirichlet(counts.ravel() + prior, size=40_000).reshape(-1, *shape)
        draws = np.maximum(draws, 1e-300)
        margins = draws.sum(axis=2, keepdims=True) * draws.sum(axis=1, keepdims=True)
        information = np.sum(draws * np.log(draws / margins), axis=(1, 2))
        error = information.std() / np.sqrt(len(draws))
        assert abs(expected_information(counts) - information.mean()) <= 4 * error + 1e-12

    def test_many_rows_reach_the_plain_one(self):
        rng = np.random.default_rng(1)
        x, noise = rng.integers(0, 3, size=200_000), rng.random(200_000)
        y = np.where(noise < 0.7, x, 2 - x)
        found = scores(np.column_stack([x, noise > 0.5]), y.astype(str), "mutual_information")
        joint = np.histogram2d(x, y, bins=3)[0] / len(x)
        held = joint > 0
        margins = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        expected = np.sum(joint[held] * np.log(joint[held] / margins[held]))
        assert found[0] == pytest.approx(expected, abs=1e-4)

    def test_bins_hold_equally_many_rows_and_equal_values_together(self):
        rng = np.random.default_rng(2)
        assert np.bincount(binned(rng.normal(size=1000))).tolist() == [100] * 10
        assert len(np.bincount(binned(rng.normal(size=60)))) == 3
        counted = rng.poisson(3.0, size=500).astype(float)
        codes = binned(counted)
        assert all(len(set(codes[counted == value])) == 1 for value in np.unique(counted))
        assert sorted(set(codes)) == list(range(codes.max() + 1))

    def test_every_target_and_categories(self, X, labels, numbers):
        frame = pd.DataFrame(X, columns=list("abcde")).assign(level=pd.Categorical(labels))
        found = scores(frame, labels, "mutual_information")
        assert found.argmax() == 5
        several = np.column_stack([numbers, X[:, 2]])
        one_by_one = [scores(X, column, "mutual_information") for column in several.T]
        together = scores(X, several, "mutual_information")
        np.testing.assert_allclose(together, np.sum(one_by_one, axis=0))
        moved = scores(np.exp(X / 100) * 1e6, numbers, "mutual_information")
        np.testing.assert_allclose(moved, one_by_one[0])
