"""Autoencoders: features from which the inputs, or a target, can be computed."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted

from depmax._parameters import FLAG, integer, number, one_of
from depmax._warnings import warn_caller
from depmax.data import read_target
from depmax.data.table import require_equal_length
from depmax.neural._extractor import (
    ACTIVATIONS,
    NeuralExtractor,
    n_constant,
    perceptron,
    require_two_values,
    seeded,
    upward,
    with_activations,
)
from depmax.neural.solvers import FullBatch, MiniBatch, Split, as_solver

#: Reconstruction needs more steps than dependence; restarts take the place of hops.
LONG = (
    FullBatch(max_iter=1000, n_hops=0),
    MiniBatch(learning_rate=1e-2, max_epochs=200, patience=20),
)
#: Relative difference of losses that training to the end would remove.
CLOSE = 0.01
#: Loss, of inputs of variance 1, that is as good as none.
ROUNDING = 1e-3


class Transposed(torch.nn.Module):
    """A layer back from the outputs of another to its inputs: its weights transposed, own bias."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(layer.in_features))
        self._layer = (layer,)  # in a tuple: its weights are parameters of the encoder only

    def forward(self, codes: Any) -> Any:
        """Wᵀ applied to each row, plus the bias."""
        return torch.nn.functional.linear(codes, self._layer[0].weight.T, self.bias)


@dataclass
class ReconstructionObjective:
    """Mean loss of a network's outputs against expected ones, from inputs with noise."""

    module: Any
    inputs: Any  # tensor of shape (m, D)
    expected: Any  # tensor of shape (m, n_outputs), or class numbers of shape (m,)
    loss_of: Any  # mean loss from outputs and expected ones
    split: Split
    noise: float
    weight_decay: float

    def __post_init__(self) -> None:
        # All rows at once need a loss that does not change from one call to the next.
        self.fixed = self._noisy(self.inputs)

    def loss(self, rows: np.ndarray | None) -> Any:
        """Mean loss of some of the training rows, or of all."""
        chosen = self.split.train if rows is None else rows
        inputs = self.fixed[chosen] if rows is None else self._noisy(self.inputs[chosen])
        return self.loss_of(self.module(inputs), self.expected[chosen])

    def quality(self, rows: np.ndarray) -> float:
        """Minus the loss, without noise."""
        return -float(self.loss_of(self.module(self.inputs[rows]), self.expected[rows]))

    def _noisy(self, inputs: Any) -> Any:
        return inputs + self.noise * torch.randn_like(inputs) if self.noise else inputs


