"""Sums over rows: the same in any chunks, in any order, about any origins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from depmax.dependence._terms import terms_from_moments
from depmax.pencils.cross_moments import CrossMoments
from depmax.samples import as_rows, slices
from tests.dependence.oracles import dense_hsic

SUMS = [item.name for item in fields(CrossMoments) if not item.name.startswith("origin")]
seeds = st.integers(0, 10**6)


def draw(seed: int, m: int = 23, offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of both sides, of widths 3 and 2, that depend on each other."""
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(m, 3))
    psi = np.column_stack([phi[:, 0] ** 2, rng.normal(size=m)])
    return phi + offset, psi - offset


def definition(
    phi: np.ndarray, psi: np.ndarray, weights: np.ndarray, a: np.ndarray, b: np.ndarray
) -> dict[str, Any]:
    """Every moment about the origins a and b, row by row."""
    rows = [(w, x - a, y - b) for w, x, y in zip(weights, phi, psi, strict=True)]
    return {
        "weight": sum(w for w, _, _ in rows),
        "sum_x": sum(w * x for w, x, _ in rows),
        "sum_y": sum(w * y for w, _, y in rows),
        "cross": sum(w * np.outer(x, y) for w, x, y in rows),
        "norm_x": sum(w * (x @ x) for w, x, _ in rows),
        "norm_y": sum(w * (y @ y) for w, _, y in rows),
        "norm_xy": sum(w * (x @ x) * (y @ y) for w, x, y in rows),
        "norm_x_y": sum(w * (x @ x) * y for w, x, y in rows),
        "norm_y_x": sum(w * (y @ y) * x for w, x, y in rows),
    }


def assert_same(
    found: CrossMoments, expected: Any, tol: float = 1e-12, names: Sequence[str] = SUMS
) -> None:
    """Every moment within ``tol`` of its largest entry, or of 1 where that is small."""
    for name in names:
        value = expected[name] if isinstance(expected, dict) else getattr(expected, name)
        atol = tol * max(1.0, float(np.abs(value).max()))
        np.testing.assert_allclose(getattr(found, name), value, rtol=0, atol=atol, err_msg=name)


@given(seed=seeds, weighted=st.booleans())
@settings(max_examples=30, deadline=None)
def test_equal_their_definition_about_any_origins(seed: int, weighted: bool) -> None:
    phi, psi = draw(seed)
    rng = np.random.default_rng(seed + 1)
    a, b = rng.normal(size=3), rng.normal(size=2)
    weights = rng.uniform(0, 3, size=len(phi)) if weighted else None
    found = CrossMoments.of(phi, psi, weights, origin_x=a, origin_y=b)
    weights = np.ones(len(phi)) if weights is None else weights
    assert_same(found, definition(phi, psi, weights, a, b))


def test_the_origins_are_the_rows_own_means_unless_they_are_given() -> None:
    phi, psi = draw(0)
    moments = CrossMoments.of(phi, psi)
    np.testing.assert_allclose(moments.origin_x, phi.mean(axis=0))
    np.testing.assert_allclose(moments.origin_y, psi.mean(axis=0))
    np.testing.assert_allclose(moments.sum_x, 0.0, atol=1e-12)


class TestChunks:
    @given(seed=seeds, size=st.integers(1, 30))
    @settings(max_examples=40, deadline=None)
    def test_any_order_and_any_origins_give_one_answer(self, seed: int, size: int) -> None:
        phi, psi = draw(seed)
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(phi))
        chunks = [
            CrossMoments.of(
                phi[order[rows]],
                psi[order[rows]],
                origin_x=rng.normal(size=3) if rng.random() < 0.5 else None,
                origin_y=rng.normal(size=2) if rng.random() < 0.5 else None,
            )
            for rows in slices(len(phi), size)
        ]
        rng.shuffle(chunks)
        whole = CrossMoments.of(phi, psi)
        merged = reduce(add, chunks)
        assert_same(merged.about(whole.origin_x, whole.origin_y), whole)
        assert_same(merged.centred(), whole.centred())

    @given(seed=seeds)
    @settings(max_examples=20, deadline=None)
    def test_merging_is_associative_and_commutative(self, seed: int) -> None:
        phi, psi = draw(seed)
        a, b, c = (CrossMoments.of(phi[rows], psi[rows]) for rows in slices(len(phi), 8))
        assert_same(((a + b) + c).centred(), (a + (b + c)).centred())
        assert_same((a + b).centred(), (b + a).centred())

    @given(seed=seeds, size=st.integers(1, 30), unbiased=st.booleans())
    @settings(max_examples=30, deadline=None)
    def test_hsic_of_chunks_is_that_of_the_gram_matrices(
        self, seed: int, size: int, unbiased: bool
    ) -> None:
        phi, psi = draw(seed)
        chunks = [CrossMoments.of(phi[rows], psi[rows]) for rows in slices(len(phi), size)]
        found = terms_from_moments(reduce(add, chunks), unbiased=unbiased).hsic()
        expected = dense_hsic(phi @ phi.T, psi @ psi.T, unbiased)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)

    def test_chunks_of_a_row_source_are_summed_alike(self) -> None:
        phi, psi = draw(3)
        left, right = as_rows(phi), as_rows(sparse.csr_matrix(psi))
        chunks = [
            CrossMoments.of(left.block(rows), right.block(rows)) for rows in slices(len(phi), 5)
        ]
        assert_same(reduce(add, chunks).centred(), CrossMoments.of(phi, psi).centred())


