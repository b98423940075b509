"""Unlabelled rows: HBFE and HSCA with a graph, against the definitions with m × m matrices."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.neighbors import kneighbors_graph

from depmax import (
    HBFE,
    HSCA,
    GaussianGraph,
    GivenGraph,
    NeighborGraph,
    RadiusGraph,
    extraction,
    load_model,
    save_model,
)
from depmax.algebra import span
from depmax.algebra.points import KernelPoints, VectorPoints
from depmax.extraction import DependenceExtractor
from depmax.kernels import Gaussian, Linear, Spectrum, Subsequence
from depmax.maps import NystroemMap
from tests.contracts.discovery import classes
from tests.extraction.oracles import form, positive_part, same_up_to_signs, top_eigenvector

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)) + 3.0
CLASSES = np.digitize(X[:, 0] + 0.5 * rng.normal(size=60), [2.0, 4.0])
KNOWN = np.arange(60) % 3 == 0
Y = np.where(KNOWN, CLASSES, -1)
GRAPHS = [
    NeighborGraph(8),
    NeighborGraph(8, normalized=True),
    RadiusGraph(6.0),
    GaussianGraph(normalized=True),
]
ids = [repr(graph) for graph in GRAPHS]


def parts(rows, graph, unbiased, L=None, known=KNOWN):
    """XᵀM_lX over tr(CCᵀ), and XᵀΔX over its trace, the slow way; and HSIC's own matrix."""
    if L is None:
        L = (CLASSES[known][:, np.newaxis] == CLASSES[known]).astype(float)
    centred = rows - rows.mean(axis=0)
    M = np.zeros((60, 60))
    M[np.ix_(known, known)] = form(L, unbiased)
    A = centred.T @ M @ centred
    m = known.sum()
    scale = m * (m - 3) if unbiased else (m - 1) ** 2
    H = np.eye(m) - 1 / m
    size = np.trace(rows[known].T @ H @ L @ H @ rows[known]) / scale
    laplacian = graph.laplacian(VectorPoints.of(rows)).matrix()
    B = centred.T @ np.asarray(laplacian @ centred)
    return A / size, B / np.trace(B), A


@pytest.mark.parametrize("graph", GRAPHS, ids=ids)
@pytest.mark.parametrize("unbiased", [False, True])
def test_hbfe_is_the_eigenproblem(graph, unbiased):
    A, B, dependence = parts(X, graph, unbiased)
    values, vectors = linalg.eigh(0.7 * A - 0.3 * B)
    positive = int(min(2, (values > 0).sum()))
    assert positive >= 1
    expected = vectors[:, ::-1].T[:positive]
    model = HBFE(2, beta=0.3, graph=graph, unbiased=unbiased, target_kernel="delta").fit(X, Y)
    same_up_to_signs(model.components_[:positive], expected)
    reached = np.einsum("ij,jk,ik->i", expected, dependence, expected)
    np.testing.assert_allclose(model.dependence_[:positive], reached, atol=1e-10)
    assert model.n_unlabeled_ == 40


@pytest.mark.parametrize("graph", GRAPHS, ids=ids)
@pytest.mark.parametrize("unbiased", [False, True])
def test_hsca_is_the_eigenproblem(graph, unbiased):
    A, B, dependence = parts(X, graph, unbiased)
    A = 0.9 * A - 0.1 * B
    alpha, found = 1e-3, np.empty((0, 4))
    while len(found) < 3:
        denominator = np.eye(4)
        if len(found):
            features = X[KNOWN] @ found.T
            M = form(features @ features.T, unbiased)
            other = X[KNOWN] - X[KNOWN].mean(axis=0)
            D = positive_part(other.T @ M @ other)
            denominator = D + alpha * np.trace(D) / len(found) * np.eye(4)
        found = np.vstack([found, top_eigenvector(A, denominator)])
    model = HSCA(
        3, beta=0.1, graph=graph, unbiased=unbiased, target_kernel="delta", alpha=alpha
    ).fit(X, Y)
    same_up_to_signs(model.components_, found, 1e-6)
    reached = np.einsum("ij,jk,ik->i", found, dependence, found)
    np.testing.assert_allclose(model.dependence_, reached, atol=1e-8)


