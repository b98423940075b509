"""The subsequence kernel against its definition, and what holds for any strings."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from depmax.kernels import Subsequence


def by_definition(s, t, length, decay):
    """Sum over all index tuples i of s and j of t with s[i] = t[j] of decay^(l(i) + l(j))."""

    def coordinates(sequence):
        phi = defaultdict(float)
        for places in combinations(range(len(sequence)), length):
            u = tuple(sequence[place] for place in places)
            phi[u] += decay ** (places[-1] - places[0] + 1)
        return phi

    left, right = coordinates(s), coordinates(t)
    return sum(value * right[u] for u, value in left.items() if u in right)


def strings(n, shortest, longest, alphabet="abc", seed=0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(shortest, longest + 1, size=n)
    return ["".join(rng.choice(list(alphabet), size=size)) for size in sizes]


@pytest.mark.parametrize("length", [1, 2, 3, 5])
@pytest.mark.parametrize("decay", [0.1, 0.5, 0.9, 1.0])
def test_equals_the_definition(length, decay):
    X = strings(21, 0, 9)  # more pairs than lanes, and not a multiple of them
    expected = [[by_definition(s, t, length, decay) for t in X] for s in X]
    kernel = Subsequence(length=length, decay=decay, normalize=False)
    assert_allclose(kernel(X), expected, rtol=1e-13, atol=0)
    assert_allclose(kernel.diag(X), np.diag(expected), rtol=1e-13, atol=0)


@pytest.mark.parametrize("normalize", [True, False])
def test_a_block_equals_its_part_of_the_whole_matrix(normalize):
    X = strings(40, 2, 30)
    kernel = Subsequence(length=3, decay=0.7, normalize=normalize)
    whole = kernel(X)
    assert_allclose(kernel(X[:7], X[7:]), whole[:7, 7:], rtol=1e-13, atol=0)
    assert_allclose(kernel(X[7:], X[:7]), whole[7:, :7], rtol=1e-13, atol=0)


def test_normalised_matrix_is_symmetric_positive_semidefinite_with_unit_diagonal():
    X = strings(60, 4, 40, alphabet="acgt")
    kernel = Subsequence(length=4, decay=0.5)
    K = kernel(X)
    assert_array_equal(K, K.T)
    assert_array_equal(np.diag(K), 1.0)
    assert_array_equal(kernel.diag(X), 1.0)
    assert np.linalg.eigvalsh(K).min() > -1e-12
    assert K.max() <= 1.0 + 1e-12


def test_normalisation_divides_by_the_lengths():
    X = strings(12, 3, 12)
    K = Subsequence(length=3, normalize=False)(X)
    expected = K / np.sqrt(np.outer(np.diag(K), np.diag(K)))
    assert_allclose(Subsequence(length=3)(X), expected, rtol=1e-13)


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_threads_give_the_same_bits(n_jobs, monkeypatch):
    monkeypatch.setattr("depmax.kernels.strings._SMALLEST_TASK", 1000)
    X = strings(50, 0, 60, alphabet="acgt")
    assert_array_equal(Subsequence(n_jobs=n_jobs)(X), Subsequence()(X))
    assert_array_equal(Subsequence(n_jobs=n_jobs)(X[:3], X), Subsequence()(X[:3], X))


def test_tasks_give_the_same_bits(monkeypatch):
    X = strings(30, 0, 40)
    whole = Subsequence()(X)
    monkeypatch.setattr("depmax.kernels.strings._LARGEST_TASK", 500)
    assert_array_equal(Subsequence()(X), whole)


def test_one_row_against_many_of_very_different_sizes():
    X = ["abcab", *strings(20, 0, 6), *strings(5, 11, 12)]
    expected = [[by_definition(X[0], t, 3, 0.6) for t in X]]
    assert_allclose(Subsequence(3, 0.6, normalize=False)(X[:1], X), expected, rtol=1e-13, atol=0)


def by_recursion(s, t, length, decay):
    """The recursion of Lodhi et al. (2002), for strings too long for the definition."""
    same = decay**2 * (np.array(list(s))[:, np.newaxis] == np.array(list(t)))
    fading = np.triu(decay ** np.abs(np.subtract.outer(range(len(t)), range(len(t)))))
    prefix = np.ones((len(s) + 1, len(t) + 1))  # K'_0
    for _ in range(1, length):
        inner = (same * prefix[:-1, :-1]) @ fading  # K''_i
        prefix = np.zeros_like(prefix)
        for a in range(len(s)):
            prefix[a + 1, 1:] = decay * prefix[a, 1:] + inner[a]
    return (same * prefix[:-1, :-1]).sum()


@pytest.mark.parametrize("length", [1, 2, 4, 7, 40])
def test_strings_longer_than_a_tile(length):
    X = [*strings(2, 65, 100, alphabet="ab"), *strings(1, 33, 33, alphabet="ab")]
    X += ["ab" * 16, "ab" * 32]  # of one and two whole tiles
    expected = [[by_recursion(s, t, length, 0.9) for t in X] for s in X]
    kernel = Subsequence(length, 0.9, normalize=False)
    assert_allclose(kernel(X), expected, rtol=1e-12, atol=0)
    assert_allclose(kernel(X[::-1], X), expected[::-1], rtol=1e-12, atol=0)


def test_characters_beyond_the_basic_plane_and_zero_characters():
    X = ["añ😀b", "a😀", "a\0", "a", "ab\ud800"]
    expected = [[by_definition(s, t, 2, 0.5) for t in X] for s in X]
    assert_allclose(Subsequence(2, normalize=False)(X), expected, rtol=1e-13, atol=0)


def test_tokens_are_compared_as_wholes():
    X = [["to", "be", "or"], ["not", "to", "be"], ("t", "o")]
    expected = [[by_definition(s, t, 2, 0.5) for t in X] for s in X]
    assert_allclose(Subsequence(2, normalize=False)(X), expected, rtol=1e-13, atol=0)


def test_tokens_of_equal_number_in_arrays():
    X = np.array([[1, 2, 3], [2, 3, 1]])
    expected = [[by_definition(tuple(s), tuple(t), 2, 0.5) for t in X] for s in X]
    kernel = Subsequence(2, normalize=False)
    assert_allclose(kernel(list(map(tuple, X))), expected, rtol=1e-13, atol=0)
    assert_allclose(kernel(list(X)), expected, rtol=1e-13, atol=0)


def test_strings_equal_lists_of_their_characters():
    X = strings(10, 0, 12)
    assert_array_equal(Subsequence()(X), Subsequence()([list(s) for s in X]))


def test_short_and_empty_strings_are_similar_to_nothing():
    kernel = Subsequence(length=3)
    K = kernel(["", "ab", "abc"])
    assert_array_equal(K, np.diag([0.0, 0.0, 1.0]))
    assert_array_equal(kernel.diag(["", "ab", "abc"]), [0.0, 0.0, 1.0])
    assert_array_equal(kernel(["ab"], ["abc", ""]), np.zeros((1, 2)))


def test_no_rows():
    kernel = Subsequence()
    assert kernel([]).shape == (0, 0)
    assert kernel([], ["abcd"]).shape == (0, 1)
    assert kernel(["abcd"], []).shape == (1, 0)
    assert kernel.diag([]).shape == (0,)


def test_a_vanishing_decay_leaves_contiguous_substrings():
    X = ["abcabc", "xabcx", "aXbXc"]  # decay^(2 length) itself is below the smallest number
    expected = np.array([[1.0, 1 / np.sqrt(2), 0], [1 / np.sqrt(2), 1, 0], [0, 0, 1]])
    # abc twice, bca and cab once each in the first; xab, abc, bcx in the second.
    expected[0, 1] = expected[1, 0] = 2 / np.sqrt((4 + 1 + 1) * 3)
    assert_allclose(Subsequence(3, decay=1e-60)(X), expected, atol=1e-12)


def test_arrays_series_and_columns_are_read_alike():
    pandas = pytest.importorskip("pandas", reason="pandas frames are optional")
    X = strings(6, 4, 9)
    expected = Subsequence()(X)
    for rows in (
        np.array(X),
        np.array(X, dtype=object),
        pandas.Series(X),
        pandas.DataFrame({"s": X}),
    ):
        assert_array_equal(Subsequence()(rows), expected)


@pytest.mark.parametrize("length", [0, -1, 2.5, "4", None])
def test_length_is_checked(length):
    with pytest.raises(ValueError, match="length of Subsequence"):
        Subsequence(length=length)(["abc"])


@pytest.mark.parametrize("decay", [0, -0.5, 1.1, float("nan"), "0.5", None])
def test_decay_is_checked(decay):
    with pytest.raises(ValueError, match="decay of Subsequence"):
        Subsequence(decay=decay).diag(["abc"])


@pytest.mark.parametrize("row", [None, 3.0, {"a", "b"}])
def test_rows_that_are_no_sequences_are_named(row):
    with pytest.raises(TypeError, match=r"Row 1 is .* Subsequence"):
        Subsequence()(["abc", row])


def test_tokens_must_be_hashable():
    with pytest.raises(TypeError, match="numbers or tuples as tokens"):
        Subsequence()([["a", ["b"]]])


def test_a_single_string_is_refused():
    with pytest.raises(TypeError, match=r"pass \[X\]"):
        Subsequence()("abcdef")


def test_a_table_is_refused():
    with pytest.raises(ValueError, match=r"X has .*\(2, 3\): pass a list"):
        Subsequence()(np.zeros((2, 3)))


def test_overflow_is_reported():
    with pytest.raises(OverflowError, match="lower length or decay"):
        Subsequence(length=200, decay=1.0)(["a" * 600])
