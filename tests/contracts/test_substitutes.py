"""Every selector names the kept column that explains most of a dropped one, of whatever kinds."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

from depmax import KernelRidgeElimination
from depmax import selection as package
from depmax.datasets import load
from depmax.selection import DependenceSelector
from tests.contracts.discovery import classes

FOUND = classes(package, DependenceSelector)


def mixed(seed: int, n_rows: int = 400) -> pd.DataFrame:
    """Numbers, numbers of few values and categories, most of them of one of three sources."""
    rng = np.random.default_rng(seed)
    frame = {}
    for source in range(3):
        hidden = rng.normal(size=n_rows)
        for kind in range(4):
            noisy = hidden + rng.uniform(0.05, 2.0) * rng.normal(size=n_rows)
            if kind == 1:
                noisy = np.round(noisy)
            if kind > 1:
                n_levels = int(rng.integers(2, 8))
                codes = pd.qcut(noisy, n_levels, labels=False)
                noisy = pd.Categorical(rng.permutation(list("abcdefgh"))[codes])  # no order
            frame[f"s{source}k{kind}"] = noisy
    return pd.DataFrame(frame)


def share(dropped: pd.Series, kept: pd.Series) -> float:
    """Part of the variance of a column that least squares on another explains, beyond chance."""
    is_code = dropped.dtype == "category"
    answer = pd.get_dummies(dropped, dtype=float).to_numpy() if is_code else rankdata(dropped)
    if kept.dtype == "category":
        inputs = pd.get_dummies(kept, dtype=float).to_numpy()
    elif is_code:
        few = kept.nunique() <= 20
        inputs = pd.get_dummies(kept if few else pd.qcut(kept, 10), dtype=float).to_numpy()
    else:
        inputs = rankdata(kept)
    answer = answer.reshape(len(dropped), -1) - answer.mean(axis=0)
    inputs = inputs.reshape(len(kept), -1) - inputs.mean(axis=0)
    left = answer - inputs @ np.linalg.lstsq(inputs, answer)[0]
    n, rank = len(inputs), np.linalg.matrix_rank(inputs)
    return float(1 - (left**2).sum() / (answer**2).sum() * (n - 1) / (n - 1 - rank))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", sorted(FOUND))
def test_the_column_that_explains_most_is_named(name: str, seed: int) -> None:
    frame = mixed(seed)
    y = (frame["s0k0"] + frame["s1k0"] + 0.3 * frame["s2k0"] > 0).to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            selector = FOUND[name](5).fit(frame, y)
        except TypeError as error:
            if "categorical" not in str(error):
                raise
            pytest.skip("reads numbers only")
    kept = np.flatnonzero(selector.support_)
    for column in np.flatnonzero(~selector.support_):
        shares = [share(frame.iloc[:, column], frame.iloc[:, other]) for other in kept]
        expected = kept[int(np.argmax(shares))] if max(shares, default=0.0) >= 0.25 else -1
        assert selector.substitutes_[column] == expected, (column, shares)


def test_marital_status_is_replaced_by_relationship() -> None:
    adult = load("adult_sample")
    frame = pd.DataFrame(adult.X, columns=adult.feature_names)
    frame = frame[["marital-status", "relationship", "age"]].astype({"age": float})
    selector = KernelRidgeElimination(2).fit(frame, adult.y)
    assert selector.redundant_columns() == {"relationship": ["marital-status"], "age": []}


def test_a_category_that_follows_from_a_number_is_replaced_by_it() -> None:
    rng = np.random.default_rng(0)
    age, noise = rng.uniform(20, 80, size=(2, 500))
    frame = pd.DataFrame(
        {"age": age, "noise": noise, "decade": (age // 10).astype(int).astype(str)}
    )
    selector = KernelRidgeElimination(2).fit(frame, age + 2.0 * noise)
    assert selector.redundant_columns() == {"noise": [], "age": ["decade"]}
