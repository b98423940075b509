"""Sums over rows: the same in any chunks, in any order, about any origins.

Private modules: sums over rows are compared through the terms that measures make of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from depmax.algebra import row_sums as module
from depmax.algebra.row_sums import Aligned, RowSums, Summation, sum_rows
from depmax.data.sample import Sample
from depmax.dependence._terms import row_sums, terms_from_sums
from depmax.kernels import Linear
from tests.dependence.oracles import dense_hsic

PLAIN = ("weight", "sum_x", "sum_y", "cross", "scatter")
NORMS = ("x", "y", "xy", "x_y", "y_x")
seeds = st.integers(0, 10**6)


def slices(m: int, size: int) -> list[slice]:
    return [slice(start, start + size) for start in range(0, m, size)]


def draw(seed: int, m: int = 23, offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of both sides, of widths 3 and 2, that depend on each other."""
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(m, 3))
    psi = np.column_stack([phi[:, 0] ** 2, rng.normal(size=m)])
    return phi + offset, psi - offset


def definition(phi: np.ndarray, psi: np.ndarray, a: np.ndarray, b: np.ndarray) -> dict[str, Any]:
    """Every sum about the origins a and b, row by row."""
    rows = [(x - a, y - b) for x, y in zip(phi, psi, strict=True)]
    return {
        "weight": len(rows),
        "sum_x": sum(x for x, _ in rows),
        "sum_y": sum(y for _, y in rows),
        "cross": sum(np.outer(x, y) for x, y in rows),
        "scatter": sum(np.outer(x, x) for x, _ in rows),
        "x": sum(x @ x for x, _ in rows),
        "y": sum(y @ y for _, y in rows),
        "xy": sum((x @ x) * (y @ y) for x, y in rows),
        "x_y": sum((x @ x) * y for x, y in rows),
        "y_x": sum((y @ y) * x for x, y in rows),
    }


def sums_of(phi: Any, psi: Any, *origins: np.ndarray | None) -> RowSums:
    """All sums over some rows."""
    return RowSums.of(phi, psi, *origins, scatter=True)


def flat(sums: RowSums) -> dict[str, Any]:
    """Every sum by its name."""
    return {name: getattr(sums, name) for name in PLAIN} | {
        name: getattr(sums.norms, name) for name in NORMS
    }


def assert_same(
    found: RowSums, expected: Any, tol: float = 1e-12, names: Sequence[str] = PLAIN + NORMS
) -> None:
    """Every sum within ``tol`` of its largest entry, or of 1 where that is small."""
    values = expected if isinstance(expected, dict) else flat(expected)
    for name in names:
        value = values[name]
        atol = tol * max(1.0, float(np.abs(value).max()))
        np.testing.assert_allclose(flat(found)[name], value, rtol=0, atol=atol, err_msg=name)


@given(seed=seeds)
@settings(max_examples=30, deadline=None)
def test_equal_their_definition_about_any_origins(seed: int) -> None:
    phi, psi = draw(seed)
    rng = np.random.default_rng(seed + 1)
    a, b = rng.normal(size=3), rng.normal(size=2)
    assert_same(sums_of(phi, psi, a, b), definition(phi, psi, a, b))


def test_the_origins_are_the_rows_own_means_unless_they_are_given() -> None:
    phi, psi = draw(0)
    moments = sums_of(phi, psi)
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
            sums_of(
                phi[order[rows]],
                psi[order[rows]],
                rng.normal(size=3) if rng.random() < 0.5 else None,
                rng.normal(size=2) if rng.random() < 0.5 else None,
            )
            for rows in slices(len(phi), size)
        ]
        rng.shuffle(chunks)
        whole = sums_of(phi, psi)
        merged = reduce(add, chunks)
        assert_same(merged.about(whole.origin_x, whole.origin_y), whole)
        assert_same(merged.centred(), whole.centred())

    @given(seed=seeds)
    @settings(max_examples=20, deadline=None)
    def test_merging_is_associative_and_commutative(self, seed: int) -> None:
        phi, psi = draw(seed)
        a, b, c = (sums_of(phi[rows], psi[rows]) for rows in slices(len(phi), 8))
        assert_same(((a + b) + c).centred(), (a + (b + c)).centred())
        assert_same((a + b).centred(), (b + a).centred())

    @given(seed=seeds, size=st.integers(1, 30), unbiased=st.booleans())
    @settings(max_examples=30, deadline=None)
    def test_hsic_of_chunks_is_that_of_the_gram_matrices(
        self, seed: int, size: int, unbiased: bool
    ) -> None:
        phi, psi = draw(seed)
        chunks = [sums_of(phi[rows], psi[rows]) for rows in slices(len(phi), size)]
        found = terms_from_sums(reduce(add, chunks), unbiased=unbiased).hsic()
        expected = dense_hsic(phi @ phi.T, psi @ psi.T, unbiased)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)

    def test_chunks_of_sparse_rows_are_summed_alike(self) -> None:
        phi, psi = draw(3)
        right = sparse.csr_matrix(psi)
        chunks = [sums_of(phi[rows], right[rows]) for rows in slices(len(phi), 5)]
        assert_same(reduce(add, chunks).centred(), sums_of(phi, psi).centred())


