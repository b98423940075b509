"""What every map must do, for every map that the package exports."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from depmax import UnseenCategoryWarning, hsic, maps
from depmax.kernels import Columns, Delta, Gaussian, Laplace, Polynomial, Subsequence
from depmax.maps import FeatureMap, NystroemMap
from tests.one_hot import one_hot

MAPS = [
    part
    for part in (getattr(maps, name) for name in maps.__all__)
    if issubclass(part, FeatureMap) and part is not FeatureMap
]
#: Those that take any kernel.
GENERAL = [part for part in MAPS if part.__name__ != "RandomFourier"]


def make(part, n_components=4, **params):
    """A map with its seed fixed, where it has one."""
    estimator = part(n_components, **params)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    return estimator


@pytest.fixture(name="X")
def rows():
    return np.random.default_rng(0).normal(size=(40, 3))


@pytest.fixture
def frame(X):
    colours = np.random.default_rng(1).choice(["red", "green", "blue"], size=len(X))
    return pd.DataFrame({"a": X[:, 0], "colour": pd.Categorical(colours), "b": X[:, 1]})


@pytest.mark.parametrize("part", MAPS)
def test_blocks_of_rows_give_what_one_block_gives(part, X, monkeypatch):
    estimator = make(part).fit(X)
    whole = estimator.transform(X)
    monkeypatch.setattr("depmax.maps.feature_map.chunk_rows", lambda width: 7)
    np.testing.assert_allclose(estimator.transform(X), whole, atol=1e-12)


@pytest.mark.parametrize("part", MAPS)
def test_float32_is_kept_and_close(part, X):
    double = make(part, kernel=Gaussian(1.0)).fit_transform(X)
    estimator = make(part, kernel=Gaussian(1.0))
    single = estimator.fit_transform(X.astype(np.float32))
    assert single.dtype == np.float32
    assert estimator.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single @ single.T, double @ double.T, atol=1e-4)


@pytest.mark.parametrize("part", MAPS)
def test_sparse_rows(part, X):
    rows = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = make(part).fit(rows)
    sparse_fit = make(part).fit(sparse.csr_matrix(rows))
    new = sparse.csr_array(rows[:5])
    np.testing.assert_allclose(dense.transform(rows[:5]), sparse_fit.transform(new), atol=1e-8)


@pytest.mark.parametrize("part", MAPS)
def test_sparse_rows_are_refused_where_the_kernel_cannot(part, X):
    estimator = make(part, kernel=Laplace())
    assert not get_tags(estimator).input_tags.sparse
    with pytest.raises(TypeError, match=r"toarray\(\)"):
        estimator.fit(sparse.csr_matrix(X))


@pytest.mark.parametrize("part", MAPS)
def test_maximize_is_refused_by_name(part, X):
    with pytest.raises(ValueError, match='bandwidth="maximize" of'):
        make(part, kernel=Gaussian("maximize")).fit(X)


@pytest.mark.parametrize("part", MAPS)
def test_unresolved_kernels_are_resolved_and_kept(part, X):
    estimator = make(part).fit(X)
    assert estimator.kernel_.is_resolved
    assert estimator.kernel == "gaussian"


def test_more_landmarks_than_rows_are_refused(X):
    with pytest.raises(ValueError, match=r"n_components=41 .* = 40"):
        make(NystroemMap, 41).fit(X)


@pytest.mark.parametrize("part", [part for part in GENERAL if part is not NystroemMap])
def test_a_largest_number_may_exceed_the_rows(part, X):
    many, all_rows = make(part, 41).fit_transform(X), make(part, 40).fit_transform(X)
    np.testing.assert_allclose(many, all_rows)


@pytest.mark.parametrize("part", MAPS)
def test_without_a_number_a_map_stands_for_its_kernel(part):
    """As a kernel it must not mislead, whatever the number that nobody gave."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(150, 10))
    labels = rows[:, 0] + rows[:, 1] ** 2 > 1
    exact = hsic(rows, labels, kernel=Gaussian(4.0))
    estimator = part(kernel=Gaussian(4.0))
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    assert hsic(rows, labels, kernel=estimator) == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize("part", MAPS)
def test_parameter_of_a_name_is_explained(part):
    with pytest.raises(ValueError, match=r"kernel=Gaussian\(\)"):
        part().set_params(kernel__bandwidth=2.0)
    changed = part().set_params(kernel=Gaussian(), kernel__bandwidth=2.0)
    assert changed.kernel.bandwidth == 2.0


