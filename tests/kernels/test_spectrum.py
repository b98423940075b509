"""The spectrum kernel against plain counting."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from depmax import hsic_test
from depmax.kernels import Spectrum


def by_counting(X, Z, length):
    def counts(row):
        return Counter(tuple(row[i : i + length]) for i in range(len(row) - length + 1))

    left, right = [counts(x) for x in X], [counts(z) for z in Z]
    return np.array([[sum(a[u] * b[u] for u in a) for b in right] for a in left], dtype=float)


def strings(n, alphabet="abc", seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(alphabet), size=rng.integers(0, 25))) for _ in range(n)]


@pytest.mark.parametrize("length", [1, 2, 3, 6])
@pytest.mark.parametrize("alphabet", ["ab", "aB \n\tñ😀", "abcdefghijklmnopqrstuvwxyz"])
def test_equals_plain_counting(length, alphabet):
    X, Z = strings(15, alphabet), strings(9, alphabet, seed=1)
    kernel = Spectrum(length, normalize=False)
    assert_array_equal(kernel(X), by_counting(X, X, length))
    assert_array_equal(kernel(X, Z), by_counting(X, Z, length))
    assert_array_equal(kernel.diag(X), np.diag(by_counting(X, X, length)))


def test_long_substrings_do_not_overflow():
    rng = np.random.default_rng(0)
    row = "".join(map(chr, rng.integers(97, 1097, size=300)))
    X = [row, row[20:200], row[::-1]]
    assert_array_equal(Spectrum(40, normalize=False)(X), by_counting(X, X, 40))


def test_tokens_are_compared_as_wholes():
    X = [["to", "be", "or", "to", "be"], ("to", "be"), ["t", "o"]]
    assert_array_equal(Spectrum(2, normalize=False)(X), by_counting(X, X, 2))
    assert Spectrum(2).resolve(X).vocabulary[0] == ("to", "be")


def test_normalised():
    X = [*strings(12), "", "a"]
    K = by_counting(X, X, 2)
    norms = np.sqrt(np.diag(K))
    expected = np.divide(K, np.outer(norms, norms), out=np.zeros_like(K), where=K > 0)
    kernel = Spectrum(2, normalize=True)
    assert_allclose(kernel(X), expected, rtol=1e-13)
    assert_array_equal(np.diag(kernel(X)), norms > 0)
    assert_array_equal(kernel.diag(X), norms > 0)
    assert_allclose(kernel(X[:3], X), expected[:3], rtol=1e-13)


@pytest.mark.parametrize("normalize", [True, False])
def test_features_are_exact(normalize):
    X = strings(20)
    kernel = Spectrum(3, normalize=normalize)
    resolved = kernel.resolve(X)
    assert not kernel.has_features
    assert resolved.has_features
    features = resolved.features(X)
    assert sparse.issparse(features)
    assert features.format == "csr"
    assert features.dtype == np.float64
    assert features.shape == (20, len(resolved.vocabulary))
    assert_allclose((features @ features.T).toarray(), kernel(X), rtol=1e-13, atol=1e-15)
    assert_allclose(resolved(X), kernel(X), rtol=1e-13)


def test_resolving_lists_the_substrings_in_order():
    resolved = Spectrum(2, normalize=False).resolve(["banana", "", "Zoo"])
    assert resolved.vocabulary == ("Zo", "an", "ba", "na", "oo")
    assert resolved.resolve(["other"]) is resolved
    assert_array_equal(resolved.features(["Zoo"]).toarray(), [[1, 0, 0, 0, 1]])


def test_substrings_outside_the_vocabulary_are_ignored():
    kernel = Spectrum(2, normalize=False, vocabulary=["na", "xx"])
    assert_array_equal(kernel.features(["banana", "bo"]).toarray(), [[2, 0], [0, 0]])
    assert_array_equal(kernel(["banana"], ["nab", "ban"]), [[2, 0]])
    normalised = Spectrum(2, normalize=True, vocabulary=["na", "xx"])
    assert_array_equal(normalised(["banana"], ["nab", "ban"]), [[1, 0]])


def test_no_rows_and_short_rows():
    kernel = Spectrum(3, normalize=False)
    assert kernel([]).shape == (0, 0)
    assert kernel([], ["abc"]).shape == (0, 1)
    assert_array_equal(kernel(["ab", ""]), np.zeros((2, 2)))
    assert kernel.resolve(["ab"]).features(["abc"]).shape == (1, 0)


def test_features_need_a_vocabulary():
    with pytest.raises(ValueError, match=r"use kernel\.resolve\(X\)"):
        Spectrum().features(["abc"])


@pytest.mark.parametrize("length", [0, 1.5, "3"])
def test_length_is_checked(length):
    with pytest.raises(ValueError, match="length of Spectrum"):
        Spectrum(length)(["abc"])


def test_the_vocabulary_is_checked():
    with pytest.raises(ValueError, match=r"'abcd'.* 3 symbols"):
        Spectrum(3, vocabulary=["abc", "abcd"])(["abc"])


def test_rows_that_are_no_sequences_are_named():
    with pytest.raises(TypeError, match=r"Row 1 is nan.*Spectrum"):
        Spectrum()(["abc", float("nan")])


def test_the_default_finds_what_texts_are_about() -> None:
    """Long texts do not decide, and pieces are long enough to tell words apart."""
    rng = np.random.default_rng(0)
    words = {0: ["wheat", "grain", "crop", "tonnes"], 1: ["bank", "rates", "shares", "profit"]}
    common = ["the", "of", "said", "and", "in", "year", "market", "last", "will", "was"]
    topics, texts = rng.integers(0, 2, 80), []
    for topic in topics.tolist():
        chosen = rng.choice(common, rng.integers(10, 200)).tolist()
        chosen += rng.choice(words[topic], 3).tolist()
        texts.append(" ".join(rng.permutation(chosen)))
    default = hsic_test(texts, topics, kernel=Spectrum(), method="gamma").pvalue
    raw = hsic_test(texts, topics, kernel=Spectrum(3, normalize=False), method="gamma").pvalue
    assert default < 0.01 < raw
