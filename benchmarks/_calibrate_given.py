"""Does the test given confounders keep its level, what does it find, and how fast? Beside KCI.

Settings were chosen on the nulls ``CHOSEN_ON``. Reported are the nulls of ``grid``, whose
directions, phases and coefficients are new in every draw, and those of ``OTHER_SHAPES`` and
``OTHER_TYPES``; none of them took part in a choice. As a script it takes up where it was stopped:

    python benchmarks/_calibrate_given.py levels --draws 300
    python benchmarks/_calibrate_given.py power --draws 200     # needs causal-learn
    python benchmarks/_calibrate_given.py speed                 # needs causal-learn
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import common
import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from depmax import hsic_test

LEVEL = 0.05
#: The realised level may be so large,
MOST = 0.08
#: beyond what chance adds to so few draws, in standard errors.
ERRORS = 2.0
N_SIGNS = 300

Draw = tuple[Any, Any, Any]  # x, y and confounders Z
Drawing = Callable[[int, np.random.Generator], Draw]
Found = list[dict[str, Any]]


def _scaled(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / values.std()


def _index(Z: np.ndarray) -> np.ndarray:
    return Z.sum(axis=1) / np.sqrt(Z.shape[1])


def _noisy(f: np.ndarray, g: np.ndarray, Z: np.ndarray, rng: np.random.Generator) -> Draw:
    """Both functions with a fifth of noise."""
    m = len(Z)
    return _scaled(f) + 0.5 * rng.normal(size=m), _scaled(g) + 0.5 * rng.normal(size=m), Z


# --- nulls ----------------------------------------------------------------------------------------
def _same(d: int, f: Any, g: Any = None) -> Drawing:
    """x and y are functions of d normal confounders, the same one unless ``g`` is given."""

    def drawing(m: int, rng: np.random.Generator) -> Draw:
        Z = rng.normal(size=(m, d))
        return _noisy(f(Z), (g or f)(Z), Z, rng)

    return drawing


CHOSEN_ON: dict[str, Drawing] = {
    "sin 3z": _same(1, lambda Z: np.sin(3 * Z[:, 0])),
    "z²": _same(1, lambda Z: Z[:, 0] ** 2),
    "z": _same(1, lambda Z: Z[:, 0]),
    "index of 2: sin 3t": _same(2, lambda Z: np.sin(3 * _index(Z))),
    "sum of 2": _same(2, lambda Z: np.sin(2 * Z).sum(1) + Z[:, 0] ** 2),
    "product of 2": _same(2, lambda Z: Z[:, 0] * Z[:, 1]),
    "sin 2z · z of 2": _same(2, lambda Z: np.sin(2 * Z[:, 0]) * Z[:, 1]),
    "index of 5: sin 3t": _same(5, lambda Z: np.sin(3 * _index(Z))),
    "index of 5: t²": _same(5, lambda Z: _index(Z) ** 2),
    "sum of 5": _same(5, lambda Z: np.sin(2 * Z).sum(1) + Z[:, 0] ** 2),
    "products of 5": _same(5, lambda Z: Z[:, 0] * Z[:, 1] + Z[:, 2] * Z[:, 3]),
    "sin 2z · z of 5": _same(5, lambda Z: np.sin(2 * Z[:, 0]) * Z[:, 1]),
}

OTHER_SHAPES: dict[str, Drawing] = {
    "cos 4z": _same(1, lambda Z: np.cos(4 * Z[:, 0])),
    "|z| and z + |z|": _same(1, lambda Z: np.abs(Z[:, 0]), lambda Z: Z[:, 0] + np.abs(Z[:, 0])),
    "step": _same(1, lambda Z: np.sign(Z[:, 0] - 0.3)),
    "bump of an index of 2": _same(2, lambda Z: np.exp(-4 * (_index(Z) - 0.5) ** 2)),
    "|z| + cos 3z of 2": _same(2, lambda Z: np.abs(Z[:, 0]) + np.cos(3 * Z[:, 1])),
    "z · tanh 2z of 2": _same(2, lambda Z: Z[:, 0] * np.tanh(2 * Z[:, 1])),
    "cos(2t + 1), index of 5": _same(5, lambda Z: np.cos(2 * _index(Z) + 1)),
    "two indices of 5": _same(5, lambda Z: np.tanh(2 * (Z[:, 0] - Z[:, 1])) * (Z[:, 2] + Z[:, 3])),
    "sum of |z| and z³, 5": _same(5, lambda Z: np.abs(Z).sum(1) + Z[:, 0] ** 3 / 3),
    "z z + z · tanh z of 5": _same(5, lambda Z: Z[:, 0] * Z[:, 1] + np.tanh(Z[:, 2]) * Z[:, 4]),
    "sin 3z₁z₂ of 5": _same(5, lambda Z: np.sin(3 * Z[:, 0] * Z[:, 1])),
    "sign z₁z₂z₃ of 5": _same(5, lambda Z: np.sign(Z[:, 0] * Z[:, 1] * Z[:, 2])),
    "sin 6t, index of 5": _same(5, lambda Z: np.sin(6 * _index(Z))),
}

#: What a confounder, an index of several or a factor of a product does, with a random phase.
LINKS: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "line": lambda t, phase: t,
    "sine": lambda t, phase: np.sin(2.5 * t + phase),
    "square": lambda t, phase: (t - 0.3 * np.cos(phase)) ** 2,
}


def _of_index(Z: np.ndarray, link: Any, rng: np.random.Generator) -> np.ndarray:
    direction = rng.normal(size=Z.shape[1])
    return np.asarray(link(Z @ direction / np.linalg.norm(direction), rng.uniform(0, 2 * np.pi)))


def _of_sum(Z: np.ndarray, link: Any, rng: np.random.Generator) -> np.ndarray:
    d = Z.shape[1]
    weights, phases = rng.uniform(0.5, 1.0, d), rng.uniform(0, 2 * np.pi, d)
    terms = [w * _scaled(link(Z[:, j], phases[j])) for j, w in enumerate(weights)]
    return np.asarray(sum(terms))


def _of_products(Z: np.ndarray, link: Any, rng: np.random.Generator) -> np.ndarray:
    """z₁ link(z₂), of five confounders z₁ link(z₂) + z₃ link(z₄), in a random order."""
    order = rng.permutation(Z.shape[1])
    pairs = zip(order[:-1:2], order[1::2], strict=False)
    return np.asarray(sum(Z[:, a] * link(Z[:, b], rng.uniform(0, 2 * np.pi)) for a, b in pairs))


STRUCTURES = {"index": _of_index, "sum": _of_sum, "product": _of_products}


def _random(d: int, structure: Any, link: Any) -> Drawing:
    def drawing(m: int, rng: np.random.Generator) -> Draw:
        Z = rng.normal(size=(m, d))
        f = structure(Z, link, rng)
        return _noisy(f, f, Z, rng)

    return drawing


def grid() -> dict[str, Drawing]:
    """Confounders × structure × link; one confounder has no structure."""
    found = {f"{link} of 1": _random(1, _of_index, LINKS[link]) for link in LINKS}
    for d, structure, link in itertools.product((2, 5), STRUCTURES, LINKS):
        found[f"{structure} of {d}: {link}"] = _random(d, STRUCTURES[structure], LINKS[link])
    return found


def _noise_varies(m: int, rng: np.random.Generator) -> Draw:
    Z = rng.normal(size=(m, 2))
    t, scale = _index(Z), 0.2 + np.abs(_index(Z))
    return t + scale * rng.normal(size=m), t + scale * rng.normal(size=m), Z


def _long_tails(m: int, rng: np.random.Generator) -> Draw:
    Z = np.exp(1.5 * rng.normal(size=(m, 2)))
    f = _scaled(np.log(Z).sum(1))
    return f + 0.5 * rng.standard_t(3, m), f + 0.5 * rng.standard_t(3, m), Z


def _classes(m: int, rng: np.random.Generator) -> Draw:
    Z = rng.normal(size=(m, 2))
    t = _index(Z)
    y = (rng.random(m) < 1 / (1 + np.exp(-3 * np.sin(2 * t)))).astype(int)
    return np.sin(2 * t) + 0.5 * rng.normal(size=m), y, Z


def _counts(m: int, rng: np.random.Generator) -> Draw:
    Z = rng.normal(size=(m, 2))
    rate = np.exp(np.sin(2 * _index(Z)))
    return rng.poisson(rate).astype(float), rng.poisson(rate).astype(float), Z


def _age_and_batch(m: int, rng: np.random.Generator) -> Draw:
    """An effect of age in each batch."""
    age, batch = rng.normal(size=m), rng.integers(0, 6, m)
    f = _scaled(np.sin(age + batch) + 0.5 * batch)
    given = pd.DataFrame({"age": 50 + 15 * age, "batch": pd.Categorical(batch)})
    return f + 0.5 * rng.normal(size=m), f + 0.5 * rng.normal(size=m), given


OTHER_TYPES: dict[str, Drawing] = {
    "noise varies": _noise_varies,
    "long tails": _long_tails,
    "classes": _classes,
    "counts": _counts,
    "age and batch": _age_and_batch,
}

NULLS = {
    "chosen on": CHOSEN_ON,
    "grid": grid(),
    "other shapes": OTHER_SHAPES,
    "other types": OTHER_TYPES,
}


# --- levels ---------------------------------------------------------------------------------------
def _outcome(group: str, name: str, m: int, number: int) -> tuple[bool, bool]:
    """Whether one draw is rejected, and whether its level is said to hold."""
    rng = np.random.default_rng([number, m, *name.encode()])
    x, y, Z = NULLS[group][name](m, rng)
    found = _quietly(hsic_test, x, y, given=Z, n_permutations=N_SIGNS, random_state=number)
    return found.pvalue <= LEVEL, found.reliable


def _quietly(test: Callable[..., Any], *args: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the outcome says the same
        return test(*args, **options)


def count(group: str, name: str, m: int, draws: range, n_jobs: int) -> dict[str, Any]:
    """Rejections at 0.05 among some draws of one null, and among those called reliable."""
    found = Parallel(n_jobs=n_jobs)(delayed(_outcome)(group, name, m, k) for k in draws)
    return {
        "group": group,
        "null": name,
        "n_samples": m,
        "first_draw": draws.start,
        "n_draws": len(draws),
        "rejected": sum(rejected for rejected, _ in found),
        "n_reliable": sum(reliable for _, reliable in found),
        "rejected_reliable": sum(rejected and reliable for rejected, reliable in found),
    }


def rates(counts: pd.DataFrame) -> Found:
    """Levels of every null and number of rows, from counts of one or more rounds."""
    summed = ["n_draws", "rejected", "n_reliable", "rejected_reliable"]
    totals = counts.groupby(["n_samples", "group", "null"], sort=False)[summed].sum().reset_index()
    found = []
    for each in totals.to_dict("records"):
        reliable = each["n_reliable"]
        level = each["rejected_reliable"] / max(reliable, 1)
        slack = ERRORS * np.sqrt(MOST * (1 - MOST) / max(reliable, 1))
        found.append(
            {
                **{key: each[key] for key in ("group", "null", "n_samples", "n_draws")},
                "level": each["rejected"] / each["n_draws"],
                "reliable": reliable / each["n_draws"],
                "level_if_reliable": level,
                "passed": bool(level <= MOST + slack),
            }
        )
    return found


def levels(n_draws: int, n_jobs: int) -> Found:
    """Levels of the nulls of the grid with 200 and 1,000 rows."""
    cells = [("grid", name, m) for m in (200, 1000) for name in NULLS["grid"]]
    counts = [count(*cell, range(n_draws), n_jobs) for cell in cells]
    return rates(pd.DataFrame(counts))


def show(found: Found) -> None:
    print("\nRejections at 0.05 where x and y are independent given the confounders")
    common.table(
        ["nulls", "confounding", "rows", "draws", "level", "reliable", "level of these", ""],
        [
            [
                each["group"],
                each["null"],
                f"{each['n_samples']:,}",
                each["n_draws"],
                f"{each['level']:.3f}",
                f"{each['reliable']:.2f}",
                f"{each['level_if_reliable']:.3f}",
                "" if each["passed"] else "TOO MANY",
            ]
            for each in found
        ],
    )


# --- power and speed beside KCI -------------------------------------------------------------------
#: What x has beyond Z does to y: name, function of that and of Z, strength.
EFFECTS: dict[str, tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], float]] = {
    "none": (lambda e, Z: np.zeros_like(e), 0.0),
    "linear": (lambda e, Z: e, 0.2),
    "square": (lambda e, Z: e**2, 0.25),
    "sine": (lambda e, Z: np.sin(2.5 * e), 0.4),
    "turns with Z": (lambda e, Z: e * Z[:, 0], 0.3),
}
#: Confounding that KCI can remove, by the number of confounders.
MILD = {1: lambda Z: Z[:, 0], 2: lambda Z: np.tanh(Z).sum(1), 5: lambda Z: Z.sum(1)}


def alternative(d: int, effect: str, m: int, rng: np.random.Generator) -> Draw:
    """x and y that share a mild function of Z, and an effect of what else x is made of."""
    Z, e = rng.normal(size=(m, d)), rng.normal(size=m)
    f = _scaled(MILD[d](Z))
    function, strength = EFFECTS[effect]
    return f + e, f + strength * function(e, Z) + rng.normal(size=m), Z


def kci(x: np.ndarray, y: np.ndarray, Z: np.ndarray) -> float:
    """p-value of causal-learn's test, as it comes."""
    from causallearn.utils.cit import CIT

    return float(CIT(np.column_stack([x, y, Z]), "kci")(0, 1, list(range(2, 2 + Z.shape[1]))))


