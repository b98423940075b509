"""Whether pictures and planted targets say what is true: how often their intervals hold.

*Means*: tables of one column, drawn again; the share of the 95% intervals of
``TargetByColumnDisplay`` that hold the mean of their group, without its first and last group.

*Planted*: real tables with a target of three known columns, so that it is known how many of them a
selector finds; beside it is what ``planted_recovery`` says, which does not know them. The interval
is judged by the mean of all runs on the same table.

    python benchmarks/planted.py
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from common import parse, save, sized, table
from scipy.stats import rankdata

from depmax import compare
from depmax.datasets import load
from depmax.evaluation import planted_recovery
from depmax.plotting import TargetByColumnDisplay

DRAWS = sized(2000, 2)
ROWS = sized((80, 200, 1000), (80,))
TABLES = sized({"wine": 170, "sonar": 150}, {"wine": 60})
RUNS, REPEATS = sized((8, 3), (1, 1))
COUNT, SIGNAL = 3, 0.85
#: How like each other two columns are that stand for one another.
ALIKE = 0.9

NOISE = {
    "normal": lambda rng, n: rng.normal(size=n),
    "Student t, 3 degrees": lambda rng, n: rng.standard_t(3, n),
    "log-normal": lambda rng, n: rng.lognormal(size=n) - np.exp(0.5),
}


def coverage(noise: str, n_rows: int, rng: np.random.Generator) -> float:
    """Share of the intervals of means, or of shares of a class, that hold what they are for."""
    hits = []
    for _ in range(DRAWS):
        x = rng.normal(size=n_rows)
        wanted = 1.0 / (1.0 + np.exp(-x)) if noise == "classes" else x
        if noise == "classes":
            y = (rng.random(n_rows) < wanted).astype(int)
        else:
            y = x + NOISE[noise](rng, n_rows)
        found = TargetByColumnDisplay.from_predictions(x, y)
        parts = np.split(wanted[np.argsort(x)], np.cumsum(found.counts)[:-1])
        truth = np.array([part.mean() for part in parts])
        hits.append(((found.low[0] <= truth) & (truth <= found.high[0]))[1:-1])
    return float(np.mean(hits))


def target(U: np.ndarray, shape: str, rng: np.random.Generator) -> np.ndarray:
    """Numbers made of all columns of U in a shape, and noise."""
    ranks = np.apply_along_axis(rankdata, 0, U) / len(U) - 0.5
    parts = {
        "linear": (U - U.mean(axis=0)) / U.std(axis=0),
        "curved": ranks**2,
        "interaction": ranks * np.roll(ranks, 1, axis=1),
    }[shape]
    parts = (parts - parts.mean(axis=0)) / parts.std(axis=0)
    signal = parts @ rng.choice([-1.0, 1.0], U.shape[1])
    return SIGNAL * signal / signal.std() + np.sqrt(1 - SIGNAL**2) * rng.normal(size=len(U))


def planted(name: str, n_rows: int, shape: str) -> list[object]:
    """What a selector finds, what is said of it, and how often the interval holds."""
    X, true, said = load(name).X, [], []
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        rows = X[rng.permutation(len(X))[:n_rows]]
        columns = rng.permutation(X.shape[1])[:COUNT]
        y = target(rows[:, columns], shape, rng)
        found = compare(rows, y, ["BAHSIC"], cv=3, dimensions=[COUNT], random_state=seed)
        recovery = planted_recovery(found, n_repeats=REPEATS)
        like = np.abs(np.corrcoef(np.apply_along_axis(rankdata, 0, rows), rowvar=False))
        true.append((like[np.ix_(columns, found.kept_by("BAHSIC"))] >= ALIKE).any(axis=1).mean())
        said += [row for row in recovery.rows if row.shape == shape]
    mean = np.mean([row.found for row in said]) if said else np.nan
    held = np.mean([row.low <= mean <= row.high for row in said]) if said else np.nan
    return [name, shape, len(said), f"{np.mean(true):.2f}", f"{mean:.2f}", f"{held:.2f}"]


def main() -> None:
    """Run and print both tables."""
    parse(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    cells = [
        [noise, *(f"{coverage(noise, n, rng):.3f}" for n in ROWS)] for noise in [*NOISE, "classes"]
    ]
    table(["noise", *(f"{n} rows" for n in ROWS)], cells)
    shapes = ("linear", "curved", "interaction")
    lines = [planted(name, n, shape) for name, n in TABLES.items() for shape in shapes]
    table(["table", "shape", "runs", "found", "said", "interval holds"], lines)
    save("planted", {"means": cells, "planted": lines})


if __name__ == "__main__":
    main()
