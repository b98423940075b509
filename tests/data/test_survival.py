"""Survival times as a target: how they are recognised, refused, and used by all methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import depmax
from depmax import extraction, selection
from depmax.data import read_target
from depmax.extraction import DependenceExtractor
from depmax.kernels import Censored
from depmax.selection.selector import DependenceSelector
from tests.contracts.discovery import classes

rng = np.random.default_rng(0)
N = 120
X = rng.normal(size=(N, 4))
TRUE = np.exp(np.exp(0.9 * X[:, 1]) * rng.normal(size=N))  # the spread depends on column 1 alone
END = 2.0 * rng.exponential(size=N)
EVENT, TIME = TRUE <= END, np.minimum(TRUE, END)


def structured(event: Any, time: Any, names: tuple[str, str] = ("status", "days")) -> np.ndarray:
    """As scikit-survival's Surv.from_arrays makes it."""
    y = np.empty(len(time), dtype=[(names[0], bool), (names[1], float)])
    y[names[0]], y[names[1]] = event, time
    return y


Y = structured(EVENT, TIME)
FORMS: dict[str, Any] = {
    "records": Y.view(np.recarray),
    "time first": Y[["days", "status"]],
    "pandas": pd.DataFrame({"event": EVENT, "time": TIME}),
    "pandas, other order, numbers": pd.DataFrame({"time": TIME, "event": EVENT.astype(int)}),
    "polars": pl.DataFrame({"event": EVENT, "time": TIME}),
}


@pytest.mark.parametrize("form", sorted(FORMS))
def test_every_form_is_the_same_target(form: str) -> None:
    assert read_target(FORMS[form]).kind == "censored"
    assert depmax.hsic(X, FORMS[form]) == depmax.hsic(X, Y)
    assert depmax.hsic(X, FORMS[form], target_kernel="censored") == depmax.hsic(X, Y)
    model, other = depmax.KernelPLS("auto").fit(X, Y), depmax.KernelPLS("auto").fit(X, FORMS[form])
    np.testing.assert_allclose(other.cv_errors_, model.cv_errors_)
    assert other.predict(X).shape == model.predict(X).shape == (N, 5)


def _with(column: str, place: Any, value: Any) -> pd.DataFrame:
    frame = pd.DataFrame({"event": EVENT.astype(float), "time": TIME})
    frame.loc[place, column] = value
    return frame


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "missing time": (_with("time", 3, np.nan), ValueError, "'time' of y is missing in 1 of 120"),
    "missing event": (_with("event", 3, np.nan), ValueError, "'event' of y is missing in 1"),
    "negative": (_with("time", 3, -1.0), ValueError, "'time' of y has negative"),
    "infinite": (_with("time", 3, np.inf), ValueError, "'time' of y has infinite"),
    "no event": (structured(False, TIME), ValueError, "no event"),
    "three codes": (_with("event", 3, 2.0), ValueError, "holds 0, 1, 2: compare it"),
    "text": (pd.DataFrame({"event": ["yes"] * N, "time": TIME}), TypeError, "'event'.*String"),
    "two times": (np.zeros(N, dtype=[("a", float), ("b", float)]), TypeError, "booleans"),
    "three fields": (np.zeros(N, dtype=[("a", bool), ("b", float), ("c", int)]), TypeError, "'c'"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_cannot_be_is_refused_by_name(case: str) -> None:
    y, kind, words = REFUSED[case]
    for ask in (depmax.screen, depmax.BAHSIC(1).fit, depmax.HSCA(1).fit):
        with pytest.raises(kind, match=words):
            ask(X, y)


def test_a_task_and_a_comparison_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="task='regression'"):
        read_target(Y, task="regression")
    with pytest.raises(TypeError, match="depmax screen"):
        depmax.compare(X, Y)
    with pytest.raises(ValueError, match=r"Censored.*numbers"):
        depmax.hsic(X, TIME, target_kernel="censored")
    frame = pl.DataFrame(X).with_columns(event=EVENT, time=TIME)
    with pytest.raises(TypeError, match="survival times"):
        depmax.screen(depmax.scan(frame, target=["event", "time"]))
    with pytest.raises(TypeError, match="survival times"):
        depmax.screen(depmax.scan(X, Y))