def _both(d: int, effect: str, m: int, number: int) -> tuple[bool, bool]:
    x, y, Z = alternative(d, effect, m, np.random.default_rng([number, m, d, *effect.encode()]))
    ours = _quietly(hsic_test, x, y, given=Z, n_permutations=N_SIGNS, random_state=number)
    return ours.pvalue <= LEVEL, kci(x, y, Z) <= LEVEL


def compare(d: int, effect: str, m: int, draws: range, n_jobs: int) -> dict[str, Any]:
    """Rejections of both tests in the same draws."""
    found = Parallel(n_jobs=n_jobs)(delayed(_both)(d, effect, m, k) for k in draws)
    ours, theirs = np.array(found).sum(axis=0).tolist()
    return {
        "n_confounders": d,
        "effect": effect,
        "n_samples": m,
        "first_draw": draws.start,
        "n_draws": len(draws),
        "rejected": ours,
        "rejected_by_kci": theirs,
    }


def show_power(counts: pd.DataFrame) -> None:
    summed = ["n_draws", "rejected", "rejected_by_kci"]
    keys = ["n_samples", "n_confounders", "effect"]
    totals = counts.groupby(keys, sort=False)[summed].sum().reset_index()
    print("\nRejections at 0.05 where y depends on x given Z")
    common.table(
        ["rows", "confounders", "effect", "draws", "depmax", "KCI"],
        [
            [
                *(each[key] for key in keys),
                each["n_draws"],
                f"{each['rejected'] / each['n_draws']:.2f}",
                f"{each['rejected_by_kci'] / each['n_draws']:.2f}",
            ]
            for each in totals.to_dict("records")
        ],
    )


