"""Survival times, some of them censored: weighted log-rank scores as coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.polynomial.legendre import legvander

from depmax.kernels.kernel import Capabilities, Facts, Kernel

#: Coordinates: the log-rank score, and those whose weights change sign once, twice, …
N_COORDINATES = 5


@dataclass(eq=False, repr=False)
class Censored(Kernel):
    """Kernel of survival times: what is known of a censored time counts, and nothing more.

    A row is (event, time): 1 if the event was seen at that time, 0 if the row was observed until
    then without it. Its coordinates are weighted log-rank scores

        ψ_k = [event w_k(time) - Σ_j h_j w_k(t_j)] / √(k + 1),    k = 0, …, 4,

    with the sum over event times t_j up to the row's own, h_j the share of the rows still at risk
    that have an event at t_j (Nelson-Aalen), and w_k the Legendre polynomial of degree k in the
    share of all events seen by then. w_0 = 1 gives the log-rank score (martingale residual); the
    others see effects that change over time. Each ψ_k has mean zero, and for any X on which
    the true time does not depend, mean zero given X, whatever censoring has to do with X, as long
    as censoring and the true time are independent given X.

    Parameters
    ----------
    curve : ndarray of shape (n_times, 3), optional
        Distinct event times, sorted; h_j; and the share of events before each, ties counting half.
        ``resolve`` computes them.

    Examples
    --------
    >>> from depmax.kernels import Censored
    >>> rows = [[1, 2.0], [1, 3.0], [0, 3.5], [1, 5.0]]
    >>> Censored().resolve(rows).features(rows)[:, 0].round(2)  # 1 - 1/4, 1 - 1/4 - 1/3, …
    array([ 0.75,  0.42, -0.58, -0.58])
    """

    curve: np.ndarray | None = None

    _capabilities: ClassVar[Capabilities] = Capabilities(survival=True, scale_free=True)
    _recipe: ClassVar[tuple[str, ...]] = ("curve",)

    def _estimated(self, facts: Facts) -> Kernel:
        """Copy with the Nelson-Aalen steps of the rows."""
        if self.curve is not None:
            return self
        rows = self._read(facts.in_memory(self))
        event, time = rows[:, 0] > 0, rows[:, 1]
        weight = np.ones(len(rows)) if facts.weight is None else facts.weight
        event = event & (weight > 0)
        times, places = np.unique(time[event], return_inverse=True)
        seen = np.bincount(places, weight[event], len(times))
        order = np.argsort(time, kind="stable")
        before = np.append(0.0, np.cumsum(weight[order]))
        at_risk = before[-1] - before[np.searchsorted(time[order], times)]
        share = (np.cumsum(seen) - 0.5 * seen) / max(seen.sum(), np.finfo(float).tiny)
        return self._copy_with(curve=np.column_stack([times, seen / at_risk, share]))

    def features(self, X: Any) -> np.ndarray:
        """Weighted log-rank scores, of shape (n_samples, 5)."""
        rows, curve = self._read(X), np.asarray(self.curve, dtype=np.float64)
        times, hazards, shares = curve.T
        degrees = np.arange(N_COORDINATES)
        scales = np.sqrt((2 * degrees + 1) / (degrees + 1))  # orthonormal, and 1 / √(k + 1)
        weights = legvander(2.0 * shares - 1.0, N_COORDINATES - 1) * scales
        steps = np.cumsum(hazards[:, np.newaxis] * weights, axis=0)
        known = np.vstack([np.zeros(N_COORDINATES), steps])
        event, time = rows[:, 0] > 0, rows[:, 1]
        scores = -known[np.searchsorted(times, time, side="right")]
        if len(times):  # an event at a time that is new takes the weight at that time
            here = np.interp(time[event], times, shares)
            scores[event] += legvander(2.0 * here - 1.0, N_COORDINATES - 1) * scales
        return scores

    @property
    def _known_width(self) -> int:
        return N_COORDINATES

    def _read(self, X: Any) -> np.ndarray:
        """Rows (event, time), checked."""
        rows = np.asarray(super()._read(X), dtype=np.float64)
        if rows.shape[1] != 2 or not np.isin(rows[:, 0], (0.0, 1.0)).all():
            raise ValueError(
                "Censored compares rows (event, time), where event is 1 if it was seen and 0 if "
                f"the time is censored, but got {rows.shape[1]} columns with other values: pass y "
                "as a frame with the columns 'event' and 'time'."
            )
        return rows
