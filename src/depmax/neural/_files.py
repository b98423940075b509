"""Files of fitted networks: plain arrays with a checksum, from which nothing is executed."""

from __future__ import annotations

import io
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import torch

from depmax._files import DamagedArchiveError, replacing, require_sealed, require_sizes, seal
from depmax._limits import FileTooLargeError, max_memory

#: Parameters that are objects: not part of a file.
_OBJECTS = ("module", "solver", "random_state", "target_kernel", "graph")
_VERSION = 2


def write_file(model: Any, path: str | Path) -> None:
    """Write weights, encoding and parameters of a fitted extractor."""
    networks = _networks(model, model._modules)
    about: dict[str, Any] = {
        "version": _VERSION,
        "class": type(model).__name__,
        "parameters": {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in model.get_params(deep=False).items()
            if name not in _OBJECTS or isinstance(value, str | int | None)
        },
        "own_module": getattr(model, "module", None) is not None,
        "n_features_in": model.n_features_in_,
        "names": [str(name) for name in getattr(model, "feature_names_in_", ())],
        "categories": {str(c): list(levels) for c, levels in model.categories_.items()},
    }
    arrays = {
        "about": np.array(json.dumps(about)),
        "mean": model._mean,
        "scale": model._scale,
        "offset": model._offset,
        "basis": model._basis,
    }
    for name, tensor in networks.state_dict().items():
        arrays["weights/" + name.replace(".", "/", 1)] = tensor.detach().cpu().numpy()
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
            f"{path} has format {about.get('version')}, but this version of depmax reads format "
            f"{_VERSION}: fit the extractor again."
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
    layers = parameters.get("hidden_layers") or ()
    if int(parameters["n_components"]) > max(contents["basis"].shape) or len(layers) > len(
        contents
    ):
        raise ValueError("there are fewer weights than it describes")
    model = cls(**parameters)
    model.n_features_in_, model.device_ = about["n_features_in"], "cpu"
    if about["names"]:
        model.feature_names_in_ = np.array(about["names"], dtype=object)
    model.categories_ = {int(c): tuple(levels) for c, levels in about["categories"].items()}
    model._mean, model._scale = contents["mean"], contents["scale"]
    # without memory: the sizes in the description may be anything, those of the weights are there
    with torch.device("meta") if not about["own_module"] else nullcontext():
        modules = model._networks(len(contents["mean"]))
        if "weights/decoder/0.bias" in contents:
            n_outputs = len(contents["weights/decoder/0.bias"])  # of a supervised one
            model.decoder_ = model._decoder(modules[0], n_outputs).eval()
    weights = {
        name.removeprefix("weights/").replace("/", ".", 1): torch.as_tensor(value)
        for name, value in contents.items()
        if name.startswith("weights/")
    }
    _networks(model, modules).load_state_dict(weights, assign=True)  # in their own precision
    model._keep(modules, contents["offset"], contents["basis"])
    return model


def _networks(model: Any, modules: list[Any]) -> Any:
    """All networks of a model, which name its weights in a file."""
    named = {str(number): module for number, module in enumerate(modules)}
    if hasattr(model, "decoder_"):
        named["decoder"] = model.decoder_
    return torch.nn.ModuleDict(named)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
