"""What -1, NaN and None in y mean, for every estimator, type of target and weight of the graph."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import depmax
from depmax import HBFE, HSCA, KernelLDA, LinearRegressionFeature, extraction, selection
from depmax.extraction import DependenceExtractor
from depmax.selection.selector import DependenceSelector
from tests.contracts.discovery import classes

rng = np.random.default_rng(0)
X = rng.normal(size=(48, 4)) @ rng.normal(size=(4, 4))
RANKS = X[:, 0].argsort().argsort()  # 0..47 along the first column
THREE = RANKS // 16  # classes 0, 1, 2

#: Complete targets in which -1 is a value, whatever beta is.
VALUES: dict[str, Any] = {
    "signs": np.where(RANKS < 24, -1, 1),
    "signs as floats": np.where(RANKS < 24, -1.0, 1.0),
    "many integers": RANKS - 1,
    "floats": np.where(RANKS == 5, -1.0, X[:, 0]),
    "three floats": THREE - 1.0,
    "multi-label": np.column_stack([RANKS < 24, X[:, 1] > 0]).astype(int),
    "multi-output": np.column_stack([THREE - 1.0, X[:, 1]]),
}
#: Classes among which -1 marks an unlabelled row where beta > 0.
MARKED: dict[str, Any] = {
    "integers": THREE - 1,
    "two others": np.where(RANKS < 8, -1, RANKS // 24 + 4),
    "text and -1": np.where(RANKS < 8, -1, np.where(RANKS < 24, "a", "b").astype(object)),
}
#: The same with gaps, which the first eight rows are.
GAPS: dict[str, Any] = {
    "None among integers": np.where(np.arange(48) < 8, None, THREE.astype(object)),
    "None among text": np.where(np.arange(48) < 8, None, np.array(["a", "b", "c"])[THREE]),
    "NaN among signs": np.where(np.arange(48) < 8, np.nan, np.where(RANKS < 24, -1.0, 1.0)),
    "NaN among floats": np.where(np.arange(48) < 8, np.nan, X[:, 0]),
    "NaN among outputs": np.where(np.arange(48)[:, np.newaxis] < 8, np.nan, X[:, :2]),
}
SEMI = [
    HBFE(1),
    HBFE(1, unbiased=False),
    HSCA(1),
    HSCA(1, unbiased=True),
    KernelLDA(1),
    LinearRegressionFeature(1),
]
FOUND = {
    name: cls
    for name, cls in {
        **classes(extraction, DependenceExtractor),
        **classes(selection, DependenceSelector),
    }.items()
    if name in depmax.__all__
}
PLAIN = sorted(
    name
    for name, cls in FOUND.items()
    if "beta" not in cls().get_params() and cls().__sklearn_tags__().target_tags.required
)


UNREAD = ("separates classes", "needs", "must", "two classes", "one dimension")


def fitted(model: Any, y: Any) -> Any:
    """The model fitted; None where it says that it does not read this type of target."""
    try:
        with warnings.catch_warnings():
            # few classes give few components, which is told
            warnings.filterwarnings("ignore", "HSCA found|.*falls into")
            return clone(model).fit(X, y)
    except ValueError as error:
        if not any(words in str(error) for words in UNREAD):
            raise
        return None


def renamed(y: Any) -> Any:
    """The same classes with 7 in place of -1."""
    return np.array([7 if item == -1 else item for item in y])


@pytest.mark.parametrize("beta", [0.0, 0.2])
@pytest.mark.parametrize("model", SEMI, ids=repr)
class TestSemiSupervised:
    @pytest.mark.parametrize("kind", VALUES)
    def test_minus_one_is_a_value(self, model: Any, kind: str, beta: float) -> None:
        classes_only = isinstance(model, KernelLDA)
        if classes_only and (kind not in ("signs", "signs as floats", "three floats")):
            with pytest.raises(ValueError, match="KernelLDA separates classes"):
                clone(model).set_params(beta=beta).fit(X, VALUES[kind])
            return
        found = fitted(model.set_params(beta=beta), VALUES[kind])
        marked = classes_only and kind == "three floats" and beta > 0
        assert found.n_unlabeled_ == (16 if marked else 0)

    @pytest.mark.parametrize("kind", ["integers", "two others"])
    def test_minus_one_among_classes(self, model: Any, kind: str, beta: float) -> None:
        y = MARKED[kind]
        found = fitted(model.set_params(beta=beta), y)
        assert found.n_unlabeled_ == (int((y == -1).sum()) if beta else 0)
        as_class = fitted(clone(model).set_params(beta=beta, unlabeled=None), y)
        assert as_class.n_unlabeled_ == 0
        same = fitted(clone(model).set_params(beta=beta), renamed(y))
        np.testing.assert_allclose(abs(as_class.components_), abs(same.components_), atol=1e-9)
        if beta == 0:
            np.testing.assert_array_equal(found.components_, as_class.components_)

    def test_minus_one_among_text(self, model: Any, beta: float) -> None:
        model.set_params(beta=beta)
        if beta:
            assert fitted(model, MARKED["text and -1"]).n_unlabeled_ == 8

    @pytest.mark.parametrize("kind", GAPS)
    def test_gaps_are_counted_and_said(self, model: Any, kind: str, beta: float) -> None:
        y = GAPS[kind]
        model = clone(model).set_params(beta=beta)
        if isinstance(model, KernelLDA) and kind in ("NaN among floats", "NaN among outputs"):
            with pytest.raises(ValueError, match="KernelLDA separates classes"):
                model.fit(X, y)
            return
        if beta:
            assert fitted(model, y).n_unlabeled_ == 8
            return
        with pytest.warns(UserWarning, match="ignored 8 of 48 rows") as seen:
            model.fit(X, y)
        assert len(seen) == 1
        assert seen[0].filename == __file__
        assert model.n_unlabeled_ == 8
        known = y[8:].tolist() if y.dtype == object else y[8:]
        alone = clone(model).fit(X[8:], known)
        np.testing.assert_allclose(model.transform(X), alone.transform(X), atol=1e-9)


@pytest.mark.parametrize("name", PLAIN)
class TestWithoutBeta:
    # few classes give few components, which is told
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_minus_one_is_a_class(self, name: str) -> None:
        model = FOUND[name](1)
        found, same = fitted(model, THREE - 1), fitted(model, THREE + 4)
        if found is not None:  # equal spacing: also the same as numbers
            np.testing.assert_allclose(found.transform(X), same.transform(X), atol=1e-6)

    @pytest.mark.parametrize("kind", GAPS)
    def test_gaps_are_refused(self, name: str, kind: str) -> None:
        with pytest.raises((ValueError, TypeError)):
            FOUND[name](1).fit(X, GAPS[kind])


def test_compare_reads_minus_one_as_a_class() -> None:
    """The same scores whatever the classes are called."""
    options: dict[str, Any] = {"random_state": 0, "cv": 2}
    methods = {"HBFE": HBFE(1), "HSCA": HSCA(1), "KernelLDA": KernelLDA(1)}
    tables = [
        depmax.compare(X, y, methods, **options).table["balanced_accuracy"]
        for y in (THREE - 1, THREE)
    ]
    np.testing.assert_allclose(*tables)
    with pytest.raises(ValueError, match="missing"):
        depmax.compare(X, GAPS["None among integers"], methods, **options)