def test_kernels_of_times_can_be_scaled_and_added() -> None:
    twice = Censored() + 2.0 * Censored()
    assert depmax.hsic(X, Y, target_kernel=twice) == pytest.approx(3 * depmax.hsic(X, Y))


METHODS = {**classes(extraction, DependenceExtractor), **classes(selection, DependenceSelector)}
OF_CLASSES = {"KernelLDA", "KernelBoosting", "KernelPLSClassifier"}


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_takes_them_or_names_what_it_needs(name: str) -> None:
    method = METHODS[name](1)
    if name in OF_CLASSES:
        with pytest.raises(ValueError, match="class"):
            method.fit(X, Y)
        return
    assert np.asarray(method.fit(X, Y).transform(X)).shape == (N, 1)


def _ranked(selector: Any) -> Callable[..., int]:
    return lambda y, **more: int(np.argmin(selector.fit(X, y, **more).ranking_))


@pytest.mark.parametrize(
    "selector",
    [
        depmax.BAHSIC(1),
        depmax.FOHSIC(1),
        depmax.DependenceFilter(1),
        depmax.KernelRidgeElimination(1),
    ],
    ids=lambda selector: type(selector).__name__,
)
def test_a_column_that_only_changes_the_spread_is_found(
    selector: Any, rng: np.random.Generator
) -> None:
    best = _ranked(selector)
    assert best(Y) == 1
    assert best(Y, sample_weight=rng.integers(1, 3, N)) == 1


@pytest.mark.parametrize("measure", [depmax.hsic, depmax.alignment])
def test_weights_are_repeated_rows(measure: Any, rng: np.random.Generator) -> None:
    weight = rng.integers(0, 3, N)
    repeated = measure(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    assert measure(X, Y, sample_weight=weight) == pytest.approx(repeated, rel=1e-9)


@pytest.mark.parametrize("name", ["KernelRidgeElimination", "KernelPLS", "HSCA"])
def test_a_weight_of_zero_leaves_a_row_out(name: str) -> None:
    weight = (np.arange(N) % 3 > 0).astype(float)
    kept = weight > 0
    found = METHODS[name](1).fit(X, Y, sample_weight=weight).transform(X)
    alone = METHODS[name](1).fit(X[kept], Y[kept]).transform(X)
    np.testing.assert_allclose(found, alone, atol=1e-6)


def test_groups_confounders_and_pairs() -> None:
    groups = np.arange(N) // 2
    assert depmax.screen(X, Y, groups=groups).ranking.argmin() == 1
    assert depmax.screen(X[:, :2], Y, given=X[:, 3]).pvalues[1] < 0.01
    assert depmax.screen(X[:, :1] + 2 * X[:, 1:2], Y, given=X[:, 1]).pvalues[0] > 0.05
    assert depmax.screen_pairs(X, Y).pvalues_adjusted.min() > 0.05  # a column alone is no pair


def test_censoring_that_depends_on_x_is_no_dependence() -> None:
    draws = np.random.default_rng(3)
    found = []
    for _ in range(60):
        x = draws.normal(size=(100, 1))
        true, end = (
            draws.exponential(size=100),
            draws.exponential(size=100) * np.exp(-1.5 * x[:, 0]),
        )
        y = structured(true <= end, np.minimum(true, end))
        found.append((depmax.screen(x, y).pvalues[0], depmax.screen(x, y["days"]).pvalues[0]))
    censored, as_it_is = np.array(found).T
    assert np.mean(censored < 0.05) < 0.15
    assert np.mean(as_it_is < 0.05) > 0.8


def test_the_aggregated_test_compares_times_by_one_kernel() -> None:
    many = depmax.hsic_test(X, Y, method="aggregate", random_state=0)
    assert many.pvalue < 0.01
