"""The number of components that is requested, in each of its forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from depmax import HBFE, IterativePCA, KernelPLS
from depmax.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 4))
MANY = rng.normal(size=(20, 9))  # nine outputs
Y = X[:, :3] * [3.0, 2.0, 1.0] + 0.1 * rng.normal(size=(20, 3))  # three outputs


def test_more_than_the_columns_or_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="n_features = 4"):
        HBFE(5).fit(X, Y)
    with pytest.raises(ValueError, match="n_samples = 20"):
        HBFE(21, kernel="gaussian").fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="found 19 of n_components=20"):  # not refused
        assert KernelPLS(20, kernel=Gaussian(0.5)).fit_transform(X, Y).shape == (20, 19)


def test_what_nobody_asked_for_is_cut_to_what_is_possible() -> None:
    """A share looks at as many directions as outputs, at most at as many as there are columns."""
    assert HBFE(1.0, target_kernel="linear", unbiased=False).fit(X, MANY).n_components_ == 4
    assert HBFE(1.0, target_kernel="linear", unbiased=False).fit(X, Y).n_components_ == 3
    assert HBFE("auto").fit(X, Y).n_components_ <= 4


@pytest.mark.parametrize("share", [0.5, np.float32(0.5), 0.8, 0.95, 1.0])
def test_a_share_keeps_the_fewest_that_reach_it(share: Any) -> None:
    options: dict[str, Any] = {"target_kernel": "linear", "unbiased": False}
    every = HBFE(3, **options).fit(X, Y)
    reached = np.cumsum(every.dependence_) / every.dependence_.sum()
    expected = int(np.argmax(reached >= share - 1e-12)) + 1
    assert HBFE(share, **options).fit(X, Y).n_components_ == expected


def test_a_share_of_variance() -> None:
    scaled = X * [4.0, 2.0, 1.0, 0.5]
    variances = np.linalg.eigvalsh(np.cov(scaled.T))[::-1]
    reached = np.cumsum(variances) / variances.sum()
    for share in (0.5, 0.8, 0.99, 1.0):
        expected = int(np.argmax(reached >= share - 1e-12)) + 1
        assert IterativePCA(share).fit(scaled).n_components_ == expected
