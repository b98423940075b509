"""Pairs of columns: scores by definition, and a search that loses none.

Private modules: which pairs are left out, and why that loses none, shows only in the bounds of the
search.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from scipy.stats import false_discovery_control

from depmax.datasets import make_mixed
from depmax.dependence._main_effects import (
    ColumnBases,
    MainEffects,
    PairTarget,
    class_residuals,
    interactions,
)
from depmax.dependence.screen_pairs import BestPairs, Law, PairScreening, screen_pairs

module = importlib.import_module("depmax.dependence.screen_pairs")

fixed = np.random.default_rng(0)
M = 150
ANGLE = fixed.uniform(0.0, 2.0 * np.pi, M)
COUNTS = fixed.integers(0, 3, M).astype(float)
NORMAL = fixed.normal(size=(M, 12))
#: Everything that can go wrong in a column: correlated, skewed, few values, on a circle.
X = np.column_stack(
    [
        NORMAL[:, 0],
        NORMAL[:, 0] + 0.3 * NORMAL[:, 1],
        np.exp(2.0 * NORMAL[:, 2]),
        NORMAL[:, 3] > 0.5,
        COUNTS,
        COUNTS**2 + NORMAL[:, 4],
        np.cos(ANGLE),
        np.sin(ANGLE),
        NORMAL[:, 5] + 0.9 * NORMAL[:, 6],
        NORMAL[:, 6],
    ]
)
LATENT = X[:, 0] + 4.0 * X[:, 6] * X[:, 7] + fixed.normal(size=M)
TARGETS = {
    "binary": (LATENT > 1.0).astype(int),
    "classes": np.digitize(LATENT, [-1.0, 0.5, 1.5]),
    "numbers": LATENT + fixed.exponential(size=M),
    "outputs": np.column_stack([LATENT, fixed.normal(size=M)]),
    "multilabel": np.column_stack([LATENT > 0, LATENT > 1, NORMAL[:, 7] > 0]).astype(int),
}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def explicit_score(columns: tuple[np.ndarray, np.ndarray], target: np.ndarray) -> float:
    """Least squares on the raw powers, then the larger of two variances (the docstring)."""
    a, b = columns
    nuisance = np.column_stack([np.ones(len(a)), a, a**2, b, b**2])
    z = (a - a.mean()) / a.std() * (b - b.mean()) / b.std()
    left = z - nuisance @ np.linalg.lstsq(nuisance, z, rcond=1e-10)[0]
    total = 0.0
    for t in target:
        robust, classical = np.sum(left**2 * t**2), np.sum(left**2) * np.mean(t**2)
        total += np.sum(left * t) ** 2 / max(robust, classical) / len(t)
    return total


def matrix_of(found: PairScreening) -> np.ndarray:
    """Scores of all pairs, which were all kept, as a matrix."""
    d = len(found.names)
    assert len(found.pairs) == d * (d - 1) // 2
    scores = np.full((d, d), np.nan)
    scores[tuple(found.pairs.T)] = found.scores
    return scores


@pytest.mark.parametrize("kind", TARGETS)
def test_every_pair_equals_explicit_least_squares(kind: str) -> None:
    found = screen_pairs(X, TARGETS[kind], n_permutations=0)
    bases = ColumnBases.of(X)
    target = PairTarget.of(TARGETS[kind], "auto", MainEffects.of(bases))
    matrix = matrix_of(found)
    for i in range(X.shape[1]):
        for j in range(i + 1, X.shape[1]):
            columns = (bases.linear[i], bases.linear[j])
            expected = explicit_score(columns, target.directions)
            assert matrix[i, j] == pytest.approx(expected, abs=1e-8)
    assert found.main_effects == target.main_effects


def test_the_score_is_a_squared_partial_correlation_where_the_classical_variance_rules(
    rng: np.random.Generator,
) -> None:
    m = 400
    columns, noise = rng.normal(size=(m, 3)), rng.normal(size=m)
    target = (columns[:, 0] * columns[:, 1] + 2.0 * noise > 0).astype(int)
    found = screen_pairs(columns, target, n_pairs=1)
    product = columns[:, 0] * columns[:, 1]
    nuisance = np.column_stack([np.ones(m), columns[:, :2], columns[:, :2] ** 2])
    sides = [v - nuisance @ np.linalg.lstsq(nuisance, v)[0] for v in (product, target)]
    partial = np.corrcoef(*sides)[0, 1]
    assert found.pairs.tolist() == [[0, 1]]
    assert found.scores[0] == pytest.approx(partial**2, rel=0.1)


@pytest.mark.parametrize("tile", [1, 3, 7])
def test_tiles_and_threads_change_nothing(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = screen_pairs(X, TARGETS["numbers"], random_state=0)
    monkeypatch.setattr(module, "TILE", tile)
    tiled = screen_pairs(X, TARGETS["numbers"], random_state=0, n_jobs=2)
    np.testing.assert_array_equal(tiled.pairs, whole.pairs)
    for name in ("scores", "pvalues", "pvalues_adjusted", "pvalues_permutation"):
        np.testing.assert_allclose(
            getattr(tiled, name), getattr(whole, name), rtol=1e-8, atol=1e-14
        )


def test_printed_it_is_a_short_table() -> None:
    found = screen_pairs(X, LATENT, random_state=0)
    lines = repr(found).splitlines()
    assert len(lines) == 12
    assert lines[0].startswith(f"{(found.pvalues_adjusted <= 0.05).sum()} of 45 pairs")
    assert lines[2].split()[1:3] == ["x6", "x7"]
    assert found._repr_html_().count("<tr>") == 11


def test_a_backend_of_processes_changes_nothing(rng: np.random.Generator) -> None:
    """Tiles write into one matrix: they stay in threads."""
    X = rng.normal(size=(60, 7))
    y = X[:, 0] * X[:, 1]
    expected = screen_pairs(X, y)
    with parallel_config("loky"):
        found = screen_pairs(X, y, n_jobs=2)
    assert found.pvalues.tolist() == expected.pvalues.tolist()


@pytest.mark.parametrize("n_pairs", [1, 10, 44, 45, 1000])
def test_the_kept_pairs_are_the_best_of_all(n_pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TILE", 4)
    found = screen_pairs(X, TARGETS["binary"], n_pairs=n_pairs, n_permutations=0)
    first, second = np.triu_indices(X.shape[1], 1)
    scores = matrix_of(screen_pairs(X, TARGETS["binary"], n_permutations=0))[first, second]
    order = np.argsort(-scores, kind="stable")[:n_pairs]
    np.testing.assert_array_equal(found.pairs, np.column_stack([first, second])[order])
    np.testing.assert_array_equal(found.scores, scores[order])
    assert found.n_tested == 45


@pytest.mark.parametrize("n_pairs", [5, 60, 500, 5000])
def test_adjustment_is_over_all_pairs(n_pairs: int, rng: np.random.Generator) -> None:
    d, law = 100, Law(n_samples=300, n_directions=1)
    scores = np.triu(rng.chisquare(1, size=(d, d)), 1)
    scores[:15, 15:30] += rng.uniform(0.0, 40.0, size=(15, 15))
    scores /= law.n_samples
    best = BestPairs(min(n_pairs, d * (d - 1) // 2), law)
    best.add(scores[np.triu_indices(d, 1)], np.column_stack(np.triu_indices(d, 1)))
    pvalues = law.pvalues(best.kept()[0])
    everything = false_discovery_control(law.pvalues(scores[np.triu_indices(d, 1)]))
    expected = np.sort(everything)[: len(pvalues)]
    np.testing.assert_allclose(best.adjusted(pvalues), expected, rtol=0.01)
    assert (best.adjusted(pvalues) >= expected * (1.0 - 1e-12)).all()


def test_a_raised_pvalue_never_lowers_another(rng: np.random.Generator) -> None:
    d, law = 60, Law(n_samples=300, n_directions=1)
    scores = np.triu(rng.chisquare(1, size=(d, d)) + 25.0 * (rng.random((d, d)) < 0.1), 1)
    best = BestPairs(40, law)
    upper = np.triu_indices(d, 1)
    best.add(scores[upper] / law.n_samples, np.column_stack(upper))
    pvalues = law.pvalues(best.kept()[0])
    before = best.adjusted(pvalues)
    raised = pvalues.copy()
    raised[[0, 7]] = 0.3
    after = best.adjusted(raised)
    assert (after >= before).all()
    assert (after[[0, 7]] >= 0.3).all()


def test_finds_an_exclusive_or_among_200_columns(rng: np.random.Generator) -> None:
    columns = rng.normal(size=(500, 200))
    target = np.where(columns[:, 17] * columns[:, 120] > 0, "in", "out")
    flipped = rng.random(500) < 0.2
    target[flipped] = rng.permutation(target[flipped])
    found = screen_pairs(columns, target, random_state=0)
    assert found.pairs[0].tolist() == [17, 120]
    assert found.pvalues_adjusted[0] < 1e-6
    assert found.pvalues_permutation[0] == pytest.approx(0.001)
    assert np.sum(found.pvalues_adjusted < 0.05) <= 2
    assert len(found.pairs) == 1000
    assert found.n_tested == 19_900


def test_finds_the_pair_of_the_mixed_problem_and_its_main_effects() -> None:
    problem = make_mixed(500, 200, random_state=0)
    found = screen_pairs(problem.X, problem.y, n_pairs=10, random_state=0)
    assert tuple(found.pairs[0]) == problem.interactions[0]
    assert found.pvalues_adjusted[0] < 1e-4
    assert set(found.main_effects) == set(problem.relevant) - set(problem.interactions[0])


@pytest.mark.parametrize("kind", ["numbers", "classes", "outputs"])
def test_finds_an_interaction_in_every_type_of_target(kind: str, rng: np.random.Generator) -> None:
    columns = rng.normal(size=(400, 30))
    latent = columns[:, 3] + 1.5 * columns[:, 4] * columns[:, 20] + rng.normal(size=400)
    targets = {
        "numbers": np.exp(0.5 * latent),
        "classes": np.digitize(latent, [-1.5, 0.0, 1.5]),
        "outputs": np.column_stack([rng.normal(size=400), latent]),
    }
    found = screen_pairs(columns, targets[kind], n_pairs=3, random_state=0)
    assert found.pairs[0].tolist() == [4, 20]
    assert found.pvalues_adjusted[0] < 1e-6


def test_a_number_shows_interactions_in_its_spread(rng: np.random.Generator) -> None:
    columns = rng.normal(size=(500, 20))
    target = np.exp(0.7 * columns[:, 2] * columns[:, 9]) * rng.normal(size=500)
    found = screen_pairs(columns, target, n_pairs=1, random_state=0)
    assert found.pairs.tolist() == [[2, 9]]
    assert found.pvalues_adjusted[0] < 1e-4


def correlated(rng: np.random.Generator, m: int, d: int) -> np.ndarray:
    factors = np.repeat(rng.normal(size=(m, d // 5)), 5, axis=1)
    return 0.9 * factors + 0.44 * rng.normal(size=(m, d))


def rare_class(columns: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    latent = columns[:, 0] + columns[:, 10] - columns[:, 20] + rng.normal(size=len(columns))
    return (latent > 2.0).astype(int)


def three_classes(columns: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    latent = columns[:, 0] + columns[:, 10] ** 2 + rng.normal(size=len(columns))
    return np.digitize(latent, [0.5, 2.0])


def skewed_number(columns: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return columns[:, 0] + columns[:, 10] ** 2 + 2.0 * rng.exponential(size=len(columns))


def changing_spread(columns: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return columns[:, 0] + columns[:, 10] * rng.normal(size=len(columns))


NULLS = [rare_class, three_classes, skewed_number, changing_spread]


@pytest.mark.parametrize("target", NULLS)
@pytest.mark.parametrize("power", [False, True])
def test_main_effects_and_correlated_columns_do_not_leak(
    target: Callable[..., np.ndarray], power: bool, rng: np.random.Generator
) -> None:
    """Null pairs of correlated columns, skewed or not, for targets with strong main effects."""
    pvalues = []
    for _ in range(6):
        columns = correlated(rng, 300, 60)
        labels = target(columns, rng)
        columns = np.exp(columns) if power else columns
        found = screen_pairs(columns, labels, n_pairs=60 * 59 // 2, n_permutations=0)
        pvalues.append(found.pvalues)
    rates = np.concatenate(pvalues)
    assert 0.01 < np.mean(rates < 0.05) < 0.07
    assert np.mean(rates < 1e-3) < 3e-3


def chained(rng: np.random.Generator, m: int, d: int, rho: float) -> np.ndarray:
    """Normal columns, each correlated with the one before."""
    columns = rng.normal(size=(m, d))
    for j in range(1, d):
        columns[:, j] = rho * columns[:, j - 1] + np.sqrt(1.0 - rho**2) * columns[:, j]
    return columns


@pytest.mark.parametrize("kind", ["number", "class"])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
@pytest.mark.parametrize(("m", "d"), [(1000, 20), (300, 60)])  # projected out, and by ridge
def test_effects_of_correlated_columns_are_removed_jointly(
    kind: str, rho: float, m: int, d: int, rng: np.random.Generator
) -> None:
    """Strong, skewed effects of five columns; without any pair and with one of distant columns."""
    n_false = 0
    for planted in (False, False, False, True):
        columns = chained(rng, m, d, rho)
        u = columns[:, :: d // 5]
        latent = (u + u**2 / 2).sum(axis=1)
        if planted:
            latent = latent + 2.0 * columns[:, 1] * columns[:, d - 2]
        if kind == "number":
            y = latent + 0.3 * rng.normal(size=m)
        else:
            y = (latent + rng.logistic(size=m) > np.median(latent)).astype(int)
        found = screen_pairs(columns, y, n_permutations=99, random_state=0)
        significant = found.pairs[found.pvalues_adjusted < 0.05].tolist()
        if planted:
            assert [1, d - 2] in significant
        else:
            n_false += len(significant)
    assert n_false <= 1


def test_more_functions_than_rows_are_removed_by_ridge(rng: np.random.Generator) -> None:
    bases = ColumnBases.of(rng.normal(size=(60, 50)))
    effects = MainEffects.of(bases)
    assert effects.n_removed == 0
    direction = bases.linear[3] + 0.3 * rng.normal(size=60)
    left = effects.remove(direction[np.newaxis], (3,))[0]
    assert abs(bases.linear[3] @ left) < 1e-9
    assert 0.05 < left.std() < 0.31
    few = MainEffects.of(ColumnBases.of(rng.normal(size=(60, 7))))
    assert few.n_removed == 14
    np.testing.assert_allclose(few.axes @ few.remove(direction[np.newaxis], ())[0], 0.0, atol=1e-9)


def test_naive_products_would_leak(rng: np.random.Generator) -> None:
    """What the nuisance bases are for: a plain correlation with the product is fooled."""
    columns = correlated(rng, 1000, 10)
    target = columns[:, 0] ** 2 + rng.normal(size=1000)
    product = columns[:, 1] * columns[:, 2]
    assert np.corrcoef(product, target)[0, 1] > 0.3
    found = screen_pairs(columns, target, n_pairs=45, n_permutations=0)
    assert found.pvalues_adjusted.min() > 0.01
    assert found.main_effects[0] == 0


def test_the_logistic_model_removes_what_its_columns_explain(rng: np.random.Generator) -> None:
    columns = rng.normal(size=(2000, 3))
    bases = ColumnBases.of(columns)
    odds = 2.0 * columns[:, 0] + 2.0 * columns[:, 1] - 2.5
    labels = (rng.logistic(size=2000) < odds).astype(int)
    indicators = np.stack([labels == 0, labels == 1]).astype(float)
    effects = MainEffects.of(bases)
    left = effects.remove(class_residuals(indicators, bases, (0, 1)), (0, 1))[1]
    z = interactions(np.array([[0, 1]]), effects)[0]
    plain = labels - labels.mean()
    assert abs(np.corrcoef(z, plain)[0, 1]) > 0.1
    assert abs(np.corrcoef(z, left)[0, 1]) < 0.06
    np.testing.assert_allclose(bases.of_columns((0, 1)) @ left / 2000, 0.0, atol=1e-12)


def test_permutations_refute_what_chance_can_do(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """With a level of 1 every pair is permuted, and null pairs get the share of permutations."""
    monkeypatch.setattr(module, "LEVEL", 1.01)
    columns = rng.normal(size=(120, 12))
    labels = rng.integers(0, 2, 120)
    found = screen_pairs(columns, labels, n_permutations=199, random_state=0)
    plain = screen_pairs(columns, labels, n_permutations=0)
    assert not np.isnan(found.pvalues_permutation).any()
    np.testing.assert_array_equal(found.pairs, plain.pairs)
    refuted = found.pvalues_permutation > 1 / 200
    expected = np.maximum(plain.pvalues, found.pvalues_permutation)
    np.testing.assert_allclose(found.pvalues[refuted], expected[refuted])
    np.testing.assert_allclose(found.pvalues_permutation, plain.pvalues, atol=0.2)
    assert (found.pvalues_adjusted >= plain.pvalues_adjusted - 1e-12).all()
    assert np.isnan(plain.pvalues_permutation).all()
    same = screen_pairs(columns, labels, n_permutations=199, random_state=0)
    np.testing.assert_array_equal(found.pvalues_permutation, same.pvalues_permutation)


def test_order_scale_and_monotone_changes_of_columns_do_not_matter(
    rng: np.random.Generator,
) -> None:
    order = rng.permutation(M)
    moved = np.column_stack([np.cbrt(X[:, :3]), 100.0 * X[:, 3:] + 7.0])[order]
    one = screen_pairs(X, TARGETS["numbers"], n_permutations=0)
    other = screen_pairs(moved, TARGETS["numbers"][order], n_permutations=0)
    np.testing.assert_allclose(matrix_of(one), matrix_of(other), atol=1e-8)


def test_columns_with_nothing_to_say_score_zero() -> None:
    flag = NORMAL[:, 3] > 0
    columns = np.column_stack([np.full(M, 0.1), X[:, 0], X[:, 0], -X[:, 0], flag, ~flag])
    labels = TARGETS["binary"]
    found = screen_pairs(columns, labels, n_pairs=15)
    matrix = matrix_of(found)
    empty = [(0, 1), (0, 4), (1, 2), (1, 3), (4, 5)]
    assert all(matrix[pair] == 0.0 for pair in empty)
    assert matrix[1, 4] > 0.0
    assert np.isfinite(found.pvalues).all()
    assert (found.pvalues[found.scores == 0.0] == 1.0).all()


def test_heavy_tails_give_finite_scores_and_no_discoveries(rng: np.random.Generator) -> None:
    wild = rng.standard_cauchy(size=(200, 40)) ** 3
    found = screen_pairs(wild, rng.standard_cauchy(size=200))
    assert np.isfinite(found.scores).all()
    assert found.pvalues_adjusted.min() > 0.01


def test_a_target_that_one_column_explains_has_no_interactions() -> None:
    found = screen_pairs(X, X[:, 3].astype(int), n_permutations=0)
    assert found.main_effects == (3,)
    assert found.pvalues_adjusted.min() > 0.05
    number = screen_pairs(X, np.full(M, 0.1), target_kernel="linear", n_permutations=0)
    assert number.n_directions == 0
    assert (number.pvalues == 1.0).all()


def test_kernels_of_the_target() -> None:
    linear = screen_pairs(X, TARGETS["outputs"], target_kernel="linear", n_pairs=1)
    assert linear.n_directions == 2
    gaussian = screen_pairs(X, TARGETS["numbers"], target_kernel="gaussian", n_pairs=1)
    assert 5 < gaussian.n_directions <= 9
    tiny = screen_pairs(X, 1e-9 * TARGETS["outputs"], target_kernel="linear", n_pairs=1)
    np.testing.assert_allclose(tiny.scores, linear.scores, rtol=1e-8)
    for found in (linear, gaussian):
        assert found.pairs.tolist() == [[6, 7]]
        assert found.pvalues_adjusted[0] < 1e-4


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_in_frames_out(library: str) -> None:
    frames = pytest.importorskip(library, reason="needs a data frame library")
    names = [f"gene{column}" for column in range(X.shape[1])]
    frame = frames.DataFrame(dict(zip(names, X.T, strict=True)))
    found = screen_pairs(frame, TARGETS["binary"], n_pairs=4, random_state=0)
    table = found.to_frame()
    assert type(table).__module__.startswith(library)
    assert (table["first"][0], table["second"][0]) == ("gene6", "gene7")
    assert list(table["rank"]) == [1, 2, 3, 4]
    np.testing.assert_array_equal(table["score"].to_numpy(), found.scores)
    assert found.names == tuple(names)
    plain = screen_pairs(X, TARGETS["binary"], n_pairs=4, random_state=0)
    assert plain.names[:2] == ("x0", "x1")
    np.testing.assert_array_equal(plain.scores, found.scores)


def test_a_category_with_two_levels_is_one_indicator() -> None:
    pd = pytest.importorskip("pandas", reason="needs a data frame library")
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(np.where(X[:, 3] > 0, "v", "u"))})
    found = screen_pairs(frame, TARGETS["binary"], random_state=0)
    plain = screen_pairs(X[:, [0, 3]], TARGETS["binary"], random_state=0)
    np.testing.assert_allclose(found.scores, plain.scores)


@pytest.mark.parametrize("tile", [2, 3, 256])
@pytest.mark.parametrize("kind", ["binary", "classes", "numbers"])
def test_a_pair_of_categories_scores_by_its_best_levels(
    kind: str, tile: int, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """Every level as a column of its own; the best p-value times the number of combinations."""
    pd = pytest.importorskip("pandas", reason="needs a data frame library")
    monkeypatch.setattr(module, "TILE", tile)
    codes = {"u": rng.integers(0, 3, M), "v": rng.integers(0, 4, M)}
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 2]})
    frame = frame.assign(**{name: pd.Categorical(code) for name, code in codes.items()})
    found = screen_pairs(frame, TARGETS[kind], n_permutations=0)
    levels = [X[:, 0], X[:, 2]]
    levels += [codes["u"] == level for level in range(3)]
    levels += [codes["v"] == level for level in range(4)]
    owner = np.array([0, 1, 2, 2, 2, 3, 3, 3, 3])
    expanded = screen_pairs(np.column_stack(levels), TARGETS[kind], n_permutations=0)
    assert found.n_tested == 6
    assert set(found.main_effects) == set(owner[list(expanded.main_effects)])
    for (i, j), pvalue in zip(found.pairs, found.pvalues, strict=True):
        mine = (owner[expanded.pairs] == [i, j]).all(axis=1)
        count = np.sum(owner == i) * np.sum(owner == j)
        assert mine.sum() == count
        best = expanded.pvalues[mine].min()
        assert pvalue == pytest.approx(min(1.0, count * best), rel=1e-6)
    np.testing.assert_allclose(
        found.pvalues_adjusted, false_discovery_control(found.pvalues), rtol=0.02
    )


def test_interactions_with_categories_are_found_and_confirmed() -> None:
    pd = pytest.importorskip("pandas", reason="needs a data frame library")
    local = np.random.default_rng(5)
    rows, colour = local.normal(size=(300, 10)), local.integers(0, 4, 300)
    shape = local.integers(0, 3, 300)
    frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(10)])
    frame["colour"] = pd.Categorical(np.array(["red", "green", "blue", "grey"])[colour])
    frame["shape"] = pd.Categorical(shape)
    slopes = np.where(colour % 2 == 0, 1.0, -1.0) * rows[:, 3] + local.normal(size=300)
    found = screen_pairs(frame, slopes, random_state=0).to_frame()
    assert found.loc[0, ["first", "second"]].tolist() == ["x3", "colour"]
    assert found.loc[0, "pvalue_adjusted"] < 0.01
    crossed = ((colour == 1) ^ (shape == 1)).astype(int)
    found = screen_pairs(frame, crossed, random_state=0)
    assert found.pairs[0].tolist() == [10, 11]
    assert found.pvalues_permutation[0] == pytest.approx(12 / 1000)
    assert found.pvalues_adjusted[0] < 1e-4


def test_main_effects_of_categories_do_not_leak() -> None:
    pd = pytest.importorskip("pandas", reason="needs a data frame library")
    rejected = 0
    for seed in range(10):
        local = np.random.default_rng(seed)
        rows = local.normal(size=(250, 4))
        linked = np.digitize(rows[:, 0] + local.normal(size=250), [-1.0, 0.0, 1.0])
        free = local.integers(0, 5, 250)
        frame = pd.DataFrame(rows).rename(columns=str)
        frame = frame.assign(u=pd.Categorical(linked), v=pd.Categorical(free))
        y = rows[:, 0] + rows[:, 1] ** 2 + np.array([0, 1, -1, 2, 0.5])[free] + (linked == 2)
        found = screen_pairs(frame, y + local.normal(size=250), random_state=0)
        rejected += int((found.pvalues_adjusted < 0.05).any())
    assert rejected <= 1


def test_bad_input_is_refused_by_name() -> None:
    labels = TARGETS["binary"]
    with pytest.raises(TypeError, match=r"screen_pairs .*X\.toarray\(\)"):
        screen_pairs(sparse.csr_matrix(X), labels)
    with pytest.raises(ValueError, match="n_pairs must be at least 1"):
        screen_pairs(X, labels, n_pairs=0)
    with pytest.raises(ValueError, match="n_permutations"):
        screen_pairs(X, labels, n_permutations=-1)
    with pytest.raises(ValueError, match="at least two columns"):
        screen_pairs(X[:, 0], labels)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        screen_pairs(X, labels[:-1])
    with pytest.raises(ValueError, match="inconsistent numbers"):
        screen_pairs(X, labels[:-1].astype(float), target_kernel="linear")
    with pytest.raises(ValueError, match="one class only"):
        screen_pairs(X, np.zeros(M, dtype=int))
    with pytest.raises(ValueError, match="at least 4 samples"):
        screen_pairs(X[:3], labels[:3])
    holes = X.copy()
    holes[4, 2] = np.nan
    with pytest.raises(ValueError, match="NaN in column 2"):
        screen_pairs(holes, labels)


@pytest.mark.parametrize("m", [4, 7, 12])
def test_few_samples_find_nothing(m: int, rng: np.random.Generator) -> None:
    found = screen_pairs(rng.normal(size=(m, 8)), np.arange(m) % 2)
    assert np.isfinite(found.scores).all()
    assert found.pvalues_adjusted.min() > 0.05


def test_permutations_in_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    y = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + 0.5 * rng.normal(size=60)
    whole = screen_pairs(X, y, random_state=0)
    assert np.isfinite(whole.pvalues_permutation).sum() >= 2
    monkeypatch.setattr("depmax.dependence._main_effects.HELD", 61)  # a pair at a time
    parts = screen_pairs(X, y, random_state=0)
    np.testing.assert_array_equal(whole.pvalues_permutation, parts.pvalues_permutation)


@pytest.mark.parametrize("kind", ["classes", "numbers", "many"])
def test_of_many_pairs_those_that_cannot_matter_are_only_counted(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a copy, near copies, two values and a constant among the columns."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 300))
    X[:, 5], X[:, 7], X[:, 20] = rng.integers(0, 2, 90), X[:, 9], 1.0
    X[:, 11] = X[:, 12] + 1e-3 * X[:, 13]
    product = X[:, 3] * X[:, 8] + 0.2 * rng.normal(size=90)
    targets = {"classes": product > 0, "numbers": product, "many": rng.integers(0, 4, 90)}
    expected = screen_pairs(X, targets[kind], n_pairs=200, random_state=0)
    monkeypatch.setattr(module, "MANY", 1)
    found = screen_pairs(X, targets[kind], n_pairs=200, random_state=0)
    np.testing.assert_array_equal(found.pairs, expected.pairs)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-10)
    np.testing.assert_allclose(found.pvalues, expected.pvalues, rtol=1e-8)
    assert found.n_tested == expected.n_tested
    assert (found.pvalues_adjusted >= expected.pvalues_adjusted * (1.0 - 1e-8)).all()
    low = expected.pvalues_adjusted < 0.5
    np.testing.assert_allclose(
        found.pvalues_adjusted[low], expected.pvalues_adjusted[low], rtol=1e-8
    )
    all_pairs = screen_pairs(X[:, :40], targets[kind], n_pairs=780, random_state=0)
    assert len(all_pairs.pairs) == 780


def test_long_work_is_said_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("depmax._resources.LONG", 1e-6)
    with pytest.warns(UserWarning, match=r"10 columns takes about"):
        screen_pairs(X, TARGETS["binary"])
