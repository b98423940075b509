"""Recursive feature elimination is HSIC with the machine's own target kernel (section 6.8)."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from depmax import hsic
from depmax.kernels import Linear


def test_squared_weights_are_shares_of_hsic() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.sign(X[:, 0] - 0.5 * X[:, 2] + 0.3 * rng.normal(size=60))
    machine = SVC(kernel="linear").fit(X, y)
    signed = np.zeros(60)  # α∘y, zero outside the support vectors
    signed[machine.support_] = machine.dual_coef_[0]
    for column in range(4):
        share = hsic(
            X[:, [column]], signed, kernel=Linear(), target_kernel=Linear(), unbiased=False
        )
        assert 59**2 * share == pytest.approx(machine.coef_[0, column] ** 2, rel=1e-6)
