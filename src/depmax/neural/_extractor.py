"""What the neural extractors share: perceptrons, encoded columns, features."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from scipy import linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from depmax._parameters import Rule, check_parameters, integer, is_whole, number, one_of
from depmax._resources import slices
from depmax._warnings import warn_caller
from depmax.data import Target, read_fit, read_new
from depmax.neural.solvers import Training, as_solver

ACTIVATIONS = {
    "tanh": torch.nn.Tanh,
    "relu": torch.nn.ReLU,
    "gelu": torch.nn.GELU,
    "sigmoid": torch.nn.Sigmoid,
    "linear": torch.nn.Identity,
}


def perceptron(sizes: Sequence[int], activation: str, last: str = "linear") -> Any:
    """Linear layers of the given widths with activations between them, and one at the end."""
    layers = [torch.nn.Linear(inputs, outputs) for inputs, outputs in pairwise(sizes)]
    return with_activations(layers, activation, last)


def with_activations(layers: Sequence[Any], activation: str, last: str = "linear") -> Any:
    """A network of given layers with activations between them, and one at the end."""
    parts: list[Any] = []
    for layer in layers:
        parts += [layer, ACTIVATIONS[activation]()]
    parts[-1:] = [] if last == "linear" else [ACTIVATIONS[last]()]
    return torch.nn.Sequential(*parts)


def fresh_copy(module: Any, number: int) -> Any:
    """A copy of a user's module; copies after the first begin with other weights."""
    twin = copy.deepcopy(module)
    if number > 0:
        for part in twin.modules():
            if hasattr(part, "reset_parameters"):
                part.reset_parameters()
    return twin


@contextmanager
def seeded(rng: np.random.RandomState) -> Iterator[None]:
    """Let torch's own random numbers follow from ``rng``, and leave the user's untouched."""
    with torch.random.fork_rng():
        torch.manual_seed(int(rng.randint(2**31 - 1)))
        yield


def one_hot(rows: np.ndarray, categories: Mapping[int, Sequence[Any]]) -> np.ndarray:
    """Numeric columns, then one column per level of every categorical one, in float64."""
    numeric = [column for column in range(rows.shape[1]) if column not in categories]
    parts = [np.asarray(rows[:, numeric], dtype=np.float64)]
    for column in sorted(categories):
        parts.append(rows[:, column, np.newaxis] == np.arange(len(categories[column])))
    return np.hstack(parts).astype(np.float64)


def require_two_values(target: Target, consequence: str) -> None:
    """Refuse a target that is constant."""
    if target.is_constant:
        raise ValueError(
            f"y has one class only or is constant ({target.values[0]!r}): {consequence}. At least "
            "two values are needed."
        )


#: Rows of which outputs are computed at once.
CHUNK = 8192


