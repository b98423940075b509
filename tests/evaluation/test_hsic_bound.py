"""The bound of theorem 4: it holds, the sharp one is smaller, and misuse is refused."""

from __future__ import annotations

import numpy as np
import pytest

from depmax import hsic
from depmax.evaluation import hsic_bound
from depmax.kernels import Delta


@pytest.mark.parametrize("m", [4, 5, 7, 8, 100, 1001])
def test_the_published_bound_is_never_smaller(m: int) -> None:
    assert hsic_bound(m) <= hsic_bound(m, sharp=False) + 1e-12


def test_it_holds_for_fair_coins() -> None:
    rng = np.random.default_rng(0)
    exact = 0.25  # of two equal coins: E KL + E K E L - 2 E KL' = 1/2 + 1/4 - 1/2
    far = 0
    for _ in range(200):
        coin = rng.integers(0, 2, 40)
        value = hsic(coin, coin, kernel=Delta(), target_kernel=Delta())
        far += abs(value - exact) > hsic_bound(40, delta=0.05)
    assert far <= 10


@pytest.mark.parametrize(("arguments", "name"), [((3,), "n_samples"), ((2.5,), "n_samples")])
def test_refuses(arguments: tuple[float], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        hsic_bound(*arguments)
    with pytest.raises(ValueError, match="delta"):
        hsic_bound(10, delta=1.0)
