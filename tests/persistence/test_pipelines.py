"""Pipelines as people build them: saved, loaded, and the same features of new rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from depmax import BAHSIC, HBFE, DependenceFilter, load_model, save_model
from depmax.persistence import inspect

rng = np.random.default_rng(0)
TABLE = pd.DataFrame(rng.normal(size=(40, 4)), columns=list("abcd"))
TABLE["e"] = pd.Categorical(rng.choice(["x", "y", "z"], 40))
TARGET = (TABLE["a"] + (TABLE["e"] == "x") > 0).astype(int)
NUMBERS = TABLE.columns[:4]
CATEGORIES = pd.Index(["e"])


def _by(numbers: Any, categories: Any, **options: Any) -> ColumnTransformer:
    parts = [("scale", StandardScaler(), numbers), ("encode", OneHotEncoder(), categories)]
    return ColumnTransformer(parts, sparse_threshold=0, **options)


def _nested() -> Pipeline:
    numbers = make_pipeline(SimpleImputer(), StandardScaler(), make_union(PCA(1), BAHSIC(2)))
    inner = ColumnTransformer([("n", numbers, NUMBERS)], remainder="drop")
    outer = FeatureUnion([("inner", inner), ("outer", _by(NUMBERS[1:3], CATEGORIES))])
    return make_pipeline(outer, HBFE(2))


ZOO: dict[str, Callable[[], Any]] = {
    "names": lambda: _by(["a", "b"], ["e"]),
    "names, the rest passes": lambda: _by(["a", "b"], ["e"], remainder="passthrough"),
    "names, the rest is scaled": lambda: _by(["a", "b"], ["e"], remainder=StandardScaler()),
    "one name": lambda: ColumnTransformer([("s", StandardScaler(), ["a"]), ("drop", "drop", "e")]),
    "index": lambda: _by(NUMBERS, CATEGORIES),
    "index by type": lambda: _by(
        TABLE.select_dtypes("number").columns, TABLE.select_dtypes("category").columns
    ),
    "empty index": lambda: _by(NUMBERS, CATEGORIES[:0]),
    "series": lambda: _by(pd.Series(["a", "c"]), pd.Series(["e"])),
    "positions": lambda: _by([0, 1], [4]),
    "array of positions": lambda: _by(np.array([0, 1]), np.array([4])),
    "slice of names": lambda: _by(slice("a", "d"), slice("e", "e")),
    "slice of positions": lambda: _by(slice(0, 4), slice(4, 5)),
    "mask": lambda: _by(np.arange(5) < 4, [False] * 4 + [True]),
    "series as mask": lambda: _by(TABLE.dtypes != "category", TABLE.dtypes == "category"),
    "selector": lambda: _by(
        make_column_selector(dtype_include=np.number),
        make_column_selector(dtype_include="category"),
    ),
    "selector by pattern": lambda: _by(
        make_column_selector(pattern="^[ab]$"), make_column_selector(dtype_exclude=np.number)
    ),
    "union": lambda: ColumnTransformer([("u", make_union(PCA(2), BAHSIC(1)), NUMBERS)]),
    "union of frames": lambda: make_pipeline(
        ColumnTransformer([("s", StandardScaler(), NUMBERS)]), make_union(PCA(2), BAHSIC(1))
    ).set_output(transform="pandas"),
    "method after columns": lambda: make_pipeline(_by(NUMBERS, CATEGORIES), BAHSIC(2)),
    "method inside": lambda: ColumnTransformer([("m", DependenceFilter(2), NUMBERS)]),
    "nested": _nested,
}


@pytest.mark.parametrize("name", ZOO)
def test_it_comes_back(name: str, tmp_path: Path) -> None:
    model = ZOO[name]().fit(TABLE, TARGET)
    path = tmp_path / "model.skops"
    save_model(model, path)
    assert not inspect(path).unknown_types
    again = load_model(path)
    np.testing.assert_array_equal(again.transform(TABLE[:9]), model.transform(TABLE[:9]))
    assert list(again.get_feature_names_out()) == list(model.get_feature_names_out())
    # what came back is a whole estimator: it can be fitted again
    refitted = clone(again).fit(TABLE, TARGET)
    np.testing.assert_allclose(refitted.transform(TABLE), model.transform(TABLE))


def test_saving_changes_nothing_of_the_model(tmp_path: Path) -> None:
    model = _by(NUMBERS, CATEGORIES).fit(TABLE)
    save_model(model, tmp_path / "model.skops")
    assert model.transformers[0][2] is NUMBERS
    assert isinstance(model.transformers_[0][2], pd.Index)


class _KeepsColumns(TransformerMixin, BaseEstimator):
    def fit(self, X: pd.DataFrame, y: Any = None) -> _KeepsColumns:
        self.columns_ = X.columns
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        return X[self.columns_]


def test_a_pandas_object_elsewhere_is_refused_by_its_place(tmp_path: Path) -> None:
    model = make_pipeline(_KeepsColumns(), PCA(1)).fit(TABLE[NUMBERS])
    message = r"Pipeline\.steps\[0\]\[1\]\.columns_ is a pandas Index.*list\(X\.columns\)"
    with pytest.raises(TypeError, match=message):
        save_model(model, tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())
