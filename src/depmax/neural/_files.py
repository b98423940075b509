"""Fitted networks as files of plain arrays."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import torch

from depmax._files import DamagedArchiveError, replacing, require_sealed, require_sizes, seal
from depmax._inputs import read_fit, read_new
from depmax._limits import FileTooLargeError, max_memory


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
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    with replacing(path) as temporary:
        temporary.write_bytes(seal(packed.getvalue()))


def read_file(cls: Any, path: str | Path, module: Any) -> Any:
    """A fitted extractor from a file."""
    path = Path(path)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise FileNotFoundError(f"The model file {path} {what}.")
    about, contents = _read_arrays(path)
    if about.get("version") != _VERSION:
        raise ValueError(
            f"{path} has format {about.get('version')}, this version of depmax reads {_VERSION}: "
            "fit the extractor again."
        )
    if about.get("class") != cls.__name__:
        raise ValueError(f"{path} holds a {about.get('class')}: use {about.get('class')}.load.")
    if about.get("own_module") and module is None:
        raise ValueError(f"{path} holds the weights of a module of your own: pass module=.")
    try:
        return _rebuilt(cls, about, contents, module)
    except Exception as error:  # contents that contradict each other raise anything
        raise ValueError(
            f"{path} is damaged: its weights do not fit its description ({_one_line(error)})."
        ) from error


def _read_arrays(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The description and the arrays of a file, after its checksum and its sizes."""
    try:
        require_sealed(path)
        with ZipFile(path) as archive:
            require_sizes(archive, path, max_memory())
        with np.load(path, allow_pickle=False) as arrays:
            contents = {name: arrays[name] for name in arrays.files}
        about = json.loads(str(contents.pop("about")))
        if not isinstance(about, dict):
            raise TypeError("its description is not a mapping")
    except (DamagedArchiveError, FileTooLargeError):
        raise
    except KeyError:
        raise ValueError(
            f"{path} was not written by the save method of a neural extractor."
        ) from None
    except Exception as error:  # numpy and zipfile raise many kinds
        reason = "it holds Python objects" if "pickle" in str(error) else _one_line(error)
        raise ValueError(f"{path} is not a file of a neural extractor: {reason}.") from None
    return about, contents


def _rebuilt(cls: Any, about: dict[str, Any], contents: dict[str, np.ndarray], module: Any) -> Any:
    parameters = about["parameters"]
    if isinstance(parameters.get("hidden_layers"), list):
        parameters["hidden_layers"] = tuple(parameters["hidden_layers"])
    if about["own_module"]:
        parameters["module"] = module
    size = max(contents["basis"].shape)
    layers = parameters.get("hidden_layers") or ()
    if int(parameters["n_components"]) > size or len(layers) > len(contents):
        raise ValueError("there are fewer weights than it describes")
    model = cls(**parameters)
    model.n_features_in_ = about["n_features_in"]
    if about["names"]:
        model.feature_names_in_ = np.array(about["names"], dtype=object)
    model.categories_ = {int(c): tuple(levels) for c, levels in about["categories"].items()}
    n_levels = {column: len(levels) for column, levels in model.categories_.items()}
    model._encoding = Encoding(n_levels, contents["mean"], contents["scale"])
    model.device_ = "cpu"
    # without memory: the sizes in the description may be anything, those of the weights are there
    with torch.device("meta") if not about["own_module"] else nullcontext():
        modules = model._empty_modules(len(contents["mean"]))
        networks: dict[Any, Any] = dict(enumerate(modules))
        if "n_outputs" in about:
            model.decoder_ = model._empty_decoder(
                modules[0], len(contents["mean"]), about["n_outputs"]
            )
            networks["decoder"] = model.decoder_.eval()
    for number, network in networks.items():
        _fill(network, contents, f"weights/{number}/")
    model._keep(modules, contents["offset"], contents["basis"])
    return model


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__


def _fill(network: Any, contents: dict[str, np.ndarray], prefix: str) -> None:
    """Put weights into a network, in their own precision."""
    weights = {
        name.removeprefix(prefix): torch.as_tensor(value)
        for name, value in contents.items()
        if name.startswith(prefix)
    }
    floating = [tensor.dtype for tensor in weights.values() if tensor.is_floating_point()]
    if any(part.is_meta for part in network.parameters()):
        network.load_state_dict(weights, assign=True)
    else:
        network.to(floating[0]).load_state_dict(weights)
