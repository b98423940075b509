"""Dependence given confounders: what it removes, what it leaves, and what it says about itself.

Private modules: what is taken off, and with which widths, shows in p-values only through noise.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from depmax import Shifts, WithinGroups, hsic, hsic_test, screen
from depmax.data import Table
from depmax.dependence._given.conditional import Conditional
from depmax.dependence._given.confounders import Confounders, Joint, RowUnits, Scaling
from depmax.dependence._given.regression import Regressions, RidgeBasis, Waves
from depmax.kernels import Gaussian

#: Rows of these tables resemble their neighbours, which is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:DM002")


def _one_cause(rng: np.random.Generator, m: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    z = rng.normal(size=m)
    x = np.sin(2 * z) + 0.5 * rng.normal(size=m)
    return x, np.sin(2 * z) + z + 0.5 * rng.normal(size=m), z


def _regressions(Z: np.ndarray, codes: np.ndarray | None = None) -> Regressions:
    return Regressions(Confounders.of(Table(Z)), RowUnits(len(Z), codes))


#: Each row by itself, and seven groups of one to seven of 25 rows.
UNITS = {
    "rows": RowUnits(25),
    "groups": RowUnits(25, np.repeat(np.arange(7), [1, 2, 3, 7, 5, 4, 3])),
}


# --- regressions ----------------------------------------------------------------------------------
@pytest.mark.parametrize("units", UNITS.values(), ids=UNITS.keys())
def test_leave_one_out_errors_are_those_of_leaving_one_out(
    units: RowUnits, rng: np.random.Generator
) -> None:
    """The closed form against refits, with the features of all rows and the penalty per row."""
    Z, y = rng.normal(size=(25, 2)), rng.normal(size=(25, 1))
    y -= y.mean()
    basis = RidgeBasis.of(Joint(1.5), Z, Z, units)
    place = 9 if units.codes is None else 13  # fewer groups allow fewer parameters
    penalty = len(Z) * np.logspace(-7, 1, 17)[place]
    features = np.column_stack([np.ones(25), basis.U * np.sqrt(basis.values)])
    shrink = np.diag([0.0, *np.full(len(basis.values), penalty)])
    errors = []
    for unit in range(units.count):
        rows = np.flatnonzero((np.arange(25) if units.codes is None else units.codes) == unit)
        A, left_out = np.delete(features, rows, axis=0), np.delete(y, rows, axis=0)
        weights = np.linalg.solve(A.T @ A + shrink, A.T @ left_out)
        errors.extend((y[rows] - features[rows] @ weights).ravel() ** 2)
    assert basis.errors(y)[place] == pytest.approx(np.mean(errors), rel=1e-5)


def test_variances_of_residuals_are_those_of_a_penalised_regression(
    rng: np.random.Generator,
) -> None:
    """The diagonal of (I - H) B (I - H)ᵀ with H column by column; 1 - h is more for B = I."""
    Z, y = rng.normal(size=(40, 1)), rng.normal(size=(40, 1))
    codes = rng.integers(0, 22, 40)
    codes[:22] = np.arange(22)
    smoother = _regressions(Z, codes).best(np.sin(Z) + 0.3 * y)
    R = smoother.residual(np.eye(40))
    np.testing.assert_allclose(smoother.variances()[:, 0], np.sum(R * R, axis=1), atol=1e-8)
    assert (smoother.variances() < smoother.basis.freedoms[:, [smoother.place]] + 1e-12).all()
    B = 0.3 * np.eye(40) + 0.7 * (codes[:, np.newaxis] == codes)  # rows of a group are alike
    np.testing.assert_allclose(smoother.variances(0.7)[:, 0], np.diag(R @ B @ R.T), atol=1e-8)


def test_predictions_at_the_training_rows_are_the_fitted_values(rng: np.random.Generator) -> None:
    table = Table(rng.normal(size=(80, 2)))
    regressions = _regressions(table.values)
    y = np.sin(table.values[:, [0]]) + 0.1 * rng.normal(size=(80, 1))
    smoother = regressions.best(y, regressions.directions(y))
    fitted = smoother.curve(y)(regressions.given.values)
    np.testing.assert_allclose(y - fitted, smoother.residual(y), atol=1e-8)


@pytest.mark.parametrize(
    "shape",
    [
        lambda Z: np.sin(3 * Z.sum(axis=1) / np.sqrt(5)),  # one direction of five
        lambda Z: np.abs(Z).sum(axis=1),
        lambda Z: Z[:, 0] * Z[:, 1] + Z[:, 2] * Z[:, 3],
    ],
    ids=["index", "sum", "products"],
)
def test_five_confounders_are_learned(shape: Any, rng: np.random.Generator) -> None:
    Z = rng.normal(size=(600, 5))
    signal = shape(Z)
    y = (signal / signal.std() + 0.5 * rng.normal(size=600))[:, np.newaxis]
    regressions = _regressions(Z)
    smoother = regressions.best(y, regressions.directions(y))
    assert smoother.error < 1.25 * 0.2  # the noise is a fifth of the variance


def test_scaling_gives_new_rows_the_same_units(rng: np.random.Generator) -> None:
    values = np.column_stack([np.exp(3 * rng.normal(size=90)), rng.integers(0, 3, 90), np.ones(90)])
    scaling = Scaling.of(Table(values, categories={1: ("a", "b", "c")}))
    whole = scaling.apply(values)
    np.testing.assert_array_equal(scaling.apply(values[:7]).values, whole.values[:7])
    assert [len(part) for part in whole.parts] == [1, 3]  # the constant is dropped
    assert np.abs(whole.values[:, 0]).max() < 6  # the long tail is compressed
    total = [whole.values[:, part].var(axis=0).sum() for part in whole.parts]
    np.testing.assert_allclose(total, 1.0)


# --- the test -------------------------------------------------------------------------------------
def test_a_common_cause_explains_a_dependence(rng: np.random.Generator) -> None:
    x, y, z = _one_cause(rng)
    assert hsic_test(x, y, random_state=0).pvalue < 0.01
    for method in ("permutation", "gamma"):
        found = hsic_test(x, y, given=z, method=method, random_state=0)
        assert found.pvalue > 0.05
        assert found.given is not None
        assert found.given.explained_x > 0.5
        assert found.given.doubt < 1.5


@pytest.mark.parametrize(
    "effect",
    [
        lambda e, z: 0.5 * e,
        lambda e, z: e**2 - 1,
        lambda e, z: np.sign(z) * e,  # of opposite sign where z is: none on average
    ],
    ids=["linear", "square", "turned by z"],
)
def test_what_is_left_is_found(effect: Any, rng: np.random.Generator) -> None:
    z, e, noise = rng.normal(size=(3, 400))
    x, y = np.sin(2 * z) + e, np.sin(2 * z) + effect(e, z) + 0.5 * noise
    assert hsic_test(x, y, given=z, random_state=0).pvalue < 0.01


def test_an_exclusive_or_with_the_confounder_is_found(rng: np.random.Generator) -> None:
    """x and y are independent, and E[φ̃ ⊗ ψ̃] is zero: only weights that depend on z see it."""
    x, z = rng.integers(0, 2, size=(2, 200))
    assert hsic_test(x.astype(float), x ^ z, given=z.astype(float), random_state=0).pvalue < 0.01


def test_law_and_signs_agree(rng: np.random.Generator) -> None:
    z, x, y = rng.normal(size=(3, 150))
    y = y + 0.1 * x + z
    exact = hsic_test(x, y, given=z, method="permutation", n_permutations=20_000, random_state=0)
    law = hsic_test(x, y, given=z, method="gamma")
    assert law.method == "gamma"
    assert exact.method == "wild bootstrap"
    assert law.pvalue == pytest.approx(exact.pvalue, abs=0.015)


def test_signs_have_the_moments_of_the_law(rng: np.random.Generator) -> None:
    parts = rng.normal(size=(40, 3)), rng.normal(size=(40, 4))
    conditional = Conditional(0.0, *parts, RowUnits(40))
    form = conditional.form()
    signs = rng.choice([-1.0, 1.0], size=(40_000, 40))
    totals = np.sum((signs @ form) * signs, axis=1)
    law = conditional.law(40)
    assert totals.std() == pytest.approx(law.scale, rel=0.03)
    assert np.mean((totals / law.scale) ** 3) == pytest.approx(law.skewness, rel=0.15)


@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "groups"])
def test_the_largest_of_several_statistics_is_chosen_for_all_signs(
    grouped: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against the definition, sign by sign, and by products of coordinates as by pairs of rows."""
    m, shapes = 30, ((3, 40), (1, 1), (1, 5))
    parts = [(rng.normal(size=(m, p)), rng.normal(size=(m, q))) for p, q in shapes]
    codes = rng.permutation(np.repeat(np.arange(12), [1] * 6 + [4] * 6)) if grouped else None
    units = RowUnits(m, codes)
    own = np.arange(m) if codes is None else codes  # the sign of every row
    one, *others = (Conditional(0.0, *part, units) for part in parts)
    totals = [float(np.sum((noise.T @ other) ** 2)) for noise, other in parts]
    several = Conditional(totals[0], one.noise, one.others, units, also=tuple(others))
    for each, total in zip(several.also, totals[1:], strict=True):
        object.__setattr__(each, "total", total)
    signs = np.random.default_rng(5).integers(0, 2, size=(300, units.count), dtype=np.int8)

    def largest(w: np.ndarray) -> float:
        found = []
        for noise, other in parts:
            pairs = (noise @ noise.T) * (other @ other.T) * (own[:, np.newaxis] != own)
            form = np.array([np.bincount(own, row) for row in pairs])
            form = np.array([np.bincount(own, column) for column in form.T])
            found.append(float(w @ pairs @ w) / np.sqrt(2.0 * np.sum(form**2)))
        return max(found)

    reached = np.sum([largest((2.0 * w - 1.0)[own]) >= largest(np.ones(m)) for w in signs])
    assert several.signed_pvalue(300, np.random.default_rng(5)) == (1 + reached) / 301
    monkeypatch.setattr("depmax.dependence._given.conditional.FEW_PRODUCTS", 0)
    assert several.signed_pvalue(300, np.random.default_rng(5)) == (1 + reached) / 301


