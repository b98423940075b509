"""Tests of x and y given Z as causal discovery asks them, columns of mixed types. Beside KCI.

Z is a number and a category of three levels. x and y are numbers or categories of three levels,
made of waves of the number and of a shift of each level, new in every draw. Level: nothing else.
Power: what x has beyond Z acts on y, by its square, or by one level, or on one level.

KCI is causal-learn's, with its defaults, in two forms: a category as one column of codes, which is
what its PC algorithm passes on, and as indicators. Without causal-learn, depmax runs alone. Times
are CPU seconds of one test. Strengths of effects were chosen on other draws (seeds from a million).

    python benchmarks/conditional_tests.py --draws 300              # all; goes on where it stopped
    python benchmarks/conditional_tests.py --rows 200 --effects none
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from common import RESULTS, SMOKE, duration, parse, sized, table
from threadpoolctl import threadpool_limits

from depmax import hsic_test

LEVEL = 0.05
KINDS = ("number", "category")
EFFECTS = ("none", "nonlinear")
#: Strength of the effect by the kinds of x and of y.
STRENGTH = {
    ("number", "number"): 0.25,
    ("number", "category"): 1.0,
    ("category", "number"): 0.35,
    ("category", "category"): 1.0,
}
PATH = RESULTS / "conditional_tests.csv"


# --- tables ---------------------------------------------------------------------------------------
def cause(z: np.ndarray, place: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A wave of the number and a shift of each level, each of variance about one."""
    wave = np.sqrt(2.0) * np.sin(1.5 * z + rng.uniform(0, 2 * np.pi))
    return wave + rng.normal(size=3)[place]


