from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from reproduction.dimension_choice import Inputs, Method, judge
from reproduction.half_splits import half_splits
from reproduction.nested_neighbors import nested_neighbors
from reproduction.signed_rank import signed_rank_pvalue

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 6))
y = np.where(X[:, 4] + 0.4 * rng.normal(size=90) > 0, 1.0, -1.0)


def pca(rows, y, count):
    return PCA(count, svd_solver="full").fit(rows).transform


def scaled(rows, y, count, weight):
    """The relevant column with a weight, so that a setting matters."""
    return lambda Z: (Z * [1, 1, 1, 1, weight, 1])[:, ::-1][:, :count]


PCA_METHOD = Method("PCA", pca)


# --- neighbours -----------------------------------------------------------------------------------
@pytest.mark.parametrize("dimensions", [(1, 2, 3, 4, 5, 6), (2, 6), (3, 3, 4)])
def test_nested_neighbours_are_those_of_each_dimension(dimensions):
    rows, queries = X[:50], X[50:]
    found = list(nested_neighbors(rows, queries, 4, dimensions))
    for d, near in zip(dimensions, found, strict=True):
        expected = np.argsort(cdist(queries[:, :d], rows[:, :d]), axis=1)[:, :4]
        np.testing.assert_array_equal(near, expected)


def test_a_row_is_not_its_own_neighbour():
    for near in nested_neighbors(X, None, 3, (1, 6)):
        assert not (near == np.arange(len(X))[:, np.newaxis]).any()


def test_all_rows_may_be_neighbours():
    [near] = nested_neighbors(X[:4], X[4:6], 4, (6,))
    np.testing.assert_array_equal(near, np.argsort(cdist(X[4:6], X[:4]), axis=1))


# --- splits ---------------------------------------------------------------------------------------
def test_halves_are_random_disjoint_and_repeatable():
    first, second = half_splits(y, 2), half_splits(y, 2)
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.train, two.train)
        assert sorted([*one.train, *one.test]) == list(range(90))
        assert len(one.train) == len(one.test) == 45
        assert len(one.unlabelled) == 0
    [third] = half_splits(y, 1, first_seed=1)
    np.testing.assert_array_equal(third.train, one.train)


def test_some_labels_are_known_and_folds_keep_the_unlabelled():
    [split] = half_splits(y, 1, labelled=0.3)
    assert len(split.labelled) == pytest.approx(0.3 * 45, abs=1)
    assert set(y[split.labelled]) == {-1.0, 1.0}
    parts = split.folds(y)
    assert sorted(np.concatenate([part.test for part in parts])) == sorted(split.labelled)
    for part in parts:
        np.testing.assert_array_equal(part.unlabelled, split.unlabelled)
        assert not set(part.test) & set(part.train)


def test_a_share_of_nothing_is_refused():
    with pytest.raises(ValueError, match="labelled"):
        next(half_splits(y, labelled=0))


# --- choice ---------------------------------------------------------------------------------------
def by_hand(split, k, counts):
    """Number of components with the most cross-validated hits, and its test accuracy."""

    def hits(part, count):
        model = PCA(count, svd_solver="full").fit(X[part.train])
        near = KNeighborsClassifier(k).fit(model.transform(X[part.train]), y[part.train])
        return (near.predict(model.transform(X[part.test])) == y[part.test]).sum()

    totals = [sum(hits(part, count) for part in split.folds(y)) for count in counts]
    best = counts[int(np.argmax(totals))]
    return best, hits(split, best) / len(split.test)


@pytest.mark.parametrize("seed", range(3))
def test_choice_and_accuracy_are_those_of_plain_loops(seed):
    [split] = half_splits(y, 1, first_seed=seed)
    found = judge(Inputs(X), y, split, [PCA_METHOD], most_features=6)
    for k in (1, 3, 5):
        count, accuracy = by_hand(split, k, [1, 2, 3, 4, 5, 6])
        assert found["PCA", k].n_features == count
        assert found["PCA", k].accuracy == pytest.approx(accuracy)


def test_a_nested_method_needs_one_fit_and_gives_the_same():
    [split] = half_splits(y, 1)
    methods = [PCA_METHOD, replace(PCA_METHOD, name="one by one", nested=False)]
    found = judge(Inputs(X), y, split, methods, most_features=6)
    for k in (1, 3, 5):
        assert found["PCA", k] == found["one by one", k]


def test_the_better_setting_is_chosen():
    settings = tuple({"weight": weight} for weight in (0.01, 10.0, 0.1))
    [split] = half_splits(y, 1)
    method = Method("scaled", scaled, settings)
    found = judge(Inputs(X), y, split, [method], most_features=6, n_neighbors=[5])
    assert found["scaled", 5].setting == {"weight": 10.0}
    assert found["scaled", 5].accuracy > 0.8


@dataclass(frozen=True)
class Shrinking:
    """As many coordinates as training rows, up to six."""

    settings = ({"good": False}, {"good": True})

    def coordinates(self, train, setting):
        return X if setting["good"] else -np.zeros_like(X)


def test_the_better_space_is_chosen_and_limits_are_kept():
    [split] = half_splits(y, 1)
    method = Method("first two", lambda rows, y, count: lambda Z: Z[:, ::-1][:, :count], most=2)
    found = judge(Shrinking(), y, split, [method], most_features=50)
    for k in (1, 3, 5):
        assert found["first two", k].space == {"good": True}
        assert found["first two", k].n_features == 2


def test_unlabelled_targets_are_hidden_and_not_neighbours():
    seen = []

    def fit(rows, y, count):
        seen.append(y)
        return lambda Z: Z[:, :count]

    [split] = half_splits(y, 1, labelled=0.4)
    judge(Inputs(X), y, split, [Method("watch", fit)], most_features=2)
    assert all(np.isnan(part).sum() == len(split.unlabelled) for part in seen)
    assert len(seen) >= 4


# --- significance ---------------------------------------------------------------------------------
def test_signed_rank_of_few_pairs_is_exact():
    assert signed_rank_pvalue([1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, 0]) == pytest.approx(2 / 64)
    assert signed_rank_pvalue([0.1 + 0.2, 1], [0.3, 1]) == 1.0


def test_signed_rank_does_not_see_equal_pairs(rng):
    first, second = rng.normal(size=40), rng.normal(size=40)
    both = np.append(first, [0.0, 0.0]), np.append(second, [0.0, 0.0])
    assert signed_rank_pvalue(*both) == signed_rank_pvalue(first, second)