def test_residuals_themselves_are_tested_beside_their_images(rng: np.random.Generator) -> None:
    """What turns with z is a product of residuals and z; one kernel alone hardly sees it."""
    Z, (e, noise) = rng.normal(size=(300, 3)), rng.normal(size=(2, 300))
    x, y = Z.sum(axis=1) + e, Z.sum(axis=1) + 0.4 * np.sign(Z[:, 0]) * e + noise
    one = hsic_test(x, y, given=Z, method="permutation", random_state=0)
    assert hsic_test(x, y, given=Z, random_state=0).pvalue < 0.01 < one.pvalue
    chosen = hsic_test(x, y, given=Z, kernel="gaussian", random_state=0)
    assert chosen.pvalue == one.pvalue  # a kernel that is given is used alone


def test_many_rows_read_the_null_off_some(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    x, y, z = _one_cause(rng, 500)
    whole = hsic_test(x, y, given=z, random_state=0)
    for name, rows in (("conditional.NULL_ROWS", 300), ("regression.ROWS_TO_CHOOSE", 300)):
        monkeypatch.setattr(f"depmax.dependence._given.{name}", rows)
    part = hsic_test(x, y, given=z, random_state=0)
    assert part.pvalue == pytest.approx(whole.pvalue, abs=0.2)
    assert part.statistic == pytest.approx(whole.statistic, abs=5e-4)


@pytest.mark.parametrize("unbiased", [True, False])
def test_hsic_given(unbiased: bool, rng: np.random.Generator) -> None:
    x, y, z = _one_cause(rng)
    left = hsic(x, y, given=z, unbiased=unbiased)
    assert abs(left) < 0.2 * hsic(x, y, unbiased=unbiased)
    if unbiased:
        assert left == pytest.approx(hsic_test(x, y, given=z, random_state=0).statistic)
    else:
        assert left > 0


# --- types of data --------------------------------------------------------------------------------
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_age_and_batch(library: Any, rng: np.random.Generator) -> None:
    m = 400
    age, batch = rng.normal(50, 15, m), rng.choice(["a", "b", "c"], m)
    cause = np.sin(age / 10) + 2.0 * (batch == "b")
    x, y = cause + 0.5 * rng.normal(size=(2, m))
    given = library({"age": age, "batch": batch})
    assert hsic_test(x, y, given=given[["age"]], random_state=0).pvalue < 0.01
    assert hsic_test(x, y, given=given, random_state=0).pvalue > 0.05
    mixed = library({"x": x, "sign": np.where(x > 0, "up", "down")})
    assert hsic_test(mixed, y, given=given, random_state=0).pvalue > 0.01


TARGETS = {
    "numbers": lambda t: t,
    "classes": lambda t: np.where(t > 0, "yes", "no"),
    "many classes": lambda t: np.digitize(t, [-0.5, 0.5]),
    "outputs": lambda t: np.column_stack([t, t**2]),
    "labels": lambda t: np.column_stack([t > 0, t > 1]).astype(int),
}


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("left", [False, True], ids=["explained", "left"])
def test_every_type_of_target(kind: str, left: bool, rng: np.random.Generator) -> None:
    z, e, a, b = rng.normal(size=(4, 400))
    x = z + e
    t = z + (e if left else a) + 0.3 * b
    pvalue = hsic_test(x, TARGETS[kind](t), given=z, random_state=0).pvalue
    assert (pvalue < 0.01) if left else (pvalue > 0.01)


def test_strings_and_given_matrices(rng: np.random.Generator) -> None:
    labels, z = np.repeat([0, 1], 30), rng.normal(size=60)
    words = [("acgtacgt" if label else "ttttcccc")[int(rng.integers(4)) :] for label in labels]
    assert hsic_test(words, labels, given=z, kernel="subsequence", random_state=0).pvalue < 0.01
    assert hsic_test(words, labels, given=labels, kernel="subsequence").pvalue > 0.05
    rows = rng.normal(size=(60, 2))
    matrix = Gaussian(1.0)(rows)
    first = hsic_test(matrix, rows[:, 0], given=z, kernel="precomputed", random_state=0)
    assert first.pvalue < 0.01


def test_refusals(rng: np.random.Generator) -> None:
    from scipy import sparse

    x, y, z = rng.normal(size=(3, 30))
    with pytest.raises(ValueError, match=r"X has 30 .* given has 29"):
        hsic_test(x, list(y)[:29], given=y[:29])
    with pytest.raises(ValueError, match=r"y has 30 .* given has 29"):
        hsic_test(x[:29], y, given=y[:29])
    with pytest.raises(ValueError, match="given contains NaN"):
        hsic_test(x, y, given=np.where(y > 0, np.nan, y))
    with pytest.raises(ValueError, match="given has no column"):
        hsic_test(x, y, given=np.ones(30))
    with pytest.raises(ValueError, match="need at least 20 rows"):
        hsic(x[:10], y[:10], given=x[:10])
    with pytest.raises(TypeError, match="X must be dense"):
        hsic_test(sparse.csr_matrix(x[:, None]), y, given=z, kernel="linear")
    with pytest.raises(ValueError, match="not both"):
        hsic(x, y, given=z, block_size=10)
    with pytest.raises(ValueError, match="method must be"):
        hsic_test(x, y, given=z, method="exact")
    with pytest.raises(ValueError, match="n_permutations"):
        hsic_test(x, y, given=z, n_permutations=0)
    for measure in (hsic, hsic_test, screen):
        with pytest.raises(ValueError, match="does not take bandwidth"):
            measure(x, y, given=z, kernel=Gaussian("maximize"))


def test_a_regression_that_needs_too_many_parameters_says_so(rng: np.random.Generator) -> None:
    z = rng.normal(size=(150, 2))
    wild = np.sin(5 * z[:, 0]) * np.sin(5 * z[:, 1])
    x, y = wild + 0.2 * rng.normal(size=(2, 150))
    with pytest.warns(UserWarning, match=r"many parameters .* few rows"):
        assert hsic_test(x, y, given=z, random_state=0).given.doubt > 1.5


# --- rows in groups -------------------------------------------------------------------------------
def test_rows_of_a_group_have_one_sign(rng: np.random.Generator) -> None:
    """Patients with several rows that are alike on both sides, which is no dependence."""
    patient = np.repeat(np.arange(60), rng.integers(4, 12, 60))
    pvalues = []
    for _ in range(8):
        dose, *noise = rng.normal(size=(3, len(patient)))
        x, y = (dose + rng.normal(size=60)[patient] + 0.3 * each for each in noise)
        options: dict[str, Any] = {"given": dose, "n_permutations": 100, "random_state": 0}
        tests = [hsic_test(x, y, groups=each, **options) for each in (None, patient)]
        pvalues.append([each.pvalue for each in tests])
    as_rows, in_groups = np.sum(np.array(pvalues) < 0.05, axis=0)
    assert in_groups <= 1 < 3 <= as_rows
    assert hsic_test(x, y + 0.5 * x, groups=patient, **options).pvalue < 0.02
    screened = screen(np.column_stack([x, y + 0.5 * x]), y, given=dose, groups=patient)
    assert screened.pvalues[1] < 0.01


def test_groups_of_one_row_are_rows(rng: np.random.Generator) -> None:
    x, y, z = _one_cause(rng, 100)
    for method in ("aggregate", "gamma"):
        options: dict[str, Any] = {"given": z, "method": method, "random_state": 0}
        assert hsic_test(x, y, groups=np.arange(100), **options) == hsic_test(x, y, **options)


def test_many_rows_in_groups_read_the_null_off_some_groups(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    x, y, z = _one_cause(rng, 500)
    groups = rng.permutation(np.repeat(np.arange(200), [1, 4] * 100))
    whole = hsic_test(x, y, given=z, groups=groups, random_state=0)
    for name, rows in (("conditional.NULL_ROWS", 300), ("regression.ROWS_TO_CHOOSE", 300)):
        monkeypatch.setattr(f"depmax.dependence._given.{name}", rows)
    part = hsic_test(x, y, given=z, groups=groups, random_state=0)
    assert part.pvalue == pytest.approx(whole.pvalue, abs=0.25)


def test_groups_beside_confounders_are_refused_where_they_say_nothing_about_signs(
    rng: np.random.Generator,
) -> None:
    x, y, z = rng.normal(size=(3, 60))
    for test in (hsic_test, screen):
        X = x[:, np.newaxis]
        with pytest.raises(ValueError, match="20 independent groups"):
            test(X, y, given=z, groups=np.repeat(np.arange(6), 10))
        with pytest.raises(ValueError, match=r"WithinGroups.*given"):
            test(X, y, given=z, groups=WithinGroups(np.repeat(np.arange(30), 2)))
        with pytest.raises(ValueError, match=r"Shifts.*time series"):
            test(X, y, given=z, groups=Shifts())
        with pytest.raises(ValueError, match="one label per row of X"):
            test(X, y, given=z, groups=np.arange(59))


# --- screening ------------------------------------------------------------------------------------
def test_nothing_is_left_of_what_confounders_determine(rng: np.random.Generator) -> None:
    z, x = rng.normal(size=(2, 100))
    for method in ("permutation", "gamma"):
        found = hsic_test(x, z**2, given=z, method=method, random_state=0)
        assert found.pvalue == 1.0
        assert found.statistic == 0.0
    assert screen(np.column_stack([x, z]), x + z, given=z).pvalues[1] == 1.0


def test_screen_given(rng: np.random.Generator) -> None:
    m = 400
    z = rng.normal(size=m)
    X = pd.DataFrame(
        {
            "explained": np.sin(2 * z) + 0.5 * rng.normal(size=m),
            "left": np.sin(2 * z) + 0.5 * rng.normal(size=m),
            "level": np.where(z + rng.normal(size=m) > 0, "high", "low"),
            "constant": 1.0,
            "noise": rng.normal(size=m),
        }
    )
    y = np.sin(2 * z) + X["left"] + 0.5 * rng.normal(size=m)
    without = screen(X, y)
    assert (without.pvalues_adjusted[:3] < 0.05).all()
    found = screen(X, y, given=z, n_jobs=2)
    assert (found.pvalues_adjusted < 1e-6).tolist() == [False, True, False, False, False]
    assert found.given is not None
    assert found.given.explained_x[0] > 0.5
    assert found.given.explained_x[4] < 0.1
    table = found.to_frame()
    assert table["column"][0] == "left"
    assert "explained_by_given" in table
    assert found.scores[3] == 0.0
    assert found.pvalues[3] == 1.0


def test_screen_given_with_classes_and_another_kernel(rng: np.random.Generator) -> None:
    z, e, a = rng.normal(size=(3, 300))
    X = np.column_stack([z + e, z + a])
    y = z + e > 0
    found = screen(X, y, given=z, kernel="gaussian", unbiased=False)
    assert found.pvalues[0] < 0.01 < found.pvalues[1]
    assert (found.scores > 0).all()


@pytest.mark.slow
def test_level_of_screening(rng: np.random.Generator) -> None:
    """A hundred columns that share nothing with y but z."""
    m = 300
    z = rng.normal(size=m)
    X = np.sin(2 * z)[:, np.newaxis] + 0.5 * rng.normal(size=(m, 100))
    y = np.sin(2 * z) + 0.5 * rng.normal(size=m)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = screen(X, y, given=z)
    assert np.mean(found.pvalues < 0.05) < 0.1
    assert np.mean(found.pvalues < 0.5) < 0.65


# --- waves ----------------------------------------------------------------------------------------
def test_a_fast_wave_of_an_unknown_direction_is_found_and_removed(rng: np.random.Generator) -> None:
    """No smooth regression sees sin 6t of an index of five; a search over frequencies does."""
    Z = rng.normal(size=(300, 5))
    wave = np.sin(6 * Z.sum(axis=1) / np.sqrt(5))
    x, y = wave + 0.3 * rng.normal(size=(2, 300))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # so many parameters are doubtful here
        found = hsic_test(x, y, given=Z, random_state=0)
    assert found.pvalue > 0.05
    assert found.given is not None
    assert found.given.explained_x > 0.7
    assert not found.given.missed


@pytest.mark.parametrize("n_confounders", [1, 3, 5])
def test_noise_follows_no_wave(n_confounders: int, rng: np.random.Generator) -> None:
    """Also where peaks of five dimensions lie between the frequencies that are compared."""
    waves = Waves.of(rng.normal(size=(200, n_confounders)), RowUnits(200))
    pvalues = [waves.strongest(rng.normal(size=(200, 1)))[1] for _ in range(60)]
    assert np.mean(np.array(pvalues) <= 0.05) <= 0.1


def test_residuals_that_still_depend_on_the_confounders_are_told(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without waves among the regressions the diagnostic is what remains."""
    monkeypatch.setattr("depmax.dependence._given.regression.MOST_WAVES", 0)
    Z = rng.normal(size=(300, 5))
    wave = np.sin(6 * Z.sum(axis=1) / np.sqrt(5))
    x, y = wave + 0.3 * rng.normal(size=(2, 300))
    with pytest.warns(UserWarning, match="the test may reject too often"):
        found = hsic_test(x, y, given=Z, random_state=0)
    assert found.pvalue < 0.01  # which is wrong,
    assert not found.reliable  # and is said to be
    with pytest.warns(UserWarning, match="the test may reject too often"):
        assert not screen(np.column_stack([x, Z[:, 0]]), y, given=Z).given.reliable
    assert hsic_test(x, y, random_state=0).reliable  # without confounders nothing is regressed
