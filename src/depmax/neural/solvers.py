"""How networks are trained: all rows at once with restarts, or in minibatches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from scipy import optimize

from depmax._parameters import check_parameters, integer, number


class Task(Protocol):
    """What a solver minimises."""

    module: Any  # whose parameters are trained
    n_rows: int  # rows to draw batches from
    weight_decay: float  # times the sum of squares of the parameters, added to the loss

    def loss(self, rows: np.ndarray | None) -> Any:
        """Loss of some of the rows, or of all."""

    def score(self) -> float | None:
        """Quality on rows held out, larger is better; None without such rows."""


@dataclass(frozen=True)
class Training:
    """What happened."""

    n_iter: int
    best_score: float | None
    problem: str | None


class _Best:
    """The best weights so far: by the score of rows held out, or else by the loss."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.value = -np.inf
        self.weights: dict[str, Any] | None = None
        self.score: float | None = None

    def offer(self, loss: float) -> bool:
        """Remember the present weights if they are the best; whether they are."""
        score = self.task.score()
        value = -loss if score is None else score
        if not value > self.value:  # also where it is NaN
            return False
        self.value, self.score = value, score
        state = self.task.module.state_dict()
        self.weights = {name: value.detach().clone() for name, value in state.items()}
        return True

    def restore(self) -> None:
        """Put the best weights back."""
        if self.weights is None:
            raise ValueError(
                "Training diverged at once: no weights had a finite loss. Scale X, or "
                "lower the learning rate."
            )
        self.task.module.load_state_dict(self.weights)


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

    def train(self, task: Task, rng: np.random.RandomState, verbose: int = 0) -> Training:
        """Leave the best weights in the module."""
        parameters = [p for p in task.module.parameters() if p.requires_grad]
        best = _Best(task)
        here = _to_vector(parameters)
        accepted, n_iter = np.inf, 0
        for hop in range(self.n_hops + 1):
            shaken = here
            if hop:
                shaken = here + self.step * here.std() * rng.standard_normal(len(here))
            weights, loss, count = self._descend(task, parameters, best, shaken)
            n_iter += count
            if verbose:
                print(f"hop {hop}: {count} iterations, loss {loss:.6f}, best {best.value:.6f}")
            worse = (loss - accepted) / self.temperature
            if np.isfinite(loss) and (worse <= 0 or rng.uniform() < np.exp(-worse)):
                here, accepted = weights, loss
        best.restore()
        return Training(n_iter, best.score, None)

    def _descend(
        self, task: Task, parameters: list[Any], best: _Best, start: np.ndarray
    ) -> tuple[np.ndarray, float, int]:
        last = {"loss": np.inf, "waited": 0}

        def value(weights: np.ndarray) -> tuple[float, np.ndarray]:
            _from_vector(weights, parameters)
            loss = task.loss(None)
            slopes = torch.autograd.grad(loss, parameters)
            decay = task.weight_decay
            number = float(loss.detach()) + decay * float(weights @ weights)
            if not np.isfinite(number):
                return 1e10, np.zeros_like(weights)
            last["loss"] = number
            flat = torch.cat([slope.reshape(-1) for slope in slopes])
            return number, flat.detach().cpu().numpy().astype(np.float64) + 2.0 * decay * weights

        def watch(weights: np.ndarray) -> None:
            _from_vector(weights, parameters)
            better = best.offer(last["loss"])
            last["waited"] = 0 if better else last["waited"] + 1
            if last["waited"] >= self.patience:
                raise StopIteration

        found = optimize.minimize(
            value,
            start,
            jac=True,
            method="L-BFGS-B",
            callback=watch,
            options={"maxiter": self.max_iter, "maxcor": 20},
        )
        _from_vector(found.x, parameters)
        best.offer(float(found.fun))
        return found.x, float(found.fun), int(found.nit)


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

    def train(self, task: Task, rng: np.random.RandomState, verbose: int = 0) -> Training:
        """Leave the best weights in the module."""
        parameters = [p for p in task.module.parameters() if p.requires_grad]
        # Adam adds weight_decay times the parameters to their gradient
        decay = task.weight_decay
        optimiser = torch.optim.Adam(parameters, lr=self.learning_rate, weight_decay=2.0 * decay)
        best, waited, problem, epoch = _Best(task), 0, None, 0
        size = min(self.batch_size, task.n_rows)
        n_batches = task.n_rows // size  # the rows of an incomplete batch wait for the next epoch
        for epoch in range(1, self.max_epochs + 1):
            order = rng.permutation(task.n_rows)
            total = 0.0
            for batch in range(n_batches):
                optimiser.zero_grad(set_to_none=True)
                loss = task.loss(order[batch * size : (batch + 1) * size])
                loss.backward()
                optimiser.step()
                total += float(loss.detach())
            if not np.isfinite(total):
                problem = (
                    f"it diverged in epoch {epoch}: lower learning_rate={self.learning_rate} of "
                    "MiniBatch"
                )
                break
            mean = total / n_batches + decay * float((_to_vector(parameters) ** 2).sum())
            better = best.offer(mean)
            if verbose:
                print(f"epoch {epoch}: loss {mean:.6f}, best {best.value:.6f}")
            waited = 0 if better else waited + 1
            if waited >= self.patience:
                break
        best.restore()
        return Training(epoch, best.score, problem)


@dataclass(frozen=True)
class Auto:
    """What ``"auto"`` stands for."""

    few: FullBatch = FullBatch()  # up to FEW_ROWS rows
    many: MiniBatch = MiniBatch()


AUTO = Auto()

#: Names that users may give.
SOLVERS = {"full-batch": FullBatch, "mini-batch": MiniBatch}
#: Rows up to which ``"auto"`` takes them all at once.
FEW_ROWS = 1000


def as_solver(solver: Any, n_rows: int, owner: str, auto: Auto = AUTO) -> Any:
    """A solver from its name, or itself."""
    if isinstance(solver, str):
        if solver == "auto":
            return auto.few if n_rows <= FEW_ROWS else auto.many
        if solver in SOLVERS:
            return SOLVERS[solver]()
    elif callable(getattr(solver, "train", None)):
        return solver
    raise ValueError(
        f"solver of {owner} must be 'auto', 'full-batch', 'mini-batch', FullBatch(...) or "
        f"MiniBatch(...), got {solver!r}."
    )


def _to_vector(parameters: list[Any]) -> np.ndarray:
    flat = torch.cat([p.detach().reshape(-1) for p in parameters])
    vector: np.ndarray = flat.cpu().numpy().astype(np.float64)
    return vector


def _from_vector(vector: np.ndarray, parameters: list[Any]) -> None:
    position = 0
    with torch.no_grad():
        for p in parameters:
            part = vector[position : position + p.numel()]
            p.copy_(torch.from_numpy(part.copy()).reshape(p.shape))
            position += p.numel()
