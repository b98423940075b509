"""Compiled: the leading eigenvalues of a Laplace kernel on a line."""

from __future__ import annotations

import math

import numpy as np

from depmax._compile_loop import compiled

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
