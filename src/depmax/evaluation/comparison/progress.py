"""How far a comparison is, and how long it will take."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """State after a finished part of a step."""

    done: int
    total: int
    elapsed: float  # seconds since the step began
    method: str  # of the trial that has just finished, or what else has
    step: str = "comparing"

    @property
    def remaining(self) -> float:
        """Seconds until the step is done, if its other parts take as long on average."""
        return self.elapsed / self.done * (self.total - self.done)


Listener = Callable[[Progress], None]


def read_listener(progress: bool | Listener) -> Listener:
    """A function to call after every trial."""
    if callable(progress):
        return progress
    return print_progress if progress else quiet


def quiet(state: Progress) -> None:
    """Say nothing."""


def print_progress(state: Progress) -> None:
    """One line on standard error: rewritten on a terminal, a line per tenth elsewhere."""
    line = (
        f"{state.step}: {state.done}/{state.total} done, {clock(state.elapsed)} elapsed, about "
        f"{clock(state.remaining)} left"
    )
    if sys.stderr.isatty():
        end = "\n" if state.done == state.total else ""
        print(f"\r{line}\033[K", end=end, file=sys.stderr, flush=True)
    elif state.done * 10 // state.total != (state.done - 1) * 10 // state.total:
        print(line, file=sys.stderr, flush=True)


def clock(seconds: float) -> str:
    """Seconds as a person says them.

    >>> clock(4.2), clock(75), clock(4000)
    ('4 s', '1 min 15 s', '1 h 06 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
