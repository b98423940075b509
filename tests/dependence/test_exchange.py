"""Rows that can be exchanged in some ways only: groups, series, and their tests.

Private modules: statistics of given orders are compared with HSIC of the rows in those orders.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
from sklearn.utils import _safe_indexing

from depmax import Shifts, WholeGroups, WithinGroups, hsic, hsic_test, screen, screen_pairs
from depmax.data.sample import read_sample, read_target_sample
from depmax.dependence._nulls import sorted_columns
from depmax.dependence._nulls.permutation import permuted_statistics
from depmax.dependence.exchange import exchange_of, scheme_of
from depmax.kernels import Laplace

#: Rows of these tables resemble their neighbours, which is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:DM002")

EQUAL = np.repeat(np.arange(12), 4)
UNEQUAL = np.repeat(np.arange(14), [1, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 6, 6, 6])


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def alike(rng: np.random.Generator, codes: np.ndarray) -> np.ndarray:
    """Values that are alike within groups."""
    return 0.9 * rng.normal(size=codes.max() + 1)[codes] + 0.4 * rng.normal(size=len(codes))


def test_whole_groups_of_equal_size_keep_their_rows_together(rng: np.random.Generator) -> None:
    plan = WholeGroups(EQUAL[rng.permutation(48)]).plan(48, rng.normal(size=48))
    assert plan.is_whole
    for order in plan.orders(20, rng):
        assert np.array_equal(np.sort(order), np.arange(48))
        moved = plan.units[order]
        for group in range(12):
            assert len(np.unique(moved[plan.units == group])) == 1


def test_a_target_per_group_moves_between_groups_of_any_size(rng: np.random.Generator) -> None:
    y = rng.integers(0, 3, 14)[UNEQUAL]
    plan = WholeGroups(UNEQUAL.astype(str)).plan(len(UNEQUAL), y)
    assert plan.is_whole
    for order in plan.orders(20, rng):
        first = np.unique(plan.units, return_index=True)[1]
        values = y[order]
        assert (values == values[first][plan.units]).all()  # one value per group
        assert np.array_equal(np.sort(values[first]), np.sort(y[first]))  # the same values


def test_groups_of_similar_size_are_cut_and_the_rows_left_out_are_counted(
    rng: np.random.Generator,
) -> None:
    with pytest.warns(UserWarning, match=r"\d+ of 54 rows are not used"):
        plan = scheme_of(UNEQUAL, len(UNEQUAL), rng.normal(size=len(UNEQUAL)))
    assert plan is not None
    kept = plan.units[plan.rows]
    sizes = np.bincount(kept)
    assert sizes.min() >= 1
    assert len(plan.rows) == 38
    for order in plan.orders(20, rng):
        moved = kept[order]
        assert np.array_equal(np.sort(order), np.arange(len(kept)))
        for group in range(14):
            here = moved[kept == group]
            assert len(np.unique(here)) == 1
            assert sizes[here[0]] == sizes[group]


def test_one_short_group_does_not_cut_all_others(rng: np.random.Generator) -> None:
    """The last patient came once, all others three times: one row is lost, not two of three."""
    labels = np.arange(91) // 3
    with pytest.warns(UserWarning, match=r"1 of 91 rows are not used"):
        plan = scheme_of(labels, 91, rng.normal(size=91))
    assert np.array_equal(plan.rows, np.arange(90))


def test_rows_change_places_within_groups_only(rng: np.random.Generator) -> None:
    labels = UNEQUAL[rng.permutation(len(UNEQUAL))]
    plan = WithinGroups(labels).plan(len(labels))
    orders = plan.orders(50, rng)
    assert (labels[orders] == labels).all()
    assert (np.sort(orders, axis=1) == np.arange(len(labels))).all()
    assert len(np.unique(orders, axis=0)) > 40


def test_shifts_keep_the_course_of_every_series(rng: np.random.Generator) -> None:
    labels = np.repeat(["a", "b"], [30, 50])
    plan = Shifts(labels, shortest=5).plan(80)
    for order in plan.orders(30, rng):
        for rows in (np.arange(30), np.arange(30, 80)):
            shift = (order[rows[0]] - rows[0]) % len(rows)
            assert shift == 0 or 5 <= shift <= len(rows) - 5
            assert np.array_equal(order[rows], rows[0] + (rows - rows[0] + shift) % len(rows))


@pytest.mark.parametrize("y_kind", ["number", "class", "vectors"])
@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_statistics_of_a_plan_equal_hsic_of_reordered_rows(
    kernel: str, y_kind: str, rng: np.random.Generator
) -> None:
    x = rng.normal(size=(54, 2))
    per_group = {
        "number": rng.normal(size=14),
        "class": rng.integers(0, 3, 14),
        "vectors": rng.normal(size=(14, 3)),
    }
    y = per_group[y_kind][UNEQUAL]  # orders repeat rows
    x_side, y_side = read_sample(x, kernel), read_target_sample(y, "auto")
    plan = WholeGroups(UNEQUAL).plan(54, y_side.rows)
    observed, found = permuted_statistics(x_side, y_side, 7, np.random.default_rng(3), plan)
    orders = plan.orders(7, np.random.default_rng(3))
    fixed = x_side.kernel, y_side.kernel
    for order, value in zip(orders, found, strict=True):
        expected = hsic(x, y_side.rows[order], kernel=fixed[0], target_kernel=fixed[1])
        assert value == pytest.approx(expected, rel=1e-3, abs=1e-6)
    expected = hsic(x, y_side.rows, kernel=fixed[0], target_kernel=fixed[1])
    assert observed == pytest.approx(expected, rel=1e-3, abs=1e-6)


def nulls(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Any]:
    """Independent sides whose rows are not."""
    if kind == "shifts":
        walks = np.zeros((2, 150))
        for t in range(1, 150):
            walks[:, t] = 0.8 * walks[:, t - 1] + rng.normal(size=2)
        return walks[0], walks[1], Shifts()
    if kind == "within":
        blocks = 3.0 * rng.normal(size=12)[EQUAL]
        return blocks + rng.normal(size=48), blocks + rng.normal(size=48), WithinGroups(EQUAL)
    codes = UNEQUAL if "unequal" in kind else EQUAL
    y = alike(rng, codes)
    if "class" in kind:
        y = rng.permutation(np.arange(codes.max() + 1) % 2)[codes]
    return alike(rng, codes), y, codes


KINDS = ["equal", "unequal", "equal class", "unequal class", "within", "shifts"]


@pytest.mark.slow
# groups of unequal size are cut, which is told
@pytest.mark.filterwarnings("ignore:.*are not used")
@pytest.mark.parametrize("kind", KINDS)
def test_the_level_is_kept_and_rows_as_they_are_would_break_it(kind: str) -> None:
    rng = np.random.default_rng(7)
    grouped, plain = [], []
    for seed in range(60):
        x, y, groups = nulls(kind, rng)
        found = hsic_test(x, y, groups=groups, n_permutations=99, random_state=seed)
        grouped.append(found.pvalue <= 0.05)
        plain.append(hsic_test(x, y, n_permutations=99, random_state=seed).pvalue <= 0.05)
    assert np.mean(grouped) <= 0.15
    assert np.mean(plain) > np.mean(grouped) + 0.05


# groups of unequal size are cut, which is told
@pytest.mark.filterwarnings("ignore:.*are not used")
@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
@pytest.mark.parametrize("kind", KINDS)
def test_screen_exchanges_rows_too(kind: str, kernel: str) -> None:
    rng = np.random.default_rng(7)
    grouped, plain = [], []
    for _ in range(20):
        x, y, groups = nulls(kind, rng)
        columns = x[:, np.newaxis]
        grouped.append(screen(columns, y, groups=groups, kernel=kernel).pvalues)
        plain.append(screen(columns, y, kernel=kernel).pvalues)
    assert np.mean(np.array(grouped) <= 0.05) <= 0.2
    assert np.mean(np.array(plain) <= 0.05) > np.mean(np.array(grouped) <= 0.05)


@pytest.mark.slow
# groups of unequal size are cut, which is told
@pytest.mark.filterwarnings("ignore:.*are not used")
@pytest.mark.parametrize("kind", KINDS)
def test_dependence_is_found(kind: str, rng: np.random.Generator) -> None:
    x, y, groups = nulls(kind, rng)
    n = len(x)
    if kind == "within":
        y = y + 3.0 * x
    else:
        x, y = (x + 4.0 * y, y) if "class" in kind else (x, x + 0.3 * rng.normal(size=n))
    found = hsic_test(x, y, groups=groups, random_state=0)
    assert found.pvalue <= 0.05
    assert screen(np.column_stack([x, rng.normal(size=n)]), y, groups=groups).pvalues[0] <= 0.05


PAIR_GROUPS = np.repeat(np.arange(80), 6)


@pytest.mark.parametrize("kind", ["number", "class"])
@pytest.mark.parametrize("exchange", [WholeGroups, WithinGroups])
def test_pairs_of_rows_that_are_not_independent(exchange: type, kind: str) -> None:
    """Columns and target alike within groups; no pair is found, and a planted one is."""
    rng = np.random.default_rng(3)
    grouped, plain, hits = 0, 0, 0
    for draw in range(4):
        columns = np.column_stack([alike(rng, PAIR_GROUPS) for _ in range(12)])
        latent = alike(rng, PAIR_GROUPS)
        if draw == 3:
            columns += 0.8 * rng.normal(size=columns.shape)
            latent = 2.0 * columns[:, 2] * columns[:, 5] + 0.5 * rng.normal(size=480)
        y = latent if kind == "number" else (latent > 0).astype(int)
        found = screen_pairs(columns, y, groups=exchange(PAIR_GROUPS), random_state=0)
        significant = found.pairs[found.pvalues_adjusted < 0.05].tolist()
        if draw == 3:
            hits = int([2, 5] in significant)
        else:
            grouped += len(significant)
            plain += int(np.sum(screen_pairs(columns, y).pvalues_adjusted < 0.05))
    assert grouped <= 1
    assert plain > grouped
    assert hits


def test_too_few_groups_for_pairs_are_refused(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match=r"6 groups .* 5"):
        screen_pairs(rng.normal(size=(40, 3)), rng.normal(size=40), groups=np.arange(40) % 5)


def test_objects_are_cut_to_the_rows_of_a_fold() -> None:
    for kind in (WholeGroups, WithinGroups, Shifts):
        part = _safe_indexing(kind(EQUAL), np.array([0, 5, 9]))
        assert type(part) is kind
        np.testing.assert_array_equal(part.labels, [0, 1, 2])
    assert exchange_of(None).plan(5).is_free
    assert len(Shifts()) == 0


def test_many_groups_have_ways_without_number(rng: np.random.Generator) -> None:
    codes = np.repeat(np.arange(300), 3)
    assert WholeGroups(codes).plan(900, rng.normal(size=900)).n_ways > 1e100
    assert WholeGroups(codes).plan(900, np.arange(300.0)[codes]).n_ways > 1e100
    assert WithinGroups(np.arange(900) % 2).plan(900).n_ways > 1e100


def test_bad_groups_are_refused_by_name(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(2, 48))
    with pytest.raises(ValueError, match=r"X \(48\).*\(47,\)"):
        hsic_test(x, y, groups=EQUAL[1:])
    with pytest.raises(ValueError, match=r"no label in 1 of 48 .* row 3"):
        hsic_test(x, y, groups=np.where(np.arange(48) == 3, np.nan, EQUAL))
    with pytest.raises(ValueError, match=r"3 groups .* 6 ways only"):
        hsic_test(x, y, groups=np.arange(48) % 3)
    two = (np.arange(6) % 2)[np.arange(48) % 6]
    with pytest.raises(ValueError, match=r"6 groups .* 10 ways only"):
        screen(x, two, groups=np.arange(48) % 6)
    with pytest.raises(ValueError, match=r"within groups .* 1 way only"):
        hsic_test(x, y, groups=WithinGroups(np.arange(48)))
    with pytest.raises(ValueError, match="shortest must be at least 1"):
        hsic_test(x, y, groups=Shifts(shortest=0))
    with pytest.raises(ValueError, match="Series of 48 rows"):
        hsic_test(x, y, groups=Shifts(shortest=20))
    with pytest.raises(ValueError, match="pass method='permutation'"):
        hsic_test(x, y, groups=EQUAL, method="gamma")


@pytest.mark.parametrize("places", [2**20, 50], ids=["at once", "in parts"])
def test_orders_of_a_column_with_the_laplace_kernel(
    places: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled sums over many orders at once, against HSIC of the rows in each order."""
    monkeypatch.setattr(sorted_columns, "ORDERED", places)
    rng = np.random.default_rng(1)
    x, Y = np.round(rng.normal(size=24), 1), rng.normal(size=(24, 3))
    plan = WholeGroups(np.repeat(np.arange(8), 3)).plan(24)
    column = sorted_columns.SortedColumns.of(x[np.newaxis])
    target = sorted_columns.TargetCoordinates.of(Y)
    kernels = {"kernel": Laplace(column.widths[0]), "target_kernel": "linear"}
    draws = np.random.default_rng(0), np.random.default_rng(0)
    for found, draw in (
        (
            column.in_orders(target.psi, sorted_columns.Drawn(plan.draw, 24)),
            lambda: plan.draw(draws[0]),
        ),
        (column.permuted(target), lambda: draws[1].permutation(24)),
    ):
        for chunk, _ in islice(found, 2):
            expected = [hsic(x, Y[draw()], **kernels) for _ in chunk]
            np.testing.assert_allclose(chunk, expected, rtol=0, atol=1e-15)
