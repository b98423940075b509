"""Fitted networks as files of plain arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from depmax._inputs import read_fit, read_new


@dataclass(frozen=True)
class Encoding:
    """What ``fit`` learnt about the columns."""

    n_levels: Mapping[int, int]  # of categorical columns, by position
    mean: np.ndarray  # of the encoded columns, shape (D,)
    scale: np.ndarray  # standard deviations, 1 where there is none

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Encoded rows of shape (m, D), in float64."""
        standard: np.ndarray = (one_hot(rows, self.n_levels) - self.mean) / self.scale
        return standard


def one_hot(rows: np.ndarray, n_levels: Mapping[int, int]) -> np.ndarray:
    """Numeric columns, then one column per level of every categorical one."""
    numeric = [column for column in range(rows.shape[1]) if column not in n_levels]
    parts = [np.asarray(rows[:, numeric], dtype=np.float64)]
    for column in sorted(n_levels):
        parts.append(rows[:, column, np.newaxis] == np.arange(n_levels[column]))
    return np.hstack(parts).astype(np.float64)


def fit_encoding(estimator: Any, X: Any) -> tuple[np.ndarray, Encoding, np.dtype]:
    """Encoded training rows, the encoding and the precision of X."""
    rows, estimator.categories_ = read_fit(estimator, X)
    n_levels = {column: len(levels) for column, levels in estimator.categories_.items()}
    values = one_hot(rows, n_levels)
    mean, scale = values.mean(axis=0), values.std(axis=0)
    # What rounding leaves of a constant column is no variance.
    scale[scale <= 1e-12 * np.abs(mean)] = 1.0
    encoding = Encoding(n_levels, mean, np.where(scale == 0.0, 1.0, scale))
    return encoding(rows), encoding, _precision(rows)


def read_encoded(estimator: Any, X: Any, encoding: Encoding) -> tuple[np.ndarray, np.dtype]:
    """Encoded new rows and their precision."""
    rows = read_new(estimator, X, categories=estimator.categories_)
    return encoding(rows), _precision(rows)


def _precision(rows: np.ndarray) -> np.dtype:
    return np.dtype(np.float32 if rows.dtype == np.float32 else np.float64)


#: Parameters that are objects: not part of a file.
_OBJECTS = ("module", "solver", "random_state", "target_kernel", "graph")
_VERSION = 2


def write_file(model: Any, path: str | Path) -> None:
    """Write weights, encoding and parameters of a fitted extractor."""
    parameters = model.get_params(deep=False)
    plain = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in parameters.items()
        if name not in _OBJECTS or isinstance(value, str | int | None)
    }
    about: dict[str, Any] = {
        "version": _VERSION,
        "class": type(model).__name__,
        "parameters": plain,
        "own_module": model.module is not None,
        "n_features_in": model.n_features_in_,
        "names": [str(name) for name in getattr(model, "feature_names_in_", ())],
        "categories": {str(c): list(levels) for c, levels in model.categories_.items()},
    }
    arrays = {
        "mean": model._encoding.mean,
        "scale": model._encoding.scale,
        "offset": model._offset,
        "basis": model._basis,
    }
    networks: dict[Any, Any] = dict(enumerate(model._modules))
    if hasattr(model, "decoder_"):
        networks["decoder"] = model.decoder_
        about["n_outputs"] = int([*model.decoder_.parameters()][-1].shape[0])
    for number, module in networks.items():
        for name, tensor in module.state_dict().items():
            arrays[f"weights/{number}/{name}"] = tensor.detach().cpu().numpy()
    arrays["about"] = np.array(json.dumps(about))
    with Path(path).open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_file(cls: Any, path: str | Path, module: Any) -> Any:
    """A fitted extractor from a file."""
    with np.load(path, allow_pickle=False) as arrays:
        if "about" not in arrays:
            raise ValueError(f"{path} was not written by the save method of a neural extractor.")
        about = json.loads(str(arrays["about"]))
        contents = {name: arrays[name] for name in arrays.files if name != "about"}
    if about["version"] != _VERSION:
        raise ValueError(
            f"{path} has format {about['version']}, this version of depmax reads {_VERSION}: fit "
            "the extractor again."
        )
    if about["class"] != cls.__name__:
        raise ValueError(f"{path} holds a {about['class']}: use {about['class']}.load.")
    if about["own_module"] and module is None:
        raise ValueError(f"{path} holds the weights of a module of your own: pass module=.")
    parameters = about["parameters"]
    if isinstance(parameters.get("hidden_layers"), list):
        parameters["hidden_layers"] = tuple(parameters["hidden_layers"])
    if about["own_module"]:
        parameters["module"] = module
    model = cls(**parameters)
    model.n_features_in_ = about["n_features_in"]
    if about["names"]:
        model.feature_names_in_ = np.array(about["names"], dtype=object)
    model.categories_ = {int(c): tuple(levels) for c, levels in about["categories"].items()}
    n_levels = {column: len(levels) for column, levels in model.categories_.items()}
    model._encoding = Encoding(n_levels, contents["mean"], contents["scale"])
    model.device_ = "cpu"
    modules = model._empty_modules(len(contents["mean"]))
    networks: dict[Any, Any] = dict(enumerate(modules))
    if "n_outputs" in about:
        model.decoder_ = model._empty_decoder(modules[0], len(contents["mean"]), about["n_outputs"])
        networks["decoder"] = model.decoder_.eval()
    for number, network in networks.items():
        _fill(network, contents, f"weights/{number}/")
    model._keep(modules, contents["offset"], contents["basis"])
    return model


def _fill(network: Any, contents: dict[str, np.ndarray], prefix: str) -> None:
    """Put weights into a network, in their own precision."""
    weights = {
        name.removeprefix(prefix): torch.as_tensor(value)
        for name, value in contents.items()
        if name.startswith(prefix)
    }
    floating = [tensor.dtype for tensor in weights.values() if tensor.is_floating_point()]
    network.to(floating[0]).load_state_dict(weights)
