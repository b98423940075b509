"""Every selector found in its room keeps scikit-learn's checks and the selector contract."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import depmax
from depmax import selection as room
from depmax.selection import DependenceSelector
from depmax.testing import check_selector
from tests.contracts.discovery import classes

FOUND = classes(room, DependenceSelector)
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 8))
y = (X[:, 3] > 0).astype(int)


# A filter reads y otherwise for every score; with classes and numbers, two are enough.
@parametrize_with_checks(
    [*(cls() for cls in FOUND.values()), depmax.DependenceFilter(score_func="pearson")]
)
def test_scikit_learn_checks(estimator: object, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@pytest.mark.parametrize("name", sorted(FOUND))
def test_keeps_the_contract(name: str) -> None:
    check_selector(FOUND[name](3), X, y)


@pytest.mark.parametrize("name", sorted(FOUND))
def test_finds_the_one_relevant_column(name: str) -> None:
    assert clone(FOUND[name](1)).fit(X, y).support_[3]


def test_every_selector_is_exported() -> None:
    assert set(FOUND) <= set(room.__all__)
    assert set(FOUND) <= set(depmax.__all__)
    assert all(getattr(depmax, name) is cls for name, cls in FOUND.items())


@pytest.mark.parametrize("name", sorted(FOUND))
def test_leaves_the_global_random_state_alone(name: str) -> None:
    selector = FOUND[name](3)
    if "random_state" in selector.get_params():
        selector.set_params(random_state=0)
    np.random.seed(7)  # noqa: NPY002  (the global state is what is tested)
    selector.fit(X, y)
    drawn = np.random.random()  # noqa: NPY002  (the global state is what is tested)
    assert drawn == np.random.RandomState(7).random_sample()


DECIDING = sorted(name for name, cls in FOUND.items() if cls._decides_how_many)  # type: ignore[attr-defined]
TARGETS = {
    "numbers": lambda latent: latent,
    "two classes": lambda latent: np.where(latent > 0, "in", "out"),
    "classes": lambda latent: np.digitize(latent, [-1, 0, 1]),
    "outputs": lambda latent: np.column_stack([latent, latent**3]),
}


@pytest.mark.parametrize("target", sorted(TARGETS))
@pytest.mark.parametrize("name", DECIDING)
def test_auto_can_say_none(name: str, target: str) -> None:
    """The best column of noise is kept, with a warning, and counted as nothing.

    One draw; how often chance is taken for dependence is a matter of calibration.
    """
    local = np.random.default_rng(0)
    columns, latent = local.normal(size=(120, 6)), local.normal(size=120)
    selector = FOUND[name]("auto")
    with pytest.warns(depmax.NoDependenceWarning, match=f"{name} .*no column that depends"):
        selector.fit(columns, TARGETS[target](latent))
    assert selector.n_significant_ == 0
    assert selector.n_features_ == selector.support_.sum() == 1
    selector.fit(columns, TARGETS[target](columns[:, 2] + 0.3 * latent))
    assert selector.n_significant_ == selector.n_features_ >= 1
    assert selector.support_[2]
