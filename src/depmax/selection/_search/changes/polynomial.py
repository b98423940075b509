"""Changes of a polynomial kernel: exact, with one product per degree.

(G + c ∓ ab)^b = Σ_k C(b, k) (∓ab)^k (G + c)^{b-k}, so that a score is
Σ_k C(b, k) (∓1)^k (x^k)ᵀ W_k x^k with W_k = M∘(G + c)^{b-k}.
"""

from __future__ import annotations

from math import comb

import numpy as np

from depmax.kernels.polynomial import Polynomial
from depmax.selection._search.changes.problem import (
    Change,
    FastForm,
    Outcome,
    Problem,
    is_exactly,
    takes_single_columns,
)


def polynomial_changes(problem: Problem, kernel: Polynomial, change: Change) -> Outcome:
    """Scores of single columns for a polynomial kernel."""
    degree, offset = int(kernel.degree), float(kernel.offset)
    base = np.asarray(problem.X[:, change.base], dtype=np.float64)
    columns = np.asarray(problem.X[:, np.concatenate(change.units)], dtype=np.float64)
    powers = [columns**k for k in range(1, degree + 1)]

    def work(rows: slice) -> tuple[float, np.ndarray]:
        weights = problem.weights.strip(rows)
        products = base[rows] @ base[rows.start :].T + offset
        value = float(np.vdot(weights, products**degree))
        scores = np.full(columns.shape[1], value)
        for k, power in enumerate(powers, start=1):
            strip = weights * products ** (degree - k)
            bilinear = np.einsum("ij,ij->j", strip @ power[rows.start :], power[rows])
            scores += comb(degree, k) * (-change.sign) ** k * bilinear
        return value, scores

    parts = problem.over(work, problem.weights.strips())
    return Outcome(sum(value for value, _ in parts), np.sum([part for _, part in parts], axis=0))


FORM = FastForm(is_exactly(Polynomial), polynomial_changes, takes_single_columns)
