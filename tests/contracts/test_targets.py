"""Targets are read as strictly as X: by every measure, test, selector and extractor.

A target in which nothing can be found is refused by name with the remedy, and outputs in units far
apart either do not matter or are warned about.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.utils import get_tags

import depmax
from depmax import extraction, selection
from depmax.extraction import DependenceExtractor
from depmax.kernels import Columns, FromFunction, Gaussian, Spectrum
from depmax.selection import DependenceSelector
from depmax.selection.dependence_filter import SCORES
from tests.contracts.discovery import classes

N = 60
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 4))
ONE_SCALE = np.c_[X[:, 0] + 0.1 * rng.normal(size=N), X[:, 1] ** 2 + 0.1 * rng.normal(size=N)]
FAR_APART = ONE_SCALE * [1.0, 1e4]

Ask = Callable[[Any], Any]
UNSUPERVISED = {"ICA", "IterativePCA", "LPP", "LaplacianEigenmap"}


def _fitted(cls: type, **options: Any) -> Ask:
    def features(y: Any) -> np.ndarray:
        return cls(1, **options).fit(X, y).transform(X)

    return features


def _ranked(cls: type, **options: Any) -> Ask:
    return lambda y: cls(1, **options).fit(X, y).scores_


def _tests() -> dict[str, Ask]:
    quick = {"random_state": 0, "n_permutations": 49}
    few = X[:, :2]
    return {
        "hsic_test": lambda y: depmax.hsic_test(X, y, **quick).statistic,
        "hsic_test gamma": lambda y: depmax.hsic_test(X, y, method="gamma").statistic,
        "hsic_test given": lambda y: depmax.hsic_test(few, y, given=X[:, 2], **quick).statistic,
        "hsic_test weights": lambda y: (
            depmax.hsic_test(few, y, sample_weight=np.ones(N), **quick).statistic
        ),
        "screen": lambda y: depmax.screen(X, y).scores,
        "screen given": lambda y: depmax.screen(few, y, given=X[:, 2]).scores,
        "screen weights": lambda y: depmax.screen(X, y, sample_weight=np.ones(N)).scores,
        "screen_pairs": lambda y: depmax.screen_pairs(X, y, random_state=0).scores,
    }


def _cases() -> dict[str, Ask]:
    cases: dict[str, Ask] = {}
    for name, cls in classes(extraction, DependenceExtractor).items():
        if name in UNSUPERVISED:
            continue
        cases[name] = _fitted(cls)
        if "kernel" in cls().get_params():
            cases[f"{name} gaussian"] = _fitted(cls, kernel="gaussian")
        if "target_kernel" in cls().get_params() and name != "KernelCCA":
            cases[f"{name} linear target"] = _fitted(cls, target_kernel="linear")
    for name, cls in classes(selection, DependenceSelector).items():
        cases[name] = _ranked(cls)
    for score in SCORES:
        cases[f"DependenceFilter {score}"] = _ranked(depmax.DependenceFilter, score_func=score)
    for name in (
        "hsic",
        "hsic_variance",
        "alignment",
        "coco",
        "distance_correlation",
        "gaussian_mutual_information",
        "quadratic_mutual_information",
        "samples_needed",
    ):
        cases[name] = lambda y, name=name: getattr(depmax, name)(X, y)
    cases["hsic_interval"] = lambda y: depmax.hsic_interval(X, y).low
    return cases | _tests()


CASES = _cases()
every_case = pytest.mark.parametrize("name", sorted(CASES))


# --- what is refused ------------------------------------------------------------------------------
IDENTIFIERS = [f"id{i}" for i in range(N)]
TEXT: dict[str, Any] = {
    "array": np.array(IDENTIFIERS),
    "list": IDENTIFIERS,
    "objects": np.array(IDENTIFIERS, dtype=object),
    "pandas": pd.Series(IDENTIFIERS),
    "pandas categories": pd.Series(pd.Categorical(IDENTIFIERS)),
    "polars": pl.Series(IDENTIFIERS),
    "frame": pl.DataFrame({"name": IDENTIFIERS}),
    "few repeated": np.array([*IDENTIFIERS[:50], *IDENTIFIERS[:10]]),
    "numbers as text": X[:, 0].astype(str),
    "rounded numbers as text": np.array([f"{value:.1f}" for value in 10 * X[:, 0]]),
}


class Thing:
    """Neither a number nor a label."""


RECORDS = np.array(
    list(zip(X[:, 0], np.abs(X[:, 1]), strict=True)), dtype=[("start", float), ("stop", float)]
)
SURVIVAL = np.array(
    list(zip(X[:, 0] > 0, np.abs(X[:, 1]), strict=True)), dtype=[("event", bool), ("time", float)]
)
REFUSED: dict[str, tuple[Any, str]] = {
    "identifiers": (TEXT["array"], "Spectrum|Subsequence"),
    "numbers as text": (TEXT["numbers as text"], r"astype\(float\).*Spectrum"),
    "structured": (RECORDS, "'start', 'stop'"),
    "records": (RECORDS.view(np.recarray), "'start', 'stop'"),
    "objects": ([Thing() for _ in range(N)], "Thing.*target_kernel="),
    "graphs": ([({0: [1], 1: [0]}, {0: "a", 1: "b"})] * N, "dict.*target_kernel="),
    "sets": ([{i} for i in range(N)], "set.*target_kernel="),
    "dates": (pd.Series(pd.date_range("2020", periods=N)), "dates"),
}


@every_case
@pytest.mark.parametrize("target", sorted(REFUSED))
def test_a_target_without_classes_is_refused_by_name(name: str, target: str) -> None:
    y, message = REFUSED[target]
    with pytest.raises(TypeError, match=f"y (has|holds|is) (.|\n)*({message})"):
        CASES[name](y)


@pytest.mark.parametrize("make", sorted(TEXT))
def test_text_is_no_class_in_any_container(make: str) -> None:
    for ask in (depmax.hsic, lambda X, y: depmax.BAHSIC(1).fit(X, y)):
        with pytest.raises(TypeError, match="y has another label in"):
            ask(X, TEXT[make])


def test_text_with_a_kernel_of_strings_is_compared() -> None:
    texts = ["ab" * 5 if value > 0 else "cd" * 5 for value in X[:, 0]]
    texts = [f"{text}{i}" for i, text in enumerate(texts)]
    assert depmax.hsic_test(X, texts, target_kernel=Spectrum(2), random_state=0).pvalue < 0.01
    assert depmax.BAHSIC(1, target_kernel=Spectrum(2)).fit(X, texts).ranking_[0] == 1


def test_one_labelled_row_per_class_is_enough_with_unlabelled_rows() -> None:
    y = np.full(N, None, dtype=object)
    y[:3] = ["a", "b", "c"]
    assert depmax.HBFE(1, beta=0.5, unbiased=False).fit(X, y).n_unlabeled_ == N - 3


def test_many_declared_classes_are_classes() -> None:
    y = np.array([f"c{i // 2}" for i in range(N)])
    depmax.hsic(X, y)
    thirty = np.append(y[: N - 12], [f"d{i}" for i in range(12)])
    with pytest.raises(TypeError, match="another label in 36 of 60 rows"):
        depmax.hsic(X, thirty)
    depmax.hsic(X, pd.Series(pd.Categorical(thirty)))


def test_a_scanned_target_is_as_strict() -> None:
    frame = pl.DataFrame(X).with_columns(y=pl.Series(IDENTIFIERS))
    with pytest.raises(TypeError, match=r"another label .*Spectrum"):
        depmax.HSCA(1).fit(depmax.scan(frame, target="y"))


def test_structured_inputs_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"X is .*'event', 'time'"):
        depmax.hsic(SURVIVAL, X[:, 0])
    with pytest.raises(TypeError, match=r"X is .*'event', 'time'"):
        depmax.BAHSIC(1).fit(SURVIVAL, X[:, 0])


EVERY_METHOD = {
    **classes(extraction, DependenceExtractor),
    **classes(selection, DependenceSelector),
}
CONSTANT: dict[str, Any] = {
    "array": np.ones((N, 3)),
    "single precision": np.full((N, 3), 0.1, dtype=np.float32),
    "frame": pd.DataFrame({"a": np.ones(N), "b": np.zeros(N)}),
}


@pytest.mark.parametrize("table", sorted(CONSTANT))
@pytest.mark.parametrize("name", sorted(EVERY_METHOD))
def test_constant_inputs_are_refused_as_constant_targets_are(name: str, table: str) -> None:
    y = (X[:, 0] > 0).astype(int)
    with pytest.raises(ValueError, match="X is constant"):
        EVERY_METHOD[name](1).fit(CONSTANT[table], y)
    EVERY_METHOD[name](1).fit(X, y)


@pytest.mark.parametrize("y", [np.full(N, 1.5), np.full(N, "a")], ids=["numbers", "classes"])
@pytest.mark.parametrize("name", sorted(EVERY_METHOD))
def test_constant_targets_are_refused(name: str, y: np.ndarray) -> None:
    method = EVERY_METHOD[name](1)
    if get_tags(method).target_tags.required:
        with pytest.raises(ValueError, match=r"constant|one class|one value|continuous"):
            method.fit(X, y)


# --- what is said ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"died": X[:, 0] > 0, "days": np.abs(X[:, 1])}),
        pl.DataFrame({"days": np.abs(X[:, 1]), "died": (X[:, 0] > 0).astype(int)}),
    ],
    ids=["pandas", "polars"],
)
def test_a_time_and_an_event_of_other_names_are_two_outputs(frame: Any) -> None:
    with pytest.warns(UserWarning, match=r"'died' and 'days'.*'event' and 'time'"):
        depmax.screen(X, frame)


LEVELS = ["low", "middle", "high"]
GRADES = [LEVELS[place] for place in np.digitize(X[:, 0], [-0.5, 0.5])]


@pytest.mark.parametrize(
    "make",
    [
        lambda levels, y: pd.Series(pd.Categorical(y, levels, ordered=True)),
        lambda levels, y: pl.Series(y, dtype=pl.Enum(levels)),
    ],
    ids=["pandas", "polars"],
)
def test_the_order_of_categories_is_not_used_and_said_so(make: Any) -> None:
    with pytest.warns(UserWarning, match=r"order .low < middle < high.") as caught:
        value = depmax.hsic(X, make(LEVELS, GRADES))
    assert len(caught) == 1
    assert value == depmax.hsic(X, GRADES)
    two = np.array(["low", "high"])[(X[:, 0] > 0).astype(int)].tolist()
    depmax.hsic(X, make(["low", "high"], two))  # two classes have no order


def test_the_remedies_for_an_order_work() -> None:
    series = pd.Series(pd.Categorical(GRADES, LEVELS, ordered=True))
    positions = series.cat.codes.astype(float)
    enum = pl.Series(GRADES, dtype=pl.Enum(LEVELS))
    assert depmax.hsic(X, positions) == depmax.hsic(X, enum.to_physical().cast(pl.Float64))
    depmax.hsic(X, series.cat.as_unordered())
    depmax.hsic(X, enum.cast(pl.Categorical))


# --- outputs in different units -------------------------------------------------------------------
def _answer(ask: Ask, y: np.ndarray) -> tuple[np.ndarray, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = np.asarray(ask(y), dtype=float)
    of_scale = [str(found.message) for found in caught if found.category is depmax.ScaleWarning]
    return answer, of_scale


@every_case
def test_units_of_outputs_either_do_not_matter_or_are_warned_about(name: str) -> None:
    try:
        before, none = _answer(CASES[name], ONE_SCALE)
    except ValueError as error:
        if "class" not in str(error):  # of classes only
            raise
        return
    after, warned = _answer(CASES[name], FAR_APART)
    assert not none
    assert len(set(warned)) <= 1, "one sentence per call"
    if not warned:
        if before.ndim == 2:  # the sign of a feature is a convention
            after = after * np.sign((before * after).sum(axis=0))
        np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-9)
    else:
        assert warned[0].startswith("Column 1 of y has ")
        assert "StandardScaler().fit_transform(y)" in warned[0]


#: Methods that put outputs on one scale, so that a warning would be a false alarm.
SILENT = {
    "DependenceFilter pearson",
    "DependenceFilter qmi",
    "ICAFX",
    "KernelCCA",
    "KernelRidgeElimination",
    "LinearRegressionFeature",
    "PHD",
    "Relief",
    "SIR",
    "gaussian_mutual_information",
}


@pytest.mark.parametrize("name", sorted(SILENT))
def test_methods_without_units_of_outputs_are_silent(name: str) -> None:
    assert not _answer(CASES[name], FAR_APART)[1]


def test_a_scaler_or_a_kernel_per_output_ends_it() -> None:
    depmax.hsic(X, FAR_APART / FAR_APART.std(axis=0))
    one_each = Columns([("a", Gaussian(), 0), ("b", Gaussian(), 1)])
    value = depmax.hsic(X, FAR_APART, target_kernel=one_each)
    assert value == pytest.approx(depmax.hsic(X, ONE_SCALE, target_kernel=one_each))


def test_a_scanned_target_is_warned_about_too() -> None:
    table = np.c_[X, FAR_APART]
    frame = pl.DataFrame({f"x{column}": table[:, column] for column in range(6)})
    scanned = depmax.scan(frame, target=["x4", "x5"])
    with pytest.warns(depmax.ScaleWarning, match="Column 1 of y has"):
        depmax.KernelPLS(1).fit(scanned)


# --- parameters that would have no effect ---------------------------------------------------------
@pytest.mark.parametrize("score", sorted(SCORES))
@pytest.mark.parametrize("parameter", ["kernel", "target_kernel"])
def test_a_kernel_is_used_or_refused(score: str, parameter: str) -> None:
    is_used = getattr(SCORES[score], parameter)
    y = X[:, 0] if is_used and parameter == "target_kernel" else (X[:, 0] > 0).astype(int)
    before = depmax.DependenceFilter(1, score_func=score).fit(X, y)
    other = depmax.DependenceFilter(1, score_func=score, **{parameter: Gaussian(0.1)})
    if is_used:
        assert not np.allclose(other.fit(X, y).scores_, before.scores_)
    else:
        with pytest.raises(ValueError, match=f"{parameter}=.* no effect .*'{score}'"):
            other.fit(X, y)


def test_objects_are_compared_by_their_own_kernel() -> None:
    sets = [{int(value > 0)} for value in X[:, 0]]
    kernel = FromFunction(
        lambda a, b: np.array([[float(one == other) for other in b] for one in a]),
        vector_input=False,
    )
    assert depmax.hsic_test(X, sets, target_kernel=kernel, random_state=0).pvalue < 0.01
