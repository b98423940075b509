"""BAHSIC and FOHSIC: what they find, on which input, and how many columns.

Private modules: limits are lowered so that small tables pass them.
"""

from __future__ import annotations

import itertools
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from depmax import BAHSIC, FOHSIC, SampledRowsWarning, hsic
from depmax.data.sample import read_target_sample
from depmax.data.table import some_rows
from depmax.datasets import load, make_mixed
from depmax.kernels import Delta, Gaussian, InverseDistance, Kernel, Laplace
from depmax.selection._search import how_many, protection, selectors
from depmax.selection._search.data import make_units
from depmax.selection._search.protection import LEVEL, Observed, Protection

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 10))
XOR = (X[:, 2] * X[:, 5] > 0).astype(int)


def _literal(X: np.ndarray, y: np.ndarray, kernel: Kernel) -> list[int]:
    """The published algorithm, one column at a time, every kernel from scratch."""
    left, worst_first = list(range(X.shape[1])), []
    while len(left) > 1:
        kept = [[k for k in left if k != j] for j in left]
        values = [hsic(X[:, columns], y, kernel=kernel) for columns in kept]
        worst_first.append(left[int(np.argmax(values))])
        left.remove(worst_first[-1])
    return [*left, *worst_first[::-1]]


@pytest.mark.parametrize("kernel", [Gaussian(2.0), InverseDistance(1e-3)], ids=repr)
def test_equals_the_published_algorithm(kernel: Kernel) -> None:
    selector = BAHSIC(3, kernel=kernel, step=1, interactions=None).fit(X, XOR)
    assert list(np.argsort(selector.ranking_)) == _literal(X, XOR, kernel)


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Laplace(1.5, norm=2)], ids=repr)
def test_forward_search_equals_the_published_algorithm(kernel: Kernel) -> None:
    y = X[:, 1] ** 2 + X[:, 4]
    chosen: list[int] = []
    for _ in range(3):
        rest = [j for j in range(10) if j not in chosen]
        values = [hsic(X[:, [*chosen, j]], y, kernel=kernel) for j in rest]
        chosen.append(rest[int(np.argmax(values))])
    selector = FOHSIC(3, kernel=kernel).fit(X, y)
    assert list(np.argsort(selector.ranking_)[:3]) == chosen


def test_linear_kernel_gives_the_best_set_of_any_size(rng: np.random.Generator) -> None:
    y = X[:, 0] - X[:, 3] + rng.normal(size=120)
    for count in (1, 2, 3):
        selector = BAHSIC(count, kernel="linear", target_kernel="linear").fit(X, y)
        best = max(
            itertools.combinations(range(10), count),
            key=lambda columns: hsic(
                X[:, list(columns)], y, kernel="linear", target_kernel="linear"
            ),
        )
        assert tuple(np.flatnonzero(selector.support_)) == best


@pytest.mark.parametrize("interactions", ["auto", None])
@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "polynomial", Gaussian("dimension")])
def test_finds_an_xor_pair(kernel: object, interactions: str | None) -> None:
    selector = BAHSIC(2, kernel=kernel, interactions=interactions).fit(X, XOR)
    assert set(np.flatnonzero(selector.support_)) == {2, 5}


@pytest.mark.slow
def test_interactions_are_kept_where_a_wide_kernel_loses_them() -> None:
    local = np.random.default_rng(1)
    wide = local.normal(size=(400, 400))
    y = (wide[:, 3] * wide[:, 8] > 0).astype(int)
    kernel = Gaussian("dimension")
    assert set(np.flatnonzero(BAHSIC(10, kernel=kernel).fit(wide, y).support_)) >= {3, 8}


