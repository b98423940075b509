"""Correntropy against its expectations summed one pair at a time."""

import numpy as np
import pytest

from depmax.dependence.correntropy import correntropy
from depmax.kernels import Delta, Gaussian, Laplace, Precomputed


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    return x, x + 0.5 * rng.normal(size=40)


def definition(k, x, y):
    paired = np.mean([k(a, b) for a, b in zip(x, y, strict=True)])
    return paired - np.mean([k(a, b) for a in x for b in y])


CASES = [
    (Gaussian(0.8), lambda a, b: np.exp(-((a - b) ** 2) / (2 * 0.8**2))),
    (Laplace(0.8), lambda a, b: np.exp(-abs(a - b) / 0.8)),
    ("linear", lambda a, b: a * b),
]


@pytest.mark.parametrize(("kernel", "k"), CASES)
def test_equals_the_definition(data, kernel, k):
    x, y = data
    value = definition(k, x, y)
    assert correntropy(x, y, kernel=kernel) == pytest.approx(value, rel=1e-11)
    ratio = value / np.sqrt(definition(k, x, x) * definition(k, y, y))
    assert correntropy(x, y, kernel=kernel, coefficient=True) == pytest.approx(ratio, rel=1e-11)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize(("kernel", "k"), CASES)
def test_tiles_give_the_same(data, kernel, k):
    assert correntropy(*data, kernel=kernel) == pytest.approx(definition(k, *data), rel=1e-11)


def test_coordinates_and_gram_matrix_agree(data):
    x, y = data
    pooled = np.concatenate([x, y])
    kernel = Precomputed(np.outer(pooled, pooled))
    for coefficient in (False, True):
        gram = correntropy(np.arange(40), np.arange(40, 80), kernel=kernel, coefficient=coefficient)
        narrow = correntropy(x, y, kernel="linear", coefficient=coefficient)
        assert narrow == pytest.approx(gram, rel=1e-11)


def test_linear_kernel_gives_covariance_and_correlation(data):
    x, y = data
    assert correntropy(x, y, kernel="linear") == pytest.approx(np.cov(x, y, bias=True)[0, 1])
    found = correntropy(x + 1e6, y + 1e6, kernel="linear", coefficient=True)
    assert found == pytest.approx(np.corrcoef(x, y)[0, 1], rel=1e-9)


def test_bandwidth_is_the_median_of_the_pooled_sample(data):
    x, y = data
    width = Gaussian().resolve(np.concatenate([x, y])).bandwidth
    assert correntropy(x, y) == correntropy(x, y, kernel=Gaussian(width))


def test_order_symmetry_common_scale_and_shift(data):
    x, y = data
    order = np.random.default_rng(1).permutation(len(x))
    for coefficient in (False, True):
        expected = correntropy(x, y, coefficient=coefficient)
        for pair in ((x[order], y[order]), (y, x), (3 * x, 3 * y), (x + 5, y + 5), (-x, -y)):
            assert correntropy(*pair, coefficient=coefficient) == pytest.approx(expected, rel=1e-10)
    # the scale must be common: agreement, not dependence, is measured
    assert correntropy(x, 1000 + x) < 0.1 * correntropy(x, x)


def test_coefficient_lies_between_minus_one_and_one(data):
    x, _ = data
    assert correntropy(x, x, coefficient=True) == pytest.approx(1.0, rel=1e-12)
    assert -1.0 < correntropy(x, -x, coefficient=True) < 0.0
    assert correntropy(x, np.full(40, 0.1), coefficient=True) == 0.0
    assert correntropy(np.zeros(40), x, coefficient=True, kernel="linear") == 0.0


def test_columns_and_labels_are_read(data):
    x, y = data
    assert correntropy(x[:, None], y[:, None]) == correntropy(x, y)
    a, b = np.array([0, 1, 1, 2]), np.array([0, 1, 2, 2])
    assert correntropy(a, b, kernel=Delta()) == pytest.approx(3 / 4 - (1 + 2 + 2) / 16)


def test_refusals(data):
    x, y = data
    with pytest.raises(ValueError, match=r"X has 2 .* pass one column"):
        correntropy(np.column_stack([x, y]), y)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        correntropy(x, y[:-1])
    with pytest.raises(ValueError, match="at least 2 samples"):
        correntropy([1.0], [2.0])
    with pytest.raises(TypeError, match="y holds text"):
        correntropy(x, np.array(["a"] * 40))
    with pytest.raises(ValueError, match="needs a target"):
        correntropy(x, y, kernel=Gaussian("maximize"))
