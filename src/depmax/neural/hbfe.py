"""NeuroHBFE: a network whose outputs depend most on the target; and the base of its kind."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from scipy import linalg
from sklearn.utils import check_random_state

from depmax._parameters import Rule, number, one_of
from depmax.algebra.graphs import GraphLike, as_graph
from depmax.data import read_target
from depmax.data.sample import require_samples, target_sample, warn_of_unlabeled
from depmax.data.table import require_equal_length
from depmax.data.target import marks_unlabeled
from depmax.kernels import KernelLike
from depmax.kernels.kernel import Kernel
from depmax.maps.incomplete_cholesky import factor_to
from depmax.neural._extractor import (
    NeuralExtractor,
    fresh_copy,
    n_constant,
    perceptron,
    require_two_values,
    seeded,
    upward,
)
from depmax.neural._statistics import Smoothness, gram, hsic_with, white_hsic, whiten
from depmax.neural.solvers import Split, as_solver

#: Rows over which a dependence is averaged.
BLOCK = 1000
#: Trace of L - ΨΨᵀ, relative to that of L, at which pivots suffice.
PRECISION = 1e-6


@dataclass(frozen=True)
class LabelledTarget:
    """Coordinates Ψ of the targets, L = ΨΨᵀ, of the rows that have one."""

    rows: np.ndarray  # positions of the labelled rows, shape (n_labelled,)
    factor: np.ndarray  # Ψ, columns of mean zero, shape (n_labelled, r)
    kernel: Kernel
    n_samples: int

    @classmethod
    def read(
        cls, y: Any, target_kernel: KernelLike | Literal["auto"], *, minus_one: bool
    ) -> LabelledTarget:
        """Of the rows that are not NaN or None, nor -1 among classes if ``minus_one``."""
        target = read_target(y, semi=True, minus_one=minus_one)
        rows = np.flatnonzero(target.labelled)
        if len(rows) == 0:
            raise ValueError("y has no labelled row: at least four are needed.")
        known = target.take(rows)
        require_two_values(known, "nothing can depend on a constant")
        sample = target_sample(known, target_kernel)
        width = sample.n_coordinates
        if width is not None and width <= len(rows):
            factor = sample.centred_coordinates()
        else:
            factor = np.asarray(factor_to(sample, PRECISION).factor)
            factor = factor - factor.mean(axis=0)
        return cls(rows, factor, sample.kernel, target.n_samples)


@dataclass
class DependenceObjective:
    """The dependence of a network's outputs on the target, and their smoothness over neighbours.

    The outputs are made white, so that no output repeats another and a larger scale gains nothing.
    Their dependence is HSIC relative to that of the target with itself. The loss is (1-β) times
    minus the dependence plus β times how much features change between neighbouring rows, which is
    1 for features that ignore the neighbourhood.
    """

    model: Any  # the estimator, for its parameters
    module: Any
    inputs: Any  # all rows, tensor of shape (m, D)
    places: Any  # positions of the labelled rows, where the inputs are
    factor: Any  # Ψ of the labelled rows, tensor of shape (n_labelled, r)
    earlier: Any  # earlier features of all rows, tensor of shape (m, t), or None
    split: Split  # of the labelled rows
    smoothness: Smoothness | None  # with beta > 0
    rng: np.random.RandomState

    def __post_init__(self) -> None:
        self.weight_decay = float(self.model.weight_decay)
        # √HSIC₀(y, y) = ‖ΨᵀΨ‖/(m - 1), columns of Ψ of mean zero
        moments = self.factor.T @ self.factor
        self.scale = float(torch.linalg.norm(moments)) / (len(self.factor) - 1)

    def loss(self, rows: np.ndarray | None) -> Any:
        """Minus dependence, and roughness, of some of the training rows, or of all."""
        beta = float(self.model.beta)
        value = self.dependence(*self.at(self.split.train if rows is None else rows), beta - 1.0)
        if self.smoothness is None:
            return value
        if rows is None:
            rough = self.smoothness.of_all(self.outputs(torch.arange(len(self.inputs))))
        else:
            rough = self.smoothness.of_some(self.outputs, len(rows), self.rng)
        return value + beta * rough

    def quality(self, rows: np.ndarray) -> float:
        """Dependence, averaged over blocks of rows."""
        blocks = np.array_split(rows, max(1, len(rows) // BLOCK))
        return float(np.mean([float(self.dependence(*self.at(block), 1.0)) for block in blocks]))

    def at(self, rows: np.ndarray) -> tuple[Any, Any]:
        """Places and Ψ of some of the labelled rows."""
        chosen = torch.as_tensor(rows, device=self.places.device)
        return self.places.index_select(0, chosen), self.factor.index_select(0, chosen)

    # --- what differs between methods -----------------------------------------------------------
    def outputs(self, places: Any) -> Any:
        """Outputs of the rows at some places."""
        return self.module(self.inputs.index_select(0, places.to(self.inputs.device)))

    def dependence(self, places: Any, factor: Any, weight: float) -> Any:
        """Dependence of the rows at some places, with their Ψ, times a weight."""
        kernel, unbiased = self.model.feature_kernel, bool(self.model.unbiased)
        return white_hsic(self.outputs(places), factor, kernel, unbiased, weight / self.scale)


#: beta, graph and unlabeled of a method that knows no neighbouring rows.
WITHOUT_GRAPH: tuple[Any, Any, Any] = (0.0, None, "auto")


@dataclass(eq=False, repr=False)
class DependenceNetwork(NeuralExtractor):
    """Base of extractors whose networks are trained for dependence, one after another."""

    _: KW_ONLY
    module: Any = None
    target_kernel: KernelLike | Literal["auto"] = "auto"
    feature_kernel: Literal["gaussian", "linear"] = "gaussian"
    unbiased: bool = True
    beta, graph, unlabeled = WITHOUT_GRAPH

    _declared: ClassVar = {
        "module": Rule(
            lambda module: module is None or isinstance(module, torch.nn.Module),
            "a torch.nn.Module or None",
        ),
        "feature_kernel": one_of("gaussian", "linear"),
        "beta": number(0, 1, ends="[)"),
    }
    _objective: ClassVar[type[DependenceObjective]] = DependenceObjective

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train the network, or one after another.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        y : target of any type
            Rows may be unlabelled: NaN or None, with ``beta`` > 0 also -1 among classes. Without
            ``beta`` > 0 they are ignored, with a warning.

        Returns
        -------
        self
        """
        self._check_parameters()
        name, minus_one = type(self).__name__, marks_unlabeled(self.unlabeled, self.beta)
        target = LabelledTarget.read(y, self.target_kernel, minus_one=minus_one)
        inputs, n_labelled = self._read(X), len(target.rows)
        require_equal_length(len(inputs), target.n_samples)
        require_samples(n_labelled, self.unbiased)
        self.target_kernel_ = target.kernel
        self.n_unlabeled_ = len(inputs) - n_labelled
        if self.beta == 0:
            warn_of_unlabeled(self.n_unlabeled_, len(inputs), name)
        smooth = Smoothness.of(inputs, as_graph(self.graph)) if self.beta > 0 else None
        rng = check_random_state(self.random_state)
        solver = as_solver(self.solver, n_labelled, name)
        places = torch.as_tensor(target.rows, device=self.device_)
        rows = self._tensor(inputs, solver)
        self.n_iter_ = 0
        self.validation_scores_: list[float | None] = []
        trained: list[DependenceObjective] = []
        features = None
        with seeded(rng):
            split = Split.of(n_labelled, float(self.validation_fraction), rng)
            for module in self._networks(inputs.shape[1]):
                module = module.to(device=self.device_, dtype=solver.dtype).train()
                self._require_width(module, rows[:2])
                factor = self._tensor(self._unexplained(target, features), solver)
                earlier = None if features is None else self._tensor(features, solver)
                objective = self._objective(
                    self, module, rows, places, factor, earlier, split, smooth, rng
                )
                training = solver.train(objective, rng, int(self.verbose))
                self.n_iter_ += training.n_iter
                self.validation_scores_.append(training.best_score)
                self._report(training)
                trained.append(objective)
                self._modules = [each.module.eval() for each in trained]
                outputs = self._outputs(inputs)
                offset = outputs.mean(axis=0)
                self._keep(self._modules, offset, self._new_basis(outputs, target))
                features = (outputs - offset) @ self._basis
        assert features is not None  # n_components is at least 1
        self.dependence_ = self._dependences(trained, features, target)
        self._warn_of_constant(n_constant(features))
        return self

    # --- what differs between methods -----------------------------------------------------------
    _together: ClassVar[bool] = False  # whether one network has all features for its outputs

    def _new_basis(self, outputs: np.ndarray, target: LabelledTarget) -> np.ndarray:
        """Features are centred outputs times this; ``self._basis`` has those before the newest."""
        raise NotImplementedError

    def _unexplained(self, target: LabelledTarget, features: np.ndarray | None) -> np.ndarray:
        """What the next network is trained for: Ψ of the labelled rows."""
        return target.factor

    def _dependences(
        self, trained: list[DependenceObjective], features: np.ndarray, target: LabelledTarget
    ) -> np.ndarray:
        """HSIC of each feature with the target, averaged over blocks of rows."""
        order = np.random.default_rng(0).permutation(len(target.rows))
        blocks = np.array_split(order, max(1, len(order) // BLOCK))
        values = np.zeros(features.shape[1])
        for block in blocks:
            factor = torch.as_tensor(target.factor[block])
            for column in range(features.shape[1]):
                feature = torch.as_tensor(features[target.rows[block], column : column + 1])
                K = gram(whiten(feature), self.feature_kernel)
                value = hsic_with(K, factor, unbiased=bool(self.unbiased))
                values[column] += float(value) / len(blocks)
        return values

    # --- networks -------------------------------------------------------------------------------
    def _networks(self, n_inputs: int) -> list[Any]:
        count = int(self.n_components)
        count, width = (1, count) if self._together else (count, 1)
        if self.module is not None:
            return [fresh_copy(self.module, number) for number in range(count)]
        sizes = [n_inputs, *self.hidden_layers, width]
        return [perceptron(sizes, self.activation) for _ in range(count)]

    def _require_width(self, module: Any, rows: Any) -> None:
        """Refuse a user's module whose outputs have another shape than features."""
        with torch.no_grad():
            shape = tuple(module(rows).shape)
        width = int(self.n_components) if self._together else 1
        if shape != (len(rows), width):
            raise ValueError(
                f"module must give {width} output(s) per row, got outputs of shape {shape} for "
                f"{len(rows)} rows."
            )

    def _check_parameters(self) -> None:
        """Refuse also options that would change nothing beside the others."""
        super()._check_parameters()
        kind = type(self)
        for option in ("hidden_layers", "activation"):
            value = getattr(self, option)
            if self.module is not None and value != getattr(kind, option):
                raise ValueError(
                    f"{option}={value!r} of {kind.__name__} has no effect with module=, which is "
                    "the whole network: omit one of them."
                )
        if self.module is None and len(self.hidden_layers) == 0 and self.activation != "linear":
            raise ValueError(
                f"activation={self.activation!r} of {kind.__name__} has no effect without "
                "hidden_layers: pass activation='linear', or give hidden_layers."
            )
        if self.graph is not None:
            as_graph(self.graph)
        if self.beta == 0 and self.graph is not kind.graph and self.graph != kind.graph:
            raise ValueError(
                f"graph={self.graph!r} of {kind.__name__} has no effect with beta=0: pass beta > "
                "0, or omit it."
            )


@dataclass(eq=False, repr=False)
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

    _: KW_ONLY
    beta: float = 0.0
    graph: GraphLike = "neighbors"
    unlabeled: Literal["auto"] | None = "auto"

    _together: ClassVar[bool] = True

    def _new_basis(self, outputs: np.ndarray, target: LabelledTarget) -> np.ndarray:
        """White features, the first with the largest cross-covariance with the target."""
        outputs = outputs - outputs.mean(axis=0)
        covariance = outputs.T @ outputs / len(outputs)
        ridge = 1e-6 * np.trace(covariance) / len(covariance) + 1e-12
        factor = linalg.cholesky(covariance + ridge * np.eye(len(covariance)), lower=True)
        basis = linalg.solve_triangular(factor, np.eye(len(covariance)), lower=True).T
        rotation, _, _ = linalg.svd((outputs[target.rows] @ basis).T @ target.factor)
        basis = basis @ rotation
        ordered: np.ndarray = basis * upward(outputs @ basis)
        return ordered