MODELS = [HBFE(2), HBFE(2, unbiased=False), HSCA(2), HSCA(2, unbiased=True)]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("kernel", ["linear", "gaussian", "precomputed"])
def test_without_beta_only_labelled_rows_count(model, kernel):
    rows = X @ X.T if kernel == "precomputed" else X
    model.set_params(kernel=kernel, beta=0.0)
    with pytest.warns(UserWarning, match=f"{type(model).__name__} ignored 40 of 60 rows") as seen:
        features = model.fit_transform(rows, np.where(KNOWN, CLASSES.astype(object), None))
    assert len(seen) == 1
    assert model.n_unlabeled_ == 40
    assert features.shape == (60, 2)
    own = rows[np.ix_(KNOWN, KNOWN)] if kernel == "precomputed" else rows[KNOWN]
    every = rows[:, KNOWN] if kernel == "precomputed" else rows
    supervised = type(model)(**model.get_params(deep=False)).fit(own, CLASSES[KNOWN])
    np.testing.assert_allclose(features, supervised.transform(every), atol=1e-9)
    np.testing.assert_allclose(model.dependence_, supervised.dependence_)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_little_beta_changes_little(model):
    model.set_params(kernel="linear", beta=0.0)
    plain = model.fit(X, CLASSES).transform(X)
    model.set_params(beta=1e-9)
    np.testing.assert_allclose(model.fit(X, CLASSES).transform(X), plain, atol=1e-4)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("graph", GRAPHS[:2], ids=ids[:2])
def test_routes_agree(model, graph):
    model.set_params(kernel="linear", beta=0.1, graph=graph, target_kernel="delta")
    features = model.fit_transform(X, Y)
    scaled = 1e-3 * X  # the scale of X does not matter
    np.testing.assert_allclose(model.fit_transform(scaled, Y), 1e-3 * features, atol=1e-8)
    for kernel, rows in [("precomputed", X @ X.T), (NystroemMap(4, kernel=Linear()), X)]:
        model.set_params(kernel=kernel)
        same_up_to_signs(model.fit_transform(rows, Y).T, features.T, 1e-6)
    wide = np.hstack([X, np.zeros((60, 80))])
    model.set_params(kernel="linear")
    same_up_to_signs(model.fit_transform(wide, Y).T, features.T, 1e-6)


@pytest.mark.parametrize(
    "model", [HBFE(3), HBFE(3, unbiased=False), HSCA(2), HSCA(2, unbiased=True)], ids=repr
)
@pytest.mark.parametrize("graph", GRAPHS[:2], ids=ids[:2])
def test_many_rows_give_what_few_would(model, graph, monkeypatch):
    model.set_params(beta=0.1, graph=graph, target_kernel="delta", kernel=Gaussian(4.0))
    features = model.fit_transform(X, Y)
    dependence = model.dependence_
    monkeypatch.setattr(span, "EXACT_ROWS", 20)
    same_up_to_signs(model.fit_transform(X, Y).T, features.T, 1e-5)
    np.testing.assert_allclose(model.dependence_, dependence, rtol=1e-4)


def test_kernel_space_has_kernel_distances():
    kernel = Gaussian(2.0)
    K = kernel(X)
    points = KernelPoints(lambda rows, columns: K[rows][:, columns], np.ones(60))
    graph = GaussianGraph(0.5)
    laplacian = graph.laplacian(points).matrix()
    expected = np.exp((2.0 * K - 2.0) / 0.5)
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(laplacian, np.diag(expected.sum(axis=0)) - expected, atol=1e-10)
    H = np.eye(60) - 1 / 60
    L = (CLASSES[KNOWN][:, np.newaxis] == CLASSES[KNOWN]).astype(float)
    M = np.zeros((60, 60))
    M[np.ix_(KNOWN, KNOWN)] = form(L, False)
    values, vectors = linalg.eigh(H @ K @ H)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    supervised, smooth = root.T @ M @ root, root.T @ laplacian @ root
    mixed = 0.8 * supervised / np.trace(supervised) - 0.2 * smooth / np.trace(smooth)
    features = (root @ linalg.eigh(mixed)[1][:, -1:]).T
    model = HBFE(
        1, kernel=kernel, unbiased=False, target_kernel="delta", beta=0.2, graph=graph
    ).fit(X, Y)
    same_up_to_signs(model.transform(X).T, features, 1e-7)


