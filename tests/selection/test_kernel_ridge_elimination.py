"""The elimination: against brute force, on redundancy and interactions, for every target.

Private modules: errors of every removal are compared, of which a search shows the least.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from depmax import KernelRidgeElimination, NoDependenceWarning, ScaleWarning
from depmax.data import read_target
from depmax.data.table import some_rows
from depmax.kernels import Gaussian
from depmax.selection._kernel_ridge import RidgeProblem, coordinates
from depmax.selection._scores import target_images
from depmax.selection._search.data import make_units


def data(m: int = 120, d: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(m, d))


def test_small_problems_are_eliminated_as_by_brute_force() -> None:
    X = data(40, 6)
    y = X[:, 1] + X[:, 4] ** 2 + 0.5 * X[:, 0]
    units = coordinates(make_units(X, None, {}, Gaussian()), scale=True)
    problem = RidgeProblem(units.X, target_images(read_target(y)))

    def columns(units_kept: list[int]) -> np.ndarray:
        return units.columns_of(units_kept)

    left, worst_first = list(range(6)), []
    while len(left) > 1:
        errors = [problem.penalised_error(columns([c for c in left if c != j])) for j in left]
        worst_first.append(left.pop(int(np.argmin(errors))))
    order = [*left, *worst_first[::-1]]
    fitted = KernelRidgeElimination(2).fit(X, y)
    assert np.argsort(fitted.ranking_).tolist() == order
    left_out = problem.regression(columns(order[:2])).left_out()
    assert fitted.error_ == pytest.approx(left_out.min())
    assert dict(fitted.path_)[2] == pytest.approx(fitted.error_)


@pytest.mark.parametrize("spread", [0.0, 0.05])
def test_five_copies_of_a_good_column_count_once(spread: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 20))
    X[:, 1:5] = X[:, [0]] + spread * rng.normal(size=(150, 4))
    y = (2 * X[:, 0] + X[:, 12] > 0).astype(int)
    support = KernelRidgeElimination(2).fit(X, y).support_
    assert support[12]
    assert support[:5].sum() == 1


def test_columns_that_matter_only_together_are_found() -> None:
    X = data(200, 15)
    y = (X[:, 3] * X[:, 11] > 0).astype(int)
    assert KernelRidgeElimination(2).fit(X, y).get_support(indices=True).tolist() == [3, 11]


@pytest.mark.slow
def test_a_pair_among_a_thousand_columns_comes_back() -> None:
    X = data(200, 1000)
    y = (X[:, 3] * X[:, 700] > 0).astype(int)
    assert KernelRidgeElimination(2).fit(X, y).get_support(indices=True).tolist() == [3, 700]
    without = KernelRidgeElimination(2, interactions=None).fit(X, y)
    assert without.get_support(indices=True).tolist() != [3, 700]


@pytest.mark.parametrize("d", [8, 40])
def test_rows_and_columns_may_come_in_any_order(d: int) -> None:
    X = data(80, d)
    y = X[:, 2] + np.sin(2 * X[:, 5]) + 0.1 * data(80, 1, seed=3)[:, 0]
    ranking = KernelRidgeElimination(3).fit(X, y).ranking_
    rng = np.random.default_rng(2)
    columns, rows = rng.permutation(d), rng.permutation(80)
    np.testing.assert_array_equal(
        KernelRidgeElimination(3).fit(X[:, columns], y).ranking_, ranking[columns]
    )
    np.testing.assert_array_equal(KernelRidgeElimination(3).fit(X[rows], y[rows]).ranking_, ranking)


def test_units_of_columns_do_not_matter_unless_asked_for() -> None:
    X = data()
    y = X[:, 1] + 0.5 * X[:, 3]
    units = np.array([1.0, 1e-200, 1e6, 1e30, 1.0, 3.0])
    ranking = KernelRidgeElimination(2).fit(X, y).ranking_
    np.testing.assert_array_equal(KernelRidgeElimination(2).fit(X * units, y).ranking_, ranking)
    raw = X * np.array([1.0, 1e-3, 1.0, 1.0, 1.0, 1.0])
    with pytest.warns(ScaleWarning):
        assert KernelRidgeElimination(1, scale=False).fit(raw, y).support_[3]


def targets(X: np.ndarray) -> dict[str, object]:
    a, b = X[:, 1], X[:, 4]
    return {
        "two classes": np.where(a > 0, "yes", "no"),
        "four classes": (a > 0).astype(int) + 2 * (b > 0),
        "numbers": a + b**2,
        "several numbers": np.column_stack([1e5 * a, b]),
        "labels": np.column_stack([a > 0, b > 0, a > 1]).astype(int),
        "frame": pd.DataFrame({"u": a, "v": b}),
        "booleans": a + b > 0,
    }


@pytest.mark.parametrize("name", list(targets(data())))
@pytest.mark.parametrize("n_landmarks", ["auto", 60])
def test_every_type_of_target(name: str, n_landmarks: object) -> None:
    X = data(150, 14)
    selector = KernelRidgeElimination(2, n_landmarks=n_landmarks).fit(X, targets(X)[name])
    expected = {1} if name == "two classes" else {1, 4}
    assert expected <= set(selector.get_support(indices=True))
    assert 0.0 < selector.error_ < 1.0
    assert selector.alpha_ > 0


def test_several_numbers_count_alike() -> None:
    X = data()
    y = np.column_stack([1e5 * X[:, 1], X[:, 4]])
    other = np.column_stack([X[:, 1], X[:, 4]])
    np.testing.assert_array_equal(
        KernelRidgeElimination(2).fit(X, y).ranking_,
        KernelRidgeElimination(2).fit(X, other).ranking_,
    )


def test_groups_leave_together() -> None:
    X = data(120, 30)
    y = X[:, 7] + X[:, 22]
    groups = np.arange(30) // 2
    selector = KernelRidgeElimination(4, column_groups=groups).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [6, 7, 22, 23]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_categorical_columns_enter_whole(library: str) -> None:
    rng = np.random.default_rng(0)
    X = data(150, 5)
    colours = rng.choice(["red", "green", "blue"], 150)
    y = X[:, 2] + 1.5 * (colours == "green")
    columns = {f"c{j}": X[:, j] for j in range(5)}
    if library == "pandas":
        frame = pd.DataFrame(columns | {"colour": pd.Categorical(colours)})
    else:
        pl = pytest.importorskip("polars", reason="comes with depmax[dev]")
        frame = pl.DataFrame(columns | {"colour": colours}).with_columns(
            pl.col("colour").cast(pl.Categorical)
        )
    selector = KernelRidgeElimination(2).fit(frame, y)
    assert selector.get_feature_names_out().tolist() == ["c2", "colour"]
    assert "colour" in list(selector.to_frame()["column"])[:2]


@pytest.mark.slow
def test_landmarks_give_about_the_same_set() -> None:
    X = data(400, 16)
    y = np.sign(X[:, 0] + X[:, 5] * X[:, 9]) + 0.5 * X[:, 14]
    exact = KernelRidgeElimination(4, n_landmarks=None).fit(X, y)
    through = KernelRidgeElimination(4, n_landmarks=150).fit(X, y)
    assert exact.get_support(indices=True).tolist() == [0, 5, 9, 14]
    np.testing.assert_array_equal(through.support_, exact.support_)
    assert through.error_ == pytest.approx(exact.error_, rel=0.1)


@pytest.mark.slow
def test_many_rows_need_no_square_matrix() -> None:
    import tracemalloc

    X = data(20_000, 14)
    y = X[:, 3] + X[:, 8] ** 2
    tracemalloc.start()
    selector = KernelRidgeElimination(2, n_landmarks=50, subsample=None).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert selector.get_support(indices=True).tolist() == [3, 8]
    assert peak < 150e6  # 3.2 GB would be one matrix of all pairs of rows


@pytest.mark.slow
def test_many_rows_are_sampled_unless_asked() -> None:
    X = data(1000, 6)
    y = np.where(X[:, 2] + X[:, 4] > 0, "a", "b")
    rows = some_rows(1000, 200)
    sampled = KernelRidgeElimination(2, subsample=200).fit(X, y)
    assert sampled.path_ == KernelRidgeElimination(2).fit(X[rows], y[rows]).path_
    assert sampled.path_ != KernelRidgeElimination(2, subsample=None).fit(X, y).path_
    numbers = np.r_[np.zeros(990), np.linspace(0.1, 1.0, 10)]  # few rows differ
    assert KernelRidgeElimination(2, subsample=900).fit(X, numbers).n_features_ == 2


@pytest.mark.slow
def test_a_class_may_be_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("depmax.selection._search.protection.ROWS", 50)
    X = data(300, 30)
    rows = np.random.default_rng(0).permutation(300)
    y = np.zeros(300, dtype=int)
    y[rows[60:63]] = 1  # none of them among the rows that pairs are looked for in
    assert KernelRidgeElimination(2).fit(X, y).n_features_ == 2
    with pytest.warns(NoDependenceWarning):  # the class is drawn without looking at X
        assert KernelRidgeElimination("auto").fit(X, y).n_features_ == 1


@pytest.mark.parametrize("seed", range(3))
def test_auto_keeps_what_predicts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 10))
    y = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=150)
    kept = KernelRidgeElimination("auto").fit(X, y).get_support(indices=True)
    assert kept.tolist() == [0, 1]


def test_refuses_by_name() -> None:
    X = data()
    y = X[:, 0]
    for parameter, value in [
        ("step", 0),
        ("alpha", -1.0),
        ("alpha", "best"),
        ("interactions", "all"),
        ("n_landmarks", 1),
        ("n_landmarks", "few"),
        ("subsample", 5),
        ("column_groups", [1, 2]),
    ]:
        with pytest.raises(ValueError, match=parameter):
            KernelRidgeElimination(2, **{parameter: value}).fit(X, y)
    with pytest.raises(ValueError, match="one class only"):
        KernelRidgeElimination(2).fit(X, np.zeros(len(X), dtype=int))
    with pytest.raises(ValueError, match="at least 20 rows"):
        KernelRidgeElimination("auto").fit(X[:15], y[:15])


def test_verbose_tells_each_round(capsys: pytest.CaptureFixture[str]) -> None:
    X = data()
    KernelRidgeElimination(2, verbose=1).fit(X, X[:, 0])
    assert "2 columns, leave-one-out error" in capsys.readouterr().out


def test_the_frame_tells_of_each_column_alone() -> None:
    X = data(150, 5)
    y = X[:, 1] + X[:, 3]
    frame = KernelRidgeElimination(2).fit(X, y).to_frame()
    alone = dict(zip(frame["column"], frame["pvalue_adjusted"], strict=True))
    assert alone["x1"] < 0.05 < alone["x0"]
    assert "pvalue_adjusted" not in KernelRidgeElimination(2, pvalues=False).fit(X, y).to_frame()


# --- what `screen` and `screen_pairs` know is kept ------------------------------------------------
def _shape(name: str, U: np.ndarray) -> np.ndarray:
    if name == "ring":
        return np.abs(np.hypot(U[:, 0] - 0.5, U[:, 1] - 0.5) - 0.35) <= 0.115
    if name == "checkerboard":
        return np.floor(4.0 * U).sum(axis=1) % 2 == 1
    if name == "band":
        return np.abs(U[:, 0] - 0.5) < 0.15
    return np.prod(U - 0.5, axis=1)  # of three columns: a number


@pytest.mark.parametrize(
    ("name", "count"), [("ring", 2), ("checkerboard", 2), ("band", 1), ("product", 3)]
)
def test_what_a_wide_kernel_does_not_see_is_kept(name: str, count: int) -> None:
    X = np.random.default_rng(5).uniform(size=(800, 120))
    relevant = [17, 60, 3][:count]
    kept = KernelRidgeElimination(count, pvalues=False).fit(X, _shape(name, X[:, relevant]))
    assert set(kept.get_support(indices=True)) == set(relevant)


def test_the_path_is_that_of_the_order() -> None:
    X = np.random.default_rng(5).uniform(size=(800, 60))
    y = _shape("checkerboard", X[:, [17, 50]])
    fitted = KernelRidgeElimination(2, pvalues=False).fit(X, y)
    again = KernelRidgeElimination(1, pvalues=False, interactions=None)
    order = np.argsort(fitted.ranking_)
    for count, error in fitted.path_:
        if count in (1, 2, 7, 60):
            kept = np.sort(order[:count])
            assert again.fit(X[:, kept], y).path_[0][1] == pytest.approx(error, rel=1e-4)


# --- unsupervised ---------------------------------------------------------------------------------
def test_all_columns_are_predicted_by_one_of_each_kind() -> None:
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 3))
    X = Z[:, [0, 0, 0, 1, 1, 2]] + 0.1 * rng.normal(size=(200, 6))
    kept = KernelRidgeElimination(3, target_kernel="inputs").fit(X)
    assert sorted(np.array([0, 0, 0, 1, 1, 2])[kept.support_]) == [0, 1, 2]
    assert kept.pvalues_adjusted_ is None
    again = KernelRidgeElimination(3, target_kernel="inputs").fit(X * 1e3, np.arange(200.0))
    np.testing.assert_array_equal(again.ranking_, kept.ranking_)


def test_a_forgotten_target_stays_an_error() -> None:
    with pytest.raises(ValueError, match="requires y"):
        KernelRidgeElimination(2).fit(data())


def test_unsupervised_with_gaps_categories_weights_and_a_number_to_find() -> None:
    rng = np.random.default_rng(1)
    X = data(90, 4)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["copy"] = frame["a"]
    frame["word"] = pd.Categorical(np.where(X[:, 1] > 0, "u", "v"))
    frame.loc[rng.permutation(90)[:9], "c"] = np.nan
    model = KernelRidgeElimination("auto", target_kernel="inputs").fit(frame)
    assert 1 <= model.n_features_ <= 6
    assert model.ranking_[4] == 6  # an exact copy comes last
    weighted = KernelRidgeElimination(2, target_kernel="inputs")
    weights = rng.integers(1, 4, 90)
    found = weighted.fit(X, sample_weight=weights).ranking_
    np.testing.assert_array_equal(weighted.fit(np.repeat(X, weights, axis=0)).ranking_, found)


def test_many_classes_are_announced_before_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    monkeypatch.setattr("depmax._resources.LONG", 1e-4)
    labels = np.array(list("abcdefghij"))[np.arange(100) % 10]
    with pytest.warns(UserWarning, match=r"10 outputs .*Merge rare"):
        KernelRidgeElimination(1, pvalues=False).fit(rng.normal(size=(100, 3)), labels)
