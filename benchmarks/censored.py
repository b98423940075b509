"""Survival times: how often a column that has nothing to do with them is found, and one that has.

One column x and 100 rows a draw, level 0.05. Tests: `screen` on the censored times; Cox's score
test of x (the log-rank test for a number); and what people do without either, `screen` on the time
as if it were complete, and on the events alone. Censoring is by an exponential time, independent of
x, or e^{1.5 x} or e^{-1.5 |x|} times as fast (so that some rows are nearly all censored and others
hardly any), or faster at one of two places, to which x is related.

The coordinates of `Censored` were chosen on other shapes than those below, but for proportional
hazards: an early effect, one that begins at the median and grows with x, a Weibull shape that
depends on x, and x² and a step in the log-hazard (docs/mathematics/survival.md).

    python benchmarks/censored.py level
    python benchmarks/censored.py power
    python benchmarks/censored.py given places
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from common import parse, sized
from scipy.optimize import brentq
from scipy.stats import chi2

from depmax import WithinGroups, screen

Draw = Callable[[np.ndarray, np.random.Generator], np.ndarray]
Pull = Callable[[np.ndarray], np.ndarray]
LEVEL = 0.05
#: Logarithm of the pace of censoring, as a function of x.
PULLS: dict[str, Pull] = {
    "independent of x": np.zeros_like,
    "faster for large x": lambda x: 1.5 * x,
    "faster for middling x": lambda x: -1.5 * np.abs(x),
}


def _exponential(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.exponential(size=len(x))


def _piecewise(x: np.ndarray, rng: np.random.Generator, early: float, late: float) -> np.ndarray:
    """Hazard e^{early x} until half of all rows have had the event at x = 0, then e^{late x}."""
    total, change = rng.exponential(size=len(x)), np.log(2.0)
    first = np.exp(early * x)
    after = change + (total - change * first) * np.exp(-late * x)
    return np.where(total < change * first, total / first, after)


SHAPES: dict[str, Draw] = {
    "proportional hazards, e^{0.35 x}": lambda x, rng: _exponential(x, rng) * np.exp(-0.35 * x),
    "accelerated, log-normal": lambda x, rng: np.exp(0.35 * x + rng.normal(size=len(x))),
    "hazards cross at the median": lambda x, rng: _piecewise(x, rng, 0.6, -0.6),
    "spread of log-times depends on x": lambda x, rng: np.exp(
        np.exp(0.4 * x) * rng.normal(size=len(x))
    ),
    "U-shaped, |x| in the log-hazard": lambda x, rng: _exponential(x, rng) * np.exp(np.abs(x)),
    "sine of 2x in the log-hazard": lambda x, rng: (
        _exponential(x, rng) * np.exp(0.7 * np.sin(2.0 * x))
    ),
    "two groups, effect after the median": lambda x, rng: _piecewise(x > 0, rng, 0.0, 1.2),
}


def draw(
    shape: Draw, x: np.ndarray, pace: float, pull: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Survival times as a structured array; rows are censored at this pace times e^pull."""
    true = shape(x, rng)
    censoring = rng.exponential(size=len(x)) * np.exp(-pull) / pace
    y = np.empty(len(x), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = true <= censoring, np.minimum(true, censoring)
    return y


def pace_of(shape: Draw, share: float, pull: Pull) -> float:
    """Pace at which this share of the rows is censored."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=20_000)

    def excess(log_pace: float) -> float:
        y = draw(shape, x, np.exp(log_pace), pull(x), np.random.default_rng(1))
        return float(1.0 - y["event"].mean() - share)

    return float(np.exp(brentq(excess, -9.0, 9.0, xtol=1e-3)))


def cox(x: np.ndarray, y: np.ndarray) -> float:
    """P-value of Cox's score test of one column."""
    order = np.argsort(-y["time"], kind="stable")
    x, event = x[order], y["event"][order]
    at_risk = np.arange(1, len(x) + 1)
    mean = np.cumsum(x) / at_risk
    variance = np.cumsum(x**2) / at_risk - mean**2
    return float(chi2.sf((x - mean)[event].sum() ** 2 / variance[event].sum(), 1))


def screened(x: np.ndarray, y: np.ndarray, **options: Any) -> float:
    """P-value of one column."""
    return float(screen(x[:, np.newaxis], y, **options).pvalues[0])


TESTS: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "screen": screened,
    "Cox": cox,
    "time as it is": lambda x, y: screened(x, y["time"], method="hsic"),
    "events alone": lambda x, y: screened(x[y["event"]], y["time"][y["event"]], method="hsic"),
}


