"""Agreement with dcor, OpenTURNS and hyppo on real data.

``tests/references/make_dependence.py`` remakes their values and says how each is computed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from depmax import alignment, distance_correlation, hsic, hsic_test
from depmax.kernels import Gaussian
from tests.references.make_dependence import REPETITIONS, Case, as_numbers, standardised

#: Rows of these tables resemble their neighbours, which is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:DM002")

FOLDER = Path(__file__).parents[1] / "references"
#: hyppo's p-values between these are too close to the level to be decided by its permutations.
UNDECIDED = (0.03, 0.08)
LEVEL = 0.05


def values(library: str) -> list[Any]:
    """The values kept from a library, as parameters of a test."""
    kept = json.loads((FOLDER / f"{library}.json").read_text(encoding="utf-8"))["values"]
    return [pytest.param(value, id=describe(value)) for value in kept]


def describe(value: dict[str, Any]) -> str:
    case = value["case"]
    x, y = ("+".join(case[side]) for side in "xy")
    order = "" if case["shuffled"] is None else " shuffled"
    return f"{case['name']}: {x} ~ {y or 'target'}{order} {value.get('exponent', '')}".strip()


def read(value: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The rows that a kept value was computed from."""
    case = value["case"]
    return Case(**case | {"x": tuple(case["x"]), "y": tuple(case["y"])}).read()


@pytest.mark.parametrize("library", ["dcor", "openturns", "hyppo"])
def test_every_file_says_where_its_values_come_from(library: str) -> None:
    path = FOLDER / f"{library}.json"
    origin = json.loads(path.read_text(encoding="utf-8"))["origin"]
    assert origin["library"] == library
    assert all(origin[key] for key in ("version", "command", "date", "values"))
    assert path.stat().st_size < 50_000


# The reference is of the columns as they come, in their own units.
@pytest.mark.filterwarnings("ignore::depmax.ScaleWarning")
@pytest.mark.parametrize("value", values("dcor"))
def test_distance_correlation_is_that_of_dcor(value: dict[str, Any]) -> None:
    pair, exponent = read(value), value["exponent"]
    found = distance_correlation(*pair, exponent=exponent)
    assert found == pytest.approx(value["distance_correlation"], rel=1e-10)
    corrected = distance_correlation(*pair, exponent=exponent, unbiased=True)
    assert corrected == pytest.approx(value["u_distance_correlation_sqr"], rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("value", values("openturns"))
class TestOpenTurns:
    """One value per column, both kernels Gaussian with the scales that the file keeps.

    OpenTURNS's U-statistic itself is exact to about 1e-12 only, found with extended precision.
    """

    def each_column(self, measure: Any, value: dict[str, Any], **options: Any) -> list[float]:
        X, y = read(value)
        target_kernel = Gaussian(value["target_scale"])
        return [
            measure(column, y, kernel=Gaussian(scale), target_kernel=target_kernel, **options)
            for column, scale in zip(X.T, value["scales"], strict=True)
        ]

    def test_the_u_statistic_is_unbiased_hsic(self, value: dict[str, Any]) -> None:
        found = self.each_column(hsic, value)
        np.testing.assert_allclose(found, value["u_statistic"], rtol=1e-10, atol=1e-12)

    def test_the_v_statistic_is_biased_hsic_over_n_instead_of_n_minus_one(
        self, value: dict[str, Any]
    ) -> None:
        m = len(read(value)[0])
        found = self.each_column(hsic, value, unbiased=False)
        np.testing.assert_allclose(
            np.multiply(found, ((m - 1) / m) ** 2), value["v_statistic"], rtol=1e-10
        )

    def test_r2_is_the_centred_alignment(self, value: dict[str, Any]) -> None:
        np.testing.assert_allclose(self.each_column(alignment, value), value["r2"], rtol=1e-10)


def hyppo_pair(value: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Both sides as hyppo saw them."""
    X, y = read(value)
    return standardised(X), standardised(as_numbers(y))


def hyppo_kernels(value: dict[str, Any]) -> dict[str, Any]:
    kernel = Gaussian(value["bandwidth"])
    return {"kernel": kernel, "target_kernel": kernel}


@pytest.mark.parametrize("value", values("hyppo"))
class TestHyppo:
    """Standardised columns, both kernels Gaussian with the bandwidth that the file keeps."""

    def test_the_statistic_is_normalised_unbiased_hsic(self, value: dict[str, Any]) -> None:
        (X, Y), options = hyppo_pair(value), hyppo_kernels(value)
        norms = hsic(X, X, **options) * hsic(Y, Y, **options)
        found = hsic(X, Y, **options) / np.sqrt(norms)
        assert found == pytest.approx(value["statistic"], rel=1e-8, abs=1e-11)

    def test_the_biased_statistic_is_the_root_of_the_centred_alignment(
        self, value: dict[str, Any]
    ) -> None:
        found = np.sqrt(alignment(*hyppo_pair(value), **hyppo_kernels(value)))
        assert found == pytest.approx(value["statistic_biased"], rel=1e-8)

    def test_permutations_give_the_same_pvalue_up_to_their_noise(
        self, value: dict[str, Any]
    ) -> None:
        expected = value["pvalue_permutation"]
        found = hsic_test(*hyppo_pair(value), random_state=0, **hyppo_kernels(value)).pvalue
        # Two independent samples of permutations; near 0 and 1 a single one may differ.
        noise = np.sqrt(2 * expected * (1 - expected) / REPETITIONS)
        assert found == pytest.approx(expected, abs=4 * noise + 2 / REPETITIONS)


def decided() -> list[Any]:
    """The kept values whose p-value is far enough from the level."""
    low, high = UNDECIDED
    return [
        value
        for value in values("hyppo")
        if not low <= value.values[0]["pvalue_permutation"] <= high
    ]


@pytest.mark.parametrize("method", ["permutation", "gamma"])
@pytest.mark.parametrize("value", decided())
def test_decisions_are_those_of_hyppo(value: dict[str, Any], method: str) -> None:
    test = hsic_test(*hyppo_pair(value), method=method, random_state=0, **hyppo_kernels(value))
    assert (test.pvalue <= LEVEL) == (value["pvalue_permutation"] <= LEVEL)
    assert (test.pvalue <= LEVEL) == (value["pvalue_chi_square"] <= LEVEL)


def test_both_decisions_occur_often_and_few_cases_are_undecided() -> None:
    rejected = [value.values[0]["pvalue_permutation"] <= LEVEL for value in decided()]
    assert sum(rejected) > 30
    assert len(rejected) - sum(rejected) > 30
    assert len(rejected) > 0.9 * len(values("hyppo"))
