"""NeuroStructure: networks whose outputs have the dependences that a structure asks for."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from depmax._parameters import Rule, is_number, number, one_of
from depmax.data.reading import warn_of_unlabeled
from depmax.data.sample import require_equal_length, require_samples
from depmax.kernels import KernelLike
from depmax.neural._extractor import NeuralExtractor, n_constant, upward
from depmax.neural._networks import check_width, fresh_copy, perceptron, seeded
from depmax.neural._statistics import gram, hsic, hsic_with, whiten
from depmax.neural._tasks import Split, read_labelled
from depmax.neural.solvers import as_solver

#: A number of any sign.
Weight = float
_WEIGHT = Rule(
    is_number, "a finite number", "positive for what is sought, negative for what is avoided"
)
#: Added to squares below a root.
TINY = 1e-24
#: Correlation of two features above which one repeats the other.
ALIKE = 0.9
#: Rows held out that are judged at once.
BLOCK = 1000


@dataclass
class StructureTask:
    """Minus the sum, or the quotient, of the dependences of a network's output."""

    module: Any
    inputs: Any  # standardised labelled rows, tensor of shape (m, D)
    factor: Any  # Ψ of the target, tensor of shape (m, r)
    earlier: Any  # earlier features, standardised, tensor of shape (m, t)
    split: Split
    weights: tuple[float, float, float]  # of the target, earlier features and inputs
    kernel: str
    unbiased: bool
    combine: str
    alpha: float
    weight_decay: float

    @property
    def n_rows(self) -> int:
        """Rows to draw batches from."""
        return len(self.split.train)

    def loss(self, rows: np.ndarray | None) -> Any:
        """Minus the relevance of some of the training rows, or of all."""
        return -self.relevance(self.split.train if rows is None else self.split.train[rows])

    def score(self) -> float | None:
        """Relevance of the rows held out."""
        held_out = self.split.held_out
        if len(held_out) == 0:
            return None
        self.module.eval()
        with torch.no_grad():
            blocks = np.array_split(held_out, max(1, len(held_out) // BLOCK))
            found = float(np.mean([float(self.relevance(block)) for block in blocks]))
        self.module.train()
        return found

    def relevance(self, rows: np.ndarray) -> Any:
        """Sum of the weighted dependences, or what is sought over α and what is avoided."""
        pairs = list(zip(self.weights, self.dependences(rows), strict=True))
        if self.combine == "sum":
            return sum(weight * value for weight, value in pairs)
        sought = sum(weight * value for weight, value in pairs if weight > 0)
        return sought / (self.alpha - sum(weight * value for weight, value in pairs if weight < 0))

    def dependences(self, rows: np.ndarray) -> tuple[Any, Any, Any]:
        """HSIC(f, z)/√(HSIC₀(f, f) HSIC₀(z, z)) for target, earlier features and inputs."""
        chosen = torch.as_tensor(rows, device=self.inputs.device)
        inputs = self.inputs.index_select(0, chosen)
        K = gram(whiten(self.module(inputs)), self.kernel)
        own = torch.sqrt(hsic(K, K, unbiased=False) + TINY)
        factor = self.factor.index_select(0, chosen)
        centred = factor - factor.mean(dim=0)
        size = torch.linalg.norm(centred.T @ centred) / (len(rows) - 1)
        of_target = hsic_with(K, centred, unbiased=self.unbiased) / (own * (size + TINY))
        zero = torch.zeros_like(own)
        of_earlier = zero
        if self.weights[1] != 0 and self.earlier.shape[1]:
            of_earlier = self._on(K, own, self.earlier.index_select(0, chosen))
        of_inputs = self._on(K, own, inputs) if self.weights[2] != 0 else zero
        return of_target, of_earlier, of_inputs

    def _on(self, K: Any, own: Any, values: Any) -> Any:
        L = gram(values, self.kernel)
        size = torch.sqrt(hsic(L, L, unbiased=False) + TINY)
        return hsic(K, L, unbiased=False) / (own * size)


class NeuroStructure(NeuralExtractor):
    """Features of neural networks by a dependence structure of your own.

    One network after another, each with a single output f, maximises a weighted sum of its
    dependences on the target, on earlier features and on the inputs, or the quotient of those with
    positive weights and α plus the others. A dependence is HSIC(f, z)/√(HSIC₀(f, f) HSIC₀(z, z)),
    between 0 and 1.

    Parameters
    ----------
    n_components : int, default=2
        Number of features, at most the number of rows and the number of columns.
    target : float, default=1.0
        Weight of the dependence on y, positive.
    features : float, default=-1.0
        Weight of the dependence on earlier features.
    inputs : float, default=0.0
        Weight of the dependence on the standardised columns of X.
    combine : {"quotient", "sum"}, default="quotient"
        How the terms are combined.
    alpha : float, default=0.05
        Added to the denominator of the quotient, positive.
    hidden_layers : sequence of int, default=(32,)
        Widths of the hidden layers of each multilayer perceptron.
    activation : {"tanh", "relu", "gelu", "sigmoid", "linear"}, default="tanh"
        Activation after every hidden layer; without hidden layers it must be ``"linear"``.
    module : torch.nn.Module or None, default=None
        Your own network with one output per row. ``fit`` trains one copy per feature.
    target_kernel : kernel, name or "auto", default="auto"
        ``"auto"`` depends on the type of y.
    feature_kernel : {"gaussian", "linear"}, default="gaussian"
        Kernel of the standardised features and inputs.
    unbiased : bool, default=True
        HSIC₁ or HSIC₀ with the target; other dependences are HSIC₀, which is never negative.
    weight_decay, solver, validation_fraction, device, random_state, verbose
        As in ``NeuroHBFE``.

    Attributes
    ----------
    module_ : torch.nn.Module or list
        The trained networks.
    dependence_ : ndarray of shape (n_components,)
        Dependence of each feature on the target.
    dependences_ : ndarray of shape (n_components, 3)
        Dependence of each feature on the target, on earlier features and on the inputs, without
        weights, on all labelled rows; 0 where the weight is 0.
    validation_scores_ : list
        The sum or quotient on the held-out rows, for each feature.
    n_iter_, n_unlabeled_ : int
    target_kernel_ : Kernel

    Warns
    -----
    ConvergenceWarning
        If a feature is constant, or two have a correlation above 0.9.

    See Also
    --------
    depmax.DependenceStructure : The same in the space of a kernel, by eigenproblems.
    NeuroHSCA : This quotient, with earlier features also taken out of features and target.

    Notes
    -----
    The default is the published NeuroHSCA (equation 4.23). Nothing is deflated, so where one
    feature is nearly a function of y, its copy has the largest quotient for every α > 0: then
    weigh ``features`` more with ``combine="sum"``, or use :class:`NeuroHSCA`.

    References
    ----------
    P. Daniušis (2012), Feature extraction via dependence structure optimization, sections 4.1 and
    4.5.

    Examples
    --------
    >>> from depmax.datasets import make_rings
    >>> from depmax.neural import NeuroStructure
    >>> X, y = make_rings(200, random_state=0)
    >>> model = NeuroStructure(2, combine="sum", features=-2.0, random_state=0).fit(X, y)
    >>> model.dependences_.shape
    (2, 3)
    """

    _declared: ClassVar = {
        "target": _WEIGHT,
        "features": _WEIGHT,
        "inputs": _WEIGHT,
        "combine": one_of("quotient", "sum"),
        "alpha": number(1e-12),
        "feature_kernel": one_of("gaussian", "linear"),
        "unbiased": one_of(True, False),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        target: Weight = 1.0,
        features: Weight = -1.0,
        inputs: Weight = 0.0,
        combine: Literal["quotient", "sum"] = "quotient",
        alpha: float = 0.05,
        hidden_layers: tuple[int, ...] = (32,),
        activation: str = "tanh",
        module: Any = None,
        target_kernel: KernelLike | Literal["auto"] = "auto",
        feature_kernel: Literal["gaussian", "linear"] = "gaussian",
        unbiased: bool = True,
        weight_decay: float = 1e-4,
        solver: Any = "auto",
        validation_fraction: float = 0.15,
        device: Any = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.target = target
        self.features = features
        self.inputs = inputs
        self.combine = combine
        self.alpha = alpha
        self.hidden_layers = hidden_layers
        self.activation = activation
        self.module = module
        self.target_kernel = target_kernel
        self.feature_kernel = feature_kernel
        self.unbiased = unbiased
        self.weight_decay = weight_decay
        self.solver = solver
        self.validation_fraction = validation_fraction
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train one network after another.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        y : target of any type
            Rows without a label are ignored, with a warning.

        Returns
        -------
        self
        """
        self._check_parameters()
        target = read_labelled(y, self.target_kernel, minus_one=False)
        inputs = self._read(X)
        require_equal_length(len(inputs), target.n_samples)
        require_samples(len(target.rows), self.unbiased)
        self.target_kernel_, self.n_unlabeled_ = target.kernel, target.n_unlabeled
        warn_of_unlabeled(self.n_unlabeled_, len(inputs), type(self).__name__, 2)
        rng = check_random_state(self.random_state)
        self.n_iter_ = 0
        self.validation_scores_: list[float | None] = []
        with seeded(rng):
            self._train(inputs, inputs[target.rows], target.factor, rng)
        return self

    def __sklearn_tags__(self) -> Any:
        """A target is needed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        return tags

    def _empty_modules(self, n_inputs: int) -> list[Any]:
        count = int(self.n_components)
        if self.module is not None:
            return [fresh_copy(self.module, number) for number in range(count)]
        sizes = [n_inputs, *self.hidden_layers, 1]
        return [perceptron(sizes, self.activation) for _ in range(count)]

    def _train(
        self, inputs: np.ndarray, known: np.ndarray, factor: np.ndarray, rng: np.random.RandomState
    ) -> None:
        solver = as_solver(self.solver, len(known), type(self).__name__)
        split = Split.of(len(known), float(self.validation_fraction), rng)

        def tensor(values: np.ndarray) -> Any:
            return torch.as_tensor(values, dtype=solver.dtype, device=self.device_)

        trained: list[Any] = []
        earlier, measured = np.empty((len(known), 0)), []
        for module in self._empty_modules(inputs.shape[1]):
            module = module.to(device=self.device_, dtype=solver.dtype).train()
            task = StructureTask(
                module,
                tensor(known),
                tensor(factor),
                tensor(earlier),
                split,
                (float(self.target), float(self.features), float(self.inputs)),
                self.feature_kernel,
                bool(self.unbiased),
                self.combine,
                float(self.alpha),
                float(self.weight_decay),
            )
            with torch.no_grad():
                check_width(module(task.inputs[:2]), 1, 2)
            training = solver.train(task, rng, int(self.verbose))
            self.n_iter_ += training.n_iter
            self.validation_scores_.append(training.best_score)
            self._report(training)
            with torch.no_grad():
                found = task.dependences(np.arange(len(known)))
            measured.append([float(value) for value in found])
            trained.append(module)
            self._settle(trained, inputs)
            earlier = (self._outputs(known) - self._offset) @ self._basis
        self.dependences_ = np.array(measured)
        self.dependence_ = self.dependences_[:, 0]
        features = (self._outputs(inputs) - self._offset) @ self._basis
        n_empty = n_constant(features)
        self._warn_of_constant(n_empty)
        if n_empty == 0:
            self._warn_of_copies(features)

    def _warn_of_copies(self, features: np.ndarray) -> None:
        """Warn if the weights did not keep features apart."""
        strongest = np.abs(np.triu(np.corrcoef(features.T).reshape(features.shape[1], -1), 1))
        if strongest.max() > ALIKE:
            warnings.warn(
                f"Features of NeuroStructure repeat each other: the correlation of two of them is "
                f"{strongest.max():.2f}. Pass combine='sum' with a weight of features below "
                f"{self.features:g}, or use NeuroHSCA, which takes earlier features out.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _settle(self, modules: list[Any], inputs: np.ndarray) -> None:
        """Keep the networks so far; features are standardised and have a sign."""
        count = len(modules)
        self._keep(modules, np.zeros(count), np.eye(count))
        outputs = self._outputs(inputs)
        offset, spread = outputs.mean(axis=0), outputs.std(axis=0)
        basis = np.diag(upward(outputs - offset) / np.where(spread == 0, 1.0, spread))
        self._keep(modules, offset, basis)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        as_solver(self.solver, 0, type(self).__name__)
        defaults = signature(type(self)).parameters
        for option in ("hidden_layers", "activation"):
            if self.module is not None and getattr(self, option) != defaults[option].default:
                raise ValueError(
                    f"{option}={getattr(self, option)!r} of NeuroStructure has no effect with "
                    "module=, which is the whole network: omit one of them."
                )
        if self.module is None and len(self.hidden_layers) == 0 and self.activation != "linear":
            raise ValueError(
                f"activation={self.activation!r} of NeuroStructure has no effect without "
                "hidden_layers: pass activation='linear', or give hidden_layers."
            )
        if self.target <= 0:
            raise ValueError(
                f"target of NeuroStructure must be positive, got {self.target!r}: the first "
                "feature would gain nothing."
            )
        if self.features >= 0 and self.n_components > 1:
            raise ValueError(
                f"features of NeuroStructure must be negative, got {self.features!r}: otherwise "
                "all features are the same."
            )
