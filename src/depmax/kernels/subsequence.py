"""The gap-weighted subsequence kernel of strings."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs

from depmax.kernels.kernel import Capabilities, Kernel
from depmax.kernels.spectrum import Sequences, encode, read_rows

# Steps of the dynamic program in one task: worth a thread, and not long to wait for Ctrl-C.
_SMALLEST_TASK = 2**21
_LARGEST_TASK = 2**27
_TASKS_PER_THREAD = 4


class Subsequence(Kernel):
    """Subsequence kernel of strings: common subsequences count less, the wider their gaps.

    A subsequence of ``length`` symbols that spans l symbols in s and l' symbols in t, including
    gaps, counts decay^(l + l'), once for each place in s and each place in t (Lodhi et al., 2002).
    Rows are strings, or sequences of hashable tokens such as lists of words; their sizes may
    differ. A row shorter than ``length`` has no such subsequence: k = 0 with every row.

    Parameters
    ----------
    length : int, default=4
        Number of symbols of the subsequences, n in the papers.
    decay : float, default=0.5
        Weight of each spanned symbol, λ in the papers: above 0, at most 1.
    normalize : bool, default=True
        Divide by √(k(s, s) k(t, t)), where 0/0 is read as 0.
    n_jobs : int, optional
        Threads over which the pairs of rows are spread, as in scikit-learn; they all give the
        same bits.

    Notes
    -----
    A pair takes ``length·|s|·|t|`` steps. The first call of all compiles them, in about a second;
    later processes load the compiled loop.

    References
    ----------
    Lodhi, Saunders, Shawe-Taylor, Cristianini and Watkins (2002). Text classification using string
    kernels. Journal of Machine Learning Research 2, 419-444.

    Examples
    --------
    >>> from depmax.kernels import Subsequence
    >>> kernel = Subsequence(length=2, decay=0.5)
    >>> kernel(["cat", "car", "bat"]).round(3)
    array([[1.   , 0.444, 0.444],
           [0.444, 1.   , 0.   ],
           [0.444, 0.   , 1.   ]])
    >>> kernel([["to", "be", "or"], ["to", "be"]]).round(3)
    array([[1.   , 0.667],
           [0.667, 1.   ]])
    """

    _capabilities: ClassVar[Capabilities] = Capabilities(vector_input=False)

    def __init__(
        self,
        length: int = 4,
        decay: float = 0.5,
        normalize: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.length = length
        self.decay = decay
        self.normalize = normalize
        self.n_jobs = n_jobs

    def _read(self, X: Any) -> np.ndarray:
        return read_rows(X, "Subsequence")

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        self._check()
        symmetric = X is Z
        n = len(X)
        sequences = encode(X if symmetric else [*X, *Z], "Subsequence")
        K = np.zeros((n, len(Z)))

        def write(left: np.ndarray, right: np.ndarray, values: np.ndarray) -> None:
            if symmetric:
                K[left, right] = K[right, left] = values
            else:
                K[left, right - n] = values

        rows = self._long_enough(sequences, 0, n)
        columns = rows if symmetric else self._long_enough(sequences, n, n + len(Z))
        # From short to long rows, each with itself and those before it, or each with every column.
        count = np.arange(1, rows.size + 1) if symmetric else np.full(rows.size, columns.size)
        self._evaluate(sequences, _Pairs(rows, columns, np.zeros_like(count), count), write)
        if not self.normalize:
            return self._finite(K * float(self.decay) ** (2 * self.length))
        own = K.diagonal() if symmetric else self._own(sequences)
        scale = np.divide(1.0, np.sqrt(own), out=np.zeros_like(own), where=own > 0)
        column_scale = scale if symmetric else scale[n:]
        for row, factor in zip(self._finite(K), scale[:n], strict=True):
            row *= factor * column_scale
        if symmetric:
            np.fill_diagonal(K, sequences.size >= self.length)
        return K

    def _diag(self, X: Any) -> np.ndarray:
        self._check()
        sequences = encode(X, "Subsequence")
        if self.normalize:
            return (sequences.size >= self.length).astype(np.float64)
        return self._own(sequences) * float(self.decay) ** (2 * self.length)

    def _check(self) -> None:
        if not isinstance(self.length, Integral) or self.length < 1:
            raise ValueError(
                f"length of Subsequence must be a whole number >= 1, got {self.length!r}."
            )
        if not isinstance(self.decay, Real) or not 0 < self.decay <= 1:
            raise ValueError(
                f"decay of Subsequence must be a number above 0 and at most 1, got {self.decay!r}."
            )

    def _finite(self, values: np.ndarray) -> np.ndarray:
        if not np.isfinite(values).all():
            raise OverflowError(
                f"{self!r} sums to more than a floating-point number can hold on these rows: "
                "lower length or decay, or cut the rows into pieces."
            )
        return values

    def _long_enough(self, sequences: Sequences, first: int, last: int) -> np.ndarray:
        """Numbers of the sequences with at least ``length`` symbols, from short to long."""
        size = sequences.size[first:last]
        order = np.argsort(size, kind="stable")
        return first + order[size[order] >= self.length]

    def _own(self, sequences: Sequences) -> np.ndarray:
        """k(s, s) / decay^(2 length) of every sequence."""
        own = np.zeros(sequences.size.size)

        def write(left: np.ndarray, right: np.ndarray, values: np.ndarray) -> None:
            own[left] = values

        rows = self._long_enough(sequences, 0, own.size)
        pairs = _Pairs(rows, rows, np.arange(rows.size), np.ones(rows.size, np.int64))
        self._evaluate(sequences, pairs, write)
        return self._finite(own)

    def _evaluate(
        self,
        sequences: Sequences,
        pairs: _Pairs,
        write: Callable[[np.ndarray, np.ndarray, np.ndarray], None],
    ) -> None:
        """Call ``write(left, right, values)`` for all pairs, part by part, from several threads."""
        from depmax.kernels._subsequence_loop import LANES, pair_values

        length, decay = int(self.length), float(self.decay)

        def evaluate(begin: int, end: int) -> None:
            left, right = pairs.between(begin, end)
            values = pair_values(
                sequences.codes, sequences.start, sequences.size, left, right, length, decay
            )
            write(left, right, values)

        n_threads = effective_n_jobs(self.n_jobs)
        bounds = pairs.split(sequences.size, length, n_threads, multiple=LANES)
        if n_threads == 1 or bounds.size <= 2:
            for begin, end in pairwise(bounds):
                evaluate(begin, end)
        else:
            # joblib.Parallel waits in steps of 10 ms, longer than a hundred strings take.
            with ThreadPoolExecutor(n_threads) as pool:
                list(pool.map(evaluate, bounds[:-1], bounds[1:]))


@dataclass(frozen=True)
class _Pairs:
    """Pairs of sequences: ``rows[r]`` with ``columns[first[r] : first[r] + count[r]]``."""

    rows: np.ndarray
    columns: np.ndarray
    first: np.ndarray
    count: np.ndarray

    def between(self, begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Sequence numbers of the pairs ``begin`` to ``end``, counted row after row."""
        last = np.cumsum(self.count)
        pair = np.arange(begin, end)
        r = np.searchsorted(last, pair, side="right")
        c = self.first[r] + pair - (last - self.count)[r]
        return self.rows[r], self.columns[c]

    def split(self, size: np.ndarray, length: int, n_threads: int, multiple: int) -> np.ndarray:
        """Bounds, for ``between``, of tasks of about equal work and a multiple of pairs each."""
        symbols = np.append(0, np.cumsum(size[self.columns]))
        per_row = size[self.rows] * (symbols[self.first + self.count] - symbols[self.first])
        steps = np.append(0.0, np.cumsum(per_row * float(length)))
        n_tasks = np.ceil(steps[-1] / _LARGEST_TASK)
        if n_threads > 1:
            worth = steps[-1] // _SMALLEST_TASK
            n_tasks = max(n_tasks, min(n_threads * _TASKS_PER_THREAD, worth))
        even = np.linspace(0.0, steps[-1], max(int(n_tasks), 1) + 1)
        pairs = np.append(0, np.cumsum(self.count))
        inner = np.interp(even[1:-1], steps, pairs).astype(np.int64) // multiple * multiple
        return np.unique(np.concatenate([[0], inner, pairs[-1:]]))