@pytest.mark.parametrize("part", MAPS)
def test_unknown_kernel_is_refused_in_fit_only(part, X):
    estimator = part(kernel="gausian")
    assert get_tags(estimator).input_tags.two_d_array
    with pytest.raises(ValueError, match="Did you mean 'gaussian'"):
        estimator.fit(X)


@pytest.mark.parametrize("part", GENERAL)
def test_frame_with_categories(part, frame):
    estimator = make(part, 10, kernel=Gaussian(1.0)).fit(frame)
    assert list(estimator.feature_names_in_) == ["a", "colour", "b"]
    assert estimator.categories_ == {1: ("blue", "green", "red")}
    encoded = one_hot(frame[["a", "b"]].to_numpy(), frame["colour"])
    oracle = make(part, 10, kernel=Gaussian(1.0)).fit(encoded)
    np.testing.assert_allclose(estimator.transform(frame), oracle.transform(encoded), atol=1e-9)
    same = pl.from_pandas(frame)
    np.testing.assert_allclose(estimator.transform(same), estimator.transform(frame))
    unseen = frame.iloc[:2].assign(colour=pd.Categorical(["violet", "red"]))
    differs = one_hot(frame[["a", "b"]].to_numpy(), frame["colour"])[:1]
    scale = differs[0, 2:].max()  # an unseen level differs from every training row alike
    differs = np.column_stack([differs[:, :2], np.zeros((1, 3)), [[scale]]])
    wide = np.column_stack([encoded, np.zeros(len(encoded))])
    beside = make(part, 10, kernel=Gaussian(1.0)).fit(wide)
    with pytest.warns(UnseenCategoryWarning, match=r"'colour' of X .*'violet'"):
        found = estimator.transform(unseen)[:1]
    np.testing.assert_allclose(found, beside.transform(differs), atol=1e-9)


@pytest.mark.parametrize("part", GENERAL)
def test_columns_by_name(part, frame):
    kernel = Columns([("size", Gaussian(1.0), ["a", "b"]), ("colour", Delta(), "colour")])
    named = make(part, 10, kernel=kernel).fit_transform(frame)
    codes = frame["colour"].cat.codes.to_numpy()
    numbers = np.column_stack([frame["a"], codes, frame["b"]])
    by_position = Columns([("size", Gaussian(1.0), [0, 2]), ("colour", Delta(), 1)])
    placed = make(part, 10, kernel=by_position).fit_transform(numbers)
    np.testing.assert_allclose(named, placed, atol=1e-12)


@pytest.mark.parametrize("part", GENERAL)
def test_kernel_without_a_rule_for_categories_is_refused(part, frame):
    with pytest.raises(TypeError, match=r"Polynomial .* categorical"):
        make(part, kernel="polynomial").fit(frame)


@pytest.mark.parametrize("part", GENERAL)
def test_precomputed_matrix(part, X):
    kernel = Gaussian(1.0)
    matrix, new = kernel(X[:30]), kernel(X[30:], X[:30])
    given = make(part, kernel="precomputed").fit(matrix)
    computed = make(part, kernel=kernel).fit(X[:30])
    np.testing.assert_allclose(given.transform(new), computed.transform(X[30:]), atol=1e-9)
    np.testing.assert_allclose(given.fit_transform(matrix), given.transform(matrix), atol=1e-9)
    assert get_tags(given).input_tags.pairwise
    assert not get_tags(computed).input_tags.pairwise
    with pytest.raises(ValueError, match="expecting 30 features"):
        given.transform(kernel(X))


@pytest.mark.parametrize("part", GENERAL)
def test_precomputed_matrix_is_checked(part, X):
    estimator = make(part, kernel="precomputed")
    with pytest.raises(ValueError, match=r"square .*\(40, 3\)"):
        estimator.fit(X)
    crooked = Gaussian(1.0)(X)
    crooked[0, 1] += 0.1
    with pytest.raises(ValueError, match="not symmetric"):
        estimator.fit(crooked)


@pytest.mark.parametrize("part", GENERAL)
def test_precomputed_matrix_in_float32(part, X):
    matrix = Gaussian(1.0)(X.astype(np.float32))
    assert make(part, kernel="precomputed").fit_transform(matrix).dtype == np.float32