@pytest.mark.parametrize(
    "y",
    [
        XOR,
        np.array(["no", "yes"])[XOR],
        XOR + 2 * (X[:, 0] > 1),
        X[:, 2] * X[:, 5],
        np.column_stack([X[:, 2] * X[:, 5], X[:, 2] ** 2]),
        np.column_stack([XOR, 1 - XOR, X[:, 2] > 0]).astype(int),
    ],
    ids=["two classes", "text", "many classes", "numbers", "outputs", "labels"],
)
def test_takes_every_type_of_target(y: np.ndarray) -> None:
    selector = BAHSIC(4).fit(X, y)
    assert {2, 5} <= set(np.flatnonzero(selector.support_))
    assert sorted(selector.ranking_) == list(range(1, 11))


def test_scaled_and_summed_kernels_are_searched_as_they_are() -> None:
    for kernel in (2.0 * Gaussian(2.0), 0.5 * Laplace(3.0), Gaussian(2.0) + Laplace(5.0)):
        selector = BAHSIC(2, kernel=kernel, interactions=None).fit(X, XOR)
        assert set(np.flatnonzero(selector.support_)) == {2, 5}


def test_unsupervised_keeps_what_stands_for_the_rest(rng: np.random.Generator) -> None:
    source = rng.normal(size=(400, 2))
    copies = source[:, [0, 0, 0, 1, 1, 1]] + 0.05 * rng.normal(size=(400, 6))
    kept = BAHSIC(2, target_kernel="inputs").fit(copies).get_support(indices=True)
    assert len({index // 3 for index in kept}) == 2
    with pytest.raises(ValueError, match="requires y to be passed"):
        BAHSIC(2).fit(copies)


def test_groups_leave_together() -> None:
    groups = ["a", "b", "c", "a", "b", "c", "d", "d", "e", "e"]  # c holds the XOR pair
    selector = BAHSIC(2, column_groups=groups, interactions=None).fit(X, XOR)
    assert set(np.flatnonzero(selector.support_)) == {2, 5}
    by_group = {
        g: sorted(selector.ranking_[[j for j in range(10) if groups[j] == g]]) for g in groups
    }
    assert all(ranks[-1] - ranks[0] == len(ranks) - 1 for ranks in by_group.values())


@pytest.mark.slow
def test_interactions_of_categories_and_groups_are_protected() -> None:
    pd = pytest.importorskip("pandas", reason="needs a data frame library")
    local = np.random.default_rng(2)
    wide, colour = local.normal(size=(300, 150)), local.integers(0, 4, 300)
    y = np.where(colour % 2 == 0, 1.0, -1.0) * wide[:, 7] + 0.3 * local.normal(size=300)
    frame = pd.DataFrame(wide).rename(columns=str).assign(colour=pd.Categorical(colour))
    kernel = Gaussian("dimension")
    kept = set(BAHSIC(5, kernel=kernel).fit(frame, y).get_feature_names_out())
    assert {"7", "colour"} <= kept
    xor = (wide[:, 3] * wide[:, 8] > 0).astype(int)
    selector = BAHSIC(6, kernel=kernel, column_groups=np.arange(150) // 3).fit(wide, xor)
    assert set(np.flatnonzero(selector.support_)) == {3, 4, 5, 6, 7, 8}


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", [8, 40])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_significant_pair_does_not_push_out_a_dominant_column(n_columns: int, seed: int) -> None:
    local = np.random.default_rng(seed)
    columns = local.normal(size=(1000, n_columns))
    latent = 3 * columns[:, 0] + 0.5 * columns[:, 1] * columns[:, 2] + local.normal(size=1000)
    selector = BAHSIC(2, pvalues=False).fit(columns, (latent > 0).astype(int))
    assert selector.ranking_[0] == 1
    if n_columns == 8:  # where the pair is significant, it is better than noise
        assert set(np.flatnonzero(selector.ranking_ <= 3)) == {0, 1, 2}


def test_a_pair_that_adds_more_stays_before_a_weaker_column() -> None:
    local = np.random.default_rng(0)
    columns = local.normal(size=(400, 12))
    latent = 2 * np.sign(columns[:, 1] * columns[:, 2]) + 0.5 * columns[:, 0]
    y = (latent + 0.5 * local.normal(size=400) > 0).astype(int)
    selector = BAHSIC(2, pvalues=False).fit(columns, y)
    assert set(np.flatnonzero(selector.support_)) == {1, 2}


def test_noise_leaves_first_then_what_does_less_than_a_pair_adds() -> None:
    alone = np.array([0, 1])
    amounts = {(0,): 0.3, (1,): 0.02, (2, 3): 0.1, (4, 5): 0.01}
    kept = Protection(
        alone, [(4, 5), (2, 3)], np.array([8, 9]), lambda *units: amounts.get(units, 0.0)
    )
    assert kept.may_leave(range(14)) == [6, 7, 10, 11, 12, 13]  # the likely pair stays
    assert kept.may_leave([0, 1, 2, 3, 4, 5, 8, 9]) == [8, 9]
    assert kept.may_leave([0, 1, 2, 3, 4, 5]) == [1, 4, 5]  # less than the better pair adds
    assert kept.may_leave([0, 2, 3, 5]) == [5]  # half a pair adds nothing
    assert kept.may_leave([0, 2, 3]) == [0, 2, 3]  # HSIC decides
    wide = Protection(np.arange(14), [(2, 3)], np.empty(0), lambda *units: 0.3)
    assert wide.may_leave(range(14)) == list(range(14))


def test_columns_are_screened_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    screening = protection.screening_of

    def counted(*args: object, **options: object) -> object:
        calls.append(args)
        return screening(*args, **options)

    monkeypatch.setattr(protection, "screening_of", counted)
    wide = np.column_stack([X, np.random.default_rng(5).normal(size=(120, 4))])
    assert BAHSIC(3).fit(wide, XOR).pvalues_adjusted_ is not None
    assert len(calls) == 1
    BAHSIC(3, interactions=None, pvalues=False).fit(wide, XOR)
    assert len(calls) == 1


# whether anything is found does not matter here
@pytest.mark.filterwarnings("ignore::depmax.NoDependenceWarning")
def test_auto_survives_a_half_with_one_class() -> None:
    rare = np.zeros(40, dtype=int)
    rare[np.random.default_rng(0).permutation(40)[:3]] = 1  # all in the half that orders
    for labels in (rare, 1 - rare):
        assert BAHSIC("auto").fit(X[:40], labels).n_features_ >= 1
        assert BAHSIC("auto").fit(X[40:80], labels[::-1].tolist()).n_features_ >= 1


def test_categories_enter_as_sets_of_indicators(rng: np.random.Generator) -> None:
    pd = pytest.importorskip("pandas", reason="needs a data frame library")
    colour = rng.choice(["red", "green", "blue"], 120)
    frame = pd.DataFrame(X[:, :5], columns=list("abcde"))
    frame["colour"] = pd.Categorical(colour)
    selector = BAHSIC(1).fit(frame, (colour == "red").astype(int))
    assert list(selector.get_feature_names_out()) == ["colour"]
    kept = selector.set_output(transform="pandas").transform(frame)
    assert kept["colour"].dtype == frame["colour"].dtype
    table = selector.to_frame()
    assert table["column"][0] == "colour"
    assert table["pvalue_adjusted"][0] < 1e-6


@pytest.mark.parametrize("selector", [BAHSIC, FOHSIC])
def test_many_rows_are_searched_in_blocks_unless_asked(
    selector: type[BAHSIC] | type[FOHSIC], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("depmax.selection._search.selectors.WHOLE_ROWS", 100)
    monkeypatch.setattr("depmax.selection._search.selectors.BLOCK_ROWS", 40)
    assert len(X) > 100
    default, blocks = selector(2).fit(X, XOR), selector(2, block_size=40).fit(X, XOR)
    assert default.path_ == blocks.path_
    assert default.path_ != selector(2, block_size=None).fit(X, XOR).path_


@pytest.mark.parametrize("block_size", [40, 60, 1000])
def test_blocks_find_the_pair_too(block_size: int) -> None:
    selector = BAHSIC(2, block_size=block_size, interactions=None).fit(X, XOR)
    assert set(np.flatnonzero(selector.support_)) == {2, 5}


@pytest.mark.slow
def test_auto_stops_where_the_gain_ends() -> None:
    local = np.random.default_rng(3)
    columns = local.normal(size=(500, 12))
    y = (columns[:, 1] + columns[:, 7] > 0).astype(int)
    selector = BAHSIC("auto").fit(columns, y)
    assert {1, 7} <= set(np.flatnonzero(selector.support_))
    assert selector.n_features_ <= 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", [BAHSIC, FOHSIC])
@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0, 1.0), (1.0, 0.6, 0.4)])
def test_auto_keeps_weaker_columns_too(kind: type, weights: tuple[float, ...]) -> None:
    local = np.random.default_rng(4)
    columns = local.normal(size=(400, 9))
    y = columns[:, : len(weights)] @ weights + 0.5 * local.normal(size=400)
    selector = kind("auto", pvalues=False).fit(columns, y)
    assert np.flatnonzero(selector.support_).tolist() == list(range(len(weights)))


def test_auto_judges_by_errors_of_a_ridge_regression() -> None:
    """The errors that decide are those of scikit-learn's regression of explicit coordinates."""
    local = np.random.default_rng(0)
    inputs, outputs = local.normal(size=(60, 3)), local.normal(size=(60, 2))
    learn, test = slice(0, 40), slice(40, 60)
    kernel = Gaussian(1.5)(inputs)
    about = outputs - outputs[learn].mean(axis=0)
    weights = how_many._ridge(
        kernel[learn, learn], kernel[learn, test], about[learn] @ about[learn].T
    )
    scores = []
    for ratio in how_many.RIDGES:
        penalty = ratio * np.trace(kernel[learn, learn]) / 40
        smoother = kernel[learn, learn] @ np.linalg.inv(kernel[learn, learn] + penalty * np.eye(40))
        left = about[learn] - smoother @ about[learn]
        scores.append(((left**2).sum() / np.trace(np.eye(40) - smoother) ** 2, penalty))
    ridge = KernelRidge(alpha=min(scores)[1], kernel="precomputed")
    expected = ridge.fit(kernel[learn, learn], about[learn]).predict(kernel[test, learn])
    np.testing.assert_allclose(weights.T @ about[learn], expected, atol=1e-8)
    own, cross = how_many._centred(
        outputs[learn] @ outputs[learn].T, outputs[learn] @ outputs[test].T
    )
    np.testing.assert_allclose(own, about[learn] @ about[learn].T, atol=1e-12)
    np.testing.assert_allclose(cross, about[learn] @ about[test].T, atol=1e-12)


@pytest.mark.slow
# nothing depends here, and the warning says so
@pytest.mark.filterwarnings("ignore::depmax.NoDependenceWarning")
@pytest.mark.parametrize("kind", [BAHSIC, FOHSIC])
def test_auto_finds_nothing_when_nothing_depends(kind: type) -> None:
    counts = []
    for seed in range(12):
        local = np.random.default_rng(seed)
        noise = local.normal(size=(80, 10)), local.integers(0, 2, 80)
        counts.append(kind("auto", pvalues=False).fit(*noise).n_significant_)
    assert np.mean(np.array(counts) > 0) <= 0.25


def test_constant_and_copied_columns_come_last() -> None:
    spoiled = np.column_stack([np.ones(120), X, X[:, 2]])
    selector = BAHSIC(2).fit(spoiled, XOR)
    assert selector.ranking_[0] >= 11
    assert selector.ranking_[11] >= 11
    assert np.isfinite(selector.scores_).all()
    assert set(np.flatnonzero(selector.support_)) == {3, 6}


def test_documents_through_their_explicit_terms() -> None:
    promoters = load("promoters")
    from depmax.kernels import Spectrum

    kernel = Spectrum(3).resolve(promoters.X)
    terms = kernel.features(promoters.X)
    selector = BAHSIC(10, kernel="linear").fit(terms, promoters.y)
    assert selector.support_.sum() == 10


def test_names_of_a_pipeline_that_made_an_array() -> None:
    frame = pd.DataFrame(X[:, :10], columns=[f"nm{j}" for j in range(10)])
    model = make_pipeline(StandardScaler(), BAHSIC(2)).fit(frame, XOR)
    names = model[:-1].get_feature_names_out()
    table = model[-1].to_frame("pandas", feature_names=names)
    assert set(table["column"][:2]) == {"nm2", "nm5"}
    assert set(model[-1].redundant_columns(feature_names=names)) == {"nm2", "nm5"}
    with pytest.raises(ValueError, match="feature_names must hold a name for each of the 10"):
        model[-1].to_frame(feature_names=["one"])


def test_deterministic_and_same_for_any_threads() -> None:
    first, second = BAHSIC(3).fit(X, XOR), BAHSIC(3, n_jobs=2).fit(X, XOR)
    np.testing.assert_array_equal(first.ranking_, second.ranking_)


def test_progress_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    BAHSIC(2, verbose=1, interactions=None).fit(X, XOR)
    assert "[BAHSIC] 10 columns, HSIC = " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        ({"n_features_to_select": 11}, (X, XOR), "from 1 to 10"),
        ({"n_features_to_select": 0}, (X, XOR), "from 1 to 10"),
        ({}, (X[:3], XOR[:3]), "at least 4 samples"),
        ({}, (X, np.ones(120, dtype=int)), "one class only"),
        ({"missing": "refuse"}, (np.where(X[0, 0] == X, np.nan, X), XOR), "NaN in column 0"),
        ({"kernel": "subsequence"}, (X, XOR), "Subsequence cannot do"),
        ({"kernel": Delta()}, (X, XOR), "Delta cannot do"),
        ({"kernel": "precomputed"}, (X, XOR), "precomputed kernel matrix"),
        ({"column_groups": [1, 2]}, (X, XOR), "one label per column"),
        ({"precision": "half"}, (X, XOR), "precision of BAHSIC must be"),
        ({"interactions": "all"}, (X, XOR), "interactions of BAHSIC must be"),
        ({"kernel": Laplace(-1.0)}, (X, XOR), "bandwidth of Laplace"),
    ],
)
def test_bad_input_is_refused_by_name(options: dict, data: tuple, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        BAHSIC(**options).fit(*data)


def _ring(U: np.ndarray) -> np.ndarray:
    return np.abs(np.hypot(*(U[:, :2] - 0.5).T) - 0.35) <= 0.115


SHAPES = {
    "ring": (2, _ring),
    "diamond": (2, lambda U: np.abs(U[:, :2] - 0.5).sum(axis=1) < 0.35),
    "xor": (2, lambda U: (U[:, 0] > 0.5) ^ (U[:, 1] > 0.5)),
    "two bands": (2, lambda U: (np.abs(U[:, :2] - 0.5) < 0.25).sum(axis=1) == 1),
    "band": (1, lambda U: np.abs(U[:, 0] - 0.4) < 0.15),
    "wave": (1, lambda U: np.sin(4 * np.pi * U[:, 0])),
    "product of three": (3, lambda U: np.prod(U[:, :3] - 0.5, axis=1)),
    "spread": (1, lambda U: (0.2 + 1.8 * U[:, 0]) * np.random.default_rng(1).normal(size=len(U))),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_columns", [8, 40])
def test_even_and_joint_effects_survive_to_the_last_columns(shape: str, n_columns: int) -> None:
    """Wide Gaussian kernels see none of them; noise has to leave before them to the end."""
    count, rule = SHAPES[shape]
    rows = np.random.default_rng(4).uniform(size=(600, n_columns))
    relevant = np.array([5, 1, 3])[:count]
    y = rule(rows[:, relevant])
    found = BAHSIC(count, pvalues=False).fit(rows, y.astype(str) if y.dtype == bool else y)
    assert set(np.flatnonzero(found.support_)) == set(relevant)


def test_pairs_are_found_in_what_stronger_columns_leave() -> None:
    rows = np.random.default_rng(9).uniform(size=(800, 64))
    y = _ring(rows) | ((rows[:, 2] > 0.5) ^ (rows[:, 3] > 0.5)) | (rows[:, 4] + rows[:, 5] > 1.2)
    order = np.argsort(BAHSIC(6, pvalues=False).fit(rows, y.astype(str)).ranking_)
    assert set(order[:6]) == set(range(6))


def test_pairs_and_weights() -> None:
    """What is protected with whole weights is what is protected with the rows repeated."""
    rows = np.random.default_rng(2).uniform(size=(300, 14))
    y = np.where(_ring(rows) | (rows[:, 4] > 0.8), "a", "b")
    weights = np.random.default_rng(3).integers(1, 3, size=300)
    weighted = BAHSIC(3).fit(rows, y, sample_weight=weights)
    repeated = np.repeat(np.arange(300), weights)
    expected = BAHSIC(3).fit(rows[repeated], y[repeated])
    assert set(np.flatnonzero(weighted.support_)) == set(np.flatnonzero(expected.support_))


@pytest.mark.slow
def test_what_a_wide_kernel_cannot_see_is_kept() -> None:
    """Quadratic effects and an exclusive-or pair among 150 columns; None loses some of them."""
    problem = make_mixed(500, 150, random_state=1)
    found = np.flatnonzero(BAHSIC(10, pvalues=False).fit(problem.X, problem.y).support_)
    assert set(problem.relevant) <= set(found)
    published = BAHSIC(10, interactions=None, pvalues=False).fit(problem.X, problem.y)
    assert not set(problem.relevant) <= set(np.flatnonzero(published.support_))


@pytest.mark.slow
def test_pairs_of_many_rows_are_found_in_bounded_memory() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 4))
    y = X[:, 1] * X[:, 3] + 3 * rng.normal(size=len(X))
    units, side = make_units(X, None, {}, Gaussian()), read_target_sample(y, "auto")
    observed = Observed(X, y, "auto", side, units, np.arange(len(X)), None)
    tracemalloc.start()
    pairs, pvalues = observed.pairs(by_distances=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert pairs[pvalues < LEVEL].tolist() == [[1, 3]]
    assert peak < 300e6  # 999 permutations of all rows would be 1.6 GB


@pytest.mark.parametrize("selector", [BAHSIC, FOHSIC])
def test_of_very_many_rows_some_are_searched_and_it_says_so(
    selector: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "MOST_ROWS", 80)
    local = np.random.default_rng(1)
    table = local.normal(size=(200, 5))
    y = table[:, 3] ** 2 + 0.1 * local.normal(size=200)
    rows = some_rows(200, 80)
    with pytest.warns(SampledRowsWarning, match="80 of 200 rows.*block_size"):
        found = selector(2).fit(table, y)
    expected = selector(2).fit(table[rows], y[rows])
    np.testing.assert_array_equal(found.ranking_, expected.ranking_)
    np.testing.assert_allclose(found.path_, expected.path_)
    weight, patient = local.integers(1, 4, 200), np.arange(200) // 4
    with pytest.warns(SampledRowsWarning):
        found = selector(2).fit(table, y, sample_weight=weight)
    expected = selector(2).fit(table[rows], y[rows], sample_weight=weight[rows])
    np.testing.assert_array_equal(found.ranking_, expected.ranking_)
    with pytest.warns(SampledRowsWarning, match="80 of 200"):  # whole patients: 20 of 50
        found = selector(2).fit(table, y, groups=patient)
    drawn = np.isin(patient, np.random.default_rng(0).permutation(50)[:20])
    expected = selector(2).fit(table[drawn], y[drawn], groups=patient[drawn])
    np.testing.assert_array_equal(found.ranking_, expected.ranking_)
    np.testing.assert_allclose(found.pvalues_adjusted_, expected.pvalues_adjusted_)
    for all_rows in ({"block_size": 100}, {"block_size": None}, {"kernel": "linear"}):
        with warnings.catch_warnings():
            warnings.simplefilter("error", SampledRowsWarning)
            selector(2, pvalues=False, **all_rows).fit(table, y)
