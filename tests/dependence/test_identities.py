"""Older criteria as HSIC₀ with the right kernels (Song et al., 2012, section 6).

The paper leaves out factors of m; here they are written out, and every criterion on the other
side of an equation is computed from its own definition.
"""

import numpy as np
import pytest
from scipy import stats
from sklearn.svm import SVC

from depmax.dependence.alignment import alignment
from depmax.dependence.coco import coco
from depmax.dependence.hsic import hsic
from depmax.dependence.mmd import mmd
from depmax.dependence.quadratic_mutual_information import quadratic_mutual_information
from depmax.kernels import ClassBalanced, Delta, Gaussian, Linear, RidgeKernel

M = 45


@pytest.fixture(name="X")
def make_inputs():
    rng = np.random.default_rng(0)
    return rng.normal(size=(M, 4)) * [1.0, 2.0, 0.5, 3.0] + [0.0, 1.0, 2.0, -3.0]


@pytest.fixture
def labels(X):
    """Two classes of unequal size."""
    noise = np.random.default_rng(1).normal(size=M)
    return np.where(X[:, 0] + noise > 0.6, 1, -1)


def biased(X, Y, kernel, target_kernel):
    return hsic(X, Y, kernel=kernel, target_kernel=target_kernel, unbiased=False)


def difference_of_means(X, labels):
    return X[labels == 1].mean(axis=0) - X[labels == -1].mean(axis=0)


def test_the_trace_form(X, labels):
    H = np.eye(M) - 1 / M
    K, L = Gaussian(2.0)(X), Delta()(labels)
    expected = np.trace(K @ H @ L @ H) / (M - 1) ** 2
    assert biased(X, labels, Gaussian(2.0), Delta()) == pytest.approx(expected, rel=1e-12)


class TestPearson:
    """Section 6.1. The paper's (23) lacks the factor m²; ‖HXᵀHy‖ in (22) is ‖XᵀHy‖."""

    def test_sum_of_squared_correlations(self, X):
        y = X @ [1.0, -1.0, 0.5, 0.2] + np.random.default_rng(2).normal(size=M)
        standard = (X - X.mean(axis=0)) / X.std(axis=0)
        target = (y - y.mean()) / y.std()
        R = np.array([stats.pearsonr(column, y)[0] for column in X.T])
        expected = (M / (M - 1)) ** 2 * np.sum(R**2)
        found = biased(standard, target, Linear(), Linear())
        assert found == pytest.approx(expected, rel=1e-12)

    def test_alignment_of_one_standardised_column_is_the_squared_correlation(self, X):
        y = X[:, 0] + X[:, 1]
        R = stats.pearsonr(X[:, 0], y)[0]
        found = alignment(X[:, 0], y, kernel="linear", target_kernel="linear")
        assert found == pytest.approx(R**2, rel=1e-12)


class TestMeanDifference:
    """Section 6.2: one label kernel, four ways to scale the columns."""

    def test_centroid(self, X, labels):
        expected = (M / (M - 1)) ** 2 * np.sum(difference_of_means(X, labels) ** 2)
        found = biased(X, labels, Linear(), ClassBalanced())
        assert found == pytest.approx(expected, rel=1e-12)

    def test_t_statistic(self, X, labels):
        positive, negative = X[labels == 1], X[labels == -1]
        variances = positive.var(axis=0, ddof=1) / len(positive)
        variances += negative.var(axis=0, ddof=1) / len(negative)
        t = stats.ttest_ind(positive, negative, equal_var=False).statistic
        found = biased(X / np.sqrt(variances), labels, Linear(), ClassBalanced())
        assert found == pytest.approx((M / (M - 1)) ** 2 * np.sum(t**2), rel=1e-11)

    def test_signal_to_noise(self, X, labels):
        noise = X[labels == 1].std(axis=0) + X[labels == -1].std(axis=0)
        ratio = difference_of_means(X, labels) / noise
        found = biased(X / noise, labels, Linear(), ClassBalanced())
        assert found == pytest.approx((M / (M - 1)) ** 2 * np.sum(ratio**2), rel=1e-11)

    def test_plus_minus_one_labels_weigh_by_the_product_of_the_shares(self, X, labels):
        share = np.mean(labels == 1)
        factor = (2 * share * (1 - share) * M / (M - 1)) ** 2
        found = biased(X, labels, Linear(), Linear())
        expected = factor * np.sum(difference_of_means(X, labels) ** 2)
        assert found == pytest.approx(expected, rel=1e-12)


