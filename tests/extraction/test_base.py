"""Inputs, views and refusals that every extractor inherits, shown on HBFE."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from depmax import HBFE, HSCA, scan
from depmax.kernels import Gaussian, Linear, Precomputed, Subsequence
from tests.one_hot import one_hot

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
y = np.where(X[:, 0] > 0, "up", "down")
COLOURS = np.array(["red", "green", "blue"])[rng.integers(0, 3, 50)]


def mixed(library):
    columns = {"size": X[:, 0], "colour": COLOURS, "weight": X[:, 1]}
    if library == "pandas":
        return pd.DataFrame(columns).astype({"colour": "category"})
    return pl.DataFrame(columns).with_columns(pl.col("colour").cast(pl.Categorical))


class TestInputs:
    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_linear_kernel_encodes_categories(self, library):
        frame = mixed(library)
        fitted = HBFE(2).fit(frame, y)
        encoded = np.column_stack(
            [X[:, :2], *(level == COLOURS for level in ("blue", "green", "red"))]
        ).astype(float)
        plain = HBFE(2).fit(encoded, y)
        np.testing.assert_allclose(fitted.transform(frame), plain.transform(encoded))
        names = ["size", "weight", "colour=blue", "colour=green", "colour=red"]
        assert list(fitted.coordinate_names_) == names
        assert fitted.components_.shape == (2, 5)

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_gaussian_kernel_scales_indicators_of_categories(self, library):
        frame = mixed(library)
        fitted = HBFE(2, kernel="gaussian").fit(frame, y)
        K = Gaussian()(one_hot(X[:, :2], COLOURS))
        gram = HBFE(2, kernel="precomputed").fit(K, y)
        np.testing.assert_allclose(fitted.transform(frame), gram.transform(K), atol=1e-8)

    def test_strings(self, rng):
        words = ["".join(rng.choice(list("acgt"), 8)) for _ in range(30)]
        labels = [word.count("a") > 1 for word in words]
        model = HBFE(2, kernel=Subsequence(2, 0.5)).fit(words, labels)
        gram = HBFE(2, kernel="precomputed").fit(Subsequence(2, 0.5)(words), labels)
        np.testing.assert_allclose(
            model.transform(words), gram.transform(Subsequence(2, 0.5)(words)), atol=1e-8
        )

    def test_row_numbers_of_a_matrix(self):
        numbers = np.arange(50)
        model = HBFE(2, kernel=Precomputed(X @ X.T)).fit(numbers, y)
        gram = HBFE(2, kernel="precomputed").fit(X @ X.T, y)
        np.testing.assert_allclose(model.transform(numbers), gram.transform(X @ X.T))

    def test_memory_map(self, tmp_path):
        np.save(tmp_path / "rows.npy", X)
        rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
        np.testing.assert_allclose(
            HBFE(2).fit_transform(rows, y), HBFE(2).fit_transform(X, y), atol=1e-12
        )

    def test_rows_in_chunks_need_coordinates(self):
        with pytest.raises(TypeError, match="compares all pairs of rows"):
            HBFE(2, kernel="gaussian").fit(scan(X, y))
        with pytest.raises(ValueError, match="contains NaN in column 1"):
            HBFE(2).fit(scan(np.where(X[3, 1] == X, np.nan, X), y))
        with pytest.raises(ValueError, match="expecting 4 features"):
            HBFE(2).fit(X, y).transform(scan(X[:, :2]))

    def test_bandwidth_by_the_target(self):
        model = HBFE(1, kernel=Gaussian("maximize")).fit(X, y)
        assert model.kernel_.bandwidth > 0


class TestOutputs:
    def test_loadings_are_regression_coefficients(self):
        model = HSCA(2).fit(X, y)
        features = model.transform(X)
        expected = np.linalg.lstsq(features, X - X.mean(axis=0), rcond=None)[0]
        np.testing.assert_allclose(model.loadings_, expected, atol=1e-10)
        full = HSCA(4, target_kernel="linear").fit(X, X)
        np.testing.assert_allclose(full.inverse_transform(full.transform(X)), X, atol=1e-8)

    def test_table_of_weights(self):
        table = HBFE(1).fit(mixed("pandas"), y).to_frame("pandas")
        assert list(table.columns) == ["column", "hbfe0_weight", "hbfe0_loading"]
        assert table["column"][2] == "colour=blue"

    def test_kernel_features_have_no_weights(self):
        model = HBFE(2, kernel="gaussian").fit(X, y)
        assert not hasattr(model, "components_")
        assert not hasattr(HBFE(2, kernel="polynomial").fit(X, y), "inverse_transform")
        assert not hasattr(model, "to_frame")

    def test_wrong_number_of_features_back(self):
        with pytest.raises(ValueError, match=r"3 columns, .*HBFE"):
            HBFE(2).fit(X, y).inverse_transform(np.zeros((5, 3)))

    def test_the_kernel_matrix_is_not_kept(self):
        assert HBFE(2, kernel="precomputed").fit(X @ X.T, y).kernel_.matrix is None


class TestSearches:
    def test_precomputed_in_cross_validation(self):
        pipeline = make_pipeline(HBFE(1, kernel="precomputed"), KNeighborsClassifier())
        plain = make_pipeline(HBFE(1), KNeighborsClassifier())
        np.testing.assert_allclose(
            cross_val_score(pipeline, X @ X.T, y), cross_val_score(plain, X, y)
        )

    def test_kernel_parameters_in_a_grid(self):
        pipeline = make_pipeline(HBFE(1, kernel=Gaussian(1.0)), KNeighborsClassifier())
        grid = GridSearchCV(pipeline, {"hbfe__kernel__bandwidth": [0.5, 2.0]}, cv=2).fit(X, y)
        assert grid.best_estimator_[0].kernel_.bandwidth in (0.5, 2.0)
        with pytest.raises(ValueError, match="kernel as an object"):
            HBFE(kernel="gaussian").set_params(kernel__bandwidth=1.0)
        with pytest.raises(ValueError, match="target_kernel='auto' is a name"):
            HBFE().set_params(target_kernel__bandwidth=1.0)


class TestRefusals:
    def test_lengths_and_shapes(self):
        with pytest.raises(ValueError, match="inconsistent numbers"):
            HBFE(1).fit(X, y[:-1])
        with pytest.raises(ValueError, match="square kernel matrix"):
            HBFE(1, kernel="precomputed").fit(X, y)
        with pytest.raises(ValueError, match="at least 4 samples"):
            HBFE(1).fit(X[:3], [0, 1, 0])

    def test_a_matrix_that_is_no_kernel(self):
        with pytest.raises(ValueError, match="not positive semidefinite"):
            HBFE(1, kernel="precomputed").fit(-(X @ X.T), y)

    def test_scaled_linear_kernel_is_no_linear_view(self):
        model = HBFE(1, kernel=2.0 * Linear()).fit(X, y)
        assert not hasattr(model, "components_")
        np.testing.assert_allclose(
            model.transform(X), np.sqrt(2.0) * HBFE(1).fit(X, y).transform(X), atol=1e-10
        )
