"""Everything that serves as a kernel, and what is said about the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import pairwise_kernels
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from depmax import hsic, resolve
from depmax.kernels import (
    Delta,
    FromFunction,
    FromMap,
    FromScikitLearn,
    Gaussian,
    Kernel,
    Linear,
    Spectrum,
    as_kernel,
)
from depmax.kernels.kernel import short_names
from depmax.maps import KernelMap
from depmax.testing import check_kernel

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 3))
y = X[:, 0] ** 2
TEXTS = [
    "a cat and a dog",
    "the cat sat",
    "dogs and cats",
    "a matrix of numbers",
    "numbers in a matrix",
    "the kernel of a matrix",
    "a dog sat",
    "the dog and the cat",
    "kernel numbers",
    "a kernel matrix",
    "cats sat",
    "a number",
]
COLOURS = rng.choice(["red", "green", "blue"], size=(12, 2))


class TestNames:
    @pytest.mark.parametrize("name", sorted(short_names()))
    def test_every_name_makes_the_kernel_it_names(self, name: str) -> None:
        kernel = as_kernel(name)
        assert type(kernel) is short_names()[name]
        assert type(kernel).__name__.lower().removesuffix("kernel") == name.replace("_", "")

    def test_names_make_new_objects(self) -> None:
        assert as_kernel("gaussian") is not as_kernel("gaussian")

    @pytest.mark.parametrize(
        ("name", "meant"),
        [("gausian", "gaussian"), ("Linear", "linear"), ("polynomal", "polynomial")],
    )
    def test_a_misspelt_name_gets_a_hint(self, name: str, meant: str) -> None:
        with pytest.raises(ValueError, match=f"'{name}'.*'{meant}'"):
            as_kernel(name)

    def test_any_other_name_gets_the_list(self) -> None:
        with pytest.raises(ValueError, match=r"'xyz'\. Known names"):
            as_kernel("xyz")


class TestObjects:
    def test_a_kernel_is_itself(self) -> None:
        kernel = Gaussian()
        assert as_kernel(kernel) is kernel

    @pytest.mark.parametrize("cls", [Gaussian, RBF, StandardScaler, KernelMap])
    def test_a_class_is_refused_with_the_remedy(self, cls: type) -> None:
        with pytest.raises(TypeError, match=rf"Pass a kernel object, {cls.__name__}\(\), not the"):
            as_kernel(cls)
        with pytest.raises(TypeError, match="not the class"):
            hsic(X, y, kernel=cls)

    @pytest.mark.parametrize("thing", [None, 3, 2.5, [Gaussian()], {"kernel": "gaussian"}, X])
    def test_what_is_no_kernel_is_refused(self, thing: Any) -> None:
        with pytest.raises(TypeError, match="name, an object from"):
            as_kernel(thing)

    def test_each_origin_has_its_adapter(self) -> None:
        assert isinstance(as_kernel(RBF()), FromScikitLearn)
        assert isinstance(as_kernel(PCA()), FromMap)
        assert isinstance(as_kernel(KernelMap()), FromMap)
        assert isinstance(as_kernel(lambda A, B: A @ B.T), FromFunction)


class TestFunctions:
    def test_a_function_of_two_sets_of_rows(self) -> None:
        check_kernel(lambda A, B: np.exp(-np.abs(A[:, :1] - B[:, 0])), X)
        found = hsic(X, y, kernel=lambda A, B: A @ B.T)
        assert found == pytest.approx(hsic(X, y, kernel="linear"), rel=1e-10)

    def test_the_diagonal_needs_no_square_matrix(self, rng: np.random.Generator) -> None:
        seen = []

        def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
            seen.append(len(A))
            return A @ B.T

        rows = rng.normal(size=(1000, 2))
        np.testing.assert_allclose(as_kernel(product).diag(rows), (rows**2).sum(axis=1))
        assert max(seen) < 100

    @pytest.mark.parametrize(
        "function",
        [lambda A, B: 1.0, lambda A, B: np.ones(len(A)), lambda A, B: np.ones((len(B), len(A)))],
        ids=["number", "vector", "transposed"],
    )
    def test_a_wrong_shape_is_refused_with_the_remedy(self, function: Any) -> None:
        with pytest.raises(ValueError, match=r"shape \(12, 5\)"):
            as_kernel(function)(X, X[:5])

    def test_the_remedy_for_a_function_of_two_rows_works(self) -> None:
        def of_rows(x: np.ndarray, z: np.ndarray) -> float:
            return float(x @ z)

        with pytest.raises(ValueError, match="f of two single rows use"):
            as_kernel(lambda A, B: of_rows(A[0], B[0]))(X)
        remedy = as_kernel(lambda A, B: pairwise_kernels(A, B, metric=of_rows))
        np.testing.assert_allclose(remedy(X), X @ X.T)

    def test_a_function_of_objects_says_so(self) -> None:
        def common_letters(A: Any, B: Any) -> np.ndarray:
            return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)

        kernel = FromFunction(common_letters, vector_input=False)
        assert not kernel.requires_vector_input
        check_kernel(kernel, np.array(["ab", "abc", "d", "cd"], dtype=object))
        with pytest.raises(TypeError, match=r"kernel function .* vectors"):
            as_kernel(common_letters)(["ab", "abc"])


class TestTransformers:
    """A transformer stands for the inner product of its output."""

    @pytest.mark.parametrize(
        "transformer",
        [PolynomialFeatures(2), PCA(2), StandardScaler(), make_pipeline(StandardScaler(), PCA(2))],
        ids=repr,
    )
    def test_of_numbers(self, transformer: Any) -> None:
        phi = transformer.fit_transform(X)
        np.testing.assert_allclose(as_kernel(transformer)(X), phi @ phi.T, atol=1e-12)
        np.testing.assert_allclose(as_kernel(transformer)(X.tolist()), phi @ phi.T, atol=1e-12)
        found = hsic(X, y, kernel=transformer)
        assert found == pytest.approx(hsic(phi, y, kernel="linear"), rel=1e-9)

    def test_the_users_object_is_not_fitted(self) -> None:
        scaler = StandardScaler()
        hsic(X, y, kernel=scaler)
        assert not hasattr(scaler, "mean_")

    def test_new_rows_see_what_was_fitted(self) -> None:
        kernel = resolve(StandardScaler(), X[:8])
        scaler = StandardScaler().fit(X[:8])
        expected = scaler.transform(X[8:]) @ scaler.transform(X[:8]).T
        np.testing.assert_allclose(kernel(X[8:], X[:8]), expected)
        with pytest.raises(ValueError, match="is a recipe"):
            as_kernel(StandardScaler())(X, X)

    @pytest.mark.parametrize(
        "rows",
        [
            TEXTS,
            np.array(TEXTS),
            pd.Series(TEXTS),
            pd.DataFrame({"text": TEXTS}),
            pl.DataFrame({"text": TEXTS}),
        ],
        ids=["list", "array", "series", "pandas", "polars"],
    )
    def test_of_text(self, rows: Any) -> None:
        phi = TfidfVectorizer().fit_transform(TEXTS)
        expected = hsic(phi, y, kernel="linear")
        assert hsic(rows, y, kernel=TfidfVectorizer()) == pytest.approx(expected, rel=1e-9)

    def test_of_text_in_a_pipeline(self) -> None:
        pipeline = make_pipeline(TfidfVectorizer(), TruncatedSVD(3, random_state=0))
        phi = pipeline.fit_transform(TEXTS)
        found = hsic(TEXTS, y, kernel=pipeline)
        assert found == pytest.approx(hsic(phi, y, kernel="linear"), rel=1e-9)

    def test_of_text_makes_a_map(self) -> None:
        features = KernelMap(kernel=CountVectorizer()).fit_transform(TEXTS)
        counts = CountVectorizer().fit_transform(TEXTS)
        expected = (counts @ counts.T).toarray()
        np.testing.assert_allclose(features @ features.T, expected, atol=1e-10)

    @pytest.mark.parametrize(
        "make",
        [
            lambda rows: rows,
            lambda rows: rows.tolist(),
            lambda rows: pd.DataFrame(rows, columns=["u", "v"]),
            lambda rows: pl.DataFrame(rows, schema=["u", "v"]),
        ],
        ids=["array", "list", "pandas", "polars"],
    )
    def test_of_categories(self, make: Any) -> None:
        K = Delta()(COLOURS[:, 0]) + Delta()(COLOURS[:, 1])
        expected = hsic(K, y, kernel="precomputed")
        found = hsic(make(COLOURS), y, kernel=OneHotEncoder())
        assert found == pytest.approx(expected, rel=1e-9)

    @pytest.mark.parametrize(
        "rows",
        [
            COLOURS[:, :1],
            COLOURS[:, :1].tolist(),
            pd.DataFrame({"u": COLOURS[:, 0]}),
            pl.DataFrame({"u": COLOURS[:, 0]}),
        ],
        ids=["array", "list", "pandas", "polars"],
    )
    def test_of_one_column_of_categories(self, rows: Any) -> None:
        expected = hsic(COLOURS[:, 0], y, kernel="delta")
        assert hsic(rows, y, kernel=OneHotEncoder()) == pytest.approx(expected, rel=1e-9)

    def test_sparse_output_is_used_as_it_is(self) -> None:
        kernel = resolve(TfidfVectorizer(), TEXTS)
        assert sparse.issparse(kernel.features(np.array(TEXTS, dtype=object)))
        assert isinstance(kernel(TEXTS), np.ndarray)
        np.testing.assert_allclose(kernel.diag(TEXTS), 1.0)

    def test_of_targets(self) -> None:
        found = hsic(X, X[:, :2], target_kernel=PolynomialFeatures(2))
        phi = PolynomialFeatures(2).fit_transform(X[:, :2])
        assert found == pytest.approx(hsic(X, phi, target_kernel="linear"), rel=1e-9)


def test_rows_that_do_not_fit_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"Linear .* vectors, but X holds"):
        Linear()(TEXTS)
    with pytest.raises(ValueError, match=r"Linear .*X has shape"):
        Linear()(np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match=r"X has 3 .* Z has 2: Linear"):
        Linear()(X, X[:, :2])


def test_a_kernel_from_elsewhere_needs_only_the_methods() -> None:
    class Elsewhere:
        requires_vector_input = False

        def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
            return Spectrum(1)(X, Z)

        def diag(self, X: Any) -> np.ndarray:
            return Spectrum(1).diag(X)

        def resolve(self, X: Any, choose: Any = None) -> Elsewhere:
            return self

    kernel = Elsewhere()
    assert as_kernel(kernel) is kernel
    assert not isinstance(kernel, Kernel)
