"""Every extractor takes its number of components by one rule, and says what it refuses."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from depmax import (
    SMA,
    SMC,
    DeflationFeatures,
    KernelBoosting,
    KernelPLS,
    ReducedKernelOPLS,
    SparseKernelPLS,
)
from depmax import extraction as package
from depmax.extraction import DependenceExtractor
from tests.contracts.discovery import classes

FOUND = {
    name: cls
    for name, cls in classes(package, DependenceExtractor).items()
    if not name.endswith("Extractor")
}
DEFLATION = sorted(name for name, cls in FOUND.items() if cls._first_run is not None)
#: Methods whose features are as many as anyone likes.
UNLIMITED = {"KernelBoosting"}
rng = np.random.default_rng(5)
X = rng.normal(size=(60, 6)) * [3.0, 2.0, 1.0, 1.0, 1.0, 0.5]
y = np.digitize(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=60), [-2.0, 2.0])


def fitted(name: str, n_components: Any, rows: np.ndarray = X, target: Any = y) -> Any:
    """A fit; that a method has fewer features than asked for is another test's matter."""
    cls = FOUND[name]
    options: dict[str, Any] = {}
    if "kernel" in inspect.signature(cls).parameters:
        options["kernel"] = "linear"
    if "random_state" in inspect.signature(cls).parameters:
        options["random_state"] = 0
    with warnings.catch_warnings():
        # fewer components than requested are told, and counted by the tests
        warnings.simplefilter("ignore", ConvergenceWarning)
        return cls(n_components, **options).fit(rows, target)


@pytest.mark.parametrize("name", sorted(FOUND))
@pytest.mark.parametrize("number", [1, np.int64(2), np.uint8(2)])
def test_a_number(name: str, number: Any) -> None:
    model = fitted(name, number)
    assert model.n_components_ == model.transform(X).shape[1] == int(number)


@pytest.mark.parametrize("name", sorted(set(FOUND) - {"ICAFX"}))
@pytest.mark.parametrize("form", [0.5, np.float32(0.9), 1.0, "auto"])
def test_a_share_and_auto(name: str, form: Any) -> None:
    model = fitted(name, form)
    assert 1 <= model.n_components_ <= 6
    assert model.transform(X).shape == (60, model.n_components_)
    assert len(model.dependence_) == model.n_components_
    if hasattr(model, "embedding_"):
        assert model.embedding_.shape == (60, model.n_components_)


@pytest.mark.parametrize("name", sorted(FOUND))
@pytest.mark.parametrize("wrong", [0, -1, True, 0.0, -0.5, 1.5, None, "all", float("nan")])
def test_anything_else_is_refused_by_name(name: str, wrong: Any) -> None:
    with pytest.raises(ValueError, match=f"n_components of {name}"):
        fitted(name, wrong)


@pytest.mark.parametrize("name", sorted(set(FOUND) - UNLIMITED))
def test_more_than_the_columns_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=rf"n_components=7 of {name} .*6"):
        fitted(name, 7)


@pytest.mark.parametrize("name", sorted(UNLIMITED))
def test_where_nothing_limits_the_number(name: str) -> None:
    model = FOUND[name](9).fit(X, X[:, 0] * X[:, 1] > 0)
    assert model.transform(X).shape == (60, 9)
    assert model.loadings_.shape == (9, 6)


class TestShareOfVariance:
    """Deflation methods keep the fewest features that explain a share of the target."""

    # The other two refuse numbers as a target.
    @pytest.mark.parametrize(
        "name", sorted(set(DEFLATION) - {"KernelBoosting", "KernelPLSClassifier"})
    )
    @pytest.mark.parametrize("share", [0.3, 0.6, 0.8])
    def test_the_fewest_that_explain_it(
        self, name: str, share: float, rng: np.random.Generator
    ) -> None:
        target = X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=60)
        model = fitted(name, share, target=target)
        unit = model.transform(X) / np.linalg.norm(model.transform(X), axis=0)
        explained = np.square(unit.T @ (target - target.mean())) / (60 * target.var())
        assert explained.sum() >= share
        assert explained[:-1].sum() < share

    def test_features_that_are_not_orthogonal(self, rng: np.random.Generator) -> None:
        labels = X[:, 0] + 0.3 * rng.normal(size=60) > 0
        model = KernelBoosting(0.5).fit(X, labels)
        basis = np.linalg.qr(model.transform(X))[0]
        values = np.where(labels, 1.0, -1.0)
        values -= values.mean()
        explained = np.square(basis.T @ values) / (values @ values)
        assert explained.sum() >= 0.5 > explained[:-1].sum()

    @pytest.mark.parametrize("cls", [SMA, SMC, SparseKernelPLS])
    @pytest.mark.parametrize("kernel", ["gaussian", "linear"])
    def test_a_share_is_the_start_of_a_number(self, cls: Any, kernel: str) -> None:
        target = np.sin(X[:, 0]) if kernel == "gaussian" else X[:, 0]
        model = cls(0.7, kernel=kernel).fit(X, target)
        same = cls(model.n_components_, kernel=kernel).fit(X, target)
        np.testing.assert_array_equal(model.basis_indices_, same.basis_indices_)
        np.testing.assert_allclose(model.transform(X), same.transform(X), atol=1e-9)

    def test_runs_grow_until_it_is_explained(self, rng: np.random.Generator) -> None:
        target = rng.normal(size=60)
        model = SMA(0.95, kernel="gaussian").fit(X, target)
        assert 8 < model.n_components_ < 60

    def test_what_cannot_be_explained_is_told(self, rng: np.random.Generator) -> None:
        noise = rng.normal(size=60)
        with pytest.warns(ConvergenceWarning, match=r"n_components=0.99"):
            KernelPLS(0.99).fit(X, noise)

    def test_without_a_target_it_is_that_of_the_inputs(self) -> None:
        model = DeflationFeatures(0.8, criterion="pca").fit(X)
        shares = np.sort(np.linalg.eigvalsh(np.cov(X.T)))[::-1]
        assert model.n_components_ == int(np.argmax(shares.cumsum() >= 0.8 * shares.sum())) + 1

    def test_orthonormalised_pls(self) -> None:
        assert ReducedKernelOPLS(0.2, kernel="linear").fit(X, y).n_components_ == 1
