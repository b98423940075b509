"""Every measure found in its package is exported and keeps the contract."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import isfunction

import numpy as np
import pytest

import depmax
from depmax import dependence as package
from depmax.testing import check_measure
from tests.contracts.discovery import functions

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = X[:, :1] ** 2 + 0.3 * rng.normal(size=(40, 1))

#: Public functions with another form than (X, Y) -> float; each has its own tests.
OTHERS = {
    "correntropy",
    "hsic_interval",
    "hsic_test",
    "intrinsic_dimension",
    "mmd",
    "resolve",
    "samples_needed",
    "screen",
    "screen_pairs",
    "total_correlation",
}
#: Measures of paired samples: every other function that the package exports.
PAIRED: dict[str, Callable[..., float]] = {
    name: getattr(package, name)
    for name in package.__all__
    if name not in OTHERS and isfunction(getattr(package, name))
}
VARIANTS = PAIRED | {
    "hsic biased": partial(depmax.hsic, unbiased=False),
    "hsic linear": partial(depmax.hsic, kernel="linear", target_kernel="linear"),
    "hsic laplace": partial(depmax.hsic, kernel="laplace"),
    "alignment linear": partial(depmax.alignment, kernel="linear", target_kernel="linear"),
    "distance correlation unbiased": partial(depmax.distance_correlation, unbiased=True),
}


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_keeps_the_contract(name: str) -> None:
    check_measure(VARIANTS[name], X, Y)


def test_room_and_package_export_the_same() -> None:
    assert set(package.__all__) <= set(depmax.__all__)
    assert all(getattr(depmax, name) is getattr(package, name) for name in package.__all__)


def test_every_measure_file_is_exported() -> None:
    """A file named after a function it defines is a measure and must be re-exported."""
    forgotten = [
        name
        for name, function in functions(package).items()
        if function.__module__.endswith(f".{name}") and name not in package.__all__
    ]
    assert not forgotten, f"not re-exported by depmax.dependence: {forgotten}"
