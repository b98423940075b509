"""How often ``screen`` finds a column, and how often it is wrong: the omnibus, HSIC alone, t-tests.

Ten shapes, fixed before anything was measured; effects shrink with the root of the rows, so that
power stays away from 1. Levels are those of columns that are independent of the target, in many
settings: kinds of columns and of targets, few rows, groups, weights, gaps. A draw of the target has
40 columns; errors are those of draws.

    python benchmarks/screen_power.py [--only level]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import parse, save, sized, table
from scipy import stats

from depmax import screen

Draw = Callable[[int, np.random.Generator], Any]
ROWS = (60, 200)
DRAWS, TARGETS, COLUMNS = sized((1500, 250, 40), (3, 3, 4))
LEVELS = (0.05, 0.01, 0.001)


# --- power ----------------------------------------------------------------------------------------
def _number(name: str, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    s, x, e = np.sqrt(60.0 / m), rng.normal(size=m), rng.normal(size=m)
    y = {
        "linear": 0.37 * s * x + e,
        "monotone": 0.17 * s * np.exp(x) + e,
        "quadratic": 0.37 * s * x**2 + e,
        "sine": 0.9 * s * np.sin(2.5 * x) + e,
        "threshold": 1.1 * s * (x > 1) + e,
        "variance": e * (1 + 1.3 * s * np.abs(x)),
        "heavy tails": 0.6 * s * x + rng.standard_t(1.5, size=m),
    }[name]
    return x, y


def _classes(name: str, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    s, c, e = np.sqrt(60.0 / m), (rng.permutation(m) < m // 2).astype(int), rng.normal(size=m)
    x = {
        "linear": 0.58 * s * c + e,
        "variance": e * (1 + 1.2 * s * c),
        "heavy tails": 0.8 * s * c + rng.standard_t(1.5, size=m),
    }[name]
    return x, c


SHAPES = {
    "numbers": (
        _number,
        ("linear", "monotone", "quadratic", "sine", "threshold", "variance", "heavy tails"),
    ),
    "classes": (_classes, ("linear", "variance", "heavy tails")),
}


def power() -> list[dict[str, Any]]:
    """Shares of draws in which each test finds the column at 0.05."""
    found = []
    for m in ROWS:
        for kind, (draw, names) in SHAPES.items():
            for number, name in enumerate(names):
                rejected = np.zeros(3)
                for draw_number in range(DRAWS):
                    seed = [35, m, number, kind == "classes", draw_number]
                    x, y = draw(name, m, np.random.default_rng(seed))
                    hsic, both = (
                        screen(x[:, np.newaxis], y, method=method).pvalues[0]
                        for method in ("hsic", "omnibus")
                    )
                    rejected += np.array([hsic, both, stats.pearsonr(x, y).pvalue]) <= LEVELS[0]
                shares = dict(zip(("hsic", "omnibus", "t"), rejected / DRAWS, strict=True))
                found.append({"rows": m, "target": kind, "shape": name, **shares})
    return found


def show_power(found: list[dict[str, Any]]) -> None:
    rows = [
        [f"{one['rows']} rows, {one['target']}", one["shape"]]
        + [f"{one[test]:.3f}" for test in ("hsic", "omnibus", "t")]
        + [f"{100 * (one['omnibus'] - max(one['hsic'], one['t'])):+.1f}"]
        for one in found
    ]
    for m in ROWS:
        for kind in SHAPES:
            part = [one for one in found if one["rows"] == m and one["target"] == kind]
            means = [float(np.mean([one[t] for one in part])) for t in ("hsic", "omnibus", "t")]
            rows.append([f"{m} rows, {kind}", "mean", *(f"{mean:.3f}" for mean in means), ""])
    table(["", "shape", "HSIC", "omnibus", "t or Pearson", "omnibus - better, points"], rows)


# --- level ----------------------------------------------------------------------------------------
def _few(count: int) -> Draw:
    return lambda m, rng: (rng.permutation(m) < count).astype(int)


def _zeros(share: float) -> Draw:
    return lambda m, rng: (rng.random(m) < share) * rng.exponential(size=m)


DRAWN: dict[str, Draw] = {
    "normal": lambda m, rng: rng.normal(size=m),
    "t(1.5)": lambda m, rng: rng.standard_t(1.5, size=m),
    "skewed": lambda m, rng: rng.exponential(size=m) ** 2,
    "counts": lambda m, rng: rng.poisson(1.0, size=m).astype(float),
    "15% not 0": _zeros(0.15),
    "0 or 1": lambda m, rng: (rng.random(m) < 0.3).astype(float),
    "2 classes": lambda m, rng: (rng.permutation(m) < m // 2).astype(int),
    "a class of 10%": lambda m, rng: (rng.permutation(m) < max(2, m // 10)).astype(int),
    "5 classes": lambda m, rng: rng.permutation(
        np.searchsorted(np.cumsum([0.5, 0.2, 0.15, 0.1]), np.arange(m) / m, side="right")
    ),
}


def _groups(m: int, rng: np.random.Generator) -> dict[str, Any]:
    return {"groups": np.arange(m) // 2}


def _weights(m: int, rng: np.random.Generator) -> dict[str, Any]:
    return {"sample_weight": rng.integers(1, 4, m).astype(float)}


#: Rows, column, target, options and the share of cells that are missing.
Setting = tuple[int, str, str, Callable[[int, np.random.Generator], dict[str, Any]] | None, float]
SETTINGS: list[Setting] = [
    *(
        (m, column, target, None, 0.0)
        for m in (15, 30, 60, 200)
        for column, target in (
            ("normal", "normal"),
            ("t(1.5)", "skewed"),
            ("counts", "t(1.5)"),
            ("15% not 0", "normal"),
            ("0 or 1", "skewed"),
            ("normal", "2 classes"),
            ("t(1.5)", "a class of 10%"),
            ("15% not 0", "a class of 10%"),
            ("counts", "5 classes"),
            ("15% not 0", "5 classes"),
        )
    ),
    (60, "normal", "normal", _groups, 0.0),
    (60, "t(1.5)", "2 classes", _groups, 0.0),
    (60, "normal", "skewed", _weights, 0.0),
    (60, "counts", "2 classes", _weights, 0.0),
    (60, "normal", "normal", None, 0.3),
    (60, "counts", "5 classes", None, 0.3),
]


def _rates(number: int) -> dict[str, Any]:
    """Shares of independent columns with a p-value of at most each level."""
    m, of_column, of_target, options, missing = SETTINGS[number]
    # permutations cost more, and need fewer draws to show that they are exact
    targets = TARGETS if options is None else max(3, TARGETS // 3)
    rates = np.empty((targets, 2, len(LEVELS)))
    for draw in range(targets):
        rng = np.random.default_rng([36, number, draw])
        y = DRAWN[of_target](m, rng)
        X = np.column_stack([DRAWN[of_column](m, rng) for _ in range(COLUMNS)]).astype(float)
        X[rng.random(X.shape) < missing] = np.nan
        more = {} if options is None else options(m, rng)
        if "groups" in more:  # both rows of a group are nearly alike
            X, y = X[more["groups"]], y[more["groups"]]
        for place, method in enumerate(("hsic", "omnibus")):
            pvalues = screen(X, y, method=method, **more).pvalues
            rates[draw, place] = [np.mean(pvalues <= level) for level in LEVELS]
    mean, error = rates.mean(axis=0), rates.std(axis=0, ddof=1) / np.sqrt(targets)
    what = "" if options is None else f", {next(iter(more)).replace('sample_weight', 'weights')}"
    what += f", {missing:.0%} gaps" if missing else ""
    return {
        "setting": f"{m} rows: {of_column} by {of_target}{what}",
        "n_columns": targets * COLUMNS,
        "hsic": mean[0].tolist(),
        "omnibus": mean[1].tolist(),
        "error": error[1].tolist(),
    }


def show_levels(found: list[dict[str, Any]]) -> None:
    rows = [
        [
            one["setting"],
            one["n_columns"],
            *(f"{one[test][place]:.4f}" for test in ("hsic", "omnibus") for place in range(3)),
            f"{one['error'][0]:.4f}",
        ]
        for one in found
    ]
    head = [f"{test} {level:g}" for test in ("HSIC", "omnibus") for level in LEVELS]
    table(["independent", "columns", *head, "± at 0.05"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("power", "level"))
    only = parse(parser).only
    start, result = time.perf_counter(), {}
    if only != "level":
        result["power"] = power()
        show_power(result["power"])
    if only != "power":
        result["level"] = [_rates(number) for number in sized(range(len(SETTINGS)), range(2))]
        show_levels(result["level"])
    if only is None:
        save("screen_power", {"draws": DRAWS, **result})
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
