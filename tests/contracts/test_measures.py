"""Every measure found in its package is exported and keeps the contract."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import isfunction

import numpy as np
import pytest
from scipy import sparse

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


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_tiles_give_the_answer_of_whole_matrices(name: str, request: pytest.FixtureRequest) -> None:
    expected = VARIANTS[name](X, Y)
    request.getfixturevalue("small_tiles")
    assert VARIANTS[name](X, Y) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("name", sorted(set(VARIANTS) - {"hsic laplace"}))
def test_sparse_rows_and_one_sample(name: str) -> None:
    measure = VARIANTS[name]
    assert measure(sparse.csr_matrix(X), Y) == pytest.approx(measure(X, Y), rel=1e-8)
    with pytest.raises(ValueError, match=r"2 samples|one class|4 samples"):
        measure([[1.0]], [1.0])


#: Measures that do not tell their sides apart if both have one kernel, and are zero for constants.
OF_TWO_KERNELS: dict[str, Callable[..., float]] = {
    f"{name} {kernel}": partial(PAIRED[name], kernel=kernel, target_kernel=kernel)
    for name in ("alignment", "coco", "hsic")
    for kernel in ("gaussian", "laplace", "linear", "distance")
}
SYMMETRIC = OF_TWO_KERNELS | {
    "alignment uncentred": partial(
        depmax.alignment, kernel="linear", target_kernel="linear", centered=False
    ),
    **{name: VARIANTS[name] for name in VARIANTS if name.startswith("distance")},
    **{
        name: PAIRED[name]
        for name in ("gaussian_mutual_information", "quadratic_mutual_information")
    },
}


@pytest.mark.parametrize("name", sorted(SYMMETRIC))
def test_sides_may_be_exchanged(name: str) -> None:
    assert SYMMETRIC[name](Y, X) == pytest.approx(SYMMETRIC[name](X, Y), rel=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.1, 12345.678])
@pytest.mark.parametrize("name", [n for n in SYMMETRIC if "uncentred" not in n and "hsic" not in n])
def test_zero_for_a_constant(name: str, value: float) -> None:
    y = np.arange(30.0)
    assert SYMMETRIC[name](np.full((30, 3), value), y) == 0.0
    assert SYMMETRIC[name](y, np.full(30, value)) == 0.0


@pytest.mark.parametrize("name", [name for name in SYMMETRIC if "linear" in name or "unc" in name])
def test_coordinates_and_gram_matrix_agree(name: str) -> None:
    given = {"kernel": "precomputed", "target_kernel": "precomputed"}
    found = SYMMETRIC[name](X @ X.T, Y @ Y.T, **given)
    assert found == pytest.approx(SYMMETRIC[name](X, Y), rel=1e-11)


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
