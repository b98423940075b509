"""Compiled: sums over the Laplace kernel of sorted columns, each column in a few passes.

With x sorted, e^{-|x_i - x_j|/s} telescopes over neighbours: Σ_{j<i} k(x_i, x_j) w_j follows from
its value at i - 1 by one multiplication, so every sum below costs O(m).
"""

from __future__ import annotations

import math

import numpy as np
from numba import float64, int64, types, void

from depmax._compile_loop import compiled

#: Bits of a digit of the sort, and the digits of a number.
BITS, DIGITS = 11, 6


@compiled(
    void(types.Array(float64, 2, "C", readonly=True), int64[:, ::1], float64[:, ::1]),
)
def sort_columns(values, orders, ordered):  # type: ignore[no-untyped-def]  # numba's signature has the types
    """Sort each of many long columns by the digits of its numbers, in time linear in the rows."""
    m, size = values.shape[1], 2**BITS
    keys, moved = np.empty(m, np.uint64), np.empty(m, np.uint64)
    places = np.empty(m, np.int64)
    mask, lowest = np.uint64(size - 1), np.int64(-(2**63))
    row = np.empty(m)
    bits = row.view(np.int64)
    for j in range(len(values)):
        order, counts = orders[j], np.zeros((DIGITS, size), np.int64)
        for i in range(m):
            row[i] = values[j, i] + 0.0  # one zero
            key = np.uint64(bits[i] ^ ((bits[i] >> 63) | lowest))  # in the order of the numbers
            keys[i], order[i] = key, i
            for digit in range(DIGITS):
                counts[digit, (key >> np.uint64(BITS * digit)) & mask] += 1
        for digit in range(DIGITS):
            shift, count = np.uint64(BITS * digit), counts[digit]
            if count[(keys[0] >> shift) & mask] == m:
                continue
            total = 0
            for b in range(size):
                count[b], total = total, total + count[b]
            for i in range(m):
                b = (keys[i] >> shift) & mask
                place = count[b]
                count[b] = place + 1
                moved[place], places[place] = keys[i], order[i]
            keys, moved = moved, keys
            for i in range(m):
                order[i] = places[i]
        for i in range(m):
            ordered[j, i] = values[j, order[i]]


