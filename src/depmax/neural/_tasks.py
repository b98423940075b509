"""What networks are trained for: dependence, smoothness over neighbours, reconstruction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from scipy import linalg

from depmax.algebra.graphs import Graph, Laplacian, VectorPoints
from depmax.data import Target, read_target
from depmax.data.reading import kernel_of_target
from depmax.data.sample import Sample
from depmax.kernels import KernelLike, as_kernel
from depmax.kernels.kernel import Kernel
from depmax.maps.incomplete_cholesky import factor_to
from depmax.neural._statistics import (
    alignment,
    gram,
    hsic,
    hsic_with,
    uncorrelated,
    white_hsic,
    whiten,
)

#: Trace of L - ΨΨᵀ, relative to that of L, at which pivots suffice.
PRECISION = 1e-6


@dataclass(frozen=True)
class LabelledTarget:
    """Coordinates Ψ of the targets, L = ΨΨᵀ, of the rows that have one."""

    rows: np.ndarray  # positions of the labelled rows, shape (n_labelled,)
    factor: np.ndarray  # Ψ, shape (n_labelled, r)
    kernel: Kernel
    n_samples: int

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a label."""
        return self.n_samples - len(self.rows)

    def beyond(self, features: np.ndarray) -> LabelledTarget:
        """What linear functions of features, given for all rows, leave of the coordinates."""
        known = features[self.rows] - features[self.rows].mean(axis=0)
        slopes, *_ = linalg.lstsq(known, self.factor)
        return replace(self, factor=self.factor - known @ slopes)


def read_labelled(
    y: Any,
    target_kernel: KernelLike | Literal["auto"],
    *,
    minus_one: bool,
) -> LabelledTarget:
    """Target of the rows that are not NaN or None, nor -1 among classes if ``minus_one``."""
    target = read_target(y, semi=True, minus_one=minus_one)
    rows = np.flatnonzero(target.labelled)
    if len(rows) == 0:
        raise ValueError("y has no labelled row: at least four are needed.")
    known = Target(target.kind, target.values[rows], np.ones(len(rows), dtype=bool))
    _require_two_values(known)
    auto = isinstance(target_kernel, str) and target_kernel == "auto"
    recipe = kernel_of_target(known) if auto else as_kernel(target_kernel)
    values = known.labels if recipe.capabilities.labels else known.vectors
    kernel = recipe.resolve(values)
    return LabelledTarget(rows, _factor(Sample(kernel, values)), kernel, target.n_samples)


def _factor(side: Sample) -> np.ndarray:
    width = side.n_coordinates
    if width is not None and width <= side.n_samples:
        return side.centred_coordinates()
    factor = np.asarray(factor_to(side, PRECISION).factor)
    centred: np.ndarray = factor - factor.mean(axis=0)
    return centred


def _require_two_values(target: Target) -> None:
    if (target.values == target.values[0]).all():
        raise ValueError(
            f"y has one class only or is constant ({target.values[0]!r}): nothing can depend on a "
            "constant. At least two values are needed."
        )


@dataclass(frozen=True)
class Smoothness:
    """tr(FᵀΔF)/(k tr Δ) of k white features F with the Laplacian Δ of a graph of all rows.

    It is 1 for features that ignore the graph, and 0 for those that are constant along it.
    """

    laplacian: Laplacian
    total: float  # tr Δ

    @classmethod
    def of(cls, inputs: np.ndarray, graph: Graph) -> Smoothness:
        """From the rows as the network reads them, of shape (m, D)."""
        laplacian = graph.laplacian(VectorPoints.of(inputs))
        total = float(laplacian.diagonal.sum())
        if total == 0:
            raise ValueError(f"{graph!r} gives no row a neighbour: widen it, or use beta=0.")
        return cls(laplacian, total)

    def of_all(self, outputs: Any) -> Any:
        """Roughness of the white outputs of all rows."""
        features = whiten(outputs)
        return _Energy.apply(features, self.laplacian) / (self.total * features.shape[1])

    def of_some(self, outputs: Callable[[Any], Any], count: int, rng: np.random.RandomState) -> Any:
        """An estimate from pairs of neighbours drawn at random; ``outputs`` from row numbers."""
        pairs = self.laplacian.weights.draw(count, rng)
        ends = np.concatenate([pairs.first, pairs.second])
        features = whiten(outputs(torch.as_tensor(ends)))
        scales = torch.as_tensor(self.laplacian.scales[ends], dtype=features.dtype)
        scaled = features * scales.to(features.device)[:, None]
        squares = ((scaled[:count] - scaled[count:]) ** 2).sum(dim=1)
        weights = torch.as_tensor(pairs.weights / (self.total * features.shape[1]))
        return (squares * weights.to(squares)).mean()


