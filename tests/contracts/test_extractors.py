"""Every extractor found in its package keeps scikit-learn's checks and the extractor contract."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import depmax
from depmax import extraction as package
from depmax.extraction import DependenceExtractor
from depmax.testing import check_extractor
from tests.contracts.discovery import classes

FOUND = classes(package, DependenceExtractor)
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 8)) @ rng.normal(size=(8, 8))
y = np.digitize(X[:, 3] + 0.3 * rng.normal(size=60), [-1.0, 1.0])


# Some checks have a target of one dimension, and orthonormalised PLS then one feature.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# The blobs of some checks are far apart, and a graph of neighbours says that it is in parts.
@pytest.mark.filterwarnings("ignore:.*falls into .* parts:UserWarning")
@parametrize_with_checks([cls() for cls in FOUND.values()])
def test_scikit_learn_checks(estimator: object, check: object) -> None:
    check(estimator)


@pytest.mark.parametrize("name", sorted(FOUND))
def test_keeps_the_contract(name: str) -> None:
    check_extractor(FOUND[name](2), X, y)


# two classes give some methods fewer components than requested
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("target", ["classes", "numbers"])
@pytest.mark.parametrize("name", sorted(FOUND))
def test_fewer_components_are_the_first_of_more_or_it_says_not(name: str, target: str) -> None:
    """Shares and "auto" judge the first features of one fit where ``_nested`` allows it."""
    cls = FOUND[name]
    classifiers = ("KernelLDA", "KernelBoosting", "KernelPLSClassifier")
    of_classes = target == "classes" or name in classifiers
    answer = y if of_classes else X[:, 3] + X[:, 5] ** 2
    fewer, more = (cls(count).fit(X, answer).transform(X) for count in (2, 4))
    count = min(fewer.shape[1], more.shape[1])
    signs = np.where((fewer[:, :count] * more[:, :count]).sum(axis=0) < 0, -1.0, 1.0)
    gap = np.abs(fewer[:, :count] - signs * more[:, :count]).max()
    assert not cls._nested or gap < 1e-6 * np.abs(fewer).max()


def test_every_extractor_is_exported() -> None:
    assert set(FOUND) <= set(package.__all__)
    assert set(FOUND) <= set(depmax.__all__)
    assert all(getattr(depmax, name) is cls for name, cls in FOUND.items())


@pytest.mark.parametrize("name", sorted(FOUND))
def test_leaves_the_global_random_state_alone(name: str) -> None:
    extractor = FOUND[name](2)
    if "random_state" in extractor.get_params():
        extractor.set_params(random_state=0)
    np.random.seed(7)  # noqa: NPY002  (the global state is what is tested)
    extractor.fit(X, y).transform(X)
    drawn = np.random.random()  # noqa: NPY002  (the global state is what is tested)
    assert drawn == np.random.RandomState(7).random_sample()


@pytest.mark.parametrize("name", sorted(FOUND))
def test_far_from_zero_a_row_alone_is_what_it_is_in_the_batch(name: str) -> None:
    """Rows are centred before the product, which would round off what tells them apart."""
    extractor = FOUND[name](1)
    if "random_state" in extractor.get_params():
        extractor.set_params(random_state=0)
    far = X + 1e12
    batch = extractor.fit(far, y).transform(far)
    alone = np.vstack([extractor.transform(far[[row]]) for row in range(0, 60, 6)])
    np.testing.assert_allclose(alone, batch[::6], rtol=1e-8, atol=1e-8 * np.abs(batch).max())


# two classes give some methods fewer components than requested
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", sorted(FOUND))
def test_how_rows_lie_in_memory_does_not_matter(name: str) -> None:
    wide = np.random.default_rng(1).normal(size=(100, 40))
    labels = (wide[:, 0] + wide[:, 1] ** 2 > 1).astype(int)
    found = []
    for rows in (wide, np.asfortranarray(wide), np.repeat(wide, 2, axis=1)[:, ::2]):
        extractor = FOUND[name](2)
        if "random_state" in extractor.get_params():
            extractor.set_params(random_state=0)
        found.append(extractor.fit(rows, labels).transform(wide))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-7, atol=1e-9)