def level(utility: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A level for each row: 0, 1 or 2, by the largest of three utilities (a logit model)."""
    return (utility + rng.gumbel(size=utility.shape)).argmax(axis=1)


def draw(kind_x: str, kind_y: str, strength: float, m: int, seed: int) -> pd.DataFrame:
    """The columns x, y, z and place; categories are text."""
    rng = np.random.default_rng([seed, m, KINDS.index(kind_x), KINDS.index(kind_y)])
    z, place = rng.normal(size=m), rng.choice(3, m, p=[0.5, 0.3, 0.2])
    own = rng.normal(size=m)
    if kind_x == "number":
        x, acts = cause(z, place, rng) + own, (own**2 - 1) / np.sqrt(2.0)
    else:
        x = level(np.stack([cause(z, place, rng) for _ in range(3)], axis=1) / 2, rng)
        acts = (x == rng.integers(3)).astype(float)
    if kind_y == "number":
        noise = rng.normal(size=m)
        y = cause(z, place, rng) + strength * np.sqrt(2.0) * acts + noise
    else:
        utility = np.stack([cause(z, place, rng) for _ in range(3)], axis=1) / 2
        utility[:, rng.integers(3)] += strength * acts
        y = level(utility, rng)
    names = np.array(["north", "south", "west"])
    frame = pd.DataFrame({"x": x, "y": y, "z": z, "place": place})
    categories = [c for c, kind in (("x", kind_x), ("y", kind_y)) if kind == "category"]
    for column in (*categories, "place"):
        frame[column] = names[frame[column]]
    return frame


# --- tests ----------------------------------------------------------------------------------------
Test = Callable[[pd.DataFrame, int], tuple[float, bool]]


def depmax(frame: pd.DataFrame, seed: int) -> tuple[float, bool]:
    """p-value, and whether the result calls it reliable."""
    given = frame[["z", "place"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # counted instead
        test = hsic_test(frame[["x"]], frame["y"], given=given, random_state=seed)
    return test.pvalue, test.reliable


def _kci(columns: list[np.ndarray]) -> tuple[float, bool]:
    from causallearn.utils.cit import CIT

    ends = np.cumsum([each.shape[1] for each in columns])
    x, y, z, place = (list(range(b - a.shape[1], b)) for a, b in zip(columns, ends, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(CIT(np.hstack(columns).astype(float), "kci")(x, y, z + place)), True


def kci_codes(frame: pd.DataFrame, seed: int) -> tuple[float, bool]:
    """A category is one column of codes."""
    codes = frame.apply(lambda c: c if c.dtype == float else pd.factorize(c, sort=True)[0])
    return _kci([codes[[name]].to_numpy() for name in frame])


def kci_indicators(frame: pd.DataFrame, seed: int) -> tuple[float, bool]:
    """A category is a column for each level."""
    return _kci([pd.get_dummies(frame[[name]]).to_numpy() for name in frame])


TESTS: dict[str, Test] = {"depmax": depmax}
if importlib.util.find_spec("causallearn") is not None and not SMOKE:
    TESTS |= {"KCI codes": kci_codes, "KCI indicators": kci_indicators}


# --- counts ---------------------------------------------------------------------------------------
def count(kind_x: str, kind_y: str, effect: str, m: int, seeds: range) -> list[dict[str, object]]:
    """Rejections, reliable draws and CPU seconds, for each test."""
    strength = STRENGTH[kind_x, kind_y] if effect != "none" else 0.0
    frames = [draw(kind_x, kind_y, strength, m, seed) for seed in seeds]
    rows = []
    for name, test in TESTS.items():
        test(frames[0], 0)  # what is compiled or imported at the first call
        found, seconds = [], []
        for seed, frame in zip(seeds, frames, strict=True):
            start = time.process_time()
            found.append(test(frame, seed))
            seconds.append(time.process_time() - start)
        rejected, reliable = np.array([(p <= LEVEL, sure) for p, sure in found]).T
        rows.append(
            {
                "x": kind_x,
                "y": kind_y,
                "effect": effect,
                "rows": m,
                "first": seeds.start,
                "test": name,
                "draws": len(seeds),
                "rejected": int(rejected.sum()),
                "reliable": int(reliable.sum()),
                "seconds": float(np.median(seconds)),
            }
        )
    return rows


def show(counts: pd.DataFrame) -> None:
    """A line for each setting, with the tests side by side."""
    lines = []
    for setting, cell in counts.groupby(["rows", "x", "y", "effect"], sort=False):
        rates, sure, times = [], "", []
        for name, runs in cell.groupby("test", sort=False):
            draws, rejected, reliable = runs[["draws", "rejected", "reliable"]].sum()
            rates.append(f"{rejected / draws:.3f}")
            times.append(duration(float(np.average(runs["seconds"], weights=runs["draws"]))))
            if name == "depmax":
                sure = f"{reliable / draws:.2f}"
        lines.append([*setting, draws, *rates, sure, *times])
    names = [*dict.fromkeys(counts["test"])]
    head = ["rows", "x", "y", "effect", "draws", *names, "reliable", *names]
    table(head, lines)


def main() -> None:
    """The settings asked for, each written when it is known."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=sized(300, 2))
    parser.add_argument("--round", type=int, default=25, help="draws between two writes")
    parser.add_argument("--first", type=int, default=0, help="seed of the first draw")
    parser.add_argument("--rows", type=int, nargs="+", default=sized([200, 500], [60]))
    parser.add_argument("--effects", nargs="+", choices=EFFECTS, default=EFFECTS)
    options = parse(parser)
    last = options.first + options.draws
    kept = options.first == 0 and not options.smoke  # of other seeds nothing is written
    runs = [pd.read_csv(PATH)] if kept and PATH.exists() else []
    keys = ["rows", "effect", "x", "y", "first", "draws"]
    known = {
        (*setting, seed)
        for each in runs
        for *setting, first, draws in each[keys].to_numpy(object)
        for seed in range(first, first + draws)
    }
    firsts = range(options.first, last, options.round)
    asked = itertools.product(firsts, options.rows, options.effects, KINDS, KINDS)
    for first, m, effect, x, y in asked:
        if (m, effect, x, y, first) in known:
            continue
        seeds = range(first, min(first + options.round, last))
        with threadpool_limits(1):
            runs.append(pd.DataFrame(count(x, y, effect, m, seeds)))
        if kept:
            runs[-1].to_csv(PATH, mode="a", header=not PATH.exists(), index=False)
    show(pd.concat(runs))


if __name__ == "__main__":
    main()
