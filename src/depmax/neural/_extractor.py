"""What the neural extractors share: inputs, devices, features, files of plain arrays."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self
from zipfile import ZipFile

import numpy as np
import torch
from scipy import linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from depmax._files import DamagedArchiveError, replacing, require_sealed, require_sizes, seal
from depmax._limits import FileTooLargeError, max_memory
from depmax._parameters import check_parameters, integer, number, one_of
from depmax._threads import slices
from depmax.data import read_fit, read_new
from depmax.neural._networks import ACTIVATIONS, LAYERS, MODULE, as_device
from depmax.neural.solvers import Training


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
    for kind, module in networks.items():
        for name, tensor in module.state_dict().items():
            arrays[f"weights/{kind}/{name}"] = tensor.detach().cpu().numpy()
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
    for kind, network in networks.items():
        _fill(network, contents, f"weights/{kind}/")
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


#: Rows of which outputs are computed at once.
CHUNK = 8192


class NeuralExtractor(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the neural extractors: a subclass implements ``fit`` and ``_empty_modules``.

    Features are (outputs - offset) @ basis: the outputs of one or more networks side by side, made
    to have mean zero on the training rows.
    """

    n_components: Any
    hidden_layers: Any
    activation: Any
    module: Any
    weight_decay: Any
    validation_fraction: Any
    device: Any
    _declared: ClassVar = {
        "n_components": integer(
            1,
            hint=(
                "a network is trained for a fixed number of outputs, and a smaller one does not "
                "give the first of these"
            ),
        ),
        "hidden_layers": LAYERS,
        "activation": one_of(*ACTIVATIONS),
        "module": MODULE,
        "weight_decay": number(0),
        "validation_fraction": number(0, 1, ends="[)"),
    }

    _modules: list[Any]
    _encoding: Encoding
    _n_features_out: int

    def transform(self, X: Any) -> np.ndarray:
        """Features of new rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        inputs, dtype = read_encoded(self, X, self._encoding)
        features = (self._outputs(inputs) - self._offset) @ self._basis
        return features.astype(dtype, copy=False)

    def save(self, path: str | Path) -> None:
        """Write the fitted extractor to a file of plain arrays (npz), without pickle.

        Parameters
        ----------
        path : str or Path
            A module of your own is not written, only its weights.
        """
        check_is_fitted(self)
        write_file(self, path)

    @classmethod
    def load(cls, path: str | Path, *, module: Any = None) -> Self:
        """Read what ``save`` wrote; nothing in the file is executed.

        Parameters
        ----------
        path : str or Path
        module : torch.nn.Module, optional
            The module that was trained, if it was one of your own.
        """
        return read_file(cls, path, module)

    def __sklearn_tags__(self) -> Any:
        """Numbers in, float32 kept."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        return tags

    # --- what a subclass implements -------------------------------------------------------------
    def _empty_modules(self, n_inputs: int) -> list[Any]:
        """Modules of the right shapes, for weights that come from a file."""
        raise NotImplementedError

    # --- what it inherits -----------------------------------------------------------------------
    @property
    def module_(self) -> Any:
        """The trained network, or a list of one network per feature."""
        check_is_fitted(self)
        return self._modules[0] if len(self._modules) == 1 else self._modules

    def _read(self, X: Any) -> np.ndarray:
        """Encoded training rows."""
        inputs, self._encoding, _ = fit_encoding(self, X)
        limit = min(inputs.shape)
        if self.n_components > limit:
            raise ValueError(
                f"n_components={self.n_components} of {type(self).__name__} is more than the "
                f"number of rows or columns: n_samples = {inputs.shape[0]}, n_features = "
                f"{inputs.shape[1]}."
            )
        self.device_ = str(as_device(self.device))
        return inputs

    def _outputs(self, inputs: np.ndarray) -> np.ndarray:
        """Outputs of all networks side by side, of shape (m, k), in float64."""
        parts = []
        with torch.no_grad():
            for module in self._modules:
                dtype = next(module.parameters()).dtype
                tensor = torch.as_tensor(inputs, dtype=dtype)
                blocks = [
                    module(tensor[rows].to(self.device_)).cpu().numpy().astype(np.float64)
                    for rows in slices(len(inputs), CHUNK)
                ]
                parts.append(np.concatenate(blocks))
        outputs = np.hstack(parts)
        if not np.isfinite(outputs).all():
            raise ValueError(f"The outputs of the network of {type(self).__name__} are not finite.")
        return outputs

    def _keep(self, modules: list[Any], offset: np.ndarray, basis: np.ndarray) -> None:
        self._modules = [module.eval() for module in modules]
        self._offset, self._basis = offset, basis
        self._n_features_out = basis.shape[1]

    def _report(self, training: Training) -> None:
        if training.problem:
            warnings.warn(
                f"{type(self).__name__} did not converge; the best weights found are kept: "
                f"{training.problem}.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _warn_of_constant(self, count: int) -> None:
        """Warn of this many features that carry nothing of their own."""
        if count:
            name = type(self).__name__
            warnings.warn(
                f"{count} of n_components={self.n_components} features of {name} are constant or "
                "repeat others: units of the network no longer respond to X. Try another "
                "random_state, activation='tanh', wider hidden_layers or fewer n_components.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _check_parameters(self) -> None:
        """Refuse parameters that are not as declared, or that contradict each other."""
        check_parameters(self)


#: Deviation along a direction, relative to the size of features, that is taken for none.
CONSTANT = 1e-4


def n_constant(features: np.ndarray, size: float = 1.0) -> int:
    """Number of orthogonal directions in which features of this size do not vary."""
    covariance = np.atleast_2d(np.cov(features, rowvar=False, bias=True))
    return int((linalg.eigvalsh(covariance) <= (CONSTANT * size) ** 2).sum())


def upward(features: np.ndarray) -> np.ndarray:
    """+1 or -1 for each column of mean zero, so that its longer tail becomes positive."""
    flips = np.sign((features * np.abs(features)).sum(axis=0))
    return np.where(flips == 0, 1.0, flips)
