"""The dynamic program of the gap-weighted subsequence kernel, compiled.

Sixteen pairs of strings run side by side, one in each *lane*: a lane is an entry of a short vector
that the processor adds and multiplies at once. A vectoriser does not find this arrangement by
itself, since the recursion along one string has to stay in registers, so the few vector operations
are spelled out below for numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from depmax._compile_loop import compiled

LANES = 16
# Symbols of t whose values stay in the fastest cache while s is run through.
TILE = 32

_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_CODES = ir.VectorType(ir.IntType(32), LANES)
_BYTES_PER_LINE = 64
# A product and the sum that follows it may be rounded once instead of twice.
_FUSED = ("contract",)
# To the type checker, a function called with lanes is not the one that builds its instructions.
_vector_operation: Any = intrinsic


class _Lanes(types.Type):
    """Numba's type of a vector of LANES doubles, held in registers."""

    def __init__(self) -> None:
        super().__init__(name=f"lanes{LANES}")


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _DOUBLES)


_lanes = _Lanes()


def _address(context: Any, builder: Any, vector: Any, array_type: Any, array: Any, row: Any) -> Any:
    """Pointer to the LANES entries ``array[row * LANES:(row + 1) * LANES]``."""
    data = context.make_array(array_type)(context, builder, array).data
    entry = builder.gep(data, [builder.mul(row, ir.Constant(ir.IntType(64), LANES))])
    return builder.bitcast(entry, vector.as_pointer())


@_vector_operation
def _fill(typing_context: Any, value: Any) -> Any:
    """A vector with one number in every lane."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        nothing = ir.Constant(_DOUBLES, ir.Undefined)
        first = builder.insert_element(nothing, arguments[0], ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(first, nothing, ir.Constant(_CODES, [0] * LANES))

    return _lanes(types.float64), build


@_vector_operation
def _load(typing_context: Any, array: Any, row: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _address(context, builder, _DOUBLES, signature.args[0], *arguments)
        return builder.load(place, align=8)

    return _lanes(array, types.int64), build


@_vector_operation
def _store(typing_context: Any, array: Any, row: Any, value: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _address(context, builder, _DOUBLES, signature.args[0], *arguments[:2])
        builder.store(arguments[2], place, align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, _lanes), build


@_vector_operation
def _same_symbol(typing_context: Any, s: Any, a: Any, t: Any, b: Any) -> Any:
    """1.0 in the lanes where symbol a of s is symbol b of t, else 0.0."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        left = builder.load(_address(context, builder, _CODES, kinds[0], *arguments[:2]), align=4)
        right = builder.load(_address(context, builder, _CODES, kinds[2], *arguments[2:]), align=4)
        return builder.uitofp(builder.icmp_signed("==", left, right), _DOUBLES)

    return _lanes(s, types.int64, t, types.int64), build


