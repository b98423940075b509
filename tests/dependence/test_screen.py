"""Screening of columns: scores and p-values as one test per column would give.

Private modules: the fast sums of sorted columns are compared with kernel matrices beyond what
screen asks of them.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.spatial.distance import pdist

from depmax import hsic, screen
from depmax.data.sample import read_target_sample
from depmax.dependence._nulls.law import u_centred
from depmax.dependence._nulls.linear_part import scores_of
from depmax.dependence._nulls.screening import ScreeningTarget
from depmax.dependence._nulls.sorted_columns import SortedColumns, TargetCoordinates
from depmax.kernels import Gaussian, Laplace, Linear

#: Rows of these tables resemble their neighbours, which is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:DM002")

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 5))
X[:, 3] = rng.integers(0, 3, 120)

TARGETS = {
    "binary": (X[:, 0] > 0).astype(int),
    "classes": np.digitize(X[:, 1], [-1, 0, 1]),
    "multilabel": (X[:, :2] > 0).astype(int),
    "numbers": X[:, 0] ** 2 + 0.1 * rng.normal(size=120),
    "outputs": X[:, :2] + 0.1 * rng.normal(size=(120, 2)),
}


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("unbiased", [True, False])
def test_scores_equal_the_dense_measure(kind: str, unbiased: bool) -> None:
    result = screen(X, TARGETS[kind], unbiased=unbiased, tol=1e-12)
    for column, width in enumerate(result.bandwidths):
        expected = hsic(X[:, column], TARGETS[kind], kernel=Laplace(width), unbiased=unbiased)
        assert result.scores[column] == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_the_stated_tolerance_bounds_the_error() -> None:
    loose, tight = screen(X, TARGETS["outputs"], tol=1e-3), screen(X, TARGETS["outputs"], tol=1e-12)
    assert loose.target_error <= 1e-3
    # |HSIC| changes by at most the trace left out, relative to m, with k <= 1
    assert np.abs(loose.scores - tight.scores).max() <= 10 * loose.target_error


@pytest.mark.parametrize("values", [X[:, 0], X[:, 3], np.exp(3 * X[:, 0]), X[:, 0] * 1e-9 + 5.0])
def test_sorted_recursions_are_exact(values: np.ndarray) -> None:
    column = SortedColumns.of(values[np.newaxis])
    A = u_centred(Laplace(column.widths[0])(values))
    found = column.sums(TargetCoordinates.of(X[:, :2]))
    assert found["squares"][0] == pytest.approx(np.sum(A**2), rel=1e-8)
    assert found["cubes"][0] == pytest.approx(np.sum(A**3), rel=1e-6)
    assert found["triangles"][0] == pytest.approx(np.trace(A @ A @ A), rel=1e-8)
    leading = np.linalg.eigvalsh(A)[:-5:-1]
    np.testing.assert_allclose(column.leading(), leading, rtol=0, atol=1e-8 * leading[0])


@pytest.mark.parametrize("kind", ["normal", "skewed", "even", "clusters"])
def test_leading_eigenvalues_equal_those_of_matrices(kind: str, rng: np.random.Generator) -> None:
    values = rng.normal(size=100)
    values = {
        "normal": values,
        "skewed": np.exp(3 * values),
        "even": np.linspace(0, 1, 100),
        "clusters": np.concatenate([values[:50], 50 + values[:50] + 1e-9 * values[50:]]),
    }[kind]
    column = SortedColumns.of(values[np.newaxis])
    A = u_centred(Laplace(column.widths[0])(values))
    expected = np.linalg.eigvalsh(A)[:-5:-1]
    np.testing.assert_allclose(column.leading(), expected, rtol=0, atol=1e-12 * expected[0])


@pytest.mark.parametrize("m", [2, 3, 10, 151])
def test_bandwidth_is_the_median_distance(m: int, rng: np.random.Generator) -> None:
    values = rng.normal(size=m)
    gaps = np.sort(pdist(values[:, np.newaxis]))
    found = SortedColumns.of(values[np.newaxis]).widths[0]
    assert found == pytest.approx(gaps[(len(gaps) - 1) // 2], rel=1e-9)


def test_bandwidth_with_many_duplicates_is_that_of_the_rest() -> None:
    values = np.array([0.0] * 30 + [2.0] * 3)
    assert SortedColumns.of(values[np.newaxis]).widths[0] == pytest.approx(2.0)


def test_target_coordinates_drop_what_is_empty(rng: np.random.Generator) -> None:
    onehot = np.eye(3)[rng.integers(0, 3, 60)]
    assert TargetCoordinates.of(onehot).psi.shape == (60, 2)


def test_finds_a_nonlinear_column_and_spares_the_rest(rng: np.random.Generator) -> None:
    noise = rng.normal(size=(300, 40))
    target = noise[:, 7] ** 2 + 0.2 * rng.normal(size=300)
    result = screen(noise, target)
    assert result.ranking[7] == 1
    assert result.pvalues_adjusted[7] < 1e-6
    assert np.sum(result.pvalues_adjusted < 0.05) <= 3
    assert sorted(result.ranking) == list(range(1, 41))


@pytest.mark.slow
def test_false_discoveries_stay_at_the_nominal_rate(rng: np.random.Generator) -> None:
    rates = []
    for _ in range(40):
        columns = rng.normal(size=(100, 210))
        labels = rng.permutation(np.arange(100) % 2)
        columns[:, :10] += 1.2 * labels[:, np.newaxis]
        found = screen(columns, labels).pvalues_adjusted <= 0.1
        rates.append(found[10:].sum() / max(1, found.sum()))
    assert np.mean(rates) <= 0.13


KERNELS = [Gaussian(), "linear", Laplace(1.5), Laplace("maximize"), "subset", 2.0 * Laplace(1.0)]


@pytest.mark.parametrize("kernel", KERNELS)
def test_other_kernels(kernel: object) -> None:
    result = screen(X, TARGETS["binary"], kernel=kernel)
    assert result.ranking[0] == 1
    if kernel == "linear":
        assert result.scores[2] == pytest.approx(
            hsic(X[:, 2], TARGETS["binary"], kernel="linear"), rel=1e-8
        )


def test_threads_give_identical_bits() -> None:
    one, two = screen(X, TARGETS["numbers"]), screen(X, TARGETS["numbers"], n_jobs=2)
    np.testing.assert_array_equal(one.scores, two.scores)
    np.testing.assert_array_equal(one.pvalues, two.pvalues)


def test_order_of_rows_and_shift_change_nothing(rng: np.random.Generator) -> None:
    order = rng.permutation(120)
    moved = screen(X[order] + 100.0, TARGETS["binary"][order])
    np.testing.assert_allclose(moved.scores, screen(X, TARGETS["binary"]).scores, rtol=1e-8)


def test_sparse_columns_equal_dense_ones(rng: np.random.Generator) -> None:
    counts = rng.poisson(0.4, size=(100, 6)).astype(float)
    labels = rng.integers(0, 2, 100)
    np.testing.assert_allclose(
        screen(sparse.csr_matrix(counts), labels).pvalues, screen(counts, labels).pvalues
    )


def test_constant_columns_score_zero(rng: np.random.Generator) -> None:
    columns = np.column_stack([np.full(50, 0.1), rng.normal(size=50)])
    result = screen(columns, rng.normal(size=50))
    assert result.scores[0] == 0.0
    assert result.pvalues[0] == 1.0


def test_object_kernels_are_refused() -> None:
    with pytest.raises(TypeError, match=r"screen .*columns of numbers"):
        screen(X, TARGETS["binary"], kernel="subsequence")


@pytest.mark.parametrize("target", ["numbers", "classes", "outputs"])
@pytest.mark.parametrize("kernel", ["laplace", "gaussian", "linear"])
def test_effects_are_normalised_unbiased_hsic(
    kernel: str, target: str, rng: np.random.Generator
) -> None:
    """HSIC(x, y) / sqrt(HSIC(x, x) HSIC(y, y)) of the dense measures, the same in other units."""
    X = rng.normal(size=(60, 3))
    X[:, 2] = np.round(X[:, 2])
    number = X[:, 0] ** 2 + 0.3 * rng.normal(size=60)
    y = {
        "numbers": number,
        "classes": np.where(number > 0.5, "high", "low"),
        "outputs": np.column_stack([number, rng.normal(size=60)]),
    }[target]
    found = screen(X, y, kernel=kernel)
    for position in range(3):
        column = X[:, [position]]
        width = found.bandwidths[position]
        recipe = {"laplace": Laplace(width), "gaussian": Gaussian(width), "linear": Linear()}
        gram = recipe[kernel](column)
        chosen = {"kernel": "precomputed"}
        cross = hsic(gram, y, **chosen)
        own_x = hsic(gram, gram, target_kernel="precomputed", **chosen)
        side = read_target_sample(y, "auto")
        own_y = hsic(side.gram(), side.gram(), target_kernel="precomputed", **chosen)
        share = min(1.0, max(0.0, cross / np.sqrt(own_x * own_y)))
        assert found.effects[position] == pytest.approx(share, rel=1e-4, abs=1e-6)
    assert (found.effects_low <= found.effects).all()
    assert (found.effects <= found.effects_high).all()
    assert found.effects_low.min() >= 0
    assert found.effects_high.max() <= 1
    scaled = screen(1000.0 * X + 5.0, y, kernel=kernel)
    np.testing.assert_allclose(scaled.effects, found.effects, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(scaled.effects_high, found.effects_high, rtol=1e-6, atol=1e-9)


def test_sums_of_a_sorted_column_equal_those_of_matrices(rng: np.random.Generator) -> None:
    column, psi = rng.normal(size=40), rng.normal(size=(40, 2))
    target = TargetCoordinates.of(psi)
    a = u_centred(Laplace(0.7)(column[:, np.newaxis]))
    b = u_centred(target.psi @ target.psi.T)
    prepared = SortedColumns.of(column[np.newaxis], np.array([0.7]))
    found = prepared.sums(target, (b * b).sum(axis=1))
    assert found["cross"][0] == pytest.approx(np.sum(a * b), abs=1e-10)
    # what every row does to the effect, as in variance.influence_of
    cross, own_x, own_y = (a * b).sum(axis=1), (a * a).sum(axis=1), (b * b).sum(axis=1)
    pairs = 40 * 37
    scale = np.sqrt(own_x.sum() * own_y.sum()) / pairs
    share = cross.sum() / pairs / scale
    influence = cross / scale - 0.5 * share * pairs * (own_x / own_x.sum() + own_y / own_y.sum())
    expected = np.sum((influence - influence.mean()) ** 2)
    assert found["influence"][0] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("m", [30, 3000])
def test_columns_are_sorted_with_their_positions(m: int, rng: np.random.Generator) -> None:
    columns = rng.normal(size=(6, m))
    columns[1] = np.round(columns[1])
    columns[2] = 1e9 + columns[2]
    columns[3] *= 1e-300
    columns[4] = np.where(rng.random(m) < 0.5, -0.0, 0.0)
    columns[5, :2] = -1e308, 1e308
    found = SortedColumns.of(columns, np.ones(6))
    np.testing.assert_array_equal(found.values, np.sort(columns, axis=1))
    moved = np.take_along_axis(columns, found.orders, axis=1)
    np.testing.assert_array_equal(moved, found.values)
    assert (np.sort(found.orders, axis=1) == np.arange(m)).all()


@pytest.mark.parametrize("kind", ["binary", "unbalanced", "numbers"])
def test_pvalues_of_many_columns_are_those_in_full_where_they_matter(
    kind: str, rng: np.random.Generator
) -> None:
    columns = rng.normal(size=(60, 1300))
    columns[:, 100:500] = np.where(rng.random((60, 400)) < 0.85, 0.0, columns[:, 100:500])
    columns[:, 500:600] = rng.integers(0, 2, size=(60, 100))
    number = rng.normal(size=60)
    columns[:, :40] += 1.5 * number[:, np.newaxis]
    y = {"binary": number > 0, "unbalanced": number > 1, "numbers": number}[kind]
    quick, full = screen(columns, y), screen(columns, y, full=True)
    same = full.pvalues_adjusted <= 0.25
    assert same.sum() >= 20
    np.testing.assert_allclose(quick.pvalues[same], full.pvalues[same], rtol=1e-10)
    np.testing.assert_allclose(
        quick.pvalues_adjusted[same], full.pvalues_adjusted[same], rtol=1e-10
    )
    np.testing.assert_array_equal(quick.scores, full.scores)
    assert (quick.pvalues_adjusted[~same] > 0.25).all()
    few = screen(columns[:, :1000], y)
    np.testing.assert_array_equal(few.pvalues, full.pvalues[:1000])
    law = ~same & (quick.pvalues != full.pvalues)
    law[100:500] = False  # permutations: neither is the larger one for certain
    assert law.sum() > 50
    assert (quick.pvalues[law] >= full.pvalues[law]).all()


def test_effects_of_equal_and_constant_columns(rng: np.random.Generator) -> None:
    group = rng.integers(0, 2, 80)
    X = np.column_stack([group, np.zeros(80), rng.normal(size=80)])
    found = screen(X, np.where(group, "ill", "well"))
    assert found.effects[0] == pytest.approx(1.0)
    assert found.effects[1] == found.effects_high[1] == 0.0
    assert found.effects[2] < 0.2
    frame = found.to_frame("pandas")
    assert {"effect", "effect_low", "effect_high"} <= set(frame.columns)


def test_a_target_over_many_orders_of_magnitude() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.exp(2 * X[:, 0] + rng.normal(size=300))
    y[:3] = 1e9, 5e9, 2e10  # a product of these loses the differences of the others
    found = screen(X, y)
    assert found.pvalues[0] < 1e-6
    assert (found.pvalues[1:] > 0.01).all()


class TestEffectsOfGroups:
    """Rows of a group are alike, in columns and target, which have nothing in common."""

    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(40), 8)
    X = rng.normal(size=(40, 12))[group] + 0.2 * rng.normal(size=(320, 12))
    y = rng.normal(size=40)[group] + 0.2 * rng.normal(size=320)

    @pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
    def test_intervals_are_those_of_whole_groups(self, kernel: str) -> None:
        of_rows = screen(self.X, self.y, kernel=kernel)
        of_groups = screen(self.X, self.y, kernel=kernel, groups=self.group)
        np.testing.assert_allclose(of_groups.effects, of_rows.effects)
        assert (of_rows.effects_low > 0.0).sum() > 6  # as if something were there
        assert (of_groups.effects_low[of_groups.pvalues > 0.025] == 0.0).all()
        assert (of_groups.effects_low > 0.0).sum() <= 1
        assert (of_groups.effects_high >= of_rows.effects_high).all()

    def test_of_one_row_each_change_nothing(self) -> None:
        found = screen(self.X[::8], self.y[::8], groups=self.group[::8])
        expected = screen(self.X[::8], self.y[::8])
        np.testing.assert_allclose(found.effects_low, expected.effects_low)
        np.testing.assert_allclose(found.effects_high, expected.effects_high)

    def test_beside_missing_cells(self) -> None:
        X = self.X.copy()
        X[::5, 0] = np.nan
        found = screen(X, self.y, groups=self.group)
        assert found.effects_low[0] == 0.0 < screen(X, self.y).effects_low[0]


@pytest.mark.parametrize("n_rows", [60, 2000])
@pytest.mark.parametrize("options", [{}, {"groups": True}, {"sample_weight": True}])
def test_arrays_that_must_not_be_written_to(n_rows: int, options: dict[str, bool]) -> None:
    """As frames, memory maps and parallel workers give them."""
    local = np.random.default_rng(0)
    X, y = local.normal(size=(n_rows, 1)), local.normal(size=n_rows)
    beside = {"groups": np.arange(n_rows) // 4, "sample_weight": np.ones(n_rows)}
    chosen = {name: beside[name] for name in options}
    expected = screen(X, y, **chosen).pvalues
    for array in (X, y, *chosen.values()):
        array.flags.writeable = False
    np.testing.assert_array_equal(screen(X, y, **chosen).pvalues, expected)


class TestOmnibus:
    """P-values of HSIC and of the linear part together."""

    @pytest.mark.parametrize("kind", ["numbers", "two classes", "four classes", "counts"])
    def test_the_law_has_the_moments_of_permutations(
        self, kind: str, rng: np.random.Generator
    ) -> None:
        m = 24
        y = {
            "numbers": rng.standard_t(2, size=m),
            "two classes": (np.arange(m) < 5).astype(int),
            "four classes": np.arange(m) % 4,
            "counts": rng.poisson(1.0, size=m).astype(float) + 0.5,
        }[kind]
        target = read_target_sample(y, "auto")
        linear = ScreeningTarget.of(target, 1e-6, omnibus=True).linear
        assert linear is not None
        scores = scores_of(rng.poisson(1.0, size=m).astype(float))
        scores /= np.sqrt(scores @ scores)
        orders = np.array([rng.permutation(m) for _ in range(20_000)])
        shares = linear.shares(scores, orders)
        law, third, fourth = linear.law, np.sum(scores**3), np.sum(scores**4)
        for level in (0.5, 0.1, 0.05):
            point = np.quantile(shares, 1.0 - level)
            # half of what equals it, since a law without atoms stands for one with atoms
            tail = np.mean(shares > point + 1e-12) / 2 + np.mean(shares >= point - 1e-12) / 2
            found = law.sf(np.array([point]), np.array([third]), np.array([fourth]))[0]
            assert found == pytest.approx(tail, abs=0.01 + 0.1 * level)
        assert shares.mean() == pytest.approx(law.rank / (m - 1), rel=0.03)

    def test_normal_scores_are_those_of_quantiles(self) -> None:
        scores = scores_of(np.array([3.0, 1.0, 2.0, 2.0]))
        density = stats.norm.pdf(stats.norm.ppf([0.25, 0.75]))
        np.testing.assert_allclose(scores, [4 * density[1], -4 * density[0], 0.0, 0.0], atol=1e-12)

    @pytest.mark.parametrize("how", ["plain", "groups", "weights", "gaps", "classes"])
    def test_finds_more_straight_lines_at_the_same_level(self, how: str) -> None:
        rng, rates, m = np.random.default_rng(5), [], 60
        d = 8 if how in ("groups", "weights") else 40  # permutations take their time
        for _ in range(5):
            y = rng.normal(size=m)
            if how == "classes":
                y = (rng.permutation(m) < m // 2).astype(int)
            X = rng.normal(size=(m, 2 * d))
            X[:, :d] += (0.65 if how == "classes" else 0.4) * y[:, np.newaxis]
            options = {}
            if how == "groups":
                X, y = np.repeat(X[:40], 2, axis=0), np.repeat(y[:40], 2)
                options = {"groups": np.repeat(np.arange(40), 2)}
            elif how == "weights":
                options = {"sample_weight": rng.integers(1, 3, m).astype(float)}
            elif how == "gaps":
                X[rng.random(X.shape) < 0.1] = np.nan
            both = screen(X, y, **options)
            alone = screen(X, y, method="hsic", **options)
            assert (both.method, alone.method) == ("omnibus", "hsic")
            np.testing.assert_array_equal(both.scores, alone.scores)
            np.testing.assert_array_equal(both.effects, alone.effects)
            found = [each.pvalues <= 0.05 for each in (both, alone)]
            rates.append([[each[:d].mean(), each[d:].mean()] for each in found])
        (power, level), (power_alone, _) = np.mean(rates, axis=0)
        assert power > power_alone + 0.05
        assert level < 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / (5 * d))

    def test_finds_other_shapes_too(self, rng: np.random.Generator) -> None:
        x = rng.normal(size=(200, 2))
        c = rng.integers(0, 2, 200)
        assert screen(x, x[:, 0] ** 2).pvalues[0] < 1e-6
        assert screen(x * np.array([1.0 + 2.0 * c, np.ones(200)]).T, c).pvalues[0] < 1e-6

    def test_without_a_linear_part_pvalues_are_those_of_hsic(
        self, rng: np.random.Generator
    ) -> None:
        x, y = rng.normal(size=(50, 3)), rng.normal(size=(50, 2))
        found = screen(x, y)
        assert found.method == "hsic"
        np.testing.assert_array_equal(found.pvalues, screen(x, y, method="hsic").pvalues)
        assert screen(x, y[:, 0], kernel="gaussian").method == "hsic"

    def test_a_method_must_be_known(self, rng: np.random.Generator) -> None:
        with pytest.raises(ValueError, match="method of screen must be 'omnibus' or 'hsic'"):
            screen(rng.normal(size=(20, 2)), rng.normal(size=20), method="best")  # type: ignore[arg-type]  # what is refused


def test_columns_are_ranked_by_effect_and_printed_so(rng: np.random.Generator) -> None:
    y = rng.integers(0, 2, 200)
    X = np.column_stack(
        [y + 0.45 * rng.normal(size=200), np.where(rng.random(200) < 0.93, y, 1 - y)]
    )
    found = screen(X, y)
    assert np.argsort(found.ranking).tolist() == np.argsort(-found.effects).tolist()
    assert found.to_frame("pandas")["effect"].is_monotonic_decreasing
    lines = repr(screen(rng.normal(size=(60, 12)), rng.normal(size=60))).splitlines()
    assert len(lines) == 12  # a caption, titles and ten columns
    assert lines[1].split() == ["rank", "column", "score", "effect", "p", "(adjusted)"]
    assert "the best" in lines[0]
    assert "the best" not in repr(found)  # both are shown