@compiled("float64(float64[::1])")
def median_gap(x):  # type: ignore[no-untyped-def]  # numba's signature has the types
    """Median distance between the values of sorted x.

    The smallest distance that half of the pairs do not exceed; where more than half of the pairs
    coincide, half of the pairs that do not. 1 if all x are equal. Every round counts the pairs
    below a distance between both ends, and moves one of these to the next distance there is.
    """
    size = len(x)
    low = high = x[size - 1] - x[0]
    if high <= 0.0:
        return 1.0
    at_low, start = 0, 0  # pairs closer than ``low``, the least distance that is not 0
    for i in range(1, size):
        if x[i] > x[i - 1]:
            low, start = min(low, x[i] - x[i - 1]), i
        at_low += i - start
    at_high = size * (size - 1) // 2  # pairs at most ``high`` apart
    half = (at_high + 1) // 2
    goal = half if at_low < half else at_low + (at_high - at_low + 1) // 2
    middle, turn = 0.7 * (x[3 * size // 4] - x[size // 4]), 0  # that of a normal column
    while low < high:
        if not low <= middle < high:  # no number lies between them, or far off
            middle = low
        count, left, below, above = 0, 0, 0.0, high
        for right in range(size):
            while x[right] - x[left] > middle:
                left += 1
            count += right - left
            below = max(below, x[right] - x[left])
            if left > 0:
                above = min(above, x[right] - x[left - 1])
        if count >= goal:
            high, at_high = below, count
        else:
            low, at_low = above, count
        share = (goal - 0.5 - at_low) / (at_high - at_low)
        turn += 1
        middle = low + (high - low) * (share if turn % 3 else 0.5)
    return high


@compiled("void(float64[:, ::1], float64[::1])")
def median_gaps(ordered, widths):  # type: ignore[no-untyped-def]  # numba's signature has the types
    """Median distance of each of many sorted columns."""
    for j in range(len(ordered)):
        widths[j] = median_gap(ordered[j])


#: What ``column_sums`` tells of each column, in the order of its output.
SUMS = (
    "constant",  # whether all values are equal
    "total",  # 1ᵀK̃1
    "inner",  # Σ ψᵀK̃ψ
    "middle",  # Σ (K̃1)_i ‖ψ_i‖²
    "squares",  # Σ Ã², and so on, over the U-centred matrix
    "cubes",
    "triangles",
    "own_biased",  # ‖HKH‖²
    "n_levels",  # different values
    "n_rare",  # rows without the most frequent value
    "n_last",  # rows with the largest value
    "n_both",  # those of them that have the second level of the target
    "cross",  # Σ ÃB̃
    "influence",  # Σ of the squares of what each row, or unit of rows, does to the effect
)


@compiled(
    "void(float64[:, ::1], float64[:, ::1], int64[:, ::1], float64[:, ::1], float64[::1], "
    "float64[::1], int64[::1], int64[::1], boolean, float64[:, ::1], float64[:, ::1])",
    fastmath={"reassoc", "contract"},
)
def column_sums(  # type: ignore[no-untyped-def]  # numba's signature has the types
    ordered, decays, orders, psi, squares, own_y, codes, units, with_effects, rows, out
):
    """All sums of many sorted columns with a target: one line of ``out`` each (``SUMS``).

    ``decays`` holds e^{-(x_i - x_{i-1})/s}, 0 at first. ``psi`` (centred), ``squares`` ‖ψ_i‖²,
    ``own_y`` (B̃ ∘ B̃)1 and ``codes`` (levels of y, or none) are those of the target, in its own
    order; ``units`` says which independent unit a row belongs to, if rows are not independent.
    ``rows`` is room for Ψ in sorted order.
    Off the diagonal Ã_ij = K_ij - u_i - u_j + c, and B̃_ij the same with L = ΨΨᵀ and v, where
    L̃1 = -diag L.
    """
    m, rank = psi.shape
    n_units = 0 if len(units) == 0 else units.max() + 1
    # K̃1, (K̃∘K̃)1, K̃(K̃1) and (K̃ ∘ L)1 - K̃v of each row
    r, q, image, cross = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    own, by_unit = np.empty(m), np.zeros(n_units)
    carried, turned = np.empty(rank), np.empty(rank)
    scale_y = 0.0
    for i in range(m):
        scale_y += own_y[i]
    for j in range(len(decays)):
        d, x, order, found = decays[j], ordered[j], orders[j], out[j]
        found[:] = 0.0
        # different values
        n_levels, most, start = 1, 0, 0
        for i in range(1, m):
            if x[i] != x[i - 1]:
                most, start, n_levels = max(most, i - start), i, n_levels + 1
        n_last, n_both = m - start, 0
        if n_levels == 2 and len(codes) > 0:
            for i in range(start, m):
                n_both += codes[order[i]] == 1
        found[8], found[9], found[10], found[11] = n_levels, m - max(most, n_last), n_last, n_both
        # the column alone: up, then down
        ones, two, three, between, cubes, triangles = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        r[0], q[0] = 0.0, 0.0
        constant = True
        for i in range(1, m):
            decay = d[i]
            constant &= decay == 1.0
            square = decay * decay
            # Σ_{j<i} (i-j-1) k², the number of points between each pair, before two moves on
            between = square * (between + two)
            ones = decay * (ones + 1.0)
            two = square * (two + 1.0)
            three = decay * square * (three + 1.0)
            r[i], q[i] = ones, two
            cubes += three
            triangles += between
        if constant:
            found[0], found[1], found[2] = 1.0, m * (m - 1.0), -squares.sum()
            continue
        ones, two, back = 0.0, 0.0, 0.0
        image[m - 1] = 0.0
        for i in range(m - 2, -1, -1):
            decay = d[i + 1]
            ones = decay * (ones + 1.0)
            two = decay * decay * (two + 1.0)
            back = decay * (back + r[i + 1])
            r[i] += ones
            q[i] += two
            image[i] = back
        total, carry = 0.0, 0.0
        for i in range(m):
            if i > 0:
                carry = d[i] * (carry + r[i - 1])
                image[i] += carry
            total += r[i]
        mean_u, c = total / ((m - 2.0) * (m - 1.0)), total / ((m - 1.0) * (m - 2.0))
        sum_u = total / (m - 2.0)
        uu, un, ur, nn, nr, rr, sum_n, sum_q = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(m):
            u, n = r[i] / (m - 2.0), image[i] / (m - 2.0)  # n = K̃u
            uu += u * u
            un += u * n
            ur += u * r[i]
            nn += n * n
            nr += n * r[i]
            rr += r[i] * r[i]
            sum_n += n
            sum_q += q[i]
        qu, ruu, z1, z2, z3, d3, d_own, all_own = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(m):
            u = r[i] / (m - 2.0)
            a, z, delta = u - mean_u, u - 0.5 * c, c - 2.0 * u
            share = (
                q[i]
                - 2.0 * image[i] / (m - 2.0)
                - 2.0 * a * r[i]
                + (uu - u * u)
                + 2.0 * a * (sum_u - u)
                + (m - 1.0) * a * a
            )
            own[i] = share
            all_own += share
            qu += q[i] * u
            ruu += r[i] * u * u
            z1 += z
            z2 += z * z
            z3 += z * z * z
            d3 += delta * delta * delta
            d_own += delta * share
        found[1], found[4] = total, all_own
        found[5] = (
            2.0 * cubes
            - 3.0 * (2.0 * qu - c * sum_q)
            + 3.0 * (2.0 * ruu + 2.0 * un - 4.0 * c * ur + c * c * total)
            - ((2.0 * m - 8.0) * z3 + 6.0 * z2 * z1)  # Σ_{i≠j} (z_i + z_j)³
        )
        # tr B³ with B = K̃ - VMVᵀ, V = [u, 1], M = [[0, 1], [1, -c]], and G = MVᵀV
        g00, g01, g10, g11 = sum_u, float(m), uu - c * sum_u, sum_u - c * m
        w00, w01, w10, w11 = sum_n, total, un - c * sum_n, ur - c * total  # MVᵀ[K̃u, K̃1]
        t = g00 + g11
        found[6] = (
            6.0 * triangles
            - 3.0 * (2.0 * nr - c * rr)
            + 3.0 * (g00 * w00 + g01 * w10 + g10 * w01 + g11 * w11)
            - t * (t * t - 3.0 * (g00 * g11 - g01 * g10))
            - 3.0 * d_own
            - d3
        )
        sums = total + m  # 1ᵀK1
        found[7] = sum_q + m - 2.0 / m * (rr + 2.0 * total + m) + (sums / m) ** 2
        # with the target: up, then down
        v, weighted, inner, middle, sum_v, uv = -1.0 / (m - 2.0), 0.0, 0.0, 0.0, 0.0, 0.0
        for a in range(rank):
            carried[a], turned[a] = 0.0, 0.0  # turned: Ψᵀu
        for i in range(m):
            row, u = order[i], r[i] / (m - 2.0)
            for a in range(rank):
                value = psi[row, a]
                rows[i, a] = value
                turned[a] += value * u
        for i in range(m):
            decay = d[i]
            u, square = r[i] / (m - 2.0), squares[order[i]]
            product = 0.0
            for a in range(rank):
                value = rows[i, a]
                carried[a] *= decay
                product += value * carried[a]
                carried[a] += value
            weighted *= decay
            cross[i] = product - v * weighted
            weighted += square
            inner += product
            middle += square * r[i]
            sum_v += v * square
            uv += v * square * u
        found[2], found[3] = 2.0 * inner, middle
        if not with_effects:
            continue
        for a in range(rank):
            carried[a] = 0.0
        weighted, decay, all_cross = 0.0, 0.0, 0.0
        for i in range(m - 1, -1, -1):
            u, square = r[i] / (m - 2.0), squares[order[i]]
            product, lu = 0.0, 0.0
            for a in range(rank):
                value = rows[i, a]
                carried[a] *= decay
                product += value * carried[a]
                carried[a] += value
                lu += value * turned[a]
            weighted *= decay
            w, alpha, beta = v * square, u - mean_u, v * square - sum_v / (m - 1.0)
            cross[i] += (
                product
                - v * weighted
                - lu
                + (m - 1.0) * alpha * beta
                - beta * r[i]
                + (alpha + u) * square  # L̃u = Lu - diag(L) u
                + alpha * (sum_v - w)
                + beta * (sum_u - u)
                + (uv - u * w)
            )
            weighted += square
            decay = d[i]
            all_cross += cross[i]
        found[12] = all_cross
        if all_own <= 0.0 or scale_y <= 0.0:
            continue
        pairs = m * (m - 3.0)
        scale = math.sqrt(all_own / pairs) * math.sqrt(scale_y / pairs)
        share = all_cross / pairs / scale
        of_x, of_y = 0.5 * share * pairs / all_own, 0.5 * share * pairs / scale_y
        mean = (all_cross / scale - of_x * all_own - of_y * scale_y) / m
        sum_squares = 0.0
        for i in range(m):
            influence = cross[i] / scale - of_x * own[i] - of_y * own_y[order[i]] - mean
            if n_units > 0:
                by_unit[units[order[i]]] += influence
            else:
                sum_squares += influence * influence
        for unit in range(n_units):
            sum_squares += by_unit[unit] * by_unit[unit]
            by_unit[unit] = 0.0
        found[13] = sum_squares


@compiled(
    "void(float64[:, ::1], int64[:, ::1], float64[::1], float64[:, ::1], float64[:, ::1])",
    fastmath={"reassoc", "contract"},
)
def score_sums(ordered, orders, reached, axes, out):  # type: ignore[no-untyped-def]  # numba's signature has the types
    """Σa², Σa³, Σa⁴ and ‖Uᵀa‖² of the normal scores a of many sorted columns; U is ``axes``.

    ``reached`` holds the sums of the scores of the first ranks, from 0; equal values share theirs.
    """
    m, rank = axes.shape
    explained = np.empty(rank)
    for j in range(len(ordered)):
        x, order = ordered[j], orders[j]
        explained[:] = 0.0
        two, three, four, start = 0.0, 0.0, 0.0, 0
        for i in range(1, m + 1):
            if i == m or x[i] != x[start]:
                count = i - start
                a = (reached[i] - reached[start]) / count
                square = a * a
                two += count * square
                three += count * square * a
                four += count * square * square
                for k in range(start, i):
                    for b in range(rank):
                        explained[b] += a * axes[order[k], b]
                start = i
        out[j, 0], out[j, 1], out[j, 2], out[j, 3] = two, three, four, 0.0
        for b in range(rank):
            out[j, 3] += explained[b] * explained[b]


@compiled(
    "void(float64[::1], float64[::1], float64[:, ::1], int64[:, ::1], float64[:, ::1])",
    fastmath={"reassoc", "contract"},
)
def exchanged_sums(decays, weights, psi, orders, out):  # type: ignore[no-untyped-def]  # numba's signature has the types
    """Sums of K̃ with a target in several orders of its rows, which are centred anew.

    ``weights`` are those of the column's rows, in sorted order. ``orders`` has a row of places, in
    sorted order of x, for each; so has ``out``, which receives Σ w ψᵀK̃ψ w, Σ w_i (K̃w)_i ‖ψ_i‖²,
    Σ w ‖ψ_i‖², Σ w² ‖ψ_i‖² and wᵀK̃w, Ψ about its weighted mean.
    """
    m, rank = len(decays), psi.shape[1]
    mean, carried, row, last = np.empty((4, rank))
    whole = weights.sum()
    for k in range(len(orders)):
        mean[:] = 0.0
        for i in range(m):
            for a in range(rank):
                mean[a] += weights[i] * psi[orders[k, i], a]
        mean /= whole
        carried[:] = 0.0
        last[:] = 0.0
        ones, weighted, inner, middle, total, own, pairs = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        weight_before, before = 0.0, 0.0
        for i in range(m):
            decay, weight, square = decays[i], weights[i], 0.0  # the first decay is 0
            for a in range(rank):
                value = psi[orders[k, i], a] - mean[a]
                square += value * value
                row[a] = weight * value
                carried[a] = decay * (carried[a] + last[a])
                inner += row[a] * carried[a]
                last[a] = row[a]
            square *= weight
            ones = decay * (ones + weight_before)
            weighted = decay * (weighted + before)
            middle += square * ones + weight * weighted
            total += square
            own += weight * square
            pairs += weight * ones
            weight_before, before = weight, square
        out[k, 0], out[k, 1], out[k, 2] = 2.0 * inner, middle, total
        out[k, 3], out[k, 4] = own, 2.0 * pairs


#: Steps of the iteration for leading eigenvalues: the first look, between looks, and at most; and
#: the part of the largest within which all of them have settled.
FIRST_LOOK, NEXT_LOOK, MOST_STEPS, SETTLED = 16, 4, 48, 1e-14


@compiled("float64(float64[::1], float64[::1])", fastmath={"reassoc", "contract"})
def _inner(a, b):  # type: ignore[no-untyped-def]  # numba's signature has the types
    """aᵀb: a loop, since array expressions take seconds to compile."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@compiled("float64[::1](float64[::1], int64)", fastmath={"reassoc", "contract"})
def leading_of_places(x, count):  # type: ignore[no-untyped-def]  # numba's signature has the types
    """Leading eigenvalues of the U-centred Laplace matrix of different sorted places.

    By Lanczos' iteration with all vectors kept orthogonal; every product costs O(m). Empty if they
    have not settled. Of a repeated eigenvalue, as equal places give, it would find one only.
    """
    m = len(x)
    d, u, ones = np.zeros(m), np.zeros(m), np.ones(m)
    carry = 0.0
    for i in range(1, m):
        d[i] = math.exp(x[i - 1] - x[i])
        carry = d[i] * (carry + 1.0)
        u[i] = carry
    carry = 0.0
    for i in range(m - 2, -1, -1):
        carry = d[i + 1] * (carry + 1.0)
        u[i] += carry
    for i in range(m):
        u[i] /= m - 2.0
    c = _inner(u, ones) / (m - 1.0)
    steps = min(m, MOST_STEPS)
    basis, w = np.empty((steps, m)), np.empty(m)
    inner = np.zeros((steps, steps))
    for i in range(m):
        w[i] = (0.6180339887498949 * (i + 1)) % 1.0 - 0.5
    before = np.zeros(count)
    for k in range(steps):
        v = basis[k]
        size = math.sqrt(_inner(w, w))
        for i in range(m):
            v[i] = w[i] / size
        total, weighted = _inner(v, ones), _inner(u, v)
        carry = 0.0
        for i in range(m):  # w = Ãv
            carry *= d[i]
            w[i] = carry + (c - u[i]) * total - weighted + (2.0 * u[i] - c) * v[i]
            carry += v[i]
        carry = 0.0
        for i in range(m - 2, -1, -1):
            carry = d[i + 1] * (carry + v[i + 1])
            w[i] += carry
        inner[k, k] = _inner(v, w)
        for _ in range(2):
            for j in range(k, -1, -1):
                share = _inner(basis[j], w)
                for i in range(m):
                    w[i] -= share * basis[j, i]
        if k + 1 < steps:
            inner[k, k + 1] = inner[k + 1, k] = math.sqrt(_inner(w, w))
        if k + 1 >= FIRST_LOOK and (k + 1 - FIRST_LOOK) % NEXT_LOOK == 0:
            values = np.linalg.eigvalsh(inner[: k + 1, : k + 1].copy())
            moved = 0.0
            for i in range(count):
                moved = max(moved, abs(values[k - i] - before[i]))
                before[i] = values[k - i]
            if moved <= SETTLED * before[0]:
                return before
    return np.empty(0)
