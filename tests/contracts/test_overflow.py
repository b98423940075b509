"""Numbers so large that their products overflow: a finite answer or a refusal, never NaN."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import depmax
from depmax import extraction, selection
from depmax.extraction import DependenceExtractor
from depmax.selection import DependenceSelector
from tests.contracts.discovery import classes

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
CLASSES = (X[:, 0] + 0.3 * rng.normal(size=60) > 0).astype(int)
NUMBERS = rng.normal(size=60)

KERNELS = ("gaussian", "linear", "laplace", "polynomial")


def _with_cells(value: float, rows: int, dtype: type) -> np.ndarray:
    table = X.astype(dtype)
    table[:rows, 1] = value
    return table


#: Fill values of single precision, and numbers near the ends of what is accepted.
TABLES = {
    "float32 fill value": _with_cells(1e20, 3, np.float32),
    "float32 largest": _with_cells(3e38, 1, np.float32),
    "float32 all": X.astype(np.float32) * np.float32(1e18),
    "float64 large": _with_cells(1e34, 1, np.float64),
    "float64 all": X * 1e34,
    "float64 too large": _with_cells(1e200, 1, np.float64),
    "float64 largest": _with_cells(-1e308, 2, np.float64),
}


def _measures() -> dict[str, Callable[[Any], Any]]:
    cases: dict[str, Callable[[Any], Any]] = {
        name: lambda T, n=name: getattr(depmax, n)(T, NUMBERS)
        for name in (
            "alignment",
            "coco",
            "distance_correlation",
            "gaussian_mutual_information",
            "hsic",
            "hsic_variance",
            "quadratic_mutual_information",
        )
    }
    for kernel in KERNELS:
        cases |= {
            f"hsic {kernel}": lambda T, k=kernel: depmax.hsic(T, NUMBERS, kernel=k),
            f"hsic target {kernel}": lambda T, k=kernel: depmax.hsic(X, T, target_kernel=k),
            f"hsic both {kernel}": lambda T, k=kernel: depmax.hsic(T, T, kernel=k, target_kernel=k),
            f"alignment {kernel}": lambda T, k=kernel: depmax.alignment(T, NUMBERS, kernel=k),
            f"coco {kernel}": lambda T, k=kernel: depmax.coco(T, NUMBERS, kernel=k),
            f"mmd {kernel}": lambda T, k=kernel: depmax.mmd(T, X, kernel=k),
            f"variance {kernel}": lambda T, k=kernel: depmax.hsic_variance(T, NUMBERS, kernel=k),
            f"screen {kernel}": lambda T, k=kernel: _of_screening(
                depmax.screen(T, NUMBERS, kernel=k)
            ),
        }
        for method in ("permutation", "gamma"):
            cases[f"hsic_test {method} {kernel}"] = lambda T, k=kernel, m=method: _of_test(
                depmax.hsic_test(T, NUMBERS, kernel=k, method=m, n_permutations=99, random_state=0)
            )
    cases["total_correlation"] = depmax.total_correlation
    cases["intrinsic_dimension"] = depmax.intrinsic_dimension
    cases["correntropy"] = lambda T: depmax.correntropy(T[:, 1], NUMBERS)
    return cases


def _of_test(found: Any) -> list[float]:
    return [found.statistic, found.pvalue]


def _of_screening(found: Any) -> np.ndarray:
    return np.concatenate([found.scores, found.pvalues, found.pvalues_adjusted])


def _selected(cls: type, y: np.ndarray, **options: Any) -> Callable[[Any], Any]:
    return lambda T: cls(2, **options).fit(T, y).scores_


def _extracted(cls: type, y: np.ndarray, **options: Any) -> Callable[[Any], Any]:
    def features(T: Any) -> np.ndarray:
        fitted = cls(1, **options).fit(T, y)
        return np.concatenate([fitted.transform(T).ravel(), fitted.transform(X).ravel()])

    return features


def _methods() -> dict[str, Callable[[Any], Any]]:
    cases: dict[str, Callable[[Any], Any]] = {}
    for make, package, base in (
        (_selected, selection, DependenceSelector),
        (_extracted, extraction, DependenceExtractor),
    ):
        for name, cls in classes(package, base).items():
            cases[f"{name} classes"] = make(cls, CLASSES)
            if "kernel" in cls().get_params():
                cases[f"{name} linear"] = make(cls, CLASSES, kernel="linear")
    return cases


CASES = _measures() | _methods()


@pytest.mark.parametrize("table", sorted(TABLES))
@pytest.mark.parametrize("name", sorted(CASES))
def test_large_numbers_give_finite_answers_or_a_refusal(name: str, table: str) -> None:
    with warnings.catch_warnings():
        # methods may warn of such scales; the answer is judged
        warnings.simplefilter("ignore")
        answer, refusal = _answer_or_refusal(CASES[name], TABLES[table])
    if refusal is None:
        assert np.isfinite(np.asarray(answer, dtype=float)).all()
    else:
        assert any(word in str(refusal) for word in ("column", "scale", "kernel")), refusal
        assert not isinstance(refusal, np.linalg.LinAlgError)


def _answer_or_refusal(ask: Callable[[Any], Any], table: np.ndarray) -> tuple[Any, Any]:
    try:
        return ask(table), None
    except ValueError as error:
        return None, error


# the sums that overflow are why the table is looked at again and refused
@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
@pytest.mark.parametrize("table", ["float64 too large", "float64 largest"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_numbers_whose_products_overflow_are_refused_by_column(name: str, table: str) -> None:
    with pytest.raises(ValueError, match=r"in column [01]: .*overflow"):
        CASES[name](TABLES[table])


# fill values are far from the scale of other cells, which is told
@pytest.mark.filterwarnings("ignore::depmax.ScaleWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_fill_value_does_not_make_independent_data_significant(
    dtype: type, rng: np.random.Generator
) -> None:
    table = _with_cells(1e20, 3, dtype)
    pvalues = [
        depmax.hsic_test(
            table, rng.normal(size=60), kernel=depmax.kernels.Gaussian(1.0), random_state=0
        ).pvalue
        for _ in range(20)
    ]
    assert np.mean(np.array(pvalues) <= 0.05) <= 0.25
