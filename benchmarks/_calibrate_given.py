"""Does the test given confounders keep its level, and what does it find? Beside causal-learn's KCI.

The settings were chosen on the nulls ``TUNED`` and judged on the nulls ``JUDGED``, whose functions,
noises and types of columns took no part in any choice.
"""

from __future__ import annotations

import warnings
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


def _scaled(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / values.std()


def _index(Z: np.ndarray) -> np.ndarray:
    return Z.sum(axis=1) / np.sqrt(Z.shape[1])


#: What confounders do to x and y: name, number of confounders, both functions.
TUNED: dict[str, tuple[int, Any, Any]] = {
    "sin 3z": (1, lambda Z: np.sin(3 * Z[:, 0]), None),
    "z²": (1, lambda Z: Z[:, 0] ** 2, None),
    "linear": (1, lambda Z: Z[:, 0], None),
    "index, sin 3t, 2": (2, lambda Z: np.sin(3 * _index(Z)), None),
    "sum, 2": (2, lambda Z: np.sin(2 * Z).sum(1) + Z[:, 0] ** 2, None),
    "product, 2": (2, lambda Z: Z[:, 0] * Z[:, 1], None),
    "sin 2z · z, 2": (2, lambda Z: np.sin(2 * Z[:, 0]) * Z[:, 1], None),
    "index, sin 3t, 5": (5, lambda Z: np.sin(3 * _index(Z)), None),
    "index, t², 5": (5, lambda Z: _index(Z) ** 2, None),
    "sum, 5": (5, lambda Z: np.sin(2 * Z).sum(1) + Z[:, 0] ** 2, None),
    "products, 5": (5, lambda Z: Z[:, 0] * Z[:, 1] + Z[:, 2] * Z[:, 3], None),
    "sin 2z · z, 5": (5, lambda Z: np.sin(2 * Z[:, 0]) * Z[:, 1], None),
}

JUDGED: dict[str, tuple[int, Any, Any]] = {
    "cos 4z": (1, lambda Z: np.cos(4 * Z[:, 0]), None),
    "|z| and z": (1, lambda Z: np.abs(Z[:, 0]), lambda Z: Z[:, 0] + np.abs(Z[:, 0])),
    "step": (1, lambda Z: np.sign(Z[:, 0] - 0.3), None),
    "index, bump, 2": (2, lambda Z: np.exp(-4 * (_index(Z) - 0.5) ** 2), None),
    "sum, 2": (2, lambda Z: np.abs(Z[:, 0]) + np.cos(3 * Z[:, 1]), None),
    "product, 2": (2, lambda Z: Z[:, 0] * np.tanh(2 * Z[:, 1]), None),
    "index, cos 2t, 5": (5, lambda Z: np.cos(2 * _index(Z) + 1), None),
    "two indices, 5": (5, lambda Z: np.tanh(2 * (Z[:, 0] - Z[:, 1])) * (Z[:, 2] + Z[:, 3]), None),
    "sum, 5": (5, lambda Z: np.abs(Z).sum(1) + Z[:, 0] ** 3 / 3, None),
    "products, 5": (5, lambda Z: Z[:, 0] * Z[:, 1] + np.tanh(Z[:, 2]) * Z[:, 4], None),
}


def draw(
    setting: tuple[int, Any, Any], m: int, rng: np.random.Generator, shared: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x and y that depend on Z, and with ``shared`` noise on each other."""
    d, f, g = setting
    Z = rng.normal(size=(m, d))
    common_noise = shared * rng.normal(size=m)
    x = _scaled(f(Z)) + 0.5 * rng.normal(size=m) + common_noise
    y = _scaled((g or f)(Z)) + 0.5 * rng.normal(size=m) + common_noise
    return x, y, Z


def other_draw(kind: str, m: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """x ⊥ y | Z of other types: noise that varies or has long tails, classes, mixed tables."""
    Z = rng.normal(size=(m, 2))
    t = _index(Z)
    if kind == "noise varies":
        scale = 0.2 + np.abs(t)
        return t + scale * rng.normal(size=m), t + scale * rng.normal(size=m), Z
    if kind == "long tails":
        Z = np.exp(1.5 * Z)
        f = _scaled(np.log(Z).sum(1))
        return f + 0.5 * rng.standard_t(3, m), f + 0.5 * rng.standard_t(3, m), Z
    if kind == "classes":
        y = (rng.random(m) < 1 / (1 + np.exp(-3 * np.sin(2 * t)))).astype(int)
        return np.sin(2 * t) + 0.5 * rng.normal(size=m), y, Z
    if kind == "counts":
        rate = np.exp(np.sin(2 * t))
        return rng.poisson(rate).astype(float), rng.poisson(rate).astype(float), Z
    batch = rng.integers(0, 6, m)  # age and batch: an effect of age in each batch
    f = _scaled(np.sin(Z[:, 0] + batch) + 0.5 * batch)
    given = pd.DataFrame({"age": 50 + 15 * Z[:, 0], "batch": pd.Categorical(batch)})
    return f + 0.5 * rng.normal(size=m), f + 0.5 * rng.normal(size=m), given


OTHERS = ("noise varies", "long tails", "classes", "counts", "age and batch")


def _pvalue(name: str, group: str, m: int, draw_number: int, shared: float = 0.0) -> float:
    rng = np.random.default_rng([draw_number, m, *name.encode(), len(group)])
    if group == "other":
        x, y, Z = other_draw(name, m, rng)
    else:
        x, y, Z = draw((TUNED if group == "tuned" else JUDGED)[name], m, rng, shared)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # doubt is not what is measured
        return hsic_test(x, y, given=Z, n_permutations=N_SIGNS, random_state=draw_number).pvalue


def levels(n_draws: int, n_jobs: int) -> list[dict[str, Any]]:
    """Share of draws with p ≤ 0.05 where x ⊥ y | Z."""
    asked = [("tuned", name, m) for name in TUNED for m in (200, 1000)]
    asked += [("judged", name, m) for name in JUDGED for m in (200, 1000, 5000)]
    asked += [("other", name, m) for name in OTHERS for m in (200, 1000)]
    found = []
    for group, name, m in asked:
        count = n_draws if m < 5000 else max(n_draws // 2, 1)
        pvalues = Parallel(n_jobs=n_jobs)(delayed(_pvalue)(name, group, m, k) for k in range(count))
        rate = float(np.mean(np.array(pvalues) <= LEVEL))
        slack = ERRORS * np.sqrt(MOST * (1 - MOST) / count)
        found.append(
            {
                "group": group,
                "null": name,
                "n_samples": m,
                "n_draws": count,
                "level": rate,
                "passed": bool(rate <= MOST + slack),
            }
        )
        print(f"  {group:7} {name:20} {m:5} {rate:.3f}", flush=True)
    return found


def show(found: list[dict[str, Any]]) -> None:
    print("\nRejections at 0.05 where x and y are independent given the confounders")
    common.table(
        ["nulls", "confounding", "rows", "rate", ""],
        [
            [
                each["group"],
                each["null"],
                f"{each['n_samples']:,}",
                f"{each['level']:.3f}",
                "" if each["passed"] else "TOO MANY",
            ]
            for each in found
        ],
    )