class TestMaximumMeanDiscrepancy:
    """Section 6.3."""

    @pytest.mark.parametrize("kernel", [Gaussian(), Gaussian(1.0), Linear(), "laplace"])
    def test_class_balanced_hsic_is_the_biased_mmd(self, X, labels, kernel):
        value = mmd(X[labels == 1], X[labels == -1], kernel=kernel, unbiased=False)
        found = biased(X, labels, kernel, ClassBalanced())
        assert found == pytest.approx((M / (M - 1)) ** 2 * value, rel=1e-11)

    def test_coco_with_two_balanced_classes_is_its_root(self, X, labels):
        value = mmd(X[labels == 1], X[labels == -1], kernel=Gaussian(2.0), unbiased=False)
        found = coco(X, labels, kernel=Gaussian(2.0), target_kernel=ClassBalanced())
        assert found == pytest.approx(np.sqrt(value), rel=1e-10)


class TestAlignment:
    """Section 6.4."""

    def test_uncentred_alignment_with_signs(self, X, labels):
        K, L = Gaussian(2.0)(X), np.outer(labels, labels)
        expected = np.trace(K @ L) / (np.linalg.norm(K) * np.linalg.norm(L))
        options = {"kernel": Gaussian(2.0), "target_kernel": "linear"}
        found = alignment(X, labels, centered=False, **options)
        assert found == pytest.approx(expected, rel=1e-12)

    def test_trace_not_norm_of_the_kernel_matrix_is_the_number_of_unit_columns(self, X):
        """Footnote 5 says ‖K‖ = d for columns of unit norm; that is tr K, and ‖K‖ <= d."""
        unit = X / np.linalg.norm(X, axis=0)
        K = unit @ unit.T
        assert np.trace(K) == pytest.approx(4.0)
        assert np.linalg.norm(K) < 3.9


class TestShrunkenCentroid:
    """Section 6.5: ψ(y) = e_y/m_y, that is the kernel δ/m_y², in shares δ/p_y²."""

    @pytest.fixture
    def classes(self):
        return np.repeat(["a", "b", "c"], [10, 15, 20])

    @pytest.fixture
    def shares(self):
        return {"a": 10 / M, "b": 15 / M, "c": 20 / M}

    def test_sum_of_squared_distances_to_the_common_centroid(self, X, classes, shares):
        weights = {label: 1 / share**2 for label, share in shares.items()}
        centroids = [X[classes == label].mean(axis=0) for label in shares]
        expected = sum(np.sum((centroid - X.mean(axis=0)) ** 2) for centroid in centroids)
        found = biased(X, classes, Linear(), Delta(weights))
        assert found == pytest.approx((M / (M - 1)) ** 2 * expected, rel=1e-12)

    def test_two_classes(self, X, labels):
        shares = {label: np.mean(labels == label) for label in (-1, 1)}
        weights = {label: 1 / share**2 for label, share in shares.items()}
        centres = [X[labels == label].mean(axis=0) - X.mean(axis=0) for label in (-1, 1)]
        found = biased(X, labels, Linear(), Delta(weights))
        assert found == pytest.approx((M / (M - 1)) ** 2 * np.sum(np.square(centres)), rel=1e-12)

    def test_balanced_weights_give_the_between_class_scatter(self, X, classes, shares):
        scatter = sum(
            share * np.sum((X[classes == label].mean(axis=0) - X.mean(axis=0)) ** 2)
            for label, share in shares.items()
        )
        found = biased(X, classes, Linear(), Delta("balanced"))
        assert found == pytest.approx((M / (M - 1)) ** 2 * scatter, rel=1e-12)

    def test_one_versus_the_rest(self, X, classes, shares):
        """Equation (19): distances between the centroids of each class and of all the others."""
        expected = sum(
            np.sum((X[classes == label].mean(axis=0) - X[classes != label].mean(axis=0)) ** 2)
            for label in shares
        )
        found = biased(X, classes, Linear(), Delta("one_vs_rest"))
        assert found == pytest.approx((M / (M - 1)) ** 2 * expected, rel=1e-12)


