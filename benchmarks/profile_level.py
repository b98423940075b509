"""How often ``profile`` says that some pair of independent columns depend on each other.

Over all pairs of a table together the level is 0.05. Tables have 60 columns of one kind; the kinds
are those that break tests: ties, rare values, heavy tails, gaps, rare levels, and mixtures.
"""

import argparse
from collections.abc import Callable

import numpy as np
import polars as pl
from common import parse, sized, table

from depmax.evaluation import profile

parse(argparse.ArgumentParser(description=__doc__))
COLUMNS = 60
#: Rules and constants of ``profile`` were set after looking at seeds from 1000; not at these.
SEEDS = range(3000, 3000 + sized(40, 1))
ROWS = sized((20, 60, 300, 1500), (30,))


def levels(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Levels of categories, of which most are rare."""
    return np.char.add("l", rng.geometric(0.4, shape).astype(str)).astype(object)


def rare(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Zeros with a few positive numbers among them."""
    return np.where(rng.random(shape) < 0.05, rng.exponential(size=shape), 0.0)


def mixed(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Categories, numbers and mostly zeros side by side."""
    third = shape[0], shape[1] // 3
    parts = levels(rng, third), rng.normal(size=third), rare(rng, third)
    return np.hstack([part.astype(object) for part in parts])


def gapped(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Numbers, up to 80% of which are missing."""
    gaps = rng.random(shape) < 0.8 * rng.random(shape[1])
    return np.where(gaps, np.nan, rng.normal(size=shape))


Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
KINDS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "heavy tails": lambda rng, shape: rng.standard_cauchy(shape),
    "five values": lambda rng, shape: rng.integers(0, 5, shape),
    "rare 0/1": lambda rng, shape: (rng.random(shape) < 0.05).astype(float),
    "rare counts": lambda rng, shape: rng.poisson(0.1, shape).astype(float),
    "mostly zero": rare,
    "gaps": gapped,
    "categories": lambda rng, shape: rng.integers(0, 20, shape).astype(str).astype(object),
    "rare levels": levels,
    "mixed": mixed,
}


def share_with_pairs(draw: Draw, n_rows: int) -> float:
    """Share of the tables in which any pair is significant."""
    found = 0
    for seed in SEEDS:
        cells = draw(np.random.default_rng(seed), (n_rows, COLUMNS))
        frame = pl.DataFrame({f"c{k}": column.tolist() for k, column in enumerate(cells.T)})
        found += profile(frame).n_dependent > 0
    return found / len(SEEDS)


rows = [[kind, *(share_with_pairs(draw, m) for m in ROWS)] for kind, draw in KINDS.items()]
table(["columns", *(f"{m} rows" for m in ROWS)], rows)
print("all:", np.mean([row[1:] for row in rows]))
