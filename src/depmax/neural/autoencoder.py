"""Autoencoders: features from which the inputs, or a target, can be computed."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted

from depmax._parameters import FLAG, integer, number, one_of
from depmax.data import read_target
from depmax.data.sample import require_equal_length
from depmax.neural._extractor import NeuralExtractor, n_constant, upward
from depmax.neural._networks import ACTIVATIONS, mirror, perceptron, seeded
from depmax.neural._tasks import OutputTarget, ReconstructionTask, Split
from depmax.neural.solvers import Auto, FullBatch, MiniBatch, Training, as_solver

#: Reconstruction needs more steps than dependence; restarts take the place of hops.
LONG = Auto(
    FullBatch(max_iter=1000, n_hops=0),
    MiniBatch(learning_rate=1e-2, max_epochs=200, patience=20),
)
#: Relative difference of losses that training to the end would remove.
CLOSE = 0.01
#: Loss, of inputs of variance 1, that is as good as none.
ROUNDING = 1e-3


def _reconstructs(model: Autoencoder) -> bool:
    """Whether there is a way back from features to inputs."""
    return not model.supervised


class Autoencoder(NeuralExtractor):
    """Features in the narrowest layer of a network that reconstructs its inputs.

    Encoder and decoder mirror each other. Without hidden layers the narrowest layer is σ(Wx + b),
    with the activation σ; with ``activation="linear"`` it spans the same space as the principal
    components of the standardised inputs. The features are that layer turned to its own principal
    axes: uncorrelated, the one of largest variance first.

    Parameters
    ----------
    n_components : int, default=2
        Number of features, at most the number of rows and the number of columns.
    hidden_layers : sequence of int, default=()
        Widths of the layers between inputs and features, mirrored in the decoder.
    activation : {"tanh", "relu", "gelu", "sigmoid", "linear"}, default="tanh"
        Activation after every layer except the last, which reconstructs the inputs.
    code_activation : {"tanh", "relu", "gelu", "sigmoid", "linear"} or None, default=None
        Activation of the features, if it differs from ``activation``: ``"linear"`` leaves features
        between hidden layers unbounded. Refused without hidden layers, where ``activation`` is that
        of the features.
    tied_weights : bool, default=False
        Whether the decoder uses the transposed weights of the encoder, with its own biases. Refused
        with ``supervised``.
    n_init : int, default=3
        Number of random starts. The network with the smallest loss is kept (on held-out rows where
        there are any), of those without constant features if there is one.
    noise : float, default=0.0
        Standard deviation of noise added to the standardised inputs, which the network has to
        reconstruct without it: a denoising autoencoder.
    supervised : bool, default=False
        Whether the network predicts y instead of the inputs: squared errors for numbers,
        cross-entropy for classes. The features are its last hidden layer.
    weight_decay : float, default=0.0
        This times the sum of squares of all weights is added to the loss.
    solver : {"auto", "full-batch", "mini-batch"} or object, default="auto"
        As in ``NeuroHBFE``, but ``"auto"`` takes more steps: ``FullBatch(max_iter=1000, n_hops=0)``
        with up to 1,000 rows, else ``MiniBatch(learning_rate=0.01, max_epochs=200, patience=20)``.
    validation_fraction : float, default=0.0
        Share of the rows that is held out; the weights with the smallest loss on them are kept.
    device, random_state, verbose
        As in ``NeuroHBFE``.

    Attributes
    ----------
    module_ : torch.nn.Module
        The encoder, which reads standardised inputs.
    decoder_ : torch.nn.Module
        The rest of the network.
    loss_ : float
        Mean squared error of standardised values, or cross-entropy, of the training rows.
    n_iter_ : int
        Iterations or epochs of all starts.

    Warns
    -----
    ConvergenceWarning
        If a feature is constant, or if the inputs are reconstructed worse than from as many
        principal components.

    References
    ----------
    G. Hinton, R. Salakhutdinov (2006), Reducing the dimensionality of data with neural networks,
    Science 313. P. Daniušis (2012), Feature extraction via dependence structure optimization,
    section 3.3. F. Yger (2014), Review of feature extraction techniques.

    Examples
    --------
    >>> from depmax.neural import Autoencoder
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0.0, 3.0, size=200)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle), angle])
    >>> model = Autoencoder(1, hidden_layers=(8,), random_state=0).fit(X)
    >>> bool(np.abs(model.inverse_transform(model.transform(X)) - X).mean() < 0.1)
    True
    """

    module: Any = None  # encoders are perceptrons

    _declared: ClassVar = {
        "code_activation": one_of(None, *ACTIVATIONS),
        "tied_weights": FLAG,
        "n_init": integer(1),
        "noise": number(0),
        "supervised": FLAG,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        hidden_layers: tuple[int, ...] = (),
        activation: str = "tanh",
        code_activation: str | None = None,
        tied_weights: bool = False,
        n_init: int = 3,
        noise: float = 0.0,
        supervised: bool = False,
        weight_decay: float = 0.0,
        solver: Any = "auto",
        validation_fraction: float = 0.0,
        device: Any = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.hidden_layers = hidden_layers
        self.activation = activation
        self.code_activation = code_activation
        self.tied_weights = tied_weights
        self.n_init = n_init
        self.noise = noise
        self.supervised = supervised
        self.weight_decay = weight_decay
        self.solver = solver
        self.validation_fraction = validation_fraction
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Autoencoder:
        """Train the network.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        y : target of any type, with ``supervised``; otherwise not read

        Returns
        -------
        self
        """
        self._check_parameters()
        expected = OutputTarget.of(read_target(y)) if self.supervised else None
        inputs = self._read(X)
        if expected is None:
            expected = OutputTarget(inputs, inputs.shape[1], torch.nn.functional.mse_loss)
        require_equal_length(len(inputs), len(expected.values))
        rng = check_random_state(self.random_state)
        self.n_iter_ = 0
        with seeded(rng):
            self._train(inputs, expected, rng)
        return self

    @available_if(_reconstructs)
    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows with given features, in the encoded columns; not with ``supervised``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
        """
        check_is_fitted(self)
        features = check_array(X, dtype=[np.float64, np.float32])
        codes = features @ self._basis.T + self._offset
        dtype = next(self.decoder_.parameters()).dtype
        with torch.no_grad():
            outputs = self.decoder_(torch.as_tensor(codes, dtype=dtype, device=self.device_))
        rows = outputs.cpu().numpy() * self._encoding.scale + self._encoding.mean
        return rows.astype(features.dtype, copy=False)

    def __sklearn_tags__(self) -> Any:
        """A target is needed with ``supervised``."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = bool(self.supervised)
        return tags

    # --- parts of fit ---------------------------------------------------------------------------
    def _empty_modules(self, n_inputs: int) -> list[Any]:
        return [perceptron(self._sizes(n_inputs), self.activation, self._of_code)]

    def _empty_decoder(self, encoder: Any, n_inputs: int, n_outputs: int) -> Any:
        if self.supervised:
            return torch.nn.Sequential(torch.nn.Linear(int(self.n_components), n_outputs))
        if self.tied_weights:
            return mirror(encoder, self.activation)
        return perceptron(self._sizes(n_inputs)[::-1], self.activation)

    @property
    def _of_code(self) -> str:
        """Activation of the features."""
        return self.activation if self.code_activation is None else self.code_activation

    def _sizes(self, n_inputs: int) -> list[int]:
        return [n_inputs, *(int(size) for size in self.hidden_layers), int(self.n_components)]

    def _train(
        self, inputs: np.ndarray, expected: OutputTarget, rng: np.random.RandomState
    ) -> None:
        solver = as_solver(self.solver, len(inputs), "Autoencoder", LONG)
        split = Split.of(len(inputs), float(self.validation_fraction), rng)
        rows = torch.as_tensor(inputs, dtype=solver.dtype, device=self.device_)
        values = torch.as_tensor(expected.values, device=self.device_)
        if values.is_floating_point():
            values = values.to(solver.dtype)
        trials = []
        for _ in range(int(self.n_init)):
            (encoder,) = self._empty_modules(inputs.shape[1])
            decoder = self._empty_decoder(encoder, inputs.shape[1], expected.n_outputs)
            network = torch.nn.Sequential(encoder, decoder)
            network.to(device=self.device_, dtype=solver.dtype).train()
            noise, decay = float(self.noise), float(self.weight_decay)
            task = ReconstructionTask(network, rows, values, expected.loss_of, split, noise, decay)
            training = solver.train(task, rng, int(self.verbose))
            self.n_iter_ += training.n_iter
            network.eval()
            with torch.no_grad():
                codes = encoder(rows).cpu().numpy().astype(np.float64)
                loss = float(expected.loss_of(network(rows), values))
            trials.append(_Trial(network, codes, loss, training))
        best = max(trials, key=lambda trial: trial.rank)
        self.loss_ = best.loss
        encoder, self.decoder_ = best.network
        offset = best.codes.mean(axis=0)
        self._keep([encoder], offset, _principal_axes(best.codes - offset))
        self._report(best.training)
        self._warn_of_constant(best.n_constant)
        if not (best.n_constant or self.supervised):
            self._warn_unless_better(inputs)

    def _warn_unless_better(self, inputs: np.ndarray) -> None:
        """Warn where as many principal components reconstruct the inputs better."""
        centred = inputs - inputs.mean(axis=0)
        variances = linalg.svdvals(centred) ** 2 / inputs.size
        principal = float(variances[int(self.n_components) :].sum())
        # A decoder that is linear cannot be better, and its codes reach the bound in the limit.
        allowed = principal * (1.0 if len(self.hidden_layers) else 1.0 + CLOSE)
        if self.loss_ > allowed + ROUNDING:
            warnings.warn(
                f"Autoencoder reconstructs X no better than {self.n_components} principal "
                f"component(s): loss_ is {self.loss_:.4g}, theirs {principal:.4g}. Try a larger "
                "n_init, more iterations (solver), wider hidden_layers, or less weight_decay or "
                "noise; or use PCA.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._refuse_without_effect()
        as_solver(self.solver, 0, "Autoencoder")

    def _refuse_without_effect(self) -> None:
        """Refuse options that would change nothing beside the others."""
        shallow = len(self.hidden_layers) == 0
        if shallow and self.code_activation not in (None, self.activation):
            raise ValueError(
                f"activation={self.activation!r} of Autoencoder has no effect without "
                "hidden_layers, since that of the features is code_activation="
                f"{self.code_activation!r}: pass activation={self.code_activation!r} alone."
            )
        if self.tied_weights and self.supervised:
            raise ValueError(
                "tied_weights=True of Autoencoder has no effect with supervised=True, where no "
                "decoder mirrors the encoder: omit one of them."
            )


@dataclass(frozen=True)
class _Trial:
    """A network trained from one start."""

    network: Any
    codes: np.ndarray  # of the training rows, shape (m, k)
    loss: float  # of the training rows
    training: Training

    @property
    def rank(self) -> tuple[int, float]:
        """The larger, the better: no constant features first, then the score or the loss."""
        score = self.training.best_score
        return -self.n_constant, -self.loss if score is None else score

    @property
    def n_constant(self) -> int:
        """Number of features that do not vary."""
        return n_constant(self.codes, float(np.abs(self.codes).max()))


def _principal_axes(codes: np.ndarray) -> np.ndarray:
    """Rotation to uncorrelated features, the one of largest variance first."""
    _, axes = linalg.eigh(codes.T @ codes)
    axes = axes[:, ::-1]
    rotated: np.ndarray = axes * upward(codes @ axes)
    return rotated