class _Energy(torch.autograd.Function):
    """tr(FᵀΔF), whose gradient is 2ΔF."""

    @staticmethod
    def forward(ctx: Any, features: Any, laplacian: Laplacian) -> Any:
        """Value; ΔF is kept."""
        image = laplacian.apply(features.detach().cpu().numpy().astype(np.float64))
        image = torch.as_tensor(image).to(features)
        ctx.save_for_backward(image)
        return (image * features).sum()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """2ΔF."""
        (image,) = ctx.saved_tensors
        return 2.0 * grad * image, None


#: Labelled rows from which some are held out, and the fewest that are.
MANY_ENOUGH, FEWEST = 40, 10


@dataclass(frozen=True)
class Split:
    """Positions among the labelled rows: those to train with, and those held out."""

    train: np.ndarray
    held_out: np.ndarray

    @classmethod
    def of(cls, n_rows: int, fraction: float, rng: np.random.RandomState) -> Split:
        """A random split; nothing is held out of few rows."""
        count = max(FEWEST, round(fraction * n_rows)) if fraction > 0 else 0
        if count == 0 or n_rows < MANY_ENOUGH:
            return cls(np.arange(n_rows), np.arange(0))
        order = rng.permutation(n_rows)
        return cls(np.sort(order[count:]), np.sort(order[:count]))


