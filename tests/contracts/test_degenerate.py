"""Tables with nothing, too little or too much in them: a finite answer or a refusal in words.

Functions, options and degenerate tables are combined at random with a fixed seed: more combinations
than can be written down, the same in every run.
"""

from __future__ import annotations

import random
import traceback
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import depmax
from depmax import extraction, selection
from depmax.extraction import DependenceExtractor
from depmax.selection import DependenceSelector
from tests.contracts.discovery import classes

N = 40
CASES = 500
SOURCE = str(Path(depmax.__file__).parent)
rng = np.random.default_rng(0)
PLAIN = rng.normal(size=(N, 4))
NUMBERS = PLAIN[:, 0] + 0.3 * rng.normal(size=N)
TWO = (NUMBERS > 0).astype(int)
EACH = np.array([f"c{i}" for i in range(N)])


def _with(value: Any, rows: int = 1, dtype: Any = np.float64) -> np.ndarray:
    table = PLAIN.astype(dtype)
    table[:rows, 1] = value
    return table


TABLES: dict[str, Any] = {
    "plain": PLAIN,
    "no rows": PLAIN[:0],
    **{f"{rows} rows": PLAIN[:rows] for rows in (1, 2, 3, 4, 5)},
    "no columns": PLAIN[:, :0],
    "one column": PLAIN[:, :1],
    "more columns than rows": rng.normal(size=(6, 50)),
    "constant": np.ones((N, 4)),
    "constant column": _with(7.0, N),
    "equal columns": np.repeat(PLAIN[:, :1], 4, axis=1),
    "equal rows": np.repeat(PLAIN[:4], N // 4, axis=0),
    "one row differs": np.eye(N)[:, :1] * np.ones(4),
    "tied": rng.integers(0, 3, (N, 4)).astype(float),
    "fill value": _with(1e20, 3, np.float32),
    "1e200": _with(1e200),
    "near 1e300": PLAIN + 1e300,
    "offset": PLAIN + 1e12,
    "1e-160": PLAIN * 1e-160,
    "denormal": PLAIN * 1e-310,
    "ends of int64": np.where(PLAIN > 0, 2**63 - 1, -(2**63)),
    "ends of uint64": np.where(PLAIN > 0, 2**64 - 1, 0).astype(np.uint64),
    "int8": rng.integers(-128, 127, (N, 4)).astype(np.int8),
    "booleans": PLAIN > 0,
    "objects": PLAIN.astype(object),
    "text in objects": _with("a", 3, object),
    "None in objects": _with(None, 3, object),
    "NaN": _with(np.nan, 3),
    "infinity": _with(np.inf),
    "complex": PLAIN + 1j,
    "half precision": PLAIN.astype(np.float16),
    "masked": np.ma.masked_array(PLAIN, mask=PLAIN > 1),
    "mask of nothing": np.ma.masked_array(PLAIN, mask=False),
    "sparse zeros": sparse.csr_matrix((N, 4)),
    "sparse": sparse.csr_matrix(np.where(PLAIN > 0.5, PLAIN, 0.0)),
    "categories": pd.DataFrame({"a": NUMBERS, "c": pd.Categorical(TWO.astype(str))}),
    "category of each row": pd.DataFrame({"a": NUMBERS, "c": pd.Categorical(EACH)}),
    "one category": pd.DataFrame({"a": NUMBERS, "c": pd.Categorical(["k"] * N)}),
    "integers with gaps": pd.DataFrame({"a": pd.array([1, None] * (N // 2), dtype="Int64")}),
    "column of nulls": pl.DataFrame({"a": NUMBERS, "b": [None] * N}),
    "dates": pd.DataFrame({"a": NUMBERS, "b": pd.date_range("2020", periods=N)}),
    "a name twice": pd.DataFrame(PLAIN[:, :2], columns=["a", "a"]),
    "three dimensions": PLAIN[np.newaxis],
}
TARGETS: dict[str, Any] = {
    "numbers": NUMBERS,
    "two classes": TWO,
    "constant": np.ones(N),
    "one class": np.array(["a"] * N),
    "class of each row": EACH,
    "class of one row": np.eye(N, dtype=int)[0],
    "tied": rng.integers(0, 3, N) + 0.5,
    "1e200": np.r_[1e200, NUMBERS[1:]],
    "fill value": np.r_[1e20, NUMBERS[1:]].astype(np.float32),
    "offset": NUMBERS + 1e12,
    "denormal": NUMBERS * 1e-310,
    "ends of int64": np.where(TWO, 2**63 - 1, -(2**63)),
    "beyond 2**53": np.arange(N, dtype=np.uint64) + np.uint64(2**63),
    "beyond 64 bits": [2**70 + i for i in range(N)],
    "decimals": [Decimal(repr(number)) for number in NUMBERS.tolist()],
    "text and numbers": np.array(["a", 1] * (N // 2), dtype=object),
    "ragged": [[1.0], [2.0, 3.0]] * (N // 2),
    "NaN": np.r_[np.nan, NUMBERS[1:]],
    "None": np.array([None, *["a", "b"] * (N // 2 - 1), "a"], dtype=object),
    "labels": np.column_stack([TWO, 1 - TWO, np.zeros(N, dtype=int)]),
    "all labels": np.ones((N, 3), dtype=int),
    "constant output": np.column_stack([NUMBERS, np.ones(N)]),
    "masked": np.ma.masked_array(NUMBERS, mask=NUMBERS > 1),
    "mask of nothing": np.ma.masked_array(NUMBERS, mask=False),
    "too short": NUMBERS[:-1],
    "dates": pd.Series(pd.date_range("2020", periods=N)),
}
GIVEN: dict[str, Any] = {
    "constant": np.ones(N),
    "a column of X": PLAIN[:, 0],
    "the target": NUMBERS,
    "more than rows": rng.normal(size=(N, 60)),
    "class of each row": pd.DataFrame({"c": pd.Categorical(EACH)}),
    "no columns": PLAIN[:, :0],
    "tied": TWO.astype(float),
    "too long": np.arange(N + 1.0),
    **{name: TARGETS[name] for name in ("NaN", "1e200", "fill value", "denormal", "masked")},
}
GROUPS: dict[str, Any] = {
    "one": np.zeros(N),
    "each row": np.arange(N),
    "pairs": np.repeat(np.arange(N // 2), 2),
    "two": np.repeat([0, 1], N // 2),
    "unequal": np.repeat(np.arange(8), [1, 2, 3, 4, 5, 6, 7, 12]),
    "NaN": np.where(np.arange(N) % 4 == 0, np.nan, 1.0),
    "None": np.array([None, "a"] * (N // 2), dtype=object),
    "masked": np.ma.masked_array(np.repeat(np.arange(N // 2), 2), mask=TWO == 1),
    "1 and '1'": np.array([1, "1"] * (N // 2), dtype=object),
    "too short": np.arange(N - 1),
    "table": np.zeros((N, 2)),
    "within each row": depmax.WithinGroups(np.arange(N)),
    "within one": depmax.WithinGroups(np.zeros(N)),
    "within classes": depmax.WithinGroups(TWO),
    "shifts": depmax.Shifts(),
}

WEIGHTS: dict[str, Any] = {
    "ones": np.ones(N),
    "zeros": np.zeros(N),
    "two rows": np.r_[1.0, 1.0, np.zeros(N - 2)],
    "some rows": TWO == 1,
    "negative": np.r_[-1.0, np.ones(N - 1)],
    "infinite": np.r_[np.inf, np.ones(N - 1)],
    "huge": np.full(N, 1e300),
    "one huge": np.r_[1e9, np.ones(N - 1)],
    "tiny": np.full(N, 1e-300),
    "text": np.array(["a"] * N),
    "too long": np.ones(N + 1),
    "whole": np.full(N, 2**63, dtype=np.uint64),
    **{name: GROUPS[name] for name in ("NaN", "None", "masked", "table")},
}

Ask = Callable[..., Any]
QUICK = {"n_permutations": 49, "random_state": 0}


def _tests() -> dict[str, Ask]:
    return {
        f"hsic_test {method}": lambda X, y, m=method, **options: _numbers_of(
            depmax.hsic_test(X, y, method=m, **QUICK, **options), "statistic", "pvalue"
        )
        for method in ("aggregate", "permutation", "gamma")
    }


def _screen(X: Any, y: Any, **options: Any) -> list[np.ndarray]:
    found = depmax.screen(X, y, **options)
    effects = (
        ()
        if options.keys() & {"given", "sample_weight"}
        else ("effects", "effects_low", "effects_high")
    )
    return _numbers_of(found, "scores", "pvalues", "pvalues_adjusted", *effects)


def _pairs(X: Any, y: Any, **options: Any) -> list[np.ndarray]:
    found = depmax.screen_pairs(X, y, **QUICK, **options)
    return _numbers_of(found, "scores", "pvalues", "pvalues_adjusted")


def _measures() -> dict[str, Ask]:
    names = ("alignment", "coco", "distance_correlation", "hsic", "hsic_variance")
    found: dict[str, Ask] = {
        name: lambda X, y, name=name: getattr(depmax, name)(X, y) for name in names
    }
    found["quadratic_mutual_information"] = depmax.quadratic_mutual_information
    found["hsic_interval"] = lambda X, y: _numbers_of(depmax.hsic_interval(X, y), "low", "high")
    found["hsic by blocks"] = lambda X, y: depmax.hsic(X, y, block_size=10)
    found["mmd"] = lambda X, _: depmax.mmd(X, PLAIN)
    # infinite, and rightly so, where a column is a linear function of others
    found["total_correlation"] = lambda X, _: min(depmax.total_correlation(X), 1e300)
    found["intrinsic_dimension"] = lambda X, _: depmax.intrinsic_dimension(X)
    return found


def _methods() -> dict[str, Ask]:
    found: dict[str, Ask] = {
        name: lambda X, y, cls=cls, **options: cls(2).fit(X, y, **options).scores_
        for name, cls in classes(selection, DependenceSelector).items()
    }
    found["Knockoffs auto"] = lambda X, y: selection.Knockoffs().fit(X, y).scores_
    found["BAHSIC auto"] = lambda X, y: depmax.BAHSIC("auto").fit(X, y).scores_
    for name, cls in classes(extraction, DependenceExtractor).items():
        found[name] = lambda X, y, cls=cls: cls(1).fit(X, y).transform(X)
    return found


def _numbers_of(found: Any, *names: str) -> list[np.ndarray]:
    values = {name: np.atleast_1d(getattr(found, name)) for name in names}
    for name, value in values.items():
        if name.startswith("pvalue"):
            assert ((value > 0) & (value <= 1)).all(), (name, value)
    return list(values.values())


#: What is asked, and the option that it is asked with.
ASKED: list[tuple[str, Ask, str]] = [
    *((name, ask, "") for name, ask in (_measures() | _methods()).items()),
    *((name, ask, "given") for name, ask in (_tests() | {"screen": _screen}).items()),
    *(
        (name, ask, "groups")
        for name, ask in (_tests() | {"screen": _screen, "screen_pairs": _pairs}).items()
    ),
    *(
        (name, _methods()[name], "groups")
        for name in ("BAHSIC", "FOHSIC", "DependenceFilter", "KernelRidgeElimination")
    ),
    *(
        (name, ask, "sample_weight")
        for name, ask in {**_tests(), "screen": _screen, "hsic": depmax.hsic}.items()
    ),
    *((name, _methods()[name], "sample_weight") for name in ("BAHSIC", "FOHSIC")),
    (
        "HSCA",
        lambda X, y, **options: depmax.HSCA(1).fit(X, y, **options).components_,
        "sample_weight",
    ),
]
#: Chosen once and for all: the combinations of a number never change.
OPTIONS = {"given": GIVEN, "groups": GROUPS, "sample_weight": WEIGHTS}


def _case(number: int) -> tuple[str, Callable[[], Any]]:
    draw = random.Random(number)
    name, ask, option = ASKED[number % len(ASKED)]
    table, target = draw.choice(sorted(TABLES)), draw.choice(sorted(TARGETS))
    if option:  # both at once are mostly refused for the one that is read first
        table, target = draw.choice([(table, "numbers"), ("plain", target), ("plain", "numbers")])
    value = draw.choice(sorted(OPTIONS[option])) if option else None
    X = TABLES[table]
    y = TARGETS[target]
    n_rows = X.shape[0]
    options = {} if value is None else {option: _cut(OPTIONS[option][value], n_rows)}
    label = f"{name}, X: {table}, y: {target}" + (f", {option}: {value}" if option else "")
    return label, lambda: ask(X, _cut(y, n_rows), **options)


def _cut(values: Any, n_rows: int) -> Any:
    """As many as the table has rows, where it has few."""
    few = 0 < n_rows < N - 1 and hasattr(values, "__len__") and len(values) >= N
    return values[:n_rows] if few else values


def _refused_by_us(error: Exception) -> bool:
    """Whether we say what is wrong, or scikit-learn's checks of inputs."""
    if not isinstance(error, ValueError | TypeError) or isinstance(error, np.linalg.LinAlgError):
        return False
    place = traceback.extract_tb(error.__traceback__)[-1].filename
    return place.startswith(SOURCE) or "sklearn/utils" in place.replace("\\", "/")


def _judge(number: int) -> str:
    """What is wrong with the answer to a case, if anything."""
    label, ask = _case(number)
    with warnings.catch_warnings():
        # degenerate tables are warned of; the answer is judged
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)  # numbers that overflow or vanish
        try:
            answer = ask()
        except Exception as error:
            return "" if _refused_by_us(error) else f"{label}: {error!r}"
    parts = answer if isinstance(answer, list) else [answer]
    finite = all(np.isfinite(np.asarray(part, dtype=float)).all() for part in parts)
    return "" if finite else f"{label}: {answer}"


@pytest.mark.parametrize("first", range(0, CASES, 50))
def test_degenerate_input_gives_a_finite_answer_or_a_refusal(first: int) -> None:
    wrong = [_judge(number) for number in range(first, first + 50)]
    assert not any(wrong), "\n".join(filter(None, wrong))


def test_as_many_confounders_as_rows_do_not_make_noise_significant() -> None:
    pvalues = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x, y = rng.integers(0, 3, N).astype(float), rng.normal(size=N)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of the many parameters
            found = depmax.screen(x[:, np.newaxis], y, given=rng.normal(size=(N, 60)))
        pvalues.append(found.pvalues[0])
    assert min(pvalues) > 0.001


def test_labels_of_groups_are_not_confused() -> None:
    x, y = PLAIN[:, 0], PLAIN[:, 1]
    with pytest.raises(ValueError, match="groups is a masked array"):
        depmax.hsic_test(x, y, groups=GROUPS["masked"])
    with pytest.raises(ValueError, match=r"groups .* 20 of 40 rows"):
        depmax.hsic_test(x, y, groups=pd.array([1, None] * (N // 2), dtype="Int64"))
    with pytest.raises(ValueError, match=r"2 groups .* 2 ways"):
        depmax.hsic_test(x, y, groups=GROUPS["1 and '1'"])


@pytest.mark.parametrize("scale", [1e-80, 1e-160, 1e-310])
def test_numbers_whose_products_vanish_are_refused(scale: float) -> None:
    with pytest.raises(ValueError, match=r"largest .* X holds .*Multiply"):
        depmax.hsic(PLAIN * scale, NUMBERS)
    with pytest.raises(ValueError, match=r"largest .* y holds .*Multiply"):
        depmax.hsic(PLAIN, NUMBERS * scale)
    fitted = depmax.HSCA(1).fit(PLAIN, NUMBERS)
    assert np.isfinite(fitted.transform(PLAIN * scale)).all()  # rows near zero are rows


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("beyond 2**53", "differences are lost"),
        ("beyond 64 bits", "more than 64 bits"),
        ("text and numbers", "mixes text with other values, such as 1"),
        ("ragged", "different numbers of values"),
    ],
)
def test_targets_that_cannot_be_read_say_why(name: str, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        depmax.hsic(PLAIN, TARGETS[name])


@pytest.mark.parametrize(
    "make",
    [
        list,
        pd.Series,
        pl.Series,
        lambda y: pd.Series(y, dtype=pd.ArrowDtype(pa.decimal128(38, 20))),
        lambda y: [Fraction(number) for number in y],
    ],
)
def test_decimals_are_numbers(make: Callable[[Any], Any]) -> None:
    """They were taken for as many classes as there are rows, on which nothing depends."""
    decimals = [number.quantize(Decimal("1e-20")) for number in TARGETS["decimals"]]
    expected = depmax.hsic(PLAIN, NUMBERS)
    assert depmax.hsic(PLAIN, make(decimals)) == pytest.approx(expected, rel=1e-9)
