"""Kernels of class labels and their weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from depmax import hsic, resolve
from depmax.kernels import ClassBalanced, Delta

LABELS = np.repeat(["a", "b", "c"], [2, 3, 5])
COUNTS = {"a": 2, "b": 3, "c": 5}
M = len(LABELS)


class TestDelta:
    @pytest.mark.parametrize(
        "labels",
        [
            ["u", "v", "u"],
            [1, 2, 1],
            [0.5, 1.5, 0.5],
            [True, False, True],
            np.array(["u", "v", "u"], dtype=object),
            pd.Series(["u", "v", "u"]),
            pl.Series(["u", "v", "u"]),
            pd.DataFrame({"y": ["u", "v", "u"]}),
        ],
    )
    def test_labels_of_any_type_in_any_container(self, labels: Any) -> None:
        np.testing.assert_array_equal(Delta()(labels), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
        np.testing.assert_array_equal(Delta().diag(labels), [1, 1, 1])

    def test_two_sets_of_labels(self) -> None:
        np.testing.assert_array_equal(Delta()(["u", "v"], ["v", "w", "u"]), [[0, 0, 1], [1, 0, 0]])

    def test_a_mapping_gives_the_weights(self) -> None:
        kernel = Delta({"a": 2.0, "b": 0.5})
        np.testing.assert_array_equal(kernel(["a", "b", "a"]), [[2, 0, 2], [0, 0.5, 0], [2, 0, 2]])
        assert kernel.resolve(LABELS) is kernel

    @given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=30))
    def test_balanced_weights_are_one_over_the_share(self, labels: list[str]) -> None:
        weights = Delta("balanced").resolve(labels).get_params()["weights"]
        for label in set(labels):
            assert weights[label] * labels.count(label) / len(labels) == pytest.approx(1.0)

    def test_resolving_without_weights_fixes_the_known_labels(self) -> None:
        resolved = Delta().resolve(LABELS)
        assert resolved.get_params()["weights"] == {"a": 1.0, "b": 1.0, "c": 1.0}
        assert Delta()(["new"], ["new"]) == 1.0
        assert resolved(["new"], ["new"]) == 0.0

    def test_one_versus_the_rest_needs_two_classes(self) -> None:
        with pytest.raises(ValueError, match="needs at least two classes"):
            Delta("one_vs_rest").resolve(["a", "a"])

    def test_unknown_rules_are_refused(self) -> None:
        with pytest.raises(ValueError, match=r"weights of Delta .*'balanced'"):
            Delta("equal").resolve(LABELS)

    @pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
    def test_weights_that_give_no_kernel_are_refused(self, weight: float) -> None:
        with pytest.raises(ValueError, match=r"weights of Delta .*>= 0"):
            hsic(LABELS, np.arange(M), kernel=Delta({"a": weight, "b": 1.0}))

    def test_several_columns_are_refused(self) -> None:
        with pytest.raises(ValueError, match="2 columns: use Columns"):
            Delta()(np.array([["a", "b"]]))


class TestClassBalanced:
    def test_the_first_class_in_sorted_order_is_negative(self) -> None:
        weights = ClassBalanced().resolve(["u", "v", "v", "v"]).get_params()["weights"]
        assert weights == {"u": pytest.approx(-4.0), "v": pytest.approx(4 / 3)}

    def test_the_matrix_is_centred_already(self) -> None:
        K = ClassBalanced()(["u", "v", "v", "v"])
        np.testing.assert_allclose(K.sum(axis=0), 0.0, atol=1e-12)

    @pytest.mark.parametrize("labels", [["a", "a"], ["a", "b", "c"]])
    def test_two_classes_only(self, labels: list[str]) -> None:
        message = f"two classes, but the labels have {len(set(labels))}: use Delta"
        with pytest.raises(ValueError, match=message):
            ClassBalanced()(labels)

    def test_signed_weights_may_be_given(self) -> None:
        kernel = ClassBalanced({"a": -1.0, "b": 2.0})
        np.testing.assert_array_equal(kernel(["a", "b"]), [[1.0, -2.0], [-2.0, 4.0]])
        assert kernel.resolve(["a", "a"]) is kernel


class TestThePapersWeights:
    """Song et al. (2012) count samples, depmax takes shares: the same up to one factor.

    Shares keep HSIC on one scale for any number of samples, and no ranking changes.
    """

    @pytest.mark.parametrize(
        ("weights", "paper", "factor"),
        [
            ("balanced", lambda m_y: 1 / m_y, M),
            ("one_vs_rest", lambda m_y: M**2 / (m_y**2 * (M - m_y) ** 2), M**2),
        ],
    )
    def test_many_classes(self, weights: Any, paper: Callable[[int], float], factor: float) -> None:
        found = Delta(weights).resolve(LABELS).get_params()["weights"]
        for label, count in COUNTS.items():
            assert found[label] == pytest.approx(factor * paper(count), rel=1e-12)

    def test_two_classes(self) -> None:
        """Equation (17): l(y, y') = y y' / (m_y m_y')."""
        signs = np.repeat([-1, 1], [4, 6])
        counts = np.where(signs == 1, 6, 4)
        paper = np.outer(signs / counts, signs / counts)
        np.testing.assert_allclose(ClassBalanced()(signs), M**2 * paper)

    def test_hsic_does_not_depend_on_how_often_the_sample_is_repeated(self) -> None:
        x = np.random.default_rng(0).normal(size=(M, 1))
        options = {"kernel": "linear", "target_kernel": Delta("balanced"), "unbiased": False}
        once = hsic(x, LABELS, **options) * ((M - 1) / M) ** 2
        tenfold = hsic(np.tile(x, (10, 1)), np.tile(LABELS, 10), **options)
        assert tenfold * ((10 * M - 1) / (10 * M)) ** 2 == pytest.approx(once, rel=1e-10)


@pytest.mark.parametrize(
    "kernel", [Delta(), Delta("balanced"), Delta("one_vs_rest"), ClassBalanced()], ids=repr
)
class TestUnknownLabels:
    labels = np.array(["u", "v", "v", "u", "v"])

    def test_they_weigh_nothing(self, kernel: Any) -> None:
        resolved = kernel.resolve(self.labels)
        new = np.array(["v", "new", "u"])
        K = resolved(new, self.labels)
        assert (K[1] == 0.0).all()
        assert (K[0] != 0.0).any()
        assert resolved.diag(new)[1] == 0.0

    def test_they_have_no_coordinates(self, kernel: Any) -> None:
        resolved = kernel.resolve(self.labels)
        new = np.array(["v", "new", "u"])
        phi = resolved.features(new)
        assert (phi[1] == 0.0).all()
        np.testing.assert_allclose(phi @ phi.T, resolved(new), atol=1e-12)

    def test_labels_of_another_type_are_unknown_too(self, kernel: Any) -> None:
        resolved = kernel.resolve(self.labels)
        numbers = np.array([1, 2])
        assert (resolved(numbers) == 0.0).all()
        assert (resolved.features(numbers) == 0.0).all()


@pytest.mark.parametrize("labels", [LABELS[::-1], np.array([3, -1, 3, 700, 2_000_000])])
def test_shares_sum_to_one_in_sorted_order(labels: Any) -> None:
    weights = Delta("balanced").resolve(labels).get_params()["weights"]
    assert list(weights) == sorted(set(labels.tolist()))
    assert sum(1.0 / weight for weight in weights.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("n_others", [0, 5, 50])
def test_a_label_without_a_weight_gets_zero(n_others: int) -> None:
    weights = {1: 5.0, 3: 7.0} | {100 + place: 1.0 for place in range(n_others)}
    kernel, labels = Delta(weights), np.array([3, 1, 3, 2])
    np.testing.assert_array_equal(kernel.diag(labels), [7, 5, 7, 0])
    np.testing.assert_allclose((kernel.features(labels) ** 2).sum(axis=1), [7, 5, 7, 0])


def test_auto_takes_signs_for_two_classes_and_balance_for_more() -> None:
    x = np.random.default_rng(0).normal(size=(M, 2))
    two = np.where(LABELS == "a", "a", "b")
    assert hsic(x, two) == hsic(x, two, target_kernel="class_balanced")
    assert hsic(x, LABELS) == hsic(x, LABELS, target_kernel=Delta("balanced"))
    assert resolve("delta", LABELS).is_resolved