class TestShifts:
    @given(seed=seeds)
    @settings(max_examples=30, deadline=None)
    def test_moments_are_closed_under_a_change_of_origin(self, seed: int) -> None:
        phi, psi = draw(seed)
        rng = np.random.default_rng(seed + 2)
        a, b = 3 * rng.normal(size=3), 3 * rng.normal(size=2)
        moved = sums_of(phi, psi).about(a, b)
        assert_same(moved, sums_of(phi, psi, a, b))
        np.testing.assert_array_equal(moved.origin_x, a)
        np.testing.assert_array_equal(moved.origin_y, b)

    def test_there_and_back_is_nothing(self) -> None:
        moments = sums_of(*draw(1))
        moved = moments.about(np.ones(3), -np.ones(2)).about(moments.origin_x, moments.origin_y)
        assert_same(moved, moments, tol=1e-12)

    def test_centred_moments_have_no_sums(self) -> None:
        phi, psi = draw(1)
        moments = sums_of(phi, psi, np.ones(3), np.ones(2)).centred()
        np.testing.assert_allclose(moments.sum_x, 0.0, atol=1e-12)
        np.testing.assert_allclose(moments.sum_y, 0.0, atol=1e-12)
        np.testing.assert_allclose(moments.origin_x, phi.mean(axis=0))

    @pytest.mark.parametrize("size", [1, 7, 23])
    def test_an_offset_of_ten_thousand_costs_no_digits(self, size: int) -> None:
        """Raw sums of fourth powers would lose every digit; here only the data are rounded."""
        expected = sums_of(*draw(5)).centred()
        phi, psi = draw(5, offset=1e4)
        chunks = [sums_of(phi[rows], psi[rows]) for rows in slices(len(phi), size)]
        found = reduce(add, chunks).centred()
        assert_same(found, expected, tol=5e-12, names=("cross", "scatter", "x", "y", "xy"))
        assert_same(found, expected, tol=1e-10)  # sums are zero up to 23 roundings of 1e4
        values = [terms_from_sums(part, unbiased=True).hsic() for part in (found, expected)]
        assert values[0] == pytest.approx(values[1], rel=5e-12)


