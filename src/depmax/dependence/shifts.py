"""Time series are shifted in a circle, unless they remember too much for their length."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import fft, stats

from depmax.dependence.exchange import (
    FEWEST_WAYS,
    Exchange,
    Plan,
    codes_of,
    number_of,
    require_ways,
)

#: Part of the rows of a series that a shift moves at least, unless the user says how many.
SHORTEST_SHIFT = 0.05
#: Classes whose indicators are looked at, at most.
MOST_CLASSES = 20
#: Lags are added up until so many times the memory that they have come to (Sokal's window).
WINDOW = 5.0


class Shifts(Exchange):
    """Rows in order of time are shifted in a circle: ``groups=Shifts()``.

    For time series, whose neighbouring rows are similar. A shift preserves both series and breaks
    only what happens at the same time.

    Parameters
    ----------
    labels : array-like of shape (n_samples,), optional
        The series of every row, each shifted by itself; by default all rows are one series.
    shortest : int, optional
        Smallest number of rows that a shift moves, so that lasting effects are broken as well; by
        default a twentieth of the series.

    Notes
    -----
    Exact for stationary series that close in a circle; the seam of a long series changes little.
    A single series has as many shifts as rows, which limits how small a p-value can be. It is no
    remedy for a series without a level to return to, such as a random walk or a trend: of
    independent random walks of 50 to 400 rows, 20% had p ≤ 0.05. If X and y both remember (in the
    sum of their autocorrelations) more than a twentieth of the series, a warning says so, and
    ``reliable`` of the test is False: take differences, or take out the trend.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from depmax import Shifts, hsic_test
    >>> from scipy.signal import lfilter
    >>> noise = np.random.default_rng(1).normal(size=(2, 300))
    >>> x, y = lfilter([1.0], [1.0, -0.9], noise)  # rows are 0.9 of the one before, plus noise
    >>> with warnings.catch_warnings(record=True) as caught:  # that rows resemble their neighbours
    ...     warnings.simplefilter("always")
    ...     wrong = hsic_test(x, y, random_state=0)
    >>> wrong.pvalue < 0.001, str(caught[0].message)[:40]
    (True, 'Rows next to each other are alike, in th')
    >>> hsic_test(x, y, groups=Shifts(), random_state=0).pvalue > 0.05
    True
    """

    def __init__(self, labels: Any = None, *, shortest: int | None = None) -> None:
        super().__init__(labels)
        self.shortest = shortest

    def units(self, n_samples: int) -> np.ndarray:
        """Stretches as long as the shortest shift, taken as independent of each other."""
        units, done = np.empty(n_samples, dtype=np.intp), 0
        series = self._series(n_samples)
        short = self._shortest(np.array([len(rows) for rows in series]))
        for rows, length in zip(series, short, strict=True):
            for stretch in np.array_split(rows, max(1, len(rows) // int(length))):
                units[stretch] = done
                done += 1
        return units

    def _series(self, n_samples: int) -> list[np.ndarray]:
        """Rows of every series, in the order of time."""
        labels = np.zeros(n_samples) if self.labels is None else self.labels
        codes = codes_of(labels, n_samples)
        return [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]

    def plan(self, n_samples: int, target: Any = None) -> Plan:
        """A random shift of every series."""
        series = self._series(n_samples)
        lengths = np.array([len(rows) for rows in series])
        short = self._shortest(lengths)
        choices = np.maximum(lengths - 2 * short + 1, 0) + 1  # with the series as it is
        ways = number_of(np.sum(np.log(choices)))
        require_ways(
            ways, f"Series of {lengths.max()} rows, shifted by {short[0]} or more,", "rows"
        )

        def draw(rng: np.random.Generator) -> np.ndarray:
            order = np.arange(n_samples)
            for rows, low, count in zip(series, short, choices, strict=True):
                shift = rng.integers(count)  # 0 is one of few, and has to be drawn as often
                shift = low + shift - 1 if shift else 0
                order[rows] = np.roll(rows, -shift)
            return order

        return Plan(np.arange(n_samples), self.units(n_samples), draw, ways)

    def doubt(self, n_samples: int, target: Any, inputs: Any = None) -> str | None:
        """Whether both sides remember so much that a shift is far from another draw."""
        series = self._series(n_samples)
        memory = memory_of(target, series)
        if inputs is not None:
            memory = min(memory, memory_of(inputs, series))
        length = n_samples / len(series)
        if memory * FEWEST_WAYS <= length:
            return None
        return (
            f"A series of {length:.0f} rows in which each resembles the {memory:.0f} around it is "
            f"too short for Shifts, which need {FEWEST_WAYS} times as many rows: p-values may be "
            "too small. Take differences of rows, take out a trend, or use more rows."
        )

    def _shortest(self, lengths: np.ndarray) -> np.ndarray:
        if self.shortest is None:
            return np.maximum(1, (SHORTEST_SHIFT * lengths).astype(int))
        if self.shortest < 1:
            raise ValueError(f"shortest must be at least 1 row, got {self.shortest}.")
        return np.full(len(lengths), self.shortest)


def memory_of(values: Any, series: list[np.ndarray]) -> float:
    """1 + 2 Σ of autocorrelations of ranks, for the column with the longest memory.

    n rows of a series tell as much as n over this many independent ones. 1 if nothing is known of
    the values (objects, sparse rows).

    Parameters
    ----------
    values : ndarray of shape (n_samples,) or (n_samples, n_columns)
    series : list of ndarray
        Rows of each series in order of time.
    """
    columns = _columns(values)
    if columns is None:
        return 1.0
    n_rows = np.array([len(rows) for rows in series])
    memories = [_memories(columns[rows]) for rows in series]
    return float(np.max(np.average(memories, axis=0, weights=n_rows), initial=1.0))


def _columns(values: Any) -> np.ndarray | None:
    """Numbers, or indicators of classes; None for what is neither."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "biufUS":
        return None
    if values.dtype.kind in "US":
        levels, codes = np.unique(values, return_inverse=True)
        return np.asarray(codes.reshape(-1, 1) == np.arange(min(len(levels), MOST_CLASSES)), float)
    return values.reshape(len(values), -1).astype(np.float64)


def _memories(columns: np.ndarray) -> np.ndarray:
    """The memory of every column of one series."""
    n_rows = len(columns)
    ranks = stats.rankdata(columns, axis=0, nan_policy="omit")
    ranks = np.nan_to_num(ranks - np.nanmean(ranks, axis=0))
    spectrum = np.abs(fft.rfft(ranks, 2 * n_rows, axis=0)) ** 2
    products = fft.irfft(spectrum, axis=0)[:n_rows]  # Σ_i r_i r_{i+k} of every lag k
    sums = 2.0 * np.cumsum(products / np.maximum(products[0], np.finfo(float).tiny), axis=0) - 1.0
    enough = np.arange(n_rows)[:, np.newaxis] >= WINDOW * sums
    enough[-1] = True
    return np.asarray(np.take_along_axis(sums, enough.argmax(axis=0)[np.newaxis], axis=0)[0])