@dataclass
class DependenceTask:
    """Minus the dependence of a network's outputs on a target, over that on earlier features.

    The outputs are made white, so that no output repeats another and a larger scale gains nothing.
    With earlier features, from which the outputs are made uncorrelated, the loss is minus
    A(f, y)/(α + A(f, earlier)), A the centred alignment of kernel matrices; without, minus HSIC
    relative to that of the target with itself. With ``beta``
    it is (1-β) times this plus β times how much features change between neighbouring rows, which
    is 1 for features that ignore the neighbourhood.
    """

    module: Any
    inputs: Any  # all rows, tensor of shape (m, D)
    labelled: Any  # positions of the labelled rows
    factor: Any  # Ψ of the labelled rows, tensor of shape (n_labelled, r)
    split: Split
    feature_kernel: str
    unbiased: bool
    weight_decay: float
    rng: np.random.RandomState
    earlier: Any = None  # white earlier features of all rows, or None
    alpha: float = 0.05
    beta: float = 0.0
    smoothness: Smoothness | None = None  # needed with beta

    def __post_init__(self) -> None:
        # √HSIC₀(y, y) = ‖ΨᵀΨ‖/(m - 1), columns of Ψ of mean zero
        moments = self.factor.T @ self.factor
        self.scale = float(torch.linalg.norm(moments)) / (len(self.factor) - 1)
        # positions of the labelled rows, where the inputs are
        self._places = torch.as_tensor(self.labelled, device=self.inputs.device)

    @property
    def n_rows(self) -> int:
        """Rows to draw batches from."""
        return len(self.split.train)

    def loss(self, rows: np.ndarray | None) -> Any:
        """Minus dependence, and roughness, of some of the training rows, or of all."""
        chosen = self.split.train if rows is None else self.split.train[rows]
        value = self._dependence(chosen, self.beta - 1.0)
        if self.smoothness is None:
            return value
        if rows is None:
            rough = self.smoothness.of_all(self._outputs(torch.arange(len(self.inputs))))
        else:
            rough = self.smoothness.of_some(self._outputs, len(rows), self.rng)
        return value + self.beta * rough

    def score(self) -> float | None:
        """Dependence of the rows held out."""
        held_out = self.split.held_out
        if len(held_out) == 0:
            return None
        self.module.eval()
        with torch.no_grad():
            blocks = np.array_split(held_out, max(1, len(held_out) // 1000))
            values = [float(self._dependence(block, 1.0)) for block in blocks]
        self.module.train()
        return float(np.mean(values))

    def _dependence(self, rows: np.ndarray, weight: float) -> Any:
        """Dependence of some labelled rows, times a weight."""
        chosen = torch.as_tensor(rows, device=self._places.device)
        places = self._places.index_select(0, chosen)
        outputs = self._outputs(places)
        factor = self.factor.index_select(0, chosen)
        if self.earlier is None:
            weight = weight / self.scale
            kernel, unbiased = self.feature_kernel, self.unbiased
            return white_hsic(outputs, factor, kernel, unbiased=unbiased, weight=weight)
        K = gram(whiten(outputs), self.feature_kernel)
        dependence = hsic_with(K, factor, unbiased=self.unbiased) * (weight / self.scale)
        redundant = alignment(K, gram(self.earlier.index_select(0, places), self.feature_kernel))
        own = torch.sqrt(hsic(K, K, unbiased=False) + 1e-24)
        return dependence / own / (self.alpha + redundant)

    def _outputs(self, places: Any) -> Any:
        """Outputs of some rows, without what is linear in earlier features there."""
        places = places.to(self.inputs.device)
        outputs = self.module(self.inputs.index_select(0, places))
        if self.earlier is None:
            return outputs
        return uncorrelated(outputs, self.earlier.index_select(0, places))


@dataclass
class ReconstructionTask:
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
        self.fixed = self.inputs + self._noise(self.inputs)

    @property
    def n_rows(self) -> int:
        """Rows to draw batches from."""
        return len(self.split.train)

    def loss(self, rows: np.ndarray | None) -> Any:
        """Mean loss of some of the training rows, or of all."""
        train = self.split.train
        if rows is None:
            inputs, expected = self.fixed[train], self.expected[train]
        else:
            inputs, expected = self.inputs[train[rows]], self.expected[train[rows]]
            inputs = inputs + self._noise(inputs)
        return self.loss_of(self.module(inputs), expected)

    def score(self) -> float | None:
        """Minus the loss of rows held out, without noise."""
        rows = self.split.held_out
        if len(rows) == 0:
            return None
        self.module.eval()
        with torch.no_grad():
            value = -float(self.loss_of(self.module(self.inputs[rows]), self.expected[rows]))
        self.module.train()
        return value

    def _noise(self, inputs: Any) -> Any:
        if self.noise == 0:
            return 0.0
        return self.noise * torch.randn_like(inputs)


@dataclass(frozen=True)
class OutputTarget:
    """What the outputs of a predictor should be."""

    values: np.ndarray  # standardised numbers of shape (m, n), or class numbers of shape (m,)
    n_outputs: int
    loss_of: Any

    @classmethod
    def of(cls, target: Target) -> OutputTarget:
        """Classes for cross-entropy, anything else for squares."""
        if (target.values == target.values[0]).all():
            raise ValueError(
                f"y has one class only or is constant ({target.values[0]!r}): there is nothing to "
                "predict. At least two values are needed."
            )
        if target.kind == "classes":
            classes, codes = np.unique(target.values, return_inverse=True)
            return cls(codes, len(classes), torch.nn.functional.cross_entropy)
        numbers = target.vectors
        spread = numbers.std(axis=0)
        standard = (numbers - numbers.mean(axis=0)) / np.where(spread == 0, 1.0, spread)
        return cls(standard, standard.shape[1], torch.nn.functional.mse_loss)
