"""How an estimator reads X in ``fit`` and afterwards."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from depmax.data import UnseenCategoryWarning, read_fit, read_new


class Copy(TransformerMixin, BaseEstimator):
    """Returns the rows as it read them."""

    def __init__(self, vector_input: bool = True, accept_sparse: bool = False) -> None:
        self.vector_input = vector_input
        self.accept_sparse = accept_sparse

    def fit(self, X: Any, y: Any = None) -> Self:
        self.rows_, self.categories_ = read_fit(self, X, **self.get_params())
        return self

    def transform(self, X: Any) -> Any:
        categories = getattr(self, "categories_", {})
        return read_new(self, X, categories=categories, **self.get_params())


X = np.arange(6.0).reshape(3, 2)


class TestFit:
    @pytest.mark.parametrize("rows", [X, X.tolist(), X.astype(int), X.astype(object)])
    def test_rows_and_width_are_read(self, rows: Any) -> None:
        model = Copy().fit(rows)
        assert_array_equal(model.rows_, X)
        assert model.n_features_in_ == 2
        assert model.categories_ == {}
        assert not hasattr(model, "feature_names_in_")

    def test_single_precision_is_kept(self) -> None:
        model = Copy().fit(X.astype(np.float32))
        assert model.rows_.dtype == np.float32
        assert model.transform(X.astype(np.float32)).dtype == np.float32

    @pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
    def test_names_and_levels_of_a_frame_are_kept(self, library: Any) -> None:
        frame = library.DataFrame({"a": [1.0, 2.0], "b": [True, False]})
        model = Copy().fit(frame)
        assert_array_equal(model.feature_names_in_, ["a", "b"])
        assert model.categories_ == {1: (False, True)}
        assert_array_equal(model.rows_, [[1.0, 1.0], [2.0, 0.0]])

    def test_a_frame_without_names_is_read(self) -> None:
        model = Copy().fit(pd.DataFrame(X))
        assert_array_equal(model.rows_, X)
        assert not hasattr(model, "feature_names_in_")

    def test_sparse_rows_are_read_only_where_they_are_accepted(self) -> None:
        model = Copy(accept_sparse=True).fit(sparse.coo_matrix(X))
        assert model.rows_.format == "csr"
        with pytest.raises(TypeError, match=r"X\.toarray\(\)"):
            Copy().fit(sparse.csr_matrix(X))

    @pytest.mark.parametrize(
        ("rows", "error", "message"),
        [
            (np.array([["a", "b"]]), TypeError, "text where numbers are needed"),
            ([["a", "b"]], TypeError, "text where numbers are needed"),
            (np.array([[1j]]), ValueError, "Complex data not supported"),
            (np.array([[1.0, np.nan]]), ValueError, "NaN in column 1"),
            (pd.DataFrame({"a": [np.inf]}), ValueError, "infinity in column 'a'"),
            (pd.DataFrame({"a": ["x"]}), TypeError, "Column 'a' of X holds"),
            (pl.LazyFrame({"a": [1.0]}), TypeError, "lazy frame"),
            (np.arange(3.0), ValueError, "Reshape your data"),
            (np.empty((0, 2)), ValueError, "0 sample"),
        ],
    )
    def test_what_cannot_be_read_is_refused_by_name(
        self, rows: Any, error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            Copy().fit(rows)


class TestNewRows:
    def test_before_fit_they_are_refused(self) -> None:
        with pytest.raises(NotFittedError):
            Copy().transform(X)

    def test_the_number_of_columns_must_agree(self) -> None:
        with pytest.raises(ValueError, match=r"X has 1 .*Copy .* 2"):
            Copy().fit(X).transform(X[:, :1])

    @pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
    def test_names_must_agree(self, library: Any) -> None:
        model = Copy().fit(library.DataFrame({"a": [1.0], "b": [2.0]}))
        with pytest.raises(ValueError, match="feature names should match"):
            model.transform(library.DataFrame({"a": [1.0], "c": [2.0]}))
        with pytest.raises(ValueError, match="must be in the same order"):
            model.transform(library.DataFrame({"b": [1.0], "a": [2.0]}))

    def test_an_array_after_a_frame_of_numbers_is_warned_about(self) -> None:
        model = Copy().fit(pd.DataFrame({"a": [1.0], "b": [2.0]}))
        with pytest.warns(UserWarning, match="valid feature names"):
            assert_array_equal(model.transform(X), X)

    def test_levels_are_those_of_fit_in_either_library(self) -> None:
        frame = pd.DataFrame({"c": pd.Categorical(["u", "v", "w"])})
        model = Copy().fit(frame)
        new = pl.DataFrame({"c": pl.Series(["w", "new", "u"], dtype=pl.Categorical)})
        with pytest.warns(UnseenCategoryWarning, match="in 1 of 3 rows: 'new'"):
            assert_array_equal(model.transform(new), [[2.0], [-1.0], [0.0]])
        assert_array_equal(model.transform(frame[1:]), [[1.0], [2.0]])

    def test_an_array_after_categories_is_refused(self) -> None:
        """Its numbers would be taken for positions among levels."""
        model = Copy().fit(pd.DataFrame({"c": pd.Categorical(["u", "v"])}))
        with pytest.raises(TypeError, match=r"Copy was fitted .*categorical"):
            model.transform(np.array([[0.0]]))

    def test_columns_of_another_type_or_order_are_refused(self) -> None:
        frame = pd.DataFrame({"a": [1.0, 2.0], "c": pd.Categorical(["u", "v"])})
        model = Copy().fit(frame)
        with pytest.raises(TypeError, match="Column 'c' of X is numeric"):
            model.transform(frame.assign(c=[0.0, 1.0]))
        with pytest.raises(TypeError, match="same columns in the same order"):
            model.transform(frame[["c", "a"]])

    def test_reading_new_rows_changes_nothing(self) -> None:
        model = Copy().fit(X)
        before = dict(vars(model))
        model.transform(X + 1.0)
        assert vars(model) == before


class TestObjects:
    @pytest.mark.parametrize(
        "rows", [["ac", "gt"], np.array(["ac", "gt"]), pd.DataFrame({"s": ["ac", "gt"]})]
    )
    def test_one_object_per_sample(self, rows: Any) -> None:
        model = Copy(vector_input=False).fit(rows)
        assert list(model.rows_) == ["ac", "gt"]
        assert model.n_features_in_ == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert list(model.transform(rows[:1])) == ["ac"]

    def test_names_of_a_frame_are_kept(self) -> None:
        frame = pl.DataFrame({"s": ["ac", "gt"], "v": [1.0, 2.0]})
        model = Copy(vector_input=False).fit(frame)
        assert_array_equal(model.feature_names_in_, ["s", "v"])
        assert model.n_features_in_ == 2
        assert model.rows_.shape == (2, 2)

    def test_no_objects_are_refused(self) -> None:
        with pytest.raises(ValueError, match="X is empty"):
            Copy(vector_input=False).fit([])