def rates(
    shape: Draw, share: float, pull: Pull, n_rows: int, count: int, tests: list[str], seed: int
) -> list[float]:
    """How often each test rejects."""
    rng, pace = np.random.default_rng(seed), pace_of(shape, share, pull)
    found = np.zeros(len(tests))
    for _ in range(count):
        x = rng.normal(size=n_rows)
        y = draw(shape, x, pace, pull(x), rng)
        found += [TESTS[name](x, y) <= LEVEL for name in tests]
    return list(found / count)


def _row(name: str, values: list[float]) -> None:
    print(f"| {name} | {' | '.join(f'{value:.3f}' for value in values)} |", flush=True)


def level(count: int, shares: list[float]) -> None:
    """Times that have nothing to do with x."""
    print(f"| censored | {' | '.join(TESTS)} |\n|---|{'---|' * len(TESTS)}")
    for how, pull in PULLS.items():
        for n_rows, share in [(100, share) for share in shares] + [(40, 0.5)]:
            setting = (_exponential, share, pull, n_rows)
            found = rates(*setting, count, ["screen", "Cox"], seed=11)
            wrong = rates(*setting, max(1, count // 10), [*TESTS][2:], seed=11)
            _row(f"{share:.0%}, {how}, {n_rows} rows", found + wrong)


def power(count: int, shares: list[float]) -> None:
    """Times that depend on x."""
    print("| shape | censored | screen | Cox |\n|---|---|---|---|")
    for name, shape in SHAPES.items():
        for share in shares:
            found = rates(shape, share, np.zeros_like, 100, count, ["screen", "Cox"], seed=12)
            _row(f"{name} | {share:.0%}", found)


def given(count: int) -> None:
    """Both x and the times depend on z, and on nothing else; `screen` given z."""
    print("| censoring | screen | screen given z |\n|---|---|---|")
    for how in ("independent of x", "faster for large x"):
        rng, found = np.random.default_rng(13), np.zeros(2)
        for _ in range(count):
            z, noise = rng.normal(size=(2, 100))
            x = (z + noise) / np.sqrt(2.0)
            pull = PULLS[how](x)
            y = draw(lambda x, rng, z=z: _exponential(x, rng) * np.exp(-z), x, 1.0, pull, rng)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # 100 rows are few for regressions
                found += [screened(x, y) <= LEVEL, screened(x, y, given=z) <= LEVEL]
        _row(how, list(found / count))


def places(count: int) -> None:
    """Rows of one of two places have larger x and are censored sooner; the times depend on none."""
    print("| test | rejected |\n|---|---|")
    rng, found = np.random.default_rng(14), np.zeros(2)
    for _ in range(count):
        place = rng.integers(0, 2, 100)
        x = 2.0 * place + rng.normal(size=100)
        y = draw(_exponential, x, 0.3, 2.5 * place, rng)
        found[0] += screened(x, y) <= LEVEL
        found[1] += screened(x, y, groups=WithinGroups(place)) <= LEVEL
    for name, value in zip(("all rows permuted", "within places"), found / count, strict=True):
        _row(name, [value])


def main() -> None:
    """One table, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", default=["level", "power", "given", "places"])
    options = parse(parser)
    if "level" in options.tables:
        level(sized(5000, 5), sized([0.3, 0.5, 0.7], [0.5]))
    if "power" in options.tables:
        power(sized(1000, 5), sized([0.3, 0.6], [0.5]))
    if "given" in options.tables:
        given(sized(2000, 5))
    if "places" in options.tables:
        places(sized(1000, 5))


if __name__ == "__main__":
    main()
