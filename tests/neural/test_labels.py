"""What -1, NaN and None in y mean to the neural extractors: the same as to HBFE."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: run make test-neural")
from depmax.neural import Autoencoder, FullBatch, NeuroHBFE, NeuroHSCA

rng = np.random.default_rng(0)
X = rng.normal(size=(48, 3))
RANKS = X[:, 0].argsort().argsort()
FIRST = np.arange(48) < 8
TARGETS = {  # and how many rows are unlabelled with beta = 0 and with beta > 0
    "classes": (RANKS // 16 - 1, 0, 16),
    "signs": (np.where(RANKS < 24, -1, 1), 0, 0),
    "many integers": (RANKS - 1, 0, 0),
    "floats": (np.where(RANKS == 5, -1.0, X[:, 0]), 0, 0),
    "three floats": (RANKS // 16 - 1.0, 0, 0),
    "None": (np.where(FIRST, None, (RANKS // 16).astype(object)), 8, 8),
    "NaN": (np.where(FIRST, np.nan, X[:, 0]), 8, 8),
    "multi-label": (np.column_stack([RANKS < 24, X[:, 1] > 0]).astype(int), 0, 0),
    "multi-output": (np.where(FIRST[:, np.newaxis], np.nan, X[:, :2] - 1.0), 8, 8),
}


@pytest.mark.parametrize("beta", [0.0, 0.2])
@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("cls", [NeuroHBFE, NeuroHSCA])
def test_unlabelled_rows(cls, kind, beta):
    y, without, with_graph = TARGETS[kind]
    model = cls(1, beta=beta, random_state=0, solver=FullBatch(max_iter=2, n_hops=0))
    if beta == 0 and without:
        with pytest.warns(UserWarning, match=f"{cls.__name__} ignored 8 of 48 rows"):
            model.fit(X, y)
    else:
        model.fit(X, y)
    assert model.n_unlabeled_ == (with_graph if beta else without)
    as_class = cls(**{**model.get_params(), "unlabeled": None})
    if not without:
        assert as_class.fit(X, y).n_unlabeled_ == 0


def test_a_supervised_autoencoder_needs_every_label():
    with pytest.raises(ValueError, match="y is missing"):
        Autoencoder(1, supervised=True).fit(X, TARGETS["None"][0])
    model = Autoencoder(1, supervised=True, solver=FullBatch(max_iter=2, n_hops=0))
    assert model.fit(X, TARGETS["classes"][0]).decoder_(model.module_(_tensor())).shape == (1, 3)


def _tensor():
    import torch

    return torch.zeros((1, 3), dtype=torch.float64)
