"""Compiled: the leading eigenvalues of a Laplace kernel on a line."""

from __future__ import annotations

import math

import numpy as np

from depmax._compile_loop import compiled

#: Steps of the iteration for leading eigenvalues: the first look, between looks, and at most; and
#: the part of the largest within which all of them have settled.
FIRST_LOOK, NEXT_LOOK, MOST_STEPS, SETTLED = 16, 4, 48, 1e-14


@compiled("float64[::1](float64[::1], int64)", fastmath={"reassoc", "contract"})
def leading_of_places(x, count):  # type: ignore[no-untyped-def]  # numba's signature has the types
    """Leading eigenvalues of the U-centred Laplace matrix of different sorted places.

    By Lanczos' iteration with all vectors kept orthogonal; every product costs O(m). Empty if they
    have not settled. Of a repeated eigenvalue, as equal places give, it would find one only.
    """
    m = len(x)
    d, u = np.zeros(m), np.zeros(m)
    carry = 0.0
    for i in range(1, m):
        d[i] = math.exp(x[i - 1] - x[i])
        carry = d[i] * (carry + 1.0)
        u[i] = carry
    carry = 0.0
    for i in range(m - 2, -1, -1):
        carry = d[i + 1] * (carry + 1.0)
        u[i] += carry
    u /= m - 2.0
    c = u.sum() / (m - 1.0)
    steps = min(m, MOST_STEPS)
    basis, w = np.empty((steps, m)), np.empty(m)
    inner = np.zeros((steps, steps))
    for i in range(m):
        w[i] = (0.6180339887498949 * (i + 1)) % 1.0 - 0.5
    before = np.zeros(count)
    for k in range(steps):
        v = basis[k]
        v[:] = w / math.sqrt((w * w).sum())
        total, weighted = v.sum(), (u * v).sum()
        carry = 0.0
        for i in range(m):  # w = Ãv
            carry *= d[i]
            w[i] = carry + (c - u[i]) * total - weighted + (2.0 * u[i] - c) * v[i]
            carry += v[i]
        carry = 0.0
        for i in range(m - 2, -1, -1):
            carry = d[i + 1] * (carry + v[i + 1])
            w[i] += carry
        inner[k, k] = (v * w).sum()
        for _ in range(2):
            for j in range(k, -1, -1):
                share = 0.0
                for i in range(m):
                    share += basis[j, i] * w[i]
                for i in range(m):
                    w[i] -= share * basis[j, i]
        if k + 1 < steps:
            inner[k, k + 1] = inner[k + 1, k] = math.sqrt((w * w).sum())
        if k + 1 >= FIRST_LOOK and (k + 1 - FIRST_LOOK) % NEXT_LOOK == 0:
            found = np.linalg.eigvalsh(inner[: k + 1, : k + 1].copy())[::-1][:count].copy()
            if np.abs(found - before).max() <= SETTLED * found[0]:
                return found
            before = found
    return np.empty(0)