@pytest.mark.parametrize("part", GENERAL)
def test_precomputed_matrix_is_split_on_both_sides(part, X):
    y = (np.linalg.norm(X, axis=1) > 1.5).astype(int)
    kernel = Gaussian(1.0)
    scores = [
        cross_val_score(make_pipeline(make(part, 15, kernel=kind), LogisticRegression()), rows, y)
        for kind, rows in ((kernel, X), ("precomputed", kernel(X)))
    ]
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("part", GENERAL)
def test_strings(part):
    words = ["banana", "bandana", "cabana", "anchor", "ancient", "orient", "band", "cab"]
    kernel = Subsequence(2, 0.5)
    estimator = make(part, 8, kernel=kernel)
    tags = get_tags(estimator).input_tags
    assert tags.string
    assert tags.one_d_array
    assert not tags.two_d_array
    features = estimator.fit_transform(words)
    np.testing.assert_allclose(features @ features.T, kernel(words), atol=1e-9)
    frame = pd.DataFrame({"word": ["banana", "anchor", "tractor"]})
    new = estimator.transform(frame)
    np.testing.assert_allclose(new @ features.T, kernel(list(frame["word"]), words), atol=1e-9)


@pytest.mark.parametrize("part", GENERAL)
def test_strings_beside_numbers(part, X):
    words = ["banana", "bandana", "cabana", "anchor", "ancient", "orient", "band", "cab"]
    frame = pl.DataFrame({"word": words, "size": X[:8, 0]})
    kernel = Columns([("text", Subsequence(2, 0.5), "word"), ("n", Gaussian(1.0), "size")])
    features = make(part, 8, kernel=kernel).fit_transform(frame)
    oracle = Subsequence(2, 0.5)(words) * Gaussian(1.0)(X[:8, :1])
    np.testing.assert_allclose(features @ features.T, oracle, atol=1e-9)


@pytest.mark.parametrize("part", GENERAL)
def test_transformers_of_scikit_learn_are_kernels(part, X):
    from sklearn.kernel_approximation import Nystroem, PolynomialCountSketch
    from sklearn.preprocessing import OneHotEncoder

    from depmax.kernels import as_kernel

    codes = np.random.default_rng(2).integers(3, size=(40, 2))
    for transformer, rows in (
        (OneHotEncoder(), codes),
        (PolynomialCountSketch(n_components=6, random_state=0), X),
        (Nystroem(n_components=6, random_state=0), X),
        (PCA(2), X),
    ):
        output = transformer.fit_transform(rows)
        output = output.toarray() if sparse.issparse(output) else output
        for kernel in (transformer, as_kernel(transformer)):
            estimator = make(part, 30, kernel=kernel)
            features = estimator.fit_transform(rows)
            np.testing.assert_allclose(features @ features.T, output @ output.T, atol=1e-8)
            np.testing.assert_allclose(estimator.transform(rows), features, atol=1e-6)


@pytest.mark.parametrize("part", GENERAL)
def test_zero_kernel_is_refused(part):
    with pytest.raises(ValueError, match="zero on every row"):
        make(part, kernel="linear").fit(np.zeros((10, 2)))


@pytest.mark.parametrize("part", GENERAL)
def test_overflowing_kernel_is_refused(part, X):
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(ValueError, match="NaN or infinity"),
    ):
        make(part, kernel=Polynomial(degree=9)).fit(X * 1e30)


@pytest.mark.parametrize("part", GENERAL)
def test_what_is_no_inner_product_is_refused(part, X):
    with pytest.raises(ValueError, match="not positive semidefinite"):
        make(part, 20, kernel=lambda A, B: np.tanh(3 * A @ B.T - 2)).fit(X)


@pytest.mark.parametrize("part", GENERAL)
def test_repeated_rows_give_fewer_columns(part):
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 2)), 5, axis=0)
    estimator = make(part, 12, kernel=Gaussian(1.0))
    features = estimator.fit_transform(X)
    assert features.shape == (15, 3)
    np.testing.assert_allclose(features @ features.T, Gaussian(1.0)(X), atol=1e-12)
    assert len(estimator.get_feature_names_out()) == 3


@pytest.mark.parametrize("part", MAPS)
@pytest.mark.parametrize("rows", [["a", "b"], [["a", "b"], ["c", "d"]], np.array(["a", "b"])])
def test_text_without_a_kernel_for_it_is_explained(part, rows):
    with pytest.raises(TypeError, match="use a kernel for strings"):
        make(part, 1).fit(rows)
