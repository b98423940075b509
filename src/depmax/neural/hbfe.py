"""NeuroHBFE: a network whose outputs depend most on the target; and what NeuroHSCA shares."""

from __future__ import annotations

from inspect import signature
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from scipy import linalg
from sklearn.utils import check_random_state

from depmax._parameters import number, one_of
from depmax.algebra.graphs import GraphLike, as_graph
from depmax.data.reading import warn_of_unlabeled
from depmax.data.sample import require_equal_length, require_samples
from depmax.data.target import marks_unlabeled
from depmax.kernels import KernelLike
from depmax.neural._extractor import NeuralExtractor, n_constant, upward
from depmax.neural._networks import check_width, fresh_copy, perceptron, seeded
from depmax.neural._statistics import gram, hsic_with, whiten
from depmax.neural._tasks import DependenceTask, LabelledTarget, Smoothness, Split, read_labelled
from depmax.neural.solvers import as_solver

#: Rows over which a dependence is averaged.
BLOCK = 1000
FEATURE_KERNELS = ("gaussian", "linear")


class DependenceNetwork(NeuralExtractor):
    """Base of extractors whose networks are trained for dependence."""

    target_kernel: Any
    feature_kernel: Any
    unbiased: Any
    beta: Any
    graph: Any
    unlabeled: Any
    solver: Any
    random_state: Any
    verbose: Any
    alpha: Any = 0.05

    _declared: ClassVar = {
        "feature_kernel": one_of(*FEATURE_KERNELS),
        "beta": number(0, 1, ends="[)"),
    }

    def fit(self, X: Any, y: Any = None) -> Any:
        """Train the network.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        y : target of any type
            Rows may be unlabelled: NaN or None, with ``beta`` > 0 also -1 among classes. With
            ``beta`` = 0 they are ignored, with a warning.

        Returns
        -------
        self
        """
        self._check_parameters()
        minus_one = marks_unlabeled(self.unlabeled, self.beta)
        target = read_labelled(y, self.target_kernel, minus_one=minus_one)
        inputs = self._read(X)
        require_equal_length(len(inputs), target.n_samples)
        require_samples(len(target.rows), self.unbiased)
        self.target_kernel_, self.n_unlabeled_ = target.kernel, target.n_unlabeled
        if self.beta == 0:
            warn_of_unlabeled(self.n_unlabeled_, len(inputs), type(self).__name__, 2)
        smoothness = None
        if self.beta > 0:
            smoothness = Smoothness.of(inputs, as_graph(self.graph))
        rng = check_random_state(self.random_state)
        self.n_iter_ = 0
        self.validation_scores_: list[float | None] = []
        with seeded(rng):
            self._train(inputs, target, smoothness, rng)
        return self

    def __sklearn_tags__(self) -> Any:
        """A target is needed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        return tags

    def _train(
        self,
        inputs: np.ndarray,
        target: LabelledTarget,
        smoothness: Smoothness | None,
        rng: np.random.RandomState,
    ) -> None:
        raise NotImplementedError

    def _train_one(
        self,
        module: Any,
        inputs: np.ndarray,
        target: LabelledTarget,
        split: Split,
        smoothness: Smoothness | None,
        rng: np.random.RandomState,
        earlier: np.ndarray | None = None,
    ) -> Any:
        """Train one network; the network."""
        solver = as_solver(self.solver, len(target.rows), type(self).__name__)
        module = module.to(device=self.device_, dtype=solver.dtype).train()

        def tensor(values: np.ndarray) -> Any:
            return torch.as_tensor(values, dtype=solver.dtype, device=self.device_)

        task = DependenceTask(
            module,
            tensor(inputs),
            target.rows,
            tensor(target.factor),
            split,
            self.feature_kernel,
            bool(self.unbiased),
            float(self.weight_decay),
            rng,
            None if earlier is None else tensor(earlier),
            float(self.alpha),
            float(self.beta),
            smoothness,
        )
        with torch.no_grad():
            outputs = module(task.inputs[:2])
        check_width(outputs, self._width, 2)
        training = solver.train(task, rng, int(self.verbose))
        self.n_iter_ += training.n_iter
        self.validation_scores_.append(training.best_score)
        self._report(training)
        return module

    def _dependences(self, features: np.ndarray, target: LabelledTarget) -> np.ndarray:
        """HSIC of each feature with the target, averaged over blocks of rows."""
        rows = target.rows
        order = np.random.default_rng(0).permutation(len(rows))
        blocks = np.array_split(order, max(1, len(rows) // BLOCK))
        values = np.zeros(features.shape[1])
        for block in blocks:
            factor = torch.as_tensor(target.factor[block])
            for column in range(features.shape[1]):
                feature = whiten(torch.as_tensor(features[rows[block], column : column + 1]))
                K = gram(feature, self.feature_kernel)
                value = hsic_with(K, factor, unbiased=bool(self.unbiased))
                values[column] += float(value) / len(blocks)
        return values

    #: Outputs of a network.
    _width: int

    def _check_parameters(self) -> None:
        super()._check_parameters()
        name = type(self).__name__
        as_graph(self.graph)
        as_solver(self.solver, 0, name)
        self._refuse_without_effect(name)

    def _refuse_without_effect(self, name: str) -> None:
        """Refuse options that would change nothing beside the others."""
        defaults = signature(type(self)).parameters
        if self.module is not None:
            for option in ("hidden_layers", "activation"):
                if getattr(self, option) != defaults[option].default:
                    raise ValueError(
                        f"{option}={getattr(self, option)!r} of {name} has no effect with module=, "
                        "which is the whole network: omit one of them."
                    )
        elif len(self.hidden_layers) == 0 and self.activation != "linear":
            raise ValueError(
                f"activation={self.activation!r} of {name} has no effect without hidden_layers: "
                "pass activation='linear', or give hidden_layers."
            )
        if self.beta == 0 and self.graph != defaults["graph"].default:
            raise ValueError(
                f"graph={self.graph!r} of {name} has no effect with beta=0: pass beta > 0, or omit "
                "it."
            )


class NeuroHBFE(DependenceNetwork):
    """Features of a neural network that together have the largest HSIC with the target.

    The outputs of the network are whitened (mean zero, uncorrelated, unit variance), which takes
    the place of orthonormal directions in HBFE; HSIC between them and the target is then maximised.

    Parameters
    ----------
    n_components : int, default=2
        Number of features, at most the number of rows and the number of columns.
    hidden_layers : sequence of int, default=(32,)
        Widths of the hidden layers of a multilayer perceptron.
    activation : {"tanh", "relu", "gelu", "sigmoid", "linear"}, default="tanh"
        Activation after every hidden layer; without hidden layers it must be ``"linear"``.
    module : torch.nn.Module or None, default=None
        Your own network instead of the perceptron, with ``n_components`` outputs per row. ``fit``
        trains a copy.
    target_kernel : kernel, name or "auto", default="auto"
        ``"auto"`` depends on the type of y, as in ``HBFE``.
    feature_kernel : {"gaussian", "linear"}, default="gaussian"
        Kernel of the white outputs; ``"gaussian"`` has the bandwidth √n_components.
    unbiased : bool, default=True
        Whether to use HSIC₁ or HSIC₀. In minibatches only HSIC₁ estimates the dependence over all
        rows.
    beta : float, default=0.0
        Weight of smoothness over neighbouring rows, labelled or not, in [0, 1). With 0, unlabelled
        rows are ignored, with a warning.
    graph : {"neighbors", "radius", "gaussian"}, graph, matrix or callable, default="neighbors"
        Which of the standardised rows are neighbours: a ``NeighborGraph``, ``RadiusGraph`` or
        ``GaussianGraph``, as in ``HBFE``. Used with ``beta`` > 0.
    unlabeled : {"auto", None}, default="auto"
        NaN and None in y are unlabelled rows; with ``beta`` > 0 so is -1 among classes other than
        -1 and +1, never among numbers. None makes -1 a class there too.
    weight_decay : float, default=1e-4
        This times the sum of squares of all weights is added to the loss.
    solver : {"auto", "full-batch", "mini-batch"} or object, default="auto"
        ``FullBatch(...)``: L-BFGS with annealing; ``MiniBatch(...)``: Adam. ``"auto"`` uses the
        former with up to 1,000 labelled rows.
    validation_fraction : float, default=0.15
        Share of the labelled rows that is held out, at least ten rows; the weights with the largest
        dependence on them are kept. With fewer than 40 rows, none are held out.
    device : "auto", str or torch.device, default="auto"
        ``"auto"`` uses a GPU if there is one.
    random_state : int, RandomState or None, default=None
        Seed of initial weights, splits and batches. On a CPU, results are reproducible.
    verbose : int, default=0

    Attributes
    ----------
    module_ : torch.nn.Module
        The trained network, which reads standardised inputs.
    dependence_ : ndarray of shape (n_components,)
        HSIC of each feature with the target, averaged over blocks of about 1,000 rows.
    validation_scores_ : list
        Dependence on the held-out rows, relative to that of the target with itself.
    n_iter_ : int
        Iterations or epochs.
    n_unlabeled_ : int
    target_kernel_ : Kernel

    References
    ----------
    P. Daniušis (2012), Feature extraction via dependence structure optimization, section 4.5.1.

    Examples
    --------
    >>> from depmax.datasets import make_rings
    >>> from depmax.neural import NeuroHBFE
    >>> X, y = make_rings(200, random_state=0)
    >>> model = NeuroHBFE(1, random_state=0).fit(X, y)
    >>> abs(np.corrcoef(model.transform(X)[:, 0], y)[0, 1]) > 0.9
    np.True_
    """

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
        self.beta = beta
        self.graph = graph
        self.unlabeled = unlabeled
        self.weight_decay = weight_decay
        self.solver = solver
        self.validation_fraction = validation_fraction
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _width(self) -> int:  # type: ignore[override]  # depends on parameters here
        return int(self.n_components)

    def _empty_modules(self, n_inputs: int) -> list[Any]:
        if self.module is not None:
            return [fresh_copy(self.module, 0)]
        return [perceptron([n_inputs, *self.hidden_layers, self._width], self.activation)]

    def _train(
        self,
        inputs: np.ndarray,
        target: LabelledTarget,
        smoothness: Smoothness | None,
        rng: np.random.RandomState,
    ) -> None:
        split = Split.of(len(target.rows), float(self.validation_fraction), rng)
        (module,) = self._empty_modules(inputs.shape[1])
        module = self._train_one(module, inputs, target, split, smoothness, rng)
        self._keep([module], np.zeros(self._width), np.eye(self._width))
        outputs = self._outputs(inputs)
        offset = outputs.mean(axis=0)
        basis = _ordered_basis(outputs - offset, target)
        self._keep([module], offset, basis)
        features = (outputs - offset) @ basis
        self.dependence_ = self._dependences(features, target)
        self._warn_of_constant(n_constant(features))


def _ordered_basis(outputs: np.ndarray, target: LabelledTarget) -> np.ndarray:
    """B with white outputs·B, the first with the largest cross-covariance with the target."""
    covariance = outputs.T @ outputs / len(outputs)
    ridge = 1e-6 * np.trace(covariance) / len(covariance) + 1e-12
    factor = linalg.cholesky(covariance + ridge * np.eye(len(covariance)), lower=True)
    basis = linalg.solve_triangular(factor, np.eye(len(covariance)), lower=True).T
    cross = (outputs[target.rows] @ basis).T @ target.factor
    rotation, _, _ = linalg.svd(cross)
    basis = basis @ rotation
    ordered: np.ndarray = basis * upward(outputs @ basis)
    return ordered