def test_unlabelled_rows_help(rng):
    """Two crescents with two labels each: the graph tells which rows belong together."""
    angle = rng.uniform(0, np.pi, 200)
    upper = np.arange(200) < 100
    moons = np.column_stack([np.cos(angle), np.sin(angle)])
    moons[~upper] = [1.0, 0.4] - moons[~upper]
    y = np.full(200, np.nan)
    y[[10, 50, 110, 150]] = [0, 0, 1, 1]

    def accuracy(beta):
        model = HBFE(1, kernel=Gaussian(0.3), unbiased=False, beta=beta, graph=NeighborGraph(8))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # two parts are what we want
            feature = model.fit(moons, y).transform(moons)[:, 0]
        return max(np.mean((feature > 0) == upper), np.mean((feature < 0) == upper))

    assert accuracy(0.9) > accuracy(0.0) + 0.02


class TestTargets:
    @pytest.mark.filterwarnings("ignore:.* ignored .* rows:UserWarning")  # with beta = 0
    @pytest.mark.parametrize("model", [HBFE(1), HSCA(1)], ids=repr)
    def test_every_type(self, model):
        text = np.where(CLASSES > 0, "b", "a").astype(object)
        text[~KNOWN] = None
        numbers = np.where(KNOWN, X[:, 0], np.nan)
        several = np.where(KNOWN[:, np.newaxis], X[:, :2], np.nan)
        labels = np.where(KNOWN[:, np.newaxis], X[:, :3] > 3.0, np.nan)
        for y in (text, text.tolist(), numbers, several, labels):
            for beta in (0.0, 0.2):
                model.set_params(beta=beta)
                assert model.fit_transform(X, y).shape == (60, 1)
                assert model.n_unlabeled_ == 40

    def test_strings_as_targets(self):
        words = np.where(CLASSES > 0, "acgt", "ttga").astype(object)
        words[~KNOWN] = None
        kernel = Subsequence(2, 0.5)
        with pytest.warns(UserWarning, match="ignored 40 of 60 rows"):
            model = HBFE(1, target_kernel=kernel).fit(X, words)
        assert model.n_unlabeled_ == 40
        plain = HBFE(1, target_kernel=kernel).fit(X[KNOWN], words[KNOWN])
        np.testing.assert_allclose(model.components_, plain.components_)

    def test_minus_one(self):
        signs = np.where(X[:, 0] > 3.0, 1, -1)
        assert HBFE(1).fit(X, signs).n_unlabeled_ == 0
        assert HBFE(1).fit(X, Y).n_unlabeled_ == 0
        assert HBFE(1, beta=0.1, unlabeled=None).fit(X, Y).n_unlabeled_ == 0

    def test_bandwidth_by_the_labelled_rows(self):
        model = HBFE(1, kernel=Gaussian("maximize"), beta=0.1).fit(X, Y)
        assert model.kernel_.bandwidth > 0


class TestRefusals:
    @pytest.mark.parametrize("beta", [-0.1, 1.1, np.nan, "much", None, True])
    @pytest.mark.parametrize("cls", [HBFE, HSCA])
    def test_beta(self, beta, cls):
        with pytest.raises(ValueError, match=r"beta of .* from 0"):
            cls(1, beta=beta).fit(X, Y)

    def test_no_labelled_rows(self):
        with pytest.raises(ValueError, match=r"y has no labelled rows.*60"):
            HBFE(1, beta=0.5).fit(X, np.full(60, np.nan))
        with pytest.raises(ValueError, match="y has no labelled rows"):
            HBFE(1, beta=0.5, target_kernel=Subsequence(2, 0.5)).fit(X, [None] * 60)

    @pytest.mark.parametrize("beta", [0.0, 0.5])
    def test_one_class_among_the_labelled(self, beta):
        y = np.where(KNOWN, 1.0, np.nan)
        with pytest.raises(ValueError, match=r"one class only \(1.0\)"):
            HSCA(1, beta=beta).fit(X, y)

    def test_graph(self):
        with pytest.raises(ValueError, match="graph must be 'neighbors'"):
            HBFE(1, graph="knn").fit(X, Y)

    def test_unlabeled(self):
        with pytest.raises(ValueError, match="unlabeled must be 'auto'"):
            HBFE(1, unlabeled=-1).fit(X, Y)

    def test_more_weight_of_the_graph_than_dependence(self):
        with pytest.raises(ValueError, match="lower beta"):
            HSCA(1, beta=1.0).fit(X, Y)
        assert HBFE(1, beta=1.0).fit(X, Y).n_components_ == 1

    def test_disconnected_graph_warns_and_works(self):
        rows = X + 1000.0 * (np.arange(60) < 30)[:, np.newaxis]
        with pytest.warns(UserWarning, match="falls into 2 parts"):
            features = HBFE(2, beta=0.3, graph=NeighborGraph(5)).fit_transform(rows, Y)
        assert np.isfinite(features).all()


