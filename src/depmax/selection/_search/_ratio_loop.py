"""Compiled: changes of the Laplace kernel without exponentials in the loop."""

from __future__ import annotations

from depmax._compile_loop import compiled


@compiled(
    "void(float64[:, ::1], int64, float64[:, ::1], float64[:, ::1], boolean, float64[::1])",
    fastmath=True,
)
def ratio_sums(strip, start, grown, shrunk, joins, out):  # type: ignore[no-untyped-def]  # numba's signature has the types
    """Add Σ W_ab e^{±|x_a - x_b|/s} over a strip to ``out``, for every column.

    ``grown`` holds e^{x/s} and ``shrunk`` e^{-x/s} of centred columns, one column a row, so the
    larger (or smaller) of two products replaces the exponential of an absolute value.
    """
    for j in range(grown.shape[0]):
        up, down = grown[j], shrunk[j]
        total = 0.0
        for r in range(strip.shape[0]):
            row = strip[r]
            a_up, a_down = up[start + r], down[start + r]
            if joins:
                for c in range(row.shape[0]):
                    total += row[c] * min(a_up * down[start + c], a_down * up[start + c])
            else:
                for c in range(row.shape[0]):
                    total += row[c] * max(a_up * down[start + c], a_down * up[start + c])
        out[j] += total