@dataclass(eq=False, repr=False)
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
    weight_decay : float, default=0.0
        This times the sum of squares of all weights is added to the loss.
    solver : {"auto", "full-batch", "mini-batch"} or object, default="auto"
        As in ``NeuroHBFE``, but ``"auto"`` takes more steps: ``FullBatch(max_iter=1000, n_hops=0)``
        with up to 1,000 rows, else ``MiniBatch(learning_rate=0.01, max_epochs=200, patience=20)``.
    validation_fraction : float, default=0.0
        Share of the rows that is held out; the weights with the smallest loss on them are kept.
    device, random_state, verbose : as in NeuroHBFE
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

    _: KW_ONLY
    hidden_layers: tuple[int, ...] = ()
    weight_decay: float = 0.0
    validation_fraction: float = 0.0
    code_activation: str | None = None
    tied_weights: bool = False
    n_init: int = 3
    noise: float = 0.0
    supervised: bool = False

    _declared: ClassVar = {
        "code_activation": one_of(None, *ACTIVATIONS),
        "tied_weights": FLAG,
        "n_init": integer(1),
        "noise": number(0),
        "supervised": FLAG,
    }

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
        outputs = _outputs_for(y) if self.supervised else None
        inputs = self._read(X)
        if outputs is None:
            outputs = inputs, inputs.shape[1], torch.nn.functional.mse_loss
        values, n_outputs, loss_of = outputs
        require_equal_length(len(inputs), len(values))
        rng = check_random_state(self.random_state)
        solver = as_solver(self.solver, len(inputs), "Autoencoder", LONG)
        rows = self._tensor(inputs, solver)
        # class numbers stay whole
        expected = torch.as_tensor(values, device=self.device_)
        expected = expected.to(solver.dtype) if expected.is_floating_point() else expected
        noise, decay = float(self.noise), float(self.weight_decay)
        trials, self.n_iter_ = [], 0
        with seeded(rng):
            split = Split.of(len(inputs), float(self.validation_fraction), rng)
            for _ in range(int(self.n_init)):
                (encoder,) = self._networks(inputs.shape[1])
                decoder = self._decoder(encoder, n_outputs)
                network = torch.nn.Sequential(encoder, decoder)
                network.to(device=self.device_, dtype=solver.dtype).train()
                objective = ReconstructionObjective(
                    network, rows, expected, loss_of, split, noise, decay
                )
                training = solver.train(objective, rng, int(self.verbose))
                self.n_iter_ += training.n_iter
                network.eval()
                with torch.no_grad():
                    codes = encoder(rows).cpu().numpy().astype(np.float64)
                    loss = float(loss_of(network(rows), expected))
                score = -loss if training.best_score is None else training.best_score
                n_empty = n_constant(codes, float(np.abs(codes).max()))
                trials.append((-n_empty, score, network, codes, loss, training))
        # no constant features first, then the score or the loss
        best = max(trials, key=lambda trial: trial[:2])
        n_empty, _, (encoder, self.decoder_), codes, self.loss_, training = best
        offset = codes.mean(axis=0)
        centred = codes - offset
        axes = linalg.eigh(centred.T @ centred)[1][:, ::-1]
        self._keep([encoder], offset, axes * upward(centred @ axes))
        self._report(training)
        self._warn_of_constant(-n_empty)
        if n_empty == 0 and not self.supervised:
            self._warn_unless_better(inputs)
        return self

    @available_if(lambda model: not model.supervised)  # else there is no way back
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
        rows = outputs.cpu().numpy() * self._scale + self._mean
        return rows.astype(features.dtype, copy=False)

    # --- parts of fit ---------------------------------------------------------------------------
    def _networks(self, n_inputs: int) -> list[Any]:
        """The encoder."""
        of_code = self.activation if self.code_activation is None else self.code_activation
        sizes = [n_inputs, *self.hidden_layers, int(self.n_components)]
        return [perceptron(sizes, self.activation, of_code)]

    def _decoder(self, encoder: Any, n_outputs: int) -> Any:
        """The way back, or the last layer of a predictor."""
        if self.supervised:
            return torch.nn.Sequential(torch.nn.Linear(int(self.n_components), n_outputs))
        layers = [part for part in encoder if isinstance(part, torch.nn.Linear)][::-1]
        if self.tied_weights:
            back = [Transposed(layer) for layer in layers]
        else:
            back = [torch.nn.Linear(layer.out_features, layer.in_features) for layer in layers]
        return with_activations(back, self.activation)

    def _warn_unless_better(self, inputs: np.ndarray) -> None:
        """Warn where as many principal components reconstruct the inputs better."""
        centred = inputs - inputs.mean(axis=0)
        variances = linalg.svdvals(centred) ** 2 / inputs.size
        principal = float(variances[int(self.n_components) :].sum())
        # A decoder that is linear cannot be better, and its codes reach the bound in the limit.
        allowed = principal * (1.0 if len(self.hidden_layers) else 1.0 + CLOSE)
        if self.loss_ > allowed + ROUNDING:
            warn_caller(
                f"Autoencoder reconstructs X no better than {self.n_components} principal "
                f"component(s): loss_ is {self.loss_:.4g}, theirs {principal:.4g}. Try a larger "
                "n_init, more iterations (solver), wider hidden_layers, or less weight_decay or "
                "noise; or use PCA.",
                ConvergenceWarning,
            )

    def _check_parameters(self) -> None:
        """Refuse also options that would change nothing beside the others."""
        super()._check_parameters()
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


def _outputs_for(y: Any) -> tuple[np.ndarray, int, Any]:
    """Values that the outputs should have, how many there are, and the loss of others.

    Values are standardised numbers of shape (m, n), or class numbers of shape (m,).
    """
    target = read_target(y)
    require_two_values(target, "there is nothing to predict")
    if target.kind == "classes":
        classes, codes = np.unique(target.values, return_inverse=True)
        return codes, len(classes), torch.nn.functional.cross_entropy
    numbers = target.vectors
    spread = numbers.std(axis=0)
    standard = (numbers - numbers.mean(axis=0)) / np.where(spread == 0, 1.0, spread)
    return standard, standard.shape[1], torch.nn.functional.mse_loss