class TestRidge:
    """Section 6.6, with Vᵀ restored in w and K = VVᵀ: J* = yᵀy - tr(K(K + λI)⁻¹yyᵀ)."""

    @pytest.mark.parametrize("penalty", [0.1, 1.0, 30.0])
    def test_hsic_with_the_ridge_kernel_is_what_the_risk_falls_by(self, X, penalty):
        y = X @ [1.0, -1.0, 0.5, 0.2] + np.random.default_rng(3).normal(size=M)
        y -= y.mean()  # the paper assumes it
        # the smallest risk, as a least-squares problem with the penalty as extra rows
        design = np.vstack([X, np.sqrt(penalty) * np.eye(4)])
        w = np.linalg.lstsq(design, np.concatenate([y, np.zeros(4)]))[0]
        risk = np.sum((y - X @ w) ** 2) + penalty * w @ w
        K = X @ X.T
        trace = np.trace(K @ np.linalg.inv(K + penalty * np.eye(M)) @ np.outer(y, y))
        assert y @ y - trace == pytest.approx(risk, rel=1e-9)
        found = biased(X, y, RidgeKernel("linear", penalty), Linear())
        assert found * (M - 1) ** 2 == pytest.approx(y @ y - risk, rel=1e-9)

    def test_nonlinear_basis_functions(self, X):
        y = np.sin(X[:, 0])
        y -= y.mean()
        K = Gaussian(2.0)(X)
        trace = np.trace(K @ np.linalg.inv(K + 0.5 * np.eye(M)) @ np.outer(y, y))
        found = biased(X, y, RidgeKernel(Gaussian(2.0), 0.5), Linear())
        assert found * (M - 1) ** 2 == pytest.approx(trace, rel=1e-9)


class TestQuadraticMutualInformation:
    """Section 6.7: the middle term needs 2/m, the last 1/m², and κHνH a trace."""

    def test_the_three_sums(self, X):
        x, y = X[:, 0], X[:, 0] + X[:, 1]
        h, g = 0.4, 0.6
        kappa = stats.norm.pdf(x[:, None] - x, scale=np.sqrt(2) * h)
        nu = stats.norm.pdf(y[:, None] - y, scale=np.sqrt(2) * g)
        total = np.trace(kappa @ nu) - 2 / M * np.sum(kappa @ nu)
        total += np.sum(kappa) * np.sum(nu) / M**2
        found = quadratic_mutual_information(x, y, bandwidth=h, target_bandwidth=g)
        assert found == pytest.approx(total / M**2, rel=1e-11)


class TestSupportVectors:
    """Section 6.8: the margin's objective is tr K̄L with the conformal kernel ααᵀ ∘ K."""

    def test_objective(self, X, labels):
        machine = SVC(kernel="linear", C=1.0).fit(X, labels)
        alpha = np.zeros(M)
        alpha[machine.support_] = np.abs(machine.dual_coef_[0])
        K = X @ X.T
        objective = alpha @ (K * np.outer(labels, labels)) @ alpha
        assert objective == pytest.approx(np.sum(machine.coef_**2), rel=1e-6)
        conformal = np.outer(alpha, alpha) * K
        assert np.trace(conformal @ np.outer(labels, labels)) == pytest.approx(objective)
