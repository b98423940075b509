"""The path of non-negative least squares under a falling penalty, column by column (LARS)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy import linalg

#: Part of a column that the active ones leave unexplained, in squares; less is a copy of them.
COPY = 1e-8


class Design(Protocol):
    """Columns φ_j and a target ψ that are known by their inner products only."""

    @property
    def correlations(self) -> np.ndarray:
        """<φ_j, ψ>, of shape (n_features,)."""

    @property
    def squares(self) -> np.ndarray:
        """<φ_j, φ_j>; zero for a column that says nothing."""

    @property
    def target_square(self) -> float:
        """<ψ, ψ>."""

    def products(self, columns: np.ndarray) -> np.ndarray:
        """<φ_j, φ_k> of these columns j with all k, of shape (len(columns), n_features)."""

    def ahead(self, n_known: int) -> int:
        """How many columns to ask for at once, of which all but one are guesses."""


class KnownProducts:
    """Inner products with the columns asked for so far; a few likely ones are asked for ahead."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self._slots: dict[int, int] = {}  # where the products of a column are kept
        self._store = np.empty((0, len(design.squares)))

    def get(self, column: int, distance: np.ndarray) -> np.ndarray:
        """Products of one column with all, and those of the nearest others on the way.

        Parameters
        ----------
        column : int
        distance : ndarray of shape (n_features,)
            How far each column is from being asked for; infinite if it will not be soon.
        """
        if column not in self._slots:
            distance = distance.copy()
            distance[[column, *self._slots]] = np.inf
            guesses = np.argsort(distance, kind="stable")
            count = max(0, self._design.ahead(len(self._slots)) - 1)
            guesses = guesses[:count][distance[guesses[:count]] < np.inf]
            self._add([column, *guesses.tolist()])
        return self._store[self._slots[column]]

    def combine(self, columns: list[int], weights: np.ndarray) -> np.ndarray:
        """Σ_j w_j <φ_j, φ_k> over these columns j, for rows of weights and all k."""
        spread = np.zeros((len(weights), len(self._slots)))
        spread[:, [self._slots[column] for column in columns]] = weights
        return spread @ self._store[: len(self._slots)]

    def _add(self, columns: list[int]) -> None:
        first = len(self._slots)
        needed = first + len(columns)
        if needed > len(self._store):
            store = np.empty((max(needed, 2 * first), self._store.shape[1]))
            store[:first] = self._store[:first]
            self._store = store
        self._store[first:needed] = self._design.products(np.array(columns))
        self._slots.update({column: first + i for i, column in enumerate(columns)})


class ActiveColumns:
    """The active columns, in order, and the Cholesky factor of their inner products."""

    def __init__(self) -> None:
        self.columns: list[int] = []
        self._factor = np.zeros((0, 0))  # lower triangular

    def add(self, column: int, products: np.ndarray, square: float) -> bool:
        """Append a column, unless the active ones reproduce it.

        Parameters
        ----------
        column : int
        products : ndarray
            Its inner products with the active columns.
        square : float
            Its inner product with itself.
        """
        k = len(self.columns)
        row = linalg.solve_triangular(self._factor, products, lower=True) if k else products
        left = square - float(row @ row)
        if left <= COPY * square:
            return False
        factor = np.zeros((k + 1, k + 1))
        factor[:k, :k] = self._factor
        factor[k, :k], factor[k, k] = row, np.sqrt(left)
        self._factor = factor
        self.columns = [*self.columns, column]
        return True

    def drop(self, position: int) -> None:
        """Take a column out; the rows left of the factor are made triangular again."""
        self.columns = self.columns[:position] + self.columns[position + 1 :]
        rows = np.delete(self._factor, position, axis=0)
        factor = linalg.qr(rows.T, mode="r")[0][: len(rows)].T
        self._factor = factor * np.where(np.diag(factor) < 0, -1.0, 1.0)

    def direction(self) -> np.ndarray:
        """Coefficients along which the correlations of all active columns fall alike."""
        return linalg.cho_solve((self._factor, True), np.ones(len(self.columns)))


#: The path ends where the penalty is this small a part of the first one.
END = 1e-9
#: Columns whose penalties of entry differ by less than this part of the first one enter in order.
TIE = 1e-10
#: Steps per column after which a degenerate path is left.
PATIENCE = 20


@dataclass
class LassoPath:
    """A finished path: which column entered when, and the coefficients where it stopped."""

    coef: np.ndarray  # α, of shape (n_features,)
    entered: np.ndarray  # penalty at which each column entered last; NaN if it never did
    active: list[int] = field(default_factory=list)  # in the order of their last entry
    copies: list[int] = field(default_factory=list)  # columns that the active ones reproduce
    penalties: list[float] = field(default_factory=list)  # λ at the start and after each step
    steps: list[tuple[int, float]] = field(default_factory=list)  # (active columns, alignment)


@dataclass(frozen=True)
class Step:
    """The next event on a path, and how far λ falls until then."""

    length: float
    entering: int | None = None  # a column
    leaving: int | None = None  # a position among the active columns


