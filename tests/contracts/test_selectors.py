"""Every selector found in its package keeps scikit-learn's checks and the selector contract."""

from __future__ import annotations

import re
import warnings
from inspect import signature

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import depmax
from depmax import selection as package
from depmax.kernels import Linear
from depmax.selection import DependenceSelector
from depmax.testing import check_selector
from tests.contracts.discovery import classes

FOUND = classes(package, DependenceSelector)
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 8))
y = (X[:, 3] > 0).astype(int)


# Knockoffs may keep no column, and says so.
@pytest.mark.filterwarnings("ignore:Knockoffs kept no column", "ignore:No features were selected")
# A filter reads y otherwise for every score; with classes and numbers, two are enough.
@parametrize_with_checks(
    [*(cls() for cls in FOUND.values()), depmax.DependenceFilter(score_func="pearson")]
)
def test_scikit_learn_checks(estimator: object, check: object) -> None:
    check(estimator)


@pytest.mark.parametrize("name", sorted(FOUND))
def test_keeps_the_contract(name: str) -> None:
    check_selector(FOUND[name](3), X, y)


@pytest.mark.parametrize("name", sorted(FOUND))
def test_finds_the_one_relevant_column(name: str) -> None:
    assert clone(FOUND[name](1)).fit(X, y).support_[3]


def test_every_selector_is_exported() -> None:
    assert set(FOUND) <= set(package.__all__)
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


DECIDING = sorted(name for name, cls in FOUND.items() if cls._decides_how_many)
TARGETS = {
    "numbers": lambda latent: latent,
    "two classes": lambda latent: np.where(latent > 0, "in", "out"),
    "classes": lambda latent: np.digitize(latent, [-1, 0, 1]),
    "outputs": lambda latent: np.column_stack([latent, latent**3]),
}


#: Knockoffs promises a share of false discoveries: it keeps no column where there are too few to
#: promise anything about, as here, and tests/selection/test_knockoffs.py has what it finds.
KEEPS_ONE = sorted({*DECIDING} - {"Knockoffs"})
#: Draws of noise, and how many of them may pass for dependence: at a rate of 0.05, three or more do
#: in six of a thousand runs; at a rate of one half in six of seven.
DRAWS, ALARMS = 8, 2


def noise(seed: int) -> tuple[np.ndarray, np.ndarray]:
    local = np.random.default_rng(seed)
    return local.normal(size=(120, 6)), local.normal(size=120)


@pytest.mark.slow
@pytest.mark.parametrize("target", sorted(TARGETS))
@pytest.mark.parametrize("name", DECIDING)
def test_auto_can_say_none(name: str, target: str) -> None:
    """Noise is counted as nothing, with a warning, but for the promised share of alarms."""
    alarms = 0
    for seed in range(DRAWS):
        columns, latent = noise(seed)
        selector = FOUND[name]("auto")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", depmax.NoDependenceWarning)
            selector.fit(columns, TARGETS[target](latent))
        texts = [str(w.message) for w in caught if w.category is depmax.NoDependenceWarning]
        if selector.n_significant_:
            alarms += 1
            assert not texts
            continue
        assert len(texts) == 1
        none = "found no column that depends|could not show on held-out rows|kept no column"
        assert re.match(f"{name} .*({none})", texts[0])
        assert selector.n_features_ == selector.support_.sum() == (name in KEEPS_ONE)
    assert alarms <= ALARMS


@pytest.mark.parametrize("target", sorted(TARGETS))
@pytest.mark.parametrize("name", KEEPS_ONE)
def test_auto_finds_what_is_there(name: str, target: str) -> None:
    columns, latent = noise(0)
    selector = FOUND[name]("auto").fit(columns, TARGETS[target](columns[:, 2] + 0.3 * latent))
    assert selector.n_significant_ == selector.n_features_ >= 1
    assert selector.support_[2]


GROUPED = sorted(name for name, cls in FOUND.items() if "groups" in signature(cls.fit).parameters)
PATIENTS = np.repeat(np.arange(30), 4)


def test_every_selector_with_p_values_takes_groups_of_rows() -> None:
    """Knockoffs has none: it counts wins over copies that are drawn row by row."""
    assert set(DECIDING) - {"Knockoffs"} <= set(GROUPED)


def patients(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns alike within patients, and a class per patient that depends on none."""
    local = np.random.default_rng(seed)
    columns = local.normal(size=(30, 6))[PATIENTS] + 0.3 * local.normal(size=(120, 6))
    return columns, local.permutation(np.arange(30) % 2)[PATIENTS]


@pytest.mark.parametrize("name", GROUPED)
def test_rows_of_a_group_are_no_evidence_of_their_own(name: str) -> None:
    columns, labels = patients(0)
    selector = FOUND[name]("auto")
    with pytest.warns(depmax.NoDependenceWarning):
        selector.fit(columns, labels, groups=PATIENTS)
    assert selector.n_significant_ == 0
    assert selector.pvalues_adjusted_.min() > 0.05
    columns[:, 4] += 3.0 * labels
    selector.fit(columns, labels, groups=depmax.WholeGroups(PATIENTS))
    assert selector.support_[4]
    assert selector.n_significant_ >= 1
    with pytest.raises(ValueError, match=r"one label per row of X \(120\)"):
        selector.fit(columns, labels, groups=PATIENTS[1:])
    with pytest.raises(ValueError, match=r"ways? only"):
        selector.fit(columns, labels, groups=labels)


@pytest.mark.parametrize("labels", ["array", "object"])
def test_groups_are_routed_through_a_pipeline(labels: str) -> None:
    columns, y = patients(1)
    columns[:, 4] += 3.0 * y
    groups = PATIENTS if labels == "array" else depmax.WholeGroups(PATIENTS)
    with config_context(enable_metadata_routing=True):
        selector = depmax.DependenceFilter("auto").set_fit_request(groups=True)
        model = make_pipeline(selector, LogisticRegression())
        model.fit(columns, y, groups=groups)
        scores = cross_val_score(
            model, columns, y, params={"groups": groups}, cv=GroupKFold(3), error_score="raise"
        )
    assert model[0].n_significant_ == 1
    assert scores.mean() > 0.8


def test_blocks_of_rows_are_the_same_in_every_fit() -> None:
    for name, cls in FOUND.items():
        if "block_size" in signature(cls).parameters:
            one, other = (cls(3, block_size=20).fit(X, y) for _ in range(2))
            np.testing.assert_array_equal(one.scores_, other.scores_, err_msg=name)


@pytest.mark.parametrize("kernel", ["default", "gaussian", "linear", 2.0 * Linear()], ids=str)
@pytest.mark.parametrize("name", sorted(FOUND))
def test_sparse_columns_are_taken_or_refused_with_a_remedy_that_works(
    name: str, kernel: object
) -> None:
    options = {} if isinstance(kernel, str) and kernel == "default" else {"kernel": kernel}
    if options and "kernel" not in signature(FOUND[name]).parameters:
        pytest.skip("has no kernel")
    thin = sparse.csr_matrix(X)
    try:
        FOUND[name](3, **options).fit(thin, y)
    except TypeError as error:
        message = str(error)
        assert name in message
        assert "X.toarray()" in message
        remedy = FOUND[name](3, kernel="linear") if "linear" in message else None
        remedy = depmax.DependenceFilter(3) if "DependenceFilter" in message else remedy
        assert remedy is not None
        assert remedy.fit(thin, y).support_[3]