class TestPieces:
    """Pieces that are asked for, in chunks about different origins."""

    def pieces(self, make: Any = np.asarray) -> tuple[RowSums, Any, np.ndarray]:
        rng = np.random.default_rng(6)
        phi, psi = draw(6)
        weights = rng.normal(size=len(phi))
        chunks = []
        for rows in slices(len(phi), 6):
            origin = np.zeros(3) if make is not np.asarray else rng.normal(size=3)
            summation = Summation(origin, np.zeros(2), scatter=True)
            aligned = Aligned(make(phi[rows]), psi[rows], weights[rows])
            summation.add(aligned)
            chunks.append(summation.result())
        return reduce(add, chunks), phi, weights

    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csr_array])
    def test_weighted_rows(self, make: Any) -> None:
        sums, phi, weights = self.pieces(make)
        assert sums.norms is None
        centre = phi[: len(phi) // 2].mean(axis=0)
        for moved in (sums, sums.centred()):
            assert moved.weighted is not None
            found = moved.weighted.about(centre, np.zeros(0))
            about = phi - centre
            np.testing.assert_allclose(found.weight, weights.sum())
            np.testing.assert_allclose(found.sum_x, about.T @ weights, atol=1e-12)
            expected = about.T @ (weights[:, np.newaxis] * about)
            np.testing.assert_allclose(found.scatter, expected, atol=1e-12)

    @pytest.mark.parametrize("weight", [2.0, 3.0, 0.7])
    def test_weighted_sums_of_a_balanced_design_cancel(self, weight: float) -> None:
        phi = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
        psi = phi.prod(axis=1, keepdims=True)
        summation = Summation(np.zeros(2), np.zeros(1), scatter=True)
        summation.add(Aligned(phi, psi, weight=np.full(4, weight)))
        sums = summation.result()
        np.testing.assert_array_equal(sums.cross, np.zeros((2, 1)))
        np.testing.assert_array_equal(sums.scatter, 4 * weight * np.eye(2))

    def test_a_piece_that_one_of_two_lacks_is_absent(self) -> None:
        phi, psi = draw(1)
        both = sums_of(phi, psi) + RowSums.of(phi, psi)
        assert both.scatter is None
        assert both.norms is not None

    def test_nan_shows(self) -> None:
        phi, psi = draw(2)
        phi[3, 1] = np.nan
        sums = sums_of(phi, psi, np.zeros(3))
        assert np.isnan(sums.mean_x).tolist() == [False, True, False]
        assert np.isnan(sums.cross[1]).all()


@pytest.mark.parametrize("scatter", [False, True])
@pytest.mark.parametrize("width", [1, 9], ids=["joined", "apart"])
def test_threads_change_no_digit(
    width: int, scatter: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    phi, psi = rng.normal(loc=3.0, size=(900, 8)), rng.normal(size=(900, width))
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(module, "blas_threads_for_parts", partial(nullcontext, threads))
        sums = sum_rows(
            lambda rows: Aligned(phi[rows], psi[rows]),
            slices(900, 50),
            (8, width),
            scatter=scatter,
            norms=True,
            concurrent=True,
        )
        found.append(sums)
    names = (PLAIN if scatter else PLAIN[:-1]) + NORMS
    for name in names:
        np.testing.assert_array_equal(flat(found[0])[name], flat(found[1])[name])
    assert_same(found[0].centred(), sums_of(phi, psi).centred(), tol=1e-11, names=names)


@pytest.mark.parametrize("scatter", [False, True])
@pytest.mark.parametrize("which", ["left", "right", "both"])
@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array], ids=repr)
def test_sparse_coordinates_equal_dense_ones(make: Any, which: str, scatter: bool) -> None:
    rng = np.random.default_rng(0)
    phi, psi = rng.poisson(0.4, size=(20, 5)), rng.poisson(0.4, size=(20, 3))
    left = make(phi) if which != "right" else phi
    right = make(psi) if which != "left" else psi
    found = RowSums.of(left, right, scatter=scatter)
    assert isinstance(found.cross, np.ndarray)
    names = (PLAIN if scatter else PLAIN[:-1]) + NORMS
    assert_same(found.centred(), sums_of(phi, psi).centred(), names=names)


def test_single_precision_is_summed_in_double() -> None:
    phi, psi = draw(0)
    single = sums_of(phi.astype(np.float32), psi.astype(np.float32))
    assert single.cross.dtype == np.float64
    assert_same(single.centred(), sums_of(phi, psi).centred(), tol=1e-5)


def test_measures_ask_for_aligned_chunks_of_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    phi, psi = draw(7, m=500)
    asked: dict[int, list[int]] = {3: [], 2: []}

    class Recorded(Linear):
        """A linear kernel that notes how many rows it maps at a time."""

        def features(self, X: Any) -> Any:
            asked[X.shape[1]].append(X.shape[0])
            return super().features(X)

    monkeypatch.setattr(module, "CHUNK", 1)
    sums = row_sums(Sample(Recorded(), phi), Sample(Recorded(), psi))
    assert asked[3] == asked[2]
    assert max(asked[3]) == 64
    assert sum(asked[3][1:]) == 500  # the first row tells the number of columns
    assert_same(sums.centred(), sums_of(phi, psi).centred(), names=("cross", *NORMS), tol=1e-11)


def test_sums_of_a_hundred_million_rows_far_from_zero_keep_ten_digits() -> None:
    """The same rows again and again, each time about an origin of their own, merged."""
    rng = np.random.default_rng(0)
    phi = np.round(rng.normal(size=(2000, 3)) * 2**20) / 2**20
    psi = phi[:, :1] + np.round(rng.normal(size=(2000, 1)) * 2**20) / 2**20
    near = RowSums.of(phi, psi, scatter=True).centred()
    parts = [
        RowSums.of(
            np.roll(phi, shift, axis=0) + 1e6, psi[np.r_[-shift:0, 0 : 2000 - shift]], scatter=True
        )
        for shift in range(0, 2000, 500)
    ]
    total = sum(parts[1:], parts[0])
    while total.weight < 1e8:
        total = total + total
    far = total.centred()
    times = far.weight / near.weight
    assert near.scatter is not None
    assert far.scatter is not None
    np.testing.assert_allclose(far.scatter / times, near.scatter, rtol=1e-10, atol=1e-10 * 2000)
    np.testing.assert_allclose(far.cross / times, near.cross, rtol=1e-10, atol=1e-10 * 2000)
