"""Changes of a Gaussian kernel by explicit exponentials: long tails, few columns, and groups."""

from __future__ import annotations

import numpy as np

from depmax.selection.changes.problem import Change, Outcome, Problem


def explicit_scores(problem: Problem, kernel: object, change: Change) -> Outcome:
    """Σ M exp(-γ(D ∓ D_unit)) for every unit; no power of a large number is ever taken."""
    gamma = 0.5 / kernel.bandwidth**2  # type: ignore[attr-defined]
    base = np.asarray(problem.X[:, change.base], dtype=np.float64)
    units = [np.asarray(problem.X[:, unit], dtype=np.float64) for unit in change.units]

    def work(rows: slice) -> np.ndarray:
        later = slice(rows.start, None)
        weights = problem.weights.strip(rows)
        distances = _squared(base[rows], base[later])
        sums = [float(np.vdot(weights, np.exp(-gamma * distances)))]
        for unit in units:
            changed = _squared(unit[rows], unit[later])
            changed *= change.sign * gamma
            changed -= gamma * distances
            np.minimum(changed, 0.0, out=changed)
            sums.append(float(np.vdot(weights, np.exp(changed, out=changed))))
        return np.array(sums)

    total = np.sum(problem.over(work, problem.weights.strips()), axis=0)
    return Outcome(float(total[0]), total[1:])


def _squared(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Squared distances; of single columns without cancellation."""
    if rows.shape[1] == 1:
        differences = np.subtract.outer(rows[:, 0], others[:, 0])
        return np.square(differences, out=differences)
    if rows.shape[1] == 0:
        return np.zeros((rows.shape[0], others.shape[0]))
    centre = others.mean(axis=0)
    rows, others = rows - centre, others - centre
    squares = -2.0 * (rows @ others.T)
    squares += np.einsum("ij,ij->i", rows, rows)[:, np.newaxis]
    squares += np.einsum("ij,ij->i", others, others)[np.newaxis, :]
    return np.maximum(squares, 0.0, out=squares)
