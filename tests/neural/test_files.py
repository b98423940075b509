"""Fitted networks in model files: as they were, and never more than the file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: run make test-neural")

import torch
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from depmax import load_model, save_model
from depmax.neural import Autoencoder, FullBatch, MiniBatch, NeuroHBFE, NeuroHSCA, NeuroStructure
from depmax.persistence import ModelFileError

pytestmark = pytest.mark.filterwarnings("ignore")  # networks of few steps, which do not converge

X = np.random.default_rng(0).normal(size=(20, 4))
y = (X[:, 0] > 0).astype(int)
FEW: dict[str, Any] = {"hidden_layers": (4,), "random_state": 0}
QUICK = FullBatch(max_iter=5, n_hops=0)


@pytest.mark.parametrize(
    "model",
    [
        Autoencoder(2, solver=QUICK, **FEW),
        Autoencoder(2, solver=QUICK, tied_weights=True, **FEW),
        Autoencoder(2, solver=QUICK, supervised=True, **FEW),
        NeuroHBFE(2, solver=MiniBatch(max_epochs=2), **FEW),
        NeuroHSCA(2, solver=QUICK, **FEW),
        NeuroStructure(1, solver=QUICK, **FEW),
    ],
    ids=repr,
)
def test_every_network_comes_back(model: Any, tmp_path: Path) -> None:
    fitted = make_pipeline(StandardScaler(), model).fit(X, y)
    features = fitted.transform(X)
    save_model(fitted, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.transform(X), features)
    np.testing.assert_array_equal(fitted.transform(X), features)  # saving changed nothing
    if hasattr(model, "inverse_transform"):
        back = fitted[-1].inverse_transform(features)
        np.testing.assert_array_equal(again[-1].inverse_transform(features), back)


def test_a_module_of_the_user_is_given_again(tmp_path: Path) -> None:
    module = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
    model = NeuroHBFE(2, module=module, solver=QUICK, random_state=0).fit(X, y)
    features = model.transform(X)
    with pytest.raises(TypeError, match="cannot be saved"):
        save_model(model, tmp_path / "model.skops")
    save_model(model.set_params(module=None), tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    with pytest.raises(ValueError, match=r"model\.set_params\(module=…\)"):
        again.transform(X)
    again.set_params(module=module)
    np.testing.assert_array_equal(again.transform(X), features)


@pytest.mark.parametrize(
    "changes",
    [
        {"hidden_layers": (40_000, 40_000)},
        {"hidden_layers": (1,) * 10_000},
        {"n_components": 10**9},
        {"activation": "red"},
        {"_basis": np.zeros(0)},
        {"_mean": np.zeros(10**5)},
    ],
)
def test_weights_that_do_not_fit_are_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    model = Autoencoder(2, solver=QUICK, **FEW).fit(X)
    vars(model).update(changes)
    save_model(model, tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match=r"model\.skops cannot be loaded"):
        load_model(tmp_path / "model.skops")
