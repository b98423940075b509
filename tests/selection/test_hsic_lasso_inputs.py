"""What HSICLasso does with odd columns, frames and data that make no sense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from depmax.kernels import Columns, Gaussian, Subsequence
from depmax.selection.hsic_lasso import HSICLasso

rng = np.random.default_rng(0)
X = rng.normal(size=(240, 20))
NOISE = rng.normal(size=240)
Y = X[:, 3] + X[:, 7] ** 2


def best(selector: Any, count: int) -> list[int]:
    return np.argsort(selector.ranking_)[:count].tolist()


# --- odd columns ---


@pytest.mark.parametrize("size", [None, 30])
def test_constants_come_last_and_copies_before_them(size: int | None) -> None:
    odd = np.column_stack([np.full(240, 7.3), X[:, :6], 2 - 3 * X[:, 3], np.zeros(240)])
    selector = HSICLasso(4, block_size=size, random_state=0).fit(odd, X[:, 3] + 0.1 * NOISE)
    order = np.argsort(selector.ranking_)
    assert order[0] == 4
    assert order[-2:].tolist() == [0, 8]
    assert order[-3] == 7
    assert selector.substitutes_[7] == 4
    assert np.all(selector.scores_[[0, 7, 8]] == 0.0)
    assert np.isfinite(selector.coef_).all()


def test_heavy_tails_and_huge_numbers(rng: np.random.Generator) -> None:
    wild = np.column_stack([rng.standard_cauchy((240, 4)) * 1e30, X[:, 3]])
    selector = HSICLasso(2).fit(wild, X[:, 3])
    assert best(selector, 1) == [4]
    assert np.isfinite(selector.scores_).all()


# --- frames ---


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_with_categories(library: str) -> None:
    colour = np.where(X[:, 3] > 1, "red", np.where(X[:, 3] > 0, "blue", "green"))
    columns = {"a": X[:, 0], "colour": colour, "b": X[:, 1], "flag": X[:, 7] > 0}
    frame: Any
    if library == "pandas":
        frame = pd.DataFrame(columns).astype({"colour": "category"})
    else:
        frame = pl.DataFrame(columns).with_columns(pl.col("colour").cast(pl.Categorical))
    selector = HSICLasso(2).fit(frame, X[:, 3] + (X[:, 7] > 0))
    assert list(selector.get_feature_names_out()) == ["colour", "flag"]
    kept = selector.set_output(transform=library).transform(frame)
    assert list(kept.columns) == ["colour", "flag"]
    assert list(kept["colour"]) == list(frame["colour"])


# --- refused ---


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"n_features_to_select": 0}, "n_features_to_select"),
        ({"n_features_to_select": 21}, "n_features_to_select"),
        ({"n_features_to_select": "auto"}, "not supported"),
        ({"block_size": 3}, "block_size"),
        ({"n_permutations": 0}, "n_permutations"),
        ({"kernel": "precomputed"}, "precomputed"),
        ({"kernel": Subsequence()}, "Subsequence"),
        ({"kernel": Columns([("a", Gaussian(), [0])])}, "Columns"),
        ({"kernel": "gausian"}, "Did you mean"),
    ],
)
def test_parameters_that_make_no_sense(parameters: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        HSICLasso(**parameters).fit(X, Y)


def test_data_that_make_no_sense() -> None:
    with pytest.raises(TypeError, match="HSICLasso needs dense rows"):
        HSICLasso().fit(sparse.csr_array(X), Y)
    with pytest.raises(ValueError, match="one class"):
        HSICLasso().fit(X, np.ones(240, dtype=int))
    with pytest.raises(ValueError, match="contains NaN in column 2"):
        HSICLasso().fit(np.where(np.arange(20) == 2, np.nan, X), Y)
    with pytest.raises(ValueError, match="inconsistent"):
        HSICLasso().fit(X, Y[:-1])
    with pytest.raises(ValueError, match="n_samples = 3"):
        HSICLasso().fit(X[:3], [0, 1, 0])
    for size in (None, 40):
        with pytest.raises(ValueError, match="y is constant"):
            HSICLasso(target_kernel="gaussian", block_size=size).fit(X, np.zeros(240))