class TestGraphsOfTheUser:
    """Weights as a matrix, dense or sparse, or as a function of the rows, in every extractor."""

    rows = np.random.default_rng(4).normal(size=(50, 3))
    y = np.where(np.arange(50) < 30, rows[:, 0] > 0, np.nan)
    names = sorted(
        name
        for name, cls in classes(extraction, DependenceExtractor).items()
        if "graph" in inspect.signature(cls).parameters
    )

    @staticmethod
    def near(rows):
        edges = kneighbors_graph(rows, 6)
        return edges.maximum(edges.T)

    def fitted(self, name, graph, **options):
        cls = getattr(extraction, name)
        if "beta" in inspect.signature(cls).parameters:
            options["beta"] = 0.4
        return cls(2, graph=graph, **options).fit(self.rows, self.y)

    @pytest.mark.parametrize("name", names)
    @pytest.mark.parametrize("kernel", ["linear", Gaussian(1.0)], ids=repr)
    def test_all_forms_are_one(self, name, kernel):
        options = {"kernel": kernel}
        W = self.near(self.rows)
        graphs = [W.toarray(), W, sparse.coo_array(W), self.near, GivenGraph(W), W.astype(int)]
        found = [self.fitted(name, graph, **options).transform(self.rows) for graph in graphs]
        for features in found[1:]:
            np.testing.assert_allclose(features, found[0], atol=1e-8)
        # Nearest by the linear kernel are nearest by the Gaussian one, too.
        same = self.fitted(name, NeighborGraph(6), **options).transform(self.rows)
        np.testing.assert_allclose(found[0], same, atol=1e-8)
        other = self.fitted(name, NeighborGraph(12), **options).transform(self.rows)
        assert np.abs(other - same).max() > 1e-3
        normal = self.fitted(name, GivenGraph(W, normalized=True), **options)
        expected = self.fitted(name, NeighborGraph(6, normalized=True), **options)
        np.testing.assert_allclose(
            normal.transform(self.rows), expected.transform(self.rows), atol=1e-8
        )

    @pytest.mark.parametrize("name", names)
    def test_a_function_serves_folds_and_a_matrix_says_what_it_lacks(self, name):
        cls = getattr(extraction, name)
        if not cls._supervised:
            pytest.skip("no target, no folds")
        model = cls("auto", beta=0.4, graph=self.near)
        assert 1 <= model.fit(self.rows, self.y).n_components_ <= 3
        with pytest.raises(ValueError, match="give a function of the rows"):
            model.set_params(graph=self.near(self.rows)).fit(self.rows, self.y)

    @pytest.mark.parametrize("name", names)
    @pytest.mark.parametrize("wrapped", [False, True])
    def test_models_with_matrices_are_saved(self, name, wrapped, tmp_path):
        pytest.importorskip("skops", reason="the extra 'save' is not installed")
        graph = self.near(self.rows)
        model = self.fitted(name, GivenGraph(graph) if wrapped else graph.toarray())
        save_model(model, tmp_path / "model.skops")
        again = load_model(tmp_path / "model.skops")
        np.testing.assert_array_equal(again.transform(self.rows), model.transform(self.rows))

    def test_functions_see_objects_and_row_numbers(self):
        seen = []

        def ring(rows):
            seen.append(rows)
            m = len(rows)
            circle = np.roll(np.eye(m), 1, axis=0)
            return circle + circle.T

        texts = np.array(["abc", "abd", "xyz", "xyy", "abx", "xab"], dtype=object)
        labels = np.array(["a", "a", "b", "b", "a", "b"])
        HBFE(1, kernel=Spectrum(2), beta=0.3, graph=ring).fit(texts, labels)
        assert list(seen[-1]) == list(texts)
        HBFE(1, kernel="precomputed", beta=0.3, graph=ring).fit(np.eye(6), labels)
        np.testing.assert_array_equal(seen[-1], np.arange(6))