def show_speed(m: int = 2000) -> None:
    """Seconds of both tests with their defaults."""
    rows = []
    for d, name in ((1, "sin 3z"), (2, "sum of 2"), (5, "sum of 5")):
        x, y, Z = CHOSEN_ON[name](m, np.random.default_rng(0))
        ask = partial(_quietly, hsic_test, x, y, given=Z, random_state=0)
        ours = common.best_seconds(ask)
        theirs = common.best_seconds(partial(kci, x, y, Z), repeats=2, budget=20)
        rows.append([d, f"{ours:.3f}", f"{theirs:.2f}", f"{theirs / ours:.0f}"])
    print(f"\nSeconds with {m:,} rows")
    common.table(["confounders", "depmax", "KCI", "times"], rows)


# --- as a script ----------------------------------------------------------------------------------
def resume(
    name: str, cells: list[tuple[Any, ...]], once: Callable[..., dict[str, Any]], options: Any
) -> pd.DataFrame:
    """Counts of all cells in rounds, each written when it is known; earlier ones are kept."""
    path = common.RESULTS / f"{name}.csv"
    known = set()
    if path.exists():
        places = range(len(cells[0]) + 1)  # of what names a cell, and of its first draw
        known = set(pd.read_csv(path, usecols=list(places)).itertuples(index=False, name=None))
    for first in range(0, options.draws, options.round):
        for cell in cells:
            if (*cell, first) in known:
                continue
            draws = range(first, min(first + options.round, options.draws))
            row = pd.DataFrame([once(*cell, draws, options.jobs)])
            row.to_csv(path, mode="a", header=not path.exists(), index=False)
    return pd.read_csv(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["levels", "power", "speed"])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--round", type=int, default=20, help="draws between two writes")
    parser.add_argument("--rows", type=int, nargs="+", default=None)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    if options.part == "speed":
        return show_speed()
    if options.part == "power":
        sizes = options.rows or [200, 500]
        asked = list(itertools.product(MILD, EFFECTS, sizes))
        return show_power(resume("given_power", asked, compare, options))
    sizes = options.rows or [200, 500, 1000, 5000]
    asked = [(group, name, m) for m in sizes for group in NULLS for name in NULLS[group]]
    return show(rates(resume("given_levels", asked, count, options)))


if __name__ == "__main__":
    main()