@_vector_operation
def _times(typing_context: Any, x: Any, y: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fmul(*arguments, flags=_FUSED)

    return _lanes(_lanes, _lanes), build


@_vector_operation
def _times_plus(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    """Lane by lane x·y + z."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        product = builder.fmul(*arguments[:2], flags=_FUSED)
        return builder.fadd(product, arguments[2], flags=_FUSED)

    return _lanes(_lanes, _lanes, _lanes), build


@compiled(
    "void(int32[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1],"
    " int64, float64, int32[::1], int32[::1], float64[::1], float64[::1], float64[::1])",
)
def _run(
    codes: np.ndarray,
    start: np.ndarray,
    size: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    longest_s: np.ndarray,
    longest_t: np.ndarray,
    length: int,
    decay: float,
    s: np.ndarray,
    t: np.ndarray,
    work: np.ndarray,
    edge: np.ndarray,
    out: np.ndarray,
) -> None:
    """Values of all pairs, LANES at a time.

    ``work`` holds rows of TILE + 1 columns, first the matches, then K'_0 = 1 (given), then K'_1 to
    K'_(length-1), after the first a symbols of s. ``edge`` keeps, for each a and i, K'_i and K''_i
    at the right edge of the tile, where the next tile goes on.

    K'_i is divided by decay^(2i), which spares a product in the innermost loop and keeps small
    decays from vanishing: K'_i(a, b) is the sum over the ends (p, q) <= (a, b) of common
    subsequences of i symbols, weighted by decay^(gaps inside, plus a - p, plus b - q).
    """
    row = TILE + 1
    decays = _fill(decay)
    zeros = _fill(0.0)
    for batch in range(longest_s.size):
        n_s = longest_s[batch]
        n_t = longest_t[batch]
        for lane in range(LANES):
            i = left[batch * LANES + lane]
            j = right[batch * LANES + lane]
            for a in range(n_s):  # beyond the end: symbols that match nothing
                s[a * LANES + lane] = codes[start[i] + a] if a < size[i] else -1
            for b in range(n_t):
                t[b * LANES + lane] = codes[start[j] + b] if b < size[j] else -2
        for e in range(2 * n_s * length):
            _store(edge, e, zeros)

        total = zeros
        for first in range(0, n_t, TILE):
            width = n_t - first if n_t - first < TILE else TILE
            for c in range(2 * row, (length + 1) * row):
                _store(work, c, zeros)
            for a in range(n_s):
                for i in range(1, length):  # the left edge comes in, the right edge goes out
                    e = 2 * (a * length + i)
                    incoming = _load(edge, e)
                    _store(edge, e, _load(work, (i + 1) * row + width))
                    _store(work, (i + 1) * row, incoming)
                for c in range(width):
                    match = _same_symbol(s, a, t, first + c)
                    _store(work, c, match)
                    total = _times_plus(match, _load(work, length * row + c), total)
                # From long to short, so that K'_(i-1) is still the one before symbol a.
                for i in range(length - 1, 0, -1):
                    if i > a + 1 or a >= n_s - length + i:
                        continue  # too early for i symbols, or too late for the rest of them
                    shorter = i * row
                    longer = (i + 1) * row + 1
                    e = 2 * (a * length + i) + 1
                    inner = _load(edge, e)  # K''_i
                    for c in range(width):
                        inner = _times_plus(
                            decays, inner, _times(_load(work, c), _load(work, shorter + c))
                        )
                        level = _times_plus(decays, _load(work, longer + c), inner)
                        _store(work, longer + c, level)
                    _store(edge, e, inner)
        _store(out, batch, total)


def pair_values(
    codes: np.ndarray,
    start: np.ndarray,
    size: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    length: int,
    decay: float,
) -> np.ndarray:
    """K_n(s, t) / decay^(2n) for pairs of sequences of at least ``length`` symbols.

    Parameters
    ----------
    codes, start, size
        The fields of ``Sequences``.
    left, right : int64 arrays of shape (n_pairs,)
        Numbers of the two sequences of each pair. Neighbours share a batch of lanes, which takes
        as long as its longest pair: give pairs of similar sizes next to each other.
    length : int
        n, the number of symbols of the subsequences.
    decay : float

    Returns
    -------
    float64 array of shape (n_pairs,)
    """
    n_pairs = left.size
    n_batches = -(-n_pairs // LANES)
    # The last batch is filled up with copies of the last pair.
    lanes = np.minimum(np.arange(n_batches * LANES), n_pairs - 1)
    left, right = left[lanes], right[lanes]
    longest_s = size[left].reshape(n_batches, LANES).max(axis=1)
    longest_t = size[right].reshape(n_batches, LANES).max(axis=1)
    n_s, n_t = longest_s.max(initial=0), longest_t.max(initial=0)
    s = np.empty(n_s * LANES, dtype=np.int32)
    t = np.empty(n_t * LANES, dtype=np.int32)
    work = _aligned((length + 1) * (TILE + 1) * LANES)
    work.reshape(length + 1, -1)[1] = 1.0
    edge = _aligned(2 * n_s * length * LANES)
    out = np.empty(n_batches * LANES)
    _run(
        codes, start, size, left, right, longest_s, longest_t, length, decay, s, t, work, edge, out
    )
    return out[:n_pairs]


def _aligned(n_entries: int) -> np.ndarray:
    """Doubles that begin with a cache line: vectors across two lines take twice as long."""
    spare = _BYTES_PER_LINE // 8
    memory = np.empty(n_entries + spare)
    skip = (-memory.ctypes.data // 8) % spare
    return memory[skip : skip + n_entries]