@dataclass(eq=False, repr=False)
class NeuralExtractor(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the neural extractors: a subclass implements ``fit`` and ``_networks``.

    Features are (outputs - offset) @ basis: the outputs of one or more networks side by side, made
    to have mean zero on the training rows.
    """

    n_components: int = 2
    _: KW_ONLY
    hidden_layers: tuple[int, ...] = (32,)
    activation: str = "tanh"
    weight_decay: float = 1e-4
    solver: Any = "auto"
    validation_fraction: float = 0.15
    device: Any = "auto"
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0
    supervised = True  # whether fit reads y; a parameter of Autoencoder alone

    _declared: ClassVar = {
        "n_components": integer(
            1,
            hint=(
                "a network is trained for a fixed number of outputs, and a smaller one does not "
                "give the first of these"
            ),
        ),
        "hidden_layers": Rule(
            lambda sizes: (
                isinstance(sizes, Sequence) and all(is_whole(n) and n >= 1 for n in sizes)
            ),
            "a sequence of integers >= 1",
        ),
        "activation": one_of(*ACTIVATIONS),
        "weight_decay": number(0),
        "validation_fraction": number(0, 1, ends="[)"),
    }

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
        rows = read_new(self, X, categories=self.categories_)
        inputs = (one_hot(rows, self.categories_) - self._mean) / self._scale
        features = (self._outputs(inputs) - self._offset) @ self._basis
        return features.astype(np.float32 if rows.dtype == np.float32 else np.float64, copy=False)

    def __getstate__(self) -> dict[str, Any]:
        """Networks as arrays, which any file can hold; those of ``module`` as they are."""
        state = dict(super().__getstate__())
        if "_modules" not in state or getattr(self, "module", None) is not None:
            return state
        weights = _named(state.pop("_modules"), state.pop("decoder_", None)).state_dict()
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in weights.items()}
        return state | {"_weights": arrays}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Build the networks again, unless the user's module is still to come."""
        super().__setstate__(state)
        if "_weights" in state and not self._of_user:
            self._build()

    def __sklearn_tags__(self) -> Any:
        """Numbers in, float32 kept; targets of all types."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.target_tags.required = bool(self.supervised)
        tags.target_tags.one_d_labels = bool(self.supervised)
        tags.target_tags.two_d_labels = tags.target_tags.multi_output = True
        return tags

    @property
    def module_(self) -> Any:
        """The trained network, or a list of one network per feature."""
        check_is_fitted(self)
        modules = self._trained
        return modules[0] if len(modules) == 1 else modules

    # --- what a subclass implements -------------------------------------------------------------
    def _networks(self, n_inputs: int) -> list[Any]:
        """Networks that are not trained yet."""
        raise NotImplementedError

    def _decoder(self, encoder: Any, n_outputs: int) -> Any:
        """The way back from features, which only autoencoders have."""
        return None

    def _check_parameters(self) -> None:
        """Refuse parameters that are not as declared, or that contradict each other."""
        check_parameters(self)
        as_solver(self.solver, 0, type(self).__name__)

    # --- what it inherits -----------------------------------------------------------------------
    def _read(self, X: Any) -> np.ndarray:
        """Training rows as networks see them: standardised, of shape (m, D)."""
        rows, self.categories_ = read_fit(self, X)
        values = one_hot(rows, self.categories_)
        self._mean, scale = values.mean(axis=0), values.std(axis=0)
        # What rounding leaves of a constant column is no variance.
        self._scale = np.where(scale <= 1e-12 * np.abs(self._mean), 1.0, scale)
        inputs: np.ndarray = (values - self._mean) / self._scale
        if self.n_components > min(inputs.shape):
            raise ValueError(
                f"n_components={self.n_components} of {type(self).__name__} is more than the "
                f"number of rows or columns: n_samples = {inputs.shape[0]}, n_features = "
                f"{inputs.shape[1]}."
            )
        device = self.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        self.device_ = str(torch.device(device))
        return inputs

    def _tensor(self, values: np.ndarray, solver: Any) -> Any:
        return torch.as_tensor(values, dtype=solver.dtype, device=self.device_)

    def _outputs(self, inputs: np.ndarray) -> np.ndarray:
        """Outputs of all networks side by side, of shape (m, k), in float64."""
        parts = []
        with torch.no_grad():
            for module in self._trained:
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

    @property
    def _trained(self) -> list[Any]:
        """The networks; of a model from a file, built at their first use."""
        if "_modules" not in vars(self):
            if getattr(self, "module", None) is None:
                raise ValueError(
                    f"This {type(self).__name__} holds the weights of a module of your own, which "
                    "files do not hold: give it the module, model.set_params(module=…)."
                )
            self._build()
        return self._modules

    def _build(self) -> None:
        """Networks from their weights, which must be those that the parameters describe."""
        weights, basis = self._weights, self._basis
        sizes = self.hidden_layers or ()
        if int(self.n_components) > max(basis.shape) or len(sizes) > len(weights):
            raise ValueError("there are fewer weights than the parameters describe")
        if self.device_ != "cpu" and not torch.cuda.is_available():
            self.device_ = "cpu"
        # without memory: sizes that a file names may be anything, those of the weights are there
        with nullcontext() if self._of_user else torch.device("meta"):
            modules = self._networks(len(self._mean))
            decoder = self._decoder(modules[0], len(weights.get("decoder.0.bias", ())))
        tensors = {name: torch.as_tensor(value) for name, value in weights.items()}
        _named(modules, decoder).load_state_dict(tensors, assign=True)  # in their own precision
        if decoder is not None:
            self.decoder_ = decoder.to(self.device_).eval()
        self._keep([module.to(self.device_) for module in modules], self._offset, basis)
        del self._weights

    def _keep(self, modules: list[Any], offset: np.ndarray, basis: np.ndarray) -> None:
        self._modules = [module.eval() for module in modules]
        self._offset, self._basis = offset, basis
        self._n_features_out = basis.shape[1]
        self._of_user = getattr(self, "module", None) is not None

    def _report(self, training: Training) -> None:
        if training.problem:
            warn_caller(
                f"{type(self).__name__} did not converge; the best weights found are kept: "
                f"{training.problem}.",
                ConvergenceWarning,
            )

    def _warn_of_constant(self, count: int) -> None:
        """Warn of this many features that carry nothing of their own."""
        if count:
            warn_caller(
                f"{count} of n_components={self.n_components} features of {type(self).__name__} "
                "are constant or repeat others: units of the network no longer respond to X. Try "
                "another random_state, activation='tanh', wider hidden_layers or fewer "
                "n_components.",
                ConvergenceWarning,
            )


def _named(modules: list[Any], decoder: Any) -> Any:
    """All networks of a model, which name its weights in a file."""
    named = {str(number): module for number, module in enumerate(modules)}
    if decoder is not None:
        named["decoder"] = decoder
    return torch.nn.ModuleDict(named)


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