class TestShifts:
    @given(seed=seeds)
    @settings(max_examples=30, deadline=None)
    def test_moments_are_closed_under_a_change_of_origin(self, seed: int) -> None:
        phi, psi = draw(seed)
        rng = np.random.default_rng(seed + 2)
        a, b = 3 * rng.normal(size=3), 3 * rng.normal(size=2)
        weights = rng.uniform(0, 2, size=len(phi))
        moved = CrossMoments.of(phi, psi, weights).about(a, b)
        assert_same(moved, CrossMoments.of(phi, psi, weights, a, b))
        np.testing.assert_array_equal(moved.origin_x, a)
        np.testing.assert_array_equal(moved.origin_y, b)

    def test_there_and_back_is_nothing(self) -> None:
        moments = CrossMoments.of(*draw(1))
        moved = moments.about(np.ones(3), -np.ones(2)).about(moments.origin_x, moments.origin_y)
        assert_same(moved, moments, tol=1e-12)

    def test_centred_moments_have_no_sums(self) -> None:
        phi, psi = draw(1)
        moments = CrossMoments.of(phi, psi, origin_x=np.ones(3), origin_y=np.ones(2)).centred()
        np.testing.assert_allclose(moments.sum_x, 0.0, atol=1e-12)
        np.testing.assert_allclose(moments.sum_y, 0.0, atol=1e-12)
        np.testing.assert_allclose(moments.origin_x, phi.mean(axis=0))

    @pytest.mark.parametrize("size", [1, 7, 23])
    def test_an_offset_of_ten_thousand_costs_no_digits(self, size: int) -> None:
        """Raw sums of fourth powers would lose every digit; here only the data are rounded."""
        expected = CrossMoments.of(*draw(5)).centred()
        phi, psi = draw(5, offset=1e4)
        chunks = [CrossMoments.of(phi[rows], psi[rows]) for rows in slices(len(phi), size)]
        found = reduce(add, chunks).centred()
        assert_same(found, expected, tol=5e-12, names=("cross", "norm_x", "norm_y", "norm_xy"))
        assert_same(found, expected, tol=1e-10)  # sums are zero up to 23 roundings of 1e4
        values = [terms_from_moments(part, unbiased=True).hsic() for part in (found, expected)]
        assert values[0] == pytest.approx(values[1], rel=5e-12)


class TestWeights:
    @given(seed=seeds)
    @settings(max_examples=20, deadline=None)
    def test_whole_weights_repeat_rows(self, seed: int) -> None:
        phi, psi = draw(seed)
        counts = np.random.default_rng(seed).integers(0, 4, size=len(phi))
        counts[0] = 1
        weighted = CrossMoments.of(phi, psi, counts)
        repeated = CrossMoments.of(np.repeat(phi, counts, axis=0), np.repeat(psi, counts, axis=0))
        assert weighted.weight == counts.sum()
        assert_same(weighted.centred(), repeated.centred())

    def test_a_row_of_weight_zero_is_absent(self) -> None:
        phi, psi = draw(2)
        weights = np.ones(len(phi))
        weights[[3, 11]] = 0.0
        phi[3], psi[11] = 1e3, -1e3
        kept = weights > 0
        found = CrossMoments.of(phi, psi, weights, np.zeros(3), np.zeros(2))
        assert_same(found.centred(), CrossMoments.of(phi[kept], psi[kept]).centred())

    def test_one_weight_for_all_scales_every_sum(self) -> None:
        phi, psi = draw(4)
        plain, heavy = CrossMoments.of(phi, psi), CrossMoments.of(phi, psi, np.full(len(phi), 2.5))
        assert_same(heavy, {name: 2.5 * np.asarray(getattr(plain, name)) for name in SUMS})

    def test_weighted_chunks_merge(self) -> None:
        phi, psi = draw(6)
        weights = np.random.default_rng(6).uniform(0.1, 2, size=len(phi))
        chunks = [
            CrossMoments.of(phi[rows], psi[rows], weights[rows]) for rows in slices(len(phi), 6)
        ]
        whole = CrossMoments.of(phi, psi, weights)
        assert_same(reduce(add, chunks).centred(), whole.centred())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("which", ["left", "right", "both"])
@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array], ids=repr)
def test_sparse_coordinates_equal_dense_ones(make: Any, which: str, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    phi, psi = rng.poisson(0.4, size=(20, 5)), rng.poisson(0.4, size=(20, 3))
    weights = rng.uniform(0, 2, size=20) if weighted else None
    left = make(phi) if which != "right" else phi
    right = make(psi) if which != "left" else psi
    found = CrossMoments.of(left, right, weights)
    assert isinstance(found.cross, np.ndarray)
    assert_same(found.centred(), CrossMoments.of(phi, psi, weights).centred())


def test_single_precision_is_summed_in_double() -> None:
    phi, psi = draw(0)
    single = CrossMoments.of(phi.astype(np.float32), psi.astype(np.float32))
    assert single.cross.dtype == np.float64
    assert_same(single.centred(), CrossMoments.of(phi, psi).centred(), tol=1e-5)
