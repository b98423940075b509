"""NeuroHBFE: cost of an epoch beside plain supervision, and held-out HSIC beside HBFE."""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import torch
from common import at_least, at_most, duration, report_bars, save, table
from sklearn.exceptions import ConvergenceWarning

from depmax import HBFE, hsic
from depmax.datasets import make_product, make_rings
from depmax.neural import Autoencoder, FullBatch, MiniBatch, NeuroHBFE
from depmax.neural._networks import perceptron
from depmax.neural._tasks import DependenceTask, Split


def epoch_seconds(m: int, d: int, batch: int, repeats: int = 30) -> tuple[float, float]:
    """Best seconds of an epoch for HSIC₁, and for cross-entropy, of the same network."""
    rng = np.random.RandomState(0)
    X = torch.as_tensor(rng.standard_normal((m, d)), dtype=torch.float32)
    classes = torch.as_tensor((X[:, 0] * X[:, 1] > 0).numpy().astype(np.int64))
    factor = torch.nn.functional.one_hot(classes).float()
    factor = factor - factor.mean(dim=0)

    def epoch(loss_of, module, optimiser) -> float:
        order = rng.permutation(m)
        start = time.perf_counter()
        for first in range(0, m - batch + 1, batch):
            optimiser.zero_grad(set_to_none=True)
            loss_of(module, order[first : first + batch]).backward()
            optimiser.step()
        return time.perf_counter() - start

    net = perceptron([d, 128, 128, 2], "relu")
    task = DependenceTask(
        net,
        X,
        np.arange(m),
        factor,
        Split(np.arange(m), np.arange(0)),
        "gaussian",
        True,
        0.0,
        rng,
    )
    twin = perceptron([d, 128, 128, 2], "relu")
    runs = [
        (lambda _, rows: task.loss(rows), net, torch.optim.Adam(net.parameters())),
        (
            lambda module, rows: torch.nn.functional.cross_entropy(module(X[rows]), classes[rows]),
            twin,
            torch.optim.Adam(twin.parameters()),
        ),
    ]
    # In turns, so that both meet the same load
    seconds = np.array([[epoch(*run) for run in runs] for _ in range(repeats)])
    ours, plain = seconds.min(axis=0)
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
        train, test = make(500, random_state=0), make(500, random_state=1)
        found[train.name] = {
            name: hsic(model.fit(*train).transform(test.X), test.y)
            for name, model in methods.items()
        }
    return found


def main() -> None:
    """Compare, and print which bars are reached."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=5120)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--batch", type=int, default=256)
    options = parser.parse_args()
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
