"""What the neural extractors share: inputs, devices, features, files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from depmax._inputs.parameters import check_parameters, integer, number, one_of
from depmax.neural._files import Encoding, fit_encoding, read_encoded, read_file, write_file
from depmax.neural._networks import ACTIVATIONS, LAYERS, MODULE, as_device
from depmax.neural.solvers import Training
from depmax.samples import slices

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
            hint="a network is trained for one number of outputs, and those of fewer are not the "
            "first of these",
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

    def _check_parameters(self) -> None:
        """Refuse parameters that are not as declared, or do not go together."""
        check_parameters(self)


def upward(features: np.ndarray) -> np.ndarray:
    """+1 or -1 for each column of mean zero, so that its longer tail becomes positive."""
    flips = np.sign((features * np.abs(features)).sum(axis=0))
    return np.where(flips == 0, 1.0, flips)
