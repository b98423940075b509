"""NeuroHBFE: cost of an epoch beside plain supervision, and held-out HSIC beside HBFE."""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from common import at_least, at_most, duration, parse, report_bars, require, save, sized, table
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from depmax import HBFE, hsic
from depmax.datasets import make_product, make_rings

require("torch")
from depmax.neural import Autoencoder, FullBatch, MiniBatch, NeuroHBFE  # noqa: E402  (after it is known to be there)


def epoch_seconds(m: int, d: int, batch: int, repeats: int = 12) -> tuple[float, float]:
    """Seconds of an epoch for HSIC₁, and for cross-entropy, of a network trained by one solver.

    They are what ten epochs take beyond the first, the shortest of several fits.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, d)).astype(np.float32)
    classes = (X[:, 0] * X[:, 1] > 0).astype(int)
    common = {"hidden_layers": (128, 128), "activation": "relu", "random_state": 0}
    common |= {"validation_fraction": 0.0, "weight_decay": 0.0}
    models = [NeuroHBFE(2, **common), Autoencoder(2, supervised=True, n_init=1, **common)]

    def seconds(model: NeuroHBFE | Autoencoder, epochs: int) -> float:
        solver = MiniBatch(batch_size=batch, max_epochs=epochs, patience=epochs)
        start = time.perf_counter()
        clone(model).set_params(solver=solver).fit(X, classes)
        return time.perf_counter() - start

    # In turns, so that both meet the same load
    found = np.array(
        [[[seconds(m, n) for n in (1, 11)] for m in models] for _ in range(sized(repeats, 1))]
    )
    ours, plain = np.diff(found.min(axis=0), axis=1)[:, 0] / 10
    return float(ours), float(plain)


def held_out() -> dict[str, dict[str, float]]:
    """HSIC₁ of 500 new rows, one feature from 500."""
    methods = {
        "HBFE": HBFE(1),
        "HBFE, Gaussian kernel": HBFE(1, kernel="gaussian"),
        "Autoencoder": Autoencoder(1, hidden_layers=(16,), random_state=0),
        "NeuroHBFE, full batch": NeuroHBFE(1, solver=FullBatch(), random_state=0),
        "NeuroHBFE, minibatches": NeuroHBFE(
            1, solver=MiniBatch(learning_rate=1e-2, batch_size=128), random_state=0
        ),
    }
    found: dict[str, dict[str, float]] = {}
    for make in (make_rings, make_product):
        train, test = (make(sized(500, 100), random_state=seed) for seed in (0, 1))
        found[train.name] = {
            name: hsic(model.fit(*train).transform(test.X), test.y)
            for name, model in methods.items()
        }
    return found


def main() -> None:
    """Compare, and print which bars are reached."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=sized(5120, 512))
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--batch", type=int, default=256)
    options = parse(parser)
    # fits are stopped after a set number of steps on purpose
    warnings.simplefilter("ignore", ConvergenceWarning)
    ours, plain = epoch_seconds(options.samples, options.features, options.batch)
    table(
        [f"an epoch, {options.samples} x {options.features}, batch {options.batch}", "time"],
        [("HSIC₁ of two outputs", duration(ours)), ("cross-entropy", duration(plain))],
    )
    found = held_out()
    methods = list(next(iter(found.values())))
    table(
        ["held-out HSIC₁", *found],
        [(name, *(f"{row[name]:.4f}" for row in found.values())) for name in methods],
    )
    bars = {"an epoch, times that of cross-entropy": at_most(ours / plain, 1.5)}
    for problem, row in found.items():
        others = max(value for name, value in row.items() if not name.startswith("Neuro"))
        bars[f"{problem}: held-out HSIC over the best other method"] = at_least(
            row["NeuroHBFE, full batch"] / max(others, 1e-12), 1.0
        )
    report_bars(bars)
    save("neural", {"epoch": {"hsic": ours, "plain": plain}, "held_out": found, "bars": bars})


if __name__ == "__main__":
    main()
