"""Compiled: sums over the Laplace kernel of one sorted column, each in a single pass.

With x sorted, e^{-|x_i - x_j|/s} telescopes over neighbours: Σ_{j<i} k(x_i, x_j) w_j follows from
its value at i - 1 by one multiplication, so every sum below costs O(m).
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit("float64(float64[::1])", cache=True, nogil=True)
def median_gap(x):  # type: ignore[no-untyped-def]  # numba's signature has the types
    """Median distance between the values of sorted x.

    The smallest distance that half of the pairs do not exceed, by bisection over counts; where
    more than half of the pairs coincide, half of the pairs that do not. 1 if all x are equal.
    """
    size = x.shape[0]
    pairs = size * (size - 1) // 2
    low, high = 0.0, x[size - 1] - x[0]
    if high <= 0.0:
        return 1.0
    goal = -1  # the first round counts coincidences and sets the goal
    for _ in range(60):
        middle = 0.0 if goal < 0 else 0.5 * (low + high)
        count, left = 0, 0
        for right in range(size):
            while x[right] - x[left] > middle:
                left += 1
            count += right - left
        if goal < 0:
            half = (pairs + 1) // 2
            goal = half if count < half else count + (pairs - count + 1) // 2
        elif count >= goal:
            high = middle
        else:
            low = middle
    return high


@njit("void(float64[::1], float64[:, ::1], float64[::1], float64[::1])", cache=True, nogil=True)
def target_sums(decays, psi, squares, out):  # type: ignore[no-untyped-def]  # numba's signature has the types
    """Sums of K̃ with a target of coordinates ψ (rows in sorted order of x).

    ``decays`` holds e^{-(x_i - x_{i-1})/s}. ``out`` receives Σ ψᵀK̃ψ and Σ_i (K̃1)_i ‖ψ_i‖².
    """
    m, rank = psi.shape
    carried = np.zeros(rank)
    ones, weighted, inner, middle = 0.0, 0.0, 0.0, 0.0
    for i in range(1, m):
        decay = decays[i]
        ones = decay * (ones + 1.0)
        weighted = decay * (weighted + squares[i - 1])
        middle += squares[i] * ones + weighted
        for a in range(rank):
            carried[a] = decay * (carried[a] + psi[i - 1, a])
            inner += psi[i, a] * carried[a]
    out[0] = 2.0 * inner
    out[1] = middle


@njit("void(float64[::1], float64[:, ::1], int64[:, ::1], float64[:, ::1])", cache=True, nogil=True)
def exchanged_sums(decays, psi, orders, out):  # type: ignore[no-untyped-def]  # numba's signature has the types
    """The same for several orders of the target's rows, which are centred anew.

    ``orders`` has a row of places, in sorted order of x, for each; so has ``out``, which also
    receives Σ ‖ψ_i‖².
    """
    m, rank = len(decays), psi.shape[1]
    mean, carried, row, last = np.empty((4, rank))
    for k in range(len(orders)):
        mean[:] = 0.0
        for i in range(m):
            for a in range(rank):
                mean[a] += psi[orders[k, i], a]
        mean /= m
        carried[:] = 0.0
        last[:] = 0.0
        ones, weighted, inner, middle, total, before = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(m):
            decay, square = decays[i], 0.0  # the first decay is 0
            for a in range(rank):
                row[a] = psi[orders[k, i], a] - mean[a]
                square += row[a] * row[a]
                carried[a] = decay * (carried[a] + last[a])
                inner += row[a] * carried[a]
                last[a] = row[a]
            ones = decay * (ones + 1.0)
            weighted = decay * (weighted + before)
            middle += square * ones + weighted
            total += square
            before = square
        out[k, 0], out[k, 1], out[k, 2] = 2.0 * inner, middle, total


@njit(
    "void(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])",
    cache=True,
    nogil=True,
)
def own_sums(decays, row_sums, row_squares, images, out):  # type: ignore[no-untyped-def]  # numba's signature has the types
    """Row sums K̃1, row sums of K̃∘K̃, the image K̃(K̃1), and ΣK̃³ and tr K̃³ into ``out``."""
    m = decays.shape[0]
    ones, squares, cubes, counted = 0.0, 0.0, 0.0, 0.0
    sum_cubes, triangles = 0.0, 0.0
    row_sums[0], row_squares[0] = 0.0, 0.0
    for i in range(1, m):
        decay = decays[i]
        # Σ_{j<i} (i-j-1) k², the number of points between each pair, before squares moves on
        counted = decay * decay * (counted + squares)
        ones = decay * (ones + 1.0)
        squares = decay * decay * (squares + 1.0)
        cubes = decay * decay * decay * (cubes + 1.0)
        row_sums[i], row_squares[i] = ones, squares
        sum_cubes += cubes
        triangles += counted
    ones, squares = 0.0, 0.0
    for i in range(m - 2, -1, -1):
        decay = decays[i + 1]
        ones = decay * (ones + 1.0)
        squares = decay * decay * (squares + 1.0)
        row_sums[i] += ones
        row_squares[i] += squares
    carried = 0.0
    images[0] = 0.0
    for i in range(1, m):
        carried = decays[i] * (carried + row_sums[i - 1])
        images[i] = carried
    carried = 0.0
    for i in range(m - 2, -1, -1):
        carried = decays[i + 1] * (carried + row_sums[i + 1])
        images[i] += carried
    out[0] = 2.0 * sum_cubes
    out[1] = 6.0 * triangles


@njit(
    "void(float64[::1], float64[:, ::1], float64[::1], float64[::1], float64[:, ::1])",
    cache=True,
    nogil=True,
    fastmath={"reassoc", "contract"},
)
def target_rows(decays, psi, v, u, found):  # type: ignore[no-untyped-def]  # numba's signature has the types
    """Row sums of K̃ ∘ ΨΨᵀ, the image K̃v and ΨΨᵀu, up and down the sorted rows.

    ``found`` has a row for each of the three.
    """
    m, rank = psi.shape
    carried, turned = np.zeros(rank), np.zeros(rank)  # turned: Ψᵀu
    weighted = 0.0
    found[0, 0], found[1, 0] = 0.0, 0.0
    for a in range(rank):
        turned[a] = psi[0, a] * u[0]
    for i in range(1, m):
        decay = decays[i]
        weighted = decay * (weighted + v[i - 1])
        found[1, i] = weighted
        inner = 0.0
        for a in range(rank):
            carried[a] = decay * (carried[a] + psi[i - 1, a])
            inner += psi[i, a] * carried[a]
            turned[a] += psi[i, a] * u[i]
        found[0, i] = inner
    carried[:] = 0.0
    weighted = 0.0
    image = 0.0
    for a in range(rank):
        image += psi[m - 1, a] * turned[a]
    found[2, m - 1] = image
    for i in range(m - 2, -1, -1):
        decay = decays[i + 1]
        weighted = decay * (weighted + v[i + 1])
        found[1, i] += weighted
        inner, image = 0.0, 0.0
        for a in range(rank):
            carried[a] = decay * (carried[a] + psi[i + 1, a])
            inner += psi[i, a] * carried[a]
            image += psi[i, a] * turned[a]
        found[0, i] += inner
        found[2, i] = image


@njit(
    "void(float64[::1], float64[:, ::1], float64[::1], float64[::1], float64[:, ::1])",
    cache=True,
    nogil=True,
)
def cross_shares(decays, psi, squares, row_sums, found):  # type: ignore[no-untyped-def]  # numba's signature has the types
    """Row sums of Ã ∘ B̃ with a target L = ΨΨᵀ into the first row of ``found``, of shape (3, m).

    ``squares`` is the diagonal of L and ``row_sums`` is K̃1. Off the diagonal
    Ã_ij = K_ij - u_i - u_j + Σu/(m-1), and B̃_ij is the same with L and v, since L̃1 = -diag L.
    """
    m = len(squares)
    u, v = row_sums / (m - 2), -squares / (m - 2)
    target_rows(decays, psi, v, u, found)  # (K̃ ∘ L)1, K̃v and Lu
    sum_u, sum_v, product = u.sum(), v.sum(), (u * v).sum()
    for i in range(m):
        a, b = u[i] - sum_u / (m - 1), v[i] - sum_v / (m - 1)
        found[0, i] += (
            (m - 1) * a * b
            - b * row_sums[i]
            - found[1, i]
            + (a + u[i]) * squares[i]  # L̃u = Lu - diag(L) u
            - found[2, i]
            + a * (sum_v - v[i])
            + b * (sum_u - u[i])
            + (product - u[i] * v[i])
        )
