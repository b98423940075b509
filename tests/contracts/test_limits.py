"""Many rows: no more memory than the limit allows, or a refusal at once that names what to use.

Private modules: limits are lowered, so that small tables pass them, and the class of their error is
checked.
"""

from __future__ import annotations

import inspect
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from depmax import dependence, extraction, maps, selection
from depmax._resources import VARIABLE, TooManyRowsError
from depmax.dependence._nulls import permutation
from depmax.extraction import (
    SMA,
    DeflationFeatures,
    DependenceExtractor,
    KernelLDA,
    KernelPLS,
    ReducedKernelOPLS,
)
from depmax.maps import FeatureMap, NystroemMap
from depmax.selection import DependenceSelector
from tests.contracts.discovery import classes, functions

#: One matrix of all pairs takes 72 MB, more than the limit and what blocks of rows take besides.
M = 3000
LIMIT, BLOCKS = 24 * 2**20, 30 * 2**20
#: Blocks of a fixed size that are larger: 32 MB of distances, and their comparisons.
LARGER_BLOCKS = {"Relief": 60 * 2**20}
#: Searches whose strips and screening of pairs have tests of their own at many rows.
TESTED_ELSEWHERE = {"BAHSIC", "FOHSIC"}

rng = np.random.default_rng(0)
X = rng.normal(size=(M, 4))
NUMBERS = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=M)
CLASSES = (NUMBERS > 1).astype(int)
FOR_CLASSES = {"KernelBoosting", "KernelLDA", "KernelPLSClassifier"}

EXTRACTORS = classes(extraction, DependenceExtractor)
SELECTORS = classes(selection, DependenceSelector)
MAPS = classes(maps, FeatureMap)
#: Functions that take something else than X and y, or no rows, and one that would take long.
CALLS: dict[str, Callable[[], Any]] = {
    "correntropy": lambda: dependence.correntropy(X[:, 0], NUMBERS),
    "hsic_test": lambda: dependence.hsic_test(X, NUMBERS, n_permutations=99),
    "mmd": lambda: dependence.mmd(X[::2], X[1::2]),
    "total_correlation": lambda: dependence.total_correlation(X),
    "resolve": lambda: dependence.resolve("gaussian", X),
    "intrinsic_dimension": lambda: dependence.intrinsic_dimension(X),
}


@pytest.fixture(autouse=True)
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(LIMIT))


def _with_kernels() -> list[tuple[str, Any]]:
    cases = []
    for name, cls in {**EXTRACTORS, **SELECTORS, **MAPS}.items():
        if name in TESTED_ELSEWHERE:
            continue
        cases.append((name, cls()))
        takes_kernel = "kernel" in inspect.signature(cls).parameters
        if takes_kernel and cls().kernel == "linear":
            cases.append((name, cls(kernel="gaussian")))
        if "beta" in inspect.signature(cls).parameters:  # a graph of all rows
            cases.append((name, cls(kernel="gaussian", beta=0.2)))
    return cases


def _outcome(call: Callable[[], Any]) -> tuple[str | None, int]:
    """Message of a refusal, and peak of the memory."""
    tracemalloc.start()
    message = None
    try:
        with warnings.catch_warnings():
            # what is said of long computations is tested below
            warnings.simplefilter("ignore")
            call()
    except TooManyRowsError as error:
        message = str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return message, peak


@pytest.mark.parametrize(
    ("name", "estimator"), [pytest.param(*case, id=repr(case[1])) for case in _with_kernels()]
)
def test_an_estimator_keeps_to_the_limit_or_refuses_at_once(name: str, estimator: Any) -> None:
    target = CLASSES if name in FOR_CLASSES else NUMBERS
    message, peak = _outcome(lambda: estimator.fit(X, target))
    assert peak < LIMIT + LARGER_BLOCKS.get(name, BLOCKS)
    if message is None:
        return
    assert peak < BLOCKS
    assert message.startswith(f"{name} needs a value for every pair of 3,000 rows")
    assert "the limit is 24 MB" in message
    assert f"{VARIABLE}=1GB" in message
    if name in EXTRACTORS:  # what the message names does it
        assert f"kernel=NystroemMap(200, kernel={estimator.kernel!r})" in message
        estimator.set_params(kernel=NystroemMap(20, kernel=estimator.kernel))
        message, peak = _outcome(lambda: estimator.fit(X, target))
        assert message is None
        assert peak < LIMIT + BLOCKS


