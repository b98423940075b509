"""Every selector with ``column_groups`` keeps or drops a group as a whole; paths are of columns."""

from __future__ import annotations

import warnings
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from depmax import BAHSIC, FOHSIC, DependenceFilter, hsic
from depmax import selection as package
from depmax.kernels import Gaussian, InverseMultiquadric, Laplace, Linear, RidgeKernel
from depmax.selection import DependenceSelector
from tests.contracts.discovery import classes

GROUPED = {
    name: cls
    for name, cls in classes(package, DependenceSelector).items()
    if "column_groups" in signature(cls).parameters
}
#: Groups of 3, 1, 2, 4 and 2 columns, not next to each other.
LABELS = list("abcadcdaddee")
rng = np.random.default_rng(0)
X = rng.normal(size=(160, len(LABELS)))
y = X[:, 1] + X[:, 3] ** 2 + X[:, 0] + 0.7 * X[:, 9]


def of(label: str) -> set[int]:
    """Columns of a group."""
    return {place for place, other in enumerate(LABELS) if other == label}


def test_all_are_found() -> None:
    assert {"BAHSIC", "FOHSIC", "KernelRidgeElimination"} <= set(GROUPED)


@pytest.mark.parametrize("count", [*range(1, len(LABELS) + 1), 0.5, None, "auto"])
@pytest.mark.parametrize("name", sorted(GROUPED))
def test_groups_are_kept_as_a_whole(name: str, count: int | float | str | None) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        selector = GROUPED[name](count, column_groups=LABELS).fit(X, y)
    order = np.argsort(selector.ranking_)
    runs = [LABELS[column] for column in order]
    in_order = list(dict.fromkeys(runs))
    # ranks of a group follow each other
    assert runs == [label for label in in_order for _ in of(label)]
    kept = set(np.flatnonzero(selector.support_))
    assert len(kept) == selector.n_features_ == selector.transform(X).shape[1]
    sizes = np.cumsum([len(of(label)) for label in in_order])
    # "auto" and numbers stand for themselves, which the type of the dictionary does not say
    limit = {0.5: len(LABELS) // 2, None: len(LABELS) // 2}.get(count, count)
    if limit == "auto":
        limit = selector.n_significant_
        assert limit in sizes
    n_groups = max(1, int(np.sum(sizes <= limit)))
    assert kept == set().union(*(of(label) for label in in_order[:n_groups]))
    too_large = [str(one.message) for one in said if "column_groups" in str(one.message)]
    assert bool(too_large) == (sizes[0] > limit)


@pytest.mark.parametrize("name", sorted(GROUPED))
def test_the_snippet_of_issue_29(name: str) -> None:
    with pytest.warns(UserWarning, match="column_groups"):
        selector = GROUPED[name](1, column_groups=list("aaabbb")).fit(X[:, :6], X[:, 2])
    assert np.flatnonzero(selector.support_).tolist() == [0, 1, 2]
    assert selector.ranking_[2] == 1


@pytest.mark.parametrize("weights", [None, np.arange(len(X)) % 3, 0.5 + np.arange(len(X)) % 2])
@pytest.mark.parametrize("name", sorted(GROUPED))
def test_columns_of_a_group_are_ranked_as_a_filter_ranks_them(name: str, weights: object) -> None:
    rows = X.copy()
    rows[:, 7] = 1.0  # constant
    options = {} if weights is None else {"sample_weight": weights}
    selector = GROUPED[name](6, column_groups=LABELS).fit(rows, y, **options)
    alone = DependenceFilter(6).fit(rows, y, **options).ranking_
    for label in set(LABELS):
        columns = np.array(sorted(of(label)))
        by_rank = columns[np.argsort(selector.ranking_[columns])]
        assert by_rank.tolist() == columns[np.argsort(alone[columns])].tolist()


@pytest.mark.parametrize("name", sorted(GROUPED))
def test_groups_of_one_column_are_no_groups(name: str) -> None:
    plain = GROUPED[name](4).fit(X, y)
    grouped = GROUPED[name](4, column_groups=[f"c{j}" for j in range(X.shape[1])]).fit(X, y)
    np.testing.assert_array_equal(grouped.ranking_, plain.ranking_)
    assert grouped.path_ == plain.path_


@pytest.mark.parametrize("name", sorted(GROUPED))
def test_paths_count_columns_of_the_table(name: str) -> None:
    frame = pd.DataFrame(X[:, :5], columns=list("vwxyz"))
    frame["colour"] = pd.Categorical(np.where(y > 0, "red", np.where(X[:, 5] > 0, "blue", "green")))
    path = GROUPED[name](6, column_groups=[0, 0, 1, 1, 1, 0]).fit(frame, y).path_
    assert {count for count, _ in path} == {3, 6}


KERNELS = [
    Gaussian(),
    Gaussian("dimension"),
    Gaussian(2.0),
    Laplace(),
    InverseMultiquadric(),
    Linear(),
    RidgeKernel(),
    2.0 * Gaussian(),
]


@pytest.mark.parametrize("labels", [None, LABELS], ids=["columns", "groups"])
@pytest.mark.parametrize("step", [1, 3, 0.4])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("cls", [BAHSIC, FOHSIC])
def test_paths_are_hsic_of_the_set(cls: type, kernel: object, step: float, labels: object) -> None:
    options = {"interactions": None} if cls is BAHSIC else {}
    selector = cls(
        len(LABELS), kernel=kernel, step=step, column_groups=labels, precision="double", **options
    )
    selector.fit(X, y)
    order = np.argsort(selector.ranking_)
    for count, value in selector.path_:
        by_definition = hsic(X[:, order[:count]], y, kernel=kernel)
        assert value == pytest.approx(by_definition, rel=1e-6, abs=1e-10)


def test_the_path_of_several_entrants_is_that_of_their_set() -> None:
    selector = FOHSIC(3, step=3).fit(X, y)
    assert selector.path_ == ((3, pytest.approx(hsic(X[:, selector.support_], y))),)


FITTED = [RidgeKernel(alpha=50.0), 2.0 * RidgeKernel("gaussian", 5.0)]


@pytest.mark.parametrize(  # every pair of a search, a kernel and weights
    ("cls", "kernel", "weights"),
    [
        (BAHSIC, FITTED[0], None),
        (BAHSIC, FITTED[1], np.arange(1300) % 3),
        (FOHSIC, FITTED[0], np.arange(1300) % 3),
        (FOHSIC, FITTED[1], None),
    ],
)
def test_kernels_fitted_to_some_rows_have_the_criterion_of_all(
    cls: type, kernel: object, weights: object
) -> None:
    many = np.random.default_rng(1).normal(size=(1300, 3))
    answers = many[:, 0] + many[:, 1] ** 2
    selector = cls(2, kernel=kernel, pvalues=False).fit(many, answers, sample_weight=weights)
    order = np.argsort(selector.ranking_)
    for count, value in selector.path_:
        options = {"kernel": kernel, "sample_weight": weights}
        expected = hsic(many[:, order[:count]], answers, **options)
        assert value == pytest.approx(expected, rel=0.1, abs=1e-6)  # 500 rows stand for all


@pytest.mark.parametrize("name", sorted(GROUPED))
@pytest.mark.parametrize(
    ("labels", "named"),
    [
        ([None, *LABELS[1:]], "column 0"),
        ([*LABELS[:4], float("nan"), *LABELS[5:]], "column 4"),
        ([*LABELS[:4], pd.NA, *LABELS[5:]], "column 4"),
        (LABELS[1:], "one label per column"),
        ("".join(LABELS), "list of labels"),
        (dict.fromkeys(range(12)), "list of labels"),
        (np.zeros((12, 1)), "list of labels"),
        (3, "list of labels"),
        ([[1]] * 12, "one label per column"),
    ],
    ids=str,
)
def test_wrong_labels_are_refused_by_name(name: str, labels: object, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        GROUPED[name](2, column_groups=labels).fit(X, y)


@pytest.mark.parametrize("name", sorted(GROUPED))
def test_labels_of_several_types_stay_apart(name: str) -> None:
    labels = [1, "1", 1.0, ("a", 1), ("a", 1), *range(2, 9)]
    selector = GROUPED[name](12, column_groups=labels).fit(X, y)
    assert {count for count, _ in selector.path_} >= {12}
    assert abs(selector.ranking_[0] - selector.ranking_[2]) == 1
    assert abs(selector.ranking_[3] - selector.ranking_[4]) == 1


@pytest.mark.parametrize("cls", [BAHSIC, FOHSIC])
def test_sparse_columns_in_groups(cls: type) -> None:
    dense = cls(5, kernel="linear", column_groups=LABELS).fit(X, y)
    thin = cls(5, kernel="linear", column_groups=LABELS).fit(sparse.csr_matrix(X), y)
    np.testing.assert_array_equal(thin.ranking_, dense.ranking_)
