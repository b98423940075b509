"""Preparation of columns: scikit-learn's contract, frames, categories."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.cross_decomposition import PLSRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from depmax import UnseenCategoryWarning
from depmax.evaluation import NumericTarget, PrepareColumns


@parametrize_with_checks([PrepareColumns(), PrepareColumns(encode=True)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_numbers_as_in_scikit_learn():
    X = np.random.default_rng(0).normal(3, 2, size=(30, 4))
    X[:, 2] = 7.1
    np.testing.assert_allclose(
        PrepareColumns().fit_transform(X), StandardScaler().fit_transform(X), atol=1e-12
    )


def test_sparse_stays_sparse():
    X = sparse.random(30, 5, density=0.3, format="csr", random_state=0)
    out = PrepareColumns().fit_transform(X)
    assert sparse.issparse(out)
    assert out.nnz == X.nnz
    np.testing.assert_allclose(out.power(2).mean(axis=0).A1, 1.0)


@pytest.mark.parametrize("library", [pd, pl])
def test_categories(library):
    values = {"size": [1.0, 2.0, 3.0], "colour": ["red", "blue", "red"]}
    if library is pd:
        frame = pd.DataFrame(values).astype({"colour": "category"})
        new = pd.DataFrame({"size": [2.0], "colour": pd.Categorical(["green"])})
    else:
        frame = pl.DataFrame(values, schema_overrides={"colour": pl.Categorical})
        new = pl.DataFrame({"size": [2.0], "colour": ["green"]}).cast({"colour": pl.Categorical})
    kept = PrepareColumns().fit_transform(frame)
    assert list(kept["colour"]) == values["colour"]
    assert kept["colour"].dtype == frame["colour"].dtype
    prepare = PrepareColumns(encode=True).fit(frame)
    assert list(prepare.transform(frame).columns) == ["size", "colour=blue", "colour=red"]
    assert prepare.get_feature_names_out().tolist() == ["size", "colour=blue", "colour=red"]
    with pytest.warns(UnseenCategoryWarning, match="'colour' of X .* in 1 of 1 rows: 'green'"):
        assert np.asarray(prepare.transform(new)).tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize("library", [pd, pl])
def test_text_is_declared_categorical(library):
    """A part of the rows may not show that the levels of text are few."""
    frame = library.DataFrame({"size": [1.0, 2.0, 3.0], "colour": ["red", "blue", "red"]})
    kept = PrepareColumns().fit_transform(frame)
    assert list(kept["colour"]) == ["red", "blue", "red"]
    assert PrepareColumns().fit_transform(kept[:2]).shape == (2, 2)


def test_classes_as_indicators_for_pls():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.choice(["a", "b", "c"], size=40)
    found = NumericTarget(PLSRegression(2)).fit(X, y)
    expected = PLSRegression(2).fit(X, np.eye(3)[np.unique(y, return_inverse=True)[1]])
    np.testing.assert_allclose(found.transform(X), expected.transform(X))
    assert found.components_.shape == (2, 3)
    assert found.get_feature_names_out().tolist() == ["plsregression0", "plsregression1"]