@pytest.mark.parametrize("name", sorted(set(functions(dependence)) & set(dependence.__all__)))
def test_a_measure_keeps_to_the_limit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permutation, "BAND_VALUES", 2**20)  # 8 MB instead of 256 at any size
    measure = getattr(dependence, name)
    message, peak = _outcome(CALLS.get(name, lambda: measure(X, NUMBERS)))
    assert message is None
    assert peak < LIMIT + BLOCKS


@pytest.mark.parametrize(
    ("estimator", "remedy"),
    [
        (ReducedKernelOPLS(n_basis=None), "n_basis"),
        (SMA(n_candidates=None, sparsity=2), "n_candidates"),
        (DeflationFeatures(dual=True), "dual=None"),
        (KernelPLS(kernel="polynomial"), "NystroemMap(200, kernel='polynomial')"),
    ],
)
def test_a_refusal_names_the_parameter_that_asked_for_it(estimator: Any, remedy: str) -> None:
    with pytest.raises(TooManyRowsError, match=remedy.replace("(", r"\(").replace(")", r"\)")):
        estimator.fit(X, NUMBERS)


def test_the_limit_is_lifted_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    few, model = slice(0, 300), KernelLDA(1, kernel="gaussian")
    monkeypatch.setenv(VARIABLE, "1MB")
    with pytest.raises(TooManyRowsError, match="300 rows"):
        model.fit(X[few], CLASSES[few])
    monkeypatch.setenv(VARIABLE, "none")
    assert model.fit(X[few], CLASSES[few]).n_components_ == 1


def test_a_given_kernel_matrix_is_used_whatever_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = X[:300]
    matrix = np.exp(-((rows[:, np.newaxis] - rows) ** 2).sum(axis=2) / 4)
    monkeypatch.setenv(VARIABLE, "100KB")
    assert KernelPLS(kernel="precomputed").fit(matrix, NUMBERS[:300]).n_components_ == 2


FEW = slice(0, 60)
WIDE = rng.normal(size=(60, 8))
#: What takes more than linear time, with the sentence that names what to use instead.
SLOW: dict[str, tuple[Callable[[], Any], str]] = {
    **{
        name: (lambda part=part: part(X[FEW], NUMBERS[FEW]), "Maps as kernels")
        for name, part in functions(dependence).items()
        if name in {"alignment", "coco", "distance_correlation", "hsic", "hsic_interval"}
        or name in {"hsic_variance", "quadratic_mutual_information", "samples_needed"}
    },
    **{
        f"hsic_test {method}": (
            lambda method=method: dependence.hsic_test(X[FEW], NUMBERS[FEW], method=method),
            "Maps as kernels",
        )
        for method in ("aggregate", "gamma", "permutation")
    },
    "mmd": (lambda: dependence.mmd(X[:30], X[30:60]), "Maps as kernels"),
    "IncompleteCholesky": (lambda: maps.IncompleteCholesky().fit(X[FEW]), "n_components"),
    "KernelBoosting": (
        lambda: extraction.KernelBoosting().fit(X[FEW], CLASSES[FEW]),
        "random part of the rows",
    ),
    "KernelMap": (lambda: maps.KernelMap().fit(X[FEW]), r"NystroemMap\(200\)"),
    "LPP": (lambda: extraction.LPP().fit(WIDE), "random part of the rows"),
    "LPP gaussian": (lambda: extraction.LPP(graph="gaussian").fit(X[FEW]), "NeighborGraph"),
    "Relief": (lambda: selection.Relief(1).fit(X[FEW], NUMBERS[FEW]), "n_samples=2000"),
    "SparseKernelPLS": (lambda: extraction.SparseKernelPLS().fit(X[FEW], NUMBERS[FEW]), "nu"),
}


@pytest.mark.parametrize("name", sorted(SLOW))
def test_what_takes_long_says_so_before_it_starts(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "4GB")
    call, instead = SLOW[name]
    call()  # of few rows, without a word
    monkeypatch.setattr("depmax._resources.LONG", 0.0)
    with pytest.warns(UserWarning, match=f"takes about .*{instead}"):
        call()


def test_classes_that_would_fill_the_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "100MB")
    labels = np.array([f"c{row // 2}" for row in range(M)])
    for call in (
        lambda: dependence.screen(X, labels),
        lambda: selection.BAHSIC(1).fit(X, labels),
        lambda: selection.DependenceFilter(1).fit(X, labels),
    ):
        with pytest.raises(TooManyRowsError, match=r"1,500 classes .*Merge rare"):
            call()
