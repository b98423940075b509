"""No option without effect: each changes the features, or is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: run make test-neural")

from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from depmax import NeighborGraph, load_model, save_model
from depmax.neural import Autoencoder, FullBatch, MiniBatch, NeuroHBFE, NeuroHSCA

QUICK = FullBatch(max_iter=6, n_hops=0)
ACTIVATIONS = ("tanh", "relu", "gelu", "sigmoid", "linear")
rng = np.random.default_rng(0)
#: Few steps are worse than PCA, and say so.
pytestmark = pytest.mark.filterwarnings("ignore:Autoencoder reconstructs X no better")
X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4))
y = X[:, 0] ** 2 + X[:, 1]
#: Options that say where and how loudly to compute, not what.
SILENT = {"device", "verbose"}
TANH = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 2))
ONE = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
DEPENDENCE: dict[str, Any] = {  # another value, and what must accompany both values
    "n_components": (1, {}),
    "hidden_layers": ((5,), {}),
    "activation": ("relu", {}),
    "module": (TANH, {}),
    "target_kernel": ("linear", {}),
    "feature_kernel": ("linear", {}),
    "unbiased": (False, {}),
    "beta": (0.3, {}),
    "graph": (NeighborGraph(3), {"beta": 0.5}),
    "unlabeled": (None, {"beta": 0.5}),
    "weight_decay": (0.1, {}),
    "solver": (MiniBatch(max_epochs=2), {}),
    "validation_fraction": (0.4, {}),
    "random_state": (1, {}),
}
OPTIONS: dict[Any, dict[str, Any]] = {
    NeuroHBFE: DEPENDENCE,
    NeuroHSCA: {**DEPENDENCE, "alpha": (2.0, {}), "module": (ONE, {})},
    Autoencoder: {
        "n_components": (1, {}),
        "hidden_layers": ((5,), {}),
        "activation": ("relu", {}),
        "code_activation": ("linear", {"hidden_layers": (5,)}),
        "tied_weights": (True, {}),
        "n_init": (8, {}),
        "noise": (0.5, {}),
        "supervised": (True, {}),
        "weight_decay": (0.1, {}),
        "solver": (MiniBatch(max_epochs=2), {}),
        "validation_fraction": (0.4, {}),
        "random_state": (1, {}),
    },
}
CASES = [(cls, option) for cls, options in OPTIONS.items() for option in options]


def features(cls: Any, target: Any = y, **options: Any) -> np.ndarray:
    settings = {"solver": QUICK, "random_state": 0, **options}
    return cls(**settings).fit(X, target).transform(X)


@pytest.mark.parametrize("cls", OPTIONS)
def test_every_option_is_listed(cls):
    assert set(cls().get_params()) - SILENT == set(OPTIONS[cls])


@pytest.mark.parametrize(("cls", "option"), CASES, ids=lambda item: getattr(item, "__name__", item))
def test_every_option_changes_the_features(cls, option):
    value, company = OPTIONS[cls][option]
    target = np.where(np.arange(60) % 3, (y > 0).astype(int), -1) if option == "unlabeled" else y
    plain = features(cls, target, **company)
    changed = features(cls, target, **company, **{option: value})
    assert plain.shape != changed.shape or np.abs(plain - changed).max() > 1e-6


@pytest.mark.parametrize("supervised", [False, True])
@pytest.mark.parametrize("hidden_layers", [(), (5,)])
@pytest.mark.parametrize("option", ["activation", "code_activation"])
def test_every_activation_differs(option, hidden_layers, supervised):
    if option == "code_activation" and not hidden_layers:
        with pytest.raises(ValueError, match=r"activation='tanh' .*no effect"):
            features(Autoencoder, code_activation="relu")
        return
    company = {"hidden_layers": hidden_layers, "supervised": supervised}
    found = [features(Autoencoder, **company, **{option: name}) for name in ACTIVATIONS]
    for number, one in enumerate(found):
        assert all(np.abs(one - other).max() > 1e-6 for other in found[:number])


@pytest.mark.parametrize("cls", [NeuroHBFE, NeuroHSCA])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_an_activation_needs_a_hidden_layer(cls, activation):
    if activation != "linear":
        with pytest.raises(ValueError, match=f"activation='{activation}' of .* has no effect"):
            features(cls, hidden_layers=(), activation=activation)
        return
    found = features(cls, hidden_layers=(), activation="linear")
    design = np.column_stack([np.ones(60), X])
    rest = found - design @ np.linalg.lstsq(design, found, rcond=None)[0]
    np.testing.assert_allclose(rest, 0.0, atol=1e-6)


@pytest.mark.parametrize(
    ("cls", "options", "message"),
    [
        (NeuroHBFE, {"module": TANH, "hidden_layers": (5,)}, r"hidden_layers=\(5,\) of NeuroHBFE"),
        (NeuroHSCA, {"module": ONE, "activation": "relu"}, "activation='relu' of NeuroHSCA"),
        (NeuroHBFE, {"graph": "gaussian"}, "graph='gaussian' of NeuroHBFE .* beta=0"),
        (Autoencoder, {"tied_weights": True, "supervised": True}, "tied_weights=True"),
    ],
)
def test_options_without_effect_are_refused(cls, options, message):
    with pytest.raises(ValueError, match=f"{message}.*has no effect|{message}"):
        features(cls, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"code_activation": "step"}, "code_activation of Autoencoder must be None, '"),
        ({"n_init": 0}, "n_init of Autoencoder must be an integer >= 1"),
    ],
)
def test_unknown_values(options, message):
    with pytest.raises(ValueError, match=message):
        features(Autoencoder, **options)


@pytest.mark.parametrize("supervised", [False, True])
@pytest.mark.parametrize("tied_weights", [False, True])
@pytest.mark.parametrize(
    ("activation", "sigma"),
    [("tanh", np.tanh), ("sigmoid", lambda z: 1 / (1 + np.exp(-z))), ("relu", lambda z: z.clip(0))],
)
def test_one_hidden_layer_is_sigma_of_wx(activation, sigma, tied_weights, supervised, tmp_path):
    """Features are σ(Wx + b) turned to principal axes, rebuilt as W'σ + c with W' free or Wᵀ."""
    if supervised and tied_weights:
        return
    model = Autoencoder(
        2,
        activation=activation,
        tied_weights=tied_weights,
        supervised=supervised,
        solver=QUICK,
        random_state=0,
    ).fit(X, y)
    layer = next(part for part in model.module_ if isinstance(part, torch.nn.Linear))
    W, b = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    expected = sigma(StandardScaler().fit_transform(X) @ W.T + b)
    turned = PCA().fit_transform(expected)
    found = model.transform(X)
    np.testing.assert_allclose(found * np.sign((found * turned).sum(axis=0)), turned, atol=1e-8)
    save_model(model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    if supervised:
        return
    rows = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(again.inverse_transform(model.transform(X)), rows)
    if tied_weights:
        (c,) = (p.detach().numpy() for p in model.decoder_.parameters())
        np.testing.assert_allclose(rows, (expected @ W + c) * X.std(axis=0) + X.mean(axis=0))


def test_tied_weights_in_a_deep_network():
    free, tied = (
        Autoencoder(2, hidden_layers=(6, 4), tied_weights=tied, solver=QUICK, random_state=0).fit(X)
        for tied in (False, True)
    )

    def n_parameters(model):
        return sum(p.numel() for m in (model.module_, model.decoder_) for p in m.parameters())

    assert n_parameters(free) - n_parameters(tied) == 4 * 6 + 6 * 4 + 4 * 2
    assert tied.loss_ < 1.0
