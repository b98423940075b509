"""Compiled: which pairs of columns may interact at all, and the scores of single pairs."""

from __future__ import annotations

import numpy as np

from depmax._compile_loop import compiled

#: Keeps the 2 by 2 inverse finite where two columns determine each other.
RIDGE = 1e-10
#: Part of z that must be left for a pair to have an interaction at all.
LEFT = 1e-8
#: Below so much of z, or of a determinant, single precision does not decide.
DOUBTFUL = np.float32(0.05)
#: What takes a score beyond every limit, and what does not.
FAR, NONE = np.float32(1e20), np.float32(0.0)


@compiled(
    "int64(float32[:, :, ::1], float32[:, ::1], float32[:, ::1], float32[:, ::1],"
    " float32[:, ::1], float32, boolean, int32[:, ::1])",
    fastmath=True,
)
def promising(products, powers, others, of_t, of_t_others, limit, above, found):  # type: ignore[no-untyped-def]  # numba's signature has the types
    """Pairs of a tile whose covariances alone, over the least variance, reach a limit.

    ``products`` holds the averages of p_j with p_i, q_i and r_i, of q_j with p_i and q_i, of r_j
    with p_i, and of t p_i p_j for every direction t; ``powers`` a and b of the columns i, ``of_t``
    the averages of t p_i and t q_i, direction by direction; then the same of the columns j.
    ``above``: only pairs i < j. Returns how many are written to ``found``.
    """
    n, count, n_found = products.shape[1], products.shape[2], 0
    score, over = np.empty(count, dtype=np.float32), np.empty(count, dtype=np.float32)
    beta_1, beta_2 = np.empty(count, dtype=np.float32), np.empty(count, dtype=np.float32)
    beta_3, beta_4 = np.empty(count, dtype=np.float32), np.empty(count, dtype=np.float32)
    one, tiny = np.float32(1.0), np.float32(1e-6)
    for i in range(n):
        ai, bi = powers[0, i], powers[1, i]
        for j in range(count):
            pp, qp, rp = products[0, i, j], products[1, i, j], products[2, i, j]
            pq, qq, pr = products[3, i, j], products[4, i, j], products[5, i, j]
            aj, bj = others[0, j], others[1, j]
            v1, v3 = ai * pp + bi * qp, aj * pp + bj * pq
            d11, d22 = one - pp * pp - qp * qp, one - pq * pq - qq * qq
            d12 = -(pp * pq + qp * qq)
            h1, h2 = v3 - pp * v1 - qp * rp, pr - pq * v1 - qq * rp
            determinant = max(d11 * d22 - d12 * d12, tiny)
            b3 = (d22 * h1 - d12 * h2) / determinant
            b4 = (d11 * h2 - d12 * h1) / determinant
            b1, b2 = v1 - pp * b3 - pq * b4, rp - qp * b3 - qq * b4
            whole = one + ai * v3 + bi * (aj * qp + bj * qq)
            square = whole - pp * pp - (v1 * b1 + rp * b2 + v3 * b3 + pr * b4)
            beta_1[j], beta_2[j], beta_3[j], beta_4[j] = b1, b2, b3, b4
            score[j] = max(DOUBTFUL * whole - min(square, determinant * whole), NONE) * FAR
            over[j] = one / max(square, tiny)
        for t in range(products.shape[0] - 6):
            row, tp, tq = products[6 + t, i], of_t_others[2 * t], of_t_others[2 * t + 1]
            tpi, tqi = of_t[2 * t, i], of_t[2 * t + 1, i]
            for j in range(count):
                covariance = row[j] - beta_1[j] * tpi - beta_2[j] * tqi
                covariance -= beta_3[j] * tp[j] + beta_4[j] * tq[j]
                score[j] += covariance * covariance * over[j]
        for j in range(i + 1 if above else 0, count):
            if score[j] >= limit:
                found[n_found, 0], found[n_found, 1] = i, j
                n_found += 1
    return n_found


@compiled(
    "void(float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], boolean[::1],"
    " float64[:, ::1], int64[::1], int64[:, ::1], float64[::1])",
    fastmath=True,
)
def scores_of_pairs(linear, squares, skew, curve, constant, directions, units, pairs, out):  # type: ignore[no-untyped-def]  # numba's signature has the types
    """Scores of some pairs, from their rows; 0 where nothing is left of an interaction.

    With the bases p, q of the columns i and j (``ColumnBases``) the interaction is z = p_i p_j, and
    z̃ is what (1, p_i, q_i, p_j, q_j) leave of it. The basis of each column is orthonormal, so that
    only the averages of p_i, q_i with p_j, q_j couple them, and z̃ needs a 2 by 2 inverse; powers up
    to the third of a column (r = p q) give the average of z̃², as p² = 1 + a p + b q. ``units`` says
    which independent unit a row belongs to, if rows are not independent.
    """
    m = linear.shape[1]
    left, sums = np.empty(m), np.empty(0 if len(units) == 0 else units.max() + 1)
    for place in range(pairs.shape[0]):
        i, j = pairs[place]
        p, q, s, u = linear[i], squares[i], linear[j], squares[j]
        ai, bi, aj, bj = skew[i], curve[i], skew[j], curve[j]
        pp = qp = rp = pq = qq = pr = 0.0
        for k in range(m):
            pp += p[k] * s[k]
            qp += q[k] * s[k]
            rp += p[k] * q[k] * s[k]
            pq += p[k] * u[k]
            qq += q[k] * u[k]
            pr += p[k] * s[k] * u[k]
        pp, qp, rp, pq, qq, pr = pp / m, qp / m, rp / m, pq / m, qq / m, pr / m
        v1, v3 = ai * pp + bi * qp, aj * pp + bj * pq
        d11, d22 = (1.0 + RIDGE) - pp * pp - qp * qp, (1.0 + RIDGE) - pq * pq - qq * qq
        d12 = -(pp * pq + qp * qq)
        h1, h2 = v3 - pp * v1 - qp * rp, pr - pq * v1 - qq * rp
        determinant = d11 * d22 - d12 * d12
        b3, b4 = (d22 * h1 - d12 * h2) / determinant, (d11 * h2 - d12 * h1) / determinant
        b1, b2 = v1 - pp * b3 - pq * b4, rp - qp * b3 - qq * b4
        whole = 1.0 + ai * v3 + bi * (aj * qp + bj * qq)
        square = whole - pp * pp - (v1 * b1 + rp * b2 + v3 * b3 + pr * b4)
        out[place] = 0.0
        if constant[i] or constant[j] or square <= LEFT * whole:
            continue
        for k in range(m):
            left[k] = p[k] * s[k] - pp - b1 * p[k] - b2 * q[k] - b3 * s[k] - b4 * u[k]
        for d in range(directions.shape[0]):
            t = directions[d]
            covariance = robust = own = 0.0
            for k in range(m):
                product = t[k] * left[k]
                covariance += product
                robust += product * product
                own += t[k] * t[k]
            variance = max(robust / m, own / m * square)
            if len(units) > 0:
                sums[:] = 0.0
                for k in range(m):
                    sums[units[k]] += t[k] * left[k]
                between = 0.0
                for unit in range(len(sums)):
                    between += sums[unit] * sums[unit]
                variance = max(variance, between / m)
            out[place] += (covariance / m) ** 2 / variance
