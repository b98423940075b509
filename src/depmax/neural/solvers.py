"""How networks are trained: all rows at once with restarts, or in minibatches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from scipy import optimize

from depmax._parameters import check_parameters, integer, number

#: Rows from which some are held out, and the fewest that are.
MANY_ENOUGH, FEWEST = 40, 10


@dataclass(frozen=True)
class Split:
    """Positions of the rows to train with, and of those held out."""

    train: np.ndarray
    held_out: np.ndarray

    @classmethod
    def of(cls, n_rows: int, fraction: float, rng: np.random.RandomState) -> Split:
        """A random split; nothing is held out of few rows."""
        if fraction == 0 or n_rows < MANY_ENOUGH:
            return cls(np.arange(n_rows), np.arange(0))
        count, order = max(FEWEST, round(fraction * n_rows)), rng.permutation(n_rows)
        return cls(np.sort(order[count:]), np.sort(order[:count]))


class Objective(Protocol):
    """What a solver trains a network for."""

    module: Any  # whose parameters are trained
    split: Split
    weight_decay: float  # times the sum of squares of the parameters, added to the loss

    def loss(self, rows: np.ndarray | None) -> Any:
        """Loss of some of the rows to train with, or of all."""

    def quality(self, rows: np.ndarray) -> float:
        """How good the network is on rows held out, larger is better."""


@dataclass(frozen=True)
class Training:
    """What happened."""

    n_iter: int
    best_score: float | None  # on the rows held out
    problem: str | None


class _Best:
    """The best weights so far: by the quality on rows held out, or else by the loss."""

    def __init__(self, objective: Objective, patience: int) -> None:
        self.objective, self.patience = objective, patience
        self.waited, self.value = 0, -np.inf
        self.weights: dict[str, Any] | None = None
        self.score: float | None = None

    def offer(self, loss: float) -> bool:
        """Remember the present weights if they are the best; whether to wait for better ones."""
        module, held_out, score = self.objective.module, self.objective.split.held_out, None
        if len(held_out):
            module.eval()
            with torch.no_grad():
                score = self.objective.quality(held_out)
            module.train()
        value = -loss if score is None else score
        self.waited += 1
        if value > self.value:  # never where it is NaN
            self.waited, self.value, self.score = 0, value, score
            state = module.state_dict()
            self.weights = {name: part.detach().clone() for name, part in state.items()}
        return self.waited < self.patience

    def training(self, n_iter: int, problem: str | None = None) -> Training:
        """What happened, with the best weights back in the module."""
        if self.weights is None:
            raise ValueError(
                "Training diverged at once: no weights had a finite loss. Scale X, or "
                "lower the learning rate."
            )
        self.objective.module.load_state_dict(self.weights)
        return Training(n_iter, self.score, problem)


@dataclass(frozen=True)
class FullBatch:
    """L-BFGS on all rows, and simulated annealing over its local optima.

    Parameters
    ----------
    max_iter : int, default=200
        Iterations of each descent.
    n_hops : int, default=2
        How many times the weights are perturbed and descent starts again.
    step : float, default=0.5
        Standard deviation of the perturbation, relative to that of the weights.
    temperature : float, default=0.01
        Losses that are worse by this much are accepted with probability 1/e as the next place to
        hop from; the best weights found are kept.
    patience : int, default=30
        Iterations without a better score on held-out rows after which a descent stops.
    """

    max_iter: int = 200
    n_hops: int = 2
    step: float = 0.5
    temperature: float = 0.01
    patience: int = 30

    dtype = torch.float64
    _declared: ClassVar = {
        "max_iter": integer(1),
        "n_hops": integer(0),
        "step": number(0),
        "temperature": number(0, ends="()"),
        "patience": integer(1),
    }

    def __post_init__(self) -> None:
        check_parameters(self)

    def train(self, objective: Objective, rng: np.random.RandomState, verbose: int = 0) -> Training:
        """Leave the best weights in the module."""
        best = _Best(objective, self.patience)
        parameters = _trained(objective)
        here = _flat(parameters)
        accepted, n_iter = np.inf, 0
        for hop in range(self.n_hops + 1):
            start = here
            if hop:
                start = here + self.step * here.std() * rng.standard_normal(len(here))
            found = self._descend(objective, parameters, best, start)
            loss, n_iter = float(found.fun), n_iter + int(found.nit)
            if verbose:
                print(f"hop {hop}: {found.nit} iterations, loss {loss:.6f}, best {best.value:.6f}")
            worse = (loss - accepted) / self.temperature
            if np.isfinite(loss) and (worse <= 0 or rng.uniform() < np.exp(-worse)):
                here, accepted = found.x, loss
        return best.training(n_iter)

    def _descend(
        self, objective: Objective, parameters: list[Any], best: _Best, start: np.ndarray
    ) -> optimize.OptimizeResult:
        last, decay, best.waited = np.inf, objective.weight_decay, 0

        def place(weights: np.ndarray) -> None:
            parts = torch.tensor(weights).split([part.numel() for part in parameters])
            with torch.no_grad():
                for part, values in zip(parameters, parts, strict=True):
                    part.copy_(values.reshape(part.shape))

        def value(weights: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal last
            place(weights)
            loss = objective.loss(None)
            slopes = _flat(torch.autograd.grad(loss, parameters))
            number = float(loss.detach()) + decay * float(weights @ weights)
            if not np.isfinite(number):
                return 1e10, np.zeros_like(weights)
            last = number
            return number, slopes + 2.0 * decay * weights

        def watch(weights: np.ndarray) -> None:
            place(weights)
            if not best.offer(last):
                raise StopIteration

        found = optimize.minimize(
            value,
            start,
            jac=True,
            method="L-BFGS-B",
            callback=watch,
            options={"maxiter": self.max_iter, "maxcor": 20},
        )
        place(found.x)
        best.offer(float(found.fun))
        return found


@dataclass(frozen=True)
class MiniBatch:
    """Adam on minibatches.

    Parameters
    ----------
    learning_rate : float, default=1e-3
    batch_size : int, default=256
    max_epochs : int, default=100
    patience : int, default=10
        Epochs without a better score on held-out rows (or a smaller loss if there are none) after
        which training stops.
    """

    learning_rate: float = 1e-3
    batch_size: int = 256
    max_epochs: int = 100
    patience: int = 10

    dtype = torch.float32
    _declared: ClassVar = {
        "learning_rate": number(0, ends="()"),
        "batch_size": integer(1),
        "max_epochs": integer(1),
        "patience": integer(1),
    }

    def __post_init__(self) -> None:
        check_parameters(self)

    def train(self, objective: Objective, rng: np.random.RandomState, verbose: int = 0) -> Training:
        """Leave the best weights in the module."""
        parameters, decay = _trained(objective), objective.weight_decay
        # Adam adds weight_decay times the parameters to their gradient
        optimiser = torch.optim.Adam(parameters, lr=self.learning_rate, weight_decay=2.0 * decay)
        best, problem, epoch = _Best(objective, self.patience), None, 0
        rows = objective.split.train
        size = min(self.batch_size, len(rows))
        n_batches = len(rows) // size  # the rows of an incomplete batch wait for the next epoch
        for epoch in range(1, self.max_epochs + 1):
            order = rows[rng.permutation(len(rows))]
            total = 0.0
            for batch in range(n_batches):
                optimiser.zero_grad(set_to_none=True)
                loss = objective.loss(order[batch * size : (batch + 1) * size])
                loss.backward()
                optimiser.step()
                total += float(loss.detach())
            if not np.isfinite(total):
                problem = (
                    f"it diverged in epoch {epoch}: lower learning_rate={self.learning_rate} of "
                    "MiniBatch"
                )
                break
            mean = total / n_batches + decay * float((_flat(parameters) ** 2).sum())
            hopeful = best.offer(mean)
            if verbose:
                print(f"epoch {epoch}: loss {mean:.6f}, best {best.value:.6f}")
            if not hopeful:
                break
        return best.training(epoch, problem)


def _trained(objective: Objective) -> list[Any]:
    return [part for part in objective.module.parameters() if part.requires_grad]


def _flat(tensors: Sequence[Any]) -> np.ndarray:
    """All numbers of some tensors as one vector in double precision."""
    vector = torch.cat([tensor.detach().reshape(-1) for tensor in tensors])
    return np.asarray(vector.cpu().numpy(), dtype=np.float64)


#: Names that users may give.
SOLVERS = {"full-batch": FullBatch, "mini-batch": MiniBatch}
#: Rows up to which ``"auto"`` takes them all at once.
FEW_ROWS = 1000


def as_solver(
    solver: Any, n_rows: int, owner: str, auto: tuple[Any, Any] = (FullBatch(), MiniBatch())
) -> Any:
    """A solver from its name, or itself; ``auto`` for few rows and for many."""
    if isinstance(solver, str):
        if solver == "auto":
            return auto[n_rows > FEW_ROWS]
        if solver in SOLVERS:
            return SOLVERS[solver]()
    elif callable(getattr(solver, "train", None)):
        return solver
    raise ValueError(
        f"solver of {owner} must be 'auto', 'full-batch', 'mini-batch', FullBatch(...) or "
        f"MiniBatch(...), got {solver!r}."
    )
