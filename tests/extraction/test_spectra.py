"""RMSECV on published spectra, beside partial least squares as R's pls and scikit-learn have it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.model_selection import KFold, cross_val_predict

from depmax import KernelPLS
from depmax.datasets import load
from tests.extraction.pls_oracles import nipals, vip

FOLDER = os.environ.get("DEPMAX_DATA", "")
#: Components that are compared.
SIZES = {
    "tecator": 15,
    "gasoline_nir": 10,
    "wine_ir": 10,
    "orange_juice_nir": 12,
    "cookie_nir": 10,
    "yarn_nir": 6,
}


def spectra(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and numbers; of several outputs all."""
    if name == "tecator":
        meat = load(name)
        return meat.X, meat.y
    path = Path(FOLDER) / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip("DEPMAX_DATA names no folder with these spectra")
    table = pd.read_csv(path)
    is_target = table.columns.str.startswith(("target", "label_"))
    X, y = table.loc[:, ~is_target].to_numpy(), table.loc[:, is_target].to_numpy()
    return X, y[:, 0] if y.shape[1] == 1 else y


@pytest.mark.parametrize("name", sorted(SIZES))
def test_rmsecv_is_that_of_others(name: str) -> None:
    X, y = spectra(name)
    folds, count = KFold(10, shuffle=True, random_state=0), SIZES[name]
    found = KernelPLS().cross_validate(X, y, n_components=count, cv=folds)
    assert len(found.errors) == count
    predicted = np.empty((count, *y.shape))
    for train, test in folds.split(X):
        slow = nipals(X[train], y[train], count)
        for size in range(count):
            predicted[size, test] = slow.predict(X[test], size + 1).reshape(y[test].shape)
    spread = 1.0 if y.ndim == 1 else y.std(axis=0)
    errors = np.square((predicted - y) / spread).reshape(count, -1).mean(axis=1)
    np.testing.assert_allclose(found.errors, np.sqrt(errors), rtol=1e-3)
    model = PLSRegression(count, scale=False, tol=1e-12, max_iter=10_000)
    others = cross_val_predict(model, X, y, cv=folds).reshape(y.shape)
    np.testing.assert_allclose(
        found.errors[-1], np.sqrt(np.square((others - y) / spread).mean()), rtol=0.02
    )


@pytest.mark.parametrize("name", sorted(SIZES))
def test_vip_of_spectra_is_the_formula(name: str) -> None:
    X, y = spectra(name)
    model = KernelPLS(SIZES[name]).fit(X, y)
    np.testing.assert_allclose(model.vip_, vip(nipals(X, y, SIZES[name])), atol=1e-10)
