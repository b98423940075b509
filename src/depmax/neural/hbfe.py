"""NeuroHBFE: a network whose outputs together depend most on the target."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import linalg

from depmax.kernels import KernelLike
from depmax.neural._dependence import DependenceNetwork
from depmax.neural._extractor import upward
from depmax.neural._networks import fresh_copy, perceptron
from depmax.neural._tasks import LabelledTarget, Smoothness, Split
from depmax.pencils.graphs import GraphLike


class NeuroHBFE(DependenceNetwork):
    """Features of a neural network with the largest HSIC with the target, all together.

    The network's outputs are made white (mean zero, uncorrelated, unit variance), which takes the
    place of orthonormal directions in HBFE; HSIC between them and the target is then maximised.

    Parameters
    ----------
    n_components : int, default=2
        Number of features, at most the number of rows and of columns.
    hidden_layers : sequence of int, default=(32,)
        Widths of the hidden layers of a multilayer perceptron.
    activation : {"tanh", "relu", "gelu", "sigmoid", "linear"}, default="tanh"
        After every hidden layer; without any it must be ``"linear"``.
    module : torch.nn.Module or None, default=None
        A network of your own instead of the perceptron, with ``n_components`` outputs per row.
        ``fit`` trains a copy.
    target_kernel : kernel, name or "auto", default="auto"
        ``"auto"`` reads the type of y, as in ``HBFE``.
    feature_kernel : {"gaussian", "linear"}, default="gaussian"
        Kernel of the white outputs; ``"gaussian"`` has the bandwidth √n_components.
    unbiased : bool, default=True
        HSIC₁ or HSIC₀. In minibatches only HSIC₁ estimates the dependence of all rows.
    beta : float, default=0.0
        Weight of smoothness over neighbouring rows, in [0, 1), labelled or not. With 0 unlabelled
        rows are left out, with a warning.
    graph : {"neighbors", "radius", "gaussian"}, graph, matrix or callable, default="neighbors"
        Who is whose neighbour among the standardised rows: a ``NeighborGraph``, ``RadiusGraph`` or
        ``GaussianGraph``, as in ``HBFE``. Used with ``beta`` > 0.
    unlabeled : {"auto", None}, default="auto"
        NaN and None in y are unlabelled rows; with ``beta`` > 0 so is -1 among classes other than
        -1 and +1, never among numbers. None makes -1 a class there too.
    weight_decay : float, default=1e-4
        Times the sum of squares of all weights, added to the loss.
    solver : {"auto", "full-batch", "mini-batch"} or object, default="auto"
        ``FullBatch(...)``: L-BFGS with annealing; ``MiniBatch(...)``: Adam. ``"auto"`` takes the
        first up to 1,000 labelled rows.
    validation_fraction : float, default=0.15
        Part of the labelled rows that is held out, at least ten; the weights with the largest
        dependence there are kept. Of fewer than 40 rows none are held out.
    device : "auto", str or torch.device, default="auto"
        ``"auto"`` is a GPU where there is one.
    random_state : int, RandomState or None, default=None
        Of first weights, splits and batches. On a CPU results repeat.
    verbose : int, default=0

    Attributes
    ----------
    module_ : torch.nn.Module
        The trained network, which reads standardised inputs.
    dependence_ : ndarray of shape (n_components,)
        HSIC of each feature with the target, averaged over blocks of about 1,000 rows.
    validation_scores_ : list
        Dependence on the rows held out, relative to that of the target with itself.
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
        self.dependence_ = self._dependences((outputs - offset) @ basis, target)


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
