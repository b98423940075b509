"""NeuroHSCA: networks whose outputs depend on the target and not on each other."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from scipy import linalg

from depmax._parameters import number
from depmax.algebra.graphs import GraphLike
from depmax.kernels import KernelLike
from depmax.neural._extractor import n_constant, upward
from depmax.neural._networks import fresh_copy, perceptron
from depmax.neural._tasks import LabelledTarget, Smoothness, Split
from depmax.neural.hbfe import DependenceNetwork

#: Deviation of an output, relative to its largest value, that rounding errors leave.
NOTHING = 1e-6


class NeuroHSCA(DependenceNetwork):
    """Features of neural networks, one after another, that depend on the target, not on each other.

    One network after another, each with a single output f, maximises A(f, y)/(α + A(f, earlier
    features)), where A is HSIC divided by √(HSIC(f, f) HSIC(y, y)). A lies between 0 and 1, so α
    has a scale and the quotient is bounded even if f is independent of all earlier features.
    Alone the quotient would grow with a copy of the first feature once that is nearly a function
    of y. So earlier features are taken out, by linear regression, of both: f is uncorrelated with
    them on the training rows, and y counts only as far as they do not explain it.

    Parameters
    ----------
    n_components : int, default=2
        Number of features, at most the number of rows and the number of columns.
    hidden_layers : sequence of int, default=(32,)
        Widths of the hidden layers of each multilayer perceptron.
    activation : {"tanh", "relu", "gelu", "sigmoid", "linear"}, default="tanh"
        Activation after every hidden layer; without hidden layers it must be ``"linear"``.
    module : torch.nn.Module or None, default=None
        Your own network with one output per row. ``fit`` trains one copy per feature; copies after
        the first start from new weights (``reset_parameters`` of their layers).
    target_kernel : kernel, name or "auto", default="auto"
        ``"auto"`` depends on the type of y, as in ``HSCA``.
    feature_kernel : {"gaussian", "linear"}, default="gaussian"
        Kernel of the standardised features.
    unbiased : bool, default=True
        HSIC₁ or HSIC₀ in the numerator; the denominator is HSIC₀, which is never negative.
    alpha : float, default=0.05
        Positive. The smaller, the more a feature avoids the earlier ones.
    beta, graph, unlabeled, weight_decay, solver, validation_fraction, device, random_state, \
verbose
        As in ``NeuroHBFE``.

    Attributes
    ----------
    module_ : torch.nn.Module or list
        The trained networks.
    dependence_ : ndarray of shape (n_components,)
        HSIC of each feature with the target, averaged over blocks of about 1,000 rows. It is near
        zero for features that find nothing left to explain.
    validation_scores_ : list
        Value of the quotient on the held-out rows, for each feature.
    n_iter_, n_unlabeled_ : int
    target_kernel_ : Kernel

    References
    ----------
    P. Daniušis (2012), Feature extraction via dependence structure optimization, section 4.5.2.

    Examples
    --------
    >>> from depmax.datasets import make_rings
    >>> from depmax.neural import NeuroHSCA
    >>> X, y = make_rings(200, random_state=0)
    >>> NeuroHSCA(2, random_state=0).fit_transform(X, y).shape
    (200, 2)
    """

    _declared: ClassVar = {"alpha": number(1e-12)}

    def __init__(
        self,
        n_components: int = 2,
        *,
        hidden_layers: tuple[int, ...] = (32,),
        activation: str = "tanh",
        module: Any = None,
        target_kernel: KernelLike | Literal["auto"] = "auto",
        feature_kernel: Literal["gaussian", "linear"] = "gaussian",
        unbiased: bool = True,
        alpha: float = 0.05,
        beta: float = 0.0,
        graph: GraphLike = "neighbors",
        unlabeled: Literal["auto"] | None = "auto",
        weight_decay: float = 1e-4,
        solver: Any = "auto",
        validation_fraction: float = 0.15,
        device: Any = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.hidden_layers = hidden_layers
        self.activation = activation
        self.module = module
        self.target_kernel = target_kernel
        self.feature_kernel = feature_kernel
        self.unbiased = unbiased
        self.alpha = alpha
        self.beta = beta
        self.graph = graph
        self.unlabeled = unlabeled
        self.weight_decay = weight_decay
        self.solver = solver
        self.validation_fraction = validation_fraction
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    _width = 1

    def _empty_modules(self, n_inputs: int) -> list[Any]:
        count = int(self.n_components)
        if self.module is not None:
            return [fresh_copy(self.module, number) for number in range(count)]
        sizes = [n_inputs, *self.hidden_layers, 1]
        return [perceptron(sizes, self.activation) for _ in range(count)]

    def _train(
        self,
        inputs: np.ndarray,
        target: LabelledTarget,
        smoothness: Smoothness | None,
        rng: np.random.RandomState,
    ) -> None:
        split = Split.of(len(target.rows), float(self.validation_fraction), rng)
        trained: list[Any] = []
        features, rest = None, target
        for module in self._empty_modules(inputs.shape[1]):
            trained.append(self._train_one(module, inputs, rest, split, smoothness, rng, features))
            features = self._settle(trained, inputs)
            rest = target.beyond(features)
        assert features is not None
        self.dependence_ = self._dependences(features, target)
        self._warn_of_constant(n_constant(features))

    def _settle(self, modules: list[Any], inputs: np.ndarray) -> np.ndarray:
        """Keep the networks so far; their features, standardised and with a sign.

        A feature is the output of its network minus what earlier features explain of it.
        """
        count = len(modules)
        basis = np.zeros((count, count))
        if count > 1:
            basis[:-1, :-1] = self._basis
        self._keep(modules, np.zeros(count), np.eye(count))
        outputs = self._outputs(inputs)
        offset = outputs.mean(axis=0)
        centred = outputs - offset
        slopes, *_ = linalg.lstsq(centred @ basis, centred[:, -1])
        newest = np.eye(count)[:, -1] - basis @ slopes
        rest = centred @ newest
        if rest.std() > NOTHING * np.abs(outputs[:, -1]).max():
            basis[:, -1] = newest * upward(rest[:, np.newaxis]) / rest.std()
        self._keep(modules, offset, basis)
        features: np.ndarray = centred @ basis
        return features
