"""HSICLasso against pyHSICLasso's answers, which tests/references/make_hsic_lasso.py stored.

Private modules: pyHSICLasso's blocks are drawn with its own seeds, which HSICLasso does not take.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from depmax.data.sample import read_target_sample
from depmax.kernels import Delta, Gaussian
from depmax.selection._lasso_designs import TileDesign, column_kernels
from depmax.selection.hsic_lasso import HSICLasso, nonnegative_path
from tests.references.make_hsic_lasso import LassoCase

FILE = Path(__file__).parents[1] / "references" / "hsic_lasso.json"
REFERENCES = json.loads(FILE.read_text())["values"]
WHOLE = [value for value in REFERENCES if not value["case"]["block_size"]]
BLOCKS = [value for value in REFERENCES if value["case"]["block_size"]]


def name(value: dict[str, Any]) -> str:
    return value["case"]["name"]


def target_kernel(case: LassoCase, y: np.ndarray) -> Any:
    """What pyHSICLasso compares targets with: y over its standard deviation, or 1/n of a class."""
    return Gaussian(float(np.std(y))) if case.numbers else Delta(weights="balanced")


@pytest.mark.parametrize("value", WHOLE, ids=name)
def test_selects_what_pyhsiclasso_selects(value: dict[str, Any]) -> None:
    case = LassoCase(**value["case"])
    X, y = case.read()
    n_features = len(value["order"])
    selector = HSICLasso(n_features, target_kernel=target_kernel(case, y)).fit(X, y)
    assert np.argsort(selector.ranking_)[:n_features].tolist() == value["order"]
    coef = np.zeros(X.shape[1])
    coef[[int(j) for j in value["coef"]]] = list(value["coef"].values())
    np.testing.assert_allclose(selector.coef_, coef, atol=2e-5)  # float32 there
    known = len(value["penalties"])
    np.testing.assert_allclose(selector.alphas_[:known], value["penalties"], atol=5e-5)


@pytest.mark.parametrize("value", BLOCKS, ids=name)
def test_the_same_blocks_give_the_same_selection(value: dict[str, Any]) -> None:
    case = LassoCase(**value["case"])
    X, y = case.read()
    index = np.arange(len(y))
    blocks = []
    for seed in range(case.n_permutations):  # as pyHSICLasso divides the samples
        index = np.random.RandomState(seed).permutation(index)
        blocks += np.split(index, len(y) // case.block_size)
    columns = column_kernels(X, {}, Gaussian(1.0))
    design = TileDesign(columns, read_target_sample(y, target_kernel(case, y)), blocks)
    path = nonnegative_path(design, len(value["order"]))
    assert path.active == value["order"]
    ours = path.coef[[int(j) for j in value["coef"]]]
    np.testing.assert_allclose(ours, list(value["coef"].values()), atol=2e-5)
    known = len(value["penalties"])
    np.testing.assert_allclose(path.penalties[:known], value["penalties"], atol=5e-5)
