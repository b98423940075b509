"""HSICLasso as users meet it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from depmax.kernels import Laplace
from depmax.selection.hsic_lasso import HSICLasso

rng = np.random.default_rng(0)
X = rng.normal(size=(240, 20))
NOISE = rng.normal(size=240)
ADDITIVE = X[:, 3] + X[:, 7] ** 2 + np.tanh(2 * X[:, 11]) + 0.2 * NOISE


def best(selector: Any, count: int) -> list[int]:
    return np.argsort(selector.ranking_)[:count].tolist()


# --- what it finds ---


@pytest.mark.parametrize(
    "parameters",
    [{}, {"block_size": 60, "n_permutations": 5, "random_state": 0}, {"kernel": Laplace(1.0)}],
)
def test_finds_the_features_of_a_nonlinear_additive_problem(parameters: dict[str, Any]) -> None:
    selector = HSICLasso(3, **parameters).fit(X, ADDITIVE)
    assert set(best(selector, 3)) == {3, 7, 11}
    assert set(np.flatnonzero(selector.coef_)) == {3, 7, 11}


@pytest.mark.parametrize("size", [None, 40])
def test_of_two_alike_one_is_kept_early(size: int | None, rng: np.random.Generator) -> None:
    alike = np.column_stack([X, X[:, 3] + 0.02 * rng.normal(size=240)])
    selector = HSICLasso(3, block_size=size, n_permutations=4, random_state=0).fit(alike, ADDITIVE)
    first = best(selector, 3)
    assert (3 in first) != (20 in first)
    assert {7, 11} <= set(first)
    dropped = 20 if 3 in first else 3
    assert selector.substitutes_[dropped] == 23 - dropped


def test_blocks_come_close_to_all_samples_at_once() -> None:
    whole = HSICLasso(5).fit(X, ADDITIVE)
    blocks = HSICLasso(5, block_size=80, n_permutations=10, random_state=1).fit(X, ADDITIVE)
    assert best(blocks, 2) == best(whole, 2)
    np.testing.assert_allclose(blocks.coef_, whole.coef_, atol=0.05)
    assert np.corrcoef(blocks.scores_, whole.scores_)[0, 1] > 0.95


# --- targets ---


@pytest.mark.parametrize(
    ("y", "target_kernel"),
    [
        (ADDITIVE, "auto"),
        (np.where(X[:, 3] > 0, "high", "low"), "auto"),
        (np.digitize(X[:, 3], [-0.5, 0.5]), "auto"),
        (np.column_stack([X[:, 3], X[:, 3] ** 2 + NOISE]), "auto"),
        (np.column_stack([X[:, 3] > 0, X[:, 3] > 1]).astype(int), "auto"),
        (X[:, 3], "linear"),
        (X[:, 3], Laplace()),
    ],
    ids=["numbers", "two classes", "classes", "outputs", "multilabel", "linear", "laplace"],
)
@pytest.mark.parametrize("size", [None, 40])
def test_every_kind_of_target(y: np.ndarray, target_kernel: Any, size: int | None) -> None:
    selector = HSICLasso(4, target_kernel=target_kernel, block_size=size, random_state=0)
    assert 3 in best(selector.fit(X, y), 2)


# --- what it tells ---


def test_fitted_attributes_fit_together() -> None:
    selector = HSICLasso(6).fit(X, ADDITIVE)
    order = np.argsort(selector.ranking_)
    assert sorted(selector.ranking_) == list(range(1, 21))
    assert np.all(np.diff(selector.scores_[order]) <= 1e-12)
    assert np.all(np.diff(selector.alphas_) < 0)
    assert len(selector.alphas_) == len(selector.path_) + 1
    np.testing.assert_array_equal(selector.scores_[order[:6]], selector.alphas_[:6])
    np.testing.assert_array_equal(np.flatnonzero(selector.coef_), np.flatnonzero(selector.support_))
    assert [count for count, _ in selector.path_] == list(range(1, 7))
    assert all(0 < alignment <= 1 for _, alignment in selector.path_)
    assert selector.kernel_.bandwidth == 1.0
    assert selector.target_kernel_.is_resolved
    assert list(selector.to_frame()["rank"]) == list(range(1, 21))


def test_asking_for_more_only_continues_the_order() -> None:
    short, long = HSICLasso(3).fit(X, ADDITIVE), HSICLasso(8).fit(X, ADDITIVE)
    assert best(short, 3) == best(long, 3)


def test_all_columns_are_ranked_where_few_enter() -> None:
    selector = HSICLasso(0.9).fit(X[:, :12], X[:, 3])
    assert selector.support_.sum() == 10
    assert np.count_nonzero(selector.coef_) <= 10
    assert best(selector, 1) == [3]


def test_it_is_invariant_to_scale_shift_sign_and_order(rng: np.random.Generator) -> None:
    selector = HSICLasso(6).fit(X, ADDITIVE)
    moved = HSICLasso(6).fit(-1e3 * X + 5.0, ADDITIVE)
    assert best(moved, 6) == best(selector, 6)
    np.testing.assert_allclose(moved.coef_, selector.coef_, atol=1e-6)
    rows, columns = rng.permutation(240), rng.permutation(20)
    mixed = HSICLasso(6).fit(X[rows][:, columns], ADDITIVE[rows])
    np.testing.assert_allclose(mixed.coef_, selector.coef_[columns], atol=1e-6)


def test_the_same_seed_gives_the_same_blocks() -> None:
    one, two = (
        HSICLasso(5, block_size=20, random_state=3, n_jobs=n_jobs).fit(X, ADDITIVE)
        for n_jobs in (None, 2)
    )
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-12)
    other = HSICLasso(5, block_size=20, random_state=4).fit(X, ADDITIVE)
    assert not np.array_equal(one.coef_, other.coef_)