def nonnegative_path(design: Design, n_active: int) -> LassoPath:
    """Minimise ½‖ψ - Σ α_j φ_j‖² + λ Σ α_j over α ≥ 0 for falling λ, exactly.

    The solution is piecewise linear in λ: a step ends where a column enters or leaves. The path
    stops where one more than ``n_active`` columns would be active, or at λ = 0. Of columns that
    are equally near, the first enters first; one that the active columns reproduce never enters.

    Parameters
    ----------
    design : Design
        Inner products of the columns φ_j and the target ψ.
    n_active : int
        Columns to let in, at least one.

    Returns
    -------
    LassoPath
    """
    walk = _Walk(design)
    step = walk.first_step()
    for _ in range(PATIENCE * (len(design.squares) + 1)):
        if step.entering is not None:
            if len(walk.active.columns) == n_active:
                break
            walk.enter(step.entering)
        elif step.leaving is not None:
            walk.leave(step.leaving)
        else:
            break
        step = walk.step()
    walk.path.active = walk.active.columns
    return walk.path


class _Walk:
    """The current state of a path."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.known = KnownProducts(design)
        self.active = ActiveColumns()
        size = len(design.squares)
        self.path = LassoPath(np.zeros(size), np.full(size, np.nan))
        self.free = design.squares > 0  # may enter: neither active nor a copy nor constant
        self.penalty = 0.0
        self.distance = np.full(size, np.inf)  # by how much λ falls until a column would enter

    def first_step(self) -> Step:
        """The column that depends most on the target enters."""
        c = np.where(self.free, self.design.correlations, 0.0)
        self.penalty = float(c.max())
        if self.penalty <= 0.0:
            return Step(0.0)
        self.distance = np.where(self.free, self.penalty - c, np.inf)
        self.path.penalties.append(self.penalty)
        return Step(0.0, entering=self._nearest())

    def enter(self, column: int) -> None:
        """Make a column active, or set it aside if the active columns reproduce it."""
        products = self.known.get(column, self.distance)
        squares = self.design.squares
        self.free[column] = False
        if not self.active.add(column, products[self.active.columns], squares[column]):
            self.path.copies.append(column)
            return
        self.path.entered[column] = self.penalty
        same = self.free & (products > (1.0 - COPY) * np.sqrt(squares * squares[column]))
        self.path.copies.extend(np.flatnonzero(same).tolist())
        self.free &= ~same

    def leave(self, position: int) -> None:
        """Take a column, whose coefficient has become zero, out of the active ones."""
        self.free[self.active.columns[position]] = True
        self.active.drop(position)

    def step(self) -> Step:
        """Let λ fall until a column enters or leaves, or to zero."""
        columns = self.active.columns
        beta, weights = self.path.coef[columns], self.active.direction()
        explained, slope = self.known.combine(columns, np.stack([beta, weights]))
        step = self._next(self.design.correlations - explained, slope, beta, weights)
        beta = np.maximum(beta + step.length * weights, 0.0)
        if step.leaving is not None:
            beta[step.leaving] = 0.0
        self.path.coef[columns] = beta
        self.penalty -= step.length
        if step.length > 0.0:
            self.path.penalties.append(self.penalty)
            self.path.steps.append((len(columns), self._alignment(columns, beta)))
        return step

    def _next(
        self, c: np.ndarray, slope: np.ndarray, beta: np.ndarray, weights: np.ndarray
    ) -> Step:
        """The first of: a column enters, a coefficient becomes zero, λ does.

        While λ falls by one, the correlation c_j of a column falls by its slope, which is one for
        the active columns.
        """
        reachable = self.free & (slope < 1.0)
        gap = np.maximum(self.penalty - c[reachable], 0.0)
        self.distance = np.full(len(c), np.inf)
        self.distance[reachable] = gap / (1.0 - slope[reachable])
        entering = self._nearest()
        falling = weights < 0.0
        until_zero = np.full(len(beta), np.inf)
        until_zero[falling] = -beta[falling] / weights[falling]
        leaving = int(np.argmin(until_zero))
        end = self.penalty - END * self.path.penalties[0]
        if end <= min(self.distance[entering], until_zero[leaving]):
            return Step(self.penalty)
        if until_zero[leaving] < self.distance[entering]:
            return Step(float(until_zero[leaving]), leaving=leaving)
        return Step(float(self.distance[entering]), entering=entering)

    def _nearest(self) -> int:
        """The column that enters next, the first of equals."""
        tie = self.distance.min() + TIE * self.path.penalties[0]
        return int(np.argmax(self.distance <= tie))

    def _alignment(self, columns: list[int], beta: np.ndarray) -> float:
        """Cosine between the target and the weighted sum of the active columns."""
        explained = self.known.combine(columns, beta[np.newaxis])[0]
        square = float(explained[columns] @ beta) * self.design.target_square
        cross = float(self.design.correlations[columns] @ beta)
        return cross / math.sqrt(square) if square > 0.0 else 0.0
