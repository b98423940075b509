"""Maximum mean discrepancy against sums over all pairs."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from depmax.dependence.hsic import hsic
from depmax.dependence.mmd import mmd
from depmax.kernels import Gaussian, Linear, Precomputed
from tests.one_hot import one_hot


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 3)), rng.normal(size=(17, 3)) + 0.7


def enumerated(kernel, X, Z, unbiased):
    """The statistic as averages over pairs, one at a time."""

    def average(A, B, skip_same):
        values = [
            kernel(A[[i]], B[[j]])[0, 0]
            for i in range(len(A))
            for j in range(len(B))
            if not (skip_same and i == j)
        ]
        return np.mean(values)

    within = average(X, X, unbiased) + average(Z, Z, unbiased)
    return within - 2 * average(X, Z, skip_same=False)


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Linear()])
def test_equals_the_definition(samples, kernel, unbiased):
    expected = enumerated(kernel, *samples, unbiased)
    assert mmd(*samples, kernel=kernel, unbiased=unbiased) == pytest.approx(expected, rel=1e-11)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("unbiased", [True, False])
def test_tiles_give_the_same(samples, unbiased):
    kernel = Gaussian(2.0)
    expected = enumerated(kernel, *samples, unbiased)
    assert mmd(*samples, kernel=kernel, unbiased=unbiased) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("unbiased", [True, False])
def test_coordinates_and_gram_matrix_agree(samples, unbiased):
    X, Z = samples
    stacked = np.vstack([X, Z])
    kernel = Precomputed(stacked @ stacked.T)
    gram = mmd(np.arange(30), np.arange(30, 47), kernel=kernel, unbiased=unbiased)
    assert mmd(X, Z, kernel="linear", unbiased=unbiased) == pytest.approx(gram, rel=1e-11)


def test_bandwidth_comes_from_both_samples(samples):
    X, Z = samples
    width = Gaussian().resolve(np.vstack([X, Z])).bandwidth
    assert mmd(X, Z) == mmd(X, Z, kernel=Gaussian(width))


def test_maximize_uses_the_membership(samples):
    X, Z = samples
    labels = np.repeat([0, 1], [30, 17])
    stacked = np.vstack([X, Z])
    options = {"kernel": Gaussian("maximize"), "target_kernel": "class_balanced"}
    expected = hsic(stacked, labels, unbiased=False, **options) * (46 / 47) ** 2
    found = mmd(X, Z, kernel=Gaussian("maximize"), unbiased=False)
    assert found == pytest.approx(expected, rel=1e-10)


def test_order_symmetry_and_shift(samples):
    X, Z = samples
    rng = np.random.default_rng(1)
    for kernel in ("gaussian", "linear"):
        expected = mmd(X, Z, kernel=kernel)
        assert mmd(Z, X, kernel=kernel) == pytest.approx(expected, rel=1e-11)
        shuffled = rng.permutation(X), rng.permutation(Z)
        assert mmd(*shuffled, kernel=kernel) == pytest.approx(expected, rel=1e-11)
        assert mmd(X + 5, Z + 5, kernel=kernel) == pytest.approx(expected, rel=1e-9)
    assert mmd(3 * X, 3 * Z) == pytest.approx(mmd(X, Z), rel=1e-10)
    assert mmd(3 * X, 3 * Z, kernel="linear") == pytest.approx(9 * mmd(X, Z, kernel="linear"))


def test_linear_kernel_at_a_large_offset(samples):
    X, Z = samples[0].round(6), samples[1].round(6)
    expected = mmd(X, Z, kernel="linear")
    assert mmd(X + 1e6, Z + 1e6, kernel="linear") == pytest.approx(expected, rel=1e-8)


@pytest.mark.slow
def test_unbiased_under_equal_distributions():
    rng = np.random.default_rng(0)
    values = [mmd(*rng.normal(size=(2, 10)), kernel=Gaussian(1.0)) for _ in range(400)]
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(400)
    assert min(values) < 0


def test_biased_is_zero_for_the_same_sample(samples):
    X, _ = samples
    assert mmd(X, X, unbiased=False) == pytest.approx(0.0, abs=1e-14)
    assert mmd(X, X, unbiased=False) >= 0


def test_frames_of_either_library_in_any_order_of_columns():
    rng = np.random.default_rng(0)
    a = pd.DataFrame({"u": rng.normal(size=9), "c": pd.Categorical(list("xxyyxxyyx"))})
    b = pd.DataFrame({"c": pd.Categorical(list("zzzzyyx")), "u": rng.normal(size=7)})
    expected_rows = pd.concat([a, b[["u", "c"]]]).astype({"c": str})
    K = Gaussian(1.0)(one_hot(expected_rows[["u"]].to_numpy(), expected_rows["c"].to_numpy()))
    expected = K[:9, :9].mean() + K[9:, 9:].mean() - 2 * K[:9, 9:].mean()
    kernel = Gaussian(1.0)
    assert mmd(a, b, kernel=kernel, unbiased=False) == pytest.approx(expected, rel=1e-12)
    polar = pl.DataFrame(
        {"u": b["u"].to_numpy(), "c": pl.Series(list("zzzzyyx"), dtype=pl.Categorical)}
    )
    assert mmd(a, polar, kernel=kernel, unbiased=False) == pytest.approx(expected, rel=1e-12)


def test_sparse_rows_and_labels(samples):
    X, Z = samples
    expected = mmd(X, Z, kernel=Gaussian(2.0))
    rows = sparse.csr_matrix(X), sparse.csr_matrix(Z)
    assert mmd(*rows, kernel=Gaussian(2.0)) == pytest.approx(expected, rel=1e-11)
    assert mmd(*rows, kernel="linear") == pytest.approx(mmd(X, Z, kernel="linear"), rel=1e-11)
    # delta kernel: squared distance of the two vectors of frequencies
    value = mmd(list("aabc"), list("abb"), kernel="delta", unbiased=False)
    assert value == pytest.approx((2 / 4 - 1 / 3) ** 2 + (1 / 4 - 2 / 3) ** 2 + (1 / 4) ** 2)


def test_refusals(samples):
    X, Z = samples
    with pytest.raises(ValueError, match="X has 3 columns but Z has 2"):
        mmd(X, Z[:, :2])
    with pytest.raises(ValueError, match=r"2 rows .*30 in X and 1 in Z"):
        mmd(X, Z[:1])
    with pytest.raises(ValueError, match=r"Precomputed\(matrix\)"):
        mmd(X, Z, kernel="precomputed")
    with pytest.raises(ValueError, match=r"only one has \['v', 'w'\]"):
        mmd(pd.DataFrame({"u": [1.0, 2], "v": [1.0, 2]}), pd.DataFrame({"u": [1.0], "w": [1.0]}))
    with pytest.raises(TypeError, match="Column 'u' is categorical"):
        mmd(pd.DataFrame({"u": pd.Categorical(["a", "b"])}), pd.DataFrame({"u": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="Z contains NaN in column 0"):
        mmd(X, np.full((3, 3), np.nan))
